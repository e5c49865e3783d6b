// Building the page. Text goes in as text nodes only, so that no name can become markup.

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);

/** Letters that would break a saved picture or turn a line around: controls, halves of pairs, changes of direction. */
function plain(text, most = 80) {
  const bad = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g;
  return Array.from(String(text).replace(bad, " "))
    .filter((c) => !/^[\ud800-\udfff]$/.test(c))
    .slice(0, most).join("").trim();
}

let helps = 0;

/** A button "?" and the text that it shows. */
function explained(what, text) {
  const id = `help${++helps}`;
  const shown = el("span", {id, class: "help", hidden: true}, text);
  const button = el("button", {
    type: "button", class: "what", "aria-label": `What is this: ${what}`, "aria-expanded": "false", "aria-controls": id,
    onclick: () => {
      shown.hidden = !shown.hidden;
      button.setAttribute("aria-expanded", String(!shown.hidden));
    },
  }, "?");
  return [button, shown];
}

const NOTCHES = 1000;

/** Where a value stands on its slider, and back. */
function scaled(spec, [low, high]) {
  if (spec.scale === "choice") {
    return {
      range: [0, spec.choices.length - 1, 1],
      to: (value) => spec.choices.indexOf(value),
      from: (place) => spec.choices[place],
    };
  }
  if (spec.scale.startsWith("log")) {
    const span = Math.log(high / low);
    return {
      range: [0, NOTCHES, 1],
      to: (value) => NOTCHES * Math.log(value / low) / span,
      from: (place) => {
        const value = Number((low * Math.exp(span * place / NOTCHES)).toPrecision(3));
        return spec.scale === "logwhole" ? Math.round(value) : value;
      },
    };
  }
  return {range: [low, high, spec.scale === "whole" ? 1 : "any"], to: (v) => v, from: (v) => (
    spec.scale === "whole" ? Math.round(v) : Number(v.toFixed(3)))};
}

/** A slider and a number box for one parameter. ``changed`` gets the new value; ``update`` shows one. */
function setting(id, spec, changed, say) {
  const name = `${spec.symbol}, ${spec.name}`;
  const slider = el("input", {type: "range", id: `${id}-slider`, "aria-label": `${name}, slider`});
  const box = el("input", {type: "number", id: `${id}-box`, step: "any", inputmode: "decimal"});
  let bounds = [spec.min, spec.max], typing = false;
  slider.addEventListener("input", () => {
    const value = scaled(spec, bounds).from(Number(slider.value));
    changed(Math.min(Math.max(value, bounds[0]), bounds[1]));
  });
  slider.addEventListener("keydown", (event) => {
    // "any" leaves the arrow keys without a step of their own
    const ways = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10};
    if (spec.scale !== "linear" || !(event.key in ways)) return;
    event.preventDefault();
    const value = Number(slider.value) + ways[event.key] * spec.step;
    changed(Number(Math.min(Math.max(value, bounds[0]), bounds[1]).toFixed(6)));
  });
  // what somebody is typing is not written over by a picture that is drawn meanwhile
  box.addEventListener("input", () => { typing = true; });
  box.addEventListener("blur", () => { typing = false; });
  box.addEventListener("change", () => {
    typing = false;
    const asked = Number(box.value);
    if (box.value.trim() === "" || !Number.isFinite(asked)) return changed(null);
    let value = Math.min(Math.max(asked, bounds[0]), bounds[1]);
    if (spec.scale.endsWith("whole")) value = Math.round(value);
    if (spec.choices) value = spec.choices.reduce((a, b) => (Math.abs(b - asked) < Math.abs(a - asked) ? b : a));
    const right = spec.choices ? `must be one of ${spec.choices.join(", ")}`
      : `must lie between ${short(bounds[0])} and ${short(bounds[1])}${spec.scale.endsWith("whole") ? ", whole" : ""}`;
    if (value !== asked) say(`${spec.symbol}: ${right}, found ${short(asked)}; ${short(value)} is used.`);
    return changed(value);
  });
  const node = el("div", {class: "setting"},
    el("label", {for: `${id}-box`}, el("b", {}, spec.symbol), ` ${spec.name}`), ...explained(name, spec.help), slider, box);
  const update = (value, limits) => {
    bounds = limits;
    const {range, to} = scaled(spec, bounds);
    [slider.min, slider.max, slider.step] = range.map(String);
    slider.value = String(to(value));
    slider.setAttribute("aria-valuetext", short(value));
    if (!typing && (document.activeElement !== box || Number(box.value) !== value)) box.value = String(Number(value.toPrecision(6)));
  };
  return {node, update};
}

/** Fill a table with a caption, heads and rows of texts; the first cell of a row is its head. */
function fillTable(table, caption, heads, rows) {
  table.replaceChildren(
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", {scope: "col"}, head)))),
    el("tbody", {}, ...rows.map(([head, ...cells]) => el("tr", {}, el("th", {scope: "row"}, head),
      ...cells.map((cell) => el("td", {}, cell))))),
  );
}
