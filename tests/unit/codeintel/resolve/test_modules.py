import pytest

from appliance.codeintel.resolve.modules import Modules
from appliance.codeintel.resolve.values import External, Module, Package

PATHS = [
    "src/pkg/__init__.py",
    "src/pkg/core.py",
    "src/pkg/sub/__init__.py",
    "src/pkg/sub/deep.py",
    "tests/test_core.py",
    "tests/helpers.py",
    "space/inner/thing.py",
    "yaml.py",
    "tools/requests.py",
    "tools/run.py",
    "one/same/__init__.py",
    "two/same/__init__.py",
    "scripts/__init__.py",
    "scripts/run.py",
    "scripts/lib/__init__.py",
    "scripts/lib/work.py",
    "scripts/lib/more.py",
    "scripts/email/__init__.py",
    "scripts/email/mime.py",
    "scripts/redis.py",
]


@pytest.mark.parametrize(
    ("name", "importer", "found"),
    [
        ("pkg.core", "tests/test_core.py", "src/pkg/core.py"),
        ("pkg", "tests/test_core.py", "src/pkg/__init__.py"),
        ("helpers", "tests/test_core.py", "tests/helpers.py"),
        (".core", "src/pkg/__init__.py", "src/pkg/core.py"),
        (".", "src/pkg/core.py", "src/pkg/__init__.py"),
        ("..core", "src/pkg/sub/deep.py", "src/pkg/core.py"),
        ("..", "src/pkg/sub/__init__.py", "src/pkg/__init__.py"),
        ("yaml", "tools/run.py", "yaml.py"),
        ("requests", "tools/run.py", "tools/requests.py"),
        ("lib.work", "scripts/run.py", "scripts/lib/work.py"),
        ("lib.work", "scripts/lib/more.py", "scripts/lib/work.py"),
    ],
)
def test_a_module_is_found_from_where_it_is_imported(name: str, importer: str, found: str) -> None:
    assert Modules(PATHS).find(name, importer=PATHS.index(importer)) == Module(PATHS.index(found))


@pytest.mark.parametrize("name", ["requests", "same", "numpy", ".nothing", "....far"])
def test_a_script_of_a_librarys_name_or_one_of_two_is_not_taken_for_it(name: str) -> None:
    assert isinstance(Modules(PATHS).find(name, importer=PATHS.index("src/pkg/core.py")), External)


def test_a_folder_without_a_file_of_its_own_is_a_package() -> None:
    modules = Modules(PATHS)
    space = modules.find("space", importer=PATHS.index("yaml.py"))
    assert space == Package("space")
    inner = modules.below(space, "inner", importer=PATHS.index("yaml.py"))
    assert isinstance(inner, Package)
    assert modules.below(inner, "thing", importer=PATHS.index("yaml.py")) == Module(PATHS.index("space/inner/thing.py"))
    assert modules.below(Module(PATHS.index("yaml.py")), "thing", importer=0) is None


@pytest.mark.parametrize("name", ["redis", "email.mime", "lib"])
def test_a_package_is_no_folder_of_scripts_for_names_that_libraries_have(name: str) -> None:
    """In Python 3 what stands beside a module is another one's only by its full name."""
    assert Modules(PATHS).find(name, importer=PATHS.index("scripts/run.py")) == External(name)
