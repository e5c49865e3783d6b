"""What a column's name says about it, in several languages."""

import re
import unicodedata
from collections.abc import Mapping


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
