"""Runs that are killed, torn or interrupted anywhere end as if they had never been."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import InvalidInput, StoreBusy, StoreCorrupt
from seasoned.playbook import Playbook
from seasoned.playbook.adapt import Adaptation, Budget, Data, Settings
from seasoned.stores.memory import MemoryStore

from .figures import TASK, Killed, Learner, examples

ONLINE = Settings(mode="online", window=3, batch=2, rounds=1)
OFFLINE = Settings(epochs=2, batch=2, rounds=1, validate_every=2, baseline=True)
DATA = {
    "online": Data(train=examples(6), test=examples(1, start=40)),
    "offline": Data(train=examples(3), val=examples(1, start=20), test=examples(1, start=40)),
}
SETTINGS = {"online": ONLINE, "offline": OFFLINE}


def ended(result, playbook):
    """Everything that a run ends with, but its name and its calls."""
    told = {name: value for name, value in result.to_json().items() if name not in ("run", "spent")}
    entries = [(e.id, e.section, e.content, e.counts, e.outcome, e.aliases) for e in playbook.entries()]
    return told, entries, [len(change.steps) for change in playbook.history()]


def uninterrupted(mode):
    """Return the end of a run that nothing interrupts, and its number of calls."""
    model = Learner()
    with Playbook(embedder="hashing") as playbook:
        result = Adaptation(playbook, TASK, SETTINGS[mode]).run(DATA[mode], model)
        return ended(result, playbook), len(model.asked)


def session(mode, playbook, folder, model, workers=1):
    """Go on with the run in `folder`; None where it was killed."""
    given = {name: getattr(SETTINGS[mode], name) for name in SETTINGS[mode].__slots__} | {"workers": workers}
    try:
        return Adaptation(playbook, TASK, Settings(**given), checkpoint=folder).run(DATA[mode], model)
    except Killed:
        return None


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_killed_at_any_call_it_ends_with_the_same_result(mode, tmp_path):
    """For every n: the process dies in its call n, a new one goes on, and no question is asked twice but that one."""
    expected, calls = uninterrupted(mode)
    for number in range(1, calls + 1):
        path, folder = tmp_path / f"{number}.db", tmp_path / str(number)
        model = Learner([number])
        with Playbook(path, embedder="hashing") as playbook:
            assert session(mode, playbook, folder, model) is None
        assert len(model.asked) == number
        with Playbook(path, embedder="hashing") as playbook:
            result = session(mode, playbook, folder, model)
            assert ended(result, playbook) == expected
        assert len(model.asked) == calls + 1
        assert result.spent.calls == calls


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_a_lost_playbook_is_made_anew_from_the_checkpoint(mode, tmp_path):
    """A playbook that was only in memory is gone with the process; the checkpoint has all that it learned."""
    expected, calls = uninterrupted(mode)
    for number in range(1, calls + 1, 7):
        for model in (Learner([number]), Learner()):
            with Playbook(embedder="hashing") as playbook:
                result = session(mode, playbook, tmp_path / str(number), model)
                assert result is None or ended(result, playbook) == expected


@settings(max_examples=15)
@given(st.sampled_from(["online", "offline"]), st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(1, 4))
def test_killed_again_and_again_it_ends_with_the_same_result(tmp_path_factory, mode, deaths, workers):
    """Several deaths, with threads: what was under way is asked again, everything else is kept."""
    folder = tmp_path_factory.mktemp("run")
    expected, _ = uninterrupted(mode)
    with Playbook(folder / "a.db", embedder="hashing") as playbook:
        for death in deaths:
            session(mode, playbook, folder / "run", Learner([death]), workers)
        result = session(mode, playbook, folder / "run", Learner(), workers)
        assert ended(result, playbook) == expected


@pytest.mark.parametrize("mode", ["online", "offline"])
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_killed_at_any_write_of_the_playbook_it_ends_with_the_same_result(mode, before, tmp_path):
    """The process dies right before or right after the store has applied change n, for every n."""
    expected, calls = uninterrupted(mode)
    number = 1
    while True:
        model, store = Learner(), Dying(number, before=before)
        playbook = Playbook(store, embedder="hashing")
        first = session(mode, playbook, tmp_path / str(number), model)
        if first is not None:
            break
        store.lives = True
        result = session(mode, Playbook(store, embedder="hashing"), tmp_path / str(number), model)
        assert ended(result, playbook) == expected
        assert len(model.asked) == calls
        number += 1
    assert number > 3


@pytest.mark.parametrize("name", ["results", "replies", "playbooks"])
def test_a_file_torn_within_its_last_line_is_gone_on_with(name, tmp_path):
    """Whatever of the last line was written when the power went."""
    expected, _ = uninterrupted("online")
    with Playbook(tmp_path / "a.db", embedder="hashing") as playbook:
        assert session("online", playbook, tmp_path / "run", Learner([20])) is None
    path = tmp_path / "run" / f"{name}.jsonl"
    data = path.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    for end in (last, last + 1, (last + len(data)) // 2, len(data) - 1):
        copied = tmp_path / f"torn-{end}"
        copied.mkdir()
        for each in (tmp_path / "run").iterdir():
            (copied / each.name).write_bytes(each.read_bytes())
        path_of_copy = copied / f"{name}.jsonl"
        path_of_copy.write_bytes(data[:end])
        with Playbook(embedder="hashing") as playbook:
            assert ended(session("online", playbook, copied, Learner()), playbook) == expected


def test_a_damaged_line_in_the_middle_is_told(tmp_path):
    """It is not passed over: the file is named, and the line."""
    with Playbook(embedder="hashing") as playbook:
        session("online", playbook, tmp_path, Learner([20]))
        lines = (tmp_path / "results.jsonl").read_text().splitlines()
        (tmp_path / "results.jsonl").write_text("\n".join([lines[0], lines[1][:20], *lines[2:]]) + "\n")
        with pytest.raises(StoreCorrupt, match=r"line 2 of results\.jsonl"):
            session("online", playbook, tmp_path, Learner())


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    """Other data or settings say what differs; other workers and budgets are no other run."""
    with Playbook(embedder="hashing") as playbook:
        session("online", playbook, tmp_path, Learner())
        with pytest.raises(InvalidInput, match="window was 3, is 5"):
            Adaptation(playbook, TASK, Settings(mode="online", window=5, batch=2, rounds=1), checkpoint=tmp_path).run(
                DATA["online"], None
            )
        with pytest.raises(InvalidInput, match="train was"):
            Adaptation(playbook, TASK, ONLINE, checkpoint=tmp_path).run(Data(train=examples(8)), None)
        other = Settings(mode="online", window=3, batch=2, rounds=1, workers=4, budget=Budget(calls=1))
        assert Adaptation(playbook, TASK, other, checkpoint=tmp_path).run(DATA["online"], None).finished


def test_a_finished_run_asks_nothing_and_changes_nothing_again(tmp_path):
    """Called again it only says what was reached."""
    model = Learner()
    with Playbook(embedder="hashing") as playbook:
        first = session("offline", playbook, tmp_path, model)
        before = ended(first, playbook), len(model.asked)
        assert (ended(session("offline", playbook, tmp_path, model), playbook), len(model.asked)) == before
        playbook.add("What somebody wrote afterwards.")
        again = session("offline", playbook, tmp_path, model)
        assert len(playbook) == first.entries + 1 == again.entries


def test_a_test_that_failed_is_made_again_on_resume(tmp_path):
    """With the playbook that its window was tested with, not with what was learned since."""
    failing = Learner([1], lambda: RuntimeError("down"))
    seen = []

    class Seeing(Learner):
        def chat(self, messages, **asked):
            seen.append(messages[0]["content"])
            return super().chat(messages, **asked)

    with Playbook(embedder="hashing") as playbook:
        first = session("online", playbook, tmp_path, failing)
        assert (first.windows[0].failed, first.failed) == (1, 1)
        second = session("online", playbook, tmp_path, Seeing())
    assert (second.windows[0].failed, second.windows[0].total, second.failed) == (0, 3, 0)
    assert len(seen) == 1
    assert "The playbook is still empty." in seen[0]


def test_two_processes_do_not_write_one_checkpoint(tmp_path):
    """The second is told so, and spoils nothing."""
    inner = []

    class Nosy(Learner):
        def chat(self, messages, **asked):
            if not inner:
                with pytest.raises(StoreBusy) as caught:
                    session("online", playbook, tmp_path, Learner())
                inner.append(str(caught.value))
            return super().chat(messages, **asked)

    with Playbook(embedder="hashing") as playbook:
        assert session("online", playbook, tmp_path, Nosy()).finished
    assert "written elsewhere" in inner[0]


def test_a_cancelled_async_run_is_gone_on_with(tmp_path):
    """The task that runs it is cancelled within a call; the next session ends it as ever."""
    expected, calls = uninterrupted("online")

    class Waiting(Learner):
        async def chat(self, messages, **asked):
            if len(self.asked) == 12:
                reached.set()
                await asyncio.Event().wait()
            return super().chat(messages, **asked)

    async def cancelled(work, model):
        task = asyncio.create_task(work.arun(DATA["online"], model))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Playbook(embedder="hashing") as playbook:
        reached = asyncio.Event()
        asyncio.run(cancelled(Adaptation(playbook, TASK, ONLINE, checkpoint=tmp_path), Waiting()))
        model = Learner()
        assert ended(session("online", playbook, tmp_path, model), playbook) == expected
    assert len(model.asked) == calls - 12


SCRIPT = """
import os, signal, sys
from figures import Learner, TASK, examples
from seasoned.playbook import Playbook
from seasoned.playbook.adapt import Adaptation, Data, Settings

class Dying(Learner):
    def chat(self, messages, **asked):
        if len(self.asked) == 17:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().chat(messages, **asked)

with Playbook(sys.argv[1], embedder="hashing") as playbook:
    run = Settings(mode="online", window=3, batch=2, rounds=1)
    data = Data(train=examples(6), test=examples(1, start=40))
    Adaptation(playbook, TASK, run, checkpoint=sys.argv[2]).run(data, Dying())
"""


def test_a_real_process_that_is_killed_loses_nothing(tmp_path):
    """SIGKILL in the middle of a call: 17 replies are on the disk, and the rest ends the run as ever."""
    expected, calls = uninterrupted("online")
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "a.db"), str(tmp_path / "run")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr.decode()
    replies = (tmp_path / "run" / "replies.jsonl").read_text().splitlines()
    assert len([row for row in map(json.loads, replies) if row["reply"]]) == 17
    model = Learner()
    with Playbook(tmp_path / "a.db", embedder="hashing") as playbook:
        assert ended(session("online", playbook, tmp_path / "run", model), playbook) == expected
    assert len(model.asked) == calls - 17


class Dying(MemoryStore):
    """A store whose process dies at its write number `at`, before or after it holds; until it `lives` again."""

    def __init__(self, at, *, before):
        super().__init__()
        self.left, self.before, self.lives = at, before, False

    def apply(self, changes):
        self.left -= 1
        if self.lives or self.left != 0:
            return super().apply(changes)
        if not self.before:
            super().apply(changes)
        raise Killed


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_a_lesson_that_failed_is_not_lost_where_the_process_dies_right_after_its_step(mode, tmp_path):
    """Whichever call fails: every lesson of the checkpoint is in the playbook in the end."""
    data, batched = Data(train=examples(8)), Settings(mode=mode, batch=4, window=4)
    for call in range(35, 50):
        model, store = Learner([call], lambda: RuntimeError("down")), Dying(2, before=False)
        folder = tmp_path / str(call)
        with pytest.raises(Killed):
            Adaptation(Playbook(store, embedder="hashing"), TASK, batched, checkpoint=folder).run(data, model)
        store.lives = True
        playbook = Playbook(store, embedder="hashing")
        Adaptation(playbook, TASK, batched, checkpoint=folder).run(data, model)
        assert marks_of(folder) == {(e.id, m): n for e in playbook for m in MARKS if (n := getattr(e.counts, m))}


MARKS = ("helpful", "harmful", "neutral")


def marks_of(folder):
    """Count the marks of all lessons in a checkpoint that did not fail."""
    rows = map(json.loads, (folder / "results.jsonl").read_text(encoding="utf-8").splitlines())
    last = {(row["phase"], row["place"]): row for row in rows if row["type"] == "learned"}
    deltas = (delta for row in last.values() if row["error"] is None for delta in row["deltas"])
    return Counter((delta["id"], delta["mark"]) for delta in deltas if delta["type"] == "tag")
