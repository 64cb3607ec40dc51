"""Runs the benchmarks: ``python -m benchmarks [NAME]``."""

import importlib
import json
import sys
from pathlib import Path

from benchmarks.figures import Figure

NAMES = ("engine",)
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run all, or the one that is named; print each figure and keep it as JSON."""
    wanted = sys.argv[1:] or list(NAMES)
    if unknown := set(wanted) - set(NAMES):
        sys.exit(f"There is no benchmark {', '.join(unknown)}; there are: {', '.join(NAMES)}.")
    RESULTS.mkdir(exist_ok=True)
    for name in wanted:
        figures: list[Figure] = importlib.import_module(f"benchmarks.{name}").measure()
        for figure in figures:
            print(figure.line())
        (RESULTS / f"{name}.json").write_text(json.dumps([figure.as_json() for figure in figures], indent=2))


main()
