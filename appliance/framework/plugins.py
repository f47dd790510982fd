"""Plugins: those that the administrator enabled are checked, loaded and told of; one that fails stops nothing else.

A plugin is code of somebody else's in this process, so none is imported before the settings name it.
"""

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from typing import Final, Literal

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from appliance import __version__
from appliance.base import log
from appliance.base.paths import display
from appliance.codeintel.parse.added import AddedLanguage
from appliance.codeintel.parse.trial import tried
from appliance.contracts.agents import AgentDefinition
from appliance.contracts.plugin import ENTRY_POINTS, Manifest, Plugin
from appliance.contracts.safety import SafetyRule
from appliance.contracts.tools import Tool, ToolSpec
from appliance.contracts.workflows import WorkflowDefinition
from appliance.errors import ApplianceError, Conflict, DeadlineExceeded, InvalidInput, NotFound
from appliance.framework.plugin_context import PERMISSIONS, Added, Registering, Taken
from appliance.framework.plugin_sandbox import SandboxedTool
from appliance.framework.plugin_source import check_imports

PluginState = Literal["loaded", "failed", "off"]
LOAD_S: Final = 5.0  # for import and registration together

_LONGEST: Final = 1_000  # characters of why one failed
_SHOWN: Final = 300  # characters of what a plugin says of itself, or raised
_log = log.get("plugins")


@dataclass(frozen=True, slots=True)
class PluginStatus:
    """How a plugin is. ``off``: it is installed and not enabled, and nothing of it was run. *reason* says why one failed."""

    name: str
    state: PluginState
    reason: str = ""
    remedy: str = ""
    distribution: str = ""
    version: str = ""
    requires: str = ""
    description: str = ""
    permissions: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    safety_rules: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginSet:
    """How every plugin is, and what those that are loaded added."""

    statuses: tuple[PluginStatus, ...] = ()
    tools: tuple[Tool, ...] = ()
    agents: tuple[AgentDefinition, ...] = ()
    workflows: tuple[WorkflowDefinition, ...] = ()
    rules: tuple[SafetyRule, ...] = ()
    languages: tuple[AddedLanguage, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """An entry point, and the distribution that it is of."""

    point: EntryPoint
    distribution: str
    version: str


@dataclass(slots=True)
class PluginLoader:
    """Loads plugins from *folder*, if there is one, and from where Python finds its modules.

    *taken* are the names that are there already; *validate* raises for the source of a workflow that is not valid; *aside*
    is a folder for the scratch of calls. *seconds* are what one plugin has for its import and registration.
    """

    validate: Callable[[str], object]
    aside: Path
    taken: Taken = field(default_factory=Taken)
    folder: Path | None = None
    appliance: str = __version__
    seconds: float = LOAD_S

    def load(self, enabled: Sequence[str]) -> PluginSet:
        """Return the plugins that are installed or *enabled*, by name, each with how it is; those enabled are loaded.

        Never raises for what a plugin is or does.
        """
        found = self._found()
        added = Added()
        statuses = [self._settled(name, found.get(name, []), added) for name in dict.fromkeys(enabled)]
        for name in found.keys() - set(enabled):
            one = found[name][0]
            statuses.append(PluginStatus(name, "off", distribution=one.distribution, version=one.version))
        return PluginSet(
            tuple(sorted(statuses, key=lambda status: status.name)),
            tuple(added.tools.values()),
            tuple(added.agents.values()),
            tuple(added.workflows.values()),
            tuple(added.rules.values()),
            tuple(added.languages.values()),
        )

    def _found(self) -> dict[str, list[Found]]:
        """Return the entry points by their names. One distribution that is found twice counts where Python would find it."""
        found: dict[str, list[Found]] = {}
        seen: set[tuple[str, str]] = set()
        for distribution in distributions(path=self._path()):
            for one in _points(distribution):
                if (one.distribution, one.point.name) not in seen:
                    seen.add((one.distribution, one.point.name))
                    found.setdefault(one.point.name, []).append(one)
        return found

    def _path(self) -> list[str]:
        return sys.path if self.folder is None else [*sys.path, str(self.folder)]

    def confined(self, spec: ToolSpec, *, point: EntryPoint) -> Tool:
        """Return the tool with *spec* of the plugin at *point*, each call of which is made in the sandbox."""
        return SandboxedTool(spec, point.value, () if self.folder is None else (str(self.folder),), self.aside)

    def _settled(self, name: str, found: Sequence[Found], before: Added) -> PluginStatus:
        """Load the plugin *name*, put what it adds into *before*, and return how it is."""
        status = PluginStatus(display(name), "failed")
        try:
            one = _only(name, found)
            status = PluginStatus(name, "failed", distribution=one.distribution, version=one.version)
            check_imports(one.point.module, path=self._path())
            manifest, added = self._registered(one, before)
            languages = {name: self._tried(each) for name, each in added.languages.items()}
        except ApplianceError as exc:
            return _failed(status, exc.message, exc.remedy)
        except Exception as exc:  # noqa: BLE001 - the outermost loop of a plugin: it stops nothing else
            return _failed(status, f"It cannot be loaded: {type(exc).__name__} {display(str(exc))[:_SHOWN]}.", "")
        before.tools |= added.tools
        before.agents |= added.agents
        before.workflows |= added.workflows
        before.rules |= added.rules
        before.languages |= languages
        return PluginStatus(
            name,
            "loaded",
            distribution=one.distribution,
            version=display(manifest.version)[:_SHOWN],
            requires=display(manifest.requires)[:_SHOWN],
            description=display(manifest.description)[:_SHOWN],
            permissions=tuple(manifest.permissions),
            tools=tuple(added.tools),
            agents=tuple(added.agents),
            workflows=tuple(added.workflows),
            safety_rules=tuple(added.rules),
            languages=tuple(languages),
        )

    def _tried(self, language: AddedLanguage) -> AddedLanguage:
        return tried(language if self.folder is None else msgspec.structs.replace(language, path=str(self.folder)))

    def _registered(self, one: Found, before: Added) -> tuple[Manifest, Added]:
        if self.folder is not None and str(self.folder) not in sys.path:
            sys.path.append(str(self.folder))  # behind everything else, so that it can take no module's place
        path, environment = [*sys.path], dict(os.environ)
        attempt = _Attempt(one.point, before=before, loader=self)
        thread = threading.Thread(target=attempt.run, name=f"plugin-{one.point.name}", daemon=True)
        with redirect_stdout(sys.stderr):  # there a command's output may be what another program reads
            thread.start()
            thread.join(self.seconds)
        changed = _put_back(path, environment)
        if thread.is_alive():
            attempt.give_up()
            raise DeadlineExceeded(
                f"It was not registered within {self.seconds:g} s.",
                remedy="What it has to do beforehand belongs into its calls.",
            )
        result = attempt.result()
        if changed:
            raise InvalidInput(f"It changes {changed} of the appliance.", remedy="What it needs belongs into its calls.")
        return result


class _Attempt:
    """Loads one plugin in a thread of its own, which is left behind if it takes too long."""

    def __init__(self, point: EntryPoint, *, before: Added, loader: PluginLoader) -> None:
        self._point = point
        self._before = before
        self._loader = loader
        self._context: Registering | None = None
        self._late = False
        self._done: tuple[Manifest, Added] | None = None
        self._error: BaseException | None = None
        self._said = ""

    def run(self) -> None:
        """Import the plugin, check it, and let it register; whatever it raises is kept for `result`."""
        try:
            plugin = _plugin(self._point.load())
            manifest = plugin.manifest
            self._check(manifest)
            self._context = Registering(
                manifest,
                taken=self._taken(),
                validate=self._loader.validate,
                confined=partial(self._loader.confined, point=self._point),
            )
            if self._late:
                return
            plugin.register(self._context)
            self._done = manifest, self._context.finish()
        except BaseException as exc:  # noqa: BLE001 - a plugin may raise anything, an exit among it
            self._error = exc
            self._said = _said(exc)

    def give_up(self) -> None:
        """Let nothing that it still does count."""
        self._late = True
        if self._context is not None:
            self._context.close()

    def result(self) -> tuple[Manifest, Added]:
        """Return what it registered, or raise `ApplianceError` with why it did not."""
        if self._done is not None:
            return self._done
        if isinstance(self._error, ApplianceError):
            raise self._error
        said = f": {self._said}" if self._said else ""
        raise InvalidInput(f"It raised {type(self._error).__name__}{said}.") from self._error

    def _check(self, manifest: object) -> None:
        if not isinstance(manifest, Manifest):
            raise InvalidInput("Its manifest is no Manifest.")
        texts = (manifest.name, manifest.version, manifest.requires, manifest.description, *manifest.permissions)
        if not all(isinstance(text, str) for text in texts):
            raise InvalidInput("Its manifest has something else where a text belongs.")
        if manifest.name != self._point.name:
            raise InvalidInput(f"Its manifest is of {display(manifest.name)!r}, its entry point {self._point.name!r}.")
        unknown = [permission for permission in manifest.permissions if permission not in PERMISSIONS]
        if unknown:
            raise InvalidInput(
                f"Its manifest asks for the permission {display(str(unknown[0]))!r}, which does not exist.",
                remedy=f"There are {', '.join(PERMISSIONS)}.",
            )
        try:
            wanted = SpecifierSet(manifest.requires)
        except InvalidSpecifier as exc:
            raise InvalidInput(
                f"Its manifest requires {display(manifest.requires)!r}, which is no range of versions.",
                remedy="A range is written as `>=0.1,<0.2`.",
            ) from exc
        if not wanted.contains(self._loader.appliance, prereleases=True):
            raise Conflict(
                f"It is made for versions {manifest.requires}, and this is {self._loader.appliance}.",
                remedy="Install a version of it that is made for this one.",
            )

    def _taken(self) -> Taken:
        there, before = self._loader.taken, self._before
        return Taken(
            there.tools | before.tools.keys(),
            there.agents | before.agents.keys(),
            there.workflows | before.workflows.keys(),
            there.rules | before.rules.keys(),
            there.languages | before.languages.keys(),
            there.endings | before.endings,
        )


def _points(distribution: Distribution) -> list[Found]:
    """Return the plugins of *distribution*; none where what describes it cannot be read."""
    try:
        if ENTRY_POINTS not in (distribution.read_text("entry_points.txt") or ""):
            return []  # before its metadata is read: there may be hundreds
        name, version = distribution.metadata["Name"] or "", distribution.version or ""
        points = distribution.entry_points.select(group=ENTRY_POINTS)
        return [Found(point, display(name), display(version)) for point in points]
    except Exception as exc:  # noqa: BLE001 - anybody may have written it, and anything may be wrong with it
        _log.warning("plugin.unreadable", error=type(exc).__name__)
        return []


def _only(name: str, found: Sequence[Found]) -> Found:
    if not found:
        raise NotFound("It is enabled and not installed.", remedy="Install it, or take it out of `plugins.enabled`.")
    if len(found) > 1:
        there = " and ".join(one.distribution for one in found)
        raise Conflict(f"Several distributions have a plugin {name}: {there}.", remedy="Remove all but one.")
    return found[0]


def _plugin(named: object) -> Plugin:
    if isinstance(named, type) or not isinstance(named, Plugin):
        raise InvalidInput("Its entry point does not name an object with `manifest` and `register`.")
    return named


def _said(error: BaseException) -> str:
    """Return what *error* says. To ask that is to run the plugin's code, so only its own thread does."""
    try:
        return display(str(error))[:_SHOWN]
    except BaseException:  # noqa: BLE001 - as above
        return ""


def _put_back(path: Sequence[str], environment: Mapping[str, str]) -> str:
    """Have *path* and *environment* of this process be as they were, and return what a plugin changed, or ""."""
    changed = {"sys.path": sys.path != path, "os.environ": dict(os.environ) != environment}
    if changed["sys.path"]:
        sys.path[:] = path
    if changed["os.environ"]:
        os.environ.clear()
        os.environ.update(environment)
    return " and ".join(name for name, is_so in changed.items() if is_so)


def _failed(status: PluginStatus, reason: str, remedy: str) -> PluginStatus:
    return PluginStatus(
        status.name, "failed", reason[:_LONGEST], remedy, distribution=status.distribution, version=status.version
    )
