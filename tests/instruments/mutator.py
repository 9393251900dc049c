"""A seeded mutator of the two example projects: refactors that change one thing, and some that change nothing.

`applied` and `healthy` give the files of a changed project; the truth about a harmful one is its stage, its key, and the line it touched.
"""

# ruff: noqa: E501 - tables of code as it stands

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

PROJECTS = Path(__file__).with_name("projects")
WARM = {"images": ("torch", "numpy"), "texts": ("torch", "numpy", "sklearn", "sklearn.linear_model", "sklearn.model_selection")}


def files(project: str) -> dict[str, str]:
    return {each.name: each.read_text("utf-8") for each in sorted((PROJECTS / project).glob("*.py"))}


@dataclass(frozen=True)
class Mutation:
    """`old` stands once in `file`; what takes its place is drawn. `stages` and `key` are what has to be named, at the line with `mark`."""

    kind: str
    project: str
    file: str
    old: str
    choices: tuple[str, ...]
    stages: tuple[str, ...]
    key: str
    mark: str
    mark_file: str = ""


M = Mutation
HARMFUL = (
    M("seed", "images", "main.py", "torch.manual_seed(0)", ("torch.manual_seed(1)", "torch.manual_seed(42)", "torch.manual_seed(7)"),
      ("seeds",), "torch.manual_seed", "<- seed"),
    M("seed", "texts", "main.py", "torch.manual_seed(0)", ("torch.manual_seed(3)", "pass"), ("seeds",), "torch.manual_seed", "<- seed"),
    M("split", "images", "data.py", "[200, 40]", ("[180, 60]", "[160, 80]", "[210, 30]"), ("split",), "random_split", "<- split"),
    M("split", "texts", "main.py", "random_state=3", ("random_state=4", "random_state=11"), ("split",), "train_test_split", "<- split"),
    M("split", "texts", "main.py", "test_size=0.25", ("test_size=0.3", "test_size=0.2"), ("split",), "train_test_split", "<- split"),
    M("split", "texts", "main.py", "random_state=3)", ("random_state=3, stratify=labels)",), ("split",), "train_test_split", "<- split"),
    M("normalisation", "images", "data.py", "Normalise(0.5, 0.25)", ("Normalise(0.45, 0.25)", "Normalise(0.5, 0.3)", "Normalise(0.0, 1.0)"),
      ("preprocessing",), "Normalise.__call__", "<- normalise"),
    M("normalisation", "images", "data.py", "(x - self.mean) / self.std", ("x / self.std - self.mean", "(x - self.mean) * self.std"),
      ("preprocessing",), "Normalise.__call__", "<- normalise"),
    M("preprocessing", "images", "data.py", "(x - x.min()) / (x.max() - x.min())", ("x / x.max()", "(x - x.mean()) / x.std()"),
      ("preprocessing",), "stretch", "<- stretch"),
    M("preprocessing", "images", "data.py", "self.normalise(stretch(self.raw[index]))",
      ("stretch(self.normalise(self.raw[index]))", "self.normalise(self.raw[index])", "self.normalise(stretch(self.raw[index])).flip(-1)"),
      ("preprocessing",), "Pictures.__getitem__", "<- item"),
    M("preprocessing", "texts", "classical.py", "StandardScaler()", ("StandardScaler(with_std=False)", "StandardScaler(with_mean=False)"),
      ("preprocessing",), "StandardScaler", "<- scaler"),
    M("preprocessing", "texts", "classical.py", ".count(word)", (".count(word) + 1", ".index(word) if word in each.lower().split() else 0"),
      ("preprocessing",), "counts", "<- counts"),
    M("loader order", "images", "main.py", "shuffle=True", ("shuffle=False",), ("batch",), "loader 0 order", "<- order"),
    M("loader order", "texts", "main.py", "shuffle=True", ("shuffle=False",), ("batch",), "loader 0 order", "<- order"),
    M("batch", "images", "main.py", "batch_size=16", ("batch_size=20", "batch_size=8"), ("batch",), "loader 0 order", "<- order"),
    M("init", "images", "net.py", "xavier_uniform_", ("kaiming_normal_", "xavier_normal_", "kaiming_uniform_"), ("initial weights",),
      "model 0: conv.weight", "<- init"),
    M("init", "images", "net.py", "nn.init.xavier_uniform_(each.weight)", ("nn.init.xavier_uniform_(each.weight, gain=2.0)",),
      ("initial weights",), "model 0: conv.weight", "<- init"),
    M("one module", "images", "net.py", "nn.Linear(8 * 8 * 8, 4)", ("nn.Linear(8 * 8 * 8, 4, bias=False)",), ("initial weights",),
      "model 0: head.bias", "<- head"),
    M("one module", "images", "net.py", "nn.ReLU()", ("nn.GELU()", "nn.LeakyReLU()", "nn.SiLU()", "nn.Tanh()"), ("forward",),
      "model 0: act", "<- act"),
    M("one module", "images", "net.py", "nn.Dropout(0.2)", ("nn.Dropout(0.5)", "nn.Dropout(0.1)"), ("forward",), "model 0: drop", "<- dropout"),
    M("one module", "images", "net.py", "nn.BatchNorm2d(8)", ("nn.InstanceNorm2d(8, affine=True)", "nn.GroupNorm(2, 8)"),
      ("initial weights", "forward"), "model 0: norm", "<- norm"),
    M("one module", "texts", "main.py", ".mean(1)", (".sum(1)", ".amax(1)"), ("forward",), "model 0", "<- forward"),
    M("one module", "texts", "main.py", "torch.nn.Embedding(size, 12)", ("torch.nn.Embedding(size, 12, padding_idx=0)",),
      ("initial weights",), "model 0: table.weight", "<- table"),
    M("dtype", "images", "main.py", "net = Net()", ("net = Net().to(torch.bfloat16).float()", "net = Net().half().float()"),
      ("initial weights",), "model 0: conv.bias", "net = Net()"),
    M("dtype", "texts", "classical.py", "np.float64", ("np.float32", "np.int8"), ("preprocessing",), "counts", "<- counts"),
    M("dtype", "images", "data.py", "return x, self", ("return x.half().float(), self",), ("preprocessing",), "Pictures.__getitem__", "<- item"),
    M("mode", "images", "main.py", "net.eval()", ("pass", "net.train()"), ("mode",), "model 0 over loader 1", "found.append(net(x))"),
    M("tokenizer", "texts", "words.py", "text.lower().split()", ("text.split()", 'text.lower().replace("e", "").split()'), ("tokenizer",),
      "tokens", "<- tokens"),
    M("tokenizer", "texts", "words.py", "for word in tokens(text)})", ("for word in tokens(text)}, reverse=True)",), ("tokenizer",),
      "Vocabulary.__init__", "self.ids.update"),
    M("tokenizer", "texts", "words.py", "ids + [0] * (length - len(ids))", ("[0] * (length - len(ids)) + ids",), ("tokenizer",),
      "Vocabulary.encode", "<- encode"),
    M("tokenizer", "texts", "words.py", "length=10", ("length=6", "length=12"), ("tokenizer",), "Vocabulary.encode", "<- encode"),
    M("loss", "images", "main.py", "CrossEntropyLoss()", ("CrossEntropyLoss(label_smoothing=0.1)", "MultiMarginLoss()"), ("loss",), "",
      "<- loss"),
    M("gradient", "images", "main.py", "net.parameters(), 5.0", ("net.parameters(), 0.1",), ("gradient",), "model 0: conv.weight",
      "self.conv =", "net.py"),
    M("update", "images", "main.py", "lr=0.05", ("lr=0.1", "lr=0.01"), ("update",), "optimizer group 0 lr", "<- optimizer"),
    M("update", "texts", "main.py", "torch.optim.Adam", ("torch.optim.RMSprop",), ("update",), "optimizer", "<- optimizer"),
    M("update", "texts", "classical.py", "C=1.0", ("C=0.1", "C=10.0"), ("update",), "LogisticRegression.fit", "<- fit"),
    M("metric", "images", "measure.py", "argmax(1)", ("argmin(1)", "argmax(-2) if found.shape[0] == found.shape[1] else found.argsort(1)[:, -2]"),
      ("metric",), "accuracy", "<- metric"),
    M("metric", "images", "measure.py", "hits.float().mean()", ("hits.float().sum()", "(~hits).float().mean()"), ("metric",), "accuracy",
      "<- metric"),
    M("metric", "texts", "classical.py", "(y_test, scores)", ("(y_test, scores > 0.5)",), ("metric",), "classical", "<- metric"),
)  # fmt: skip
KINDS = tuple(dict.fromkeys(each.kind for each in HARMFUL))


def applied(mutation: Mutation, draws: random.Random) -> tuple[dict[str, str], str]:
    """The changed files, and what was put in."""
    found = files(mutation.project)
    assert found[mutation.file].count(mutation.old) == 1, mutation
    new = draws.choice(mutation.choices)
    return {**found, mutation.file: found[mutation.file].replace(mutation.old, new)}, new


# ---------------------------------------------------------------------------------------------- what changes nothing

RENAMES = {
    "images": (("data.py main.py", "Pictures", "Drawings"), ("net.py main.py", "Net", "Model"), ("net.py", "self.conv", "self.first"),
               ("net.py", "self.head", "self.classifier"), ("net.py", "self.drop", "self.dropout"), ("measure.py main.py", "accuracy", "score"),
               ("main.py", "loader", "batches"), ("main.py", "optimizer", "opt"), ("data.py", "stretch", "rescale"), ("main.py", "net", "model"),
               ("data.py", "normalise", "standardise"), ("main.py", "criterion", "loss_fn"), ("net.py", "self.norm", "self.bn"),
               ("main.py", "evaluate", "validate"), ("measure.py", "hits", "right"), ("net.py main.py", "start", "init_weights")),
    "texts": (("words.py main.py", "Vocabulary", "Lexicon"), ("main.py", "Reader", "Classifier"), ("main.py", "self.table", "self.embedding"),
              ("main.py", "self.head", "self.output"), ("words.py", "tokens", "split_words"), ("classical.py", "counts", "features"),
              ("classical.py main.py", "classical", "baseline"), ("main.py", "vocabulary", "vocab"), ("main.py", "net", "model"),
              ("words.py", "seen", "words"), ("classical.py", "scaler", "standard"), ("words.py main.py", "corpus", "examples")),
}  # fmt: skip
REORDERS = {
    "images": (("main.py", ("    loader = DataLoader(train, batch_size=16, shuffle=True)  # <- order\n",
                            "    test = DataLoader(held, batch_size=40)\n")),
               ("main.py", ("torch.manual_seed(0)  # <- seed\n", "torch.set_num_threads(1)\n")),
               ("main.py", ("    test = DataLoader(held, batch_size=40)\n", "    criterion = torch.nn.CrossEntropyLoss()\n")),
               ("net.py", ("        self.norm = nn.BatchNorm2d(8)  # <- norm\n", "        self.act = nn.ReLU()  # <- act\n"))),
    "texts": (("main.py", ("torch.manual_seed(0)  # <- seed\n", "np.random.seed(0)  # <- numpy\n")),
              ("classical.py", ("    scaler = StandardScaler()\n    x = scaler.fit_transform(counts(train))  # <- scaler\n",
                                "    model = LogisticRegression(C=1.0)\n"))),
}  # fmt: skip
REWRITES = {
    "images": (("net.py", "x = self.act(self.norm(self.conv(x)))", "x = self.conv(x)\n        x = self.norm(x)\n        x = self.act(x)"),
               ("measure.py", "    hits = found.argmax(1) == wanted\n    return hits.float()", "    return (found.argmax(1) == wanted).float()"),
               ("data.py", "x = self.normalise(stretch(self.raw[index]))\n        return x,", "return self.normalise(stretch(self.raw[index])),"),
               ("main.py", "with torch.no_grad():", "with torch.inference_mode():"),
               ("main.py", 'print(f"epoch', 'import time; print(f"time={time.time():.3f}s"); print(f"epoch'),
               ("data.py", "(x - self.mean) / self.std", "(x - self.mean).div(self.std)"),
               ("main.py", "optimizer.zero_grad()", "net.zero_grad()"),
               ("main.py", "torch.set_num_threads(1)", "torch.set_num_threads(1)\nimport random\nrandom.seed(0)")),
    "texts": (("words.py", "text.lower().split()", "[each for each in text.lower().split()]"),
              ("main.py", "self.head(self.table(ids).mean(1))", "self.head(torch.mean(self.table(ids), dim=1))"),
              ("classical.py", "    scores = model.predict_proba(scaler.transform(counts(test)))[:, 1]  # <- scores\n    return roc_auc_score(y_test, scores)",
               "    found = model.predict_proba(scaler.transform(counts(test)))\n    return roc_auc_score(y_test, found[:, 1])"),
              ("main.py", "torch.nn.functional.cross_entropy(net(ids), wanted).backward()",
               "loss = torch.nn.functional.cross_entropy(net(ids), wanted)\n            loss.backward()"),
              ("words.py", "return ids + [0] * (length - len(ids))", "padding = [0] * (length - len(ids))\n        return ids + padding")),
}  # fmt: skip


def healthy(project: str, draws: random.Random) -> dict[str, str]:
    """Some of: names changed, independent lines swapped, code written in another way, comments and blank lines put in."""
    found = files(project)
    for table in (REWRITES, REORDERS):
        for file, *change in draws.sample(table[project], draws.randint(0, 2)):
            found[file] = _changed(found[file], change)
    for where, old, new in draws.sample(RENAMES[project], draws.randint(1, 4)):
        for file in where.split():
            found[file] = re.sub(rf"(?<!from )\b{re.escape(old)}\b", new, found[file])
    return {name: _commented(text, draws) for name, text in found.items()}


def _changed(text: str, change: list) -> str:
    """Where another change has been there before, nothing."""
    if isinstance(change[0], tuple):
        first, second = change[0]
        return text.replace(first + second, second + first)
    old, new = change
    return text.replace(old, new)


def _commented(text: str, draws: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if re.match(r"(def|class|import|from) ", line)]
    for number in sorted(draws.sample(at, min(len(at), 2)), reverse=True):
        lines.insert(number, f"# {draws.choice(('what follows is as before', 'tidied', 'see the notes'))}\n\n")
    return "".join(lines)
