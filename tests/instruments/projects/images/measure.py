"""What the network is worth."""


def accuracy(found, wanted):
    hits = found.argmax(1) == wanted
    return hits.float().mean().item()  # <- metric
