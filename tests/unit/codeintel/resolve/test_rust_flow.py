"""How values move through Rust: one claim, a few lines of code, and what they call."""

import time

import pytest

from appliance.codeintel.resolve.families import RUST
from tests.support.graphs import calls, edges, solved

TWO = (
    "fn f() {}\nfn g() {}\nstruct T;\nimpl T { fn a(&self) -> U { U } fn new() -> Self { T } }\nstruct U;\nimpl "
    "U { fn a(&self) {} }\n"
)
TRAIT = (
    "trait R { fn r(&self); fn d(&self) { self.r() } }\nimpl R for T { fn r(&self) { f() } }\nimpl R for U { fn "
    "r(&self) { g() } }\n"
)

CASES = {
    "a function": ("fn h() { f(); g() }", "m.h -> m.f, m.h -> m.g"),
    "a chain through what is declared to come back": ("fn h(t: &T) { t.a().a() }", "m.h -> m.T.a, m.h -> m.U.a"),
    "a function of a type": ("fn h() { T::new().a() }", "m.h -> m.T.new, m.h -> m.T.a"),
    "Self": (
        "impl T { fn b() { Self::new().a(); Self::c() } fn c() {} }",
        "m.T.b -> m.T.new, m.T.b -> m.T.a, m.T.b -> m.T.c",
    ),
    "a variable hides a function": ("fn h(f: T) { f.a() }", "m.h -> m.T.a"),
    "a variable hides another": ("fn h(x: T) { let x = x.a(); x.a() }", "m.h -> m.T.a, m.h -> m.U.a"),
    "a variable is itself again after a block": (
        "fn h(x: T) { { let x = U; x.a(); } x.a(); }",
        "m.h -> m.T.a, m.h -> m.U.a",
    ),
    "a variable called as a function is": ("fn h() { let f = f(); f.a() }", "m.h -> m.f"),
    "a type that is written down": ("fn h() { let x: T = make(); x.a() }", "m.h -> m.T.a"),
    "what a block ends with": ("fn h() { let x = { f(); T }; x.a() }", "m.h -> m.f, m.h -> m.T.a"),
    "what an if gives": ("fn h(c: bool) { let x = if c { f } else { g }; x() }", "m.h -> m.f, m.h -> m.g"),
    "what a match gives": ("fn h(c: u8) { let x = match c { 1 => T, _ => make() }; x.a() }", "m.h -> m.T.a"),
    "if let and let else": (
        "fn h(x: Option<T>, y: Option<U>) { if let Some(z) = x { z.a(); } let Some(z) = y else { return g() }; z.a(); }",
        "m.h -> m.T.a, m.h -> m.U.a, m.h -> m.g",
    ),
    "what goes wrong and what is good": (
        "fn h(x: Result<T, U>) { match x { Ok(y) => { y.a(); } Err(y) => y.a() } }",
        "m.h -> m.T.a, m.h -> m.U.a",
    ),
    "?": ("fn h(x: Result<T, U>) -> Result<(), U> { x?.a(); Ok(()) }", "m.h -> m.T.a"),
    "unwrap and its like": (
        "fn h(x: Option<T>, y: Result<U, ()>) { x.as_ref().unwrap().a(); y.ok().unwrap_or(U).a() }",
        "m.h -> m.T.a, m.h -> m.U.a",
    ),
    "through Box, Rc and Arc": (
        "fn h(x: Box<T>, y: Arc<Mutex<T>>, z: Rc<RefCell<U>>) { x.a(); y.lock().unwrap().a(); z.borrow_mut().a() }",
        "m.h -> m.T.a, m.h -> m.U.a",
    ),
    "Box::new and its like": (
        "fn h() { let x = Arc::new(Mutex::new(T::new())); x.lock().unwrap().a(); }",
        "m.h -> m.T.new, m.h -> m.T.a",
    ),
    "lists and maps": (
        ("fn h(x: Vec<T>, y: HashMap<String, U>, z: [T; 2], s: &[U]) { x[0].a(); y.get(``).unwrap().a(); z[1].a(); "
        "s[0].a() }"),
        "m.h -> m.T.a, m.h -> m.U.a",
    ),
    "loops": (
        ("fn h(x: &Vec<T>, y: HashMap<u8, U>) { for v in x { v.a(); } for (_, v) in &y { v.a(); } "
        "for (i, v) in x.iter().enumerate() { v.a(); } while let Some(v) = x.pop() { v.a(); } }"),
        "m.h -> m.T.a, m.h -> m.U.a",
    ),
    "what is pushed": ("fn h() { let mut x = Vec::new(); x.push(T::new()); x[0].a(); }", "m.h -> m.T.new, m.h -> m.T.a"),
    "vec!": ("fn h() { let x = vec![T, T]; for v in x { v.a(); } }", "m.h -> m.T.a"),
    "map and filter": (
        "fn h(x: Vec<T>) { x.iter().filter(|v| true).map(|v| v.a()).for_each(|u| u.a()) }",
        ("m.h -> m.h.<closure>, m.h.<closure> -> m.T.a, m.h.<closure> -> m.U.a"),
    ),
    "and_then": (
        "fn h(x: Option<T>) { x.and_then(|v| Some(v.a())).unwrap().a() }",
        "m.h -> m.h.<closure>, m.h.<closure> -> m.T.a, m.h -> m.U.a",
    ),
    "fold": (
        "fn h(x: Vec<U>) { x.iter().fold(T, |t, u| { u.a(); t.a(); t }); }",
        "m.h -> m.h.<closure>, m.h.<closure> -> m.T.a, m.h.<closure> -> m.U.a",
    ),
    "tuples": ("fn h(x: (T, U)) { x.0.a(); let (_, u) = x; u.a() }", "m.h -> m.T.a, m.h -> m.U.a"),
    "a parameter taken apart": (
        "fn h((t, u): (T, U), S { x, .. }: S) { u.a(); x.a() }\nstruct S { x: T }",
        "m.h -> m.U.a, m.h -> m.T.a",
    ),
    "fields and methods of one name": (
        "struct S { a: T }\nimpl S { fn a(&self) -> u8 { 1 } fn h(&self) { self.a.a(); self.a(); } }",
        "m.S.h -> m.T.a, m.S.h -> m.S.a",
    ),
    "a field that is a function": (
        "struct S { x: Box<dyn Fn() -> T> }\nfn h(s: S) { (s.x)().a() }\nfn i() { h(S { x: Box::new(|| { f(); T }) }) }",
        "m.h -> m.i.<closure>, m.i.<closure> -> m.f, m.h -> m.T.a, m.i -> m.h",
    ),
    "a field of a struct without names": (
        "struct S(T, U);\nfn h(s: S) { s.1.a(); let S(t, _) = s; t.a(); }",
        "m.h -> m.U.a, m.h -> m.T.a",
    ),
    "a function that is handed over": ("fn h(x: fn()) { x() }\nfn i() { h(f) }", "m.h -> m.f, m.i -> m.h"),
    "a closure that is handed over": (
        "fn h<F>(x: F) where F: Fn(T) { x(T) }\nfn i() { h(|t| { t.a(); }) }",
        "m.h -> m.i.<closure>, m.i.<closure> -> m.T.a, m.i -> m.h",
    ),
    "a function that comes back": (
        "fn h() -> impl Fn() { || f() }\nfn i() { h()() }",
        "m.i -> m.h, m.i -> m.h.<closure>, m.h.<closure> -> m.f",
    ),
    "a method handed over by its type": ("fn h(x: Option<T>) { x.map(T::a); }", "m.h -> m.T.a"),
    "a closure sees variables around it": (
        "fn h(t: T) { let x = move || t.a(); x(); }",
        "m.h -> m.h.<closure>, m.h.<closure> -> m.T.a",
    ),
    "variants": (
        "enum E { A(T), B { u: U }, C }\nfn h(e: E) { match e { E::A(t) => { t.a(); } E::B { u } => u.a(), E::C => f() } }",
        "m.h -> m.T.a, m.h -> m.U.a, m.h -> m.f",
    ),
    "variants by their names alone": (
        "enum E { A(T), B }\nuse E::*;\nimpl E { fn b(&self) {} }\nfn h(e: E) { if let A(t) = &e { t.a(); } B.b() }",
        "m.h -> m.T.a, m.h -> m.E.b",
    ),
    "to make a variant is no call": ("enum E { A(u8) }\nfn h() { E::A(1); }", ""),
    "a trait and what implements it": (
        TRAIT + "fn h(x: &dyn R) { x.r() }",
        ("m.h -> m.R.r, m.h -> m.T.r, m.h -> m.U.r, m.R.d -> m.R.r, m.R.d -> m.T.r, m.R.d -> m.U.r, m.T.r -> m.f, "
        "m.U.r -> m.g"),
    ),
    "what a parameter of a type is at least": (
        ("trait R { fn r(&self); fn make() -> Self; }\nimpl R for T { fn r(&self) {} fn make() -> T { T } }\n"
        "fn h<X: R + Clone>(x: X) { x.r() }\nfn i<X>() where X: R { X::make(); }"),
        "m.h -> m.R.r, m.h -> m.T.r, m.i -> m.R.make, m.i -> m.T.make",
    ),
    "a default of a trait": (
        "trait R { fn d(&self) { f() } }\nimpl R for T {}\nfn h(t: T) { t.d() }",
        "m.R.d -> m.f, m.h -> m.R.d",
    ),
    "a trait of a trait": (
        ("trait R { fn r(&self) {} }\ntrait Q: R { fn q(&self) { self.r() } }\nimpl R for T {}\nimpl Q for T {}\nfn "
        "h(t: T) { t.q() }"),
        "m.Q.q -> m.R.r, m.h -> m.Q.q",
    ),
    "a trait for references to what has it": (
        ("trait R { fn r(&self) {} }\nimpl<X: R> R for &X { fn r(&self) { (**self).r() } }\nimpl R for T {}\nfn h(t: "
        "T) { t.r() }"),
        "m.X.r -> m.R.r, m.X.r -> m.X.r, m.h -> m.R.r",
    ),
    "a trait for a type from outside": (
        ("trait R { fn r(&self); }\nimpl R for String { fn r(&self) { f() } }\n"
        "impl<X> R for Vec<X> { fn r(&self) { g() } }\nfn h(s: String, v: Vec<T>, o: Other) { s.r(); v.r(); o.r() }"),
        "m.String.r -> m.f, m.Vec.r -> m.g, m.h -> m.String.r, m.h -> m.Vec.r",
    ),
    "one trait's method among several": (
        ("trait R { fn a(&self); }\nimpl R for T { fn a(&self) {} }\n"
        "fn h(t: T) { <T as R>::a(&t); R::a(&t) }"),
        "m.h -> m.T.a, m.h -> m.R.a",
    ),
    "what stands outside stays outside": (
        "use other::{Open, T as V};\nfn h(o: Open, v: V) { o.a(); v.a().a(); other::f(); String::new().a() }",
        "",
    ),
    "what is derived is no method of that name": (
        "#[derive(Clone)]\nstruct S;\nimpl U { fn clone(&self) -> T { T } }\nfn h(s: S) { s.clone(); }",
        "",
    ),
    "what is cloned is what it was": (
        "#[derive(Clone)]\nstruct S;\nimpl S { fn b(&self) {} }\nfn h(s: S) { s.clone().b() }",
        "m.h -> m.S.b",
    ),
    "what it dereferences to": (
        "struct S;\nimpl std::ops::Deref for S { type Target = T; fn deref(&self) -> &T { &T } }\nfn h(s: S) { s.a(); }",
        "m.h -> m.T.a",
    ),
    "an associated type": (
        ("struct S;\nimpl Iterator for S { type Item = T; fn next(&mut self) -> Option<Self::Item> { None } }\n"
        "fn h(s: S) { for t in s { t.a(); } }"),
        "m.h -> m.S.next, m.h -> m.T.a",
    ),
    "another name of a type": ("type V = T;\ntype L<X> = Vec<X>;\nfn h(x: V, y: L<T>) { x.a(); y.len(); }", "m.h -> m.T.a"),
    "another name of what is held, or of functions": (
        "type V = Box<T>;\ntype F = Box<dyn Fn() -> T>;\nfn h(x: V, y: F) { x.a(); y().a(); }",
        "m.h -> m.T.a",
    ),
    "a function that is called as a type is": (
        "fn str() -> T { T }\nfn h() { str().a(); str::from_utf8(1); }",
        "m.h -> m.str, m.h -> m.T.a",
    ),
    "a type that a trait leaves open": (
        "trait R { type E: Q; fn r(&self) -> Self::E; }\ntrait Q { fn q() {} }\nfn h<X: R>(x: X) { X::E::q(); }",
        "m.h -> m.Q.q",
    ),
    "what macros give": ("fn h(t: T) { write!(``, t).unwrap().a(); }", ""),
    "a generic function": (
        "fn same<X>(x: X) -> X { x }\nfn h() { same(T).a(); same::<U>(U).a() }",
        "m.h -> m.same, m.h -> m.T.a, m.h -> m.U.a",
    ),
    "a constant": ("static X: T = T;\nconst Y: fn() = f;\nfn h() { X.a(); Y() }", "m.h -> m.T.a, m.h -> m.f"),
    "await and async": ("async fn h() -> T { T }\nasync fn i() { h().await.a(); }", "m.i -> m.h, m.i -> m.T.a"),
    "what macros are given": ("fn h(t: T) { println!(``, t.a()); assert_eq!(f(), g()); log::debug!(``, t.a().a()) }",
                             "m.h -> m.T.a, m.h -> m.f, m.h -> m.g, m.h -> m.U.a"),
    "macros in macros": ("fn h(t: T) { assert!(vec![t.a()].len() > format!(``, f()).len()); }", "m.h -> m.T.a, m.h -> m.f"),
    "a macro of one's own": (
        "macro_rules! mm { ($x:expr) => { f($x) } }\nfn h() { mm!(g()); mm! { T } }",
        "m.h -> m.mm, m.h -> m.g",
    ),
    "a macro that takes what is no expression": ("fn h(t: T) { select!(a => b, c => t.a()); t.a(); }", "m.h -> m.T.a"),
    "modules": (
        ("mod n { use super::T; pub fn h(t: T) { t.a(); i(); super::f() } fn i() { crate::g(); self::j() } fn j() {} "
        "}\nfn k() { n::h(T) }"),
        "m.n.h -> m.T.a, m.n.h -> m.n.i, m.n.h -> m.f, m.n.i -> m.g, m.n.i -> m.n.j, m.k -> m.n.h",
    ),
    "a module does not see the names around it": ("mod n { pub fn h() { f() } }", ""),
    "all names of a module": (
        "mod n { pub fn h() {} }\nuse n::*;\nfn i() { h() }\nmod t { use super::*; fn j() { i(); h() } }",
        "m.i -> m.n.h, m.t.j -> m.i, m.t.j -> m.n.h",
    ),
    "a use in a function": (
        "mod n { pub fn h() {} pub fn f() {} }\nfn i() { use n::{f, h as k}; f(); k() }",
        "m.i -> m.n.f, m.i -> m.n.h",
    ),
    "a function in a function": ("fn h() { fn f() { g() } f() }", "m.h -> m.h.f, m.h.f -> m.g"),
    "a raw receiver": ("impl T { fn b(self: Box<Self>) { self.a(); } }", "m.T.b -> m.T.a"),
}  # fmt: skip


@pytest.mark.parametrize("claim", CASES)
def test_values_are_followed(claim: str) -> None:
    code, expected = CASES[claim]
    assert sorted(calls({"m.rs": TWO + code.replace("``", '""')}, RUST)) == sorted(filter(None, expected.split(", ")))


def test_files_are_modules_of_their_crates() -> None:
    files = {
        "Cargo.toml": '[package]\nname = "my-lib"\n[[bin]]\nname = "x"\npath = "bin/x.rs"',
        "src/lib.rs": "pub mod a;\npub use a::b::deep as renamed;\npub fn f() {}",
        "src/a/mod.rs": "pub mod b;\npub fn f() { b::deep(); super::f() }",
        "src/a/b.rs": "pub fn deep() { crate::f(); super::f() }",
        "bin/x.rs": "mod y;\nuse my_lib::{a, renamed};\nfn main() { y::z(); renamed(); a::f(); my_lib::f() }",
        "bin/y.rs": "pub fn z() { crate::y::z() }",
    }
    assert calls(files, RUST) == {
        "src/a/mod.f -> src/a/b.deep",
        "src/a/mod.f -> src/lib.f",
        "src/a/b.deep -> src/lib.f",
        "src/a/b.deep -> src/a/mod.f",
        "bin/x.main -> bin/y.z",
        "bin/x.main -> src/a/b.deep",
        "bin/x.main -> src/a/mod.f",
        "bin/x.main -> src/lib.f",
        "bin/y.z -> bin/y.z",
    }


HOSTILE = {
    "names that go round": (
        "use self::b as a;\nuse self::a as b;\nmod n { pub use super::n::x; pub use super::*; }\nuse n::*;\nfn h() { "
        "a(); x() }"
    ),
    "types that go round": "type A = B;\ntype B = A;\nstruct S { s: Box<S> }\nfn h(a: A, s: S) { a.x(); s.s.s.s.x() }",
    "traits that go round": (
        "trait R: Q {}\ntrait Q: R {}\nimpl R for T {}\nimpl<X: R> Q for X {}\nfn h(x: &dyn R) { x.y(); x.a() }"
    ),
    "what dereferences to itself": "impl std::ops::Deref for T { type Target = T; }\nfn h(t: T) { t.b() }",
    "what dereferences to another and back": (
        "struct A;\nstruct B;\nimpl Deref for A { type Target = B; }\nimpl Deref for B { type Target = A; }\n"
        "fn h(a: A) { a.b() }"
    ),
    "iterators that make each other": (
        "struct A;\nstruct B;\nimpl A { fn iter(&self) -> B { B } }\nimpl B { fn iter(&self) -> A { A } }\n"
        "fn h(a: A) { for x in a { x.b() } }"
    ),
    "a chain of iterators": "".join(
        f"struct I{n};\nimpl I{n} {{ fn iter(&self) -> I{n + 1} {{ I{n + 1} }} }}\n" for n in range(1_000)
    )
    + "fn h(i: I0) { for x in i { x.b() } }",
    "a chain of what dereferences": "".join(
        f"struct D{n};\nimpl Deref for D{n} {{ type Target = D{n + 1}; }}\n" for n in range(1_000)
    )
    + "fn h(d: D0) { d.b() }",
    "an iterator over itself": (
        "impl Iterator for T { type Item = T; fn next(&mut self) -> Option<T> { for x in self {} None } }"
    ),
    "a deep nest": "fn h() { " + "f({" * 900 + "})" * 900 + " }",
    "a deep nest of types": "fn h(x: " + "Box<" * 900 + "T" + ">" * 900 + ") { x.a() }",
    "a long chain of calls": "fn h(t: T) { t" + ".a()" * 3_000 + "; }",
    "a long chain of branches": "fn h() { if f() {}" + " else if g() {}" * 1_500 + " }",
    "many macros that are no calls": "".join(f"fn h{n}() {{ m!(a => {n}); n!(b ; c) }}\n" for n in range(2_000)),
    "macros in macros in macros": "fn h() { " + "m!(" * 700 + ")" * 700 + "; }",
    "a settings file that is none": "fn h() {}",
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_made_to_be_slow_ends_soon(what: str) -> None:
    began = time.process_time()
    edges(solved({"m.rs": TWO + HOSTILE[what], "Cargo.toml": "[package]\nname = " + "[" * 5_000}, RUST))
    assert time.process_time() - began < 8
