"""Changes of the schema."""

from __future__ import annotations

from typing import Any

from ._parts import part
from .operations import literal


class DatabaseSchemaEditor(part("schema").DatabaseSchemaEditor):
    def quote_value(self, value: Any) -> str:
        return literal(value)
