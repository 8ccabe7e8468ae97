"""SQLAlchemy's asynchronous dialect: `create_async_engine("cairndb:///tasks.cairn")`, or `cairndb+aio://`.

It is the other one, whose statements run on threads: an engine has as many as it has connections that run something. A task that
is cancelled interrupts its statement.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterator, TypeVar

from sqlalchemy import pool
from sqlalchemy.engine import AdaptedConnection
from sqlalchemy.util import concurrency

from .aio import until_done
from .sqlalchemy import Context, Dialect

T = TypeVar("T")

# (Before SQLAlchemy 2.1 it has another name.)
_await = getattr(concurrency, "await_", None) or concurrency.await_only


class Cursor:
    """A cursor whose methods are awaited where they are called, in SQLAlchemy's greenlet. Rows are fetched with their statement, unless
    they are streamed."""

    def __init__(self, of: "Connection", server_side: bool) -> None:
        self._of = of
        self._cursor = of.driver_connection.cursor()
        self._rows: deque[Any] | None = None
        self.server_side = server_side

    def execute(self, operation: Any, parameters: Any = None) -> "Cursor":
        def work() -> deque[Any] | None:
            self._cursor.execute(operation, parameters)
            whole = self._cursor.description is not None and not self.server_side
            return deque(self._cursor.fetchall()) if whole else None

        self._rows = None
        self._rows = self._of.run(work)
        return self

    def executemany(self, operation: Any, parameters: Any) -> "Cursor":
        self._rows = None
        self._of.run(lambda: self._cursor.executemany(operation, parameters))
        return self

    description = property(lambda self: self._cursor.description)
    rowcount = property(lambda self: self._cursor.rowcount)
    lastrowid = property(lambda self: self._cursor.lastrowid)
    arraysize = property(lambda self: self._cursor.arraysize, lambda self, size: setattr(self._cursor, "arraysize", size))

    def fetchone(self) -> Any:
        if self._rows is None:
            return self._of.run(self._cursor.fetchone)
        return self._rows.popleft() if self._rows else None

    def fetchmany(self, size: int | None = None) -> list[Any]:
        if self._rows is None:
            return self._of.run(lambda: self._cursor.fetchmany(size))
        count = min(self.arraysize if size is None else size, len(self._rows))
        return [self._rows.popleft() for _ in range(count)]

    def fetchall(self) -> list[Any]:
        if self._rows is None:
            return self._of.run(self._cursor.fetchall)
        rows, self._rows = list(self._rows), deque()
        return rows

    def __iter__(self) -> Iterator[Any]:
        while (row := self.fetchone()) is not None:
            yield row

    def setinputsizes(self, *sizes: Any) -> None:
        """PEP 249: does nothing."""

    async def _async_soft_close(self) -> None:
        """The rows stay: they are here."""

    def close(self) -> None:
        # Lets go of what it has, which takes no waiting.
        self._rows = deque()
        self._cursor.close()


class Connection(AdaptedConnection):
    """A connection of `pycairndb`'s (`driver_connection`), awaited."""

    def __init__(self, connection: Any, threads: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._threads = threads
        self._one_at_a_time = asyncio.Lock()

    async def _awaited(self, work: Callable[[], T]) -> T:
        async with self._one_at_a_time:
            running = asyncio.get_running_loop().run_in_executor(self._threads, work)
            return await until_done(running, self._connection)

    def run(self, work: Callable[[], T]) -> T:
        return _await(self._awaited(work))

    def cursor(self, server_side: bool = False) -> Cursor:
        return Cursor(self, server_side)

    def execute(self, operation: Any, parameters: Any = None) -> Cursor:
        return self.cursor().execute(operation, parameters)

    def commit(self) -> None:
        self.run(self._connection.commit)

    def rollback(self) -> None:
        self.run(self._connection.rollback)

    def close(self) -> None:
        self.run(self._connection.close)

    def terminate(self) -> None:
        """Also where nothing can be awaited: what nobody has any more is collected."""
        self._connection.interrupt()
        self._connection.close()

    autocommit = property(
        lambda self: self._connection.autocommit, lambda self, on: setattr(self._connection, "autocommit", on)
    )


class AsyncContext(Context):
    def create_server_side_cursor(self) -> Any:
        return self._dbapi_connection.cursor(server_side=True)


class AsyncDialect(Dialect):
    """See the module."""

    driver = "aio"
    is_async = True
    has_terminate = True
    supports_statement_cache = True
    execution_ctx_cls = AsyncContext

    def __init__(self, **kw: Any) -> None:
        super().__init__(**kw)
        # A thread is made when one is needed: a statement never waits for another connection's.
        self._threads = ThreadPoolExecutor(1024, "pycairndb-sqlalchemy")

    @classmethod
    def get_pool_class(cls, url: Any) -> type[pool.Pool]:
        return pool.AsyncAdaptedQueuePool

    def connect(self, *arguments: Any, **options: Any) -> Any:
        connect = super().connect

        async def made() -> Any:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, lambda: connect(*arguments, **options))

        return Connection(_await(made()), self._threads)

    def get_driver_connection(self, connection: Any) -> Any:
        return connection.driver_connection

    def do_terminate(self, dbapi_connection: Any) -> None:
        dbapi_connection.terminate()
