"""What is said of the gates that held agents on a case: gated, advisory, or nothing where no agent took part. Knows no agent."""

from __future__ import annotations

from .case import Guard
from .ladder import Case

SHOWN = 40
"""Letters of a name that an agent gave itself."""


def words(case: Case) -> str:
    """One sentence; empty where no agent took part."""
    loose = [each for each in sessions(case) if not each.alive]
    if not loose:
        return "gated: every agent session on this case was seen to pass the gate" if case.gating else ""
    more = f" and {len(loose) - 1} more" if len(loose) > 1 else ""
    return f"advisory: no gate was seen to answer for session {_shown(loose[0].session)} ({_shown(loose[0].by)}){more}; run bitten doctor"


def sessions(case: Case) -> list[Guard]:
    """Each session once, as it was last seen."""
    return list({each.session: each for each in case.guards}.values())


def plain(case: Case) -> dict[str, object]:
    """As a script would read it; empty where no agent took part."""
    told = [{"by": each.by, "session": each.session, "alive": each.alive} for each in sessions(case)]
    return {"gating": case.gating, "sessions": told} if told else {}


def _shown(name: str) -> str:
    """A client names itself: no letter of it may steer a terminal."""
    return "".join(each for each in name if each.isprintable())[:SHOWN]
