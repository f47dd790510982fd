"""Claims about every file of the house: short, one noun, nothing that only this machine knows."""

import ast
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE, LONGEST_FUNCTION = 400, 40
# The names of registries and of build machines' folders, put together so that this very file does not name them.
_HOSTS = "|".join(("py" + "pi", "python" + "hosted", "npm" + "js", "debian"))
_FOREIGN = re.compile(r"(?:^|[^a-z])/(?:wo" + rf"rk|farm)/[a-z.]|https?://[a-z0-9.-]*(?:{_HOSTS})[a-z0-9.-]*/")


def tracked(*patterns: str) -> list[Path]:
    """Return the files that git knows; in a checkout without git, every one that the patterns find."""
    ended = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, check=False)
    if ended.returncode == 0:
        return [ROOT / name for name in ended.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    return [path for pattern in patterns or ("*",) for path in ROOT.rglob(pattern) if path.is_file()]


def long_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            if length >= LONGEST_FUNCTION:
                yield f"{path.relative_to(ROOT)}:{node.name}: {length} lines"


def test_no_file_is_long() -> None:
    counted = ((path, len(path.read_text().splitlines())) for path in tracked("*.py"))
    assert not [f"{path.relative_to(ROOT)}: {lines} lines" for path, lines in counted if lines >= LONGEST_FILE]


def test_no_function_of_the_appliance_is_long() -> None:
    assert not [found for path in tracked("appliance/*.py") for found in long_functions(path)]


def test_nothing_imports_inside_a_function() -> None:
    found = []
    for path in tracked("appliance/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = any(isinstance(child, ast.Import | ast.ImportFrom) for child in ast.walk(node))
                found += [f"{path.relative_to(ROOT)}:{node.name}"] if inner else []
    assert not found


def test_no_tracked_file_names_a_registry_or_a_folder_of_this_machine() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in _FOREIGN.finditer(text)]
    assert not found


def test_no_hollow_place_is_left() -> None:
    hollow = re.compile(r"raise NotImplementedError|\b(?:TO" + r"DO|FIX" + r"ME)\b")
    found = [
        f"{path.relative_to(ROOT)}: {match[0].strip()}"
        for path in tracked("appliance/*.py")
        for match in hollow.finditer(path.read_text())
    ]
    assert not found


def test_nothing_cites_a_label_that_only_its_author_can_look_up() -> None:
    label = re.compile(r"\bB" + r"R-\d|\"\"\"[A-Z]\d{1,2}\b")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked("*.py", "*.md")
        for match in label.finditer(path.read_text())
    ]
    assert not found


def test_every_file_of_tests_is_collected(pytestconfig: pytest.Config) -> None:
    """By default pytest passes over folders that are called ``build`` or ``dist``, and says nothing of it."""
    aside, named = pytestconfig.getini("norecursedirs"), pytestconfig.getini("python_files")
    files = tracked("tests/**/test_*.py")
    hidden = [
        path for path in files for part in path.relative_to(ROOT).parts[:-1] if any(fnmatch(part, each) for each in aside)
    ]
    other = [path for path in files if not any(fnmatch(path.name, each) for each in named)]
    empty = [path for path in files if not re.search(r"def test_|\.TestCase\b", path.read_text())]
    assert (hidden, other, empty) == ([], [], [])
