"""Audits of every mechanism, with simulated and with secure noise, beside mechanisms that are wrong on purpose."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from synthdp.privacy.audit.judging import Case, judge
from synthdp.privacy.audit.shipped import shipped
from synthdp.privacy.mechanisms import Secure
from synthdp.seeding import Streams
from synthdp.studies.planted import planted
from synthdp.studies.runner import save, table

SECURE_SHARE = 10
PLANTED_SHARE = 10


def run(*, out: Path, jobs: int = 1, replications: int = 200_000, seed: int = 20258) -> dict[str, Any]:
    """Audit everything and write what was found; ``jobs`` is not used.

    ``replications`` are runs on each data set with simulated noise; the secure source, which is slow, and the planted
    mistakes, which are easy, get a share of them.
    """
    began = time.perf_counter()
    streams = Streams(seed)
    results = {
        "simulated": _audit(shipped(), replications, streams.generator("simulated")),
        "secure": _audit(shipped(Secure()), replications // SECURE_SHARE, streams.generator("secure")),
        "planted": _audit(planted(), replications // PLANTED_SHARE, streams.generator("planted")),
    }
    settings = {"replications": replications, "seed": seed, "level": 0.001}
    save(out, study="audits", settings=settings, results=results, page=_page(results), began=began)
    return results


def _audit(cases: Sequence[Case], runs: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    return [
        {
            "mechanism": verdict.name,
            "promised": round(verdict.promised, 3),
            "at_least": round(verdict.found.epsilon, 3),
            "delta": verdict.found.delta,
            "runs": 2 * verdict.found.runs,
            "p_adjusted": float(f"{verdict.adjusted:.2g}"),
            "refuted": verdict.broken,
        }
        for verdict in judge(cases, runs=runs, rng=rng)
    ]


def _page(results: dict[str, Any]) -> str:
    def lines(name: str) -> str:
        rows = results[name]
        return table(list(rows[0]), [list(row.values()) for row in rows])

    refuted = {name: sum(row["refuted"] for row in rows) for name, rows in results.items()}
    return f"""# Audits: do the mechanisms keep their promises?

Each mechanism is run many times on two neighbouring data sets that are hard for it. Half of the runs teach a score
that tells the two apart; on the other half its errors are counted. *promised* is the ε of the mechanism at the δ
beside it, *at_least* what ε must be at least to explain the errors, *p_adjusted* how surprising the errors are under
the promised trade-off function, after correction for the number of mechanisms; a promise is refuted at 0.001 over
the whole table. *at_least* below *promised* proves nothing: the auditor may have looked in the wrong place.
Regenerate: `python -m synthdp.studies audits`.

## Simulated noise: {refuted["simulated"]} of {len(results["simulated"])} refuted

{lines("simulated")}

## Secure noise: {refuted["secure"]} of {len(results["secure"])} refuted

{lines("secure")}

## Wrong on purpose: {refuted["planted"]} of {len(results["planted"])} refuted, all should be

{lines("planted")}
"""
