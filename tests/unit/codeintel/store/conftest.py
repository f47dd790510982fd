from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.base.paths import DataPaths
from appliance.codeintel.store.code import CodeStore
from appliance.ids import ProjectId


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CodeStore]:
    store = CodeStore(DataPaths(tmp_path).project(ProjectId("prj_a")))
    yield store
    store.close()
