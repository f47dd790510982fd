"""What stands in a work tree and in no commit. It is never indexed; answers say that it is there."""

from pathlib import Path
from typing import Final

from appliance.base import proc
from appliance.codeintel.source.gitchild import environment
from appliance.ids import CommitId

_WITHIN_S: Final = 2.0
_DIFFERENT: Final = 1
# Submodules are not looked into: git would read their own configuration there.
_DIFF: Final = ("diff", "--quiet", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all")


def differs(git_dir: Path, work_tree: Path, *, index: Path, commit: CommitId) -> bool | None:
    """Return whether files of *commit*, or of git's *index*, stand otherwise in *work_tree*; None if git cannot tell.

    *git_dir* is a view of the repository, so that nothing which that sets is run. Nothing is written, the index neither.
    Raise `DeadlineExceeded` where the disk is slow.
    """
    if not index.is_file():  # nothing was ever checked out
        return False
    variables = environment(git_dir) | {"GIT_WORK_TREE": str(work_tree), "GIT_INDEX_FILE": str(index)}
    argv = ("git", "-c", "core.bare=false", *_DIFF, commit, "--")
    done = proc.run(argv, timeout=_WITHIN_S, env=variables, cwd=work_tree)
    return done.code == _DIFFERENT if done.code in {0, _DIFFERENT} else None
