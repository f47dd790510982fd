"""The call graph of a folder as scorers ask for it."""

from pathlib import Path

from tests.benchmarks.callgraph import call_graph


def test_an_entry_without_a_suffix_is_read(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("import lib\nlib.f()\n")
    (tmp_path / "lib.py").write_text("def f(): pass\n")
    assert call_graph(tmp_path, tmp_path / "run") == {"run": ["lib.f"]}


def test_a_folder_that_is_a_package_knows_itself_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "a.py").write_text("from pkg import b\nfrom pkg.b import f\nb.f()\nf()\n")
    (folder / "b.py").write_text("def f(): pass\n")
    assert call_graph(folder, folder / "a.py") == {"a": ["b.f"]}


def test_tests_count_only_if_one_is_the_entry(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text("def f(): pass\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_lib.py").write_text("from lib import f\nf()\n")
    assert call_graph(tmp_path, tmp_path / "lib.py") == {}
    assert call_graph(tmp_path, tmp_path / "tests" / "test_lib.py") == {"tests.test_lib": ["lib.f"]}
