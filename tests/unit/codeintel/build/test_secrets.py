"""Secrets in a repository: none of them is in a byte that we keep, or in a word that any reader says."""

import asyncio
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.store.generation import Finding
from appliance.codeintel.store.text import TextIndex, Unpacked
from appliance.config import Index
from appliance.errors import NotFound
from tests.support import planted
from tests.support.indexed import Indexed, WordEmbedder
from tests.support.repos import commit, make_repo


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Indexed]:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    indexed.add(make_repo(tmp_path, planted.FILES, bare=True), name="web", embedder=WordEmbedder())
    yield indexed
    indexed.close()


def _kept(root: Path) -> str:
    """Return every byte under *root*, and what the compressed ones among them say."""
    pieces = []
    for path in sorted(each for each in root.rglob("*") if each.is_file()):
        pieces.append(path.read_bytes())
        if path.name.startswith("text-"):
            index = TextIndex(path.parent, [], unpacked=Unpacked())
            pieces += [part._block(n) for part in index._parts for n in range(len(part._before))]
        if path.name == "project.db":
            with closing(sqlite3.connect(path)) as conn:
                for table, column in (("blobs", "facts"), ("flows", "flow")):
                    rows = conn.execute(f"SELECT {column} FROM {table} WHERE {column} <> x''")  # noqa: S608 - literals
                    pieces += [zlib.decompress(row[0]) for row in rows]
    return b"\n".join(pieces).decode("latin-1")


def _held(kept: str) -> list[str]:
    """Return the secrets that are in *kept*, or in search tokens of it, which have no capital letters."""
    lowered = kept.lower()
    return [secret for secret in planted.SECRETS if secret in kept or secret.lower() in lowered]


def _said(site: Indexed, query: str) -> str:
    found = asyncio.run(site.searcher().search(query, scope=site.scope, limit=50))
    return "\n".join(f"{hit.span.path} {hit.symbol} {hit.text} {hit.why}" for hit in found.hits)


def test_no_secret_is_in_any_byte_that_is_kept_and_what_looks_like_one_is(site: Indexed) -> None:
    kept = _kept(site.paths.root)
    assert _held(kept) == []
    assert all(each in kept for each in planted.LOOK_ALIKES)


def test_no_search_finds_a_secret_or_shows_one(site: Indexed) -> None:
    for secret in planted.SECRETS[:9]:
        found = asyncio.run(site.searcher().search(f"content:{secret}", scope=site.scope))
        assert found.total == 0
    said = _said(site, "connect password address") + _said(site, "/ACCESS|SESSION|Bearer|DSN/") + _said(site, "private key")
    assert "connect_" in said
    assert "BEGIN RSA PRIVATE KEY" in said
    assert _held(said) == []
    assert planted.UUID in _said(site, f"content:{planted.UUID}")


def test_lines_and_citations_stay_exact(site: Indexed) -> None:
    (hit,) = asyncio.run(site.searcher().search('content:"# after the key"', scope=site.scope)).hits
    line = planted.SETTINGS.split("\n")[hit.span.start_line - 1]
    assert line.startswith("ACCESS = ")
    assert hit.columns[0][0] == line.index("# after the key") + 1
    assert hit.span.verified
    assert len(hit.text) == len(line)


def test_findings_are_listed_with_path_and_line_and_never_with_the_secret(site: Indexed) -> None:
    (repo,) = site.registry.repos()
    generation = site.generations.published(repo.id)
    findings = generation.secrets()
    assert generation.info.secrets == len(findings) > 0
    line = next(n for n, text in enumerate(planted.SETTINGS.split("\n"), start=1) if planted.AWS_KEY in text)
    assert Finding("src/settings.py", line, "aws-key") in findings
    assert Finding("wide.txt", 1, "aws-key") in findings
    assert _held(repr(findings)) == []


def test_files_of_secrets_are_left_out_with_that_reason_and_no_door_reads_them(site: Indexed) -> None:
    (repo,) = site.registry.repos()
    generation = site.generations.published(repo.id)
    left_out = {item.path: item.reason for item in generation.left_out()}
    secret = {".env", "deploy/.env.production", "keys/id_rsa", "keys/server.pem"}
    assert left_out == dict.fromkeys(sorted(secret), "secret")
    assert ".env.example" in generation.files.paths
    with pytest.raises(NotFound, match="keep secrets in"):
        site.generations.source(repo.id).locate(commit=generation.info.commit, path=".env")
    source = site.generations.source(repo.id)
    blob = source.locate(commit=generation.info.commit, path="keys/server.pem")
    assert blob is not None
    assert _held(source.blob(blob).decode()) == []


def test_the_setting_leaves_secrets_and_taking_it_back_scrubs_them_again(tmp_path: Path) -> None:
    """What was kept under one policy must not outlive it, in former generations and vectors either."""
    (tmp_path / "data").mkdir()
    source = make_repo(tmp_path, planted.FILES, bare=True)
    kept, vectors = [], []
    for mask in (False, True):
        indexed = Indexed(tmp_path / "data", limits=Index(workers=1, mask_secrets=mask))
        try:
            repo = indexed.add(source, name="web", embedder=WordEmbedder())
            generation = indexed.generations.published(repo.id)
            kept.append(_held(_kept(indexed.paths.root)))
            vectors.append({generation.vector_key(n) for n in generation.files.numbers})
            found = asyncio.run(indexed.searcher().search(f"content:{planted.AWS_KEY}", scope=indexed.scope))
            assert (found.total > 0) is not mask
            assert generation.info.secrets > 0
            assert (".env" in generation.files.paths) is not mask
        finally:
            indexed.close()
    assert set(planted.SECRETS) <= set(kept[0])
    assert kept[1] == []
    assert len(vectors[0] & vectors[1]) == 2  # of src/plain.py and .env.example, embedded once


def test_a_secret_in_a_later_change_is_masked_as_well(site: Indexed, tmp_path: Path) -> None:
    (repo,) = site.registry.repos()
    before = site.generations.published(repo.id).info.secrets
    fresh = "glpat-" + planted.letters(20)
    commit(tmp_path / "repo", {"src/plain.py": f"KEY = '{fresh}'\n"}, when=1_700_000_100)
    site.index(repo)
    assert fresh not in _kept(site.paths.root)
    assert site.generations.published(repo.id).info.secrets == before + 1
