"""AgentDojo's workspace suite (mail, calendar, files) as tools of this assistant.

Loaded without `agentdojo.agent_pipeline`'s own start, which imports the clients of four model vendors:
here the assistant under test is the pipeline. Tasks, tools, data and judgements are AgentDojo's, untouched.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from importlib.resources import files
from types import ModuleType
from typing import Any

import yaml
from pydantic import BaseModel

from botpsy_tui.plugin import Context, Line, Outcome, Preview, Proposal, Risk, Tool, ToolError, for_display


def _load_suite() -> Any:
    package = ModuleType("agentdojo.agent_pipeline")
    package.__path__ = [str(files("agentdojo") / "agent_pipeline")]
    sys.modules[package.__name__] = package
    # One constant of this client is imported where results are written out as text; not used here.
    client = ModuleType("agentdojo.agent_pipeline.llms.google_llm")
    client.EMPTY_FUNCTION_NAME = "<empty-function-name>"  # type: ignore[attr-defined]
    sys.modules[client.__name__] = client
    importlib.import_module("agentdojo.task_suite.load_suites")
    # Left out there, and it is what mends the judgement on injection 0, which counted its own words.
    importlib.import_module("agentdojo.default_suites.v1_1_2")
    from agentdojo.default_suites.v1.workspace import workspace_task_suite

    return workspace_task_suite.get_new_version((1, 2, 2))


SUITE = _load_suite()


def _scene() -> Any:
    """Return the suite's data, each place where a stranger can write holding its name in ⟦⟧."""
    from agentdojo.task_suite.task_suite import read_suite_file

    places = {name: f"⟦{name}⟧" for name in SUITE.get_injection_vector_defaults()}
    return yaml.safe_load(read_suite_file("workspace", "environment.yaml", None).format(**places))


_SCENE = _scene()


def environment_with(injection: str | None) -> Any:
    """Return the suite's mailbox, calendar and drive, with `injection` wherever a stranger can write."""
    harmless = SUITE.get_injection_vector_defaults()

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            for name, default in harmless.items():
                value = value.replace(f"⟦{name}⟧", default if injection is None else injection)
            return value
        if isinstance(value, list):
            return [filled(item) for item in value]
        return {k: filled(v) for k, v in value.items()} if isinstance(value, dict) else value

    return SUITE.environment_type.model_validate(filled(deepcopy(_SCENE)))


def state_of(environment: Any) -> dict[str, Any]:
    """Return everything in an environment but the moments at which things were written."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k not in ("timestamp", "last_modified")}
        return [timeless(item) for item in value] if isinstance(value, list) else value

    # Left out: what the suite began with, and other views of the same mails.
    views = {
        "inbox": {"initial_emails", "received", "sent", "drafts"},
        "calendar": {"initial_events"},
        "cloud_drive": {"initial_files"},
    }
    return timeless(environment.model_dump(exclude=views))


_READS = frozenset(
    {
        "get_sent_emails",
        "get_received_emails",
        "get_draft_emails",
        "search_emails",
        "search_contacts_by_name",
        "search_contacts_by_email",
        "get_current_day",
        "search_calendar_events",
        "get_day_calendar_events",
        "search_files_by_filename",
        "get_file_by_id",
        "list_files",
        "search_files",
    }
)  # not get_unread_emails: it marks what it reads
_SENDS = frozenset(["send_email", "share_file", "add_calendar_event_participants"])
_DESTROYS = frozenset(["delete_email", "delete_file", "cancel_calendar_event"])


class WorkspaceTool(Tool[BaseModel]):
    """One of the suite's functions, proposed with its exact arguments and then run on `environment`."""

    def __init__(self, function: Any, environment: Any, *, strangers_named: bool) -> None:
        self._strangers_named = strangers_named
        self.name = function.name
        self.description = function.description
        self.arguments = function.parameters
        self._function = function
        self._environment = environment

    async def propose(self, arguments: BaseModel, context: Context) -> Proposal:
        payload = arguments.model_dump(mode="json", exclude_none=True)
        lines = tuple(Line(name, for_display(str(value))) for name, value in payload.items())
        return self.propose_with(
            arguments,
            risk=self._risk(payload),
            preview=Preview(self.name.replace("_", " ").capitalize(), lines),
            payload=payload,
            facts=payload,
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        arguments = self._function.parameters.model_validate(deepcopy(dict(proposal.payload))).model_dump()
        needed = {
            name: dependency.extract_dep_from_env(self._environment)
            for name, dependency in self._function.dependencies.items()
        }
        try:
            result = self._function(**arguments, **needed)
        except ValueError as error:  # raised by the suite before it changes anything
            raise ToolError(str(error)) from error
        text = _as_text(result)
        sources = tuple(dict.fromkeys(_sources(result))) if self._strangers_named else ()
        return Outcome(text, for_display(text), sources=sources)

    def _risk(self, arguments: Mapping[str, Any]) -> Risk:
        if self.name in _READS:
            return Risk.READ
        if self.name in _DESTROYS:
            return Risk.DESTRUCTIVE
        if self.name in _SENDS or arguments.get("participants"):
            return Risk.SEND
        if self.name == "reschedule_calendar_event":  # the others in it get a mail
            event = self._environment.calendar.events.get(arguments["event_id"])
            if event is None:
                raise ToolError(f"There is no event {arguments['event_id']}.")
            return Risk.SEND if len(event.participants) > 1 else Risk.WRITE
        return Risk.WRITE


def tools_on(environment: Any, *, strangers_named: bool = True) -> list[Tool[Any]]:
    """Return all of the suite's functions as tools that act on `environment`."""
    return [WorkspaceTool(function, environment, strangers_named=strangers_named) for function in SUITE.tools]


def _as_text(result: Any) -> str:
    """Write a result out for the model, nothing escaped: what a stranger wrote reads as they wrote it."""
    if isinstance(result, list):
        return "\n\n".join(_as_text(item) for item in result) or "Nothing."
    if isinstance(result, BaseModel):
        return "\n".join(f"{name}: {value}" for name, value in result)
    return str(result)


def _sources(result: Any) -> Iterator[str]:
    """Name the mails, events and files that a result holds words of."""
    kinds: dict[str, Callable[[Any], str]] = {
        "Email": lambda mail: f"mail from {mail.sender}: {mail.subject}",
        "CalendarEvent": lambda event: f"event {event.title}",
        "CloudDriveFile": lambda file: f"file {file.filename}",
    }
    for item in result if isinstance(result, list) else [result]:
        if named := kinds.get(type(item).__name__):
            yield for_display(named(item))
