"""LangGraph's own store tests against `SeasonedStore`: `python -m tests.peers.langgraph_store`."""

from __future__ import annotations

import sys
from typing import Final

from tests.peers.runner import Peer, Source, main

PEER: Final = Peer(
    name="langgraph_store",
    sources=(
        Source(distribution="langgraph-checkpoint", files=("test_store.py",)),
        Source(
            distribution="langgraph-checkpoint-sqlite",
            files=("test_store.py", "test_async_store.py", "test_ttl.py"),
        ),
    ),
    plugin="seasoned_for_langgraph_stores",
    needs=("pytest-mock", "pytest-retry"),
    settings=("asyncio_mode = auto",),
)

if __name__ == "__main__":
    sys.exit(main(PEER))
