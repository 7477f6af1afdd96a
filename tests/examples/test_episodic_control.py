"""Episodic control: what the agent stores, what it does by it, and what it comes to in gymnasium's environments."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples.episodic_control.__main__ import main
from examples.episodic_control.agent import EpisodicAgent
from examples.episodic_control.playing import compare, play
from examples.episodic_control.tasks import CART, CART_POLE, FROZEN_LAKE, Situation

from seasoned import Memory
from seasoned.errors import WrongType


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(embedder="hashing") as opened:
        yield opened


def cell(number: int) -> Situation:
    return FROZEN_LAKE.situation(number)


def cart(**values: float) -> Situation:
    return CART_POLE.situation([values.get(name, 0.0) for name in CART])


def test_a_return_is_what_followed_discounted(memory):
    """Of rewards 0, 0 and 1, the three steps came to 0.95 squared, 0.95 and 1."""
    EpisodicAgent(FROZEN_LAKE, memory.experience, 1).remember(
        "e1", [(cell(0), 1, 0.0), (cell(4), 1, 0.0), (cell(8), 2, 1.0)]
    )
    rewards = {match.situation: match.reward for match in memory.experience.newest(5)}
    assert rewards == pytest.approx({"cell 0": 0.9025, "cell 4": 0.95, "cell 8": 1.0})


def test_what_was_never_tried_is_tried_first(memory):
    """With three of four actions known in a cell, however good, it takes the fourth."""
    agent = EpisodicAgent(FROZEN_LAKE, memory.experience, 1)
    agent.remember("e1", [(cell(5), action, 1.0) for action in (0, 1, 3)])
    assert agent.act(cell(5)) == 2


def test_the_action_that_came_to_most_in_this_cell_is_taken(memory):
    """What another cell knows does not count."""
    agent = EpisodicAgent(FROZEN_LAKE, memory.experience, 1)
    for action in range(4):
        agent.remember(f"a{action}", [(cell(5), action, 1.0 if action == 3 else 0.0)])
        agent.remember(f"b{action}", [(cell(15), action, 1.0 if action == 0 else 0.0)])
    assert {agent.act(cell(5)) for _ in range(8)} == {3}


def test_a_worse_return_is_not_stored_where_the_best_counts(memory):
    """The same step with a smaller return adds nothing, with a greater one it does."""
    agent = EpisodicAgent(FROZEN_LAKE, memory.experience, 1)
    for name, reward in (("e1", 0.5), ("e2", 0.2), ("e3", 0.9)):
        agent.remember(name, [(cell(5), 1, reward)])
    assert sorted(match.reward or 0 for match in memory.experience.newest(5)) == [0.5, 0.9]


def test_the_nearest_states_decide_with_the_pole(memory):
    """Pushing right came to more where the pole leant right, and to less where it leant left."""
    agent = EpisodicAgent(CART_POLE, memory.experience, 1)
    for name, lean, right, left in (("r", 0.15, 10.0, 1.0), ("l", -0.15, 1.0, 10.0)):
        for number in range(CART_POLE.neighbours):
            angle = lean + number / 10_000
            agent.remember(f"{name}1-{number}", [(cart(angle=angle), 1, right)])
            agent.remember(f"{name}0-{number}", [(cart(angle=angle), 0, left)])
    assert (agent.act(cart(angle=0.14)), agent.act(cart(angle=-0.14))) == (1, 0)


def test_an_observation_of_another_kind_is_refused():
    """A table has whole numbers."""
    with pytest.raises(WrongType, match="whole number"):
        FROZEN_LAKE.situation("north")


def test_memory_finds_the_way_over_the_lake(memory):
    """On a development seed, the last ten of sixty episodes reach the goal."""
    pytest.importorskip("gymnasium")
    assert play(FROZEN_LAKE, 1, memory.experience, 60).returns[-10:] == (1.0,) * 10


def test_figures_are_paired_by_seed():
    """The gain is the difference of the means, without an interval for one seed."""
    pytest.importorskip("gymnasium")
    found = compare(FROZEN_LAKE, [1], 3)
    assert found.gain.mean == found.last["with"] - found.last["without"]
    assert found.gain.interval is None
    assert min(found.steps_a_second.values()) > 0


def test_memory_holds_the_pole_longer_within_ten_episodes(memory):
    """On a development seed, later episodes are longer than guessing makes them."""
    pytest.importorskip("gymnasium")
    with_memory, without = (play(CART_POLE, 1, known, 10) for known in (memory.experience, None))
    assert sum(with_memory.returns[5:]) > 1.5 * sum(without.returns[5:])


def test_the_example_runs_from_the_command_line(tmp_path, capsys):
    """It prints JSON and leaves it; the table has the steps per second."""
    pytest.importorskip("gymnasium")
    arguments = ["--env", "FrozenLake-v1", "--seeds", "1", "--first", "1", "--episodes", "5", "--out", str(tmp_path)]
    assert main([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert main(arguments) == 0
    assert "steps/s" in capsys.readouterr().out


def test_without_gymnasium_it_says_what_to_install():
    """A Python that cannot import gymnasium ends with code 1 and the command."""
    program = (
        "import sys; sys.modules['gymnasium'] = None; "
        "from examples.episodic_control.__main__ import main; sys.exit(main([]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "pip install gymnasium" in ended.stderr
