"""What values a column takes and what its name says about it, in several languages."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.table.microdata import Floats
from synthdp.table.schema import Kind, Level


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# in the order in which they identify people; one word suffices, compared without case and accents
KEYS: Mapping[str, frozenset[str]] = {
    topic: _set(known)
    for topic, known in {
        "birth": "birth born dob yob birthdate birthyear birthday byear bdate geburt geburtsjahr geburtsdatum "
        "gebdatum gebjahr naissance nacimiento nascimento nascita geboorte geboortejaar urodzenia fodelsear",
        "age": "age ages agep alter lebensalter altersgruppe agegr agegroup edad idade eta leeftijd leeftijdsklasse "
        "wiek alder aldur ika vek agey ageyrs",
        "sex": "sex gender geschlecht sexe sexo sesso genre genero geslacht plec kon kjonn female male woman femme "
        "homme mujer hombre vrouw frau kobieta",
        "origin": "race ethnicity ethnic ethnie ethnicite raza raca etnia etnicidad white black hispanic nationality "
        "nationalitat nationalite nacionalidad citizenship citizen staatsangehorigkeit country land pays pais paese "
        "herkunft religion narodowosc native immigrant hisp hispan raced ancestry nativity birthplace bpl pobp migrant "
        "migration migrationshintergrund nationaliteit etniciteit origine origen herkomst obywatelstwo wyznanie "
        "pochodzenie godsdienst konfession",
        "place": "region place placesize county state province city town municipality zip zipcode postcode postal plz "
        "district popul population urban rural urbanicity gemeinde kreis bundesland stadt ort wohnort departement "
        "commune ville canton kanton ciudad provincia municipio comune regione wojewodztwo miasto gmina residence "
        "lan kommun fylke puma statefip countyfip fips metro metarea cbsa msa nuts lsoa msoa tract gemeente "
        "provincie woonplaats stad powiat departamento domicile",
        "education": "edu educ educd education school schooling schl highschool college degree bildung schulabschluss "
        "abschluss bildungsabschluss schulbildung diplome etudes estudios educacion escolaridade "
        "istruzione opleiding onderwijs wyksztalcenie utbildning",
        "marital": "marital maritalstatus mstatus marstat marst msp married spouse divorced widowed familienstand "
        "zivilstand verheiratet matrimonial matrimoniale civil etatcivil estadocivil casado burgerlijke gehuwd "
        "burgerlijkestaat cywilny zonaty zamezna civilstand",
        "occupation": "occupation occ occup occp indp job profession beruf berufsgruppe metier ocupacion profesion "
        "beroep zawod socprof workclass classwkr industry branche secteur isco isic naics nace bedrijfstak branza "
        "stanowisko yrke",
        "household": "household hhsize hht hhtype famsize familysize npf nchild children kids kinder enfants hijos "
        "figli kinderen dzieci haushaltsgrosse haushalt haushaltstyp menage hogar huishouden gospodarstwo relate relp "
        "relationship",
        "housing": "housing tenure ownershp dwelling homeowner wohnung wohnform logement vivienda woning mieszkanie",
        "income": "income incomes earnings salary wage wages inctot incwage pincp hincp wagp povpip einkommen gehalt "
        "lohn revenu revenus salaire ingreso ingresos sueldo salario renda reddito inkomen loon salaris dochod zarobki "
        "wynagrodzenie inkomst",
        "disability": "disability disabled deye dear dphy drem dout ddrs blind deaf wheelchair behinderung behindert "
        "invalidite handicap discapacidad beperking niepelnosprawnosc",
        "veteran": "veteran dvet vetstat military milit veteraan kombattant excombatiente weteran",
    }.items()
}
# whole names in the codings of censuses and surveys, too short or too odd to be looked for among words
CODED: Mapping[str, str] = {
    name: topic
    for topic, known in {
        "birth": "rb080 pb140",
        "age": "rx010 rx020 agec",
        "sex": "rb090 pb150",
        "origin": "rac1p rac2p rac3p anc1p anc2p cit nativ pob lanp",
        "place": "st density db040 pwpuma powpuma",
        "education": "pe040 isced",
        "marital": "mar pb190",
        "occupation": "cow pl051 pl111 soc socp occ1990 ind1990 naicsp",
        "household": "noc np hhl hupac nchlt5 relshipp",
        "housing": "ownrent rentown ten bld",
        "disability": "dis",
        "veteran": "mil vps drat",
    }.items()
    for name in known.split()
}
IDENTIFIERS = _set(
    "id ids uid uuid guid pid name surname firstname lastname fullname forename email mail phone telephone tel mobile "
    "cell fax ssn sin nin nhs passport pesel nif nie curp cpf bsn personnummer iban account address street login user "
    "username vorname nachname telefon handy adresse strasse anschrift kennung nom prenom telephone courriel nombre "
    "apellido apellidos correo telefono direccion cognome indirizzo imie nazwisko mrn record recordid patientid "
    "caseid respid respondentid subjectid studyid idnr ip"
)
IDENTIFIER_ENDINGS = ("nummer", "number", "name", "mail", "phone", "telefon", "adresse", "address")
# codes of these have no order, whatever the numbers suggest
UNORDERED = frozenset({"sex", "origin", "place", "marital", "occupation", "housing"})
UNORDERED_WORDS = _set("relationship religion party type class group code category industry sector")


def words(name: str) -> tuple[str, ...]:
    """Return the words of a column name, in small letters without accents.

    Examples
    --------
    >>> words("dateOfBirth_2")
    ('date', 'of', 'birth')
    >>> words("État-civil")
    ('etat', 'civil')
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain.replace("ß", "ss").replace("ł", "l").replace("ø", "o"))
    return tuple(re.findall(r"[^\W\d_]+", split.lower()))


def topic(name: str) -> str | None:
    """Return what an intruder would know the column as, or None.

    Examples
    --------
    >>> topic("Age_raw"), topic("Geschlecht"), topic("RAC1P"), topic("cholesterol")
    ('age', 'sex', 'origin', None)
    """
    whole = re.sub(r"[^a-z0-9]", "", name.lower())
    found = set(words(name))
    return CODED.get(whole) or next((topic for topic, known in KEYS.items() if found & known), None)


def is_identifier(name: str) -> bool:
    """Return whether the name is that of a direct identifier."""
    return any(word in IDENTIFIERS or word.endswith(IDENTIFIER_ENDINGS) for word in words(name))


def is_unordered(name: str) -> bool:
    """Return whether whole numbers in such a column are codes without an order."""
    return topic(name) in UNORDERED or bool(set(words(name)) & UNORDERED_WORDS)


_SCALES = (
    "strongly disagree|disagree|somewhat disagree|neither agree nor disagree;neutral;undecided|somewhat agree|agree|"
    "strongly agree",
    "never|almost never|rarely;seldom|sometimes;occasionally|often;frequently|very often|almost always|always",
    "very poor|poor|fair|good|very good|excellent",
    "very bad|bad|fair;average;medium|good|very good",
    "very low|low|medium;moderate;middle|high|very high",
    "none|mild;slight|moderate|severe|very severe;extreme",
    "not at all|a little;slightly|somewhat;moderately|quite a bit;a lot|very;very much|extremely",
    "very dissatisfied|dissatisfied|mostly dissatisfied|neutral;mixed;neither|mostly satisfied|satisfied|"
    "very satisfied",
    "terrible|unhappy|mostly dissatisfied|mixed|mostly satisfied|pleased|delighted",
    "very unlikely|unlikely|neutral|likely|very likely",
    "none|passive|active",
    "no|no opinion;don't know;not sure;unsure;maybe|yes",
    "small|medium|large|very large",
    "first|second|third|fourth|fifth",
    "trifft nicht zu;stimme nicht zu|trifft eher nicht zu;stimme eher nicht zu|teils teils;teils/teils|"
    "trifft eher zu;stimme eher zu|trifft zu;stimme zu",
    "nie|selten|manchmal|oft;häufig|immer",
    "jamais|rarement|parfois|souvent|toujours",
    "nunca|raramente;rara vez|a veces;às vezes|a menudo;frequentemente|siempre;sempre",
    "no education|primary;primary/no education|vocational;vocational/grammar|secondary|"
    "post-secondary or higher;tertiary;higher",
)
_RANKS = [{word: rank for rank, same in enumerate(scale.split("|")) for word in same.split(";")} for scale in _SCALES]
_NUMBER = r"\d[\d.,' ]*"
_RANGE = re.compile(
    rf"^(?P<under><|≤|<=|under|below|less than|up to)?\s*(?P<low>{_NUMBER})\s*((-|–|to|bis)\s*{_NUMBER})?"
    r"(?P<over>\+|and over|and more|or more|and older|plus)?$"
)


def in_order(levels: Sequence[str]) -> list[str] | None:
    """Return at least three texts in the order of their scale, or None when they have none.

    Examples
    --------
    >>> in_order(["often", "never", "sometimes"])
    ['never', 'sometimes', 'often']
    >>> in_order(["25-34", "16-24", "65+"])
    ['16-24', '25-34', '65+']
    >>> in_order(["red", "green", "blue"]) is None
    True
    """
    if len(levels) < 3:
        return None
    plain = {level: " ".join(level.lower().replace("`", "'").split()) for level in levels}
    for ranks in _RANKS:
        if all(word in ranks for word in plain.values()):
            return _sorted(levels, {level: float(ranks[word]) for level, word in plain.items()})
    starts: dict[str, float] = {}
    for level, word in plain.items():
        match = _RANGE.match(word)
        # plain numbers are no ranges, and at least a sign must say so
        if match is None or word.replace(".", "").isdigit():
            return None
        low = float(re.sub(r"[,' ]", "", match["low"]).rstrip(".") or 0)
        starts[level] = low - 0.5 if match["under"] else low
    return _sorted(levels, starts)


def _sorted(levels: Sequence[str], place: dict[str, float]) -> list[str] | None:
    """Return the levels by place, or None when two share one."""
    return sorted(levels, key=place.__getitem__) if len(set(place.values())) == len(levels) else None


FEW_LEVELS = 10
CODED_LEVELS = 50
COMMON = 10
POINT_MASS = 0.1
MOSTLY = 0.5
SMALL_NUMBERS = 0.3
LARGEST_COUNT = 200
COUNT_SKEW = 0.5
LOG_SKEW = 2.0
MOST_DECIMALS = 6
ISO_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
OTHER_DATE = r"^\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})$"


@dataclass(frozen=True)
class Nature:
    """A kind, what speaks for it, the levels when they may be shown, and what a person should look at."""

    kind: Kind
    evidence: str
    levels: tuple[Level, ...] = ()
    doubt: str = ""


def nature(series: pd.Series, name: str) -> Nature:
    """Return what a column is; ``series`` has its missing codes already missing and at least one value."""
    present = series.dropna()
    if pd.api.types.is_datetime64_any_dtype(present):
        return Nature(Kind.DATE, "dates")
    distinct = present.nunique()
    if distinct == 2:
        return Nature(Kind.BINARY, "2 distinct values", _common(present))
    if pd.api.types.is_bool_dtype(present):
        return Nature(Kind.NOMINAL, "the same value everywhere")
    if pd.api.types.is_numeric_dtype(present):
        return _of_numbers(present.to_numpy(np.float64), name)
    return _of_text(present, distinct, name)


def _common(present: pd.Series) -> tuple[Level, ...]:
    """Return the levels, or nothing when one of them is rare: a rare level tells of someone."""
    counts = present.value_counts()
    if counts.min() < COMMON:
        return ()
    levels = [value.item() if isinstance(value, np.generic) else value for value in counts.index]
    plain = [int(v) if isinstance(v, float) and v.is_integer() else v for v in levels]
    return tuple(sorted(plain)) if all(isinstance(v, bool | int | float | str) for v in plain) else ()


def _of_numbers(values: Floats, name: str) -> Nature:
    found, counts = np.unique(values, return_counts=True)
    whole = bool(np.all(found == np.round(found)))
    if len(found) == 1:
        return Nature(Kind.CONTINUOUS, "the same number everywhere")
    if whole and is_unordered(name) and len(found) <= CODED_LEVELS and len(found) < 0.1 * len(values):
        return Nature(Kind.NOMINAL, f"{len(found)} whole numbers, taken for codes without an order because of the name")
    if len(found) <= FEW_LEVELS and len(found) < 0.5 * len(values):
        what = "whole numbers" if whole else "numbers"
        return Nature(Kind.ORDINAL, f"{len(found)} distinct {what}, taken for an ordered scale")
    skew = float(np.mean(((values - values.mean()) / values.std()) ** 3))
    zero = float(np.mean(values == 0))
    near = float(np.sum(counts[(found == 1) | (found == 2)]) / max(np.sum(values > 0), 1))
    years = topic(name) in ("age", "birth")
    small = whole and not years and 0 <= found[0] <= 1 and found[-1] <= LARGEST_COUNT
    # a count comes down to its zeros over ones and twos; where these are scarce, zero is an answer of its own
    falling = near >= (POINT_MASS if zero < MOSTLY else SMALL_NUMBERS)
    if zero >= POINT_MASS and not years and found[0] >= 0 and not (small and falling):
        return Nature(Kind.SEMICONTINUOUS, f"{zero:.0%} zeros, {len(found) - 1} other distinct numbers")
    if small and skew > COUNT_SKEW:
        return Nature(Kind.COUNT, f"whole numbers from 0 up, skewed to the right (skewness {skew:.1f})")
    return Nature(Kind.CONTINUOUS, f"{len(found)} distinct numbers")


def _of_text(present: pd.Series, distinct: int, name: str) -> Nature:
    text = present.astype(str)
    if text.str.match(ISO_DATE).all() and pd.to_datetime(text, errors="coerce", format="ISO8601").notna().all():
        return Nature(Kind.DATE, "ISO dates")
    as_numbers = pd.to_numeric(text, errors="coerce")
    if as_numbers.notna().all() and not text.str.match(r"^[+-]?0\d").any():
        return _of_numbers(as_numbers.to_numpy(np.float64), name)
    if distinct == 1:
        return Nature(Kind.NOMINAL, "the same text everywhere")
    doubt = ""
    if text.str.match(OTHER_DATE).mean() > 0.9:
        doubt = "looks like dates; write them as 2020-01-31 to have them treated as dates."
    elif 0.5 <= as_numbers.notna().mean() < 1:
        others = int(as_numbers.isna().sum())
        doubt = f"{others} values are no numbers, the others are; correct them, or list them in data.missing_codes."
    ordered = in_order(sorted(set(text))) if distinct <= CODED_LEVELS else None
    if ordered is not None:
        rare = int((text.value_counts() < COMMON).sum())
        if not rare:
            return Nature(Kind.ORDINAL, f"{distinct} texts of an ordered scale", tuple(ordered))
        doubt = f"looks ordered, but {rare} levels have fewer than {COMMON} records; list levels in order for ordinal."
    return Nature(Kind.NOMINAL, f"{distinct} distinct texts", doubt=doubt)


def is_skewed(values: Floats) -> bool:
    """Return whether logs would describe the numbers better."""
    present = values[np.isfinite(values)]
    if len(present) < COMMON or present.std() == 0:
        return False
    return float(np.mean(((present - present.mean()) / present.std()) ** 3)) > LOG_SKEW


def decimals(values: Floats) -> tuple[int, bool]:
    """Return the digits after the point the data show, or else about a hundredth of an sd and True."""
    present = values[np.isfinite(values)]
    for places in range(MOST_DECIMALS + 1):
        if np.allclose(present, np.round(present, places), rtol=0, atol=1e-9):
            return places, False
    return int(np.clip(np.ceil(-np.log10(present.std() / 100)), 0, 15)), True


def tolerance(values: Floats, places: int) -> float:
    """Return a tenth of an sd to one digit, and at least half a step of the last decimal.

    Examples
    --------
    >>> tolerance(np.array([20.0, 40.0, 60.0]), 0)
    2.0
    """
    tenth = float(np.nanstd(values)) / 10
    rounded = float(f"{tenth:.0e}")
    return max(rounded, 0.5 * 10.0**-places)
