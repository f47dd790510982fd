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


PACKAGES = {
    "package.json": b'{"name": "root", "main": "dist/index.js"}',
    "packages/core/package.json": b"""{"name": "@my/core", "exports": {
        ".": {"source": "./src/index.ts", "default": "./dist/index.js"}, "./deep/*": "./src/inner/*.ts", "./gone": null}}""",
    "packages/ui/package.json": b'{"name": "ui", "main": "./lib/main.js"}',
    "packages/ui/node_modules/left/package.json": b'{"name": "left", "main": "index.js"}',
    "packages/broken/package.json": b"{",
    "tsconfig.base.json": b"""{
        // for all
        "compilerOptions": { "paths": { "@app/*": ["./app/*"], "one": ["./app/one.ts",], }, }, /* end */
    }""",
    "app/tsconfig.json": b'{"compilerOptions": {"baseUrl": "./src", "paths": {"~/*": ["http://x//*", "*"]}}}',
    "other/tsconfig.json": b'[1, {"paths": 3}]',
}
FILES = [
    "packages/core/src/index.ts",
    "packages/core/src/inner/part.ts",
    "packages/core/src/other.ts",
    "packages/ui/src/main.tsx",
    "packages/ui/node_modules/left/index.js",
    "src/index.ts",
    "app/one.ts",
    "app/main.ts",
    "app/src/util.ts",
    "other/x.ts",
]


@pytest.mark.parametrize(
    ("name", "importer", "found"),
    [
        ("@my/core", "app/main.ts", "packages/core/src/index.ts"),
        ("@my/core/deep/part", "app/main.ts", "packages/core/src/inner/part.ts"),
        ("@my/core/other", "app/main.ts", "packages/core/src/other.ts"),
        ("ui", "other/x.ts", "packages/ui/src/main.tsx"),
        ("root", "other/x.ts", "src/index.ts"),
        ("@app/one", "other/x.ts", "app/one.ts"),
        ("one", "other/x.ts", "app/one.ts"),
        ("util", "app/main.ts", "app/src/util.ts"),
        ("~/util", "app/main.ts", "app/src/util.ts"),
    ],
)
def test_a_bare_name_is_found_where_settings_say_so(name: str, importer: str, found: str) -> None:
    modules = JavaScriptModules(FILES, PACKAGES)
    assert modules.find(name, importer=FILES.index(importer)) == Module(FILES.index(found))


@pytest.mark.parametrize("name", ["left", "util", "@my/core/gone", "@my/none", "@my", "ui/none", "", "../..", "@", "*"])
def test_what_settings_do_not_name_stays_outside(name: str) -> None:
    assert JavaScriptModules(FILES, PACKAGES).find(name, importer=FILES.index("other/x.ts")) == External(name)
