"""What of a conversation the model still sees: what is old gives way before the context is full."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from botpsy_tui.agent.events import ContextTrimmed
from botpsy_tui.engine.types import ContextFull, Message

_LONGEST_ANSWER = 1024
_SHORT = 240
"""Characters of a tool's result that is not worth shortening."""
_FIRST_LINE = 120
_SHORTENED = " … (the rest was left out to save room: look it up again with a tool if it is needed)"
_CUT = "\n… (cut here, as the rest does not fit: ask the tool for less)"
_LARGER = "set a larger `context` under [engine] in the settings"

Count = Callable[[Sequence[Message]], Awaitable[int]]
"""Returns how many tokens a request with these messages has."""


class ConversationWindow:
    """The messages that the model is given: the system prompt, and as much of what followed as fits.

    Old tool results are shortened first, the oldest before the others. Then the oldest turns leave,
    each as a whole: a message of the person with all that followed, so that no call loses its
    result. The system prompt and the running turn stay. It is cut down to half, so that it seldom
    happens: each time, what follows the system prompt has to be read again.
    """

    def __init__(self, system: Message, context_size: int, count: Count) -> None:
        self.messages = [system]
        self.shortened = 0
        """Tool results that were shortened so far."""
        self.left = 0
        """Turns of the person that were left out so far."""
        self.answer_tokens = min(_LONGEST_ANSWER, context_size // 4)
        """Tokens that are kept free for each answer."""
        self._size = context_size
        self._most = context_size - self.answer_tokens
        self._count = count

    async def admit(self, message: Message) -> None:
        """Begin a turn with the person's message.

        Raises `ContextFull` where it can't be answered even alone; then nothing has changed.
        """
        tokens = await self._count([self.messages[0], message])
        if tokens > self._most:
            fixed = await self._fixed()
            if fixed > self._most:
                raise ContextFull(
                    f"The tools alone take {fixed:,} tokens, more than a context of {self._size:,} can "
                    f"hold beside an answer; {_LARGER}."
                )
            raise ContextFull(
                f"This message is too long for the model: it takes {tokens - fixed:,} tokens, and there is "
                f"room for {self._most - fixed:,}. Say it in parts, or {_LARGER}."
            )
        self.messages.append(message)

    async def make_room(self) -> ContextTrimmed | None:
        """See to it that the model can answer.

        Raises `ContextFull` where the running turn alone is too long.
        """
        if await self._count(self.messages) <= self._most:
            return None
        await self._trim(await self._low())
        if await self._count(self.messages) > self._most:
            await self._cut_running_results()
        return ContextTrimmed(self.shortened, self.left)

    async def make_room_ahead(self, coming: Message) -> ContextTrimmed | None:
        """Make room for a turn that may begin with `coming`, where little is left."""
        self.messages.append(coming)
        try:
            low = await self._low()
            if await self._count(self.messages) <= (self._most + low) // 2:
                return None
            await self._trim(low)
        finally:
            self.messages.remove(coming)
        return ContextTrimmed(self.shortened, self.left)

    async def _low(self) -> int:
        """Return what to cut down to: half of what the system prompt and the tools leave."""
        fixed = await self._fixed()
        return fixed + max(0, self._most - fixed) // 2

    async def _fixed(self) -> int:
        """Return the tokens that the system prompt and the tools take."""
        return await self._count([self.messages[0], Message("user", "a")])

    async def _trim(self, low: int) -> None:
        """Take away from the earlier turns until at most `low` tokens are there, or nothing is left."""
        whole = self.messages
        long = [i for i in range(_running_turn(whole)) if _can_be_shortened(whole[i])]
        shortened = await self._fewest(len(long), low, lambda n: _with_short(whole, long[:n]))
        shorter = _with_short(whole, long[:shortened])
        begins = [i for i, message in enumerate(shorter) if message.role == "user"]
        left = await self._fewest(len(begins) - 1, low, lambda n: [shorter[0], *shorter[begins[n] :]])
        self.messages = [shorter[0], *shorter[begins[left] :]]
        self.shortened += shortened
        self.left += left

    async def _cut_running_results(self) -> None:
        """Shorten, then cut, what tools have said in the running turn, until it fits."""
        whole = self.messages
        results = [i for i in range(_running_turn(whole), len(whole)) if whole[i].role == "tool"]
        last_step = max((i for i, m in enumerate(whole) if m.role == "assistant"), default=len(whole))
        earlier = [i for i in results if i < last_step and _can_be_shortened(whole[i])]
        shortened = await self._fewest(len(earlier), self._most, lambda n: _with_short(whole, earlier[:n]))
        shorter = _with_short(whole, earlier[:shortened])
        self.shortened += shortened
        newest = [i for i in results if i > last_step]
        longest = max((len(shorter[i].content) for i in newest), default=0)
        cut = await self._fewest(longest, self._most, lambda n: _with_cut(shorter, newest, longest - n))
        self.messages = _with_cut(shorter, newest, longest - cut)
        if await self._count(self.messages) > self._most:
            raise ContextFull(
                f"This turn has grown longer than the context of {self._size:,} tokens; what was done stays "
                f"done. Ask for less at once, or {_LARGER}."
            )

    async def _fewest(self, most: int, limit: int, made: Callable[[int], Sequence[Message]]) -> int:
        """Return the smallest n up to `most` with which `made(n)` has at most `limit` tokens, else `most`."""
        low, high = 0, max(0, most)
        while low < high:
            middle = (low + high) // 2
            if await self._count(made(middle)) <= limit:
                high = middle
            else:
                low = middle + 1
        return low


def _running_turn(messages: Sequence[Message]) -> int:
    """Return where the last message of the person stands."""
    return max(i for i, message in enumerate(messages) if message.role == "user")


def _can_be_shortened(message: Message) -> bool:
    return message.role == "tool" and len(message.content) > _SHORT


def _with_short(messages: Sequence[Message], places: Sequence[int]) -> list[Message]:
    result = list(messages)
    for i in places:
        first = result[i].content.strip().partition("\n")[0][:_FIRST_LINE]
        result[i] = replace(result[i], content=first + _SHORTENED)
    return result


def _with_cut(messages: Sequence[Message], places: Sequence[int], length: int) -> list[Message]:
    """Return the messages with those at `places` cut to `length` characters."""
    result = list(messages)
    for i in places:
        if len(result[i].content) > length:
            result[i] = replace(result[i], content=result[i].content[:length] + _CUT)
    return result
