"""The language of conditions and values in workflows: small, without effects, and bounded in length, depth and steps.

::

    score > 3 and "todo" in lower(text)
    findings[0].path if len(findings) > 0 else "none"

Literals are numbers, ``"text"``, ``true``, ``false``, ``null`` and ``[lists]``; a name is a key of the state, ``.name`` and
``[index]`` look into it. In order of binding: ``or``, ``and``, ``not``, comparisons and ``in``, ``+ -``, ``* / // %``, sign.
Nothing is converted in silence: what is no flag is neither true nor false, and text and a number cannot be added.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from appliance.errors import InvalidInput, LimitExceeded
from appliance.framework.expression_values import FUNCTIONS, OPERATIONS, Wrong, bounded, compared, kind_of, looked_up

LONGEST: Final = 2000  # characters
DEEPEST: Final = 32  # brackets and signs within each other
MOST_STEPS: Final = 10_000  # of one evaluation

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<sign>==|!=|<=|>=|//|[-+*/%<>()\[\],.}]))""",
    re.VERBOSE,
)
WORDS: Final = {"and", "or", "not", "in", "if", "else", "true", "false", "null"}
"""What is no name of a value."""
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_COMPARISONS: Final = {"==", "!=", "<", "<=", ">", ">=", "in", "not in"}
_ESCAPES: Final = {"n": "\n", "t": "\t"}


class Scope:
    """The values that an expression sees, and how many steps it has left."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values
        self._left = MOST_STEPS

    def step(self, count: int = 1) -> None:
        """Count *count* steps; raise `LimitExceeded` where they are too many."""
        self._left -= count
        if self._left < 0:
            raise LimitExceeded(f"An expression took more than {MOST_STEPS:,} steps.", remedy="Work on less at a time.")


Evaluate = Callable[[Scope], object]


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: its *text*, the *names* of the state that it reads, and how its value is found."""

    text: str
    names: frozenset[str]
    _evaluate: Evaluate = field(repr=False, compare=False)

    def value(self, state: Mapping[str, object]) -> object:
        """Return the value over *state*; raise `InvalidInput` for what has none, `LimitExceeded` for what takes too long."""
        try:
            return self._evaluate(Scope(state))
        except Wrong as exc:
            raise InvalidInput(f"The expression `{self.text}` has no value: {exc}.") from exc
        except RecursionError as exc:
            raise LimitExceeded(f"The expression `{self.text}` looks into values that nest too deep.") from exc
        except (ArithmeticError, ValueError, TypeError) as exc:  # values that no step of a workflow makes
            raise InvalidInput(f"The expression `{self.text}` has no value: {type(exc).__name__}.") from exc

    def flag(self, state: Mapping[str, object]) -> bool:
        """Return the value, which must be true or false."""
        value = self.value(state)
        if not isinstance(value, bool):
            raise InvalidInput(
                f"The expression `{self.text}` is {kind_of(value)} and should be true or false.",
                remedy="Compare it: `len(x) > 0`, `x != null`.",
            )
        return value


def parsed(text: str) -> Expression:
    """Return the expression that *text* is; raise `InvalidInput` with the place of what is wrong, or `LimitExceeded`."""
    parser = _Parser(text, 0)
    evaluate = parser.whole()
    parser.ended()
    return Expression(text.strip(), frozenset(parser.names), evaluate)


def parsed_until_brace(text: str, start: int) -> tuple[Expression, int]:
    """Return the expression that begins at *start* and ends before a ``}``, and the place behind that."""
    parser = _Parser(text, start)
    evaluate = parser.whole()
    end = parser.closing_brace()
    return Expression(text[start : end - 1].strip(), frozenset(parser.names), evaluate), end


class _Token(NamedTuple):
    kind: str  # number, name, text, sign, end
    text: str
    at: int
    end: int


class _Parser:
    """Reads one expression by descent; every rule returns what finds its value."""

    def __init__(self, text: str, start: int) -> None:
        self.names: set[str] = set()
        self._text = text
        self._start = start
        self._depth = 0
        self._token = self._read(start)

    def whole(self) -> Evaluate:
        """Read one expression: a choice, or what stands in place of one."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise LimitExceeded(f"The expression nests more than {DEEPEST} deep.", remedy="Split it over several nodes.")
        then = self._either()
        if self._took("if"):
            test = self._either()
            if not self._took("else"):
                raise self._wrong("expected `else`")
            other = self.whole()
            then = _choice(test, then, other)
        self._depth -= 1
        return then

    def ended(self) -> None:
        """Raise where something follows."""
        if self._token.kind != "end":
            raise self._wrong(f"did not expect `{self._token.text}`")

    def closing_brace(self) -> int:
        """Return the place behind the ``}`` that follows; raise where another thing does."""
        if self._token.text != "}":
            raise self._wrong("expected `}`")
        return self._token.end

    def _either(self) -> Evaluate:
        parts = [self._both()]
        while self._took("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else _logical(parts, word="or")

    def _both(self) -> Evaluate:
        parts = [self._negated()]
        while self._took("and"):
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else _logical(parts, word="and")

    def _negated(self) -> Evaluate:
        count = 0
        while self._took("not"):
            count += 1
        part = self._comparison()
        if not count:
            return part
        return lambda scope: _flag(part(scope), "not") == (count % 2 == 0)

    def _comparison(self) -> Evaluate:
        left = self._sum()
        sign = self._token.text if self._token.kind != "text" else ""
        if sign == "not":
            self._next()
            if not self._took("in"):
                raise self._wrong("expected `in`")
            sign = "not in"
        elif sign in _COMPARISONS:
            self._next()
        else:
            return left
        right = self._sum()
        if self._token.kind != "text" and self._token.text in _COMPARISONS:
            raise self._wrong("comparisons do not chain: join them by `and`")
        return lambda scope: compared(sign, left(scope), right(scope), scope.step)

    def _sum(self) -> Evaluate:
        return self._chain(self._product, ("+", "-"))

    def _product(self) -> Evaluate:
        return self._chain(self._signed, ("*", "/", "//", "%"))

    def _chain(self, part: Callable[[], Evaluate], signs: tuple[str, ...]) -> Evaluate:
        first, more = part(), list[tuple[str, Evaluate]]()
        while self._token.kind == "sign" and self._token.text in signs:
            more.append((self._next().text, part()))
        return _chained(first, more) if more else first

    def _signed(self) -> Evaluate:
        count = 0
        while self._token.kind == "sign" and self._token.text == "-":
            self._next()
            count += 1
        part = self._looking()
        if not count:
            return part
        factor = -1 if count % 2 else 1
        return lambda scope: OPERATIONS["*"](part(scope), factor, scope.step)

    def _looking(self) -> Evaluate:
        value, keys = self._atom(), list[Evaluate]()
        while self._token.kind == "sign" and self._token.text in (".", "["):
            if self._next().text == ".":
                if self._token.kind != "name":
                    raise self._wrong("expected a name")
                keys.append(_constant(self._next().text))
            else:
                keys.append(self.whole())
                self._expect("]")
        return _looking(value, keys) if keys else value

    def _atom(self) -> Evaluate:
        token = self._token
        if token.kind == "number":
            self._next()
            return self._number(token)
        if token.kind == "text":
            self._next()
            return _constant(re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), token.text[1:-1], flags=re.DOTALL))
        if token.kind == "name" and token.text in _CONSTANTS:
            self._next()
            return _constant(_CONSTANTS[token.text])
        if token.kind == "name" and token.text not in WORDS:
            self._next()
            return self._call(token) if self._token.text == "(" and self._token.kind == "sign" else self._name(token)
        if self._took_sign("("):
            value = self.whole()
            self._expect(")")
            return value
        if self._took_sign("["):
            return _listed(self._several("]"))
        raise self._wrong("expected a value" if token.kind == "end" else f"did not expect `{token.text}`")

    def _number(self, token: _Token) -> Evaluate:
        try:
            return _constant(bounded(float(token.text) if set(token.text) & set(".eE") else int(token.text)))
        except Wrong as exc:
            raise self._wrong(str(exc), token) from exc

    def _name(self, token: _Token) -> Evaluate:
        self.names.add(token.text)

        def value(scope: Scope) -> object:
            scope.step()
            if token.text not in scope.values:
                raise Wrong(f"{token.text} has no value yet")
            return scope.values[token.text]

        return value

    def _call(self, token: _Token) -> Evaluate:
        if token.text not in FUNCTIONS:
            raise self._wrong(f"there is no function `{token.text}`; there are {', '.join(sorted(FUNCTIONS))}", token)
        self._next()
        arguments = self._several(")")
        function = FUNCTIONS[token.text]
        if not function.least <= len(arguments) <= function.most:
            raise self._wrong(f"`{token.text}` takes {function.told}", token)
        return lambda scope: function.call([each(scope) for each in arguments], scope.step)

    def _several(self, close: str) -> list[Evaluate]:
        found: list[Evaluate] = []
        while not self._took_sign(close):
            if found:
                self._expect(",")
            found.append(self.whole())
        return found

    def _took(self, word: str) -> bool:
        return self._took_if(self._token.kind == "name" and self._token.text == word)

    def _took_sign(self, sign: str) -> bool:
        return self._took_if(self._token.kind == "sign" and self._token.text == sign)

    def _took_if(self, wanted: bool) -> bool:  # noqa: FBT001 - the answer that the two above found
        if wanted:
            self._next()
        return wanted

    def _expect(self, sign: str) -> None:
        if not self._took_sign(sign):
            raise self._wrong(f"expected `{sign}`")

    def _next(self) -> _Token:
        token, self._token = self._token, self._read(self._token.end)
        return token

    def _read(self, at: int) -> _Token:
        found = _TOKEN.match(self._text, at)
        if (found.end() if found else at) - self._start > LONGEST:
            raise LimitExceeded(
                f"An expression is longer than {LONGEST:,} characters.", remedy="Split it over several nodes."
            )
        if found is None:
            token = _Token("end", "", at, at)
            if rest := self._text[at:].lstrip():
                raise self._wrong(f"cannot read `{rest[:10]}`", token)
            return token
        kind = found.lastgroup or ""
        return _Token(kind, found[kind], found.start(kind), found.end())

    def _wrong(self, why: str, token: _Token | None = None) -> InvalidInput:
        at = (token or self._token).at - self._start + 1
        shown = self._text[self._start : self._start + 200]
        return InvalidInput(f"The expression `{shown}` is wrong at character {at}: {why}.", at=at)


def _constant(value: object) -> Evaluate:
    return lambda _: value


def _choice(test: Evaluate, then: Evaluate, other: Evaluate) -> Evaluate:
    return lambda scope: then(scope) if _flag(test(scope), "if") else other(scope)


def _logical(parts: list[Evaluate], *, word: str) -> Evaluate:
    settles = word == "or"

    def value(scope: Scope) -> bool:
        for part in parts:
            scope.step()
            if _flag(part(scope), word) == settles:
                return settles
        return not settles

    return value


def _chained(first: Evaluate, more: list[tuple[str, Evaluate]]) -> Evaluate:
    def value(scope: Scope) -> object:
        found = first(scope)
        for sign, part in more:
            scope.step()
            found = OPERATIONS[sign](found, part(scope), scope.step)
        return found

    return value


def _looking(value: Evaluate, keys: list[Evaluate]) -> Evaluate:
    def found(scope: Scope) -> object:
        inner = value(scope)
        for key in keys:
            scope.step()
            inner = looked_up(inner, key(scope))
        return inner

    return found


def _listed(parts: list[Evaluate]) -> Evaluate:
    def value(scope: Scope) -> object:
        scope.step(len(parts))
        return [part(scope) for part in parts]

    return value


def _flag(value: object, word: str) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"`{word}` takes true or false, and got {kind_of(value)}")
    return value
