"""The worker: a process of its own that makes trials, judges and runs, so that the page always answers.

It is told what to do through a pipe, one job at a time, and says how far it is. When the pipe ends, so does the worker:
its session is over, however that came about.
"""

import _thread
import queue
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from synthdp.config import Config, load
from synthdp.errors import SynthdpError
from synthdp.evaluation.blocks import Block
from synthdp.parallel import one_thread
from synthdp.progress import Silent

# seconds between two words about the same stage
PATIENCE = 0.2
# seconds that an interrupted job has to put its folder in order
LAST = 5.0


@dataclass(frozen=True)
class Job:
    """What the worker is asked for.

    Parameters
    ----------
    kind
        ``look`` at the whole of a file, ``check`` a config, make a ``trial``, ``judge`` as the gate would, or ``run``.
    config
        The settings; for a run the file that holds them.
    out
        The folder of a run.
    resume
        Whether that run goes on where it was interrupted.
    seed
        Of trials and judgements, none of which is published.
    draws
        Of a trial.
    """

    kind: str
    config: Config | None = None
    path: Path | None = None
    out: Path | None = None
    resume: bool = False
    seed: int = 0
    draws: int = 6


@dataclass(frozen=True)
class Judgement:
    """What the gate would say, and what analyses give, in words, tables and charts."""

    decision: Any
    blocks: tuple[Block, ...]
    at_risk: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """What ``check`` says of a config, how many records each risk group has, and the picture of them."""

    messages: tuple[str, ...]
    groups: tuple[tuple[str, int], ...]
    charts: tuple[Any, ...]
    absent: str = ""


class Telling(Silent):
    """Passes on the stages of a job and how far they are."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._stage = ""
        self._said = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Enter a stage."""
        self._stage = name
        self._pipe.send(("stage", name, 0, 0))
        yield

    def advance(self, done: int, total: int) -> None:
        """Say how far the stage is, not too often."""
        if time.monotonic() - self._said > PATIENCE or done == total:
            self._said = time.monotonic()
            self._pipe.send(("stage", self._stage, done, total))


def work(pipe: Connection) -> None:
    """Do jobs until the pipe ends."""
    one_thread()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    asked: queue.Queue[Job | None] = queue.Queue()
    threading.Thread(target=_listen, args=(pipe, asked), daemon=True).start()
    bench = Bench()
    with suppress(KeyboardInterrupt, BrokenPipeError):
        while (job := asked.get()) is not None:
            pipe.send(_answer(bench, job, pipe))


def _answer(bench: "Bench", job: Job, pipe: Connection) -> tuple[str, Any]:
    try:
        return "done", bench.do(job, Telling(pipe))
    except SynthdpError as error:
        return "failed", str(error)
    except BrokenPipeError:
        raise
    except Exception as error:
        if _stopped(error):
            raise KeyboardInterrupt from None
        # its message may quote the data
        return "failed", f"a bug in synthdp: {type(error).__name__}. Please report it."


def _stopped(error: BaseException) -> bool:
    """Return whether somebody stopped us; a compiled loop hands that on as the cause of a SystemError."""
    seen: BaseException | None = error
    while isinstance(seen, SystemError):
        seen = seen.__cause__ or seen.__context__
    return isinstance(seen, KeyboardInterrupt)


def _listen(pipe: Connection, asked: "queue.Queue[Job | None]") -> None:
    try:
        while True:
            asked.put(pipe.recv())
    except (EOFError, OSError):
        asked.put(None)
        _thread.interrupt_main()
        time.sleep(LAST)
        signal.raise_signal(signal.SIGKILL)


class Bench:
    """Keeps the file of the last job at hand."""

    def __init__(self) -> None:
        self._read: tuple[Any, Any] | None = None

    def do(self, job: Job, telling: Telling) -> Any:
        """Return what a job comes to."""
        does = {"look": self.look, "check": self.check, "trial": self.trial, "judge": self.judge, "run": self.run}
        return does[job.kind](job, telling)

    def _table(self, config: Config) -> Any:
        from synthdp.stages.intake import read

        key = config.model_dump_json(include={"data": True, "variables": True})
        if self._read is None or self._read[0] != key:
            self._read = (key, read(config))
        return self._read[1]

    def look(self, job: Job, telling: Telling) -> Any:
        """Guess a config from the whole of a file."""
        from synthdp.explore.opening import looked_at

        assert job.path is not None
        with telling.stage("looking at all records"):
            return looked_at(job.path, whole=True)

    def check(self, job: Job, telling: Telling) -> Checked:
        """Say what ``check`` says of a config, and who stands out."""
        from synthdp.evaluation.comparison import Comparison
        from synthdp.evaluation.risk.crowding import crowds
        from synthdp.stages.intake import prepare
        from synthdp.stages.planning import notes_of, open_questions, plan_of

        config = _config(job)
        with telling.stage("checking the config"):
            table = self._table(config)
            plan = plan_of(config, prepare(table.frame, config, unread=table.unread))
            messages = (*notes_of(config, plan), *open_questions(config, plan).sentences)
            counts = plan.tags.labels.value_counts(sort=False)
            groups = tuple((str(name), int(count)) for name, count in counts.items())
            files = Comparison(plan.released.frame, (), plan.released.schema, aligned=True, groups=plan.tags.labels)
            charts = crowds(files)
        absent = "" if charts else ("The picture of crowds needs two numeric keys and more than one risk group.")
        return Checked(messages, groups, charts, absent)

    def trial(self, job: Job, telling: Telling) -> Any:
        """Make one trial, as ``tune`` makes those that explore, with the masks that the config has."""
        from synthdp.explore.trials import laboratory

        config = _config(job)
        with telling.stage("trying these settings"):
            table = self._table(config)
            lab = laboratory(config, table, seed=job.seed, advance=telling.advance)
            return lab.try_out(
                "explore", lab.space.shape(), 0, draws=job.draws, whole=lab.rows is None, off=_dear(), level=_level(job)
            ).plain()

    def judge(self, job: Job, telling: Telling) -> Judgement:
        """Judge as ``run`` would, on draws that are thrown away; nothing is published and nothing recorded."""
        from synthdp.evaluation.measures import measure
        from synthdp.report.decision import decision
        from synthdp.seeding import Streams
        from synthdp.stages.assessing import assess_release
        from synthdp.stages.draws import Draws
        from synthdp.stages.gating import judge
        from synthdp.stages.intake import prepare
        from synthdp.stages.planning import plan_of
        from synthdp.stages.publishing import report_content

        config = _config(job)
        with telling.stage("reading"):
            table = self._table(config)
            plan = plan_of(config, prepare(table.frame, config, unread=table.unread))
        draws = Draws(config, plan, Streams(job.seed).within("workbench"), 1, telling.advance)
        with telling.stage("judging"):
            judged = judge(draws)
        asked = config.evaluation.model_copy(update={"utility": ("analyses", "panel"), "risk": ()})
        with telling.stage("comparing analyses"):
            seen = replace(draws, config=config.model_copy(update={"evaluation": asked}))
            comparison, metrics = assess_release(seen, seen.fresh(), earlier=(), holdout=None)
        metrics.decided(judged.section())
        content = report_content(config, comparison, metrics, notes=judged.notes)
        blocks = tuple(
            block
            for name in ("analyses", "panel")
            if (section := metrics["utility"].get(name)) is not None
            for block in measure(name).blocks(section)
        )
        found = judged.records_at_risk(comparison).head(20)
        rows = tuple(tuple(str(value) for value in row) for row in [found.columns, *found.to_numpy()])
        return Judgement(decision(content), blocks, rows, judged.notes)

    def run(self, job: Job, telling: Telling) -> Any:
        """Run a config file as the command line does."""
        from synthdp import pipeline
        from synthdp.report.summary import headline

        assert job.path is not None
        assert job.out is not None
        outcome = pipeline.run(load(job.path), out=job.out, resume=job.resume, accepted={}, progress=telling)
        return headline(outcome.metrics.gate, published=outcome.public is not None), outcome.public is not None


def _config(job: Job) -> Config:
    assert job.config is not None
    return job.config


def _dear() -> tuple[str, ...]:
    from synthdp.tuning.trials import DEAR

    return DEAR


def _level(job: Job) -> float:
    from synthdp.stages.draws import SHARPENED
    from synthdp.tuning.confirming import level_for

    tuning = _config(job).tuning
    return round(level_for(job.draws, tuning.holds, final=SHARPENED * tuning.confirm), 4)
