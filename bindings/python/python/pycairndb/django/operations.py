"""What is written otherwise than for PostgreSQL: values go beside the text, and in the text as literals where they have to."""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from typing import Any

from django.db.backends.base.operations import BaseDatabaseOperations

from .._types import Json
from ._parts import part

_ADDRESSES = ("IPAddressField", "GenericIPAddressField")


def literal(value: Any) -> str:
    """A value as a literal of SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, decimal.Decimal)):
        return str(value)
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else f"'{value}'::float8"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"'\\x{bytes(value).hex()}'::bytea"
    if isinstance(value, Json):
        return literal((value.dumps or json.dumps)(value.value)) + "::jsonb"
    if isinstance(value, datetime.datetime):
        return f"'{value.isoformat()}'::timestamp{'tz' if value.tzinfo else ''}"
    if isinstance(value, datetime.date):
        return f"'{value.isoformat()}'::date"
    if isinstance(value, datetime.time):
        return f"'{value.isoformat()}'::time"
    if isinstance(value, datetime.timedelta):
        return f"'{value.days} days {value.seconds}.{value.microseconds:06} seconds'::interval"
    if isinstance(value, uuid.UUID):
        return f"'{value}'::uuid"
    if isinstance(value, (list, tuple)):
        return f"ARRAY[{', '.join(map(literal, value))}]"
    return "'" + str(value).replace("'", "''") + "'"


class DatabaseOperations(part("operations").DatabaseOperations):
    explain_options = frozenset(["ANALYZE", "BUFFERS", "COSTS", "SUMMARY", "TIMING", "VERBOSE"])

    def unification_cast_sql(self, output_field: Any) -> str:
        if output_field.get_internal_type() in _ADDRESSES:
            return "%s"
        return super().unification_cast_sql(output_field)

    def lookup_cast(self, lookup_type: str, internal_type: str | None = None) -> str:
        return super().lookup_cast(lookup_type, None if internal_type in _ADDRESSES else internal_type)

    def compose_sql(self, sql: str, params: Any) -> str:
        if params is None:
            return sql
        if isinstance(params, dict):
            return sql % {name: literal(value) for name, value in params.items()}
        return sql % tuple(map(literal, params))

    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> str:
        try:
            return self.compose_sql(sql, params)
        except (TypeError, ValueError):
            return BaseDatabaseOperations.last_executed_query(self, cursor, sql, params)

    def adapt_integerfield_value(self, value: Any, internal_type: str) -> Any:
        return value

    def adapt_ipaddressfield_value(self, value: Any) -> Any:
        return value or None

    def adapt_json_value(self, value: Any, encoder: Any) -> Any:
        # What is no JSON is told here: as the encoder's own error.
        text = json.dumps(value, cls=encoder)
        return Json(value, lambda _: text)

    def tablespace_sql(self, tablespace: str, inline: bool = False) -> str:
        return ""

    def get_db_converters(self, expression: Any) -> list:
        converters = super().get_db_converters(expression)
        if expression.output_field.get_internal_type() == "JSONField":
            converters.append(_as_text)
        return converters


def _as_text(value: Any, expression: Any, connection: Any) -> Any:
    # Which the field reads by its own decoder.
    return None if value is None else json.dumps(value)
