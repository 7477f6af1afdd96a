"""A file of keys: every key that was acknowledged is in it, whoever else adds one at the same time."""

from __future__ import annotations

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from seasoned.errors import InvalidInput, StoreError
from seasoned.records import Scope
from seasoned.stores.encrypted import add_key, read_keys

EACH = 60
ADDER = f"""
import sys
from seasoned.stores.encrypted import add_key
sys.stdin.readline()
for number in range({EACH}):
    add_key(sys.argv[1], ("acme", sys.argv[2]), f"k{{number}}")
    print(f"k{{number}}", flush=True)
"""


def names(path) -> dict[str, str | None]:
    """The current key of each of the scopes that the tests add keys for."""
    keys = read_keys(path)
    return {who: keys.current(Scope(("acme", who))) for who in ("a", "b", "c")}


def test_no_acknowledged_key_is_lost_between_processes(tmp_path):
    """Three processes add at once: all of their keys are there at the end, and no file of halves."""
    path = tmp_path / "keys.toml"
    adders = [
        subprocess.Popen(
            [sys.executable, "-c", ADDER, str(path), who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for who in "abc"
    ]
    for adder in adders:
        assert adder.stdin is not None
        adder.stdin.write("go\n")
        adder.stdin.flush()
    told = [adder.communicate(timeout=120)[0].split() for adder in adders]
    assert told == [[f"k{number}" for number in range(EACH)]] * 3
    keys = read_keys(path)
    held = {keys.get(Scope(("acme", who)), name) for who in "abc" for name in told[0]}
    assert None not in held
    assert len(held) == 3 * EACH, "each is another"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["keys.toml", "keys.toml.lock"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_no_acknowledged_key_is_lost_between_threads(tmp_path):
    """Nor do those of one process overwrite each other's."""
    path = tmp_path / "keys.toml"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: add_key(path, ("acme", "a"), f"k{number}"), range(40)))
    keys = read_keys(path)
    assert None not in [keys.get(Scope(("acme", "a")), f"k{number}") for number in range(40)]


def test_an_adder_that_was_stopped_stands_in_nobodys_way(tmp_path):
    """What it left beside the file is not taken for a lock, nor for keys."""
    path = tmp_path / "keys.toml"
    (tmp_path / "keys.toml.new").write_text("half a fi")
    (tmp_path / "keys.toml.lock").touch(0o600)
    add_key(path, ("acme", "a"), "1")
    add_key(path, ("acme", "b"), "2")
    assert names(path) == {"a": "1", "b": "2", "c": None}


def test_a_refused_key_changes_nothing(tmp_path):
    """A name that is there already: the file is as it was, byte for byte, and the next is added as ever."""
    path = tmp_path / "keys.toml"
    add_key(path, ("acme", "a"), "1")
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="has a key of the name '1'"):
        add_key(path, ("acme", "a"), "1")
    assert path.read_bytes() == before
    add_key(path, ("acme", "a"), "2")
    assert names(path)["a"] == "2"


def test_a_link_to_a_file_of_keys_stays_a_link(tmp_path):
    """The file that it names takes the key, under the one lock that there is."""
    real, link = tmp_path / "real.toml", tmp_path / "link.toml"
    add_key(real, ("acme", "a"), "1")
    link.symlink_to(real)
    add_key(link, ("acme", "b"), "2")
    assert link.is_symlink()
    assert names(real) == {"a": "1", "b": "2", "c": None}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.toml", "real.toml", "real.toml.lock"]


def test_a_folder_that_is_not_there_is_said(tmp_path):
    """No folder is made for keys."""
    with pytest.raises(StoreError, match=r"nowhere.*cannot be written"):
        add_key(tmp_path / "nowhere" / "keys.toml", "acme", "1")
