"""Advice, and what can be done about columns that are kept: coarser, replaced or dropped, tried before it is said."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from synthdp.config import Config, parse
from synthdp.errors import SynthdpError
from synthdp.evaluation.gate import Check, Verdict
from synthdp.evaluation.risk.undecided import coarser, coarser_together, undecided
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Kind

MOST_TRIALS = 3
# levels of fewer records than this are grouped
COMMON = 10
GONE: Mapping[str, Any] = {"role": "drop"}
Options = Mapping[str, Sequence[Mapping[str, Any]]]

# judges a changed config over fresh draws; None where the change cannot be made, or a trial would take too long
Trial = Callable[[Config], Verdict | None]
# whether a changed config could be run at all, which costs no draw
Possible = Callable[[Config], bool]


@dataclass(frozen=True)
class Advice:
    """What would help, as the config would say it.

    Parameters
    ----------
    why
        What is to blame, in a sentence.
    change
        The lines to paste; empty where no change of the config is known to help.
    trials
        How many changed configs were judged to find it.
    verdict
        Of the last trial: what the change is expected to come to.
    """

    why: str
    change: str = ""
    trials: int = 0
    verdict: Verdict | None = None

    def section(self) -> dict[str, Any]:
        """Return ``gate.advice`` of metrics.json."""
        found: dict[str, Any] = {"why": self.why, "change": self.change, "trials": self.trials}
        if self.verdict is not None:
            found["expected"] = {
                "verdict": self.verdict.judgement,
                "risk": [_line(check) for check in _worst_of_each(self.verdict)],
                "overlap": _overlap(self.verdict),
            }
        return found


def undecided_columns(config: Config, data: Microdata, names: list[str], trial: Trial, possible: Possible) -> Advice:
    """Return what makes safe the kept columns on which nobody has decided."""
    fixed = [name for name in names if data.schema[name].design is not None]
    options = {
        one.name: options_for(config, data, one.name, one.sets[0].columns, possible)
        for one in undecided(data)
        if one.name in names and one.name not in fixed
    }
    stays = f" {', '.join(fixed)} must stay as the survey's design has it: decide key: true or false." if fixed else ""
    why = (
        f"Nobody has said whether an intruder may know these kept columns.{stays} Where nobody can, write key: false; "
        "where somebody may, write this:"
    )
    return least_change(config, why, options, trial, possible, first=nobody_alone(config, data, options))


def exposed_keys(config: Config, data: Microdata, trial: Trial, possible: Possible) -> Advice:
    """Return what is done about people who are alone with keys that are kept."""
    keys = [column.name for column in data.schema.kept() if column.key]
    free = [name for name in keys if data.schema[name].design is None]
    options = {name: options_for(config, data, name, keys, possible) for name in free}
    why = (
        f"{kept_keys(keys)}: anyone alone with {'them' if len(keys) > 1 else 'it'} is found with "
        "certainty. Coarsen what is too detailed, replace it, or drop it."
    )
    return least_change(config, why, options, trial, possible, first=nobody_alone(config, data, options))


def nobody_alone(config: Config, data: Microdata, options: Options) -> Mapping[str, Mapping[str, Any]]:
    """Return the least coarsening of columns that leaves nobody alone on all kept keys together.

    A column that no coarsening makes fit is replaced where the method can, and dropped otherwise.
    """
    kept = [column for column in data.schema.kept() if column.design is None]
    known = [column.name for column in kept if column.name in options or (column.key and column.key_decided)]
    change: dict[str, Mapping[str, Any]] = {}
    limit = config.limits.limit("max_exposed") or 0.0
    for name, setting in coarser_together(data, sorted(known), most=limit).items():
        undecided_yet = not data.schema[name].key_decided
        if setting is None:
            last = options.get(name, (GONE,))[-2:]
            change[name] = last[0] if last[0].get("role") == "replace" else GONE
        elif setting or undecided_yet:
            change[name] = {**(_settings(setting) if setting else {}), "key": True}
    return change


def options_for(
    config: Config, data: Microdata, name: str, among: Sequence[str], possible: Possible
) -> list[Mapping[str, Any]]:
    """Return what can be done to a kept key, the least first; coarser and replaced only where the method can."""
    found: list[Mapping[str, Any]] = []
    rare = {"rare": COMMON} if data.schema[name].kind is Kind.NOMINAL else {}
    # None where nothing would leave clearly fewer records unique
    less = coarser(data, name, among)
    for settings in (rare if less is None else _settings(less.setting), {"role": "replace"}):
        changed = _declared(config, {name: {**settings, "key": True}}) if settings else None
        if changed is not None and possible(changed):
            found.append({**settings, "key": True})
    return [*found, GONE]


def least_change(
    config: Config,
    why: str,
    options: Options,
    trial: Trial,
    possible: Possible,
    *,
    most: int = MOST_TRIALS,
    before: int = 0,
    first: Mapping[str, Mapping[str, Any]] | None = None,
) -> Advice:
    """Return the least change of columns that passes, as far as the trials tell; else the one that fails least.

    What can be done is done to all columns at once, a step further where it does not suffice. ``first`` is tried
    before all of it.
    """
    best, trials = Advice(why, trials=before), 0
    seen: list[Mapping[str, Any]] = []
    steps = range(max(map(len, options.values()), default=0))
    changes = [{name: some[min(step, len(some) - 1)] for name, some in options.items()} for step in steps]
    for change in ([dict(first)] if first else []) + changes:
        changed = _declared(config, change)
        if change in seen or changed is None or not possible(changed):
            continue
        seen.append(change)
        found = trial(changed) if trials < most else None
        trials += trials < most
        most = most if found is not None else 0  # it could be made, so it is a trial that takes too long
        advice = Advice(why, _variables(changed, change), before + trials, found)
        if found is not None and found.passed:
            return advice
        if not best.change or _failing(found) < _failing(best.verdict):
            best = advice
    return replace(best, trials=before + trials)


def _failing(verdict: Verdict | None) -> float:
    """Return how many limits are not kept; more than any number where that was not tried."""
    if verdict is None:
        return math.inf
    return len({check.name for check in verdict.checks if not check.passed and not check.useful})


def _declared(config: Config, change: Mapping[str, Mapping[str, Any]]) -> Config | None:
    """Return a config that says more of some columns; None where that is no config."""
    given = given_settings(config).get("variables", {})
    new = {name: dict(GONE) if more == GONE else {**given.get(name, {}), **more} for name, more in change.items()}
    return reworded(config, "variables", given | new)


def reworded(config: Config, section: str, said: Mapping[str, Any]) -> Config | None:
    """Return a config that says something else in one section; None where that is no config."""
    try:
        return parse({**given_settings(config), section: said})
    except SynthdpError:
        return None


def _variables(config: Config, names: Collection[str]) -> str:
    """Return the whole lines of some columns: a pasted one takes the place of the old, whose other settings stay."""
    return as_text({"variables": {name: given_settings(config.variables[name]) for name in names}})


def given_settings(settings: Any) -> dict[str, Any]:
    """Return what a config says of itself, without defaults."""
    return dict(settings.model_dump(mode="json", exclude_unset=True))


def kept_keys(keys: Sequence[str]) -> str:
    """Return the beginning of a sentence about one kept key or several."""
    return f"{', '.join(keys)} {'are keys and' if len(keys) > 1 else 'is a key and'} kept"


def _settings(text: str) -> dict[str, Any]:
    """Return "round: 5 and topcode: 90" as settings."""
    return {key: value for part in text.split(" and ") for key, value in yaml.safe_load(part).items()}


def as_text(change: Mapping[str, Any]) -> str:
    """Return settings as YAML, one line for each column."""
    return str(yaml.safe_dump(dict(change), default_flow_style=None, sort_keys=False, allow_unicode=True, width=120))


def _worst_of_each(verdict: Verdict) -> list[Check]:
    worst: dict[str, Check] = {}
    for one in verdict.checks:
        if one.useful or one.deciding is None:
            continue
        if one.name not in worst or one.deciding > (worst[one.name].deciding or 0):
            worst[one.name] = one
    return list(worst.values())


def _line(check: Check) -> dict[str, Any]:
    return {"name": check.name, "attack": check.attack, "value": check.value, "high": check.high, "limit": check.limit}


def _overlap(verdict: Verdict) -> float | None:
    found = [check.value for check in verdict.checks if check.name == "min_overlap" and check.value is not None]
    return min(found, default=None)
