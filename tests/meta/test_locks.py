"""The image's locks have what `pyproject.toml` asks for, and nothing that is not one exact file."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "images" / "locks"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PIN = re.compile(r"^([a-z0-9.-]+)==(\S+) \\\n    --hash=sha256:[0-9a-f]{64}\n", re.MULTILINE)


def pins(*names: str) -> dict[str, str]:
    text = "".join((LOCKS / f"{name}.txt").read_text() for name in names)
    assert not PIN.sub("", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)), "a line is no exact file"
    return dict(PIN.findall(text))


@pytest.mark.parametrize(
    ("locks", "asked"),
    [
        (("cpu", "llama-cpp"), PROJECT["dependencies"] + EXTRAS["llama-cpp"]),
        (("cuda", "llama-cpp"), [*PROJECT["dependencies"], *EXTRAS["llama-cpp"], "vllm"]),
        (("dev",), PROJECT["dependencies"] + EXTRAS["dev"]),
        (("build",), (LOCKS / "build.in").read_text().splitlines()),
    ],
)
def test_what_is_asked_for_is_locked_at_a_version_that_fits(locks: tuple[str, ...], asked: list[str]) -> None:
    locked = pins(*locks)
    for requirement in map(Requirement, asked):
        version = locked.get(requirement.name.lower().replace("_", "-"), "")
        assert requirement.specifier.contains(version), f"{requirement} is locked at {version!r}: images/locks/renew"


def test_the_wheel_and_the_lock_are_of_one_source() -> None:
    version, digest = (
        re.findall(rf"^{name}=(\S+)$", (ROOT / ".ci" / "wheels").read_text(), re.MULTILINE)[0]
        for name in ("version", "digest")
    )
    assert (LOCKS / "llama-cpp.txt").read_text().splitlines()[1:] == [
        f"llama-cpp-python=={version} \\",
        f"    --hash=sha256:{digest}",
    ]
