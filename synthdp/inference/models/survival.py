"""Cox's proportional hazards, with weights; tied times as Breslow has them."""

from dataclasses import dataclass

import numpy as np

from synthdp.errors import InputError
from synthdp.inference.formulas import Design, Positions
from synthdp.inference.models.likelihood import numeric_response, orthogonal
from synthdp.inference.models.newton import conclude, maximise
from synthdp.inference.models.protocol import Fit
from synthdp.microdata import Floats


@dataclass(frozen=True, eq=False, repr=False)
class PartialLikelihood:
    """Σ over events of w_i (x_i'β − log S0(t_i)), S0(t) the weighted risk exp(x'β) of everyone still there at t.

    Records are sorted by time; ``first`` and ``last`` are where the records of the same time begin and end.
    """

    x: Floats
    event: Floats
    first: Positions
    last: Positions

    def log_likelihood(self, theta: Floats, weights: Floats) -> float:
        """Return the weighted log partial likelihood."""
        linear = self.x @ theta
        peak = float(linear.max())
        at_risk = self._at_risk(weights * np.exp(linear - peak))
        events = weights * self.event
        each = np.where(events > 0, linear - peak - np.log(at_risk), 0.0)
        return float(events @ each)

    def scores(self, theta: Floats, weights: Floats) -> Floats:
        """Return what each record adds to the score: its own event, less its part in the risk of others' events.

        References
        ----------
        Lin and Wei (1989), JASA 84, 1074–1078; with weights Binder (1992), Biometrika 79, 139–147.
        """
        risk, events, mean, hazard, drift = self._parts(theta, weights)
        return events[:, None] * (self.x - mean) - risk[:, None] * (hazard[:, None] * self.x - drift)

    def information(self, theta: Floats, weights: Floats) -> Floats:
        """Return the weighted information; the risk sets are summed by cumulative hazard, so it costs O(n p²)."""
        risk, events, mean, hazard, _ = self._parts(theta, weights)
        return np.asarray(
            self.x.T @ (self.x * (risk * hazard)[:, None]) - mean.T @ (mean * events[:, None]),
        )

    def _parts(self, theta: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        linear = self.x @ theta
        risk = weights * np.exp(linear - linear.max())
        at_risk = self._at_risk(risk)
        # late records of weight zero (of a replicate) may leave a risk set empty; none of them is an event that counts
        share = np.divide(1.0, at_risk, out=np.zeros_like(at_risk), where=at_risk > 0)
        mean = self._at_risk(risk[:, None] * self.x) * share[:, None]
        events = weights * self.event
        hazard = np.cumsum(events * share)[self.last]
        drift = np.cumsum((events * share)[:, None] * mean, axis=0)[self.last]
        return risk, events, mean, hazard, drift

    def _at_risk(self, each: Floats) -> Floats:
        return np.asarray(np.cumsum(each[::-1], axis=0)[::-1][self.first])


def cox(design: Design, status: Floats | None, weights: Floats | None, where: str) -> Fit:
    """Return the Cox fit; ``status`` is 1 where the time ends with the event, None when all do."""
    time = numeric_response(design, "cox", where)
    if (time < 0).any():
        raise InputError(f"{where}: cox needs times that are not negative, found {int((time < 0).sum())} that are.")
    chosen = [name != "Intercept" for name in design.names]  # the baseline hazard takes its place
    names = tuple(name for name in design.names if name != "Intercept")
    if not names:
        raise InputError(f"{where}: cox needs at least one term beside the intercept.")
    event = np.ones(len(time)) if status is None else status
    if not event.any():
        raise InputError(f"{where}: cox needs at least one event, found none.")
    matrix = design.matrix[:, chosen]
    basis, upper = orthogonal(matrix - matrix.mean(axis=0))
    if (np.abs(np.diag(upper)) < 1e-12 * np.abs(matrix).max()).any():
        raise InputError(f"{where}: a term is the same for every record; leave it out.")
    order = np.argsort(time, kind="stable")
    ranked = time[order]
    likelihood = PartialLikelihood(
        x=basis[order],
        event=event[order],
        first=np.searchsorted(ranked, ranked, side="left"),
        last=np.searchsorted(ranked, ranked, side="right") - 1,
    )
    each = (np.ones(len(time)) if weights is None else weights)[order]
    found = maximise(likelihood, np.zeros(len(names)), each, where=where, model="cox")
    fit = conclude(likelihood, found, each, names, np.asarray(np.linalg.inv(upper), dtype=np.float64))
    influence = np.empty_like(fit.influence)
    influence[order] = fit.influence
    return Fit(fit.names, fit.values, fit.covariance, influence, None)
