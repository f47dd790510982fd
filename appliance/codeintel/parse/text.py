"""A source file addressed by bytes, as the parser does, and by lines, as people do."""

from itertools import accumulate


class SourceText:
    """*text* with its UTF-8 form and its lines. Rows and offsets count from 0, lines from 1."""

    __slots__ = ("_plain", "lines", "offsets", "source", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.source = text.encode("utf-8", "replace")
        self._plain = text if len(text) == len(self.source) else None  # offsets of bytes are offsets of characters
        self.lines = text.split("\n")
        if not self.lines[-1]:
            self.lines.pop()
        rows = self.lines if self._plain is not None else self.source.split(b"\n")
        self.offsets = [0, *accumulate(map((1).__add__, map(len, rows)))]  # of each row's first byte

    def cut(self, start: int, end: int) -> str:
        """Return the text between two byte offsets."""
        if self._plain is not None:
            return self._plain[start:end]
        return self.source[start:end].decode("utf-8", "replace")

    def between(self, first: int, last: int) -> str:
        """Return lines *first* to *last*, both inclusive, from 1, without the end of the last one."""
        if self._plain is not None:
            return self._plain[self.offsets[first - 1] : self.offsets[min(last, len(self.offsets) - 1)] - 1]
        return "\n".join(self.lines[first - 1 : last])
