"""What the engine can and can not do of what Django asks."""

from __future__ import annotations

from django.db import DataError, InternalError
from django.utils.functional import cached_property

from ._parts import part


class DatabaseFeatures(part("features").DatabaseFeatures):
    # Values always go beside the text.
    uses_server_side_binding = True
    # Nobody waits for a row: whoever comes second fails with 40001.
    has_select_for_update_nowait = False
    has_select_for_update_skip_locked = False
    supports_tablespaces = False
    # A file is copied, not cloned: and no process inherits what another has open.
    can_clone_databases = False
    has_native_uuid_field = True
    closed_cursor_error_class = InternalError
    supported_explain_formats = {"JSON", "TEXT"}
    schema_editor_uses_clientside_param_binding = True
    test_collations = {"deterministic": None, "non_default": None, "swedish_ci": None, "virtual": None}
    test_db_allows_multiple_connections = True
    is_postgresql_15 = True
    is_postgresql_16 = False
    is_postgresql_17 = False
    supports_nulls_distinct_unique_constraints = True

    @cached_property
    def prohibits_null_characters_in_text_exception(self) -> tuple:
        return DataError, 'invalid byte sequence for encoding "UTF8": 0x00'

    @cached_property
    def introspected_field_types(self) -> dict:
        return {**super().introspected_field_types, "GenericIPAddressField": "CharField"}
