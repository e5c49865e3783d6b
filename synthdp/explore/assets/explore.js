// The browser's own selects, sliders and buttons tell the server what a person did; nothing is stored in the browser.
(function () {
  "use strict";
  let count = 0;

  function tell(about, value) {
    count += 1;
    window.dash_clientside.set_props("edit", { data: { about: about, value: String(value), count: count } });
  }

  // what takes the server longer than a moment is said; the page asks once a tick besides, which is nobody's doing
  const SLOW = 600;
  const ask = window.fetch;
  let pending = 0;
  window.fetch = function (where, about) {
    const answer = ask.apply(this, arguments);
    if (!String(where).includes("_dash-update-component")) return answer;
    answer.then(() => show("gone", false), () => show("gone", true));
    if (String(about && about.body).includes('"tick.n_intervals"')) return answer;
    let late = false;
    const clock = setTimeout(() => {
      late = true;
      pending += 1;
      show("waiting", true);
    }, SLOW);
    return answer.finally(() => {
      clearTimeout(clock);
      if (late) pending -= 1;
      show("waiting", pending > 0);
    });
  };

  function show(name, shown) {
    const said = document.getElementById(name);
    if (said) said.hidden = !shown;
  }

  function mine(element, kinds) {
    return element && element.id && kinds.some((kind) => element.id.startsWith(kind + "|"));
  }

  document.addEventListener("change", (event) => {
    if (mine(event.target, ["column", "slide", "axis"])) tell(event.target.id, event.target.value);
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (mine(button, ["view"])) {
      window.dash_clientside.set_props("shown", { data: button.id.split("|")[1] });
    } else if (mine(button, ["press"])) {
      const place = button.id.split("|")[2];
      const field = place ? document.getElementById(place) : null;
      tell(button.id, field ? field.value : "");
    }
  });

  function sift() {
    const filter = document.getElementById("filter");
    const rows = document.querySelectorAll("#column-rows > tr");
    if (!filter || !rows.length) return;
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row) => {
      row.hidden = !words.every((word) => row.dataset.find.includes(word));
    });
  }

  // a view that is made anew keeps what somebody was writing, and where they were
  const written = {};
  let place = "";

  document.addEventListener("input", (event) => {
    if (event.target.matches("input[type=text], input[type=search]")) written[event.target.id] = event.target.value;
    if (event.target.id === "filter") sift();
  });

  document.addEventListener("focusin", (event) => {
    if (event.target.id && document.getElementById("main").contains(event.target)) place = event.target.id;
  });

  document.addEventListener("pointerdown", () => { place = ""; });

  function restore() {
    const fields = document.querySelectorAll("#main input[type=text], #main input[type=search]");
    fields.forEach((field) => {
      if (field.restored) return;
      field.restored = true;
      if (field.id in written && written[field.id] !== field.value) {
        window.dash_clientside.set_props(field.id, { value: written[field.id] });
      }
    });
    const lost = document.activeElement === document.body && place ? document.getElementById(place) : null;
    if (lost) lost.focus({ preventScroll: true });
  }

  // Ctrl-Z takes back a change of the settings, unless somebody is writing
  document.addEventListener("keydown", (event) => {
    const writing = event.target.matches("input[type=text], input[type=search], textarea");
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !writing) {
      event.preventDefault();
      tell("press|undo|", "");
    }
    if (event.key === "Enter" && writing) {
      const button = document.querySelector('button[id$="|' + CSS.escape(event.target.id) + '"]');
      if (button) button.click();
    }
  });

  // what was refused does not stay in a select as if it held
  function settle(changes) {
    if (!changes.some((one) => one.attributeName === "data-refused")) return;
    document.querySelectorAll("#main select[data-chosen]").forEach((one) => { one.value = one.dataset.chosen; });
  }

  // which view is shown, for eyes and for screen readers
  new MutationObserver((changes) => {
    settle(changes);
    const title = document.querySelector("#main h1");
    document.querySelectorAll("nav .turn").forEach((tab) => {
      const here = Boolean(title) && tab.textContent === title.textContent;
      if (tab.getAttribute("aria-current") !== (here ? "page" : "false")) {
        tab.setAttribute("aria-current", here ? "page" : "false");
      }
    });
    restore();
    sift();
  }).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["data-refused"] });
})();
