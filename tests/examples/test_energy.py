"""The energy market: its rules, what memory makes of a run, and that the player learns from nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from examples.energy_tycoon.__main__ import main
from examples.energy_tycoon.adapter import PHASES, EnergyEpisodeClassifier, make_turn_record, taught
from examples.energy_tycoon.agent import Player
from examples.energy_tycoon.clearing import Offer, clear
from examples.energy_tycoon.figures import Difference
from examples.energy_tycoon.forecast import Forecast
from examples.energy_tycoon.lessons import Fact, Habit, Subject, Taught
from examples.energy_tycoon.market import Market
from examples.energy_tycoon.memory import EnergyMemory
from examples.energy_tycoon.season import Compared, Setup, compare
from examples.energy_tycoon.shapes import Build, Contract, Event, Markup, Tech, TurnResult
from examples.energy_tycoon.world import Luck, World
from hypothesis import given
from hypothesis import strategies as st

from seasoned.compat.istar import L1Atom, TurnRecord
from seasoned.errors import InvalidInput
from seasoned.ports import Message, Store
from seasoned.stores.memory import MemoryStore

NOTES = (
    "- Electricity costs 50 and 50 €/MWh from year to year, over 2 runs. (2 runs)\n"
    "- Night, day and peak stand at 0.90, 1.00 and 1.15 of the mean price, over 2 runs. (2 runs)\n"
    "- Without shocks, gas is at 25 and 25 in these years, over 2 runs. (2 runs)\n"
    "- A tonne of carbon goes for 20 and 40 € year by year, over 2 runs. (2 runs)\n"
)


@pytest.fixture
def store() -> Iterator[Store]:
    with closing(MemoryStore()) as opened:
        yield opened


def played(market: Market, *actions: Build | Contract | Markup) -> list[TurnResult]:
    """Play a run with the same actions in every turn."""
    results = []
    while not market.over:
        results.append(market.step(actions))
    return results


# the market


def test_the_price_is_that_of_the_last_offer_that_demand_takes():
    """Of 50 at 10, 100 at 20 and 100 at 30, demand for 120 takes all of the first and 70 of the second, at 20."""
    outcome = clear([Offer(30, "c", 100), Offer(10, "a", 50), Offer(20, "b", 100)], 120)
    assert (outcome.price, outcome.missing_mw, outcome.taken) == (20, 0, {"a": 50, "b": 70})


def test_a_shortage_costs_the_scarcity_price():
    """With 50 on offer for a demand of 80, 30 are missing and the price is 400."""
    outcome = clear([Offer(10, "a", 50)], 80)
    assert (outcome.price, outcome.missing_mw) == (400, 30)


@given(st.lists(st.tuples(st.floats(0, 200), st.floats(0, 500)), max_size=8), st.floats(1, 2000))
def test_what_is_taken_and_what_is_missing_is_always_demand(offers, demand):
    """Nobody sells more than he offers, and no offer that is taken is dearer than the price."""
    outcome = clear([Offer(price, str(name), mw) for name, (price, mw) in enumerate(offers)], demand)
    assert sum(outcome.taken.values()) + outcome.missing_mw == pytest.approx(demand)
    assert all(outcome.taken[str(name)] <= mw for name, (_, mw) in enumerate(offers) if str(name) in outcome.taken)
    assert all(offers[int(name)][0] <= outcome.price for name in outcome.taken)


def test_a_run_is_the_same_whenever_it_is_played():
    """Seed, run and actions decide everything."""
    assert played(Market(3, 2, 24), Build(Tech.WIND)) == played(Market(3, 2, 24), Build(Tech.WIND))


def test_luck_does_not_depend_on_what_the_player_does():
    """Fuel, carbon and events are those of an idle player's run."""
    busy, idle = played(Market(3, 1, 24), Build(Tech.SOLAR)), played(Market(3, 1, 24))
    assert [one.cleared.conditions for one in busy] == [one.cleared.conditions for one in idle]


@given(st.integers(1, 10_000), st.integers(1, 50))
def test_three_kinds_of_event_always_recur_within_a_turn_of_their_time(seed, run):
    """The rules of the market hold in all of its runs."""
    world = World.of(seed)
    began = {kind: [now.turn for now in Luck.of(world, run).conditions if kind in now.began] for kind in Event}
    recurring = {kind: habit for kind, habit in world.habits.items() if habit.every}
    assert len(recurring) == 3
    for kind, habit in recurring.items():
        times = range(habit.first, 61, habit.every)
        kept = [turn for turn in began[kind] if any(abs(turn - time) <= 1 for time in times)]
        assert kept == began[kind]
        assert len(times) - len(kept) <= 1  # the last may come after the end


@given(st.integers(1, 10_000))
def test_carbon_never_gets_cheaper(seed):
    """It stands still or rises, ramp and decisions together."""
    prices = [now.carbon for now in Luck.of(World.of(seed), 1).conditions]
    assert prices == sorted(prices)


def test_an_order_is_paid_at_once_and_runs_when_it_is_built():
    """Two of three orders for wind are taken: 50 M€ less, and they run three turns later."""
    market = Market(1, 1, 6)
    first = market.step([Build(Tech.WIND), Build(Tech.WIND), Build(Tech.WIND)])
    assert first.ordered == (Tech.WIND, Tech.WIND)
    assert first.cash == pytest.approx(150 - 50 + (first.reward + 350) / 1000)  # 35 M€ / 100 turns is no cash
    ran = [result.running_mw.get(Tech.WIND, 0) for result in played(market)]
    assert ran == [0, 0, 100, 100, 100]


def test_nothing_is_built_without_the_cash_for_it():
    """150 M€ pay for one nuclear station of 120, and not for a wind station of 25 after it and another nuclear one."""
    result = Market(1).step([Build(Tech.NUCLEAR), Build(Tech.NUCLEAR), Build(Tech.WIND)])
    assert result.ordered == (Tech.NUCLEAR, Tech.WIND)


def test_a_second_contract_is_not_made_while_one_runs():
    """A contract lasts six turns."""
    assert [one.contracted for one in played(Market(1, 1, 8), Contract())] == [True, *[False] * 5, True, False]


def test_a_markup_out_of_range_is_refused():
    """The rules allow 0 to 0.5."""
    with pytest.raises(InvalidInput, match=r"between 0 and 0\.5, not 0\.6"):
        Market(1).step([Markup(0.6)])


def test_a_run_that_is_over_goes_no_further():
    """Neither is there anything to see."""
    market = Market(1, 1, 1)
    market.step()
    with pytest.raises(InvalidInput, match="over after 1 turns"):
        market.step()
    with pytest.raises(InvalidInput, match="over after 1 turns"):
        market.observe()


# what memory makes of a run


def remembered(seed: int, turns: int, memory: EnergyMemory) -> tuple[list[TurnResult], list[L1Atom]]:
    """Play a run of a building player, and return its results and the atoms found on the way."""
    market, player, results, atoms = Market(seed, 1, turns), Player(), list[TurnResult](), list[L1Atom]()
    for turn in range(1, turns + 1):
        actions = player.act(market.observe(), memory.observed())
        results.append(market.step(actions))
        memory.record_turn(turn, results[-1], actions)
        atoms += memory.extract_atoms(turn)
        memory.runs.update_episode(None, turn)
    return results, atoms


def test_every_event_and_every_order_has_its_atom():
    """At a cadence of three turns nothing is lost, in whichever turn of a window it falls."""
    memory = EnergyMemory()
    results, atoms = remembered(3, 60, memory)
    events = [(one.cleared.conditions.turn, event) for one in results for event in one.cleared.conditions.began]
    orders = [(one.cleared.conditions.turn, tech) for one in results for tech in one.ordered]
    assert memory.EXTRACT_EVERY == 3
    assert len({turn % 3 for turn, _ in events}) == len({turn % 3 for turn, _ in orders}) == 3
    assert sorted((one.turn, one.tags[0]) for one in atoms if one.tags[0] in list(Event)) == sorted(events)
    found = [(one.turn, one.tags[0].split("-")[-1]) for one in atoms if one.tags[0].startswith("order-")]
    assert sorted(found) == sorted(orders)
    assert len(events) + len(orders) >= 30
    memory.close()


def test_the_block_tells_phase_and_newest_observations():
    """What the player is shown of its own run is text."""
    memory = EnergyMemory()
    assert memory.observed() == ""
    remembered(3, 27, memory)
    assert memory.observed().startswith("[")
    assert any(memory.observed().startswith(f"[{phase} | T1-T25]") for phase in PHASES)
    assert "T" in memory.observed().splitlines()[-1]
    memory.close()


def test_what_a_run_taught_is_noted_for_the_next(store):
    """None of its sentences is taken for the repetition of another."""
    memory = EnergyMemory(store, ("energy", "market-3"))
    assert memory.notes() == ""
    remembered(3, 60, memory)
    memory.runs.summarise_run(None, profile_id="energy-tycoon")
    taught = Taught.from_text(memory.notes())
    assert {Subject.PRICE, Subject.BLOCKS, Subject.CARBON, Subject.GAS, Subject.SOLAR} <= set(taught.facts)
    assert len(taught.facts[Subject.PRICE].values) == 5
    assert all(fact.runs == 1 for fact in taught.facts.values())


def test_lessons_of_a_second_run_join_the_first(store):
    """The mean stands on two runs, and a sentence is there once."""
    memory = EnergyMemory(store)
    for _ in range(2):
        memory.notes()
        remembered(3, 24, memory)
        memory.runs.summarise_run(None, profile_id="energy-tycoon")
    assert memory.notes().count("Electricity costs") == 1
    assert Taught.from_text(memory.notes()).facts[Subject.PRICE].runs == 2


def test_a_shortage_is_not_taught_as_the_price_of_a_year():
    """It is luck of a run: of 80 in eleven months and 400 in one, 80 is taught."""
    months = []
    for turn in range(1, 13):
        short = turn == 7
        extra = {
            "price": 400.0 if short else 80.0,
            "prices": dict.fromkeys(("night", "day", "peak"), 400.0 if short else 80.0),
            "shortage_mwh": 900.0 if short else 0.0,
            "carbon": 20.0,
            "gas": 25.0,
            "lasting": [],
            "output_mwh": {"wind": 7300.0},
            "running_mw": {"wind": 50.0},
            "finished": [],
        }
        months.append(TurnRecord(turn, 0.0, "k€", [], [], extra))
    facts = taught(months).facts
    assert facts[Subject.PRICE].values == (80.0,)
    assert facts[Subject.BLOCKS].values == (1.0, 1.0, 1.0)
    assert facts[Subject.WIND].values == pytest.approx((0.2,))  # 7300 MWh of 50 MW over 730 hours


def record(
    turn: int, reward: float = 100.0, price: float = 80.0, carbon: float = 20.0, short: float = 0.0
) -> TurnRecord:
    """Make a turn of a phase."""
    extra = {"price": price, "carbon": carbon, "shortage_mwh": short}
    return TurnRecord(turn=turn, reward=reward, reward_unit="k€", events=[], actions_taken=[], extra=extra)


@pytest.mark.parametrize(
    ("turns", "phase"),
    [
        ([record(turn) for turn in range(1, 13)], "STABLE_HARVEST"),
        ([record(turn, short=500.0 * (turn <= 2)) for turn in range(1, 13)], "SHORTAGE"),
        ([record(turn, reward=-1) for turn in range(1, 13)], "CRISIS"),
        ([record(turn, reward=100 if turn <= 6 else 80) for turn in range(1, 13)], "MARGIN_COMPRESSION"),
        ([record(turn, reward=200 - turn, carbon=20 + turn) for turn in range(1, 13)], "CARBON_SQUEEZE"),
        ([record(turn, price=50 if turn % 2 else 110) for turn in range(1, 13)], "PRICE_DISCOVERY"),
    ],
)
def test_phases_follow_the_figures(turns, phase):
    """Each of the six has its sign, and the guidance for a model names them all."""
    classifier = EnergyEpisodeClassifier()
    assert classifier.phase(turns) == phase
    context = classifier.build_context(turns, 0)
    assert phase in context.phase_names
    assert phase in context.phase_guidance


def test_a_turn_record_holds_what_was_done_and_not_what_was_asked():
    """The third order was not carried out."""
    actions = [Build(Tech.WIND), Build(Tech.SOLAR), Build(Tech.GAS), Markup(0.1)]
    made = make_turn_record(1, Market(1).step(actions), actions)
    assert made.actions_taken == [
        {"type": "build", "tech": "wind"},
        {"type": "build", "tech": "solar"},
        {"type": "markup", "share": 0.1},
    ]
    assert made.reward_unit == "k€"


# lessons


def test_a_mean_over_runs_follows_what_is_new():
    """80 over one run and 100 make 90 over two; what only one of them has stays."""
    joined = Fact(values=(80.0, 70.0)).joined(Fact(values=(100.0,)))
    assert (joined.values, joined.runs) == ((90.0, 70.0), 2)


def test_an_event_that_comes_at_equal_distances_has_a_habit():
    """Turns 6, 20, 34 are every 14 from 6 on, and are expected again at 48."""
    habit = Habit.of([6, 20, 34])
    assert habit.turns(50) == pytest.approx([6, 20, 34, 48])


@pytest.mark.parametrize("began", [[6], [6, 20], [6, 11, 40]])
def test_few_or_uneven_occurrences_are_no_habit(began):
    """Two may be chance."""
    assert Habit.of(began).every == 0


def test_runs_that_disagree_leave_no_habit():
    """What came from turn 6 on in one run and from 12 on in another has no fixed time, and will not get one."""
    first = Habit.of([6, 20, 34]).joined(Habit.of([12, 26, 40]))
    assert (first.every, first.runs) == (0, 2)
    assert first.joined(Habit.of([6, 20, 34])).every == 0


@given(
    st.dictionaries(st.sampled_from(Subject), st.lists(st.integers(1, 200), min_size=2, max_size=5), min_size=1),
    st.integers(1, 30),
)
def test_what_is_written_is_always_read_again(facts, runs):
    """Whatever stands around the sentences."""
    taught = Taught(facts={name: Fact(values=tuple(map(float, row)), runs=runs) for name, row in facts.items()})
    text = "\n".join(f"- {sentence} (3 runs; a later run found otherwise)" for sentence in taught.sentences())
    assert Taught.from_text(f"# Notes\n\n{text}") == taught


# the player


def test_without_notes_the_player_waits_for_prices():
    """In the first turn it knows none, and builds nothing."""
    assert Player().act(Market(1).observe()) == [Markup(0.05)]


@pytest.mark.parametrize(("wind", "solar", "tech"), [("0.44", "0.09", Tech.WIND), ("0.18", "0.23", Tech.SOLAR)])
def test_the_player_builds_by_its_notes_from_the_first_turn_on(wind, solar, tech):
    """The same market is shown; only the text differs."""
    said = (
        f"Wind blows for {wind} of its megawatts, over 1 run. The sun gives solar {solar} of what it could, over 1 run."
    )
    orders = [one for one in Player(NOTES + said).act(Market(1).observe()) if isinstance(one, Build)]
    assert orders == [Build(tech), Build(tech)]


def test_the_player_expects_shocks_that_its_notes_tell_of():
    """Gas is dearer in the turns where a habit puts a shock, and nowhere else."""
    said = NOTES + "fuel_shock comes every 14.0 turns from turn 6.0 on, over 4 runs."
    forecast = Forecast(Market(1).observe(), Taught.from_text(said))
    assert forecast.gas(8) == pytest.approx(1.75 * forecast.gas(14))


def test_the_player_expects_shocks_from_what_memory_tells_of_this_run():
    """Two shocks seen at turns 2 and 16 make it expect one at 30, without any notes."""
    market = Market(1)
    for _ in range(20):
        market.step()
    calm = Forecast(market.observe(), Taught())
    warned = Forecast(market.observe(), Taught(), (2, 16))
    assert warned.gas(32) == pytest.approx(1.75 * calm.gas(32))
    assert warned.gas(26) == calm.gas(26)


# seasons


def short_seasons(store: Store, folder: Path, model: object = None) -> list[Compared]:
    """Play two markets for two short runs."""
    return compare([1, 2], Setup(store=store, profiles=folder, runs=2, turns=24, model=model))


def test_seasons_are_the_same_whenever_they_are_played(store, tmp_path):
    """With memory too."""
    with closing(MemoryStore()) as other:
        assert short_seasons(store, tmp_path / "a") == short_seasons(other, tmp_path / "b")


def test_the_control_gets_the_lessons_of_the_other_market(store, tmp_path):
    """As many runs of them, and none before the first run."""
    first, second = short_seasons(store, tmp_path)
    assert first.with_memory.notes[0] == first.control.notes[0] == ""
    assert first.control.notes == second.with_memory.notes
    assert second.control.notes == first.with_memory.notes
    assert first.with_memory.notes[1] != second.with_memory.notes[1]


def test_a_model_can_write_what_is_learned(store, tmp_path):
    """Its reply becomes the notes, from which the player reads."""

    def model(messages: list[Message]) -> str:
        asked = str(messages[-1]["content"])
        if "Measured facts:" not in asked:
            return "[STABLE_HARVEST | T1-T24]\nQuiet months."
        facts = asked.partition("Measured facts:\n")[2].partition("\n\n")[0]
        return f"It went well.\n\n## Lessons\n\n{facts}"

    first, _ = short_seasons(store, tmp_path, model)
    assert "Electricity costs" in first.with_memory.notes[1]
    assert "It went well." in first.with_memory.notes[1]


def test_the_interval_is_students():
    """Of 1 to 5 the mean is 3 and the interval 3 ± 2.776 x 1.5811 / sqrt 5."""
    difference = Difference.of([1, 2, 3, 4, 5])
    assert difference.mean == 3
    assert difference.interval == pytest.approx((1.037, 4.963), abs=0.01)
    assert Difference.of([1, 2, 3, 4]).interval is None


def test_the_program_prints_its_figures_and_leaves_a_database(tmp_path, capsys):
    """A second play does not go on from the first unnoticed."""
    arguments = ["--runs", "2", "--turns", "24", "--seeds", "2", "--json", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["seeds"] == [1, 2]
    assert {len(curve) for curve in figures["curves"].values()} == {2}
    assert (tmp_path / "out" / "energy.db").stat().st_size > 0
    assert list((tmp_path / "out" / "profiles" / "market-1-with").glob("*.md"))
    assert main(arguments) == 1
    assert "is there already" in capsys.readouterr().err


def test_the_program_shows_a_table(tmp_path, capsys):
    """For one market there is no interval."""
    assert main(["--runs", "1", "--turns", "12", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "with memory" in shown
    assert "An interval needs 5 markets or more" in shown
