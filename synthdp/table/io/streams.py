"""The bytes of a text file piece by piece, as UTF-8 and checked on the way: a large file is never in memory whole."""

import codecs
import gzip
import io
import os
import stat
import zlib
from pathlib import Path
from typing import IO, Self

from synthdp.errors import BROKEN, InputError, SynthdpError, Unfinished

PIECE = 2**20


class TextStream(io.RawIOBase):
    """A text file as UTF-8 bytes, without its byte order mark.

    What is wrong with the bytes is remembered in ``problem`` and ends the stream, because whoever reads it would wrap
    the sentence into one of its own.

    Parameters
    ----------
    path
        The file.
    encoding
        Of its text.
    zipped
        It is compressed by gzip.
    """

    def __init__(self, path: Path, encoding: str, *, zipped: bool) -> None:
        self._path = path
        self._encoding = encoding
        self._plain = codecs.lookup(encoding).name == "utf-8"
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._lines = self._quotes = 0
        self._started = self._ended = False
        self._ready = b""
        self._given = 0
        self.problem: SynthdpError | None = None
        self._raw: IO[bytes] = open_file(path)
        self._size = os.fstat(self._raw.fileno()).st_size
        self._source: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=self._raw) if zipped else self._raw

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._source.close()
            self._raw.close()
        super().close()

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def done(self, used: int) -> float:
        """Return the share of the file that so many of the bytes given out are: the parser reads ahead."""
        read = self._raw.tell() / self._size if self._size else 1.0
        return min(read * used / max(self._given, 1), 1.0)

    def head(self, size: int) -> bytes:
        """Return the first bytes without taking them away: at least up to the first that is no space."""
        while (len(self._ready) < size or self._ready.isspace()) and (piece := self._piece()):
            self._ready += piece
        return self._ready

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer only at the end."""
        parts = [self._ready]
        length = len(self._ready)
        while (size < 0 or length < size) and (piece := self._piece()):
            parts.append(piece)
            length += len(piece)
        data = b"".join(parts)
        self._ready = b"" if size < 0 else data[size:]
        self._given += len(data) - len(self._ready)
        return data if size < 0 else data[:size]

    def finish(self) -> None:
        """Read to the end and say what is wrong with the bytes, if anything is.

        Raises
        ------
        InputError
            With the line, never with a value.
        """
        self._ready = b""
        while self._piece():
            pass
        if self.problem is not None:
            raise self.problem
        if self._quotes % 2:
            raise InputError(f"{self._path}: a quotation mark is never closed; the file may be cut off.")

    def _piece(self) -> bytes:
        """Return the next checked bytes, none at the end."""
        found = b""
        while not found and not self._ended:
            try:
                data = self._source.read(PIECE)
                self._ended = not data
                found = self._checked(data)
            except (gzip.BadGzipFile, EOFError, zlib.error):
                self._fail(InputError(f"{self._path}: the file is not gzip, or it is cut off."))
            except OSError as error:
                self._fail(unreadable(self._path, error))
            except SynthdpError as error:
                self._fail(error)
        self._quotes += found.count(b'"')
        return found

    def _fail(self, problem: SynthdpError) -> None:
        self.problem, self._ended = problem, True

    def _checked(self, data: bytes) -> bytes:
        if self._plain:
            self._refuse_binary(data)
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            line = self._lines + error.object.count(b"\n", 0, error.start) + 1
            wrong = f"{self._path}: line {line} is not "
            if self._plain:
                raise InputError(
                    f"{wrong}UTF-8; save the file as CSV UTF-8, or set data.encoding (windows-1252, for example)."
                ) from None
            raise InputError(f"{wrong}{self._encoding}; set data.encoding to that of the file.") from None
        self._lines += data.count(b"\n")
        if not self._plain:
            data = text.encode()
            self._refuse_binary(data)
        if data and not self._started:
            self._started = True
            return data.removeprefix(codecs.BOM_UTF8)
        return data

    def _refuse_binary(self, data: bytes) -> None:
        if b"\0" in data:
            raise InputError(
                f"{self._path}: this is not a CSV file (it holds binary data or UTF-16); save it as CSV UTF-8."
            )


def open_file(path: Path) -> io.BufferedReader:
    """Open a file to read its bytes.

    Raises
    ------
    InputError
        When there is none, or it may not be read, or it is a folder, a pipe or a device: those may never end.
    Unfinished
        When the system fails.
    """
    try:
        # a pipe that nobody writes into would make us wait before we can see that it is one
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise unreadable(path, error) from None
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(mode):
        return file
    file.close()
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: this is a folder; give a file.")
    raise InputError(f"{path}: this is a pipe or a device, which may never end; copy it into a file first.")


def read_text(path: Path, noun: str = "file") -> str:
    """Return the text of a small file in UTF-8; ``noun`` is what messages call it.

    Raises
    ------
    InputError, Unfinished
        As `open_file` does, and when it is not UTF-8.
    """
    with open_file(path) as file:
        try:
            return file.read().decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{path}: the {noun} cannot be read as text.") from None
        except OSError as error:
            raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> SynthdpError:
    """Return the sentence for a file that the system does not give."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file.")
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path}: this is a folder; give a file.")
    if isinstance(error, PermissionError):
        return InputError(f"{path}: no permission to read the file.")
    # the system's own words: a library's may quote the file
    why = os.strerror(error.errno) if error.errno is not None else "the system does not say why"
    sentence = f"{path}: the file cannot be read ({why})."
    return Unfinished(sentence) if error.errno in BROKEN else InputError(sentence)
