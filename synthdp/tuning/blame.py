"""Where nothing satisfies the limits: which limit binds, who or what is to blame, and what would free it."""

from collections.abc import Iterator, Sequence

from synthdp.config import Config
from synthdp.errors import SynthdpError
from synthdp.evaluation.blocks import counted, listing
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import LIMITS, Check, Verdict
from synthdp.stages.advising import advise
from synthdp.stages.gating import as_they_are
from synthdp.stages.planning import plan_of
from synthdp.tagging.groups import LOW
from synthdp.tuning.rays import HIGHEST
from synthdp.tuning.space import Shape
from synthdp.tuning.trials import INDIVIDUAL, Laboratory, Trial, ratio_of

# a group is to blame where its easiest record is found so much more often than that of the others
CLEARLY = 1.25
# where masks that tell nothing were tried as well
NOT_THE_MASKS = (
    "Masks are not to blame: the strongest, which tell nothing, do not hold either. What is left is what kept columns "
    "and the model tell of the keys. Replace or drop kept columns that go with them, make the keys coarser (topcode, "
    "bottomcode, round, rare), take fewer copies, or raise the limit with a reason."
)

# where people are repeated because the model has learnt them by heart
BY_HEART = (
    "Masks are not to blame: the model repeats people of the file under the strongest as well. Try another one "
    "(synthesis.model.method: regression or copula, or trees with a larger min_leaf), make the keys coarser, or "
    "replace fewer columns."
)
MEMORISED, EXPOSED = "max_memorised", "max_exposed"
# questions about kept columns that are repeated where nothing holds
MOST_ASKED = 3


def nearest(trials: Sequence[Trial]) -> Trial | None:
    """Return the trial that came closest to keeping every limit; None where none could be made.

    Of those that were judged as the gate does, if there are any: a few draws leave some intruders out.
    """
    made = [one for one in trials if not one.problem]
    made = [one for one in made if one.stage != "explore"] or made
    return min(made, key=lambda one: (len(failing(one)), one.ratio), default=None)


def failing(trial: Trial) -> list[Check]:
    """Return the worst figure of every limit that is not kept, the furthest beyond first."""
    return sorted((one for one in trial.worst().values() if not one.passed), key=ratio_of, reverse=True)


def first_change(trials: Sequence[Trial], shape: Shape) -> str:
    """Return what of a shape that no masks are enough for is best changed first: its model, if that repeats people."""
    binding = {one.name for trial in trials if trial.shape == shape for one in failing(trial)}
    return "model" if MEMORISED in binding else "tails"


def reasons(trials: Sequence[Trial], why: str = "", asked: Sequence[str] = ()) -> list[str]:
    """Return in sentences why nothing satisfies the limits.

    Parameters
    ----------
    why
        What else is to blame.
    asked
        Kept columns that nobody has decided on, a question each: they counted as known, and may be all there is to it.
    """
    best = nearest(trials)
    if best is None:
        problems = list(dict.fromkeys(one.problem for one in trials if one.problem))
        return [f"tune: no candidate could be made: {problems[0] if problems else 'there was none'}"]
    if not failing(best):
        said = ["tune: no candidate holds on enough fresh draws; the nearest passes on some and fails on others."]
        return [*said, why] if why else said
    told = [f"tune: none of {len(trials)} trials keeps every limit; of the nearest:"]
    told += [f"  {sentence}" for sentence in _bound(best)]
    told += [f"Counted as known until somebody decides: {question}" for question in asked[:MOST_ASKED]]
    if len(asked) > MOST_ASKED:
        told.append(f"{counted(len(asked) - MOST_ASKED, 'more column')} counted as known; synthdp check names them.")
    return [*told, *([why] if why else [])]


def _bound(trial: Trial) -> Iterator[str]:
    for one in failing(trial):
        if one.deciding is None:
            yield f"{one.name}: not measured by {one.attack}, and what was not measured does not pass."
            continue
        figure = f"{one.deciding:.2%}" if LIMITS[one.name].share else f"{one.deciding:.3g}"
        limit = f"{one.limit:.2%}" if LIMITS[one.name].share else f"{one.limit:g}"
        blamed = _group(trial) if one.name == INDIVIDUAL else ""
        yield f"{one.name}: {LIMITS[one.name].brief} {figure} ({one.attack}), limit {limit}.{blamed}"


def _group(trial: Trial) -> str:
    """Return who is easiest to find, where one risk group clearly is."""
    if len(trial.groups) < 2:
        return ""
    first, second = sorted(trial.groups, key=lambda tag: -trial.groups[tag])[:2]
    if trial.groups[first] <= CLEARLY * trial.groups[second]:
        return ""
    alike = "have many like them on the keys" if first == LOW else "have few like them on the keys"
    return f" The easiest to find are in the risk group {first}, who {alike}."


def alone_on_kept(lab: Laboratory) -> tuple[list[str], str] | None:
    """Return why people are alone on kept keys, and what would free them; None where they are not.

    No mask, model or number of copies changes that, so there is nothing to search for.
    """
    config = lab.space.config_of(lab.space.shape(), 0)
    released = plan_of(config, lab.data_of(config)).released
    kept = Comparison(released.frame, (), released.schema, aligned=True)
    verdict = Verdict(tuple(as_they_are(EXPOSED, kept, config.limits)))
    if verdict.passed:
        return None
    names = listing([column.name for column in released.schema.kept() if column.key and column.design is None])
    people = max((one.value for one in verdict.checks if one.value is not None), default=0.0)
    many = "1 person is" if people == 1 else f"{people:g} people are"
    said = [
        f"tune: {many} alone on kept columns that an intruder may know ({names}), more than {EXPOSED} allows. No mask "
        "changes that, so nothing was tried."
    ]
    advice = advise(config, released, verdict, lambda _: None, lambda changed: _possible(lab, changed))
    return ([*said, advice.why], advice.change) if advice is not None else (said, "")


def _possible(lab: Laboratory, changed: Config) -> bool:
    try:
        plan_of(changed, lab.data_of(changed))
    except SynthdpError:
        return False
    return True


def what_would_help(lab: Laboratory, trial: Trial) -> tuple[str, str]:
    """Return what is to blame in a sentence, and the lines of a config that would free it (they may be empty)."""
    if any(one.rung == HIGHEST and not one.passed and not one.problem for one in lab.trials):
        return BY_HEART if MEMORISED in {one.name for one in failing(trial)} else NOT_THE_MASKS, ""
    config = lab.space.config_of(trial.shape, trial.rung)
    found = advise(config, lab.data, Verdict(trial.checks), lambda _: None, lambda changed: _possible(lab, changed))
    if found is None:
        return "", ""
    return found.why, found.change
