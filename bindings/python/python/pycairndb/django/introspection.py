"""Tables as Django finds them: by `pg_catalog`."""

from __future__ import annotations

from django.db.backends.postgresql.introspection import DatabaseIntrospection as _OfPostgres

# The types of results have their names.
_TYPES = {
    "boolean": "BooleanField",
    "bytea": "BinaryField",
    "bigint": "BigIntegerField",
    "smallint": "SmallIntegerField",
    "integer": "IntegerField",
    "text": "TextField",
    "real": "FloatField",
    "double precision": "FloatField",
    "character": "CharField",
    "bpchar": "CharField",
    "character varying": "CharField",
    "date": "DateField",
    "time without time zone": "TimeField",
    "time with time zone": "TimeField",
    "timestamp without time zone": "DateTimeField",
    "timestamp with time zone": "DateTimeField",
    "interval": "DurationField",
    "numeric": "DecimalField",
    "uuid": "UUIDField",
    "jsonb": "JSONField",
}


class _ByName(dict):
    def __missing__(self, name):
        # Without what stands in brackets.
        plain = name.split("(")[0] + name.partition(")")[2] if "(" in name else name
        if plain != name and plain in self:
            return self[plain]
        raise KeyError(name)


class DatabaseIntrospection(_OfPostgres):
    data_types_reverse = _ByName(_TYPES)
