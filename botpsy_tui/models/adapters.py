"""LoRA adapters that a person lays over a model: named on the command line, kept beside the model."""

import math
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from botpsy_tui.models.gguf_header import GgufHeader, read_header
from botpsy_tui.models.types import ModelProblem


class Adapter(BaseModel):
    """An adapter file, where it lies, and how strongly it is applied."""

    model_config = ConfigDict(frozen=True)

    path: Path
    scale: float = 1.0

    @property
    def label(self) -> str:
        """Its path, and its scale where that is not 1."""
        return str(self.path) if self.scale == 1 else f"{self.path}:{self.scale:g}"


def parse_adapter(text: str) -> Adapter:
    """Read ``FILE.gguf`` or ``FILE.gguf:SCALE``. Raises `ModelProblem`."""
    name, colon, tail = text.rpartition(":")
    scale = 1.0
    if colon and tail and not tail.lower().endswith(".gguf"):
        try:
            scale = float(tail)
        except ValueError:
            raise ModelProblem(f"{tail!r} is no scale: write a number, as in {name}:0.5.") from None
    else:
        name = text
    if not math.isfinite(scale):
        raise ModelProblem(f"{tail!r} is no scale: write a number, as in {name}:0.5.")
    return Adapter(path=Path(name).expanduser().absolute(), scale=scale)


def check_adapter(adapter: Adapter, model: GgufHeader) -> None:
    """Raise `ModelProblem` where the file is missing, no LoRA adapter, or made for another family."""
    header = read_header(adapter.path)
    if header.text("general.type") != "adapter" or header.text("adapter.type") != "lora":
        raise ModelProblem(f"{adapter.path} is no LoRA adapter: name one that a fine-tuning has written.")
    if header.architecture != model.architecture:
        raise ModelProblem(
            f"{adapter.path} was made for {header.architecture or 'an unknown family'}, "
            f"and this model is {model.architecture}: use it with the model it was trained on."
        )
