"""A text that holds several addresses: none of them rides along with one that a rule is about."""

import string
from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botpsy_tui.approval.policy import CallFacts, Matcher, parse_rule
from botpsy_tui.plugin import Risk


def allows(pattern: str, value: str) -> bool:
    return Matcher("glob", pattern).fits(value, every=True) is True


@pytest.mark.parametrize(
    ("pattern", "value", "allowed"),
    [
        ("*@corp.example", "ann@corp.example", True),
        ("*@corp.example", "eve@evil.test, ann@corp.example", False),
        ("*@corp.example", "eve@evil.test;ann@corp.example", False),
        ("*@corp.example", "eve@evil.test\nann@corp.example", False),
        ("*@corp.example", "eve@evil.test ann@corp.example", False),
        ("*@corp.example", "eve, ann@corp.example", False),
        ("*@corp.example", "eve@evil.test，ann@corp.example", False),
        ("*@corp.example", "<eve@evil.test>ann@corp.example", False),
        ("*@corp.example", '"eve@evil.test"@corp.example', False),
        ("*@corp.example", "eve(x)@corp.example", False),
        ("*corp.example", "eve@evil.test,corp.example", False),
        ("ann@*", "ann@corp.example,eve@evil.test", False),
        ("ann@corp.example?eve*", "ann@corp.example,eve@evil.test", False),
        ("ann@corp.example[, ]*", "ann@corp.example,eve@evil.test", False),
        ("*@[!x]*", "ann@corp.example,eve@evil.test", False),
        ("Ann*", "Ann, Eve", False),
        ("Ann*", "Ann\u2028Eve", False),
        ("Ann <*@corp.example>", "Ann <ann@corp.example>", True),
        ("*, bob@corp.example", "ann@corp.example, bob@corp.example", False),
        ("Review *", "Review of the plan (draft)", True),
        ("Lunch, *", "Lunch, then a walk", True),
        ("*", "", True),
    ],
)
def test_a_wildcard_that_allows_takes_no_second_address(pattern: str, value: str, allowed: bool) -> None:
    assert allows(pattern, value) is allowed


ADDRESSES = st.builds(
    "{}@{}.test".format,
    st.text(string.ascii_lowercase, min_size=1, max_size=4),
    st.text(string.ascii_lowercase, min_size=1, max_size=4),
)
PARTING = st.sampled_from([",", ";", ", ", "\n", "\r\n ", " ", "\t", "，", "；", "> <", ">,<"])
GLOBS = st.text(st.sampled_from("ab@.*?[]!-test"), min_size=1, max_size=12)


@settings(max_examples=500, deadline=None)
@given(GLOBS, ADDRESSES, ADDRESSES, PARTING)
def test_whatever_the_pattern_two_addresses_never_pass_as_one(
    pattern: str, first: str, second: str, parting: str
) -> None:
    assert not allows(pattern, first + parting + second)


@settings(max_examples=300, deadline=None)
@given(GLOBS, ADDRESSES)
def test_one_address_alone_is_matched_as_any_text(pattern: str, address: str) -> None:
    assert allows(pattern, address) is fnmatchcase(address, pattern)


def denies(condition: str, value: object) -> bool | None:
    rule = parse_rule(f'[[rule]]\nid = "a"\ntool = "t"\ndecision = "deny"\n[rule.match]\nto = {condition}\n')
    return rule.about(CallFacts("t", Risk.SEND, {"to": value}))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "condition",
    ['"eve@evil.test"', '{ one_of = ["eve@evil.test"] }', '{ glob = "eve@*" }', '{ glob = "*@evil.test" }'],
)
@pytest.mark.parametrize(
    "value",
    [
        "eve@evil.test",
        "ann@corp.example, eve@evil.test",
        "ann@corp.example; Eve <EVE@evil.test>",
        "Eve <eve@evil.test>",
        "mailto:eve@evil.test",
        "eve@evil.test.",
        "ann@corp.example eve＠evil.test",
        ["ann@corp.example", "x@corp.example,eve@evil.test"],
    ],
)
def test_an_address_that_is_denied_is_found_in_a_text_with_others(condition: str, value: object) -> None:
    assert denies(condition, value) is True


@pytest.mark.parametrize(
    "value", ['"eve"@evil.test', "eve(me)@evil.test", "eve @evil.test", "eve@ evil.test", "e\\ve\\@evil.test"]
)
def test_an_address_that_is_spelled_oddly_is_asked_about(value: str) -> None:
    assert denies('"eve@evil.test"', value) is None


def test_a_text_without_the_denied_address_is_not_denied() -> None:
    assert denies('"eve@evil.test"', "ann@corp.example, Bob <bob@corp.example>") is False
    assert denies('"Work"', "ann@corp.example, bob@corp.example") is False


def test_a_word_of_a_command_holds_one_address() -> None:
    rule = parse_rule(
        '[[rule]]\nid = "a"\ntool = "t"\ndecision = "allow"\n[rule.match]\n'
        'command = { argv = ["notify", "*@corp.example"] }\n'
    )

    def about(line: str) -> bool | None:
        return rule.about(CallFacts("t", Risk.WRITE, {"command": line}))

    assert about("notify ann@corp.example") is True
    assert about("notify eve@evil.test,ann@corp.example") is False
