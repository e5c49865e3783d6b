"""What a person should know of an answer before signing: what choosing it has cost, and what it leaves open."""

from collections.abc import Sequence

from synthdp.evaluation.blocks import counted
from synthdp.evaluation.gate import LIMITS
from synthdp.tuning.confirming import Confirmed
from synthdp.tuning.leaves import TREES, leaf_of
from synthdp.tuning.space import Space
from synthdp.tuning.trials import Trial


def cautions(
    space: Space,
    found: Confirmed,
    *,
    trials: int,
    records: int,
    compared: int | None = None,
    earlier: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return what to know of what was found, in sentences; nothing where nothing was.

    Parameters
    ----------
    trials, records
        How many were made, and how many records the file has.
    compared
        On how many of them shapes were compared, where those were not all.
    earlier
        The days on which releases of the same data were recorded.
    """
    trial = found.trial
    if trial is None:
        return ()
    said = [*_cost(space, trial, trials), *_steps(found)]
    if compared is not None:
        said.append(
            f"Shapes of masks were compared on {compared:,} of {records:,} records; their strength and the "
            "confirmation come from the whole file."
        )
    if trial.shape.model == TREES:
        said.append(
            f"No masks: copies come from trees alone, with leaves of {leaf_of(trial.rung)} donors or more. What they "
            "hold are values of people in the file, dealt to others."
        )
    said += [*_little_use(space, trial), *_recorded(earlier)]
    if trial.shape.mask_draw != "per_copy":
        said.append(f"W is drawn {trial.shape.mask_draw}: see reports/coverage for what intervals cover then.")
    return tuple(said)


def _cost(space: Space, trial: Trial, trials: int) -> list[str]:
    candidates = float(f"{space.size():.3g}")
    return [
        f"These settings were chosen by looking at the data: {trials} trials, at most {space.bits:.1f} bits of what "
        f"the choice itself can tell (log2 of {candidates:,.0f} candidates). Formal bounds on the mask channel are "
        "withdrawn.",
        f"Confirmed on {trial.draws} fresh draws: every limit is expected to hold in at least "
        f"{space.config.tuning.holds:.0%} of judgements on draws of their own.",
    ]


def _steps(found: Confirmed) -> list[str]:
    if not found.steps:
        return []
    names = sorted({LIMITS[name].brief for step in found.steps for name in step if name in LIMITS})
    times = "once" if len(found.steps) == 1 else f"{len(found.steps)} times"
    return [
        f"The first answer did not hold on fresh draws ({', '.join(names)}): masks were made stronger (leaves of trees "
        f"larger), or another shape taken, {times}."
    ]


def _little_use(space: Space, trial: Trial) -> list[str]:
    """Say it where ``run`` will find the copies of little use: limits on risk were all that had to hold."""
    floor = space.config.limits.limit("min_overlap")
    found = [value for name, value in trial.parts.items() if name in ("panel", "analyses")]
    if floor is None or min(found, default=floor) >= floor:
        return []
    return [
        f"Of little use: intervals overlap by {min(found):.0%}, less than min_overlap ({floor:.0%}), so that run will "
        "publish these copies under an amber verdict. Nothing that was tried is within the limits and more useful."
    ]


def _recorded(earlier: Sequence[str]) -> list[str]:
    if not earlier:
        return []
    many = "1 release is" if len(earlier) == 1 else f"{counted(len(earlier), 'release')} are"
    return [
        f"Of these data {many} recorded already (last on {max(earlier)}). run judges what they give away together with "
        "this one, which tune does not: it may refuse what is confirmed here."
    ]
