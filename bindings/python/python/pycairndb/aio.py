"""CairnDB for asyncio: `async` and `await`, `async for`.

    from pycairndb import aio

    async with await aio.connect("tasks.cairn") as db:
        await db.execute("INSERT INTO task VALUES (?, ?)", (1, "write"))
        async for row in db.query("SELECT * FROM task"):
            print(row)

Statements by key whose pages are in memory are answered where they are asked; all else runs on a few threads, each with a connection of
its own, so that as many statements run at a time. A task that is cancelled interrupts its statement.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Awaitable, Callable, Iterable, TypeVar

from . import _errors
from ._connection import Connection as _Connection
from ._connection import connect as _connect
from ._watch import Watching

T = TypeVar("T")

_BATCH = 1000


class Result:
    """What a statement did: its rows, and how many it changed."""

    __slots__ = ("_rows", "description", "rowcount")

    def __init__(self, rows: list[Any] | None, description: Any, rowcount: int) -> None:
        self._rows, self.description, self.rowcount = rows, description, rowcount

    def fetchall(self) -> list[Any]:
        """All rows that were not fetched."""
        rows, self._rows = self._there(), []
        return rows

    def fetchone(self) -> Any:
        """The next row, or None."""
        rows = self._there()
        return rows.pop(0) if rows else None

    def __iter__(self):
        return iter(self.fetchall())

    def _there(self) -> list[Any]:
        if self._rows is None:
            raise _errors.make("24000", "the statement returns no rows", None, None, None, None, None, (None,) * 4)
        return self._rows


def _done(cursor: Any) -> Result:
    description = cursor.description
    return Result(None if description is None else cursor.fetchall(), description, cursor.rowcount)


class Connection:
    """A database for tasks: any number of them use it at a time."""

    def __init__(self, at_once: _Connection, connections: list[_Connection]) -> None:
        self._at_once = at_once
        self._all = [at_once, *connections]
        self._free = deque(connections)
        self._waiting: deque[asyncio.Future] = deque()
        self._threads = ThreadPoolExecutor(len(connections), "pycairndb")
        self._closed = False

    async def execute(self, sql: str, parameters: Any = None, /) -> Result:
        """Runs one statement, a transaction of its own."""
        cursor = self._at_once.execute_at_once(sql, parameters)
        if cursor is not None:
            return _done(cursor)
        result = await self._on_one(lambda connection: _done(connection.execute(sql, parameters)))
        if result.description is not None:
            # Of a statement by key, for the next time.
            self._at_once._prepare(sql, parameters)
        return result

    async def executemany(self, sql: str, parameters: Iterable[Any], /) -> int:
        """Runs it for each of the parameters, all or none; how many rows were changed."""
        return await self._on_one(lambda connection: connection.executemany(sql, parameters).rowcount)

    async def executescript(self, sql: str, /) -> None:
        """Runs all statements of a text."""
        await self._on_one(lambda connection: connection.executescript(sql) and None)

    async def query(self, sql: str, parameters: Any = None, /) -> AsyncIterator[Any]:
        """A query's rows, worked out as they are asked for."""
        async with _Taken(self) as connection:
            cursor = await self._run(connection, lambda: connection.execute(sql, parameters))
            try:
                while rows := await self._run(connection, lambda: cursor.fetchmany(_BATCH)):
                    for row in rows:
                        yield row
            finally:
                await self._run(connection, cursor.close)

    async def transaction(self, work: Callable[["Transaction"], Awaitable[T]], /, *, attempts: int = 10) -> T:
        """Runs `await work(transaction)` in a transaction and commits it; rolls back where it raises. Where another one got in its way
        (SQLSTATE 40001) all of it runs again, up to `attempts` times."""
        async with _Taken(self) as connection:
            for attempt in range(1, attempts + 1):
                await self._run(connection, lambda: connection.execute("BEGIN"))
                try:
                    done = await work(Transaction(self, connection))
                    await self._run(connection, connection.commit)
                    return done
                except _errors.OperationalError as error:
                    await self._run(connection, connection.rollback)
                    if error.sqlstate != "40001" or attempt == attempts:
                        raise
                    await asyncio.sleep(random.uniform(0, 0.001 * 2**attempt))
                except BaseException:
                    await asyncio.shield(self._run(connection, connection.rollback))
                    raise
        raise ValueError("attempts is at least 1")

    async def call(self, work: Callable[[_Connection], T], /) -> T:
        """Runs `work(connection)` on one of the threads."""
        return await self._on_one(work)

    async def live(self, sql: str, parameters: Any = None, /) -> Watching:
        """A query's result, and then what becomes of it: `async for change in await db.live(..)`."""
        return await self._on_any(lambda connection: connection.live(sql, parameters))

    async def listen(self, *channels: str) -> Watching:
        """What is told on these channels from now on."""
        return await self._on_any(lambda connection: connection.listen(*channels))

    async def changes(self, from_token: str | None = None) -> Watching:
        """What commits did to tables WITH (change_feed = on)."""
        return await self._on_any(lambda connection: connection.changes(from_token))

    async def close(self) -> None:
        """Ends what runs, and closes the database with its last connection."""
        if self._closed:
            return
        self._closed = True
        for connection in self._all:
            connection.interrupt()
        loop = asyncio.get_running_loop()
        for connection in self._all:
            await loop.run_in_executor(None, connection.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> "Connection":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _on_one(self, work: Callable[[_Connection], T]) -> T:
        async with _Taken(self) as connection:
            return await self._run(connection, lambda: work(connection))

    async def _on_any(self, work: Callable[[_Connection], T]) -> T:
        """On the one that no statement holds for long."""
        return await asyncio.get_running_loop().run_in_executor(None, work, self._at_once)

    async def _run(self, connection: _Connection, work: Callable[[], T]) -> T:
        """Runs it on a thread; a task that is cancelled stops it, and waits until it has."""
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            while not running.done():
                connection.interrupt()
                await asyncio.wait([running], timeout=0.05)
            if not running.cancelled():
                running.exception()
            raise


class _Taken:
    """A connection of its own, given back at the end."""

    def __init__(self, of: Connection) -> None:
        self._of = of

    async def __aenter__(self) -> _Connection:
        of = self._of
        while not of._free:
            if of._closed:
                break
            future = asyncio.get_running_loop().create_future()
            of._waiting.append(future)
            try:
                await future
            except asyncio.CancelledError:
                # It may have been this one's turn.
                if future.done() and not future.cancelled():
                    self._next()
                raise
        if of._closed:
            raise _errors.make("08003", "the connection is closed", None, None, None, None, None, (None,) * 4)
        self._connection = of._free.popleft()
        return self._connection

    async def __aexit__(self, *exception: object) -> None:
        self._of._free.append(self._connection)
        self._next()

    def _next(self) -> None:
        waiting = self._of._waiting
        while waiting:
            future = waiting.popleft()
            if not future.done():
                future.set_result(None)
                return


class Transaction:
    """A transaction of `Connection.transaction`: used by one task at a time."""

    def __init__(self, of: Connection, connection: _Connection) -> None:
        self._of, self._connection = of, connection

    async def execute(self, sql: str, parameters: Any = None, /) -> Result:
        """Runs one statement."""
        return await self._of._run(self._connection, lambda: _done(self._connection.execute(sql, parameters)))

    async def executemany(self, sql: str, parameters: Iterable[Any], /) -> int:
        """Runs it for each of the parameters; how many rows were changed."""
        return await self._of._run(self._connection, lambda: self._connection.executemany(sql, parameters).rowcount)


async def connect(database: str | os.PathLike[str], *, connections: int = 4, **options: Any) -> Connection:
    """Connects to a database, with so many statements that run at a time. Options as `pycairndb.connect` has them."""
    if connections < 1:
        raise ValueError("connections is at least 1")

    def open_all() -> tuple[_Connection, list[_Connection]]:
        made: list[_Connection] = []
        try:
            made.append(_connect(database, autocommit=True, **options))
            for _ in range(connections):
                made.append(made[0].again())
        except BaseException:
            for connection in made:
                connection.close()
            raise
        return made[0], made[1:]

    return Connection(*await asyncio.get_running_loop().run_in_executor(None, open_all))
