"""The settings, as every command sees them."""

import os

from appliance import config
from appliance.base.paths import DataPaths
from appliance.cli.flags import Flags
from appliance.config import Examined, Loaded
from appliance.inference.catalog import Catalog
from appliance.inference.store import ModelStore


def load(flags: Flags) -> Loaded:
    """Return the settings under *flags*; raise `InvalidInput` naming what is wrong."""
    return examine(flags).require()


def examine(flags: Flags) -> Examined:
    """Return what was set, under *flags* and in this process's environment, and what is wrong with it."""
    values = {"data": flags.data.absolute()} if flags.data else {}
    return config.examine(environ=os.environ, flags=values, file=flags.config)


def paths(loaded: Loaded) -> DataPaths:
    """Return the layout of the data directory."""
    return DataPaths(loaded.settings.data.absolute())


def store(loaded: Loaded, *, catalog: Catalog) -> ModelStore:
    """Return the models of the data directory, and those of ``models_at``."""
    return ModelStore(paths(loaded).models, catalog=catalog, beside=loaded.settings.models_at)
