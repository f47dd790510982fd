"""Claims about the public face of the framework: its names are there, and are loaded when they are asked for."""

import subprocess
import sys

import pytest

from appliance import framework


def test_every_public_name_is_there_and_no_other() -> None:
    assert sorted(framework.__all__) == dir(framework)
    assert all(getattr(framework, name) is not None for name in framework.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = framework.Nothing


def test_a_graph_does_not_load_what_an_agent_needs() -> None:
    """A program that only runs graphs starts at once."""
    heavy = (
        "appliance.orchestrator",
        "appliance.operator",
        "appliance.inference",
        "appliance.codeintel",
        "numpy",
        "yaml",
        "httpx2",
    )
    code = f"import sys; from appliance.framework import StateGraph; print([n for n in {heavy} if n in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
