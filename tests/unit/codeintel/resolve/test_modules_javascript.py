import pytest

from appliance.codeintel.resolve.modules_javascript import JavaScriptModules
from appliance.codeintel.resolve.values import External, Module

PATHS = [
    "src/app.ts",
    "src/view.tsx",
    "src/old.js",
    "src/both.ts",
    "src/both.js",
    "src/both/index.ts",
    "src/parts/index.ts",
    "src/parts/part.mts",
    "src/types.d.ts",
    "src/index.ts",
    "lib/mod.mjs",
    "react.js",
]


@pytest.mark.parametrize(
    ("name", "importer", "found"),
    [
        ("./view", "src/app.ts", "src/view.tsx"),
        ("./view.js", "src/app.ts", "src/view.tsx"),
        ("./view.jsx", "src/app.ts", "src/view.tsx"),
        ("./old", "src/app.ts", "src/old.js"),
        ("./both", "src/app.ts", "src/both.ts"),
        ("./both.js", "src/app.ts", "src/both.js"),
        ("./both/", "src/app.ts", "src/both.ts"),
        ("./parts", "src/app.ts", "src/parts/index.ts"),
        ("./parts/part.mjs", "src/app.ts", "src/parts/part.mts"),
        ("./types", "src/app.ts", "src/types.d.ts"),
        (".", "src/app.ts", "src/index.ts"),
        ("..", "src/parts/part.mts", "src/index.ts"),
        ("../lib/mod.mjs", "src/app.ts", "lib/mod.mjs"),
        ("../../react", "src/parts/part.mts", "react.js"),
    ],
)
def test_a_module_is_found_from_where_it_is_imported(name: str, importer: str, found: str) -> None:
    assert JavaScriptModules(PATHS).find(name, importer=PATHS.index(importer)) == Module(PATHS.index(found))


@pytest.mark.parametrize("name", ["react", "src/app", "./nothing", "../../../far", "@scope/app", "#app", "/src/app"])
def test_what_is_no_path_or_leads_nowhere_is_outside(name: str) -> None:
    assert JavaScriptModules(PATHS).find(name, importer=0) == External(name)


def test_a_module_of_the_runtime_has_one_name() -> None:
    assert JavaScriptModules(PATHS).find("node:fs", importer=0) == External("fs")


def test_what_a_file_is_called_has_no_ending() -> None:
    assert JavaScriptModules(PATHS).dotted[7:9] == ["src/parts/part", "src/types"]
