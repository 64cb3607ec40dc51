"""What the house sees of the web: its tools."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from botpsy_tui.plugin import Host, Plugin, Tool, ToolError
from botpsy_web.fence import Fence
from botpsy_web.fetcher import Fetcher
from botpsy_web.reading import Reader
from botpsy_web.tools.read_page import ReadPage


class WebSettings(BaseModel):
    """The table ``[plugins.web]`` of the settings. Nothing in it opens the fence."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WebPlugin(Plugin):
    """Pages of the public web."""

    name = "web"
    version = "0.1.0"
    permissions = frozenset(("network",))

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
        return (ReadPage(Reader(self._fetcher), self._fetcher.fence),)
