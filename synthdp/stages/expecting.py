"""What a run will need, in sentences: in memory, streaming, on a cluster, and which of them `run` would choose."""

from collections.abc import Iterator

from synthdp.config import Config
from synthdp.config.engine import Dask
from synthdp.stages import cost
from synthdp.stages.cost import Need, Work, amount, duration
from synthdp.stages.draws import SHARPENED, TOO_LARGE_TO_SHARPEN
from synthdp.stages.streaming import refusing
from synthdp.stages.streaming.engines import WORKERS, choose, memory_there

MEMORY_ERROR, TIME_ERROR = 1.5, 2
"""Within which factors the estimates were when they were compared with runs (reports/cost)."""
USUAL_WORKERS = 8


def expected(config: Config) -> tuple[str, ...]:
    """Return what a run of a config will need; nothing but the file's metadata is read.

    Raises
    ------
    InputError
        When there is no such file, or it cannot be read.
    """
    work = cost.work_of(config)
    if work is None:
        return (f"{config.data.path}: how large the table is, this format tells only when it is read.",)
    return (_size(work), *_ways(config, work), _choice(config), *_cautions(work))


def _size(work: Work) -> str:
    told = "counted" if work.exact else "estimated from samples of its lines"
    copies = f"{work.copies} {'copy' if work.copies == 1 else 'copies'}"
    judged = f"a verdict from {work.draws} draws" if work.draws else "no verdict"
    return f"{work.records:,} records ({told}) x {work.columns} columns, {work.replaced} replaced; {copies}, {judged}."


def _ways(config: Config, work: Work) -> Iterator[str]:
    engine = config.engine
    yield f"In memory: {_needs(cost.in_memory(work))}."
    refused = refusing.refused(config)
    if refused:
        yield f"Streaming, or on a cluster: not with this config; {refused[0].removeprefix('streaming: ')}"
        return
    yield f"Streaming: {_needs(cost.streamed(work))}."
    if not isinstance(engine, Dask):
        workers, said = USUAL_WORKERS, "for example"
    else:
        workers, said = engine.workers or (WORKERS if engine.address is None else USUAL_WORKERS), "with"
    if isinstance(engine, Dask) and engine.address is not None:
        said = "if it has"
    yield f"On a cluster, {said} {workers} workers: {_needs(cost.streamed(work, workers), each=True)}."


def _needs(need: Need, *, each: bool = False) -> str:
    memory = f"{amount(need.memory)} of memory{' each' if each else ''}"
    return f"{memory}, {amount(need.disk)} of disk, {duration(need.seconds)}"


def _choice(config: Config) -> str:
    choice, there = choose(config), memory_there(config)
    found = "how much memory is there is not known" if there is None else f"{amount(there)} of memory are there"
    if isinstance(config.engine, Dask):
        where = config.engine.address or "processes of this machine"
        return f"run would stream, on the cluster that the config names ({where})."
    if choice.sentence:
        return f"run would {'stream' if choice.streaming else 'keep the table in memory'}: {choice.sentence}"
    asked = config.engine.streaming is not None
    why = "as the config says" if asked else "a folder of files is streamed" if choice.streaming else found
    return f"run would {'stream' if choice.streaming else 'keep the table in memory'}: {why}."


def _cautions(work: Work) -> Iterator[str]:
    yield (
        f"Estimates: memory within a factor of {MEMORY_ERROR:g}, time of one idle processor (of each worker's) within "
        f"a factor of {TIME_ERROR}, where they were compared with runs."
    )
    if not work.known:
        yield f"How long {work.model} takes was not measured; the figures are those of the slowest model that was."
    if work.draws > 0 and work.records < TOO_LARGE_TO_SHARPEN:
        yield (
            f"Where the first draws leave doubt, the verdict takes {SHARPENED} times as many, and the run up to "
            f"{SHARPENED} times as long."
        )
