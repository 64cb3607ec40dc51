"""A session with a model that runs elsewhere, over an OpenAI-compatible endpoint."""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from botpsy_tui.engine.chat_format import chat_messages
from botpsy_tui.engine.endpoint_stream import Answer, BrokenAnswer, events_of_line
from botpsy_tui.engine.template import declaration
from botpsy_tui.engine.types import (
    ContextFull,
    EngineError,
    Finished,
    ModelInfo,
    ReasoningDelta,
    Request,
    Sampling,
    SessionEvent,
    Statistics,
    TextDelta,
)

_CONNECT_SECONDS = 10.0
_LONGEST_BODY = 4 * 1024 * 1024
_LONGEST_REASON = 200
_MOST_NAMED = 6
_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed")
"""What every such server knows; the rest is left to it."""
_CONTEXT_WORDS = ("context_length", "context length", "context size", "context window")


@dataclass(frozen=True)
class EndpointSettings:
    """Where the model is, and how to be let in."""

    url: str
    """Up to and with the version, such as ``http://127.0.0.1:8080/v1``."""
    model: str = ""
    """As the server names it; empty where it has only one."""
    key: Callable[[], str] | None = field(default=None, repr=False)
    """Gives the API key; asked once, when the session begins. May block."""
    context_size: int = 8192
    """Tokens the server's context holds, where it does not tell."""
    silence_seconds: float = 300.0
    """How long the server may say nothing before it is given up."""

    @property
    def place(self) -> str:
        """Host and port, as the person is shown them."""
        return urlsplit(self.url).netloc


@dataclass
class _Timing:
    """When the answer's first piece came."""

    started: float = field(default_factory=time.perf_counter)
    first: float | None = None

    def first_came(self) -> None:
        self.first = self.first or time.perf_counter()

    def seconds(self) -> tuple[float, float]:
        """Return how long the answer let wait for itself, and how long it then took."""
        ended = time.perf_counter()
        first = self.first or ended
        return first - self.started, ended - first


class _Said(BaseModel):
    message: str | None = None


class _Refusal(BaseModel):
    """What a server sends with an error: OpenAI's form, or FastAPI's."""

    error: _Said | str | None = None
    detail: Any = None


class EndpointSession:
    """A model behind ``/chat/completions`` (llama-server, vLLM, llama_cpp.server and the like)."""

    def __init__(self, client: httpx.AsyncClient, settings: EndpointSettings, key: str) -> None:
        """Use `open`, which finds the model first."""
        self._client = client
        self._settings = settings
        self._key = key
        self._model = settings.model
        self._context_size = settings.context_size
        self._streams_calls = True

    @classmethod
    async def open(cls, settings: EndpointSettings) -> "EndpointSession":
        """Reach the endpoint and find its model. Raises `EngineError` with one sentence."""
        key = await asyncio.to_thread(settings.key) if settings.key is not None else ""
        host = urlsplit(settings.url).hostname or ""
        client = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            # Between two turns minutes may pass: a connection kept open would mostly be found dead.
            limits=httpx.Limits(max_keepalive_connections=0),
            timeout=httpx.Timeout(settings.silence_seconds, connect=_CONNECT_SECONDS),
            # A proxy of the environment has no business with what never leaves this machine.
            trust_env=host not in ("127.0.0.1", "::1", "localhost"),
        )
        session = cls(client, settings, key)
        try:
            await session._find_model()
        except BaseException:
            await client.aclose()
            raise
        return session

    @property
    def info(self) -> ModelInfo:
        """What model this is, and where."""
        return ModelInfo(
            name=self._model,
            architecture="unknown",
            quantisation="",
            context_size=self._context_size,
            dialect="openai",
            calls_tools=True,
            endpoint=self._settings.place,
        )

    async def stream(self, request: Request) -> AsyncIterator[SessionEvent]:
        """Run one turn of the model; closing the iterator closes the connection, which ends its work there.

        Raises `ContextFull` where the server says that the conversation is too long, or `EngineError`.
        """
        timing = _Timing()
        streamed = self._streams_calls or not request.tools
        answer = Answer()
        async with aclosing(self._events(request, answer, streamed=streamed)) as events:
            async for event in events:
                timing.first_came()
                yield event
        if answer.reason is None and not answer.begun and streamed:
            # Some servers (llama_cpp.server among them) end a stream without a word where they can't
            # stream calls, or can't answer; asked without a stream, they answer or say why not.
            answer = Answer()
            async with aclosing(self._events(request, answer, streamed=False)) as events:
                async for event in events:
                    timing.first_came()
                    yield event
            self._streams_calls = not request.tools
        if answer.reason is None:
            raise self._broken_off()
        try:
            calls = answer.calls()
        except BrokenAnswer as error:
            raise self._unreadable(error) from error
        for call in calls:
            yield call
        statistics = answer.statistics(*timing.seconds(), self._context_size)
        yield Finished(answer.reason, statistics, answer.unfinished())

    async def count(self, request: Request) -> int:
        """Estimate the prompt's tokens: one for every three bytes that are sent, which is rather too many."""
        return len(json.dumps(self._body(request, streamed=False), ensure_ascii=False).encode()) // 3

    async def prepare(self, request: Request) -> Statistics:
        """Do nothing: a server reads a prompt only to answer it, and may ask money for that."""
        return Statistics(context_size=self._context_size)

    async def close(self) -> None:
        """End the connection."""
        await self._client.aclose()

    async def _events(
        self, request: Request, answer: Answer, *, streamed: bool
    ) -> AsyncGenerator[TextDelta | ReasoningDelta, None]:
        """Ask once; what comes is put into `answer`, what can be shown of it is yielded."""
        body = self._body(request, streamed=streamed)
        try:
            async with self._client.stream(
                "POST", f"{self._settings.url}/chat/completions", json=body
            ) as response:
                if response.status_code != 200:
                    await self._refused(response)
                async for line in _lines(response):
                    for event in events_of_line(line, answer):
                        yield event
                    if answer.ended:
                        break
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise self._unreachable(error, answering=answer.begun) from error
        except BrokenAnswer as error:
            raise self._unreadable(error) from error

    def _body(self, request: Request, *, streamed: bool) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": chat_messages(request.messages),
            "max_tokens": request.max_tokens,
        }
        if streamed:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if request.tools:
            body["tools"] = [declaration(tool) for tool in request.tools]
            body["tool_choice"] = "auto"
        sampling = request.sampling or Sampling()
        chosen = {name: getattr(sampling, name) for name in _SAMPLING}
        body |= {name: value for name, value in chosen.items() if value is not None}
        return body

    async def _find_model(self) -> None:
        """Take the server's only model where none is named, and its context size where it tells."""
        try:
            response = await self._client.get(f"{self._settings.url}/models")
        except httpx.HTTPError as error:
            raise self._unreachable(error, answering=False) from error
        if response.status_code == 404 and self._model:
            return  # not every server lists its models
        if response.status_code != 200:
            await self._refused(response)
        try:
            listed: Any = response.json()["data"]
            models = {str(model["id"]): model for model in listed}
        except (ValueError, TypeError, KeyError) as error:
            raise EngineError(
                f"{self._settings.url} is no OpenAI-compatible endpoint: its list of models can't be read. "
                "Such an address mostly ends in /v1."
            ) from error
        named = ", ".join(list(models)[:_MOST_NAMED]) or "none"
        if not self._model:
            if len(models) != 1:
                raise EngineError(
                    self._clean(
                        f"{self._settings.place} has these models: {named}. "
                        "Name one as `endpoint_model` under [engine] in the settings."
                    )
                )
            self._model = next(iter(models))
        elif self._model not in models:
            raise EngineError(
                self._clean(f"{self._settings.place} has no model {self._model}; it has: {named}.")
            )
        longest = models[self._model].get("max_model_len")  # as vLLM tells it
        if isinstance(longest, int) and longest > 0:
            self._context_size = longest

    async def _refused(self, response: httpx.Response) -> NoReturn:
        """Raise what a status other than 200 means."""
        await response.aread()
        place, status = self._settings.place, response.status_code
        said = _reason_in(response)
        because = f" It says: {said}" if said else ""
        if status in (400, 413, 422) and any(word in response.text.lower() for word in _CONTEXT_WORDS):
            raise ContextFull(
                f"This conversation has grown longer than the context of the model at {place}; "
                "start a new one."
            )
        if status in (401, 403):
            has = "does not accept the API key" if self._key else "wants an API key"
            sentence = f"{place} {has} ({status}): set it with `botpsy model endpoint`."
        elif status == 404:
            sentence = (
                f"{place} has no model {self._model or 'at this address'} (404): look at `endpoint` and "
                f"`endpoint_model` under [engine] in the settings.{because}"
            )
        elif status == 429:
            wait = response.headers.get("Retry-After", "")
            when = f"in {wait} seconds" if wait.isdigit() else "in a while"
            sentence = f"{place} has had too many requests (429): ask again {when}.{because}"
        elif 300 <= status < 400:
            sentence = (
                f"{place} sends elsewhere ({status}), which is not followed: name the right `endpoint`."
            )
        elif status >= 500:
            sentence = f"The server at {place} failed ({status}): ask again, or look at its log.{because}"
        else:
            sentence = f"{place} refuses the request ({status}).{because}"
        raise EngineError(self._clean(sentence))

    def _unreachable(self, error: Exception, *, answering: bool) -> EngineError:
        place = self._settings.place
        if isinstance(error, httpx.ConnectTimeout):
            sentence = f"{place} does not answer within {_CONNECT_SECONDS:.0f} seconds: is it running?"
        elif isinstance(error, httpx.TimeoutException):
            sentence = (
                f"{place} has said nothing for {self._settings.silence_seconds:.0f} seconds and is given up; "
                "ask again, or set a longer `endpoint_timeout` under [engine]."
            )
        elif _of_tls(error):
            sentence = f"No safe connection to {place} can be made: {_of_tls(error)}."
        elif isinstance(error, httpx.ConnectError):
            sentence = (
                f"No model server answers at {self._settings.url}: start it, or change `endpoint` under "
                "[engine] in the settings."
            )
        elif answering:
            return self._broken_off()
        else:
            sentence = f"The connection to {place} broke off ({type(error).__name__}); ask again."
        return EngineError(self._clean(sentence))

    def _broken_off(self) -> EngineError:
        return EngineError(
            f"The connection to {self._settings.place} broke off in the middle of the answer; ask again."
        )

    def _unreadable(self, error: BrokenAnswer) -> EngineError:
        return EngineError(self._clean(f"The model at {self._settings.place} {error}"))

    def _clean(self, sentence: str) -> str:
        """Return a sentence without the key, should the server have repeated it."""
        return sentence.replace(self._key, "(the key)") if self._key else sentence


async def _lines(response: httpx.Response) -> AsyncIterator[str]:
    """Yield the lines of a stream of events, or the whole of a JSON body; one without an end is refused."""
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        yield (await response.aread()).decode(errors="replace").strip()
        return
    if kind != "text/event-stream":
        raise BrokenAnswer("sent no answer but something else; is it an OpenAI-compatible endpoint?")
    held = ""
    async for text in response.aiter_text():
        *lines, held = (held + text).split("\n")
        for line in lines:
            yield line.rstrip("\r")
        if len(held) > _LONGEST_BODY:
            raise BrokenAnswer("sends a line without an end; the answer is given up.")
    if held:
        yield held


def _reason_in(response: httpx.Response) -> str:
    """Return what the server says went wrong, as one short line."""
    try:
        refusal = _Refusal.model_validate_json(response.content)
    except ValidationError:
        return ""
    error = refusal.error
    text = error if isinstance(error, str) else (error and error.message) or refusal.detail
    return " ".join(str(text).split())[:_LONGEST_REASON] if text else ""


def _of_tls(error: BaseException | None) -> str:
    """Return what was wrong with the encryption, where that was the cause."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return str(getattr(error, "verify_message", "") or error.reason or "TLS failed").lower()
        error = error.__cause__ or error.__context__
    return ""
