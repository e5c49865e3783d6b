"""Does the predicted risk hold? Two hundred intrusions into fresh copies of one file, and how often they succeed."""

from typing import Any

import numpy as np
import pandas as pd

from reports import figures
from reports.cells import apart
from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.identity import evaluate_identity
from synthdp.evaluation.risk.likelihood import evaluate_likelihood
from synthdp.masking.categorical import ShiftedNormal
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import MaskSettings
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Floats, Microdata, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

N = 500
COPIES = 5
SD = 4.0
RELEASES = ("noise in every copy", "noise once", "shell noise", "DA-MI")
EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def population(*, rng: np.random.Generator) -> Microdata:
    """Return the file that is attacked: age and sex are released anew, the site as it is; all are known."""
    site = rng.integers(0, 4, N)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50 + 2 * site, 12, N),
            "sex": np.where(rng.random(N) < 0.7, "F", "M"),
            "site": np.asarray(list("abcd"))[site],
            "score": rng.normal(0.5 * site, 1.0, N),
        }
    )
    variables = {
        "age": Variable(kind="continuous", role="replace", key=True, tolerance=3),
        "sex": Variable(kind="binary", role="replace", key=True),
        "site": Variable(kind="nominal", key=True),
    }
    return resolve(frame, variables)


def release(data: Microdata, kind: str, streams: Streams) -> tuple[pd.DataFrame, ...]:
    """Return fresh copies of the file."""
    if kind == "DA-MI":
        masks: dict[str, MaskSettings] = {"age": Gaussian(sd=0.3), "sex": ShiftedNormal(alpha=2)}
        return DaMi(copies=COPIES).synthesize(Plan(data, tag(data, None), masks), streams=streams).copies
    rng = streams.generator("noise")
    common = rng.normal(0, SD, N) if kind == "noise once" else np.zeros(N)

    def error() -> Floats:
        if kind == "shell noise":
            return rng.choice([-1.0, 1.0], N) * rng.uniform(3.1, 4.0, N)
        return common + rng.normal(0, 1.0, N) if kind == "noise once" else rng.normal(0, SD, N)

    return tuple(data.frame.assign(age=data.frame["age"] + error()) for _ in range(COPIES))


def one_intrusion(r: int, *, seed: int) -> Floats:
    """Return for each release what the intruder claims, whether they are right, and the posterior of the own row.

    The last axis holds N records; matching finds expected and true matches only, which fill its first two places.
    """
    data = population(rng=Streams(seed).generator("data"))
    found = []
    for kind in RELEASES:
        streams = apart(seed, "release", kind, r)
        comparison = Comparison(data.frame, release(data, kind, streams), data.schema, aligned=True)
        risk = evaluate_likelihood(comparison, rng=streams.generator("attack"), permutations=2)
        match = evaluate_identity(comparison, averaged=False, rng=streams.generator("matching"), permutations=2)
        matched = np.zeros(N)
        matched[:2] = match.expected_match, match.true_match
        found.append([np.nan_to_num(risk.confidence), risk.right, risk.individual, matched])
    return np.asarray(found)


def reliability(kind: str, claimed: Floats, right: Floats) -> list[dict[str, Any]]:
    """Return claims and successes by size of the claim; the error is that of whole intrusions, which are independent.

    Parameters
    ----------
    claimed, right
        Shape (intrusions, records).
    """
    place = np.clip(np.searchsorted(EDGES, claimed, side="right") - 1, 0, len(EDGES) - 2)
    rows = []
    for k in range(len(EDGES) - 1):
        inside = place == k
        count = int(inside.sum())
        if count < 100:
            continue
        gap = np.where(inside, right - claimed, 0.0).sum(axis=1)
        rows.append(
            {
                "release": kind,
                "claims": count,
                "predicted": round(float(claimed[inside].mean()), 4),
                "right": round(float(right[inside].mean()), 4),
                "error": round(float(gap.std(ddof=1) * np.sqrt(len(gap)) / count), 4),
            }
        )
    return rows


def _summary(kind: str, draws: Floats) -> dict[str, Any]:
    claimed, right, own, matched = (draws[:, j] for j in range(4))
    links = right.sum(axis=1)
    return {
        "release": kind,
        "predicted_links": round(float(claimed.sum(axis=1).mean()), 2),
        "links": round(float(links.mean()), 2),
        "links_error": round(float(links.std(ddof=1) / np.sqrt(len(links))), 2),
        "expected_match": round(float(matched[:, 0].mean()), 2),
        "true_match": round(float(matched[:, 1].mean()), 2),
        "own_posterior_with_own_frequency": round(float(np.corrcoef(own.mean(axis=0), right.mean(axis=0))[0, 1]), 3),
    }


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    names = ("release", "predicted_links", "links", "links_error", "expected_match", "true_match")
    return f"""# Two hundred intrusions: is the predicted risk real?

One file of {settings["n"]} people (age, sex and site known to the intruder); {settings["replications"]} times it is
released anew in {settings["copies"]} copies, and each time the intruder of `identity_likelihood` points at a row for
every person and says how sure they are. *predicted_links* is the sum of what they claim, *links* how often they are
right; *expected_match* is what matching at a tolerance of 3 years says of the same copies: nothing at all of shell
noise (age moved by 3.1 to 4 years, always). Regenerate: `python -m reports intrusions`.

{table_of(results["summary"], names)}

![claims against successes](intrusions.svg)

Claims by size, all intrusions together (error: one standard error of right - predicted):

{table_of(results["bins"])}
"""


def summarise(draws: Floats) -> Results:
    """Return claims and successes by size of the claim, and one line per release."""
    bins = [line for k, kind in enumerate(RELEASES) for line in reliability(kind, draws[:, k, 0], draws[:, k, 1])]
    return {"bins": bins, "summary": [_summary(kind, draws[:, k]) for k, kind in enumerate(RELEASES)]}


STUDY = replicated(
    "intrusions",
    200,
    one_intrusion,
    summarise,
    page,
    seed=20236,
    n=N,
    copies=COPIES,
    draw=lambda results, out: figures.reliability(results["bins"], out / "intrusions.svg"),
)
