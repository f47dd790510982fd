"""What a plugin may add to the languages that are parsed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LanguageDefinition:
    """A language by its file endings, and the module of its tree-sitter grammar, which must be installed.

    *grammar* is that module's name, as ``tree_sitter_zig``, or ``module:function`` where the function that gives the grammar
    is not ``language``. *definitions* is a query in the form of the ``tags.scm`` that grammars bring: it captures each
    definition as ``@definition.KIND`` and within it the ``@name``, and above it the ``@doc`` if there is one.
    """

    name: str
    extensions: tuple[str, ...]
    grammar: str
    definitions: str = ""
