"""Claims about what is said where podman's store does not give an image, with programs that fail as a test tells them to."""

from pathlib import Path

import pytest

from appliance.bundle import image as images
from appliance.errors import HostUnfit

NAME = "localhost/skellig:1.0.0"
SAID = {
    "a log's line": (
        'time="noon" level=fatal msg="initializing source: reference \\"x\\" does not resolve: no such image"',
        'initializing source: reference "x" does not resolve: no such image.',
    ),
    "a log's line behind others": ('time="x" level=warning msg="old"\ntime="y" level=fatal msg="no image."', "no image."),
    "a plain line": ("Error: localhost/skellig:1.0.0: image not known", "Error: localhost/skellig:1.0.0: image not known."),
    "a line with a message that does not end": ('level=fatal msg="no', 'level=fatal msg="no.'),
}


def failing(folder: Path, monkeypatch: pytest.MonkeyPatch, *, said: str) -> None:
    """Have every program of containers say *said* and fail."""
    (folder / "said").write_text(said)
    for name in ("skopeo", "podman"):
        (folder / name).write_text(f"#!/bin/sh\nwhile read -r line; do echo \"$line\" >&2; done <'{folder}/said'\nexit 1\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(("said", "told"), [pytest.param(*case, id=name) for name, case in SAID.items()])
def test_an_image_that_is_not_found_is_told_with_the_reason_and_both_causes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    """It was not built; or it lies where `make image` puts it, which is another storage than podman's usual one."""
    failing(tmp_path, monkeypatch, said=f"{said}\n")
    for ask in (lambda: images.export(NAME, tmp_path, called=NAME, time=0), lambda: images.take(NAME, {}, tmp_path)):
        with pytest.raises(HostUnfit) as caught:
            ask()
        assert caught.value.message.endswith(f": {told}")
        assert "`make image`" in caught.value.remedy
        assert "`.ci/containers`" in caught.value.remedy


def test_what_a_program_said_is_cut_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(tmp_path, monkeypatch, said=f'level=fatal msg="{"the reason " * 100}"\n')
    with pytest.raises(HostUnfit) as caught:
        images.export(NAME, tmp_path, called=NAME, time=0)
    assert len(caught.value.message) < 400
    assert "store: the reason the reason" in caught.value.message


def test_a_program_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostUnfit, match="skopeo"):
        images.export(NAME, tmp_path, called=NAME, time=0)
