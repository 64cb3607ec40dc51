"""A part of a model inside a wheel: read as data, never unpacked to a path, never imported."""

import re
import zipfile
from pathlib import Path, PurePosixPath

from botpsy_tui.models.types import ModelProblem


def part_member(wheel: Path, package: str, number: int) -> zipfile.ZipInfo:
    """Return the one member of `wheel` that is part `number`: ``PACKAGE/data/partNN.bin``.

    Raises `ModelProblem` where the file is no wheel, a member's name leaves the archive, or
    the part is missing, doubled or another number's.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError) as error:
        raise ModelProblem(f"{wheel.name} is damaged ({error}): pull again to fetch it anew.") from error
    for member in members:
        _refuse_escape(wheel, member.filename)
    pattern = re.compile(rf"{re.escape(package)}/data/part0*{number}\.bin")
    data = [member for member in members if member.filename.startswith(f"{package}/data/")]
    if len(data) != 1 or not pattern.fullmatch(data[0].filename):
        raise ModelProblem(
            f"{wheel.name} doesn't hold what part {number} of the model should be, so it is refused: "
            "check which package index pip is set up for."
        )
    return data[0]


def _refuse_escape(wheel: Path, name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise ModelProblem(
            f"{wheel.name} names a file outside itself, so it is refused: "
            "check which package index pip is set up for."
        )
