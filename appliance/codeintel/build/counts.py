"""What a program of a build says of the generation that it wrote."""

import msgspec


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What an assembly found, for the postconditions and for the generation's info."""

    entries: int
    files: int
    lines: int
    chunks: int
    symbols: int
    problems: int
    torn: int
    secrets: int
    left_out: dict[str, int]
    encodings: dict[str, int]
    languages: dict[str, int]
