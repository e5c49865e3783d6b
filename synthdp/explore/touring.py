"""The first five steps."""

from typing import Any

from dash import html

STEPS: tuple[tuple[str, str, str], ...] = (
    (
        "columns",
        "What happens to each column",
        "replace draws it anew, keep releases it as it is, drop removes it. Say of each whether an intruder may know "
        "it. The reasons of the guess stand beside; what only you can decide is marked.",
    ),
    (
        "unique",
        "Who is alone",
        "Choose what somebody outside may know of a person. The count says how many records nobody else equals then.",
    ),
    (
        "masks",
        "How much is hidden",
        "Move a slider: a trial of these settings is made in the background, and the map shows what they risk and what "
        "they are worth. Left of the dashed line every limit is kept.",
    ),
    (
        "verdict",
        "May it go?",
        "Judge asks what the release gate would say, on many draws, and lays analyses of the original beside those of "
        "the copies.",
    ),
    (
        "run",
        "Write and run",
        "Write the config, then run it here or on the command line: the same file, the same seed, the same bytes.",
    ),
)


def step(number: int) -> html.Div | str:
    """Return a step of the tour; nothing outside of it."""
    if not 1 <= number <= len(STEPS):
        return ""
    _, title, words = STEPS[number - 1]
    last = number == len(STEPS)
    buttons: list[Any] = [
        html.Button("Done" if last else "Next", id="press|tour|next"),
        html.Button("Skip the tour", id="press|tour|skip", className="plain"),
    ]
    said = [html.Strong(f"Step {number} of {len(STEPS)}: {title}{'' if title.endswith('?') else '.'} "), words]
    return html.Div([html.P(said), html.Div(buttons, className="row")], className="tour", role="note")


def view_of(number: int) -> str | None:
    """Return the view that a step is about."""
    return STEPS[number - 1][0] if 1 <= number <= len(STEPS) else None
