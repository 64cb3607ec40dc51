"""llama.cpp's own chat templates and tests, from the source archive of llama-cpp-python.

Fetched once from the package index, as data, and cached beside the tests' models. Nothing of it is
copied into the project.
"""

import fcntl
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

import pytest

_FOLDER = "vendor/llama.cpp"
_WANTED = re.compile(rf"[^/]+/({_FOLDER}/(?:models/templates/[^/]+\.jinja|tests/test-chat\.cpp))")


def llama_cpp_source() -> Path:
    """Return a folder with llama.cpp's ``models/templates/`` and ``tests/test-chat.cpp``.

    Of the version that is installed. A failure in CI and a skip elsewhere, where it can't be had.
    """
    installed = version("llama-cpp-python")
    cache = Path(os.environ.get("BOTPSY_TEST_MODELS", Path.home() / ".cache" / "botpsy-tests"))
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"llama-cpp-python-{installed}"
    with (cache / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            try:
                _fetch(installed, target)
            except (subprocess.CalledProcessError, OSError, tarfile.TarError) as error:
                reason = f"llama.cpp's templates and tests can't be fetched: {error}"
                if os.environ.get("CI"):
                    pytest.fail(reason)
                pytest.skip(reason)
    return target / _FOLDER


def _fetch(wanted: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--no-binary", "llama-cpp-python"]
        subprocess.run([*command, "--dest", folder, f"llama-cpp-python=={wanted}"], check=True)
        archive = next(Path(folder).glob("*.tar.gz"))
        unpacked = Path(folder) / "unpacked"
        with tarfile.open(archive) as files:
            for member in files:
                if (found := _WANTED.fullmatch(member.name)) and (content := files.extractfile(member)):
                    path = unpacked / found[1]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content.read())
        unpacked.rename(target)
