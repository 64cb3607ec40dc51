"""What the house sees of the calendar: its tools and its kind of account."""

from collections.abc import Sequence
from datetime import time, timedelta
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from botpsy_calendar.caldav_store import CaldavAccount, CaldavStore
from botpsy_calendar.diary import Diary
from botpsy_calendar.store import CalendarStore
from botpsy_calendar.tools import tools_on
from botpsy_calendar.vdir import VdirStore
from botpsy_tui.plugin import Host, Plugin, Tool, ToolError


class CalendarSettings(BaseModel):
    """The table ``[plugins.calendar]`` of the settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    default_calendar: str | None = None
    """The name of the calendar for new events; unset, the first of the first account."""
    folder: str | None = None
    """A folder of vdir calendars to use as the local ones."""
    working_hours: tuple[time, time] = (time(9), time(18))
    """When free time is looked for."""
    event_minutes: int = 60
    """How long an event lasts where nothing is said."""


class CalendarPlugin(Plugin):
    """Events, free time, and changes to both."""

    name = "calendar"
    version = "0.1.0"
    account_kinds = (CaldavAccount(),)

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        try:
            self._settings = CalendarSettings.model_validate(dict(host.settings))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ToolError(f"The settings are wrong at plugins.calendar.{place}: {first['msg']}.") from error

    @cached_property
    def diary(self) -> Diary:
        """All calendars: those of the accounts first, then the local ones."""
        stores: list[CalendarStore] = [CaldavStore(a, self.host.secret) for a in self.host.accounts]
        folder = self.host.data_folder / "calendars"
        if self._settings.folder:
            folder = type(folder)(self._settings.folder).expanduser()
        stores.append(VdirStore(folder))
        return Diary(
            stores,
            default_calendar=self._settings.default_calendar,
            working_hours=self._settings.working_hours,
            own_address=self._own_address,
        )

    def tools(self) -> Sequence[Tool[Any]]:
        """Return the calendar's tools."""
        return tools_on(
            self.diary,
            organizer=self._own_address,
            usual_length=timedelta(minutes=self._settings.event_minutes),
        )

    async def close(self) -> None:
        """Close the stores' connections."""
        await self.diary.close()

    def _own_address(self, account: str) -> str:
        """Return the person's mail address at an account, where the user name is one."""
        for known in self.host.accounts:
            if known.name == account:
                user = known.settings.get("email") or known.settings.get("username", "")
                return user if "@" in user else ""
        return ""
