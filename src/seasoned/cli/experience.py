"""Commands over experience: `decisions`, `feedback`."""

from __future__ import annotations

from typing import Annotated

import typer

from seasoned.cli.shell import NEGATIVE, Shell, heard
from seasoned.cli.shown import day, rows_table, say, visible
from seasoned.errors import InvalidInput
from seasoned.experience import Match, Matches
from seasoned.experience.feedback import feedback_json
from seasoned.records import JSON

Situation = Annotated[
    str | None, typer.Argument(help="A situation to find similar decisions for; without it the newest are shown.")
]
Number = Annotated[int, typer.Option("-n", "--number", help="Most decisions.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", help="A metric of the state, as NAME=NUMBER; may be repeated.", show_default=False),
]
Floor = Annotated[
    float | None, typer.Option("--min-reward", help="The least reward, for a situation.", show_default=False)
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only with this tag; may be repeated.", show_default=False)
]


def decisions(
    shell: Shell,
    situation: Situation = None,
    number: Number = 20,
    metric: Metrics = None,
    min_reward: Floor = None,
    tag: Tags = None,
) -> None:
    """List the newest decisions, or those made in situations most like one, with their rewards and feedback."""
    if situation is None and (metric or tag or min_reward is not None):
        raise InvalidInput("--metric, --min-reward and --tag narrow the decisions for a situation; name one")
    with shell.memory() as memory:
        found = (
            memory.experience.newest(number)
            if situation is None
            else memory.experience.similar(
                heard(situation),
                dict(_metric(heard(each)) for each in metric or ()),
                number,
                min_reward=min_reward,
                tags=[heard(each) for each in tag or ()],
            )
        )
    _show(shell, found, ranked=situation is not None)


def _show(shell: Shell, found: Matches, *, ranked: bool) -> None:
    if shell.options.json:
        shell.write_json({"decisions": [match_json(match) for match in found], "degraded": list(found.degraded)})
    elif found:
        heads = ("score",) if ranked else ()
        shell.out.print(rows_table([_row(match, ranked) for match in found], *heads, *_HEADS))
    for reason in found.degraded:
        say(shell.err, f"degraded: {reason}")
    if not found:
        say(shell.err, "no decisions found")
        raise typer.Exit(NEGATIVE)


_HEADS = ("when", "situation", "action", "reward", "rated", "episode", "id")


def _row(match: Match, ranked: bool) -> list[str]:
    action = f"{match.action} on {match.domain}" if match.domain else match.action
    return [
        *([f"{match.score:.3f}"] if ranked else []),
        day(match.at),
        match.situation,
        action,
        "" if match.reward is None else f"{match.reward:.2f}",
        "" if match.feedback is None else f"{match.feedback.overall_effectiveness:g}/10",
        match.episode or "",
        match.id,
    ]


def match_json(match: Match) -> JSON:
    """Return a decision or trajectory as plain JSON."""
    return {
        "id": match.id,
        "at": match.at.isoformat(),
        "situation": match.situation,
        "action": match.action,
        "domain": match.domain,
        "reward": match.reward,
        "value": match.value,
        "reasoning": match.reasoning,
        "metrics": dict(match.metrics),
        "tags": list(match.tags),
        "episode": match.episode,
        "personality": match.personality,
        "score": match.score,
        "similarity": match.similarity,
        "feedback": None if match.feedback is None else feedback_json(match.feedback),
        "why": {name: {"value": part.value, "share": part.share} for name, part in match.why.items()},
    }


def _metric(given: str) -> tuple[str, float]:
    name, mark, number = given.rpartition("=")
    try:
        return name if mark and name else _refused(given), float(number)
    except ValueError:
        return _refused(given), 0.0


def _refused(given: str) -> str:
    raise InvalidInput(f"a metric is NAME=NUMBER, such as career.workload=80, not {given!r}")


Episode = Annotated[str, typer.Argument(help="The episode, or with --decision the id of one decision.")]
Rating = Annotated[float, typer.Option("--rating", "-r", help="How well it went, 0 to 10.", show_default=False)]
Note = Annotated[str, typer.Option("--note", help="What happened that nobody expected.", show_default=False)]
Improved = Annotated[
    list[str] | None, typer.Option("--improved", help="A domain that got better; may be repeated.", show_default=False)
]
Worsened = Annotated[
    list[str] | None, typer.Option("--worsened", help="A domain that got worse; may be repeated.", show_default=False)
]
OfDecision = Annotated[bool, typer.Option("--decision", help="Rate one decision, not an episode.")]


def feedback(
    shell: Shell,
    episode: Episode,
    rating: Rating,
    note: Note = "",
    improved: Improved = None,
    worsened: Worsened = None,
    decision: OfDecision = False,
) -> None:
    """Say how an episode went, or one decision; the newest word stands, and counts from the next look on."""
    name = heard(episode)
    with shell.memory() as memory:
        added = memory.experience.rate(
            rating,
            episode=None if decision else name,
            decision=name if decision else None,
            note=heard(note),
            improved=[heard(each) for each in improved or ()],
            worsened=[heard(each) for each in worsened or ()],
        )
        history = memory.experience.feedback_history(
            episode=None if decision else name, decision=name if decision else None
        )
    if shell.options.json:
        listed: list[JSON] = [feedback_json(each) for each in history]
        shell.write_json({"id": added.id, "status": str(added.status), "history": listed})
    else:
        earlier = f", after {len(history) - 1} earlier" if len(history) > 1 else ""
        say(shell.out, f"{visible(name)}: rated {rating:g}/10{earlier}")
