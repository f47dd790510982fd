"""What an exploration finds: two repositories with words, vectors and a graph."""

from pathlib import Path

from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Scope
from appliance.orchestrator.coordinators import IndexedCode
from tests.support.indexed import WordEmbedder
from tests.support.shop import Shop


class Explored:
    """A repository with its vectors and its graph, and a second one that says little."""

    def __init__(self, folder: Path) -> None:
        self.shop = Shop(folder)
        self.repo: Repo = self.shop.make("shop")
        self.shop.embed(self.repo, WordEmbedder())
        self.shop.graph(self.repo)
        self.shop.make("notes", {"notes/digest.md": "# Digest\n\nA digest is compared by verify.\n"})

    def index(self, scope: Scope | None = None) -> IndexedCode:
        searcher = self.shop.searcher(WordEmbedder())
        graphs = GraphReader(self.shop.generations, searcher, self.shop.clock)
        return IndexedCode(
            searcher, graphs, scope=scope or self.shop.only("shop"), places={str(self.repo.source): self.repo.id}
        )
