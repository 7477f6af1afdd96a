"""Snapshots: what keeps the block of a run, so that every process and a restart give the same bytes.

Derived from the entries that it shows and from their ids, so that forgetting one takes it along, also one that is no
longer there, or part of another by then. One record a run and form; a form is a budget, a bound of entries and a
counter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from seasoned.playbook.core import Core
from seasoned.playbook.entries import ENTRY
from seasoned.playbook.journal import name_key
from seasoned.playbook.placing import Layout, Room
from seasoned.playbook.rendering import Line, opened, read_lines
from seasoned.ports import ABSENT, Put
from seasoned.query import Compare, Op, Order, Query
from seasoned.records import JSON, Key, Record

LAYOUT: Final = "playbook-layout"
"""The kind of what keeps the block of a run."""

KEPT: Final = timedelta(days=30)
"""How long the block of a run is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A playbook as it stands in a prompt.

    `ids` are the entries shown, in order; `left_out` is how many could not be. `tokens` are counted with `text` as a
    system message; "" has none. `stable` is how many characters the block of the next run begins with as well, unless
    it is ranked anew. `number` is that of the playbook's last change when the block was made. `degraded` says what did
    not work, such as "layout: …": the block could not be kept, so that another process may make another one.
    """

    text: str = ""
    ids: tuple[str, ...] = ()
    left_out: int = 0
    tokens: int = 0
    stable: int = 0
    number: int = 0
    degraded: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a block is asked for."""

    room: Room
    task: str | None
    run: str | None

    @property
    def form(self) -> str:
        """What blocks must share for one to begin like the other."""
        return json.dumps([self.room.budget, self.room.entries, self.room.counter.fingerprint], ensure_ascii=False)

    @property
    def name(self) -> str:
        """The id of the record that keeps the block."""
        return hashlib.sha256(json.dumps([self.run, self.form]).encode()).hexdigest()[:32]

    @property
    def at_hand(self) -> Hashable:
        """What a process keeps the block under."""
        room = self.room
        return self.run, self.task if self.run is None else None, room.budget, room.entries, room.counter.identity


@dataclass(frozen=True, slots=True)
class Kept:
    """A block, how it was laid out, and the version of the record that keeps it; 0 where none does."""

    block: Block
    layout: Layout
    version: int = 0


def key_of(core: Core, wanted: Wanted) -> Key:
    """Return the key of what keeps a block."""
    return Key(core.scope, LAYOUT, wanted.name)


def stored(core: Core, wanted: Wanted) -> Record | None:
    """Return what keeps a block; None where it is not kept."""
    hits = core.store.find(Query(scope=core.scope, keys=(key_of(core, wanted),))).hits
    return hits[0].record if hits else None


def last_layout(core: Core, wanted: Wanted) -> Layout | None:
    """Return how the block of the last run was laid out; None where none of the same form is kept."""
    same = Compare("data.form", Op.EQ, wanted.form)
    hits = core.store.find(Query(scope=core.scope, kinds=(LAYOUT,), where=same, order=Order.NEWEST, k=1)).hits
    return _layout(hits[0].record.data) if hits else None


def keep(core: Core, wanted: Wanted, made: Kept, version: int) -> int:
    """Keep a block; return the version of its record.

    Raises:
        Conflict: another process keeps one.
    """
    block, layout, now = made.block, made.layout, core.clock.now()
    data: dict[str, JSON] = {
        "run": wanted.run,
        "form": wanted.form,
        "block": block.text,
        "ids": list(block.ids),
        "left_out": block.left_out,
        "number": block.number,
        "stable": len(layout.stable),
        "ranked": layout.ranked,
        "known": layout.known,
        "whole": layout.whole,
        "degraded": list(block.degraded),
    }
    record = Record(
        key=key_of(core, wanted),
        text="",
        at=now,
        data=data,
        sources=tuple(key for name in block.ids for key in (Key(core.scope, ENTRY, name), name_key(core.scope, name))),
        until=now + KEPT,
    )
    return core.store.apply([Put(record, expect=version or ABSENT)]).versions[0]


def read_block(record: Record, room: Room) -> Kept | None:
    """Return the block that a record keeps; None where it is damaged, or is too long by the caller's counter."""
    data, layout = record.data, _layout(record.data)
    text = data.get("block")
    if layout is None or not isinstance(text, str):
        return None
    tokens = room.tokens(text)
    if room.budget is not None and tokens > room.budget:
        return None
    degraded = data.get("degraded")
    kept = Block(
        text=text,
        ids=tuple(line.id for line in layout.lines),
        left_out=_number(data, "left_out"),
        tokens=tokens,
        stable=len(opened(layout.stable)),
        number=_number(data, "number"),
        degraded=tuple(str(each) for each in degraded) if isinstance(degraded, list) else (),
    )
    return Kept(kept, layout, record.version)


def _layout(data: Mapping[str, JSON]) -> Layout | None:
    lines, stable = tuple(_lines(data)), _number(data, "stable")
    if any(not line.id for line in lines) or stable > len(lines):
        return None
    return Layout(
        stable=lines[:stable],
        chosen=lines[stable:],
        ranked=_number(data, "ranked"),
        known=_number(data, "known"),
        whole=data.get("whole") is True,
    )


def _lines(data: Mapping[str, JSON]) -> Iterator[Line]:
    text, ids = data.get("block"), data.get("ids")
    if isinstance(text, str) and isinstance(ids, list):
        yield from read_lines(text, (each for each in ids if isinstance(each, str)))


def _number(data: Mapping[str, JSON], name: str) -> int:
    value = data.get(name)
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else 0
