"""A cluster as Dask runs it: one that is there, or processes of this machine.

Only what is small passes through the scheduler: which function, on which shard, and the sums that come of it. Records
are read from the folder of the job and written there. Keys of tasks are random numbers, what the tasks hold does not
show itself (:mod:`synthdp.engine.parcels`), and clusters that are started here have no pages, spill nothing, write
nothing outside the folder of the job, and talk under keys that were made for the one run.
"""

import asyncio
import concurrent.futures
import logging
import secrets
import shutil
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from synthdp.budget import go_on
from synthdp.engine.parcels import opened, perform, seal
from synthdp.errors import InputError, Unfinished
from synthdp.parallel import Advance

Item = TypeVar("Item")
Result = TypeVar("Result")

IN_FLIGHT = 3
"""Pieces of work for each thread of the cluster that are on their way at a time."""
CONNECTING = 30.0
"""Seconds in which a scheduler has to answer."""
LOOKING = 2.0
"""Seconds between two looks at whether there is still a cluster."""
PATIENCE = 60.0
"""Seconds for which a cluster may be without any worker."""
PREFIX = "engine-"
RESUME = "continue with --resume"
# no pages, nothing spilled, no worker that waits for memory that it will not get: one that takes too much is ended
_BARE: Mapping[str, Any] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    # who looks less often takes less time from the work
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    # Dask would have memory given back at once, and arrays are asked for again at once: a fifth of the time
    "distributed.nanny.pre-spawn-environ": {
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1),
        "MALLOC_TRIM_THRESHOLD_": None,
    },
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
}


class Dask:
    """An engine whose cluster is there; :func:`cluster` makes one.

    Parameters
    ----------
    client
        The connection to the scheduler.
    mark
        A file in the folder of the job, by which a worker sees whether it has the same folder.
    place
        What sentences call the cluster.
    """

    def __init__(self, client: Any, mark: Path, place: str) -> None:
        self.client, self._mark, self._place = client, mark, place
        self._counted, self._seen = float("-inf"), 0

    def each(
        self, work: Callable[[Item], Result], items: Sequence[Item], *, advance: Advance | None = None
    ) -> Iterator[Result]:
        """Yield what comes of the items, in their order; only so many are on their way at a time."""
        left, flying = iter(items), deque[Any]()
        try:
            for done in range(1, len(items) + 1):
                room = self._room() - len(flying)
                flying.extend(self._send(work, item) for _, item in zip(range(room), left, strict=False))
                result = opened(self._received(flying[0]))
                flying.popleft().release()
                go_on()
                if advance is not None:
                    advance(done, len(items))
                yield result
        finally:
            if flying:
                with suppress(Exception):
                    self.client.cancel(list(flying), force=True)

    def size(self) -> tuple[int, float]:
        """Return how many threads there are, and the least memory of one in bytes; infinite where nobody limits it.

        Raises
        ------
        Unfinished
            If no worker appears.
        """
        alone = None
        while not self._threads():
            alone = self._alone(alone)
            time.sleep(LOOKING / 4)
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [one["memory_limit"] / one["nthreads"] for one in workers if one["memory_limit"]]
        return self._threads(), min(limits, default=float("inf"))

    def _send(self, work: Callable[[Item], Result], item: Item) -> Any:
        key = f"work-{secrets.token_hex(16)}"
        sealed = seal(work, item, self._mark)
        try:
            return self.client.submit(perform, sealed, key=key, pure=False)
        except Exception:
            self._gone()

    def _received(self, future: Any) -> Any:
        """Wait for a piece of work, and look now and then whether anybody is there to do it."""
        from distributed.scheduler import KilledWorker

        alone = None
        while True:
            try:
                return future.result(timeout=LOOKING)
            except TimeoutError:
                alone = self._alone(alone)
            except (asyncio.CancelledError, concurrent.futures.CancelledError, OSError):
                # whatever the work itself could not read or write comes back as a result: this is the connection
                self._gone()
            except KilledWorker:
                raise Unfinished(
                    f"{self._place}: one piece of work ended every worker that tried it, probably for want of memory; "
                    f"give each worker more, and {RESUME}."
                ) from None
            except Exception as error:
                self._unable(error)

    def _alone(self, since: float | None) -> float | None:
        """Return since when there has been no worker at all; None where there is one."""
        now = time.monotonic()
        if self._threads():
            return None
        if since is not None and now - since > PATIENCE:
            raise Unfinished(
                f"{self._place}: there has been no worker for {PATIENCE:.0f} seconds; start some, and {RESUME}."
            )
        return now if since is None else since

    def _room(self) -> int:
        return IN_FLIGHT * max(self._threads(), 1)

    def _threads(self) -> int:
        """Return how many threads the cluster has: asked now and then, as workers come and go."""
        if time.monotonic() - self._counted >= LOOKING:
            try:
                self._seen = sum(self.client.nthreads().values())
            except Exception:  # of many kinds, and all mean that nobody answers
                self._gone()
            self._counted = time.monotonic()
        return self._seen

    def _gone(self) -> NoReturn:
        raise Unfinished(
            f"{self._place}: the scheduler is gone; nothing is lost that was done: start it again, and {RESUME}."
        ) from None

    def _unable(self, error: Exception) -> NoReturn:
        # raised by the cluster, never by the work: the worker could not even open what it was sent
        raise InputError(
            f"{self._place}: the workers cannot run synthdp ({type(error).__name__}); install it there, in the same "
            "version, as on this machine."
        ) from None


@contextmanager
def cluster(
    folder: Path,
    *,
    address: str | None = None,
    tls: tuple[Path, Path, Path] | None = None,
    workers: int = 2,
    memory: int | None = None,
) -> Iterator[Dask]:
    """Hold a cluster for as long as a run needs it.

    Parameters
    ----------
    folder
        Of the job. Every machine has to see it under the same name.
    address
        Of a scheduler that is there.
    tls
        Files for an address with ``tls://``: the authority's certificate, this machine's, and the key to it.
    workers
        How many processes to start on this machine, where there is no address.
    memory
        How many bytes each of them may take; by default their share of what is there.

    Raises
    ------
    InputError
        If the library is missing, the scheduler does not answer, or the processes cannot be started.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise InputError("engine: a cluster needs the library distributed: pip install 'synthdp[cluster]'.") from None
    for old in folder.glob(f"{PREFIX}*"):  # of a run that was killed; whoever holds the folder is alone in it
        shutil.rmtree(old, ignore_errors=True)
    home = (folder / f"{PREFIX}{secrets.token_hex(8)}").absolute()
    home.mkdir(parents=True, mode=0o700)
    mark = home / "here"
    with ExitStack() as held:
        held.callback(shutil.rmtree, home, ignore_errors=True)
        mark.touch()
        held.enter_context(_quietly())
        with warnings.catch_warnings():  # of ports and versions: both are seen to here
            warnings.simplefilter("ignore")
            if address is None:
                place = f"{_processes(workers)} of this machine"
                client = held.enter_context(_started(home, workers, memory))
            else:
                place, client = address, held.enter_context(_reached(address, tls))
        yield Dask(client, mark, f"engine: {place}")


@contextmanager
def _reached(address: str, tls: tuple[Path, Path, Path] | None) -> Iterator[Any]:
    from distributed import Client, Security

    security = None
    if tls is not None:
        for name, path in zip(("ca", "cert", "key"), tls, strict=True):
            if not path.is_file():
                raise InputError(f"engine.tls.{name}: {path} is not there.")
        ca, cert, key = (str(path) for path in tls)
        security = Security(require_encryption=True, tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key)
    try:
        client = Client(address, timeout=CONNECTING, security=security, set_as_default=False, name="synthdp")
    except Exception as error:
        cure = "is it running, and are the files of tls those of its authority?" if tls else "is it running?"
        raise InputError(
            f"engine.address: no scheduler answers at {address} ({type(error).__name__}); {cure}"
        ) from None
    try:
        yield client
    finally:
        _leave(client)


@contextmanager
def _started(home: Path, workers: int, memory: int | None) -> Iterator[Any]:
    import dask
    from distributed import Client, LocalCluster, Security

    with ExitStack() as held:
        try:
            held.enter_context(dask.config.set(_BARE))
            # anybody on this machine can reach its ports, and whoever reaches a scheduler may run what they like
            security = Security.temporary()
            processes = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit="auto" if memory is None else memory,
                local_directory=str(home),
                dashboard_address=None,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.CRITICAL,
                security=security,
            )
            held.callback(_leave, processes)
            client = Client(processes, timeout=CONNECTING, set_as_default=False, name="synthdp")
            held.callback(_leave, client)
        except ImportError:
            raise InputError(
                "engine: a cluster needs the library cryptography: pip install 'synthdp[cluster]'."
            ) from None
        except OSError:
            raise  # a full disk, no more processes: what the system says of it is what there is to say
        except Exception:
            raise InputError(
                f"engine: {_processes(workers)} could not be started; a script that starts them keeps its own steps "
                'under `if __name__ == "__main__":`.'
            ) from None
        yield client


def _processes(workers: int) -> str:
    return f"{workers} process{'' if workers == 1 else 'es'}"


def _leave(what: Any) -> None:
    """Close, and do not mind whether the other side is still there."""
    with suppress(Exception, asyncio.CancelledError):
        what.close(timeout=CONNECTING)


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep Dask's own log off the screen: what matters of it is said in a sentence."""
    import distributed  # noqa: F401  (it makes its handlers when it is loaded)

    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in ("distributed", "tornado")]
    levels = {handler: handler.level for name in names for handler in logging.getLogger(name).handlers}
    try:
        for handler in levels:
            handler.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for handler, level in levels.items():
            handler.setLevel(level)
