"""``botpsy policy``: the rules by which calls run without asking, or never."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say, say_json, say_row

if TYPE_CHECKING:
    from botpsy_tui.approval.policy import Policy
    from botpsy_tui.plugin import Risk

app = typer.Typer(help="Your rules: which calls run without asking, and which never.", no_args_is_help=True)

Values = Annotated[
    list[str] | None, typer.Argument(metavar="NAME=VALUE…", help="Values of the call, such as calendar=Work.")
]


@app.command("path")
def path() -> None:
    """Show where the rules are kept."""
    from botpsy_tui.config import policy_path

    say(str(policy_path()))


@app.command("list")
def list_rules(as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
    """Show the rules in words, and what is wrong with the file."""
    policy = _policy()
    if as_json:
        say_json(
            {
                "rules": [
                    {"id": r.id, "decision": r.decision, "words": r.in_words(), "line": r.line}
                    for r in policy.rules
                ],
                "problems": [vars(problem) for problem in policy.problems],
            }
        )
        return
    for rule in policy.rules:
        say_row(rule.id, rule.in_words(), indent=0)
    if not policy.rules and not policy.problems:
        say("There are no rules: every call asks.")
    _show_problems(policy)


@app.command("add")
def add(
    decision: Annotated[Literal["allow", "ask", "deny"], typer.Argument(help="What becomes of the call.")],
    tool: Annotated[str, typer.Argument(help="The tool's name; * stands for anything.")],
    values: Values = None,
    risk: Annotated[str | None, typer.Option(help="Only calls of this risk: read or write.")] = None,
    name: Annotated[str | None, typer.Option("--id", help="The rule's id; left out, one is made.")] = None,
) -> None:
    """Add a rule. What sends or deletes is asked about whatever the rules say.

    Examples: botpsy policy add allow find_events · botpsy policy add deny delete_event calendar=Work
    """
    from botpsy_tui.approval.policy import Matcher, Rule, RuleProblem, append_rule
    from botpsy_tui.config import policy_path

    given = _values(values)
    rule = Rule(
        id=name or "-".join([decision, tool.replace("*", "any"), *map(str, given.values())]),
        tool=tool,
        decision=decision,
        match={key: (Matcher("equals", value),) for key, value in given.items()},
        risks=(_risk(risk),) if risk else (),
    )
    try:
        append_rule(policy_path(), rule)
    except RuleProblem as problem:
        stop(str(problem), Exit.USAGE)
    say(f"{rule.id}: {rule.in_words()}")


@app.command("revoke")
def revoke(rule_id: Annotated[str, typer.Argument(metavar="ID", help="The rule's id.")]) -> None:
    """Take a rule out of the file; the rest stays as you wrote it."""
    from botpsy_tui.approval.policy import RuleProblem, revoke_rule
    from botpsy_tui.config import policy_path

    try:
        rule = revoke_rule(policy_path(), rule_id)
    except RuleProblem as problem:
        stop(str(problem))
    say(f"Gone: {rule.in_words()}")


@app.command("explain")
def explain(
    tool: Annotated[str, typer.Argument(help="The tool's name.")],
    values: Values = None,
    risk: Annotated[str, typer.Option(help="read, write, send or destructive.")] = "write",
    tainted: Annotated[bool, typer.Option("--tainted", help="As if words of strangers were about.")] = False,
) -> None:
    """Say what the rules make of a call, and by which rule.

    Example: botpsy policy explain create_event calendar=Work --risk write
    """
    from datetime import datetime

    from botpsy_tui.approval.policy import CallFacts

    policy, now = _policy(), datetime.now().astimezone()
    call = CallFacts(tool, _risk(risk), _values(values), tainted)
    verdict = policy.decide(call, now=now)
    say(f"{verdict.decision}: {verdict.reason or 'No rule is about it, so it is asked.'}")
    for rule in policy.rules:
        if rule is verdict.rule:
            word = "decides"
        elif not rule.matches(call):
            word = "is not about this call"
        else:
            word = "has expired" if rule.expired(now) else "matches, and another goes before it"
        say_row(rule.id, f"{word}. {rule.in_words()}")
    _show_problems(policy)


@app.command("test")
def test() -> None:
    """Try each rule on its own examples, the calls it must and must not match."""
    from botpsy_tui.approval.policy import CallFacts
    from botpsy_tui.plugin import Risk

    policy, failed, tried = _policy(), 0, 0
    for rule in policy.rules:
        for example in rule.examples:
            tried += 1
            risk = rule.risks[0] if rule.risks else Risk.WRITE
            if rule.matches(CallFacts(rule.tool, risk, example.values)) is not example.must_match:
                failed += 1
                verb = "must match" if example.must_match else "must not match"
                say(
                    f"line {rule.line}: the rule {rule.id} {verb} {json.dumps(dict(example.values))}",
                    err=True,
                )
    _show_problems(policy)
    say(f"{tried - failed} of {tried} examples are as they should be.")
    if failed or policy.problems:
        raise typer.Exit(Exit.FAILED)


def _policy() -> "Policy":
    from botpsy_tui.approval.policy import Policy
    from botpsy_tui.config import policy_path

    return Policy.read(policy_path())


def _show_problems(policy: "Policy") -> None:
    for problem in policy.problems:
        say(f"botpsy: {problem}", err=True)
    if policy.problems:
        say(
            "botpsy: Until this is mended no rule allows anything; a denial that can be read still denies.",
            err=True,
        )


def _risk(text: str) -> "Risk":
    from botpsy_tui.plugin import Risk

    if text not in set(Risk):
        stop(f"There is no risk {text}; there are {', '.join(Risk)}.", Exit.USAGE)
    return Risk(text)


def _values(given: list[str] | None) -> dict[str, Any]:
    """Read NAME=VALUE pairs; a value that is JSON is taken as that, any other as text."""
    values: dict[str, Any] = {}
    for pair in given or []:
        name, separator, text = pair.partition("=")
        if not separator or not name:
            stop(f"{pair} is no NAME=VALUE.", Exit.USAGE)
        try:
            values[name] = json.loads(text)
        except ValueError:
            values[name] = text
    return values
