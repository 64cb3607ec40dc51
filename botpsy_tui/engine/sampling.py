"""How the next token is chosen: what a model recommends, and llama.cpp's sampler chains."""

import math
from collections import Counter, deque
from dataclasses import fields
from typing import Any

import llama_cpp
import numpy as np

from botpsy_tui.engine.runtime import Runtime
from botpsy_tui.engine.types import Sampling

_llama: Any = llama_cpp

DEFAULT = Sampling(
    temperature=0.7,
    top_k=40,
    top_p=0.95,
    min_p=0.05,
    repeat_penalty=1.0,
    presence_penalty=0.0,
    frequency_penalty=0.0,
    call_temperature=0.0,
)
"""Where nobody recommends anything."""

_PENALTY_WINDOW = 64
_RANDOM_SEED: int = _llama.LLAMA_DEFAULT_SEED


def layered(*layers: Sampling) -> Sampling:
    """Return what the layers say together, the first one's word first, and last the engine's default."""
    values: dict[str, Any] = {}
    for field in fields(Sampling):
        given = (getattr(layer, field.name) for layer in (*layers, DEFAULT))
        values[field.name] = next((value for value in given if value is not None), None)
    return Sampling(**values)


def recommended(runtime: Runtime) -> Sampling:
    """Return the settings that the model's file recommends (``general.sampling.*`` of the GGUF standard)."""

    def number(key: str, low: float, high: float) -> float | None:
        try:
            value = float(runtime.metadata(f"general.sampling.{key}") or "nan")
        except ValueError:
            return None
        return value if low <= value <= high else None

    top_k = number("top_k", 0, math.inf)
    return Sampling(
        temperature=number("temp", 0, 2),
        top_k=int(top_k) if top_k is not None and math.isfinite(top_k) else None,
        top_p=number("top_p", 0, 1),
        min_p=number("min_p", 0, 1),
        repeat_penalty=number("penalty_repeat", 0.1, 10),
    )


class Sampler:
    """Two llama.cpp sampler chains, one for free text and one for calls; close it after use."""

    def __init__(self, sampling: Sampling) -> None:
        sampling = layered(sampling)
        self._free = _chain(sampling, sampling.temperature or 0.0)
        self._exact = _chain(sampling, sampling.call_temperature or 0.0)
        self._repeat = sampling.repeat_penalty or 1.0
        self._presence = sampling.presence_penalty or 0.0
        self._frequency = sampling.frequency_penalty or 0.0
        self._penalises = self._repeat != 1.0 or bool(self._presence) or bool(self._frequency)
        self._recent: deque[int] = deque(maxlen=_PENALTY_WINDOW)

    def next_token(self, runtime: Runtime, *, exact: bool = False) -> int:
        """Choose from the runtime's current logits; `exact`: as in a call, without penalties."""
        if exact:
            return runtime.sample(self._exact)
        if self._penalises:
            self._penalise(runtime)
        token = runtime.sample(self._free)
        self._recent.append(token)
        return token

    def close(self) -> None:
        """Free the chains."""
        _llama.llama_sampler_free(self._free)
        _llama.llama_sampler_free(self._exact)

    def _penalise(self, runtime: Runtime) -> None:
        """Lower the logits of recent tokens as llama.cpp's penalties do.

        Its own sampler looks each token of the vocabulary up in a table, which at 248,320 tokens
        costs milliseconds; there are at most 64 to change.
        """
        if not self._recent:
            return
        counts = Counter(self._recent)
        tokens = np.fromiter(counts.keys(), np.int64)
        often = np.fromiter(counts.values(), np.float32)
        logits = runtime.logits()
        chosen = logits[tokens]
        chosen = np.where(chosen > 0, chosen / self._repeat, chosen * self._repeat)
        logits[tokens] = chosen - often * self._frequency - self._presence


def _chain(sampling: Sampling, temperature: float) -> Any:
    chain: Any = _llama.llama_sampler_chain_init(_llama.llama_sampler_chain_default_params())

    def add(sampler: Any) -> None:
        _llama.llama_sampler_chain_add(chain, sampler)

    if sampling.logit_bias:
        biases = (_llama.llama_logit_bias * len(sampling.logit_bias))(*sampling.logit_bias.items())
        # The size of the vocabulary only lets llama.cpp find a token faster; it checks each place.
        add(_llama.llama_sampler_init_logit_bias(0, len(biases), biases))
    if temperature <= 0:
        add(_llama.llama_sampler_init_greedy())
        return chain
    if sampling.top_k:
        add(_llama.llama_sampler_init_top_k(sampling.top_k))
    if sampling.top_p is not None and sampling.top_p < 1:
        add(_llama.llama_sampler_init_top_p(sampling.top_p, 1))
    if sampling.min_p:
        add(_llama.llama_sampler_init_min_p(sampling.min_p, 1))
    add(_llama.llama_sampler_init_temp(temperature))
    add(_llama.llama_sampler_init_dist(_RANDOM_SEED if sampling.seed is None else sampling.seed))
    return chain
