"""Commands that write and remove: `import`, `remember`, `forget`, `export`, `copy`, `sweep`, `doctor`, `reembed`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from seasoned.cli.progress import bar
from seasoned.cli.shell import FAILED, NEGATIVE, Shell, heard
from seasoned.cli.shown import receipt_json, receipt_table, report_json, report_notes, report_table, rows_table, say
from seasoned.errors import BundleError, InvalidInput, StoreError
from seasoned.keys import holds_sealed
from seasoned.memory import Memory
from seasoned.records import JSON
from seasoned.results import Receipt
from seasoned.retention import Retention, Rule
from seasoned.transfer.importers import Format
from seasoned.transfer.importing import ImportReport, import_file

Files = Annotated[list[Path], typer.Argument(help="Files, or folders with databases.", show_default=False)]
As = Annotated[Format | None, typer.Option("--format", help="Do not detect the format.", show_default=False)]
Named = Annotated[
    str | None,
    typer.Option(
        "--session", "-s", help="Name of the session of messages that have none.", show_default="the file's name"
    ),
]
Follow = Annotated[
    bool, typer.Option("--follow", help="Take over what a bundle changed and removed since the last one.")
]
Restore = Annotated[bool, typer.Option("--restore", help="Bring back what was forgotten here.")]
Removals = Annotated[
    bool,
    typer.Option("--removals/--no-removals", help="Tell the ids of what was forgotten, for who follows."),
]
Words = Annotated[str, typer.Argument(help="What to remember.", show_default=False)]
Kind = Annotated[str, typer.Option("--kind", help="What kind of thing it is.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.", show_default=False)]
Ids = Annotated[list[str] | None, typer.Option("--id", help="This record; may be repeated.", show_default=False)]
OfSession = Annotated[
    str | None, typer.Option("--session", "-s", help="What belongs to this session.", show_default=False)
]
Before = Annotated[
    str | None, typer.Option("--before", help="What happened before this time (ISO 8601, UTC).", show_default=False)
]
Days = Annotated[
    float | None, typer.Option("--older-than", help="What is older than so many days.", show_default=False)
]
Source = Annotated[
    str | None, typer.Option("--source", help="What was derived from this record, as KIND:ID.", show_default=False)
]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="Only this kind; may be repeated.", show_default=False)]
Everything = Annotated[bool, typer.Option("--everything", help="All that the scope holds.")]
Subtree = Annotated[bool, typer.Option("--subtree", help="In the scopes below, too.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it; without this, only show what would go.")]
Hard = Annotated[
    bool, typer.Option("--hard", help="Erase: leave no byte of the text in the file, its indexes or its log.")
]
Target = Annotated[Path, typer.Argument(help="The file to write.", show_default=False)]
Swept = Annotated[
    list[str] | None, typer.Option("--kind", help="Keep only some of this kind; may be repeated.", show_default=False)
]
KeepDays = Annotated[float | None, typer.Option("--keep-days", help="At most so many days old.", show_default=False)]
KeepLast = Annotated[int | None, typer.Option("--keep-last", help="At most so many.", show_default=False)]
From = Annotated[str, typer.Argument(help="File or URL of the memory to read.", show_default=False)]
To = Annotated[str, typer.Argument(help="File or URL of the memory to write.", show_default=False)]
Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Make every derived index anew from the rows, then check again.")
]


def import_(
    shell: Shell,
    files: Files,
    format: As = None,  # noqa: A002 - as its option
    session: Named = None,
    follow: Follow = False,
    restore: Restore = False,
) -> None:
    """Import conversations and the memories of other products; the format is detected.

    Conversations: OpenAI messages (JSON or lines), ChatGPT and Claude exports (JSON or zip), OpenAI Agents sessions,
    LoCoMo. Memories, as notes: mem0, LangGraph and LangMem stores, Letta, MemPalace. And bundles of `export`.

    Importing a file again writes only what is new in it, and brings back nothing that was forgotten. Users and
    namespaces become scopes below --scope.
    """
    name = heard(session) if session is not None else None
    reports: list[ImportReport] = []
    with shell.memory(create=True) as memory:
        for path in files:
            with _unreadable_passed(shell), bar(shell, path.name) as report:
                done = import_file(memory, path, format, session=name, follow=follow, restore=restore, progress=report)
                reports.append(done)
        if any(report.written for report in reports):
            memory.warm()
    if shell.options.json:
        shell.write_json({"files": [report_json(report) for report in reports]})
    elif reports:
        shell.out.print(report_table(reports))
        say(shell.out, *report_notes(reports))
    if len(reports) < len(files):
        raise typer.Exit(FAILED)


def remember(shell: Shell, text: Words, kind: Kind = "note", tag: Tags = None) -> None:
    """Write a note."""
    with shell.memory(create=True) as memory:
        added = memory.remember(heard(text), kind=kind, tags=[heard(each) for each in tag or ()])
    if shell.options.json:
        shell.write_json({"id": added.id, "status": added.status.value, "reason": added.reason})
    else:
        say(shell.out, f"{added.status.value} {added.id}{f' ({added.reason})' if added.reason else ''}")


def forget(
    shell: Shell,
    id: Ids = None,  # noqa: A002 - as its option
    session: OfSession = None,
    before: Before = None,
    older_than: Days = None,
    source: Source = None,
    kind: Kinds = None,
    everything: Everything = False,
    subtree: Subtree = False,
    yes: Yes = False,
    hard: Hard = False,
) -> None:
    """Forget what fits all conditions, with what was derived from it. Without --yes it only shows what would go.

    Whose memory is said by --scope. With --hard the receipt says what was erased from where.
    """
    conditions = (id, session, before, older_than, source, kind)
    if not everything and all(each is None for each in conditions):
        raise InvalidInput(
            "say what to forget: --id, --session, --before, --older-than, --source, --kind, or --everything"
        )
    with shell.memory() as memory:
        receipt = memory.forget(
            [heard(each) for each in id] if id else None,
            session=heard(session) if session is not None else None,
            before=before,
            older_than=older_than,
            source=_source(source),
            kinds=kind or (),
            everything=everything,
            subtree=subtree,
            dry_run=not yes,
            hard=hard,
        )
    _show_receipt(shell, receipt)


def _show_receipt(shell: Shell, receipt: Receipt) -> None:
    """Show what was forgotten or would be; exit code 3 where nothing fits or something waits."""
    if shell.options.json:
        shell.write_json(receipt_json(receipt))
    elif receipt.total:
        shell.out.print(receipt_table(receipt))
        if receipt.dry_run:
            say(shell.err, "nothing is forgotten yet; add --yes to do it")
    if not receipt.total:
        say(shell.err, "nothing fits")
        raise typer.Exit(NEGATIVE)
    if receipt.pending or receipt.left:
        say(shell.err, "not all is erased yet: close other readers of the file and run: seasoned doctor --rebuild")
        raise typer.Exit(NEGATIVE)


def export(shell: Shell, path: Target, removals: Removals = True) -> None:
    """Write all records of the scope to a bundle: JSON lines with a checksum, which `import` reads."""
    with shell.memory() as memory:
        done = memory.export(path, removals=removals)
    if shell.options.json:
        shell.write_json(
            {
                "file": str(path),
                "written": done.written,
                "tombstones": done.tombstones,
                "degraded": list(done.degraded),
            }
        )
    else:
        say(shell.out, f"{done.written} records written to {path}")
        say(shell.err, *(f"degraded: {reason}" for reason in done.degraded))
    if any(not reason.startswith("export:") for reason in done.degraded):
        raise typer.Exit(NEGATIVE)


def copy(shell: Shell, source: From, target: To) -> None:
    """Copy the scope and those below it to another file or engine, such as postgresql://…, and compare both.

    A copy that broke off goes on where it was. Vectors are made anew.
    """
    scope, embedder, keys = shell.scope, shell.embedder, shell.keys()
    if "://" not in source and not Path(source).exists():
        raise StoreError(f"there is no memory at {source!r}")
    with (
        Memory(heard(source), scope=scope, embedder="hashing", keys=keys if _is_sealed(shell, source) else None) as old,
        Memory(heard(target), scope=scope, embedder=embedder, keys=keys) as new,
        bar(shell, "copying") as report,
    ):
        done = old.copy_to(new, report)
    if shell.options.json:
        shell.write_json(
            {
                "read": done.read,
                "written": done.written,
                "there_before": done.duplicate,
                "sha256": done.digest,
                "degraded": list(done.degraded),
            }
        )
    else:
        say(shell.out, f"{done.written} of {done.read} records written, both places hold the same ({done.digest[:16]})")
        say(shell.err, *(f"degraded: {reason}" for reason in done.degraded))


def _is_sealed(shell: Shell, source: str) -> bool:
    """Tell whether any of a memory is sealed; what lies in the clear where keys name one would not be believed."""
    with Memory(heard(source), scope=shell.scope, embedder="hashing") as memory:
        return holds_sealed(memory.store, memory.scope)


def sweep(shell: Shell, kind: Swept = None, keep_days: KeepDays = None, keep_last: KeepLast = None) -> None:
    """Remove what is past its time and, with --kind, records that are too old or too many. What is pinned stays."""
    age = None if keep_days is None else timedelta(days=keep_days)
    if not kind and (age is not None or keep_last is not None):
        raise InvalidInput("--keep-days and --keep-last need a --kind that they hold for")
    with shell.memory() as memory:
        rules = {heard(each): Rule(keep_for=age, keep_last=keep_last) for each in kind or ()}
        done = memory.sweep(Retention(rules))
    if shell.options.json:
        shell.write_json({"removed": dict(done.by_kind), "expired": done.expired, "skipped": done.skipped})
    else:
        if done.total:
            shell.out.print(
                rows_table([(each, str(number)) for each, number in done.by_kind.items()], "kind", "removed")
            )
        say(shell.out, f"{done.total} records removed")


def doctor(shell: Shell, rebuild: Rebuild = False) -> None:
    """Check the file and every derived index against the rows; exit code 3 where something is wrong."""
    with shell.memory() as memory:
        read = memory.rebuild() if rebuild else None
        findings = memory.check()
    if shell.options.json:
        found: list[JSON] = [{"where": finding.where, "what": finding.what} for finding in findings]
        shell.write_json({"well": not findings, "rebuilt_from": read, "findings": found})
    else:
        if read is not None:
            say(shell.out, f"rebuilt from {read} records")
        if findings:
            shell.out.print(rows_table([(finding.where, finding.what) for finding in findings], "where", "what"))
        else:
            say(shell.out, "all is well")
    if findings:
        raise typer.Exit(NEGATIVE)


def reembed(shell: Shell) -> None:
    """Give every record without a vector of the present embedder one; after a change of embedder, for one."""
    with shell.memory() as memory, bar(shell, "embedding") as report:
        number = memory.reembed(report)
    if shell.options.json:
        shell.write_json({"embedded": number})
    else:
        say(shell.out, f"{number} records embedded")


@contextmanager
def _unreadable_passed(shell: Shell) -> Iterator[None]:
    """Complain of a file that cannot be read; the others are imported all the same."""
    try:
        yield
    except BundleError as error:
        if shell.options.debug:
            raise
        shell.complain(error)


def _source(given: str | None) -> tuple[str, str] | None:
    if given is None:
        return None
    kind, colon, name = heard(given).partition(":")
    if not (kind and colon and name):
        raise InvalidInput(f"a source is given as KIND:ID, such as message:locomo/conv-1/D1:3, not {given!r}")
    return kind, name
