"""Engines that are slow to start or to write: tested where `SEASONED_ENGINES` is set, as `make test-engines` does."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("SEASONED_ENGINES") else ["test_*.py"]
