"""Three repositories: one with every case of injected text in it, a vault beside it, and a bank in another project."""

from pathlib import Path
from typing import Final

from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.results import Scope
from appliance.codeintel.store.generations import Generations
from tests.adversarial.injection.orders import BANK, CANARY, VAULT
from tests.adversarial.injection.planting import planted, ran
from tests.support.indexed import Indexed
from tests.support.repos import make_repo

_SECRETS: Final = {"secret.py": f"def vault_secret():\n    return '{CANARY}'\n\n\ndef use():\n    return vault_secret()\n"}


class Street:
    """The index over them. Satisfies `CodeIndex`."""

    def __init__(self, folder: Path) -> None:
        (folder / "data").mkdir(parents=True)
        self.index = Indexed(folder / "data")
        self.ran = ran(folder)
        self.shop = self.index.add(planted(folder, "shop"))
        self.index.graph(self.shop)
        self.vault = self.index.add(make_repo(folder, _SECRETS, name=VAULT))
        self.index.graph(self.vault)
        self.bank = self._elsewhere(make_repo(folder, _SECRETS, name=BANK))

    def _elsewhere(self, source: Path) -> Repo:
        project = self.index.registry.add_project("other")
        bank = self.index.registry.add_repo(project.id, source, name=BANK)
        self.index.index(bank)
        return bank

    @property
    def registry(self) -> Registry:
        """Which repositories there are."""
        return self.index.registry

    @property
    def generations(self) -> Generations:
        """What is indexed of them."""
        return self.index.generations

    @property
    def searcher(self) -> Searcher:
        """What finds code."""
        return self.index.searcher()

    @property
    def graphs(self) -> GraphReader:
        """What knows definitions."""
        return GraphReader(self.generations, self.searcher, self.index.clock)

    @property
    def marks(self) -> tuple[str, ...]:
        """What the names of the files of the vault and the bank have in them."""
        closed = (self.vault, self.bank)
        return tuple(str(repo.source) for repo in closed) + tuple(
            self.generations.published(repo.id).info.id for repo in closed
        )

    @property
    def scope(self) -> Scope:
        """What the runs are granted."""
        return Scope(self.index.project, (self.shop.id,))

    def close(self) -> None:
        """Close the index."""
        self.index.close()
