"""Connections: what needs no speed. The rest is in the extension module."""

from __future__ import annotations

import os
import random
import time
from typing import Any, Callable, TypeVar

from . import _errors, _pycairndb
from ._watch import Watching

# PEP 249's optional extension: the exceptions are the connection's attributes, too.
_EXCEPTIONS = (
    "Warning",
    "Error",
    "InterfaceError",
    "DatabaseError",
    "DataError",
    "OperationalError",
    "IntegrityError",
    "InternalError",
    "ProgrammingError",
    "NotSupportedError",
)

T = TypeVar("T")


class Connection(_pycairndb.Connection):
    """A connection to a database. Threads may share it; one runs a statement at a time."""

    def transaction(self, work: Callable[["Connection"], T], /, *, attempts: int = 10) -> T:
        """Runs `work(connection)` in a transaction and commits it; rolls back where it raises.

        Where another transaction got in its way (SQLSTATE 40001) all of it runs again, up to `attempts` times: it must keep
        nothing of a run that failed.
        """
        if self.in_transaction:
            raise _errors.make("25001", "there is already a transaction in progress", None, None, None, None, None, (None,) * 4)
        for attempt in range(1, attempts + 1):
            self.execute("BEGIN")
            try:
                done = work(self)
                self.commit()
                return done
            except _errors.OperationalError as error:
                self.rollback()
                if error.sqlstate != "40001" or attempt == attempts:
                    raise
                time.sleep(random.uniform(0, 0.001 * 2**attempt))
            except BaseException:
                self.rollback()
                raise
        raise ValueError("attempts is at least 1")

    def again(self) -> "Connection":
        """Another connection to the same database, one in memory, too, with this one's `autocommit` and `row_factory`."""
        return type(self)(None, _like=self)

    def live(self, sql: str, parameters: Any = None, /) -> Watching:
        """A query's result, and then what becomes of it: an iterator of `LiveChange`, also for `async for`."""
        return Watching(self._live(sql, parameters), self)

    def listen(self, *channels: str) -> Watching:
        """What is told on these channels (NOTIFY, `pg_notify`) from now on: an iterator of `Notification`, also for `async for`."""
        return Watching(self._listen(list(channels)), self)

    def changes(self, from_token: str | None = None) -> Watching:
        """What commits did to tables WITH (change_feed = on), from now on, or from where a `token` says: an iterator of `Change`,
        also for `async for`."""
        return Watching(self._changes(from_token), self)


for _name in _EXCEPTIONS:
    setattr(Connection, _name, getattr(_errors, _name))


def connect(database: str | os.PathLike[str], *, factory: type[Connection] = Connection, **options: Any) -> Connection:
    """Connects to a database file, which is made if there is none; `":memory:"`: to a new one in memory.

    A process has a file open once, however often it connects, from whatever threads; the last connection closes it.

    Options: `autocommit` (False: PEP 249's transactions), `read_only`, `cache_bytes`, `durability` ("full", "group",
    "interval", "off"), `time_zone`, `statement_timeout` (seconds), `row_factory`.
    """
    return factory(database, **options)
