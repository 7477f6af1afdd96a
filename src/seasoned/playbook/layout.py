"""The block of a playbook in a prompt: within a run always the same, from run to run with the same beginning.

The first call of a run makes its block and keeps it, so that every later call, another process and a restart give the
same bytes; kept for 30 days, and derived from the entries it shows: forgetting one takes it along, and it is made anew.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Final
from weakref import WeakKeyDictionary

from seasoned.errors import Conflict, InvalidInput, StoreBusy, StoreFull, StoreReadOnly, WrongType
from seasoned.playbook import rendering
from seasoned.playbook.core import Core
from seasoned.playbook.placing import Room, placed
from seasoned.playbook.ranking import Standing, relevance
from seasoned.playbook.snapshots import Block, Kept, Wanted, keep, key_of, last_layout, read_block, stored
from seasoned.ports import Remove, TokenCounter
from seasoned.records import checked_id
from seasoned.tokens import resolve_counter

RUNS: Final = 128
"""Of how many runs a process has the blocks at hand."""

TRIES: Final = 8
"""How often a block is made anew where another process keeps one, or an entry is forgotten, at the same time."""

_LOG: Final = logging.getLogger("seasoned.playbook")


def block(
    core: Core,
    *,
    budget: int | None,
    task: str | None = None,
    run: str | None = None,
    counter: TokenCounter | None = None,
    max_entries: int | None = None,
) -> Block:
    """Return the playbook as one text of at most `budget` tokens and `max_entries` entries; None for no bound.

    Retired entries are not shown. Where not all fit, those with evidence come before those without, then by usefulness,
    by likeness to `task` and recency. Tokens are those of a system message with this text, by `counter` (an estimate).
    With `run`, the first call decides, its task included, and is kept; each budget of a run has a block of its own.
    Without, nothing is written, and the block begins like that of the last run.

    Raises:
        InvalidInput: a budget or max_entries below 0.
        WrongType: an argument of another type.
    """
    room = Room(
        counter=resolve_counter(counter),
        budget=_bound(budget, "budget"),
        entries=_bound(max_entries, "max_entries"),
    )
    if task is not None and not isinstance(task, str):
        raise WrongType(f"task is a text, not {task!r:.80}")
    if run is not None:
        checked_id(run, "a run")
    return _desk(core).block(core, Wanted(room, task, run))


def _bound(value: object, what: str) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise WrongType(f"{what} is an integer or None, not {value!r:.80}")
    if value is not None and value < 0:
        raise InvalidInput(f"{what} is 0 or more, found {value}")
    return value


@dataclass(slots=True)
class _Desk:
    """What a process has at hand of one playbook: how its entries stand, and the blocks of the last runs."""

    seq: int = -1
    standing: Standing | None = None
    blocks: OrderedDict[Hashable, tuple[int, Kept]] = field(default_factory=OrderedDict)

    def block(self, core: Core, wanted: Wanted) -> Block:
        """Return the block at hand, where it still stands; else that which is kept; else a new one."""
        seq, name = core.seq, wanted.at_hand
        held = self.blocks.get(name)
        if held is not None and held[0] == seq:
            return held[1].block
        kept = None if held is None or wanted.run is None else self._still(core, wanted, held[1])
        if kept is None:
            kept = self._made(core, wanted) if wanted.run is None else self._of_run(core, wanted)
        self.blocks[name] = (seq, kept)
        while len(self.blocks) > RUNS:
            self.blocks.popitem(last=False)
        return kept.block

    def _still(self, core: Core, wanted: Wanted, held: Kept) -> Kept | None:
        """Return a block at hand if it stands: what keeps it is there, or all its entries are where nothing does."""
        if held.version == 0:
            return held if _holds(core, held) else None
        found = stored(core, wanted)
        return held if found is not None and found.data.get("block") == held.block.text else None

    def _of_run(self, core: Core, wanted: Wanted) -> Kept:
        """Return the block that a run has, or give it one."""
        for _ in range(TRIES):
            found = stored(core, wanted)
            kept = None if found is None else read_block(found, wanted.room)
            if kept is not None:
                return kept
            made = self._made(core, wanted)
            try:
                version = keep(core, wanted, made, 0 if found is None else found.version)
            except Conflict:
                continue
            except (StoreReadOnly, StoreFull, StoreBusy) as error:
                return _unkept(made, str(error))
            if _holds(core, made):
                return replace(made, version=version)
            core.store.apply([Remove(key_of(core, wanted))])  # an entry was forgotten meanwhile, and cannot stay in it
        return _unkept(self._made(core, wanted), "other processes changed the playbook each time")

    def _made(self, core: Core, wanted: Wanted) -> Kept:
        """Return a new block, which begins like that of the last run."""
        number, standing = core.number, self._standing(core)
        matches, degraded = relevance(core, wanted.task)
        layout = placed(standing, wanted.room, matches, last_layout(core, wanted))
        text = rendering.block(layout.lines)
        made = Block(
            text=text,
            ids=tuple(line.id for line in layout.lines),
            left_out=len(standing) - len(layout.lines),
            tokens=wanted.room.tokens(text),
            stable=len(rendering.opened(layout.stable)),
            number=number,
            degraded=degraded,
        )
        return Kept(made, layout)

    def _standing(self, core: Core) -> Standing:
        seq = core.seq
        if self.standing is None or self.seq != seq:
            self.standing, self.seq = Standing(core.entries()), seq
        return self.standing


_DESKS: Final[WeakKeyDictionary[Core, _Desk]] = WeakKeyDictionary()


def _desk(core: Core) -> _Desk:
    return _DESKS.setdefault(core, _Desk())


def _holds(core: Core, kept: Kept) -> bool:
    """Tell whether all that a block shows is in the playbook."""
    return {entry.id for entry in core.entries(retired=True)}.issuperset(kept.block.ids)


def _unkept(made: Kept, why: str) -> Kept:
    _LOG.warning("the block of a run could not be kept, so another process may make another one: %s", why)
    return replace(made, block=replace(made.block, degraded=(*made.block.degraded, f"layout: {why}")))
