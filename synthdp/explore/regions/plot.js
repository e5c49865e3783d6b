// Pictures as SVG with everything in attributes, so that what is saved looks as it does on the page.

const DASHES = ["", "9 5", "2 4", "10 4 2 4", "16 5", "16 4 3 4 3 4"];
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

function theme() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: of("ink"), soft: of("soft"), line: of("line"), paper: of("paper"),
    colours: [1, 2, 3, 4, 5, 6].map((i) => of(`region${i}`)),
  };
}

/** Colour and dash of the i-th region: after six the same colours come with other dashes. */
function look(slot, colours) {
  return {colour: colours[slot % 6], dash: DASHES[(slot + Math.floor(slot / 6)) % 6]};
}

function node(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== "") made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** An empty picture with axes, and room below them; ``x`` and ``y`` send values to places. */
function frame(svg, {width, height, below = 0, title, xTitle, yTitle, xTicks, yTicks, x, y}) {
  const look = theme();
  svg.replaceChildren(node("title", {}, title));
  svg.setAttribute("viewBox", `0 0 ${width} ${height + below}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height + below);
  svg.append(node("rect", {width, height: height + below, fill: look.paper}));
  const words = {"font-family": FONT, "font-size": 13, fill: look.ink};
  for (const [value, label] of xTicks) {
    svg.append(node("line", {x1: x(value), x2: x(value), y1: y.top, y2: y.bottom, stroke: look.line}),
      node("text", {x: x(value), y: y.bottom + 18, "text-anchor": "middle", ...words}, label));
  }
  for (const [value, label] of yTicks) {
    svg.append(node("line", {x1: x.left, x2: x.right, y1: y(value), y2: y(value), stroke: look.line}),
      node("text", {x: x.left - 7, y: y(value) + 4, "text-anchor": "end", ...words}, label));
  }
  svg.append(
    node("text", {x: (x.left + x.right) / 2, y: height - 6, "text-anchor": "middle", ...words}, xTitle),
    node("text", {x: 14, y: (y.top + y.bottom) / 2, "text-anchor": "middle", ...words,
      transform: `rotate(-90 14 ${(y.top + y.bottom) / 2})`}, yTitle),
  );
  return {...look, words};
}

/** A scale from values to places, straight or logarithmic. */
function axis(low, high, start, end, logarithmic = false) {
  const at = logarithmic ? Math.log : (value) => value;
  const place = (value) => start + (at(value) - at(low)) / (at(high) - at(low)) * (end - start);
  return Object.assign(place, {left: Math.min(start, end), right: Math.max(start, end), top: Math.min(start, end),
    bottom: Math.max(start, end)});
}

function path(xs, ys, x, y) {
  let text = "";
  for (let i = 0; i < xs.length; i++) text += `${i ? "L" : "M"}${x(xs[i]).toFixed(2)} ${y(ys[i]).toFixed(2)}`;
  return text;
}

const cut = (text, most) => (Array.from(text).length > most ? `${Array.from(text).slice(0, most - 1).join("")}…` : text);

/** How wide a name is at most, in letters of seven pixels: capitals like W and letters of other scripts take two. */
const breadth = (text) => Array.from(text).reduce((sum, c) => sum + (/[MW@%]|[^\u0000-\u04ff\u2000-\u22ff]/.test(c) ? 2 : 1), 0);

/** A name cut to so many letters of seven pixels. */
function fitted(text, most) {
  let letters = Array.from(text).length;
  while (letters > 2 && breadth(cut(text, letters)) > most) letters -= 1;
  return cut(text, letters);
}

const ROW = 18;
const legendWidth = (names) => Math.max(0, ...names.map(breadth)) * 7 + 44;

/** Names beside samples of their lines, from the right edge, or from the left one where ``right`` is null. */
function legend(svg, entries, right, top, look, most) {
  const names = entries.map((entry) => fitted(entry.name, most));
  const left = right === null ? 58 : right - legendWidth(names);
  entries.forEach((entry, i) => {
    const y = top + ROW * i;
    svg.append(
      node("line", {x1: left, x2: left + 34, y1: y, y2: y, stroke: entry.colour, "stroke-width": 2.5,
        "stroke-dasharray": entry.dash}),
      node("text", {x: left + 41, y: y + 4, ...look.words, "font-size": 12,
        "font-weight": entry.chosen ? "bold" : "normal"}, names[i]),
    );
  });
}

/** Where the names stand: above the diagonal, where nothing is drawn, or below the axes if they are too many or long. */
function placed(named, size) {
  const inside = Math.max(14, Math.floor((size - 170) / 8.5)), last = 28 + ROW * (named.length - 1);
  const names = named.map((item) => fitted(item.name, inside));
  // what is free at the height of the last name, right of the diagonal
  const free = size - 20 - (58 + (last + 6 - 14) / (size - 62) * (size - 72));
  const uncut = names.every((name, i) => name === named[i].name);
  if (uncut && legendWidth(names) <= free) return {below: 0, right: size - 20, top: 28, most: inside};
  return {below: ROW * named.length + 8, right: null, top: size + 10, most: Math.floor((size - 58 - 41 - 14) / 7)};
}

const nameAll = (svg, named, {right, top, most}, paint) =>
  legend(svg, named.map((item) => ({...item, ...look(item.slot, paint.colours)})), right, top, paint, most);

/**
 * Regions in the plane of the two errors. An item has name, curve, slot and chosen; they come in the order of drawing,
 * last in front, and ``named`` in the order of the list.
 */
function drawErrors(svg, items, named, size, title) {
  const width = size, height = size, tenths = [0, 0.2, 0.4, 0.6, 0.8, 1].map((v) => [v, String(v)]);
  const x = axis(0, 1, 58, width - 14), y = axis(0, 1, height - 48, 14);
  const names = placed(named, size);
  const paint = frame(svg, {width, height, below: names.below, title, x, y, xTicks: tenths, yTicks: tenths,
    xTitle: "false alarms (FP)", yTitle: "misses (FN)"});
  for (const item of items) {
    const {colour, dash} = look(item.slot, paint.colours);
    const {alpha, beta} = item.outline ?? outline(item.curve);
    if (item.curve instanceof GaussianLimit) {
      const band = path(GRID, GRID.map((a) => item.curve.lower(a)), x, y)
        + path(GRID.slice().reverse(), GRID.slice().reverse().map((a) => item.curve.upper(a)), x, y).replace("M", "L");
      svg.append(node("path", {d: `${band}Z`, fill: colour, "fill-opacity": 0.18}));
    } else {
      svg.append(node("path", {d: `${path(alpha, beta, x, y)}Z`, fill: colour, "fill-opacity": item.chosen ? 0.26 : 0.1}));
    }
    svg.append(node("path", {d: path(alpha, beta, x, y), fill: "none", stroke: colour, "stroke-dasharray": dash,
      "stroke-width": item.chosen ? 3.2 : 2, "stroke-linejoin": "round"}));
  }
  svg.append(
    node("line", {x1: x(0), y1: y(1), x2: x(1), y2: y(0), stroke: paint.ink}),
    node("line", {x1: x(0.05), x2: x(0.05), y1: y(0), y2: y(0.95), stroke: paint.soft, "stroke-dasharray": "3 3"}),
  );
  nameAll(svg, named, names, paint);
  return svg;
}

/** The same regions as δ at every ε. */
function drawDeltas(svg, items, named, size, title) {
  const width = size, height = size;
  // as far as anything still falls
  const falls = (item) => {
    const end = item.curve.delta(12);
    let reach = 1;
    while (reach < 12 && item.curve.delta(reach) - end > 0.002) reach += 1;
    return reach;
  };
  const reach = Math.max(1, ...items.map(falls));
  const steps = Array.from({length: reach + 1}, (_, i) => i).filter((i) => reach < 7 || i % 2 === 0);
  const x = axis(0, reach, 58, width - 14), y = axis(0, 1, height - 48, 14);
  const names = placed(named, size);
  const paint = frame(svg, {width, height, below: names.below, title, x, y, xTicks: steps.map((v) => [v, String(v)]),
    yTicks: [0, 0.2, 0.4, 0.6, 0.8, 1].map((v) => [v, String(v)]), xTitle: "ε", yTitle: "δ(ε)"});
  const places = Array.from({length: 101}, (_, i) => reach * i / 100);
  for (const item of items) {
    const {colour, dash} = look(item.slot, paint.colours);
    svg.append(node("path", {d: path(places, deltasOf(item.curve, reach), x, y), fill: "none",
      stroke: colour, "stroke-dasharray": dash, "stroke-width": item.chosen ? 3.2 : 2}));
  }
  nameAll(svg, named, names, paint);
  return svg;
}

function powersOfTen(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const apart = Math.max(Math.ceil((last - first) / 7), 1);
  const found = [];
  for (let power = first; power <= last; power += apart) found.push(10 ** power);
  return found;
}

/** Errors against a parameter, both on logarithms, with a dotted line where the parameter stands. */
function drawPrices(svg, {xs, lines, now, symbol, error}, width, height, title) {
  const heights = lines.flatMap((line) => line.ys).filter((v) => v > 1e-15);
  const ticks = powersOfTen(Math.min(...heights), Math.max(...heights));
  const [low, high] = [ticks[0], Math.max(ticks[ticks.length - 1], ticks[0] * 10, Math.max(...heights))];
  const x = axis(xs[0], xs[xs.length - 1], 74, width - 14, true);
  const y = axis(low, high, height - 48, 20 + 18 * lines.length, true);
  const marks = xs[0] < 1e-3 ? powersOfTen(xs[0], xs[xs.length - 1]).filter((v) => v >= xs[0] && v <= xs[xs.length - 1])
    : [0.05, 0.1, 0.2, 0.5, 1, 2, 5];
  const paint = frame(svg, {width, height, title, x, y, xTitle: symbol, yTitle: error,
    xTicks: marks.map((v) => [v, short(v, 2)]), yTicks: ticks.map((v) => [v, short(v, 2)])});
  lines.forEach((line, i) => {
    const {colour, dash} = look(i, paint.colours);
    svg.append(node("path", {d: path(xs, line.ys.map((v) => Math.max(v, low)), x, y), fill: "none", stroke: colour,
      "stroke-dasharray": dash, "stroke-width": 2.4}),
    node("circle", {cx: x(now), cy: y(Math.max(line.now, low)), r: 4, fill: colour}));
  });
  svg.append(node("line", {x1: x(now), x2: x(now), y1: y.top, y2: y.bottom, stroke: paint.ink, "stroke-width": 1.6,
    "stroke-dasharray": "2 4", class: "now"}));
  legend(svg, lines.map((line, i) => ({name: line.name, ...look(i, paint.colours)})), width - 14, 14, paint,
    Math.floor((width - 70) / 7));
  return svg;
}

function download(blob, name) {
  const link = el("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const svgText = (svg) => new XMLSerializer().serializeToString(svg);

function savePicture(svg, kind, name) {
  const text = svgText(svg);
  if (kind === "svg") return Promise.resolve(download(new Blob([text], {type: "image/svg+xml"}), `${name}.svg`));
  return new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => {
      const canvas = el("canvas");
      // twice the size, for slides and print
      [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => done(download(blob, `${name}.png`)), "image/png");
    };
    image.onerror = failed;
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}
