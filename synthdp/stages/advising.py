"""Advice that ends: one change of the config that can be pasted, tried out before it is given."""

import math
import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from synthdp.config import Config
from synthdp.config.settings import AnyMask
from synthdp.errors import SynthdpError
from synthdp.evaluation.gate import Verdict
from synthdp.evaluation.gate.verdict import UNDECIDED
from synthdp.evaluation.measure import MATCHING_LIMITS
from synthdp.evaluation.risk.extremes import NAME as EXTREMES
from synthdp.stages.draws import FEWEST_DRAWS, Draws
from synthdp.stages.gating import MOST_DRAWN_IN_VAIN, Judged, judge
from synthdp.stages.intake import prepare
from synthdp.stages.kept_advice import (
    GONE,
    MOST_TRIALS,
    Advice,
    Possible,
    Trial,
    as_text,
    exposed_keys,
    given_settings,
    kept_keys,
    least_change,
    options_for,
    reworded,
    undecided_columns,
)
from synthdp.stages.planning import plan_of
from synthdp.table.microdata import Microdata
from synthdp.table.schema import COARSENINGS, Role, Schema, Variable

# masks this many times wider say next to nothing: what is found then is not theirs
WIDEST = 8.0
# on four files the largest risk fell about as sd^(-1.4) where it mattered: so much wider for a risk over its limit
STEEP, NARROWEST = 0.7, 1.25
# sds of the prior of levels' coefficients, 2.5 by default: four levels of 12, 5, 7 and 3 values, 200 records, repeated
# 12%, 5% and 3% of the unique records because they were fitted with 2.5, 0.5 and 0.1
PRIORS = (0.5, 0.1)
# above this many records a trial of a changed config takes too long to be spent on advice
MOST_TRIED = 200_000
# seconds: the verdict stands already, and a trial that would last longer than what is left of this is not begun
PATIENCE = 60.0
MASKED = (*MATCHING_LIMITS, "max_attribute_gain", "max_excess_verbatim")


def advise_on(
    draws: Draws, judged: Judged, *, accepted: Mapping[str, str], study: bool = False, pace: float = 0.0
) -> dict[str, Any]:
    """Return what would bring a refused release within its limits; empty for one that was not refused.

    Parameters
    ----------
    pace
        Seconds that a draw took, from which the time of a trial is foreseen; 0 where that is not known.

    Notes
    -----
    Trials are begun for as long as they can be expected to end within a minute, all together. What was not tried is
    advised all the same where it is likely to help, and said to be untried.
    """
    if judged.verdict.passed:
        return {}
    config, plan = draws.config, draws.plan
    place = count(1)
    deadline = time.monotonic() + PATIENCE
    longest = [pace * FEWEST_DRAWS]

    def possible(changed: Config) -> bool:
        try:
            plan_of(changed, _declared_anew(config, changed, plan.released))
        except SynthdpError:
            return False
        return True

    def trial(changed: Config) -> Verdict | None:
        # kept columns end the verdict on a large file before any draw, and their advice must not cost more than that
        most = MOST_TRIED if changed.variables == config.variables else MOST_DRAWN_IN_VAIN
        began = time.monotonic()
        if len(plan.data) > most or began + max(longest) > deadline:
            return None
        try:
            again = plan_of(changed, _declared_anew(config, changed, plan.released))
            mine = Draws(changed, again, draws.streams.within("advice", next(place)), draws.jobs, draws.advance)
            known = {name: reason for name, reason in accepted.items() if name.startswith(UNDECIDED)}
            return judge(mine, accepted=known, study=study, count=FEWEST_DRAWS).verdict
        except SynthdpError:
            return None
        finally:
            longest.append(time.monotonic() - began)

    found = advise(config, plan.released, judged.verdict, trial, possible)
    return found.section() if found is not None else {}


def _declared_anew(config: Config, changed: Config, data: Microdata) -> Microdata:
    """Return the records as a changed config declares them; what was done to them already is not repeated."""
    if changed.variables == config.variables:
        return data
    variables: dict[str, Variable] = {}
    for name, variable in changed.variables.items():
        before = config.variables.get(name, Variable())
        done = {step: None for step in COARSENINGS if getattr(variable, step) == getattr(before, step)}
        gone = variable.role is Role.DROP and name not in data.frame.columns
        variables |= {} if gone else {name: variable.model_copy(update=done)}
    given = changed.data.model_copy(update={"missing_codes": {}})
    return prepare(data.frame, changed.model_copy(update={"variables": variables, "data": given}))


def advise(
    config: Config, data: Microdata, verdict: Verdict, trial: Trial, possible: Possible = lambda _: True
) -> Advice | None:
    """Return what would bring a refused release within its limits; None for one that was not refused.

    Parameters
    ----------
    data
        The original with every released column.
    trial
        Called at most three times.
    possible
        Tells changes that the method cannot make, which are not advised.
    """
    if verdict.passed:
        return None
    over = [check for check in verdict.checks if not check.passed and check.accepted is None and not check.useful]
    names = {check.name for check in over}
    alone = [check for check in over if not check.releases]
    if not alone:
        return Advice(
            "On its own this release would pass, but earlier releases of the same data have already disclosed all that "
            "the limits allow. Distribute the earlier release again, or use much stronger masks."
        )
    if UNDECIDED in names:
        return undecided_columns(
            config, data, [check.attack for check in over if check.name == UNDECIDED], trial, possible
        )
    if "max_exposed" in names:
        return exposed_keys(config, data, trial, possible)
    if names <= set(MATCHING_LIMITS) and all(check.deciding is None for check in over):
        return Advice(
            f"{', '.join(sorted(names))} could not be measured, and no mask changes that. Set key: true for every "
            "column that an intruder may know, or set these limits to null."
        )
    if "max_memorised" in names or config.synthesis.association == "cart":
        return _other_model(config, trial)
    if names & set(MASKED) and _masked(config):
        return _wider_masks(config, data, verdict, trial, possible)
    return _to_blame(config, data, [], trial, possible)


def _wider_masks(config: Config, data: Microdata, verdict: Verdict, trial: Trial, possible: Possible) -> Advice:
    """Return masks that pass and are not wider than they need be, as far as three trials tell."""
    tried: list[Config] = []

    def attempt(factor: float) -> tuple[Config, Verdict | None]:
        changed = widened(config, factor, data.schema)
        tried.append(changed)
        return changed, trial(changed)

    widest, found = attempt(WIDEST)
    if found is not None and (logs := _logs_from_the_smallest(config, data, found)):
        return _other_zero(config, data, logs, len(tried))
    factor = min(max(excess(verdict) ** STEEP, NARROWEST), WIDEST / NARROWEST)
    if found is None:
        why = "The masks let too much through. These are as much wider as the largest risk is over its limit, untried:"
        return Advice(why, masks_text(widened(config, factor, data.schema)))
    if not found.passed:
        return _to_blame(config, data, tried, trial, possible)
    best, expected = widest, found
    for _ in range(MOST_TRIALS - 1):
        changed, again = attempt(factor)
        if again is None:
            tried.pop()
            break
        if again.passed:
            best, expected = changed, again
            break
        factor = math.sqrt(factor * WIDEST)
    why = "The masks let too much through; wider ones bring every risk within its limit."
    return Advice(why, masks_text(best), len(tried), expected)


def _logs_from_the_smallest(config: Config, data: Microdata, verdict: Verdict) -> list[str]:
    """Return the keys that are worked on as logs from their own smallest value, where an extreme person is found."""
    found = any(not one.passed and one.name == "max_individual" and one.attack == EXTREMES for one in verdict.checks)
    return [
        column.name
        for column in data.schema.replaced()
        if found
        and column.key
        and column.transform == "log"
        and column.bounds is not None
        and column.bounds[0] > 0
        and (said := config.variables.get(column.name)) is not None
        and said.bounds_from == "data"
    ]


def _other_zero(config: Config, data: Microdata, names: Sequence[str], tried: int) -> Advice:
    """Return bounds that no record has: log(1 + x - lowest) puts the person with the lowest value far from all."""
    change: dict[str, Any] = {}
    for name in names:
        bounds = data.schema[name].bounds or (0.0, 1.0)
        said = {key: value for key, value in given_settings(config.variables[name]).items() if key != "bounds_from"}
        change[name] = {**said, "bounds": [0, int(10 ** math.ceil(math.log10(2 * bounds[1])))]}
    return Advice(
        f"Wider masks no longer help: {', '.join(names)} taken as logs from the smallest value in the data, so that "
        "the person who has it is an outlier. Start from zero, and end beyond any possible value:",
        as_text({"variables": change}),
        tried,
    )


def _to_blame(config: Config, data: Microdata, tried: list[Config], trial: Trial, possible: Possible) -> Advice:
    """Return what else is to blame where masks no longer help: a kept key, the model, or the number of copies."""
    said = "Wider masks no longer help" if tried else f"Method {config.synthesis.method} masks nothing"
    keys = [column.name for column in data.schema.kept() if column.key]
    left = MOST_TRIALS - len(tried)
    if keys:
        why = f"{said}: {kept_keys(keys)}, so {'they are' if len(keys) > 1 else 'it is'} known exactly."
        # coarser keys are still known exactly: replaced first
        options = {name: options_for(config, data, name, keys, possible)[::-1] for name in keys}
        options = {name: [o for o in some if o != GONE] + [GONE] for name, some in options.items()}
        return least_change(config, why, options, trial, possible, most=left, before=len(tried))
    copies = config.synthesis.copies
    if tried and left > 0 and copies > 2:
        fewer = config.model_copy(update={"synthesis": config.synthesis.model_copy(update={"copies": 2})})
        wide = widened(fewer, WIDEST, data.schema) if _masked(config) else fewer
        found = trial(wide)
        tried.append(wide)
        if found is not None and found.passed:
            change = as_text({"synthesis": _synthesis(config, {"copies": 2})})
            change += masks_text(wide) if _masked(config) else ""
            return Advice(f"{said} with {copies} copies: fewer let less through.", change, len(tried), found)
    kept = [column.name for column in data.schema.kept()]
    told = f" The kept columns {', '.join(kept[:5])} tell the model who is who: replace or drop some." if kept else ""
    return Advice(f"{said}: the risk comes from what the model knows of every record.{told}", "", len(tried))


def _other_model(config: Config, trial: Trial) -> Advice:
    """Return a model that hands on no values of donors, or one that is shrunk more where it has too many levels."""
    name = config.synthesis.association or config.synthesis.method
    if name == "regression":
        return _tighter(config, trial)
    block = _synthesis(config, {"model": {"method": "regression"}})
    changed = reworded(config, "synthesis", block)
    found = trial(changed) if changed is not None else None
    why = f"Model {name} memorises: it passes on values of the records it was fitted to."
    if found is None:
        tried = int(changed is not None)
        return Advice(
            f"{why} Replace it by a model that draws from a distribution, such as regression or copula.", trials=tried
        )
    return Advice(why, as_text({"synthesis": block}), 1, found)


def _synthesis(config: Config, change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole block of the synthesis with something changed."""
    return {**given_settings(config.synthesis), "method": config.synthesis.method, **change}


def _tighter(config: Config, trial: Trial) -> Advice:
    """Return regressions with a tighter prior: with nearly a parameter a record they repeat what they have seen."""
    why = "Model regression has so many parameters for so few records that it repeats combinations it has seen"
    said = given_settings(config.synthesis).get("model") or {}
    for tried, prior in enumerate(PRIORS, start=1):
        block = _synthesis(config, {"model": {"method": "regression", **said, "prior_sd": prior}})
        changed = reworded(config, "synthesis", block)
        found = trial(changed) if changed is not None else None
        if found is not None and found.passed:
            return Advice(f"{why}; a tighter prior helps.", as_text({"synthesis": block}), tried, found)
    return Advice(f"{why}. Group rare levels (rare: 20), keep fewer columns, or use model: copula.", "", len(PRIORS))


def excess(verdict: Verdict) -> float:
    """Return the largest ratio of a risk to its limit, of those that masks can change."""
    ratios = [
        float(check.deciding) / check.limit if check.limit else float(check.deciding) + 1.0
        for check in verdict.checks
        if check.name in MASKED and check.deciding is not None and not check.releases
    ]
    return max(ratios, default=1.0)


def widened(config: Config, factor: float, schema: Schema) -> Config:
    """Return a config whose masks are wider by a factor."""

    def block(masks: Mapping[str, AnyMask]) -> dict[str, AnyMask]:
        return {name: mask.wider(factor, max(2, len(schema[name].levels))) for name, mask in masks.items()}

    groups = {group: block(masks) for group, masks in config.masks_by_group.items()}
    return config.model_copy(update={"masks": block(config.masks), "masks_by_group": groups})


def masks_text(config: Config) -> str:
    """Return the masks of a config as it would say them."""

    def block(masks: Mapping[str, AnyMask]) -> dict[str, Any]:
        return {name: {**given_settings(mask), "method": mask.method} for name, mask in masks.items()}

    groups = {group: block(masks) for group, masks in config.masks_by_group.items()}
    shown = {"masks": block(config.masks), "masks_by_group": groups}
    return as_text({name: said for name, said in shown.items() if said})


def _masked(config: Config) -> bool:
    return config.synthesis.mask_drawn is not None and bool(config.masks or config.masks_by_group)
