"""Tables in and out: read predictably, written to the same bytes every time, labels kept on the way.

Values are kept as they are in the file: codes such as ``01234`` stay text, numbers are read and written exactly, and
rows of the wrong length are errors instead of missing values. Messages name files, rows and columns, never values; the
messages of the parsers quote the data, so they are not passed on.
"""

from synthdp.table.io.delimited import MISSING_TEXTS
from synthdp.table.io.formats import FORMATS, Contents, Format, digest, encode, format_like, read, read_table, write
from synthdp.table.io.labels import Dialect, Labels, Table, published, restored
from synthdp.table.io.memory import TooLarge
from synthdp.table.io.narrowing import LARGEST_EXACT
from synthdp.table.io.storing import Stored, quoted_numbers, spelled, storage

__all__ = [
    "FORMATS",
    "LARGEST_EXACT",
    "MISSING_TEXTS",
    "Contents",
    "Dialect",
    "Format",
    "Labels",
    "Stored",
    "Table",
    "TooLarge",
    "digest",
    "encode",
    "format_like",
    "published",
    "quoted_numbers",
    "read",
    "read_table",
    "restored",
    "spelled",
    "storage",
    "write",
]
