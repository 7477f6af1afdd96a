"""An agent from end to end: sixty turns with tools, two tenants, a process that is killed, and one tenant forgotten."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seasoned import Memory
from seasoned.context import Context
from seasoned.testing import FakeClock

from .agent_process import BUDGET, TENANTS, TURNS, done, opened, play
from .helping import parts
from .providers import check_everywhere

SCRIPT = Path(__file__).with_name("agent_process.py")


@pytest.fixture(scope="module")
def lived(tmp_path_factory) -> tuple[Path, dict[str, list[Context]]]:
    """The file after sixty turns of both tenants, the first half in a process that was killed; and the contexts."""
    place = tmp_path_factory.mktemp("agent") / "agent.db"
    _killed_at(place, 31)
    contexts: dict[str, list[Context]] = {tenant: [] for tenant in TENANTS}
    for tenant, word in TENANTS.items():
        with opened(str(place), tenant) as memory:
            assert 28 <= done(memory) < TURNS
            assert memory.check() == []
            assert len(list(play(memory, word, TURNS, contexts[tenant].append))) >= 29
    return place, contexts


def _killed_at(place: Path, turn: int) -> None:
    """Run the agent in a process of its own and kill it in the middle of what follows a turn."""
    with subprocess.Popen([sys.executable, str(SCRIPT), str(place)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(f"{turn} "):
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL


def test_every_context_is_valid_and_within_its_budget(lived):
    """Of both tenants, in the process that goes on after the one that was killed."""
    for contexts in lived[1].values():
        assert len(contexts) >= 29
        for context in contexts:
            check_everywhere(context)
            assert context.tokens <= BUDGET
            assert context.degraded == ()


def test_nothing_acknowledged_is_lost_and_the_store_is_whole(lived):
    """All sixty turns, with calls and results, turns of the run, decisions and their outcomes; nothing twice."""
    for tenant in TENANTS:
        with opened(str(lived[0]), tenant) as memory:
            assert memory.check() == []
            assert done(memory) == TURNS
            assert len(memory.conversation.messages()) == 4 * TURNS
            assert [turn.turn for turn in memory.runs.turns("r1")] == list(range(1, TURNS + 1))
            assert memory.count(kinds=("decision",)) == TURNS
            assert memory.count(kinds=("context-outcome",)) == TURNS


def test_the_system_part_of_the_run_survived_the_kill(lived):
    """The bytes with which the first process began it."""
    for contexts in lived[1].values():
        assert len({str(context.messages[0]) for context in contexts}) == 1


def test_outcomes_moved_what_is_shown(lived):
    """Decisions that went well as examples come before those that did not; what was shown has worth."""
    for tenant, word in TENANTS.items():
        with opened(str(lived[0]), tenant) as memory:
            found = memory.experience.similar(f"a {word} parcel waits", n=10, min_reward=None, diverse=False)
            rated = [match.feedback.overall_effectiveness for match in found if match.feedback is not None]
            assert rated
            assert rated[0] > 5
            assert memory.get("rule").record.worth == pytest.approx(20, abs=1)
            context = memory.context(f"a {word} parcel waits in Oslo", run="r2", trace=False)
            assert parts(context)["lessons"]


def test_an_explanation_reaches_the_turns(lived):
    """From a lesson that a context shows, through episode and observation, down to the turns that it was made from."""
    with opened(str(lived[0]), "anna") as memory:
        context = memory.context("a parcel", run="r3", trace=False)
        lesson = next(used.key for used in context.used if used.part == "lessons")
        explanation = memory.explain(lesson.id)
        assert {key.kind for key in explanation.roots} == {"turn"}
        assert explanation.of_kind("episode")
        assert explanation.of_kind("atom")


def test_forgetting_one_tenant_leaves_no_byte_of_it_and_the_other_as_it_was(lived, tmp_path):
    """The files are read byte by byte; the other's export is the same file."""
    place, _ = lived
    with Memory(place, scope=("acme", "ben"), embedder="hashing", clock=FakeClock()) as ben:
        ben.export(tmp_path / "before.jsonl")
        word = TENANTS["anna"].encode()
        assert word in _bytes(place)
        with opened(str(place), "anna") as anna:
            receipt = anna.forget(everything=True, subtree=True, hard=True)
            assert receipt.pending == ()
            assert anna.count() == 0
        ben.export(tmp_path / "after.jsonl")
        assert (tmp_path / "after.jsonl").read_bytes() == (tmp_path / "before.jsonl").read_bytes()
        assert TENANTS["ben"].encode() in _bytes(place)
    assert word.lower() not in _bytes(place).lower()
    with opened(str(place), "ben") as ben:
        assert ben.check() == []


def _bytes(place: Path) -> bytes:
    return b"".join(one.read_bytes() for one in sorted(place.parent.iterdir()) if one.name.startswith(place.name))
