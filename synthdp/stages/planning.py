"""What a run works on, checked as a whole before any work is done, and what a person should know of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.evaluation.gate.verdict import UNDECIDED, Check, undecided
from synthdp.evaluation.risk.undecided import Undecided, questions, replaced_as_keys, with_undecided_as_keys
from synthdp.evaluation.risk.undecided import undecided as find_undecided
from synthdp.inference.rules import unfit
from synthdp.stages.intake import unique_share
from synthdp.stages.promised import selection_of
from synthdp.synthesis import constraints
from synthdp.synthesis.design import Design
from synthdp.synthesis.making import visible
from synthdp.synthesis.plan import Plan, Synthesizer
from synthdp.table import applies, io, relations, telling
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Role, Schema
from synthdp.tagging.groups import tag


def cautions_on(data: Microdata, seen: Microdata | None = None) -> list[str]:
    """Return warnings about the columns, in sentences without values.

    Parameters
    ----------
    data
        The original with all columns that are released.
    seen
        Without the columns that no synthesizer may hold; the same by default.
    """
    schema = data.schema
    looked_at = data if seen is None else seen
    related = relations.find(looked_at)
    known = {(r.kept, name) for r in related for name in r.replaced}
    found = [f"Allowed: {r.sentence}" if r.exact else r.sentence for r in related]
    told = [r for r in telling.find(looked_at) if (r.kept, *r.replaced) not in known]
    found += [r.sentence for r in told[:MOST_TOLD]]
    if len(told) > MOST_TOLD:
        found.append(f"{len(told) - MOST_TOLD} more kept columns tell a replaced one in this way.")
    coarsened = [f"{c.name} ({', '.join(c.coarsened)})" for c in schema.columns if c.coarsened]
    if coarsened:
        found.append(
            f"Coarsened before anything else: {', '.join(coarsened)}. The original that copies are compared with is "
            "the coarser one."
        )
    design = [f"{c.name} ({c.design})" for c in schema.columns if c.design is not None]
    if design:
        found.append(
            f"Columns of the survey's design are released as they are: {', '.join(design)}. An analysis "
            "takes account of them in its standard errors where it names them (weights, strata, cluster)."
        )
    return found


FEWEST_RECORDS = 10
MOST_TOLD = 6


def plan_of(config: Config, data: Microdata, own: Synthesizer | None = None) -> Plan:
    """Return what the synthesizer works on, or list everything that is wrong with it.

    ``own`` is a synthesizer in place of the config's, whose wishes then do not count.
    """
    judged = config.limits.judged()
    selection = "the release gate looked at the data before this file was released" if judged else None
    selection = selection_of(config) or selection
    if config.synthesis.repair:
        selection = "repair looked at the data to decide whose values to change"
    seen = visible(data)
    plan = Plan(
        data=seen,
        tags=tag(data, config.groups),
        masks=config.masks,
        masks_by_group=config.masks_by_group,
        selection=selection,
        constraints=config.constraints,
        whole=None if seen is data else data,
    )
    if len(data) < FEWEST_RECORDS:
        raise InputError(f"data: at least {FEWEST_RECORDS} records are required to learn from, found {len(data)}.")
    problems = (own or config.synthesis).problems(plan)
    problems += [relation.sentence for relation in relations.find(seen) if relations.refused(relation, seen.schema)]
    problems += constraints.problems(seen, config.constraints)
    if config.constraints and config.synthesis.repair:
        problems.append("synthesis.repair: may break the constraints it does not know; leave out one of the two.")
    drawn = sorted(name for name in applies.touched(seen.schema) if config.synthesis.repair)
    if drawn:
        problems.append(
            f"synthesis.repair: may change {', '.join(drawn)} against what applies_when asks; leave out one of the two."
        )
    problems += io.FORMATS[config.release.format_of(config.data.path)].refuses(data.schema.names())
    problems += rule_problems(config, config.synthesis.design(plan)) if own is None else []
    raise_if([*problems, *analysis_problems(config, data.schema.names())])
    return plan


def analysis_problems(config: Config, names: Sequence[str]) -> list[str]:
    """Return what is wrong with the analyses and the evaluation, given the names of the columns there are."""
    problems = [problem for analysis in config.analyses for problem in analysis.problems(tuple(names))]
    named = {"targets": config.evaluation.targets, "table_columns": config.evaluation.table_columns}
    if config.evaluation.subgroups is not None:
        named["subgroups"] = (config.evaluation.subgroups,)
    for setting, columns in named.items():
        problems += [f"evaluation.{setting}: no column named {name!r}." for name in columns if name not in names]
    return problems


def rule_problems(config: Config, design: Design) -> list[str]:
    """Return which analyses name a combining rule that does not fit how the copies are made."""
    named = [(analysis, unfit(analysis.rule, design)) for analysis in config.analyses if analysis.rule is not None]
    return [f"{analysis.where}.rule: {why}" for analysis, why in named if why is not None]


def notes_of(config: Config, plan: Plan) -> tuple[str, ...]:
    """Return what the signatory should know, in sentences."""
    notes = []
    data = plan.released
    share = unique_share(data)
    if share > 0:
        told = "Under 1%" if share < 0.01 else f"{share:.0%}"
        notes.append(
            f"{told} of the records are unique on the kept columns alone: an intruder who knows those need not break "
            "any mask. Keep only what must stay exact."
        )
    notes += cautions_on(data, plan.data)
    if config.release.format == "same" and config.data.path.suffix.lower() == ".sas7bdat":
        notes.append("SAS data files can be written by SAS only: the copies are SAS transport files (.xpt).")
    if (config.masks or config.masks_by_group) and config.synthesis.mask_drawn is None:
        notes.append(f"The masks of the config are not used: method {config.synthesis.method} masks nothing.")
    notes += config.synthesis.notes(plan)
    if config.synthesis.mask_drawn == "once" and config.synthesis.imputations == 1:
        notes.append("W is drawn once for all copies: intervals come out a little too short (see reports/coverage).")
    defaults = [column for column in data.schema.keys() if column.tolerance_default]
    for step, used in ((False, "a tenth of a standard deviation"), (True, "half a step of the last decimal")):
        if some := [column.name for column in defaults if (column.tolerance == _half_step(column)) is step]:
            notes.append(f"No tolerance was given for {', '.join(some)}: {used} was used.")
    fine = [c.name for c in data.schema.keys() if c.role is Role.REPLACE and _misses_averages(c)]
    if fine:
        notes.append(
            f"The tolerance of {', '.join(fine)} is finer than the values: averages of copies fall between values and "
            "match nobody, so identity_averaged looks too safe. Use at least half a step of the last decimal."
        )
    return tuple(notes)


@dataclass(frozen=True)
class Questions:
    """Kept columns of which nobody has said whether an intruder may know them, and what a person is asked."""

    columns: tuple[Undecided, ...]
    sentences: tuple[str, ...]
    schema: Schema

    def schema_less(self, accepted: Mapping[str, str]) -> Schema:
        """Return the schema by which a release is judged: undecided columns are keys unless accepted by name."""
        names = {UNDECIDED, *accepted} & set(accepted)
        left = [
            one
            for one in self.columns
            if not names & {UNDECIDED, one.name, f"{UNDECIDED}.{one.name}", f"{one.name}.{UNDECIDED}"}
        ]
        return with_undecided_as_keys(self.schema, left)

    def checks(self, *, study: bool) -> tuple[Check, ...]:
        """Return a check for each column that nobody has decided on; none in a study, which publishes nothing."""
        if study:
            return ()
        return tuple(
            undecided(
                one.name,
                f"{_with_others(one)} it makes {one.sets[0].unique} records unique; decide whether an intruder may "
                "know it (key: true or key: false), make it coarser, replace or drop it.",
            )
            for one in self.columns
        )


def _with_others(one: Undecided) -> str:
    others = [name for name in one.sets[0].columns if name != one.name]
    return f"With {' and '.join(others)}" if others else "By itself"


def open_questions(config: Config, plan: Plan) -> Questions:
    """Return what a person has to decide before a release; nothing where no limit is judged."""
    data = plan.released
    if not config.limits.judged():
        return Questions((), (), data.schema)
    found = find_undecided(data)
    # whether a replaced column is known does not keep a file back: masks are there for that, and are judged
    schema = replaced_as_keys(data.schema, config.evaluation.targets)
    return Questions(found, tuple(questions(data, found)) if found else (), schema)


def _misses_averages(column: Column) -> bool:
    return not column.kind.categorical and column.tolerance < _half_step(column)


def _half_step(column: Column) -> float:
    return 0.0 if column.decimals is None else 0.5 * 10.0**-column.decimals


def raise_if(problems: Sequence[str]) -> None:
    """Raise everything that is wrong at once."""
    if problems:
        raise InputError(*problems)
