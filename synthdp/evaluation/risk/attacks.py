"""The attacks by name: each takes the files and says what its intruder achieves."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.bayes import NAME as BAYES
from synthdp.evaluation.risk.identity import evaluate_identity, evaluate_original
from synthdp.evaluation.risk.intruders import evaluate_intruder
from synthdp.evaluation.risk.knowledge import Intruder
from synthdp.evaluation.risk.likelihood import evaluate_likelihood
from synthdp.evaluation.risk.linking import evaluate_linked
from synthdp.microdata import Floats
from synthdp.neighbours.loops import Booleans
from synthdp.seeding import Streams

NOTABLE_RISK = 0.2
UNTRACED = "rows of these files cannot be traced to records (evaluation.rows: none)"
KEYLESS = "no column is declared as key: true, so there is no intruder to model"


class Finding(Protocol):
    """What an identity attack found: figures about the file, and who was found."""

    @property
    def individual(self) -> Floats:
        """The probability given to each record's own row; NaN for records that were not attacked."""

    @property
    def true_match_mask(self) -> Booleans:
        """Whether the intruder's only best match is right, record by record."""

    def section(self) -> dict[str, Any]:
        """Return the attack's section of metrics.json."""


class Attack(Protocol):
    """An identity attack; refuses with InputError, by its name, on files it cannot be made on."""

    def __call__(self, comparison: Comparison, *, rng: np.random.Generator) -> Finding:
        """Attack the copies."""


IDENTITY: Mapping[str, Attack] = {
    "identity": partial(evaluate_identity, averaged=False),
    "identity_averaged": partial(evaluate_identity, averaged=True),
    "identity_linked": evaluate_linked,
    "identity_likelihood": evaluate_likelihood,
}
# these find out by themselves which row is whose
WITHOUT_ROWS = ("identity_linked",)
# these know how the copies were made, so whoever made them has to hand them in
INFORMED = (BAYES,)
UNINFORMED = (
    "knows mask, model and parameters, so it needs a run that makes the copies; files made elsewhere are attacked by "
    "identity_likelihood."
)

# any other measure of risk: what it returns goes into metrics.json as it is
Measure = Callable[[Comparison, np.random.Generator], Any]


@dataclass
class Attacked:
    """What all attacks came to.

    Parameters
    ----------
    sections
        By name, for metrics.json; an attack that could not be made has its ``reason``.
    judged
        The sections the gate reads: attacks that were made on rows that can be traced.
    findings
        The identity attacks that were made.
    """

    sections: dict[str, Any] = field(default_factory=dict)
    judged: dict[str, Any] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)


def attack(
    comparison: Comparison,
    names: Collection[str],
    *,
    streams: Streams,
    intruders: Mapping[str, Intruder] | None = None,
    measures: Mapping[str, Measure] | None = None,
    informed: Mapping[str, Attack] | None = None,
) -> Attacked:
    """Make every attack that was asked for; one that cannot be made says why in its place.

    Parameters
    ----------
    names
        Of ``IDENTITY``, ``INFORMED`` or ``measures``.
    intruders
        More intruders by name; their figures stand under ``intruders``, and the gate judges them like other attacks.
    measures
        Evaluators of other risks by name, such as ``attribute``.
    informed
        Intruders who know how the copies were made, by name; one of ``INFORMED`` that is not here says what it needs.

    Raises
    ------
    InputError
        If rows are said to be aligned and an attack still cannot be made.
    """
    found = Attacked()
    made = {**IDENTITY, **(informed or {})}
    for name in names:
        rng = streams.generator("evaluate", name)
        if name in INFORMED and name not in made:
            found.sections[name] = {"reason": f"{name}: {UNINFORMED}"}
        elif name not in made:
            found.sections[name] = found.judged[name] = (measures or {})[name](comparison, rng)
        elif not comparison.schema.keys():
            found.sections[name] = {"reason": KEYLESS}
        elif not comparison.aligned and name not in WITHOUT_ROWS:
            found.sections[name] = {"reason": UNTRACED}
        else:
            _make(found, name, made[name], comparison, rng)
    if found.findings and comparison.aligned:
        original = evaluate_original(comparison, rng=streams.generator("evaluate", "original"))
        found.sections["original"] = original.section()
    if intruders:
        found.sections["intruders"] = _ask(found, comparison, intruders, streams)
    return found


def _make(found: Attacked, name: str, how: Attack, comparison: Comparison, rng: np.random.Generator) -> None:
    try:
        made = how(comparison, rng=rng)
    except InputError as error:
        # files of another tool may lack what this intruder needs, and the other attacks are still worth making
        if name not in WITHOUT_ROWS:
            raise
        found.sections[name] = {"reason": str(error)}
        return
    found.findings[name] = made
    found.sections[name] = made.section()
    # without rows some of an intruder's successes go unseen, which must not pass for safety
    if comparison.aligned:
        found.judged[name] = found.sections[name]


def _ask(
    found: Attacked, comparison: Comparison, intruders: Mapping[str, Intruder], streams: Streams
) -> dict[str, Any]:
    if not comparison.aligned:
        return {name: {"reason": UNTRACED} for name in intruders}
    sections = {
        name: evaluate_intruder(comparison, intruder, name=name, rng=streams.generator("evaluate", "intruders", name))
        for name, intruder in intruders.items()
    }
    found.judged |= {f"identity as {name!r}": section for name, section in sections.items()}
    return sections


def records_at_risk(comparison: Comparison, findings: Mapping[str, Finding]) -> pd.DataFrame:
    """Return the records an attack finds or comes close to finding, the most exposed first: no values."""
    tables = []
    for name, finding in findings.items():
        shown = np.flatnonzero(finding.true_match_mask | (finding.individual >= NOTABLE_RISK))
        reasons = np.where(finding.true_match_mask[shown], "the intruder's only best match is right", "few candidates")
        groups = comparison.groups.iloc[shown].astype(str).to_numpy() if comparison.groups is not None else ""
        tables.append(
            pd.DataFrame(
                {
                    "record": shown + 1,
                    "attack": name,
                    "group": groups,
                    "risk": finding.individual[shown],
                    "reason": reasons,
                }
            )
        )
    if not tables:
        return pd.DataFrame(columns=["record", "attack", "group", "risk", "reason"])
    return pd.concat(tables).sort_values("risk", ascending=False, kind="stable", ignore_index=True)
