from pathlib import Path

from appliance.codeintel.source.opening import open_source
from appliance.config import Index
from appliance.ids import BlobId
from tests.support.repos import make_repo


def test_a_page_of_blobs_comes_without_the_missing_and_the_oversized(tmp_path: Path) -> None:
    """One that is gone, or larger than the limit, must not cost the others."""
    files = {f"{n}.txt": f"{n}\n" * 3000 for n in range(40)} | {"big.txt": "x" * 300_000}
    source = open_source(make_repo(tmp_path, files), mirror=tmp_path / "mirror", limits=Index(max_file_bytes=200_000))
    entries = {entry.path: entry.blob for entry in source.entries(source.snapshot(None))}
    unknown = [BlobId("0" * 40), BlobId("HEAD")]
    found = source.blobs([unknown[0], *entries.values(), unknown[1], *entries.values()])
    again = source.blobs([entries["3.txt"]])
    source.close()
    assert found == {blob: files[path].encode() for path, blob in entries.items() if path != "big.txt"}
    assert again == {entries["3.txt"]: files["3.txt"].encode()}


def test_blobs_one_by_one_still_come_after_a_page(tmp_path: Path) -> None:
    source = open_source(make_repo(tmp_path, {"a.txt": "a\n"}), mirror=tmp_path / "mirror", limits=Index())
    blob = next(iter(source.entries(source.snapshot(None)))).blob
    assert source.blobs([blob])[blob] == source.blob(blob) == b"a\n"
    source.close()
