"""The OpenAI Agents SDK's own session tests against `SeasonedSession`: `python -m tests.peers.openai_sessions`."""

from __future__ import annotations

import sys
from typing import Final

from tests.peers.runner import Peer, Source, main

PEER: Final = Peer(
    name="openai_sessions",
    sources=(
        Source(
            distribution="openai-agents",
            files=(
                "memory/test_session.py",
                "memory/test_session_limit.py",
                "memory/test_compaction_model_visibility.py",
                "memory/test_openai_responses_compaction_session.py",
                "test_agent_runner.py",
                "test_agent_runner_streamed.py",
                "test_max_turns.py",
                "test_soft_cancel.py",
                "test_run_impl_resume_paths.py",
                "test_tool_batch_failure_history.py",
                "test_native_tool_failure_history.py",
                "test_tool_failure_boundaries.py",
                "test_programmatic_tool_calling.py",
            ),
        ),
    ),
    plugin="seasoned_for_openai_sessions",
    settings=("asyncio_mode = auto",),
)

if __name__ == "__main__":
    sys.exit(main(PEER))
