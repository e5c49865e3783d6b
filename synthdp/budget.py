"""A budget of time: work that may take long asks now and then whether it may go on.

Whoever sets no budget pays nothing for the question. Threads that a piece of work starts have no budget of their own.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


class OverBudget(Exception):
    """The time is used up; whoever set the budget says what is missing."""


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Give whatever is done here so many seconds; None for as long as it takes.

    Examples
    --------
    >>> with within(None):
    ...     go_on()
    >>> with within(0.0):
    ...     go_on()
    Traceback (most recent call last):
    ...
    synthdp.budget.OverBudget
    """
    token = _deadline.set(None if seconds is None else time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def go_on() -> None:
    """Raise OverBudget where the time is used up.

    Raises
    ------
    OverBudget
        If a budget was set around this and is used up.
    """
    until = _deadline.get()
    if until is not None and time.monotonic() >= until:
        raise OverBudget
