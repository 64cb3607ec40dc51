"""What the house sees of the web: its tools."""

import locale
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from botpsy_tui.plugin import Host, Plugin, Tool, ToolError
from botpsy_web.fence import Fence
from botpsy_web.fetcher import Fetcher
from botpsy_web.reading import Reader
from botpsy_web.search.accounts import ACCOUNT_KINDS, ENGINES
from botpsy_web.search.engine import Region, SearchEngine
from botpsy_web.search.keyless import NAMES, USUAL, KeylessEngine
from botpsy_web.tools.read_page import ReadPage
from botpsy_web.tools.search_web import SearchWeb


def _region(text: object) -> object:
    return Region.parse(text) if isinstance(text, str) else text


class WebSettings(BaseModel):
    """The table ``[plugins.web]`` of the settings. Nothing in it opens the fence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    engines: list[str] | None = None
    """Who is asked, in order: names of accounts, and of engines that need no key. Unset: the
    accounts, and only where there are none the engines of `USUAL`."""
    region: Annotated[Region, BeforeValidator(_region)] | None = None
    """For whom results are meant, such as ``en-GB``; unset, as the system's language says."""


class WebPlugin(Plugin):
    """Pages of the public web, and searching it."""

    name = "web"
    version = "0.1.0"
    account_kinds = ACCOUNT_KINDS
    permissions = frozenset(("network", "accounts"))

    def __init__(self, host: Host, *, fetcher: Fetcher | None = None) -> None:
        """`fetcher` is given by code alone; the house gives none."""
        super().__init__(host)
        try:
            self._settings = WebSettings.model_validate(dict(host.settings))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ToolError(f"The settings are wrong at plugins.web.{place}: {first['msg']}.") from error
        self._fetcher = fetcher or Fetcher(Fence())

    def tools(self) -> Sequence[Tool[Any]]:
        """Return the web's tools."""
        region = self._settings.region or _system_region()
        return (
            SearchWeb(self._engines(), region),
            ReadPage(Reader(self._fetcher), self._fetcher.fence),
        )

    def _engines(self) -> Sequence[SearchEngine]:
        """Return the engines in the order in which they are asked. Raises `ToolError`."""
        accounts = {account.name: account for account in self.host.accounts}
        engines: list[SearchEngine] = []
        for name in self._settings.engines if self._settings.engines is not None else accounts or USUAL:
            if name in accounts:
                account = accounts[name]
                engines.append(ENGINES[account.kind](account, self._fetcher, self.host.secret))
            elif name in NAMES:
                engines.append(KeylessEngine(name))
            else:
                known = ", ".join([*accounts, *NAMES])
                raise ToolError(
                    f"The settings are wrong at plugins.web.engines: there is no {name!r}, but {known}."
                )
        return engines


def _system_region() -> Region:
    """Return the region that the system's language names, such as ``de_DE.UTF-8``."""
    try:
        return Region.parse(locale.setlocale(locale.LC_CTYPE) or "")
    except ValueError:
        return Region("us", "en")
