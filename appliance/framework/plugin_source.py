"""What a plugin imports of the appliance, read from its source before a line of it runs."""

import ast
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from appliance.base.paths import display
from appliance.errors import InvalidInput, LimitExceeded, NotFound

ALLOWED: Final = "appliance.contracts"
MOST_FILES: Final = 500
MOST_BYTES: Final = 4_000_000

_OURS: Final = "appliance"


def check_imports(module: str, *, path: list[str] | None = None) -> None:
    """Return if the package or file that holds *module* imports nothing of the appliance but `appliance.contracts`.

    *path* is where modules are looked for, as `sys.path`. Raise `NotFound` if it is not there, `InvalidInput` naming the
    first import that goes further, `LimitExceeded` for more source than a plugin has. What is imported by a name that is
    made while it runs is not seen: this keeps a contract, it is no wall.
    """
    top = module.partition(".")[0]
    if top == _OURS:
        raise InvalidInput("Its entry point names a module of the appliance itself.", remedy="Name a module of its own.")
    spent = 0
    for count, file in enumerate(_sources(top, path), start=1):
        spent += file.stat().st_size
        if count > MOST_FILES or spent > MOST_BYTES:
            raise LimitExceeded(
                f"It has more than {MOST_FILES} files, or {MOST_BYTES:,} bytes, of Python.",
                remedy="Move what is not the plugin itself into a distribution of its own.",
            )
        for line, name in _imports(file):
            if _goes_further(name):
                raise InvalidInput(
                    f"{file.name}, line {line}, imports {display(name)}: a plugin imports {ALLOWED} alone.",
                    remedy="Take what it needs from the context and the calls that it is given.",
                )


def _sources(top: str, path: list[str] | None) -> Iterator[Path]:
    spec = PathFinder.find_spec(top, path)
    if spec is None:
        raise NotFound(f"There is no module {display(top)}.", remedy="Install the distribution again.")
    for folder in spec.submodule_search_locations or ():
        yield from sorted(file for file in Path(folder).rglob("*.py") if file.is_file())
    if not spec.submodule_search_locations and spec.origin is not None and spec.origin.endswith(".py"):
        yield Path(spec.origin)


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    """Give line and name of every absolute import in *file*."""
    try:
        tree = ast.parse(file.read_bytes())
    except OSError as exc:
        raise InvalidInput(f"{file.name} cannot be read: {exc.strerror}.") from exc
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise InvalidInput(f"{file.name} is not Python: {type(exc).__name__}.") from exc
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = node.module == _OURS
            yield from ((node.lineno, f"{node.module}.{a.name}" if inner else node.module) for a in node.names)


def _goes_further(name: str) -> bool:
    ours = name == _OURS or name.startswith(f"{_OURS}.")
    return ours and not (name == ALLOWED or name.startswith(f"{ALLOWED}."))
