"""A language of a plugin in the index: parsed, searched, shown; and parsed anew with the plugin, and nothing else."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from appliance.codeintel.results import Scope
from appliance.codeintel.store.generation import Generation
from appliance.ids import RepoId
from appliance.jobs.worker import JobContext
from appliance.services import Services
from appliance.sightings import Sightings
from appliance.worker import job_handlers, mend
from tests.support.appliance import make_services
from tests.support.plugins import install, install_example
from tests.support.repos import make_repo
from tests.unit.framework.conftest import cleaned

FILES = {
    "words.glossary": "-- Lines of one file at one commit.\nspan = 'lines'\n\ngeneration = 'an index'\n",
    "code.py": "def other():\n    return 1\n",
}
CHANGED = """
class P(Plugin):
    def register(self, context):
        query = "(assignment_statement (variable_list name: (identifier) @name)) @definition.type"
        context.register_language(LanguageDefinition("glossary", ("glossary",), "tree_sitter_lua", query))
plugin = P()
"""


@contextmanager
def appliance(root: Path, plugins: Path | None) -> Iterator[Services]:
    extra = (
        {} if plugins is None else {"SKELLIG_PLUGINS__FOLDER": str(plugins), "SKELLIG_PLUGINS__ENABLED": "glossary-files"}
    )
    with cleaned(), closing(make_services(root, extra=extra)) as services:
        yield services


def index(services: Services) -> Generation:
    """Do what a worker does that starts: look for what is missing, once more behind that, and return what is published."""
    mend(services)
    lease = services.jobs.lease(worker="test", kinds=["index"], seconds=60)
    assert lease is not None
    context = JobContext(services.jobs, lease, stop=threading.Event(), clock=services.clock)
    job_handlers(services, Sightings(services.clock))["index"](context)
    services.jobs.complete(lease)
    mend(services)
    assert services.jobs.lease(worker="test", kinds=["index"], seconds=60) is None
    return services.generations.published(RepoId(lease.job.key))


def cached(services: Services) -> dict[int, str]:
    """Return the hint of each blob whose facts are cached, by a number that it gets when they are found."""
    with closing(sqlite3.connect(services.paths.project(services.registry.project("default").id).db)) as conn:
        return dict(conn.execute("SELECT rowid, hint FROM blobs"))


def kinds(generation: Generation) -> dict[str, str]:
    return {row.name: row.kind for row in generation.symbols.in_file("words.glossary")}


def test_files_of_a_plugin_s_language_are_parsed_searched_and_parsed_anew_with_the_plugin(tmp_path: Path) -> None:
    """Facts of a blob are cached: the plugin that found them must be part of what they are known by."""
    root, example = tmp_path / "data", install_example(tmp_path / "example")
    with appliance(root, example) as services:
        project = services.registry.project("default").id
        services.registry.add_repo(project, make_repo(tmp_path, FILES, name="house"), name="house")
        generation = index(services)
        assert generation.info.languages == {"glossary": 1, "python": 1}
        assert kinds(generation) == {"span": "constant", "generation": "constant"}
        assert generation.symbols.in_file("words.glossary")[0].doc == "Lines of one file at one commit."
        response = asyncio.run(services.search("lang:glossary span", scope=Scope(project), limit=5, offset=0))
        assert [(hit.span.path, hit.symbol) for hit in response.hits] == [("words.glossary", "span")]
        first = cached(services)
    with appliance(root, install(tmp_path / "changed", "glossary-files", CHANGED)) as services:
        generation = index(services)
        assert (kinds(generation), generation.info.patches) == ({"span": "type", "generation": "type"}, 1)
        second = cached(services)
        assert len(second.items() - first.items()) == 1
        assert first.items() <= second.items()
    with appliance(root, None) as services:
        generation = index(services)
        assert (generation.info.languages, kinds(generation)) == ({"python": 1, "text": 1}, {})
        assert [hint for number, hint in cached(services).items() if number not in second] == ["text"]
    with appliance(root, example) as services:
        assert set(kinds(index(services)).values()) == {"constant"}
