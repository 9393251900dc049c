"""Plain functions and numpy: 50 ticks do not divide into windows of 8."""
import numpy as np

HOP = 8


def windows_of(signal):
    out = []
    t = 0
    while t < len(signal):
        out.append(signal[t:t + HOP])
        t += HOP
    return out


def batch_of(signal):
    pieces = windows_of(signal)
    return np.stack(pieces)


x = batch_of(np.arange(50.0))
print("mean of each tick:", x.mean(axis=0))
