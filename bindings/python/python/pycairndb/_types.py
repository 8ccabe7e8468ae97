"""What values are made of and recognised by, beside Python's own types."""

from __future__ import annotations

import datetime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

adapters: dict[type, Callable[[Any], Any]] = {}
converters: dict[str, Callable[[Any], Any]] = {}


class PrepareProtocol:
    """What `__conform__` (PEP 246) is asked for."""


class Json:
    """A value that goes in as JSON, whatever it is: `Json("text")`, `Json(None)`, `Json([1, 2])`. `dumps` writes it, instead of
    `json.dumps`."""

    __slots__ = ("value", "dumps")

    def __init__(self, value: Any, dumps: Callable[[Any], str] | None = None) -> None:
        self.value, self.dumps = value, dumps

    def __repr__(self) -> str:
        return f"Json({self.value!r})"


class Interval(datetime.timedelta):
    """An interval with months, which have no length of their own. As a `timedelta` a month is 30 days, by which SQL compares."""

    months: int
    day_count: int
    micros: int

    def __new__(cls, months: int = 0, days: int = 0, micros: int = 0) -> "Interval":
        made = super().__new__(cls, days=months * 30 + days, microseconds=micros)
        made.months, made.day_count, made.micros = months, days, micros
        return made

    def __repr__(self) -> str:
        return f"Interval(months={self.months}, days={self.day_count}, micros={self.micros})"

    def __reduce__(self):
        return (Interval, (self.months, self.day_count, self.micros))


class TypeObject:
    """PEP 249's type objects: equal to the types in `Cursor.description` that are of their kind."""

    def __init__(self, name: str, *types: str) -> None:
        self._name, self._types = name, frozenset(types)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other.split("(", 1)[0] in self._types
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return self._name


STRING = TypeObject("STRING", "text", "character varying", "character", "name", '"char"', "json", "jsonb")
BINARY = TypeObject("BINARY", "bytea")
NUMBER = TypeObject(
    "NUMBER", "smallint", "integer", "bigint", "real", "double precision", "numeric", "oid", "boolean"
)
DATETIME = TypeObject(
    "DATETIME",
    "date",
    "time",
    "timestamp",
    "interval",
    "time without time zone",
    "time with time zone",
    "timestamp without time zone",
    "timestamp with time zone",
)
ROWID = TypeObject("ROWID", "oid")


def register_adapter(of: type, adapter: Callable[[Any], Any], /) -> None:
    """Objects of exactly this type are given as what the adapter makes of them."""
    adapters[of] = adapter


def register_converter(name: str, converter: Callable[[Any], Any], /) -> None:
    """Values of the SQL type of this name are what the converter makes of what they are otherwise (never of NULL)."""
    converters[name] = converter


Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802 (PEP 249 calls it so)
    return datetime.date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802
    return datetime.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802
    return datetime.datetime.fromtimestamp(ticks)
