"""What deltas and whole entries make of a playbook, worked out on a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.deltas import Add, Applied, Change, Delta, DeltaEntry, Effect, Merge, Remove, Tag, Update
from seasoned.playbook.drafting import Draft
from seasoned.playbook.entries import Entry, Outcome
from seasoned.playbook.view import unversioned
from seasoned.records import Key, instant


def checked_delta(given: object) -> Delta:
    """Return a delta; a `DeltaEntry` is an `Add`.

    Raises:
        WrongType: neither.
    """
    if isinstance(given, DeltaEntry):
        return Add(content=given.content, section=given.category, outcome=given.outcome, at=given.created_at)
    if isinstance(given, (Add, Update, Tag, Merge, Remove)):
        return given
    raise WrongType(f"a delta is an Add, Update, Tag, Merge, Remove or DeltaEntry, not {given!r:.80}")


def take(draft: Draft, delta: Delta, expect: Mapping[str, int]) -> Effect:
    """Work out one delta on the draft and return what became of it."""
    names = _names(delta)
    for name in names:
        wrong = _unexpected(draft, name, expect)
        if wrong is not None:
            return refused(wrong)
    try:
        match delta:
            case Add():
                return _add(draft, delta)
            case Update():
                return _update(draft, delta)
            case Tag():
                return _tag(draft, delta)
            case Merge():
                return _merge(draft, delta)
            case Remove():
                return _remove(draft, delta)
    except InvalidInput as error:
        return refused(str(error))


def refused(reason: str) -> Effect:
    """Return the effect of a delta that was refused."""
    return Effect(id="", status=Applied.REFUSED, reason=reason)


def brought(draft: Draft, entry: Entry | Add) -> Effect:
    """Write a whole entry as it is; its id must be free, or name the very same entry."""
    if isinstance(entry, Add):
        return take(draft, entry, {})
    held = draft.named(entry.id)
    if held is not None and unversioned(held) == unversioned(entry):
        return Effect(id=held.id, status=Applied.UNCHANGED, reason="the same advice is there")
    if held is not None:
        return refused(f"the id {entry.id!r} belongs to an entry that is there")
    return _put_whole(draft, entry, entry.id)


def joined(draft: Draft, entry: Entry | Add) -> Effect:
    """Add what is not there yet, under its own id where that is free."""
    found = draft.alike((entry.section, entry.content, entry.outcome))
    if found is not None:
        return Effect(id=found.id, status=Applied.UNCHANGED, reason="the same advice is there")
    taken = entry.id is not None and draft.resolve(entry.id) is not None
    if isinstance(entry, Entry):
        return _put_whole(draft, entry, draft.new_id(entry.section) if taken else entry.id)
    return take(draft, replace(entry, id=None) if taken else entry, {})


def _put_whole(draft: Draft, entry: Entry, name: str) -> Effect:
    """Write a whole entry under an id that is free, with those of its old ids that are free as well."""
    aliases = tuple(each for each in entry.aliases if draft.resolve(each) is None and each != name)
    for each in aliases:
        draft.drop(each)
    draft.put(replace(entry, id=name, aliases=aliases, version=0))
    return Effect(id=name, status=Applied.WRITTEN)


def cleared(draft: Draft) -> Sequence[Effect]:
    """Take every entry out."""
    names = [entry.id for entry in draft.held()]
    for name in names:
        draft.drop(name)
    return [Effect(id=name, status=Applied.WRITTEN) for name in names]


def returned(draft: Draft, undone: Sequence[Change]) -> Sequence[Effect]:
    """Make entries what they were before the first of these changes, in which each was touched."""
    first = dict[str, Entry | None]()
    for change in undone:
        for step in change.steps:
            first.setdefault(step.id, step.before)
    changed = [name for name, entry in first.items() if not _stands(draft, name, entry)]
    for name, entry in first.items():
        if entry is None:
            draft.drop(name)
        else:
            draft.put(entry)
    return [Effect(id=name, status=Applied.WRITTEN) for name in changed]


def _stands(draft: Draft, name: str, entry: Entry | None) -> bool:
    held = draft.entry(name)
    return held == entry if held is None or entry is None else unversioned(held) == unversioned(entry)


def _names(delta: Delta) -> tuple[str, ...]:
    if isinstance(delta, Merge):
        return delta.ids
    return () if delta.id is None else (delta.id,)


def _unexpected(draft: Draft, name: str, expect: Mapping[str, int]) -> str | None:
    entry = draft.named(name)
    for each in (name, *(() if entry is None else (entry.id,))):
        if each in expect and (entry is None or entry.version != expect[each]):
            found = "none" if entry is None else entry.version
            return f"{each!r} was expected in version {expect[each]}, found {found}"
    return None


def _add(draft: Draft, delta: Add) -> Effect:
    found = draft.alike((delta.section, delta.content, delta.outcome))
    if found is not None:
        return _credit(draft, delta, found)
    if delta.id is not None and draft.resolve(delta.id) is not None:
        return refused(f"the id {delta.id!r} belongs to an entry that says something else")
    at = instant(delta.at, default=draft.now)
    entry = Entry(
        id=draft.new_id(delta.section) if delta.id is None else delta.id,
        section=delta.section,
        content=delta.content,
        outcome=delta.outcome,
        counts=delta.counts,
        created_at=at,
        updated_at=at,
        sources=_joined(delta.sources),
    )
    draft.put(entry)
    return Effect(id=entry.id, status=Applied.WRITTEN)


def _credit(draft: Draft, delta: Add, found: Entry) -> Effect:
    """Credit the entry that says the same; an id given for it resolves to it from now on.

    Where that id names it already this is the same delta once more, so its counts are there.
    """
    named = None if delta.id is None else draft.resolve(delta.id)
    free = delta.id is not None and named is None
    aliases = (*found.aliases, delta.id) if free and delta.id is not None else found.aliases
    credited = replace(
        found,
        counts=found.counts if named == found.id else found.counts + delta.counts,
        created_at=found.created_at if delta.at is None else min(found.created_at, instant(delta.at)),
        sources=_joined(found.sources, delta.sources),
        aliases=aliases,
    )
    reason = None if found.retired is None else f"it is retired: {found.retired}"
    if credited == found:
        return Effect(id=found.id, status=Applied.UNCHANGED, reason=reason or "the same advice is there")
    if free and delta.id is not None:
        draft.drop(delta.id)
    draft.put(replace(credited, updated_at=draft.now))
    return Effect(id=found.id, status=Applied.CREDITED, reason=reason)


def _update(draft: Draft, delta: Update) -> Effect:
    entry = draft.named(delta.id)
    if entry is None:
        return _missing(delta.id)
    changed = replace(
        entry,
        content=entry.content if delta.content is None else delta.content,
        section=entry.section if delta.section is None else delta.section,
        outcome=entry.outcome if delta.outcome is None else delta.outcome,
        retired=entry.retired if delta.retired is None else delta.retired.strip() or None,
    )
    return _changed(draft, entry, changed)


def _tag(draft: Draft, delta: Tag) -> Effect:
    entry = draft.named(delta.id)
    if entry is None:
        return _missing(delta.id)
    count = max(0, getattr(entry.counts, delta.mark) + delta.times)
    return _changed(draft, entry, replace(entry, counts=replace(entry.counts, **{delta.mark: count})))


def _merge(draft: Draft, delta: Merge) -> Effect:
    found = {name: draft.named(name) for name in delta.ids}
    for name, each in found.items():
        if each is None:
            return _missing(name)
    entries = list({each.id: each for each in found.values() if each is not None}.values())
    first, rest = entries[0], entries[1:]
    if not rest:
        return Effect(id=first.id, status=Applied.UNCHANGED, reason="they are one entry already")
    merged = replace(
        first,
        content=first.content if delta.content is None else delta.content,
        section=first.section if delta.section is None else delta.section,
        outcome=_outcome(entries),
        counts=sum((each.counts for each in rest), first.counts),
        created_at=min(each.created_at for each in entries),
        retired=first.retired if all(each.retired is not None for each in entries) else None,
        aliases=tuple(dict.fromkeys((*first.aliases, *(name for each in rest for name in (each.id, *each.aliases))))),
        sources=_joined(*(each.sources for each in entries)),
    )
    for each in rest:
        draft.drop(each.id)
    return _changed(draft, first, merged)


def _outcome(entries: list[Entry]) -> Outcome:
    """Return the outcome of the first; where that is not known, the one that all the others agree on."""
    known = {each.outcome for each in entries if each.outcome is not Outcome.NEUTRAL}
    return known.pop() if entries[0].outcome is Outcome.NEUTRAL and len(known) == 1 else entries[0].outcome


def _remove(draft: Draft, delta: Remove) -> Effect:
    entry = draft.named(delta.id)
    if entry is None:
        return _missing(delta.id)
    draft.drop(entry.id)
    return Effect(id=entry.id, status=Applied.WRITTEN)


def _changed(draft: Draft, before: Entry, after: Entry) -> Effect:
    if after == before:
        return Effect(id=before.id, status=Applied.UNCHANGED)
    draft.put(replace(after, updated_at=draft.now))
    return Effect(id=before.id, status=Applied.WRITTEN)


def _missing(name: str) -> Effect:
    return refused(f"there is no entry {name!r}")


def _joined(*sources: tuple[Key, ...]) -> tuple[Key, ...]:
    return tuple(dict.fromkeys(key for each in sources for key in each))
