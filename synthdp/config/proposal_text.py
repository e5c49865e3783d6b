"""A proposal as the text of a config, every guess with its evidence beside it, and what is left to decide."""

import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import get_args

from synthdp.config.decisions import Guess
from synthdp.config.example import example
from synthdp.config.proposal import Proposal, propose
from synthdp.evaluation.risk.exposure import SHARE
from synthdp.imputation.copula.coding import MOST_UTILITIES
from synthdp.table.io import Dialect
from synthdp.table.schema import Design, Kind, Level, Role

__all__ = [
    "MASKS",
    "MOST_ASKED",
    "PRIOR_SHARE",
    "WIDTH",
    "Guess",
    "Proposal",
    "one_line",
    "propose",
    "scalar",
    "tell",
    "to_yaml",
]

MOST_ASKED = 5
SCHEMA = "synthdp.schema.json"
PARTS: tuple[Design, ...] = get_args(Design)


def tell(proposal: Proposal) -> Iterator[str]:
    """Yield the decisions, then the questions."""
    roles = [f"{len(proposal.having(role))} {word}" for role, word in _WORDS.items() if proposal.having(role)]
    yield f"{proposal.records} records, {len(proposal.columns)} columns: {', '.join(roles)}."
    for role, words in _WORDS.items():
        if role is not Role.KEEP and proposal.having(role):
            yield f"  {words}: {', '.join(guess.name for guess in proposal.having(role))}"
    coded = list(dict.fromkeys([*proposal.codes, *proposal.words]))
    if coded:
        yield f"  missing codes in: {', '.join(coded)}"
    skipped = [f"{skip.column} (by {skip.because})" for skip in proposal.skips.values()]
    if skipped:
        yield f"  not asked of everyone: {', '.join(skipped)}"
    questions = [(guess.name, sentence) for guess in proposal.columns for sentence in guess.decide]
    if questions or proposal.alone or proposal.asked:
        yield "To decide:"
    for name, sentence in questions:
        yield f"  {name}: {sentence}"
    yield from _exposed(proposal)


def _exposed(proposal: Proposal) -> Iterator[str]:
    """Yield what the kept columns give away, and who may know them: the first few questions in full."""
    if proposal.alone:
        keys = [guess.name for guess in proposal.having(Role.KEEP) if guess.key]
        yield (
            f"  {proposal.alone:,} records are alone on the kept keys ({', '.join(keys)}): anyone who knows "
            "these finds them with certainty, which run refuses (release.max_exposed). Replace, drop or coarsen some."
        )
    questions = {guess.name: guess.question for guess in proposal.columns}
    for name in proposal.asked[:MOST_ASKED]:
        yield f"  {questions[name]}"
    if rest := proposal.asked[MOST_ASKED:]:
        yield f"  Decide the same for {', '.join(rest)}; the config holds the figures."
    if proposal.unique > SHARE:
        yield (
            f"  {proposal.unique:.0%} of the records are unique on all kept columns together: say key: true for every "
            "one that somebody outside may know."
        )


_WORDS = {Role.REPLACE: "replaced", Role.DERIVED: "recomputed", Role.DROP: "dropped", Role.KEEP: "kept"}


_PLAIN = re.compile(r"^[A-Za-zÀ-ɏ_][\w]*( [\w]+)*$")
WIDTH = 118
PRIOR_SHARE = 0.1  # of the records
_SPECIAL = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}
MASKS: Mapping[Kind, str] = {
    Kind.CONTINUOUS: "{method: gaussian, sd: 1.0}",
    Kind.COUNT: "{method: gaussian, sd: 1.0}",
    Kind.SEMICONTINUOUS: "{method: gaussian, sd: 1.0}",
    Kind.DATE: "{method: gaussian, sd: 1.0}",
    Kind.BINARY: "{method: shifted_normal, alpha: 1.0}",
    Kind.ORDINAL: "{method: shifted_normal, alpha: 1.0}",
    Kind.NOMINAL: "{method: transition, keep: 0.6}",
}


def to_yaml(
    proposal: Proposal, path: str, *, dialect: Dialect | None = None, dates: Mapping[str, str] | None = None
) -> str:
    """Return a config for the file at ``path`` (as seen from the config) with comments.

    Comments hold counts and shares. Levels stand there only where each has at least ten records.
    """
    lines = [
        f"# yaml-language-server: $schema={SCHEMA}",
        f"# (synthdp schema > {SCHEMA} gives editors that file: they then complete and check the words below.)",
        f"# Guessed by synthdp init from {proposal.records} records and {len(proposal.columns)} columns.",
        "# Read every line that says DECIDE, then: synthdp check, synthdp run.",
        "version: 1",
        "data:",
        f"  path: {scalar(path)}",
        *_dialect(dialect or Dialect(), dates or {}),
        *_design(proposal),
        *_codes(proposal),
        "",
        "# replace: drawn anew. keep: released as it is. drop: gone before anything else happens.",
        "# key: an intruder may know it (true, false, or null: nobody has decided, and run asks).",
        "variables:",
    ]
    for guess in proposal.columns:
        lines += _variable(guess, proposal)
    lines += ["", *_method(proposal), "", *example(proposal.columns)]
    return "\n".join(lines) + "\n"


def _dialect(dialect: Dialect, dates: Mapping[str, str]) -> list[str]:
    plain = Dialect()
    lines = [
        f"  {name}: {scalar(getattr(dialect, name))}"
        for name in ("encoding", "separator", "decimal", "row_names")
        if getattr(dialect, name) != getattr(plain, name)
    ]
    lines = ["  # how the text is written; the plain way of reading it fails", *lines] if lines else []
    if dates:
        lines += ["  # the one form that fits all values of the column", "  dates:"]
        lines += [f"    {scalar(name)}: {scalar(form)}" for name, form in dates.items()]
    return lines


def _design(proposal: Proposal) -> list[str]:
    found = proposal.design
    lines = [f"  {part}: {scalar(found[part])}" for part in PARTS if part in found]
    return ["  # the survey's design: kept as it is; analyses that name it account for it", *lines] if lines else []


def scalar(value: Level) -> str:
    """Return a value as YAML that reads back as the same value.

    Examples
    --------
    >>> scalar("age"), scalar("NO"), scalar("a: b"), scalar(-8)
    ('age', '"NO"', '"a: b"', '-8')
    """
    if not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else repr(value)
    if _PLAIN.match(value) and value.lower() not in _SPECIAL:
        return value
    return '"' + "".join(_escaped(letter) for letter in value) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    point = ord(letter)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _codes(proposal: Proposal) -> list[str]:
    columns = list(dict.fromkeys([*proposal.codes, *proposal.words]))
    if not columns:
        return []
    lines = ['  # Values that seem to mean "missing"; take out those that are answers.', "  missing_codes:"]
    for name in columns:
        codes, words = proposal.codes.get(name, ()), proposal.words.get(name, ())
        lines += [f"    # {code.value}: {code.count} records; {code.evidence}" for code in codes]
        if words:
            lines.append(f"    # {sum(count for _, count in words)} records with a text between numbers")
        values = [*(scalar(code.value) for code in codes), *(scalar(word) for word, _ in words)]
        lines.append(f"    {scalar(name)}: [{', '.join(values)}]")
    return lines


def _variable(guess: Guess, proposal: Proposal) -> list[str]:
    comments = _comment("; ".join(guess.evidence)) if guess.evidence else []
    skip = proposal.skips.get(guess.name)
    if skip is not None and guess.role is not Role.DROP:
        exactly = "always" if skip.exceptions == 0 else f"but for {skip.exceptions} records"
        comments.append(
            f"  # skip: missing {exactly} when {one_line(skip.condition())} ({skip.records} records, "
            f"{skip.explained:.0%} of its missing values)"
        )
        if skip.exceptions and guess.applies_when is None:
            comments.append(f"  # once those are corrected: applies_when: {scalar(one_line(skip.applies_when()))}")
        elif skip.exceptions:
            what = f"the values of those {skip.exceptions} records are taken for missing, as slips are (at most"
            comments += _comment(f"{what} {guess.applies_exceptions:.1%} of those it does not apply to); see to them.")
    asked = [guess.question] if guess.question is not None else []
    comments += [line for sentence in (*guess.decide, *asked) for line in _comment(f"DECIDE: {sentence}")]
    settings = ", ".join(f"{name}: {value}" for name, value in _settings(guess))
    return [*comments, f"  {scalar(guess.name)}: {{{settings}}}"]


def _comment(text: str) -> list[str]:
    """Return a text as lines of a comment on a variable."""
    return wrap(one_line(text), WIDTH, initial_indent="  # ", subsequent_indent="  #   ", break_long_words=False)


def _settings(guess: Guess) -> Iterable[tuple[str, str]]:
    if guess.role is Role.DROP:
        yield "role", "drop"
        return
    if guess.kind is not None:
        yield "kind", str(guess.kind)
    if guess.derived is not None:
        yield "derived", scalar(guess.derived)
    else:
        yield "role", str(guess.role)
    yield "key", "null" if guess.key is None else scalar(guess.key)
    if guess.levels:
        yield "levels", f"[{', '.join(scalar(level) for level in guess.levels)}]"
    if guess.role is Role.REPLACE and guess.numeric:
        yield "bounds_from", "data"
    if guess.tolerance is not None:
        yield "tolerance", f"{guess.tolerance:g}"
    if guess.decimals is not None:
        yield "decimals", str(guess.decimals)
    if guess.log:
        yield "transform", "log"
    if guess.keep_anyway:
        yield "keep_anyway", "true"
    if guess.applies_when is not None:
        yield "applies_when", scalar(guess.applies_when)
    if guess.applies_exceptions:
        yield "applies_exceptions", f"{guess.applies_exceptions:g}"


def _method(proposal: Proposal) -> list[str]:
    lines = ["# Fewer than 5 others alike on the keys puts a record into the medium or high group."]
    lines += ["groups: {method: neighbours, k: 5}", ""]
    if proposal.method == "cart":
        method = "synthesis: {method: sequential, model: {method: cart}, copies: 5}"
        return [*lines, "# Trees, column after column; nothing is masked.", method]
    replaced = [guess for guess in proposal.having(Role.REPLACE) if guess.kind in MASKS]
    if replaced:
        lines += ["# How much is hidden: larger sd, smaller alpha, smaller keep hide more.", "masks:"]
        lines += [f"  {scalar(guess.name)}: {MASKS[guess.kind]}" for guess in replaced if guess.kind is not None]
        lines.append("")
    model = f"method: {proposal.method}"
    if proposal.crowded:
        lines.append(
            f"# The copula does not see columns of more than {MOST_UTILITIES + 1} levels, or of many levels and few "
            "answers; rare: groups levels."
        )
        model += f", exclude: [{', '.join(map(scalar, proposal.crowded))}]"
    if proposal.thin:
        lines.append("# Few answers or rare levels: correlations shrink to zero as if by so many unrelated records.")
        model += f", prior_records: {max(round(PRIOR_SHARE * proposal.records), 1)}"
    return [*lines, f"synthesis: {{method: da_mi, model: {{{model}}}, copies: 5}}"]


def one_line(text: str) -> str:
    """Return a text without anything that would end a comment."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
