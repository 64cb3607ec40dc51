"""Opens the chat."""

from botpsy_tui.cli.exits import Exit, stop


def open_chat(model_spec: str | None) -> int:
    """Open the chat with the named model, or the current one; return the exit code."""
    from botpsy_tui.application import Application
    from botpsy_tui.cli.model import ensure_model
    from botpsy_tui.config import SettingsProblem
    from botpsy_tui.journal import JournalProblem
    from botpsy_tui.tui import run
    from botpsy_tui.tui.house import ApplicationHouse

    model = ensure_model(model_spec, interactive=True) if model_spec else None
    try:
        application = Application.open()
    except (SettingsProblem, JournalProblem) as error:
        stop(str(error), Exit.FAILED)
    application.model = model
    return run(ApplicationHouse(application))
