"""Values of iCalendar properties: dates and times in their zones, lengths, texts (RFC 5545 §3.3)."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from botpsy_calendar.document import Component, Property

_DATE_TIME = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d))?(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?)?", re.I
)
_DURATION = re.compile(r"([+-])?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.I)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LONGEST_DAYS = 366 * 20

Zones = Callable[[str], tzinfo | None]
"""Gives the zone that a TZID names, or None where nobody knows it."""


def read_moment(property: Property, zones: Zones) -> date | datetime:
    """Return a DATE or DATE-TIME: UTC and zoned times aware, floating ones naive. Raises `ValueError`.

    Other programs' slips are taken as they were meant: dashes and colons, seconds left out, a
    date where ``VALUE=DATE`` was forgotten, a zone that nobody knows (floating then).
    """
    return moment_of(property.value, property.parameters.get("TZID", ""), zones)


def moment_of(text: str, tzid: str, zones: Zones) -> date | datetime:
    """Return what one DATE or DATE-TIME stands for. Raises `ValueError`."""
    found = _DATE_TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text[:30]!r} is no date")
    year, month, day, hour, minute, second, mark = found.groups()
    if hour is None:
        return date(int(year), int(month), int(day))
    # A leap second is the last one before it.
    clock = datetime(int(year), int(month), int(day), int(hour), int(minute), min(int(second or 0), 59))
    if mark and mark in "Zz":
        return clock.replace(tzinfo=UTC)
    if mark:
        offset = timedelta(hours=int(mark[:3]), minutes=int(mark[0] + mark[-2:]))
        return (clock - offset).replace(tzinfo=UTC)
    zone = zones(tzid) if tzid else None
    return clock if zone is None else clock.replace(tzinfo=zone)


def read_moments(property: Property, zones: Zones) -> list[date | datetime]:
    """Return the dates of RDATE or EXDATE; of a period (RDATE), its start."""
    tzid = property.parameters.get("TZID", "")
    return [moment_of(v.partition("/")[0], tzid, zones) for v in property.value.split(",") if v.strip()]


def write_moment(name: str, moment: date | datetime, tzid: str = "") -> str:
    """Return a content line with a DATE, a UTC or a floating time, or one in the zone called `tzid`."""
    if not isinstance(moment, datetime):
        return f"{name};VALUE=DATE:{moment:%Y%m%d}"
    if moment.tzinfo is None:
        return f"{name}:{moment:%Y%m%dT%H%M%S}"
    if moment.tzinfo is UTC or not (tzid or isinstance(moment.tzinfo, ZoneInfo)):
        return f"{name}:{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    tzid = tzid or str(moment.tzinfo)
    quoted = f'"{tzid}"' if re.search(r"[:;,]", tzid) else tzid
    return f"{name};TZID={quoted}:{moment:%Y%m%dT%H%M%S}"


def read_duration(text: str) -> timedelta:
    """Return a DURATION (§3.3.6). Raises `ValueError`."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text[:30]!r} is no length of time")
    sign, *numbers = found.groups()
    if any(number and len(number) > 9 for number in numbers):
        raise ValueError(f"{text[:30]!r} is too long a time")
    weeks, days, hours, minutes, seconds = (int(number or 0) for number in numbers)
    length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    if length.days > _LONGEST_DAYS:
        raise ValueError(f"{text[:30]!r} is too long a time")
    return -length if sign == "-" else length


def write_duration(length: timedelta) -> str:
    """Return a length as DURATION, such as ``-PT10M`` or ``P1D``."""
    sign, length = ("-", -length) if length < timedelta() else ("", length)
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes) + f"{seconds}S" * bool(seconds)
    days = f"{length.days}D" * bool(length.days)
    return f"{sign}P{days}{'T' if clock or not days else ''}{clock or ('' if days else '0S')}"


def read_text(property: Property | None) -> str:
    """Return a TEXT without its escapes (§3.3.11); of no property, an empty one."""
    if property is None:
        return ""
    if "\\" not in property.value:
        return property.value
    return _ESCAPE.sub(lambda m: "\n" if m[1] in "nN" else m[1], property.value)


def write_text(text: str) -> str:
    """Return a TEXT with its escapes; control characters, which it can't hold, are left out."""
    text = re.sub(r"\r\n?", "\n", text)
    text = "".join(c for c in text if c in "\n\t" or (c >= " " and c != "\x7f"))
    return re.sub(r"([\\;,])", r"\\\1", text).replace("\n", "\\n")


def zones_of(calendar: Component) -> Zones:
    """Return how the TZIDs of an object are read: IANA names, Windows names, its own VTIMEZONEs."""
    own = {}
    for zone in calendar.walk("VTIMEZONE"):
        own[read_text(zone.get("TZID"))] = zone
    found: dict[str, tzinfo | None] = {}

    def zones(tzid: str) -> tzinfo | None:
        if tzid not in found:
            found[tzid] = known_zone(tzid) or (_own_zone(own[tzid]) if tzid in own else None)
        return found[tzid]

    return zones


@lru_cache(maxsize=256)
def known_zone(tzid: str) -> tzinfo | None:
    """Return the zone of that IANA or Windows name, also behind a vendor's prefix such as ``/x.org/``."""
    if tzid.upper() in ("UTC", "GMT", "Z"):
        return UTC
    parts = tzid.strip().strip("/").split("/")
    for i in range(len(parts)):
        name = "/".join(parts[i:])
        if name in available_timezones():
            return ZoneInfo(name)
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON  # read only where it is needed

    name = WINDOWS_TO_OLSON.get(tzid.strip().strip('"'))
    return ZoneInfo(name) if name else None


def _own_zone(zone: Component) -> tzinfo | None:
    location = known_zone(read_text(zone.get("X-LIC-LOCATION")))
    if location is not None:
        return location
    import icalendar

    try:
        made = icalendar.Timezone.from_ical(zone.text)
        return made.to_tz(lookup_tzid=False) if isinstance(made, icalendar.Timezone) else None
    except Exception:  # noqa: BLE001 - a zone that can't be read is one that nobody knows
        return None


def timezone_text(zone: ZoneInfo, newline: str) -> str:
    """Return a VTIMEZONE for a zone (§3.6.5)."""
    import icalendar

    text = icalendar.Timezone.from_tzinfo(zone).to_ical().decode()
    return text if newline == "\r\n" else text.replace("\r\n", newline)
