"""`manage.py dbshell`: the shell `cairn`."""

from __future__ import annotations

from django.db.backends.base.client import BaseDatabaseClient


class DatabaseClient(BaseDatabaseClient):
    executable_name = "cairn"

    @classmethod
    def settings_to_cmd_args_env(cls, settings_dict, parameters):
        return [cls.executable_name, str(settings_dict["NAME"]), *parameters], None
