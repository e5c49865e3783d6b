"""The two commands a newcomer types first.

Demo, the way to a release on bundled data, and init, from a file to a config.
"""

import hashlib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import cast, get_args

import yaml

from synthdp import config, pipeline
from synthdp.config import Config, parse
from synthdp.config.guessing import guess
from synthdp.config.proposal import PROPOSED, Method
from synthdp.config.proposal_text import tell
from synthdp.datasets import anes96
from synthdp.errors import InputError
from synthdp.files import prepare_out, write_atomic
from synthdp.pipeline import Outcome
from synthdp.progress import Progress, Silent
from synthdp.stages.intake import Source, prepare
from synthdp.table import io

# the data are public, so the seed may be too: everyone sees the numbers that the README shows
PUBLIC_SEED = 0x5EED_1996_0000_0000_0000_0000_0000_0001
QUICK_COPIES = 3
# what makes seconds of a minute: the least draws that a verdict may rest on, and a model with few loops to compile
QUICK = {
    "synthesis": {"copies": QUICK_COPIES, "model": {"method": "regression"}},
    "release": {"draws": 12},
    "evaluation": {"propensity": {"models": ["logit"]}},
}


def settings(*, quick: bool = False) -> Config:
    """Return the demo's config that is ready to run."""
    raw = yaml.safe_load(_text())
    for block, changed in QUICK.items() if quick else ():
        raw[block] = raw.get(block, {}) | changed
    return parse(raw | {"seed": PUBLIC_SEED})


def demo(*, out: Path, quick: bool = False, jobs: int = 1, progress: Progress | None = None) -> Outcome:
    """Show the way to a release on the 1996 American National Election Study, and leave all that it takes beside it.

    Parameters
    ----------
    quick
        The run alone, of a config that is ready: fewer copies and draws, a simpler model.
    """
    progress = progress or Silent()
    if not quick:
        from synthdp.cli.touring import tour

        with prepare_out(out, resume=False):
            return tour(out, init=write_config, seed=PUBLIC_SEED, jobs=jobs, progress=progress)
    config, frame = settings(quick=quick), anes96()
    table = io.encode(frame, format="csv")
    source = Source(prepare(frame, config), hashlib.sha256(table).hexdigest())
    outcome = pipeline.run(config, out=out, jobs=jobs, progress=progress, source=source)
    write_atomic(out / "anes96.csv", table, mode=0o644)
    write_atomic(out / "demo.yaml", _text().encode(), mode=0o644)
    return outcome


def _text() -> str:
    return (resources.files("synthdp.datasets") / "demo.yaml").read_text(encoding="utf-8")


METHODS: tuple[str, ...] = get_args(Method)
SUFFIXES = (".gz", ".csv", ".tsv", ".txt", ".parquet", ".feather", ".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt")


def write_config(data: Path, out: Path | None, method: str | None = None) -> Iterator[str]:
    """Guess a config, write it, check it, and yield what to tell.

    Raises
    ------
    InputError
        When the data cannot be read, the config exists already, or the method is unknown.
    """
    method = PROPOSED if method is None else method
    if method not in METHODS:
        raise InputError(f"--method: must be {', '.join(METHODS[:-1])} or {METHODS[-1]}, found {method!r}.")
    if data.is_dir() and any(data.glob("*.parquet")):
        raise InputError(
            f"{data}: this is a folder of Parquet files, which run takes as they are; init looks at one file: name one "
            "of them, and write the folder as data.path in the config."
        )
    out = out or Path(f"{_stem(data)}.yaml")
    if out.exists():
        raise InputError(f"{out}: exists already and is not overwritten; choose another name with -o.")
    guessed = guess(data, cast(Method, method))
    proposal, text = guessed.proposal, guessed.text(data, out)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        raise InputError(f"{out}: the file cannot be written.") from None
    yield f"{out}: written."
    yield from tell(proposal)
    try:
        pipeline.check(config.load(out))
    except InputError as error:
        yield f"synthdp check {out} will ask for this first:"
        yield from (f"  {problem}" for problem in error.problems)
    else:
        asked = len(proposal.asked)
        first = f": run asks about {asked} column{'s' if asked > 1 else ''} first." if asked else "."
        yield f"synthdp check {out} accepts it as it is. Read it before you run it{first}"


def _stem(data: Path) -> str:
    name = data.name
    while Path(name).suffix.lower() in SUFFIXES:
        name = name[: -len(Path(name).suffix)]
    return name or data.name
