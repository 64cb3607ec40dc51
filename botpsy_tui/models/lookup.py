"""From what a person asked for to one file of the hub; never a silent guess."""

from botpsy_tui.models.catalogue import CatalogueEntry
from botpsy_tui.models.hub import Hub, HubFile
from botpsy_tui.models.quantisation import matching, quantisation_of
from botpsy_tui.models.sources import HubSource
from botpsy_tui.models.types import ModelProblem, OnProgress, Progress, size_text

_MOST_SHOWN = 8


def find_in_catalogue(hub: Hub, entry: CatalogueEntry, quantisation: str, on_progress: OnProgress) -> HubFile:
    """Look `entry` up in its organisation, and say what was found.

    Raises `ModelProblem` where nothing or more than one file fits, naming the candidates.
    """
    assert entry.search is not None
    where = f"the hub's {entry.search.author} organisation"
    on_progress(Progress("looking up", 0, 0, f"{entry.search.search} in {where}"))
    repositories = hub.repositories(entry.search.author, entry.search.search)
    if entry.search.whole_name:
        whole = f"{entry.search.author}/{entry.search.search}".lower()
        repositories = [repository for repository in repositories if repository.lower() == whole]
    else:
        repositories = _of_size(repositories, entry.name)
    files = [file for repository in repositories for file in hub.model_files(repository)]
    fitting = matching(files, quantisation)
    if len(fitting) == 1:
        _show(fitting[0], on_progress)
        return fitting[0]
    if not repositories:
        raise ModelProblem(
            f"{entry.title} was not found in {where}: name its repository "
            "(botpsy model pull hf:OWNER/REPO:q4), or take the starter (botpsy model pull starter)."
        )
    if not files:
        raise ModelProblem(
            f"No GGUF file of {entry.title} was found in {', '.join(repositories[:_MOST_SHOWN])}: "
            "name a repository that has one (botpsy model pull hf:OWNER/REPO:q4)."
        )
    raise ModelProblem(_choices(f"{entry.title} {quantisation}", fitting or files, found=len(fitting)))


def find_in_repository(hub: Hub, source: HubSource, on_progress: OnProgress) -> HubFile:
    """Return the file of a repository that `source` means. Raises `ModelProblem` like the above."""
    on_progress(Progress("looking up", 0, 0, source.repository))
    files = hub.model_files(source.repository)
    if not files:
        raise ModelProblem(
            f"{source.repository} has no GGUF model in one file: look for one whose name ends in GGUF."
        )
    if source.file:
        fitting = [file for file in files if file.file.lower() == source.file.lower()]
    elif source.quantisation:
        fitting = matching(files, source.quantisation)
    else:
        fitting = files if len(files) == 1 else matching(files, "q4")
    if len(fitting) == 1:
        _show(fitting[0], on_progress)
        return fitting[0]
    wanted = source.file or source.quantisation or "q4"
    raise ModelProblem(_choices(f"{source.repository} {wanted}", fitting or files, found=len(fitting)))


def _of_size(repositories: list[str], name: str) -> list[str]:
    """Keep the repositories that name the size asked for (``0.8b``), where any does."""
    size = name.rpartition("-")[2]
    return [repository for repository in repositories if size in repository.lower()] or repositories


def _show(file: HubFile, on_progress: OnProgress) -> None:
    found = f"found {file.repository}/{file.file} ({size_text(file.size)})"
    on_progress(Progress("looking up", 0, 0, found))


def _choices(wanted: str, files: list[HubFile], *, found: int) -> str:
    shown = [f"hf:{file.repository}:{file.file}" for file in files[:_MOST_SHOWN]]
    if len(files) > _MOST_SHOWN:
        shown.append(f"{len(files) - _MOST_SHOWN} more")
    problem = "could be any of several files" if found else "is not among the files found"
    return f"{wanted} {problem}: pull one of {', '.join(shown)}."


def quantisation_label(file: str, otherwise: str) -> str:
    """Return what a file's name tells of its quantisation, or else what was asked for."""
    return quantisation_of(file) or otherwise.upper()
