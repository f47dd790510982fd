"""What a published generation answers."""

import os
import shutil
import threading
import time

import pytest

from appliance.codeintel.facts import BlobFacts, Chunk, Symbol
from appliance.codeintel.source.base import FileFlags, LeftOut
from appliance.codeintel.store.code import CodeStore
from appliance.codeintel.store.generation import Generation
from appliance.errors import StoreCorrupt
from appliance.ids import RepoId
from tests.support.generations import facts_of, publish, with_texts
from tests.support.ranked import best_chunks

REPO = RepoId("repo_a")
CLIENT = with_texts(
    BlobFacts(
        "python",
        "utf-8",
        40,
        (
            Symbol("Client", "Client", "class", 1, 40, "class Client", "Talks to servers."),
            Symbol("stream", "Client.stream", "method", 5, 20, "def stream(self)", "", 0),
            Symbol("stream", "Client.stream#2", "method", 21, 40, "def stream(self, x)", "", 0),
        ),
        chunks=(Chunk(1, 20, 0, (0, 1)), Chunk(21, 40, 2, (2,))),
    ),
    "class client stream",
    "stream x",
)


def opened(store: CodeStore) -> Generation:
    published = store.published(REPO)
    assert published is not None
    return Generation(store.paths.generations / published.folder, store.info(published.generation))


def test_chunks_know_their_file_lines_and_symbols(store: CodeStore) -> None:
    publish(store, REPO, {"a.py": facts_of("x = 1"), "client.py": CLIENT})
    generation = opened(store)
    assert generation.files.paths == ["a.py", "client.py"]
    assert generation.chunk_file.tolist() == [0, 1, 1]
    assert (generation.chunk_start.tolist(), generation.chunk_end.tolist()) == ([1, 1, 21], [1, 20, 40])
    assert generation.chunk_symbol(0) is None
    inner = generation.chunk_symbol(2)
    assert inner is not None
    assert (inner.qualname, inner.parent, inner.path) == ("Client.stream#2", "Client", "client.py")
    assert [row.qualname for row in generation.chunk_defines(1)] == ["Client", "Client.stream"]
    assert generation.chunk_defines(0) == ()
    assert generation.files.first_chunk.tolist() == [0, 1, 3]


def test_chunk_numbers_are_those_of_the_lexical_index_and_the_latent_space(store: CodeStore) -> None:
    publish(store, REPO, {f"f{i}.py": facts_of(f"alpha{i} beta{i % 3} gamma") for i in range(20)})
    generation = opened(store)
    ids, _ = best_chunks(generation.lexical, ["alpha7"], 5)
    assert [generation.files.paths[generation.chunk_file[i]] for i in ids] == ["f7.py"]
    assert generation.lexical.count == generation.info.chunks == 20
    assert generation.latent is None or len(generation.latent.matrix) == 20


def test_a_symbol_is_found_by_name_then_whatever_its_case(store: CodeStore) -> None:
    publish(store, REPO, {"a.py": facts_of("…", "retry", "Retry"), "b.py": facts_of("…2", "retry")})
    symbols = opened(store).symbols
    assert [(row.name, row.path) for row in symbols.named("retry")] == [("retry", "a.py"), ("retry", "b.py")]
    assert [row.name for row in symbols.named("RETRY")] == ["retry", "Retry", "retry"]
    assert symbols.named("nothing") == []
    assert symbols.named("\udc80") == []


def test_a_symbol_is_found_by_the_end_of_its_qualified_name(store: CodeStore) -> None:
    publish(store, REPO, {"client.py": CLIENT})
    symbols = opened(store).symbols
    assert [row.qualname for row in symbols.qualified("Client.stream")] == ["Client.stream", "Client.stream#2"]
    assert [row.qualname for row in symbols.qualified("stream")] == ["Client.stream", "Client.stream#2"]
    assert symbols.qualified("lient.stream") == []


def test_symbols_are_listed_by_file(store: CodeStore) -> None:
    publish(store, REPO, {"client.py": CLIENT, "b.py": facts_of("…", "strip")})
    symbols = opened(store).symbols
    assert [row.name for row in symbols.in_file("client.py")] == ["Client", "stream", "stream"]
    assert symbols.in_file("none.py") == []


def test_a_name_with_very_many_definitions_is_looked_up_in_two_milliseconds(store: CodeStore) -> None:
    many = tuple(Symbol("__init__", f"C{i}.__init__", "method", i, i, "", "") for i in range(1, 20_001))
    facts = BlobFacts("python", "utf-8", 20_000, many, chunks=(Chunk(1, 9, -1, ()),))
    publish(store, REPO, {"a.py": with_texts(facts, "x")})
    symbols = opened(store).symbols
    times = []
    for _ in range(20):
        start = time.perf_counter()
        assert len(symbols.named("__init__", limit=100)) == 100
        times.append(time.perf_counter() - start)
    assert min(times) < 0.002


def test_file_names_that_are_not_utf8_survive(store: CodeStore) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    publish(store, REPO, {name: facts_of("x", "f")}, left_out=[LeftOut(os.fsdecode(b"\xff.bin"), "binary")])
    generation = opened(store)
    assert generation.files.number(name) == 0
    assert generation.symbols.named("f")[0].path == name
    assert os.fsencode(generation.left_out()[0].path) == b"\xff.bin"


def test_left_out_files_are_paged_and_filtered_by_reason(store: CodeStore) -> None:
    out = [LeftOut(f"{i:02}.png", "binary") for i in range(7)] + [LeftOut("big.c", "oversize", "9 bytes")]
    info = publish(store, REPO, {"a.py": facts_of("x")}, left_out=out)
    generation = opened(store)
    assert info.left_out == {"binary": 7, "oversize": 1}
    assert generation.left_out(reason="oversize") == [LeftOut("big.c", "oversize", "9 bytes")]
    assert [item.path for item in generation.left_out(offset=2, limit=2)] == ["02.png", "03.png"]


def test_flags_stand_beside_files(store: CodeStore) -> None:
    publish(store, REPO, {"a.py": facts_of("x"), "t.py": facts_of("y")}, flags={"t.py": FileFlags.TEST})
    assert opened(store).files.flags.tolist() == [0, int(FileFlags.TEST)]


def test_copies_of_one_blob_are_chunks_of_each_file(store: CodeStore) -> None:
    info = publish(store, REPO, {"a.py": CLIENT, "b.py": CLIENT})
    assert (info.files, info.chunks, info.lines) == (2, 4, 80)
    generation = opened(store)
    assert generation.files.blobs[0] == generation.files.blobs[1]
    assert [row.path for row in generation.symbols.named("Client")] == ["a.py", "b.py"]


def test_an_open_generation_is_read_by_many_threads_after_its_folder_is_gone(store: CodeStore) -> None:
    publish(store, REPO, {"client.py": CLIENT})
    generation = opened(store)
    shutil.rmtree(generation.folder)
    found: list[int] = []

    def read() -> None:
        for _ in range(50):
            words = best_chunks(generation.lexical, ["stream"], 5)[0]
            found.append(len(generation.symbols.named("stream")) + len(words))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [4] * 200


@pytest.mark.parametrize("name", ["chunk_file.npy", "generation.db", "lexical"])
def test_a_damaged_generation_is_refused_when_it_is_opened(store: CodeStore, name: str) -> None:
    publish(store, REPO, {"client.py": CLIENT})
    folder = opened(store).folder
    target = folder / name
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.write_bytes(b"rubbish")
    with pytest.raises(StoreCorrupt):
        opened(store)
