"""What a plugin is: a class under the entry-point group ``botpsy.plugins``."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from botpsy_tui.plugin.context import AccountKind, Host
from botpsy_tui.plugin.tools import Tool


class Plugin(ABC):
    """A set of tools, made once per run with its `Host`. Making one must be quick and do no I/O."""

    name: ClassVar[str]
    version: ClassVar[str]
    account_kinds: ClassVar[Sequence[AccountKind]] = ()
    permissions: ClassVar[frozenset[str]] = frozenset()
    """What it reaches for, shown when it is first trusted: ``network``, ``files``, ``commands``,
    ``accounts``. Only ``accounts`` is enforced: without it a plugin of others is given none."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @abstractmethod
    def tools(self) -> Sequence[Tool[Any]]:
        """The plugin's tools, in the order in which the model sees them; constant for a run."""

    async def close(self) -> None:  # noqa: B027 - most plugins hold nothing open
        """Release connections and threads."""
