"""What the tokens instrument sees of ids, padding and ends, by programs with tokenizers of their own.

Those of transformers, which the locked environment lacks, are stood in for by a class of the same names and shape.
"""

from __future__ import annotations

from tests.instruments.stage import line_of, probed

TEXTS = """
import random

import torch
from torch import nn
from torch.utils.data import DataLoader

random.seed(0)
torch.manual_seed(0)


class Marks:
    end = 20
    def __init__(self, own):
        self.eos_token_id = self.end
        self.pad_token_id = self.end  # <- equated
        if own:
            self.pad_token_id = self.end + 1


class Collate:
    def __init__(self, marks, keep_end=False, is_moved=False, mask=False, length=0):
        self.marks, self.keep_end, self.is_moved, self.mask, self.length = marks, keep_end, is_moved, mask, length

    def __call__(self, texts):
        pad = self.marks.pad_token_id
        longest = self.length or max(map(len, texts))
        ids = torch.tensor([text + [pad] * (longest - len(text)) for text in texts])  # <- right
        labels = ids.clone()
        labels[labels == pad] = -100
        attended = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in texts])
        if self.keep_end:
            labels = torch.where(attended == 1, ids, -100)
        if self.is_moved:
            return ids[:, :-1], labels[:, 1:]
        return {"input_ids": ids, **({"attention_mask": attended} if self.mask else {}), "labels": labels}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(22, 8, padding_idx=None)
        self.head = nn.Linear(8, 22)

    def forward(self, ids):
        return self.head(self.table(ids).cumsum(1))

    @torch.no_grad()
    def generate(self, ids, count=4):
        for _ in range(count):
            added = self(ids)[:, -1, :20].argmax(1)
            ids = torch.cat([ids, added[:, None]], 1)
        return ids


def texts(n=64, has_end=True):
    return [[random.randrange(20) for _ in range(random.randint(3, 9))] + [20] * has_end for _ in range(n)]


def fit(collate, data=None):
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in DataLoader(data or texts(), batch_size=8, collate_fn=collate):
        ids, labels = batch if isinstance(batch, tuple) else (batch["input_ids"], batch["labels"])
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), labels.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def left(rows, pad):
    longest = max(map(len, rows))
    return torch.tensor([[pad] * (longest - len(row)) + row for row in rows])


prompts = [[1, 2, 3], [4, 5, 6, 7, 8], [9, 10, 11, 12]]
"""


def _seen(tmp_path, body):
    seen = probed(tmp_path, TEXTS + body, "tokens")
    assert (seen.exit, seen.troubles) == (0, []), (seen.stderr, seen.troubles)
    return seen


def test_an_end_that_is_padding_and_never_a_label_is_found_where_the_two_were_made_one(tmp_path):
    for asked in ("Collate(Marks(False))", "Collate(Marks(False), mask=True, length=16)", "Collate(Marks(False), is_moved=True)"):
        (found,) = _seen(tmp_path, f"fit({asked})\n").findings
        assert found.facts["at"] == f"main.py:{line_of(TEXTS, '<- equated')}", asked
        assert (found.facts["tokens.padding_id"], found.facts["tokens.end_labels"], found.facts["tokens.texts"]) == (20, 0, 64)


def test_ends_that_are_learned_and_padding_of_its_own_are_let_pass(tmp_path):
    seen = _seen(tmp_path, """
fit(Collate(Marks(True)))
fit(Collate(Marks(True), is_moved=True))
fit(Collate(Marks(True), mask=True, length=16))
fit(Collate(Marks(False), keep_end=True))
fit(Collate(Marks(False), keep_end=True, mask=True, length=16))
fit(Collate(Marks(False), mask=True), texts(has_end=False))  # the data have no end marks: nothing is ignored that was there
fit(Collate(Marks(True)), [text[:5] for text in texts()])  # one length, no padding
""")  # fmt: skip
    assert [each.facts["says"] for each in seen.findings] == [] and seen.fact("tokens.unlearned_ends") == 0


def test_prompts_padded_on_the_right_and_continued_are_found(tmp_path):
    body = """
model = fit(Collate(Marks(True)))
batch = Collate(Marks(True))(prompts)["input_ids"]
print(model.generate(batch).shape)
"""
    seen = _seen(tmp_path, body)
    (found,) = seen.findings
    assert found.facts["at"] == f"main.py:{line_of(TEXTS, '<- right')}" and found.facts["tokens.prompts_padded_right"] == 2
    assert found.facts["also"][0].endswith(f"main.py:{line_of(TEXTS + body, 'print(model.generate(batch)')}")
    assert seen.stdout == "torch.Size([3, 9])\n"


def test_prompts_padded_on_the_left_or_not_at_all_are_let_pass(tmp_path):
    seen = _seen(tmp_path, """
pad_id = 21
model = fit(Collate(Marks(True)))
model.generate(left(prompts, pad_id))
model.generate(torch.tensor([[1, 2, 20], [3, 4, 5]]))  # an id that is no padding
model.generate(torch.tensor([[1, 2, pad_id]]))
with torch.no_grad():  # an evaluation of padded batches is no generation
    for width in (5, 6, 7):
        model(torch.randint(0, 20, (3, width)).index_fill_(1, torch.tensor([width - 1]), pad_id))
    for ids in ([[1, 2], [3, 4]], [[1, 2, 21], [3, 4, 5]], [[1, 2, 21, 6], [3, 4, 5, 7]]):  # one ends early, and the loop goes on
        model(torch.tensor(ids))
    encoder, decoder = Model(), Model()  # what one reads the other does not go on with
    encoder(torch.tensor([[1, 2, 3], [4, 5, pad_id]]))
    decoder(torch.tensor([[7], [7]]))
    rows = torch.full((2, 9), pad_id)  # each row is continued at its own end
    rows[0, :3], rows[1, :5] = torch.tensor([1, 2, 3]), torch.tensor([4, 5, 6, 7, 8])
    for step in range(3):
        rows[0, 3 + step], rows[1, 5 + step] = model(rows)[torch.arange(2), torch.tensor([2 + step, 4 + step]), :20].argmax(1)
""")  # fmt: skip
    assert [each.facts["says"] for each in seen.findings] == [] and seen.fact("tokens.generations_padded_right") == 0


def test_ids_are_held_against_the_rows_of_an_embedding(tmp_path):
    seen = _seen(tmp_path, """
table = nn.Embedding(30, 4, padding_idx=0)
table(torch.tensor([[0, 0, 5], [7, 11, 0]]))
""")  # fmt: skip
    (found,) = [each.facts for each in seen.of("tokens") if "tokens.rows" in each.facts]
    assert found == {"tokens.rows": 30, "tokens.min_id": 0, "tokens.max_id": 11, "tokens.embedding_calls": 1, "tokens.padding_share": 0.5}


STANDIN = {
    "transformers/__init__.py": "",
    "transformers/tokenization_utils_base.py": """
class PreTrainedTokenizerBase:
    padding_side = truncation_side = "right"
    pad_token_id, eos_token_id, bos_token_id, unk_token_id = 2, 2, None, 0
    special_tokens_map, model_max_length = {"pad_token": "</s>"}, 6
    words = ["<unk>", "a", "</s>", "b"]

    def __len__(self):
        return len(self.words)

    def convert_ids_to_tokens(self, ids):
        return [self.words[each] for each in ids]

    def __call__(self, texts, truncation=False, max_length=None):
        return {"input_ids": [[self.words.index(each) if each in self.words else 0 for each in text.split()] for text in texts]}
""",
    "main.py": """
import torch
from transformers.tokenization_utils_base import PreTrainedTokenizerBase
tok = PreTrainedTokenizerBase()
ids = tok(["a b c </s>", "a a a a a a"], truncation=True, max_length=6)["input_ids"]  # <- used
print(len(ids), torch.nn.functional.embedding(torch.tensor([1, 2]), torch.zeros(3, 2)).shape)
""",
}


def test_a_tokenizer_tells_its_marks_sides_and_what_it_did_not_know(tmp_path):
    seen = probed(tmp_path, STANDIN, "tokens")
    assert (seen.exit, seen.troubles, seen.stdout) == (0, [], "2 torch.Size([2, 2])\n"), (seen.stderr, seen.troubles)
    told = {name: seen.fact("tokens." + name) for name in ("vocabulary", "pad_is_eos", "padding_side", "unknown_share", "truncated_share")}
    assert told == {"vocabulary": 4, "pad_is_eos": True, "padding_side": "right", "unknown_share": 1 / 9, "truncated_share": 0.5}
    assert [hint.facts["at"] for hint in seen.hints] == [f"main.py:{line_of(STANDIN['main.py'], '<- used')}"] and seen.findings == []
