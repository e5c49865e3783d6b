"""Write the config: what the command line reads is what the page showed, or nothing is written."""

from pathlib import Path

from synthdp import __version__
from synthdp.config import Config, load
from synthdp.errors import InputError
from synthdp.explore.elements import line
from synthdp.explore.opening import CONFIGS, Opened
from synthdp.files import write_atomic
from synthdp.stages.kept_advice import as_text, given_settings
from synthdp.tuning.writing import as_seen_from

MODE = 0o600
COMMENT = 110


def text(config: Config, opened: Opened, out: Path) -> str:
    """Return the config as the file will hold it, other files named as seen from its folder."""
    seen = as_seen_from(out.parent, config, opened.config.data.path)
    lines = [
        f"# Written by synthdp {__version__} explore; runs as it is: synthdp run {line(out.name)}",
        "# Confidential: chosen by looking at the records.",
    ]
    return "\n".join(lines) + "\n" + as_text({"version": 1, **given_settings(seen)})


def write(config: Config, opened: Opened, out: Path, *, mine: Path | None = None) -> Path:
    """Write the config, read it back as the command line does, and keep it only if it says the same.

    Parameters
    ----------
    mine
        The file that this session wrote before, which may be overwritten.

    Raises
    ------
    InputError
        When the file exists and is not ours, cannot be written, or would not be read back as the same settings.
    """
    if out.suffix.lower() not in CONFIGS:
        raise InputError(f"{out}: must be a .yaml file.")
    if not out.parent.is_dir():
        raise InputError(f"{out}: its folder does not exist; make it first, or name another.")
    if out.exists() and out != mine:
        raise InputError(f"{out}: exists already and is not overwritten; choose another name.")
    before = out.read_bytes() if out.exists() else None
    try:
        write_atomic(out, text(config, opened, out).encode(), mode=MODE)
    except OSError:
        raise InputError(f"{out}: the file cannot be written.") from None
    if settled(load(out)) != settled(config):
        if before is None:
            out.unlink()
        else:
            write_atomic(out, before, mode=MODE)
        raise InputError(
            f"{out}: would not be read back as the same settings, so it was not written; please report it."
        )
    return out


def settled(config: Config) -> Config:
    """Return a config with the files it names in one spelling, so that two can be held against each other."""
    changed: dict[str, object] = {"data": config.data.model_copy(update={"path": config.data.path.resolve()})}
    if config.release.recorded_in not in (None, "none"):
        folder = str(Path(str(config.release.recorded_in)).resolve())
        changed["release"] = config.release.model_copy(update={"recorded_in": folder})
    named = {
        name: str(Path(said).resolve())
        for name in ("rows", "holdout")
        if (said := getattr(config.evaluation, name)) not in (None, "aligned", "none")
    }
    if named:
        changed["evaluation"] = config.evaluation.model_copy(update=named)
    return config.model_copy(update=changed)
