"""A database backend for Django: `DATABASES = {"default": {"ENGINE": "pycairndb.django", "NAME": BASE_DIR / "site.cairn"}}`.

Its SQL is that of Django's backend of PostgreSQL, whose language the engine speaks; psycopg is not needed. Every transaction is
serializable: where two change the same, one fails with SQLSTATE 40001 and runs again (`retry`).
"""

from __future__ import annotations

import functools
import random
import time
from typing import Any, Callable


def retry(work: Callable | None = None, /, *, attempts: int = 10, using: str | None = None) -> Callable:
    """Runs a view, or any function, again where another transaction got in its way (40001): it must keep nothing of a run
    that failed. It begins and ends its transactions itself (`transaction.atomic`), and is not within one.

        @retry
        @transaction.atomic
        def order(request): ...
    """
    if work is None:
        return functools.partial(retry, attempts=attempts, using=using)

    @functools.wraps(work)
    def again(*args: Any, **kwargs: Any) -> Any:
        from django.db import OperationalError, transaction

        for attempt in range(1, attempts + 1):
            try:
                return work(*args, **kwargs)
            except OperationalError as error:
                is_outermost = not transaction.get_connection(using).in_atomic_block
                conflict = getattr(error.__cause__, "sqlstate", None) == "40001"
                if not conflict or not is_outermost or attempt == attempts:
                    raise
                time.sleep(random.uniform(0, 0.001 * 2**attempt))

    return again
