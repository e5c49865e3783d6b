// Themes, the tour, and the start of the page.

const STEPS = [
  ["plot", "A region", "Somebody wants to know whether a person's record is in the data. A test can raise a false alarm " +
    "(to the right) or miss the person (upwards). The line is the best that any test can do; the coloured region is " +
    "what can be reached. The smaller the region, the better the person is hidden."],
  ["adding", "Add a region", "Choose a promise, a mechanism or several releases together, and add it. Each comes with " +
    "usual values."],
  ["editing", "Move it", "The sliders and boxes change the chosen region; the picture and the sentence below it follow. " +
    "The question marks say what each number is."],
  ["listing", "Compare and intersect", "Choose a region in the list to bring it to the front. Tick several and " +
    "intersect them: what remains is what an attacker can reach when all the promises hold at once."],
  ["window", "What it costs", "Below, the error that privacy brings to a histogram, a mean, a median and others, against " +
    "ε or δ. The dotted line is where you stand."],
];
let step = 0;

function showStep() {
  for (const [id] of STEPS) byId(id).classList.remove("toured");
  if (!byId("tour").open) return;
  const [id, title, text] = STEPS[step];
  byId("tour-title").textContent = `${step + 1} of ${STEPS.length}: ${title}`;
  byId("tour-text").textContent = text;
  byId("tour-back").disabled = step === 0;
  byId("tour-next").textContent = step === STEPS.length - 1 ? "Done" : "Next";
  byId(id).classList.add("toured");
  // beside what it tells of, not on it
  byId("tour").className = ["adding", "editing", "listing"].includes(id) ? "left" : "";
  // on a narrow screen the words stand at the bottom, so what they tell of goes to the top
  byId(id).scrollIntoView({block: innerWidth <= 900 ? "start" : "nearest"});
}

function tour() {
  step = 0;
  byId("first").hidden = true;
  byId("tour").show();
  showStep();
  byId("tour-next").focus();
}

function endTour() {
  byId("tour").close();
  showStep();
  byId("tour-again").focus();
  changed();
}

function startTour() {
  byId("tour-again").addEventListener("click", tour);
  byId("tour-start").addEventListener("click", tour);
  byId("tour-refuse").addEventListener("click", () => {
    byId("first").hidden = true;
    byId("kinds").focus();
    changed();
  });
  byId("tour-close").addEventListener("click", endTour);
  byId("tour-back").addEventListener("click", () => {
    step -= 1;
    showStep();
  });
  byId("tour-next").addEventListener("click", () => {
    step += 1;
    if (step === STEPS.length) endTour();
    else showStep();
  });
  byId("tour").addEventListener("keydown", (event) => {
    if (event.key === "Escape") endTour();
  });
}

function startTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme"), root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${isDark() ? "light" : "dark"} colours`);
    drawAll();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  dark.addEventListener("change", show);
  show();
}

function drawAll() {
  syncRows();
  draw();
  drawWindow();
}

/** Show what the address asks for. */
function restore() {
  if (!location.hash.startsWith("#s=")) return;
  const word = /^#s=([\w-]+)$/.exec(location.hash)?.[1];
  const asked = word ? decoded(word) : null;
  if (!asked) return say("The link could not be read, so the page starts afresh.");
  state = asked;
  editor = prices = null;
}

startRegions();
startWindow();
startTour();
restore();
byId("first").hidden = location.hash !== "";
startTheme();
addEventListener("hashchange", () => {
  restore();
  drawAll();
});
let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(drawAll, 100);
});
