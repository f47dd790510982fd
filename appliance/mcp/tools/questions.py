"""Questions in plain words."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing

from appliance.base.paths import shown
from appliance.codeintel.results import Answer, AnswerEvent, Citation
from appliance.errors import EngineUnavailable
from appliance.mcp import found, results
from appliance.mcp.arguments import Ask
from appliance.mcp.pages import characters, fitted, longest_text
from appliance.mcp.replies import Progress, Reply
from appliance.mcp.tools.asked import read, scope_of_several
from appliance.services import Services


async def ask(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return the answer to a question, and tell of its evidence and of each sentence while it is made."""
    asked = read(Ask, given)
    scope = await scope_of_several(services, asked)
    answer: Answer | None = None
    number = 0
    async with aclosing(services.ask(asked.question.strip(), scope=scope, prose=asked.prose)) as events:
        async for event in events:
            if words := _told_of(event):
                number += 1
                await progress(number, words)
            if event.type == "done":
                answer = event.answer
    if answer is None:
        raise EngineUnavailable("The answer broke off before its end.", remedy="Ask again.")
    return await _reply(answer, asked)


def _told_of(event: AnswerEvent) -> str:
    """Return what is told of *event* while the answer is being made; nothing of a single token."""
    match event.type:
        case "evidence" if event.answer is not None:
            return f"{len(event.answer.evidence)} places bear on it"
        case "sentence" if event.sentence is not None:
            return shown(event.sentence.text)
        case "struck":
            return "a sentence was struck"
    return ""


async def _reply(answer: Answer, asked: Ask) -> Reply:
    most = longest_text(asked.max_tokens)
    cut = any(len(each.text) > most for each in answer.evidence)
    gate = answer.gate

    def made(some: Sequence[Citation]) -> results.Answer:
        return results.Answer(
            kind=answer.kind,
            sentences=[
                results.Sentence(text=shown(each.text), cites=list(each.cites), origin=each.origin)
                for each in answer.sentences
            ],
            no_prose=shown(gate.reason) if gate is not None and not gate.passed else "",
            evidence=[found.evidence(each, most=most) for each in some],
            truncated=cut or len(some) < len(answer.evidence),
            **found.base(answer, used=[each.span.repo_name for each in some]),
        )

    return await fitted(answer.evidence, made, most=characters(asked.max_tokens))
