"""The calendar: events on CalDAV servers and in local folders."""

from botpsy_calendar.plugin import CalendarPlugin

__all__ = ["CalendarPlugin"]
