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
        "age": "age ages alter lebensalter edad idade eta leeftijd wiek alder aldur ika vek agey ageyrs",
        "sex": "sex gender geschlecht sexe sexo sesso genre genero geslacht plec kon kjonn female male woman",
        "origin": "race ethnicity ethnic ethnie ethnicite raza raca etnia etnicidad white black hispanic nationality "
        "nationalitat nationalite nacionalidad citizenship citizen staatsangehorigkeit country land pays pais paese "
        "herkunft religion narodowosc native immigrant",
        "place": "region place placesize county state province city town municipality zip zipcode postcode postal plz "
        "district popul population urban rural urbanicity gemeinde kreis bundesland stadt ort wohnort departement "
        "commune ville canton kanton ciudad provincia municipio comune regione wojewodztwo miasto gmina residence "
        "lan kommun fylke",
        "education": "edu educ education school schooling highschool college degree bildung schulabschluss abschluss "
        "diplome etudes estudios educacion escolaridade istruzione opleiding wyksztalcenie utbildning",
        "marital": "marital maritalstatus mstatus marstat familienstand zivilstand matrimonial matrimoniale civil "
        "etatcivil estadocivil burgerlijke cywilny civilstand",
        "occupation": "occupation occ occup job profession beruf berufsgruppe metier ocupacion profesion beroep zawod "
        "socprof workclass industry branche isco nace yrke",
        "household": "household hhsize famsize familysize nchild children kids kinder enfants hijos figli kinderen "
        "dzieci haushaltsgrosse",
        "income": "income earnings salary wage wages einkommen gehalt revenu salaire ingreso ingresos renda reddito "
        "inkomen dochod inkomst",
    }.items()
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
UNORDERED = frozenset({"sex", "origin", "place", "marital", "occupation"})
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
    >>> topic("Age_raw"), topic("Geschlecht"), topic("cholesterol")
    ('age', 'sex', None)
    """
    found = set(words(name))
    return next((topic for topic, known in KEYS.items() if found & known), None)


def is_identifier(name: str) -> bool:
    """Return whether the name is that of a direct identifier."""
    return any(word in IDENTIFIERS or word.endswith(IDENTIFIER_ENDINGS) for word in words(name))


def is_unordered(name: str) -> bool:
    """Return whether whole numbers in such a column are codes without an order."""
    return topic(name) in UNORDERED or bool(set(words(name)) & UNORDERED_WORDS)
