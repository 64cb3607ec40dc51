"""The person's own rules: what may run without asking, what never, and what asks always."""

from botpsy_tui.approval.policy.matching import Matcher
from botpsy_tui.approval.policy.policy import Policy, Verdict, append_rule, revoke_rule
from botpsy_tui.approval.policy.reading import Problem, RuleProblem, parse_rule
from botpsy_tui.approval.policy.rule import OUTBOUND_DATA, CallFacts, Example, Limit, Rule

__all__ = [
    "OUTBOUND_DATA",
    "CallFacts",
    "Example",
    "Limit",
    "Matcher",
    "Policy",
    "Problem",
    "Rule",
    "RuleProblem",
    "Verdict",
    "append_rule",
    "parse_rule",
    "revoke_rule",
]
