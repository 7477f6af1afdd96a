"""What the tests of redaction stand on: a policy with a key, and values that must never be seen."""

from __future__ import annotations

import pytest

from seasoned.redaction import RedactionPolicy, Redactor

KEY = b"sixteen bytes or more"


@pytest.fixture
def keyed():
    return Redactor(RedactionPolicy(key=KEY))
