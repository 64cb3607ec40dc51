"""The tool that runs a command: what its card shows, what it refuses, what comes of it."""

import sys

import pytest
from botpsy_device.private import OpenedFolders
from botpsy_device.shell.tool import RunCommand

from botpsy_tui.approval.policy import CallFacts, Rule
from botpsy_tui.approval.policy.matching import Matcher
from botpsy_tui.plugin import Risk, ToolError
from tests.device.world import SECRET, Machine, lines, needs

linux = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    if sys.platform == "linux":
        needs("bwrap")


def new_tool(machine: Machine) -> RunCommand:
    opened = OpenedFolders.of([str(machine.documents)], ())
    return RunCommand(opened, seconds=20)


@linux
async def test_the_card_shows_the_command_whole_and_taken_apart(machine: Machine) -> None:
    tool = machine.tools()["run_command"]
    proposal = await machine.propose(
        tool, command="cat notes.txt | grep -c 'some notes' > $HOME/count", why="to count\nthem"
    )
    assert [(line.label, line.value) for line in proposal.preview.lines] == [
        ("Command", "cat notes.txt | grep -c 'some notes' > $HOME/count"),
        ("Runs", "cat notes.txt"),
        ("and pipes it to", "grep -c 'some notes'"),
        ("overwrites", "$HOME/count"),
        ("The shell fills in", "$HOME"),
        ("Folder", str(machine.documents)),
        ("May read", f"the system's programs; {machine.documents}"),
        ("May change", "nothing"),
        ("Network", "none"),
        ("Sandbox", "bubblewrap"),
        ("At most", "60 seconds"),
        ("The model says why", "to count↵them"),
    ]
    assert proposal.preview.warnings == (
        "It writes to $HOME/count, outside of the folder or not known before.",
    )
    assert proposal.risk is Risk.DESTRUCTIVE


@linux
async def test_a_simple_command_is_run_without_a_shell(machine: Machine) -> None:
    proposal = await machine.propose(machine.tools()["run_command"], command="grep -c 'some notes' notes.txt")
    assert proposal.payload["argv"] == ["grep", "-c", "some notes", "notes.txt"]
    outcome = await machine.tools()["run_command"].commit(proposal, machine.context())
    assert outcome.text == "Done. Output:\n1"
    assert outcome.sources == ("the output of “grep -c 'some notes' notes.txt”",)


@linux
@pytest.mark.parametrize(
    ("wants", "risk", "change", "network"),
    [
        ("nothing", Risk.WRITE, "nothing", "none"),
        ("writing", Risk.WRITE, "DOCUMENTS", "none"),
        ("network", Risk.SEND, "nothing", "the internet, and what listens on this machine"),
        ("writing and network", Risk.SEND, "DOCUMENTS", "the internet, and what listens on this machine"),
    ],
)
async def test_what_it_needs_is_on_the_card_and_in_the_risk(
    machine: Machine, wants: str, risk: Risk, change: str, network: str
) -> None:
    proposal = await machine.propose(machine.tools()["run_command"], command="ls", needs=wants)
    shown = lines(proposal)
    assert proposal.risk is risk
    assert shown["May change"] == change.replace("DOCUMENTS", str(machine.documents))
    assert shown["Network"] == network
    assert proposal.facts["outbound_data"] is ("network" in wants)


@linux
async def test_it_writes_only_where_the_card_says_so(machine: Machine) -> None:
    tool = machine.tools()["run_command"]
    refused = await machine.do(tool, command="touch new.txt")
    assert refused.text.startswith("Exit status 1. Output:")
    assert "Read-only" in refused.text
    assert (await machine.do(tool, command="touch new.txt", needs="writing")).text == "Done. No output."
    assert (machine.documents / "new.txt").exists()


async def test_without_a_sandbox_the_card_says_so_and_no_rule_lets_it_through(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "platform", "linux")
    proposal = await machine.propose(new_tool(machine), command="ls")
    assert any("no sandbox" in warning for warning in proposal.preview.warnings)
    assert lines(proposal)["May reach"] == "everything that you can reach"
    assert proposal.risk is Risk.DESTRUCTIVE
    call = CallFacts.of(proposal, tainted=False)
    assert Rule("r", "run_command", "allow", {"command": (Matcher("argv", ["ls"]),)}).matches(call)
    outcome = await new_tool(machine).commit(proposal, machine.context())
    assert "notes.txt" in outcome.text


@linux
async def test_a_sandbox_that_went_away_after_the_yes_runs_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = await machine.propose(machine.tools()["run_command"], command="touch new.txt", needs="writing")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolError, match="sandbox is not there any more"):
        await new_tool(machine).commit(proposal, machine.context())
    assert not (machine.documents / "new.txt").exists()


async def test_a_folder_swapped_after_the_yes_is_noticed(machine: Machine) -> None:
    tool = machine.tools()["run_command"]
    proposal = await machine.propose(tool, command="ls")
    machine.documents.rename(machine.home / "old")
    machine.documents.symlink_to(machine.outside)
    with pytest.raises(ToolError, match="not the folder any more"):
        await tool.commit(proposal, machine.context())


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("sudo ls", "sudo is not run from here"),
        ("vim x", "needs a terminal of its own"),
        ("no-such-program x", "There is no program “no-such-program”"),
        ("ls | no-such-program", "There is no program “no-such-program”"),
        ("for i in 1; do ls; done", "belongs to a script"),
        ("ls &", "would leave a program running"),
    ],
)
async def test_what_is_not_run_is_said_in_a_sentence(machine: Machine, command: str, sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        await machine.propose(machine.tools()["run_command"], command=command)


async def test_a_folder_that_is_not_open_is_no_place_to_run_in(machine: Machine) -> None:
    for folder in (
        str(machine.outside),
        "~",
        "..",
        str(machine.home / ".ssh"),
        "Documents/../../outside",
        "/",
    ):
        with pytest.raises(ToolError, match="that is open to me"):
            await machine.propose(machine.tools()["run_command"], command="ls", folder=folder)


async def test_a_link_out_of_an_opened_folder_opens_nothing(machine: Machine) -> None:
    (machine.documents / "link").symlink_to(machine.outside)
    with pytest.raises(ToolError, match="that is open to me"):
        await machine.propose(machine.tools()["run_command"], command="ls", folder="link")


async def test_a_folder_can_be_named_as_people_do(machine: Machine) -> None:
    (machine.documents / "taxes").mkdir()
    for folder in ("documents", "taxes", "~/Documents/taxes"):
        proposal = await machine.propose(machine.tools()["run_command"], command="ls", folder=folder)
        assert lines(proposal)["Folder"] == str(
            machine.documents / ("" if folder == "documents" else "taxes")
        )


async def test_the_home_folder_is_never_writable_as_a_whole(machine: Machine) -> None:
    tool = machine.tools(folders=[str(machine.home)])["run_command"]
    with pytest.raises(ToolError, match="choose a folder in it"):
        await machine.propose(tool, command="ls", needs="writing")
    for folder in (".config", ".local"):
        (machine.home / folder).mkdir(exist_ok=True)
        with pytest.raises(ToolError, match="choose a folder in it"):
            await machine.propose(tool, command="ls", needs="writing", folder=folder)
    assert (await machine.propose(tool, command="ls", needs="writing", folder="Documents")).risk is Risk.WRITE


@pytest.mark.parametrize(
    "folder", ["/", "/etc", "/proc/1", "/run/user", "relative", "~/.ssh", "~/.local/share/botpsy"]
)
def test_what_belongs_to_the_system_or_is_secret_cannot_be_opened(machine: Machine, folder: str) -> None:
    with pytest.raises(ToolError, match=r"^plugins\.device\.folders: "):
        machine.plugin(folders=[folder])


@linux
async def test_without_any_opened_folder_it_runs_in_an_empty_one(machine: Machine) -> None:
    tool = machine.tools(folders=[])["run_command"]
    proposal = await machine.propose(tool, command="ls -A")
    assert lines(proposal)["Folder"] == "an empty one of its own"
    assert (await tool.commit(proposal, machine.context())).text == "Done. No output."


@linux
async def test_long_output_is_cut_for_the_model_and_told_as_it_comes(machine: Machine) -> None:
    told: list[str] = []
    tool = machine.tools()["run_command"]
    proposal = await machine.propose(tool, command="seq 1 20000")
    outcome = await tool.commit(proposal, machine.context(progress=told.append))
    assert outcome.text.startswith("Done. Output:\n1\n2\n")
    assert outcome.text.endswith("\n20000")
    assert "characters left out" in outcome.text
    assert len(outcome.text) < 2200
    assert "".join(told).startswith("1\n2\n3\n")


@linux
async def test_escape_sequences_of_a_program_are_shown_not_obeyed(machine: Machine) -> None:
    outcome = await machine.do(machine.tools()["run_command"], command=r"printf 'a\033[2J\033]0;x\007b'")
    assert "␛[2J" in outcome.view
    assert "\x1b" not in outcome.text + outcome.view


@linux
async def test_the_time_limit_of_the_settings_holds(machine: Machine) -> None:
    outcome = await machine.do(machine.tools(command_seconds=0.5)["run_command"], command="sleep 30")
    assert outcome.text == "Ended after 0.5 seconds, the time limit. No output."


@linux
async def test_secrets_of_the_environment_stay_outside(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", SECRET)
    outcome = await machine.do(machine.tools()["run_command"], command="env")
    assert "HOME=" in outcome.text
    assert SECRET not in outcome.text


def test_the_person_can_do_without_commands_at_all(machine: Machine) -> None:
    assert "run_command" not in machine.tools(commands=False)


def test_wrong_settings_are_named(machine: Machine) -> None:
    with pytest.raises(ToolError, match=r"plugins\.device\.command_seconds"):
        machine.plugin(command_seconds=0)
    with pytest.raises(ToolError, match=r"plugins\.device\.shell"):
        machine.plugin(shell=True)
