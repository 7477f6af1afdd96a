"""What is particular to energy in the four layers: turn records, facts, phases, and what a run has taught."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean, pstdev
from typing import Final, TypeAlias

from examples.energy_tycoon.lessons import Fact, Habit, Subject, Taught, beginning_sentence
from examples.energy_tycoon.shapes import MONTH_HOURS, Action, Block, Event, Markup, Tech, TurnResult
from seasoned.compat.istar import L1Atom, TurnRecord
from seasoned.compat.istar.models import EpisodePromptContext, L2Episode, RetroPromptContext
from seasoned.records import JSON
from seasoned.runs import (
    MARKET_EVENT,
    PORTFOLIO_EVENT,
    AtomExtractor,
    Combined,
    Crossing,
    SignChange,
    Streak,
    atom_id,
)

PHASES: Final = ("SHORTAGE", "PRICE_DISCOVERY", "MARGIN_COMPRESSION", "STABLE_HARVEST", "CARBON_SQUEEZE", "CRISIS")
REWARD_UNIT: Final = "k€"
EVENT_PRIORITY: Final[Mapping[Event, int]] = {
    Event.FUEL_SHOCK: 90,
    Event.POLICY_CHANGE: 85,
    Event.DROUGHT: 80,
    Event.PLANT_OUTAGE: 80,
    Event.DEMAND_SURGE: 80,
}
_ORDER_PLACES: Final = ("first", "second")
_ORDER_PRIORITY: Final = 40
_FINISHED_PRIORITY: Final = 60
_YEAR_TURNS: Final = 12
_FEWEST_TURNS: Final = 6

_Measured: TypeAlias = tuple[Subject, tuple[float, ...]]


def make_turn_record(turn: int, result: TurnResult, actions: Sequence[Action]) -> TurnRecord:
    """Return a turn of the simulator as a record; of `actions`, those that were carried out."""
    cleared, now = result.cleared, result.cleared.conditions
    orders: list[dict[str, JSON]] = [{"type": "build", "tech": tech.value} for tech in result.ordered]
    contracts: list[dict[str, JSON]] = [{"type": "contract"}] if result.contracted else []
    markups: list[dict[str, JSON]] = [
        {"type": "markup", "share": act.share} for act in actions if isinstance(act, Markup)
    ]
    return TurnRecord(
        turn=turn,
        reward=round(result.reward, 1),
        reward_unit=REWARD_UNIT,
        events=[event.value for event in now.began],
        actions_taken=[*orders, *contracts, *markups],
        extra={
            "cash": round(result.cash, 2),
            "price": round(cleared.price, 2),
            "prices": {block.value: round(price, 2) for block, price in cleared.prices.items()},
            "demand_mw": round(cleared.demand_mw, 1),
            "shortage_mwh": round(cleared.shortage_mwh, 1),
            "gas": round(now.gas, 2),
            "carbon": round(now.carbon, 2),
            "lasting": [event.value for event in now.lasting],
            "output_mwh": {tech.value: round(mwh, 1) for tech, mwh in result.output_mwh.items()},
            "running_mw": {tech.value: mw for tech, mw in result.running_mw.items()},
            "finished": [
                {"tech": done.tech.value, "turns": done.turns_taken, "price": round(done.price, 1)}
                for done in result.finished
            ],
        },
    )


class EnergyAtomExtractor:
    """Facts of the market and of the player's stations: every event, order and first run, losses and shortages."""

    def __init__(self) -> None:
        self._general: AtomExtractor = Combined(
            SignChange("reward", priority=85),
            Streak(3, "reward", below=0.0, priority=87),
            Crossing("shortage_mwh", 0.5, priority=82),
        )
        self.lookback = getattr(self._general, "lookback", 1)

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:
        """Return the facts of a window."""
        new = window[getattr(window, "fresh", 0) :]
        own = [atom for record in new for atom in (*_events(record), *_orders(record), *_finished(record))]
        return own + self._general.extract(window, existing_atoms)


class EnergyEpisodeClassifier:
    """The phase that the market is in for the player."""

    def build_context(self, recent_turns: list[TurnRecord], prev_episode_end_turn: int) -> EpisodePromptContext:
        """Return the figures of the turns, and how they tell the phases apart."""
        return EpisodePromptContext(
            phase_names=list(PHASES),
            domain_preamble="You follow an owner of power stations on a competitive market, in turns of a month.",
            context_summary=_figures(recent_turns) if recent_turns else f"Nothing since turn {prev_episode_end_turn}.",
            phase_guidance=(
                "The first that fits. CRISIS: the turns together lost money. SHORTAGE: demand was not met in a sixth "
                "of them or more. CARBON_SQUEEZE: carbon rose by 10 €/t or more, rewards fell. MARGIN_COMPRESSION: "
                "rewards fell by a fifth or more. PRICE_DISCOVERY: prices swing by a quarter of their mean. "
                "STABLE_HARVEST: none of these."
            ),
        )

    def phase(self, recent_turns: list[TurnRecord]) -> str:
        """Return the phase, by the same rules, where no model is asked."""
        rewards, prices = [one.reward for one in recent_turns], _column(recent_turns, "price")
        carbon = _column(recent_turns, "carbon")
        kept = _kept(rewards)
        if sum(rewards) < 0:
            return "CRISIS"
        if 6 * sum(short > 0 for short in _column(recent_turns, "shortage_mwh")) >= len(rewards):
            return "SHORTAGE"
        if carbon[-1] - carbon[0] >= 10 and kept < 1:
            return "CARBON_SQUEEZE"
        if kept <= 0.8:
            return "MARGIN_COMPRESSION"
        return "PRICE_DISCOVERY" if pstdev(prices) >= fmean(prices) / 4 else "STABLE_HARVEST"


class EnergyRetroClassifier:
    """What a run has taught of its market, joined with what was known, in sentences that can be read again.

    `known` gives the notes of earlier runs.
    """

    def __init__(self, known: Callable[[], str] = str) -> None:
        self._known = known

    def build_context(self, all_turns: list[TurnRecord], episodes: list[L2Episode]) -> RetroPromptContext:
        """Return how the run ended, with the measured facts that a model is asked to repeat."""
        facts = "\n".join(f"- {fact}" for fact in self.lessons(all_turns, episodes))
        return RetroPromptContext(
            domain_preamble=(
                "You look back on a run of an owner of power stations, for the next run on the same market. Repeat "
                "each measured fact word for word, with its numbers, as a lesson of its own.\n\n"
                f"Measured facts:\n{facts}"
            ),
            outcome_summary=f"{sum(turn.reward for turn in all_turns):.0f} {REWARD_UNIT} in {len(all_turns)} turns.",
            outcome_metric_name=f"reward in {REWARD_UNIT}",
        )

    def lessons(self, all_turns: list[TurnRecord], episodes: list[L2Episode]) -> list[str]:  # noqa: ARG002  # protocol
        """Return the measured facts, a sentence each."""
        return Taught.from_text(self._known()).joined(taught(all_turns)).sentences()


def taught(turns: Sequence[TurnRecord]) -> Taught:
    """Return what the turns of one run teach."""
    facts = dict([*_yields(turns), *_nuclear(turns), *_prices(turns)])
    began = {event: [turn.turn for turn in turns if event in turn.events] for event in Event}
    return Taught(
        facts={name: Fact(values=values) for name, values in facts.items()},
        habits={event: Habit.of(when) for event, when in began.items() if when},
    )


def _events(record: TurnRecord) -> Iterator[L1Atom]:
    for event in map(Event, record.events):
        yield _atom(record, MARKET_EVENT, event, beginning_sentence(event, record.turn), EVENT_PRIORITY[event])


def _orders(record: TurnRecord) -> Iterator[L1Atom]:
    orders = [str(action["tech"]) for action in record.actions_taken if action["type"] == "build"]
    for place, tech in zip(_ORDER_PLACES, orders, strict=False):
        said = f"T{record.turn}: {place} order, {tech}."
        yield _atom(record, PORTFOLIO_EVENT, f"order-{place}-{tech}", said, _ORDER_PRIORITY)


def _finished(record: TurnRecord) -> Iterator[L1Atom]:
    for tech, same in groupby(_finished_stations(record), key=lambda done: done["tech"]):
        first, *more = same
        said = (
            f"T{record.turn}: {1 + len(more)} {tech} run, {first['turns']} turns after order, {first['price']} M€ each."
        )
        yield _atom(record, PORTFOLIO_EVENT, f"runs-{tech}", said, _FINISHED_PRIORITY)


def _atom(record: TurnRecord, kind: str, tag: str, content: str, priority: int) -> L1Atom:
    return L1Atom(
        id=atom_id(record.turn, tag), turn=record.turn, type=kind, content=content, priority=priority, tags=[tag]
    )


def _figures(turns: Sequence[TurnRecord]) -> str:
    rewards, prices, carbon = [one.reward for one in turns], _column(turns, "price"), _column(turns, "carbon")
    short = sum(missing > 0 for missing in _column(turns, "shortage_mwh"))
    return (
        f"Mean reward {fmean(rewards):.0f} {REWARD_UNIT}, second half {_kept(rewards):.2f} times the first. "
        f"Price {min(prices):.0f} to {max(prices):.0f}, mean {fmean(prices):.0f} €/MWh, σ {pstdev(prices):.0f}. "
        f"Carbon {carbon[0]:.0f} to {carbon[-1]:.0f} €/t. Shortage in {short} of {len(turns)} turns."
    )


def _kept(rewards: Sequence[float]) -> float:
    """Return the mean reward of the second half over that of the first, 1 where the first is no gain."""
    half = len(rewards) // 2
    first = fmean(rewards[:half]) if half else 0.0
    return fmean(rewards[half:]) / first if first > 0 else 1.0


def _yields(turns: Sequence[TurnRecord]) -> Iterator[_Measured]:
    for tech in (Tech.WIND, Tech.SOLAR):
        could = sum(_part(turn, "running_mw", tech) for turn in turns) * MONTH_HOURS
        if sum(_part(turn, "running_mw", tech) > 0 for turn in turns) >= _FEWEST_TURNS:
            yield Subject(tech.value), (sum(_part(turn, "output_mwh", tech) for turn in turns) / could,)


def _nuclear(turns: Sequence[TurnRecord]) -> Iterator[_Measured]:
    done = [one for turn in turns for one in _finished_stations(turn) if one["tech"] == Tech.NUCLEAR]
    if done:
        yield Subject.NUCLEAR, (_number(done[-1]["turns"]), _number(done[-1]["price"]))


def _prices(turns: Sequence[TurnRecord]) -> Iterator[_Measured]:
    years = [list(year) for _, year in groupby(turns, key=lambda turn: (turn.turn - 1) // _YEAR_TURNS)]
    years = [year for year in years if len(year) >= _FEWEST_TURNS]
    if years:
        yield Subject.PRICE, tuple(fmean(_column(_served(year), "price")) for year in years)
        yield Subject.CARBON, tuple(fmean(_column(year, "carbon")) for year in years)
        yield Subject.GAS, tuple(fmean(_column(_calm(year), "gas")) for year in years)
        served = _served(turns)
        mean = fmean(_column(served, "price"))
        yield Subject.BLOCKS, tuple(fmean(_part(turn, "prices", block) for turn in served) / mean for block in Block)


def _served(turns: Sequence[TurnRecord]) -> list[TurnRecord]:
    return [turn for turn in turns if not turn.extra["shortage_mwh"]] or list(turns)


def _calm(turns: list[TurnRecord]) -> list[TurnRecord]:
    return [turn for turn in turns if Event.FUEL_SHOCK not in _list(turn.extra["lasting"])] or turns


def _column(turns: Iterable[TurnRecord], name: str) -> list[float]:
    return [_number(turn.extra[name]) for turn in turns]


def _part(turn: TurnRecord, name: str, part: str) -> float:
    parts = turn.extra[name]
    return _number(parts.get(part, 0.0)) if isinstance(parts, dict) else 0.0


def _finished_stations(turn: TurnRecord) -> list[dict[str, JSON]]:
    done = [one for one in _list(turn.extra["finished"]) if isinstance(one, dict)]
    return sorted(done, key=lambda one: str(one["tech"]))


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _number(value: JSON) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
