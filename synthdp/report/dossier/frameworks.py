"""The questions of guidance and standards, each with our figure or the words that a person must answer.

The headings are those of the documents; the questions below them are ours. An answer says what was measured, never that
a document is complied with.
"""

from dataclasses import dataclass

from synthdp.evaluation.blocks import counted, find, is_number, number
from synthdp.evaluation.gate.verdict import Check
from synthdp.report.dossier.facts import Facts, named
from synthdp.report.reasons import figure, tell


@dataclass(frozen=True)
class Question:
    """One heading with a question, and what was measured; without ``answer`` a person must answer."""

    heading: str
    question: str
    answer: str = ""


@dataclass(frozen=True)
class Framework:
    """A document whose headings are gone through."""

    title: str
    about: str
    questions: tuple[Question, ...]


def criteria(facts: Facts) -> tuple[Question, ...]:
    """Return the three criteria of EU guidance on anonymisation (WP216) with what was measured for each."""
    before, certain = facts.before.get("expected_match"), facts.before.get("true_match")
    linked = f" (in the confidential file: {number(round(before))} people)" if is_number(before) and before else ""
    single = (
        f" (in the confidential file: {number(certain)} people for certain)" if is_number(certain) and certain else ""
    )
    learnt = f" Tried for: {named(facts.targets)}." if facts.targets else ""
    return (
        Question(
            "Singling out",
            "Can somebody isolate the record of one person?",
            _told(facts, "max_individual", single)
            + _more(facts, "max_exposed", "max_memorised", "max_excess_verbatim"),
        ),
        Question(
            "Linkability",
            "Can somebody link what they know of a person to that person's record?",
            _told(facts, "max_expected_match_rate", linked) + _more(facts, "max_claims_right"),
        ),
        Question(
            "Inference",
            "Can somebody deduce a value of a person with significant probability, because the person is in the file?",
            (found + learnt) if (found := _told(facts, "max_attribute_gain")) else "",
        ),
    )


def _told(facts: Facts, name: str, before: str = "") -> str:
    check = facts.worst.get(name)
    if check is None or check.value is None:
        return ""
    return f"{tell(check).rstrip('.')}{before}{_accepted(check)}."


def _more(facts: Facts, *names: str) -> str:
    found = [_told(facts, name) for name in names]
    return "".join(f" {one}" for one in found if one)


def _accepted(check: Check) -> str:
    return "; over the limit, accepted by name" if check.accepted is not None else ""


def frameworks(facts: Facts) -> tuple[Framework, ...]:
    """Return the headings of ISO/IEC 27559, of the ICO's motivated-intruder test and of NIST SP 800-188."""
    return (_iso(facts), _ico(facts), _nist(facts))


def _iso(facts: Facts) -> Framework:
    return Framework(
        "ISO/IEC 27559:2022, privacy enhancing data de-identification framework",
        "The headings of clauses 6 to 9.",
        (
            Question("6.2 Threat modelling", "Who might try to find people, with what means, and what stops them?"),
            Question("6.3 Transparency and impact assessment", "Do people know, and what harm could come to them?"),
            Question("7.2 Data features", "What is in the file, and what happened to it?", _features(facts)),
            Question("7.3 Attack modelling", "Who was imagined as an intruder?", _intruders(facts)),
            Question(
                "8.2 Assessing identifiability", "How likely is it that people are found?", _identifiability(facts)
            ),
            Question("8.3 Mitigation", "What was done against it?", _mitigation(facts)),
            Question("9.2 Before data are made available", "Who answers for the release, by which rules?"),
            Question(
                "9.3 After data are made available", "Who watches what becomes public, and reviews this decision?"
            ),
            Question("9.4 Mitigation in case of incident", "What happens when somebody has been found?"),
        ),
    )


def _ico(facts: Facts) -> Framework:
    return Framework(
        "ICO (UK), the motivated-intruder test",
        "Somebody competent and determined, without special skills or unlawful means, who wants to find a person.",
        (
            Question("Who, and why", "Who might want to find a person in this file, and for what?"),
            Question("What they know", "What could they learn elsewhere about a person?", _known(facts)),
            Question("What they try", "How did the modelled intruders go about it?", _intruders(facts)),
            Question("How far they get", "What did they find?", _identifiability(facts)),
            Question(
                "Tried by people", "Has a person, with a search engine and other public files, tried to find anybody?"
            ),
            Question("When it is tried again", "When will the test be repeated, as other data become public?"),
        ),
    )


def _nist(facts: Facts) -> Framework:
    return Framework(
        "NIST SP 800-188, de-identifying government datasets",
        "Its steps of governance, then its technical steps.",
        (
            Question(
                "Goals and intended uses", "What shall users be able to do, and why are these files needed for it?"
            ),
            Question("Risks of the release", "How likely is it that people are found?", _identifiability(facts)),
            Question("Harm", "What would it do to people, and to the agency, if somebody were found?"),
            Question("Data life cycle", "How long are files, seed and confidential report kept, and by whom?"),
            Question("Data-sharing model", "Public file, licensed file or enclave?"),
            Question("Disclosure review board", "Who reviews this dossier?"),
            Question("Data survey", "Which columns identify people, directly or together?", _known(facts)),
            Question("Removing identifiers, transforming quasi-identifiers", "What was done?", _mitigation(facts)),
            Question("Synthetic data", "Fully or partially synthetic, and with which promise?", _synthetic(facts)),
            Question("Validation", "Was it tested whether people are found, and what users can do?", _validated(facts)),
        ),
    )


def _features(facts: Facts) -> str:
    dropped = len(facts.content.dropped)
    removed = f" Removed before anything else: {counted(dropped, 'column')}." if dropped else ""
    return (
        f"{counted(facts.records, 'record')}. Drawn anew: {named(facts.replaced)}. Published as they are: "
        f"{named(facts.kept)}.{removed}"
    )


def _known(facts: Facts) -> str:
    if not facts.key_names:
        return ""
    rest = [name for name in (*facts.replaced, *facts.kept) if name not in facts.key_names]
    unknown = named(rest)
    return f"Assumed to be known: {facts.keys}; not to be known: {unknown}. A person must judge whether that is so."


def _intruders(facts: Facts) -> str:
    tried = list(dict.fromkeys(check.attack for check in facts.checks if check.attack.startswith("identity")))
    own = len(facts.content.intruders)
    if not tried or not facts.key_names:
        return ""
    added = f", {own} of them described by the agency" if own else ""
    draws = facts.gate.get("draws")
    over = f" Each attacked {counted(int(draws), 'draw')} of the copies." if is_number(draws) and draws else ""
    return (
        f"{counted(len(tried), 'intruder')}{added}, who know {facts.keys} and that the person is in the file: from "
        f"somebody with the public files alone to somebody who knows the method and its masks.{over}"
    )


def _identifiability(facts: Facts) -> str:
    names = ("max_expected_match_rate", "max_individual", "max_claims_right")
    found = [
        figure_of(facts.worst[name]) for name in names if name in facts.worst and facts.worst[name].value is not None
    ]
    return f"Upper ends of the 95% intervals, of the worst intruder: {'; '.join(found)}." if found else ""


def figure_of(check: Check) -> str:
    """Return a check in a few words: what, how much at most, and the limit."""
    words = {
        "max_expected_match_rate": "people found beyond blind guessing",
        "max_individual": "the person easiest to find",
        "max_claims_right": "surest claims right",
    }
    high = check.deciding if check.deciding is not None else 0.0
    limit = "no limit" if check.limit is None else f"limit {figure(check.name, check.limit)}"
    return f"{words.get(check.name, check.name)} {figure(check.name, max(0.0, high), check.limit)} ({limit})"


def _mitigation(facts: Facts) -> str:
    masked = list(dict.fromkeys(line.column for line in facts.content.masks))
    if not facts.replaced:
        return ""
    masks = f" Blurred by masks before that: {named(masked)}." if masked else " No masks were used."
    return f"{named(facts.replaced)} drawn anew by the method {facts.content.method}.{masks}"


def _synthetic(facts: Facts) -> str:
    kind = "Partially synthetic" if facts.kept else "Fully synthetic"
    if facts.epsilon is not None:
        return f"{kind}; differentially private with ε = {number(facts.epsilon)}."
    return f"{kind}; not differentially private: no ε is claimed."


def _validated(facts: Facts) -> str:
    checks = [check for check in facts.checks if check.value is not None]
    if not checks:
        return ""
    use = sum(check.useful for check in checks)
    refit = find(facts.risk, "membership_shadow")
    shadow = " Membership was tested by fitting the method again." if refit else ""
    return f"{counted(len(checks) - use, 'check')} of risk and {use} of usefulness; see Evidence.{shadow}"
