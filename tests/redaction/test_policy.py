"""Policies: what does not parse is refused, and nothing is written under it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from seasoned.errors import InvalidInput, WrongType
from seasoned.redaction import RedactionPolicy, Redactor, read_policy, redacting_store
from seasoned.stores.sqlite import SQLiteStore


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kinds": ("emails",)}, "found 'emails'"),
        ({"kinds": ()}, "replaces something"),
        ({"patterns": {"employee": "E(\\d"}}, "does not compile"),
        ({"patterns": {"employee": "E?"}}, "fits an empty text"),
        ({"patterns": {"email": "x+"}}, "unlike ours"),
        ({"patterns": {"Big Name": "x+"}}, "small letters"),
        ({"countries": ("USA",)}, "two small letters"),
        ({"regions": ("us",)}, "two capital letters"),
        ({"allow": ("",)}, "no blank string"),
        ({"stable": "always"}, "stable is one of"),
        ({"stable": "scope"}, "needs a key"),
        ({"key": b"short"}, "16 to 64 bytes, found 5"),
    ],
)
def test_a_policy_that_breaks_a_rule_is_refused(fields, said):
    """It says what was found and what was wanted."""
    with pytest.raises(InvalidInput, match=said):
        RedactionPolicy(**fields)


@pytest.mark.parametrize(
    "fields", [{"kinds": "email"}, {"patterns": ["x"]}, {"patterns": {"x": 1}}, {"fields": (1,)}, {"key": "a" * 20}]
)
def test_a_field_of_another_type_is_refused(fields):
    """A string is no list of kinds."""
    with pytest.raises(WrongType):
        RedactionPolicy(**fields)


@pytest.mark.parametrize("fields", [{"countries": ("zz",)}, {"regions": ("ZZ",)}])
def test_a_place_of_which_nothing_is_known_is_refused(fields):
    """When the redactor is made, before anything is written."""
    with pytest.raises(InvalidInput, match="are known for"):
        Redactor(RedactionPolicy(**fields))


def test_a_policy_is_read_from_a_file(tmp_path):
    """TOML by the names of the fields, or JSON by the file's ending."""
    toml = tmp_path / "policy.toml"
    toml.write_text(
        'kinds = ["secret"]\nstable = "record"\n[patterns]\nemployee = \'\\bE\\d{5}\\b\'\n', encoding="utf-8"
    )
    other = tmp_path / "policy.json"
    other.write_text('{"kinds": ["secret"], "stable": "record", "patterns": {"employee": "\\\\bE\\\\d{5}\\\\b"}}')
    wanted = RedactionPolicy(kinds=("secret",), stable="record", patterns={"employee": r"\bE\d{5}\b"})
    assert read_policy(toml) == read_policy(other) == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kinds = [", "cannot be read"),
        ('kindes = ["secret"]', "found kindes"),
        ('kinds = ["secrets"]', "found 'secrets'"),
        ('key = "0123456789abcdef"', "found key"),
        ('[patterns]\nemployee = "E("', "does not compile"),
    ],
)
def test_nothing_is_written_under_a_policy_that_does_not_parse(tmp_path, text, said):
    """It is refused whole: there is no store to write to."""
    place = tmp_path / "policy.toml"
    place.write_text(text, encoding="utf-8")
    store = SQLiteStore(tmp_path / "m.db")
    with pytest.raises(InvalidInput, match=said):
        redacting_store(store, read_policy(place))
    store.close()


def test_a_policy_that_is_not_there_is_refused(tmp_path):
    """A missing file is no empty policy."""
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_policy(tmp_path / "none.toml")


def test_the_key_is_never_shown():
    """Neither by the policy nor by what is made with it."""
    assert "sixteen" not in repr(RedactionPolicy(key=b"sixteen bytes or more"))


def test_no_detector_is_imported_unless_it_is_used():
    """`import seasoned` and a memory without redaction do without."""
    code = "import sys, seasoned; seasoned.Memory().close(); print({'depii', 'phonenumbers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_redactor_needs_a_policy():
    """The name of a file is none."""
    with pytest.raises(WrongType, match="RedactionPolicy"):
        Redactor("policy.toml")  # type: ignore[arg-type]  # the fault


@pytest.mark.parametrize("package", ["depii", "phonenumbers"])
def test_a_missing_package_names_the_extra(package):
    """Without the detectors there is no redactor, so nothing is written as it was."""
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from seasoned.errors import MissingExtra\nfrom seasoned.redaction import Redactor\n"
        "try: Redactor()\nexcept MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{package} is not installed; run: pip install 'seasoned[redaction]'"
