"""The view of masks: sliders beside the map. What a slider changes is sent alone, so that the page stays as it is."""

from collections.abc import Mapping
from typing import Any

from dash import dcc, html

from synthdp.errors import SynthdpError
from synthdp.explore import mapping, masks
from synthdp.explore.desk import Desk
from synthdp.explore.elements import figure, note, plain, table
from synthdp.explore.masks import Slider
from synthdp.explore.words import heads, words

Parts = Mapping[str, Mapping[str, Any]]


def whole(desk: Desk) -> list[Any]:
    """Return the view."""
    config, data = desk.session.config, desk.data()
    mine, theirs = masks.sliders(config, data)
    bare = [column.name for column in data.schema.replaced() if column.name not in config.masks]
    if not mine:
        offer = html.Button("Give every replaced column its usual mask", id="press|masks|")
        return [note("No replaced column has a mask with a strength."), *([offer] if bare else [])]
    more = [html.Button("Mask the other replaced columns too", id="press|masks|")] if bare else []
    drawn = mapping.drawn(config, data, desk.shelf.all(), desk.now())
    return [
        html.P(_said(desk), className="headline", id="masks-said", **{"aria-live": "polite"}),
        heads(("usefulness", "risk / limit")),
        html.Div(
            [
                html.Button("Try these settings", id="press|try|"),
                html.Button("Try all masks weaker and stronger", id="press|around|"),
                *more,
            ],
            className="row",
        ),
        html.Div(
            [
                html.Div(
                    [
                        html.H2("Noise by column"),
                        *(_slider("mask", place, one) for place, one in enumerate(mine)),
                        html.H2("Stronger masks for those who stand out"),
                        *(_slider("group", place, one) for place, one in enumerate(theirs)),
                    ],
                    className="sliders",
                ),
                html.Div(
                    [figure(drawn, "map")] if drawn is not None else [note("The map begins with the first trial.")],
                    className="map",
                ),
            ],
            className="beside",
        ),
        html.Div(table(mapping.listed(config, data, desk.shelf.all())), id="trials"),
        words(),
    ]


def frame(desk: Desk) -> str:
    """Return what of the view stays while sliders move; empty where there are none, or the map has yet to begin."""
    try:
        config, data = desk.session.config, desk.data()
        mine, theirs = masks.sliders(config, data)
    except SynthdpError:
        return ""
    bare = [column.name for column in data.schema.replaced() if column.name not in config.masks]
    if not mine or not desk.shelf.all():
        return ""
    return repr(("masks", id(desk.session.opened), [one.name for one in (*mine, *theirs)], bool(bare)))


def parts(desk: Desk) -> Parts:
    """Return what of the view has changed with a slider or a trial, by its place on the page."""
    config, data = desk.session.config, desk.data()
    mine, theirs = masks.sliders(config, data)
    tried = desk.shelf.all()
    found: dict[str, Mapping[str, Any]] = {
        "masks-said": {"children": _said(desk)},
        "trials": {"children": table(mapping.listed(config, data, tried))},
    }
    for kind, sliders in (("mask", mine), ("group", theirs)):
        for place, one in enumerate(sliders):
            found[f"slide|{kind}|{place}"] = {"value": one.step}
            found[f"value|{kind}|{place}"] = {"children": _noise(kind, one)}
            found[f"says|{kind}|{place}"] = {"children": one.says}
    drawn = mapping.drawn(config, data, tried, desk.now())
    if drawn is not None:
        found["map"] = {"figure": {"data": drawn.data, "layout": {**drawn.layout, "height": drawn.height}}}
        found["map-words"] = {"aria-label": drawn.alt}
    return found


def _said(desk: Desk) -> str:
    now = desk.now()
    if now is None:
        return "These settings have not been tried yet."
    trial = mapping.movable(now.trial)
    if trial.problem:
        return f"These settings could not be tried: {trial.problem}"
    kept = "every limit kept" if trial.passed else "over a limit"
    return (
        f"These settings: usefulness {trial.use:.3f}, largest risk {trial.ratio:.2f} of its limit ({kept}), "
        f"{trial.draws} draws. {mapping.fixed(now.trial)}"
    )


def _slider(kind: str, place: int, one: Slider) -> html.Div:
    about = f"slide|{kind}|{place}"
    label = [html.Strong(plain(one.name)), html.Span(_noise(kind, one), className="value", id=f"value|{kind}|{place}")]
    return html.Div(
        [
            html.Label(label, htmlFor=about),
            dcc.Input(id=about, type="range", min=one.low, max=one.high, step=1, value=one.step, className="slider"),
            html.Span(one.says, className="small", id=f"says|{kind}|{place}"),
        ],
        className="one-slider",
    )


def _noise(kind: str, one: Slider) -> str:
    if kind == "mask":
        return f"about {2 ** (one.step / 2):.2g} × its spread"
    return f"+{one.step / 2:g} octave{'s' if one.step > 2 else ''}" if one.step else "no stronger"
