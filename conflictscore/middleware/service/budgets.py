"""What each caller has spent today (UTC), in requests, tokens and dollars, kept over restarts."""

import logging
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import compress
from math import inf
from pathlib import Path

from conflictscore.errors import ConfigurationError
from conflictscore.middleware.service.keys import Allowance, KeyHolder
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.models.prices import Price
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Usage
from conflictscore.storage.database import Database, SQLiteTables

__all__ = ["Account", "Budgets"]

_log = logging.getLogger(__name__)

_Place = tuple[str, str]
"""A day and a name."""
_Amounts = tuple[int, float]
"""Tokens and US dollars."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS spent (day TEXT NOT NULL, name TEXT NOT NULL,"
    " requests BIGINT NOT NULL, tokens BIGINT NOT NULL, usd DOUBLE PRECISION NOT NULL,"
    " PRIMARY KEY (day, name))"
)
_SPENT = "INSERT INTO spent VALUES ($1, $2, $3, $4, $5) ON CONFLICT (day, name)"
_PAY = (
    f"{_SPENT} DO UPDATE SET tokens = spent.tokens + excluded.tokens,"
    " usd = spent.usd + excluded.usd"
)
_ADMIT = (
    "UPDATE spent SET requests = requests + 1 WHERE day = $1 AND name = $2"
    " AND requests < CAST($3 AS DOUBLE PRECISION) AND tokens < CAST($4 AS DOUBLE PRECISION)"
    " AND usd < CAST($5 AS DOUBLE PRECISION) RETURNING requests"
)
_LOOK_UP = "SELECT requests, tokens, usd FROM spent WHERE day = $1 AND name = $2"


class Budgets:
    """The spending of all callers by day, each bounded by an allowance.

    What a call costs is known once it is answered, so a caller goes beyond their tokens or dollars
    by at most the requests that are being served for them. Where nothing can be kept, as on a full
    disk, nobody with an allowance is served.
    """

    def __init__(
        self,
        daily: Allowance,
        prices: Sequence[Price | None],
        path: Path | None = None,
        store: Database | None = None,
    ) -> None:
        """Open the books.

        Args:
            daily: What a caller without limits of their own may spend in a day.
            prices: Of the models; a call counts at the highest. None where one is not known.
            path: An SQLite file, which processes may share; None keeps them in memory.
            store: A database in its place.

        Raises:
            ConfigurationError: The file or the store cannot be used.
        """
        self._daily = daily
        self._database = store or SQLiteTables(
            path,
            unusable=lambda error: ConfigurationError(
                f"--spent-file {path}: cannot be used ({error})"
            ),
        )
        self._prices = None if None in prices else [price for price in prices if price]
        self._silent = False
        self._lock = threading.Lock()
        self._owed: dict[_Place, _Amounts] = {}
        self._paying = False
        self._database.make(_TABLE)

    @property
    def remote(self) -> bool:
        """Whether to admit somebody may take a while."""
        return self._database.remote

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
        place = (f"{now:%Y-%m-%d}", caller.name)
        most = [inf if limit is None else float(limit) for limit in limits]
        try:
            while owed := self._next_owed():
                self._pay(*owed)
            for last in (False, True):
                # one statement, so that no two processes give the last request away
                if self._database.execute(_ADMIT, *place, *most):
                    return
                if not last:
                    self._database.execute(f"{_SPENT} DO NOTHING", *place, 0, 0, 0.0)
            [spent] = self._database.execute(_LOOK_UP, *place)
        except ConfigurationError as error:
            _log.error("%s; nobody with an allowance is served", error)
            raise _unkept("its store cannot be used") from error
        over = (used >= limit for used, limit in zip(spent, most, strict=True))
        raise _used_up(next(compress(Allowance._fields, over), "requests"), now)

    def cost(self, usage: Usage) -> float | None:
        """US dollars, at the highest price; None where it is not known."""
        costs = [price.of(usage) for price in self._prices or ()]
        known = [cost for cost in costs if cost is not None]
        return max(known) if known and len(known) == len(costs) else None

    def add(self, name: str, usage: Usage) -> None:
        """Count what a call cost; until that is kept, nobody with an allowance is admitted."""
        cost = self.cost(usage)
        unpriced = self._prices is not None and cost is None
        if usage.calls and (unpriced or not usage.input_tokens):
            self._silent = True
        tokens = usage.input_tokens + usage.output_tokens
        self._owe((f"{datetime.now(UTC):%Y-%m-%d}", name), (tokens, cost or 0.0))
        self._pay_later()

    def close(self) -> None:
        """Close the database, where it is nobody else's."""
        if not self._database.remote:
            self._database.close()

    def _owe(self, place: _Place, amounts: _Amounts) -> None:
        with self._lock:
            tokens, usd = self._owed.get(place, (0, 0.0))
            self._owed[place] = (tokens + amounts[0], usd + amounts[1])

    def _next_owed(self) -> tuple[_Place, _Amounts] | None:
        with self._lock:
            return self._owed.popitem() if self._owed else None

    def _pay(self, place: _Place, amounts: _Amounts) -> None:
        try:
            self._database.execute(_PAY, *place, 0, *amounts)
        except ConfigurationError:
            self._owe(place, amounts)
            raise

    def _pay_later(self) -> None:
        """Write what is owed, one sum after the other: many calls are one sum by then."""
        with self._lock:
            if self._paying or not self._owed:
                return
            self._paying = True
            place, amounts = self._owed.popitem()

        def paid(error: ConfigurationError | None) -> None:
            self._paying = False
            if error is None:
                self._pay_later()
            else:
                self._owe(place, amounts)

        self._database.later(_PAY, *place, 0, *amounts, done=paid)


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
