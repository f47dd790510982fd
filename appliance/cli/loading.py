"""The settings, as every command sees them."""

import os
from collections.abc import Mapping

from appliance import config
from appliance.base.paths import DataPaths
from appliance.cli.flags import Flags
from appliance.config import Loaded


def load(flags: Flags, *, environ: Mapping[str, str] | None = None) -> Loaded:
    """Return the settings under *flags*; *environ* is this process's unless given."""
    values = {"data": flags.data.absolute()} if flags.data else {}
    return config.load(environ=os.environ if environ is None else environ, flags=values, file=flags.config)


def paths(loaded: Loaded) -> DataPaths:
    """Return the layout of the data directory."""
    return DataPaths(loaded.settings.data.absolute())
