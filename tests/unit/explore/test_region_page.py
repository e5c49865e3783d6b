"""The page of privacy regions in a real browser: what a person does with it, and what it must never do."""

import base64
import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from browsing import chromium

from synthdp.explore.regions import page
from synthdp.explore.regions.masked import Masks
from synthdp.explore.regions.page import _harmless

PIECES = (
    "<script>window.pwned=1</script>", "<img src=x onerror=window.pwned=1>", "</script><script>window.pwned=1</script>",
    "<svg onload=window.pwned=1>", "'\"><b onclick=window.pwned=1>", "javascript:window.pwned=1", "</title><script>",
    "<!--", "]]>", "&lt;b&gt;", "&#x3c;script&#x3e;", "${window.pwned=1}", "{{7*7}}", "{% raw %}", "`+window.pwned+`",
    "\\u003cscript", "</textarea>", "<iframe src=//evil.example>", "<base href=//evil.example>", "__proto__",
    "<meta http-equiv=refresh content=0>", "<link rel=stylesheet href=//evil.example>", "url(//evil.example)",
    "constructor", "toString", "hasOwnProperty", "nul\u0000byte", "bell\u0007", "line\nbreak", "tab\there",
    "\u202eright to left", "\u2066isolate", "\ufeffmark", "\U0001f600 face", "e\u0301 accent", "ﷺ" * 20, "a" * 500,
    " ", "", "0", "null", "undefined", "NaN", "ε δ μ", "名前", "اسم", "% %s %n", "../../etc", "=1+1",
    "<details open ontoggle=window.pwned=1>",
)  # fmt: skip


expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "regions.html"
    file.write_text(page(), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def window():
    """One window for all tests, as each costs a process, with what went wrong in it and what it asked for."""
    wrong, asked = [], []
    with chromium() as browser:
        context = browser.new_context(accept_downloads=True)
        shown = context.new_page()
        shown.set_default_timeout(20_000)
        shown.on("pageerror", lambda error: wrong.append(str(error)))
        shown.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        context.on("request", lambda request: asked.append(request.url))
        yield shown, wrong, asked


@pytest.fixture
def opened(window, address):
    """The page afresh; fails the test on an error in it, and on any request but the one for itself."""
    shown, wrong, asked = window
    shown.goto("about:blank")
    shown.set_viewport_size({"width": 1280, "height": 900})
    shown.emulate_media(color_scheme="light")
    shown.goto(address)
    wrong.clear()
    asked.clear()
    yield shown
    assert not wrong
    # the page itself, and pictures that it holds already
    own = re.compile(r"file:///[^?]*\.html(#.*)?$|data:image/svg\+xml|blob:|about:blank")
    assert not [url for url in asked if not own.match(url)]


def milliseconds(limit):
    """Return a limit on time as it is on a machine that has nothing else to do."""
    return limit * max(1.0, 1.5 * os.getloadavg()[0] / (os.cpu_count() or 1))


def add(shown, kind):
    shown.select_option("#kinds", kind)
    shown.click("#add")
    shown.evaluate("draw()")


def areas(shown):
    shown.evaluate("draw()")
    return {
        row.query_selector(".name").inner_text(): float(row.query_selector("td").inner_text())
        for row in shown.query_selector_all("#list tbody tr")
    }


def link(shown):
    shown.click("#link")
    return shown.input_value("#address")


def type_into(shown, label, value):
    box = shown.locator("#settings").get_by_label(label, exact=True)
    box.fill(str(value))
    box.press("Tab")


def test_what_a_person_does_with_regions(opened, tmp_path):
    assert areas(opened) == {"(0.6, 0.05)-DP": 0.1802}
    add(opened, "dptv")
    assert areas(opened)["(0.6, 0.15)-DP, 0.25-TV"] == 0.2066
    add(opened, "gdp")
    type_into(opened, "μ distance in sds", 1.5)
    assert areas(opened)["1.5-GDP"] == 0.3556  # Figure 3.5
    slider = opened.get_by_label("μ, distance in sds, slider", exact=True)
    slider.evaluate("(node) => { node.value = 0.8; node.dispatchEvent(new Event('input', {bubbles: true})); }")
    assert areas(opened)["0.8-GDP"] == pytest.approx(0.2137, abs=0.01)
    assert opened.input_value("#settings input[type=number]") == "0.8"
    opened.fill("#rename", "noise on the mean")
    opened.press("#rename", "Tab")
    assert "noise on the mean" in areas(opened)
    # the chosen one is drawn last, and behind smaller ones when asked to be
    lines = "[...byId('picture').querySelectorAll('path[fill=none]')].map((one) => one.getAttribute('stroke-width'))"
    assert opened.evaluate(lines)[-1] == "3.2"
    opened.uncheck("#front")
    opened.evaluate("draw()")
    assert opened.evaluate(lines)[0] == "3.2"
    for name in ("(0.6, 0.15)-DP, 0.25-TV", "noise on the mean"):
        opened.check(f"[aria-label='Intersect {name}']")
    opened.fill("#title", "both")
    opened.click("#intersect")
    assert areas(opened)["both"] == 0.1951  # Figure 3.7
    assert opened.inner_text("#words").startswith("both: an attacker who wants to know whether a person's record")
    assert "finds the person in at most 19.9 of 100 cases; guessing does so in 5." in opened.inner_text("#words")
    opened.check("#view-deltas")
    opened.evaluate("draw()")
    assert opened.evaluate("byId('picture').querySelector('text:last-of-type') !== null")
    before, kept = link(opened), areas(opened)
    opened.click("#delete")
    assert "both" not in areas(opened)
    opened.goto("about:blank")
    opened.goto(before)
    assert areas(opened) == kept
    assert opened.evaluate("[state.view, state.front, nameOf(chosen())]") == ["deltas", False, "both"]
    for button, name in (("#save-svg", "privacy-regions.svg"), ("#save-png", "privacy-regions.png")):
        with opened.expect_download() as saved:
            opened.click(button)
        assert saved.value.suggested_filename == name
        saved.value.save_as(tmp_path / name)
    drawn = ET.parse(tmp_path / "privacy-regions.svg").getroot()
    assert "both" in [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert (tmp_path / "privacy-regions.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_number_is_not_written_over_while_somebody_types_it(opened):
    box = opened.locator("#settings").get_by_label("ε privacy loss", exact=True)
    box.fill("1.2")
    opened.evaluate("draw()")  # as a picture that is drawn a little later
    assert box.input_value() == "1.2"
    box.press("Tab")
    assert list(areas(opened)) == ["(1.2, 0.05)-DP"]
    box.fill("99")
    box.press("Enter")
    opened.evaluate("draw()")
    assert box.input_value() == "8"


def test_numbers_are_kept_within_their_bounds_and_it_is_said(opened):
    type_into(opened, "δ slack", 3)
    opened.evaluate("draw()")
    assert opened.input_value("#settings .setting:nth-of-type(2) input[type=number]") == "0.99"
    assert opened.inner_text("#said") == "δ: must lie between 0 and 0.99, found 3; 0.99 is used."
    add(opened, "dptv")
    type_into(opened, "ε privacy loss", 0.1)
    # η follows what (ε, δ) leaves it
    assert opened.evaluate("chosen().values.eta") == pytest.approx(0.15 + 0.85 * 0.04995837495787997)
    opened.evaluate("for (let i = 0; i < 30; i++) byId('add').click()")
    assert opened.inner_text("#said") == "24 regions are the most that can be told apart."
    opened.click("#intersect")
    assert opened.inner_text("#said") == "Tick at least two regions of the list first."
    opened.evaluate("while (chosen()) remove()")
    assert areas(opened) == {}
    assert opened.inner_text("#words") == "No region is chosen. Add one from the list."
    opened.click("#link")


def test_every_kind_and_every_query_is_drawn_quickly(opened):
    for kind in opened.evaluate("Object.keys(KINDS).filter((key) => !KINDS[key].hidden)"):
        add(opened, kind)
        assert "NaN" not in opened.evaluate("(draw(), byId('picture').outerHTML + byId('list').outerHTML)")
    opened.evaluate(
        "state.regions.push(region('both', {}, {parts: [region('gdp', {mu: 0.8}), region('laplace', {})]}))"
    )
    # the machine may be busy with something else, so the quickest of some tries counts
    took = """(work) => { let least = Infinity;
        const one = state.regions.find((other) => other.kind === 'gdp');
        for (let i = 0; i < 15 && least > 50; i++) {
          const began = performance.now();
          if (work === 'anew') curves.clear();
          else one.values = {mu: 1 + i / 100};
          syncRows(); draw();
          least = Math.min(least, performance.now() - began);
        } return least; }"""
    for view in ("errors", "deltas"):
        opened.evaluate("(view) => { state.view = view; }", view)
        # seventeen regions, all of them computed anew; and one moved by a slider
        assert opened.evaluate(took, "anew") < milliseconds(100)
        assert opened.evaluate(took, "moved") < milliseconds(100)
    shown = "(byId('price-picture').outerHTML + byId('price-region').outerHTML + byId('prices-words').textContent)"
    for query, mains in opened.evaluate("Object.entries(QUERIES).map(([key, query]) => [key, query.mains])"):
        opened.select_option("#query", query)
        for main in mains:
            opened.evaluate("drawWindow()")
            if len(mains) > 1:
                opened.select_option("#main", main)
            spent = opened.evaluate(
                "(() => { const b = performance.now(); drawWindow(); return performance.now() - b; })()"
            )
            assert spent < 100
            assert "NaN" not in opened.evaluate(shown)
            slider = opened.locator("#price-settings input[type=range]").nth(mains.index(main))
            places = []
            for notch in (200, 800):
                slider.evaluate("(node, at) => { node.value = at; node.dispatchEvent(new Event('input')); }", notch)
                opened.evaluate("drawWindow()")
                places.append(float(opened.get_attribute("#price-picture .now", "x1")))
            assert places[0] < places[1]
    opened.select_option("#query", "mean")
    opened.evaluate("(state.prices = settledWindow('mean', {epsilon: 0.5}), drawWindow())")
    # 2k ln(1.25/δ) d²/(nε)² for k = 2, d = 1, n = 1000, δ = 1e-5
    assert "classical noise (proved for ε < 1) 0.000188" in opened.inner_text("#prices-words")


def test_keyboard_and_screen_reader(opened):
    assert (
        opened.evaluate("""[...document.querySelectorAll('input, select, button')].filter((node) =>
        !(node.getAttribute('aria-label') || node.labels?.length || node.textContent.trim())).map((node) => node.id)""")
        == []
    )
    assert opened.evaluate("[...document.querySelectorAll('svg[role=img]')].every((one) => one.querySelector('title'))")
    opened.focus("#settings input[type=range]")
    opened.keyboard.press("ArrowRight")
    opened.evaluate("draw()")
    assert opened.evaluate("chosen().values.epsilon") == 0.61
    assert opened.evaluate("document.activeElement.type") == "range"
    expect(opened.locator("#aloud")).to_contain_text("(0.61, 0.05)-DP: an attacker")
    opened.focus("#kinds")
    opened.keyboard.press("Tab")
    opened.keyboard.press("Enter")
    assert len(areas(opened)) == 2
    opened.focus("#list tbody tr.chosen input")
    opened.keyboard.press("ArrowUp")
    opened.evaluate("draw()")
    assert opened.evaluate("state.chosen === state.regions[0].id")
    opened.click("#numbers summary")
    expect(opened.locator("#table tbody tr")).to_have_count(13)
    opened.click("#price-numbers summary")
    expect(opened.locator("#price-table tbody tr")).to_have_count(11)
    what = opened.locator("#settings .setting .what").first
    what.click()
    assert what.get_attribute("aria-expanded") == "true"
    assert opened.locator("#settings .setting .help").first.is_visible()


def test_the_tour_has_five_steps_and_is_offered_once(opened, address):
    assert opened.is_visible("#first")
    opened.click("#tour-start")
    for number in range(1, 6):
        assert opened.inner_text("#tour-title").startswith(f"{number} of 5: ")
        assert opened.locator(".toured").count() == 1
        assert opened.evaluate("document.activeElement.id") == "tour-next"
        opened.keyboard.press("Enter")
    assert not opened.is_visible("#tour")
    assert opened.evaluate("document.activeElement.id") == "tour-again"
    opened.wait_for_timeout(450)
    opened.reload()
    assert not opened.is_visible("#first")
    opened.focus("#skip")
    opened.keyboard.press("Enter")
    opened.wait_for_timeout(50)
    assert opened.inner_text("#said") == ""
    opened.click("#tour-again")
    opened.keyboard.press("Escape")
    assert opened.locator(".toured").count() == 0
    opened.goto("about:blank")
    opened.goto(f"{address}#s=x")
    assert not opened.is_visible("#first")
    assert opened.inner_text("#said") == "The link could not be read, so the page starts afresh."


def test_colours_and_narrow_screens(opened):
    paper = "getComputedStyle(document.body).backgroundColor"
    light = opened.evaluate(paper)
    opened.click("#theme")
    dark = opened.evaluate(paper)
    assert light == "rgb(255, 255, 255)" != dark
    opened.click("#theme")
    opened.emulate_media(color_scheme="dark")
    assert opened.evaluate(paper) == light  # what was chosen stays
    opened.set_viewport_size({"width": 390, "height": 800})
    for kind in ("optimaltv", "exponential", "limit"):
        add(opened, kind)
    opened.evaluate("drawAll()")
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    assert opened.evaluate("byId('picture').clientWidth") > 300


def test_names_stand_where_nothing_else_does(opened):
    """Beside the lines above the diagonal, or below the axes where they are too many, too long or too wide."""
    crossed = """[...byId('picture').querySelectorAll('text[font-size="12"]')].filter((one) => {
        const box = one.getBBox(), size = byId('picture').viewBox.baseVal.width;
        // the diagonal, in the picture's own pixels
        const line = 58 + (box.y + box.height - 14) / (size - 62) * (size - 72);
        return box.x + box.width > size || (box.y < size - 48 && box.x - 41 < line);
      }).length"""
    tall = "byId('picture').viewBox.baseVal.height - byId('picture').viewBox.baseVal.width"
    for width in (1280, 390):
        opened.set_viewport_size({"width": width, "height": 900})
        opened.evaluate("(state = fresh(), drawAll())")
        assert opened.evaluate(tall) == 0
        for name in ("", "W" * 80, "ﷺ" * 12, "名前" * 20):
            opened.evaluate("(name) => { state.regions[0].name = name; drawAll(); }", name)
            assert opened.evaluate(crossed) == 0, (width, name)
            assert opened.evaluate("document.documentElement.scrollWidth") <= width, (width, name)
        opened.evaluate("for (let i = 0; i < 23; i++) add(region('optimal', {epsilon: 0.1 + i / 50}))")
        for view in ("errors", "deltas"):
            opened.evaluate("(view) => { state.view = view; drawAll(); }", view)
            assert opened.evaluate(crossed) == 0
            assert opened.evaluate(tall) == 24 * 18 + 8


def test_an_approximation_is_marked_as_one(opened):
    opened.evaluate("(add(region('limit', {})), drawAll())")
    cells = opened.locator("#list tbody tr.chosen td").all_inner_texts()
    assert [cell.startswith("≈ ") for cell in cells] == [True, True, True, False]


def test_the_tour_does_not_stand_on_what_it_tells_of(opened):
    opened.set_viewport_size({"width": 390, "height": 800})
    # without the slow scrolling
    opened.emulate_media(reduced_motion="reduce")
    opened.click("#tour-again")
    for _ in range(5):
        top, free = opened.evaluate(
            "[document.querySelector('.toured').getBoundingClientRect().top, byId('tour').getBoundingClientRect().top]"
        )
        assert -1 <= top < free - 100
        opened.click("#tour-next")


def test_hostile_names_are_shown_as_they_are_and_do_nothing(opened, address, tmp_path):
    assert len(PIECES) == 50
    renamed = opened.evaluate(
        """(names) => names.map((name) => {
            byId('rename').value = name;
            byId('rename').dispatchEvent(new Event('change'));
            draw();
            const shown = rows.get(state.chosen).name.textContent, saved = svgText(byId('picture'));
            state = decoded(encoded(state));
            drawAll();
            return {shown, saved, restored: nameOf(chosen()), plain: plain(name.replaceAll('\\n', ''))};
        })""",
        PIECES,
    )
    for name, found in zip(PIECES, renamed, strict=True):
        # a text box drops line breaks itself
        assert found["shown"] == (found["plain"] or "(0.6, 0.05)-DP"), name
        assert found["restored"] == found["shown"], name
        # a saved picture is well-formed whatever it is called
        assert found["shown"][:10] in "".join(ET.fromstring(found["saved"]).itertext()), name
    assert sum(found["shown"] == name.strip() for name, found in zip(PIECES, renamed, strict=True)) >= 38
    masks = tuple({"name": name, "about": name, "kind": "maskgdp", "values": {"mu": 1.0}} for name in PIECES)
    told = _harmless(Masks(masks, PIECES).told())
    assert not re.search("[<>&]", told)
    file = tmp_path / "hostile.html"
    file.write_text(page().replace(_harmless(Masks().told()), told), encoding="utf-8")
    opened.goto(file.as_uri())
    assert opened.locator("#unbounded li").count() == 50
    opened.evaluate(
        "for (let i = 0; i < 50; i += 3) { byId('kinds').value = `mask ${i}`; byId('add').click(); } drawAll()"
    )
    assert len(areas(opened)) == 18
    assert opened.evaluate("window.pwned") is None
    words = opened.evaluate("(choose(state.regions[17].id), draw(), byId('words').textContent)")
    assert "wants to tell two values of one record apart from what its mask let through" in words
    # names of columns stay out of the address
    word = link(opened).partition("#s=")[2]
    assert b"pwned" not in base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))
    opened.goto(address)


@pytest.mark.parametrize(
    "told",
    [
        "x",
        {"v": 2, "r": []},
        {"v": 1, "r": [{"k": "__proto__"}, {"k": 3}, None, {"k": "both", "r": [{"k": "gdp"}]}]},
        {"v": 1, "r": [{"k": "gdp", "p": {"mu": "1"}}, {"k": "gdp", "p": 7, "n": 7, "m": -1}], "c": "x", "p": []},
        {"v": 1, "r": [{"k": "both", "r": [{"k": "both"}, {"k": "limit"}, {"k": "dp"}, {"k": "tv"}]}], "q": "toString"},
        {"v": 1, "r": [{"k": "optimal", "p": {"times": 1e99, "epsilon": -5, "delta": 2}}] * 200, "p": {"bins": 1e300}},
    ],
)  # fmt: skip
def test_a_spoilt_link_does_no_harm(opened, told):
    word = base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")
    opened.evaluate("(word) => { location.hash = `s=${word}`; }", word)
    opened.wait_for_timeout(50)
    opened.evaluate("drawAll()")
    assert len(areas(opened)) <= 24
    assert "NaN" not in opened.inner_html("#picture")


def test_nothing_can_be_fetched_and_no_script_be_added(window, address):
    shown, refused, asked = window
    shown.goto("about:blank")
    shown.goto(address)
    refused.clear()
    asked.clear()
    assert shown.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"
    shown.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.pwned = 1'}))"
    )
    shown.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=http://127.0.0.1:9/x onerror=window.pwned=1>')"
    )
    shown.wait_for_timeout(50)
    assert shown.evaluate("window.pwned") is None
    assert sum("Content Security Policy" in text for text in refused) >= 3


def test_the_page_names_no_other_host():
    # an icon of its own, or the browser would ask for one
    text = page().replace('<link rel="icon" href="data:,">', "")
    assert set(re.findall(r"https?://[^\"'` )]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(localStorage|sessionStorage|indexedDB|cookie|XMLHttpRequest|WebSocket|innerHTML)\b", text)
    assert not re.search(r"<(link|iframe|img|object|embed)\b|<script src|@import|url\(", text)


PICTURES = {
    "regions.svg": (
        "#picture",
        """state.regions = [region('dptv', {epsilon: 0.6, delta: 0.15, eta: 0.25}), region('gdp', {mu: 0.8})];
        state.regions.push(region('both', {}, {parts: state.regions.slice(), name: 'both promises'}));
        choose(state.regions[2].id); drawAll()""",
    ),
    "regions_price.svg": (
        "#price-picture",
        """state.query = 'mean'; state.main = 'epsilon'; state.prices = settledWindow('mean', {epsilon: 0.5});
        drawAll()""",
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_of_the_docs_are_what_the_page_saves(opened, name):
    """Written anew when SYNTHDP_REDRAW is set."""
    spot, script = PICTURES[name]
    opened.evaluate(f"() => {{ {script}; }}")
    drawn = opened.evaluate("(spot) => svgText(document.querySelector(spot))", spot) + "\n"
    committed = Path(__file__).parents[3] / "docs" / name
    if os.environ.get("SYNTHDP_REDRAW"):
        committed.write_text(drawn, encoding="utf-8")
    assert drawn == committed.read_text(encoding="utf-8")
