"""A plugin with one of each: a tool, an agent that uses it, a workflow around both, and a rule."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from appliance.contracts.agents import AgentDefinition
from appliance.contracts.plugin import Manifest, PluginContext
from appliance.contracts.safety import SafetyVerdict
from appliance.contracts.tools import Json, ToolContext, ToolOutput, ToolSpec
from appliance.contracts.workflows import WorkflowDefinition

WORDS: Final = {
    "generation": "One index of a repository, published as a whole.",
    "span": "Lines of one file at one commit.",
}
LOCKS: Final = frozenset({".lock"})

WORKFLOW: Final = """\
name: explain-word
description: Look a word up, and say what it means.
entry: look
state:
  word: text
  meaning: text
nodes:
  look:
    kind: agent
    agent: lexicographer
    task: "Explain the word ${word}."
    output: meaning
"""


class Glossary:
    """Says what a word means in this house."""

    spec = ToolSpec(
        name="glossary",
        description="Say what a word of this house means.",
        parameters={
            "type": "object",
            "properties": {"word": {"type": "string", "minLength": 1, "maxLength": 60, "description": "The word."}},
            "required": ["word"],
            "additionalProperties": False,
        },
        category="knowledge",
        timeout_s=5.0,
    )

    async def run(self, arguments: Mapping[str, Json], *, context: ToolContext) -> ToolOutput:
        """Return the meaning, or which words there are."""
        context.cancellation.check()
        word = str(arguments["word"]).lower()
        if word not in WORDS:
            return ToolOutput(f"The glossary has no {word!r}; it has {', '.join(WORDS)}.", {"found": False})
        return ToolOutput(WORDS[word], {"found": True, "meaning": WORDS[word]})


class NoLockFiles:
    """Nobody edits a lock file by hand."""

    name = "no-lock-files"

    def judge(self, tool: str, arguments: Mapping[str, Json]) -> SafetyVerdict:
        """Block a call that writes to a lock file."""
        path = PurePosixPath(str(arguments.get("path", "")))
        if tool.startswith("edit") and path.suffix in LOCKS:
            return SafetyVerdict("block", f"{path.name} is made by a program.")
        return SafetyVerdict("allow")


class GlossaryPlugin:
    """Satisfies `Plugin`."""

    manifest = Manifest(
        name="glossary",
        version="1.2.0",
        requires=">=0.1,<1",
        description="The words of this house.",
        permissions=("read",),
    )

    def register(self, context: PluginContext) -> None:
        """Add one of each."""
        context.register_tool(Glossary())
        context.register_agent(
            AgentDefinition(
                "lexicographer",
                "Explains the words of this house.",
                "Look each word up in the glossary. Say what it means in one sentence, and nothing that is not there.",
                tools=("glossary",),
            )
        )
        context.register_workflow(WorkflowDefinition("explain-word", "Look a word up.", WORKFLOW))
        context.register_safety_rule(NoLockFiles())


plugin: Final = GlossaryPlugin()
