"""What is asked of every method alike: measures by name, functions of the user's own, analyses as functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.comparing.fingerprints import of_function
from synthdp.comparing.laying import Scene
from synthdp.comparing.lines import Line, lines_of, number_of
from synthdp.comparing.methods import takes
from synthdp.config import Config
from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.assessment import assess
from synthdp.evaluation.comparison import Comparison, Making
from synthdp.evaluation.measures import RISK, UTILITY
from synthdp.evaluation.utility.analyses import ci_overlap
from synthdp.inference.combining import DEFAULT_RULE, combine, half_width
from synthdp.inference.estimates import fitted
from synthdp.inference.pooling import estimate_each
from synthdp.seeding import Streams

COMMON_RISK = ("linkage", "linkability", "attribute", "singling", "membership", "memorised")
"""Risks that mean the same for partially and fully synthetic files, aligned or not."""
REFITTING = ("memorised", "membership_shadow")
"""Measures that fit the method anew, many times, and so say the same whatever the copies of a seed are."""
TRUTH_KNOWN = ("analyses",)
LEVEL = 0.95

Own = Callable[[pd.DataFrame, Sequence[pd.DataFrame]], Any]
Fit = Callable[[pd.DataFrame], Any]


@dataclass(frozen=True, repr=False)
class Asked:
    """The measures of a study.

    Parameters
    ----------
    utility, risk
        Measures by name.
    own
        The user's functions of the original and the list of copies, by name; each returns a number, or numbers by name.
    analyses
        The user's functions of one table, by name; each returns a fitted model, or estimates with their covariance.
    """

    utility: tuple[str, ...] = ()
    risk: tuple[str, ...] = ()
    own: Mapping[str, Own] = field(default_factory=dict)
    analyses: Mapping[str, Fit] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What every method has lines of."""
        return (*self.utility, *self.risk, *self.own, *(("analyses",) if self.analyses else ()))

    def again(self) -> "Asked":
        """Return what is asked of the second seed and the others: what does not depend on the copies was asked once."""
        return replace(self, risk=tuple(name for name in self.risk if name not in REFITTING))

    def key(self) -> Any:
        """Return what lines depend on, beside the copies."""
        functions = [{name: of_function(one) for name, one in held.items()} for held in (self.own, self.analyses)]
        return [self.utility, self.risk, functions]


def asked_of(
    config: Config, measures: Any = (), analyses: Mapping[str, Fit] | None = None, *, simulated: bool = False
) -> Asked:
    """Return what is asked: as the config writes, else what holds for files of every kind; functions besides.

    Parameters
    ----------
    measures
        Names of measures and functions; or functions by name.
    simulated
        Whether the truth is known. Then only the analyses are repeated, unless the config names measures.
    """
    written = config.evaluation.model_fields_set
    utility = config.evaluation.utility if "utility" in written or not simulated else TRUTH_KNOWN
    risk = config.evaluation.risk if "risk" in written else () if simulated else COMMON_RISK
    if not config.analyses:
        utility = tuple(name for name in utility if name != "analyses")
    more: dict[str, list[str]] = {"utility": [], "risk": []}
    own: dict[str, Own] = {}
    if isinstance(measures, str) or callable(measures):
        measures = [measures]
    if not isinstance(measures, Iterable):
        raise InputError(
            f"measures: must be names or functions, in a list or by name, found {type(measures).__name__}."
        )
    for name, one in measures.items() if isinstance(measures, Mapping) else ((None, one) for one in measures):
        if isinstance(one, str) and (one in UTILITY or one in RISK):
            more["utility" if one in UTILITY else "risk"].append(one)
        elif callable(one):
            called = str(name or getattr(one, "__name__", type(one).__name__))
            if called in own or called in UTILITY or called in RISK:
                raise InputError(f"measures: the name {called!r} is taken; give measures as a mapping from names.")
            if not takes(one, None, None):
                raise InputError(f"measures.{called}: must take two arguments, the original and the list of copies.")
            own[called] = one
        else:
            found = repr(one) if isinstance(one, str) else type(one).__name__
            raise InputError(
                f"measures: must be names of measures or functions (frame, copies) → number, found {found}; names: "
                f"{', '.join((*UTILITY, *RISK))}."
            )
    if analyses is not None and not isinstance(analyses, Mapping):
        raise InputError(
            "analyses: must be a mapping from names to functions of a table, such as {'work': fit}, found "
            f"{type(analyses).__name__}."
        )
    for name, fit in (analyses or {}).items():
        if name in {one.name for one in config.analyses}:
            raise InputError(f"analyses.{name}: the settings have an analysis of this name; choose another.")
        if not callable(fit):
            raise InputError(
                f"analyses.{name}: must be a function from a table to a fitted model, found {type(fit).__name__}; "
                "analyses by model and formula stand in the settings."
            )
    return Asked(
        tuple(dict.fromkeys((*utility, *more["utility"]))),
        tuple(dict.fromkeys((*risk, *more["risk"]))),
        own,
        dict(analyses or {}),
    )


def take(asked: Asked, scene: Scene, files: Comparison, making: Making | None) -> list[Line]:
    """Return the lines of everything that is asked; what cannot be taken has its reason."""
    files = replace(files, request=scene.config.request(), making=making)
    utility, risk = _sections(asked, files)
    lines = [line for name in asked.utility for line in lines_of(name, utility)]
    lines += [line for name in asked.risk for line in lines_of(name, risk)]
    for name, function in asked.own.items():
        lines += _own(name, function, files)
    for name, fit in asked.analyses.items():
        lines += _analysis(name, fit, files)
    return lines


def _sections(asked: Asked, files: Comparison) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all sections; where a measure insists on what these files lack, the others are taken one by one."""
    streams = Streams(0)  # folds and permutations need no secrecy, and the same copies should give the same numbers
    try:
        found = assess(files, utility=asked.utility, risk=asked.risk, streams=streams)
        return found.utility, found.risk
    except SynthdpError:
        utility: dict[str, Any] = {}
        risk: dict[str, Any] = {}
    for names, sections in ((asked.utility, utility), (asked.risk, risk)):
        for name in names:
            try:
                one = assess(
                    files,
                    utility=[name] * (names is asked.utility),
                    risk=[name] * (names is asked.risk),
                    streams=streams,
                )
                sections |= one.utility | one.risk
            except SynthdpError as error:
                sections[name] = {"reason": " ".join(str(error).split("\n"))}
    return utility, risk


def _own(name: str, function: Own, files: Comparison) -> list[Line]:
    """Return what a function of the user's own finds: a number, or by target a number or (value, low, high)."""
    made = function(files.original.copy(), [copy.copy() for copy in files.copies])
    by_target = made if isinstance(made, Mapping) else {"": made}
    if not by_target:
        return [Line(name, reason="it gave no figure")]
    lines = []
    for target, value in by_target.items():
        parts = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
        if len(parts) not in (1, 3):
            raise InputError(f"measures.{name}: must return a number, or (value, low, high), or either by name.")
        found, low, high = (*(_plain(part, name) for part in parts), None, None)[:3]
        lines.append(Line(name, str(target), found, low, high, "" if found is not None else "it gave no number"))
    return lines


def _plain(value: Any, name: str) -> float | None:
    if value is None:
        return None
    try:
        return number_of(float(value))
    except (TypeError, ValueError):
        raise InputError(
            f"measures.{name}: must return a number, or (value, low, high), or either by name; found "
            f"{type(value).__name__}."
        ) from None


def _analysis(name: str, fit: Fit, files: Comparison) -> list[Line]:
    """Return the lines of an analysis that is a function: the copies' estimates combined, beside the original's."""
    try:
        original = fitted(files.original, fit)
        pooled = combine(
            estimate_each(files.copies, lambda frame: fitted(frame, fit)),
            files.rule or DEFAULT_RULE,
            LEVEL,
            title=name,
            nests=files.nests if files.nests > 1 else None,
        )
    except SynthdpError as error:
        return [Line("analyses.overlap", name, reason=" ".join(str(error).split("\n")))]
    if set(original.names) != set(pooled.names):
        return [Line("analyses.overlap", name, reason="a term of the original is not in the copies, or the reverse")]
    order = [pooled.names.index(term) for term in original.names]
    half = half_width(original.se, np.inf, LEVEL)
    low, high = original.values - half, original.values + half
    overlaps = ci_overlap(low, high, pooled.low[order], pooled.high[order])
    lines = [
        Line("analyses.overlap", name, number_of(float(np.nanmean(overlaps)))),
        Line("analyses.worst", name, number_of(float(np.nanmin(overlaps)))),
    ]
    for j, (term, k) in enumerate(zip(original.names, order, strict=True)):
        target = f"{name}: {term}"
        for figure, ends in (
            ("estimate", (pooled.estimate[k], pooled.low[k], pooled.high[k])),
            ("original", (original.values[j], low[j], high[j])),
        ):
            value, least, most = (number_of(float(one)) for one in ends)
            lines.append(Line(f"analyses.{figure}", target, value, least, most))
        lines.append(Line("analyses.term_overlap", target, number_of(float(overlaps[j]))))
    return lines
