"""The table of columns: what each is, what happens to it, who may know it, and why it was guessed so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dash import html

from synthdp.explore.elements import plain, select
from synthdp.explore.session import INFERRED, UNDECIDED, Session
from synthdp.table.schema import Kind, Role, Variable

ROLES = tuple(role.value for role in (Role.REPLACE, Role.KEEP, Role.DROP))
KEYS = ("yes", "no", UNDECIDED)
WAITING = "being looked at"
KINDS = (INFERRED, *(kind.value for kind in Kind))
WORDS = ("role", "key", "kind")


@dataclass(frozen=True)
class Row:
    """One column as the table shows it."""

    name: str
    role: str
    key: str
    kind: str
    why: tuple[str, ...]
    decide: tuple[str, ...]
    fixed: str = ""


def names(session: Session) -> list[str]:
    """Return the columns of the file in its order, dropped ones too, however they are written."""
    if session.opened is None:
        return []
    table = session.opened.table
    found = [str(name) for name in (*table.frame.columns, *table.unread)]
    return list(dict.fromkeys(found))


def rows(session: Session) -> list[Row]:
    """Return the table's rows."""
    if session.opened is None:
        return []
    config, here = session.config, session.opened
    design = {getattr(config.data, part) for part in ("weights", "strata", "cluster")}
    found = []
    for name in names(session):
        said = config.variables.get(name, Variable())
        key = UNDECIDED if said.key is None else "yes" if said.key else "no"
        fixed = "of the survey's design: kept as it is" if name in design else ""
        fixed = "recomputed in every copy" if said.role is Role.DERIVED else fixed
        fixed = WAITING if here.glanced else fixed
        kind = said.kind.value if said.kind is not None else INFERRED
        why = here.why.get(name, ())
        found.append(Row(name, said.role.value, key, kind, why, here.decide.get(name, ()), fixed))
    return found


def changed(session: Session, about: str, value: str) -> None:
    """Make the change that a select of the table asks for: ``about`` is the word and the column's place."""
    _, word, place = about.split("|")
    session.describe(names(session)[int(place)], word, value)


def body(found: Sequence[Row]) -> list[html.Tr]:
    """Return the rows for the page."""
    return [_row(place, one) for place, one in enumerate(found)]


def _row(place: int, one: Row) -> html.Tr:
    name = plain(one.name)
    why: list[Any] = [html.Span("; ".join(one.why) or one.fixed or "as the config says")]
    if one.decide:
        asked = [html.Summary("to decide", **{"aria-label": f"what is to decide about {name}"})]
        why.append(html.Details([*asked, *map(html.P, one.decide)], className="ask"))
    gone, waits = one.role == Role.DROP, one.fixed == WAITING
    cells = [
        html.Th(name, scope="row"),
        html.Td(
            html.Span("recomputed")
            if one.role == Role.DERIVED
            else select(f"column|role|{place}", f"role of {name}", ROLES, one.role, disabled=bool(one.fixed))
        ),
        html.Td(
            ""
            if gone
            else select(f"column|key|{place}", f"may an intruder know {name}?", KEYS, one.key, disabled=waits)
        ),
        html.Td("" if gone else select(f"column|kind|{place}", f"kind of {name}", KINDS, one.kind, disabled=waits)),
        html.Td(why, className="why"),
    ]
    return html.Tr(cells, id=f"row-{place}", className=f"role-{one.role}", **{"data-find": _found_by(one)})


def _found_by(one: Row) -> str:
    """Return what the filter looks into."""
    return " ".join((one.name, one.role, f"key:{one.key}", one.kind, *(("decide",) if one.decide else ()))).lower()


def counts(found: Sequence[Row]) -> str:
    """Return in a sentence what happens to how many columns."""
    many = {role: sum(one.role == role for one in found) for role in ("replace", "keep", "drop", "derived")}
    keys = sum(one.key == "yes" and one.role != Role.DROP for one in found)
    said = f"{many['replace']} replaced, {many['keep']} kept, {many['drop']} dropped"
    said += f", {many['derived']} recomputed" if many["derived"] else ""
    return f"{len(found)} columns: {said}; {keys} may be known to an intruder."
