"""Claims about what the operator leans on."""

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "appliance" / "operator"


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(node.module or "")
    return found


def ours_or_python_s(module: str) -> bool:
    top = module.partition(".")[0]
    return top == "pydantic" or top in sys.stdlib_module_names or module.startswith("appliance.operator")


def test_the_operator_imports_pydantic_and_the_standard_library_alone() -> None:
    files = sorted(PACKAGE.glob("*.py"))
    assert len(files) > 10
    assert not [(path.name, module) for path in files for module in imported(path) if not ours_or_python_s(module)]


def test_importing_the_operator_loads_nothing_else_of_the_appliance() -> None:
    code = "import sys, appliance.operator; print(*(m for m in sys.modules if m.startswith('appliance')))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not [module for module in said if module != "appliance" and not module.startswith("appliance.operator")]
