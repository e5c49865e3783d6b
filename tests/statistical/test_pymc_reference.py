"""PyMC as the reference: the engines' own posteriors have the same means and sds, within Monte Carlo error."""

import numpy as np
import pytest
from scipy import stats

from synthdp.imputation.copula.chain import Sampler
from synthdp.imputation.copula.latent import Latent, Shape
from synthdp.imputation.families.normal import LinearPosterior
from synthdp.imputation.families.ordered import Ordered
from synthdp.imputation.families.unordered import Binary
from synthdp.imputation.pymc import sampling
from synthdp.imputation.pymc.families import Outcome
from synthdp.imputation.pymc.program import Pymc
from synthdp.imputation.pymc.sampling import COMPILE, quiet
from synthdp.table.microdata import Floats

pm = pytest.importorskip("pymc")
az = pytest.importorskip("arviz")

pytestmark = pytest.mark.slow
NUTS = Pymc(sampler="nuts", draws=1000, tune=500, least_ess=400)
ERRORS = 4.5


def sampled(model, draws: int = 1000, tune: int = 500, target: float = 0.85) -> dict[str, Floats]:
    """Return chains × draws × entries of each variable."""
    with quiet():
        trace = pm.sample(
            draws=draws, tune=tune, chains=2, cores=1, random_seed=11, progressbar=False, model=model,
            target_accept=target, compute_convergence_checks=False, compile_kwargs=COMPILE,
        )  # fmt: skip
    return {str(name): trace.posterior[name].values.reshape(2, draws, -1) for name in trace.posterior.data_vars}


def agree(ours: Floats, theirs: Floats, what: str) -> None:
    """Check means and sds of two sets of chains × draws × entries, in units of both Monte Carlo errors."""
    assert ours.shape[2] == theirs.shape[2]
    for k in range(ours.shape[2]):
        (mean, error, sd, sd_error), reference = moments(ours[..., k]), moments(theirs[..., k])
        assert abs(mean - reference[0]) < ERRORS * np.hypot(error, reference[1]), f"mean of {what}[{k}]"
        assert abs(sd - reference[2]) < ERRORS * np.hypot(sd_error, reference[3]), f"sd of {what}[{k}]"


def moments(x: Floats) -> tuple[float, float, float, float]:
    """Return mean and sd of chains × draws, each with its Monte Carlo error (the sd's by the delta method)."""
    mean, sd = float(x.mean()), float(x.std())
    squares = (x - mean) ** 2
    error = sd / np.sqrt(float(az.ess(x, method="mean")))
    return mean, error, sd, float(squares.std()) / (2 * sd * np.sqrt(float(az.ess(squares, method="mean"))))


def regression_data(n: int = 80) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(4)
    design = np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.3]).astype(np.float64)
    return design, design @ np.array([0.2, 0.7, -0.5])


def test_normal_regression():
    design, line = regression_data()
    rng = np.random.default_rng(5)
    y, prior_sd = line + 0.8 * rng.normal(size=len(line)), np.array([np.inf, 10.0, 1.0])
    fitted = LinearPosterior.fit(design, y, prior_sd)
    drawn = [fitted.draw(rng=rng) for _ in range(6_000)]
    ours = np.array([[*draw.beta[:, 0], draw.variance] for draw in drawn]).reshape(2, 3_000, -1)
    gram = design.T @ design
    effective = np.trace(np.linalg.solve(gram + np.diag(prior_sd**-2.0), gram))
    with pm.Model() as model:
        log_variance = pm.Flat("log_variance", initval=0.0)
        sd = pm.math.exp(log_variance / 2)
        constant = pm.Flat("constant", initval=0.0)
        slopes = pm.Normal("slopes", 0.0, sd * prior_sd[1:], shape=2)
        # p(σ²) ∝ (σ²)^(-a-1) with a = -effective/2, the Jacobian of the logarithm, and the constant's N(0, σ²τ²), τ → ∞
        pm.Potential("prior", 0.5 * (effective - 1) * log_variance)
        pm.Normal("y", constant + pm.math.dot(design[:, 1:], slopes), sd, observed=y)
    theirs = sampled(model)
    both = np.concatenate([theirs["constant"], theirs["slopes"], np.exp(theirs["log_variance"])], axis=2)
    agree(ours, both, "normal")


@pytest.mark.parametrize("family", ["bernoulli", "ordered"])
def test_regressions_of_levels(family):
    design, line = regression_data()
    rng = np.random.default_rng(6)
    latent, prior_sd = line + rng.logistic(size=len(line)), np.array([np.inf, 2.5, 2.5])
    levels = 2 if family == "bernoulli" else 3
    y = np.digitize(latent, [0.0] if levels == 2 else [-0.8, 0.9]).astype(np.float64)
    engine = Binary("logit") if levels == 2 else Ordered(3, "logit")
    fitted = engine.fit(design, y, prior_sd, rng=rng)
    drawn = [fitted.draw(rng=rng) for _ in range(3_000)]
    if levels == 2:
        ours = np.array([draw.beta[:, 0] for draw in drawn])
    else:
        ours = np.array([[*draw.beta[1:, 0], *draw.cutpoints] for draw in drawn])
    theirs = sampled(Outcome(family, y, levels=levels).program(design, prior_sd[1:]))
    names = ("constant", "slopes") if levels == 2 else ("slopes", "cutpoints")
    agree(ours.reshape(2, 1_500, -1), np.concatenate([theirs[name] for name in names], axis=2), family)


class TestCopula:
    """One continuous, one binary and one ordinal column with three levels; a covariate moves all three.

    Latents are N(Γ'h, Σ) with Σ inverse Wishart (4, I); compared are R and Γ in units of the latents' sds.
    """

    N = 70
    CUTS = np.array([-0.4, 0.7])

    def latent(self) -> Latent:
        rng = np.random.default_rng(7)
        r = np.array([[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]])
        h = (rng.random(self.N) < 0.4).astype(np.float64)[:, None]
        y = h * [0.8, -0.5, 0.0] + rng.multivariate_normal(np.zeros(3), r, self.N)
        level = np.digitize(y[:, 2], self.CUTS)
        edges = np.concatenate([[-np.inf], self.CUTS, [np.inf]])
        lower = np.column_stack([y[:, 0], np.where(y[:, 1] > 0, 0.0, -np.inf), edges[level]])
        upper = np.column_stack([y[:, 0], np.where(y[:, 1] > 0, np.inf, 0.0), edges[level + 1]])
        codes = np.empty((self.N, 0), dtype=np.int64)
        return Latent(Shape.of(3), lower, upper, codes, h, np.full((1, 3), 1.0))

    def reference(self, latent: Latent):
        """Return the same posterior with the binary latents as uniforms and the ordinal ones integrated out.

        Σ = D R D, D the exponentials of ``log_sd``, R by the hyperbolic tangents of partial correlations.
        y₁ is known; y₂ | y₁ inside its interval is Φ⁻¹ of a uniform between the interval's ends, whose probability is a
        factor of the likelihood; y₃ | y₁, y₂ enters by the probability of its interval.
        """
        import pytensor.tensor as pt

        def phi(x):
            return 0.5 * pt.erfc(-x / np.sqrt(2))

        def within(lower, upper, center, sd):
            low, high = (
                pt.where(np.isinf(b), 0.0, (np.where(np.isinf(b), 0.0, b) - center) / sd) for b in (lower, upper)
            )
            return pt.where(np.isinf(lower), 0.0, phi(low)), pt.where(np.isinf(upper), 1.0, phi(high))

        q, nu, h = 3, 4, latent.covariates[:, 0]
        with pm.Model() as model:
            raw = pm.Flat("raw", shape=3, initval=np.zeros(3))
            log_sd = pm.Flat("log_sd", shape=3, initval=np.zeros(3))
            gamma = pm.Normal("gamma", 0.0, 1.0, shape=3)
            t, sd = pt.tanh(raw), pt.exp(log_sd)
            left = pt.sqrt((1 - t[0] ** 2) * (1 - t[1] ** 2))
            r12, r13, r23 = t[0], t[1], t[0] * t[1] + t[2] * left
            det = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
            pm.Deterministic("r", pt.stack([r12, r13, r23]))
            pm.Deterministic("effect", gamma / sd)
            diagonal = pt.stack([1 - r23**2, 1 - r13**2, 1 - r12**2]) / det / sd**2
            prior = -0.5 * (nu + q + 1) * (pt.log(det) + 2 * log_sd.sum()) - 0.5 * diagonal.sum()
            # from Σ to (log sds, R), on to partial correlations, and from these to the real line
            jacobian = (q + 1) * log_sd.sum() + pt.log(left) + pt.log(1 - t**2).sum()
            pm.Potential("prior of sigma", prior + jacobian)
            # residuals in units of their sds
            e1 = (latent.lower[:, 0] - gamma[0] * h) / sd[0]
            pm.Potential("y1", -0.5 * (e1**2).sum() - len(h) * log_sd[0])
            m2, s2 = gamma[1] * h + sd[1] * r12 * e1, sd[1] * pt.sqrt(1 - r12**2)
            low, high = within(latent.lower[:, 1], latent.upper[:, 1], m2, s2)
            pm.Potential("y2", pt.log(high - low).sum())
            u = pm.Uniform("u", shape=len(h))
            y2 = m2 + s2 * np.sqrt(2) * pt.erfinv(2 * (low + u * (high - low)) - 1)
            e2 = (y2 - gamma[1] * h) / sd[1]
            inverse = 1 / (1 - r12**2)
            m3 = gamma[2] * h + sd[2] * ((r13 - r12 * r23) * e1 + (r23 - r12 * r13) * e2) * inverse
            low, high = within(latent.lower[:, 2], latent.upper[:, 2], m3, sd[2] * pt.sqrt(det * inverse))
            pm.Potential("y3", pt.log(high - low).sum())
        return model

    def test_the_prior_is_the_engines_own(self):
        rng = np.random.default_rng(3)
        model = self.reference(self.latent())
        value = model.compile_fn(
            [model["r"], model["prior of sigma"]], inputs=model.free_RVs, mode="FAST_COMPILE",
            on_unused_input="ignore", point_fn=False,
        )  # fmt: skip
        names = [rv.name for rv in model.free_RVs]
        assert names == ["raw", "log_sd", "gamma", "u"]

        def sigma_at(x: Floats) -> Floats:
            flat = value(x[:3], x[3:], np.zeros(3), np.full(self.N, 0.5))[0]
            r = np.eye(3)
            r[np.triu_indices(3, 1)] = flat
            sd = np.exp(x[3:])
            return (r + r.T - np.eye(3)) * np.outer(sd, sd)

        upper, step, found = np.triu_indices(3), 1e-6, []
        for _ in range(4):
            x = rng.normal(size=6)
            density = value(x[:3], x[3:], np.zeros(3), np.full(self.N, 0.5))[1]
            # the Jacobian by differences
            turned = [
                (sigma_at(x + step * unit)[upper] - sigma_at(x - step * unit)[upper]) / (2 * step) for unit in np.eye(6)
            ]
            exact = stats.invwishart.logpdf(sigma_at(x), 4, np.eye(3)) + np.linalg.slogdet(np.array(turned))[1]
            found.append(density - exact)
        assert np.ptp(found) < 1e-6

    def test_posterior_means_and_sds(self):
        latent = self.latent()
        chains = [Sampler(latent, rng=np.random.default_rng(seed)) for seed in (1, 2)]
        pairs = np.triu_indices(3, 1)
        ours_r, ours_effects = [], []
        for chain in chains:
            chain.run(200)
            trace = chain.run(3_000)
            ours_r.append(trace.r[:, pairs[0], pairs[1]])
            ours_effects.append(trace.gamma[:, 0, :])
        theirs = sampled(self.reference(latent), draws=800, target=0.9)
        agree(np.stack(ours_r), theirs["r"], "r")
        agree(np.stack(ours_effects), theirs["effect"], "Γ")


def test_advi_agrees_with_nuts():
    design, line = regression_data(300)
    rng = np.random.default_rng(9)
    model = Outcome("student_t", line + 0.6 * rng.standard_t(5, size=len(line))).program(design, np.full(2, 2.5))
    exact = sampled(model)
    found = sampling.fit(model, NUTS.model_copy(update={"sampler": "advi"}), 300, what="y", rng=rng)
    assert found.row["approximation"]
    # re-weighted draws repeat themselves: their error is that of the effective number of draws
    few = float(found.row["ess"])
    for name in ("constant", "slopes", "sd"):
        ours = found.values[name].reshape(len(found), -1)
        for k in range(ours.shape[1]):
            mean, error, sd, sd_error = moments(exact[name][..., k])
            assert abs(ours[:, k].mean() - mean) < ERRORS * np.hypot(error, sd / np.sqrt(few)), name
            assert abs(ours[:, k].std() - sd) < ERRORS * np.hypot(sd_error, sd / np.sqrt(2 * few)), name
