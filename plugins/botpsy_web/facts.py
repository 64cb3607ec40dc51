"""Facts that pages give to programs: JSON-LD in the words of schema.org, as short labelled values."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from botpsy_web.page import Facts

_MOST_FACTS = 6
_MOST_ROWS = 14
_LONGEST = 400
_DEEPEST = 6
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_AVAILABILITY = {
    "instock": "in stock",
    "instoreonly": "in the shop only",
    "onlineonly": "online only",
    "limitedavailability": "few left",
    "outofstock": "out of stock",
    "soldout": "sold out",
    "preorder": "to be ordered ahead",
    "backorder": "on back-order",
    "discontinued": "no longer made",
}
_EVENT_STATUS = {
    "eventcancelled": "cancelled",
    "eventpostponed": "postponed",
    "eventrescheduled": "moved to another time",
    "eventmovedonline": "moved online",
}
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:\d+(?:\.\d+)?S)?)?", re.IGNORECASE)

Thing = dict[str, Any]


def facts_of(scripts: Sequence[str]) -> tuple[Facts, ...]:
    """Return what the page's JSON-LD scripts say; what is broken or of no use here is passed over."""
    found: dict[Facts, None] = {}
    for script in scripts:
        for thing in _things(_parsed(script), 0):
            if (facts := _facts(thing)) is not None:
                found[facts] = None
    return tuple(found)[:_MOST_FACTS]


def for_subscribers(scripts: Sequence[str]) -> bool:
    """Say whether the page calls itself closed to those who don't pay."""
    things = (thing for script in scripts for thing in _things(_parsed(script), 0))
    return any(str(thing.get("isAccessibleForFree", "")).lower() == "false" for thing in things)


def _parsed(script: str) -> Any:
    cleaned = re.sub(
        r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[)|(?:-->|//\s*\]\]>|\]\]>)\s*;?\s*$", "", script
    )
    try:
        return json.loads(cleaned.strip().removesuffix(";"), strict=False)
    except (ValueError, RecursionError):
        return None


def _things(data: Any, depth: int) -> Iterator[Thing]:
    """Give every object of a kind that stands at the top, in a list or in a graph."""
    if depth > _DEEPEST:
        return
    if isinstance(data, list):
        for each in data:  # pyright: ignore
            yield from _things(each, depth + 1)
    elif isinstance(data, dict):
        thing: Thing = data  # pyright: ignore
        if "@type" in thing:
            yield thing
        for name in ("@graph", "mainEntity", "about", "reservationFor", "itemListElement", "item"):
            if name in thing:
                yield from _things(thing[name], depth + 1)


def _facts(thing: Thing) -> Facts | None:
    kinds = {str(kind).rpartition("/")[2] for kind in _list(thing.get("@type"))}
    for label, fits, rows_of in _KINDS:
        if fits(kinds, thing):
            rows = tuple((name, value[:_LONGEST]) for name, value in rows_of(thing) if value)[:_MOST_ROWS]
            name = _text(thing.get("name")) or _text(thing.get("headline"))
            return Facts(label, name[:_LONGEST], rows) if rows else None
    return None


Rows = list[tuple[str, str]]


def _product(thing: Thing) -> Rows:
    return [
        ("brand", _text(thing.get("brand"))),
        *_offers(thing.get("offers")),
        *_offers([one.get("offers") for one in _dicts(thing.get("hasVariant"))]),
        ("rating", _rating(thing.get("aggregateRating"))),
    ]


def _event(thing: Thing) -> Rows:
    return [
        ("starts", _moment(thing.get("startDate"))),
        ("ends", _moment(thing.get("endDate"))),
        ("doors open", _moment(thing.get("doorTime"))),
        ("where", _place(thing.get("location"))),
        ("with", _text(thing.get("performer"))),
        ("by", _text(thing.get("organizer"))),
        ("status", _EVENT_STATUS.get(_last_word(thing.get("eventStatus")), "")),
        *_offers(thing.get("offers")),
    ]


def _recipe(thing: Thing) -> Rows:
    nutrition = thing.get("nutrition")
    return [
        ("makes", _text(thing.get("recipeYield"))),
        ("preparation", _duration(thing.get("prepTime"))),
        ("cooking", _duration(thing.get("cookTime"))),
        ("in all", _duration(thing.get("totalTime"))),
        ("ingredients", _text(thing.get("recipeIngredient") or thing.get("ingredients"))),
        ("steps", _steps(thing.get("recipeInstructions"))),
        ("calories", _text(nutrition.get("calories")) if isinstance(nutrition, dict) else ""),  # pyright: ignore
        ("rating", _rating(thing.get("aggregateRating"))),
    ]


def _business(thing: Thing) -> Rows:
    return [
        ("open", _opening_hours(thing)),
        ("address", _place(thing.get("address"))),
        ("telephone", _text(thing.get("telephone"))),
        ("prices", _text(thing.get("priceRange"))),
        ("kitchen", _text(thing.get("servesCuisine"))),
        ("rating", _rating(thing.get("aggregateRating"))),
    ]


def _flight(thing: Thing) -> Rows:
    airline = thing.get("airline") or thing.get("provider")
    code = _text(airline.get("iataCode")) if isinstance(airline, dict) else ""  # pyright: ignore
    number = _text(thing.get("flightNumber"))
    return [
        ("flight", f"{code} {number}".strip() if number else ""),
        ("airline", _text(airline)),
        ("from", _airport(thing.get("departureAirport"))),
        ("departs", _moment(thing.get("departureTime"))),
        ("terminal", _text(thing.get("departureTerminal"))),
        ("gate", _text(thing.get("departureGate"))),
        ("to", _airport(thing.get("arrivalAirport"))),
        ("arrives", _moment(thing.get("arrivalTime"))),
        *_offers(thing.get("offers")),
    ]


_EVENTS = frozenset(("Festival", "Hackathon", "CourseInstance"))
_HOURS = ("openingHours", "openingHoursSpecification", "specialOpeningHoursSpecification")

_KINDS: tuple[tuple[str, Callable[[set[str], Thing], bool], Callable[[Thing], Rows]], ...] = (
    ("Recipe", lambda kinds, _: "Recipe" in kinds, _recipe),
    ("Flight", lambda kinds, _: "Flight" in kinds, _flight),
    (
        "Event",
        lambda kinds, _: bool(kinds & _EVENTS) or any(k.endswith("Event") for k in kinds),
        _event,
    ),
    ("Product", lambda kinds, _: bool(kinds & {"Product", "ProductGroup", "IndividualProduct"}), _product),
    ("Place", lambda _, thing: any(name in thing for name in _HOURS), _business),
    ("Place", lambda _, thing: "telephone" in thing and "address" in thing, _business),
)
"""What is understood: a label, which objects it is for, and what is told of them."""


def _offers(value: Any) -> Rows:
    """Return prices and whether it is to be had; of several offers the range."""
    offers = [one for each in _dicts(value) for one in (_dicts(each.get("offers")) or [each])]
    prices: list[tuple[float, str]] = []
    for offer in offers:
        specification = next(iter(_dicts(offer.get("priceSpecification"))), {})
        currency = _text(offer.get("priceCurrency") or specification.get("priceCurrency"))
        for name in ("price", "lowPrice", "highPrice"):
            price = _text(offer.get(name) or (specification.get(name) if name == "price" else None))
            if (amount := _amount(price)) is not None:
                prices.append((amount, f"{price} {currency}".strip()))
    prices.sort()
    shown = prices[0][1] if prices else ""
    if len(prices) > 1 and prices[0][0] != prices[-1][0]:
        shown += f" to {prices[-1][1]}"
    known = {_AVAILABILITY.get(_last_word(offer.get("availability")), "") for offer in offers} - {""}
    until = {_moment(offer.get("priceValidUntil")) for offer in offers} - {""}
    return [
        ("price", shown),
        ("availability", ", ".join(sorted(known))),
        ("price valid until", next(iter(until)) if len(until) == 1 else ""),
    ]


def _amount(price: str) -> float | None:
    """Return a price as a number, whichever mark it has before the decimals."""
    digits = re.sub(r"[^\d.,]", "", price)
    if digits.rfind(",") > digits.rfind("."):
        digits = digits.replace(".", "").replace(",", ".")
    try:
        return float(digits.replace(",", ""))
    except ValueError:
        return None


def _opening_hours(thing: Thing) -> str:
    """Return when a place is open, days with the same hours put together."""
    plain = [_text(one) for one in _list(thing.get("openingHours")) if _text(one)]
    hours: dict[str, list[str]] = {}
    special: list[str] = []
    for one in (each for name in _HOURS[1:] for each in _dicts(thing.get(name))):
        opens, closes = _text(one.get("opens"))[:5], _text(one.get("closes"))[:5]
        if not opens or opens == closes:
            open_from_to = "closed"
        elif opens == "00:00" and closes == "23:59":
            open_from_to = "all day"
        else:
            open_from_to = f"{opens}–{closes}"
        days = [_last_word(day).capitalize() for day in _list(one.get("dayOfWeek"))]
        if one.get("validFrom") and (not days or one.get("validThrough") == one.get("validFrom")):
            first, last = _moment(one.get("validFrom")), _moment(one.get("validThrough"))
            special.append(f"{first}{f' to {last}' if last and last != first else ''} {open_from_to}")
        for day in days if one.get("validThrough") is None or not special else ():
            hours.setdefault(day, []).append(open_from_to)
    together: list[tuple[list[str], str]] = []
    for day in [*_DAYS, *(day for day in hours if day not in _DAYS)]:
        if day not in hours:
            continue
        text = ", ".join(dict.fromkeys(hours[day]))
        last = together[-1] if together else None
        follows = last and day in _DAYS and _DAYS.index(day) and last[0][-1] == _DAYS[_DAYS.index(day) - 1]
        if last and follows and last[1] == text:
            last[0].append(day)
        else:
            together.append(([day], text))
    shown = [
        f"{days[0][:3]}–{days[-1][:3]} {text}" if len(days) > 1 else f"{days[0][:3]} {text}"
        for days, text in together
    ]
    return "; ".join([*plain, *shown, *special])


def _place(value: Any) -> str:
    """Return a place or a postal address in one line."""
    if isinstance(value, list):
        return "; ".join(filter(None, map(_place, value[:3])))  # pyright: ignore
    if not isinstance(value, dict):
        return _text(value)
    place: Thing = value  # pyright: ignore
    address = place.get("address")
    parts = [
        _text(place.get("name")),
        _place(address) if address is not None else "",
        _text(place.get("streetAddress")),
        f"{_text(place.get('postalCode'))} {_text(place.get('addressLocality'))}".strip(),
        _text(place.get("addressCountry")),
    ]
    online = _last_word(place.get("@type")) == "virtuallocation"
    return ", ".join(dict.fromkeys(filter(None, parts))) or ("online" if online else "")


def _airport(value: Any) -> str:
    if not isinstance(value, dict):
        return _text(value)
    airport: Thing = value  # pyright: ignore
    name, code = _text(airport.get("name")), _text(airport.get("iataCode"))
    return f"{name} ({code})" if name and code else name or code


def _rating(value: Any) -> str:
    rating = next(iter(_dicts(value)), {})
    given, best = _text(rating.get("ratingValue")), _text(rating.get("bestRating")) or "5"
    count = _text(rating.get("reviewCount") or rating.get("ratingCount"))
    return f"{given} of {best}" + (f" ({count} reviews)" if count else "") if given else ""


def _steps(value: Any) -> str:
    """Return a recipe's steps, which may lie in sections."""
    steps: list[str] = []
    for one in _list(value):
        if isinstance(one, dict):
            step: Thing = one  # pyright: ignore
            inner = step.get("itemListElement")
            steps.append(_steps(inner) if inner else _text(step.get("text") or step.get("name")))
        else:
            steps.append(_text(one))
    return " ".join(filter(None, steps))


def _moment(value: Any) -> str:
    """Return a date or an instant as a person reads it, in the zone it was given in; else as it came."""
    text = _text(value)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    day = f"{moment:%a} {moment.day} {moment:%b %Y}"
    if len(text) <= len("2026-12-24"):
        return day
    zone = f" (UTC{moment:%z})" if moment.tzinfo else ""
    return f"{day}, {moment:%H:%M}{zone}"


def _duration(value: Any) -> str:
    """Return a span of time (ISO 8601 §5.5.2) in hours and minutes."""
    text = _text(value)
    found = _DURATION.fullmatch(text)
    if not found or not any(found.groups()):
        return "" if found else text
    days, hours, minutes = (int(part or 0) for part in found.groups())
    hours, minutes = days * 24 + hours + minutes // 60, minutes % 60
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{minutes} min"] if minutes else [])]) or "0 min"


def _text(value: Any) -> str:
    """Return a value in words: a thing by its name, several with commas."""
    match value:
        case bool() | None:
            return ""
        case str():
            return " ".join(re.sub(r"<[^>]{0,200}>", " ", value[: 4 * _LONGEST]).split())
        case int() | float():
            return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
        case list():
            return ", ".join(filter(None, map(_text, value[:40])))  # pyright: ignore
        case dict():
            return _text(value.get("name") or value.get("@value"))  # pyright: ignore
        case _:
            return ""


def _last_word(value: Any) -> str:
    """Return the last part of a schema.org address, in lower case: ``https://schema.org/InStock``."""
    first = next(iter(_list(value)), "")
    return re.split(r"[/#:]", str(first))[-1].lower() if isinstance(first, str) else ""


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]  # pyright: ignore


def _dicts(value: Any) -> list[Thing]:
    flat = (inner for one in _list(value) for inner in _list(one))
    return [one for one in flat if isinstance(one, dict)]
