"""The appliance's main job, done in a container from outside, through its socket and its volumes alone."""

from pathlib import Path

import httpx2

from tests.image.box import Box, Volumes, until
from tests.support.models import MINILM, SMOL
from tests.support.repos import make_repo

SMALL_MODELS = {"SKELLIG_CHAT__MODEL": SMOL, "SKELLIG_EMBED__MODEL": MINILM}
_FILES: dict[str, bytes | str | None] = {
    "store/keeper.py": (
        "import hashlib\n\n\nclass Keeper:\n"
        '    """Keeps files by their digest."""\n\n'
        "    def verify(self, content: bytes, wanted: str) -> bool:\n"
        '        """Say whether *content* has the digest that it should have."""\n'
        "        return hashlib.sha256(content).hexdigest() == wanted\n"
    ),
    "README.md": "# Store\n\nFiles are verified by digest before they are used.\n",
}


def supplied(folder: Path) -> Path:
    """Return *folder* with volumes that hold two small models and a repository to be taken in."""
    volumes = Volumes(folder)
    volumes.make()
    volumes.give(SMOL, MINILM)
    make_repo(volumes.repos, _FILES, name="store")
    return folder


def main_job(running: Box) -> None:
    """Log in, have the repository indexed, search it and ask about it; each step must give what it is for."""
    running.ready(within=120.0)
    volumes = running.volumes
    transport = httpx2.HTTPTransport(uds=str(volumes.socket))
    key = (volumes.data / "run" / "cli.key").read_text().strip()
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(transport=transport, base_url="http://skellig/api/v1", headers=headers, timeout=300.0) as client:
        token = volumes.data / "first-token"  # which the first process writes once the others are well
        until(token.exists, within=60.0, but=running.said)
        assert client.post("/login", json={"token": token.read_text().strip()}).status_code == 200
        assert not token.exists()

        def found() -> list[str]:
            told = client.get("/search", params={"q": "verify digest"}).json()
            return [hit["path"] for hit in told["hits"]] if "vector" in told.get("signals", ()) else []

        until(lambda: bool(found()), within=180.0, but=running.said)
        assert found()[0] == "store/keeper.py"
        answer = client.post("/ask", json={"question": "Where is a file's digest verified?"}).json()
        assert answer["kind"] in {"prose", "evidence"}
        assert answer["model"]
        first = answer["citations"][0]
        assert (first["path"], first["verified"]) == ("store/keeper.py", True)
