"""``confidential/manifest.json``: what was run with which seed, how it ended, and how an interrupted run goes on."""

import hashlib
import importlib.metadata
import json
import os
import platform
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from synthdp import __version__
from synthdp.errors import InputError
from synthdp.files import CONFIDENTIAL, write_atomic
from synthdp.release.metrics import json_text
from synthdp.release.shelf import attempt_of, now
from synthdp.release.shelf import lines as attempt_lines
from synthdp.seeding import SMALLEST_SECRET_SEED, fresh_seed

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
Status = Literal["running", "published", "refused", "study"]
_LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy", "scikit-learn", "statsmodels", "numba")


@dataclass(frozen=True, repr=False)
class Manifest:
    """What was run: config, seed, software and inputs. ``repr`` hides the seed.

    Parameters
    ----------
    seed
        The secret seed of the run.
    status
        ``running`` until the run ends: ``published``, ``refused`` by the gate, or a ``study``.
    study
        Whether the run was started with ``--study``.
    contents
        The whole file.
    """

    seed: int
    status: Status
    study: bool
    contents: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Manifest({self.status}, seed=<secret>)"

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.status != "running"

    @property
    def run(self) -> str:
        """The id of the run, which it keeps when it is resumed; nothing secret."""
        return str(self.contents["run"])


def start_manifest(
    out: Path,
    *,
    config: Mapping[str, Any],
    inputs: Mapping[str, str],
    study: bool,
    resume: bool,
    seed: int | None = None,
) -> Manifest:
    """Write the manifest before any work is done, so that a killed run can be repeated with its own seed.

    Parameters
    ----------
    out
        The folder of the run, held by `prepare_out`.
    config
        All settings as plain values; ``seed`` among them is ignored.
    inputs
        The SHA-256 checksum of every file the run reads, by name.
    study
        Whether nothing will be published.
    resume
        Go on with the manifest in the folder, if there is one.
    seed
        The seed asked for; by default the one of the interrupted run, or a fresh secret one.

    Returns
    -------
    Manifest
        When it is ``finished``, there is nothing left to do.

    Raises
    ------
    InputError
        When the interrupted run was a different one.
    """
    # the config is compared as JSON holds it: tuples have become lists
    config = json.loads(json_text({key: value for key, value in config.items() if key != "seed"}))
    earlier = read_manifest(out) if resume else None
    if earlier is not None:
        _check_same(out, earlier, config=config, inputs=inputs, study=study, seed=seed)
        if earlier.finished:
            return earlier
        seed = earlier.seed
    elif seed is None:
        seed = fresh_seed()
    contents = {
        "version": MANIFEST_VERSION,
        "status": "running",
        "run": (earlier.contents if earlier is not None else {}).get("run", secrets.token_hex(8)),
        "study": study,
        "seed": seed,
        "config": config,
        "config_sha256": hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        "inputs": dict(inputs),
        "versions": _versions(),
        "started": now(),
    }
    _folder(out).mkdir(mode=0o700, exist_ok=True)
    write_atomic(_folder(out) / MANIFEST, json_text(contents).encode())
    return _manifest(contents)


def read_manifest(out: Path) -> Manifest | None:
    """Return the manifest of a run, or None when there is none (the run was killed before it began).

    Raises
    ------
    InputError
        When the file is damaged or of a newer version.
    """
    path = _folder(out) / MANIFEST
    try:
        contents = json.loads(_text(path))
        if contents["version"] != MANIFEST_VERSION:
            raise InputError(f"{path}: version must be {MANIFEST_VERSION}; a newer synthdp may read it.")
        return _manifest(contents)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError, NotADirectoryError):
        raise InputError(f"{path}: the file is damaged; start again with another --out.") from None


def _text(path: Path) -> str:
    """Return the text of an ordinary file; a pipe in its place would make us wait for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("no ordinary file")
        with open(descriptor, encoding="utf-8", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def finish_manifest(
    out: Path,
    *,
    status: Status,
    timings: Mapping[str, float],
    public: Mapping[str, str] | None = None,
    signed: Mapping[str, Any] | None = None,
) -> None:
    """Say in the manifest how the run ended: the last thing a run does.

    Parameters
    ----------
    out
        The folder of the run.
    status
        ``published``, ``refused`` or ``study``.
    timings
        Seconds by stage.
    public
        The checksums `publish` returned.
    signed
        Which risks were accepted and why, the earlier releases of the same data, and the attempts on them
        (`synthdp.release.shelf.section`).
    """
    manifest = read_manifest(out)
    if manifest is None:
        raise ValueError("finish_manifest needs a manifest that start_manifest wrote")
    end = {"status": status, "finished": now(), "timings": timings, "public": public, **(signed or {})}
    write_atomic(_folder(out) / MANIFEST, json_text({**manifest.contents, **end}).encode())


def signed(folder: Path) -> list[str]:
    """Return what was signed for, in sentences, when the confidential side of a release lies beside it."""
    home = folder if (folder / CONFIDENTIAL).is_dir() else folder.parent
    manifest = read_manifest(home)
    if manifest is None:
        return []
    told, place = manifest.contents, _folder(home) / MANIFEST
    try:
        lines = [f"accepted on signing: {one['risk']} Reason: {one['reason']}" for one in told.get("accepted") or ()]
        earlier = [str(one) for one in told.get("earlier_releases") or ()]
    except (KeyError, TypeError):
        raise InputError(f"{place}: what was signed for is damaged.") from None
    if earlier:
        lines.append(f"judged together with {len(earlier)} earlier releases of the same data: {', '.join(earlier)}.")
    if "attempts" not in told:  # written before attempts were counted
        return lines
    try:
        tried = told["attempts"]
        return lines + attempt_lines(None if tried is None else [attempt_of(one) for one in tried])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{place}: the list of attempts is damaged.") from None


def _check_same(
    out: Path, earlier: Manifest, *, config: Mapping[str, Any], inputs: Mapping[str, str], study: bool, seed: int | None
) -> None:
    before, today = _settings(earlier.contents["config"]), _settings(config)
    changed = sorted(key for key in {*before, *today} if before.get(key) != today.get(key))
    problems = []
    if changed:
        problems.append(f"the config differs in {', '.join(changed)}")
    if earlier.contents["inputs"] != dict(inputs):
        problems.append("the data changed")
    if earlier.study != study:
        problems.append("it was started with --study" if earlier.study else "it was started without --study")
    if seed is not None and seed != earlier.seed:
        problems.append("it had another seed")
    if problems:
        raise InputError(f"{out}: --resume cannot go on with this run: {'; '.join(problems)}. Choose another --out.")


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config without what may change: the data's path, whose checksum is compared, and the engine."""
    data = {key: value for key, value in config.get("data", {}).items() if key != "path"}
    return {**{key: value for key, value in config.items() if key != "engine"}, "data": data}


def _manifest(contents: Mapping[str, Any]) -> Manifest:
    if contents["status"] not in get_args(Status):
        raise ValueError("no such status")
    return Manifest(
        seed=int(contents["seed"]), status=contents["status"], study=bool(contents["study"]), contents=contents
    )


def _versions() -> dict[str, str]:
    libraries = {name: importlib.metadata.version(name) for name in _LIBRARIES}
    return {"synthdp": __version__, "python": platform.python_version(), **libraries}


def _folder(out: Path) -> Path:
    return out / CONFIDENTIAL


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
