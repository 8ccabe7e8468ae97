"""Results by column, as other libraries have them; and theirs as rows. Each of them is imported when it is asked for."""

from __future__ import annotations

import sys

from . import _errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Sequence

# So many rows a notebook shows.
_SHOWN = 50


def _refused(code: str, message: str, hint: str) -> Exception:
    return _errors.make(code, message, None, hint, None, None, None, (None,) * 4)


def _needed(name: str, what: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise _errors.make(
            "0A000", f"{what} needs {name}", None, f"pip install {name}", None, None, None, (None,) * 4
        ) from None


def _objects(numpy: Any, values: Sequence[Any]) -> Any:
    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array


def _values(numpy: Any, values: Any, labels: Any) -> Any:
    """The values of a column as an array; labels by their numbers, None for what has none."""
    if isinstance(values, list):
        return _objects(numpy, values)
    array = numpy.asarray(values)
    return array if labels is None else _objects(numpy, [*labels, None])[array]


def _named(columns: list[tuple]) -> list[tuple]:
    """No two columns have one name: later ones get a number."""
    seen: set[str] = set()
    named = []
    for name, *rest in columns:
        unique, number = name, 1
        while unique in seen:
            unique, number = f"{name}_{number}", number + 1
        seen.add(unique)
        named.append((unique, *rest))
    return named


def numpy_arrays(cursor: Any) -> dict[str, Any]:
    numpy = _needed("numpy", "fetchnumpy()")
    arrays = {}
    for name, _, values, nulls, labels in _named(cursor._arrays()):
        array = _values(numpy, values, labels)
        # Not a time is what a missing time is.
        if nulls is not None and array.dtype.kind != "M":
            array = numpy.ma.masked_array(array, mask=numpy.asarray(nulls))
        arrays[name] = array
    return arrays


def data_frame(cursor: Any) -> Any:
    pandas = _needed("pandas", "df()")
    numpy = _needed("numpy", "df()")
    series = {}
    for name, kind, values, nulls, labels in _named(cursor._arrays()):
        if labels is not None:
            series[name] = pandas.Categorical.from_codes(numpy.asarray(values), categories=labels, ordered=True)
            continue
        array = _values(numpy, values, None)
        if nulls is not None and array.dtype.kind in "iuf":
            # As pandas has it: what is missing among numbers is not a number.
            array = array.astype("float64" if array.dtype.itemsize > 4 or array.dtype.kind != "f" else "float32", copy=False)
            array[numpy.asarray(nulls)] = numpy.nan
        elif nulls is not None and array.dtype.kind == "b":
            array = array.astype(object)
            array[numpy.asarray(nulls)] = None
        if kind == "timestamp with time zone" or kind.startswith("timestamp(") and kind.endswith("with time zone"):
            if "without" not in kind:
                array = pandas.DatetimeIndex(array, tz="UTC")
        series[name] = array
    return pandas.DataFrame(series, copy=False)


def arrow_table(cursor: Any) -> Any:
    pyarrow = _needed("pyarrow", "arrow()")
    return pyarrow.table(cursor)


def polars_frame(cursor: Any) -> Any:
    polars = _needed("polars", "pl()")
    return polars.DataFrame(cursor)


def stream_of(data: Any) -> Any:
    """The capsule of Arrow's stream that an object gives."""
    make = getattr(data, "__arrow_c_stream__", None)
    if make is None and hasattr(data, "__arrow_c_array__"):
        pyarrow = _needed("pyarrow", "a single array of Arrow's")
        make = pyarrow.table(pyarrow.record_batch(data)).__arrow_c_stream__
    if make is None:
        hint = "A DataFrame, a table of pyarrow's, a result: what has __arrow_c_stream__."
        raise _refused("42804", f"a '{type(data).__name__}' does not speak Arrow", hint)
    try:
        return make()
    except ImportError:
        # pandas' needs pyarrow.
        return None


def is_data(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def rows_of(data: Any) -> tuple[list[str], Iterable[tuple]]:
    """Names and rows of a pandas DataFrame, without pyarrow."""
    import pandas

    if not isinstance(data, pandas.DataFrame):
        raise _refused("0A000", f"a '{type(data).__name__}' needs pyarrow to be read", "pip install pyarrow")
    plain = data.astype(object).where(data.notna(), None)
    return [str(name) for name in data.columns], plain.itertuples(index=False, name=None)


def variable(name: str, depth: int) -> Any:
    """What a variable of the caller has that speaks Arrow; None: there is none of this name."""
    frame = sys._getframe(depth)
    while frame is not None:
        for names in (frame.f_locals, frame.f_globals):
            found = names.get(name)
            if found is not None and is_data(found):
                return found
        frame = frame.f_back
    return None


def html(cursor: Any) -> str | None:
    if cursor.description is None:
        return None
    names = [column[0] for column in cursor.description]
    factory, cursor.row_factory = cursor.row_factory, None
    try:
        rows = cursor.fetchmany(_SHOWN + 1)
    finally:
        cursor.row_factory = factory
    import html

    cell = lambda value: "<i>NULL</i>" if value is None else html.escape(str(value))  # noqa: E731
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>" for row in rows[:_SHOWN])
    more = f"<p>the first {_SHOWN} rows</p>" if len(rows) > _SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
