"""The state-passed core: an immutable snapshot goes in, explicit transitions come out, and one place applies them."""

from appliance.orchestrator.state.host import Changes, CommitsStaged, Host, Staged

__all__ = ["Changes", "CommitsStaged", "Host", "Staged"]
