// What can be added: each kind with its parameters, their defaults, its curve, and what it is in plain words.

const PARAMETERS = {
  epsilon: {symbol: "ε", name: "privacy loss", min: 0, max: 8, scale: "linear", step: 0.01,
    help: "ε: how much more likely any answer may become when one person's record changes: at most e^ε times. " +
      "0.1 is strong, 1 is usual, 5 says little."},
  delta: {symbol: "δ", name: "slack", min: 0, max: 0.99, scale: "linear", step: 0.001,
    help: "δ: the chance that the promise of ε does not hold at all. For real releases it should be far below 1/n; " +
      "large values are here because they can be seen."},
  smallDelta: {symbol: "δ", name: "slack", min: 1e-12, max: 0.5, scale: "log",
    help: "δ: the chance that the promise of ε does not hold at all. It should be far below 1/n."},
  eta: {symbol: "η", name: "total variation", min: 0, max: 1, scale: "linear", step: 0.001,
    help: "η: the largest advantage over guessing that any test has: hits minus false alarms."},
  mu: {symbol: "μ", name: "distance in sds", min: 0.01, max: 6, scale: "linear", step: 0.01,
    help: "μ: telling the two cases apart is as hard as telling a normal curve from the same curve moved by μ " +
      "standard deviations. Noise of sd σ on an answer that one person can move by Δ has μ = Δ/σ."},
  times: {symbol: "k", name: "releases", min: 1, max: 200, scale: "whole",
    help: "k: how often the data are asked. Every release adds to what is known."},
  levels: {symbol: "m", name: "possible answers", min: 2, max: 100, scale: "whole",
    help: "m: how many different answers there are."},
  records: {symbol: "n", name: "records", min: 2, max: 1000000, scale: "logwhole",
    help: "n: how many people are in the data."},
  slack: {symbol: "δ̃", name: "slack bought", min: 1e-12, max: 0.5, scale: "log",
    help: "δ̃: a chance of failure that is accepted on top, for a smaller ε."},
};

function parameter(key, at, more = {}) {
  return {key, at, ...PARAMETERS[key], ...more};
}

const EPSILON = (at) => parameter("epsilon", at);
const POSITIVE = (at) => parameter("epsilon", at, {min: 0.01});
const DELTA = (at) => parameter("delta", at);

/** Numbers as people write them: no tail of digits, no 1e-7 for 0. */
function short(value, digits = 3) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "–";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) {
    const [head, tail] = value.toExponential(Math.max(digits - 2, 0)).split("e");
    return `${Number(head) === 1 ? "" : `${Number(head)}·`}10${[...String(Number(tail))].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("")}`;
  }
  return String(Number(value.toPrecision(size >= 1000 ? 6 : digits)));
}

const KINDS = {
  dp: {
    group: "Promises", label: "(ε, δ)-DP", parameters: [EPSILON(0.6), DELTA(0.15)],
    curve: (p) => approximate(p.epsilon, p.delta), name: (p) => `(${short(p.epsilon)}, ${short(p.delta)})-DP`,
    help: "Differential privacy: whatever is published is at most e^ε times as likely with a person's record as " +
      "without, up to a chance δ.",
  },
  tv: {
    group: "Promises", label: "η-TV", parameters: [parameter("eta", 0.25)],
    curve: (p) => approximate(0, p.eta), name: (p) => `${short(p.eta)}-TV`,
    help: "Total variation: no test gains more than η over guessing, wherever it puts its threshold.",
  },
  dptv: {
    group: "Promises", label: "(ε, δ)-DP and η-TV", parameters: [EPSILON(0.6), DELTA(0.15), parameter("eta", 0.25)],
    curve: (p) => dpTv(p.epsilon, p.delta, p.eta),
    name: (p) => `(${short(p.epsilon)}, ${short(p.delta)})-DP, ${short(p.eta)}-TV`,
    help: "Both promises at once. η lies between δ and what (ε, δ) allows anyway.",
  },
  gdp: {
    group: "Promises", label: "μ-GDP", parameters: [parameter("mu", 1)],
    curve: (p) => new Gaussian(p.mu), name: (p) => `${short(p.mu)}-GDP`,
    help: "Gaussian differential privacy: exactly what normal noise gives; it composes by adding squares.",
  },
  laplace: {
    group: "Mechanisms", label: "Laplace noise", parameters: [POSITIVE(1)],
    curve: (p) => new Laplace(p.epsilon), name: (p) => `Laplace, ε ${short(p.epsilon)}`,
    help: "The exact region of Laplace noise of scale Δ/ε. It is smaller than that of ε-DP, which only bounds it.",
  },
  gaussian: {
    group: "Mechanisms", label: "Gaussian noise", parameters: [POSITIVE(1), parameter("smallDelta", 1e-5)],
    curve: (p) => classicalGaussian(p.epsilon, p.smallDelta),
    name: (p) => `Gaussian, ε ${short(p.epsilon)}, δ ${short(p.smallDelta)}`,
    help: "The exact region of normal noise with the classical sd Δ√(2 ln(1.25/δ))/ε. Whether that noise is " +
      "(ε, δ)-DP is proved for ε below 1 only.",
  },
  response: {
    group: "Mechanisms", label: "k-ary response", parameters: [POSITIVE(1), parameter("levels", 5)],
    curve: (p) => randomisedResponse(p.epsilon, p.levels),
    name: (p) => `response of ${p.levels}, ε ${short(p.epsilon)}`,
    help: "Each person answers one of m levels, the true one e^ε times as often as any other. More levels, less told.",
  },
  exponential: {
    group: "Mechanisms", label: "exponential mechanism (median)", only: ", on this pair of data sets",
    parameters: [POSITIVE(1), parameter("levels", 20), parameter("records", 25, {max: 5000})],
    curve: (p) => exponentialMedian(p.epsilon, p.levels, p.records),
    name: (p) => `exponential, ε ${short(p.epsilon)}, m ${p.levels}, n ${p.records}`,
    help: "The exact region for one pair of data sets, not for all: the median of n values spread evenly on 1 to m, " +
      "and the same with the lowest value moved to the top. ε-DP bounds every pair.",
  },
  basic: {
    group: "Compositions", label: "k releases, basic", parameters: [EPSILON(0.6), DELTA(0.05), parameter("times", 5)],
    curve: (p) => approximate(...basic(p.epsilon, p.delta, p.times)),
    name: (p) => `basic: ${p.times} × (${short(p.epsilon)}, ${short(p.delta)})`,
    help: "Adds the ε and adds the δ: always true, and often far more than is really lost.",
  },
  optimal: {
    group: "Compositions", label: "k releases, optimal",
    parameters: [EPSILON(0.6), DELTA(0.05), parameter("times", 5)],
    curve: (p) => composedOptimal(p.epsilon, p.delta, p.times),
    name: (p) => `optimal: ${p.times} × (${short(p.epsilon)}, ${short(p.delta)})`,
    help: "The least that is known when only (ε, δ) is known of each release; no better bound exists.",
  },
  optimaltv: {
    group: "Compositions", label: "k releases, DP-TV",
    parameters: [EPSILON(0.6), DELTA(0.05), parameter("eta", 0.2), parameter("times", 5)],
    curve: (p) => composedDpTv(p.epsilon, p.delta, p.eta, p.times),
    name: (p) => `DP-TV: ${p.times} × (${short(p.epsilon)}, ${short(p.delta)}), ${short(p.eta)}-TV`,
    help: "Exact when of each release both (ε, δ) and the total variation η are known.",
  },
  simplified: {
    group: "Compositions", label: "k releases, simplified",
    parameters: [EPSILON(0.6), DELTA(0.05), parameter("times", 5), parameter("slack", 0.01)],
    curve: (p) => approximate(...simplified(p.epsilon, p.delta, p.times, p.slack)),
    name: (p) => `simplified: ${p.times} × (${short(p.epsilon)}, ${short(p.delta)})`,
    help: "One ε for many releases, bought with a little more δ; grows with √k rather than k.",
  },
  gdps: {
    group: "Compositions", label: "k releases, μ-GDP", parameters: [parameter("mu", 0.5), parameter("times", 4)],
    curve: (p) => new Gaussian(p.mu * Math.sqrt(p.times)), name: (p) => `${p.times} × ${short(p.mu)}-GDP`,
    help: "Exact: μ grows with √k.",
  },
  limit: {
    group: "Compositions", label: "k releases of ε-DP, limit theorem",
    parameters: [POSITIVE(0.125), parameter("times", 64, {max: 10000})],
    curve: (p) => new GaussianLimit(pureMoments(p.epsilon), p.times),
    name: (p) => `limit: ${p.times} × ${short(p.epsilon)}-DP`,
    help: "An approximation, not a promise: by the central limit theorem the truth lies inside the shaded band, and " +
      "usually far nearer to the line than the band says.",
  },
  laplacelimit: {
    group: "Compositions", label: "k Laplace releases, limit theorem",
    parameters: [POSITIVE(0.125), parameter("times", 64, {max: 10000})],
    curve: (p) => new GaussianLimit(laplaceMoments(p.epsilon), p.times),
    name: (p) => `limit: ${p.times} × Laplace, ε ${short(p.epsilon)}`,
    help: "As above, for Laplace noise.",
  },
  maskgdp: {
    group: "Masks of your config", hidden: true, label: "mask", parameters: [],
    fixed: [parameter("mu", 1, {max: 1e6})], curve: (p) => new Gaussian(p.mu), name: () => "mask of a column",
    help: "What the mask of one column tells about one record's value, given the model. It is a bound on the mask, " +
      "never the ε of a release.",
  },
  maskdp: {
    group: "Masks of your config", hidden: true, label: "mask", parameters: [],
    fixed: [parameter("epsilon", 1, {max: 700})], curve: (p) => approximate(p.epsilon, 0), name: () => "mask of a column",
    help: "What the mask of one column tells about one record's value, given the model. It is a bound on the mask, " +
      "never the ε of a release.",
  },
};

/** The bounds of a parameter, which for η depend on the others. */
function boundsOf(spec, values) {
  if (spec.key !== "eta" || values.epsilon === undefined) return [spec.min, spec.max];
  return [values.delta, largestTv(values.epsilon, values.delta)];
}

/** The values of a kind's parameters, each inside its bounds; what is no number becomes the default. */
function settled(kind, given) {
  const values = {};
  for (const spec of KINDS[kind].fixed ?? KINDS[kind].parameters) {
    const [low, high] = boundsOf(spec, values);
    const asked = Number.isFinite(given?.[spec.key]) ? given[spec.key] : spec.at;
    const inside = Math.min(Math.max(asked, low), high);
    values[spec.key] = spec.scale.endsWith("whole") ? Math.round(inside) : inside;
  }
  return values;
}
