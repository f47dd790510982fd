"""What people reported of files that an index met elsewhere, held to here, at the doors that people and agents use."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from appliance.mcp.replies import Reply
from appliance.mcp.toolbox import Toolbox
from appliance.services import Services
from tests.support.appliance import Client, make_services, serving, working
from tests.support.house import until
from tests.support.repos import commit, forge, link, make_repo, submodule

CHECKED = "\u043f\u0440\u043e\u0432\u0435\u0440\u043a\u0430"  # "check", in Russian
CALLS = "from core import shared\n\n\n# {word}\ndef {name}():\n    return shared()\n"
WORDS: Mapping[str, tuple[str, str, str]] = {  # by file: a word in it, how it is encoded, and what it is read as
    "latin": ("Prüfung", "latin-1", "latin-1"),
    "russian": (CHECKED, "cp1251", "cp1251"),
    "japanese": ("検査する", "shift-jis", "shift-jis"),
    "wide": ("größte", "utf-16", "utf-16"),
    "plain": ("été", "utf-8", "utf-8"),
}
POINTER = "version {host}/spec/v1\n{more}oid sha256:{oid}\nsize 70000\n"
LFS = {
    ".gitattributes": "*.bin.py filter=lfs diff=lfs merge=lfs -text\n",
    "model.py": POINTER.format(host="https://git-lfs.github.com", more="", oid="a" * 64),
    "old.bin.py": POINTER.format(host="https://hawser.github.com", more="", oid="b" * 64).replace("\n", "\r\n"),
    "more.sql": POINTER.format(host="https://git-lfs.github.com", more=f"ext-0-x sha256:{'d' * 64}\n", oid="c" * 64),
    "there.bin.py": "def there():\n    return 'the content itself, which was committed'\n",
}
MODULES = '[submodule "lib"]\n\tpath = lib\n\turl = https://reader:sesame-7731@git.site/shop/lib.git\n'


def files() -> dict[str, bytes | str | None]:
    found: dict[str, bytes | str | None] = {"core.py": "def shared():\n    return 1\n", ".gitmodules": MODULES}
    for name, (word, encoding, _) in WORDS.items():
        found[f"{name}.py"] = CALLS.format(word=word, name=f"in_{name}").encode(encoding)
    damaged = CALLS.format(word="größer als \\\\", name="in_damaged").encode()
    found["damaged.py"] = damaged.replace(b"\\\\", b"\xe9")
    found["nul.py"] = CALLS.format(word="one NUL \0 in a comment", name="in_nul")
    return found | LFS


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = make_repo(tmp_path_factory.mktemp("files"), files(), name="mixed")
    odd = [link("passwd.py", "/etc/passwd"), link("up.py", "../../secret"), submodule("lib", "1" * 40)]
    forge(source, odd, when=1_700_000_100)
    return source


def settle(services: Services) -> None:
    with working(services):
        until(lambda: all(job.ended for job in services.jobs.list()))


@pytest.fixture(scope="module")
def services(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with closing(make_services(tmp_path_factory.mktemp("data"))) as services:
        services.index(services.registry.add_repo(services.registry.project("default").id, source).id)
        settle(services)
        yield services


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[Client]:
    with serving(services) as client:
        yield client


def tool(services: Services, called: str, **given: object) -> dict[str, Any]:
    async def silent(number: int, words: str) -> None:
        del number, words

    reply: Reply = asyncio.run(Toolbox(services)(called, given, silent))
    assert reply.structured is not None, reply.text
    return dict(reply.structured)


@pytest.mark.parametrize("name", WORDS)
def test_text_of_any_encoding_is_found_by_its_words_at_its_line(services: Services, client: Client, name: str) -> None:
    """Files that were no UTF-8 were taken for binary ones and skipped without a word."""
    word, _, read_as = WORDS[name]
    for query in (word, f"content:{word}"):
        found = client.get("/api/v1/search", params={"q": query}).json()["hits"]
        spans = [hit for hit in found if word in hit["text"]]
        assert [span["path"] for span in spans] == [f"{name}.py"], query
        assert spans[0]["start_line"] <= 4 <= spans[0]["end_line"]
        assert spans[0]["verified"]
    read = tool(services, "read_lines", path=f"{name}.py", start_line=4, end_line=4)
    assert f"# {word}" in str(read["text"])
    assert any(read_as in warning for warning in read["warnings"]) is (read_as not in {"utf-8", "utf-16"})


def test_a_bad_byte_costs_its_character_alone_and_a_nul_nothing(client: Client) -> None:
    found = client.get("/api/v1/search", params={"q": "content:größer path:damaged.py"}).json()
    assert [hit["text"] for hit in found["hits"]] == ["# größer als é"]
    assert client.get("/api/v1/search", params={"q": 'content:"in a comment"'}).json()["total"] == 1
    encodings = client.get("/api/v1/repos/mixed").json()["index"]["encodings"]
    assert {
        name: encodings[name] for name in ("latin-1", "cp1251", "shift-jis", "utf-16", "damaged utf-8")
    } == dict.fromkeys(("latin-1", "cp1251", "shift-jis", "utf-16", "damaged utf-8"), 1)


def test_references_in_files_of_every_encoding_come_with_a_warning_that_names_the_unsure_ones(services: Services) -> None:
    """One reference in a file of another encoding broke the whole answer."""
    found = tool(services, "references", name="shared", limit=100)
    callers = {use["path"] for use in found["references"] if use["kind"] == "call"}
    assert callers == {*(f"{name}.py" for name in WORDS), "damaged.py", "nul.py"}
    said = " ".join(found["warnings"])
    named = {name for name in callers if f"{name}: " in said}
    assert named == {"latin.py", "russian.py", "japanese.py", "damaged.py"}


def test_pointers_of_lfs_are_left_out_whatever_they_are_called_and_counted_with_what_is_missing(client: Client) -> None:
    """Their text was indexed as if it were code. A file that was committed itself is code, whatever the attributes say."""
    assert client.get("/api/v1/repos/mixed").json()["index"]["left_out"]["lfs-pointer"] == 3
    left = client.get("/api/v1/repos/mixed/left-out", params={"reason": "lfs-pointer"}).json()["items"]
    assert {each["path"]: each["detail"] for each in left} == dict.fromkeys(
        ("model.py", "more.sql", "old.bin.py"), "70,000 bytes are missing"
    )
    assert client.get("/api/v1/search", params={"q": "content:sha256"}).json()["total"] == 0
    assert client.get("/api/v1/search", params={"q": "there"}).json()["hits"][0]["path"] == "there.bin.py"


def submodules(client: Client) -> dict[str, str]:
    left = client.get("/api/v1/repos/mixed/left-out", params={"reason": "submodule"}).json()["items"]
    return {each["path"]: each["detail"] for each in left}


def test_links_lead_nowhere_and_a_submodule_is_named_with_its_address(
    services: Services, client: Client, source: Path
) -> None:
    """A link in a repository could show a file of the machine; what a submodule is, nobody was told."""
    left = client.get("/api/v1/repos/mixed/left-out").json()["items"]
    assert {each["path"] for each in left if each["reason"] == "symlink"} == {"passwd.py", "up.py"}
    assert client.get("/api/v1/search", params={"q": 'content:"root:x:0"'}).json()["total"] == 0
    for path in ("passwd.py", "up.py", "../../etc/passwd", "lib/x.py", "/etc/passwd"):
        for answer in (
            client.get("/api/v1/repos/mixed/file", params={"path": path}),
            client.get("/browse", params={"repo": "mixed", "path": path}),
        ):
            assert "root:x:0" not in answer.text
            assert answer.status_code >= 400 or "/passwd" in answer.text or "/secret" in answer.text, "the link's own text"
    assert submodules(client) == {"lib": "commit 111111111111 of https://git.site/shop/lib.git"}
    commit(source, {".gitmodules": MODULES.replace("shop/lib", "shop/core")}, when=1_700_000_200)
    services.index(services.registry.repo("mixed").id)
    settle(services)
    assert submodules(client) == {"lib": "commit 111111111111 of https://git.site/shop/core.git"}
