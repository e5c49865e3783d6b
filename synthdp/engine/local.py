"""The engine that is always there: this process, or several processes on this machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from synthdp.parallel import Advance, each

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Local:
    """Work on this machine.

    Parameters
    ----------
    jobs
        How many processes; one is this process.

    Examples
    --------
    >>> list(Local().each(abs, [-2, 1]))
    [2, 1]
    """

    jobs: int = 1

    def each(
        self, work: Callable[[Item], Result], items: Sequence[Item], *, advance: Advance | None = None
    ) -> Iterator[Result]:
        """Yield what comes of the items, in their order."""
        return each(work, items, jobs=self.jobs, advance=advance, processes=True)
