"""Which model a first start takes, and why."""

from dataclasses import dataclass

from botpsy_tui.models.catalogue import BOTPSY, STARTER, CatalogueEntry, entry_named
from botpsy_tui.models.hub import Hub
from botpsy_tui.models.lookup import find_in_catalogue
from botpsy_tui.models.types import HubUnreachable, ModelProblem, size_text


@dataclass(frozen=True)
class FirstChoice:
    """A model to begin with."""

    spec: str
    size: int
    """Bytes to download."""
    sentence: str
    """What it is and why it is offered, for the person."""
    hub_reachable: bool


def first_choice(hub: Hub | None = None) -> FirstChoice:
    """Return BotPsy where the hub answers and has it, else the starter; waits a few seconds at most."""
    hub = hub or Hub()
    botpsy = _entry(BOTPSY)
    try:
        hub.require_reachable()
        file = find_in_catalogue(hub, botpsy, botpsy.default_quantisation, lambda _progress: None)
    except HubUnreachable:
        return _starter("The model hub, where BotPsy lies, can't be reached", hub_reachable=False)
    except ModelProblem:
        return _starter("BotPsy's file could not be told for sure on the hub", hub_reachable=True)
    sentence = (
        f"{botpsy.title} ({size_text(file.size)}, {file.repository}) is the model this assistant is made for."
    )
    return FirstChoice(BOTPSY, file.size, sentence, hub_reachable=True)


def _starter(why: str, *, hub_reachable: bool) -> FirstChoice:
    entry = _entry(STARTER)
    size = entry.approximate_size
    sentence = f"{why}, so the starter is taken: {entry.title} ({size_text(size)}), which calls tools well."
    return FirstChoice(STARTER, size, sentence, hub_reachable=hub_reachable)


def _entry(name: str) -> CatalogueEntry:
    entry = entry_named(name)
    assert entry is not None
    return entry
