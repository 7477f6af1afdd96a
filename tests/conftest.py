"""How hypothesis runs here: no time limits on shared machines, and the same examples at every run of CI."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from seasoned.testing import StoreContract  # noqa: F401  # first of all: it names its parts to pytest before they are imported

settings.register_profile(
    "seasoned",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("seasoned")
