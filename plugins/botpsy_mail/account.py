"""The mail's kinds of account: IMAP servers, found from the address, and Maildirs of other programs."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar
from zoneinfo import ZoneInfo

from botpsy_mail.addresses import checked_address
from botpsy_mail.discovery import Found, candidates, fetch_page, service_records
from botpsy_mail.imap_connection import close, open_connection
from botpsy_mail.imap_store import list_folders
from botpsy_mail.maildir import MaildirStore
from botpsy_mail.servers import server_of
from botpsy_mail.store import Folder, StoreProblem
from botpsy_tui.plugin import AccountKind, AccountProblem, ToolError, for_display_line


class MailAccount(AccountKind):
    """``botpsy account add mail you@example.org``."""

    kind: ClassVar[str] = "mail"
    description: ClassVar[str] = "A mail server (IMAP, and SMTP for sending), found from your address"

    def settings_of(self, address: str, user: str | None) -> dict[str, str]:
        """Take the address for a mail address."""
        return {"email": address, **({"username": user} if user else {})}

    async def connect(self, settings: Mapping[str, str], secret: str | None) -> tuple[dict[str, str], str]:
        """Find the servers where they are not named, log in, and count what is there."""
        try:
            email = checked_address(settings.get("email", ""))
        except ToolError as error:
            raise AccountProblem(
                f"{error} The command is: botpsy account add mail you@example.org."
            ) from error
        return await asyncio.to_thread(_connect, dict(settings), email, secret or "")


class MaildirAccount(AccountKind):
    """``botpsy account add maildir ~/Mail --set email=you@example.org``."""

    kind: ClassVar[str] = "maildir"
    description: ClassVar[str] = "A Maildir that another program, such as mbsync, keeps in step with a server"
    needs_secret: ClassVar[bool] = False

    def settings_of(self, address: str, user: str | None) -> dict[str, str]:
        """Take the address for a folder."""
        return {"folder": address, **({"email": user} if user else {})}

    async def connect(self, settings: Mapping[str, str], secret: str | None) -> tuple[dict[str, str], str]:
        """Look for folders with mail."""
        folder = await asyncio.to_thread(lambda: Path(settings["folder"]).expanduser().absolute())
        if not await asyncio.to_thread(folder.is_dir):
            raise AccountProblem(f"There is no folder {for_display_line(str(folder))}.")
        store = MaildirStore(folder, ZoneInfo("UTC"), make=False)
        try:
            found = await store.folders()
        except StoreProblem as error:
            raise AccountProblem(str(error)) from error
        finally:
            await store.close()
        if not found:
            raise AccountProblem(
                f"There is no Maildir in {for_display_line(str(folder))}: no folder with cur, new and tmp."
            )
        return {**settings, "folder": str(folder)}, _names(found)


def _connect(settings: dict[str, str], email: str, secret: str) -> tuple[dict[str, str], str]:
    """Return the completed settings, with the first of the likely servers that lets the person in."""
    if settings.get("imap"):
        tries = iter([Found(settings["imap"], settings.get("smtp", ""), settings.get("username", email))])
    else:
        tries = candidates(email, fetch_page, service_records)
    problem: StoreProblem | None = None
    for found in tries:
        complete = {
            "username": found.username,
            **settings,
            "imap": found.imap,
            **({"smtp": found.smtp} if found.smtp and "smtp" not in settings else {}),
        }
        try:
            folders = _folders_of(complete, secret)
        except StoreProblem as error:
            problem = problem or error
            if "user name or password" in str(error):
                raise AccountProblem(str(error)) from error
            continue
        return complete, _names(folders)
    if settings.get("imap") and problem:
        raise AccountProblem(str(problem)) from problem
    raise AccountProblem(
        f"No mail server was found for {for_display_line(email)} ({problem}) Name it with "
        "--set imap=imaps://HOST and --set smtp=smtps://HOST."
    )


def _folders_of(settings: Mapping[str, str], secret: str) -> list[Folder]:
    client = open_connection(server_of(settings, "imap"), settings["username"], secret)
    try:
        return list_folders(client, "")
    finally:
        close(client)


def _names(found: Sequence[Folder]) -> str:
    shown = ", ".join(for_display_line(folder.path) for folder in found[:6])
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    return f"{len(found)} folder{'s' * (len(found) != 1)} found: {shown}{more}."
