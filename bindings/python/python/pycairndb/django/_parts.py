"""The parts of Django's backend of PostgreSQL that need no psycopg.

Their modules take some names from one that imports it. Where it is not installed that module is this one's: none of the names is
used, for who would use them is replaced.
"""

from __future__ import annotations

import importlib
import sys
import types

_NAME = "django.db.backends.postgresql.psycopg_any"


class _Absent(Exception):
    """What nobody raises."""


def _stand_in() -> types.ModuleType:
    module = types.ModuleType(_NAME, __doc__)
    module.is_psycopg3 = False
    module.errors = types.SimpleNamespace(DuplicateDatabase=_Absent, DataError=_Absent)
    for name in ("Inet", "Jsonb", "mogrify", "sql", "IsolationLevel"):
        setattr(module, name, None)
    return module


def part(name: str) -> types.ModuleType:
    """A module of Django's backend of PostgreSQL."""
    try:
        importlib.import_module(_NAME)
    except ImportError:
        sys.modules[_NAME] = _stand_in()
    try:
        return importlib.import_module(f"django.db.backends.postgresql.{name}")
    finally:
        # Who asks for the whole backend of PostgreSQL is to hear that psycopg is missing.
        if getattr(sys.modules.get(_NAME), "mogrify", _NAME) is None:
            del sys.modules[_NAME]
