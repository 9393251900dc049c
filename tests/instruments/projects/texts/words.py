"""The texts, and the vocabulary that turns them into numbers."""

import random

GOOD, BAD = "fast solid bright quiet lovely".split(), "slow broken dim noisy awful".split()
FILL = "the a lamp engine door really quite was is very this one".split()


def corpus(count):
    draws = random.Random(5)
    labels = [draws.randrange(2) for _ in range(count)]
    texts = [" ".join(draws.choices(GOOD if label else BAD, k=2) + draws.choices(FILL, k=6)).title() for label in labels]
    return texts, labels


class Vocabulary:
    def __init__(self, texts):
        seen = sorted({word for text in texts for word in tokens(text)})
        self.ids = {word: at + 2 for at, word in enumerate(seen)}  # <- vocabulary
        self.ids.update({"<pad>": 0, "<unk>": 1})

    def encode(self, text, length=10):
        ids = [self.ids.get(word, 1) for word in tokens(text)][:length]
        return ids + [0] * (length - len(ids))  # <- encode


def tokens(text):
    return text.lower().split()  # <- tokens
