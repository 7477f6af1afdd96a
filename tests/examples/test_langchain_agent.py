"""The agent that stops repeating a mistake: on another thread, for its tenant, and for nobody else."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain.agents", reason="langchain is not installed")
from examples.langchain_agent.__main__ import RUNS, main
from examples.langchain_agent.agent import Clerk
from examples.langchain_agent.courier import Courier
from examples.langchain_agent.model import ScriptedClerk, reply
from langchain_core.messages import HumanMessage, SystemMessage

from seasoned import Memory

TASK = "Book a courier to 4 Elm Road on 3 December 2026."


def test_the_courier_wants_days_written_in_one_way():
    """Another way raises, and is on the list of what was refused."""
    courier = Courier()
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        courier.book("4 Elm Road", "3 December 2026")
    assert courier.book("4 Elm Road", "2026-12-03") == "booked: 4 Elm Road on 2026-12-03"
    assert (courier.refused, courier.booked) == (["3 December 2026"], ["2026-12-03"])


def test_the_script_writes_as_people_do_unless_its_prompt_tells_it_better():
    """The same task with and without an entry of the playbook."""
    known = '<playbook>\n  <tool_use>\n    [+] tool book_courier worked with day="2020-01-01"; it failed\n  </tool_use>'
    plain = reply([SystemMessage("You book."), HumanMessage(TASK)])
    taught = reply([SystemMessage(known), HumanMessage(TASK)])
    assert plain.tool_calls[0]["args"]["day"] == "3 December 2026"
    assert taught.tool_calls[0]["args"]["day"] == "2026-12-03"


def test_the_mistake_is_made_once_a_tenant():
    """On the second thread it is not made; another tenant makes it anew; a second start over the memory does not."""
    with Memory(scope="couriers", embedder="hashing") as memory:
        clerk = Clerk(ScriptedClerk(), memory)
        first, second, other = (clerk.run(task, thread=thread, tenant=tenant) for task, thread, tenant in RUNS)
        assert (first.refused, first.booked) == (("3 December 2026",), ("2026-12-03",))
        assert (second.refused, second.booked) == ((), ("2027-01-12",))
        assert (other.refused, other.booked) == (("7 March 2027",), ("2027-03-07",))
        assert [content.startswith('tool book_courier worked with day="2026-12-03"') for content in first.learned] == [
            True
        ]
        again = Clerk(ScriptedClerk(), memory).run(TASK, thread="thread-9", tenant="acme")
        assert again.refused == ()


def test_the_example_runs_from_the_command_line(tmp_path, capsys):
    """It prints the three runs; with a file, a second start refuses nothing."""
    path = tmp_path / "couriers.db"
    assert main(["--db", str(path)]) == 0
    first = capsys.readouterr().out
    assert first.count("refused:") == 2
    assert first.index("refused: '3 December 2026'") < first.index("run 2, thread-2")
    assert main(["--db", str(path)]) == 0
    assert "refused:" not in capsys.readouterr().out


def test_a_model_that_is_not_there_is_an_error_in_words(capsys):
    """The exit code is 1, and the line says what is wrong."""
    assert main(["--model", "nosuchprovider:gpt"]) == 1
    assert capsys.readouterr().err.startswith("error: ")
