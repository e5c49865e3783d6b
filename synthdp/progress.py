"""How a long job tells what it is doing; the command line shows it, a library call stays silent."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol


class Progress(Protocol):
    """A listener to the stages of a run."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Enter a stage; leaving the context ends it."""
        ...

    def advance(self, done: int, total: int) -> None:
        """Say how far the current stage is."""
        ...

    def wait(self, sentence: str) -> None:
        """Say what has to end first."""
        ...

    def tell(self, sentence: str) -> None:
        """Say what is known already while the rest goes on."""
        ...


class Silent:
    """A listener that shows nothing."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Enter a stage."""
        return nullcontext()

    def advance(self, done: int, total: int) -> None:
        """Do nothing."""

    def wait(self, sentence: str) -> None:
        """Do nothing."""

    def tell(self, sentence: str) -> None:
        """Do nothing."""


class Timer:
    """Seconds per stage, passed on to a listener."""

    def __init__(self, listener: Progress) -> None:
        self._listener = listener
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        started = time.perf_counter()
        with self._listener.stage(name):
            yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def split(self, name: str, parts: Mapping[str, float]) -> None:
        """Add the seconds of the parts of a stage."""
        self.seconds |= {f"{name}.{part}": seconds for part, seconds in parts.items()}

    def advance(self, done: int, total: int) -> None:
        """Pass progress on."""
        self._listener.advance(done, total)

    def wait(self, sentence: str) -> None:
        """Pass on what has to end first."""
        self._listener.wait(sentence)

    def tell(self, sentence: str) -> None:
        """Pass on what is known already."""
        self._listener.tell(sentence)
