"""One worker, one job at a time: who waits, how far it is, what came of it, and how it is stopped."""

import itertools
import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from synthdp.explore.working import Job, work

CANCELLED = "stopped; nothing was changed."
DIED = "the worker ended unexpectedly (out of memory?); try again."
# seconds a stopped job has to put things in order
GRACE = 6.0


@dataclass
class Order:
    """A job that was asked for.

    Parameters
    ----------
    job
        What is to be done.
    label
        What the page calls it.
    then, otherwise
        Called with what came of it, or with the sentence why nothing did.
    place
        Of orders with the same place only the last one waits.
    """

    job: Job
    label: str
    then: Callable[[Any], None]
    otherwise: Callable[[str], None]
    place: str
    began: float = 0.0
    stage: str = "waiting"
    done: int = 0
    total: int = 0
    stopped: bool = field(default=False)


class Workshop:
    """The worker process and the orders that wait for it."""

    def __init__(self) -> None:
        self._waiting: list[Order] = []
        self._now: Order | None = None
        self._change = threading.Condition()
        self._closed = False
        self._process: Any = None
        self._pipe: Connection | None = None
        self._numbers = itertools.count(1)
        self.news = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def ask(self, order: Order) -> None:
        """Put an order into the queue; an older one of its place that still waits goes."""
        with self._change:
            self._waiting = [one for one in self._waiting if one.place != order.place]
            self._waiting.append(order)
            self.news = next(self._numbers)
            self._change.notify_all()

    def stop(self) -> None:
        """Stop the job that is at work, and those that wait."""
        with self._change:
            gone, self._waiting = self._waiting, []
            self.news = next(self._numbers)
            if self._now is not None:
                self._now.stopped = True
            process = self._process if self._now is not None else None
        for order in gone:
            order.otherwise(f"{order.label}: {CANCELLED}")
        if process is not None:
            process.terminate()
            process.join(GRACE)
            if process.is_alive():
                process.kill()

    def close(self) -> None:
        """End the worker."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        self.stop()
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.join(GRACE)
            if self._process.is_alive():
                self._process.kill()

    @property
    def busy(self) -> bool:
        """Whether anything is at work or waits."""
        with self._change:
            return self._now is not None or bool(self._waiting)

    def progress(self) -> tuple[str, float | None]:
        """Return in a sentence what is at work, and which share of it is done where that is known."""
        with self._change:
            now, waiting = self._now, len(self._waiting)
            if now is None:
                return ("", None) if not waiting else ("starting the worker …", None)
            far = f" {now.done} of {now.total}" if now.total else ""
            queue = f"; {waiting} waiting" if waiting else ""
            seconds = time.monotonic() - now.began
            return f"{now.label}: {now.stage}{far}, {seconds:.0f} s{queue}", now.done / now.total if now.total else None

    def _serve(self) -> None:
        while True:
            with self._change:
                while not self._waiting and not self._closed:
                    self._change.wait()
                if self._closed:
                    return
                order = self._now = self._waiting.pop(0)
                order.began = time.monotonic()
            try:
                self._do(order)
            finally:
                with self._change:
                    self._now = None
                    self.news = next(self._numbers)

    def _do(self, order: Order) -> None:
        try:
            pipe = self._connected()
            if order.stopped:
                raise EOFError
            pipe.send(order.job)
            while True:
                kind, *said = pipe.recv()
                if kind == "stage":
                    order.stage, order.done, order.total = said
                    continue
                break
        except (EOFError, OSError):
            self._pipe = None
            order.otherwise(f"{order.label}: {CANCELLED if order.stopped else DIED}")
            return
        if kind != "done":
            order.otherwise(said[0])
            return
        try:
            order.then(said[0])
        except Exception as error:  # such as a folder of trials that is gone: the next order is served all the same
            order.otherwise(f"{order.label}: what was found could not be kept ({type(error).__name__}).")

    def _connected(self) -> Connection:
        if self._pipe is not None and self._process.is_alive():
            return self._pipe
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs,), daemon=True, name="synthdp-worker")
        process.start()
        self._process = process
        theirs.close()
        self._pipe = ours
        return ours
