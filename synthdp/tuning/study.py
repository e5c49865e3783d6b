"""A search from beginning to end: shapes explored, the best refined on the whole file, the answer confirmed afresh."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from synthdp.comparing.fingerprints import of_frame
from synthdp.config import Config
from synthdp.errors import GateRefused, InputError, SynthdpError
from synthdp.evaluation.measure import MATCHING_LIMITS
from synthdp.files import prepare_out
from synthdp.progress import Progress, Silent
from synthdp.seeding import Streams
from synthdp.stages.intake import prepare, read
from synthdp.stages.planning import open_questions, plan_of
from synthdp.stages.trail import released_before
from synthdp.table import io
from synthdp.table.microdata import Microdata
from synthdp.tuning import blame, writing
from synthdp.tuning.asking import Budget, check_askable
from synthdp.tuning.cautions import cautions
from synthdp.tuning.goals import Goal
from synthdp.tuning.journal import NAME, Journal
from synthdp.tuning.result import Tuned
from synthdp.tuning.search import Search
from synthdp.tuning.space import space_of
from synthdp.tuning.strengths import usual_masks
from synthdp.tuning.trials import Laboratory

# on larger files shapes are compared on so many records; strengths and the confirmation come from the whole file
LARGE, COMPARED = 8000, 3000
HELD = (NAME, f"{NAME}-journal", writing.TUNED, writing.TRIALS, writing.REPORT, writing.README)


def tune(
    config: Config,
    *,
    table: io.Table | None = None,
    budget: str | None = None,
    out: Path | None = None,
    resume: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Tuned:
    """Search for the most useful settings that stay within every limit of the gate; publishes nothing.

    Parameters
    ----------
    table
        The confidential table; by default the config's file is read.
    budget
        Time (``90s``, ``20m``, ``1h``) or a number of trials (``40``); see :class:`synthdp.tuning.asking.Budget`.
    out
        Where journal, table, report and ``tuned.yaml`` go; nothing is written without it.
    resume
        Go on with the search in ``out``.

    Raises
    ------
    InputError
        When what is asked for is wrong.
    GateRefused
        When nothing satisfies the limits, with the reasons.
    """
    progress, allowed = progress or Silent(), Budget.of(budget)
    check_askable(config)
    with progress.stage("read"):
        table = read(config) if table is None else table
        data = prepare(table.frame, config, unread=table.unread)
        config = all_masked(config, data)
        plan = plan_of(config, data)
        asked = open_questions(config, plan)
        if not asked.schema_less({}).keys() and config.limits.judged(*MATCHING_LIMITS):
            raise InputError(
                "tune: no column is a key, so there is no intruder whose finds could be held against the limits; write "
                "key: true for the columns that somebody outside may know."
            )
        space = space_of(config, data)
        if "masks" in config.tuning.vary and not space.columns:
            raise InputError(
                "tune: no replaced column has a mask whose strength could be varied; write masks for them."
            )
    with ExitStack() as held:
        if out is not None:
            held.enter_context(prepare_out(out, resume=resume, known=HELD))
        journal = Journal(None if out is None else out / NAME)
        held.callback(journal.close)
        question = config.model_dump(
            mode="json", exclude={"seed": True, "data": {"path"}, "tuned": True, "engine": True}
        )
        seed = journal.begin(question | {"file": of_frame(table.frame)}, config.seed)
        streams = Streams(seed)
        rows = None
        if len(data) > LARGE:
            rows = np.sort(streams.generator("tune", "rows").choice(len(data), COMPARED, replace=False))
        goal = Goal(config.tuning.goal, plan.released)
        lab = Laboratory(space, table.frame, table.unread, data, goal, streams, journal, rows, jobs, progress.advance)
        if (alone := blame.alone_on_kept(lab)) is not None:
            return _nothing(lab, out, *alone)
        search = Search(lab, allowed, seed, progress.tell)
        with progress.stage("explore"):
            points = search.explore()
        with progress.stage("refine"):
            refined = search.refine(points)
        with progress.stage("confirm"):
            found = search.confirm_first(refined, points)
        if found.trial is None:
            return _nothing(lab, out, *_why(lab, asked.sentences))
        with progress.stage("draw"):
            search.picture(found.trial)
        about = cautions(
            space,
            found,
            trials=len(lab.trials),
            records=len(data),
            compared=None if rows is None else len(rows),
            earlier=released_before(config, table.frame),
        )
        tuned = Tuned(space, tuple(lab.trials), found.trial, (*asked.sentences, *about), len(data))
        if out is not None:
            with progress.stage("report"):
                writing.write(tuned, out, config.data.path)
    return tuned


def all_masked(config: Config, data: Microdata) -> Config:
    """Return a config with a mask for every replaced column, where tuning may choose its strength.

    A column may have become one to replace after the masks were written. Without a mask its copies come from the model
    alone, which is what the strongest mask comes to: nothing that the config allows is lost.
    """
    masked = {*config.masks, *(name for block in config.masks_by_group.values() for name in block)}
    if masked and "masks" not in config.tuning.vary:
        return config
    wider = config.model_copy(update={"masks": {**config.masks, **usual_masks(data, masked)}})
    try:
        plan_of(wider, data)
    except SynthdpError:
        return config if masked else wider
    return wider


def _why(lab: Laboratory, asked: Sequence[str]) -> tuple[list[str], str]:
    """Return why nothing satisfies the limits, and what would free it; ``asked``: what nobody has decided."""
    nearest = blame.nearest(lab.trials)
    why, change = blame.what_would_help(lab, nearest) if nearest is not None else ("", "")
    return blame.reasons(lab.trials, why, asked), change


def _nothing(lab: Laboratory, out: Path | None, said: Sequence[str], change: str) -> Tuned:
    """Say why nothing satisfies the limits, having written down what was tried."""
    if out is not None:
        writing.write_refused(lab.space, lab.trials, said, change, out)
    raise GateRefused("\n".join((*said, *(f"      {line}" for line in change.splitlines()))))
