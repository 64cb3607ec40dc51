"""An account as the settings file names it: where it is, who you are there, where the secret lies."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from botpsy_tui.plugin import Account

ENDPOINT = "endpoint"
"""The kind of the entry under which a model endpoint's API key is kept."""


class AccountSettings(BaseModel):
    """One ``[[accounts]]`` table. The secret itself is never in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """A short name of your own, such as ``work``."""
    kind: str
    """The kind of account, such as ``caldav``."""
    settings: dict[str, str] = {}
    """The server's address, the user name, and what the kind of account needs besides."""
    password_command: list[str] | None = None
    """A program and its arguments that print the password, such as ``["pass", "show", "work"]``."""
    password_env: str | None = None
    """The name of an environment variable that holds the password."""

    def as_account(self) -> Account:
        """Return it as a plugin sees it."""
        return Account(self.name, self.kind, dict(self.settings))
