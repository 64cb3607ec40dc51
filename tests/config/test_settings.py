"""The settings file: read, refused in a sentence, changed without losing a comment."""

from pathlib import Path

import pytest

from botpsy_tui.config import (
    AccountSettings,
    SettingsProblem,
    add_account,
    load_settings,
    read_secret,
    remove_account,
)
from botpsy_tui.plugin import SecretUnavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def account(name: str = "work", **more: object) -> AccountSettings:
    return AccountSettings(name=name, kind="caldav", settings={"url": "https://dav.example.org/"}, **more)


def test_no_file_is_the_defaults(path: Path) -> None:
    assert load_settings(path).engine.context == 8192


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("engine = [", "not valid TOML"),
        ("[engine]\ncontext = 5", "engine.context"),
        ("[engine]\nspeed = 5", "engine.speed"),
        ('[engine]\nthinking = "maybe"', "engine.thinking: Input should be 'auto', 'on' or 'off'"),
        ("[engine]\nseed = -1", "engine.seed"),
        ("[engine]\nreasoning_tokens = 0", "engine.reasoning_tokens"),
        ('timezone = "Mars/Olympus"', "no time zone 'Mars/Olympus'"),
        (
            '[[accounts]]\nname = "a"\nkind = "x"\n[[accounts]]\nname = "a"\nkind = "x"',
            "two accounts are named",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(path: Path, text: str, says: str) -> None:
    path.write_text(text)
    with pytest.raises(SettingsProblem, match=says):
        load_settings(path)


@pytest.mark.parametrize(
    ("written", "means"), [("true", "on"), ("false", "off"), ('"auto"', "auto"), ('"on"', "on")]
)
def test_thinking_is_a_word_or_the_switch_it_once_was(path: Path, written: str, means: str) -> None:
    path.write_text(f"[engine]\nthinking = {written}\n")
    assert load_settings(path).engine.thinking == means
    assert load_settings(path.with_name("none.toml")).engine.thinking == "auto"


def test_an_account_is_added_and_removed_and_comments_stay(path: Path) -> None:
    path.write_text('# my own words\ntimezone = "Europe/Berlin" # home\n')
    add_account(account(), path)
    add_account(account("home", password_env="X"), path)
    assert [a.name for a in load_settings(path).accounts] == ["work", "home"]
    assert remove_account("work", path).name == "work"
    remove_account("home", path)
    assert path.read_text().startswith('# my own words\ntimezone = "Europe/Berlin" # home\n')
    assert load_settings(path).accounts == []


def test_a_second_account_of_the_same_name_is_refused(path: Path) -> None:
    add_account(account(), path)
    with pytest.raises(SettingsProblem, match="There is an account work already"):
        add_account(account(), path)


def test_an_account_that_is_not_there_cannot_be_removed(path: Path) -> None:
    with pytest.raises(SettingsProblem, match="There is no account work; there are: none"):
        remove_account("work", path)


def test_only_the_owner_can_read_what_is_written(path: Path) -> None:
    add_account(account(), path)
    assert path.stat().st_mode & 0o077 == 0


def test_a_password_comes_from_a_command(tmp_path: Path) -> None:
    assert read_secret(account(password_command=["printf", "s3cret\nnot this"])) == "s3cret"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"password_command": ["false"]}, "status 1 and no password"),
        ({"password_command": ["no-such-program-here"]}, "could not be run"),
        ({"password_env": "BOTPSY_NOT_SET"}, r"\$BOTPSY_NOT_SET, which is not set"),
    ],
)
def test_a_password_that_cannot_be_had_is_one_sentence(more: dict[str, object], says: str) -> None:
    with pytest.raises(SecretUnavailable, match=says):
        read_secret(account(**more))
