"""What an agent is made with: each argument checked, and refused with a sentence where it cannot be honoured."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from appliance.base.paths import display
from appliance.config import Loaded, Settings, load
from appliance.contracts.agents import AgentDefinition
from appliance.errors import InvalidInput, NotFound
from appliance.framework.toolset import Catalogue, ToolSet

LOCAL: Final = "local"
ENGINES: Final = ("llama_server", "llama_cpp_python", "vllm")
MOST_TOKENS: Final = 131_072

_SHOWN: Final = 80  # characters of a value that is none

Config = Loaded | Settings | Path | str | None
Tools = ToolSet | Iterable[str] | None


class SessionConfig(BaseModel):
    """What bounds one session. Unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    title: str = Field("", max_length=200, description="How lists of sessions show it.")
    project: str = Field("", max_length=100, description="The project that it is about, where the workspace does not say.")
    branches: tuple[str, ...] = Field(
        (), max_length=16, strict=False, description="Patterns of branches that its tools look at."
    )
    tool_calls: int = Field(24, ge=0, le=200, description="Calls of tools in one turn.")
    steps: int = Field(6, ge=0, le=20, description="Steps that one turn takes before it answers.")
    seconds: float = Field(900.0, gt=0, le=86_400, description="Seconds that one turn may take, without waiting for people.")
    approval_seconds: float = Field(600.0, ge=0, le=86_400, description="Seconds that one call waits for a person's yes.")


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of `Agent.create` as they hold."""

    model: str
    temperature: float
    max_tokens: int
    tools: ToolSet
    thinking: bool
    airgapped: bool
    profile: AgentDefinition | None
    observed: bool
    session: SessionConfig = field(default_factory=SessionConfig)


def loaded(config: Config) -> Loaded:
    """Return the settings that *config* means: itself, a file, or with None those of the environment.

    Raise `InvalidInput` for a file or a value that is wrong.
    """
    if isinstance(config, Loaded):
        return config
    if isinstance(config, Settings):
        return Loaded(config, {})
    if config is None or isinstance(config, str | Path):
        return load(environ=os.environ, file=None if config is None else Path(config))
    raise InvalidInput(
        f"`config` is a {type(config).__name__}.", remedy="Pass settings, the path of a configuration file, or None."
    )


def session_config(given: Mapping[str, object] | SessionConfig | None) -> SessionConfig:
    """Return *given* as a `SessionConfig`; raise `InvalidInput` naming what it has not, or cannot be."""
    if isinstance(given, SessionConfig):
        return given
    try:
        return SessionConfig.model_validate(dict(given or {}))
    except (ValidationError, TypeError, ValueError) as exc:
        wrong = exc.errors()[0] if isinstance(exc, ValidationError) else {"loc": (), "msg": "It is no mapping"}
        where = ".".join(map(str, wrong["loc"]))
        raise InvalidInput(
            f"`session_config`{f', {display(where)[:_SHOWN]}' if where else ''}: {wrong['msg']}.",
            remedy=f"It takes {', '.join(SessionConfig.model_fields)}.",
        ) from exc


def temperature(value: object) -> float:
    """Return *value* if a model can be asked with it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        raise InvalidInput(f"`temperature` is {_shown(value)}.", remedy="It is a number from 0 to 2.")
    return float(value)


def max_tokens(value: object) -> int:
    """Return *value* if an answer can be bounded by it."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_TOKENS:
        raise InvalidInput(f"`max_tokens` is {_shown(value)}.", remedy=f"It is a whole number from 1 to {MOST_TOKENS:,}.")
    return value


def flag(name: str, value: object) -> bool:
    """Return *value* if it is True or False: a text such as "no" would count as True."""
    if not isinstance(value, bool):
        raise InvalidInput(f"`{name}` is {_shown(value)}.", remedy="It is True or False.")
    return value


def no_vertical(value: object) -> None:
    """Raise `InvalidInput` unless *value* is None."""
    if value is not None:
        raise InvalidInput(
            f"There are no verticals, and so no {_shown(value)}.",
            remedy="What a plugin adds is taken by `profile=`, an agent of it, and `tools=`.",
        )


def provider(value: object, *, engine: str) -> None:
    """Raise `InvalidInput` unless *value* is None, ``local``, or the *engine* that runs the chat model."""
    if value is None or value in (LOCAL, engine):
        return
    if value in ENGINES:
        raise InvalidInput(
            f"The chat model runs on {engine}, not {value}.", remedy="`chat.engine` in the settings changes that."
        )
    raise InvalidInput(
        f"There is no provider {_shown(value)}: models run on this machine alone.",
        remedy=f"Leave it out, or pass `{LOCAL}`.",
    )


def model(value: object, *, served: str) -> str:
    """Return the model that is *served*; raise `InvalidInput` where *value* names another."""
    if value is None or value == served:
        return served
    raise InvalidInput(
        f"The chat engine serves {served}, not {_shown(value)}.",
        remedy="Leave `model` out, or change `chat.model` in the settings and start the engine again.",
    )


def session_id(value: object) -> None:
    """Raise `InvalidInput` unless *value* is None or text: which text an id can be, the session service says."""
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"`session_id` is {_shown(value)}.", remedy="It is text, or None.")


def profile(value: object, *, known: Mapping[str, AgentDefinition]) -> AgentDefinition | None:
    """Return the agent called *value*, None for None; raise `NotFound` with those that there are."""
    if value is None:
        return None
    if isinstance(value, str) and value in known:
        return known[value]
    near = get_close_matches(str(value), known, n=3) or sorted(known)
    raise NotFound(
        f"There is no agent {_shown(value)}.",
        remedy=f"There {'are ' + ', '.join(near) if near else 'is none: plugins add agents'}.",
    )


def tools(value: Tools, *, catalogue: Catalogue, own: AgentDefinition | None, airgapped: bool) -> ToolSet:
    """Return the tools that *value* means: a set, names, or with None those of the profile, or else all that only read.

    With *airgapped* a plugin's tool is refused where it was named, and left out where it was not.
    """
    if value is None:
        found = ToolSet.default(catalogue=catalogue)
        if own is not None:
            found = ToolSet.from_tools(own.tools, catalogue=catalogue)
        return found & ToolSet.airgapped(catalogue=catalogue) if airgapped else found
    named = value.over(catalogue) if isinstance(value, ToolSet) else ToolSet.from_tools(value, catalogue=catalogue)
    beyond = named - ToolSet.airgapped(catalogue=catalogue)
    if airgapped and beyond:
        raise InvalidInput(
            f"`airgapped` leaves out the tools of plugins, and {', '.join(beyond)} was asked for.",
            remedy="Leave one of the two out.",
        )
    return named


def _shown(value: object) -> str:
    return display(repr(value))[:_SHOWN]
