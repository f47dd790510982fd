"""A second plugin of the same distribution: files that define the words of a house, as code is parsed."""

from typing import Final

from appliance.contracts.languages import LanguageDefinition
from appliance.contracts.plugin import Manifest, PluginContext

DEFINITIONS: Final = """
((comment)* @doc
 .
 (assignment_statement (variable_list name: (identifier) @name)) @definition.constant)
"""


class GlossaryFiles:
    """Satisfies `Plugin`."""

    manifest = Manifest(
        name="glossary-files",
        version="1.2.0",
        requires=">=0.1,<1",
        description="Reads `*.glossary`, which is written as Lua is.",
    )

    def register(self, context: PluginContext) -> None:
        """Add the language."""
        context.register_language(LanguageDefinition("glossary", (".glossary",), "tree_sitter_lua", DEFINITIONS))


plugin: Final = GlossaryFiles()
