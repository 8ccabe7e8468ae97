"""Row factories: what makes a row of a cursor and a tuple. (`pycairndb.Row` is one, too.)"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


def dict_row(cursor: Any, row: tuple) -> dict[str, Any]:
    """A row as a dict by the columns' names; of columns of one name the last."""
    return dict(zip([column[0] for column in cursor.description], row))


def class_row(cls: Callable[..., Any]) -> Callable[[Any, tuple], Any]:
    """Rows as objects of a class (a dataclass, say), which is called with the columns by their names."""
    known: tuple[Any, list[str]] = (None, [])

    def make(cursor: Any, row: tuple) -> Any:
        nonlocal known
        description, names = cursor.description, known[1]
        if description is not known[0]:
            names = [column[0] for column in description]
            known = (description, names)
        return cls(**dict(zip(names, row)))

    return make
