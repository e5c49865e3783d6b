"""A comparison from beginning to end: methods × seeds, each cell made and measured once, gathered in one map."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.comparing.asking import asked_of
from synthdp.comparing.cells import CELLS, Cells, Found, Source, kept, place
from synthdp.comparing.mapping import COLUMNS, MethodMap, table_of
from synthdp.comparing.methods import Contender, contenders, drawn
from synthdp.comparing.page import NUMBERS, REPORT, TABLE, write
from synthdp.comparing.truth import by_target, known_design, truth_lines, unknown_terms
from synthdp.config import Config, parse
from synthdp.errors import InputError, SynthdpError, Unfinished
from synthdp.files import prepare_out
from synthdp.parallel import each
from synthdp.progress import Progress, Silent
from synthdp.seeding import Streams
from synthdp.stages.alignment import held_out
from synthdp.stages.intake import prepare, read
from synthdp.stages.planning import analysis_problems, raise_if
from synthdp.stages.tracing import shared_with
from synthdp.table import io

HELD = (CELLS, TABLE, NUMBERS, REPORT)
MOST_SEEDS = 100_000
DRAWN = 500
"""Records that a simulator draws where nobody says how many."""


def compare(
    frame: pd.DataFrame | io.Table | Callable[..., Any] | None,
    methods: Any,
    config: Config,
    *,
    seeds: int | Sequence[int] = 5,
    measures: Any = (),
    analyses: Mapping[str, Callable[[pd.DataFrame], Any]] | None = None,
    holdout: pd.DataFrame | None = None,
    truth: Mapping[str, Any] | None = None,
    n: int | None = None,
    files: Mapping[str, Any] | None = None,
    jobs: int = 1,
    out: Path | None = None,
    resume: bool = True,
    progress: Progress | None = None,
) -> MethodMap:
    """Make and measure every method with every seed; see :func:`synthdp.api.compare` for what the arguments mean.

    Parameters
    ----------
    frame
        The table (as it was read, where it comes from a file), or a simulator; None to read the config's file.
    config
        Data, columns, analyses and measures, which are the same for all methods.

    Raises
    ------
    InputError
        When what is asked for is wrong.
    Unfinished
        When no method finished.
    """
    progress = progress or Silent()
    simulator = frame if callable(frame) and not isinstance(frame, pd.DataFrame) else None
    drawn_records = _records(n, simulator)
    config, truth = _with_truth(config, simulator, truth, analyses)
    numbers = _seeds(seeds)
    found = contenders(config, methods, files)
    asked = asked_of(config, measures, analyses, simulated=simulator is not None)
    if not asked.names:
        raise InputError("compare: nothing is measured; name measures, or analyses where the truth is known.")
    with progress.stage("read"):
        source = _source(config, frame, holdout, simulator, drawn_records)
        records = len(source.frame) if source.frame is not None else drawn_records
    targets = None if truth is None else by_target(truth, [*(one.name for one in config.analyses), *(analyses or {})])
    with ExitStack() as held:
        if out is not None:
            held.enter_context(prepare_out(out, resume=resume, known=HELD))
        folder = held.enter_context(kept(out))
        work = Cells(source, asked, folder, numbers[0]).ready()
        # seed by seed, so that a study that is stopped has every method
        todo = _todo(found, numbers)
        with progress.stage("compare"):
            done = list(each(work, todo, jobs=min(jobs, len(todo)), advance=progress.advance, processes=True))
        lines = table_of([row for one in done for row in _rows(one)])
        if lines["value"].isna().all():
            raise Unfinished(f"compare: no method finished; the first says: {lines['reason'].iloc[0]}")
        if targets is not None:
            told = table_of(truth_lines(lines, targets))
            lines = pd.concat([lines, told], ignore_index=True)
        names = tuple(one.name for one in found)
        said = (*source.cautions, *unknown_terms(lines, targets or {}), *_cautions(done, names))
        made = MethodMap(lines[list(COLUMNS)], names, numbers, said, records)
        if out is not None:
            with progress.stage("report"):
                write(made, out)
    return made


def _todo(found: Sequence[Contender], seeds: Sequence[int]) -> list[tuple[Contender, int | None]]:
    once: list[tuple[Contender, int | None]] = [(one, None) for one in found if not one.repeats]
    return [*once, *((one, seed) for seed in seeds for one in found if one.repeats)]


def _records(n: Any, simulator: Any) -> int:
    """Return how many records a simulator draws; a table has its own."""
    if n is None:
        return DRAWN
    if simulator is None:
        raise InputError("n: is for simulators; a table has as many records as it has.")
    if not _whole(n) or n < 1:
        raise InputError("n: must be a whole number of records, at least 1.")
    return int(n)


def _seeds(seeds: Any) -> tuple[int, ...]:
    given = range(1, int(seeds) + 1) if _whole(seeds) else seeds
    many = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    numbers = tuple(given) if many else ()
    if not numbers or not all(map(_whole, numbers)) or min(numbers) < 0 or len(numbers) > MOST_SEEDS:
        numbers = ()
    if not numbers or len(set(numbers)) < len(numbers):
        raise InputError("seeds: must be how many (at least 1), or different whole numbers from 0.")
    return tuple(int(one) for one in numbers)


def _whole(given: Any) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def _source(
    config: Config,
    frame: Any,
    holdout: pd.DataFrame | None,
    simulator: Callable[..., Any] | None,
    n: int,
) -> Source:
    """Return where records come from, once they are known to fit the config."""
    if simulator is not None:
        if holdout is not None:
            raise InputError("holdout: a simulator draws its own; leave it out.")
        try:
            sample = drawn(simulator, n, Streams(0).generator("simulate", "trial"))
        except SynthdpError:
            raise
        except Exception as error:
            raise InputError(f"compare: the simulator failed: {place(error)}.") from error
        raise_if(analysis_problems(config, prepare(sample, config).schema.names()))
        return Source(config, simulator=simulator, n=n)
    table = read(config) if frame is None else frame
    frame, unread = (table.frame, tuple(table.unread)) if isinstance(table, io.Table) else (table, ())
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"frame: must be a table or a simulator (a function of rng), found {type(frame).__name__}.")
    data = prepare(frame, config, unread=unread)
    raise_if(analysis_problems(config, data.schema.names()))
    if holdout is None:
        # read here, once, and so that the checksum of a cell holds it
        spelt = holdout = held_out(config, data)
    else:
        spelt = held_out(config, data, holdout)
    said = () if spelt is None else shared_with(data, spelt)
    judged = config.evaluation.model_copy(update={"holdout": None})
    return Source(config.model_copy(update={"evaluation": judged}), frame, holdout, unread=unread, cautions=said)


def _with_truth(
    config: Config, simulator: Any, truth: Mapping[str, Any] | None, analyses: Mapping[str, Any] | None
) -> tuple[Config, Mapping[str, Any] | None]:
    """Return config and truth; a design of ``synthdp.datasets`` brings both where none is given."""
    if simulator is None:
        if truth is not None:
            raise InputError("truth: needs a simulator, a function rng → frame, in place of the table.")
        return config, None
    known = known_design(simulator)
    if truth is None and known is not None and not config.analyses and not analyses:
        told = parse({"data": {"path": "in memory"}, "analyses": known[0]})
        return config.model_copy(update={"analyses": told.analyses}), known[1]
    if truth is None and known is not None:
        truth = {name: terms for name, terms in known[1].items() if name in {one.name for one in config.analyses}}
    if truth is None or (isinstance(truth, Mapping) and not truth):
        raise InputError("truth: a simulator needs it: {term: value}, or {analysis: {term: value}}.")
    return config, truth


def _rows(one: Found) -> list[dict[str, Any]]:
    cost = {"method": one.method, "seed": one.seed, "seconds": one.seconds, "memory": one.memory}
    return [
        cost
        | {"measure": line.measure, "target": line.target, "value": line.value}
        | {"low": line.low, "high": line.high, "reason": line.reason}
        for line in one.lines
    ]


def _cautions(done: Sequence[Found], names: Sequence[str]) -> tuple[str, ...]:
    """Return the cautions, method by method; one that failed says so first."""
    said: list[str] = []
    for name in names:
        mine = [one for one in done if one.method == name]
        failed = [one for one in mine if not one.finished]
        if failed:
            said.append(f"{name}: failed in {len(failed)} of {len(mine)} runs: {failed[0].lines[0].reason}")
        said += [f"{name}: {sentence}" for one in mine for sentence in one.cautions]
    return tuple(dict.fromkeys(said))
