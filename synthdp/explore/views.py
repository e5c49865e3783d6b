"""The views, each made anew from the desk whenever it has something new to say."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dash import dcc, html

from synthdp.errors import SynthdpError
from synthdp.explore import columns, steering, verdict
from synthdp.explore.acting import Hand
from synthdp.explore.desk import Desk, problem
from synthdp.explore.elements import note, plain, table
from synthdp.explore.folders import Asked, shown
from synthdp.explore.trials import fingerprint
from synthdp.explore.words import what, words

NAMES: Mapping[str, str] = {
    "columns": "Columns",
    "unique": "Who is alone",
    "masks": "Masks and map",
    "groups": "Who is at risk",
    "verdict": "Verdict",
    "run": "Write and run",
    "open": "Open",
}
OLD = "The settings have changed since; this is about the settings before."


def view(name: str, hand: Hand) -> list[Any]:
    """Return one view; a sentence where it cannot be shown."""
    desk = hand.desk
    views: Mapping[str, Callable[[], list[Any]]] = {
        "columns": lambda: _columns(desk),
        "unique": lambda: _unique(desk, hand.chosen),
        "masks": lambda: steering.whole(desk),
        "groups": lambda: _groups(desk, single=hand.single),
        "verdict": lambda: _verdict(desk),
        "run": lambda: _run(desk),
        "open": lambda: _open(desk, hand.asked),
    }
    title = html.H1(NAMES[name], tabIndex=-1)
    try:
        if desk.session.opened is None and name not in ("open",):
            return [title, note("Nothing is open: name a config or a data file under Open.")]
        return [title, *views[name]()]
    except SynthdpError as error:
        return [title, *(note(line, "warning") for line in str(error).splitlines())]


def _columns(desk: Desk) -> list[Any]:
    rows = columns.rows(desk.session)
    here = desk.session.opened
    assert here is not None
    head = ("Column", "Role", "May an intruder know it?", "Kind", "Why")
    inside = html.Table(
        [
            html.Caption("Columns of the file, in its order"),
            html.Thead(html.Tr([html.Th(one, scope="col") for one in head])),
            html.Tbody(columns.body(rows), id="column-rows"),
        ],
        className="columns",
    )
    first = (
        [note("All records are being looked at, to guess what each column is. Stop, to say all of it yourself.")]
        if here.glanced
        else []
    )
    wrong = problem(desk)
    return [
        *first,
        *([note(f"The config does not fit the file: {wrong}", "warning")] if wrong else []),
        html.P(columns.counts(rows)),
        html.Div(
            [
                html.Label("Show columns that hold ", htmlFor="filter"),
                dcc.Input(id="filter", type="search", placeholder="a name, replace, key:yes, decide …", debounce=True),
            ],
            className="row",
        ),
        html.Div(inside, className="scroll", tabIndex=0, role="region", **{"aria-label": "columns"}),
        words(),
    ]


def counted(desk: Desk, names: Sequence[str]) -> list[Any]:
    """Return how many records are alone on some columns; a sentence where that cannot be counted."""
    try:
        sentence, found = desk.counter().table(names)
    except SynthdpError as error:
        return [note(str(error), "warning")]
    return [html.P(sentence, className="headline"), what("alone"), table(found)]


def _unique(desk: Desk, asked: Sequence[str] | None) -> list[Any]:
    counter = desk.counter()
    chosen = [name for name in (counter.usual() if asked is None else asked) if name in counter.names()]
    options = [{"label": plain(name), "value": place} for place, name in enumerate(counter.names())]
    places = [place for place, name in enumerate(counter.names()) if name in chosen]
    return [
        html.P("Which columns may somebody know of a person? At first the keys of the config are ticked."),
        html.Fieldset(
            [html.Legend("Columns"), dcc.Checklist(options, places, id="unique-columns", className="many", inline=True)]
        ),
        html.Div(counted(desk, chosen), id="unique-found", **{"aria-live": "polite"}),
    ]


def _groups(desk: Desk, *, single: bool) -> list[Any]:
    desk.ask_check()
    if desk.checked is None:
        return [note("Looking at who stands out …")]
    mark, found = desk.checked
    old = [note(OLD)] if mark != fingerprint(desk.session.config) else []
    label = "Hide single records" if single else "Show single records (confidential)"
    ask = html.Button(label, id="press|single|", className="plain")
    rows = desk.judgement[1].at_risk if desk.judgement is not None else ()
    again = [] if found.groups else [_again()]
    return [
        *old,
        *verdict.at_risk(found),
        *again,
        html.H2("Single records"),
        ask,
        *(verdict.single(rows) if single else []),
    ]


def _again() -> html.Button:
    return html.Button("Check again", id="press|check|", className="plain")


def _verdict(desk: Desk) -> list[Any]:
    button = html.Button("Judge these settings", id="press|judge|")
    if desk.judgement is None:
        return [html.P("What would the release gate say? It takes as long as a run's verdict does."), button]
    mark, found = desk.judgement
    old = [note(OLD, "warning")] if mark != fingerprint(desk.session.config) else []
    return [button, *old, *verdict.judged(found)]


def _run(desk: Desk) -> list[Any]:
    here = desk.session.opened
    assert here is not None
    desk.ask_check()
    path = desk.written[0] if desk.written else _free(here.path)
    checked = [note("Checking …")]
    if desk.checked is not None:
        found = desk.checked[1]
        checked = [*verdict.checked(found), *([] if found.groups else [_again()])]
    shown_: list[Any] = [
        html.H2("What check says"),
        *checked,
        html.H2("Write the config"),
        html.Label("File ", htmlFor="config-path"),
        html.Div(
            [
                dcc.Input(id="config-path", type="text", value=str(path), className="path"),
                html.Button("Write config", id="press|write|config-path"),
            ],
            className="row",
        ),
    ]
    if desk.written is not None:
        same = desk.written[1] == fingerprint(desk.session.config)
        said = f"Written, read back and found to say the same: synthdp run {desk.written[0]}"
        shown_.append(note(said, "done") if same else note("The settings have changed since; write them again."))
        shown_ += [html.H2("Run"), html.Div([html.Button("Run", id="press|run|", disabled=not same)], className="row")]
    if desk.cut is not None:
        shown_ += [
            note(f"The run into {desk.cut} was cut off; it has published nothing."),
            html.Div([html.Button("Go on with it", id="press|resume|")], className="row"),
        ]
    if desk.ran is not None:
        folder, headline, public = desk.ran
        shown_ += [
            note(headline, "done"),
            html.P(f"Results: {folder}" + (" (public/ and confidential/)" if public else "")),
        ]
        shown_.append(html.Button("From the verdict to its evidence", id="press|ended|"))
    return shown_


def _free(path: Any) -> Any:
    """Return a name for the config that no file has yet."""
    number, found = 2, path
    while found.exists():
        found, number = path.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
    return found


def _open(desk: Desk, asked: Asked) -> list[Any]:
    top: list[Any] = [
        html.P("A config, a data file, or the folder of a finished run, compare, tune or evaluate, by its path."),
        html.Label("Path ", htmlFor="open-path"),
        html.Div(
            [dcc.Input(id="open-path", type="text", className="path"), html.Button("Open", id="press|open|open-path")],
            className="row",
        ),
    ]
    if desk.session.finished is None:
        return top
    filter_ = html.Div(
        [
            html.Label("Only rows that hold ", htmlFor="folder-words"),
            dcc.Input(id="folder-words", type="search", value=asked.words),
            html.Button("Filter", id="press|words|folder-words", className="plain"),
        ],
        className="row",
    )
    maps = desk.session.finished.kind in ("compare", "tune")
    return [*top, *([filter_] if maps else []), *shown(desk.session.finished, asked)]
