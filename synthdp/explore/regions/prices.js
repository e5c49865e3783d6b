// What privacy costs: for each query the error of its mechanism, exact and as it is bounded, and its region.

const SIZES = {
  bins: {symbol: "k", name: "bins", at: 10, min: 1, max: 1000, scale: "logwhole", help: "k: how many bins."},
  dimension: {symbol: "k", name: "columns", at: 2, min: 1, max: 50, scale: "whole", help: "k: how many columns."},
  axes: {symbol: "d", name: "columns", at: 1, min: 1, max: 4, scale: "whole",
    help: "d: how many columns the density is of."},
  diameter: {symbol: "d", name: "diameter", at: 1, min: 0.01, max: 1000, scale: "log",
    help: "d: the largest distance between two possible records. It is declared, never read off the data."},
  rank: {symbol: "t", name: "ranks", at: 20, min: 1, max: 1000, scale: "logwhole",
    help: "t: how many ranks off still counts as wrong."},
  range: {symbol: "n", name: "largest count", at: 10, min: 1, max: 20, scale: "choice", choices: [1, 2, 5, 10, 20],
    help: "n: the count lies between 0 and n. For these n the best mechanism was computed beforehand."},
  bandwidth: {symbol: "h", name: "bandwidth", at: 0.1, min: 0.01, max: 1, scale: "log",
    help: "h: how wide each record is smeared, on a scale of 0 to 1. It is declared, or chosen from n."},
  levels: {...PARAMETERS.levels, at: 5}, ranks: {...PARAMETERS.levels, at: 100, max: 1000},
  records: {...PARAMETERS.records, at: 1000}, values: {...PARAMETERS.records, at: 500, max: 100000},
};
const MAIN = {
  epsilon: {...PARAMETERS.epsilon, key: "epsilon", at: 1, min: 0.05, max: 5, scale: "log"},
  delta: {...PARAMETERS.smallDelta, key: "delta", at: 1e-5, max: 0.1},
};

function sizes(...keys) {
  return keys.map((key) => ({key, ...SIZES[key]}));
}

const histogramError = (epsilon, bins, records) => 8 * bins / (records * epsilon) ** 2;
const meanError = (ratio, p) => p.dimension * (ratio * p.diameter / p.records) ** 2;
const classicalRatio = (epsilon, delta) => Math.sqrt(2 * Math.log(1.25 / delta)) / epsilon;
const medianBound = (epsilon, levels, rank) => Math.min(levels * Math.exp(-epsilon * rank / 2), 1);
const randomAnswer = (epsilon, levels) => levels / (Math.exp(epsilon) + levels - 1);

/** P(rank error ≥ t) for values spread evenly on {1..m}: every rank counts twice in the score. */
function medianProbability(epsilon, levels, rank, records) {
  const off = balances(spread(records, levels), levels);
  const weights = softmax(off.map((balance) => -balance), epsilon / 4);
  return weights.reduce((sum, weight, i) => (off[i] / 2 >= rank ? sum + weight : sum), 0);
}

/** Largest expected error of a count on {0..n} with integer Laplace noise, what falls outside put on the ends. */
function countError(epsilon, records) {
  const half = Math.floor(records / 2);
  const gone = Math.expm1(-epsilon * half) + Math.expm1(-epsilon * (records - half));
  return gone * Math.exp(-epsilon) / Math.expm1(-2 * epsilon);
}

/** The least that any ε-DP mechanism on {0..n} can promise, read off the table of the linear programme. */
function optimalCount(epsilon, records) {
  const risks = COUNTS.risks[records].map(Math.log), places = COUNTS.epsilons.map(Math.log);
  const x = (Math.log(epsilon) - places[0]) / (places[1] - places[0]);
  const i = Math.min(Math.max(Math.floor(x), 0), places.length - 2), u = x - i;
  // a cubic through the two neighbours on each side; the table is evenly spaced in log ε
  const [b, c] = [risks[i], risks[i + 1]];
  const a = i > 0 ? risks[i - 1] : 2 * b - c, d = i + 2 < risks.length ? risks[i + 2] : 2 * c - b;
  return Math.exp(b + u / 2 * (c - a + u * (2 * a - 5 * b + 4 * c - d + u * (3 * (b - c) + d - a))));
}

function densityError(ratio, p) {
  const moved = Math.SQRT2 / (p.records * (Math.sqrt(2 * Math.PI) * p.bandwidth) ** p.axes);
  return (moved * ratio) ** 2;
}

const hallRatio = (epsilon, delta) => Math.sqrt(2 * Math.log(2 / delta)) / epsilon;
/** Σ E(noise²) of X'y/n, rows and responses within 1: a record replaced moves X'y by at most 2. */
const crossError = (ratio, p) => p.dimension * (2 * ratio / p.records) ** 2;

const QUERIES = {
  histogram: {
    label: "histogram, Laplace noise", error: "expected squared error", mains: ["epsilon"],
    sizes: sizes("bins", "records"),
    curves: [["counts (exact)", (p) => histogramError(p.epsilon, p.bins, 1)],
      ["shares (exact)", (p) => histogramError(p.epsilon, p.bins, p.records)]],
    regions: (p) => [[`Laplace noise, ε ${short(p.epsilon)}`, new Laplace(p.epsilon)]],
    help: "The squared error of all bins together. Replacing a record moves two counts by one: 8k/ε² on counts, " +
      "8k/(nε)² on shares. Both are exact.",
  },
  mean: {
    label: "mean, Gaussian noise", error: "expected squared error", mains: ["epsilon", "delta"],
    sizes: sizes("records", "diameter", "dimension"),
    curves: [["least noise (exact)", (p) => meanError(analyticRatio(p.epsilon, p.delta), p)],
      ["classical noise (proved for ε < 1)", (p) => meanError(classicalRatio(p.epsilon, p.delta), p)]],
    regions: (p) => [["least noise", new Gaussian(1 / analyticRatio(p.epsilon, p.delta))],
      ["classical noise", classicalGaussian(p.epsilon, p.delta)]],
    help: "2k ln(1.25/δ) d²/(nε)² for the classical noise, which is proved for ε below 1; beside it the least " +
      "Gaussian noise that keeps the same promise, for any ε.",
  },
  median: {
    label: "median, exponential mechanism", error: "chance of being wrong by t ranks or more", mains: ["epsilon"],
    sizes: sizes("ranks", "rank", "values"),
    curves: [["exact, for values spread evenly", (p) => medianProbability(p.epsilon, p.ranks, p.rank, p.values)],
      ["bound", (p) => medianBound(p.epsilon, p.ranks, p.rank)]],
    regions: (p) => [[`${short(p.epsilon)}-DP`, approximate(p.epsilon, 0)]],
    help: "The bound m e^(−εt/2) holds for any data and does not use n; beside it the exact chance for n values " +
      "spread evenly on 1 to m.",
  },
  response: {
    label: "one answer, k-ary response", error: "chance of an answer without looking", mains: ["epsilon"],
    sizes: sizes("levels"),
    curves: [["exact", (p) => randomAnswer(p.epsilon, p.levels)]],
    regions: (p) => [[`response of ${p.levels}, ε ${short(p.epsilon)}`, randomisedResponse(p.epsilon, p.levels)]],
    help: "m/(e^ε + m − 1): how often the answer is drawn blindly from the m levels.",
  },
  count: {
    label: "count from 0 to n", error: "largest expected error", mains: ["epsilon"], sizes: sizes("range"),
    curves: [["best there is (linear programme, from a table)", (p) => optimalCount(p.epsilon, p.range)],
      ["integer Laplace noise, cut to 0…n (exact)", (p) => countError(p.epsilon, p.range)],
      ["without an end to the range, 1/sinh ε (bound)", (p) => 1 / Math.sinh(p.epsilon)]],
    regions: (p) => [[`${short(p.epsilon)}-DP`, approximate(p.epsilon, 0)]],
    help: "By how much the count is off in the worst case, in expectation. No ε-DP mechanism can promise less than " +
      "the first curve.",
  },
  density: {
    label: "density curve, noise as smooth as the kernel", error: "expected squared error, integrated",
    mains: ["epsilon", "delta"], sizes: sizes("records", "bandwidth", "axes"),
    curves: [["least noise (exact)", (p) => densityError(analyticRatio(p.epsilon, p.delta), p)],
      ["noise as published (proved for ε ≤ 1)", (p) => densityError(hallRatio(p.epsilon, p.delta), p)]],
    regions: (p) => [["least noise", new Gaussian(1 / analyticRatio(p.epsilon, p.delta))],
      ["noise as published", new Gaussian(1 / hallRatio(p.epsilon, p.delta))]],
    help: "The noise of a private kernel density on the unit interval (or square …), from privacy alone; smoothing " +
      "has an error of its own. The published constant is proved for ε up to 1.",
  },
  regression: {
    label: "regression, its sums X′y", error: "expected squared error of X′y/n", mains: ["epsilon", "delta"],
    sizes: sizes("records", "dimension"),
    curves: [["three sums as one release (exact)", (p) => crossError(Math.sqrt(3) * analyticRatio(p.epsilon, p.delta), p)],
      ["three releases of ε/3, δ/3 (proved for ε < 3)",
        (p) => crossError(classicalRatio(p.epsilon / 3, p.delta / 3), p)]],
    regions: (p) => [["all three sums", new Gaussian(1 / analyticRatio(p.epsilon, p.delta))]],
    help: "Private regression adds noise to X′X, to X′y and to its smallest eigenvalue, rows and responses scaled to " +
      "length 1. What that does to a coefficient depends on the data; the error of X′y does not, and has a formula.",
  },
};

/** The settings of a window, each inside its bounds. */
function settledWindow(query, given) {
  const values = {};
  for (const spec of [MAIN.epsilon, MAIN.delta, ...QUERIES[query].sizes]) {
    let value = Number.isFinite(given?.[spec.key]) ? given[spec.key] : spec.at;
    value = Math.min(Math.max(value, spec.min), spec.max);
    if (spec.scale.endsWith("whole")) value = Math.round(value);
    if (spec.choices) value = spec.choices.reduce((a, b) => (Math.abs(b - value) < Math.abs(a - value) ? b : a));
    values[spec.key] = value;
  }
  return values;
}
