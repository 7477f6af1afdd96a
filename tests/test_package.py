"""The package as a whole: what it offers, what importing it does, and that all of it is documented."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import itertools
import re
import subprocess
import sys
import textwrap
from importlib import resources
from pathlib import Path

import pytest

import seasoned
from seasoned import errors
from seasoned.testing import StoreContract

OPTIONAL = (
    "typer", "rich", "tokenizers", "safetensors", "wordllama", "httpx", "httpx2", "tenacity", "langchain_core",
    "pytest", "hypothesis", "asyncio", "sentence_transformers", "torch",
)  # fmt: skip

WATCHED = """
import sys
seen = []
sys.addaudithook(lambda event, arguments: seen.append(event))
import seasoned
from seasoned import Memory
print(sorted({event for event in seen if event.split(".")[0] in ("socket", "urllib", "subprocess", "http", "ftplib")}))
print(sorted(name for name in sys.argv[1:] if name in sys.modules))
memory = Memory(embedder="hashing")
memory.remember("tea")
memory.recall("tea")
memory.conversation.add({"role": "user", "content": "tea"})
memory.conversation.context(1000)
print(sorted({event for event in seen if event.split(".")[0] in ("socket", "urllib", "subprocess", "http", "ftplib")}))
"""


@pytest.fixture(scope="module")
def watched():
    """What an import and a first use did, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", WATCHED, *OPTIONAL], capture_output=True, text=True, check=True)
    return [ast.literal_eval(line) for line in done.stdout.splitlines()]


def test_importing_opens_no_socket_and_starts_no_process(watched):
    """Nor does remembering, recalling, or building a context."""
    assert (watched[0], watched[2]) == ([], [])


def test_importing_loads_no_optional_package(watched):
    """They are loaded when they are used, each in one module."""
    assert [name for name in watched[1] if name != "asyncio"] == []


def test_every_public_name_is_there():
    """`__all__` is sorted as it stands, names each once, and each resolves."""
    assert len(set(seasoned.__all__)) == len(seasoned.__all__)
    assert [name for name in seasoned.__all__ if not hasattr(seasoned, name)] == []


def documented_alias(name):
    """Whether an alias is followed by a text where it is defined."""
    for path in Path(seasoned.__file__).parent.rglob("*.py"):
        body = ast.parse(path.read_text("utf-8")).body
        for statement, after in itertools.pairwise(body):
            targets = [statement.target] if isinstance(statement, ast.AnnAssign) else getattr(statement, "targets", [])
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    return False


def own_doc(thing):
    """The docstring that a class or function has itself; not one that a dataclass made, nor an inherited one."""
    text = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
    return "" if not text or text.startswith(f"{thing.__name__}(") else text


@pytest.mark.parametrize("name", seasoned.__all__)
def test_every_public_name_is_documented(name):
    """Classes and functions by a docstring of their own, aliases by a text behind them."""
    thing = getattr(seasoned, name)
    assert own_doc(thing) if inspect.isclass(thing) or inspect.isfunction(thing) else documented_alias(name)


@pytest.mark.parametrize("name", [name for name in seasoned.__all__ if inspect.isclass(getattr(seasoned, name))])
def test_every_public_method_and_property_is_documented(name):
    """Of each public class, those it defines itself."""
    for member, thing in vars(getattr(seasoned, name)).items():
        unwrapped = thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
        if not member.startswith("_") and (inspect.isfunction(unwrapped) or isinstance(thing, property)):
            assert unwrapped.__doc__, f"{name}.{member}"


def public_enums():
    """Every enum among the public names of the package and of the packages below it."""
    modules = [seasoned, *(importlib.import_module(f"seasoned.{name}") for name in ("query", "playbook"))]
    found = {thing for module in modules for name in module.__all__ if inspect.isclass(thing := getattr(module, name))}
    return sorted((each for each in found if issubclass(each, enum.Enum)), key=lambda each: each.__name__)


@pytest.mark.parametrize("words", public_enums())
def test_every_word_of_a_public_enum_is_documented(words):
    """By a text behind it, which the reference shows."""
    body = ast.parse(textwrap.dedent(inspect.getsource(words))).body[0].body
    documented = {
        statement.targets[0].id
        for statement, after in itertools.pairwise(body)
        if isinstance(statement, ast.Assign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    }
    assert documented == {word.name for word in words}


def error_classes():
    """Every error of the package."""
    found = [thing for thing in vars(errors).values() if inspect.isclass(thing) and issubclass(thing, Exception)]
    return [thing for thing in found if thing.__module__ == errors.__name__]


def test_the_tree_of_errors_shows_every_one_under_its_parent():
    """As the docstring of the module draws it, with the builtin that each also is."""
    drawn, above = {}, {}
    for line in errors.__doc__.splitlines():
        found = re.match(r"([│ ├└─]*)(\w+)(?: \((\w+)\))?(?:\s{2,}|$)", line)
        if found and found[2][0].isupper() and (found[1] or found[2] == "SeasonedError"):
            depth = len(found[1]) // 4
            above[depth] = found[2]
            drawn[found[2]] = {above[depth - 1] if depth else "Exception", *([found[3]] if found[3] else [])}
    assert drawn == {each.__name__: {base.__name__ for base in each.__bases__} for each in error_classes()}


def test_every_error_is_caught_by_the_root_and_is_documented():
    """One `except SeasonedError` is enough."""
    for each in error_classes():
        assert issubclass(each, seasoned.SeasonedError)
        assert own_doc(each)


def test_no_error_is_defined_elsewhere():
    """They all stand in one module."""
    for path in Path(seasoned.__file__).parent.rglob("*.py"):
        if path.name != "errors.py":
            tree = ast.parse(path.read_text("utf-8"))
            classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
            assert [node.name for node in classes if any("Error" in ast.dump(base) for base in node.bases)] == [], path


def test_the_types_ship():
    """`py.typed` lies in the package, beside the data files that it needs."""
    assert resources.files("seasoned").joinpath("py.typed").is_file()


def test_every_module_says_what_it_is():
    """In its first line."""
    for path in Path(seasoned.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not text or ast.get_docstring(ast.parse(text)), path


def test_each_version_is_the_same_version():
    """The package's and the distribution's."""
    from importlib.metadata import version

    assert seasoned.__version__ == version("seasoned")


def test_the_public_modules_can_be_imported_by_name():
    """The ports for those who write an engine, the tests for those who certify one."""
    for name in ("errors", "ports", "query", "records", "testing", "text", "tokens"):
        assert importlib.import_module(f"seasoned.{name}").__doc__


def imported(path):
    """The top names that a module imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def test_nothing_stored_can_become_code():
    """No module reads pickles, nor anything else that makes objects of stored bytes, nor evaluates a text."""
    for path in Path(seasoned.__file__).parent.rglob("*.py"):
        assert {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml"}.isdisjoint(imported(path)), path
        called = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        assert {"eval", "exec"}.isdisjoint(each.id for each in called if isinstance(each, ast.Name)), path


def test_every_test_that_the_documentation_names_exists():
    """In the table of faults of the field, each row has one, but for those that say why a fault is not possible."""
    tests = Path(__file__).parent
    page = (tests.parent / "docs" / "field-faults.md").read_text("utf-8")
    tables, _, reasons = page.partition("## Reported elsewhere and not possible here")
    rows = [line for line in tables.splitlines() if line.startswith("| ") and not line.startswith("| Reported")]
    named = [re.search(r"`([\w/]+\.py|StoreContract)::(test_\w+)` \|$", row) for row in rows]
    assert [row for row, name in zip(rows, named, strict=True) if name is None] == []
    assert len(rows) > 200
    assert len([line for line in reasons.splitlines() if re.match(r"\| .+ \| .+ \|$", line)]) > 1
    assert [name[0] for name in named if name and not is_a_test(tests, name[1], name[2])] == []


def is_a_test(tests, place, name):
    """Whether a file, or the contract of all engines, has a test of this name."""
    if place == "StoreContract":
        return hasattr(StoreContract, name)
    return (tests / place).is_file() and f"def {name}(" in (tests / place).read_text("utf-8")
