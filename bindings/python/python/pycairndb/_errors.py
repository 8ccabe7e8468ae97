"""Exceptions: PEP 249's classes, chosen by SQLSTATE as psycopg does."""

from __future__ import annotations


class Warning(Exception):  # noqa: A001 (PEP 249 calls it so)
    """Important warnings."""


class Error(Exception):
    """What went wrong. Its attributes are PostgreSQL's fields of an error; those that do not apply are None."""

    sqlstate: str | None = None
    message: str = ""
    detail: str | None = None
    hint: str | None = None
    position: int | None = None
    constraint: str | None = None
    context: str | None = None
    schema: str | None = None
    table: str | None = None
    column: str | None = None
    data_type: str | None = None


class InterfaceError(Error):
    """Something about the interface rather than the database."""


class DatabaseError(Error):
    """Something about the database."""


class DataError(DatabaseError):
    """A value that can not be (class 22)."""


class OperationalError(DatabaseError):
    """What is no programmer's fault: conflicts, resources, the file, an interrupt (40, 53 to 58, 72)."""


class IntegrityError(DatabaseError):
    """A constraint is violated (class 23)."""


class InternalError(DatabaseError):
    """A statement in a state that does not allow it (24, 25, 2D, XX)."""


class ProgrammingError(DatabaseError):
    """Wrong SQL, names, types or parameters (42 and others)."""


class NotSupportedError(DatabaseError):
    """What the database does not have (0A)."""


_CLASSES = {
    "07": ProgrammingError,
    "08": OperationalError,
    "0A": NotSupportedError,
    "20": ProgrammingError,
    "21": ProgrammingError,
    "22": DataError,
    "23": IntegrityError,
    "24": InternalError,
    "25": InternalError,
    "26": ProgrammingError,
    "27": OperationalError,
    "28": OperationalError,
    "2B": InternalError,
    "2D": InternalError,
    "2F": InternalError,
    "34": OperationalError,
    "38": InternalError,
    "39": InternalError,
    "3B": InternalError,
    "3D": ProgrammingError,
    "3F": ProgrammingError,
    "40": OperationalError,
    "42": ProgrammingError,
    "44": ProgrammingError,
    "53": OperationalError,
    "54": OperationalError,
    "55": OperationalError,
    "57": OperationalError,
    "58": OperationalError,
    "72": OperationalError,
    "IM": InterfaceError,
    "XX": InternalError,
}


def class_of(sqlstate: str) -> type[Error]:
    """The exception of a SQLSTATE."""
    return _CLASSES.get(sqlstate[:2], DatabaseError)


def make(sqlstate, message, detail, hint, position, constraint, context, about):
    text = message
    if detail:
        text += f"\nDETAIL: {detail}"
    if hint:
        text += f"\nHINT: {hint}"
    error = class_of(sqlstate)(text)
    error.sqlstate = sqlstate
    error.message = message
    error.detail = detail
    error.hint = hint
    error.position = position
    error.constraint = constraint
    error.context = context
    error.schema, error.table, error.column, error.data_type = about
    return error
