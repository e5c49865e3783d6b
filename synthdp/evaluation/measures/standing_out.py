"""Who stands out: rows copied over, people memorised, unique on kept columns, among equal keys, in the population."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from synthdp.evaluation.blocks import (
    DASH,
    Block,
    Table,
    counted,
    entries,
    find,
    is_number,
    listing,
    number,
    percent,
    ranged,
    reason,
)
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.memorised import evaluate_memorised
from synthdp.evaluation.leaks.verbatim import evaluate_verbatim
from synthdp.evaluation.measure import Figures, Need, Plain
from synthdp.evaluation.risk.attribute import wanted
from synthdp.evaluation.risk.exposure import evaluate_exposure
from synthdp.evaluation.risk.uniqueness import evaluate_anonymity, evaluate_population

MOST_SUBSETS = 10


def _memorised(files: Comparison, rng: np.random.Generator) -> Figures:
    making = files.making
    return Figures(evaluate_memorised(files, refit=making.refit, rng=rng) if making is not None else {})


def _verbatim_block(section: Any) -> Block | None:
    """Return how many synthetic rows equal an original record."""
    if not isinstance(section, Mapping):
        return None
    words = (
        "A synthetic row that equals an original record in every column may be a record that was copied over. Some "
        "agree by chance, the more so where few columns were replaced; only what goes beyond that counts."
    )
    said: tuple[str, ...] = ()
    if is_number(section.get("rows")):
        counts = [number(count) for count in section.get("per_copy") or ()]
        said = (
            f"In the worst copy {counted(section['rows'], 'row')} equal a record of the original; chance may give "
            f"{number(section.get('chance'))} (99% point over all copies)."
            + (f" Copy by copy: {', '.join(counts)}." if len(counts) > 1 else ""),
        )
    everywhere = section.get("in_all")
    if isinstance(everywhere, Mapping):
        said += (
            f"Records that a row equals in every copy: {number(everywhere.get('rows'))}; chance may give "
            f"{number(everywhere.get('chance'))}.",
        )
    return Block("Rows copied over", words, said, _values(section), reason(section))


def _values(section: Mapping[str, Any]) -> tuple[Table, ...]:
    """Return, for columns with values that one record alone has, how many of these came back."""
    rows = tuple(
        (
            str(line.get("column", "")),
            number(line.get("unique")),
            *(
                f"{number(line.get(count))} ({number(line.get(chance))})"
                for count, chance in (("own_row", "own_row_chance"), ("anywhere", "chance"))
            ),
            number(line.get("excess")),
        )
        for line in entries(section.get("values"))
    )
    head = (
        "Replaced column",
        "Values that one record alone has",
        "… back in its own row (chance may give)",
        "… anywhere (chance may give)",
        "Beyond chance",
    )
    return (Table("Unique values copied over", head, rows, "lrrrr"),) if rows else ()


def _memorised_block(section: Any) -> Block | None:
    """Return how many more unique records appear in the copies when they were fitted than when they were not."""
    if not isinstance(section, Mapping):
        return None
    words = (
        "The method was fitted to one half of the file, then to the other, and every record that is unique on the "
        "replaced columns was looked for in the copies of both. A person found because such people are common is "
        "found either way; one who is found only when fitted was memorised. A record's own row is left out."
    )
    near = section.get("near")
    within = find(near, "within")
    lines = (
        ("Reproduced exactly", section),
        (f"Nearer than {percent(within)} of the way to the next person" if is_number(within) else "Nearly so", near),
    )
    rows = tuple(
        (
            name,
            percent(find(line, "fitted")),
            percent(find(line, "held_out")),
            ranged(line, percent, key="difference"),
        )
        for name, line in lines
        if is_number(find(line, "difference"))
    )
    head = ("Unique records", "In the half that was fitted", "In the half that was not", "Difference (95% interval)")
    said = []
    if is_number(section.get("judged")):
        said.append(f"The gate compares {percent(section['judged'])} with its limit: the cautious end of both lines.")
    if is_number(section.get("splits")):
        unique = counted(int(section.get("unique") or 0), "unique record")
        pairs = counted(int(section["splits"]), "pair")
        said.append(f"Over {pairs} of halves; {unique} of {number(section.get('records'))}.")
    tables = (Table("Memorising", head, rows, "lrrr"),) if rows else ()
    return Block("Memorising", words, tuple(said), tables, reason(section))


def _exposure_block(section: Any) -> Block | None:
    """Return who is alone with values that are published as they are."""
    if not isinstance(section, Mapping):
        return None
    words = (
        "Kept columns are published as they are, so whoever knows enough of them finds the record, whatever the mask "
        "does to the others. Only coarsening, replacing or dropping columns helps."
    )
    names = [str(name) for name in section.get("columns") or ()]
    said: list[str] = []
    if names and is_number(section.get("unique")):
        said.append(
            f"Unique on all kept columns ({listing(names)}): {counted(section['unique'], 'record')} "
            f"({percent(section.get('unique_rate'))})."
        )
    known = [str(name) for name in section.get("knowable") or ()]
    if known and is_number(section.get("alone")):
        said.append(
            f"Unique on the kept columns that an intruder may know ({listing(known)}), so found with certainty: "
            f"{counted(section['alone'], 'record')} ({percent(section.get('alone_rate'))})."
        )
    if names and not known:
        said.append("No kept column is marked as known to the intruder (key: true), so no part of them was looked at.")
    said += [
        f"By at most {counted(line['size'], 'column')} that the intruder may know, "
        f"{counted(line['unique'], 'record')} ({percent(line.get('unique_rate'))}) can be told from everybody else."
        for line in entries(section.get("unique_on_some"))
        if is_number(line.get("size")) and is_number(line.get("unique"))
    ]
    subsets = sorted(entries(section.get("subsets")), key=lambda line: -float(line.get("unique") or 0))
    rows = tuple(
        (
            listing([str(name) for name in line.get("columns") or ()]),
            number(line.get("unique")),
            percent(line.get("unique_rate")),
        )
        for line in subsets[:MOST_SUBSETS]
    )
    caption = "Who stands out by which kept columns"
    caption += f": the {len(rows)} most telling of {number(len(subsets))}" if len(subsets) > len(rows) else ""
    tables = (Table(caption, ("Known", "Records unique on these values", "Share"), rows, "lrr"),) if rows else ()
    return Block("What the kept columns give away", words, tuple(said), tables, reason(section))


def _anonymity_block(section: Any) -> Block | None:
    """Return the classes of records that agree on the keys, file by file."""
    if not isinstance(section, Mapping):
        return None
    words = (
        "Records that agree on the key columns form a class. These figures describe the files and no attack: a "
        "synthetic row that is alone need not be anybody."
    )
    files = {"Original": section.get("original")}
    files |= {f"Copy {k}": one for k, one in enumerate(section.get("copies") or (), start=1)}
    known = {name: one for name, one in files.items() if isinstance(one, Mapping)}
    rows = tuple(
        (name, number(one.get("k")), number(one.get("classes")), *_below(one), *_diverse(one))
        for name, one in known.items()
    )
    head = (
        "File",
        "Smallest class (k)",
        "Classes",
        "Records alone",
        "In classes under 5",
        "Fewest values in a class (l)",
        "Farthest from all (t)",
    )
    tables = (Table("k-anonymity, l-diversity, t-closeness", head, rows, "lrrrrrr"),) if rows else ()
    return Block("Classes of look-alikes", words, (), tables, reason(section))


def _below(one: Mapping[str, Any]) -> tuple[str, str]:
    rates = {line.get("k"): line.get("rate") for line in entries(one.get("below"))}
    return percent(rates.get(2)), percent(rates.get(5))


def _diverse(one: Mapping[str, Any]) -> tuple[str, str]:
    targets = entries(one.get("targets"))

    def said(key: str) -> str:
        return ", ".join(f"{line.get('target')} {number(line.get(key))}" for line in targets) or DASH

    return said("l_distinct"), said("t")


def _population_block(section: Any) -> Block | None:
    """Return who would be alone in the whole population."""
    if not isinstance(section, Mapping):
        return None
    said: tuple[str, ...] = ()
    if is_number(section.get("population_unique")):
        said = (
            f"Alone with their keys in the original: {counted(section.get('sample_unique') or 0, 'record')}. By the "
            f"survey's weights, {number(section['population_unique'])} of them are expected to be alone in the whole "
            "population.",
            f"Somebody with a register of the population would link {number(section.get('expected_links'))} records of "
            f"the original ({percent(section.get('expected_links_rate'))}).",
        )
    return Block(
        "Standing out in the population",
        "This is the risk of the original, before any synthesis.",
        said,
        absent=reason(section),
    )


VERBATIM = Plain(
    "verbatim",
    "Do more rows and values of the copies equal an original record than coincidence explains?",
    lambda files, rng: Figures(evaluate_verbatim(files, rng=rng)),
    limits=("max_excess_verbatim",),
    title="Rows copied over",
    reads=lambda section: {"": float(section["excess"])} if "excess" in section else {},
    tells=_verbatim_block,
)
MEMORISED = Plain(
    "memorised",
    "Do the copies reproduce people because they were in the file, or because such people are common?",
    _memorised,
    frozenset({Need.PLAN}),
    ("max_memorised",),
    "Fitting halves of the file",
    tells=_memorised_block,
)
EXPOSURE = Plain(
    "exposure",
    "Who is unique on values that are released unchanged?",
    lambda files, rng: evaluate_exposure(files),
    limits=("max_exposed",),
    title="Reading the kept columns",
    reads=lambda section: {"": float(section["alone"])},
    tells=_exposure_block,
)
ANONYMITY = Plain(
    "anonymity",
    "How many records share their keys, and do they share their sensitive values too?",
    lambda files, rng: Figures(evaluate_anonymity(files, targets=wanted(files))),
    title="Classes of look-alikes",
    tells=_anonymity_block,
)
POPULATION = Plain(
    "population",
    "How many sample uniques are unique in the population?",
    lambda files, rng: Figures(evaluate_population(files)),
    title="Standing out in the population",
    tells=_population_block,
)
