// The regions window: what is in the list, the picture, and what can be saved.

const HELP = {
  area: "How much of the triangle below the diagonal can be reached: 0 means nothing is learnt, 0.5 everything.",
  found: "The share of true cases that the best attacker finds who allows 5 false alarms in 100. Guessing finds 5%.",
  advantage: "The largest hits minus false alarms of any test: δ at ε = 0, the total variation.",
};

let state = fresh();
const rows = new Map();

const chosen = () => state.regions.find((one) => one.id === state.chosen) ?? null;
const slots = new Map();

/** The colour of a region: the first that no other has, kept as long as the region lives. */
function slotOf(one) {
  if (!slots.has(one.id)) {
    const taken = new Set(state.regions.filter((other) => slots.has(other.id)).map((other) => slots.get(other.id)));
    let free = 0;
    while (taken.has(free)) free++;
    slots.set(one.id, free);
  }
  return slots.get(one.id);
}

let waiting = 0, spoken = 0;

/** Say something to the screen reader and below the picture, but not at every step of a slider. */
function say(text, spot = "said") {
  byId(spot).textContent = text;
}

/** Draw again with the next frame, and write the link a little later. */
function changed(structure = false) {
  if (structure) syncRows();
  if (!waiting) {
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      draw();
    });
  }
  clearTimeout(spoken);
  spoken = setTimeout(() => {
    history.replaceState(null, "", `#s=${encoded(state)}`);
    byId("aloud").textContent = byId("words").textContent;
  }, 400);
}

function add(one) {
  if (state.regions.length >= MOST_REGIONS) return say(`${MOST_REGIONS} regions are the most that can be told apart.`);
  state.regions.push(one);
  choose(one.id);
  say(`Added: ${nameOf(one)}.`);
  return changed(true);
}

function choose(id) {
  state.chosen = id;
  changed(true);
  showEditor();
}

function remove() {
  const gone = chosen(), place = state.regions.indexOf(gone);
  if (!gone) return;
  state.regions.splice(place, 1);
  say(`Deleted: ${nameOf(gone)}.`);
  choose((state.regions[place] ?? state.regions[place - 1])?.id ?? null);
  byId("kinds").focus();
}

function crossTicked() {
  const ticked = state.regions.filter((one) => rows.get(one.id)?.tick.checked);
  if (ticked.length < 2) return say("Tick at least two regions of the list first.");
  // an intersection holds its own copy of each part, so that deleting one changes nothing else
  const parts = ticked.flatMap((one) => (one.kind === "both" ? one.parts : [one]))
    .map((one) => region(one.kind, one.values, {name: one.name, mask: one.mask}));
  for (const one of ticked) rows.get(one.id).tick.checked = false;
  return add(region("both", {}, {parts, name: plain(byId("title").value) || "Intersection"}));
}

/** One row per region, made once and then changed, so that the keyboard stays where it is. */
function syncRows() {
  const body = byId("list").tBodies[0];
  for (const [id, row] of rows) {
    if (!state.regions.some((one) => one.id === id)) {
      row.line.remove();
      rows.delete(id);
    }
  }
  for (const one of state.regions) {
    if (rows.has(one.id)) continue;
    const row = {
      pick: el("input", {type: "radio", name: "chosen", onchange: () => choose(one.id)}),
      sample: document.createElementNS("http://www.w3.org/2000/svg", "svg"),
      name: el("span", {class: "name"}), area: el("td"), found: el("td"), advantage: el("td"),
      tick: el("input", {type: "checkbox", disabled: isLimit(one)}),
    };
    row.line = el("tr", {}, el("th", {scope: "row"}, el("label", {}, row.pick, row.sample, row.name)), row.area,
      row.found, row.advantage, el("td", {}, row.tick));
    if (isLimit(one)) row.tick.title = "An approximation promises nothing, so it cannot be intersected.";
    rows.set(one.id, row);
    body.append(row.line);
  }
  byId("empty").hidden = state.regions.length > 0;
  byId("delete").disabled = chosen() === null;
}

function showRows() {
  const paint = theme();
  for (const one of state.regions) {
    const row = rows.get(one.id), curve = curveOf(one), {colour, dash} = look(slotOf(one), paint.colours);
    const name = nameOf(one);
    row.pick.checked = one.id === state.chosen;
    row.line.className = one.id === state.chosen ? "chosen" : "";
    row.name.textContent = name;
    row.sample.replaceChildren(node("line", {x1: 0, x2: 34, y1: 7, y2: 7, stroke: colour, "stroke-width": 3,
      "stroke-dasharray": dash}));
    for (const [key, value] of [["width", 34], ["height", 14], ["aria-hidden", "true"]]) row.sample.setAttribute(key, value);
    row.tick.setAttribute("aria-label", `Intersect ${name}`);
    // the limit theorem promises nothing
    const about = isLimit(one) ? "≈ " : "";
    row.area.textContent = about + shownOf(curve).area.toFixed(4);
    row.found.textContent = `${about}${(100 * (1 - curve.at(ALARMS))).toFixed(1)}%`;
    row.advantage.textContent = about + curve.delta(0).toFixed(4);
  }
}

/** Larger regions behind smaller ones, the chosen one in front if asked for. */
function ordered() {
  const size = (one) => shownOf(curveOf(one)).area;
  return state.regions.slice().sort((a, b) => {
    const front = state.front ? (a.id === state.chosen) - (b.id === state.chosen) : 0;
    return front || size(b) - size(a);
  });
}

const itemOf = (one) => ({
  name: nameOf(one), curve: curveOf(one), outline: shownOf(curveOf(one)).outline, slot: slotOf(one),
  chosen: one.id === state.chosen,
});

/** How wide a picture may be where it stands. */
const room = (figure, most) => Math.max(280, Math.min(most, byId(figure).clientWidth - 2));

function draw() {
  showRows();
  showEditor();
  for (const view of ["errors", "deltas"]) byId(`view-${view}`).checked = state.view === view;
  byId("front").checked = state.front;
  const title = state.regions.map(nameOf).join("; ") || "no region";
  const items = ordered().map(itemOf), named = state.regions.map(itemOf);
  const way = state.view === "errors" ? drawErrors : drawDeltas;
  way(byId("picture"), items, named, room("figure", 620), `Privacy regions: ${title}`);
  const one = chosen();
  byId("words").textContent = one ? inWords(nameOf(one), curveOf(one), aimOf(one), KINDS[one.kind]?.only)
    : "No region is chosen. Add one from the list.";
  showTable();
}

function showTable() {
  if (!byId("numbers").open) return;
  const heads = state.regions.map(nameOf);
  if (state.view === "errors") {
    const at = [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
    fillTable(byId("table"), "Least chance of a miss (FN) at each chance of a false alarm (FP)", ["FP", ...heads],
      at.map((a) => [String(a), ...state.regions.map((one) => curveOf(one).at(a).toFixed(4))]));
  } else {
    const at = [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5];
    fillTable(byId("table"), "Least δ at each ε", ["ε", ...heads],
      at.map((e) => [String(e), ...state.regions.map((one) => short(curveOf(one).delta(e), 4))]));
  }
}

/** The address of the page as it stands, without a token that may be in it. */
const linkNow = () => `${location.href.split(/[?#]/)[0]}#s=${encoded(state)}`;

function startRegions() {
  const groups = new Map();
  for (const [key, kind] of Object.entries(KINDS)) {
    if (kind.hidden) continue;
    if (!groups.has(kind.group)) groups.set(kind.group, el("optgroup", {label: kind.group}));
    groups.get(kind.group).append(el("option", {value: key, selected: key === "dptv"}, kind.label));
  }
  if (CONTEXT.masks.length) {
    groups.set("masks", el("optgroup", {label: "Masks of your config"}, ...CONTEXT.masks.map((mask, i) =>
      el("option", {value: `mask ${i}`}, plain(mask.name)))));
  }
  byId("kinds").append(...groups.values());
  byId("add").addEventListener("click", () => {
    const key = byId("kinds").value, number = Number(key.split(" ")[1]);
    const mask = key.startsWith("mask ") ? CONTEXT.masks[number] : null;
    add(mask ? region(mask.kind, mask.values, {mask: number}) : region(key, {}));
  });
  byId("unbounded").append(...CONTEXT.unbounded.map((one) => el("li", {}, plain(one, 400))));
  byId("unbounded").hidden = !CONTEXT.unbounded.length;
  byId("rename").addEventListener("change", () => {
    const one = chosen(), name = plain(byId("rename").value);
    one.name = name === nameOf({...one, name: ""}) ? "" : name;
    byId("rename").value = nameOf(one);
    say(`Renamed: ${nameOf(one)}.`);
    changed();
  });
  byId("delete").addEventListener("click", remove);
  byId("intersect").addEventListener("click", crossTicked);
  byId("front").addEventListener("change", () => {
    state.front = byId("front").checked;
    changed();
  });
  for (const view of ["errors", "deltas"]) {
    byId(`view-${view}`).addEventListener("change", () => {
      state.view = view;
      changed();
    });
  }
  for (const [kind, button] of [["svg", "save-svg"], ["png", "save-png"]]) {
    byId(button).addEventListener("click", () => savePicture(byId("picture"), kind, "privacy-regions")
      .then(() => say(`Saved as privacy-regions.${kind}.`), () => say("The picture could not be saved.")));
  }
  byId("link").addEventListener("click", () => {
    byId("address").hidden = false;
    byId("address").value = linkNow();
    byId("address").select();
    const told = "The link is in the box and selected.";
    const copied = navigator.clipboard?.writeText(byId("address").value) ?? Promise.reject(new Error("no clipboard"));
    copied.then(() => say("The link is copied."), () => say(`${told} Copy it with Ctrl+C.`));
  });
  byId("numbers").addEventListener("toggle", showTable);
  for (const [key, text] of Object.entries(HELP)) {
    const [button, shown] = explained(byId(`head-${key}`).textContent, text);
    byId(`head-${key}`).append(" ", button);
    // a column of the table is too narrow for a sentence
    byId("list-help").append(shown);
  }
}
