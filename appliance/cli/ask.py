"""``skellig ask``: the evidence first, then the model's reading of it, sentence by sentence."""

import click
import msgspec
from rich.console import Console
from rich.text import Text

from appliance.cli import loading, output
from appliance.cli.flags import Flags
from appliance.cli.remote import Event, Value, connect, raise_problem
from appliance.cli.scope import about
from appliance.cli.search import excerpt, freshness
from appliance.cli.views import Answer, Evidence, Sentence, Struck
from appliance.errors import Unavailable

_LINES = 8
_READING = "The model's reading (where it points is checked, what it says is not):"
_EXACT = "From the symbol table, exactly; no model was asked:"
_FOUND = "What was found; where the model's reading points is checked, what it says is not:"
_ORIGINS = {"graph": "from the graph", "git": "from git", "search": "from the lines", "model": "the model's reading"}
_TOLD = "What the graph and git tell; the model wrote none of it:"


@click.command()
@click.argument("question", nargs=-1, required=True)
@about
@click.option("--no-prose", is_flag=True, help="The evidence alone; no model is asked.")
@output.json_option
@click.pass_obj
def command(flags: Flags, /, *, question: tuple[str, ...], no_prose: bool, as_json: bool, **scope: Value) -> None:
    """Ask QUESTION about the indexed code.

    The lines that bear on it come first, each checked to stand there at its commit. The sentences below them are the
    model's reading: where a sentence points is checked, what it says is not. What the symbol table knows is told from there,
    exactly, and no model is asked.
    """
    body = (
        {"repos": scope.pop("repo"), "branches": scope.pop("branch")}
        | {name: value for name, value in scope.items() if value is not None}
        | {"question": " ".join(question), "prose": not no_prose}
    )
    with connect(loading.load(flags)) as remote:
        if as_json:
            click.echo(msgspec.json.format(remote.raw("POST", "ask", body=body, patient=True), indent=2))
            return
        paper = Paper(output.screen(), output.screen(stderr=True))
        with remote.stream("ask", body) as events:
            for event in events:
                paper.take(event)
    if not paper.done:
        raise Unavailable("The answer broke off.", remedy="Ask again; `skellig status` says how the engine is.")


class Paper:
    """Writes an answer as its events come. While the model writes, a line on standard error says so."""

    def __init__(self, screen: Console, aside: Console) -> None:
        self._screen = screen
        self._waiting = aside.status("The model reads the evidence…")
        self._sentences = 0
        self._numbered = False
        self._heading = ""
        self._noted: set[str] = set()
        self.done = False

    def take(self, event: Event) -> None:
        """Write what *event* brings; raise the error that it brings."""
        if event.name == "error":
            self._waiting.stop()
            raise_problem(event.data)
        if event.name == "evidence":
            self._evidence(msgspec.json.decode(event.data, type=Answer))
        elif event.name == "sentence":
            self._sentence(msgspec.json.decode(event.data, type=Sentence))
        elif event.name == "struck":
            self._struck(msgspec.json.decode(event.data, type=Struck))
        elif event.name == "done":
            self._end(msgspec.json.decode(event.data, type=Answer))

    def whole(self, answer: Answer) -> None:
        """Write the *answer* of a mission, its sentences numbered: its notes speak of them by number."""
        self._cards(answer)
        self._numbered = True
        self._heading = _TOLD if answer.kind == "structure" else _FOUND
        for sentence in answer.sentences:
            self._sentence(sentence)
        for struck in answer.struck:
            self._struck(struck)
        self._end(answer)

    def _evidence(self, answer: Answer) -> None:
        self._cards(answer)
        if self._screen.is_terminal:
            self._waiting.start()

    def _cards(self, answer: Answer) -> None:
        self._heading = _EXACT if answer.kind == "structure" else _READING
        for evidence in answer.evidence:
            self._card(evidence)
        if not answer.evidence:
            self._screen.print("No lines bear on this question.\n")
        self._notes(answer)

    def _notes(self, answer: Answer) -> None:
        for warning in answer.warnings:
            if warning not in self._noted:
                self._noted.add(warning)
                self._screen.print(Text(f"note: {warning}", style="yellow"))

    def _card(self, evidence: Evidence) -> None:
        mark = "verified" if evidence.verified else "not verified"
        head = Text.assemble(
            (f"[{evidence.n}] ", "bold"),
            (f"{evidence.path}:{evidence.start_line}-{evidence.end_line}", "bold"),
            f"  {evidence.repo_name} {evidence.commit[:10]}",
            (f"  {evidence.symbol}" if evidence.symbol else "", "cyan"),
            (f"  {mark}", "green" if evidence.verified else "yellow"),
        )
        self._screen.print(head)
        for number, line in enumerate(excerpt(evidence.text, lines=_LINES)):
            self._screen.print(Text(f"    {line}", style="" if number < _LINES else "dim"))
        self._screen.print()

    def _sentence(self, sentence: Sentence) -> None:
        self._waiting.stop()
        if not self._sentences:
            self._screen.print(Text(self._heading, style="italic"))
        self._sentences += 1
        lead = f"{self._sentences:>3}. " if self._numbered else "  "
        cites = "".join(f"[{n}]" for n in sentence.cites)
        by = _ORIGINS.get(sentence.origin, "") if self._numbered else ""
        self._screen.print(Text.assemble(lead, sentence.text, (f" {cites}", "bold"), (by and f"  {by}", "dim")))

    def _struck(self, struck: Struck) -> None:
        self._waiting.stop()
        self._screen.print(Text.assemble("  ", (struck.text, "strike"), (f"  struck: {struck.reason}", "yellow")))

    def _end(self, answer: Answer) -> None:
        self._waiting.stop()
        self.done = True
        if answer.gate is not None and not answer.gate.passed:
            self._screen.print(Text(f"No prose: {answer.gate.reason}", style="yellow"))
        self._notes(answer)
        read = "; ".join(freshness(fresh) for fresh in answer.freshness)
        times = ", ".join(f"{name.removesuffix('_ms')} {_time(spent)}" for name, spent in answer.timings.items())
        by = f"{answer.model}; " if answer.model else ""
        self._screen.print(Text(f"{by}{times}; {read}", style="dim"))


def _time(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"
