"""What an interrupted run is asked again before it goes on: a folder left alone for days is not what it was."""

import os
import stat
from pathlib import Path

from synthdp.release.confidential import MANIFEST, Manifest
from synthdp.release.folder import CONFIDENTIAL
from synthdp.seeding import SMALLEST_SECRET_SEED


def check_resumable(out: Path, manifest: Manifest, *, study: bool) -> list[str]:
    """Return why an interrupted run must not go on, one sentence each: its seed, or who else may read its folder.

    Parameters
    ----------
    out
        The folder of the run.
    manifest
        What `read_manifest` found there; somebody may have edited it.
    study
        Whether the run goes on with ``--study``.
    """
    folder = out / CONFIDENTIAL
    problems = []
    if manifest.seed < SMALLEST_SECRET_SEED and not (study and manifest.study):
        problems.append(
            f"{folder / MANIFEST}: the seed must be at least 2^64, because whoever guesses it can remove the mask; "
            "start again with another --out."
        )
    state = folder.lstat()
    if stat.S_ISLNK(state.st_mode):
        return [*problems, f"{folder}: is a link; --resume needs the folder that the run made."]
    if state.st_uid != os.geteuid():
        problems.append(f"{folder}: belongs to somebody else; start again with another --out.")
    if stat.S_IMODE(state.st_mode) & 0o077:
        problems.append(f"{folder}: others may read it, and with it the seed; chmod 700 {folder}, or start again.")
    held = (folder / MANIFEST).lstat()
    if stat.S_ISLNK(held.st_mode):
        problems.append(f"{folder / MANIFEST}: is a link; --resume needs the file that the run wrote.")
    elif stat.S_IMODE(held.st_mode) & 0o077:
        problems.append(f"{folder / MANIFEST}: others may read the seed in it; chmod 600 it, or start again.")
    return problems
