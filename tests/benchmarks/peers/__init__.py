"""Other programs, installed by pip into a folder of their own, that answer the same questions in the same run."""

import subprocess
import sys
from pathlib import Path
from typing import Final

PACKAGES: Final = ("PyCG==0.0.8", "semble==0.7.0")
_FOLDER: Final = Path(__file__).parents[3] / ".cache" / "peers"
_INSTALL_WITHIN_S: Final = 600.0


def python() -> Path:
    """Return the Python that has the peers, installed now if need be; raise `CalledProcessError` where that cannot be."""
    program = _FOLDER / "bin" / "python"
    if not (_FOLDER / "complete").is_file():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(_FOLDER)], check=True)
        pip = [str(program), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES], check=True, timeout=_INSTALL_WITHIN_S)
        (_FOLDER / "complete").touch()
    return program


def adapter(name: str) -> Path:
    """Return the script that has the peer *name* speak as the harness wants it."""
    return Path(__file__).parent / f"{name}_adapter.py"
