"""Rust's paths and types: what they name, and what a value of the type that is written there can be."""

from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.typed import Typed, first, line_of

# Types through which one sees what they hold, the last thing that they name.
_THROUGH: Final = frozenset({
    "Box", "Rc", "Arc", "RefCell", "Cell", "Mutex", "RwLock", "Pin", "Cow", "Ref", "RefMut", "MutexGuard",
    "RwLockReadGuard", "RwLockWriteGuard", "OnceCell", "OnceLock", "LazyLock", "Lazy", "ManuallyDrop", "Reverse",
    "Wrapping", "Saturating",
})  # fmt: skip
_LISTS: Final = frozenset({
    "Option", "Vec", "VecDeque", "HashSet", "BTreeSet", "LinkedList", "BinaryHeap", "Iterator", "IntoIterator",
    "DoubleEndedIterator", "ExactSizeIterator", "Peekable", "Weak", "Receiver", "Sender", "SmallVec", "ArrayVec",
    "IndexSet", "Stream", "Future", "Poll", "IntoIter", "Rev", "Skip", "Take",
})  # fmt: skip
_MAPS: Final = frozenset({"HashMap", "BTreeMap", "IndexMap", "FxHashMap", "AHashMap", "DashMap"})
_CALLED: Final = frozenset({"Fn", "FnMut", "FnOnce"})
_MARKERS: Final = frozenset({
    "Send", "Sync", "Sized", "Unpin", "Copy", "Clone", "Debug", "Display", "Default", "Eq", "PartialEq", "Ord",
    "PartialOrd", "Hash", "UnwindSafe", "RefUnwindSafe", "Error", "Any",
})  # fmt: skip
_NAMES: Final = frozenset({"identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"})
_PATHS: Final = frozenset({"scoped_identifier", "scoped_type_identifier"})
_AROUND: Final = frozenset({"generic_type", "bracketed_type", "generic_function", "generic_type_with_turbofish"})
_INNER: Final = frozenset({"reference_type", "pointer_type", "parenthesized_type", "bracketed_type", "removed_trait_bound"})
_PRIMITIVES: Final = frozenset({
    "bool", "char", "str", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
    "f32", "f64",
})  # fmt: skip
FIELD: Final = "."  # stands before the name of a field, which may be that of a method as well
_ROOTS: Final = frozenset({"crate", "self", "super"})


class Types(Typed):
    """Reads paths and types."""

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.within: list[str] = []  # the modules of this file that the walk stands in
        self.own_type = UNKNOWN  # of the impl or trait around
        self.bounds: dict[str, int] = {}  # parameters of types, with the traits themselves

    def path(self, node: Node | None) -> int:
        """Return the term of what the path *node* names: a module, a type, a function or a variable."""
        names: list[Node] = []
        while node is not None and node.type in _PATHS:
            name = node.child_by_field_name("name")
            if name is not None:
                names.append(name)
            node = node.child_by_field_name("path")
        while node is not None and node.type in _AROUND:
            node = node.child_by_field_name("type") or node.child_by_field_name("function") or first(node)
            if node is not None and node.type in _PATHS:
                return self._members(self.path(node), names)
        if node is not None and node.type == "qualified_type":  # <A as B>::c
            return self._members(self.path(node.child_by_field_name("type")), names)
        ups = 1
        while node is not None and node.type == "super" and names and names[-1].type == "super":
            ups += 1
            names.pop()
        return self._members(self._head(node, ups, alone=not names), names)

    def _members(self, term: int, names: list[Node]) -> int:
        for name in reversed(names):
            term = self.attribute(term, self.text(name), at=name) if term else UNKNOWN
        return term

    def _head(self, node: Node | None, ups: int, *, alone: bool) -> int:
        if node is None:
            return UNKNOWN
        kind, text = node.type, self.text(node)
        if kind in _ROOTS:
            return self.module(kind, ups)
        if text in _PRIMITIVES and (not alone or kind == "primitive_type"):
            return self.builder.term(Op.BUILTIN, text=text)
        if text == "Self":
            return self.own_type
        if text in self.bounds:
            return self.bounds[text]
        return self.named(text) if kind in _NAMES or kind in {"primitive_type", "metavariable"} else UNKNOWN

    def module(self, kind: str, ups: int = 1) -> int:
        """Return the term of the module that ``crate``, ``self`` or so many ``super`` name here."""
        if kind == "crate":
            return self.builder.term(Op.IMPORT, text="crate")
        up = ups if kind == "super" else 0
        within = self.within[: max(0, len(self.within) - up)]
        further = ["super"] * max(0, up - len(self.within))
        return self.builder.term(Op.IMPORT, text="::".join(["self", *further, *within]))

    def declared(self, node: Node | None) -> int:
        """Return the term of an instance of the type that *node* names, or UNKNOWN if it says nothing."""
        while node is not None and node.type in _INNER:
            node = node.child_by_field_name("type") or first(node)
        if node is None or self.too_deep():
            return UNKNOWN
        self.depth += 1
        self.at_line = line_of(node)
        term = self._declared(node)
        self.depth -= 1
        return term

    def _declared(self, node: Node) -> int:
        kind = node.type
        if kind in _NAMES or kind in _PATHS or kind == "primitive_type":
            name = self.text(node)
            if name in self.generics:
                return self.generics[name]
            return UNKNOWN if self._last(node) in _MARKERS else self.instance(self.path(node))
        if kind == "generic_type":
            return self._generic(node)
        if kind in {"dynamic_type", "abstract_type"}:
            return self.declared(node.child_by_field_name("trait"))
        if kind == "bounded_type":
            return self.builder.join(self.declared(child) for child in node.named_children)
        if kind == "function_type":
            return self.signature(node, self.declared(node.child_by_field_name("return_type")))
        if kind == "tuple_type":
            return self.tuple_(node, [self.declared(child) for child in node.named_children])
        return (
            self.held("Vec", node, [self.declared(node.child_by_field_name("element"))]) if kind == "array_type" else UNKNOWN
        )

    def _generic(self, node: Node) -> int:
        named, listed = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
        given = [child for child in (listed.named_children if listed else ()) if child.type != "lifetime"]
        name = self._last(named)
        kinds = [self.declared(child.child_by_field_name("type") or child if child.type == "type_binding" else child)
                 for child in given]  # fmt: skip
        if not kinds or self.find(name) is not None:
            return self.instance(self.path(named))
        if name in _THROUGH:
            return kinds[-1]
        if name in _LISTS:
            return self.held("Option" if name == "Option" else "Vec", node, kinds[:1])
        if name in _MAPS:
            return self.held("map", node, kinds[1:2])
        if name == "Result":
            return self.result_of(node, kinds)
        return self.instance(self.path(named))

    def result_of(self, node: Node, kinds: list[int]) -> int:
        """Return the term of a ``Result`` that is of *kinds*: what is good and what went wrong."""
        items = [each for place, kind in enumerate(kinds[:2]) for each in (self.constant(f"int:{place}"), kind)]
        return self.builder.term(Op.MAKE, text="Result", name=f"{node.start_byte}:{node.end_byte}", items=tuple(items))

    def _last(self, node: Node | None) -> str:
        """Return the last name of a path."""
        while node is not None and node.type in _PATHS:
            node = node.child_by_field_name("name")
        return self.text(node)

    def take_generics(self, node: Node) -> None:
        """Know the parameters that the types of *node* take, each as what it is at least."""
        listed = node.child_by_field_name("type_parameters")
        bounded: list[tuple[str, Node | None]] = []
        for child in listed.named_children if listed else ():
            if child.type in {"type_parameter", "constrained_type_parameter", "optional_type_parameter"}:
                name = self.text(child.child_by_field_name("name") or child.child_by_field_name("left") or first(child))
                self.generics[name], self.bounds[name] = UNKNOWN, UNKNOWN
                bounded.append((name, child.child_by_field_name("bounds")))
        where = next((child for child in node.named_children if child.type == "where_clause"), None)
        predicates = where.named_children if where else ()
        bounded += [(self.text(each.child_by_field_name("left")), each.child_by_field_name("bounds")) for each in predicates]
        for name, bounds in bounded:
            if name in self.generics and bounds is not None:
                self.generics[name] = self.builder.join((self.generics[name], *map(self.declared, bounds.named_children)))
                traits = [self._bound(child) for child in bounds.named_children]
                self.bounds[name] = self.builder.join((self.bounds[name], *traits))

    def _bound(self, node: Node) -> int:
        return self.path(node) if node.type in _NAMES | _PATHS and self._last(node) not in _MARKERS else UNKNOWN

    def used(self, node: Node | None) -> None:
        """Read what a ``use`` brings."""
        waiting: list[tuple[Node, int | None]] = [(node, None)] if node is not None else []
        while waiting:
            at, base = waiting.pop()
            kind = at.type
            if kind in {"scoped_use_list", "use_list"}:
                path = at.child_by_field_name("path")
                inner = self._taken(path, base, alone=False) if path is not None else base
                listed = at.child_by_field_name("list") if kind == "scoped_use_list" else at
                waiting += [(child, inner) for child in (listed.named_children if listed else ())]
            elif kind == "use_as_clause":
                taken = self._taken(at.child_by_field_name("path"), base, alone=False)
                self._bring(self.text(at.child_by_field_name("alias")), taken)
            elif kind == "use_wildcard":
                self._bring("*", self._taken(first(at), base, alone=False))
            elif kind == "self" and base is not None:
                self._bring(self.builder.last_name(base), base)
            elif kind in _NAMES or kind in _PATHS or kind in _ROOTS:
                self._bring(self._last(at), self._taken(at, base))

    def _taken(self, node: Node | None, base: int | None, *, alone: bool = True) -> int:
        """Return the term of the path *node* below *base*, or without one as it is seen from this module.

        A name *alone* that is brought under this very name is none of this module.
        """
        names: list[Node] = []
        at = node
        while at is not None and at.type in _PATHS:
            name = at.child_by_field_name("name")
            names += [name] if name is not None else []
            at = at.child_by_field_name("path")
        if at is None:
            return self._members(base or UNKNOWN, names)
        if base is not None:
            return base if at.type == "self" else self._members(base, [*names, at])
        if at.type in _ROOTS:
            return self.path(node)
        if (names or not alone) and self.find(self.text(at)) is None:
            return self._members(self.builder.term(Op.READ, self.around(), text=self.text(at)), names)
        return self.path(node) if names else self.builder.term(Op.IMPORT, text=self.text(at))

    def _bring(self, name: str, term: int) -> None:
        if not name or name == "_" or not term:
            return
        if self.builder.scopes[self.scope].kind == "module":
            self.bind(name, term)
        elif name == "*":
            self.builder.bind(self.around(), name, term)
        else:
            self.declare(name, term)

    def fields(self, node: Node | None) -> None:
        """Bind the fields of a struct or variant by their names, or their places."""
        for child in node.named_children if node else ():
            if child.type == "field_declaration":
                name = self.text(child.child_by_field_name("name"))
                self.bind(f"{FIELD}{name}", self.declared(child.child_by_field_name("type")))
        for place, child in enumerate(node.children_by_field_name("type") if node else ()):
            self.bind(f"{FIELD}{place}", self.declared(child))

    def variant(self, node: Node, enum: int) -> int:
        """Return the term of a variant of *enum*: a function that makes one, with its fields."""
        opened = OpenScope(
            "lambda", self.text(node.child_by_field_name("name")), self.scope, line_of(node), marks=("signature", "variant"),
            type=self.instance(enum),
        )  # fmt: skip
        with self.inside(opened) as scope:
            self.fields(node.child_by_field_name("body"))
        return self.builder.term(Op.DEF, scope)
