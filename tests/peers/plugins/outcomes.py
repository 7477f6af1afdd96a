"""A plugin of pytest that writes what came of each test to the file that PEER_OUTCOMES names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

_OUTCOMES: dict[str, str] = {}


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Count a file that cannot be imported as a test that failed."""
    if report.failed:
        _OUTCOMES[report.nodeid] = "failed"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the last word on each test: that of its call, unless setting up or tearing down went wrong."""
    if report.when == "call" or not report.passed:
        _OUTCOMES[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    """Write them."""
    Path(os.environ["PEER_OUTCOMES"]).write_text(json.dumps(_OUTCOMES))
