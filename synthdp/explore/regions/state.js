// What the page shows, and the link that brings it back. A link holds kinds, numbers and the names that somebody typed,
// but no name of a column: the masks of a config are told by their place in it.

const MOST_REGIONS = 24;
let nextId = 1;

/** A region: a kind with its values, or the intersection of several. A name that was not typed follows the values. */
function region(kind, values, more = {}) {
  return {id: nextId++, kind, values: kind === "both" ? {} : settled(kind, values), name: "", parts: [], mask: null, ...more};
}

const curves = new Map();

function curveOf(one) {
  const key = JSON.stringify([one.kind, one.values, one.parts.map((part) => [part.kind, part.values])]);
  if (!curves.has(key)) {
    if (curves.size > 400) curves.clear();
    const curve = one.kind === "both" ? intersect(one.parts.map(curveOf)) : KINDS[one.kind].curve(one.values);
    curves.set(key, Object.assign(curve, {shown: null}));
  }
  return curves.get(key);
}

/** The outline and area of a curve, computed once. */
function shownOf(curve) {
  curve.shown ??= {outline: outline(curve), area: area(curve), deltas: new Map()};
  return curve.shown;
}

/** δ at a hundred and one ε up to a largest one, computed once. */
function deltasOf(curve, reach) {
  const known = shownOf(curve).deltas;
  if (!known.has(reach)) known.set(reach, Array.from({length: 101}, (_, i) => curve.delta(reach * i / 100)));
  return known.get(reach);
}

function nameOf(one) {
  if (one.name) return one.name;
  if (one.mask !== null && CONTEXT.masks[one.mask]) return plain(CONTEXT.masks[one.mask].name);
  return one.kind === "both" ? "Intersection" : KINDS[one.kind].name(one.values);
}

function fresh() {
  const first = region("dp", {epsilon: 0.6, delta: 0.05});
  return {
    regions: [first], chosen: first.id, front: true, view: "errors",
    query: "histogram", main: "epsilon", prices: settledWindow("histogram", {}),
  };
}

const written = (one) => ({
  k: one.kind, ...(one.kind === "both" ? {r: one.parts.map(written)} : {p: one.values}),
  ...(one.name ? {n: one.name} : {}), ...(one.mask === null ? {} : {m: one.mask}),
});

/** The state as a word for the address. */
function encoded(state) {
  const told = {
    v: 1, r: state.regions.map(written), c: state.regions.findIndex((one) => one.id === state.chosen),
    f: state.front, w: state.view, q: state.query, x: state.main, p: state.prices,
  };
  const bytes = new TextEncoder().encode(JSON.stringify(told));
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function readRegion(told, depth = 0) {
  const named = {name: typeof told?.n === "string" ? plain(told.n) : ""};
  if (told?.k === "both") {
    const parts = depth === 0 && Array.isArray(told.r) ? told.r.map((part) => readRegion(part, 1)) : [];
    const known = parts.filter((part) => part !== null && !isLimit(part));
    return known.length > 1 ? region("both", {}, {...named, parts: known.slice(0, MOST_REGIONS)}) : null;
  }
  if (typeof told?.k !== "string" || !Object.hasOwn(KINDS, told.k)) return null;
  return region(told.k, told.p, {...named, mask: Number.isInteger(told.m) && told.m >= 0 ? told.m : null});
}

const isLimit = (one) => one.kind === "limit" || one.kind === "laplacelimit";

/** The state that a word stands for; null where it is none. What is not understood in it is left out. */
function decoded(word) {
  let told;
  try {
    const letters = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
    told = JSON.parse(new TextDecoder().decode(Uint8Array.from(letters, (c) => c.charCodeAt(0))));
  } catch {
    return null;
  }
  if (told?.v !== 1 || !Array.isArray(told.r)) return null;
  const regions = told.r.slice(0, MOST_REGIONS).map((one) => readRegion(one)).filter((one) => one !== null);
  const query = Object.hasOwn(QUERIES, String(told.q)) ? told.q : "histogram";
  return {
    regions, chosen: (regions[told.c] ?? regions[0])?.id ?? null, front: told.f !== false,
    view: told.w === "deltas" ? "deltas" : "errors", query,
    main: QUERIES[query].mains.includes(told.x) ? told.x : "epsilon", prices: settledWindow(query, told.p),
  };
}

const ALARMS = 0.05;

const PERSON = {aim: "know whether a person's record is in the data", finds: "finds the person"};
const MASK = {
  aim: "tell two values of one record apart from what its mask let through", finds: "recognises the second value",
};
const MIXED = {aim: "tell the two cases apart", finds: "recognises the second"};

/** What an attacker on a region wants: of a mask, a value rather than a person. */
function aimOf(one) {
  const masks = (one.kind === "both" ? one.parts : [one]).map((part) => part.kind.startsWith("mask"));
  return masks.every((mask) => mask) ? MASK : masks.some((mask) => mask) ? MIXED : PERSON;
}

/** What an attacker achieves who allows 5% false alarms, in words. */
function inWords(name, curve, {aim, finds} = PERSON, only = "") {
  const of100 = (chance) => String(Number((100 * chance).toFixed(1)));
  const found = 1 - curve.at(ALARMS);
  const start = `${name}: an attacker who wants to ${aim} and allows 5 false alarms in 100 ${finds} in`;
  if (curve instanceof GaussianLimit) {
    const between = curve.known(ALARMS)
      ? `it promises only between ${of100(1 - curve.upper(ALARMS))} and ${of100(1 - curve.lower(ALARMS))}`
      : "it promises nothing at so few false alarms, the band being too wide";
    return `${start} about ${of100(found)} of 100 cases, by the limit theorem; ${between}.`;
  }
  return `${start} at most ${of100(found)} of 100 cases${only}; guessing does so in 5.`;
}
