"""`botpsy policy`, as a person uses it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from botpsy_tui.cli.main import app


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOTPSY_HOME", str(tmp_path))


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
