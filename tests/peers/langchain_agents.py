"""LangChain's own agent tests, our middleware first in every agent: `python -m tests.peers.langchain_agents`."""

from __future__ import annotations

import sys
from typing import Final

from tests.peers.runner import Peer, Source, main

PEER: Final = Peer(
    name="langchain_agents",
    sources=(Source(distribution="langchain", files=("unit_tests/agents",)),),
    plugin="seasoned_for_langchain_agents",
    needs=("blockbuster", "forbiddenfruit", "pytest-mock", "pytest-socket", "toml"),
    settings=(
        "asyncio_mode = auto",
        "markers =",
        "    requires: needs a library",
        "    scheduled: for scheduled testing",
        "    compile: a placeholder",
        "    benchmark: a benchmark",
    ),
)

if __name__ == "__main__":
    sys.exit(main(PEER))
