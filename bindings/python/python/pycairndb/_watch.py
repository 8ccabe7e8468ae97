"""Live queries, notifications and change feeds as iterators, for threads and for tasks of asyncio."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator, NamedTuple

if TYPE_CHECKING:
    import asyncio


class LiveChange(NamedTuple):
    """What became of a live query's result: adding `added`, taking `removed` away and putting the new for the old of `updated`
    makes it the result at this position."""

    position: str
    is_first: bool
    added: list[tuple]
    removed: list[tuple]
    updated: list[tuple[tuple, tuple]]


class Notification(NamedTuple):
    """What a channel told. `missed`: how many right before it were dropped, for they were not taken."""

    channel: str
    payload: str
    process: int
    is_own: bool
    missed: int


class Change(NamedTuple):
    """What a commit did to a row: "insert", "update", "delete", or to a table: "truncate", "alter", .. (docs/changes.md)."""

    kind: str
    schema: str
    table: str
    old: dict[str, Any] | None
    new: dict[str, Any] | None
    position: str
    is_last: bool


def done(futures: list[asyncio.Future]) -> None:
    """Tasks that wait for these go on."""
    for future in futures:
        if not future.done():
            future.set_result(None)


class Watching:
    """An iterator, and an asynchronous one, over what comes. A context manager; it ends with its connection."""

    def __init__(self, watch: Any, connection: Any = None) -> None:
        self._watch = watch
        self._connection = connection

    def next(self, timeout: float | None = None) -> Any:
        """What comes next. `TimeoutError` where nothing came in so many seconds, `StopIteration` where there is no more."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            item = self._watch.next(None if until is None else until - time.monotonic())
            if item is None:
                raise StopIteration
            made = self._made(item)
            if made is not None:
                return made

    def _made(self, item: Any) -> Any:
        """What is told of an item; None: nothing."""
        return item

    def stop(self) -> None:
        """Ends it, also while another thread or task waits for it."""
        self._watch.stop()

    @property
    def token(self) -> str | None:
        """Of a change feed: where to go on from."""
        return self._watch.token

    @property
    def columns(self) -> list[str] | None:
        """Of a live query: the columns' names."""
        return self._watch.columns

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.next()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        import asyncio

        loop = asyncio.get_running_loop()
        while True:
            future = loop.create_future()
            item = self._watch.poll(loop, future)
            if item is None:
                await future
                continue
            made = self._made(item)
            if made is not None:
                return made

    def __enter__(self) -> "Watching":
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    async def __aenter__(self) -> "Watching":
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.stop()
