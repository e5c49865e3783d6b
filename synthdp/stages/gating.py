"""The gate's decision on a run: the mechanism over its draws, earlier releases of the same data, what was accepted."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from synthdp.config import Config
from synthdp.config.settings import LARGEST_EPSILON
from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.assessment import Assessment, records_at_risk, skipped_of
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Thresholds, Verdict
from synthdp.evaluation.gate.inquiry import Averages, Inquiry
from synthdp.evaluation.gate.limits import BEFORE, LIMITS, own_limits
from synthdp.evaluation.gate.tally import Bound
from synthdp.evaluation.gate.verdict import EARLIER, Check, check
from synthdp.evaluation.leaks.memorised import evaluate_memorised
from synthdp.evaluation.measure import MATCHING_LIMITS
from synthdp.evaluation.measures import reading
from synthdp.evaluation.risk.attribute import default_targets
from synthdp.evaluation.risk.persons import repeated_id, tied
from synthdp.parallel import one_blas_thread
from synthdp.release.register import Earlier
from synthdp.stages.assessing import EVALUATION
from synthdp.stages.draws import SHARPENED, Draws, count_of
from synthdp.stages.judging import over_draws
from synthdp.stages.planning import open_questions
from synthdp.table.schema import Schema

# a larger file is not drawn twenty times when it is refused for what is kept as it is, whatever the draws would show
MOST_DRAWN_IN_VAIN = 2000
# records from which on copies of halves do not stand in memory beside the draws
TOO_LARGE_TO_SHARE = 500_000
NOT_DRAWN = "The copies were not judged: decide about the kept columns first. The figures below come from one draw."


@dataclass(frozen=True, repr=False)
class Judged:
    """What the gate decided, and on what grounds.

    Parameters
    ----------
    verdict
        On the mechanism, alone and beside earlier releases, with what was accepted.
    averages
        Over the draws of this release alone; None when nothing was judged.
    draws
        How many draws there were; 0 where one set of files was judged as it is.
    notes
        What the signatory should know of the verdict.
    keys
        The columns that intruders were taken to know, undecided ones too.
    """

    verdict: Verdict
    averages: Averages | None = None
    draws: int = 0
    notes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def section(self) -> dict[str, Any]:
        """Return the ``gate`` section of metrics.json; advice and attempt come from elsewhere."""
        # refused for what is kept, before any draw: still a verdict on the mechanism, not on files
        settled = self.averages is None and bool(self.verdict.checks)
        basis = "draws" if self.draws or settled else "copies"
        found = {**self.verdict.section(), "basis": basis, "draws": self.draws}
        if self.keys:
            found["keys"] = list(self.keys)
        if self.averages is not None and self.averages.reasons:
            found["not_measured"] = dict(self.averages.reasons)
        return found

    def records_at_risk(self, comparison: Comparison) -> pd.DataFrame:
        """Return the records that an attack finds or comes close to finding, on average over draws; no values."""
        return records_at_risk(comparison, self.averages.records() if self.averages is not None else {})


def judge(
    draws: Draws,
    *,
    earlier: Sequence[Earlier] = (),
    holdout: pd.DataFrame | None = None,
    accepted: Mapping[str, str] | None = None,
    study: bool = False,
    count: int | None = None,
    looks: int = SHARPENED,
) -> Judged:
    """Judge what the config would publish, over draws that are not published.

    Every draw is attacked by every intruder that a limit reads; earlier releases of the same data, as they were
    published, stand beside each. The verdict does not depend on which copies go out.

    Parameters
    ----------
    accepted
        Risks that the signatory accepts, by name, with the reason.
    study
        Nothing will be published, so nobody has to decide about undecided columns: they count as keys.
    count
        Of draws; by default as :func:`synthdp.stages.draws.count_of` says.
    looks
        How many times as many draws there may be where the first ones leave doubt.

    Notes
    -----
    Cost: the draws (see :class:`synthdp.stages.draws.Draws`) and their attacks. Above 2,500 records a sample and the
    loners are attacked (see :mod:`synthdp.stages.judging`), so that a draw costs O(M n log n).
    """
    config, plan = draws.config, draws.plan
    limits = config.limits
    if not limits.judged():
        return Judged(Verdict(()))
    accepted = accepted or {}
    asked = open_questions(config, plan)
    person = repeated_id(plan.released.frame, plan.released.schema)
    schema = tied(asked.schema_less(accepted), person)
    blank = Comparison(plan.released.frame, (), schema, aligned=True)
    released = replace(blank, schema=plan.released.schema)
    known = [*asked.checks(study=study), *as_they_are("max_exposed", released, limits)]
    known += [_beyond_judging(before) for before in earlier if not before.aligned]
    notes = (*_changed_defaults(config), *_unread(config, schema), *asked.sentences)
    if person is not None:
        notes = (*notes, f"Rows that share a value of {person} are judged as one person's; data.cluster names another.")
    settled = Verdict(tuple(known)).accepting({name: why for name, why in accepted.items() if _names_one(name, known)})
    if not settled.passed and not study and len(plan.data) > MOST_DRAWN_IN_VAIN:
        return Judged(settled, None, 0, (*notes, NOT_DRAWN))
    with ThreadPoolExecutor(max_workers=1) as pool, one_blas_thread():
        # halves have a stream of their own, and one thread of them fills what the draws leave idle, if there is room
        roomy = len(plan.data) < TOO_LARGE_TO_SHARE
        halves = pool.submit(_memorised, draws, blank) if draws.jobs > 1 and roomy else None
        found = over_draws(
            inquiry_of(config),
            draws,
            blank=replace(blank, holdout=holdout),
            earlier=[before for before in earlier if before.aligned],
            count=count or count_of(config, len(plan.data)),
            looks=looks,
        )
        known += _memorised(draws, blank) if halves is None else halves.result()
    verdict = Verdict((*known, *found.alone.checks(limits)))
    if found.together.draws:
        laid = sum(before.aligned for before in earlier)
        verdict = verdict.beside(Verdict(tuple(found.together.checks(limits))), laid)
    for before, averages in found.before:
        verdict = verdict.after(Verdict(tuple(averages.checks_of_one(limits))), before.when[:10])
    keys = tuple(column.name for column in schema.keys())
    return Judged(verdict.accepting(accepted), found.alone, found.alone.draws, notes, keys)


def _names_one(name: str, checks: Sequence[Check]) -> bool:
    return any(part in (one.name, one.attack) for one in checks for part in name.split("."))


def _beyond_judging(before: Earlier) -> Check:
    """Return the check of an earlier release whose rows cannot be laid beside today's records."""
    return Check(EARLIER, before.when[:10], None, 0.0, False, f"{EARLIER}: {before}")


def _memorised(draws: Draws, blank: Comparison) -> tuple[Check, ...]:
    """Fit halves of the file, unless no limit reads it."""
    limit = draws.config.limits.limit("max_memorised")
    if limit is None:
        return ()
    rng = draws.streams.generator("draw", "memorised")
    try:
        found = evaluate_memorised(blank, refit=draws.refit(), rng=rng, enough=limit)
    except SynthdpError:
        return (check("max_memorised", "memorised", None, limit),)
    bound = Bound(found["difference"], found["low"], found["judged"], found["held_out"])
    return (check("max_memorised", "memorised", bound, limit),)


def judge_copies(config: Config, comparison: Comparison, found: Assessment) -> Judged:
    """Judge one set of files as they are: no draws, no intervals; rows that cannot be traced do not pass."""
    limits = config.limits
    # what the report had no time for, the gate takes all the same
    taken = {name: section for name, section in found.risk.items() if name not in skipped_of(found.risk)}
    known = {**found.findings, "attribute": taken.get("attribute")}
    averages = Averages()
    averages.add(inquiry_of(config).ask(comparison, EVALUATION, known=known))
    checks = [*as_they_are("max_exposed", comparison, limits), *averages.checks(limits)]
    if not comparison.aligned:
        # whoever needs rows was not asked, so that somebody who links rows through kept columns cannot pass for all
        asked = [(name, limits.limit(name)) for name in MATCHING_LIMITS]
        missed = [check(name, "identity", None, limit) for name, limit in asked if limit is not None]
        checks += [one for one in missed if one not in checks]
    checks += as_they_are("max_excess_verbatim", comparison, limits, taken)
    return Judged(Verdict(tuple(checks)), averages)


def inquiry_of(config: Config) -> Inquiry:
    """Return everything the gate asks of a set of copies."""
    return Inquiry(config.limits, config.request())


def as_they_are(
    name: str, comparison: Comparison, limits: Thresholds, taken: Mapping[str, Any] | None = None
) -> Iterator[Check]:
    """Hold what the measures of a limit find in the files against it; what cannot be measured does not pass.

    ``taken`` has sections by measure, where they are there already.
    """
    limit = limits.limit(name)
    if limit is None:
        return
    for one in reading(name):
        rng = EVALUATION.generator("evaluate", one.name)
        try:
            found = one.judged(comparison, rng=rng, found=(taken or {}).get(one.name) or None)
        except InputError:
            found = {}
        yield from (check(name, one.name, Bound(value), limit) for value in found.values())
        if not found:
            yield check(name, one.name, None, limit)


def _unread(config: Config, schema: Schema) -> tuple[str, ...]:
    """Return what the limits were not held against, in sentences: columns that nobody has called keys or targets."""
    found = []
    open_ = [column.name for column in schema.replaced() if column.key and not column.key_decided]
    if open_:
        found.append(
            f"Nobody has said whether an intruder may know {', '.join(open_)}, which copies replace: the verdict "
            "assumes that one does. Write key: true or key: false."
        )
    named = config.evaluation.targets
    left = [name for name in default_targets(schema) if name not in named]
    if named and left and config.limits.limit("max_attribute_gain") is not None:
        found.append(
            f"max_attribute_gain is read for {', '.join(named)} (evaluation.targets), not for {', '.join(left)}."
        )
    return tuple(found)


def _changed_defaults(config: Config) -> tuple[str, ...]:
    """Return one sentence on the limits whose default is another than it was, and which the config leaves out."""
    written = config.release.model_fields_set
    if (config.synthesis.budget or 0.0) > LARGEST_EPSILON and not {*LIMITS} - {*own_limits()} <= written:
        return (
            f"An ε above {LARGEST_EPSILON:g} bounds almost nothing, so this release is judged by what intruders find, "
            "and no ε is claimed.",
        )
    if config.synthesis.private or written >= set(BEFORE):
        return ()
    limits = {name: config.limits.limit(name) for name in BEFORE if name not in written}
    changed = [f"{name} {BEFORE[name]:g} → {'off' if now is None else f'{now:g}'}" for name, now in limits.items()]
    return (f"Defaults of release: that changed in 0.2: {', '.join(changed)}; risks are means over draws now.",)
