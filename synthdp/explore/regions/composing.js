// Several releases of the same data: exact on a lattice of losses, simplified, or by the central limit theorem.

function convolve(one, other) {
  const sums = new Float64Array(one.length + other.length - 1);
  for (let i = 0; i < one.length; i++) for (let j = 0; j < other.length; j++) sums[i + j] += one[i] * other[j];
  return sums;
}

function power(masses, times) {
  let result = Float64Array.of(1), square = Float64Array.from(masses);
  for (let left = times; left; left >>= 1) {
    if (left & 1) result = convolve(result, square);
    if (left > 1) square = convolve(square, square);
  }
  return result;
}

/** k releases, each (ε, δ)-DP with total variation η: the loss is a sum of k steps −ε, 0, ε; exact. */
function composedDpTv(epsilon, delta, eta, times) {
  if (epsilon === 0) return approximate(0, 1 - (1 - delta) ** times);
  const {small, middle, large} = atoms(epsilon, delta, Math.min(eta, largestTv(epsilon, delta)));
  const kept = (1 - delta) ** times, sure = -Math.expm1(times * Math.log1p(-delta));
  const up = Array.from(power([small, middle, large], times), (mass) => kept * mass);
  return new Pair([0, ...up.slice().reverse(), sure], [sure, ...up, 0]);
}

/** k releases of which only (ε, δ) is known (Kairouz et al. 2017, Theorem 3.3): every answer tells. */
const composedOptimal = (epsilon, delta, times) => composedDpTv(epsilon, delta, largestTv(epsilon, delta), times);

/** (Σε, Σδ). */
const basic = (epsilon, delta, times) => [times * epsilon, Math.min(times * delta, 1)];

/** (ε, δ) of k releases at a chosen slack (Kairouz et al. 2017, Theorem 3.5). */
function simplified(epsilon, delta, times, slack) {
  const spread = times * epsilon ** 2, drift = times * epsilon * Math.tanh(epsilon / 2);
  const best = Math.min(
    times * epsilon,
    drift + Math.sqrt(2 * spread * -Math.log(slack)),
    drift + Math.sqrt(2 * spread * Math.log(Math.E + Math.sqrt(spread) / slack)),
  );
  return [best, -Math.expm1(Math.log1p(-slack) + times * Math.log1p(-delta))];
}

/** Moments of the loss of ε-DP (binary randomised response): two atoms, ±ε. */
function pureMoments(epsilon) {
  const kl = epsilon * Math.tanh(epsilon / 2);
  const far = 1 / (1 + Math.exp(epsilon)), near = 1 - far;
  return {kl, second: epsilon ** 2, central: near * Math.abs(kl - epsilon) ** 3 + far * (epsilon + kl) ** 3};
}

/** Moments of the loss |x| − |x − ε| under Laplace noise; the integrals of polynomials times e^−x in closed form. */
function laplaceMoments(epsilon) {
  const kl = epsilon + Math.expm1(-epsilon), gone = Math.exp(-epsilon);
  // ∫ (2x − a)³ e^−x dx and ∫ (2x − a)² e^−x dx, but for the constant
  const cubic = (x, a) => -Math.exp(-x) * ((2 * x - a) ** 3 + 6 * (2 * x - a) ** 2 + 24 * (2 * x - a) + 48);
  const square = (x, a) => -Math.exp(-x) * ((2 * x - a) ** 2 + 4 * (2 * x - a) + 8);
  const turn = (epsilon - kl) / 2;
  const inside = cubic(epsilon, epsilon - kl) - 2 * cubic(turn, epsilon - kl) + cubic(0, epsilon - kl);
  return {
    kl,
    second: (square(epsilon, epsilon) - square(0, epsilon)) / 2 + epsilon ** 2 * (1 + gone) / 2,
    central: inside / 2 + 0.5 * Math.abs(kl - epsilon) ** 3 + 0.5 * gone * (epsilon + kl) ** 3,
  };
}

/** Near G_μ, within γ for FP in [γ, 1 − γ] (Dong et al. 2022, Theorem 3.4); outside nothing is said. */
class GaussianLimit extends Gaussian {
  constructor(moments, times) {
    const variance = times * (moments.second - moments.kl ** 2);
    super(2 * times * moments.kl / Math.sqrt(variance));
    this.gamma = 0.56 * times * moments.central / variance ** 1.5;
  }

  known(a) {
    return a >= this.gamma && a <= 1 - this.gamma;
  }

  lower(a) {
    return this.known(a) ? Math.max(this.at(Math.min(a + this.gamma, 1)) - this.gamma, 0) : 0;
  }

  upper(a) {
    return this.known(a) ? Math.min(this.at(Math.max(a - this.gamma, 0)) + this.gamma, 1 - a) : 1 - a;
  }
}

/** Records spread evenly on {1..m}, as numbers below and above each level. */
function spread(records, levels) {
  return Array.from({length: records}, (_, i) => 1 + Math.floor(i * levels / records));
}

/** |Σ sign(c − x)| of every candidate c in {1..m}. */
function balances(values, levels) {
  const counts = new Array(levels + 1).fill(0);
  for (const value of values) counts[value]++;
  let below = 0;
  return Array.from({length: levels}, (_, i) => {
    const here = counts[i + 1], above = values.length - below - here;
    const balance = Math.abs(below - above);
    below += here;
    return balance;
  });
}

/** P(c) ∝ e^(rate · score). */
function softmax(scores, rate) {
  const most = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(rate * (score - most)));
  const whole = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / whole);
}

/** The median by the exponential mechanism, on records spread evenly and with one moved from the lowest to the top. */
function exponentialMedian(epsilon, levels, records) {
  const first = spread(records, levels), second = [...first.slice(1), levels];
  const [p, q] = [first, second].map((x) => softmax(balances(x, levels).map((b) => -b), epsilon / 4));
  return new Pair(p, q);
}
