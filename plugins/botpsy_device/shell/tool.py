"""The tool that runs one command: shown whole and taken apart, inside a sandbox where there is one."""

import shutil
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from botpsy_device.private import OpenedFolders
from botpsy_device.shell.danger import dangers, refusal
from botpsy_device.shell.line import Command, CommandLine, Unreadable, is_builtin, read_line
from botpsy_device.shell.running import Run, run
from botpsy_device.shell.sandbox import Fence, NoSandbox, Sandbox, find_sandbox, search_path
from botpsy_tui.plugin import (
    Context,
    Json,
    Line,
    Outcome,
    Preview,
    Proposal,
    Risk,
    Tool,
    ToolError,
    for_display,
    for_display_line,
    for_model,
)

_JOINTS = {
    "": "Runs",
    "|": "and pipes it to",
    "&&": "if that works,",
    "||": "if that fails,",
    ";": "then",
}
_REACHES = {"writes": "May change", "network": "Network"}
_FOR_MODEL = 2000
_LONGEST_REASON = 200


class RunCommandArguments(BaseModel):
    """A command, and what it needs."""

    command: str = Field(description="The command line.")
    why: str | None = Field(None, description="What it is for, in a few words.")
    folder: str | None = Field(None, description="Where it runs, only if a folder was said.")
    needs: Literal["nothing", "writing", "network", "writing and network"] = Field(
        "nothing", description="What it needs beyond reading."
    )


class RunCommand(Tool[RunCommandArguments]):
    """One shell command."""

    name = "run_command"
    description = "Run one shell command on this computer."
    arguments = RunCommandArguments
    highest_risk = Risk.DESTRUCTIVE

    def __init__(self, opened: OpenedFolders, *, seconds: float) -> None:
        self._opened = opened
        self._seconds = seconds
        self._found: Sandbox | None = None

    async def propose(self, arguments: RunCommandArguments, context: Context) -> Proposal:
        """Read the line, look where it would run, and freeze both."""
        text = arguments.command.strip()
        try:
            line = read_line(text)
        except Unreadable as problem:
            raise ToolError(str(problem)) from None
        if refused := refusal(line):
            raise ToolError(refused)
        for command in line.all_commands():
            _check_program(command)
        sandbox = await self._sandbox()
        writes, network = "writing" in arguments.needs, "network" in arguments.needs
        folder = self._folder(arguments, writes)
        notes = dangers(line, folder or Path("/tmp"), network=network)
        argv = line.argv or ["/bin/sh", "-c", text]
        fenced = sandbox.kind != "none"
        risk = Risk.SEND if network else Risk.WRITE
        if notes or not fenced:
            risk = Risk.DESTRUCTIVE
        payload: dict[str, Json] = {
            "argv": list(argv),
            "folder": str(folder) if folder else None,
            "identity": _identity(folder),
            "writes": writes,
            "network": network,
            "sandbox": sandbox.kind,
            "seconds": self._seconds,
        }
        return self.propose_with(
            arguments,
            risk=risk,
            preview=Preview(
                "Run a command",
                tuple(self._lines(arguments, line, text, folder, sandbox)),
                (*map(for_display_line, notes), *([] if fenced else [_WITHOUT_SANDBOX])),
            ),
            payload=payload,
            facts={
                "command": text,
                "folder": str(folder) if folder else None,
                "writes": writes,
                "network": network,
                "outbound_data": network or not fenced,
                "sandbox": sandbox.kind,
            },
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Run it, as it was shown."""
        payload = proposal.payload
        folder = Path(str(payload["folder"])) if payload["folder"] else None
        if _identity(folder) != payload["identity"]:
            raise ToolError(f"{folder} is not the folder any more that you were shown; nothing was run.")
        sandbox = await self._sandbox()
        if sandbox.kind != payload["sandbox"]:
            raise ToolError("The sandbox is not there any more; nothing was run.")
        argv, seconds = payload["argv"], float(str(payload["seconds"]))
        assert isinstance(argv, list)
        fence = Fence(
            folder,
            self._opened.folders,
            self._opened.private,
            writes=payload["writes"] is True,
            network=payload["network"] is True,
        )
        try:
            done = await run(
                [str(word) for word in argv],
                sandbox,
                fence,
                seconds=seconds,
                progress=context.progress,
                stopping=context.stopping,
            )
        except OSError as error:
            raise ToolError(f"The command could not be started: {error.strerror or error}.") from error
        source = f"the output of “{for_display_line(str(proposal.facts['command']))[:80]}”"
        said = _how_it_ended(done, seconds)
        return Outcome(
            for_model(_shortened(said, done)),
            for_display(_whole(said, done)),
            sources=(source,) if done.beginning.strip() else (),
        )

    async def _sandbox(self) -> Sandbox:
        if self._found is None or isinstance(self._found, NoSandbox):
            self._found = await find_sandbox()
        return self._found

    def _folder(self, arguments: RunCommandArguments, writes: bool) -> Path | None:
        if arguments.folder:
            folder = self._opened.folder(arguments.folder)
        else:
            folder = self._opened.folders[0] if self._opened.folders else None
        if folder is not None and not folder.is_dir():
            raise ToolError(f"The folder {folder} is not there.")
        if writes and folder is not None and (problem := self._opened.why_not_written(folder)):
            raise ToolError(problem)
        return folder

    def _lines(
        self,
        arguments: RunCommandArguments,
        line: CommandLine,
        text: str,
        folder: Path | None,
        sandbox: Sandbox,
    ) -> list[Line]:
        lines = [Line("Command", for_display(text))]
        lines += _taken_apart(line)
        lines.append(Line("Folder", for_display_line(str(folder)) if folder else "an empty one of its own"))
        if sandbox.kind == "none":
            lines.append(Line("May reach", "everything that you can reach"))
        else:
            open_ones = ", ".join(for_display_line(str(place)) for place in self._opened.folders)
            lines.append(
                Line(
                    "May read",
                    f"the system's programs; {open_ones}" if open_ones else "the system's programs",
                )
            )
            changes = "writing" in arguments.needs and folder is not None
            lines.append(Line(_REACHES["writes"], for_display_line(str(folder)) if changes else "nothing"))
            reach = (
                "the internet, and what listens on this machine" if "network" in arguments.needs else "none"
            )
            lines.append(Line(_REACHES["network"], reach))
            lines.append(Line("Sandbox", sandbox.name))
        lines.append(Line("At most", f"{self._seconds:g} seconds"))
        if arguments.why:
            lines.append(Line("The model says why", for_display_line(arguments.why)[:_LONGEST_REASON]))
        return lines


_WITHOUT_SANDBOX = (
    "There is no sandbox on this machine: the command can do all that you can do. "
    "Installing bubblewrap (bwrap) makes one."
)


def _taken_apart(line: CommandLine) -> list[Line]:
    """Return a line for each command: the words that the program is given, each quoted where it must be."""
    lines: list[Line] = []
    inner = {id(command) for command in line.commands}
    for command in line.all_commands():
        label = _JOINTS[command.joint] if id(command) in inner else "First, inside $(…)"
        lines.append(
            Line(
                label, for_display_line(" ".join([*map(str, command.assignments), *map(str, command.words)]))
            )
        )
        for redirect in command.redirects:
            lines.append(Line(_where(redirect.operator), for_display_line(str(redirect.target))))
        if filled := [part for word in command.parts() for part in word.fills_in]:
            lines.append(Line("The shell fills in", for_display_line(", ".join(filled))))
    return lines


def _where(operator: str) -> str:
    number = operator[:1] if operator[:1].isdigit() else ""
    match operator.lstrip("0123456789"):
        case ">>":
            words = "adds to"
        case ">" | ">|":
            words = "overwrites"
        case "<":
            words = "reads from"
        case _:
            words = "goes with output"
    return f"{'errors: ' if number == '2' else ''}{words}"


def _check_program(command: Command) -> None:
    """Raise `ToolError` where there is no such program."""
    program = command.program
    if program is None or is_builtin(program) or program.startswith(("./", "../")):
        return
    if shutil.which(program, path=search_path()) is None:
        raise ToolError(f"There is no program “{for_display_line(program)}” on this machine.")


def _identity(folder: Path | None) -> str:
    """Return what tells a folder from another that has taken its place."""
    if folder is None:
        return ""
    try:
        status = folder.lstat()
    except OSError:
        return "gone"
    return f"{status.st_dev}:{status.st_ino}"


def _how_it_ended(done: Run, seconds: float) -> str:
    match done.end:
        case "exited":
            return "Done" if done.status == 0 else f"Exit status {done.status}"
        case "time":
            return f"Ended after {seconds:g} seconds, the time limit"
        case "stopped":
            return "Stopped by the person"
        case _:
            return "Ended: it wrote more than 8 MB"


def _whole(said: str, done: Run) -> str:
    text = done.beginning
    if done.left_out:
        text += f"\n… {done.left_out} characters left out …\n"
    text += done.rest
    return f"{said}, after {done.seconds:.1f} s.\n{text}".rstrip("\n")


def _shortened(said: str, done: Run) -> str:
    """Return what the model is told: both ends of the output."""
    text = (done.beginning + done.rest).strip("\n")
    if not text.strip():
        return f"{said}. No output."
    if len(text) > _FOR_MODEL or done.left_out:
        half = _FOR_MODEL // 2
        left_out = max(len(text) - 2 * half, 0) + done.left_out
        text = f"{text[:half]}\n… {left_out} characters left out …\n{text[-half:]}"
    return f"{said}. Output:\n{text}"
