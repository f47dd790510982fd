"""Files that are made to hurt: each is indexed or left out with a reason, and its neighbours are unharmed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.codeintel.facts import BlobFacts, texts
from appliance.codeintel.source.base import LeftOut, Source
from tests.adversarial.repositories.conftest import Taken
from tests.support.repos import commit, forge, link, make_repo, submodule

TakeIn = Callable[[Path], Taken]
GOOD = {"good.py": "def good():\n    return 1\n"}


def reason(taken: Taken, path: str) -> str:
    left = taken[path]
    return left.reason if isinstance(left, LeftOut) else ""


def indexed(taken: Taken, path: str) -> BlobFacts:
    found = taken[path]
    assert isinstance(found, BlobFacts)
    return found


@pytest.mark.parametrize("kind", ["repository", "folder"])
def test_hostile_contents_are_named_and_the_rest_is_indexed(tmp_path: Path, take_in: TakeIn, kind: str) -> None:
    files = GOOD | {
        "line.py": b"x = '" + b"y" * 900_000 + b"'\n",
        "line20.js": b"z" * 20_000_000,
        "brackets.js": b"[" * 200_000 + b"]" * 200_000,
        "random.py": os.urandom(500_000),
        "nul.py": b"def nul():\n    return '\0'  # one NUL in a file that is otherwise as long as any\n",
        "invalid.py": b"def invalid():\n    return '\xff\xfe\xfd'\n",
        "blank.py": b"\n" * 500_000,
        "model.py": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 5\n",
    }
    if kind == "repository":
        location = make_repo(tmp_path, files, bare=True)
    else:
        location = tmp_path / "plain"
        location.mkdir()
        for name, content in files.items():
            (location / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with (location / "sparse.c").open("wb") as file:
            file.truncate(2 << 30)
    taken = take_in(location)
    assert reason(taken, "line.py") == "long-line"
    assert reason(taken, "line20.js") == "oversize"
    assert reason(taken, "brackets.js") == "long-line"
    assert reason(taken, "random.py") == "binary"
    assert reason(taken, "model.py") == "lfs-pointer"
    assert reason(taken, "sparse.c") == "oversize" if kind == "folder" else "sparse.c" not in taken
    assert [symbol.name for symbol in indexed(taken, "good.py").symbols] == ["good"]
    assert [symbol.name for symbol in indexed(taken, "nul.py").symbols] == ["nul"]
    assert indexed(taken, "invalid.py").encoding == "latin-1"
    assert indexed(taken, "blank.py").chunks == ()


def test_a_deep_nest_on_many_lines_costs_only_itself(tmp_path: Path, take_in: TakeIn) -> None:
    """Lines short enough to pass every filter."""
    nested = b"\n".join([b"(" * 100] * 2000)
    taken = take_in(
        make_repo(tmp_path, GOOD | {"nest.py": nested, "nest.swift": b"[" + nested, "nest.sh": b"$(\n" * 50_000})
    )
    assert [symbol.name for symbol in indexed(taken, "good.py").symbols] == ["good"]
    for path in ("nest.py", "nest.swift", "nest.sh"):
        found = indexed(taken, path)
        assert found.problem in {"", "parse-nest", "parse-timeout", "parse-crash"}
        assert found.chunks


def test_text_in_any_encoding_is_found_at_its_line(tmp_path: Path, take_in: TakeIn) -> None:
    source = "# Prüfung\n\ndef prüfe():\n    pass\n"
    files = {
        "latin.py": source.encode("latin-1"),
        "utf16.py": source.encode("utf-16"),
        "utf8.py": source.encode(),
        "cyrillic.py": "# проверка\n\ndef check():\n    pass\n".encode("cp1251"),
        "japanese.py": "# 検査\n\ndef check():\n    pass\n".encode("shift-jis"),
    }
    taken = take_in(make_repo(tmp_path, files))
    encodings = {path: indexed(taken, path).encoding for path in files}
    assert encodings == {
        "latin.py": "latin-1", "utf16.py": "utf-16", "utf8.py": "utf-8", "cyrillic.py": "cp1251", "japanese.py": "shift-jis",
    }  # fmt: skip
    for path in files:
        (symbol,) = indexed(taken, path).symbols
        assert (symbol.start_line, symbol.end_line) == (3, 4)


def test_names_of_any_bytes_come_back_as_they_were(tmp_path: Path, source_at: Callable[[Path], Source]) -> None:
    odd = [
        b"latin-\xe9.py",
        b"line\nbreak.py",
        b"tab\t.py",
        b'quote".py',
        b"\x1b[31mred.py",
        b"r\xe2\x80\xaetl.py",
        b"back\\slash.py",
    ]
    repo = make_repo(tmp_path, {os.fsdecode(name): name for name in odd})
    source = source_at(repo)
    snapshot = source.snapshot(None)
    assert sorted(os.fsencode(entry.path) for entry in source.entries(snapshot)) == sorted(odd)
    for name in odd:
        blob = source.locate(commit=snapshot.commit, path=os.fsdecode(name))
        assert blob is not None
        assert source.blob(blob) == name


def test_links_and_submodules_are_named_and_never_followed(tmp_path: Path, take_in: TakeIn) -> None:
    repo = make_repo(tmp_path, GOOD)
    forge(
        repo,
        [
            link("passwd.py", "/etc/passwd"),
            link("up.py", "../../secret"),
            link("loop", "loop"),
            link("folder", "."),
            submodule("lib", "1" * 40),
        ],
    )
    taken = take_in(repo)
    assert {path: reason(taken, path) for path in taken} == {
        "good.py": "", "passwd.py": "symlink", "up.py": "symlink", "loop": "symlink", "folder": "symlink",
        "lib": "submodule",
    }  # fmt: skip
    good = indexed(taken, "good.py")
    assert not any("root:x:0" in text for text in texts(good.texts, good.words))


def test_folders_ten_thousand_deep_are_named(tmp_path: Path, take_in: TakeIn) -> None:
    repo = make_repo(tmp_path, GOOD)
    commit(repo, {"d/" * 10_000 + "f.py": "x = 1\n", "e/" * 1500 + "f.py": "y = 1\n"})
    taken = take_in(repo)
    assert reason(taken, "d/" * 10_000 + "f.py") == "unsafe-path"
    assert indexed(taken, "e/" * 1500 + "f.py").symbols
    assert indexed(taken, "good.py").symbols
