"""Commands over single records: `list`, `get`, `history`, `explain`, `update`, `pin`, `unpin`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from seasoned.cli.shell import NEGATIVE, Shell, heard
from seasoned.cli.shown import LOCKED, day, excerpt, mapping_table, rows_table, said, say
from seasoned.errors import InvalidInput
from seasoned.explain import Explanation
from seasoned.memory import Memory
from seasoned.notes import Revision
from seasoned.records import JSON, Hit, Key, Record

Id = Annotated[str, typer.Argument(help="The record, as `list` and `search` show it.", show_default=False)]
OfKind = Annotated[str | None, typer.Option("--kind", help="Its kind, where several have this id.", show_default=False)]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only this kind, such as message or note; may be repeated.", show_default=False),
]
Newest = Annotated[bool, typer.Option("--newest", help="Those that were written last first.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Most records.")]
Condition = Annotated[
    str | None,
    typer.Option("--where", help='Only what fits, as JSON, such as {"data.tags": "home"}.', show_default=False),
]
Subtree = Annotated[bool, typer.Option("--subtree", help="In the scopes below, too.")]
Cursor = Annotated[
    str | None, typer.Option("--cursor", help="Go on behind a page, with the word it ended with.", show_default=False)
]
Text = Annotated[str | None, typer.Option("--text", help="The new text.", show_default=False)]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", help="A tag in place of those it has; may be repeated.", show_default=False),
]
Worth = Annotated[float | None, typer.Option("--worth", help="Its new worth, which ranks.", show_default=False)]


def list_(
    shell: Shell,
    kind: Kinds = None,
    newest: Newest = False,
    limit: Limit = 20,
    where: Condition = None,
    subtree: Subtree = False,
    cursor: Cursor = None,
) -> None:
    """List the records, as they were first written; old versions are left out unless --kind names them."""
    condition = None if where is None else _condition(heard(where))
    with shell.memory() as memory:
        page = memory.list(condition, cursor, k=limit, kinds=kind or (), newest=newest, subtree=subtree)
    if shell.options.json:
        shell.write_json({"records": [record_json(hit) for hit in page.hits], "cursor": page.cursor})
    elif page.hits:
        heads = ("id", *(["scope"] if subtree else []), "kind", "at", "text")
        shell.out.print(rows_table([_row(hit, subtree) for hit in page.hits], *heads))
        say(shell.err, *([f"there are more: --cursor {page.cursor}"] if page.cursor else []))
    if not page.hits:
        say(shell.err, "no records")
        raise typer.Exit(NEGATIVE)


def get(shell: Shell, id: Id, kind: OfKind = None) -> None:  # noqa: A002  # as its argument
    """Show one record with all that is stored of it."""
    with shell.memory() as memory:
        hit = memory.get(heard(id), kind)
    if shell.options.json:
        shell.write_json(record_json(hit))
        return
    fields = {name: value for name, value in _fields(hit.record).items() if value not in (None, [], {})}
    written = {} if hit.written is None else {"written": day(hit.written)}
    shell.out.print(mapping_table({**fields, **written}, ("what", "value")))
    say(shell.out, "", said(hit))


def history(shell: Shell, id: Id, kind: OfKind = None) -> None:  # noqa: A002  # as above
    """List the versions of a record, oldest first."""
    with shell.memory() as memory:
        found = memory.history(heard(id), kind)
    if shell.options.json:
        shell.write_json({"versions": [_revision_json(each) for each in found]})
    else:
        shell.out.print(rows_table([_revision_row(each) for each in found], "version", "at", "worth", "tags", "text"))


def explain(shell: Shell, id: Id, kind: OfKind = None) -> None:  # noqa: A002  # as above
    """Show what a record was made from, down to what was said, what came of it, and which contexts showed it."""
    with shell.memory() as memory:
        found = memory.explain(heard(id), kind)
    if shell.options.json:
        shell.write_json(_explanation_json(found))
        return
    shell.out.print(rows_table(_chain(found, lambda one: one.sources), "record", "kind", "at", "text"))
    if found.uses:
        say(shell.out, "", "What came of it")
        rows = [row for use in found.uses for row in _chain(use, lambda one: one.uses)]
        shell.out.print(rows_table(rows, "record", "kind", "at", "text"))
    if found.recalled:
        say(shell.out, "", f"Shown in contexts: {', '.join(trace.id for trace in found.recalled)}")
    if found.cut or found.uses_cut:
        say(shell.err, "there is more than is shown")


def update(
    shell: Shell,
    id: Id,  # noqa: A002  # as above
    text: Text = None,
    tag: Tags = None,
    worth: Worth = None,
    kind: OfKind = None,
) -> None:
    """Write a new version of a record; the old one stays in its history and is found no more."""
    tags = None if tag is None else [heard(each) for each in tag]
    given = {"text": None if text is None else heard(text), "tags": tags, "worth": worth}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise InvalidInput("say what to change: --text, --tag or --worth")
    with shell.memory() as memory:
        hit = memory.update(heard(id), kind, **changes)
        versions = len(memory.history(heard(id), kind))
    if shell.options.json:
        shell.write_json(record_json(hit))
    else:
        say(shell.out, f"{hit.id} stands in version {versions}")


def pin(shell: Shell, id: Id, kind: OfKind = None) -> None:  # noqa: A002  # as above
    """Show a note in every context from now on."""
    _set_pin(shell, lambda memory: memory.pin(heard(id), kind), heard(id), "pinned")


def unpin(shell: Shell, id: Id, kind: OfKind = None) -> None:  # noqa: A002  # as above
    """Show a note no more in every context."""
    _set_pin(shell, lambda memory: memory.unpin(heard(id), kind), heard(id), "not pinned")


def _set_pin(shell: Shell, change: Callable[[Memory], bool], name: str, now: str) -> None:
    with shell.memory() as memory:
        new = change(memory)
    if shell.options.json:
        shell.write_json({"id": name, "pinned": now == "pinned", "changed": new})
    else:
        say(shell.out, f"{name} is {now}{'' if new else ' already'}")


def record_json(hit: Hit) -> JSON:
    """Return a record as plain JSON, with all that is stored of it."""
    written = None if hit.written is None else hit.written.isoformat()
    return {**_fields(hit.record), "written": written, "text": hit.text, "locked": hit.locked}


def _fields(record: Record) -> dict[str, JSON]:
    return {
        "id": record.key.id,
        "kind": record.key.kind,
        "scope": [*record.key.scope],
        "at": record.at.isoformat(),
        "until": None if record.until is None else record.until.isoformat(),
        "worth": record.worth,
        "version": record.version,
        "sources": [f"{key.kind}:{key.id}" for key in record.sources],
        "data": dict(record.data),
    }


def _row(hit: Hit, subtree: bool) -> list[str]:
    key = hit.record.key
    scope = ["/".join(key.scope)] if subtree else []
    return [key.id, *scope, key.kind, day(hit.record.at), excerpt(said(hit))]


def _condition(given: str) -> dict[str, object]:
    try:
        found = json.loads(given)
    except ValueError as error:
        raise InvalidInput(f'--where is JSON, such as {{"data.tags": "home"}}, not {given!r:.80}: {error}') from error
    if not isinstance(found, dict):
        raise InvalidInput(f'--where is a JSON object, such as {{"data.tags": "home"}}, not {given!r:.80}')
    return found


def _revision_row(revision: Revision) -> list[str]:
    record = revision.record
    tags = record.data.get("tags")
    listed = ", ".join(map(str, tags)) if isinstance(tags, list) else ""
    number = f"{revision.version}{' (now)' if revision.current else ''}"
    return [number, day(record.at), f"{record.worth:g}", listed, excerpt(LOCKED if _is_locked(record) else record.text)]


def _is_locked(record: Record) -> bool:
    return not record.text and record.data.get("locked") is True


def _revision_json(revision: Revision) -> JSON:
    locked = _is_locked(revision.record)
    shown: dict[str, JSON] = {**_fields(revision.record), "text": revision.record.text, "locked": locked}
    return {**shown, "version": revision.version, "current": revision.current}


def _chain(start: Explanation, below: Callable[[Explanation], Sequence[Explanation]]) -> list[list[str]]:
    """Return a record and what is below it as rows, each once and each level set in by a dot."""
    rows, seen, waiting = list[list[str]](), set[Key](), [(0, start)]
    while waiting:
        depth, one = waiting.pop()
        if one.key not in seen:
            seen.add(one.key)
            rows.append(_link(one, depth))
            waiting += [(depth + 1, each) for each in reversed(below(one))]
    return rows


def _link(one: Explanation, depth: int) -> list[str]:
    at, text = ("", "(it is gone)") if one.hit is None else (day(one.hit.record.at), excerpt(said(one.hit)))
    return [f"{'. ' * depth}{one.key.id}", one.key.kind, at, text]


def _explanation_json(found: Explanation) -> JSON:
    return {
        "chain": [_link_json(one) for one in found.walk()],
        "uses": [_link_json(one) for one in found.walk_uses()],
        "recalled": [trace.id for trace in found.recalled],
        "cut": found.cut,
        "uses_cut": found.uses_cut,
    }


def _link_json(one: Explanation) -> JSON:
    """Return a record as plain JSON; of one that is gone, its id, kind and scope only."""
    if one.hit is not None:
        return record_json(one.hit)
    return {"id": one.key.id, "kind": one.key.kind, "scope": [*one.key.scope]}
