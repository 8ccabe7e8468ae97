"""Databases of tests: in memory, unless TEST names a file."""

from __future__ import annotations

import os
from typing import Any

from django.db.backends.base.creation import BaseDatabaseCreation


class DatabaseCreation(BaseDatabaseCreation):
    def _get_test_db_name(self) -> str:
        name = self.connection.settings_dict["TEST"]["NAME"]
        return str(name) if name else f":memory:test_{self.connection.alias}"

    def _create_test_db(self, verbosity: int, autoclobber: bool, keepdb: bool = False) -> str:
        name = self._get_test_db_name()
        if not keepdb:
            self._destroy_test_db(name, verbosity)
        return name

    def _destroy_test_db(self, test_database_name: str, verbosity: int) -> None:
        from .base import forget_memory

        if test_database_name.startswith(":memory:"):
            forget_memory(test_database_name)
            return
        for name in (test_database_name, test_database_name + "-log"):
            if os.path.exists(name):
                os.remove(name)

    def test_db_signature(self) -> tuple[Any, ...]:
        return (self._get_test_db_name(), self.connection.alias)
