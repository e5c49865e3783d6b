"""The narrow waist between what is to be done and where it is done.

A piece of work reads and writes files in the folder of its job, and returns something small: sums, counts, checksums.
Nothing else may pass between pieces of work, so that an engine needs to know one thing only: how to call a function on
many items and hand back, in the order of the items, what came of it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from synthdp.parallel import Advance

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """A place where work is done."""

    def each(
        self, work: Callable[[Item], Result], items: Sequence[Item], *, advance: Advance | None = None
    ) -> Iterator[Result]:
        """Yield what comes of the items, in their order.

        Parameters
        ----------
        work
            Can be pickled; what is large it writes to files of its own.
        items
            Can be pickled, and are small.
        advance
            Told how many are done.
        """
        ...
