// The trade-off window: what a query costs as its main parameter moves, and the region beside it.

let prices = null;

function mainRange(main) {
  const spec = MAIN[main];
  return Array.from({length: 61}, (_, i) => spec.min * (spec.max / spec.min) ** (i / 60));
}

function buildPrices() {
  const query = QUERIES[state.query];
  byId("query").value = state.query;
  byId("query-help").replaceChildren(...explained(query.label, query.help));
  byId("main").replaceChildren(...query.mains.map((key) =>
    el("option", {value: key, selected: key === state.main}, `${MAIN[key].symbol}, ${MAIN[key].name}`)));
  byId("main").disabled = query.mains.length < 2;
  const specs = [...query.mains.map((key) => MAIN[key]), ...query.sizes];
  prices = {query: state.query, main: state.main, controls: specs.map((spec) => ({spec, control: setting(
    `price${state.query}${spec.key}`, spec, (value) => {
      state.prices = settledWindow(state.query, {...state.prices, [spec.key]: value ?? state.prices[spec.key]});
      pricesChanged();
    }, (text) => say(text, "prices-said"))}))};
  byId("price-settings").replaceChildren(...prices.controls.map(({control}) => control.node));
}

let pricesWaiting = 0, pricesSpoken = 0;

function pricesChanged() {
  if (!pricesWaiting) {
    pricesWaiting = requestAnimationFrame(() => {
      pricesWaiting = 0;
      drawWindow();
    });
  }
  clearTimeout(pricesSpoken);
  pricesSpoken = setTimeout(() => {
    history.replaceState(null, "", `#s=${encoded(state)}`);
    byId("aloud").textContent = byId("prices-words").textContent;
  }, 400);
}

function drawWindow() {
  if (!prices || prices.query !== state.query || prices.main !== state.main) buildPrices();
  const query = QUERIES[state.query], main = MAIN[state.main], now = state.prices[state.main];
  for (const {spec, control} of prices.controls) control.update(state.prices[spec.key], [spec.min, spec.max]);
  const xs = mainRange(state.main);
  const lines = query.curves.map(([name, price]) => ({
    name, ys: xs.map((value) => price({...state.prices, [state.main]: value})), now: price(state.prices),
  }));
  const width = room("price-figure", 560);
  drawPrices(byId("price-picture"), {xs, lines, now, symbol: `${main.symbol}, ${main.name}`, error: query.error}, width,
    Math.max(300, Math.round(width * 0.8)), `${query.error} against ${main.symbol}: ${query.label}`);
  const items = query.regions(state.prices).map(([name, curve], slot) => ({name, curve, slot, chosen: slot === 0}));
  const behind = items.slice().sort((a, b) => area(b.curve) - area(a.curve));
  drawErrors(byId("price-region"), behind, items, room("price-region-figure", 440), `Privacy region: ${items[0].name}`);
  const costs = lines.map((line) => `${line.name} ${short(line.now)}`).join("; ");
  byId("prices-words").textContent = `At ${main.symbol} = ${short(now)}, ${query.error}: ${costs}. ` +
    inWords(items[0].name.replace(/^./, (c) => c.toUpperCase()), items[0].curve);
  if (byId("price-numbers").open) {
    const steps = xs.filter((_, i) => i % 6 === 0);
    fillTable(byId("price-table"), `${query.error} against ${main.symbol}`,
      [main.symbol, ...lines.map((line) => line.name)],
      steps.map((value) => [short(value), ...query.curves.map(([, price]) =>
        short(price({...state.prices, [state.main]: value}), 4))]));
  }
}

function startWindow() {
  byId("query").append(...Object.entries(QUERIES).map(([key, query]) => el("option", {value: key}, query.label)));
  byId("query").addEventListener("change", () => {
    state.query = byId("query").value;
    if (!QUERIES[state.query].mains.includes(state.main)) state.main = "epsilon";
    state.prices = settledWindow(state.query, {epsilon: state.prices.epsilon, delta: state.prices.delta});
    prices = null;
    pricesChanged();
  });
  byId("main").addEventListener("change", () => {
    state.main = byId("main").value;
    pricesChanged();
  });
  byId("price-numbers").addEventListener("toggle", drawWindow);
  for (const [kind, button] of [["svg", "price-svg"], ["png", "price-png"]]) {
    byId(button).addEventListener("click", () => savePicture(byId("price-picture"), kind, `price-${state.query}`)
      .then(() => say(`Saved as price-${state.query}.${kind}.`, "prices-said"),
        () => say("The picture could not be saved.", "prices-said")));
  }
}
