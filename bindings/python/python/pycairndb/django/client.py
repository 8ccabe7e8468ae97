"""`manage.py dbshell`: the shell `cairn`."""

from __future__ import annotations

import signal

from django.db.backends.base.client import BaseDatabaseClient


class DatabaseClient(BaseDatabaseClient):
    executable_name = "cairn"

    @classmethod
    def settings_to_cmd_args_env(cls, settings_dict, parameters):
        return [cls.executable_name, str(settings_dict["NAME"]), *parameters], None

    def runshell(self, parameters):
        # Ctrl-C is the shell's, which ends a statement by it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            super().runshell(parameters)
        finally:
            signal.signal(signal.SIGINT, before)
