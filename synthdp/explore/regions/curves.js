// Trade-off functions: the least FN of any test at each FP, and δ(ε). As in synthdp.privacy.tradeoff, to which every
// formula here is compared by the tests: Dong, Roth, Su (2022); Kairouz, Oh, Viswanath (2017); Ghazi, Issa (2024).

const FINEST = 600;
// sin² is dense where a curve is steep and where it is flat
const GRID = Float64Array.from({length: FINEST}, (_, i) => Math.sin(i * Math.PI / 2 / (FINEST - 1)) ** 2);

/** δ at negative ε from δ(|ε|), for curves that are their own inverse. */
function mirrored(epsilon, delta) {
  return epsilon >= 0 ? delta : -Math.expm1(epsilon) + Math.exp(epsilon) * delta;
}

/** Two distributions on finitely many outputs, ordered by their ratio (Neyman and Pearson). */
class Pair {
  constructor(p, q) {
    const kept = [];
    for (let i = 0; i < p.length; i++) {
      if (p[i] > 0 || q[i] > 0) kept.push([Math.log(q[i]) - Math.log(p[i]), p[i], q[i]]);
    }
    kept.sort((a, b) => (a[0] === b[0] ? 0 : b[0] - a[0]));
    this.p = [];
    this.q = [];
    let before = null;
    for (const [loss, mine, theirs] of kept) {
      // ratios that differ by rounding are one ratio
      if (before !== null && (before === loss || Math.abs(before - loss) <= 1e-12)) {
        this.p[this.p.length - 1] += mine;
        this.q[this.q.length - 1] += theirs;
      } else {
        this.p.push(mine);
        this.q.push(theirs);
      }
      before = loss;
    }
    const alpha = [0], beta = [0];
    for (const mass of this.p) alpha.push(alpha[alpha.length - 1] + mass);
    // summed from the far end, so that small values keep their digits
    for (let i = this.q.length - 1; i >= 0; i--) beta.unshift(beta[0] + this.q[i]);
    if (this.p[0] === 0) {
      alpha.shift();
      beta.shift();
    }
    const whole = alpha[alpha.length - 1];
    this.alpha = alpha.map((a) => a / whole);
    this.beta = beta;
  }

  at(a) {
    const xs = this.alpha;
    if (a >= xs[xs.length - 1]) return this.beta[xs.length - 1];
    let low = 0, high = xs.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (xs[middle] <= a) low = middle;
      else high = middle;
    }
    const width = xs[high] - xs[low];
    return width > 0 ? this.beta[low] + (a - xs[low]) / width * (this.beta[high] - this.beta[low]) : this.beta[high];
  }

  delta(epsilon) {
    let q = 0, p = 0;
    for (let i = 0; i < this.p.length && Math.log(this.q[i]) - Math.log(this.p[i]) > epsilon; i++) {
      q += this.q[i];
      p += this.p[i];
    }
    return Math.max(q - Math.exp(epsilon) * p, 0);
  }
}

/** G_μ: telling N(0, 1) from N(μ, 1). */
class Gaussian {
  constructor(mu) {
    this.mu = mu;
  }

  at(a) {
    return normalCdf(-normalQuantile(a) - this.mu);
  }

  delta(epsilon) {
    return gaussianDelta(-epsilon / this.mu + this.mu / 2, -epsilon / this.mu - this.mu / 2, epsilon);
  }
}

/** L_ε: telling Laplace(0, 1) from Laplace(ε, 1). */
class Laplace {
  constructor(epsilon) {
    this.epsilon = epsilon;
  }

  at(a) {
    const shrink = Math.exp(-this.epsilon);
    if (a < shrink / 2) return 1 - a / shrink;
    return a <= 0.5 ? shrink / (4 * a) : shrink * (1 - a);
  }

  delta(epsilon) {
    return mirrored(epsilon, Math.max(-Math.expm1((Math.abs(epsilon) - this.epsilon) / 2), 0));
  }
}

/** The larger of several symmetric curves at every FP: all their promises hold at once. */
class Intersection {
  constructor(parts) {
    this.parts = parts;
  }

  at(a) {
    return Math.max(...this.parts.map((part) => part.at(a)));
  }

  delta(epsilon) {
    const weight = Math.exp(Math.abs(epsilon)), ratio = (Math.sqrt(5) - 1) / 2;
    const height = (a) => weight * a + this.at(a);
    let low = 0, high = 1;
    let left = high - ratio, right = ratio, atLeft = height(left), atRight = height(right);
    // the sum is convex; after 75 golden sections nothing is left of the interval in double precision
    for (let step = 0; step < 75; step++) {
      if (atLeft > atRight) {
        [low, left, atLeft] = [left, right, atRight];
        right = low + ratio * (high - low);
        atRight = height(right);
      } else {
        [high, right, atRight] = [right, left, atLeft];
        left = high - ratio * (high - low);
        atLeft = height(left);
      }
    }
    return mirrored(epsilon, Math.max(1 - Math.min(height(low), height(high)), 0));
  }
}

function fromKnots(alpha, beta) {
  const p = [0], q = [Math.max(1 - beta[0], 0)];
  for (let i = 1; i < alpha.length; i++) {
    p.push(alpha[i] - alpha[i - 1]);
    q.push(Math.max(beta[i - 1] - beta[i], 0));
  }
  return new Pair(p, q);
}

/** The larger of two piecewise linear curves, with its corners exact. */
function maximum(one, other) {
  const places = [...new Set([...one.alpha, ...other.alpha])].sort((a, b) => a - b);
  const gap = places.map((a) => one.at(a) - other.at(a));
  const crossed = [];
  for (let i = 0; i + 1 < places.length; i++) {
    if (gap[i] * gap[i + 1] < 0) {
      crossed.push(places[i] + gap[i] / (gap[i] - gap[i + 1]) * (places[i + 1] - places[i]));
    }
  }
  const alpha = [...new Set([...places, ...crossed])].sort((a, b) => a - b);
  return fromKnots(alpha, alpha.map((a) => Math.max(one.at(a), other.at(a))));
}

function intersect(curves) {
  return curves.every((curve) => curve instanceof Pair) ? curves.reduce(maximum) : new Intersection(curves);
}

/** η ≤ δ + (1 − δ)(e^ε − 1)/(e^ε + 1): what (ε, δ)-DP leaves of the total variation. */
function largestTv(epsilon, delta) {
  return delta + (1 - delta) * Math.tanh(epsilon / 2);
}

/** Masses of an (ε, δ)-DP mechanism with total variation η: δ gives the data set away, the rest has ratios e^−ε, 1, e^ε. */
function atoms(epsilon, delta, eta) {
  const half = Math.tanh(epsilon / 2);
  const silent = half > 0 && delta < 1 ? Math.max(1 - (eta - delta) / ((1 - delta) * half), 0) : 1;
  const rest = 1 - silent;
  return {small: rest / (1 + Math.exp(epsilon)), middle: silent, large: rest / (1 + Math.exp(-epsilon))};
}

function dpTv(epsilon, delta, eta) {
  const {small, middle, large} = atoms(epsilon, delta, Math.min(eta, largestTv(epsilon, delta)));
  const kept = 1 - delta;
  return new Pair(
    [0, kept * small, kept * middle, kept * large, delta],
    [delta, kept * large, kept * middle, kept * small, 0],
  );
}

const approximate = (epsilon, delta) => dpTv(epsilon, delta, largestTv(epsilon, delta));
const classicalGaussian = (epsilon, delta) => new Gaussian(epsilon / Math.sqrt(2 * Math.log(1.25 / delta)));

/** Randomised response on m levels; DP-TV with η = (e^ε − 1)/(e^ε + m − 1). */
function randomisedResponse(epsilon, levels) {
  const other = Math.exp(-epsilon) / (1 + (levels - 1) * Math.exp(-epsilon));
  const truth = 1 - (levels - 1) * other, rest = (levels - 2) * other;
  return new Pair([truth, other, rest], [other, truth, rest]);
}

/** The points that show a curve: its corners where they are few, else the grid. */
function outline(curve) {
  let alpha, beta;
  if (curve instanceof Pair && curve.alpha.length <= FINEST) {
    [alpha, beta] = [[...curve.alpha], [...curve.beta]];
  } else {
    alpha = Array.from(GRID);
    beta = alpha.map((a) => curve.at(a));
  }
  if (beta[0] < 1) {
    alpha.unshift(0);
    beta.unshift(1);
  }
  return {alpha, beta};
}

/** The area between curve and diagonal: 0 says nothing leaks, 1/2 that all does. */
function area(curve) {
  const {alpha, beta} = outline(curve);
  let under = 0;
  for (let i = 1; i < alpha.length; i++) under += (alpha[i] - alpha[i - 1]) * (beta[i] + beta[i - 1]) / 2;
  return 0.5 - under;
}
