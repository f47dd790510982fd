"""What one plugin adds, checked piece by piece and held apart until all of it is good."""

import inspect
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.parse.added import AddedLanguage
from appliance.codeintel.parse.languages import NAMES
from appliance.codeintel.query.querylang import language_name
from appliance.contracts.agents import AgentDefinition
from appliance.contracts.languages import LanguageDefinition
from appliance.contracts.plugin import Manifest
from appliance.contracts.safety import SafetyRule
from appliance.contracts.tools import Tool, ToolSpec
from appliance.contracts.workflows import WorkflowDefinition
from appliance.errors import Conflict, InvalidInput, LimitExceeded
from appliance.framework.plugin_language import checked
from appliance.orchestrator.services.registry import ToolRegistry

PERMISSIONS: Final = ("read", "run", "write")
LONGEST_SKILL: Final = 4_000  # characters
LONGEST_DESCRIPTION: Final = 4_000
MOST_ADDED: Final = 200  # by one plugin
MOST_LANGUAGES: Final = 8  # the grammar of each is tried, and the start waits for that

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Taken:
    """The names that are there already."""

    tools: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    workflows: frozenset[str] = frozenset()
    rules: frozenset[str] = frozenset()
    languages: frozenset[str] = frozenset()  # beside those that are built in
    endings: frozenset[str] = frozenset()  # of their files


@dataclass(slots=True)
class Added:
    """What a plugin added, by name."""

    tools: dict[str, Tool] = field(default_factory=dict)
    agents: dict[str, AgentDefinition] = field(default_factory=dict)
    workflows: dict[str, WorkflowDefinition] = field(default_factory=dict)
    rules: dict[str, SafetyRule] = field(default_factory=dict)
    languages: dict[str, AddedLanguage] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many things there are."""
        return len(self.tools) + len(self.agents) + len(self.workflows) + len(self.rules) + len(self.languages)

    @property
    def endings(self) -> frozenset[str]:
        """The endings of files that its languages have."""
        return frozenset(ending for each in self.languages.values() for ending in each.endings)


class Registering:
    """The context that a plugin is handed; satisfies `PluginContext`. *validate* raises for a workflow that is none.

    *confined* makes the tool that is called, of what a plugin's tool said of itself when it was registered: what it says
    later counts for nothing.

    After `close` it takes nothing more: a plugin that kept it, or came too late, is refused.
    """

    def __init__(
        self,
        manifest: Manifest,
        *,
        taken: Taken,
        validate: Callable[[str], object],
        confined: Callable[[ToolSpec], Tool],
    ) -> None:
        self.added = Added()
        self._tools = ToolRegistry()  # what it takes, the appliance's own takes later
        self._manifest = manifest
        self._taken = taken
        self._validate = validate
        self._confined = confined
        self._open = True

    def close(self) -> None:
        """Take nothing more."""
        self._open = False

    def finish(self) -> Added:
        """Return what was added; raise `InvalidInput` where an agent names a tool that is not there."""
        self.close()
        known = self._taken.tools | self.added.tools.keys()
        for agent in self.added.agents.values():
            for tool in agent.tools:
                if tool not in known:
                    raise InvalidInput(f"Its agent {agent.name} names the tool {display(tool)}, which does not exist.")
        return self.added

    def register_tool(self, tool: Tool) -> None:
        """Add *tool*; raise `InvalidInput` for what is none, `Conflict` for a name that is taken."""
        self._require_open()
        spec = self._tools.register(tool)
        if not inspect.iscoroutinefunction(tool.run):
            raise InvalidInput(f"`run` of the tool {spec.name} is not `async def`.")
        if spec.name in self._taken.tools:
            raise _taken("tool", spec.name)
        if spec.effect not in self._manifest.permissions and spec.effect != "read":
            raise InvalidInput(
                f"Its tool {spec.name} has the effect {spec.effect!r}, which its manifest does not declare.",
                remedy=f"Add {spec.effect!r} to `permissions` of the manifest.",
            )
        self.added.tools[spec.name] = self._confined(spec)

    def register_agent(self, agent: AgentDefinition) -> None:
        """Add *agent*; raise `InvalidInput` for what is none, `Conflict` for a name that is taken."""
        if not isinstance(agent, AgentDefinition):
            raise InvalidInput("An agent is an AgentDefinition.")
        self._claim("agent", agent.name, self._taken.agents | self.added.agents.keys())
        _described("agent", agent.name, agent.description)
        if not isinstance(agent.skill, str) or not agent.skill.strip() or len(agent.skill) > LONGEST_SKILL:
            raise InvalidInput(f"The skill of the agent {agent.name} has 1 to {LONGEST_SKILL:,} characters.")
        self.added.agents[agent.name] = agent

    def register_workflow(self, workflow: WorkflowDefinition) -> None:
        """Add *workflow*; raise `InvalidInput` for one that is not valid, `Conflict` for a name that is taken."""
        if not isinstance(workflow, WorkflowDefinition):
            raise InvalidInput("A workflow is a WorkflowDefinition.")
        self._claim("workflow", workflow.name, self._taken.workflows | self.added.workflows.keys())
        _described("workflow", workflow.name, workflow.description)
        self._validate(workflow.source)
        self.added.workflows[workflow.name] = workflow

    def register_safety_rule(self, rule: SafetyRule) -> None:
        """Add *rule*; raise `InvalidInput` for what is none, `Conflict` for a name that is taken."""
        if isinstance(rule, type) or not isinstance(rule, SafetyRule) or not callable(rule.judge):
            raise InvalidInput("A rule is an object with `name` and `judge`.", remedy="Hand over an instance.")
        self._claim("safety rule", rule.name, self._taken.rules | self.added.rules.keys())
        self.added.rules[rule.name] = rule

    def register_language(self, language: LanguageDefinition) -> None:
        """Add *language*; raise `InvalidInput` for what is none, `Conflict` for a name or an ending that is taken.

        Its grammar is not looked at here.
        """
        if not isinstance(language, LanguageDefinition):
            raise InvalidInput("A language is a LanguageDefinition.")
        if len(self.added.languages) >= MOST_LANGUAGES:
            raise LimitExceeded(f"A plugin adds at most {MOST_LANGUAGES} languages.", remedy="Make several plugins of it.")
        self._claim("language", language.name, NAMES | self._taken.languages | self.added.languages.keys())
        if language_name(language.name) != language.name:
            raise _taken("language", language.name)
        self.added.languages[language.name] = checked(language, taken=self._taken.endings | self.added.endings)

    def _require_open(self) -> None:
        if not self._open:
            raise Conflict("The plugin is registered already, or its time is up: nothing more can be added.")
        if self.added.count >= MOST_ADDED:
            raise LimitExceeded(f"A plugin adds at most {MOST_ADDED} things.", remedy="Make several plugins of it.")

    def _claim(self, what: str, name: object, taken: AbstractSet[str]) -> None:
        self._require_open()
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{display(repr(name))[:80]} is no name of a {what}.",
                remedy="A name has 1 to 64 of a-z, 0-9, - and _, and begins with a letter.",
            )
        if name in taken:
            raise _taken(what, name)


def _described(what: str, name: str, description: object) -> None:
    if not isinstance(description, str) or len(description) > LONGEST_DESCRIPTION:
        raise InvalidInput(f"The description of the {what} {name} is no text of at most {LONGEST_DESCRIPTION:,} characters.")


def _taken(what: str, name: str) -> Conflict:
    return Conflict(f"There is a {what} {name} already.", remedy="Give it another name.")
