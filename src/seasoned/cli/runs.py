"""Commands over runs: `runs`, `run show`, `lessons`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from seasoned.cli.shell import NEGATIVE, Shell, heard
from seasoned.cli.shown import day, excerpt, rows_table, say
from seasoned.records import JSON
from seasoned.runs import L1Atom, L2Episode, Lesson, RunInfo, TurnRecord

RunId = Annotated[str, typer.Argument(help="The run, as `seasoned runs` shows it.", show_default=False)]
Turns = Annotated[int, typer.Option("--turns", "-n", min=0, help="Most turns that are shown, the last ones.")]
Profile = Annotated[str | None, typer.Option("--profile", help="Only the lessons of this profile.", show_default=False)]

_WIDE: Final = 60


def runs(shell: Shell) -> None:
    """List the runs, the newest first: what they hold and how they ended."""
    with shell.memory() as memory:
        found = memory.runs.list_runs()
    if shell.options.json:
        shell.write_json({"runs": [_run_json(each) for each in found]})
    elif found:
        heads = ("run", "started", "status", "turns", "atoms", "episodes", "outcome")
        shell.out.print(rows_table([_run_row(each) for each in found], *heads))
    if not found:
        say(shell.err, "no runs")
        raise typer.Exit(NEGATIVE)


def show(shell: Shell, run: RunId, turns: Turns = 20) -> None:
    """Show one run as a page: its lessons, episodes, atoms and turns, each layer above what it was made from."""
    name = heard(run)
    with shell.memory() as memory:
        found = memory.runs
        told, atoms, episodes = found.turns(name), found.atoms(name), found.episodes(name)
        [info] = [each for each in found.list_runs() if each.id == name]
        lessons = [each for each in found.lessons() if any(_made_in(key.id, name) for key in each.sources)]
    if shell.options.json:
        shell.write_json(_page_json(info, told, atoms, episodes, lessons))
        return
    say(shell.out, f"Run {info.id}, {info.status}, started {day(info.started)}", info.outcome, "")
    if info.retrospective:
        say(shell.out, info.retrospective, "")
    _layer(shell, f"L3 lessons ({len(lessons)})", [_lesson_row(each) for each in lessons], "runs", "lesson", "")
    _layer(
        shell, f"L2 episodes ({len(episodes)})", [_episode_row(each) for each in episodes], "phase", "turns", "story"
    )
    _layer(shell, f"L1 atoms ({len(atoms)})", [_atom_row(each) for each in atoms], "from", "priority", "fact")
    last = told[len(told) - turns :] if turns < len(told) else told
    _layer(shell, f"L0 turns ({len(told)}, {len(last)} shown)", [_turn_row(each) for each in last], *_TURN_HEADS)


def lessons(shell: Shell, profile: Profile = None) -> None:
    """List what was learned from runs, the most confirmed first."""
    with shell.memory() as memory:
        found = memory.runs.lessons(heard(profile) if profile is not None else None)
    if shell.options.json:
        shell.write_json({"lessons": [_lesson_json(each) for each in found]})
    elif found:
        rows = [(each.profile, *_lesson_row(each)) for each in found]
        shell.out.print(rows_table(rows, "profile", "runs", "lesson", ""))
    if not found:
        say(shell.err, "no lessons")
        raise typer.Exit(NEGATIVE)


def _layer(shell: Shell, title: str, rows: Sequence[Sequence[str]], *heads: str) -> None:
    say(shell.out, title)
    if rows:
        shell.out.print(rows_table(rows, *heads))
    say(shell.out, "")


def _made_in(source: str, run: str) -> bool:
    return source.startswith(f"{run.replace('%', '%25').replace('/', '%2F')}/")


def _run_row(run: RunInfo) -> tuple[str, ...]:
    counts = (str(run.turns), str(run.atoms), str(run.episodes))
    return (run.id, day(run.started), run.status, *counts, excerpt(run.outcome)[:_WIDE])


def _run_json(run: RunInfo) -> JSON:
    return {
        "id": run.id,
        "number": run.number,
        "status": run.status,
        "profile": run.profile,
        "started": run.started.isoformat(),
        "turns": run.turns,
        "atoms": run.atoms,
        "episodes": run.episodes,
        "outcome": run.outcome,
        "retrospective": run.retrospective,
    }


def _lesson_row(lesson: Lesson) -> tuple[str, str, str]:
    against = "contradicted" if lesson.contradicted_by is not None else ""
    return str(lesson.times), excerpt(lesson.text), against


def _lesson_json(lesson: Lesson) -> JSON:
    return {
        "id": lesson.id,
        "profile": lesson.profile,
        "text": lesson.text,
        "times": lesson.times,
        "runs": [*lesson.runs],
        "contradicted_by": lesson.contradicted_by,
        "sources": [key.id for key in lesson.sources],
    }


def _episode_row(episode: L2Episode) -> tuple[str, str, str]:
    return episode.name, f"T{episode.turn_start}-T{episode.turn_end}", excerpt(episode.narrative)


def _atom_row(atom: L1Atom) -> tuple[str, str, str]:
    return ", ".join(f"T{turn}" for turn in atom.turns), str(atom.priority), excerpt(atom.content)


_TURN_HEADS: Final = ("turn", "reward", "events", "actions")


def _turn_row(turn: TurnRecord) -> tuple[str, ...]:
    actions = [str(action.get("type") or action.get("name") or action) for action in turn.actions_taken]
    reward = f"{turn.reward:g} {turn.reward_unit}".strip()
    return f"T{turn.turn}", reward, excerpt(", ".join(turn.events)), excerpt(", ".join(actions))


def _page_json(
    info: RunInfo,
    turns: Sequence[TurnRecord],
    atoms: Sequence[L1Atom],
    episodes: Sequence[L2Episode],
    lessons: Sequence[Lesson],
) -> JSON:
    return {
        "run": _run_json(info),
        "lessons": [_lesson_json(each) for each in lessons],
        "episodes": [
            {
                "name": e.name,
                "turn_start": e.turn_start,
                "turn_end": e.turn_end,
                "narrative": e.narrative,
                "heat": e.heat,
            }
            for e in episodes
        ],
        "atoms": [
            {"id": a.id, "turns": [*a.turns], "type": a.type, "priority": a.priority, "content": a.content}
            for a in atoms
        ],
        "turns": [
            {
                "turn": t.turn,
                "reward": t.reward,
                "reward_unit": t.reward_unit,
                "events": [*t.events],
                "actions": [*t.actions_taken],
                "extra": dict(t.extra),
            }
            for t in turns
        ],
    }
