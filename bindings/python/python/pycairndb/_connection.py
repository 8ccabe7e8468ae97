"""Connections: what needs no speed. The rest is in the extension module."""

from __future__ import annotations

from . import _columns, _errors, _pycairndb

# What only annotations and few calls need is imported there: an import costs all who import the package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Callable, TypeVar

    from ._documents import Collection
    from ._watch import Watching

    T = TypeVar("T")

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


class Connection(_pycairndb.Connection):
    """A connection to a database. Threads may share it; one runs a statement at a time."""

    #: Whether `query` takes a table that is not there for a variable of the caller's that speaks Arrow.
    variables: bool = False

    def query(self, sql: str, parameters: Any = None, /) -> Any:
        """Runs one statement; the cursor that is the answer has `df()`, `pl()`, `arrow()`, `fetchnumpy()`.

        Where `variables` is True, a table that is not there is what a variable of this name has, a DataFrame say, as it is then.
        """
        made: list[str] = []
        while True:
            try:
                with_savepoint = self.variables and self.in_transaction
                if with_savepoint:
                    self.execute("SAVEPOINT pycairndb_query")
                cursor = self.execute(sql, parameters)
                if with_savepoint:
                    self.execute("RELEASE SAVEPOINT pycairndb_query")
                return cursor
            except _errors.ProgrammingError as error:
                if with_savepoint:
                    self.execute("ROLLBACK TO SAVEPOINT pycairndb_query")
                name = _missing(error) if self.variables else None
                found = None if name is None or name in made else _columns.variable(name, 2)
                if found is None:
                    raise
                if self.in_transaction and not with_savepoint:
                    self.rollback()
                self.register(name, found)
                made.append(name)

    def register(self, name: str, data: Any, /) -> int:
        """Makes a temporary table of what speaks Arrow (a DataFrame, a table, another result), as it is now; how many rows.

        It is seen by this connection only. One that was registered under this name before is replaced.
        """
        self.unregister(name)
        stream = _columns.stream_of(data)
        if stream is None:
            names, rows = _columns.rows_of(data)
            columns = ", ".join(f"{_quoted(column)} {_sql_type(data[column])}" for column in data.columns)
            self.execute(f"CREATE TEMPORARY TABLE {_quoted(name)} ({columns})")
            return self._insert_rows(f"pg_temp.{_quoted(name)}", names, rows)
        return self._make_table(name, stream)

    def unregister(self, name: str, /) -> None:
        """Takes a registered table away, if there is one."""
        self.execute(f"DROP TABLE IF EXISTS pg_temp.{_quoted(name)}")

    def insert_from(self, table: str, data: Any, /, *, columns: list[str] | None = None) -> int:
        """Inserts what speaks Arrow into a table, as one statement; how many rows.

        `table` is its name, or its schema's and its own with a dot between, as they are. The columns are those of the data by
        their names, unless `columns` says others, in their order.
        """
        stream = _columns.stream_of(data)
        if stream is None:
            names, rows = _columns.rows_of(data)
            quoted = ".".join(_quoted(part) for part in table.split(".", 1))
            return self._insert_rows(quoted, columns or names, rows)
        return self._insert_stream(table, columns, stream)

    def _insert_rows(self, table: str, names: list[str], rows: Any) -> int:
        marks = ", ".join("?" * len(names))
        columns = ", ".join(_quoted(name) for name in names)
        return self.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows).rowcount

    def create_table_function(
        self,
        name: str,
        arguments: Sequence[str],
        columns: Mapping[str, str] | Iterable[tuple[str, str]],
        function: Callable[..., Iterable[Any]],
        *,
        deterministic: bool = False,
        called_on_null: bool = False,
    ) -> None:
        """Makes a callable a function of SQL that returns rows, for this connection: a table in FROM.

        `columns` says the names and types of its columns. What the callable gives is iterated over, a generator say: each row is a
        tuple, or where there is one column its value, and is pulled when the statement wants it. A generator is closed when
        the statement ends, or when LIMIT has enough.
        """
        pairs = list(columns.items() if hasattr(columns, "items") else columns)
        self._create_table_function(
            name, arguments, pairs, function, deterministic=deterministic, called_on_null=called_on_null
        )

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
                _wait(attempt)
            except BaseException:
                self.rollback()
                raise
        raise ValueError("attempts is at least 1")

    def iterdump(self) -> Iterator[str]:
        """The statements that make the database anew, one state of what is committed: `new.executescript("".join(db.iterdump()))`.

        Each ends with a semicolon and a new line; rows are INSERTs. They are written to a temporary file first. `cairn dump` writes the
        same as a script for `cairn` and `psql`, with rows as COPY.
        """
        import tempfile

        # No statement has a NUL in it.
        with tempfile.TemporaryFile() as kept:
            self._dump(lambda statement: kept.write(statement.encode() + b"\n\0"))
            kept.seek(0)
            rest = b""
            while read := kept.read(1 << 16):
                *whole, rest = (rest + read).split(b"\0")
                for statement in whole:
                    yield statement.decode()

    def again(self) -> "Connection":
        """Another connection to the same database, one in memory, too, with this one's `autocommit` and `row_factory`."""
        return type(self)(None, _like=self)

    def collection(self, name: str, /, *, claims: Mapping[str, Any] | None = None) -> Collection:
        """A collection of documents that there is: its name, or its schema's and its own with a dot between. `claims`: as somebody sees it,
        and may change it, who comes with these, by its rules."""
        from ._documents import Collection

        return Collection(self, name, claims)

    def create_collection(self, name: str, /, *, ids: str = "text", change_feed: bool = True) -> Collection:
        """A collection, which is made if there is none of this name: its ids are 'text', 'uuid' or 'bigint'."""
        from ._documents import Collection

        Collection._create(self, name, ids, change_feed)
        return Collection(self, name)

    def live(self, sql: str, parameters: Any = None, /) -> Watching:
        """A query's result, and then what becomes of it: an iterator of `LiveChange`, also for `async for`."""
        return _watching(self._live(sql, parameters), self)

    def listen(self, *channels: str) -> Watching:
        """What is told on these channels (NOTIFY, `pg_notify`) from now on: an iterator of `Notification`, also for `async for`."""
        return _watching(self._listen(list(channels)), self)

    def changes(self, from_token: str | None = None) -> Watching:
        """What commits did to tables WITH (change_feed = on), from now on, or from where a `token` says: an iterator of `Change`,
        also for `async for`."""
        return _watching(self._changes(from_token), self)


def _wait(attempt: int) -> None:
    """A moment, longer each time, that no two wait alike."""
    import random
    import time

    time.sleep(random.uniform(0, 0.001 * 2**attempt))


def _watching(watch: Any, connection: Connection) -> Watching:
    from ._watch import Watching

    return Watching(watch, connection)


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _missing(error: Any) -> str | None:
    """The name of the table that is not there."""
    if error.sqlstate != "42P01":
        return None
    parts = str(error).split('"')
    return parts[1] if len(parts) > 1 and "." not in parts[1] else None


def _sql_type(series: Any) -> str:
    """The type of a column that takes a series of pandas, without pyarrow."""
    kind = getattr(series.dtype, "kind", "O")
    if kind == "M":
        return "timestamptz" if getattr(series.dtype, "tz", None) is not None else "timestamp"
    return {"b": "boolean", "i": "bigint", "u": "numeric(20)", "f": "float8", "m": "interval"}.get(kind, "text")


for _name in _EXCEPTIONS:
    setattr(Connection, _name, getattr(_errors, _name))


def connect(database: str | os.PathLike[str], *, factory: type[Connection] = Connection, **options: Any) -> Connection:
    """Connects to a database file, which is made if there is none; `":memory:"`: to a new one in memory.

    A process has a file open once, however often it connects, from whatever threads; the last connection closes it.

    Options: `autocommit` (False: PEP 249's transactions), `read_only`, `cache_bytes`, `durability` ("full", "group",
    "interval", "off"), `time_zone`, `statement_timeout` (seconds), `row_factory`.
    """
    return factory(database, **options)
