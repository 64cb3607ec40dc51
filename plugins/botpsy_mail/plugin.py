"""What the house sees of the mail: its tools and its kinds of account."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, ValidationError

from botpsy_mail.account import MailAccount, MaildirAccount
from botpsy_mail.imap_store import ImapStore
from botpsy_mail.maildir import MaildirStore
from botpsy_mail.mailroom import Mailroom
from botpsy_mail.store import MailStore
from botpsy_mail.tools import tools_on
from botpsy_tui.plugin import Account, Host, Plugin, Tool, ToolError


class MailSettings(BaseModel):
    """The table ``[plugins.mail]`` of the settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str | None = None
    """A Maildir to use as the local mailbox."""


class MailPlugin(Plugin):
    """Mails: found, read, filed, answered."""

    name = "mail"
    version = "0.1.0"
    account_kinds = (MailAccount(), MaildirAccount())
    permissions = frozenset({"network", "files", "accounts"})

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        try:
            self._settings = MailSettings.model_validate(dict(host.settings))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ToolError(f"The settings are wrong at plugins.mail.{place}: {first['msg']}.") from error

    @cached_property
    def room(self) -> Mailroom:
        """All mailboxes: those of the accounts first, then the local one."""
        zone = cast(ZoneInfo, self.host.clock().tzinfo)
        folder = self.host.data_folder / "mailbox"
        if self._settings.folder:
            folder = Path(self._settings.folder).expanduser()
        stores = [self._store(account, zone) for account in self.host.accounts]
        return Mailroom([*stores, MaildirStore(folder, zone)])

    def tools(self) -> Sequence[Tool[Any]]:
        """Return the mail's tools."""
        return tools_on(self.room)

    async def close(self) -> None:
        """Close the stores' connections."""
        await self.room.close()

    def _store(self, account: Account, zone: ZoneInfo) -> MailStore:
        if account.kind == MaildirAccount.kind:
            known = account.settings
            return MaildirStore(
                Path(known["folder"]), zone, name=account.name, address=known.get("email", ""), make=False
            )
        return ImapStore(account, self.host.secret, zone)
