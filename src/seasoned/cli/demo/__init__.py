"""The command `demo`: a conversation that ships with the package is imported, asked, and put into a small context."""

from __future__ import annotations

import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from seasoned.cli.shell import Shell
from seasoned.cli.shown import context_json, context_notes, hit_json, hits_table, report_json, report_table, say
from seasoned.context import Context
from seasoned.memory import Memory
from seasoned.records import JSON
from seasoned.search import Hits
from seasoned.transfer.importing import ImportReport, import_file

QUESTIONS: Final = (
    "Which nuts is Lúcia not allowed to eat?",
    "When does the moving van come?",
    "What is the claim number of the stolen bike?",
    "Which seats do we have on the train to Lyon?",
    "李伟喜欢喝什么茶？",
)
"""What the demo asks; the answers stand in sessions weeks apart, one of them changed, one in Chinese."""

SESSION: Final = "2025-03-10-papers"
BUDGET: Final = 450
ASKED: Final = "One more thing: when does the adrenaline pen in the red bag expire?"

_NEXT: Final = """\
Try next:
  seasoned import conversations.json      your own ChatGPT or Claude export (JSON or zip), or messages as JSON Lines
  seasoned search "what you remember"     in any words, and in any language
  seasoned context -s SESSION -b 2000     the messages for the next turn of a session
  seasoned --help                         everything else
In Python:
  from seasoned import Memory
  memory = Memory("agent.db", scope=("acme", "alice"))
  memory.conversation.add({"role": "user", "content": "I like oolong tea."}, session="today")
  memory.conversation.context(budget=2000, query="Which tea?", session="today").messages
"""


def demo(shell: Shell) -> None:
    """Import a conversation that ships with seasoned, ask it questions, build a context; leaves nothing behind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demo.db"
        with Memory(path, scope=("demo",), embedder=shell.embedder) as memory:
            report = _imported(memory)
            answers = [(question, memory.recall(question, 3)) for question in QUESTIONS]
            asked: list[JSON] = [{"role": "user", "content": ASKED}]
            memory.conversation.add(asked, session=SESSION)
            context = memory.conversation.context(budget=BUDGET, query=True, session=SESSION)
            embedder = str(memory.stats()["embedder"])
    if shell.options.json:
        shell.write_json(_as_json(report, answers, context))
    else:
        _show(shell.out, report, answers, context, embedder)


def _imported(memory: Memory) -> ImportReport:
    with as_file(files(__package__) / "conversation.jsonl") as path:
        return import_file(memory, path)


def _as_json(report: ImportReport, answers: list[tuple[str, Hits]], context: Context) -> JSON:
    asked: list[JSON] = [{"question": question, "hits": [hit_json(hit) for hit in hits]} for question, hits in answers]
    return {"import": report_json(report), "questions": asked, "context": context_json(context)}


def _show(out: Console, report: ImportReport, answers: list[tuple[str, Hits]], context: Context, embedder: str) -> None:
    _head(out, "1. A family plans its move: seven weeks with an assistant, imported into a new memory")
    out.print(report_table([report]))
    _head(out, f"2. Questions; no language model is asked, and the embedder is {embedder}")
    for question, hits in answers:
        say(out, f"\n? {question}")
        out.print(hits_table(hits))
    _head(out, f"3. The next turn of a session, in at most {BUDGET} tokens")
    say(out, context.text)
    _head(
        out,
        f"{context.tokens} of {BUDGET} tokens, {len(context.messages)} messages; what does not fit stays searchable",
    )
    say(out, *context_notes(context))
    _head(out, "4. That was all in a temporary file, which is gone now")
    say(out, _NEXT)


def _head(out: Console, title: str) -> None:
    out.print()
    out.print(Text(title, style="bold"))
