"""agent-episodic-memory's names and call forms: its documented code runs with only the import lines replaced.

    from seasoned.compat.agent_episodic_memory import ACEMiddleware, DeltaEntry, Playbook

Written anew after the document; what it leaves wrong is put right, see `docs/langchain.md`. `ACEMiddleware` is the one
of `seasoned.integrations.langchain`. Here `Playbook` is a value, as in the document: merging gives a new one. The
playbook with counts, history and a store is `seasoned.playbook.Playbook`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.integrations.langchain import INSTRUCTION, ACEMiddleware, ACEState
from seasoned.playbook import DeltaEntry, Outcome
from seasoned.playbook.rendering import FAILS, UNKNOWN, WORKS, Line, block, by_section, safe
from seasoned.records import JSON

_MARKS: Final = {Outcome.SUCCESS: WORKS, Outcome.FAILURE: FAILS, Outcome.NEUTRAL: UNKNOWN}

_LOG: Final = logging.getLogger("seasoned.compat")


@dataclass(frozen=True, slots=True)
class Playbook:
    """What was learned, as a value: entries in order, each fingerprint once.

    Raises:
        WrongType: something in it is no `DeltaEntry`.
    """

    entries: tuple[DeltaEntry, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", tuple(_once(self.entries)))

    def merge(self, new: Iterable[DeltaEntry] | Playbook) -> Playbook:
        """Return a playbook with these entries and then what is new; one with a fingerprint that is there is left out.

        Raises:
            WrongType: something in it is no `DeltaEntry`.
        """
        return Playbook((*self.entries, *new))

    def render(self, max_entries: int | None = None) -> str:
        """Return the block for a prompt, categories in order of first appearance; "" for no entries.

        Of more than `max_entries` those with an outcome come before neutral ones, and newer ones before older.

        Raises:
            InvalidInput: `max_entries` below 0.
        """
        if max_entries is not None and max_entries < 0:
            raise InvalidInput(f"max_entries is 0 or more, found {max_entries}")
        lines = (
            Line("", each.category, f"{_MARKS[each.outcome]} {safe(each.content)}") for each in self._best(max_entries)
        )
        return block(by_section(lines))

    def to_dict(self) -> dict[str, JSON]:
        """Return it as plain JSON: `{"entries": […]}`."""
        return {"entries": [each.to_dict() for each in self.entries]}

    @classmethod
    def from_dict(cls, given: Mapping[str, JSON]) -> Playbook:
        """Return what `to_dict` wrote; an entry that is damaged is left out, and logged.

        Raises:
            WrongType: no mapping with a list under "entries".
        """
        listed = given.get("entries", []) if isinstance(given, Mapping) else None
        if not isinstance(listed, (list, tuple)):
            raise WrongType(f'a playbook is a mapping with a list under "entries", not {given!r:.80}')
        return cls(tuple(_readable(listed)))

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[DeltaEntry]:
        return iter(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def _best(self, most: int | None) -> list[DeltaEntry]:
        if most is None or len(self.entries) <= most:
            return list(self.entries)
        places = range(len(self.entries))
        ranked = sorted(places, key=lambda at: (self.entries[at].outcome is not Outcome.NEUTRAL, at), reverse=True)
        return [self.entries[at] for at in sorted(ranked[:most])]


def _once(entries: Iterable[DeltaEntry]) -> Iterator[DeltaEntry]:
    seen = set[str]()
    for each in entries:
        if not isinstance(each, DeltaEntry):
            raise WrongType(f"a playbook holds DeltaEntry, not {each!r:.80}")
        if each.fingerprint not in seen:
            seen.add(each.fingerprint)
            yield each


def _readable(listed: Iterable[JSON]) -> Iterator[DeltaEntry]:
    for each in listed:
        try:
            yield DeltaEntry.from_dict(each)  # type: ignore[arg-type]  # checked there
        except (InvalidInput, WrongType) as error:
            _LOG.warning("an entry of a playbook is left out: %s", error)


__all__ = ["INSTRUCTION", "ACEMiddleware", "ACEState", "DeltaEntry", "Playbook"]
