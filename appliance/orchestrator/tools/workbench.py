"""What tools that change or run something work with: scratch worktrees, their histories, and how commands are confined."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from appliance.base.clock import Clock
from appliance.base.paths import DataPaths
from appliance.base.sandbox import Policy
from appliance.contracts.tools import ToolContext
from appliance.errors import Conflict, Forbidden
from appliance.ids import ProjectId
from appliance.orchestrator.undo import UndoHistory
from appliance.orchestrator.worktree import Worktrees


class Workbench:
    """The worktrees of one data directory. *policy* confines every command; one tool at a time is at a worktree."""

    def __init__(
        self, paths: DataPaths, *, clock: Clock, policy: Policy | None = None, worktrees: Worktrees | None = None
    ) -> None:
        self.worktrees = worktrees or Worktrees(paths)
        self.policy = policy or Policy()
        self._paths = paths
        self._clock = clock
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._histories: dict[ProjectId, UndoHistory] = {}

    def history(self, project: ProjectId) -> UndoHistory:
        """Return the edits of *project*, opened when first asked for."""
        with self._lock:
            if project not in self._histories:
                self._histories[project] = UndoHistory(self._paths.project(project).undo_db, clock=self._clock)
            return self._histories[project]

    @contextmanager
    def at(self, context: ToolContext) -> Iterator[Path]:
        """Hold the worktree of a run; raise `Forbidden` where it has none, `Conflict` while another call is at it."""
        if context.workspace is None:
            raise Forbidden("This run has no scratch worktree.", remedy="Start it with one.")
        path = self.worktrees.owned(context.workspace)
        with self._lock:
            if path.name in self._busy:
                raise Conflict("Another call is at this worktree.", remedy="Wait for its end.")
            self._busy.add(path.name)
        try:
            yield path
        finally:
            with self._lock:
                self._busy.discard(path.name)

    def close(self) -> None:
        """Close the histories."""
        with self._lock:
            for history in self._histories.values():
                history.close()
            self._histories.clear()
