"""What a running call tells of itself, as it comes."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any


async def told_while(running: asyncio.Future[Any], told: asyncio.Queue[str]) -> AsyncGenerator[str, None]:
    """Yield what comes into `told` until `running` is done; what has come together is yielded together.

    Closed before that, it cancels `running` and waits for it to end. Its result, or what it raises, is
    for the caller to take.
    """
    try:
        while not running.done():
            getting = asyncio.ensure_future(told.get())
            try:
                await asyncio.wait({running, getting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                getting.cancel()
            pieces = [getting.result()] if getting.done() and not getting.cancelled() else []
            while not told.empty():
                pieces.append(told.get_nowait())
            if pieces:
                yield "".join(pieces)
    finally:
        if not running.done():
            running.cancel()
            await asyncio.wait({running})
