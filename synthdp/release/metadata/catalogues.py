"""A release as catalogues and reference managers take it in: DataCite, Dublin Core, and a citation file."""

import json
import re
from typing import Any
from xml.etree import ElementTree as xml

import yaml

from synthdp.release.metadata.about import NOT_STATED, About, Creator
from synthdp.release.metadata.ddi import add, written

# what DataCite wants to read where a publisher says nothing
UNAVAILABLE = ":unav"
_DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
_PERSON = ("family-names", "given-names")
_PLAIN_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+")
_OAI = "http://www.openarchives.org/OAI/2.0/oai_dc/"


def datacite(about: About) -> bytes:
    """Return ``datacite.json``: the metadata that a DOI is registered with, by DataCite's schema, kernel 4."""
    found: dict[str, Any] = {
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Synthetic microdata"},
        "creators": [_creator(one) for one in about.creators] or [{"name": UNAVAILABLE}],
        "titles": [{"title": about.title}],
        "publisher": {"name": about.publication.publisher or UNAVAILABLE},
        "publicationYear": str(about.year),
        "descriptions": [{"description": about.description, "descriptionType": "Abstract"}],
        "formats": [str(about.release["format"])],
        "sizes": about.sizes,
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    }
    if about.doi is not None:
        prefix, _, suffix = about.doi.partition("/")
        found = {"doi": about.doi, "prefix": prefix, "suffix": suffix, **found}
    elif about.publication.identifier:
        kind = "URL" if about.address else "publisher's identifier"
        found["alternateIdentifiers"] = [
            {"alternateIdentifier": about.publication.identifier, "alternateIdentifierType": kind}
        ]
    if (licence := about.licence) is not None:
        rights = {"rights": licence.words, "rightsUri": licence.address}
        if licence.spdx:
            rights |= {"rightsIdentifier": licence.spdx, "rightsIdentifierScheme": "SPDX"}
        found["rightsList"] = [{name: said for name, said in rights.items() if said}]
    if about.publication.contact and not about.mail:
        found["contributors"] = [{"name": about.publication.contact, "contributorType": "ContactPerson"}]
    return (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode()


def _creator(creator: Creator) -> dict[str, str]:
    if creator.person is None:
        return {"name": creator.name, "nameType": "Organizational"}
    family, given = creator.person
    return {"name": f"{family}, {given}", "nameType": "Personal", "familyName": family, "givenName": given}


def dublin_core(about: About) -> bytes:
    """Return ``dublin_core.xml``: the fifteen elements, as repositories harvest them (OAI-PMH)."""
    root = xml.Element(
        "oai_dc:dc",
        {
            "xmlns:oai_dc": _OAI,
            "xmlns:dc": _DUBLIN_CORE,
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:schemaLocation": f"{_OAI} http://www.openarchives.org/OAI/2.0/oai_dc.xsd",
        },
    )
    add(root, "dc:title", about.title)
    for name in [creator.name for creator in about.creators] or [NOT_STATED]:
        add(root, "dc:creator", name)
    add(root, "dc:subject", "synthetic data")
    add(root, "dc:description", about.description)
    add(root, "dc:publisher", about.publisher)
    add(root, "dc:date", str(about.year))
    add(root, "dc:type", "Dataset")
    add(root, "dc:format", str(about.release["format"]))
    add(root, "dc:identifier", about.address or about.publication.identifier or NOT_STATED)
    licence = about.licence
    add(root, "dc:rights", licence.words if licence else NOT_STATED)
    if licence and licence.address and licence.address != licence.words:
        add(root, "dc:rights", licence.address)
    return written(root)


def citation(about: About) -> bytes:
    """Return ``CITATION.cff``, version 1.2.0: how the files are cited, for GitHub, Zenodo and reference managers."""
    cited: dict[str, Any] = {"type": "data", "title": about.title, "authors": _authors(about), "year": about.year}
    if about.publication.publisher:
        cited["publisher"] = {"name": about.publication.publisher}
    found: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": f"If you use these files, please cite them: {about.citation}",
        "type": "dataset",
        "title": about.title,
        "abstract": about.description,
        "authors": _authors(about),
        "keywords": ["synthetic data", "multiple imputation", "disclosure control"],
    }
    # a DOI may hold characters that the schema of citation files does not know
    place = {"url": about.address} if about.address else {}
    if about.doi and _PLAIN_DOI.fullmatch(about.doi):
        place = {"doi": about.doi}
    licence = about.licence
    terms = {"license": licence.spdx} if licence and licence.spdx else {}
    if licence and licence.address and not licence.spdx:
        terms = {"license-url": licence.address}
    found |= place | terms
    found["preferred-citation"] = cited | place | terms
    return yaml.safe_dump(found, allow_unicode=True, sort_keys=False, width=100).encode()


def _authors(about: About) -> list[dict[str, str]]:
    """Return the creators, a new list each time: YAML would write the same one as a reference."""
    found = []
    for creator in about.creators:
        person = creator.person
        found.append({"name": creator.name} if person is None else dict(zip(_PERSON, person, strict=True)))
    return found or [{"name": NOT_STATED}]
