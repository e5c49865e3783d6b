"""What can go wrong, each with the exit code the command line gives it.

Every message has one form: where, what is required, what was found, what to do. Messages carry counts and row
numbers, never a value of the confidential data.
"""

import errno

BROKEN = frozenset(
    {errno.EIO, errno.ESTALE, errno.ENOMEM, errno.ENFILE, errno.EMFILE, errno.EREMOTEIO, errno.ETIMEDOUT}
)
"""What the system or its disks cannot do; everything else about a file is for its user to put right."""


class SynthdpError(Exception):
    """An error that the command line reports as one sentence."""

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        # IPython asks for this: a notebook shows the sentence, as the command line does
        return [f"{type(self).__name__}: {self}"]


class InputError(SynthdpError):
    """The user's data, config or arguments are wrong."""

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class GateRefused(SynthdpError):
    """The release gate refused: no public files were written."""

    exit_code = 3


class Unfinished(SynthdpError):
    """The work could not be finished (not converged, disk full)."""

    exit_code = 4
