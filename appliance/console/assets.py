"""The console's own files: style sheets, scripts, the icon. Read once; a name that is not among them does not exist."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.errors import NotFound

_ROOT: Final = Path(__file__).parent / "static"
_ON_DEMAND: Final = "vendor/cytoscape.esm.min.js"  # loaded where a graph is drawn, and only there
_TYPES: Final = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is served. ``digest`` is the first 16 hex digits of its sha256."""

    content: bytes
    media_type: str
    digest: str


class Assets:
    """Every servable file below *root*, held in memory: a request can never reach another path."""

    def __init__(self, root: Path = _ROOT) -> None:
        self._files = {
            file.relative_to(root).as_posix(): Asset(
                content := file.read_bytes(), _TYPES[file.suffix], hashlib.sha256(content).hexdigest()[:16]
            )
            for file in sorted(root.rglob("*"))
            if file.suffix in _TYPES
        }

    def get(self, name: str) -> Asset:
        """Return the file called *name*; raise `NotFound` for every other name."""
        try:
            return self._files[name]
        except KeyError as exc:
            raise NotFound("There is no such file.") from exc

    def url(self, name: str) -> str:
        """Return the address of *name*, with its digest: a changed file has a new address."""
        return f"/static/{name}?v={self.get(name).digest}"

    def script_bytes(self) -> int:
        """Return the size of all scripts that pages load by themselves."""
        return sum(len(file.content) for name, file in self._files.items() if name.endswith(".js") and name != _ON_DEMAND)
