"""What comes before the copies: shards on disk, what their columns are, who needs protecting, and θ."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from synthdp.config import Config
from synthdp.engine import Engine
from synthdp.files import CONFIDENTIAL
from synthdp.imputation.regression.association import Regression
from synthdp.progress import Timer
from synthdp.stages.intake import dropped
from synthdp.stages.planning import plan_of, raise_if
from synthdp.stages.streaming import drawing, fitting, looking, reading, refusing, tagging
from synthdp.stages.streaming.drawing import MASKS, SCHEMA, Masks, Redrawn
from synthdp.stages.streaming.fitting import Layout
from synthdp.stages.streaming.job import Job, once
from synthdp.stages.streaming.looking import Facts
from synthdp.stages.streaming.reading import frame_of
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Role, Schema

WORK, JOB, FACTS, MODEL = "work", "job.pickle", "facts.pickle", "model.pickle"
SAMPLE, SAMPLED = 50_000, "sample"


@dataclass(frozen=True, repr=False)
class Ready:
    """A job whose shards are read, looked at and fitted.

    Parameters
    ----------
    plan
        Of a sample of the records, with the schema of all: what does not depend on how many there are.
    """

    job: Job
    facts: Facts
    plan: Plan

    def redrawn(self, number: int) -> Redrawn:
        """Return a draw of the mechanism for the verdict."""
        return Redrawn(self.job, self.plan_copies, number)

    @property
    def plan_copies(self) -> int:
        """How many copies there are."""
        found: int = self.job.kept("copies.pickle")
        return found


def prepared(
    config: Config, out: Path, engine: Engine, timer: Timer, *, jobs: int, memory: float, draws: int = 0
) -> Ready:
    """Read the file into shards, look at it, and fit the model; ``draws`` more of the mechanism may be asked for."""
    path = config.data.path
    records, schema = reading.sized(path)
    folder = work_folder(out)
    shards = getattr(config.engine, "shards", None)
    job = reading.shard_rows(records, folder, shards=shards, jobs=jobs, memory=memory, columns=len(schema))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # a run that goes on keeps its shards, whatever it is given today
    if (folder / JOB).is_file():
        job = replace(job.kept(JOB), folder=folder)
    job.keep(JOB, job)
    with timer.stage("read"):
        reading.read(path, job, dropped(config), timer.advance)
    with timer.stage("look"):
        declared = {name: one for name, one in config.variables.items() if one.role is not Role.DROP}
        facts = looking.look(job, engine, declared, timer.advance)
        raise_if(refusing.unsuited(config, facts))
        facts = _designed(config, facts)
        job.keep(SCHEMA, facts.schema)
        job.keep(FACTS, facts)
        every = every_of(job)
        for _ in engine.each(partial(_sampled, job, every), range(len(job))):
            pass
        # written by this run into a folder that only its owner may enter
        frames = [pd.read_pickle(job.place(SAMPLED, shard, "pickle")) for shard in range(len(job))]
        sample = pd.concat(frames, ignore_index=True)[list(facts.schema.names())]
        plan = plan_of(config, Microdata(sample, facts.schema))
    grouping = None
    if tagging.needed(config):
        with timer.stage("tag"):
            grouping = tagging.tag(job, engine, config, facts.schema, facts.links)
            every = every_of(job)
            here = [[x[-job.rows(k).start % every :: every] for x in tagging.tags_of(job, k)] for k in range(len(job))]
            plan = replace(
                plan, tags=tagging.tags_of_rows(config, grouping, *map(np.concatenate, zip(*here, strict=True)))
            )
    method = imputing(config)
    model = method.model
    if not isinstance(model, Regression):
        raise TypeError("refused before")
    job.keep(MASKS, Masks(dict(config.masks) if method.mask_drawn else {}, method.mask_drawn))
    job.keep(MODEL, model)
    job.keep("copies.pickle", method.copies)
    with timer.stage("fit"):
        fitting.prepare(job, engine, Layout.of(facts, model, grouping), timer.advance)
        drawing.parameters(job, engine, model, method.copies, draws)
    return Ready(job, facts, plan)


def every_of(job: Job) -> int:
    """Return of how many records one is in the sample."""
    return max(1, job.records // SAMPLE)


def _designed(config: Config, facts: Facts) -> Facts:
    """Return the facts with the columns of the survey's design marked."""
    parts = {name: part for part in ("weights", "strata") if (name := getattr(config.data, part)) is not None}
    absent = [
        f"data.{part}: no column {name!r} in the data." for name, part in parts.items() if name not in facts.names
    ]
    wrong = [
        f"data.{part}: {name!r} must be kept, found role: {facts.schema[name].role}; leave out its role."
        for name, part in parts.items()
        if name in facts.names and facts.schema[name].role is not Role.KEEP
    ]
    raise_if([*absent, *wrong])
    columns = [c.model_copy(update={"design": parts[c.name]}) if c.name in parts else c for c in facts.schema.columns]
    return replace(facts, schema=Schema(columns=tuple(columns)))


def _sampled(job: Job, every: int, shard: int) -> None:
    """Write every so-manieth record of a shard."""
    rows = job.rows(shard)
    first = -rows.start % every

    def make(to: Path) -> None:
        with to.open("wb") as file:
            frame_of(job, shard).iloc[first::every].to_pickle(file, compression=None)

    once(job.place(SAMPLED, shard, "pickle"), make)


def imputing(config: Config) -> DaMi | Mi:
    """Return the method of the config, one of those that are not refused."""
    if not isinstance(config.synthesis, DaMi | Mi):
        raise TypeError("refused before")
    return config.synthesis


def work_folder(out: Path) -> Path:
    """Return the folder of the job, as machines call it that stand elsewhere."""
    return (out / CONFIDENTIAL / WORK).absolute()
