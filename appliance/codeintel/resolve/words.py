"""How each family of languages calls what the solver asks for."""

from dataclasses import dataclass
from typing import Final

_BUILTINS: Final = (str, bytes, list, dict, set, tuple, int, float)
_EVERYWHERE: Final = frozenset({
    "close", "read", "write", "flush", "start", "stop", "run", "open", "send", "wait", "put", "submit", "result",
    "cancel",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """The names that a family of languages gives to what it calls by itself."""

    constructor: str
    iterator: str
    following: str  # of an iterator: what gives the next thing
    builtins: str  # stands before the names that nothing binds
    common: frozenset[str]  # names of methods that too many things have
    teaches: frozenset[str] = frozenset()  # functions outside that change what they are given


PYTHON: Final = Words(
    constructor="__init__",
    iterator="__iter__",
    following="__next__",
    builtins="builtins",
    common=_EVERYWHERE | {name for kind in _BUILTINS for name in dir(kind)},
    teaches=frozenset({
        "argparse.ArgumentParser.set_defaults", "argparse.ArgumentParser.add_subparsers.add_parser.set_defaults",
    }),
)  # fmt: skip

JAVASCRIPT: Final = Words(
    constructor="new()",
    iterator="[Symbol.iterator]",
    following="next",
    builtins="globals",
    common=_EVERYWHERE | frozenset({
        "add", "addEventListener", "addListener", "all", "any", "append", "appendChild", "apply", "at", "bind", "call",
        "catch", "charAt", "charCodeAt", "clear", "clone", "concat", "constructor", "copy", "createElement", "delete",
        "destroy", "dispatchEvent", "emit", "end", "endsWith", "entries", "error", "every", "exec", "fill", "filter",
        "finally", "find", "findIndex", "findLast", "flat", "flatMap", "forEach", "format", "from", "get", "getItem",
        "has", "hasOwnProperty", "includes", "indexOf", "info", "init", "insert", "join", "json", "keys", "lastIndexOf",
        "length", "listen", "log", "map", "match", "matchAll", "next", "of", "off", "on", "once", "padEnd", "padStart",
        "parse", "pause", "pipe", "pop", "post", "push", "querySelector", "race", "reduce", "reduceRight", "reject",
        "remove", "removeChild", "removeEventListener", "removeListener", "render", "repeat", "replace", "replaceAll",
        "reset", "resolve", "resume", "reverse", "save", "search", "set", "setItem", "shift", "slice", "some", "sort",
        "splice", "split", "startsWith", "status", "stringify", "subscribe", "substr", "substring", "test", "text",
        "then", "throw", "toFixed", "toISOString", "toJSON", "toLocaleString", "toLowerCase", "toString", "toUpperCase",
        "trim", "trimEnd", "trimStart", "type", "unshift", "update", "use", "valueOf", "values", "warn",
}),
    teaches=frozenset({
        "globals.Object.assign", "globals.Object.setPrototypeOf", "util.inherits", "inherits", "merge-descriptors",
        "lodash.assign", "lodash.extend", "object-assign",
}),
)  # fmt: skip

RUST: Final = Words(
    constructor="new()",
    iterator="into_iter",
    following="next",
    builtins="builtin",
    common=_EVERYWHERE | frozenset({
        "new", "default", "from", "into", "clone", "fmt", "eq", "ne", "cmp", "partial_cmp", "hash", "drop", "deref",
        "deref_mut", "as_ref", "as_mut", "borrow", "borrow_mut", "next", "iter", "iter_mut", "into_iter", "len",
        "is_empty", "push", "pop", "insert", "remove", "get", "get_mut", "contains", "contains_key", "extend", "clear",
        "unwrap", "expect", "map", "and_then", "unwrap_or", "ok", "err", "is_some", "is_none", "is_ok", "is_err",
        "to_string", "to_owned", "as_str", "as_bytes", "parse", "join", "split", "trim", "lines", "chars", "bytes",
        "first", "last", "min", "max", "take", "replace", "collect", "filter", "find", "position", "any", "all", "fold",
        "sum", "count", "rev", "zip", "chain", "skip", "enumerate", "lock", "write_all", "read_to_string", "path",
        "name", "kind", "poll", "call", "set", "add", "sub", "mul", "index", "as_slice", "to_vec", "description",
        "source", "finish", "build", "id", "value", "key", "keys", "values", "start", "end", "size", "reset",
}),
)  # fmt: skip

GO: Final = Words(
    constructor="new()",
    iterator="",
    following="",
    builtins="builtin",
    common=frozenset({
        "Accept", "Add", "Addr", "As", "Bytes", "Clone", "Close", "Context", "Copy", "Debug", "Decode", "Delete", "Do",
        "Done", "Encode", "Equal", "Err", "Error", "Errorf", "Fatal", "Fatalf", "Flush", "Format", "Get", "Header",
        "Info", "Init", "Is", "Key", "Kind", "Len", "Less", "Load", "Lock", "Log", "Logf", "Marshal", "MarshalJSON",
        "Name", "Next", "Open", "Print", "Printf", "Println", "Range", "Read", "Reset", "Run", "Scan", "Seek", "Send",
        "ServeHTTP", "Set", "Size", "Start", "Stop", "Store", "String", "Sum", "Swap", "Sync", "Type", "Unlock",
        "Unmarshal", "UnmarshalJSON", "Unwrap", "Value", "Wait", "Warn", "Write", "WriteString",
}),
    teaches=frozenset({"builtin.append"}),
)  # fmt: skip

C: Final = Words(
    constructor="new()",
    iterator="begin",
    following="operator*",
    builtins="",
    common=_EVERYWHERE | frozenset({
        "add", "append", "at", "back", "begin", "c_str", "clear", "count", "data", "empty", "end", "erase", "find", "first",
        "front", "get", "init", "insert", "length", "lock", "name", "next", "push_back", "remove", "reset", "second", "set",
        "size", "str", "swap", "type", "unlock", "update", "value", "what",
    }),
)  # fmt: skip

CSHARP: Final = Words(
    constructor="new()",
    iterator="GetEnumerator",
    following="MoveNext",
    builtins="System",
    common=frozenset({
        "Add", "AddRange", "Any", "All", "Append", "Apply", "Build", "Clear", "Clone", "Close", "Contains", "Copy",
        "Count", "Create", "Delete", "Dispose", "DisposeAsync", "Equals", "Execute", "Find", "First", "Flush", "Format",
        "Get", "GetAsync", "GetHashCode", "GetType", "GetValue", "Handle", "Init", "Initialize", "Insert", "Invoke",
        "Join", "Last", "Load", "Log", "Max", "Min", "Next", "Open", "Parse", "Process", "Read", "ReadAsync", "Register",
        "Remove", "Replace", "Reset", "Run", "Save", "Select", "Send", "Set", "SetValue", "Single", "Split", "Start",
        "Stop", "Sum", "ToArray", "ToList", "ToString", "Trim", "TryGet", "TryGetValue", "TryParse", "Update", "Validate",
        "Wait", "Where", "Write", "WriteAsync", "WriteLine",
    }),
)  # fmt: skip
