"""The audit trail of a run: its manifest, its attempt among others on the same data, and what it pays."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from synthdp import release
from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.evaluation.gate import Verdict
from synthdp.privacy.ledger import Ledger
from synthdp.release.metrics import Metrics
from synthdp.release.reading import SUMS
from synthdp.release.register import NAME, Earlier, Held, Register
from synthdp.release.shelf import Attempt, lines, section
from synthdp.release.shelf import Verdict as Attempted
from synthdp.stages.intake import Source
from synthdp.stages.planning import raise_if
from synthdp.stages.promised import attempts_line
from synthdp.synthesis.plan import Plan, Release
from synthdp.synthesis.private.synthesizer import Bill
from synthdp.table import io

NONE = "none"
VARIABLE = "SYNTHDP_REGISTER"


@dataclass(frozen=True, repr=False)
class Trail:
    """What a run leaves behind beside its numbers.

    Parameters
    ----------
    out
        The folder of the run.
    manifest
        What was asked for, with which seed.
    bill
        What it costs, where the method is differentially private and a ledger is kept.
    study
        Whether nothing is published.
    held
        The data in the register of releases; None where no register is kept.
    earlier
        Releases of the same data.
    cautions
        What a person should know of where the register is.
    ended
        What a run came to that had ended before, or had published all it would; None while there is work to do.
    tried
        The trials by which the settings were chosen, as one line among the attempts; None where they were not.
    """

    out: Path
    manifest: release.Manifest
    bill: Bill
    study: bool
    held: Held | None = None
    earlier: tuple[Earlier, ...] = ()
    cautions: tuple[str, ...] = ()
    ended: Metrics | None = None
    tried: str | None = None

    @property
    def attempts(self) -> Sequence[Attempt] | None:
        """Every attempt on these data, this one last; None where no register is kept."""
        return self.held.attempts() if self.held is not None else None

    def attempted(self, verdict: Verdict) -> dict[str, Any]:
        """Write down what the gate said; return what ``gate`` says of the attempts on these data."""
        if self.study:
            return self._attempt("study")
        refused = {one.name for one in verdict.checks if not one.passed and one.accepted is None}
        accepted = {one.name for one in verdict.checks if one.accepted is not None}
        return self._attempt(verdict.judgement, sorted(refused), sorted(accepted))

    def leaked(self) -> dict[str, Any]:
        """Write down that the scan for leaks stopped it."""
        return self._attempt("refused", ["leak"])

    def recording(
        self, inspect: Callable[[Path], Sequence[str]], plan: Plan, made: Release
    ) -> Callable[[Path], Sequence[str]]:
        """Return the scan, which records the release where it finds nothing.

        That is before the files appear: a run killed in between has recorded one too many, which is safe.
        """

        def recorded(folder: Path) -> Sequence[str]:
            leaks = inspect(folder)
            if not leaks and self.held is not None:
                self.held.record(plan.released, made.copies, run=self.manifest.run)
            return leaks

        return recorded

    def finish(self, metrics: Metrics, timings: Mapping[str, float], sums: Mapping[str, str] | None) -> None:
        """Say in ledger and manifest how it ended, and with which public files."""
        if sums:
            self.bill.attach(self.out / "public" / SUMS)
        tried = section(self.attempts)
        release.finish_manifest(
            self.out,
            status="study" if self.study else "published" if sums else "refused",
            timings=timings,
            public=sums,
            signed={**metrics.signed(), "charge": self.bill.number, **tried},
        )

    def _published(self) -> Metrics:
        """End a run that was killed once its files were public: other noise now would be a second release."""
        if release.verify(self.out):
            raise InputError(
                f"{self.out}: the public files of the interrupted run were changed, and making them again would be "
                "another release; choose another --out."
            )
        metrics, public = self._left(), self.out / "public"
        self.bill.pay(self.manifest.run, released=public / SUMS)
        sums = {path.name: io.digest(path) for path in sorted(public.iterdir()) if path.name != SUMS}
        self.finish(metrics, metrics.timings, sums)
        return metrics

    def _left(self) -> Metrics:
        return Metrics.read(self.out / "confidential" / "metrics.json")

    def _attempt(self, verdict: Attempted, reasons: Sequence[str] = (), accepted: Sequence[str] = ()) -> dict[str, Any]:
        if self.held is None:
            return {"attempt": None, "attempts": [*lines(None), *self._trials()]}
        config = str(self.manifest.contents["config_sha256"])
        self.held.attempt(self.manifest.run, verdict=verdict, config=config, reasons=reasons, accepted=accepted)
        found = self.held.attempts()
        return {"attempt": len(found), "attempts": [*lines(found), *self._trials()]}

    def _trials(self) -> list[str]:
        return [] if self.tried is None else [self.tried]


@contextmanager
def begin(
    config: Config,
    source: Source,
    plan: Plan,
    *,
    out: Path,
    study: bool,
    resume: bool,
    accepted: Mapping[str, str],
    ledger: Ledger | None,
    waiting: Callable[[str], None],
) -> Iterator[Trail]:
    """Hold the folder and the data of a run, and pay for it; where nothing is left to do, the trail has ``ended``.

    The attempt is written down as interrupted before any work is done, so that a run that is killed leaves a trace.
    """
    bill = Bill(ledger, config.synthesis, plan, study=study)
    if not resume:
        bill.check()
    with release.prepare_out(out, resume=resume):
        left = release.read_manifest(out) if resume else None
        if left is not None:  # before it is written anew, for its owner only
            raise_if(release.check_resumable(out, left, study=study))
        settings = config.model_dump(mode="json", exclude={"seed"})
        manifest = release.start_manifest(
            out, config=settings, inputs={"data": source.checksum}, study=study, resume=resume, seed=config.seed
        )
        trail = Trail(out, manifest, bill, study, tried=attempts_line(config))
        if manifest.finished and not (manifest.status == "refused" and accepted):
            yield replace(trail, ended=trail._left())
            return
        register, cautions = _register_of(config, out)
        # from looking for earlier releases to recording this one
        session = nullcontext() if register is None else register.session(source.frame, waiting=waiting)
        with session as held:
            trail = replace(trail, held=held, cautions=cautions)
            if config.synthesis.private and (out / "public").is_dir():
                yield replace(trail, ended=trail._published())
                return
            trail._attempt("interrupted")
            earlier = held.earlier(plan.released, run=manifest.run) if held is not None else ()
            bill.pay(manifest.run)
            yield replace(trail, earlier=tuple(earlier))


def released_before(config: Config, frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the days of releases of the same data, as far as the register that ``run`` would keep knows them."""
    chosen = config.release.recorded_in or os.environ.get(VARIABLE)
    if chosen == NONE:
        return ()
    folder = config.data.path.resolve().parent / NAME if chosen is None else Path(chosen)
    return Register(folder).released(frame)


def _register_of(config: Config, out: Path) -> tuple[Register | None, tuple[str, ...]]:
    """Return the register of releases, and what a person should know of where it is.

    The config says where, else the environment variable ``SYNTHDP_REGISTER`` (one place for a whole agency). Without
    either it lies beside the data; where nothing may be written there, beside the folder of the run.
    """
    chosen = config.release.recorded_in or os.environ.get(VARIABLE)
    if chosen is not None:
        return (None if chosen == NONE else Register(Path(chosen))), ()
    home = config.data.path.resolve().parent
    if os.access(home, os.W_OK):
        return Register(home / NAME), ()
    beside_run = out.resolve().parent / NAME
    caution = (
        "The folder of the data cannot be written to, so this release is recorded beside the folder of the run: a "
        "release made elsewhere is not judged together with it. Name one place for all releases in release.recorded_in."
    )
    return Register(beside_run), (caution,)
