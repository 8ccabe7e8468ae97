"""CairnDB for asyncio: `async` and `await`, `async for`.

    from pycairndb import aio

    async with await aio.connect("tasks.cairn") as db:
        await db.execute("INSERT INTO task VALUES (?, ?)", (1, "write"))
        async for row in db.query("SELECT * FROM task"):
            print(row)

Reads and writes of a row by its key whose pages are in memory are done where they are asked, and no thread waits for a commit; all else is
done by a few workers of the engine's. A task that is cancelled interrupts its statement.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
from collections import deque
from typing import Any, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, TypeVar

from . import _errors
from ._connection import Connection as _Connection
from ._connection import connect as _connect
from ._documents import Document, Page, Written
from ._pycairndb import Result, Workers
from ._watch import Watching

T = TypeVar("T")

_BATCH = 1000


class Connection:
    """A database for tasks: any number of them use it at a time."""

    def __init__(self, at_once: _Connection, connections: list[_Connection], workers: Workers) -> None:
        self._at_once = at_once
        self._all = [at_once, *connections]
        self._free = deque(connections)
        self._waiting: deque[asyncio.Future] = deque()
        self._workers = workers
        self._closed = False

    def execute(self, sql: str, parameters: Any = None, /) -> Coroutine[Any, Any, Result]:
        """Runs one statement, a transaction of its own. What it would leave behind in a session (SET, BEGIN, temporary tables) is refused."""
        return self._workers.execute(sql, parameters)

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

    async def collection(self, name: str, /, *, claims: Mapping[str, Any] | None = None) -> Collection:
        """A collection of documents that there is; each call on it is a transaction of its own. `claims`: as somebody sees it who comes with
        these."""
        collection = Collection(name, self._on_one, self, claims)
        await self._on_one(lambda connection: connection.collection(name, claims=claims))
        return collection

    async def create_collection(self, name: str, /, *, ids: str = "text", change_feed: bool = True) -> Collection:
        """A collection, which is made if there is none of this name."""
        await self._on_one(lambda connection: connection.create_collection(name, ids=ids, change_feed=change_feed))
        return Collection(name, self._on_one, self)

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
        closing = asyncio.ensure_future(self._workers.close())
        while not closing.done():
            for connection in self._all:
                connection.interrupt()
            await asyncio.wait([closing], timeout=0.05)
        loop = asyncio.get_running_loop()
        for connection in self._all:
            await loop.run_in_executor(None, connection.close)
        closing.result()

    async def __aenter__(self) -> "Connection":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _on_one(self, work: Callable[[_Connection], T]) -> T:
        async with _Taken(self) as connection:
            return await self._run(connection, lambda: work(connection))

    async def _on_any(self, work: Callable[[_Connection], T]) -> T:
        """On the one that no statement holds for long."""
        return await self._run(self._at_once, lambda: work(self._at_once))

    async def _run(self, connection: _Connection, work: Callable[[], T]) -> T:
        return await until_done(asyncio.ensure_future(self._workers.call(connection, work)), connection)


async def until_done(running: asyncio.Future[T], connection: _Connection) -> T:
    """Waits for what runs statements on the connection; a task that is cancelled stops it, and waits until it has."""
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
        return await self._of._run(self._connection, lambda: Result._of(self._connection.execute(sql, parameters)))

    async def executemany(self, sql: str, parameters: Iterable[Any], /) -> int:
        """Runs it for each of the parameters; how many rows were changed."""
        return await self._of._run(self._connection, lambda: self._connection.executemany(sql, parameters).rowcount)

    def collection(self, name: str, /, *, claims: Mapping[str, Any] | None = None) -> Collection:
        """A collection of documents, in this transaction."""
        return Collection(name, lambda work: self._of._run(self._connection, lambda: work(self._connection)), None, claims)


class Collection:
    """A collection of documents: `pycairndb`'s, awaited."""

    def __init__(
        self,
        name: str,
        on_one: Callable[[Callable[[_Connection], Any]], Awaitable[Any]],
        of: Connection | None,
        claims: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.claims, self._on_one, self._of = name, claims, on_one, of

    def _at(self, connection: _Connection) -> Any:
        return connection.collection(self.name, claims=self.claims)

    def _on(self, work: Callable[[Any], T]) -> Awaitable[T]:
        return self._on_one(lambda connection: work(self._at(connection)))

    async def insert(self, doc: Any, /, *, id: Any = None) -> Written:
        """A new document, under this id or one that it gets."""
        return await self._on(lambda notes: notes.insert(doc, id=id))

    async def insert_many(self, docs: Iterable[Any], /, *, ids: Iterable[Any] | None = None) -> int:
        """New documents, all of them or none; how many."""
        return await self._on(lambda notes: notes.insert_many(docs, ids=ids))

    async def get(self, id: Any, /) -> Document | None:
        """The document of an id."""
        return await self._on(lambda notes: notes.get(id))

    async def put(self, id: Any, doc: Any, /) -> int:
        """A document under this id, new or in place of the one that is there; its version."""
        return await self._on(lambda notes: notes.put(id, doc))

    async def replace(self, id: Any, doc: Any, /, *, version: int | None = None) -> int | None:
        """Another document in place of the one that is there; its version, or None."""
        return await self._on(lambda notes: notes.replace(id, doc, version=version))

    async def update(self, id: Any, patch: Any, /, *, version: int | None = None) -> int | None:
        """Changes parts of a document by a merge patch; its version, or None."""
        return await self._on(lambda notes: notes.update(id, patch, version=version))

    async def patch(self, id: Any, patch: list[dict[str, Any]], /, *, version: int | None = None) -> int | None:
        """Changes parts of a document by a JSON patch; its version, or None."""
        return await self._on(lambda notes: notes.patch(id, patch, version=version))

    async def delete(self, id: Any, /, *, version: int | None = None) -> bool:
        """Whether there was a document of this id, and of the version that is said."""
        return await self._on(lambda notes: notes.delete(id, version=version))

    async def find(self, filter: dict[str, Any] | None = None, **wanted: Any) -> AsyncIterator[Document]:
        """The documents that a filter finds (`sort`, `fields`, `limit`, `after`), as they are read."""
        if self._of is None:
            for found in await self._on(lambda notes: list(notes.find(filter, **wanted))):
                yield found
            return
        async with _Taken(self._of) as connection:
            run = self._of._run
            found = await run(connection, lambda: self._at(connection).find(filter, **wanted))
            try:
                while documents := await run(connection, lambda: list(itertools.islice(found, _BATCH))):
                    for document in documents:
                        yield document
            finally:
                await run(connection, found.close)

    async def find_one(self, filter: dict[str, Any] | None = None, **wanted: Any) -> Document | None:
        """The first of them."""
        return await self._on(lambda notes: notes.find_one(filter, **wanted))

    async def page(
        self, filter: dict[str, Any] | None = None, *, expand: dict[str, Collection] | None = None, **wanted: Any
    ) -> Page:
        """As many of them as `limit` says, and what `after` takes for those behind them; beside them those of other collections that they
        name at paths (`expand`)."""

        def work(connection: _Connection) -> Page:
            others = {path: other._at(connection) for path, other in (expand or {}).items()}
            return self._at(connection).page(filter, expand=others, **wanted)

        return await self._on_one(work)

    async def set_rules(self, **rules: str) -> None:
        """Who may do what with its documents from now on, if he comes with claims: `list`, `view`, `create`, `update`, `delete`."""
        await self._on(lambda notes: notes.set_rules(**rules))

    async def rules(self) -> dict[str, str]:
        """What was set so."""
        return await self._on(lambda notes: notes.rules)

    async def count(self, filter: dict[str, Any] | None = None) -> int:
        """How many there are."""
        return await self._on(lambda notes: notes.count(filter))

    async def aggregate(self, filter: dict[str, Any] | None = None, **wanted: Any) -> list[dict[str, Any]]:
        """Groups of the documents that a filter finds, and what is worked out of each."""
        return await self._on(lambda notes: notes.aggregate(filter, **wanted))

    async def watch(self, filter: dict[str, Any] | None = None) -> Watching:
        """What the filter finds, and then what becomes of it: `async for change in await notes.watch(..)`."""
        return await self._watching(lambda notes: notes.watch(filter))

    async def changes(self, from_token: str | None = None) -> Watching:
        """What commits did to its documents from now on, or from where a `token` says."""
        return await self._watching(lambda notes: notes.changes(from_token))

    async def _watching(self, begin: Callable[[Any], Watching]) -> Watching:
        if self._of is None:
            raise _errors.make("25001", "what changes is watched outside of transactions", None, None, None, None, None, (None,) * 4)
        return await self._of._on_any(lambda connection: begin(self._at(connection)))


async def connect(database: str | os.PathLike[str], *, connections: int = 4, **options: Any) -> Connection:
    """Connects to a database, with so many statements that run at a time. Options as `pycairndb.connect` has them."""
    if connections < 1:
        raise ValueError("connections is at least 1")

    def open_all() -> tuple[_Connection, list[_Connection], Workers]:
        made: list[_Connection] = []
        try:
            made.append(_connect(database, autocommit=True, **options))
            for _ in range(connections):
                made.append(made[0].again())
            return made[0], made[1:], Workers(made[0], connections)
        except BaseException:
            for connection in made:
                connection.close()
            raise

    return Connection(*await asyncio.get_running_loop().run_in_executor(None, open_all))
