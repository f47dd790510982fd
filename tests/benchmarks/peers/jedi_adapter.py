"""jedi: in which functions below a folder a definition is referred to. Run by the peers' own Python.

``--package DIR --file FILE --name NAME --out OUT``: NAME is the first definition of that name in FILE, a path below DIR; OUT
gets pairs of a path and the qualified name of a function.
"""

import argparse
import ast
import importlib
import json
from pathlib import Path


def _around(tree: ast.AST, line: int) -> list[str]:
    """Return the names of the definitions around *line*, from the outermost."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and node is not tree and node.lineno <= line <= (node.end_lineno or 0):
            return [node.name, *_around(node, line)]
    return []


def main() -> None:
    """Ask and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--package", "--file", "--name", "--out"):
        parser.add_argument(name, required=True)
    given = parser.parse_args()
    root = Path(given.package).resolve()
    lines = (root / given.file).read_text(encoding="utf-8").splitlines()
    line, column = next((n, text.index(given.name)) for n, text in enumerate(lines, 1) if f"def {given.name}(" in text)
    jedi = importlib.import_module("jedi")
    script = jedi.Script(path=root / given.file, project=jedi.Project(root))
    used = [each for each in script.get_references(line, column) if not each.is_definition()]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in {each.module_path for each in used}}
    places = {
        (str(each.module_path.relative_to(root)), ".".join(_around(trees[each.module_path], each.line))) for each in used
    }
    Path(given.out).write_text(json.dumps(sorted(places)), encoding="utf-8")


if __name__ == "__main__":
    main()
