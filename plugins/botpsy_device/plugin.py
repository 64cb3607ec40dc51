"""What the house sees of the device plugin: its tools and its settings."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from botpsy_device.private import OpenedFolders
from botpsy_device.shell.tool import RunCommand
from botpsy_tui.plugin import Host, Plugin, Tool, ToolError


class DeviceSettings(BaseModel):
    """The table ``[plugins.device]`` of the settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folders: tuple[str, ...] = ()
    """Folders that are open to the assistant; none unless the person names some."""
    commands: bool = True
    """Whether the assistant may propose shell commands at all."""
    command_seconds: float = Field(60, gt=0, le=3600)
    """After how long a command is ended."""


class DevicePlugin(Plugin):
    """The machine itself."""

    name = "device"
    version = "0.1.0"
    permissions = frozenset(("commands", "files"))

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        try:
            self._settings = DeviceSettings.model_validate(dict(host.settings))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ToolError(f"The settings are wrong at plugins.device.{place}: {first['msg']}.") from error
        self._opened = OpenedFolders.of(self._settings.folders, host.own_folders)

    def tools(self) -> Sequence[Tool[Any]]:
        """Return the tools that this machine and the settings allow."""
        tools: list[Tool[Any]] = []
        if self._settings.commands:
            tools.append(RunCommand(self._opened, seconds=self._settings.command_seconds))
        return tools
