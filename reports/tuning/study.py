"""The two dials of a mask: error falls and risk rises with the information in W, under a wrong association model.

Data from ``datasets.wrong_model`` (the association is quadratic), synthesised with a linear one. One dial is turned at
a time: K/σ² for the continuous column, α for the binary one, the other mask held at a middle value. The same data
sets and noise serve every setting, so that curves differ by the dial alone.
"""

from typing import Any

import numpy as np

from reports import figures
from reports.cells import apart
from reports.estimators import design, probit
from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp.datasets.known_truth import wrong_model, wrong_model_truth
from synthdp.inference.combining import combine
from synthdp.masking.categorical import ShiftedNormal
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import MaskSettings
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Floats, resolve
from synthdp.table.schema import Role, Variable
from synthdp.tagging.groups import Neighbours, tag
from synthdp.tagging.neighbours import encode_keys, match

N = 500
TOLERANCE = 0.5
COPIES = (3, 20)
INFORMATION = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
ALPHA = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
MIDDLE = (3.0, 2.0)
TERMS = ("Intercept", "z", "x1", "x2")


def settings() -> list[tuple[str, float, float, float]]:
    """Return (dial, its value, K/σ², α) of every point on the two curves."""
    information = [("information", value, value, MIDDLE[1]) for value in INFORMATION]
    return information + [("alpha", value, MIDDLE[0], value) for value in ALPHA]


def one_replication(r: int, *, seed: int) -> Floats:
    """Return squared errors against the truth and the original, and the risk: settings × copies × (2·terms + 1)."""
    frame = wrong_model(N, rng=Streams(seed).generator("data", r))
    variables = {
        "x1": Variable(role=Role.REPLACE, key=True, tolerance=TOLERANCE),
        "x2": Variable(role=Role.REPLACE, key=True),
    }
    data = resolve(frame, variables)
    tags = tag(data, Neighbours())
    truth = np.asarray([wrong_model_truth()["probit"][term] for term in TERMS])
    original = probit(frame["y"].to_numpy(float), design(frame, "z", "x1", "x2"), TERMS).values
    streams = apart(seed, "study", r)
    rows = []
    for _, _, information, alpha in settings():
        masks: dict[str, MaskSettings] = {"x1": Gaussian(sd=float(information**-0.5)), "x2": ShiftedNormal(alpha=alpha)}
        copies = DaMi(copies=max(COPIES)).synthesize(Plan(data, tags, masks), streams=streams).copies
        estimates = [probit(copy["y"].to_numpy(float), design(copy, "z", "x1", "x2"), TERMS) for copy in copies]
        target, *files = encode_keys([frame, *copies], data.schema.keys())
        row = []
        for count in COPIES:  # the first copies are the same for a larger number of copies
            pooled = combine(estimates[:count], rule="reiter2003").estimate
            risk = match(target, files[:count]).individual.mean()
            row.append([*(pooled - truth) ** 2, *(pooled - original) ** 2, risk])
        rows.append(row)
    return np.asarray(rows)


def summarise(draws: Floats) -> list[dict[str, Any]]:
    """Return errors and risk at every point of both dials."""
    rows = []
    for s, (dial, value, information, alpha) in enumerate(settings()):
        for c, copies in enumerate(COPIES):
            errors = np.sqrt(draws[:, s, c, :-1].mean(axis=0)).reshape(2, len(TERMS))
            total = np.sqrt((errors**2).mean(axis=1))
            rows.append(
                {
                    "dial": dial,
                    "value": value,
                    "information": information,
                    "alpha": alpha,
                    "copies": copies,
                    "rmse": round(float(total[0]), 5),
                    "rmse_from_original": round(float(total[1]), 5),
                    **{f"rmse_{term}": round(float(errors[0, t]), 5) for t, term in enumerate(TERMS)},
                    "mean_individual": round(float(draws[:, s, c, -1].mean()), 5),
                }
            )
    return rows


def monotone(draws: Floats) -> dict[str, bool]:
    """Return, per dial and number of copies, whether error falls and risk rises at every step of the dial.

    A step the wrong way counts only beyond two standard errors of its paired difference: where the mask lets nearly
    everything through the curves are flat, and data sets decide the last digit.
    """
    measures = {"error falls": slice(0, len(TERMS)), "distance from the original falls": slice(len(TERMS), -1)}
    verdicts = {}
    for dial in ("information", "alpha"):
        here = [s for s, point in enumerate(settings()) if point[0] == dial]
        for c, copies in enumerate(COPIES):
            for name, part in measures.items():
                verdicts[f"{dial}, M={copies}: {name}"] = _falls(draws[:, here, c, part].mean(axis=2))
            verdicts[f"{dial}, M={copies}: risk rises"] = _falls(-draws[:, here, c, -1])
    return verdicts


def _falls(curves: Floats) -> bool:
    steps = np.diff(curves, axis=1)
    errors = steps.std(axis=0) / np.sqrt(len(steps))
    return bool((steps.mean(axis=0) <= 2 * errors).all())


def page(results: Results, chosen: Results) -> str:
    """Return the page."""
    names = {
        "dial": "dial",
        "value": "value",
        "copies": "M",
        "rmse": "RMSE",
        "rmse_from_original": "RMSE from original",
    }
    names |= {f"rmse_{term}": f"RMSE {term}" for term in TERMS} | {"mean_individual": "mean individual risk"}
    verdicts = "\n".join(f"* {name}: {'yes' if holds else 'no'}" for name, holds in results["monotone"].items())
    return f"""# Tuning a mask under a wrong association model

n = {chosen["n"]}, {chosen["replications"]} data sets; x1 depends on z², x2 on z² and x1²; the association model is
linear. Response: probit on z, x1, x2, all coefficients 0.5. RMSE over the coefficients: against the truth, and against
the estimates on the original data (what synthesis adds). Risk: `mean_individual`, tolerance {chosen["tolerance"]} on
x1, equality on x2. W per copy. Regenerate: `python -m reports tuning`.

![error and risk against the information in W](tuning.svg)

More information in W makes up for a wrong model, and gives more away (no step the wrong way beyond two standard errors
of its paired difference):

{verdicts}

{table_of(results["rows"], list(names), list(names.values()))}
"""


STUDY = replicated(
    "tuning",
    300,
    one_replication,
    lambda draws: {"rows": summarise(draws), "monotone": monotone(draws)},
    page,
    seed=20222,
    n=N,
    tolerance=TOLERANCE,
    draw=lambda results, out: figures.tuning(results["rows"], out / "tuning.svg"),
)
