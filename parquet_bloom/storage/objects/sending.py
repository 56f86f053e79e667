"""Requests to object stores, whichever library sends them: counted, sent again if their failure may pass, and
with new credentials if those in use have expired. The only place that says how often and when.

    it may pass       send it again, after a random part of a time that doubles: so many processes that were
                      refused together do not come back together. Not before Retry-After, if that is shown
    asked too often   the same, and all of this process ask more slowly below that prefix: see `pace`
    expired           take the credentials anew, once, and send it again
    all else          is raised
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import field
from threading import Lock
from typing import Generic, TypeVar

from parquet_bloom.dataclass import dataclass
from parquet_bloom.storage.objects.failures import Failures
from parquet_bloom.storage.objects.logs import unlogged
from parquet_bloom.storage.objects.pace import PACE
from parquet_bloom.storage.traffic import Requests, Traffic, count

Returned = TypeVar("Returned")
Signed = TypeVar("Signed")

# The longest that is waited before each time that a request is sent again: about 50 seconds in all.
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 12.8, 12.8)


class Renewable(Generic[Signed]):
    """What signs requests, as `make` makes it of the credentials that hold then. For several threads."""

    def __init__(self, make: Callable[[], Signed]) -> None:
        """Raises what `make` raises."""
        self._make = make
        self._making = Lock()
        self._now = make()
        # Credentials that have never held have not expired.
        self.has_held = False

    def now(self) -> Signed:
        return self._now

    def renew(self, expired: Signed) -> bool:
        """Make it anew, unless another thread has; whether that may help. Raises what `make` raises."""
        with self._making:
            if self._now is expired and self.has_held:
                self._now = self._make()
            return self._now is not expired


@dataclass(frozen=True, slots=True)
class Attempts:
    """Of one request. `before`: done before each, whose errors end them; `doubts`: gets the failures of
    those that the store may have done nevertheless. `again`: how often it is sent again at most."""

    before: Callable[[], None] = lambda: None
    again: int = len(PAUSES)
    doubts: list[BaseException] = field(default_factory=list)


class _Patience:
    """With one request: how long it may still be sent again."""

    def __init__(self, again: int) -> None:
        pauses = PAUSES[:again]
        self._pauses = iter(pauses)
        self._left = sum(pauses)

    def pause(self, least: float) -> float | None:
        """The seconds to wait now, `least` or more; None if it is over."""
        longest = next(self._pauses, None)
        if longest is None:
            return None
        # Not a generator of our own: a process that is forked starts that of the module afresh.
        pause = max(least, random.uniform(0, longest))
        self._left -= pause
        return pause if self._left >= 0 else None


@dataclass(frozen=True, slots=True)
class Sender(Generic[Signed]):
    """Sends requests that `signed` signs, about objects below `prefix`, the URL of a folder."""

    prefix: str
    traffic: Traffic
    failures: Failures
    signed: Renewable[Signed]

    def send(
        self,
        work: Callable[[Signed], Returned],
        kind: Requests,
        attempts: Attempts | None = None,
    ) -> Returned:
        """What `work` returns, which sends one request of a `kind`. Raises one of the kinds of `failures`,
        and what is raised before an attempt."""
        attempts = attempts or Attempts()
        patience, again, has_renewed = _Patience(attempts.again), Requests(), False
        while True:
            sent = PACE.wait(self.prefix)
            attempts.before()
            count(self.traffic, kind + again)
            signed = self.signed.now()
            try:
                with unlogged():
                    answer = work(signed)
            except self.failures.kinds as error:
                if not 400 <= self.failures.status(error) < 500:
                    attempts.doubts.append(error)
                if self.failures.has_expired(error):
                    if has_renewed or not self.signed.renew(signed):
                        raise
                    has_renewed = True
                else:
                    self._wait_out(error, sent, patience)
                again = Requests(retries=1)
            else:
                PACE.speed_up(self.prefix)
                self.signed.has_held = True
                return answer

    def _wait_out(self, error: Exception, sent: float, patience: _Patience) -> None:
        """Wait until a failure may have passed; raises it if it will not, or it is too late."""
        if not self.failures.may_pass(error):
            raise error
        if self.failures.is_throttled(error):
            PACE.slow_down(self.prefix, sent)
        pause = patience.pause(self.failures.retry_after(error))
        if pause is None:
            raise error
        time.sleep(pause)


def prefix_of(url: str) -> str:
    """The folder of an object, or above a folder."""
    return url.rpartition("/")[0]
