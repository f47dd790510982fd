"""What a plugin may add to the languages that are parsed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LanguageDefinition:
    """A language by its file endings, and the module of its tree-sitter grammar, which must be installed."""

    name: str
    extensions: tuple[str, ...]
    grammar: str
    definitions: str = ""  # a tree-sitter query whose captures are names of definitions
