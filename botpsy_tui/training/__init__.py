"""What the person has approved, as data to fine-tune a model with."""

from botpsy_tui.training.examples import Example, Selection, select
from botpsy_tui.training.forms import openai_form, text_form
from botpsy_tui.training.masking import masked, without_secrets
from botpsy_tui.training.output import write_lines
from botpsy_tui.training.problem import TrainingProblem

__all__ = [
    "Example",
    "Selection",
    "TrainingProblem",
    "masked",
    "openai_form",
    "select",
    "text_form",
    "without_secrets",
    "write_lines",
]
