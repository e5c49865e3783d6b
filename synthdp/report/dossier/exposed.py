"""Who is still exposed, in sentences: what no average shows and no mask covers."""

from synthdp.evaluation.assessment import NOTABLE_RISK
from synthdp.evaluation.blocks import counted, find, is_number, number
from synthdp.report.dossier.facts import Facts
from synthdp.report.dossier.verdict import undecided_sentence
from synthdp.report.words import share

# methods that draw whole records from tables: no row of theirs stands for a person
_DETACHED = ("ipf", "catall")
# names in half the width of the page
MOST = 4


def exposed(facts: Facts) -> tuple[str, ...]:
    """Return who is still exposed, the most serious first."""
    found = [_alone(facts), _near(facts), undecided_sentence(facts), _together(facts), _earlier(facts), _present(facts)]
    return tuple(sentence for sentence in found if sentence)


def _alone(facts: Facts) -> str:
    """Say who is found with certainty by columns that are published as they are."""
    if not facts.kept:
        return "No column is published as it is."
    check = facts.worst.get("max_exposed")
    alone = check.value if check is not None else find(facts.risk, "exposure", "alone")
    knowable = [column.name for column in facts.content.comparison.schema.kept() if column.key]
    if not knowable:
        kept = facts.words(facts.kept, MOST)
        return f"No column that is published as it is ({kept}) is declared as known to an intruder."
    if alone is None or not is_number(alone):
        return ""
    where = f"on columns that are published as they are and may be known ({facts.words(knowable, MOST)})"
    if alone == 0:
        return f"**Nobody** is alone {where}."
    many, them = ("1** person is", "that person") if alone == 1 else (f"{number(round(alone))}** people are", "them")
    return f"**{many} alone {where}: whoever knows these columns finds {them} with certainty."


def _near(facts: Facts) -> str:
    """Say how many people an intruder comes near to, and where they are listed."""
    if facts.at_risk is None or not facts.key_names:
        return ""
    often = f"with a probability of {share(NOTABLE_RISK)} or more, on average over draws"
    sampled = facts.gate.get("sampled") or {}
    if sampled:
        # of a file in shards some are looked for: how many of all are in danger nobody has counted
        looked = number(sampled["targets"] + sampled["exposed"])
        often += f"; {looked} people were looked for, some at random and the most exposed"
    if facts.at_risk == 0:
        return f"With the synthetic files, nobody is found {often}."
    are = "person is" if facts.at_risk == 1 else "people are"
    listed = "row numbers, without values, are in records_at_risk.csv"
    return f"With the synthetic files, **{number(facts.at_risk)}** {are} found {often}; {listed}."


def _together(facts: Facts) -> str:
    """Say how many people all kept columns together point at: nothing hides these from somebody who knows them all."""
    unique, rate = find(facts.risk, "exposure", "unique"), find(facts.risk, "exposure", "unique_rate")
    if not facts.kept or unique is None or not is_number(unique) or not unique or rate is None:
        return ""
    return (
        f"All columns that are published as they are, taken together, are unique for **{share(float(rate))}** of the "
        "people: somebody who knows all these answers finds the row. It must be unlikely that anybody does."
    )


def _earlier(facts: Facts) -> str:
    if not facts.releases:
        return ""
    return (
        f"The figures count what {counted(facts.releases, 'earlier release')} of the same data had already given away."
    )


def _present(facts: Facts) -> str:
    """Say whether the files hide who took part."""
    if facts.epsilon is not None:
        return "Everybody in the file is covered by the same ε, those who stand out too."
    if facts.content.method in (*_DETACHED, "external") or facts.content.method.startswith("dp_"):
        return ""
    return "The files do not hide who took part: every person in the confidential file has a row in every copy."
