"""What a person may write for a model, and what they are told when it means nothing."""

from pathlib import Path

import pytest

from botpsy_tui.models import ModelProblem
from botpsy_tui.models.quantisation import quantisation_of
from botpsy_tui.models.sources import CatalogueSource, FileSource, HubSource, parse_spec


@pytest.mark.parametrize(
    ("spec", "name", "quantisation", "canonical"),
    [
        ("botpsy-0.8b", "botpsy-0.8b", "q4", "botpsy-0.8b"),
        ("BotPsy-0.8B:Q8", "botpsy-0.8b", "q8", "botpsy-0.8b:q8"),
        (" botpsy-0.8b:q4 ", "botpsy-0.8b", "q4", "botpsy-0.8b"),
        ("minicpm5-1b:f16", "minicpm5-1b", "f16", "minicpm5-1b:f16"),
        ("starter", "starter", "q4", "starter"),
    ],
)
def test_a_catalogue_name(spec: str, name: str, quantisation: str, canonical: str) -> None:
    source = parse_spec(spec)
    assert isinstance(source, CatalogueSource)
    assert (source.entry.name, source.quantisation, source.spec) == (name, quantisation, canonical)


@pytest.mark.parametrize(
    ("spec", "source"),
    [
        ("hf:qvac/x", HubSource("qvac/x")),
        ("hf:qvac/x:Q4_K_M", HubSource("qvac/x", quantisation="q4_k_m")),
        ("hf:qvac/x:sub/m.Q8_0.gguf", HubSource("qvac/x", file="sub/m.Q8_0.gguf")),
    ],
)
def test_a_hub_repository(spec: str, source: HubSource) -> None:
    assert parse_spec(spec) == source


def test_a_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_spec("./m.gguf") == FileSource(tmp_path / "m.gguf")
    assert parse_spec("m.gguf") == FileSource(tmp_path / "m.gguf")
    assert parse_spec("~/m.gguf") == FileSource(Path.home() / "m.gguf")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("", "No model was named"),
        ("botpsy", "did you mean botpsy-0.8b"),
        ("starter:q8", "offered as q4, not as q8"),
        ("starter:", "not as nothing"),
        ("zzz", "try one of botpsy-0.8b"),
        ("qvac/x", "write hf:qvac/x"),
        ("hf:qvac", "hf:OWNER/REPO"),
        ("hf:../..", "names no repository"),
        ("hf:qvac/x:../../m.gguf", "not a file inside"),
        ("hf:qvac/x:best", "neither a .gguf file nor a quantisation"),
    ],
)
def test_nonsense_is_answered_with_one_sentence(spec: str, told: str) -> None:
    with pytest.raises(ModelProblem) as problem:
        parse_spec(spec)
    assert told in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("file", "quantisation"),
    [
        ("Qwen3.5-0.8B-Q4_K_M.gguf", "Q4_K_M"),
        ("Qwen3.5-0.8B-UD-Q4_K_XL.gguf", "Q4_K_XL"),
        ("botpsy-0.8b-q4.gguf", "Q4"),
        ("sub/SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("BotPsy-0.8B-BF16.gguf", "BF16"),
        ("m-IQ4_XS.gguf", "IQ4_XS"),
        ("qwen3.gguf", ""),
    ],
)
def test_the_quantisation_is_read_from_the_name(file: str, quantisation: str) -> None:
    assert quantisation_of(file) == quantisation
