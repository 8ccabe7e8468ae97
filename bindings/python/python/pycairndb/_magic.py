"""IPython's and Jupyter's `%%sql`: `%load_ext pycairndb`, then `%sql tasks.cairn` once, and SQL in cells."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load_ipython_extension(shell: Any) -> None:
    state: dict[str, Any] = {"connection": None}

    def sql(line: str, cell: str | None = None) -> Any:
        """`%sql FILE` connects; `%sql VARIABLE` takes a connection of the notebook's; `%%sql [NAME]` runs a cell, and leaves
        its result in NAME. `:name` in SQL is the variable of this name."""
        import pycairndb

        name = line.strip()
        if cell is None:
            found = shell.user_ns.get(name)
            is_statement = " " in name
            if not is_statement:
                own = isinstance(found, pycairndb.Connection)
                state["connection"] = found if own else pycairndb.connect(name or ":memory:", autocommit=True)
                state["connection"].variables = True
                return None
            cell, name = name, ""
        if state["connection"] is None:
            state["connection"] = pycairndb.connect(":memory:", autocommit=True)
            state["connection"].variables = True
        connection = state["connection"]
        try:
            result = _run(connection, cell, shell.user_ns)
        except pycairndb.ProgrammingError as error:
            if error.sqlstate != "42601" or ";" not in cell.rstrip("; \n"):
                raise
            connection.executescript(cell)
            return None
        if name:
            shell.user_ns[name] = result
            return None
        return None if result.description is None else result

    shell.register_magic_function(sql, "line_cell", "sql")


def _run(connection: Any, text: str, variables: dict[str, Any]) -> Any:
    import pycairndb

    try:
        return connection.query(text)
    except pycairndb.ProgrammingError as error:
        # It has parameters: they are variables.
        if error.sqlstate != "07001":
            raise
    return connection.query(text, variables)
