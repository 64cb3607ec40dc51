"""What looks like a password, a key or a token, and is left out of what is shown or exported."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

_SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # a JSON web token
    r"|\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf|npm|pypi)[-_][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[A-Z0-9]{16}\b"
    r"|\bBearer\s+[\w.~+/-]{8,}=*"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",  # a password in an address
    re.DOTALL,
)
_NAMED_SECRET = re.compile(
    r"(\b(?:password|passwort|passcode|passphrase|pin|secret|token|api[ _-]?key)\b\s*(?:is|ist|:|=)\s*)"
    r"(?:\"[^\"]+\"|'[^']+'|\S+)",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:password|passwort|passphrase|passcode|secret|token|api_?key)$", re.IGNORECASE
)
_SECRET = "[secret]"


def hide_secrets(text: str) -> str:
    """Return a text without what looks like a password, a key or a token."""
    return _NAMED_SECRET.sub(rf"\g<1>{_SECRET}", _SECRETS.sub(_SECRET, text))


def without_secrets(value: Any) -> Any:
    """Return JSON values without what looks like a secret, in a text or under a name that says so."""
    if isinstance(value, Mapping):
        named = cast(Mapping[str, Any], value)
        return {
            name: _SECRET if inner and _SECRET_NAME.search(name) else without_secrets(inner)
            for name, inner in named.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in cast(Sequence[Any], value)]
    return hide_secrets(value) if isinstance(value, str) else value
