"""SQLAlchemy's dialect: `create_engine("cairndb:///tasks.cairn")`, or `cairndb://` for a database in memory.

The SQL, its types and what reflection asks are those of SQLAlchemy's dialect of PostgreSQL, whose language the engine speaks; what
differs is how statements get there. Alembic finds it under the same name.
"""

from __future__ import annotations

import json as _json
import threading
from typing import Any

from sqlalchemy import exc, pool, util
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects.postgresql import (
    ARRAY,
    BYTEA,
    ENUM,
    INTERVAL,
    JSON,
    JSONB,
    OID,
    REGCLASS,
    REGCONFIG,
)
from sqlalchemy.dialects.postgresql.base import PGDialect, PGExecutionContext
from sqlalchemy.dialects.postgresql.json import JSONPathType
from sqlalchemy.engine import processors


def _cast(base: type, **more: Any) -> type:
    """A type whose parameters say what they are: a statement has their types before their values."""
    return type(f"_{base.__name__}", (base,), {"render_bind_cast": True, **more})


class _Interval(INTERVAL):
    render_bind_cast = True

    @classmethod
    def adapt_emulated_to_native(cls, interval: Any, **kw: Any) -> "_Interval":
        return _Interval(precision=interval.second_precision)


class _FromJson:
    """Values come as Python's objects; whoever wants their text gets one."""

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        loads = dialect._json_deserializer
        if loads is None:
            return None
        return lambda value: None if value is None else loads(_json.dumps(value))


class _JSON(_FromJson, JSON):
    render_bind_cast = True


class _JSONB(_FromJson, JSONB):
    render_bind_cast = True


class _JSONIntIndex(sqltypes.JSON.JSONIntIndexType):
    __visit_name__ = "json_int_index"
    render_bind_cast = True


class _JSONStrIndex(sqltypes.JSON.JSONStrIndexType):
    __visit_name__ = "json_str_index"
    render_bind_cast = True


class _NumericAsItComes:
    """Decimals come as `Decimal`, floating-point numbers as `float`, integers as `int`."""

    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> None:
        return None

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        kind = str(coltype)
        if self.asdecimal:
            is_float = kind in ("real", "double precision")
            import decimal

            scale = self._effective_decimal_return_scale
            return processors.to_decimal_processor_factory(decimal.Decimal, scale) if is_float else None
        return processors.to_float if kind.startswith("numeric") else None


class _Numeric(_NumericAsItComes, sqltypes.Numeric):
    pass


class _Float(_NumericAsItComes, sqltypes.Float):
    pass


class Context(PGExecutionContext):
    def create_server_side_cursor(self) -> Any:
        # Rows come as they are fetched, of any cursor.
        return self._dbapi_connection.cursor()


class Dialect(PGDialect):
    """See the module."""

    name = "postgresql"
    driver = "cairndb"
    execution_ctx_cls = Context
    default_paramstyle = "numeric_dollar"
    supports_statement_cache = True
    supports_server_side_cursors = True
    supports_native_decimal = True
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    use_native_uuid = True
    # Every transaction is serializable, and says so.
    default_isolation_level = "SERIALIZABLE"

    colspecs = util.update_copy(
        PGDialect.colspecs,
        {
            ARRAY: _cast(ARRAY),
            sqltypes.ARRAY: _cast(ARRAY),
            sqltypes.String: _cast(sqltypes.String),
            sqltypes.CHAR: _cast(sqltypes.CHAR),
            sqltypes.LargeBinary: _cast(BYTEA, bind_processor=lambda self, dialect: None, result_processor=lambda self, dialect, coltype: None),
            BYTEA: _cast(BYTEA, bind_processor=lambda self, dialect: None, result_processor=lambda self, dialect, coltype: None),
            REGCONFIG: _cast(REGCONFIG),
            REGCLASS: _cast(REGCLASS),
            OID: _cast(OID),
            sqltypes.Time: _cast(sqltypes.Time),
            sqltypes.Date: _cast(sqltypes.Date),
            sqltypes.DateTime: _cast(sqltypes.DateTime),
            sqltypes.Interval: _Interval,
            INTERVAL: _Interval,
            sqltypes.Boolean: _cast(sqltypes.Boolean),
            sqltypes.Integer: _cast(sqltypes.Integer),
            sqltypes.SmallInteger: _cast(sqltypes.SmallInteger),
            sqltypes.BigInteger: _cast(sqltypes.BigInteger),
            sqltypes.Numeric: _Numeric,
            sqltypes.Float: _Float,
            sqltypes.Uuid: _cast(sqltypes.Uuid),
            sqltypes.UUID: _cast(sqltypes.UUID),
            sqltypes.JSON: _JSON,
            JSON: _JSON,
            JSONB: _JSONB,
            sqltypes.JSON.JSONPathType: JSONPathType,
            sqltypes.JSON.JSONIntIndexType: _JSONIntIndex,
            sqltypes.JSON.JSONStrIndexType: _JSONStrIndex,
            sqltypes.Enum: _cast(ENUM),
            ENUM: _cast(ENUM),
        },
    )

    def __init__(self, **kw: Any) -> None:
        super().__init__(**kw)
        self._memory: Any = None
        self._memory_lock = threading.Lock()

    @classmethod
    def import_dbapi(cls) -> Any:
        import pycairndb

        return pycairndb

    @classmethod
    def get_async_dialect_cls(cls, url: Any) -> type:
        from .sqlalchemy_aio import AsyncDialect

        return AsyncDialect

    @classmethod
    def get_pool_class(cls, url: Any) -> type[pool.Pool]:
        return pool.QueuePool

    def create_connect_args(self, url: Any) -> tuple[list, dict]:
        if url.host or url.port or url.username or url.password:
            raise exc.ArgumentError("a file has no host: cairndb:///tasks.cairn, cairndb:////var/lib/tasks.cairn")
        options = dict(url.query)
        for name, kind in (("cache_bytes", int), ("statement_timeout", float)):
            if name in options:
                options[name] = kind(options[name])
        if "read_only" in options:
            options["read_only"] = util.asbool(options["read_only"])
        return [url.database or ":memory:"], options

    def connect(self, *arguments: Any, **options: Any) -> Any:
        if arguments[:1] != (":memory:",):
            return self.loaded_dbapi.connect(*arguments, **options)
        # All connections of an engine are to one database, which lives as long as it.
        with self._memory_lock:
            if self._memory is None:
                self._memory = self.loaded_dbapi.connect(*arguments, **options)
            return self._memory.again()

    def get_isolation_level_values(self, dbapi_connection: Any) -> tuple[str, ...]:
        return ("AUTOCOMMIT", "SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED")

    def get_default_isolation_level(self, dbapi_connection: Any) -> str:
        return "SERIALIZABLE"

    def get_isolation_level(self, dbapi_connection: Any) -> str:
        return "AUTOCOMMIT" if dbapi_connection.autocommit else "SERIALIZABLE"

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        # What asks for less gets more.
        dbapi_connection.autocommit = level == "AUTOCOMMIT"

    def detect_autocommit_setting(self, dbapi_connection: Any) -> bool:
        return bool(dbapi_connection.autocommit)

    def set_readonly(self, connection: Any, value: bool) -> None:
        connection.execute(f"SET SESSION CHARACTERISTICS AS TRANSACTION READ {'ONLY' if value else 'WRITE'}")

    def get_readonly(self, connection: Any) -> bool:
        return connection.execute("SHOW default_transaction_read_only").fetchone()[0] == "on"

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        return getattr(e, "sqlstate", None) == "08003"

    def do_begin_twophase(self, connection: Any, xid: str) -> None:
        raise NotImplementedError("there are no prepared transactions: one file has one database")

    def get_dialect_pool_class(self, url: Any) -> type[pool.Pool]:
        return self.get_pool_class(url)


dialect = Dialect
