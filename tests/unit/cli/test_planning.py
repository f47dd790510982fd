"""Claims about which programs run, and with which models."""

from pathlib import Path
from typing import Literal

import pytest

from appliance import config
from appliance.base.paths import DataPaths
from appliance.cli import place, planning
from appliance.cli.config import shown
from appliance.cli.flags import Flags
from appliance.cli.model import defaults
from appliance.cli.planning import Plan
from appliance.cli.up import changes
from appliance.config import Chat, Embed, Loaded, Settings
from appliance.errors import HostUnfit, InvalidInput, NotFound
from appliance.inference.catalog import Catalog, Model, ModelFile
from appliance.inference.engines.base import COMPILE_SECONDS, LOAD_SECONDS
from appliance.inference.hardware import Hardware
from appliance.inference.store import ModelStore
from appliance.jobs.worker import GOODBYE_S, HEARTBEAT_S

LARGE, SMALL = "qwen2.5-coder-1.5b-instruct-q4_k_m", "qwen2.5-coder-0.5b-instruct-q4_k_m"
MINILM = "all-minilm-l6-v2-int8"
ABLE = frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2", "movbe", "abm"})


def machine(
    *, memory: int = 16_000_000_000, cores: int = 4, flags: frozenset[str] = ABLE, gpus: tuple[str, ...] = ()
) -> Hardware:
    return Hardware(cores=cores, memory_total=memory, memory_free=memory, machine="x86_64", flags=flags, gpus=gpus)


def installed(root: Path, *names: str, catalog: Catalog | None = None) -> ModelStore:
    """Return a store that seems to hold those models: files of the right size, without content."""
    catalog = catalog or Catalog.load()
    for name in names:
        for file in catalog.get(name).file:
            place = root / file.sha256 / file.name
            place.parent.mkdir(parents=True)
            with place.open("wb") as sparse:
                sparse.truncate(file.size)
    return ModelStore(root, catalog=catalog)


def plan(
    root: Path,
    *,
    chat: Chat | None = None,
    embed: Embed | None = None,
    here: tuple[str, ...] = (),
    on: Hardware | None = None,
    gpu: Literal["auto", "required"] = "auto",
    models_at: Path | None = None,
) -> Plan:
    settings = Settings(data=root, chat=chat or Chat(), embed=embed or Embed(), gpu=gpu, models_at=models_at)
    paths = DataPaths(root)
    store = installed(paths.models, *here)
    return planning.plan(settings, paths=paths, catalog=Catalog.load(), store=store, hardware=on or machine())


def names(found: Plan) -> list[str]:
    return [program.name for program in found.programs]


def test_four_programs_run_and_the_choice_is_explained(tmp_path: Path) -> None:
    found = plan(tmp_path, here=(LARGE, MINILM))
    assert names(found) == ["web", "worker", "engine-embed", "engine-chat"]
    assert (found.chat, found.embed) == (LARGE, MINILM)
    assert "best that fits" in found.notes[0]


def test_an_engine_gets_its_files_socket_and_limits(tmp_path: Path) -> None:
    found = plan(tmp_path, here=(LARGE, MINILM), chat=Chat(context=2048, slots=2))
    argv = " ".join(found.programs[-1].argv)
    assert f"--name {LARGE} --model {tmp_path}/models/" in argv
    assert f"--socket {tmp_path}/run/engine-chat.sock --threads 3 --context 2048 --slots 2" in argv


@pytest.mark.parametrize("here", [(MINILM,), (SMALL, MINILM)], ids=["none", "only-a-small-one"])
@pytest.mark.parametrize("memory", [16_000_000_000, 2_500_000_000])
def test_without_a_model_made_for_answers_the_rest_runs_and_says_so(
    tmp_path: Path, here: tuple[str, ...], memory: int
) -> None:
    """A host is not down for want of prose that nobody has asked for by name; and a small model is used only if named."""
    found = plan(tmp_path, here=here, on=machine(memory=memory))
    assert names(found) == ["web", "worker", "engine-embed"]
    assert found.chat == "none"
    assert found.without == found.notes[0]
    assert "answers are evidence without prose" in found.without


def test_what_would_bring_prose_is_named_with_what_is_here(tmp_path: Path) -> None:
    said = plan(tmp_path, here=(SMALL, MINILM)).without
    assert f"take {LARGE}, or name {SMALL}, which is here and often wrong, as chat.model." in said
    assert f"`skellig model pull {LARGE}` gets it." in said
    assert SMALL not in plan(tmp_path / "2", here=(MINILM,)).without


def test_where_models_are_only_read_a_bundle_is_what_brings_them(tmp_path: Path) -> None:
    """Such a host has no network: to pull there is no remedy."""
    mounted = Path("/srv/models")
    way = "A bundle built with `--model {}` brings it to /srv/models"
    assert way.format(LARGE) in plan(tmp_path / "1", here=(MINILM,), models_at=mounted).without
    with pytest.raises(NotFound) as caught:
        plan(tmp_path / "2", chat=Chat(model=SMALL), here=(MINILM,), models_at=mounted)
    assert way.format(SMALL) in caught.value.remedy


@pytest.mark.parametrize(
    ("chat", "here", "missing", "role"), [("auto", (LARGE,), MINILM, "embed"), (LARGE, (MINILM,), LARGE, "chat")]
)
def test_a_model_that_is_named_and_missing_names_the_command_that_gets_it(
    tmp_path: Path, chat: str, here: tuple[str, ...], missing: str, role: str
) -> None:
    with pytest.raises(NotFound, match=rf"skellig model pull {missing}") as caught:
        plan(tmp_path, chat=Chat(model=chat), here=here)
    assert f"set {role}.model to `none`" in caught.value.remedy


@pytest.mark.parametrize("chat", [LARGE, "none"])
def test_a_plan_with_what_the_settings_want_goes_without_nothing(tmp_path: Path, chat: str) -> None:
    assert plan(tmp_path, chat=Chat(model=chat), here=(LARGE, MINILM)).without == ""


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ((LARGE, MINILM), []),
        ((LARGE, SMALL, MINILM), []),
        ((), ["no model is in this bundle: add some with --model"]),
        ((SMALL, MINILM), [f"add --model {LARGE}, or set chat.model on the hosts to {SMALL} or none"]),
        ((MINILM,), [f"add --model {LARGE}, or set chat.model on the hosts to none"]),
        ((LARGE,), [f"add --model {MINILM}, or set embed.model on the hosts to none"]),
        ((SMALL,), [f"set chat.model on the hosts to {SMALL} or none", f"add --model {MINILM}"]),
    ],
)
def test_what_nobody_has_with_default_settings_is_told_with_the_setting(models: tuple[str, ...], said: list[str]) -> None:
    found = list(planning.lacking(models, catalog=Catalog.load()))
    assert len(found) == len(said)
    assert all(part in sentence for part, sentence in zip(said, found, strict=True))


def test_a_small_model_runs_where_it_is_named(tmp_path: Path) -> None:
    assert plan(tmp_path, chat=Chat(model=SMALL), here=(SMALL, MINILM)).chat == SMALL


def test_a_machine_too_small_for_answers_runs_without_and_says_why(tmp_path: Path) -> None:
    found = plan(tmp_path, here=(LARGE, SMALL, MINILM), on=machine(memory=2_500_000_000))
    assert names(found) == ["web", "worker", "engine-embed"]
    assert found.chat == "none"
    assert "evidence without prose" in found.notes[0]
    assert f"SKELLIG_CHAT__MODEL={SMALL}" in found.notes[0]


@pytest.mark.parametrize(
    ("here", "memory", "wanted"),
    [
        ((), 16_000_000_000, [LARGE, MINILM]),
        ((LARGE, MINILM), 900_000_000, [LARGE, MINILM]),
        ((SMALL,), 900_000_000, [MINILM]),
        ((SMALL,), 16_000_000_000, [LARGE, MINILM]),
    ],
    ids=["nothing-here", "running-already", "too-small", "only-a-small-one-here"],
)
def test_what_is_pulled_is_what_runs(tmp_path: Path, here: tuple[str, ...], memory: int, wanted: list[str]) -> None:
    """`make up` is run again beside an appliance whose own engine takes the memory."""
    loaded = Loaded(Settings(data=tmp_path), {})
    store = installed(DataPaths(tmp_path).models, *here)
    assert list(defaults(loaded, catalog=Catalog.load(), store=store, machine=machine(memory=memory))) == wanted


def test_none_runs_no_engine_and_says_what_that_means(tmp_path: Path) -> None:
    found = plan(tmp_path, chat=Chat(model="none"), embed=Embed(model="none"))
    assert names(found) == ["web", "worker"]
    assert (found.chat, found.embed) == ("none", "none")
    assert len(found.notes) == 2


@pytest.mark.parametrize("missing", sorted(ABLE))
@pytest.mark.parametrize("chat", [LARGE, "none"])
def test_a_processor_that_cannot_run_our_code_is_refused(tmp_path: Path, chat: str, missing: str) -> None:
    """Without the look ahead the vector store or llama.cpp would die of an illegal instruction, with no word to anybody."""
    with pytest.raises(HostUnfit, match=missing.upper()) as caught:
        plan(tmp_path, chat=Chat(model=chat), here=(LARGE, MINILM), on=machine(flags=ABLE - {missing}))
    assert "virtual machine" in caught.value.remedy


@pytest.mark.parametrize("kind", ["llama_server", "llama_cpp_python"])
def test_the_engine_that_is_set_runs_the_chat_model(
    tmp_path: Path, kind: Literal["llama_server", "llama_cpp_python"]
) -> None:
    found = plan(tmp_path, chat=Chat(engine=kind), here=(LARGE, MINILM))
    assert f"appliance.inference.engines.{kind}" in found.programs[-1].argv
    assert "appliance.inference.engines.onnx_embed" in found.programs[-2].argv


def test_an_engine_that_cannot_run_the_model_is_refused_with_those_that_can(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"vllm cannot run {LARGE}") as caught:
        plan(tmp_path, chat=Chat(engine="vllm"), here=(LARGE, MINILM))
    assert "auto, llama_server, llama_cpp_python" in caught.value.remedy
    with pytest.raises(InvalidInput, match="onnx_embed"):
        plan(tmp_path / "2", embed=Embed(engine="llama_cpp_python"), here=(LARGE, MINILM))


def test_a_gpu_that_is_required_is_required_of_the_machine_and_of_the_engine(tmp_path: Path) -> None:
    with pytest.raises(HostUnfit, match="llama_server runs on the CPU"):
        plan(tmp_path / "1", gpu="required", here=(LARGE, MINILM), on=machine(gpus=("/dev/nvidia0",)))
    with pytest.raises(HostUnfit, match="no GPU is in sight"):
        plan(tmp_path / "2", gpu="required", chat=Chat(engine="llama_cpp_python"), here=(LARGE, MINILM))
    chat = Chat(engine="llama_cpp_python")
    found = plan(tmp_path / "3", gpu="required", chat=chat, here=(LARGE, MINILM), on=machine(gpus=("/dev/nvidia0",)))
    assert found.programs[-1].argv[-1] == "--gpu"


def test_without_a_chat_model_no_gpu_is_required(tmp_path: Path) -> None:
    assert names(plan(tmp_path, gpu="required", chat=Chat(model="none"), here=(MINILM,))) == [
        "web",
        "worker",
        "engine-embed",
    ]


def test_a_model_that_was_asked_for_and_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HostUnfit, match="memory"):
        plan(tmp_path, chat=Chat(model=LARGE), here=(LARGE, MINILM), on=machine(memory=1_000_000_000))


def test_an_embedder_cannot_chat(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="not one that can chat"):
        plan(tmp_path, chat=Chat(model=MINILM), here=(MINILM,))


def test_an_engine_that_dies_is_tried_a_few_times_only(tmp_path: Path) -> None:
    """Five starts at most: an engine that cannot start must not keep a core busy for ever."""
    found = plan(tmp_path, here=(LARGE, MINILM))
    assert all(program.retries < 5 for program in found.programs if program.name.startswith("engine-"))


def test_an_engine_counts_as_started_only_after_the_longest_load(tmp_path: Path) -> None:
    """The supervisor forgets the deaths of what has started; a slow disk gives the digest check 20 MB a second."""
    settled = {program.name: program.settle for program in plan(tmp_path, here=(LARGE, MINILM)).programs}
    size = Catalog.load().get(LARGE).size
    assert settled["engine-chat"] > LOAD_SECONDS + size / 20_000_000
    assert settled["engine-embed"] >= 30
    assert settled["web"] < settled["engine-embed"], "what loads nothing need not wait"


def test_an_engine_that_compiles_its_model_has_the_time_for_it(tmp_path: Path) -> None:
    files = [
        ModelFile(name=name, size=9, sha256=f"{at}" * 64) for at, name in enumerate(("config.json", "model.safetensors"))
    ]
    folder = Model(
        name="a-folder",
        title="A folder",
        role="chat",
        purpose="answers",
        engine="vllm",
        licence="Apache-2.0",
        context=8192,
        memory=1,
        file=tuple(files),
    )
    catalog = Catalog((*Catalog.load().models, folder))
    store = installed(DataPaths(tmp_path).models, MINILM, "a-folder", catalog=catalog)
    settings = Settings(data=tmp_path, chat=Chat(model="a-folder"))
    found = planning.plan(settings, paths=DataPaths(tmp_path), catalog=catalog, store=store, hardware=machine())
    assert "appliance.inference.engines.vllm" in found.programs[-1].argv
    assert found.programs[-1].settle > COMPILE_SECONDS
    assert found.load_seconds >= 240


def test_a_worker_says_goodbye_before_it_is_killed(tmp_path: Path) -> None:
    worker = next(program for program in plan(tmp_path, here=(LARGE, MINILM)).programs if program.name == "worker")
    assert worker.grace >= GOODBYE_S + HEARTBEAT_S


def test_the_programs_see_the_chosen_models_and_these_settings(tmp_path: Path) -> None:
    found = plan(tmp_path, chat=Chat(model="none"), embed=Embed(model="none"))
    environ = {"SKELLIG_WEB__PORT": "4711", "SKELLIG_DATA": "/other", "HOME": "/h", "AWS_SECRET_ACCESS_KEY": "s"}
    flags = Flags(config=Path("/etc/other.toml"))
    assert planning.environment(found, environ=environ, flags=flags, paths=DataPaths(tmp_path)) == {
        "SKELLIG_WEB__PORT": "4711",
        "SKELLIG_DATA": str(tmp_path),
        "SKELLIG_CONFIG": "/etc/other.toml",
        "SKELLIG_CHAT__MODEL": "none",
        "SKELLIG_EMBED__MODEL": "none",
        "HOME": "/h",
    }


@pytest.mark.parametrize(
    ("chat", "embed", "said"),
    [
        ("nope", "none", "nope"),
        (MINILM, "none", "not one that can chat"),
        (LARGE, "none", f"skellig model pull {LARGE}"),
        ("none", "nope", "nope"),
    ],
)
def test_models_that_cannot_run_are_refused_also_where_others_run(tmp_path: Path, chat: str, embed: str, said: str) -> None:
    store = installed(tmp_path, MINILM)
    settings = Settings(data=tmp_path, chat=Chat(model=chat), embed=Embed(model=embed))
    with pytest.raises(NotFound) as caught:
        planning.require_models(settings, catalog=store.catalog, store=store)
    assert said in str(caught.value)


@pytest.mark.parametrize(("chat", "embed"), [("auto", "none"), ("none", MINILM)])
def test_models_that_are_here_or_need_not_be_are_let_through(tmp_path: Path, chat: str, embed: str) -> None:
    store = installed(tmp_path, MINILM)
    settings = Settings(data=tmp_path, chat=Chat(model=chat), embed=Embed(model=embed))
    planning.require_models(settings, catalog=store.catalog, store=store)


def test_a_setting_that_changed_since_the_start_is_named_with_what_it_takes(tmp_path: Path) -> None:
    before = config.load(environ={"SKELLIG_DATA": str(tmp_path)}, file=None)
    asked = {setting.name: "unset" if setting.value is None else str(setting.value) for setting in shown(before)}
    where = place.of(before.settings.web, chat=LARGE, embed=MINILM, settings=asked)
    assert not list(changes(where, before))
    after = config.load(environ={"SKELLIG_DATA": str(tmp_path), "SKELLIG_CHAT__MODEL": SMALL, "SKELLIG_EMBED__THREADS": "2"})
    chat, threads = changes(where, after)
    assert chat.startswith(f"chat.model is {SMALL}, and what runs was started with auto: ")
    assert threads == (
        "embed.threads is 2, and what runs was started with 1: a changed setting takes `skellig down` and `skellig up`."
    )
