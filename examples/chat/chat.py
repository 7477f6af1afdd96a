"""One turn of a chat that remembers: python examples/chat/chat.py "your message"; see README.md beside it."""

from __future__ import annotations

import argparse
import os
from importlib.resources import as_file, files

from seasoned import Memory
from seasoned.models.openai_compatible import OpenAICompatible
from seasoned.transfer.importing import import_file

SYSTEM = {
    "role": "system",
    "content": "You are a friendly assistant. What <memory> holds was said before.",
    "id": "system",
}


def main() -> None:
    """Remember the message, build the context for its answer, and ask the model if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("message", nargs="*", default=["Which nuts is Lúcia not allowed to eat?"])
    said = " ".join(parser.parse_args().message)
    with Memory("chat.db") as memory:
        with as_file(files("seasoned.cli") / "demo" / "conversation.jsonl") as path:
            import_file(memory, path)  # again and again: what is there already is not written twice
        memory.conversation.add([SYSTEM, {"role": "user", "content": said}], session="chat")
        context = memory.conversation.context(budget=2000, reserve=500, query=True, session="chat")
        if "OPENAI_MODEL" not in os.environ:
            print(context.text)
            return
        with OpenAICompatible.from_env(os.environ["OPENAI_MODEL"]) as model:
            reply = model.chat(context.messages, max_tokens=500, temperature=0.3, tag="chat")
        print(reply)
        memory.conversation.add({"role": "assistant", "content": reply}, session="chat")


main()
