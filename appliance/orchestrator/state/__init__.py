"""The state-passed core: an immutable snapshot goes in, explicit transitions come out, and one place applies them."""

from appliance.errors import StaleSnapshotError
from appliance.orchestrator.state.apply import TransitionApplier
from appliance.orchestrator.state.batch import TransitionBatch
from appliance.orchestrator.state.host import Changes, CommitsStaged, Host, Refreshes, Staged
from appliance.orchestrator.state.journal import Effect, Journal, JournalEntry, MemoryJournal, SqliteJournal
from appliance.orchestrator.state.result import CoordinatorResult, merge_results
from appliance.orchestrator.state.settings_view import SettingsView
from appliance.orchestrator.state.snapshot import ContextSnapshot, create_snapshot
from appliance.orchestrator.state.transitions import StateTransition, TransitionType

__all__ = [
    "Changes",
    "CommitsStaged",
    "ContextSnapshot",
    "CoordinatorResult",
    "Effect",
    "Host",
    "Journal",
    "JournalEntry",
    "MemoryJournal",
    "Refreshes",
    "SettingsView",
    "SqliteJournal",
    "Staged",
    "StaleSnapshotError",
    "StateTransition",
    "TransitionApplier",
    "TransitionBatch",
    "TransitionType",
    "create_snapshot",
    "merge_results",
]
