"""The front end of each language whose values are followed."""

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import Flow
from appliance.codeintel.parse.flow.c import c_flow
from appliance.codeintel.parse.flow.cpp import cpp_flow
from appliance.codeintel.parse.flow.csharp import csharp_flow
from appliance.codeintel.parse.flow.go import go_flow
from appliance.codeintel.parse.flow.java import java_flow
from appliance.codeintel.parse.flow.javascript import javascript_flow
from appliance.codeintel.parse.flow.kotlin import kotlin_flow
from appliance.codeintel.parse.flow.python import python_flow
from appliance.codeintel.parse.flow.rust import rust_flow

FRONT_ENDS: Final[dict[str, Callable[[Node, bytes], Flow]]] = {
    "python": python_flow,
    **dict.fromkeys(("javascript", "typescript", "tsx"), javascript_flow),
    "go": go_flow,
    "java": java_flow,
    "kotlin": kotlin_flow,
    "c": c_flow,
    "cpp": cpp_flow,
    "rust": rust_flow,
    "csharp": csharp_flow,
}
