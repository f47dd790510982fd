"""A tool as a model is offered it in one run: what is certain there is not left to the model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from appliance.contracts.tools import ToolSpec


def offered(spec: ToolSpec, repositories: Sequence[str]) -> ToolSpec:
    """Return *spec* with its choice of a repository among *repositories*, names, and without it where there is one at most.

    Measured on a 1.5B: with one repository and a free text to name it, 4 of 4 calls named one that is not there.
    """
    properties = spec.parameters.get("properties")
    if not isinstance(properties, Mapping) or properties.keys().isdisjoint({"repo", "repos"}):
        return spec
    one = {"type": "string", "enum": sorted(repositories)}
    choices = {"repo": one, "repos": {"type": "array", "items": one, "maxItems": len(repositories)}}
    several = len(repositories) > 1
    kept = {name: choices.get(name, part) for name, part in properties.items() if several or name not in choices}
    required = spec.parameters.get("required")
    needed = [name for name in required if name in kept] if isinstance(required, Sequence) else []
    return replace(spec, parameters={**spec.parameters, "properties": kept, "required": needed})
