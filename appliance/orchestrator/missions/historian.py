"""The historian: it asks git who changed what, when, and how."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from appliance.contracts.tools import Evidence, Json
from appliance.errors import NotFound
from appliance.operator import AgentRequest, AgentResult, StreamingCallback
from appliance.orchestrator.missions.case import Finding, Gave, Said
from appliance.orchestrator.missions.encoding import typed
from appliance.orchestrator.missions.juniors import Looking
from appliance.orchestrator.missions.plan import Look

LOG: Final = "git_log"
DIFF: Final = "git_diff"
_LISTED: Final = 6  # commits
_REPOS: Final = 2
_NAMED: Final = 4  # files of one commit
_PLACES: Final = 3
_COMMIT: Final = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
_PATH: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?|\b[\w-]+\.[a-z]{1,4}\b")
_TOLD: Final = re.compile(r"\(([0-9a-f]{7,12})\)\.?$")


class Historian(Looking):
    """Tells the history of definitions, of files, and of repositories; and what a commit changed."""

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Ask git; report what there was. Raise `NotFound` where there was nothing."""
        props = request.agent_props or {}
        question, part = str(props.get("question", "")), typed(props.get("part", 0), int)
        if not question:
            return await super().run(request, streaming_callback=streaming_callback)
        told: list[str] = []
        for repo in self.case.begun.repos[:_REPOS]:
            told += await self._past(request.agent, repo, question, part)
        if not told:
            raise NotFound("git tells nothing that bears on it.")
        return AgentResult(content="\n".join(told))

    async def looked(self, agent: str, look: Look, finding: Finding) -> None:
        """Tell, where the goal asks for it, what the newest commit changed with the definition."""
        newest = next((found[1] for said in finding.said if (found := _TOLD.search(said.text))), "")
        if look.asked and newest and finding.evidence:
            where = finding.evidence[0]
            await self._changed(agent, where.repo_name, newest, look.part, path=where.path)

    async def _past(self, agent: str, repo: str, question: str, part: int) -> list[str]:
        """Return what *repo*'s log says to *question*: of the commits named in it, or of the one that serves it best."""
        if named := list(dict.fromkeys(_COMMIT.findall(question))):
            return [line for commit in named[:_REPOS] for line in await self._changed(agent, repo, commit, part)]
        path = next((found for found in _PATH.findall(question) if "." in found or "/" in found), "")
        gave = await self.case.call(agent, LOG, {"repo": repo, "limit": _LISTED, **({"path": path} if path else {})})
        rows = _rows(gave)
        if gave.error or not rows:
            self.case.warn(f"{repo}: {gave.error or 'git has no commits of it.'}")
            return []
        of = f" of {path}" if path else ""
        said = [Said(f"The newest commits of {repo}{of}, the newest first:", ()), *(Said(_line(row), ()) for row in rows)]
        self.case.findings.append(Finding(agent, part, tuple(said), (), origin="git"))
        place, _ = await self.case.choose(agent, question, [str(row.get("summary")) for row in rows])
        return [
            *(each.text for each in said),
            *await self._changed(agent, repo, str(rows[place or 0].get("commit")), part, path=path),
        ]

    async def _changed(self, agent: str, repo: str, commit: str, part: int, *, path: str = "") -> list[str]:
        """Return what *commit* changed, and keep the places."""
        given: dict[str, Json] = {"repo": repo, "commit": commit, **({"path": path} if path else {})}
        gave = await self.case.call(agent, DIFF, given)
        rows = _rows(gave)
        if gave.error or not rows:
            return []
        names = ", ".join(f"{row.get('path')} ({row.get('how')})" for row in rows[:_NAMED])
        total = typed(gave.data.get("total", len(rows)), int)
        more = f" and {total - _NAMED} more" if total > _NAMED else ""
        evidence: Sequence[Evidence] = gave.evidence[:_PLACES]
        text = f"Commit {str(gave.data.get('commit', commit))[:12]} changed {names}{more}."
        said = Said(text, tuple(range(len(evidence))))
        self.case.findings.append(Finding(agent, part, (said,), tuple(evidence), origin="git"))
        return [text]


def _rows(gave: Gave) -> list[Mapping[str, Json]]:
    items = gave.data.get("items", ())
    return [row for row in items if isinstance(row, Mapping)] if isinstance(items, Sequence) else []


def _line(row: Mapping[str, Json]) -> str:
    return f"{str(row.get('date'))[:10]} {row.get('author')}: {row.get('summary')} ({str(row.get('commit'))[:12]})"
