"""What a term can be: functions, classes, their instances, modules, containers, and what lies outside of the repository."""

from typing import NamedTuple


class Function(NamedTuple):
    """A function or lambda. ``scope`` counts through all flows; ``self_`` is what it is bound to, if it is."""

    scope: int
    self_: "Value | None" = None


class Class(NamedTuple):
    """A class of the repository."""

    scope: int


class Instance(NamedTuple):
    """Any instance of a class of the repository: they are not told apart."""

    scope: int


class Module(NamedTuple):
    """A module of the repository."""

    file: int


class Package(NamedTuple):
    """A folder with modules in it and no file of its own."""

    name: str


class External(NamedTuple):
    """Something outside: ``path`` is its module and name, or what it was taken from and the name there."""

    path: str


class Constant(NamedTuple):
    """A literal: its type, and for short strings and integers its value."""

    text: str


class Container(NamedTuple):
    """A list, tuple, set or dictionary, by the place where it is made. Its items begin at ``start`` of it."""

    term: int
    kind: str
    start: int = 0


class Generator(NamedTuple):
    """What a call of a generator function gives."""

    scope: int


class Results(NamedTuple):
    """What calling ``of`` again and again gives, one by one."""

    of: "Value"


class Super(NamedTuple):
    """What stands behind class ``after`` in the order of ``self_``'s classes."""

    after: int
    self_: "Value"


class Passed(NamedTuple):
    """In what a function gives: whatever its parameter at ``place`` holds."""

    place: int


class Order(NamedTuple):
    """No value of the code: a class and its bases in the order in which they are asked. External ones are names."""

    classes: tuple["int | External", ...]


class Method(NamedTuple):
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
