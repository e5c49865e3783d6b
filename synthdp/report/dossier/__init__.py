"""The dossier: what the people who sign a release read, one page first, then the questions of guidance and standards.

Figures and terms that a signatory does not need are in the technical report beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from synthdp.evaluation.blocks import Table
from synthdp.release.shelf import UNRECORDED, Attempt
from synthdp.report import ReportContent
from synthdp.report.decision import decision
from synthdp.report.dossier.exposed import exposed
from synthdp.report.dossier.facts import Facts, shortened
from synthdp.report.dossier.frameworks import criteria, frameworks
from synthdp.report.dossier.learnt import basis, promise, rows
from synthdp.report.dossier.reliable import reliable
from synthdp.report.dossier.verdict import verdict
from synthdp.report.page import marked
from synthdp.report.summary import promised
from synthdp.report.words import METHODS, check_title, lowered

WHY_ENDED = {"leak": "the finished files held something that must not be public"}


@dataclass(frozen=True, repr=False)
class Dossier:
    """What the dossier says beyond the report.

    Parameters
    ----------
    content
        What the report says.
    day
        When the run was started.
    run
        The id of the run, which manifest and register name too.
    study
        Whether the run publishes nothing whatever the verdict.
    attempts
        All attempts on the same data, this one last; None where no register is kept.
    at_risk
        How many people an intruder finds or comes close to finding, on average over draws; None where nobody looked.
    title
        Under which the files are to be published, where that is stated.
    """

    content: ReportContent
    day: str = ""
    run: str = ""
    study: bool = False
    attempts: Sequence[Attempt] | None = None
    at_risk: int | None = None
    title: str | None = None

    def __repr__(self) -> str:
        return f"Dossier({self.content!r})"


def render(dossier: Dossier) -> str:
    """Return the whole dossier as one HTML page that needs nothing but itself."""
    content = dossier.content
    facts = Facts(content, at_risk=dossier.at_risk)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(_text)
    )
    environment.filters |= {"marked": marked, "shortened": shortened}
    environment.globals["draw"] = lambda _: ()
    found = decision(content)
    return environment.get_template("dossier/dossier.html").render(
        dossier=dossier,
        content=content,
        style=Markup(_text("style.css") + _text("dossier/dossier.css")),
        verdict=verdict(facts, study=dossier.study),
        margins=facts.margins,
        rows=rows(facts),
        promise=promise(facts),
        basis=basis(facts),
        private=facts.epsilon is not None,
        exposed=exposed(facts),
        reliable=reliable(facts),
        accepted=found.accepted,
        made=METHODS.get(content.method, f"The copies were made by the method “{content.method}”."),
        criteria=criteria(facts),
        frameworks=frameworks(facts),
        attempts=attempts(dossier.attempts),
        tried=tried(facts),
        unrecorded=UNRECORDED,
        checks=found.worst,
        promised=promises(facts),
        facts=[one for one in found.facts if one not in (facts.gate.get("attempts") or ())],
    )


def tried(facts: Facts) -> str:
    """Return the trials by which the settings were chosen, in a sentence; empty where they were not."""
    lines = facts.gate.get("attempts") or ()
    return str(lines[-1]) if "tuned" in facts.gate and lines else ""


def promises(facts: Facts) -> Table | None:
    """Return what tune promised beside what this run found; None where nothing was promised."""
    lines = promised(facts.gate["tuned"]) if "tuned" in facts.gate else []
    if not lines:
        return None
    rows = tuple((name[:1].upper() + name[1:], *figures) for name, *figures in lines)
    head = ("Figure", "Promised", "Found", "Limit")
    return Table(
        "What tune promised of these settings, and what this run found on draws of its own", head, rows, "lrrr"
    )


def attempts(found: Sequence[Attempt] | None) -> Table | None:
    """Return every attempt on the same data; None where no register is kept."""
    if not found:
        return None
    again = found[-1].config
    rows = tuple(
        (
            f"{place}{' (this one)' if place == len(found) else ''}",
            one.when[:10],
            one.verdict,
            "; ".join(lowered(WHY_ENDED.get(name) or check_title(name)) for name in one.reasons) or "–",
            "; ".join(lowered(check_title(name)) for name in one.accepted) or "–",
            "yes" if again and one.config == again else "no",
        )
        for place, one in enumerate(found, start=1)
    )
    head = ("Attempt", "Day", "Verdict", "Limits not kept", "Accepted", "These settings")
    return Table("Every attempt to publish from these data, refused ones too", head, rows, "llllll")


def _text(name: str) -> str:
    return files("synthdp.report").joinpath(name).read_text(encoding="utf-8")
