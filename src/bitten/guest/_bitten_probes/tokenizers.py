"""Tokenizers of transformers: their size, marks and sides, what they do not know, and prompts handed to `generate`.

Reads what a call returned; calls no tokenizer itself. A tokenizer used without its `__call__` is not seen.
"""

from __future__ import annotations

import hashlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
generation: Any = hook.load("_bitten_probes.generation")
texts: Any = hook.load("_bitten_probes.token_batches")

FIRST = 32
MOST = 16


class Tokenizer:
    """One tokenizer of the program, as far as it was used."""

    def __init__(self, number: int, where: tuple[str, str]) -> None:
        self.number, self.where = number, where
        self.calls = self.ids = self.unknown = self.texts = self.truncated = 0
        self.facts: dict[str, Any] = {}


_known: Any = weakly.Keys()
_all: list[Tokenizer] = []


def forked() -> None:
    _known.clear()
    _all.clear()


def tokenizers(module: Any) -> None:
    bus.wrap("tokens", module.PreTrainedTokenizerBase, "__call__", None, _called)
    bus.wrap("tokens", module.PreTrainedTokenizerBase, "pad", None, _called)


def generators(module: Any) -> None:
    bus.wrap("tokens", module.GenerationMixin, "generate", _generating)


def _called(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    tokenizer = args[0]
    found = _known.get(tokenizer)
    if found is None:
        if len(_all) >= MOST:
            return
        found = _known[tokenizer] = Tokenizer(len(_all), report.here())
        _all.append(found)
    found.calls += 1
    if found.calls <= FIRST or found.calls & (found.calls - 1) == 0:
        found.facts = _marks(tokenizer)
        for row in _rows(out):
            _count(found, tokenizer, row, kwargs)


def _marks(tokenizer: Any) -> dict[str, Any]:
    pad, eos = tokenizer.pad_token_id, tokenizer.eos_token_id
    if type(pad) is int:
        texts.Known.pads.add(pad)
    names = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")
    special = {name: getattr(tokenizer, name + "_token_id", None) for name in names}
    facts = {"tokens.vocabulary": len(tokenizer), "tokens.special_ids": {name: each for name, each in special.items() if type(each) is int},
             "tokens.pad_is_eos": pad is not None and pad == eos, "tokens.padding_side": tokenizer.padding_side,
             "tokens.truncation_side": tokenizer.truncation_side, "tokens.tokenizer_hash": _hash(tokenizer)}
    return {name: value for name, value in facts.items() if value is not None}


def _hash(tokenizer: Any) -> str:
    """Of every so manieth token with its id, and the special ones: another vocabulary or order gives another hash."""
    size = len(tokenizer)
    some = tokenizer.convert_ids_to_tokens(list(range(0, size, max(1, size // 256))))
    told = repr((size, some, sorted(str(each) for each in tokenizer.special_tokens_map.items())))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def _rows(out: Any) -> Iterator[list[int]]:
    ids = out.get("input_ids") if hasattr(out, "get") else None
    ids = ids.tolist() if ids is not None and hasattr(ids, "tolist") else ids
    if type(ids) is list and ids:
        for row in (ids if type(ids[0]) is list else [ids])[:256]:
            if type(row) is list:
                yield row[:65_536]


def _count(found: Tokenizer, tokenizer: Any, row: list[int], kwargs: Any) -> None:
    pad, unknown = tokenizer.pad_token_id, tokenizer.unk_token_id
    real = [each for each in row if each != pad]
    found.texts += 1
    found.ids += len(real)
    found.unknown += real.count(unknown) if unknown is not None and unknown != pad else 0
    found.truncated += bool(kwargs.get("truncation")) and len(row) >= (kwargs.get("max_length") or tokenizer.model_max_length)


def _generating(args: Any, kwargs: Any) -> None:
    """Padding at the end of a prompt, as the mask or the configured id tells it."""
    torch, model = sys.modules["torch"], args[0]
    ids = args[1] if len(args) > 1 else kwargs.get("inputs", kwargs.get("input_ids"))
    config = getattr(model, "config", None)
    if not isinstance(ids, torch.Tensor) or ids.dim() != 2 or getattr(config, "is_encoder_decoder", False) or ids.dtype is not torch.int64:
        return
    mask, pad = kwargs.get("attention_mask"), _padding(model, config, kwargs)
    ends = (mask[:, -1] == 0) if mask is not None and mask.shape == ids.shape else (ids[:, -1] == pad)
    padded = int(ends.sum())
    if 0 < padded < len(ids) and not generation.Last.found:
        generation.Last.found += 1
        generation.tell(int(ids[ends][0, -1]), padded, len(ids), report.here())
    if mask is None and pad is not None and len(ids) > 1 and 0 < int((ids == pad).any(1).sum()) < len(ids):
        says = f"Prompts that hold the padding id {pad} are continued without an attention mask: the model reads their padding as text."
        report.hint("tokens", "no mask", says, {"tokens.padding_id": pad}, report.here())


def _padding(model: Any, config: Any, kwargs: Any) -> Any:
    own = getattr(model, "generation_config", None)
    known = (kwargs.get("pad_token_id"), getattr(own, "pad_token_id", None), getattr(config, "pad_token_id", None))
    return next((each for each in known if type(each) is int), None)


def conclude(widest: int) -> dict[str, Any]:
    """Say at the end what tokenizers there were. Returns the facts for the summary."""
    for found in _all:
        facts = dict(found.facts)
        if found.ids:
            facts["tokens.unknown_share"] = found.unknown / found.ids
        if found.texts:
            facts["tokens.truncated_share"] = found.truncated / found.texts
        report.fact("tokens", f"tokenizer {found.number}", facts, found.where)
        size = facts.get("tokens.vocabulary", 0)
        if 0 < widest < size:
            says = f"The tokenizer knows {size} tokens, and the largest embedding has {widest} rows: a later token has no row of its own."
            report.hint("tokens", f"tokenizer {found.number} rows", says, {"tokens.rows": widest, "tokens.vocabulary": size}, found.where)
    return {"tokens.tokenizers": len(_all)} if _all else {}
