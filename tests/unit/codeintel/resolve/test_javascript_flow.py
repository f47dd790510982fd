"""How values move through JavaScript and TypeScript: one claim, a few lines of code, and what they call."""

import pytest

from appliance.codeintel.resolve.families import JAVASCRIPT
from tests.support.graphs import calls, edges, solved

TWO = "function f() {}\nfunction g() {}\n"

CASES = {
    "the last value of a name counts": ("let a = f; a = g; a()", "m -> m.g"),
    "after a branch both values count": ("let a = f; if (x) a = g; a()", "m -> m.f, m -> m.g"),
    "a branch that ends the function brings nothing": (
        "function h() { let a = f; if (x) { a = g; return } a() }",
        "m.h -> m.f",
    ),
    "a chain of branches": ("let a; if (x) a = f; else if (y) a = g; else return0(); a()", "m -> m.f, m -> m.g"),
    "a loop carries what it wrote to its next turn": (
        "let a = f; for (const _ of x) { a(); a = g }",
        "m -> m.f, m -> m.g",
    ),
    "a handler sees what the body had written so far": (
        "let a = f; try { a = g; a = null } catch { a() }",
        "m -> m.f, m -> m.g",
    ),
    "a switch": ("let a = f; switch (x) { case 1: a = g; break; default: } a()", "m -> m.f, m -> m.g"),
    "a block's name ends with its block": ("const a = f; { const a = g; a() } a()", "m -> m.f, m -> m.g"),
    "a block's name is seen by functions in it alone": (
        "const a = f; if (x) { const a = g; [1].map(() => a()) }",
        "m -> m.<anonymous1>, m.<anonymous1> -> m.g",
    ),
    "a name that a loop declares ends with it": ("const a = f; for (const a of [g]) a(); a()", "m -> m.f, m -> m.g"),
    "a caught name hides another": ("function h() { try { x() } catch (f) { f() } }", ""),
    "var is the function's": ("function h() { { var a = f } a() }", "m.h -> m.f"),
    "a parameter hides a function": ("function h(f) { f() }", ""),
    "functions are there before they stand": ("h(); function h() { g() }", "m -> m.h, m.h -> m.g"),
    "a function in a block is the block's": ("{ function f() {} f() } f()", "m -> m.f"),
    "a function expression knows its own name": ("const h = function k() { k() }; h()", "m -> m.k, m.k -> m.k"),
    "an arrow": ("const h = a => a(); h(g)", "m -> m.h, m.h -> m.g"),
    "a closure": (
        "function h() { const a = f; return () => a() } h()()",
        "m -> m.h, m -> m.h.<anonymous1>, m.h.<anonymous1> -> m.f",
    ),
    "what a function inside assigns": ("let a; function h() { a = f } h(); a()", "m -> m.h, m -> m.f"),
    "a default": ("function h(a = f) { a() } h()", "m -> m.h, m.h -> m.f"),
    "a default is called by the function": ("function h(a = f()) {} h()", "m -> m.h, m.h -> m.f"),
    "an object taken apart": ("const { a, b: { c }, d = g } = { a: f, b: { c: g } }; a(); c(); d()", "m -> m.f, m -> m.g"),
    "an array taken apart": ("const [, a, ...b] = [f, g, f]; a(); b[0]()", "m -> m.g, m -> m.f"),
    "a parameter taken apart": ("function h({ a, b = g }) { a(); b() } h({ a: f })", "m -> m.h, m.h -> m.f, m.h -> m.g"),
    "an assignment taken apart": ("let a, b; [a, b] = [f, g]; b()", "m -> m.g"),
    "an object that is spread": ("const a = { f }; const b = { ...a, c: g }; b.f()", "m -> m.f"),
    "a list that is spread": ("const a = [f]; for (const b of [...a]) b()", "m -> m.f"),
    "an object's method": ("const o = { a() { this.b() }, b: () => f() }; o.a()", "m -> m.a, m.a -> m.b, m.b -> m.f"),
    "an object's method by a constant key": ("const o = { a: f, 'b-c': g }; o['b-c']()", "m -> m.g"),
    "an object's method by a key that cannot be told": ("const o = { a: f, b: g }; o[x]()", "m -> m.f, m -> m.g"),
    "what is put into an object later": ("const o = {}; o.a = f; function h() { o.a() }", "m.h -> m.f"),
    "Object.assign": ("const o = {}; Object.assign(o, { a: f }); function h() { o.a() }", "m.h -> m.f"),
    "a function's member": ("h.a = f; function h() {} h.a()", "m -> m.f"),
    "a or b": ("const a = x || f; a(); (y ?? g)()", "m -> m.f, m -> m.g"),
    "a ternary": ("(x ? f : y ? g : null)()", "m -> m.f, m -> m.g"),
    "optional calls": ("const o = { a: f }; o?.a?.()", "m -> m.f"),
    "a template's inner call": ("`a${f()}b`", "m -> m.f"),
    "a tag": ("f`a${g()}`", "m -> m.f, m -> m.g"),
    "a comma": ("(0, f)()", "m -> m.f"),
    "||=": ("let a; a ||= f; a()", "m -> m.f"),
    "map calls what it is given": ("[1].map(f)", "m -> m.f"),
    "map gives what that gives": ("const h = () => f; for (const a of [1].map(h)) a()", "m -> m.h, m -> m.f"),
    "forEach hands over the items": (
        "[f, g].forEach(a => a())",
        "m -> m.<anonymous1>, m.<anonymous1> -> m.f, m.<anonymous1> -> m.g",
    ),
    "a callback of something unknown": ("function h(x) { x.forEach(f) }", "m.h -> m.f"),
    "then": ("async function h() { return g } h().then(a => a())", "m -> m.h, m -> m.<anonymous1>, m.<anonymous1> -> m.g"),
    "await": ("async function h() { return g } async function i() { (await h())() }", "m.i -> m.h, m.i -> m.g"),
    "setTimeout and addEventListener": ("setTimeout(f, 1); window.addEventListener('x', g)", "m -> m.f, m -> m.g"),
    "call, apply and bind": (
        "function h(a) { this.b(); a() } const o = { b: f }; h.call(o, g); h.apply(o); h.bind(o)()",
        "m -> m.h, m.h -> m.f, m.h -> m.g",
    ),
    "a generator": ("function* h() { yield f; yield* [g] } for (const a of h()) a()", "m -> m.h, m -> m.f, m -> m.g"),
    "a Map": ("const a = new Map(); a.set('x', f); a.get('x')()", "m -> m.f"),
    "a Map's pairs": ("const a = new Map(); a.set('x', f); for (const [k, b] of a) b()", "m -> m.f"),
    "Object.values": ("for (const a of Object.values({ x: f })) a()", "m -> m.f"),
    "a Set": ("const a = new Set(); a.add(f); a.forEach(b => b())", "m -> m.<anonymous1>, m.<anonymous1> -> m.f"),
    "a class": ("class A { b() { this.c() } c() {} } new A().b()", "m -> m.A, m -> m.A.b, m.A.b -> m.A.c"),
    "a constructor of a base": (
        "class A { constructor(a) { this.a = a } b() { this.a() } } class B extends A {} new B(f).b()",
        "m -> m.A.constructor, m -> m.A.b, m.A.b -> m.f",
    ),
    "super": (
        "class A { constructor() {} b() {} } class B extends A { constructor() { super(); super.b() } b() {} }",
        "m.B.constructor -> m.A.constructor, m.B.constructor -> m.A.b",
    ),
    "static and not": (
        "class A { static a() { this.b() } static b() {} a() {} } A.a(); new A().a()",
        "m -> m.A.a, m.A.a -> m.A.b, m -> m.A",
    ),
    "a field": ("class A { a = f; b = () => this.a(); c() { this.b() } }", "m.A.b -> m.f, m.A.c -> m.A.b"),
    "a private field": ("class A { #a = f; b() { this.#a() } }", "m.A.b -> m.f"),
    "a getter": ("class A { get a() { return f } b() { this.a() } }", "m.A.b -> m.A.a, m.A.b -> m.f"),
    "a getter of the class itself": (
        "class A { static get a() { return f } static set a(x) { g() } } function h() { A.a() }",
        "m.A.a -> m.g, m.h -> m.A.a, m.h -> m.f",
    ),
    "a getter of an object": (
        "const o = { get a() { return this.b }, set a(x) {}, b: f }; function h() { o.a(); const { a } = o }",
        "m.h -> m.a, m.h -> m.f",
    ),
    "a class that is an expression": ("const A = class { a() {} }; new A().a()", "m -> m.A, m -> m.A.a"),
    "a class that a function makes": (
        "const mix = B => class extends B { a() { this.b() } }; class A { b() {} } class C extends mix(A) {} new C().a()",
        "m -> m.mix, m -> m.C, m -> m.mix.<anonymous1>.a, m.mix.<anonymous1>.a -> m.A.b",
    ),
    "a prototype": (
        "function A() { this.a = f } A.prototype.b = function () { this.a() }; new A().b()",
        "m -> m.A, m -> m.b, m.b -> m.f",
    ),
    "a prototype of an object": (
        "function A() {} A.prototype = { b() { this.c() }, c() {} }; new A().b()",
        "m -> m.A, m -> m.b, m.b -> m.c",
    ),
    "a prototype behind a prototype": (
        ("function A() {} A.prototype.a = f; function B() { A.call(this) } B.prototype = Object.create(A.prototype); "
        "new B().a()"),
        "m -> m.B, m -> m.f, m.B -> m.A",
    ),
    "util.inherits": (
        "const util = require('util'); function A() {} A.prototype.a = f; function B() {} util.inherits(B, A); new B().a()",
        "m -> m.B, m -> m.f",
    ),
    "a function that makes what it is given is told apart by call": (
        "const make = C => new C(); class A { a() {} } class B { a() {} } make(A).a(); function h() { make(B).a() }",
        "m -> m.make, m -> m.A.a, m.h -> m.make, m.h -> m.B.a, m.make -> m.A, m.make -> m.B",
    ),
    "instanceof narrows": ("class A { a() {} } function h(x) { if (x instanceof A) x.a() }", "m.h -> m.A.a"),
    "what instanceof narrowed is wide again after it": (
        "class A { a() {} } class B { a() {} } function h(x) { if (x instanceof A) y(); x.a() } h(new B())",
        "m -> m.h, m -> m.B, m.h -> m.B.a",
    ),
    "a decorator": ("function h(c) { return c } @h class A { a() {} } new A().a()", "m -> m.h, m -> m.A, m -> m.A.a"),
    "an element": ("const h = () => <Part a={f()} />; function Part() {}", "m.h -> m.f, m.h -> m.Part"),
    "an iterator": (
        "class A { *[Symbol.iterator]() { yield f } } for (const a of new A()) a()",
        "m -> m.A, m -> m.A.[Symbol.iterator], m -> m.f",
    ),
    "what stands outside stays outside": (
        "import { open } from 'files'; class A { close() {} f() {} } open().close(); open().f(); ''.f()",
        "",
    ),
    "a builtin is no method of that name": ("class A { push() {} log() {} } [].push(1); console.log(1)", ""),
}  # fmt: skip

TYPED = {
    "an annotation of a parameter": (
        "class A { a() {} } function h(x: A | null, y: A[]) { x.a(); y.forEach(z => z.a()) }",
        "m.h -> m.A.a, m.h.<anonymous1> -> m.A.a, m.h -> m.h.<anonymous1>",
    ),
    "an annotation of what comes back": (
        "class A { a() {} } function h(x): Promise<A> { return x } h(1).a()",
        "m -> m.h, m -> m.A.a",
    ),
    "an annotation of a variable": ("class A { a() {} } const x: Readonly<A> = load(); x.a()", "m -> m.A.a"),
    "an annotation of a field": ("class A { a() {} } class B { private x: A; b() { this.x.a() } }", "m.B.b -> m.A.a"),
    "a constructor's parameter that becomes a field": (
        "class A { a() {} } class B { constructor(private readonly x: A) {} b() { this.x.a() } }",
        "m.B.b -> m.A.a",
    ),
    "an interface": ("interface A { a(): void } function h(x: A) { x.a() }", "m.h -> m.A.a"),
    "an interface that extends another": (
        "interface A { a(): void } interface B extends A {} function h(x: B) { x.a() }",
        "m.h -> m.A.a",
    ),
    "a name of a type": ("class A { a() {} } type B = A; function h(x: B) { x.a() }", "m.h -> m.A.a"),
    "a name of an object's type": ("type B = { a(): void }; function h(x: B) { x.a() }", "m.h -> m.B.a"),
    "as": ("class A { a() {} } (x as A).a(); (<A>x).a(); x!.a()", "m -> m.A.a"),
    "a parameter of a type is no type": ("class T { a() {} } function h<T>(x: T) { x.a() }", ""),
    "what a parameter of a type is at least": ("class A { a() {} } function h<T extends A>(x: T) { x.a() }", "m.h -> m.A.a"),
    "an overload": ("function h(a: string): void; function h(a: any) { f() } h('')", "m -> m.h, m.h -> m.f"),
    "an overloaded method": ("class A { a(x: string): void; a(x: any) {} } new A().a('')", "m -> m.A, m -> m.A.a"),
    "an abstract method": ("abstract class A { abstract a(): void; b() { this.a() } }", "m.A.b -> m.A.a"),
    "an enum is an object": ("enum A { x = f() } A.x.a()", "m -> m.f"),
    "a namespace": ("namespace N { export function a() { b() } function b() {} } N.a()", "m -> m.a, m.a -> m.b"),
    "this of a function": ("class A { a() {} } function h(this: A) { this.a() }", "m.h -> m.A.a"),
    "a Map of instances": ("class A { a() {} } function h(x: Map<string, A>) { x.get('')!.a() }", "m.h -> m.A.a"),
    "a value and a type of one name": (
        "interface A { a(): void } const A = f; A(); function h(x: A) { x.a() }",
        "m -> m.f, m.h -> m.A.a",
    ),
    "typeof": ("const o = { a: f }; function h(x: typeof o) { x.a() }", "m.h -> m.f"),
}  # fmt: skip


@pytest.mark.parametrize("claim", CASES)
def test_values_are_followed(claim: str) -> None:
    code, expected = CASES[claim]
    assert sorted(calls({"m.js": TWO + code}, JAVASCRIPT)) == sorted(filter(None, expected.split(", ")))


@pytest.mark.parametrize("claim", TYPED)
def test_types_are_believed(claim: str) -> None:
    code, expected = TYPED[claim]
    assert sorted(calls({"m.ts": TWO + code}, JAVASCRIPT)) == sorted(filter(None, expected.split(", ")))


def test_names_of_what_stands_outside_come_with_their_module() -> None:
    code = """
        import React, { useState as state } from "react"; import * as fs from "node:fs"; import Base from "base";
        fs.promises.read("a"); state(1); React.make(); "a".split(","); [].flat(); JSON.parse("{}"); new Map().get(1);
        class A extends Base { a() { this.emit() } }
        """
    found = {line.partition(" -> ")[2] for line in calls({"m.js": code}, JAVASCRIPT, outside=True)}
    assert found == {
        "fs.promises.read", "react.useState", "react.make", "globals.String.split", "globals.Array.flat",
        "globals.JSON.parse", "globals.Map", "globals.Map.get", "base.emit",
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["js", "ts", "tsx"])
@pytest.mark.parametrize(
    "code",
    [
        "x = 1 + " * 5000 + "1",
        "a" + ".b()" * 900,
        "(" * 900 + "f" + ")" * 900,
        "if (a) " * 300 + "f()",
        "if (a) f(); else " * 900 + "g()",
        "a ? b : " * 900 + "c",
        "() => " * 500 + "f()",
        "function f() {" * 300 + "}" * 300,
        "class A { a = " * 200 + "1" + "}" * 200,
        "x = " + "class { a = " * 300 + "1" + "}" * 300,
        "x = " + "(a = " * 300 + "1" + ") => 1" * 300,
        "x = " + "function(a = " * 300 + "1" + "){}" * 300,
        "let x: A" + "[]" * 600,
        "type A = " + "{ a: " * 300 + "B" + "}" * 300,
        "type A = " + "(B | " * 300 + "C" + ")" * 300,
        "let " + "[" * 300 + "a" + "]" * 300 + " = b",
        "let " + "{a: " * 300 + "a" + "}" * 300 + " = b",
        "a: " * 400 + "f()",
        "namespace A { " * 300 + "}" * 300,
        "switch (a) { case 1: " * 300 + "}" * 300,
        "try {" * 300 + "} catch {}" * 300,
        "x = " + "{a() { return " * 200 + "1" + "}}" * 200,
        "a" + "[0]" * 600 + "()",
        "do " * 300 + "f(); " + "while (a);" * 300,
        "[" * 900 + "]" * 900,
        "for (let a of b) { a = a.c(a) }\n" * 200,
        "function f(a) { return f(f(a)) } f(f)",
        "let a; " + "a = [a, a];\n" * 300 + "a[0][0][0]()",
        "function f(: { return class } import export default from {{ ((( => new ... <a",
        "const {a, b: {c = , ...d}} = ; class { static get #x( } enum namespace A.B { interface extends",
        "export { a as default } from; export * as; export = ; import a = require(; @ @a() class extends",
        "import x from '" + "a/" * 3000 + "b'",
        "x = [" + "f, " * 20000 + "]; x[3]()",
        "var a=function(t,e){return t.x(e)||e.y(t)},b={c:a,d:a};" * 2000,
        "A.prototype = B.prototype; B.prototype = A.prototype; function A() {} function B() {} new A().x()",
        "class A extends A { constructor() { super(); this.x() } } new A().x()",
        "const a = {...a, b: a}; a.b.b.b(); a.c(); Object.assign(a, a); a.x()",
        "function A() {} A.prototype = { [x]: new A() }; for (const a of new A()) a(); new A()(); new A()[x]()",
        "\x00\xff\n" * 10,
        "",
    ],
)
def test_hostile_code_is_read_to_its_end(code: str, ending: str) -> None:
    edges(solved({f"m.{ending}": code}, JAVASCRIPT))


MODULES = {
    "a default under another name": ({"m": "import g from './n'; g()", "n": "export default function f() {}"}, "m -> n.f"),
    "a default that is a name": ({"m": "import g from './n'; g()", "n": "const f = () => 1; export default f"}, "m -> n.f"),
    "a default handed on": (
        {"m": "import g from './n'; g()", "n": "export { default } from './o'", "o": "export default () => 1"},
        "m -> o.default",
    ),
    "a name handed on under another": (
        {"m": "import { h } from './n'; h()", "n": "export { f as h } from './o'", "o": "export function f() {}"},
        "m -> o.f",
    ),
    "all names handed on": (
        {
            "m": "import { f } from './n'; f()",
            "n": "export * from './o'",
            "o": "export * from './p'",
            "p": "export function f() {}",
        },
        "m -> p.f",
    ),
    "modules that hand on one another's names": (
        {
            "m": "import { f, g } from './n'; f(); g()",
            "n": "export * from './o'",
            "o": "export * from './n'; export const f = () => 1",
        },
        "m -> o.f",
    ),
    "a default is not among all names": (
        {"m": "import g from './n'; g()", "n": "export * from './o'", "o": "export default function f() {}"},
        "",
    ),
    "what is not exported is not seen": ({"m": "import { f } from './n'; f()", "n": "function f() {}"}, ""),
    "a namespace": ({"m": "import * as n from './n'; n.f()", "n": "export const f = () => 1, g = 2"}, "m -> n.f"),
    "a namespace handed on": (
        {"m": "import { o } from './n'; o.f()", "n": "export * as o from './o'", "o": "export function f() {}"},
        "m -> o.f",
    ),
    "a default and names at once": (
        {"m": "import g, { f as h } from './n'; g(); h()", "n": "export default class A {} export let f = () => 1"},
        "m -> n.A, m -> n.f",
    ),
    "what is exported later": ({"m": "import { f } from './n'; f()", "n": "let f; f = () => 1; export { f }"}, "m -> n.f"),
    "an import that waits": (
        {
            "m": "async function h() { (await import('./n')).f() } import('./n').then(n => n.f())",
            "n": "export function f() {}",
        },
        "m.h -> n.f, m -> m.<anonymous1>, m.<anonymous1> -> n.f",
    ),
    "require": ({"m": "const n = require('./n'); n.f()", "n": "exports.f = () => 1"}, "m -> n.f"),
    "require taken apart": ({"m": "const { f: g } = require('./n'); g()", "n": "module.exports = { f() {} }"}, "m -> n.f"),
    "require of a function": ({"m": "require('./n')()", "n": "module.exports = function () {}"}, "m -> n.default"),
    "require of one thing": (
        {
            "m": "const f = require('./n').f; f()",
            "n": "module.exports.f = function g() {}",
        },
        "m -> n.g",
    ),
    "exports and module.exports at once": (
        {
            "m": "const n = require('./n'); n(); n.f()",
            "n": "exports = module.exports = g; exports.f = f; function f() {} function g() {}",
        },
        "m -> n.g, m -> n.f",
    ),
    "a require that is handed on": (
        {
            "m": "require('./n').f()",
            "n": "module.exports = require('./o')",
            "o": "exports.f = class A { constructor() {} }; new exports.f()",
        },
        "m -> o.A.constructor, o -> o.A.constructor",
    ),
    "an import of what exports by assignment": (
        {"m": "import n, { f } from './n'; import * as o from './n'; n.f(); f(); o.f()", "n": "module.exports = { f() {} }"},
        "m -> n.f",
    ),
    "a default that was compiled": ({"m": "import f from './n'; f()", "n": "exports.default = function f() {}"}, "m -> n.f"),
    "a require of an ES module": (
        {
            "m": "const n = require('./n'); n.default(); n.f()",
            "n": "export default () => 1; export const f = () => 1",
        },
        "m -> n.default, m -> n.f",
    ),
    "another require is none": ({"m": "function h(require) { require('./n').f() }", "n": "exports.f = () => 1"}, ""),
    "exports that are a variable": ({"m": "require('./n').f()", "n": "function h(exports) { exports.f = () => 1 }"}, ""),
}  # fmt: skip


@pytest.mark.parametrize("claim", MODULES)
def test_modules_give_what_they_export(claim: str) -> None:
    files, expected = MODULES[claim]
    found = calls({f"{name}.js": code for name, code in files.items()}, JAVASCRIPT)
    assert sorted(found) == sorted(filter(None, expected.split(", ")))


def test_languages_of_one_family_import_one_another() -> None:
    files = {
        "m.tsx": "import { f } from './n.js'; import o = require('./o'); export const v = () => <a>{f()}{o.g()}</a>",
        "n.ts": "export function f(): void {}",
        "o.js": "exports.g = () => 1",
    }
    assert calls(files, JAVASCRIPT) == {"m.v -> n.f", "m.v -> o.g"}
