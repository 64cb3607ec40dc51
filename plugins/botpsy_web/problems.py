"""What can go wrong with the web, each in one sentence that says what to do."""

from botpsy_tui.plugin import ToolError


class WebProblem(ToolError):
    """Something could not be searched or read."""


class Forbidden(WebProblem):
    """An address that is not fetched, whoever asks: the fence stands before it."""


class TookTooLong(WebProblem):
    """A server did not answer, or not to the end, in the time that it is given."""
