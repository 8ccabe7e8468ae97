"""CairnDB for Python: an embedded SQL database with PostgreSQL's dialect.

    import pycairndb

    with pycairndb.connect("tasks.cairn") as db:
        db.execute("CREATE TABLE IF NOT EXISTS task (id int PRIMARY KEY, title text NOT NULL)")
        db.execute("INSERT INTO task VALUES (?, ?)", (1, "write"))

PEP 249 (`apilevel` 2.0), and what `sqlite3` has; `docs/python.md` says the rest.
"""

from ._connection import Connection, connect
from ._errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from ._magic import load_ipython_extension
from ._pycairndb import Cursor, Row
from ._rows import class_row, dict_row
from ._types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Interval,
    Json,
    PrepareProtocol,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    register_adapter,
    register_converter,
)

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "Interval",
    "Json",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "PrepareProtocol",
    "ProgrammingError",
    "ROWID",
    "Row",
    "STRING",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "class_row",
    "connect",
    "dict_row",
    "load_ipython_extension",
    "paramstyle",
    "register_adapter",
    "register_converter",
    "threadsafety",
]
