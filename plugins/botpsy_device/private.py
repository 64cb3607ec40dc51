"""Which folders the person has opened, and what stays private even inside of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from botpsy_tui.plugin import ToolError, for_display_line

_SECRETS = (
    ".ssh .gnupg .aws .azure .kube .docker .netrc .git-credentials .password-store .pki .npmrc .pypirc "
    ".pgpass .my.cnf .mozilla .thunderbird .bash_history .zsh_history .python_history "
    ".local/share/keyrings .local/share/kwalletd .config/gcloud .config/gh .config/op .config/Bitwarden "
    ".config/rclone .config/google-chrome .config/chromium .config/BraveSoftware .config/msmtp "
    ".config/systemd .config/autostart .cert Library/Keychains Library/Mail Library/Messages "
    "Library/Cookies"
)
"""Keys, passwords, browsers and mail of other programs, below the home folder."""

_SYSTEM = ("/proc", "/sys", "/dev", "/run", "/etc", "/boot", "/var/run", "/private/etc", "/System")


@dataclass(frozen=True)
class OpenedFolders:
    """What the person has opened to the assistant (``plugins.device.folders``), symlinks resolved."""

    folders: tuple[Path, ...]
    private: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Iterable[str], own: Sequence[Path]) -> "OpenedFolders":
        """Take the folders of the settings; `own` are BotPsy's, which no tool may show or change.

        Raises `ToolError` where one is no absolute path, or private itself.
        """
        private = private_places(own)
        opened: list[Path] = []
        for written in folders:
            folder = Path(written).expanduser()
            if not folder.is_absolute():
                raise ToolError(f"plugins.device.folders: write “{written}” as a path from / or ~.")
            folder = folder.resolve()
            if any(lies_in(folder, place) for place in private):
                raise ToolError(f"plugins.device.folders: {written} holds secrets and can't be opened.")
            if folder == Path("/") or any(lies_in(folder, Path(place)) for place in _SYSTEM):
                raise ToolError(
                    f"plugins.device.folders: {written} belongs to the system and can't be opened."
                )
            opened.append(folder)
        return cls(tuple(dict.fromkeys(opened)), private)

    def folder(self, said: str) -> Path:
        """Return the folder that is meant: a path, or the name of an opened folder or of one in it.

        Raises `ToolError` where it is not there, or not opened.
        """
        if not self.folders:
            raise ToolError(HOW_TO_OPEN)
        for candidate in self._meant(said):
            place = candidate.resolve()
            if place.is_dir() and self.shows(place):
                return place
        names = ", ".join(str(folder) for folder in self.folders)
        raise ToolError(
            f"There is no folder “{for_display_line(said)}” that is open to me; open are: {names}."
        )

    def shows(self, place: Path) -> bool:
        """Return whether a resolved path lies in an opened folder and is not private."""
        return any(lies_in(place, folder) for folder in self.folders) and not any(
            lies_in(place, private) for private in self.private
        )

    def why_not_written(self, folder: Path) -> str:
        """Return why a command may not write in a folder, or nothing."""
        if lies_in(Path.home().resolve(), folder):
            return f"{folder} holds your home folder's settings; choose a folder in it."
        if any(lies_in(place, folder) for place in self.private):
            return f"{folder} holds secrets; choose a folder in it."
        return ""

    def _meant(self, said: str) -> list[Path]:
        written = Path(said).expanduser()
        if written.is_absolute():
            return [written]
        named = [folder for folder in self.folders if folder.name.casefold() == said.strip("/").casefold()]
        return [*named, *(folder / written for folder in self.folders)]


HOW_TO_OPEN = (
    "No folder is open to me. The person can open some in the settings: "
    '[plugins.device] folders = ["~/Documents"].'
)


def private_places(own: Sequence[Path]) -> tuple[Path, ...]:
    """Return what is private on this machine, symlinks resolved."""
    home = Path.home()
    places = [*own, *(home / name for name in _SECRETS.split())]
    return tuple(dict.fromkeys(place.expanduser().resolve() for place in places))


def lies_in(place: Path, folder: Path) -> bool:
    """Return whether a resolved path is a folder or lies in it."""
    return place == folder or place.is_relative_to(folder)
