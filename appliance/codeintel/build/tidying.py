"""What a removed repository leaves behind, taken away: generations, mirrors, cached facts of its files, their vectors."""

import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from appliance.base.log import get
from appliance.base.sqlite import store_errors
from appliance.codeintel.registry import Registry
from appliance.codeintel.source.secrets import is_masked
from appliance.codeintel.store.code import CodeStore
from appliance.codeintel.store.flows import FlowStore
from appliance.codeintel.store.generation import GenerationInfo, vector_key
from appliance.codeintel.store.layers import open_tables
from appliance.codeintel.store.vectors import prune
from appliance.errors import DiskFull, StorageFault, StoreCorrupt
from appliance.ids import ProjectId

_PROBE_S = 3600.0  # no look at a repository that is being added takes longer

_log = get("codeintel.tidy")


def tidy_facts(store: CodeStore, registry: Registry, project: ProjectId) -> None:
    """Forget facts and flow of every blob that no generation holds; facts of all blobs when *project* has no repo any more.

    What a repo that was never indexed has cached so far is parsed again. Raise `StoreCorrupt` if a published generation
    cannot be read: nothing is forgotten then.
    """
    used = {(blob, hint) for blob, hint, _, _ in _held(store)}
    gone = store.forget_facts(used=used, everything=not registry.repos(project))
    with closing(FlowStore(store.paths.db)) as flows:
        flows.forget(used=used)
    _log.info("tidy.facts", project=project, forgotten=gone)
    if gone:
        try:
            store.shrink()
        except (DiskFull, StorageFault) as exc:  # what is forgotten was overwritten already: this only gives space back
            _log.warning("tidy.not_shrunk", reason=exc.message)


def tidy_vectors(store: CodeStore) -> None:
    """Forget every vector that no generation uses. Raise `StoreCorrupt` as `tidy_facts` does: nothing is forgotten then."""
    used = {vector_key(blob, hint, info, secret=secret) for blob, hint, info, secret in _held(store)}
    _log.info("tidy.vectors", forgotten=prune(store, used=used))


def tidy_mirrors(mirrors: Path, registry: Registry, project: ProjectId) -> None:
    """Remove the mirrors of repos that *project* does not have, however they came there."""
    known = {f"{repo.id}.git" for repo in registry.repos(project)}
    for mirror in mirrors.iterdir() if mirrors.is_dir() else ():
        probing = mirror.name.startswith(".") and time.time() - mirror.stat().st_mtime < _PROBE_S
        if mirror.name not in known and not probing:
            shutil.rmtree(mirror, ignore_errors=True)


def tidy_renewed(renewed: Path, registry: Registry, project: ProjectId) -> None:
    """Remove what was built anew of repos that *project* does not have any more."""
    known = {repo.id for repo in registry.repos(project)}
    for folder in renewed.iterdir() if renewed.is_dir() else ():
        if folder.name.partition(".")[0] not in known:
            shutil.rmtree(folder, ignore_errors=True)


def _held(store: CodeStore) -> Iterator[tuple[str, str, GenerationInfo, bool]]:
    """Yield blob and hint of every file of every generation, that, and whether a secret was left in it as it is.

    Former generations that cannot be read are passed over.
    """
    for folder, info in store.generations():
        path = store.paths.generations / folder
        try:
            with closing(open_tables(path)) as conn, store_errors(path):
                rows = conn.execute("SELECT blob, hint, id IN (SELECT file FROM secrets) FROM files").fetchall()
        except StoreCorrupt:
            if any(published.folder == folder for published in store.branches(info.repo).values()):
                raise
            rows = []
        left = not is_masked(info.policy)
        yield from ((blob, hint, info, bool(secret) and left) for blob, hint, secret in rows)
