"""Repositories on other machines, against real servers on loopback: each way in which they cannot be had has its name."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.codeintel.repo_settings import RepoSettings
from appliance.codeintel.source.access import reached
from appliance.codeintel.source.address import Remote, address_of
from appliance.errors import (
    AuthFailed,
    Cancelled,
    CertificateUnknown,
    HostKeyUnknown,
    InvalidInput,
    NotFound,
    Unreachable,
    Unsupported,
)
from tests.support.git_servers import SSHD, HttpServer, SshServer, free_port, http_server, make_key, ssh_server
from tests.support.indexing import IndexBench, Recorder
from tests.support.repos import commit, git, make_repo

CODE = {"a.py": "def alpha(): pass\n", "b.py": "def beta(): pass\n"}
SSH = pytest.mark.skipif(SSHD is None, reason="openssh-server is not installed")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "srv").mkdir()
    return tmp_path / "srv"


@pytest.fixture
def code(root: Path) -> Path:
    code = make_repo(root, CODE, name="tool.git", bare=True)
    git(code, "branch", "release/1", "main")
    git(code, "branch", "topic", "main")
    return code


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[SshServer]:
    (tmp_path / "ssh").mkdir()
    with ssh_server(tmp_path / "ssh") as server:
        yield server


@pytest.fixture
def https(root: Path, tmp_path: Path) -> Iterator[HttpServer]:
    (tmp_path / "tls").mkdir()
    with http_server(root, tmp_path / "tls", tls=True) as server:
        yield server


@SSH
def test_over_ssh_the_wanted_branches_come_and_only_they(bench: IndexBench, sshd: SshServer, code: Path) -> None:
    settings = RepoSettings(key_file=str(sshd.key), known_hosts=str(sshd.known_hosts), branches=("release/*",))
    repo = bench.add_remote(sshd.address(code), settings)
    assert repo.name == "tool"
    assert bench.index(repo, progress=(recorder := Recorder()).progress).files == len(CODE)
    assert any(phase == "fetch" for phase, _, _ in recorder.phases)
    assert bench.generations.branches(repo.id) == ["", "release/1"]
    mirror = bench.registry.read_at(repo)
    assert git(mirror, "for-each-ref", "--format=%(refname)").decode().split() == ["refs/heads/main", "refs/heads/release/1"]

    head = commit(code, {"new.py": "def new(): pass\n"})
    git(code, "update-ref", "refs/heads/release/1", head)
    assert bench.index(repo).commit == head
    git(code, "branch", "-D", "release/1")
    git(code, "update-ref", "refs/heads/main", "main~1")  # as a forced push does
    rewritten = commit(code, {"other.py": "def other(): pass\n"})
    assert bench.index(repo).commit == rewritten
    assert bench.generations.branches(repo.id) == [""]


@SSH
@pytest.mark.parametrize(
    "case", ["wrong key", "unknown host key", "changed host key", "passphrase", "open key", "no host key"]
)
def test_over_ssh_each_refusal_has_its_name_and_asks_nobody(
    bench: IndexBench, sshd: SshServer, code: Path, tmp_path: Path, case: str
) -> None:
    key, known = sshd.key, sshd.known_hosts
    if case == "wrong key":
        key = make_key(tmp_path / "other")
    elif case == "passphrase":
        key = make_key(tmp_path / "locked", passphrase="a long one")  # noqa: S106 - a passphrase of nothing
    elif case == "open key":
        key.chmod(0o644)
    elif case == "unknown host key":
        known = tmp_path / "nobody"
        known.write_text("")
    elif case == "changed host key":
        make_key(tmp_path / "host2")
        known = tmp_path / "changed"
        known.write_text(f"[127.0.0.1]:{sshd.port} {(tmp_path / 'host2.pub').read_text()}")
    expected = {
        "wrong key": AuthFailed, "unknown host key": HostKeyUnknown, "changed host key": HostKeyUnknown,
        "passphrase": Unsupported, "open key": InvalidInput, "no host key": InvalidInput,
    }[case]  # fmt: skip
    settings = RepoSettings(key_file=str(key), known_hosts="" if case == "no host key" else str(known))
    repo = bench.add_remote(sshd.address(code), settings)
    with pytest.raises(expected) as caught:
        bench.index(repo)
    noted = bench.registry.repo(repo.id)
    assert (noted.error, noted.state, noted.remedy) == (caught.value.code, "error", caught.value.remedy)
    assert noted.remedy


def test_git_and_ssh_are_told_never_to_ask_and_to_speak_one_protocol(tmp_path: Path) -> None:
    (tmp_path / "known").touch()
    address = address_of("ssh://git@git.site/x.git")
    with reached(address, RepoSettings(known_hosts=str(tmp_path / "known")), git_dir=tmp_path, under=tmp_path) as variables:
        assert (variables["GIT_TERMINAL_PROMPT"], variables["SSH_ASKPASS_REQUIRE"]) == ("0", "never")
        assert (variables["GIT_ALLOW_PROTOCOL"], variables["GIT_CONFIG_NOSYSTEM"]) == ("ssh", "1")
        for option in ("BatchMode=yes", "StrictHostKeyChecking=yes", "IdentityAgent=none", "ProxyCommand=none"):
            assert option in variables["GIT_SSH_COMMAND"]
        assert Path(variables["GIT_CONFIG_GLOBAL"]).stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [tmp_path / "known"]


def test_what_does_not_answer_is_unreachable_and_the_former_index_stays(
    bench: IndexBench, root: Path, code: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    with http_server(root, tmp_path / "plain", tls=False) as server:
        repo = bench.add_remote(f"{server.url}/tool.git", RepoSettings())
        info = bench.index(repo)
    with pytest.raises(Unreachable):
        bench.index(repo)
    assert bench.generation(repo).info == info
    blob = bench.generation(repo).files.blobs[0]
    assert bench.generations.source(repo.id).blob(blob) == CODE["a.py"].encode()
    assert code.is_dir()


def test_over_https_only_the_sites_authority_is_trusted(bench: IndexBench, https: HttpServer, code: Path) -> None:
    repo = bench.add_remote(f"{https.url}/tool.git", RepoSettings())
    with pytest.raises(CertificateUnknown) as caught:
        bench.index(repo)
    assert "--ca-file" in caught.value.remedy
    bench.registry.change_repo(repo.id, branch=None, settings=RepoSettings(ca_file=str(https.ca_file)))
    assert bench.index(repo).files == len(CODE)
    assert code.is_dir()


def test_a_login_comes_from_its_file_and_stands_nowhere_else(
    bench: IndexBench, https: HttpServer, code: Path, tmp_path: Path
) -> None:
    https.login = "reader:sesame-7731"
    settings = RepoSettings(ca_file=str(https.ca_file))
    repo = bench.add_remote(f"{https.url}/{code.name}", settings)
    with pytest.raises(AuthFailed):
        bench.index(repo)
    login = tmp_path / "login"
    login.write_text("reader:wrong\n")
    with_login = RepoSettings(ca_file=str(https.ca_file), credentials_file=str(login))
    bench.registry.change_repo(repo.id, branch=None, settings=with_login)
    with pytest.raises(AuthFailed):
        bench.index(repo)
    login.write_text(f"{https.login}\n")
    seen: list[bytes] = []
    bench.index(repo, check=lambda: seen.extend(said_by_children()))
    assert any(b"git" in said for said in seen)
    secrets = (b"sesame-7731", https.asked[-1][1].removeprefix("Basic ").encode())
    kept = [path.read_bytes() for path in bench.paths.root.rglob("*") if path.is_file()]
    assert not [said for said in (*seen, *kept) for secret in secrets if secret in said]


def said_by_children() -> Iterator[bytes]:
    """Yield the arguments and the environment of every process that descends from this one's group of tests."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if b"git" in (line := (entry / "cmdline").read_bytes()):
                    yield line + (entry / "environ").read_bytes()
            except OSError:
                continue


def test_a_redirect_is_not_followed(bench: IndexBench, https: HttpServer, root: Path, code: Path, tmp_path: Path) -> None:
    """Whoever has the server would else choose what this machine talks to."""
    (tmp_path / "other").mkdir()
    with http_server(root, tmp_path / "other", tls=True) as other:
        https.redirect = other.url
        repo = bench.add_remote(f"{https.url}/{code.name}", RepoSettings(ca_file=str(https.ca_file)))
        with pytest.raises(Unsupported):
            bench.index(repo)
        assert other.asked == []


def test_what_is_not_there_is_not_found_and_what_is_empty_is_never_promoted(
    bench: IndexBench, https: HttpServer, root: Path
) -> None:
    settings = RepoSettings(ca_file=str(https.ca_file))
    with pytest.raises(NotFound):
        bench.index(bench.add_remote(f"{https.url}/none.git", settings))
    empty = make_repo(root, None, name="empty.git", bare=True)
    repo = bench.add_remote(f"{https.url}/empty.git", settings)
    with pytest.raises(NotFound):
        bench.index(repo)
    assert bench.generations.branches(repo.id) == []
    commit(empty, CODE)
    assert bench.index(repo).files == len(CODE)


def test_a_fetch_can_be_called_off(bench: IndexBench, https: HttpServer, code: Path) -> None:
    repo = bench.add_remote(f"{https.url}/{code.name}", RepoSettings(ca_file=str(https.ca_file)))
    recorder = Recorder(cancel_at="fetch")
    with pytest.raises(Cancelled):
        bench.index(repo, progress=recorder.progress, check=recorder.check)
    assert bench.registry.repo(repo.id).error == ""


@pytest.mark.parametrize(
    "text",
    [
        "https://user:word@host/x", "ext::sh -c id", "git://host/x", "ssh://-oProxyCommand=id/x", "ssh://host",
        "https://host/a b", "file://elsewhere/x", "ftp://host/x", "https://ho\nst/x",
    ],
)  # fmt: skip
def test_an_address_that_could_mean_something_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        address_of(text)
    assert caught.value.remedy


def test_addresses_are_what_they_look_like(tmp_path: Path) -> None:
    assert address_of(str(tmp_path)) == tmp_path
    assert address_of(f"file://{tmp_path}") == tmp_path
    assert address_of("relative/user@host:x") == Path("relative/user@host:x")
    remotes = [address_of(text) for text in ("ssh://git@host:22/a/b.git", "git@host:a/b.git", "https://host:8443/a/b.git")]
    assert [(each.scheme, each.host, each.name) for each in remotes if isinstance(each, Remote)] == [
        ("ssh", "host", "b.git"), ("ssh", "host", "b.git"), ("https", "host", "b.git"),
    ]  # fmt: skip


def test_nobody_listens_is_told_in_time(bench: IndexBench, tmp_path: Path) -> None:
    del tmp_path
    repo = bench.add_remote(f"http://127.0.0.1:{free_port()}/x.git", RepoSettings())
    with pytest.raises(Unreachable):
        bench.index(repo)
