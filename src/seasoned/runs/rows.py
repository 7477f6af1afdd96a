"""How runs stand in the store: kinds, ids, and records made of turns, atoms, episodes and lessons, and read again.

Turns have no text, so search finds what was made of them and not each of a hundred thousand turns. They have a session
of their own, by which a run's turns are listed; what was made of them has none, since a fact speaks for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Final

from seasoned.errors import InvalidInput, SeasonedError
from seasoned.records import JSON, MAX_ID, Hit, Key, Record, Scope, checked_id
from seasoned.runs.models import L1Atom, L2Episode, TurnRecord, stored_turn

TURN: Final = "turn"
ATOM: Final = "atom"
EPISODE: Final = "episode"
LESSON: Final = "lesson"
RUN: Final = "run"
PROFILE: Final = "profile"

KINDS: Final = (TURN, ATOM, EPISODE, LESSON, RUN, PROFILE)
"""Every kind that run memory writes."""

MAX_NAME: Final = 200
"""Longest name of a run, in characters."""


@dataclass(frozen=True, slots=True)
class Ids:
    """The keys of one run's records; each is a function of what it names."""

    scope: Scope
    run: str

    def head(self) -> Key:
        """Return the key of the run itself."""
        return Key(self.scope, RUN, self.run)

    def turn(self, turn: int) -> Key:
        """Return the key of a turn."""
        return Key(self.scope, TURN, f"{self._escaped()}/turn/{turn}")

    def atom(self, name: str) -> Key:
        """Return the key of an atom; a name too long for an id is hashed."""
        made = f"{self._escaped()}/atom/{name}"
        return Key(self.scope, ATOM, made if len(made) <= MAX_ID else f"{self._escaped()}/atom/{digest(name)}")

    def episode(self, number: int) -> Key:
        """Return the key of the run's episode of this number, from 1 on."""
        return Key(self.scope, EPISODE, f"{self._escaped()}/episode/{number}")

    def turns_session(self) -> str:
        """Return the session of the run's turns."""
        return f"turns of {self._escaped()}"

    def _escaped(self) -> str:
        return escaped(self.run)


def escaped(name: str) -> str:
    """Return a name in which no slash stands, different for different names."""
    return name.replace("%", "%25").replace("/", "%2F")


def digest(text: str) -> str:
    """Return 32 hexadecimal digits of a text's SHA-256."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def run_name(value: object) -> str:
    """Return the name of a run.

    Raises:
        InvalidInput: blank, too long, or with control characters.
        WrongType: not a string.
    """
    name = checked_id(value, "a run's name")
    if len(escaped(name)) > MAX_NAME:
        raise InvalidInput(f"a run's name has at most {MAX_NAME} characters, found {len(name)}")
    return name


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn as it lies in the store, with its time."""

    turn: TurnRecord
    at: datetime


@dataclass(frozen=True, slots=True)
class StoredAtom:
    """An atom as it lies in the store: the turns it was seen in, its time, version and the credit of outcomes."""

    atom: L1Atom
    turns: tuple[int, ...]
    at: datetime
    version: int = 0
    credit: float = 0.0


@dataclass(frozen=True, slots=True)
class Before:
    """An episode before it was extended: where it ended, its narrative, and how many of the sources it had."""

    turn_end: int
    narrative: str
    sources: int


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode as it lies in the store: its number in the run, what it was made from, its time and version.

    `upto` is the last turn it has read. `before` is what it was when it was extended last: what counts where the
    head of the run, which is written after it, never came to know of that. `credit` is that of outcomes.
    """

    episode: L2Episode
    number: int
    sources: tuple[Key, ...]
    at: datetime
    upto: int
    writer: str = "model"
    version: int = 0
    before: Before | None = None
    credit: float = 0.0

    def as_of(self, covered: int) -> StoredEpisode:
        """Return the episode as it stood when the run was read up to a turn."""
        if self.before is None or self.upto <= covered:
            return self
        episode = replace(self.episode, turn_end=self.before.turn_end, narrative=self.before.narrative)
        return replace(self, episode=episode, sources=self.sources[: self.before.sources], before=None)


def turn_row(ids: Ids, turn: TurnRecord, at: datetime) -> Record:
    """Return the record of a turn."""
    data: dict[str, JSON] = {
        "session": ids.turns_session(),
        "run": ids.run,
        "turn": turn.turn,
        "reward": turn.reward,
        "reward_unit": turn.reward_unit,
        "events": [*turn.events],
        "actions": [*turn.actions_taken],
        "extra": turn.extra,
    }
    return Record(key=ids.turn(turn.turn), text="", at=at, data=data)


def turn_of(hit: Hit) -> StoredTurn | None:
    """Return the turn that a record holds, None where it holds none."""
    made = stored_turn(hit.record.data)
    return None if made is None else StoredTurn(made, hit.record.at)


def atom_row(ids: Ids, stored: StoredAtom) -> Record:
    """Return the record of an atom."""
    atom = stored.atom
    data: dict[str, JSON] = {
        "run": ids.run,
        "atom": atom.id,
        "turn": atom.turn,
        "type": atom.type,
        "priority": atom.priority,
        "tags": [*atom.tags],
        "turns": [*stored.turns],
    }
    return Record(
        key=ids.atom(atom.id),
        text=atom.content,
        at=stored.at,
        data=data,
        sources=tuple(ids.turn(turn) for turn in stored.turns),
        worth=atom.priority / 100 + stored.credit,
    )


def atom_of(hit: Hit) -> StoredAtom | None:
    """Return the atom that a record holds, None where it holds none."""
    data = hit.record.data
    try:
        atom = L1Atom(
            data["atom"],  # type: ignore[arg-type]  # checked when it is made, as the others
            data["turn"],  # type: ignore[arg-type]
            data["type"],  # type: ignore[arg-type]
            hit.record.text,
            data["priority"],  # type: ignore[arg-type]
            data["tags"],  # type: ignore[arg-type]
            data["turns"],  # type: ignore[arg-type]
        )
    except (KeyError, SeasonedError):
        return None
    credit = credit_in(hit.record, atom.priority / 100)
    return StoredAtom(atom, tuple(atom.turns), hit.record.at, hit.record.version, credit)


def credit_in(record: Record, base: float) -> float:
    """Return what outcomes added to a record's worth, given what it is worth by itself."""
    return round(record.worth - base, 9)


def episode_row(ids: Ids, stored: StoredEpisode) -> Record:
    """Return the record of an episode."""
    episode = stored.episode
    data: dict[str, JSON] = {
        "run": ids.run,
        "number": stored.number,
        "name": episode.name,
        "turn_start": episode.turn_start,
        "turn_end": episode.turn_end,
        "heat": episode.heat,
        "writer": stored.writer,
        "upto": stored.upto,
        "before": _before_data(stored.before),
    }
    return Record(
        key=ids.episode(stored.number),
        text=episode.narrative,
        at=stored.at,
        data=data,
        sources=stored.sources,
        worth=stored.credit,
    )


def episode_of(hit: Hit) -> StoredEpisode | None:
    """Return the episode that a record holds, None where it holds none."""
    data = hit.record.data
    start, end, heat, number = (whole(data, name) for name in ("turn_start", "turn_end", "heat", "number"))
    name, writer = data.get("name"), data.get("writer")
    if not isinstance(name, str) or start is None or end is None or number is None:
        return None
    return StoredEpisode(
        L2Episode(name, start, end, hit.record.text, heat or 0),
        number,
        hit.record.sources,
        hit.record.at,
        _upto(data, end),
        writer if isinstance(writer, str) else "model",
        hit.record.version,
        _before_of(data.get("before")),
        credit_in(hit.record, 0.0),
    )


def _upto(data: Mapping[str, JSON], end: int) -> int:
    upto = whole(data, "upto")
    return end if upto is None else upto


def _before_data(before: Before | None) -> JSON:
    if before is None:
        return None
    return {"turn_end": before.turn_end, "narrative": before.narrative, "sources": before.sources}


def _before_of(value: JSON) -> Before | None:
    if not isinstance(value, dict):
        return None
    end, sources, narrative = whole(value, "turn_end"), whole(value, "sources"), value.get("narrative")
    if end is None or sources is None or not isinstance(narrative, str):
        return None
    return Before(end, narrative, sources)


def whole(data: Mapping[str, JSON], name: str) -> int | None:
    """Return a field of data if it is an integer."""
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def texts(data: Mapping[str, JSON], name: str) -> tuple[str, ...]:
    """Return a field of data if it is a list of texts, those among it."""
    value = data.get(name)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def with_turns(stored: StoredAtom, turns: Sequence[int]) -> StoredAtom:
    """Return the atom as seen in these turns too."""
    united = tuple(sorted({*stored.turns, *turns}))
    return replace(stored, turns=united, atom=replace(stored.atom, turns=[*united]))
