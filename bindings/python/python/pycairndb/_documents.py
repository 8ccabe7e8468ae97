"""Documents: what collections give, and what they tell of changes."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _pycairndb
from ._watch import LiveChange, Watching


class Document(NamedTuple):
    """A document, with the version that no other state of a document of its collection has."""

    id: Any
    version: int
    doc: Any


class Written(NamedTuple):
    """What was written: the document's id, and the version that it has now."""

    id: Any
    version: int


class Page(NamedTuple):
    """Some documents, and what `after` takes for those behind them; None: there are no more. `expanded` has by path what each of them
    names there: a document, None, or of a list those that there are."""

    documents: list[Document]
    next: str | None
    expanded: dict[str, list[Any]]


class DocumentChange(NamedTuple):
    """What a commit did to a document: "insert", "update", "delete", or to a collection: "truncate", "alter", .. (docs/changes.md)."""

    kind: str
    old: Document | None
    new: Document | None
    position: str
    is_last: bool


class Collection(_pycairndb.Collection):
    """A collection of documents, on a connection and in its transaction (`Connection.collection`).

    Documents, filters and patches are what `json.dumps` takes. `update`, `patch`, `replace` and `delete` take the `version` that the
    document has to have, and say None (or False) where it has another.
    """

    def watch(self, filter: dict[str, Any] | None = None) -> Watching:
        """What the filter finds, and then what becomes of it: an iterator of `LiveChange`s of documents, also for `async for`."""
        return _Live(self._watch(filter), self.connection)

    def changes(self, from_token: str | None = None) -> Watching:
        """What commits did to its documents from now on, or from where a `token` says: an iterator of `DocumentChange`, also for
        `async for`. SQLSTATE 55000 where the collection has no change feed."""
        watch = self._changes(from_token)
        return _Changes(watch, self.connection, self.full_name)


class _Live(Watching):
    def _made(self, item: LiveChange) -> LiveChange:
        return item._replace(
            added=[Document(*row) for row in item.added],
            removed=[Document(*row) for row in item.removed],
            updated=[(Document(*old), Document(*new)) for old, new in item.updated],
        )


class _Changes(Watching):
    def __init__(self, watch: Any, connection: Any, name: str) -> None:
        super().__init__(watch, connection)
        self._name = name

    def _made(self, item: Any) -> DocumentChange | None:
        if f"{item.schema}.{item.table}" != self._name:
            return None
        return DocumentChange(item.kind, _document(item.old), _document(item.new), item.position, item.is_last)


def _document(row: dict[str, Any] | None) -> Document | None:
    return None if row is None else Document(row["id"], row["version"], row["doc"])
