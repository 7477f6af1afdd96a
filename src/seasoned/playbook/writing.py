"""What a change writes, in order: its steps, the change itself, then what it makes of ids and entries, the head last.

On an engine that writes one record after the other the change holds from the moment in which it is recorded: whoever
looks next makes the rest. Each record expects the version that was read, so of two writers only one comes through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from seasoned.playbook.deltas import Effect, Step
from seasoned.playbook.entries import ENTRY, to_record
from seasoned.playbook.journal import (
    Head,
    Header,
    by_record,
    head_record,
    header_record,
    name_record,
    step_records,
)
from seasoned.playbook.view import View, unversioned
from seasoned.ports import ABSENT, Change, Put, Remove, Vectors
from seasoned.records import Key, Scope
from seasoned.search import Searcher


def header_of(view: View, steps: Sequence[Step], *, ids: int, at: datetime, by: str, token: str) -> Header:
    """Return the next change."""
    return Header(number=view.number + 1, at=at, by=by, token=token, after=view.head.token, steps=len(steps), ids=ids)


def recorded(scope: Scope, header: Header, steps: Sequence[Step], reason: str) -> list[Change]:
    """Return what records a change."""
    records = [*step_records(scope, header, steps, reason), header_record(scope, header)]
    return [Put(record, expect=ABSENT) for record in records]


def made(view: View, scope: Scope, header: Header, steps: Sequence[Step]) -> list[Change]:
    """Return what a recorded change makes of ids, entries and the head, as far as it is not made yet."""
    writes = [write for index, step in enumerate(steps) for write in _of_name(view, scope, header, index, step)]
    writes += [write for step in steps for write in _of_entry(view, scope, step)]
    if header.by:
        writes.append(Put(by_record(scope, header.by, header.number, header.at)))
    foreign = ((view.head.number + 1, header.number - 1),) if header.number > view.head.number + 1 else ()
    head = Head(
        number=header.number,
        token=header.token,
        ids=max(view.head.ids, header.ids),
        skipped=(*view.head.skipped, *foreign),
    )
    writes.append(Put(head_record(scope, head, header.at), expect=view.head.version or ABSENT))
    return writes


def _of_name(view: View, scope: Scope, header: Header, index: int, step: Step) -> list[Change]:
    known = view.names.get(step.id)
    record = name_record(scope, step, (header.number, index) if known is None else known.place, header.at)
    if known is not None and known.sources == record.sources and step.before is not None:
        return []  # an entry that comes back is written with its id, so that one forgotten meanwhile does not
    return [Put(record, expect=ABSENT if known is None else known.version)]


def _of_entry(view: View, scope: Scope, step: Step) -> list[Change]:
    held, after = view.entries.get(step.id), step.after
    if after is None:
        return [] if held is None else [Remove(Key(scope, ENTRY, step.id), expect=held.version)]
    if held is not None and unversioned(held) == unversioned(after):
        return []
    return [Put(to_record(after, scope), expect=view.version(step.id) or ABSENT)]


class Embedding:
    """The vectors of contents, made once however often a change is worked out anew."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._made: dict[str, Vectors | None] = {}
        self._failed: str | None = None

    def of(self, writes: Sequence[Change], steps: Sequence[Step]) -> list[Change]:
        """Return the writes, each entry whose content is new with its vectors."""
        new = {step.after.id: step.after.content for step in steps if step.after is not None and _rewritten(step)}
        self._make([content for content in dict.fromkeys(new.values()) if content not in self._made])
        return [self._with(write, new) for write in writes]

    def reported(self, effects: Sequence[Effect], steps: Sequence[Step]) -> tuple[Effect, ...]:
        """Return the effects, those that lack vectors because the embedder failed with that as their reason."""
        lacking = {step.id for step in steps if _rewritten(step)} if self._failed else set()
        return tuple(
            replace(each, reason=f"degraded: {self._failed}") if each.id in lacking else each for each in effects
        )

    def _make(self, contents: list[str]) -> None:
        if contents:
            vectors, failed = self._searcher.vectors(contents)
            self._made.update(zip(contents, vectors, strict=True))
            self._failed = failed or self._failed

    def _with(self, write: Change, new: dict[str, str]) -> Change:
        if not isinstance(write, Put) or write.record.key.kind != ENTRY or write.record.key.id not in new:
            return write
        return replace(write, vectors=self._made[new[write.record.key.id]])


def _rewritten(step: Step) -> bool:
    return step.after is not None and (step.before is None or step.before.content != step.after.content)
