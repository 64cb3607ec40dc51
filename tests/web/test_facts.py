"""What pages say to programs (JSON-LD), as they say it: in lists, graphs and bad habits."""

import json
import re
from typing import Any

import pytest
from botpsy_web.facts import facts_of, for_subscribers
from hypothesis import given
from hypothesis import strategies as st


def rows(*things: dict[str, Any] | str) -> dict[str, str]:
    (facts,) = facts_of([thing if isinstance(thing, str) else json.dumps(thing) for thing in things])
    return dict(facts.rows)


WEEK = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
WEEK_IN_FULL = [f"https://schema.org/{day}" for day in WEEK]
NEW_YEAR = {"validFrom": "2026-12-31", "validThrough": "2026-12-31"}


@pytest.mark.parametrize(
    ("hours", "told"),
    [
        ({"openingHours": ["Mo-Fr 09:00-18:00", "Sa 10:00-14:00"]}, "Mo-Fr 09:00-18:00; Sa 10:00-14:00"),
        ({"openingHours": "Mo-Su"}, "Mo-Su"),
        (
            {
                "openingHoursSpecification": [
                    {
                        "dayOfWeek": [f"https://schema.org/{d}" for d in WEEK],
                        "opens": "09:00",
                        "closes": "18:00",
                    },
                    {"dayOfWeek": "Saturday", "opens": "10:00:00", "closes": "14:00:00"},
                    {"dayOfWeek": "http://schema.org/Sunday", "opens": "00:00", "closes": "00:00"},
                ]
            },
            "Mon–Fri 09:00–18:00; Sat 10:00–14:00; Sun closed",
        ),
        (
            {
                "openingHoursSpecification": [
                    {"dayOfWeek": d, "opens": opens, "closes": closes}
                    for d in ("Monday", "Wednesday")
                    for opens, closes in (("08:00", "12:00"), ("14:00", "17:00"))
                ]
            },
            "Mon 08:00–12:00, 14:00–17:00; Wed 08:00–12:00, 14:00–17:00",
        ),
        (
            {
                "openingHoursSpecification": {
                    "dayOfWeek": [*WEEK, "Saturday", "Sunday"],
                    "opens": "00:00",
                    "closes": "23:59",
                }
            },
            "Mon–Sun all day",
        ),
        (
            {
                "openingHoursSpecification": [
                    {"dayOfWeek": "Monday", "opens": "09:00", "closes": "17:00"},
                    {"validFrom": "2026-12-24", "validThrough": "2026-12-26"},
                    {
                        "validFrom": "2026-12-31",
                        "validThrough": "2026-12-31",
                        "opens": "09:00",
                        "closes": "12:00",
                    },
                ]
            },
            "Mon 09:00–17:00; Thu 24 Dec 2026 to Sat 26 Dec 2026 closed; Thu 31 Dec 2026 09:00–12:00",
        ),
    ],
    ids=["lines", "line", "days", "lunch", "always", "holidays"],
)
def test_opening_hours_are_told_as_on_a_door(hours: dict[str, Any], told: str) -> None:
    assert rows({"@type": "Library", "name": "Town library", **hours})["open"] == told


def test_a_place_is_told_with_address_and_telephone() -> None:
    place = {
        "@type": ["Restaurant", "LocalBusiness"],
        "name": "Anker",
        "telephone": "+49 40 123",
        "address": {"streetAddress": "Kai 1", "postalCode": "20457", "addressLocality": "Hamburg"},
        "servesCuisine": ["Fish", "Soup"],
        "priceRange": "€€",
    }
    assert rows(place) == {
        "address": "Kai 1, 20457 Hamburg",
        "telephone": "+49 40 123",
        "prices": "€€",
        "kitchen": "Fish, Soup",
    }


@pytest.mark.parametrize(
    ("offers", "price", "availability"),
    [
        ({"price": 19.9, "availability": "http://schema.org/InStock"}, "19.9", "in stock"),
        ({"price": "1.299,00", "priceCurrency": "EUR"}, "1.299,00 EUR", None),
        ({"lowPrice": "10", "highPrice": "25.50", "priceCurrency": "USD"}, "10 USD to 25.50 USD", None),
        ([{"price": "30"}, {"price": "20", "availability": "OutOfStock"}], "20 to 30", "out of stock"),
        ({"@type": "AggregateOffer", "offers": [{"price": "5"}, {"price": "7"}]}, "5 to 7", None),
        ({"priceSpecification": {"price": "12", "priceCurrency": "CHF"}}, "12 CHF", None),
        ({"price": "0", "priceCurrency": "EUR", "availability": "SoldOut"}, "0 EUR", "sold out"),
    ],
)  # fmt: skip
def test_prices_and_whether_it_is_to_be_had(offers: Any, price: str, availability: str | None) -> None:
    told = rows({"@type": "Product", "name": "Kettle", "offers": offers})
    assert told.get("price") == price
    assert told.get("availability") == availability


def test_variants_of_a_product_give_a_range() -> None:
    variants = [{"@type": "Product", "offers": {"price": p, "priceCurrency": "EUR"}} for p in ("8", "12")]
    assert rows({"@type": "ProductGroup", "hasVariant": variants})["price"] == "8 EUR to 12 EUR"


def test_an_event_is_told_with_its_own_clock() -> None:
    event = {
        "@type": "MusicEvent",
        "name": "Choir",
        "startDate": "2026-12-12T20:00:00+01:00",
        "endDate": "2026-12-12T22:00+01:00",
        "eventStatus": "https://schema.org/EventRescheduled",
        "location": {"@type": "Place", "name": "Town hall", "address": "Market 1"},
        "offers": {"price": "15", "priceCurrency": "EUR", "availability": "LimitedAvailability"},
    }
    assert rows(event) == {
        "starts": "Sat 12 Dec 2026, 20:00 (UTC+0100)",
        "ends": "Sat 12 Dec 2026, 22:00 (UTC+0100)",
        "where": "Town hall, Market 1",
        "status": "moved to another time",
        "price": "15 EUR",
        "availability": "few left",
    }


def test_a_recipe_is_told_with_times_ingredients_and_steps() -> None:
    recipe = {
        "@type": "Recipe",
        "name": "Soup",
        "recipeYield": "4 plates",
        "prepTime": "PT15M",
        "cookTime": "PT1H30M",
        "totalTime": "P0DT1H45M",
        "recipeIngredient": ["1 onion", "2 l water"],
        "recipeInstructions": [
            {
                "@type": "HowToSection",
                "itemListElement": [{"@type": "HowToStep", "text": "Cut the <b>onion</b>."}],
            },
            "Cook it.",
        ],
        "nutrition": {"calories": "120 kcal"},
    }
    assert rows(recipe) == {
        "makes": "4 plates",
        "preparation": "15 min",
        "cooking": "1 h 30 min",
        "in all": "1 h 45 min",
        "ingredients": "1 onion, 2 l water",
        "steps": "Cut the onion . Cook it.",
        "calories": "120 kcal",
    }


def test_a_flight_in_a_reservation_is_told_with_airports() -> None:
    flight = {
        "@type": "FlightReservation",
        "reservationFor": {
            "@type": "Flight",
            "flightNumber": "123",
            "airline": {"name": "Holm Air", "iataCode": "HO"},
            "departureAirport": {"name": "Hamburg", "iataCode": "HAM"},
            "departureTime": "2026-12-20T07:10:00+01:00",
            "arrivalAirport": {"iataCode": "LIS"},
            "arrivalTime": "2026-12-20T10:05:00+00:00",
        },
    }
    assert rows(flight) == {
        "flight": "HO 123",
        "airline": "Holm Air",
        "from": "Hamburg (HAM)",
        "departs": "Sun 20 Dec 2026, 07:10 (UTC+0100)",
        "to": "LIS",
        "arrives": "Sun 20 Dec 2026, 10:05 (UTC+0000)",
    }


PRODUCT = {"@type": "Product", "offers": {"price": "5", "priceCurrency": "EUR"}}


@pytest.mark.parametrize(
    "script",
    [
        json.dumps([PRODUCT]),
        json.dumps({"@graph": [{"@type": "WebSite"}, PRODUCT]}),
        json.dumps({"@type": "ItemPage", "mainEntity": PRODUCT}),
        json.dumps({"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "item": PRODUCT}]}),
        json.dumps({**PRODUCT, "@type": "http://schema.org/Product"}),
        f"<!-- {json.dumps(PRODUCT)} -->",
        f"//<![CDATA[\n{json.dumps(PRODUCT)}\n//]]>",
        json.dumps(PRODUCT) + ";",
        json.dumps({**PRODUCT, "description": "two\nlines"}).replace("\\n", "\n"),
    ],
)
def test_facts_are_found_wherever_pages_put_them(script: str) -> None:
    assert rows(script)["price"] == "5 EUR"


@pytest.mark.parametrize(
    "script", ["", "{", "null", "[]", "42", '{"@type": 7}', '{"@type": "Product"}', "[" * 99_999]
)
def test_what_says_nothing_of_use_is_passed_over(script: str) -> None:
    assert facts_of([script]) == ()


NAMES = set(
    re.findall(
        r"\S+",
        """
    @type @graph name offers price priceCurrency availability location address openingHours
    openingHoursSpecification dayOfWeek opens closes validFrom telephone recipeInstructions
    itemListElement nutrition startDate airline departureAirport aggregateRating ratingValue hasVariant
    priceSpecification eventStatus prepTime
        """,
    )
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(sorted(NAMES)),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(["Product", "MusicEvent", "Recipe", "Flight", "Store"]), JSON)
def test_facts_of_any_shape_break_nothing(kind: str, data: Any) -> None:
    thing = {"openingHours": "Mo", **(data if isinstance(data, dict) else {"offers": data}), "@type": kind}
    script = json.dumps(thing)
    for facts in facts_of([script]):
        assert all(label and value and len(value) <= 400 for label, value in facts.rows)
    for_subscribers([script])
