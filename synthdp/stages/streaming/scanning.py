"""The last look at what a run over shards would publish: the scan of ``evaluation.leaks`` on a part of the records.

Every so-manieth record, about 50,000 of them, and the rows that were made from these, in the order in which the files
have them, are a release of a file of their own: whatever must not be in the whole must not be in the part. Documents
are looked at as they are, but for the codebook, which speaks of all copies.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from synthdp import release
from synthdp.config import Config
from synthdp.evaluation.leaks import inspector
from synthdp.release import Manifest
from synthdp.release.reading import CODEBOOK
from synthdp.seeding import Streams
from synthdp.stages.streaming import mixing
from synthdp.stages.streaming.job import Job
from synthdp.table import io
from synthdp.table.microdata import Microdata

SCANNED = "scanned"


def inspection(
    config: Config,
    sample: Microdata,
    manifest: Manifest,
    job: Job,
    names: Sequence[str],
    kinds: Mapping[str, io.Stored],
) -> Callable[[Path], list[str]]:
    """Return what looks at the finished folder before it gets its name, and returns what leaks, in sentences.

    Parameters
    ----------
    sample
        The records that are looked at.
    names
        Of the files of the copies.
    """
    inspect = inspector(
        sample.frame,
        sample.schema,
        manifest=manifest.contents,
        shuffled=config.synthesis.shuffle,
        said=release.said_of_any(),
        rng=Streams(manifest.seed).generator("scan"),
    )
    format = config.release.format_of(config.data.path)
    escape = config.release.escape_formulas and io.FORMATS[format].text

    def look(folder: Path) -> list[str]:
        part = job.folder / SCANNED
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o700)
        for path in folder.iterdir():
            if path.name not in (*names, CODEBOOK):
                shutil.copyfile(path, part / path.name)
        for copy, name in enumerate(names, start=1):
            frame = mixing.sampled(job, copy)
            (part / name).write_bytes(io.encode(frame, format=format, stored=kinds, escape_formulas=escape))
        return inspect(part)

    return look
