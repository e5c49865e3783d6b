"""What the report shows of analyses repeated on the copies, and of how well copies are told from the original."""

from collections.abc import Mapping, Sequence
from typing import Any

from synthdp.evaluation.blocks import (
    HALVES,
    NOT_COMPUTED,
    Block,
    Forest,
    Outlines,
    Table,
    counted,
    entries,
    find,
    interval,
    is_number,
    listing,
    number,
    percent,
    plain_term,
)
from synthdp.evaluation.comparison import Comparison
from synthdp.inference.rules import RULES

LOW_OVERLAP = 0.5
MOST_NAMED = 5
SURE = 0.05
SMALLEST_P = 0.0001
REPEATED = (
    "Each analysis was run on the original file and, as a data user would run it, on all copies together. Where the "
    "two give the same estimates with the same uncertainty, a data user learns the same from the copies."
)
HOW_TO_READ = (
    "**Overlap** compares the two 95% confidence intervals: 1 means they are the same, 0 that they only touch, below 0 "
    "that they are apart. A ▼ marks overlaps under one half.",
    "**Difference** is the distance between the two estimates in standard errors of the original (minus: the synthetic "
    "one is lower).",
    "**Same finding** says whether both intervals agree that the coefficient is above zero, below zero, or not "
    "distinguishable from zero.",
)


def analyses_blocks(section: Any) -> tuple[Block, ...]:
    """Return how to read them, then every analysis that was repeated on the copies."""
    found = entries(section)
    low = sorted(
        (float(term["ci_overlap"]), str(one.get("name", "")), plain_term(str(term.get("term", ""))))
        for one in found
        for term in entries(one.get("terms"))
        if is_number(term.get("ci_overlap")) and term["ci_overlap"] < LOW_OVERLAP
    )
    named = [f"{term} in “{name}” ({number(overlap)})" for overlap, name, term in low[:MOST_NAMED]]
    first = (f"Coefficients whose intervals overlap by less than one half: {listing(named)}.",) if low else ()
    absent = "" if found else "no analysis was given (analyses)"
    head = Block("The same analysis on both", REPEATED, HOW_TO_READ, absent=absent, first=first)
    return (head, *map(_analysis, found))


def _analysis(found: Mapping[str, Any]) -> Block:
    name, terms, rule = str(found.get("name", "analysis")), entries(found.get("terms")), str(found.get("rule") or "")
    parts = [str(found[key]) for key in ("model", "formula") if found.get(key)]
    if rule:
        parts.append(f"pooled by the rule of {RULES[rule].words if rule in RULES else rule}")
    if not terms:
        return Block(name, " · ".join(parts), absent=str(found.get("reason") or "the analysis gave no estimates"))
    same = [_same_finding(term) for term in terms]
    judged = [value for value in same if value is not None]
    overlap = (
        f"Overlap: **{number(found.get('mean_ci_overlap'))}** on average, **{number(found.get('min_ci_overlap'))}** at "
        f"the lowest. Same finding for {f'{sum(judged)} of {len(judged)}' if judged else NOT_COMPUTED} coefficients."
    )
    said = (f"{overlap} {agreement(terms)}".rstrip(), spread(found.get("spread")), fit(found.get("lack_of_fit")))
    return Block(
        name,
        " · ".join(parts),
        tuple(sentence for sentence in said if sentence),
        (_coefficients(terms, same),),
        charts=(Forest(name, terms),),
    )


def spread(found: Any) -> str:
    """Return what single copies and two halves of the original give, in words."""
    low, high, noise = (find(found, key) for key in ("low", "high", "noise"))
    said = f"Single copies overlap by {number(low)} to {number(high)}. " if is_number(low) and is_number(high) else ""
    if is_number(noise):
        said += f"Two random halves of the original overlap by {number(noise)}: what a second survey would give."
    return said.strip()


def agreement(terms: Sequence[Mapping[str, Any]]) -> str:
    """Return for how many coefficients sign and significance agree."""
    signs, sure = (
        [term[key] for term in terms if isinstance(term.get(key), bool)]
        for key in ("sign_agrees", "significance_agrees")
    )
    if not signs or not sure:
        return ""
    return f"The sign agrees for {sum(signs)} of {len(signs)}, the significance for {sum(sure)} of {len(sure)}."


def fit(found: Any) -> str:
    """Return the test of all coefficients together in words, by the spread between copies where there is one."""
    beside = find(found, "from_copies")
    test = beside if is_number(find(beside, "p_value")) else found
    p = find(test, "p_value")
    if not is_number(p):
        return ""
    apart = "the copies differ from each other" if test is beside else "copies from the fitted model would differ"
    verdict = f"more than {apart}" if p < SURE else f"no more than the way {apart} explains"
    said = f"p = {number(p)}" if p >= SMALLEST_P else f"p < {number(SMALLEST_P)}"
    return f"All coefficients together (lack of fit, {said}): the copies differ from the original {verdict}."


def _coefficients(terms: Sequence[Mapping[str, Any]], same: Sequence[bool | None]) -> Table:
    rows = tuple(
        (
            plain_term(str(term.get("term", ""))),
            interval(term.get("original")),
            interval(term.get("synthetic")),
            _overlap(term.get("ci_overlap")),
            number(term.get("std_diff")),
            NOT_COMPUTED if agrees is None else "yes" if agrees else "✘ no",
        )
        for term, agrees in zip(terms, same, strict=True)
    )
    head = ("Term", "Original (95% interval)", "Synthetic (95% interval)", "Overlap", "Difference", "Same finding")
    return Table("Estimates from the original and from the copies together", head, rows, "lrrrrl")


def _overlap(value: Any) -> str:
    return f"▼ {number(value)}" if is_number(value) and value < LOW_OVERLAP else number(value)


def _same_finding(term: Mapping[str, Any]) -> bool | None:
    """Return whether both intervals say the same: above zero, below zero, or cannot tell."""
    ends = [[find(term, side, end) for end in ("low", "high")] for side in ("original", "synthetic")]
    if not all(is_number(end) for pair in ends for end in pair):
        return None
    one, other = (int(low > 0) - int(high < 0) for low, high in ends)
    return one == other


CLASSIFIERS: Mapping[str, str] = {
    "logit": "logistic regression",
    "logit_interactions": "logistic regression with products of columns",
    "cart": "classification tree",
    "boosting": "gradient boosting",
}
# the model that sees most comes first
SHARPEST = ("cart", "boosting", "logit_interactions", "logit")
MOST_SUBGROUPS = 12
NULLS: Mapping[str, str] = {
    "formula": "a formula for copies drawn whole from the right model",
    "bootstrap": "records of the original drawn with replacement in place of the copies",
    "permutation": "the labels “original” and “synthetic” exchanged at random",
    "within_record": "the labels swapped at random within each record",
    "pairs": "one copy judged against another",
}
OTHERS: Mapping[str, str] = {
    "specks": "SPECKS: largest gap between the two sets of scores, 0 (none) to 1 (complete)",
    "po50": "PO50: percentage points of records told apart beyond the 50% of a coin toss",
}
TOLD_APART = "Can the copies be told from the original?"
TOLD_APART_WORDS = (
    "A computer is shown original and synthetic records together and tries to tell which is which. **pMSE** says how "
    "well it does: 0 means not at all, 0.25 means always. Some success is expected even of perfect copies, so the "
    "**ratio** compares it with what copies from the right model would give: about 1 or less is as good as it gets; "
    "under 3 is usually called good, over 10 a warning (Raab, Nowok and Dibben 2021)."
)
HALVES_NOTED = f"{HALVES}*"
NOTE = (
    "* How well two random halves of the original can be told apart. Halves are half as large as the files, so their "
    "pMSE is about twice what two whole samples would give."
)


def propensity_blocks(utility: Mapping[str, Any], files: Comparison | None = None) -> tuple[Block, Block]:
    """Return how well original and synthetic records are told apart; then the same measured otherwise, by subgroup."""
    section = utility.get("pmse") or {}
    models = {name: found for name, found in section.items() if is_number(find(found, "value"))}
    why = section.get("reason") or next((found["reason"] for found in section.values() if find(found, "reason")), "")
    scores = Block(
        TOLD_APART,
        TOLD_APART_WORDS,
        tuple(text for name, found in models.items() if (text := _sentence(name, found))),
        _scores(models),
        "" if models else str(why or "pMSE was not asked for (evaluation.utility)"),
        (NOTE,) if models else (),
        charts=tuple(_outlines(name, found) for name, found in models.items() if _binned(found)),
    )
    return scores, Block(TOLD_APART, "", tables=(*_others(utility, models), *_told_apart(section)))


def _named(name: str) -> str:
    return CLASSIFIERS.get(name, name)


def _scores(models: Mapping[str, Mapping[str, Any]]) -> tuple[Table, ...]:
    keys = ("null", "ratio", "standardised", "noise_floor")
    rows = tuple(
        (_named(name), number(found["value"]), _copies(found), *(number(found.get(key)) for key in keys))
        for name, found in models.items()
    )
    head = (
        "Told apart by",
        "pMSE (mean over copies)",
        "Lowest to highest copy",
        "Expected if right",
        "Ratio to expected",
        "… in standard deviations",
        HALVES_NOTED,
    )
    return (Table("Can a computer tell synthetic from original records?", head, rows, "lrrrrrr"),) if rows else ()


def _sentence(name: str, found: Mapping[str, Any]) -> str:
    """Return the ratio in words, and where the expectation comes from."""
    ratio, z, kind = found.get("ratio"), found.get("standardised"), str(found.get("null_kind") or "")
    start = _named(name)[0].upper() + _named(name)[1:]
    if ratio is None or not is_number(ratio):
        return f"{start}: no ratio, because {found['reason']}." if found.get("reason") else ""
    times = f"{number(ratio)} times as well as" if ratio > 1 else "no better than"
    text = f"{start}: the copies are told apart {times} copies from the right model would be"
    if z is not None and is_number(z):
        text += f", {number(abs(z))} standard deviations {'above' if z >= 0 else 'below'} what is expected"
    if kind:
        text += f". Expected value: {NULLS.get(kind, kind)}"
        text += f" ({found['design']} synthesis)" if found.get("design") else ""
    return text + "."


def _binned(found: Mapping[str, Any]) -> bool:
    return all(find(found, "histogram", key) for key in ("edges", "original", "synthetic"))


def _outlines(name: str, found: Mapping[str, Any]) -> Outlines:
    shape = found["histogram"]
    # each copy has a model of its own, and the original's scores under it; their mean is one outline
    scores = [_shares(counts) for counts in shape["original"]]
    return Outlines(
        f"Scores by {_named(name)}",
        "estimated probability of being synthetic",
        shape["edges"],
        [sum(cells) / len(cells) for cells in zip(*scores, strict=True)],
        [_shares(counts) for counts in shape["synthetic"]],
        "% of records; the more the outlines cover each other, the better.",
    )


def _shares(counts: Sequence[float]) -> list[float]:
    total = sum(counts) or 1
    return [count / total for count in counts]


def _others(utility: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]]) -> tuple[Table, ...]:
    """Return SPECKS and PO50 of every model, or those that stand beside pMSE."""
    rows: list[tuple[str, ...]] = []
    for key, meaning in OTHERS.items():
        found = {name: section[key] for name, section in models.items() if is_number(find(section, key, "value"))}
        if not found and is_number(find(utility, key, "value")):
            found = {"": utility[key]}
        rows += [
            (meaning, _named(name), number(one["value"]), _copies(one), number(one.get("noise_floor")))
            for name, one in found.items()
        ]
    head = ("Measure", "Told apart by", "Mean over copies", "Lowest to highest copy", HALVES_NOTED)
    return (Table("The same question, measured in other ways", head, tuple(rows), "llrrr"),) if rows else ()


def _copies(found: Mapping[str, Any]) -> str:
    """Return the smallest and largest value over copies."""
    copies = [value for value in found.get("per_copy") or () if is_number(value)]
    return f"{number(min(copies))} to {number(max(copies))}" if copies else NOT_COMPUTED


def _told_apart(section: Mapping[str, Any]) -> tuple[Table, ...]:
    """Return the subgroups whose records are told apart most easily, by the model that sees most."""
    for model in SHARPEST:
        rows = tuple(
            (
                f"{line.get('by')}: {line.get('level')}",
                f"{counted(line['original'], 'record')} → {number(line.get('synthetic'))}",
                number(line["ratio"]),
                percent(line.get("share")),
            )
            for line in entries(find(section, model, "per_group"))
            if is_number(line.get("ratio")) and is_number(line.get("original"))
        )
        if rows:
            head = ("Subgroup", "Original → copies", "Ratio to expected", "Its part of all that is told apart")
            caption = "Subgroups whose records are told apart most easily"
            return (Table(caption, head, rows[:MOST_SUBGROUPS], "lrrr"),)
    return ()
