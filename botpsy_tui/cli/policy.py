"""``botpsy policy``: the rules by which calls run without asking, or never."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say, say_json, say_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from botpsy_tui.approval.permissions import Permissions
    from botpsy_tui.approval.policy import Problem
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
    """Show the rules in words, where each stands, what it decided lately, and what is wrong with the file."""
    from botpsy_tui.approval.permissions import NO_RULES

    permissions = _permissions()
    if as_json:
        say_json(
            {
                "rules": [
                    {
                        "id": each.rule.id,
                        "decision": each.rule.decision,
                        "words": each.rule.in_words(),
                        "line": each.rule.line,
                        "source": each.source,
                        "expired": each.expired,
                        "used": each.used,
                        "lately": [vars(ruling) for ruling in each.lately],
                    }
                    for each in permissions.rules
                ],
                "problems": [vars(problem) for problem in permissions.problems],
            }
        )
        return
    for each in permissions.rules:
        say_row(each.rule.id, "\n".join([each.rule.in_words(), *each.details()]), indent=0)
    if not permissions.rules and not permissions.problems:
        say(NO_RULES)
    _show_problems(permissions.problems)


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

    from botpsy_tui.approval.policy import CallFacts, Policy

    now = datetime.now().astimezone()
    permissions = _permissions()
    policy = Policy(tuple(each.rule for each in permissions.rules), permissions.problems)
    call = CallFacts(tool, _risk(risk), _values(values), tainted)
    verdict = policy.decide(call, now=now, used={each.rule.id: each.used for each in permissions.rules})
    say(f"{verdict.decision}: {verdict.reason or 'No rule is about it, so it is asked.'}")
    for each in permissions.rules:
        about = each.rule.about(call)
        if each.expired:
            word = "has expired"
        elif about is False:
            word = f"is not about this call; not met: {each.rule.unmet(call)}"
        elif each.rule is verdict.rule:
            word = "decides"
        elif about is None:
            word = f"may be about this call; not certain: {each.rule.unmet(call)}"
        else:
            word = "matches, and something else goes before it"
        say_row(each.rule.id, "\n".join([f"{word}.", each.rule.in_words(), *filter(None, [each.limit_used])]))
    _show_problems(policy.problems)


@app.command("test")
def test() -> None:
    """Try each rule on its own examples, the calls it must and must not match."""
    from botpsy_tui.approval.policy import CallFacts, Policy
    from botpsy_tui.config import policy_path
    from botpsy_tui.plugin import Risk

    policy, failed, tried = Policy.read(policy_path()), 0, 0
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
    _show_problems(policy.problems)
    say(f"{tried - failed} of {tried} examples are as they should be.")
    if failed or policy.problems:
        raise typer.Exit(Exit.FAILED)


def _permissions() -> "Permissions":
    """Read the rules, and what the journal tells of them."""
    import asyncio
    from datetime import datetime

    from botpsy_tui.approval.permissions import read_permissions
    from botpsy_tui.config import data_folder, policy_path
    from botpsy_tui.journal import Journal, JournalProblem

    try:
        journal = Journal(data_folder() / "journal.sqlite")
    except JournalProblem as problem:
        stop(str(problem))
    try:
        return asyncio.run(read_permissions(policy_path(), journal, datetime.now().astimezone()))
    finally:
        journal.close()


def _show_problems(problems: "Sequence[Problem]") -> None:
    from botpsy_tui.approval.permissions import WITH_PROBLEMS

    for problem in problems:
        say(f"botpsy: {problem}", err=True)
    if problems:
        say(f"botpsy: {WITH_PROBLEMS}", err=True)


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
