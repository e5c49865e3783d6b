// The normal distribution in double precision. Series and continued fraction: Abramowitz and Stegun (1964), 7.1.6 and
// 7.1.14; the start of the quantile: 26.2.23.

const ROOT_HALF = Math.SQRT1_2;
const LOG_ROOT_2PI = 0.5 * Math.log(2 * Math.PI);

/** e^(x²) erfc(x) for x ≥ 0. */
function scaledErfc(x) {
  if (x < 2.2) {
    // all terms are positive, so nothing cancels before the subtraction
    let term = x, sum = x;
    for (let n = 1; term > 1e-18 * sum; n++) {
      term *= 2 * x * x / (2 * n + 1);
      sum += term;
    }
    return Math.exp(x * x) - 2 / Math.sqrt(Math.PI) * sum;
  }
  let tail = 0;
  for (let n = x < 4 ? 70 : 30; n > 0; n--) tail = n / 2 / (x + tail);
  return 1 / (Math.sqrt(Math.PI) * (x + tail));
}

/** Φ(z). */
function normalCdf(z) {
  const far = Math.abs(z) * ROOT_HALF;
  const tail = far > 38 ? 0 : 0.5 * Math.exp(-far * far) * scaledErfc(far);
  return z < 0 ? tail : 1 - tail;
}

/** log Φ(z), which keeps its digits far out on the left. */
function normalLogCdf(z) {
  if (z === -Infinity) return -Infinity;
  if (z > -1) return Math.log1p(-normalCdf(-z));
  const far = -z * ROOT_HALF;
  return Math.log(0.5 * scaledErfc(far)) - far * far;
}

/** Φ⁻¹(p). */
function normalQuantile(p) {
  if (p <= 0) return -Infinity;
  if (p >= 1) return Infinity;
  if (p > 0.5) return -normalQuantile(1 - p);
  const t = Math.sqrt(-2 * Math.log(p));
  let z = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (let step = 0; step < 3; step++) {
    // Newton on log Φ, which is nearly quadratic where Φ itself is nearly flat
    const height = normalLogCdf(z);
    z -= (height - Math.log(p)) / Math.exp(-z * z / 2 - LOG_ROOT_2PI - height);
  }
  return z;
}

/** Φ(near) − e^ε Φ(far), without losing the digits of the difference. */
function gaussianDelta(near, far, epsilon) {
  const first = normalLogCdf(near), second = epsilon + normalLogCdf(far);
  return Math.exp(first) * -Math.expm1(Math.min(second - first, 0));
}

/** The least σ/Δ of Gaussian noise that is (ε, δ)-DP (Balle and Wang 2018, Theorem 8), by bisection. */
function analyticRatio(epsilon, delta) {
  const enough = (ratio) =>
    gaussianDelta(1 / (2 * ratio) - epsilon * ratio, -1 / (2 * ratio) - epsilon * ratio, epsilon) <= delta;
  let low = 0, high = 1;
  while (!enough(high)) [low, high] = [high, 2 * high];
  while (high - low > 1e-14 * high) {
    const middle = (low + high) / 2;
    [low, high] = enough(middle) ? [low, middle] : [middle, high];
  }
  return high;
}
