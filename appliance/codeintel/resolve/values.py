"""What a term can be: functions, classes, their instances, modules, containers, and what lies outside of the repository.

Structs and not tuples: a class and its instance are of the same scope and must not be equal.
"""

import msgspec


class Function(msgspec.Struct, frozen=True, gc=False):
    """A function or lambda. ``scope`` counts through all flows; ``self_`` is what it is bound to, if it is."""

    scope: int
    self_: "Value | None" = None


class Class(msgspec.Struct, frozen=True, gc=False):
    """A class of the repository."""

    scope: int


class Instance(msgspec.Struct, frozen=True, gc=False):
    """Any instance of a class of the repository: they are not told apart."""

    scope: int


class Module(msgspec.Struct, frozen=True, gc=False):
    """A module of the repository."""

    file: int


class Package(msgspec.Struct, frozen=True, gc=False):
    """A folder with modules in it and no file of its own."""

    name: str


class External(msgspec.Struct, frozen=True, gc=False):
    """Something outside: ``path`` is its module and name, or what it was taken from and the name there."""

    path: str


class Constant(msgspec.Struct, frozen=True, gc=False):
    """A literal: its type, and for short strings and integers its value."""

    text: str


class Container(msgspec.Struct, frozen=True, gc=False):
    """A list, tuple, set or dictionary, by the place where it is made. Its items begin at ``start`` of it."""

    term: int
    kind: str
    start: int = 0


class Generator(msgspec.Struct, frozen=True, gc=False):
    """What a call of a generator function gives."""

    scope: int


class Results(msgspec.Struct, frozen=True, gc=False):
    """What calling ``of`` again and again gives, one by one."""

    of: "Value"


class Super(msgspec.Struct, frozen=True, gc=False):
    """What stands behind class ``after`` in the order of ``self_``'s classes."""

    after: int
    self_: "Value"


class Passed(msgspec.Struct, frozen=True, gc=False):
    """In what a function gives: whatever its parameter at ``place`` holds, or if it is ``made`` an instance of that."""

    place: int
    made: bool = False


class Order(msgspec.Struct, frozen=True, gc=False):
    """No value of the code: a class and its bases in the order in which they are asked. External ones are names."""

    classes: tuple["int | External", ...]


class Method(msgspec.Struct, frozen=True, gc=False):
    """A method of something builtin that is followed: of a container."""

    of: "Value"
    name: str


Value = (
    Function
    | Class
    | Instance
    | Module
    | Package
    | External
    | Constant
    | Container
    | Generator
    | Results
    | Super
    | Method
    | Passed
    | Order
)
