"""Which language a file is in: by its name, else by its first line."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

PARSER_VERSION: Final = 14  # a change in what is found raises it, and every blob is parsed anew

TEXT: Final = "text"
MARKDOWN: Final = "markdown"

_EXTENSIONS: Final = {
    "python": "py pyi pyw pyx pxd",
    "javascript": "js mjs cjs jsx es6",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hpp hh hxx h++ ipp inl tpp ixx cu cuh",
    "csharp": "cs csx",
    "ruby": "rb rake gemspec ru podspec",
    "php": "php php3 php4 php5 phtml inc",
    "bash": "sh bash zsh ksh bats ebuild",
    "kotlin": "kt kts",
    "scala": "scala sc sbt",
    "swift": "swift",
    "lua": "lua",
    MARKDOWN: "md markdown mdx mkd",
}
_BY_EXTENSION: Final = {ending: language for language, endings in _EXTENSIONS.items() for ending in endings.split()}
ENDINGS: Final = frozenset({*_BY_EXTENSION, "def"})  # that are spoken for, "def" by what looks like C
NAMES: Final = frozenset({*_EXTENSIONS, TEXT})
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_BY_NAME: Final = {
    "rakefile": "ruby", "gemfile": "ruby", "vagrantfile": "ruby", "podfile": "ruby", "fastfile": "ruby",
    "jakefile": "javascript", "sconstruct": "python", "sconscript": "python", "wscript": "python",
    ".bashrc": "bash", ".bash_profile": "bash", ".profile": "bash", ".zshrc": "bash", "pkgbuild": "bash",
}  # fmt: skip
_INTERPRETER: Final = re.compile(rb"#![ \t]*\S*?/?(?:env[ \t]+(?:-\S+[ \t]+)*)?([A-Za-z]+)[\d.]*(?:[ \t]|\r?\n|\Z)")
_BY_INTERPRETER: Final = {
    b"python": "python", b"pypy": "python", b"node": "javascript", b"nodejs": "javascript", b"deno": "typescript",
    b"bash": "bash", b"sh": "bash", b"zsh": "bash", b"dash": "bash", b"ksh": "bash", b"ruby": "ruby", b"php": "php",
    b"lua": "lua", b"luajit": "lua",
}  # fmt: skip
LOOKED_AT: Final = 65_536  # bytes of a file that tell its language
_CPP_HEADER: Final = re.compile(
    rb"""
    ^[ \t]{0,40}(?:
        class\s+\w[^;{}]{0,300}\{ | namespace\b[\s\w:]{0,200}\{ | template\s*< | public: | private: | protected:
        | using\s+(?:namespace\b|\w+\s*=|\w+::) | virtual\s[^;{}()]{1,200}\( | struct\s+\w+\s*(?:final\s*)?:\s*\w
        | \#[ \t]{0,40}include\s*<(?:string|vector|map|set|memory|utility|functional|algorithm|array|atomic|mutex|optional
            |type_traits|unordered_map|unordered_set|list|deque|iostream|sstream|cst\w+|tuple|variant|chrono|thread|initializer_list)>
    ) | \bstd:: | \)[ \t]{0,9}const[ \t]{0,9}[;{]
    | \boperator[ \t]{0,9}(?:==|\[\]|\(\)|=)[ \t]{0,9}\(
    """,
    re.MULTILINE | re.VERBOSE,
)

_FOR_CPP_ALONE: Final = re.compile(
    rb"""
    ^[ \t]{0,40}\#[ \t]{0,40}if(?:def[ \t]|[ \t]{1,9}defined)[ \t(]{0,9}__cplusplus
    .{0,4000}? ^[ \t]{0,40}\#[ \t]{0,40}(?:endif|else|elif)
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)

_C_TABLE: Final = re.compile(
    rb"\s*(?:/[/*]|\#[ \t]{0,9}(?:if|include|define|undef|pragma)|(?:static|const|struct|typedef)\s|\w+\()"
)


def language_of(path: str, head: bytes = b"", *, added: Mapping[str, str] = _NONE) -> str:
    """Return the language of the file at *path* that begins with *head*: a grammar's name, "markdown" or "text".

    *added* are further languages by their endings.

    Without *head* only the name decides. A ``.h`` file is C++ when it looks like that, and not
    only where it says that it is for C++ alone; a ``.def`` file is C when it looks like a table that is included.
    """
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, ending = name.rpartition(".")
    language = (_BY_EXTENSION.get(ending) or added.get(ending)) if dot and (stem or ending) else None
    if language == "c" and ending == "h" and head and _CPP_HEADER.search(_FOR_CPP_ALONE.sub(b"", head)):
        return "cpp"
    if ending == "def" and _C_TABLE.match(head):
        return "c"
    if language is None and head.startswith(b"#!"):
        match = _INTERPRETER.match(head)
        language = _BY_INTERPRETER.get(match[1]) if match else None
    return language or TEXT
