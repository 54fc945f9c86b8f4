"""What each caller has spent today (UTC), in requests, tokens and dollars, kept over restarts."""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from conflictscore.errors import ConfigurationError
from conflictscore.middleware.service.keys import Allowance, KeyHolder
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.models.prices import Price
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Usage
from conflictscore.storage.private_files import DATABASE_FAILURES, connect

__all__ = ["Account", "Budgets"]


class Budgets:
    """The spending of all callers by day, each bounded by an allowance.

    What a call costs is known once it is answered, so a caller goes beyond their tokens or dollars
    by at most the requests that are being served for them. Where nothing can be kept, as on a full
    disk, nobody with an allowance is served.
    """

    def __init__(
        self, daily: Allowance, prices: Sequence[Price | None], path: Path | None = None
    ) -> None:
        """Open the books.

        Args:
            daily: What a caller without limits of their own may spend in a day.
            prices: Of the models; a call counts at the highest. None where one is not known.
            path: An SQLite file; None keeps them in memory.

        Raises:
            ConfigurationError: The file cannot be used.
        """
        self._daily, self._path = daily, path
        self._prices = None if None in prices else [price for price in prices if price]
        self._silent = False
        self._lock = threading.Lock()
        try:
            self._file = connect(path or Path(":memory:"))
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS spent (day TEXT NOT NULL, name TEXT NOT NULL,"
                " requests INTEGER NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,"
                " PRIMARY KEY (day, name)) WITHOUT ROWID"
            )
        except DATABASE_FAILURES as error:
            raise ConfigurationError(f"--spent-file {path}: cannot be used ({error})") from error

    def admit(self, caller: KeyHolder) -> None:
        """Count a request.

        Raises:
            RefusedError: An allowance is used up (429), or cannot be kept (503).
        """
        both = zip(caller.allowance, self._daily, strict=True)
        limits = Allowance(*(common if own is None else own for own, common in both))
        if limits == Allowance():
            return
        now = datetime.now(UTC)
        if (limits.usd is not None and self._prices is None) or (
            self._silent and (limits.tokens is not None or limits.usd is not None)
        ):
            raise _unkept("what its model uses or costs is not known")
        try:
            spent = self._spent(now, caller.name)
            for kind, limit, used in zip(Allowance._fields, limits, spent, strict=True):
                if limit is not None and used >= limit:
                    raise _used_up(kind, now)
            self._add(now, caller.name, requests=1)
        except DATABASE_FAILURES as error:
            raise _unkept(type(error).__name__) from error

    def cost(self, usage: Usage) -> float | None:
        """US dollars, at the highest price; None where it is not known."""
        costs = [price.of(usage) for price in self._prices or ()]
        known = [cost for cost in costs if cost is not None]
        return max(known) if known and len(known) == len(costs) else None

    def add(self, name: str, usage: Usage) -> None:
        """Count what a call cost; what cannot be kept is refused when the next request comes."""
        cost = self.cost(usage)
        unpriced = self._prices is not None and cost is None
        if usage.calls and (unpriced or not usage.input_tokens):
            self._silent = True
        tokens = usage.input_tokens + usage.output_tokens
        try:
            self._add(datetime.now(UTC), name, tokens=tokens, usd=cost or 0.0)
        except DATABASE_FAILURES:
            self._silent = True

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _spent(self, now: datetime, name: str) -> tuple[float, ...]:
        with self._lock:
            row: tuple[float, ...] | None = self._file.execute(
                "SELECT requests, tokens, usd FROM spent WHERE day = ? AND name = ?",
                (f"{now:%Y-%m-%d}", name),
            ).fetchone()
        return row or (0, 0, 0.0)

    def _add(
        self, now: datetime, name: str, *, requests: int = 0, tokens: int = 0, usd: float = 0.0
    ) -> None:
        with self._lock:
            self._file.execute(
                "INSERT INTO spent VALUES (?, ?, ?, ?, ?) ON CONFLICT (day, name) DO UPDATE SET"
                " requests = requests + excluded.requests, tokens = tokens + excluded.tokens,"
                " usd = usd + excluded.usd",
                (f"{now:%Y-%m-%d}", name, requests, tokens, usd),
            )


class Account(UsageMeter):
    """The calls of one run, counted for its caller as each is answered."""

    def __init__(self, budgets: Budgets, name: str) -> None:
        super().__init__()
        self._budgets, self._name = budgets, name

    def count(self, usage: Usage) -> None:
        """Count what a call cost."""
        super().count(usage)
        self._budgets.add(self._name, usage)

    @property
    def cost(self) -> float | None:
        """US dollars so far; None where they are not known."""
        return self._budgets.cost(self.usage)


def _used_up(kind: str, now: datetime) -> RefusedError:
    midnight = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
    return RefusedError(
        429,
        f"what this key may spend today (UTC) is used up ({kind})",
        code="budget_used_up",
        retry_after=str(int((midnight - now).total_seconds()) + 1),
    )


def _unkept(why: str) -> RefusedError:
    return RefusedError(503, f"no budget can be kept ({why})", code="budget_not_kept")
