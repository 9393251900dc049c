"""What one run was like, mark by mark: the nouns of a recording. They hold statistics and digests, never the data; they judge nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from .noun import noun
from .prediction import Json


@noun
class Fingerprint:
    """What stands for one tensor, array, list or number. `size` is the mean of absolute values, `pattern` sums weighted by place.

    Statistics are of the finite values, whose share is `finite`; None where there is none.
    """

    shape: tuple[int, ...]
    dtype: str
    hash: str
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    finite: float = 1.0
    size: float | None = None
    pattern: tuple[float, ...] = ()


@noun
class Mark:
    """What was seen at one place of a run: `n` counts the marks of the same stage, step and key.

    `given` is a digest of what it was made of, `random` of the random state that it drew from; empty where that is not known, or
    where there was none. `at` and `also` are lines of the person's, `place` is file and function; `kind` says in words what it is.
    """

    stage: str
    step: int
    key: str
    n: int = 0
    fps: Mapping[str, Fingerprint] = field(default_factory=dict)
    value: Json = None
    given: str = ""
    random: str = ""
    at: str = ""
    place: str = ""
    also: tuple[str, ...] = ()
    kind: str = ""


@noun
class Recording:
    """The marks of all processes of one run, in the order of time. `name` is how a person speaks of it."""

    name: str
    marks: tuple[Mark, ...] = ()

    @property
    def steps(self) -> int:
        """The last step of which anything is told."""
        return max((each.step for each in self.marks), default=0)
