"""The mail's tools, in the order in which the model sees them."""

from collections.abc import Sequence
from typing import Any

from botpsy_mail.mailroom import Mailroom
from botpsy_mail.tools.filing import FileMail
from botpsy_mail.tools.finding import FindMail
from botpsy_mail.tools.reading import ReadMail
from botpsy_tui.plugin import Tool


def tools_on(room: Mailroom) -> Sequence[Tool[Any]]:
    """Return the tools."""
    return (FindMail(room), ReadMail(room), FileMail(room))
