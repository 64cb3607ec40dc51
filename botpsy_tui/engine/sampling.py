"""Sampler chains, and the sampling that a model's file recommends."""

from typing import Any

import llama_cpp

from botpsy_tui.engine.runtime import Runtime
from botpsy_tui.engine.types import Sampling

_llama: Any = llama_cpp


def recommended(runtime: Runtime) -> Sampling:
    """Return the model's own settings (``general.sampling.*``), ours where it names none.

    A tool-calling model of this size does best nearly greedy, so a recommended temperature is
    taken only up to our default.
    """
    default = Sampling()

    def number(key: str, otherwise: float) -> float:
        text = runtime.metadata(f"general.sampling.{key}")
        try:
            return float(text) if text is not None else otherwise
        except ValueError:
            return otherwise

    return Sampling(
        temperature=min(number("temp", default.temperature), default.temperature),
        top_k=int(number("top_k", default.top_k)),
        top_p=number("top_p", default.top_p),
        min_p=number("min_p", default.min_p),
    )


class Sampler:
    """A llama.cpp sampler chain; close it after use."""

    def __init__(self, sampling: Sampling) -> None:
        self._chain: Any = _llama.llama_sampler_chain_init(_llama.llama_sampler_chain_default_params())

        def add(sampler: Any) -> None:
            _llama.llama_sampler_chain_add(self._chain, sampler)

        if sampling.temperature <= 0:
            add(_llama.llama_sampler_init_greedy())
            return
        if sampling.top_k > 0:
            add(_llama.llama_sampler_init_top_k(sampling.top_k))
        add(_llama.llama_sampler_init_top_p(sampling.top_p, 1))
        if sampling.min_p > 0:
            add(_llama.llama_sampler_init_min_p(sampling.min_p, 1))
        add(_llama.llama_sampler_init_temp(sampling.temperature))
        add(_llama.llama_sampler_init_dist(sampling.seed))

    def next_token(self, runtime: Runtime) -> int:
        """Choose from the runtime's current logits."""
        return runtime.sample(self._chain)

    def close(self) -> None:
        """Free the chain."""
        _llama.llama_sampler_free(self._chain)
