"""Connections of Django's."""

from __future__ import annotations

import datetime
import threading
from typing import Any, NamedTuple

import pycairndb
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.asyncio import async_unsafe
from django.utils.functional import cached_property

from .client import DatabaseClient
from .creation import DatabaseCreation
from .features import DatabaseFeatures
from .introspection import DatabaseIntrospection
from .operations import DatabaseOperations
from .schema import DatabaseSchemaEditor

# Databases in memory, by their names: all connections of one name are to one.
_memory: dict[str, pycairndb.Connection] = {}
_memory_lock = threading.Lock()


def forget_memory(name: str) -> None:
    """A database in memory ends with its last connection."""
    with _memory_lock:
        keeper = _memory.pop(name, None)
    if keeper is not None:
        keeper.close()


def _connect(name: str, options: dict[str, Any]) -> pycairndb.Connection:
    if not name.startswith(":memory:"):
        return pycairndb.connect(name, **options)
    with _memory_lock:
        if name not in _memory:
            _memory[name] = pycairndb.connect(":memory:", **options)
        return _memory[name].again()


class Column(NamedTuple):
    """A column of a result, by the names that Django has for its parts."""

    name: str
    type_code: str
    display_size: int | None
    internal_size: int | None
    precision: int | None
    scale: int | None
    null_ok: bool | None


class Cursor(pycairndb.Cursor):
    @property
    def described(self) -> tuple | None:
        """As the cursor itself has it."""
        return super().description

    @property
    def description(self) -> list[Column] | None:
        described = self.described
        return None if described is None else [_column(*column) for column in described]

    def execute(self, sql: str, parameters: Any = None, /) -> "Cursor":
        # Without parameters it may be several statements, as psycopg has it.
        if parameters is None and ";" in sql.rstrip("; \t\n"):
            return self.executescript(sql)
        # What Django writes for parameters is a format, also where there are none.
        if parameters is not None and not parameters:
            sql = sql.replace("%%", "%")
        return super().execute(sql, parameters)

    def callproc(self, name: str, arguments: Any = ()) -> Any:
        marks = ", ".join(["%s"] * len(arguments or ()))
        quoted = name if name.startswith('"') else '"' + name.replace('"', '""') + '"'
        self.execute(f"SELECT * FROM {quoted}({marks})", arguments or None)
        return arguments


class Moments:
    """Makes rows whose moments are shown in a zone that is not the session's, or naive where that is None."""

    def __init__(self, zone: datetime.tzinfo | None) -> None:
        self._zone, self._described, self._places = zone, None, []

    def __call__(self, cursor: Cursor, row: tuple) -> tuple:
        if cursor.described is not self._described:
            self._described = cursor.described
            kinds = [column[1] for column in self._described]
            self._places = [place for place, kind in enumerate(kinds) if kind.startswith("timestamp") and "with time" in kind]
        if not self._places:
            return row
        shown = list(row)
        for place in self._places:
            if shown[place] is not None:
                shown[place] = self._shown(shown[place])
        return tuple(shown)

    def _shown(self, moment: datetime.datetime) -> datetime.datetime:
        return moment.replace(tzinfo=None) if self._zone is None else moment.astimezone(self._zone)


def _column(name: str, kind: str, display: Any, size: int | None, *rest: Any) -> Column:
    if kind.startswith("character") and "(" in kind:
        size = int(kind[kind.index("(") + 1 : kind.index(")")])
    return Column(name, kind, display, size, *rest)


def _varchar(data: dict[str, Any]) -> str:
    return "varchar" if data["max_length"] is None else "varchar(%(max_length)s)" % data


class DatabaseWrapper(BaseDatabaseWrapper):
    vendor = "postgresql"
    display_name = "CairnDB"
    data_types = {
        "AutoField": "integer",
        "BigAutoField": "bigint",
        "BinaryField": "bytea",
        "BooleanField": "boolean",
        "CharField": _varchar,
        "DateField": "date",
        "DateTimeField": "timestamp with time zone",
        "DecimalField": "numeric(%(max_digits)s, %(decimal_places)s)",
        "DurationField": "interval",
        "FileField": "varchar(%(max_length)s)",
        "FilePathField": "varchar(%(max_length)s)",
        "FloatField": "double precision",
        "IntegerField": "integer",
        "BigIntegerField": "bigint",
        "IPAddressField": "varchar(15)",
        "GenericIPAddressField": "varchar(39)",
        "JSONField": "jsonb",
        "OneToOneField": "integer",
        "PositiveBigIntegerField": "bigint",
        "PositiveIntegerField": "integer",
        "PositiveSmallIntegerField": "smallint",
        "SlugField": "varchar(%(max_length)s)",
        "SmallAutoField": "smallint",
        "SmallIntegerField": "smallint",
        "TextField": "text",
        "TimeField": "time",
        "UUIDField": "uuid",
    }
    data_type_check_constraints = dict.fromkeys(
        ("PositiveBigIntegerField", "PositiveIntegerField", "PositiveSmallIntegerField"), '"%(column)s" >= 0'
    )
    data_types_suffix = dict.fromkeys(
        ("AutoField", "BigAutoField", "SmallAutoField"), "GENERATED BY DEFAULT AS IDENTITY"
    )
    operators = {
        "exact": "= %s",
        "iexact": "= UPPER(%s)",
        "contains": "LIKE %s",
        "icontains": "LIKE UPPER(%s)",
        "regex": "~ %s",
        "iregex": "~* %s",
        "gt": "> %s",
        "gte": ">= %s",
        "lt": "< %s",
        "lte": "<= %s",
        "startswith": "LIKE %s",
        "endswith": "LIKE %s",
        "istartswith": "LIKE UPPER(%s)",
        "iendswith": "LIKE UPPER(%s)",
    }
    pattern_esc = r"REPLACE(REPLACE(REPLACE({}, E'\\', E'\\\\'), E'%%', E'\\%%'), E'_', E'\\_')"
    pattern_ops = {
        "contains": "LIKE '%%' || {} || '%%'",
        "icontains": "LIKE '%%' || UPPER({}) || '%%'",
        "startswith": "LIKE {} || '%%'",
        "istartswith": "LIKE UPPER({}) || '%%'",
        "endswith": "LIKE '%%' || {}",
        "iendswith": "LIKE '%%' || UPPER({})",
    }

    # That was set when the connection was made.
    _session_zone: str | None = None

    Database = pycairndb
    SchemaEditorClass = DatabaseSchemaEditor
    client_class = DatabaseClient
    creation_class = DatabaseCreation
    features_class = DatabaseFeatures
    introspection_class = DatabaseIntrospection
    ops_class = DatabaseOperations

    def get_database_version(self) -> tuple[int, int]:
        return divmod(self.pg_version, 10000)

    @cached_property
    def pg_version(self) -> int:
        """Of the PostgreSQL whose language it speaks."""
        with self.temporary_connection() as cursor:
            cursor.execute("SHOW server_version_num")
            return int(cursor.fetchone()[0])

    def get_connection_params(self) -> dict[str, Any]:
        name = self.settings_dict["NAME"]
        if not name:
            raise ImproperlyConfigured("DATABASES has no NAME: it is the path of the database's file")
        return {"name": str(name), "options": dict(self.settings_dict["OPTIONS"])}

    @async_unsafe
    def get_new_connection(self, conn_params: dict[str, Any]) -> pycairndb.Connection:
        return _connect(conn_params["name"], conn_params["options"])

    def ensure_timezone(self) -> bool:
        if self.connection is None or not self.timezone_name:
            return False
        self._session_zone = self.timezone_name
        with self.connection.cursor() as cursor:
            cursor.execute("SHOW TimeZone")
            if cursor.fetchone()[0] == self.timezone_name:
                return False
            cursor.execute(self.ops.set_time_zone_sql(), [self.timezone_name])
        return True

    def init_connection_state(self) -> None:
        super().init_connection_state()
        if self.ensure_timezone() and not self.get_autocommit():
            self.connection.commit()

    @async_unsafe
    def create_cursor(self, name: str | None = None) -> pycairndb.Cursor:
        # Rows come as they are fetched, of any cursor.
        cursor = self.connection.cursor(Cursor)
        if self.timezone is None or self.timezone_name != self._session_zone:
            cursor.row_factory = Moments(self.timezone)
        return cursor

    def _set_autocommit(self, autocommit: bool) -> None:
        with self.wrap_database_errors:
            self.connection.autocommit = autocommit

    def check_constraints(self, table_names: Any = None) -> None:
        with self.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")

    def is_usable(self) -> bool:
        try:
            self.connection.execute("SELECT 1")
        except (AttributeError, pycairndb.Error):
            return False
        return True
