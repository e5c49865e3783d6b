"""The documents beside the public files: what they say, what they must not say, and that standards can read them."""

import json
import re
from xml.etree import ElementTree as xml

import numpy as np
import pandas as pd
import pytest
import yaml

from synthdp import release
from synthdp.config.publication import Publication
from synthdp.release.metadata import CITATION, DATACITE, DATASHEET, DDI, DOCUMENTS, DUBLIN_CORE, documents
from synthdp.release.metadata.about import About, Licence
from synthdp.release.metadata.checking import document_problems
from synthdp.release.metadata.summaries import public_column, summarise
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

IN = {"d": "ddi:codebook:2_5"}
STATED = Publication(
    title="Voters & neighbours <1996>",
    creators=("Curie, Marie", "Election Office"),
    publisher="Election Office",
    year=2020,
    licence="cc-by-4.0",
    contact="data@example.org",
    identifier="https://doi.org/10.1234/abcd",
    abstract="Answers of voters.",
)
# the order in which DDI Codebook 2.5 wants the children of each element we write
ORDER = {
    "codeBook": ["stdyDscr", "fileDscr", "dataDscr", "otherMat"],
    "stdyDscr": ["citation", "stdyInfo", "dataAccs"],
    "citation": ["titlStmt", "rspStmt", "prodStmt", "distStmt", "biblCit"],
    "titlStmt": ["titl", "IDNo"],
    "rspStmt": ["AuthEnty"],
    "prodStmt": ["copyright", "software"],
    "distStmt": ["distrbtr", "contact", "distDate"],
    "stdyInfo": ["abstract", "sumDscr", "notes"],
    "sumDscr": ["dataKind"],
    "dataAccs": ["useStmt", "notes"],
    "useStmt": ["citReq", "conditions", "disclaimer"],
    "fileDscr": ["fileTxt"],
    "fileTxt": ["fileName", "dimensns", "format"],
    "dimensns": ["caseQnty", "varQnty"],
    "dataDscr": ["var"],
    "var": [
        *("labl", "valrng", "universe", "sumStat", "txt", "catgry", "derivation", "varFormat", "notes"),
    ],
    "valrng": ["range"],
    "catgry": ["catValu", "labl", "catStat"],
    "derivation": ["drvcmd"],
    "otherMat": ["labl"],
}
# by element and attribute the words that the schema allows; of what we write, no other attribute is restricted
ALLOWED = {
    ("var", "nature"): {"nominal", "ordinal", "interval", "ratio", "percent", "other"},
    ("var", "intrvl"): {"contin", "discrete", "sum", "average"},
    ("var", "representationType"): {"text", "numeric", "code", "datetime", "other"},
    ("range", "UNITS"): {"INT", "REAL"},
    ("catStat", "type"): {"freq", "percent", "crosstab", "other"},
    ("varFormat", "type"): {"numeric", "character"},
}
STATISTICS = {"mean", "medn", "mode", "vald", "invd", "min", "max", "stdev"}


@pytest.fixture
def original():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": (ages := rng.integers(18, 90, 60)),
            "old": [str(one) for one in ages > 65],
            "sex": rng.choice(["F", "M"], 60),
            "town": ["Hiddenham", *rng.choice(["Ash", "Elm"], 59)],
            "born": pd.date_range("1950-01-01", periods=60).astype(str),
            "bmi": [np.nan, *rng.normal(25, 3, 59).round(1)],
        }
    )


@pytest.fixture
def made(original):
    """Return release.json, codebook and copies of a small release."""
    rng = np.random.default_rng(2)
    variables = {
        "age": Variable(kind="count", role="replace", key=True, bounds=(18, 90)),
        "sex": Variable(kind="binary", role="replace", key=True, levels=("F", "M")),
        "town": Variable(kind="nominal", role="replace", key=True),
        "born": Variable(kind="date", role="keep", key=False),
        "bmi": Variable(kind="continuous", role="keep", key=False, decimals=1),
        "old": Variable(derived="age > 65"),
    }
    data = resolve(original, variables)
    copies = []
    for _ in range(2):
        copy = data.frame.copy()
        copy["age"] = rng.integers(30, 40, 60)
        copy["town"] = rng.choice(["Ash", "Elm"], 60)
        copy["old"] = [str(one) for one in copy["age"] > 65]
        copies.append(copy)
    described = release.describe(
        data.schema,
        method="da_mi",
        imputations=1,
        copies=2,
        mask_draw="per_copy",
        rule="reiter2003",
        records=60,
        masks={"age": "gaussian"},
        format="csv",
        documents=DOCUMENTS,
    )
    return described, release.codebook(data.schema, copies, declared_levels=["sex"]), copies


def written(made, publication=Publication(), year=2026):  # noqa: B008 (frozen)
    return documents(*made, publication, year=year)


def local(element):
    return element.tag.rpartition("}")[2]


def test_the_names_are_those_that_are_announced(made):
    assert set(written(made)) == set(DOCUMENTS)


def test_ddi_keeps_to_the_order_of_its_schema(made):
    root = xml.fromstring(written(made, STATED)[DDI])
    assert (root.tag, root.get("version")) == ("{ddi:codebook:2_5}codeBook", "2.5")
    for element in root.iter():
        found = [ORDER[local(element)].index(local(child)) for child in element] if len(element) else []
        assert found == sorted(found), local(element)


def test_ddi_uses_the_words_that_its_schema_allows(made):
    seen = set()
    for element in xml.fromstring(written(made, STATED)[DDI]).iter():
        for name, value in element.attrib.items():
            words = ALLOWED.get((local(element), name))
            assert words is None or value in words, (local(element), name, value)
            assert name != "ID" or re.fullmatch(r"[A-Za-z_][\w.-]*", value)
            seen.add((local(element), name))
    assert set(ALLOWED) <= seen


def test_ddi_refers_to_what_is_there(made):
    root = xml.fromstring(written(made)[DDI])
    ids = [element.get("ID") for element in root.iter() if element.get("ID")]
    assert len(ids) == len(set(ids))
    for variable in root.findall("d:dataDscr/d:var", IN):
        assert set(variable.get("files").split()) <= set(ids)
        assert {one.get("type") for one in variable.findall("d:sumStat", IN)} <= STATISTICS
    assert [one.get("URI") for one in root.findall("d:fileDscr", IN)] == made[0]["files"]


def test_statistics_are_those_of_the_copies(made, original):
    root = xml.fromstring(written(made)[DDI])
    found = {one.get("name"): one for one in root.findall("d:dataDscr/d:var", IN)}
    age = {one.get("type"): float(one.text) for one in found["age"].findall("d:sumStat", IN)}
    pooled = pd.concat(copy["age"] for copy in made[2])
    assert (age["min"], age["max"]) == (pooled.min(), pooled.max())
    assert age["mean"] == pytest.approx(pooled.mean(), rel=1e-5)
    assert age["mean"] != pytest.approx(original["age"].mean(), rel=1e-3)
    assert {one.get("type") for one in found["born"].findall("d:sumStat", IN)} == {"vald", "invd"}
    missing = {one.get("type"): one.text for one in found["bmi"].findall("d:sumStat", IN)}
    assert missing["invd"] == "1"


def test_levels_are_the_public_ones_with_shares_that_add_up(made):
    text = written(made)[DDI]
    assert b"Hiddenham" not in text
    variable = next(one for one in xml.fromstring(text).iter("{ddi:codebook:2_5}var") if one.get("name") == "town")
    assert [one.text for one in variable.findall("d:catgry/d:catValu", IN)] == ["Ash", "Elm"]
    assert sum(float(one.text) for one in variable.findall("d:catgry/d:catStat", IN)) == pytest.approx(100, abs=1e-3)


def test_many_levels_are_left_to_the_codebook(made):
    described, codebook, copies = made
    codebook.loc[codebook["name"] == "town", "levels"] = json.dumps([f"t{i}" for i in range(501)])
    variable = xml.fromstring(written((described, codebook, copies))[DDI]).find(".//d:var[@name='town']", IN)
    assert variable.findall("d:catgry", IN) == []
    assert "501 levels" in variable.find("d:notes", IN).text


def test_a_derived_column_has_its_formula(made):
    variable = xml.fromstring(written(made)[DDI]).find(".//d:var[@name='old']", IN)
    assert variable.find("d:derivation/d:drvcmd", IN).text == "age > 65"


def test_names_and_levels_may_hold_any_character(made):
    described, codebook, copies = made
    name = 'a<b>&"\x01é'
    described["columns"][0]["name"] = name
    codebook.loc[0, "name"] = name
    renamed = [copy.rename(columns={"age": name}) for copy in copies]
    variable = xml.fromstring(written((described, codebook, renamed))[DDI]).find(".//d:var", IN)
    assert variable.get("name") == 'a<b>&"?é'


def test_a_column_without_any_value(made):
    column = public_column({"name": "bmi", "kind": "continuous", "role": "kept"})
    found = summarise(column, [pd.DataFrame({"bmi": [np.nan, np.nan]})])
    assert (found.valid, found.missing, found.figures) == (0.0, 2.0, {})
    town = public_column({"name": "town", "kind": "nominal", "role": "kept", "levels": '["Ash"]'})
    assert summarise(town, [pd.DataFrame({"town": [None]})]).shares == ()


def test_datacite_has_what_is_mandatory(made):
    found = json.loads(written(made)[DATACITE])
    assert {"creators", "titles", "publisher", "publicationYear", "types", "schemaVersion"} <= set(found)
    assert (found["creators"], found["publisher"]) == ([{"name": ":unav"}], {"name": ":unav"})
    assert re.fullmatch(r"\d{4}", found["publicationYear"])
    assert "doi" not in found
    assert "rightsList" not in found


def test_datacite_says_what_the_publisher_states(made):
    found = json.loads(written(made, STATED)[DATACITE])
    assert (found["doi"], found["prefix"], found["suffix"]) == ("10.1234/abcd", "10.1234", "abcd")
    assert found["creators"][0]["familyName"] == "Curie"
    assert found["creators"][1] == {"name": "Election Office", "nameType": "Organizational"}
    assert found["rightsList"][0]["rightsIdentifier"] == "CC-BY-4.0"
    assert found["publicationYear"] == "2020"
    assert "contributors" not in found  # an e-mail address is no name


def test_datacite_of_other_identifiers_and_contacts(made):
    found = json.loads(written(made, Publication(identifier="A-17", contact="The data desk"))[DATACITE])
    assert found["alternateIdentifiers"][0]["alternateIdentifierType"] == "publisher's identifier"
    assert found["contributors"][0]["name"] == "The data desk"
    web = json.loads(written(made, Publication(identifier="https://example.org/a"))[DATACITE])
    assert web["alternateIdentifiers"][0]["alternateIdentifierType"] == "URL"


def test_dublin_core_says_not_stated(made):
    bare = xml.fromstring(written(made)[DUBLIN_CORE])
    dc = "{http://purl.org/dc/elements/1.1/}"
    for name in ("creator", "publisher", "identifier", "rights"):
        assert bare.findtext(f"{dc}{name}") == "not stated"
    stated = xml.fromstring(written(made, STATED)[DUBLIN_CORE])
    assert stated.findtext(f"{dc}title") == "Voters & neighbours <1996>"
    assert len(stated.findall(f"{dc}rights")) == 2


def test_the_citation_file(made):
    bare = yaml.safe_load(written(made)[CITATION])
    assert bare["authors"] == [{"name": "not stated"}]
    assert b"&id" not in written(made)[CITATION]
    found = yaml.safe_load(written(made, STATED)[CITATION])
    assert (found["doi"], found["license"]) == ("10.1234/abcd", "CC-BY-4.0")
    assert found["authors"][0] == {"family-names": "Curie", "given-names": "Marie"}
    assert found["preferred-citation"]["year"] == 2020
    web = yaml.safe_load(written(made, Publication(licence="https://example.org/terms"))[CITATION])
    assert web["license-url"] == "https://example.org/terms"


def test_the_data_sheet_answers_or_says_that_nobody_did(made):
    bare = written(made)[DATASHEET].decode()
    assert bare.count("not stated") >= 6
    assert "no epsilon is claimed" in bare
    stated = written(made, STATED)[DATASHEET].decode()
    assert "Answers of voters." in stated
    assert "Creative Commons Attribution 4.0 International (https://creativecommons.org/licenses/by/4.0/)" in stated
    assert "Curie, Marie; Election Office (2020). Voters & neighbours <1996> [Synthetic data]." in stated


def test_no_document_tells_a_strength_or_a_moment(made):
    for text in written(made, STATED).values():
        assert not re.search(rb"\d{4}-\d\d-\d\d", text.replace(b"2.5", b""))
        assert b"seed" not in text


def test_licences_by_any_spelling():
    assert Licence.of("CC BY 4.0").spdx == "CC-BY-4.0"
    assert Licence.of("Ask us").address is None
    assert Licence.of(None) is None


def test_the_citation_without_a_publisher():
    about = About({"files": []}, Publication(title="T", identifier="A-17"), 2026)
    assert about.citation == "Creator not stated (2026). T [Synthetic data]. A-17"
    assert (about.doi, about.address, about.mail) == (None, None, None)


@pytest.mark.parametrize("word", ["title", "publisher", "licence", "contact", "identifier", "abstract"])
def test_what_cannot_be_printed_is_refused(word):
    with pytest.raises(ValueError, match="must be text without control characters"):
        Publication(**{word: "a\x01b"})
    with pytest.raises(ValueError, match="must not be empty"):
        Publication(**{word: "  "})


def test_every_creator_has_a_name():
    with pytest.raises(ValueError, match="every creator needs a name"):
        Publication(creators=["Curie, Marie", " , "])


@pytest.fixture
def published(tmp_path, made):
    described, codebook, copies = made
    with release.prepare_out(tmp_path / "out", resume=False) as out:
        release.publish(
            out,
            copies,
            codebook=codebook,
            release=described,
            readme=release.readme(described),
            format="csv",
            permutations=[np.arange(60) for _ in copies],
            documents=written(made),
        )
    return tmp_path / "out" / "public"


def test_documents_are_part_of_a_release(published):
    assert release.verify(published) == []
    assert all(name in (published / "SHA256SUMS").read_text() for name in DOCUMENTS)
    assert "datasheet.md" in (published / "README.md").read_text()
    (published / DDI).unlink()
    assert any("ddi.xml: listed in SHA256SUMS, but missing." in one for one in release.verify(published))


def test_a_release_without_documents_is_in_order(tmp_path, made):
    described, codebook, copies = made
    described.pop("documents")
    with release.prepare_out(tmp_path / "old", resume=False) as out:
        release.publish(
            out,
            copies,
            codebook=codebook,
            release=described,
            readme=release.readme(described),
            format="csv",
            permutations=[np.arange(60) for _ in copies],
        )
    assert release.verify(tmp_path / "old") == []
    assert "datasheet.md" not in (tmp_path / "old" / "public" / "README.md").read_text()


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        (DDI, lambda text: text.replace(b'name="age"', b'name="rage"'), "the columns are not those of release.json"),
        (DDI, lambda text: text.replace(b'URI="synthetic_01.csv"', b'URI="other.csv"'), "the synthetic files are not"),
        (DDI, lambda text: text[:40], "cannot be read as what its name says"),
        (DATACITE, lambda text: b"{", "cannot be read as what its name says"),
        (DATASHEET, lambda text: b"\xff\xfe", "cannot be read as what its name says"),
    ],
)
def test_documents_of_another_release_are_noticed(published, made, name, change, words):
    (published / name).write_bytes(change((published / name).read_bytes()))
    (found,) = document_problems(published, made[0])
    assert words in found


def test_names_of_documents_must_be_plain(published):
    path = published / "release.json"
    path.write_text(path.read_text().replace('"ddi.xml"', '"../ddi.xml"'))
    assert any("documents must list the files that describe the release" in one for one in release.verify(published))


def test_labels_bounds_and_conditions_are_carried_over(made):
    described, codebook, copies = made
    row = codebook["name"] == "town"
    codebook.loc[row, ["label", "value_labels", "applies_when"]] = ["Place & town", '{"Ash": "Ash Hill"}', "age > 20"]
    root = xml.fromstring(written((described, codebook, copies))[DDI])
    town = root.find(".//d:var[@name='town']", IN)
    assert town.find("d:labl", IN).text == "Place & town"
    assert town.find("d:universe", IN).text == "Records for which age > 20"
    assert [one.text for one in town.findall("d:catgry/d:labl", IN)] == ["Ash Hill"]
    limits = root.find(".//d:var[@name='age']/d:valrng/d:range", IN)
    assert (limits.get("min"), limits.get("max"), limits.get("UNITS")) == ("18", "90", "INT")
    assert root.find(".//d:var[@name='bmi']/d:valrng", IN) is None  # its bounds are the data's own


def test_what_is_said_of_any_data_holds_the_words_of_our_texts():
    said = release.said_of_any()
    assert all(word in said for word in ("Datasheets for datasets", "resourceTypeGeneral", "sumStat", "spreadsheet"))
    assert "Ash" not in said


HOSTILE = (
    *("<script>alert(1)</script>", "]]>", "a]]>b", "&amp;", '"><img src=x>', "=1+1", "a: b", "- x", "# h", "*a", "%T"),
    *("!!python/object:os", "`code`", "[l](javascript:x)", "\u202eRTL", "\u200b", "😀", "x" * 3000, "a\tb", "a\nb"),
    *("{{ x }}", "null", "2020-01-01", "10.1234/a<b>#c"),
)


@pytest.mark.parametrize("word", HOSTILE, ids=lambda word: repr(word[:12]))
def test_hostile_words_are_shown_and_do_nothing(made, tmp_path, word):
    described, codebook, copies = made
    described["columns"][0]["name"] = word
    codebook = codebook.astype(object)
    codebook.loc[0, ["name", "label"]] = word
    codebook.loc[codebook["name"] == "town", "value_labels"] = json.dumps({"Ash": word})
    copies = [copy.rename(columns={"age": word}) for copy in copies]
    words = Publication(**dict.fromkeys(("title", "publisher", "licence", "contact", "identifier", "abstract"), word))
    found = written((described, codebook, copies), words.model_copy(update={"creators": (word.strip(),)}))
    for name, text in found.items():
        (tmp_path / name).write_bytes(text)
    assert document_problems(tmp_path, described) == []
    ddi = xml.fromstring(found[DDI])
    assert (ddi.find(".//d:var", IN).get("name"), ddi.find(".//d:titl", IN).text) == (word, words.title)
    assert ddi.find(".//d:catgry/d:labl", IN).text == word
    assert xml.fromstring(found[DUBLIN_CORE])[0].text == words.title
    assert yaml.safe_load(found[CITATION])["title"] == json.loads(found[DATACITE])["titles"][0]["title"] == words.title
    sheet = found[DATASHEET].decode()
    assert not re.search(r"<[a-z/]|\]\(", sheet)
    assert sheet.count("\n# ") == 0
    assert len(sheet.splitlines()) == len(written(made, STATED)[DATASHEET].decode().splitlines())


def test_a_doi_that_citation_files_do_not_know_is_an_address(made):
    cited = yaml.safe_load(written(made, Publication(identifier="10.1234/a<b>"))[CITATION])
    assert (cited.get("doi"), cited["url"]) == (None, "https://doi.org/10.1234/a%3Cb%3E")


def test_the_sheet_speaks_only_of_what_there_is(made):
    described, codebook, copies = made
    anew = described | {"masks": {}, "columns": [one | {"role": "replaced"} for one in described["columns"]]}
    sheet = written((anew, codebook, copies))[DATASHEET].decode()
    assert "real answers of real people" not in sheet
    assert "strength of masks" not in sheet
    whole = written(made)[DATASHEET].decode()
    assert "real answers of real people" in whole
    assert "strength of masks" in whole


def test_one_file_is_one_file(made):
    described, codebook, copies = made
    one = described | {"files": described["files"][:1]}
    assert json.loads(written((one, codebook, copies[:1]))[DATACITE])["sizes"] == ["1 file", "60 records"]
