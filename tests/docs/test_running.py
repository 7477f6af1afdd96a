"""What runs the pages finds what is wrong with one, and says where."""

from __future__ import annotations

import pytest

from .reading import ROOT, fences, indented_code
from .running import PageFailed, Program

pytestmark = pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="the project is not around the tests")

WRONG = {
    "an error names its line": ("# A\n\n```python\nx = 1\nx / 0\n```\n", r"page\.md:5: ZeroDivisionError"),
    "syntax": ("```python\nx = 1\n\nx = = 2\n```\n", r"page\.md:4: SyntaxError"),
    "another output": ("```python\nprint(2)\n```\n\n```text\n3\n```\n", r"page\.md:5: what is printed is not what is"),
    "output that is not shown": ("```python\nprint(2)\n```\n\nMore.\n", "not shown in a text block"),
    "shown and not printed": ("```python\nx = 2\n```\n\n```text\n2\n```\n", "what is printed is not what is shown"),
    "a command that fails": ("```sh\nseasoned --db none.db stats\n```\n", r"page\.md:1: exit code 1"),
    "an option that is not there": ("```sh\npython benchmarks/locomo.py --nope\n```\n", "has no .'--nope'"),
    "a script that is not there": ("```sh\npython benchmarks/nope.py\n```\n", "there is no benchmarks/nope.py"),
    "a target that is not there": ("```sh\nmake nope\n```\n", "the Makefile has no such target"),
    "an extra that is not there": ("```sh\npip install 'seasoned[cli,nope]'\n```\n", "no such extra: .'nope'"),
    "a form that does not parse": ('```json\n{"a": }\n```\n', r"page\.md:1: JSONDecodeError: Expecting value"),
    "a block that is marked and does not compile": ("<!-- not run: x -->\n\n```python\nx = = 2\n```\n", "md:4: Syntax"),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_page_is_said(text, said, tmp_path, monkeypatch):
    """With the page, the line and what was found."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(PageFailed, match=said):
        Program(page, tmp_path, {}).run()


def test_a_page_is_one_program_in_one_folder(tmp_path, monkeypatch, capsys):
    """Names, files, shells and what is not shown go together; nothing is written to standard output here."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- invisible-code-block: python\nhidden = 'x'\n-->\n\n"
        "```python\n# said.py\nprint('one')\n```\n\n```text\none\n```\n\n"
        "- in a list:\n\n    ```python\n    print(hidden, 0.123)\n    ```\n\n    ```text\n    x 0...\n    ```\n\n"
        "```sh\npython said.py   # again\nexport NAME=elsewhere\necho $NAME\n```\n\n```text\none\nhere\n```\n",
        encoding="utf-8",
    )
    program = Program(page, tmp_path, {"NAME": "here"})
    program.run()
    assert (program.ran, capsys.readouterr().out) == (4, "")


def test_code_that_would_not_run_is_found(tmp_path):
    """By indentation, or in a fence without a language."""
    page = tmp_path / "page.md"
    page.write_text("# A\n\n    x = 1\n\n```\ny = 2\n```\n\n- list\n\n    its text\n", encoding="utf-8")
    assert [each.strip() for each in indented_code(page)] == ["x = 1"]
    assert list(fences(page)) == [(5, "")]


def test_what_a_page_opened_is_closed_behind_it(tmp_path, monkeypatch):
    """The newest first, also what lost its name, and the store of a memory that was given one."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    code = """
class Door:
    def __init__(self, name, store=None):
        self.name, self.store = name, store

    def close(self):
        with open("closed", "a") as file:
            file.write(self.name)

door = Door("a")
"""
    page.write_text(f"```python{code}```\n\n```python\ndoor = Door('b', Door('c'))\n```\n", encoding="utf-8")
    Program(page, tmp_path, {}).run()
    assert (tmp_path / "closed").read_text() == "bca"
