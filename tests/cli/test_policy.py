"""`botpsy policy`, as a person uses it."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from botpsy_tui.cli.main import app
from botpsy_tui.journal import CallState, Journal
from botpsy_tui.plugin import Preview, Proposal, Risk


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOTPSY_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")


def botpsy(*words: str) -> Result:
    return CliRunner().invoke(app, ["policy", *words])


def policy_file() -> Path:
    return Path(botpsy("path").stdout.strip())


def test_a_rule_is_added_listed_explained_and_revoked() -> None:
    assert "every call asks" in botpsy("list").stdout
    added = botpsy("add", "allow", "find_events", "--risk", "read")
    assert added.exit_code == 0
    assert botpsy("add", "deny", "create_event", "calendar=Work").exit_code == 0
    listed = botpsy("list").stdout
    assert "allow-find_events" in listed
    assert "calendar is “Work”" in listed
    assert botpsy("explain", "create_event", "calendar=Work").stdout.startswith("deny: The rule deny-create")
    assert botpsy("explain", "create_event").stdout.startswith("ask: No rule is about it")
    assert botpsy("explain", "find_events", "--risk", "read").stdout.startswith("allow:")
    assert botpsy("revoke", "deny-create_event-Work").exit_code == 0
    assert botpsy("explain", "create_event", "calendar=Work").stdout.startswith("ask")


def write_policy(text: str) -> None:
    policy_file().parent.mkdir(parents=True, exist_ok=True)
    policy_file().write_text(text)


LIMITED = """[[rule]]
id = "private"
tool = "create_event"
decision = "allow"
limit = { count = 2, seconds = 3600 }
match = { calendar = "Private", minutes = { max = 60 } }
"""


def use_rule(home: Path, times: int, state: CallState = CallState.APPROVED) -> None:
    """Have the journal say that the rule `private` has decided so many calls just now."""

    async def work() -> None:
        journal = Journal(home / "data" / "journal.sqlite")
        conversation = await journal.begin_conversation("fake")
        for number in range(times):
            proposal = Proposal("create_event", "1", Risk.WRITE, Preview(f"Create event {number}"), {}, {})
            row = await journal.propose(conversation, "call-1", proposal)
            await journal.record(row, state, {"rule": "private"})
        journal.close()

    asyncio.run(work())


def test_explain_names_the_condition_that_is_not_met_and_what_is_so_instead() -> None:
    write_policy(
        LIMITED
        + '[[rule]]\nid = "no-evil"\ntool = "*"\ndecision = "deny"\n'
        + 'match = { to = { domain = "evil.test" } }\n'
    )
    other = botpsy("explain", "create_event", "calendar=Work", "minutes=30").stdout
    assert "is not about this call; not met: calendar is “Private” (here “Work”)." in other
    long = botpsy("explain", "create_event", "calendar=Private", "minutes=90").stdout
    assert "not met: minutes is at most 60 (here 90)." in long
    assert "not met: calendar is “Private” (not given)." in botpsy("explain", "create_event").stdout
    assert "not met: the tool is create_event (here find_events)." in botpsy("explain", "find_events").stdout
    unclear = botpsy("explain", "send_mail", "to=https://x@evil.test/").stdout
    assert unclear.startswith("ask: It can't be told for certain whether the rule no-evil is about it: to ")
    assert "to belongs to “evil.test” (here “https://x@evil.test/”)" in unclear


def test_explain_and_list_say_how_much_of_a_limit_is_used(tmp_path: Path) -> None:
    write_policy(LIMITED)
    call = ("create_event", "calendar=Private", "minutes=30")
    assert "Used 0 of 2 times in 3600 seconds." in botpsy("explain", *call).stdout
    use_rule(tmp_path, 1)
    once = botpsy("explain", *call).stdout
    assert once.startswith("allow:")
    assert "Used 1 of 2 times in 3600 seconds." in once
    use_rule(tmp_path, 1)
    twice = botpsy("explain", *call).stdout
    assert twice.startswith("ask: The rule private has allowed 2 times in 3600 seconds, as often as it may.")
    assert "Used 2 of 2 times" in botpsy("list").stdout


def test_list_says_where_a_rule_stands_and_what_it_decided_lately(tmp_path: Path) -> None:
    write_policy("# mine\n" + LIMITED)
    use_rule(tmp_path, 4)
    use_rule(tmp_path, 1, CallState.REJECTED)
    listed = botpsy("list").stdout
    assert "policy.toml, line 2" in listed
    assert listed.count(" allowed “Create event") == 2, "the last three are told"
    assert " denied “Create event 0”" in listed
    told = json.loads(botpsy("list", "--json").stdout)["rules"][0]
    assert told["source"] == "policy.toml, line 2"
    assert told["used"] == 4
    assert [ruling["allowed"] for ruling in told["lately"]] == [False, True, True]
    assert datetime.fromisoformat(told["lately"][0]["at"]) <= datetime.now(UTC)


def test_a_pattern_that_would_allow_whatever_writes_is_refused() -> None:
    refused = botpsy("add", "allow", "*")
    assert refused.exit_code == 2
    assert 'add risk = "read"' in refused.stderr
    assert botpsy("add", "allow", "*", "--risk", "read").exit_code == 0


def test_what_sends_can_not_be_allowed() -> None:
    refused = botpsy("add", "allow", "send_mail", "--risk", "send")
    assert refused.exit_code == 2
    assert "asks each time" in refused.stderr
    assert not policy_file().exists()


def test_a_mistake_is_shown_with_its_place_and_nothing_is_written_over_it() -> None:
    policy_file().parent.mkdir(parents=True, exist_ok=True)
    policy_file().write_text('[[rule]]\nid = "a"\ntool = "x"\ndecision = "maybe"\n')
    assert "line 4, column 1" in botpsy("list").stderr
    refused = botpsy("add", "allow", "x")
    assert refused.exit_code == 2
    assert "mistake to mend first" in refused.stderr


def test_examples_that_do_not_hold_are_named() -> None:
    policy_file().parent.mkdir(parents=True, exist_ok=True)
    text = '[[rule]]\nid = "a"\ntool = "x"\ndecision = "ask"\nmust_match = [{ y = 2 }]\nmatch = { y = 1 }\n'
    policy_file().write_text(text)
    tried = botpsy("test")
    assert tried.exit_code == 1
    assert 'the rule a must match {"y": 2}' in tried.stderr
    policy_file().write_text(text.replace("must_match", "must_not_match"))
    assert botpsy("test").stdout == "1 of 1 examples are as they should be.\n"


def test_the_examples_of_the_documentation_hold() -> None:
    page = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()
    policy_file().parent.mkdir(parents=True, exist_ok=True)
    policy_file().write_text(page.split("```toml\n")[1].split("```")[0])
    assert botpsy("test").stdout == "3 of 3 examples are as they should be.\n"
