"""The session of a model in this process: one thread decodes, everything else is async."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from botpsy_tui.engine.adapters import LoraAdapter
from botpsy_tui.engine.constraint import Constrainer
from botpsy_tui.engine.dialects import dialect_of
from botpsy_tui.engine.generation import Generation, declared_tools
from botpsy_tui.engine.memory import ContextMemory
from botpsy_tui.engine.runtime import ContextSettings, DecodeAborted, Runtime
from botpsy_tui.engine.template import ChatTemplate
from botpsy_tui.engine.tokens import TokenCounter
from botpsy_tui.engine.types import (
    EngineError,
    Finished,
    ModelInfo,
    Request,
    Sampling,
    SessionEvent,
    Statistics,
)

__all__ = ["ContextSettings", "LocalSession", "LoraAdapter"]

_FALLBACK_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

_PARAMETERS_THAT_THINK_WELL = 3_000_000_000
"""Below, reasoning is slow and measures worse: Qwen3.5-0.8B follows instructions in 52.1 % of IFEval without
it and 44.0 % with it, by its own card, and is warned to go on thinking without an end."""


class LocalSession:
    """A GGUF model in this process."""

    def __init__(
        self, runtime: Runtime, thread: ThreadPoolExecutor, quantisation: str, family: Sampling
    ) -> None:
        self._runtime = runtime
        self._family = family
        self._thread = thread
        self._memory = ContextMemory(runtime, checkpoint_bytes=runtime.settings.checkpoint_bytes)
        source = runtime.chat_template() or _FALLBACK_TEMPLATE
        special = runtime.special_tokens()
        self._template = ChatTemplate(source, special, beginning=runtime.beginning())
        self._counter = TokenCounter(runtime.tokenize, [token for token in special if token in source])
        self._closed = False
        self._thinks = (
            self._template.thinks_by_default and runtime.parameter_count() >= _PARAMETERS_THAT_THINK_WELL
        )
        self._dialect = dialect_of(source)
        self._constrainer = Constrainer(runtime, self._dialect)
        if self._dialect.calls_tools:
            self._constrainer.warm_up()
        self._info = ModelInfo(
            name=runtime.metadata("general.name") or runtime.description(),
            architecture=runtime.metadata("general.architecture") or "unknown",
            quantisation=quantisation or _quantisation_in(runtime.description()),
            context_size=runtime.context_size,
            dialect=self._dialect.name,
            calls_tools=self._dialect.calls_tools,
            hybrid=runtime.hybrid,
            adapters=tuple(adapter.label for adapter in runtime.settings.adapters),
        )

    @classmethod
    async def load(
        cls,
        path: Path,
        settings: ContextSettings | None = None,
        *,
        quantisation: str = "",
        family: Sampling | None = None,
    ) -> "LocalSession":
        """Load a model file. Raises `EngineError` with a sentence where that is impossible.

        `family` is the sampling that the model's card recommends, for what the file itself leaves open.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="decode")

        def load() -> LocalSession:
            return cls(
                Runtime(path, settings or ContextSettings()), thread, quantisation, family or Sampling()
            )

        try:
            return await asyncio.get_running_loop().run_in_executor(thread, load)
        except BaseException:
            thread.shutdown(wait=False)
            raise

    @property
    def info(self) -> ModelInfo:
        """What model this is."""
        return self._info

    async def stream(self, request: Request) -> AsyncIterator[SessionEvent]:
        """Run one turn of the model; closing the iterator cancels it.

        Raises `ContextFull` before anything is generated, or `EngineError`.
        """
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[SessionEvent | BaseException] = asyncio.Queue()
        cancel = threading.Event()

        def emit(item: SessionEvent | BaseException) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, item)

        def run() -> None:
            try:
                self._generation(request, emit, cancel.is_set).run()
            except BaseException as error:  # noqa: BLE001 - carried to the one who waits
                emit(error)

        job = loop.run_in_executor(self._thread, run)
        try:
            while True:
                item = await queue.get()
                if isinstance(item, EngineError):
                    raise item
                if isinstance(item, BaseException):
                    raise EngineError(f"The model broke off: {item}.") from item
                yield item
                if isinstance(item, Finished):
                    return
        finally:
            cancel.set()
            await asyncio.shield(job)

    async def count(self, request: Request) -> int:
        """Return how many tokens the request's prompt has."""
        if self._closed:
            raise EngineError("The model has been closed.")
        tools = declared_tools(request.tools, self._dialect)
        thinking = self._thinks_about(request)
        return self._counter.count(self._template.text(request.messages, tools, thinking=thinking))

    async def prepare(self, request: Request) -> Statistics:
        """Read the request's prompt ahead of need."""
        cancel = threading.Event()

        def run() -> Statistics:
            generation = self._generation(request, _ignore, cancel.is_set, ahead=True)
            self._runtime.abort_when(cancel.is_set)
            with suppress(DecodeAborted):
                generation.read_prompt()
            return generation.statistics()

        job = asyncio.get_running_loop().run_in_executor(self._thread, run)
        try:
            return await asyncio.shield(job)
        finally:
            cancel.set()

    async def close(self) -> None:
        """Free the model, after what is running has ended."""
        self._closed = True

        def free() -> None:
            self._constrainer.close()
            self._runtime.close()

        await asyncio.get_running_loop().run_in_executor(self._thread, free)
        self._thread.shutdown(wait=False)

    def _thinks_about(self, request: Request) -> bool:
        return request.thinking == "on" or (request.thinking == "auto" and self._thinks)

    def _generation(
        self,
        request: Request,
        emit: Callable[[SessionEvent], None],
        cancelled: Callable[[], bool],
        *,
        ahead: bool = False,
    ) -> Generation:
        return Generation(
            runtime=self._runtime,
            memory=self._memory,
            template=self._template,
            dialect=self._dialect,
            constrainer=self._constrainer,
            request=request,
            thinking=self._thinks_about(request),
            family=self._family,
            emit=emit,
            cancelled=cancelled,
            ahead=ahead,
        )


def _quantisation_in(description: str) -> str:
    """Return ``Q4_K`` of ``qwen2 1.5B Q4_K - Medium``."""
    found = re.search(r"\b(I?Q\d\w*|BF16|F16|F32)\b", description)
    return found[1] if found else description


def _ignore(_event: SessionEvent) -> None:
    """Nobody waits for what `prepare` says."""
