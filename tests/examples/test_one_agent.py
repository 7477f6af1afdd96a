"""One agent with all four memories: what it reads out of a context, what it writes, and what it comes to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from examples.one_agent.__main__ import main
from examples.one_agent.agent import Agent, Shown, Step
from examples.one_agent.cliff import FALL, MOVES, beside, cell, cell_in, falls_in, seen
from examples.one_agent.playing import PARTS, WITH, WITHOUT, compare
from examples.one_agent.reading import known

from seasoned import Memory
from seasoned.errors import WrongType

from ..models.endpoint import LoopbackEndpoint, chat

START = 36
"""The number of cell r3c0 in the environment."""

SHORTEST = ["up", *["right"] * 11, "down"]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(embedder="hashing") as opened:
        yield opened


def walked(agent: Agent, run: str, moves: list[str]) -> list[Step]:
    """Have an agent live through a run of these moves, and give its steps."""
    agent.begin(run)
    steps, at = list[Step](), "r3c0"
    for move in moves:
        _, trace = agent.act(12 * int(at[1]) + int(at[3:]), steps)
        after = beside(at, move)
        fell = after[:2] == "r3" and after not in ("r3c0", "r3c11")
        steps.append(Step(at, move, FALL if fell else -1.0, trace))
        agent.learn(steps)
        at = "r3c0" if fell else after
    agent.end(steps, reached=at == "r3c11")
    return steps


def test_an_observation_has_a_name_and_its_neighbours():
    """Row and column of a number; at the edge a move leads nowhere."""
    assert [cell(START), cell(47), cell(0)] == ["r3c0", "r3c11", "r0c0"]
    assert [beside("r3c0", move) for move in MOVES] == ["r2c0", "r3c1", "r3c0", "r3c0"]
    with pytest.raises(WrongType, match="whole number"):
        cell("north")


def test_what_the_agent_is_told_can_be_read_again():
    """Where it stands, and from where it fell."""
    told = seen("r3c0", ("r2c4", "down"))
    assert cell_in(told) == "r3c0"
    assert falls_in(told) == [("r2c4", "down")]
    assert cell_in("hello") is None


def test_a_fall_is_warned_of_in_the_next_run_by_the_playbook(memory):
    """And in this one by the window."""
    agent = Agent(1, memory)
    walked(agent, "run 0", ["right", "up"])
    (entry,) = memory.playbook.entries()
    assert (entry.content, entry.outcome) == ("In cell r3c0 do not move right.", "failure")
    messages = memory.context("cell r3c0", run="run 1").messages
    assert known(messages, "r3c0").warned == {"right"}
    assert known(messages, "r2c0").warned == set()


def test_a_way_to_the_goal_becomes_a_lesson_and_experience(memory):
    """The next run's context has the route, and what the first move came to."""
    agent = Agent(1, memory)
    walked(agent, "run 0", ["left", *SHORTEST])
    walked(agent, "run 1", SHORTEST)
    routes = [lesson.text for lesson in memory.runs.lessons()]
    assert "A route of 13 moves leads to the goal: URRRRRRRRRRRD." in routes
    told = known(memory.context("cell r3c0", run="run 2").messages, "r3c0")
    assert told.route == tuple(SHORTEST)
    assert told.values["up"] == pytest.approx(1 - 13 / 60, abs=0.01)


def test_a_longer_way_is_no_new_lesson(memory):
    """A route as short is known."""
    agent = Agent(1, memory)
    walked(agent, "run 0", SHORTEST)
    walked(agent, "run 1", ["left", *SHORTEST])
    assert [lesson.times for lesson in memory.runs.lessons()] == [1]


def test_the_agent_follows_the_route_that_it_knows(memory):
    """From the start, move for move."""
    walked(Agent(1, memory), "run 0", SHORTEST)
    agent = Agent(5, memory, Shown())
    agent.begin("run 1")
    number, trace = agent.act(START, [])
    assert MOVES[number] == "up"
    assert trace is not None


def test_a_fall_is_a_bad_outcome_of_what_the_context_showed(memory):
    """The lesson that stood in it loses credit; one that led to the goal gains."""
    agent = Agent(1, memory)
    walked(agent, "run 0", SHORTEST)
    walked(agent, "run 1", SHORTEST)
    assert memory.runs.lessons()[0].credit == 1
    walked(agent, "run 2", ["right", "up"])
    assert memory.runs.lessons()[0].credit == 0


def test_memory_walks_better_than_none():
    """On a development seed, the last of twelve runs; and each part can be left out."""
    pytest.importorskip("gymnasium")
    found = compare([1], 12)
    assert found.gain[WITH].mean == found.last[WITH] - found.last[WITHOUT]
    assert found.gain[WITH].mean > 200
    assert found.gain[WITH].interval is None
    assert set(compare([1], 1, each=True).last) == {WITHOUT, WITH, *PARTS}


def test_the_example_runs_from_the_command_line(tmp_path, capsys):
    """It prints JSON and leaves it; the table has the moves per second."""
    pytest.importorskip("gymnasium")
    arguments = ["--seeds", "1", "--first", "1", "--runs", "3", "--out", str(tmp_path)]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert main(arguments) == 0
    assert "moves/s" in capsys.readouterr().out


def test_a_model_may_choose_the_moves(tmp_path, capsys):
    """It is shown the context; what it says is done."""
    pytest.importorskip("gymnasium")
    pytest.importorskip("httpx2")
    with closing(LoopbackEndpoint()) as endpoint:
        endpoint.answers(chat("up"))
        arguments = ["--seeds", "1", "--first", "1", "--runs", "1", "--out", str(tmp_path), "--json"]
        assert main([*arguments, "--model", endpoint.url, "any"]) == 0
    assert json.loads(capsys.readouterr().out)["last"] == {WITHOUT: -60.0, WITH: -60.0}


def test_without_gymnasium_it_says_what_to_install():
    """A Python that cannot import gymnasium ends with code 1 and the command."""
    program = (
        "import sys; sys.modules['gymnasium'] = None; "
        "from examples.one_agent.__main__ import main; sys.exit(main(['--out', sys.argv[1]]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "unused"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "pip install gymnasium" in ended.stderr
