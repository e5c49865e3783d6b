"""The page: a frame that stays, one view at a time, and what moves between the two."""

from typing import Any

import dash
from dash import Dash, Input, Output, State, dcc, html, no_update
from flask import Response

from synthdp.errors import SynthdpError
from synthdp.explore import folders, steering, touring
from synthdp.explore.acting import Hand
from synthdp.explore.desk import Desk
from synthdp.explore.elements import note, plain
from synthdp.explore.regions import page as region_page
from synthdp.explore.server import document
from synthdp.explore.views import NAMES, counted, view

TICK = 700
FIRST = "columns"
GONE = "The workbench has ended and answers no more: start synthdp explore again."


def built(desk: Desk, *, tour: bool = False) -> Dash:
    """Return the app of a desk; nothing it serves comes from elsewhere."""
    app = Dash(
        "synthdp.explore",
        assets_folder=str(_assets()),
        serve_locally=True,
        title="synthdp workbench",
        update_title="",
        suppress_callback_exceptions=True,
        prevent_initial_callbacks=False,
        include_pages_meta=False,
        compress=False,
        on_error=_unforeseen,
    )
    hand = Hand(desk, step=1 if tour else 0)
    app.layout = lambda: frame(hand)
    _wire(app, hand)
    _serve_pages(app, desk)
    return app


def _assets() -> Any:
    from importlib.resources import files

    return files("synthdp.explore") / "assets"


def frame(hand: Hand) -> html.Div:
    """Return what stays on the page whatever is shown."""
    first = FIRST if hand.desk.session.opened is not None else "open"
    nav = [
        html.Button(
            title, id=f"view|{name}", className="turn", **{"aria-current": "page" if name == first else "false"}
        )
        for name, title in NAMES.items()
    ]
    return html.Div(
        [
            html.A("To the content", href="#main", className="skip"),
            html.P(
                "Confidential: this page shows the original data's counts. It runs on this machine only.",
                className="confidential",
            ),
            html.Header(
                [
                    html.Div([html.Strong("synthdp"), " ", html.Span(id="file")], className="name"),
                    html.Div(
                        [
                            html.Button("Undo", id="press|undo|", className="plain"),
                            html.Button("Tour", id="press|tour|next", className="plain"),
                            html.A("Privacy regions", href="/regions", target="_blank", rel="noopener noreferrer"),
                        ],
                        className="row",
                    ),
                ]
            ),
            html.Nav(nav, **{"aria-label": "views"}),
            html.Div(id="tour"),
            html.Div(
                [
                    html.Strong(GONE, id="gone", hidden=True),
                    html.Span("Working …", id="waiting", hidden=True),
                    html.Span(id="progress"),
                    html.Button("Stop", id="press|stop|", className="plain", hidden=True),
                ],
                className="progress row",
                role="status",
            ),
            html.Div(id="said", role="status", **{"aria-live": "polite"}),
            html.Main(id="main", tabIndex=-1),
            dcc.Store(id="edit", storage_type="memory"),
            dcc.Store(id="shown", storage_type="memory", data=first),
            dcc.Store(id="drawn", storage_type="memory", data=""),
            dcc.Store(id="beat", storage_type="memory", data=0),
            dcc.Interval(id="tick", interval=TICK),
        ]
    )


def _wire(app: Dash, hand: Hand) -> None:
    desk = hand.desk

    def act(edit: Any, here: str) -> tuple[Any, Any, Any]:
        if not isinstance(edit, dict):
            return no_update, no_update, no_update
        desk.said = ""
        sentence = hand.act(str(edit.get("about", "")), str(edit.get("value", "")))
        going = hand.go if hand.go and hand.go != here else no_update
        return [note(line) for line in sentence.splitlines()], _beat(hand), going

    app.callback(
        Output("said", "children"),
        Output("beat", "data", allow_duplicate=True),
        Output("shown", "data"),
        Input("edit", "data"),
        State("shown", "data"),
        prevent_initial_call=True,
    )(act)

    def tick(_: Any, beat: Any) -> tuple[Any, ...]:
        # asked before the state is read, so that what ends in between is seen by the next tick
        busy = desk.workshop.busy
        now, (sentence, _share) = _beat(hand), desk.workshop.progress()
        said = [note(line) for line in desk.said.splitlines()] if desk.said and not busy else no_update
        return now if now != beat else no_update, sentence, not busy, said

    app.callback(
        Output("beat", "data"),
        Output("progress", "children"),
        Output("press|stop|", "hidden"),
        Output("said", "children", allow_duplicate=True),
        Input("tick", "n_intervals"),
        State("beat", "data"),
        prevent_initial_call=True,
    )(tick)

    def show(_: Any, name: str, drawn: Any) -> tuple[Any, ...]:
        frame_ = steering.frame(desk) if name == "masks" else ""
        inside: Any = no_update
        if frame_ and frame_ == drawn:
            for place, props in steering.parts(desk).items():
                dash.set_props(place, props)
        else:
            inside = html.Div(view(name if name in NAMES else FIRST, hand), **{"data-refused": str(hand.refused)})
        here = desk.session.opened
        file = "" if here is None else f"{plain(here.config.data.path.name)}, {len(here.table.frame):,} records"
        return inside, file, touring.step(hand.step), frame_

    app.callback(
        Output("main", "children"),
        Output("file", "children"),
        Output("tour", "children"),
        Output("drawn", "data"),
        Input("beat", "data"),
        Input("shown", "data"),
        State("drawn", "data"),
    )(show)

    def count(places: Any) -> Any:
        try:
            names = desk.counter().names()
            hand.chosen = tuple(names[int(place)] for place in places or ())
        except (SynthdpError, ValueError, IndexError) as error:
            return note(str(error) if isinstance(error, SynthdpError) else "Load the page again.", "warning")
        return counted(desk, hand.chosen)

    app.callback(Output("unique-found", "children"), Input("unique-columns", "value"), prevent_initial_call=True)(count)

    def brush(selected: Any) -> Any:
        found = desk.session.finished
        if found is None:
            return no_update
        asked = folders.Asked(hand.asked.words, hand.asked.risk, hand.asked.utility, folders.brushed(selected))
        return folders.points(found, asked)

    app.callback(Output("points", "children"), Input("brushed", "selectedData"), prevent_initial_call=True)(brush)


def _beat(hand: Hand) -> str:
    """Return what differs whenever the page has something new to show."""
    revision, news = hand.desk.state()
    return f"{revision}.{news}.{hand.step}.{hand.single}.{hand.refused}.{hash(hand.asked)}"


def _serve_pages(app: Dash, desk: Desk) -> None:
    def page(name: str) -> Response:
        found = desk.session.finished
        known = folders.pages(found) if found is not None else {}
        if name not in known:
            return Response("There is no such page in the folder that is open.", 404, mimetype="text/plain")
        return document(known[name].read_bytes(), found=True)

    def regions() -> Response:
        return document(region_page(desk.session.config if desk.session.opened is not None else None))

    app.server.add_url_rule("/opened/<path:name>", "opened", page)
    app.server.add_url_rule("/regions", "regions", regions)


def _unforeseen(error: Exception) -> None:
    """Say that something went wrong without saying what, as an exception may quote the data."""
    dash.set_props(
        "said", {"children": [note(f"A bug in synthdp: {type(error).__name__}. Please report it.", "warning")]}
    )
