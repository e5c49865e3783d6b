"""How many records and columns a file has, told without reading it: from its metadata, or from samples of its lines."""

import csv
import gzip
import io
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from synthdp.errors import InputError
from synthdp.table.io.formats import KNOWN, ending
from synthdp.table.io.labels import Dialect
from synthdp.table.io.streams import open_file

SAMPLE = 2**18
SAMPLES = 16
_COLUMNAR = (".parquet", ".feather")
_STATISTICAL = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


@dataclass(frozen=True)
class Size:
    """What is known of a file before it is read.

    Parameters
    ----------
    records
        How many.
    columns
        Their names, without those that are dropped.
    exact
        Whether the records were counted; else they follow from the size of the file and samples of its lines.
    stored
        Bytes of the file.
    """

    records: int
    columns: tuple[str, ...]
    exact: bool
    stored: int


def size_of(path: Path, dialect: Dialect, *, drop: Collection[str] = ()) -> Size | None:
    """Return the size of the table in a file; None where the format does not tell, as for those of plugins.

    Raises
    ------
    InputError
        When there is no such file, or it is not what the ending of its name says.
    """
    suffix, zipped = ending(path)
    with open_file(path) as file:
        stored = file.seek(0, io.SEEK_END)
    try:
        if suffix in _COLUMNAR and not zipped:
            records, names = _columnar(path, suffix)
        elif suffix in _STATISTICAL and not zipped:
            found = _statistical(path, suffix)
            if found is None:
                return None
            records, names = found
        elif suffix in (".csv", ".tsv"):
            records, names = _delimited(path, dialect, stored, zipped=zipped, tabs=suffix == ".tsv")
        else:
            return None
    except (pa.ArrowInvalid, OSError, ValueError, EOFError, csv.Error):
        raise InputError(f"{path}: cannot be read as a {suffix} file; the name must end in {KNOWN}.") from None
    kept = tuple(name for name in names if name not in drop)
    return Size(records, kept, suffix in _COLUMNAR or suffix in _STATISTICAL, stored)


def _columnar(path: Path, suffix: str) -> tuple[int, list[str]]:
    if suffix == ".parquet":
        from pyarrow import parquet

        found = parquet.ParquetFile(path)
        return int(found.metadata.num_rows), list(found.schema_arrow.names)
    from pyarrow import dataset

    table = dataset.dataset(path, format="feather")
    return int(table.count_rows()), list(table.schema.names)


def _statistical(path: Path, suffix: str) -> tuple[int, list[str]] | None:
    import pyreadstat

    try:
        _, told = getattr(pyreadstat, _STATISTICAL[suffix])(str(path), metadataonly=True)
    except Exception:  # whatever the library of the format raises
        raise ValueError from None
    if told.number_rows is None or told.number_rows < 0:  # some formats end when they end
        return None
    return int(told.number_rows), list(told.column_names)


def _delimited(path: Path, dialect: Dialect, stored: int, *, zipped: bool, tabs: bool) -> tuple[int, list[str]]:
    """Return how many lines there are, from samples over the whole file, or from the beginning of a compressed one."""
    with open_file(path) as file:
        # it reads ahead a little, which matters less the longer the sample is
        head = gzip.GzipFile(fileobj=file).read(SAMPLE * SAMPLES) if zipped else file.read(SAMPLE)
        if zipped:
            lines = head.count(b"\n") * (stored / file.tell() if len(head) == SAMPLE * SAMPLES else 1.0)
        elif stored <= SAMPLE * SAMPLES:
            file.seek(0)
            lines = sum(piece.count(b"\n") for piece in iter(lambda: file.read(SAMPLE), b""))
        else:
            found = 0
            for number in range(SAMPLES):
                file.seek(number * (stored - SAMPLE) // (SAMPLES - 1))
                found += file.read(SAMPLE).count(b"\n")
            lines = found * stored / (SAMPLE * SAMPLES)
    first = head.decode(dialect.encoding, errors="replace").lstrip("\ufeff").splitlines()[:1]
    separator = dialect.separator or ("\t" if tabs else ",")
    names = next(csv.reader(first, delimiter=separator), [])
    return max(round(lines) - 1, 0), names[1:] if dialect.row_names else names
