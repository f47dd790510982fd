"""``skellig doctor``: examines the machine, the data directory, the models and what runs; each finding has a remedy."""

from collections.abc import Iterator

import click
from rich.text import Text

from appliance.base.paths import DataPaths
from appliance.base.sandbox import policy_of
from appliance.cli import loading, output, place, planning
from appliance.cli.flags import Flags
from appliance.cli.remote import connect, shown_address
from appliance.cli.views import Health
from appliance.config import Examined, Loaded
from appliance.errors import HostUnfit
from appliance.inference import choice, hardware
from appliance.inference.catalog import AUTO, OFF, Catalog
from appliance.inference.hardware import Hardware
from appliance.inference.store import ModelStore
from appliance.ops import doctor, preflight, strays
from appliance.ops.doctor import Examination
from appliance.ops.health import Checked, Verdict
from appliance.ops.programs import RunFiles

_UNFIT = 9  # as `HostUnfit` has it


@click.command()
@output.json_option
@click.pass_obj
def command(flags: Flags, *, as_json: bool) -> None:
    """Examine this machine and the appliance, running or not. The exit status is 9 if anything has failed."""
    examined = loading.examine(flags)
    findings = []
    screen = output.screen()
    for finding in doctor.examine(_examinations(examined)):
        findings.append(finding)
        if not as_json:
            screen.print(_line(finding))
    if as_json:
        output.print_json(findings)
    if any(finding.verdict.state == "failed" for finding in findings):
        raise click.exceptions.Exit(_UNFIT)


def _line(finding: Checked) -> Text:
    found = finding.verdict
    said = f"{found.detail} {found.remedy}".strip()
    return Text.assemble(output.state(f"{found.state:<9}"), (f"{finding.name}: ", "bold"), said)


def _examinations(examined: Examined) -> Iterator[Examination]:
    loaded = examined.loaded
    paths = loading.paths(loaded)
    here = hardware.probe()
    catalog = Catalog.load()
    store = loading.store(loaded, catalog=catalog)
    yield Examination("settings", lambda: _settings(examined))
    yield Examination("processor", lambda: _processor(here))
    yield Examination("memory", lambda: _memory(here))
    yield from doctor.machine(paths, policy=policy_of(loaded.settings.sandbox))
    yield Examination("chat model", lambda: _chat(loaded, catalog=catalog, store=store, here=here))
    yield Examination("embedder", lambda: _embed(loaded, store=store))
    yield Examination("address", lambda: _address(loaded, paths))
    yield Examination("appliance", lambda: _running(loaded, paths))


def _settings(examined: Examined) -> Verdict:
    origins = examined.require().origins
    own = [name for name, origin in origins.items() if origin != "default"]
    return Verdict("ok", f"{', '.join(own) or 'Nothing'} set; all else has its default.")


def _processor(here: Hardware) -> Verdict:
    choice.check_processor(here)
    code = ", with AVX2" if here.flags and not here.lacks and here.machine == "x86_64" else ""
    return Verdict("ok", f"{here.machine}{code}, {output.counted(here.cores, 'core')}.")


def _memory(here: Hardware) -> Verdict:
    return Verdict("ok", f"{here.memory_free / 1e9:.1f} of {here.memory_total / 1e9:.1f} GB are free.")


def _chat(loaded: Loaded, *, catalog: Catalog, store: ModelStore, here: Hardware) -> Verdict:
    chat = loaded.settings.chat
    where = place.read(loading.paths(loaded))
    name = chat.model if where is None or where.chat == OFF else where.chat
    if name == OFF:
        return Verdict("off", "chat.model is none: answers are evidence without prose.")
    if name != AUTO:
        store.trusted(name)
        return Verdict("ok", f"{name} is here and has its digest.")
    found = choice.choose_chat(catalog, store, here, context=chat.context, slots=chat.slots)
    if found.model is None:
        return Verdict("degraded", found.why, "`skellig model list` shows what each model needs.")
    if not found.installed:
        but = "so answers are evidence without prose" if found.instead is None else f"so {found.instead.name} is used"
        said = f"{found.model.name} is not in the store, {but}. {found.why}"
        return Verdict("degraded", said, f"{planning.way_to(found.model.name, loaded.settings)}.")
    if where is not None and where.without:
        return Verdict("degraded", f"What runs was started without one. {found.why}", "Start it anew to have it.")
    store.trusted(found.model.name)
    return Verdict("ok", found.why)


def _embed(loaded: Loaded, *, store: ModelStore) -> Verdict:
    name = loaded.settings.embed.model
    if name == OFF:
        return Verdict("off", "embed.model is none: searches go by words and the latent space.")
    store.trusted(name)
    return Verdict("ok", f"{name} is here and has its digest.")


def _address(loaded: Loaded, paths: DataPaths) -> Verdict:
    where = place.read(paths)
    if where is not None and strays.find(RunFiles(paths)):
        return Verdict("ok", f"{shown_address(where.web)} is held by this appliance.")
    preflight.listening_address(loaded.settings.web)
    return Verdict("ok", f"{shown_address(loaded.settings.web)} is free.")


def _running(loaded: Loaded, paths: DataPaths) -> Verdict:
    if not strays.find(RunFiles(paths)):
        return Verdict("off", "Not running.", "Start it with: skellig up")
    with connect(loaded) as remote:
        health = remote.get("health", Health)
    sick = [
        f"{part.name}: {part.detail} {part.remedy}".strip() for part in health.parts if part.state in {"degraded", "failed"}
    ]
    if health.state == "failed":
        raise HostUnfit(" ".join(sick))
    return Verdict("degraded" if sick else "ok", " ".join(sick) or health.state)
