"""``botpsy export-training``: approved conversations as JSON lines, to fine-tune a model with."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say, say_json

if TYPE_CHECKING:
    from botpsy_tui.application import Application
    from botpsy_tui.engine.template import ChatTemplate

Format = Literal["openai", "text"]


def export_training(
    form: Annotated[
        Format,
        typer.Option("--format", help="openai: messages and tools; text: only role and content, for ChatML."),
    ] = "openai",
    conversation: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Only this one; can be given more than once.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="DATE", help="Only those begun on that day or later."),
    ] = None,
    mask: Annotated[
        bool, typer.Option("--mask", help="Replace mail addresses, phone numbers and people's names.")
    ] = False,
    edited: Annotated[
        bool, typer.Option("--edited", help="Take calls that you changed too, as you changed them.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Else standard output.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", metavar="MODEL", help="Whose template writes the text; else the current."
        ),
    ] = None,
) -> None:
    """Write the conversations in which you approved every call, one a line.

    What was rejected, failed or allowed by a rule is left out, and counted on standard error.

    Examples: botpsy export-training --mask -o mine.jsonl ·
    botpsy export-training --format text --since 2026-12-01 -o mine.jsonl
    """
    from botpsy_tui.config import SettingsProblem
    from botpsy_tui.engine.types import EngineError
    from botpsy_tui.journal import JournalProblem
    from botpsy_tui.models import ModelProblem
    from botpsy_tui.training import TrainingProblem, write_lines

    try:
        template = _template(model) if form == "text" else None
        lines, left_out = asyncio.run(_lines(template, conversation or (), since, mask=mask, edited=edited))
        if output is not None:
            write_lines(output, lines, force=force)
        else:
            for line in lines:
                say_json(line)
    except (ModelProblem, EngineError) as problem:
        stop(str(problem), Exit.NO_MODEL)
    except (SettingsProblem, JournalProblem, TrainingProblem) as problem:
        stop(str(problem))
    say(f"Written: {_counted(len(lines))}.", err=True)
    for reason, count in sorted(left_out.items()):
        say(f"Left out: {_counted(count)} {reason}.", err=True)


async def _lines(
    template: "ChatTemplate | None",
    numbers: Sequence[int],
    since: datetime | None,
    *,
    mask: bool,
    edited: bool,
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return an object for each line, and how many conversations each reason left out."""
    from botpsy_tui.agent.prompt import SYSTEM_PROMPT, schema_of
    from botpsy_tui.application import Application
    from botpsy_tui.engine.types import Message
    from botpsy_tui.training import masked, openai_form, select, text_form, without_secrets

    application = Application.open()
    try:
        past = await _past(application, numbers, since)
        tools = {tool.name: tool.arguments for tool in application.tools}
        selection = select(past, tools, with_edited=edited)
        schemas = [schema_of(tool) for tool in application.tools]
        lines: list[dict[str, Any]] = []
        for chosen in selection.examples:
            example = without_secrets(masked(chosen) if mask else chosen)
            messages = [Message("system", SYSTEM_PROMPT), *example.messages]
            lines.append(
                text_form(messages, schemas, template) if template else openai_form(messages, schemas)
            )
        return lines, dict(selection.left_out)
    finally:
        await application.close()


async def _past(application: "Application", numbers: Sequence[int], since: datetime | None) -> list[Any]:
    from botpsy_tui.training import TrainingProblem

    past = await application.journal.history(numbers)
    if missing := set(numbers) - {conversation.number for conversation in past}:
        raise TrainingProblem(f"There is no conversation {min(missing)} in the journal.")
    if since is not None:
        begin = since.replace(tzinfo=application.clock().tzinfo)
        past = [conversation for conversation in past if conversation.started_at >= begin]
    return past


def _template(model: str | None) -> "ChatTemplate":
    """Return the chat template of a model file, without loading the model."""
    from botpsy_tui.cli.model import ensure_model
    from botpsy_tui.engine.template import ChatTemplate, special_tokens_in
    from botpsy_tui.models import read_header
    from botpsy_tui.training import TrainingProblem

    chosen = ensure_model(model, interactive=False)
    source = read_header(chosen.path).text("tokenizer.chat_template")
    if not source:
        raise TrainingProblem(f"{chosen.name} has no chat template: use --format openai, or another --model.")
    return ChatTemplate(source, special_tokens_in(source))


def _counted(count: int) -> str:
    return "1 conversation" if count == 1 else f"{count} conversations"
