"""The draws of a mechanism, one after the other, before every intruder that a limit reads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.evaluation.comparison import Comparison, Making, Origin
from synthdp.evaluation.gate import Check
from synthdp.evaluation.gate.inquiry import MEAN_DRAWS, Averages, Drawn, Inquiry
from synthdp.evaluation.gate.tally import LEVEL
from synthdp.evaluation.leaks.draws import Read
from synthdp.evaluation.measure import IDENTITY_LIMITS, MATCHING_LIMITS
from synthdp.evaluation.risk.bayes import NAME as BAYES
from synthdp.parallel import each
from synthdp.release.register import Earlier
from synthdp.seeding import Streams
from synthdp.stages.draws import EARLY_LEVEL, SHARPENED, TOO_LARGE_TO_SHARPEN, Draws, beside
from synthdp.stages.informed_intruder import learnt_intruder
from synthdp.synthesis.plan import Plan, Release
from synthdp.table.coded import coded, still
from synthdp.table.schema import Schema

# up to this many records everybody is looked for; of more, as many as make so many pairs of a target and a row
MOST, FEWEST = 2500, 300
PAIRS = 5 * 10**6
# of those, a simple random sample, and the rest loners
TYPICAL = 0.7
EXTREMES = 3


def choose(
    comparison: Comparison, neighbours: Codes | None, *, rng: np.random.Generator
) -> tuple[Codes, Booleans] | None:
    """Return the records to attack and which of all records are a simple random sample; None for everybody.

    Rates are means over the random sample. The largest risk of a file is that of its loners, whom a sample would miss:
    those with the fewest neighbours on the keys, the most outlying ones, and the extremes of every numeric key are
    attacked too.

    Parameters
    ----------
    neighbours
        How many records are alike on all keys, where this has been counted.

    Notes
    -----
    O(n log n) for each key, once for all draws. Attacked are 5·10⁶/n records, but never fewer than 300: 500
    of 10,000, 300 of a million; a third of them are loners.
    """
    n = len(comparison.original)
    if n <= MOST or not comparison.schema.keys():
        return None
    size = int(np.clip(PAIRS // n, FEWEST, MOST))
    typical = np.zeros(n, dtype=np.bool_)
    typical[rng.choice(n, int(TYPICAL * size), replace=False)] = True
    isolated = (size - int(TYPICAL * size)) // 2
    outlying, extremes = _outlying(comparison)
    tie = rng.random(n)
    lonely = tie if neighbours is None else neighbours + tie
    chosen = typical.copy()
    chosen[np.argsort(lonely)[:isolated]] = True
    chosen[np.argsort(-outlying + 1e-9 * tie)[:isolated]] = True
    chosen[extremes] = True
    return np.flatnonzero(chosen), typical


def _outlying(comparison: Comparison) -> tuple[Floats, Codes]:
    """Return how far each record stands out over all keys (squared robust distance, or rarity), and the extremes."""
    n, original = len(comparison.original), coded(comparison.original)
    found = np.zeros(n)
    extremes: list[Codes] = []
    for key in comparison.schema.keys():
        if key.kind.categorical:
            place = original.codes(key) + 1
            share = np.bincount(place) / n
            found += -2 * np.log(share[place])
            continue
        values = original.numbers(key)
        known = np.isfinite(values)
        if not known.any():
            continue
        low, middle, high = np.quantile(values[known], [0.05, 0.5, 0.95])
        spread = (high - low) / 3.29 or 1.0
        found += np.where(known, ((values - middle) / spread) ** 2, 0.0)
        order = np.argsort(np.where(known, values, middle), kind="stable")
        extremes += [order[:EXTREMES], order[-EXTREMES:]]
    return found, np.concatenate(extremes) if extremes else np.empty(0, dtype=np.int64)


# draws that teach the intruder who knows how copies are made: held until all of them are there
TEACHING = 4
# fewer records of an earlier release are not attacked by themselves
FEWEST_ALONE = 20
# cells of the teaching draws: large files teach with fewer
MOST_TAUGHT = 2 * 10**8


@dataclass(frozen=True, repr=False)
class Found:
    """What the draws came to: of this release alone, and beside earlier releases of the same data.

    ``before`` has what each earlier release gives away by itself.
    """

    alone: Averages
    together: Averages
    before: tuple[tuple[Earlier, Averages], ...] = ()


def over_draws(
    inquiry: Inquiry,
    draws: Draws,
    *,
    blank: Comparison,
    earlier: Sequence[Earlier],
    count: int,
    looks: int = SHARPENED,
) -> Found:
    """Draw the mechanism ``count`` times and ask every question of every draw.

    Where every mean is within its limit but the end of an interval is not, three times as many draws decide: twenty
    draws of a match that is there or not leave a wide interval, and a file should not be refused for that. Twice as
    many are enough where they leave no doubt: an interval at 99% is within the limit, or a mean is over it.

    Parameters
    ----------
    blank
        The original without copies, with the schema by which the release is judged.
    earlier
        Releases of the same data that stand beside every draw as they were published.
    looks
        How many times ``count`` draws there are at most: 1 where nothing hangs on a verdict that is not sure.

    Notes
    -----
    The intruder who knows how the copies are made learns from the first few draws, and is then asked of all of them;
    nobody's own record teaches (see :func:`synthdp.stages.informed_intruder.learnt_intruder`). Draws are asked about in
    ``jobs`` threads; the result does not depend on their number.

    Looking three times is no licence to look until it passes. The looks are set beforehand, the last one decides at the
    level of the only one, and the one between asks for more: a mechanism whose risk is at its limit passes at it with
    probability 0.005, so that all looks together pass it with at most 0.055 instead of 0.05 (Haybittle and Peto's rule
    for trials; Bonferroni's bound).

    Cost: O(M n log n) and 5·10⁶ (at least 300 n) pairs of a target and a row for each draw and intruder, M lookups a
    pair for each numeric key; memory is that of the draws held: those made in one go, at least four
    and ``jobs``, of M copies.
    """
    plan, streams, jobs = draws.plan, draws.streams, draws.jobs
    chosen = choose(blank, plan.tags.neighbours, rng=streams.generator("draw", "targets"))
    targets, typical = chosen if chosen is not None else (None, None)
    before = tuple(attacked_alone(inquiry, blank, earlier, targets, typical, streams=streams))
    found = Found(Averages(typical), Averages(typical), before)
    batch: list[tuple[int, Release]] = []
    informed: list[Making] = []

    def work(number: int) -> tuple[Read | str | None, Drawn, Drawn | None]:
        place, made = batch[number - 1]
        making = informed[0] if informed else None
        files = replace(beside(plan, made, schema=blank.schema), targets=targets, holdout=blank.holdout, making=making)
        mine = streams.within("draw", place)
        with still((files.original, *files.copies)):
            asked, read = inquiry.ask(files, mine, means=place < MEAN_DRAWS), found.alone.read(files, inquiry.limits)
            if not earlier:
                return read, asked, None
            beside_it = (*published_before(earlier, made), *made.copies)
            joint = replace(files, copies=beside_it, origins=origins(earlier, made))
            return read, asked, inquiry.ask(joint, mine.within("together"), means=False)

    held = _teaching(draws)

    def draw(first: int, more: int) -> None:
        # draws that were made in one go are there anyway: asked about in one go, no thread waits for another's draw
        size = max(jobs, draws.together(more))
        for place, made in enumerate(draws.repeat(more, first), start=first):
            batch.append((place, made))
            # the first batch holds the draws that teach
            if len(batch) < (size if informed else max(held, size)) and place + 1 < first + more:
                continue
            if not informed and blank.schema.keys() and inquiry.limits.judged(*MATCHING_LIMITS):
                teachers = [release.copies for _, release in batch[:held]]
                held_copies = len(batch[0][1].copies)
                beside_them = sum(len(one.copies) for one in earlier)
                attack = learnt_intruder(
                    _known(plan, blank.schema),
                    teachers,
                    counts=(held_copies, held_copies + beside_them),
                    rng=streams.generator("draw", BAYES),
                )
                informed.append(Making(intruder=attack))
            for number, (read, asked, joint) in enumerate(each(work, range(1, len(batch) + 1), jobs=jobs)):
                found.alone.add(asked)
                found.alone.copied(read, rng=streams.generator("draw", batch[number][0], "verbatim"))
                if joint is not None:
                    found.together.add(joint)
                if draws.advance is not None:
                    draws.advance(batch[number][0] + 1, first + more)
            batch.clear()

    draw(0, count)
    level = LEVEL
    for stage in range(1, looks):
        if len(plan.data) >= TOO_LARGE_TO_SHARPEN or not unsure(_checks(found, inquiry, level)):
            break
        draw(stage * count, count)
        level = EARLY_LEVEL
    return found


def unsure(checks: Sequence[Check]) -> bool:
    """Return whether more draws may turn a refusal: no mean is over its limit, but the end of an interval is."""
    risks = [one for one in checks if not one.useful and not one.passed]
    return bool(risks) and all(
        one.high is not None and one.value is not None and one.value <= one.limit for one in risks
    )


def _checks(found: Found, inquiry: Inquiry, level: float) -> list[Check]:
    together = found.together.checks(inquiry.limits, level=level) if found.together.draws else ()
    return [*found.alone.checks(inquiry.limits, level=level), *together]


def published_before(earlier: Sequence[Earlier], made: Release) -> Iterator[pd.DataFrame]:
    """Yield the copies of earlier releases, a row for each of today's records.

    Records and columns that an earlier release did not hold get values of this one, which say nothing that is not said
    already.
    """
    for before in earlier:
        for place, copy in enumerate(before.copies):
            told = [name for name in copy.columns if before.columns is None or name in before.columns]
            if before.covers.all() and len(told) == len(copy.columns):
                yield copy
                continue
            # as objects first: an earlier release may have more decimals, gaps or levels than the types here can hold
            whole = made.copies[place % len(made.copies)].astype(object)
            for name in told:
                whole.loc[before.covers, name] = copy[name].to_numpy(dtype=object)
            yield whole.infer_objects()


def attacked_alone(
    inquiry: Inquiry,
    blank: Comparison,
    earlier: Sequence[Earlier],
    targets: Codes | None,
    typical: Booleans | None,
    *,
    streams: Streams,
) -> Iterator[tuple[Earlier, Averages]]:
    """Yield what each earlier release gives away by itself: it is as it is, so it is attacked once, not in every draw.

    Whoever holds several releases may look at the sharpest one alone. A few records are not attacked by themselves, as
    there is hardly anybody to take them for; they are beside every draw.
    """
    for number, before in enumerate(earlier):
        members = np.flatnonzero(before.covers)
        if len(members) < FEWEST_ALONE or not inquiry.limits.judged(*IDENTITY_LIMITS):
            continue
        told = [column for column in blank.schema.columns if before.columns is None or column.name in before.columns]
        files = Comparison(
            blank.original.iloc[members].reset_index(drop=True),
            before.copies,
            Schema(columns=tuple(told)),
            aligned=True,
            targets=None if targets is None else np.flatnonzero(np.isin(members, targets)),
        )
        found = Averages(None if typical is None else typical[members])
        found.add(inquiry.ask(files, streams.within("draw", "earlier", number), means=False))
        yield before, found


def origins(earlier: Sequence[Earlier], made: Release) -> tuple[Origin, ...]:
    """Return which of the copies that stand side by side are of which release; each has a scatter of its own."""
    before = (Origin(len(one.copies), None if one.covers.all() else one.covers, one.columns) for one in earlier)
    return (*before, Origin(len(made.copies)))


def _known(plan: Plan, schema: Schema) -> Plan:
    """Return the plan as an intruder sees it who knows the keys of another schema."""
    own = plan.data.schema
    columns = tuple(column.model_copy(update={"key": schema[column.name].key}) for column in own.columns)
    return replace(plan, data=replace(plan.data, schema=Schema(columns=columns)))


def _teaching(draws: Draws) -> int:
    data = draws.plan.data
    cells = max(1, len(data) * len(data.schema.columns) * draws.config.synthesis.copies)
    return max(2, min(TEACHING, MOST_TAUGHT // cells))
