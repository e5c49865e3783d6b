"""Where the work runs: this machine, or a Dask cluster; what comes out is the same, wherever it runs."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from synthdp.table.schema import Settings

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(MB|GB|TB|MiB|GiB|TiB)")
_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):\d{1,5}")


def _size(given: Any) -> str:
    text = given.strip() if isinstance(given, str) else ""
    if not (found := _SIZE.fullmatch(text)) or float(found[1]) == 0:
        raise ValueError("must be a number with its unit, for example 4 GB (or MB, TB, MiB, GiB, TiB)")
    return text


Size = Annotated[str, BeforeValidator(_size)]
"""An amount of memory, as people write it: ``4 GB``."""


def in_bytes(size: str) -> int:
    """Return how many bytes an amount of memory is.

    Examples
    --------
    >>> in_bytes("1.5 GB"), in_bytes("2GiB")
    (1500000000, 2147483648)
    """
    found = _SIZE.fullmatch(size)
    assert found is not None  # settings hold nothing else
    return int(float(found[1]) * _UNITS[found[2]])


class Local(Settings):
    """One machine, the one that the command is given on.

    Parameters
    ----------
    memory
        How much memory the run may take, for example ``4 GB``; by default what the machine, or the container that the
        run is in, has left.
    streaming
        Whether the table stays on disk and is worked on block by block. By default only where it would not fit into
        the memory.
    """

    method: Literal["local"] = "local"
    memory: Size | None = None
    streaming: bool | None = None

    @property
    def memory_bytes(self) -> int | None:
        """The memory that may be taken, in bytes; None: what is there."""
        return None if self.memory is None else in_bytes(self.memory)


class Tls(Settings):
    """The files with which the machines of a cluster know each other, each in PEM form, relative to the config file.

    Parameters
    ----------
    ca
        The certificate of the authority that has signed those of the scheduler and of the workers.
    cert
        This machine's certificate.
    key
        The key to it.
    """

    ca: Path
    cert: Path
    key: Path


class Dask(Settings):
    """A Dask cluster: one that is there, or processes of this machine. The table is streamed.

    Parameters
    ----------
    address
        Of the scheduler: ``tcp://host:port``, or ``tls://host:port`` where the machines are to know each other and
        what they say is to be encrypted.
    workers
        How many processes to start on this machine where there is no address; by default 2.
    memory
        How much memory one of those processes may take, for example ``4 GB``; by default their share of what is there.
    tls
        The files that an address with ``tls://`` needs.
    """

    method: Literal["dask"] = "dask"
    address: str | None = None
    workers: int | None = Field(default=None, ge=1, le=1024)
    memory: Size | None = None
    tls: Tls | None = None

    @model_validator(mode="after")
    def _one_cluster(self) -> "Dask":
        if self.address is None:
            if self.tls is not None:
                raise ValueError("tls is for a cluster at an address; processes of this machine need none")
            return self
        if not _ADDRESS.fullmatch(self.address):
            raise ValueError("address must have the form tcp://host:port or tls://host:port")
        for name in ("workers", "memory"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is for processes of this machine; a cluster at an address has its own")
        if self.address.startswith("tls://") and self.tls is None:
            raise ValueError("an address with tls:// needs tls: {ca: FILE, cert: FILE, key: FILE}")
        if self.address.startswith("tcp://") and self.tls is not None:
            raise ValueError("tls needs an address that begins with tls://")
        return self

    @property
    def memory_bytes(self) -> int | None:
        """The memory that one process may take, in bytes; None: its share of what is there."""
        return None if self.memory is None else in_bytes(self.memory)


ENGINES: Mapping[str, type[Settings]] = {"local": Local, "dask": Dask}


def _engine(value: Any) -> str:
    """Return where the work runs: on a cluster where one is described, on this machine where nothing is said."""
    if isinstance(value, Mapping):
        return str(value.get("method", "dask" if {"address", "workers", "tls"} & set(value) else "local"))
    return str(getattr(value, "method", "local"))


AnyEngine = Annotated[Annotated[Local, Tag("local")] | Annotated[Dask, Tag("dask")], Discriminator(_engine)]


def beside(engine: Local | Dask, folder: Path) -> Local | Dask:
    """Return the settings with the files that they name looked for in the folder of the config."""
    if not isinstance(engine, Dask) or engine.tls is None:
        return engine
    files = {name: folder / getattr(engine.tls, name) for name in ("ca", "cert", "key")}
    return engine.model_copy(update={"tls": engine.tls.model_copy(update=files)})
