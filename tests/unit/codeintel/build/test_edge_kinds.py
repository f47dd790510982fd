"""Claims about edges of every kind, against the whole truth of two small repositories."""

from collections.abc import Iterator

import pytest

from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.kinds import USES
from tests.support.kinds import edges, graphed

PYTHON = {
    "shop/__init__.py": "from .prices import Price as Cost, RATE\n",
    "shop/prices.py": """\
import json
from decimal import Decimal

RATE = 2
rates: dict[str, int] = {"a": RATE}

class Error(Exception):
    code = 7

class Base:
    limit = 3
    def total(self):
        return self.limit
    def text(self):
        return ""

class Price(Base):
    def __init__(self, net: "Base | None" = None):
        self.net = net
    def total(self):
        return json.dumps(Price.limit)

def gross(price: Price) -> list[Base]:
    return [price]

def dumps(value: Decimal):
    return value

class Table:
    def rows(self) -> dict[str, "dict"]:
        return {}
    def dict(self) -> dict:
        return dict()
    either = dict
""",
    "shop/cart.py": """\
from shop import Cost, RATE as FACTOR
from shop import prices
from . import prices as p
import missing.module
from missing import gross
from .prices import Error

def add(items, RATE=None):
    local = RATE
    return map(prices.gross, items), FACTOR, local

def catch():
    try:
        gross()
    except (Error, missing.Error) as error:
        return error.code, p.RATE

def shadow():
    Cost = 1
    return Cost

class Box(missing.Base, Cost):
    limit = FACTOR
    def total(self):
        return super().total()

def unknown(x):
    return x.rate, x.code, x.net

handler = add
again = handler
""",
    "tests/test_cart.py": """\
from shop.cart import add, catch
from shop.prices import Price

def test_add():
    assert add([])

def test_catch_nothing():
    helper()

def helper():
    return catch()

class PriceTest:
    kind = Price
""",
}
PYTHON_EDGES = {
    "imports 1 shop/__init__.py -> shop/prices.py:Price",
    "imports 1 shop/__init__.py -> shop/prices.py",
    "imports 1 shop/__init__.py -> shop/prices.py:RATE",
    "imports 1 shop/cart.py -> shop/prices.py:RATE",
    "imports 1 shop/cart.py -> shop/__init__.py",
    "imports 1 shop/cart.py -> shop/prices.py:Price",
    "imports 2 shop/cart.py -> shop/__init__.py",
    "imports 2 shop/cart.py -> shop/prices.py",
    "imports 3 shop/cart.py -> shop/prices.py",
    "imports 3 shop/cart.py -> shop/__init__.py",
    "imports 6 shop/cart.py -> shop/prices.py:Error",
    "imports 6 shop/cart.py -> shop/prices.py",
    "references 10 shop/cart.py:add -> shop/prices.py",
    "references 10 shop/cart.py:add -> shop/prices.py:RATE",
    "references 15 shop/cart.py:catch -> shop/prices.py:Error",
    "references 16 shop/cart.py:catch -> shop/prices.py:RATE",
    "references 16 shop/cart.py:catch -> shop/prices.py:Error.code",
    "references 16 shop/cart.py:catch -> shop/prices.py",
    "inherits 22 shop/cart.py:Box -> shop/prices.py:Price",
    "references 23 shop/cart.py:Box -> shop/prices.py:RATE",
    "overrides 24 shop/cart.py:Box.total -> shop/prices.py:Price.total",
    "references 30 shop/cart.py -> shop/cart.py:add",
    "references 31 shop/cart.py -> shop/cart.py:handler",
    "references 5 shop/prices.py -> shop/prices.py:RATE",
    "references 13 shop/prices.py:Base.total -> shop/prices.py:Base.limit",
    "inherits 17 shop/prices.py:Price -> shop/prices.py:Base",
    "references 18 shop/prices.py:Price -> shop/prices.py:Base",
    "overrides 20 shop/prices.py:Price.total -> shop/prices.py:Base.total",
    "references 21 shop/prices.py:Price.total -> shop/prices.py:Base.limit",
    "references 21 shop/prices.py:Price.total -> shop/prices.py:Price",
    "references 23 shop/prices.py -> shop/prices.py:Base",
    "references 23 shop/prices.py -> shop/prices.py:Price",
    "references 34 shop/prices.py:Table -> shop/prices.py:Table.dict",
    "imports 1 tests/test_cart.py -> shop/cart.py:catch",
    "tests 1 tests/test_cart.py -> shop/cart.py",
    "imports 1 tests/test_cart.py -> shop/cart.py",
    "imports 1 tests/test_cart.py -> shop/cart.py:add",
    "imports 2 tests/test_cart.py -> shop/prices.py",
    "imports 2 tests/test_cart.py -> shop/prices.py:Price",
    "tests 5 tests/test_cart.py:test_add -> shop/cart.py:add",
    "tests 7 tests/test_cart.py:test_catch_nothing -> shop/cart.py:catch",
    "tests 11 tests/test_cart.py:helper -> shop/cart.py:catch",
    "tests 13 tests/test_cart.py:PriceTest -> shop/prices.py:Price",
    "references 14 tests/test_cart.py:PriceTest -> shop/prices.py:Price",
}
TYPESCRIPT = {
    "src/index.ts": """\
export { Price as Cost, RATE } from "./prices"
export * from "./shapes"
""",
    "src/shapes.ts": """\
export interface Shape { area(): number }
export interface Solid extends Shape { volume: number }
export type Either = Shape | Solid
export enum Kind { Round, Square }
""",
    "src/prices.ts": """\
import { parse } from "lib"
import type { Shape, Solid as S } from "./shapes"

export const RATE = 2
export class Base { limit = RATE; total(): number { return this.limit } text() { return "" } }
export class Price extends Base implements Shape {
  constructor(private net: Base) { super() }
  total() { return parse(this.net) }
  area(): number { return 1 }
}
export default class Box<Shape> implements S { volume: number; hold(it: Shape): Shape { return it } }
export function parsed(given: Array<Base>, each: (one: S) => Price) { return given.map(each) }
""",
    "src/cart.ts": """\
import { Cost, RATE as FACTOR, Shape, Kind } from "."
import Box from "./prices"
import * as prices from "./prices"
import { gross, Shape as Outer } from "missing"

export function add(items: Shape[], RATE?: number) {
  const local = RATE
  items.map(prices.parsed)
  return [FACTOR, local, Kind.Round]
}
export function alien(it: Outer) { return gross(it) }
export function shadow() { const Cost = 1; { const FACTOR = 2; return { Cost, FACTOR } } }
export const held: Box<Cost> = new Box<Cost>()
export const handler = add
function unknown(x: any) { return x.net + x.limit + x.volume }
""",
    "src/plain.js": """\
const LIMIT = 3
function run(given) { return LIMIT }
module.exports = { run, LIMIT }
""",
    "src/user.js": """\
const { run } = require("./plain")
const plain = require("./plain")
setTimeout(run)
exports.given = [plain.LIMIT, run]
""",
    "src/old.cts": """\
import shapes = require("./shapes")
const { Base } = require("./prices")
require("./plain")
""",
    "test/cart.test.ts": """\
import { add } from "../src/cart"
import { Price } from "../src/prices"
function testAdd() { add([]) }
class PriceTest { kind = Price }
""",
}
TYPESCRIPT_EDGES = {
    "imports 1 src/cart.ts -> src/shapes.ts:Kind",
    "imports 1 src/cart.ts -> src/shapes.ts:Shape",
    "imports 1 src/cart.ts -> src/prices.ts:Price",
    "imports 1 src/cart.ts -> src/prices.ts:RATE",
    "imports 1 src/cart.ts -> src/index.ts",
    "imports 2 src/cart.ts -> src/prices.ts:Box",
    "imports 2 src/cart.ts -> src/prices.ts",
    "imports 3 src/cart.ts -> src/prices.ts",
    "references 6 src/cart.ts:add -> src/shapes.ts:Shape",
    "references 8 src/cart.ts:add -> src/prices.ts",
    "references 9 src/cart.ts:add -> src/prices.ts:RATE",
    "references 9 src/cart.ts:add -> src/shapes.ts:Kind",
    "references 13 src/cart.ts -> src/prices.ts:Price",
    "references 14 src/cart.ts -> src/cart.ts:add",
    "imports 1 src/index.ts -> src/prices.ts:RATE",
    "imports 1 src/index.ts -> src/prices.ts:Price",
    "imports 1 src/index.ts -> src/prices.ts",
    "imports 2 src/index.ts -> src/shapes.ts",
    "imports 1 src/old.cts -> src/shapes.ts",
    "imports 2 src/old.cts -> src/prices.ts",
    "imports 2 src/old.cts -> src/prices.ts:Base",
    "imports 3 src/old.cts -> src/plain.js",
    "references 2 src/plain.js:run -> src/plain.js:LIMIT",
    "references 3 src/plain.js -> src/plain.js:run",
    "references 3 src/plain.js -> src/plain.js:LIMIT",
    "imports 2 src/prices.ts -> src/shapes.ts:Solid",
    "imports 2 src/prices.ts -> src/shapes.ts",
    "imports 2 src/prices.ts -> src/shapes.ts:Shape",
    "references 5 src/prices.ts -> src/prices.ts:RATE",
    "references 5 src/prices.ts:Base.total -> src/prices.ts:Base.limit",
    "inherits 6 src/prices.ts:Price -> src/prices.ts:Base",
    "implements 6 src/prices.ts:Price -> src/shapes.ts:Shape",
    "references 7 src/prices.ts:Price.constructor -> src/prices.ts:Base",
    "overrides 8 src/prices.ts:Price.total -> src/prices.ts:Base.total",
    "implements 9 src/prices.ts:Price.area -> src/shapes.ts:Shape.area",
    "implements 11 src/prices.ts:Box -> src/shapes.ts:Solid",
    "references 12 src/prices.ts:parsed -> src/prices.ts:Price",
    "references 12 src/prices.ts:parsed -> src/prices.ts:Base",
    "references 12 src/prices.ts:parsed -> src/shapes.ts:Solid",
    "inherits 2 src/shapes.ts:Solid -> src/shapes.ts:Shape",
    "references 3 src/shapes.ts -> src/shapes.ts:Shape",
    "references 3 src/shapes.ts -> src/shapes.ts:Solid",
    "imports 1 src/user.js -> src/plain.js",
    "imports 1 src/user.js -> src/plain.js:run",
    "imports 2 src/user.js -> src/plain.js",
    "references 4 src/user.js -> src/user.js:plain",
    "references 4 src/user.js -> src/plain.js:LIMIT",
    "references 4 src/user.js -> src/plain.js:run",
    "imports 1 test/cart.test.ts -> src/cart.ts:add",
    "tests 1 test/cart.test.ts -> src/cart.ts",
    "imports 1 test/cart.test.ts -> src/cart.ts",
    "imports 2 test/cart.test.ts -> src/prices.ts:Price",
    "imports 2 test/cart.test.ts -> src/prices.ts",
    "tests 3 test/cart.test.ts:testAdd -> src/cart.ts:add",
    "tests 4 test/cart.test.ts:PriceTest -> src/prices.ts:Price",
    "references 4 test/cart.test.ts -> src/prices.ts:Price",
}
CPP = {
    "include/shape.h": """\
#pragma once
#include <vector>
namespace draw {
struct Shape {
    Shape();
    virtual ~Shape() {}
    virtual int area() const = 0;
    int twice() const;
    static int count;
};
int total(const std::vector<Shape *> &shapes);
int never();
}
""",
    "src/shape.cpp": """\
#include "shape.h"
#include "missing.h"
namespace draw {
Shape::Shape() {}
int Shape::twice() const { return area() * 2; }
int Shape::count = 0;
static int total(int one) { return one; }
int total(const std::vector<Shape *> &shapes) { return total(1); }
}
""",
    "src/square.h": """\
#include <shape.h>
class Other { int area() const; };
class Square : public draw::Shape, private Other {
public:
    int area() const override { return 1; }
    int twice() const { return 2; }
};
""",
    "src/other.cpp": """\
#include "square.h"
int Other::area() const { return 3; }
int total(int other) { return other; }
""",
    "tests/test_shape.cpp": """\
#include "../src/square.h"
int test_total() { Square square; return square.area() + draw::total({}); }
""",
}
CPP["src/inner.cpp"] = """\
struct Kept { int kept; };
int inner() { struct Local { Kept held; int of(Kept *other) { return other->kept; } }; return 0; }
"""
CPP_EDGES = {
    "references 2 src/inner.cpp:inner.Local -> src/inner.cpp:Kept",
    "references 2 src/inner.cpp:inner.Local.of -> src/inner.cpp:Kept.kept",
    "imports 1 src/shape.cpp -> include/shape.h",
    "imports 1 src/square.h -> include/shape.h",
    "imports 1 src/other.cpp -> src/square.h",
    "imports 1 tests/test_shape.cpp -> src/square.h",
    "inherits 3 src/square.h:Square -> include/shape.h:draw.Shape",
    "inherits 3 src/square.h:Square -> src/square.h:Other",
    "overrides 5 src/square.h:Square.area -> include/shape.h:draw.Shape.area",
    "defines 4 src/shape.cpp:draw.Shape.Shape -> include/shape.h:draw.Shape.Shape",
    "defines 5 src/shape.cpp:draw.Shape.twice -> include/shape.h:draw.Shape.twice",
    "defines 8 src/shape.cpp:draw.total#2 -> include/shape.h:draw.total",
    "defines 2 src/other.cpp:Other.area -> src/square.h:Other.area",
    "references 2 tests/test_shape.cpp:test_total -> src/square.h:Square",
    "references 11 include/shape.h:draw.total -> include/shape.h:draw.Shape",
    "references 2 src/other.cpp -> src/square.h:Other",
    "references 4 src/shape.cpp:draw -> include/shape.h:draw.Shape",
    "references 5 src/shape.cpp:draw -> include/shape.h:draw.Shape",
    "references 6 src/shape.cpp:draw -> include/shape.h:draw.Shape",
    "references 8 src/shape.cpp:draw.total#2 -> include/shape.h:draw.Shape",
    "tests 2 tests/test_shape.cpp:test_total -> src/square.h:Square.area",
    "tests 2 tests/test_shape.cpp:test_total -> include/shape.h:draw.Shape.~Shape",
    "tests 2 tests/test_shape.cpp:test_total -> src/shape.cpp:draw.total#2",
}
LANGUAGES = {
    "python": (PYTHON, PYTHON_EDGES),
    "typescript": (TYPESCRIPT, TYPESCRIPT_EDGES),
    "cpp": (CPP, CPP_EDGES),
}
NONE = {
    "python": {"implements", "defines"},
    "typescript": {"defines"},
    "cpp": {"implements"},
}  # kinds that a language has not, or of which nothing is known
CANDIDATES: dict[str, set[str]] = {
    "cpp": set(),
    "python": {"references 28 shop/cart.py:unknown -> shop/prices.py:Error.code"},
    "typescript": {"references 15 src/cart.ts:unknown -> src/prices.ts:Base.limit"},
}


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def generation(language: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generation]:
    bench, made = graphed(tmp_path_factory.mktemp(language), LANGUAGES[language][0])
    yield made
    bench.close()


@pytest.mark.parametrize("kind", USES)
def test_the_edges_of_a_kind_are_the_true_ones(generation: Generation, language: str, kind: str) -> None:
    """Among them are namesakes outside, shadowed names, aliases, re-exports, type parameters and module objects."""
    truth = {edge for edge in LANGUAGES[language][1] if edge.startswith(f"{kind} ")}
    assert truth or kind in NONE[language], "or else nothing is claimed"
    assert edges(generation, kind) == truth


def test_what_is_known_by_its_name_alone_is_a_candidate(generation: Generation, language: str) -> None:
    """`x.code` of an unknown x may be the one member of that name; one that several have, or none, is nobody's."""
    assert edges(generation, *USES, candidates=True) == CANDIDATES[language]
