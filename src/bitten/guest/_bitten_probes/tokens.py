"""Tokens: ids against the rows of embeddings, padding, the end of texts, and the side that prompts are padded on.

Three parts do the work: token_batches.py (ids beside labels), generation.py (prompts that are continued) and tokenizers.py (those of
transformers). What a token means, nobody here knows.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")
texts: Any = hook.load("_bitten_probes.token_batches")
generation: Any = hook.load("_bitten_probes.generation")
tokenizers: Any = hook.load("_bitten_probes.tokenizers")

FIRST = 32
MOST = 64

FACTS = {
    "tokens.embeddings": {
        "says": "embeddings that were asked for ids", "unit": "embeddings", "threshold": "", "source": "",
        "misfires": "at most 64 are followed",
    },
    "tokens.rows": {
        "says": "rows of an embedding", "unit": "rows", "threshold": "a hint where a tokenizer has more tokens",
        "source": "transformers' own advice to resize the embedding", "misfires": "tokens that never come",
    },
    "tokens.min_id": {
        "says": "least id that an embedding was asked for", "unit": "id", "threshold": "", "source": "",
        "misfires": "of the calls measured",
    },
    "tokens.max_id": {
        "says": "greatest id that an embedding was asked for", "unit": "id", "threshold": "", "source": "",
        "misfires": "of the calls measured",
    },
    "tokens.embedding_calls": {"says": "calls of an embedding", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "tokens.padding_share": {
        "says": "share of an embedding's ids that are its padding_idx", "unit": "share of 1", "threshold": "", "source": "", "misfires": "",
    },
    "tokens.unlearned_ends": {
        "says": "training loaders whose texts end in a mark that is never a label", "unit": "loaders", "threshold": "", "source": "",
        "misfires": "told where ids come with labels of their own shape",
    },
    "tokens.padding_ids": {
        "says": "ids that padded batches of ids with labels", "unit": "ids", "threshold": "", "source": "", "misfires": "",
    },
    "tokens.ignored_share": {
        "says": "share of labels that the loss ignores", "unit": "share of 1", "threshold": "", "source": "", "misfires": "",
    },
    "tokens.padding_id": {"says": "the id that pads", "unit": "id", "threshold": "", "source": "", "misfires": ""},
    "tokens.texts": {"says": "rows of ids that were looked at", "unit": "rows", "threshold": "", "source": "", "misfires": ""},
    "tokens.end_labels": {
        "says": "how often that id was a label", "unit": "labels",
        "threshold": "0, over at least 4 batches and 32 texts of differing lengths, where each text ends in it",
        "source": "ours: in a batch the longest text holds no padding, so what it ends in is no mere padding",
        "misfires": "a collate function that always adds one padding more than the longest text needs",
    },
    "tokens.generations_padded_right": {
        "says": "generations found that went on from padding", "unit": "generations", "threshold": "", "source": "", "misfires": "",
    },
    "tokens.prompts_padded_right": {
        "says": "prompts of one generation that end in padding, and were continued after it", "unit": "prompts",
        "threshold": "1, where others of the batch do not", "source": "transformers warns of the same for its decoders",
        "misfires": "a loop that takes each row's logits at its own last token and masks what pads",
    },
    "tokens.tokenizers": {
        "says": "tokenizers of transformers that were called", "unit": "tokenizers", "threshold": "", "source": "", "misfires": "",
    },
    "tokens.vocabulary": {
        "says": "tokens of a tokenizer, with those that were added", "unit": "tokens", "threshold": "", "source": "", "misfires": "",
    },
    "tokens.special_ids": {"says": "ids of its marks", "unit": "ids by name", "threshold": "", "source": "", "misfires": ""},
    "tokens.pad_is_eos": {
        "says": "its padding is its end mark", "unit": "true or false", "threshold": "", "source": "",
        "misfires": "harmless where labels keep the end",
    },
    "tokens.padding_side": {"says": "where it pads", "unit": "left or right", "threshold": "", "source": "", "misfires": ""},
    "tokens.truncation_side": {"says": "where it cuts", "unit": "left or right", "threshold": "", "source": "", "misfires": ""},
    "tokens.tokenizer_hash": {
        "says": "digest of its size, some 256 tokens with their ids, and its marks", "unit": "", "threshold": "", "source": "",
        "misfires": "two vocabularies that differ between those tokens only",
    },
    "tokens.unknown_share": {
        "says": "share of ids, without padding, that stand for unknown text", "unit": "share of 1", "threshold": "", "source": "",
        "misfires": "",
    },
    "tokens.truncated_share": {
        "says": "share of texts as long as the limit they were cut to", "unit": "share of 1", "threshold": "", "source": "",
        "misfires": "a text of just that length",
    },
}  # fmt: skip


class Table:
    """One embedding: its rows, and the ids that it was asked for."""

    def __init__(self, rows: int, padding: int | None) -> None:
        self.rows, self.padding = rows, padding
        self.calls, self.low, self.high = 0, float("inf"), -1.0
        self.ids = self.padded = 0.0

    def add(self, numbers: list[float]) -> None:
        self.low, self.high = min(self.low, numbers[0]), max(self.high, numbers[1])
        self.padded += numbers[2]
        self.ids += numbers[3]


_tables: dict[tuple[int, tuple[str, str]], Table] = {}


def install() -> None:
    bus.listen("tokens", batch=texts.batch, step_post=texts.stepped, root_post=generation.look, forked=_forked, end=_end)
    patches.on_import("torch", _functions)
    patches.on_import("transformers.tokenization_utils_base", tokenizers.tokenizers)
    patches.on_import("transformers.generation.utils", tokenizers.generators)


def _functions(torch: Any) -> None:
    bus.wrap("tokens", torch.nn.functional, "embedding", _embedding)
    bus.wrap("tokens", torch.nn.functional, "cross_entropy", texts.ignoring)


def _embedding(args: Any, kwargs: Any) -> None:
    """Of the first calls of each embedding and of those at powers of two: least and greatest id, and the share of padding."""
    ids, weight = args[0], args[1] if len(args) > 1 else kwargs["weight"]
    padding = args[2] if len(args) > 2 else kwargs.get("padding_idx")
    torch = sys.modules["torch"]
    if type(ids) is not torch.Tensor or not ids.numel():
        return
    known = (id(weight), tuple(weight.shape))
    found = _tables.get(known)
    if found is None:
        if len(_tables) >= MOST:
            return
        found = _tables[known] = Table(int(weight.shape[0]), padding)
        if type(padding) is int:
            texts.Known.pads.add(padding)
    found.calls += 1
    if found.calls <= FIRST or found.calls & (found.calls - 1) == 0:
        with torch.no_grad():
            low, high = torch.aminmax(ids)
            padded = (ids == (-1 if padding is None else padding)).sum()
            vector = torch.stack([low, high, padded, torch.full_like(padded, ids.numel())]).float()
        bus.defer(vector, found.add)


def _forked() -> None:
    _tables.clear()
    texts.forked()
    generation.forked()
    tokenizers.forked()


def _end() -> None:
    for number, found in enumerate(_tables.values()):
        if found.ids:
            facts: dict[str, Any] = {"tokens.rows": found.rows, "tokens.min_id": int(found.low), "tokens.max_id": int(found.high),
                                     "tokens.embedding_calls": found.calls}
            if type(found.padding) is int:
                facts["tokens.padding_share"] = found.padded / found.ids
            report.fact("tokens", f"embedding {number}", facts)
    widest = max((found.rows for found in _tables.values()), default=0)
    whole = {**texts.conclude(), **tokenizers.conclude(widest)}
    if _tables or whole:
        told = {"tokens.embeddings": len(_tables), "tokens.generations_padded_right": generation.Last.found}
        report.fact("tokens", "summary", {**told, **whole})
