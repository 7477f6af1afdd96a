"""How relevant a unit is to what is asked, for the scored selection: by its words, without the index."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from seasoned.conversation.messages import message_text
from seasoned.conversation.units import Turn, Unit
from seasoned.text import DEFAULT as ANALYSER

MAX_RELEVANT_CHARS: Final = 4_000
"""How much of a message is read to score it for a query."""


def no_relevance(unit: Unit) -> float:  # noqa: ARG001  # the form of every relevance
    """Return 0: nothing is asked."""
    return 0.0


def relevance_to(query: str) -> Callable[[Unit], float]:
    """Return what tells how much of a query's words a unit has, 0 to 1."""
    wanted = frozenset(ANALYSER.query_terms(query)) if query else frozenset()

    def relevance(unit: Unit) -> float:
        return max(_share(turn, wanted) for turn in unit.turns) if wanted else 0.0

    return relevance


def _share(turn: Turn, wanted: frozenset[str]) -> float:
    return len(wanted & _terms(message_text(turn.message))) / len(wanted)


@lru_cache(maxsize=50_000)
def _terms(text: str) -> frozenset[str]:
    return frozenset(ANALYSER.terms(text[:MAX_RELEVANT_CHARS]))
