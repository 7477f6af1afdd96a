"""Commands over the playbook: `playbook show`, `add`, `tag`, `merge`, `remove`, `clear`, `history` and the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from seasoned.cli.shell import NEGATIVE, Shell, command, heard
from seasoned.cli.shown import day, excerpt, rows_table, say
from seasoned.errors import BundleError, InvalidInput
from seasoned.playbook import Change, Changed, Counts, Effect, Entry, Mark, Outcome, Playbook, Refined, Remove, Step
from seasoned.playbook.entries import to_json
from seasoned.private_files import write_new
from seasoned.records import JSON


class Form(StrEnum):
    """How a playbook is written to a file."""

    TEXT = "text"
    JSON = "json"


EntryId = Annotated[str, typer.Argument(help="The entry, by its id or one that was merged into it.")]
EntryIds = Annotated[list[str], typer.Argument(help="Entries, by their ids.", show_default=False)]
OneId = Annotated[str | None, typer.Argument(help="One entry; all without it.", show_default=False)]
Section = Annotated[str | None, typer.Option("--section", "-s", help="Only this section.", show_default=False)]
Retired = Annotated[bool, typer.Option("--retired", help="Retired entries, too.")]
AsShown = Annotated[bool, typer.Option("--rendered", help="As a model is shown it.")]
Content = Annotated[str, typer.Argument(help="The advice.", show_default=False)]
InSection = Annotated[str, typer.Option("--section", "-s", help="Its section.")]
Leads = Annotated[Outcome, typer.Option("--outcome", "-o", help="What following it leads to.")]
NewId = Annotated[str | None, typer.Option("--id", help="Its id; else one after its section.", show_default=False)]
Said = Annotated[Mark, typer.Argument(help="What it did for a run.", show_default=False)]
Times = Annotated[int, typer.Option("--times", help="How often.")]
By = Annotated[str | None, typer.Option("--by", help="Which run says so: each counts once only.", show_default=False)]
Wording = Annotated[
    str | None, typer.Option("--content", help="The new wording; else that of the first.", show_default=False)
]
NewSection = Annotated[
    str | None, typer.Option("--section", "-s", help="The new section; else that of the first.", show_default=False)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it; without this, only say what would go.")]
Last = Annotated[int, typer.Option("-n", "--number", min=1, help="Most changes, the last ones.")]
To = Annotated[int, typer.Argument(help="The number of a change, as `history` shows it; 0 for before the first.")]
Source = Annotated[Path, typer.Argument(help="A file in the paper's format, or JSON.", show_default=False)]
Target = Annotated[Path, typer.Argument(help="The file to write.", show_default=False)]
AsForm = Annotated[
    Form | None, typer.Option("--format", help="text is the paper's; else by the name.", show_default=False)
]

playbook_app = typer.Typer(help="The playbook: advice that grows with every run.", no_args_is_help=True)


@contextmanager
def _opened(shell: Shell, *, create: bool = False) -> Iterator[Playbook]:
    with shell.memory(create=create) as memory:
        yield memory.playbook


def show(
    shell: Shell, entry: OneId = None, section: Section = None, retired: Retired = False, rendered: AsShown = False
) -> None:
    """List the entries with their counts, or one with all that is known of it."""
    with _opened(shell) as playbook:
        if entry is not None:
            found = [playbook.get(heard(entry))]
        else:
            found = playbook.entries(section=None if section is None else heard(section), retired=retired)
        text = playbook.render() if rendered else ""
    if rendered and not shell.options.json:
        say(shell.out, *([text] if text else []))
    elif shell.options.json:
        shell.write_json({"entries": [_entry_json(each) for each in found]})
    elif entry is not None:
        _page(shell, found[0])
    elif found:
        shell.out.print(rows_table([_row(each) for each in found], "id", "section", "outcome", "marks", "advice"))
    if not found:
        say(shell.err, "no entries")
        raise typer.Exit(NEGATIVE)


def add(
    shell: Shell,
    content: Content,
    section: InSection = "OTHERS",
    outcome: Leads = Outcome.NEUTRAL,
    id: NewId = None,  # noqa: A002  # as its option
) -> None:
    """Add advice; the same advice that is there is not written again."""
    with _opened(shell, create=True) as playbook:
        effect = playbook.add(heard(content), heard(section), outcome, id=None if id is None else heard(id))
    _told(shell, [effect])


def tag(shell: Shell, entry: EntryId, mark: Said, times: Times = 1, by: By = None) -> None:
    """Say that an entry was helpful, harmful or neutral for a run."""
    with _opened(shell) as playbook:
        effect = playbook.tag(heard(entry), mark, times, by=None if by is None else heard(by))
        counts = playbook.get(effect.id).counts
    _told(shell, [effect], _marks(counts))


def merge(shell: Shell, entries: EntryIds, content: Wording = None, section: NewSection = None) -> None:
    """Make one entry of several: the first; the other ids lead to it from then on."""
    with _opened(shell) as playbook:
        effect = playbook.merge_entries(
            [heard(each) for each in entries],
            None if content is None else heard(content),
            None if section is None else heard(section),
        )
    _told(shell, [effect])


def remove(shell: Shell, entries: EntryIds) -> None:
    """Take entries out, all or none; the history keeps them, and `rollback` brings them back."""
    with _opened(shell) as playbook:
        ids = dict.fromkeys(playbook.get(heard(each)).id for each in entries)
        effects = playbook.apply([Remove(id=each) for each in ids]).effects
    _told(shell, effects)


def clear(shell: Shell, yes: Yes = False) -> None:
    """Take every entry out; the history keeps them. Without --yes only say how many there are."""
    with _opened(shell) as playbook:
        found = playbook.entries(retired=True)
        number = playbook.clear().number if yes else playbook.number
    if shell.options.json:
        shell.write_json({"cleared": yes, "number": number, "ids": [each.id for each in found]})
    else:
        told = f"taken out, change {number}" if yes else "would be taken out; do it with --yes"
        say(shell.out, f"{len(found)} entries {told}")


def history(shell: Shell, entry: OneId = None, number: Last = 20) -> None:
    """List what changed, the newest last: of the playbook, or of one entry and those merged into it."""
    with _opened(shell) as playbook:
        found = playbook.history(None if entry is None else heard(entry), last=number)
    if shell.options.json:
        shell.write_json({"changes": [_change_json(each) for each in found]})
    elif found:
        rows = [(str(each.number), day(each.at), each.by, each.reason, _steps(each.steps)) for each in found]
        shell.out.print(rows_table(rows, "change", "when", "by", "why", "what"))
    if not found:
        say(shell.err, "no changes")
        raise typer.Exit(NEGATIVE)


def rollback(shell: Shell, to: To) -> None:
    """Make the entries what they were after a change; this is a change too, and can be rolled back."""
    with _opened(shell) as playbook:
        changed = playbook.rollback(to)
    if shell.options.json:
        shell.write_json(_changed_json(changed))
    else:
        say(shell.out, f"{len(changed.effects)} entries as they were after change {to}; now at change {changed.number}")


def refine(shell: Shell) -> None:
    """Merge entries that say the same, and show what contradicts itself."""
    with _opened(shell) as playbook:
        refined = playbook.refine()
    if shell.options.json:
        shell.write_json(_refined_json(refined))
        return
    for group in refined.groups:
        say(shell.out, f"merged {', '.join(group.ids)} into {group.into}: {excerpt(group.text)}")
    for pair in refined.contradictions:
        settled = "" if pair.retired is None else f"; {pair.retired} is retired"
        say(shell.out, f"contradiction {' and '.join(pair.ids)}: {excerpt(pair.reason)}{settled}")
    say(shell.out, f"{len(refined.groups)} merged, {len(refined.contradictions)} contradictions")


def import_(shell: Shell, file: Source) -> None:
    """Add the entries of a file: the paper's text, or JSON as `export` writes it. Reading it again changes nothing."""
    text = _read(file)
    with _opened(shell, create=True) as playbook:
        if _is_json(text):
            changed = playbook.load_dict(_document(file, text))
            skipped = changed.skipped
        else:
            loaded = playbook.load_text(text)
            changed, skipped = loaded.changed, loaded.transcribed.skipped
    if shell.options.json:
        left: list[JSON] = [{"id": name, "reason": reason} for name, reason in skipped]
        shell.write_json({**_changed_json(changed), "skipped": left})
        return
    counted = {status: sum(each.status == status for each in changed.effects) for status in _STATUSES}
    say(shell.out, ", ".join(f"{number} {status}" for status, number in counted.items() if number) or "no entries")
    for name, reason in skipped:
        say(shell.err, f"left out: {name}: {reason}")
    for each in changed.effects:
        if each.reason and each.status == "refused":
            say(shell.err, f"refused: {each.reason}")


def export(shell: Shell, file: Target, format: AsForm = None) -> None:  # noqa: A002  # as its option
    """Write the entries to a file: the paper's text, or JSON, which has all."""
    form = format or (Form.JSON if file.suffix.lower() == ".json" else Form.TEXT)
    with _opened(shell) as playbook:
        text = playbook.to_text() if form is Form.TEXT else json.dumps(playbook.to_dict(), ensure_ascii=False, indent=2)
        number = len(playbook.entries(retired=form is Form.JSON))
    write_new(file, text if text.endswith("\n") else text + "\n")
    if shell.options.json:
        shell.write_json({"file": str(file), "entries": number})
    else:
        say(shell.out, f"{number} entries written to {file}")


_COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "show": show,
    "add": add,
    "tag": tag,
    "merge": merge,
    "remove": remove,
    "clear": clear,
    "history": history,
    "rollback": rollback,
    "refine": refine,
    "import": import_,
    "export": export,
}
for _name, _function in _COMMANDS.items():
    playbook_app.command(_name)(command(_function))

_STATUSES: Final = ("written", "credited", "unchanged", "refused")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BundleError(f"{str(file)!r} is not UTF-8: {error}") from error


def _is_json(text: str) -> bool:
    """Tell whether a file is JSON, well or badly written; a text may begin with a bracket as well."""
    if not text.lstrip().startswith("["):
        return text.lstrip().startswith("{")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _document(file: Path, text: str) -> dict[str, JSON]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{str(file)!r} begins like JSON and is none: {error}") from error
    if not isinstance(read, dict):
        raise InvalidInput(f"{str(file)!r} holds no playbook")
    return read


def _told(shell: Shell, effects: Sequence[Effect], *more: str) -> None:
    if shell.options.json:
        shell.write_json({"effects": [_effect_json(each) for each in effects]})
        return
    for each in effects:
        why = f" ({each.reason})" if each.reason else ""
        say(shell.out, " ".join([f"{each.id}: {each.status}{why}", *more]))


def _row(entry: Entry) -> tuple[str, ...]:
    advice = excerpt(entry.content)
    if entry.retired is not None:
        advice = f"(retired: {excerpt(entry.retired)}) {advice}"
    return entry.id, entry.section, str(entry.outcome), _marks(entry.counts), advice


def _marks(counts: Counts) -> str:
    return f"+{counts.helpful} -{counts.harmful} o{counts.neutral}"


def _page(shell: Shell, entry: Entry) -> None:
    facts = {
        "section": entry.section,
        "outcome": str(entry.outcome),
        "marks": _marks(entry.counts),
        "created": day(entry.created_at),
        "changed": day(entry.updated_at),
        "retired": entry.retired or "",
        "merged": ", ".join(entry.aliases),
        "learned from": ", ".join(f"{key.kind} {key.id}" for key in entry.sources),
    }
    say(shell.out, entry.id, *(f"  {name}: {fact}" for name, fact in facts.items() if fact), "", entry.content)


def _steps(steps: Sequence[Step]) -> str:
    told = [_step(each) for each in steps[:_SHOWN]]
    return ", ".join([*told, f"and {len(steps) - _SHOWN} more"] if len(steps) > _SHOWN else told)


_SHOWN: Final = 6


def _step(step: Step) -> str:
    if step.after is None:
        return f"{step.id} removed" if step.merged_into is None else f"{step.id} merged into {step.merged_into}"
    return f"{step.id} {'added' if step.before is None else 'changed'}"


def _entry_json(entry: Entry) -> JSON:
    return {**to_json(entry), "version": entry.version}


def _effect_json(effect: Effect) -> JSON:
    return {"id": effect.id, "status": str(effect.status), "reason": effect.reason}


def _changed_json(changed: Changed) -> dict[str, JSON]:
    return {"number": changed.number, "effects": [_effect_json(each) for each in changed.effects]}


def _change_json(change: Change) -> JSON:
    return {
        "number": change.number,
        "at": change.at.isoformat(),
        "by": change.by,
        "reason": change.reason,
        "steps": [
            {
                "id": step.id,
                "before": None if step.before is None else to_json(step.before),
                "after": None if step.after is None else to_json(step.after),
                "merged_into": step.merged_into,
            }
            for step in change.steps
        ],
    }


def _refined_json(refined: Refined) -> JSON:
    return {
        "groups": [
            {"into": each.into, "ids": [*each.ids], "similarity": each.similarity, "text": each.text, "by": each.by}
            for each in refined.groups
        ],
        "contradictions": [
            {"ids": [*each.ids], "reason": each.reason, "retired": each.retired} for each in refined.contradictions
        ],
        "number": refined.changed.number,
        "warnings": [*refined.warnings],
    }
