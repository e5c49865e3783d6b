"""A release as a catalogue sees it: resolved once from ``release.json`` and the publisher's words, for every format."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from synthdp.config.publication import Publication

NOT_STATED = "not stated"
UNTITLED = "A synthetic public-use file"
_DOI = re.compile(r"^(?:doi:\s*|https?://(?:dx\.)?doi\.org/)?(10\.\d{4,9}/\S+)$", re.IGNORECASE)
_WEB = re.compile(r"^https?://\S+$", re.IGNORECASE)
_MAIL = re.compile(r"^[^\s@]+@[^\s@]+\.[^\s@]+$")
_CC = "https://creativecommons.org"
# licences that data are often given, by their SPDX names: what they are called, and where they are written down
LICENCES: Mapping[str, tuple[str, str]] = {
    "CC0-1.0": ("Creative Commons Zero 1.0 Universal", f"{_CC}/publicdomain/zero/1.0/"),
    "CC-BY-4.0": ("Creative Commons Attribution 4.0 International", f"{_CC}/licenses/by/4.0/"),
    "CC-BY-SA-4.0": ("Creative Commons Attribution-ShareAlike 4.0 International", f"{_CC}/licenses/by-sa/4.0/"),
    "CC-BY-NC-4.0": ("Creative Commons Attribution-NonCommercial 4.0 International", f"{_CC}/licenses/by-nc/4.0/"),
    "CC-BY-ND-4.0": ("Creative Commons Attribution-NoDerivatives 4.0 International", f"{_CC}/licenses/by-nd/4.0/"),
    "PDDL-1.0": ("Public Domain Dedication and License 1.0", "https://opendatacommons.org/licenses/pddl/1-0/"),
    "ODC-By-1.0": ("Open Data Commons Attribution License 1.0", "https://opendatacommons.org/licenses/by/1-0/"),
    "ODbL-1.0": ("Open Database License 1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
}
_BY_NAME = {name.casefold(): name for name in LICENCES}


@dataclass(frozen=True)
class Creator:
    """A person, whose name has a comma in it, or an organisation.

    Examples
    --------
    >>> Creator("Curie, Marie").person, Creator("Election Office").person
    (('Curie', 'Marie'), None)
    """

    name: str

    @property
    def person(self) -> tuple[str, str] | None:
        """Family name and given name; None for an organisation."""
        family, _, given = (part.strip() for part in self.name.partition(","))
        return (family, given) if family and given else None


@dataclass(frozen=True)
class Licence:
    """What users may do: words, where they are written down, and the SPDX name, where they have either."""

    words: str
    address: str | None = None
    spdx: str | None = None

    @classmethod
    def of(cls, text: str | None) -> "Licence | None":
        """Return a licence as somebody named it.

        Examples
        --------
        >>> Licence.of("cc-by-4.0").address
        'https://creativecommons.org/licenses/by/4.0/'
        """
        if text is None:
            return None
        spdx = _BY_NAME.get(text.strip().replace(" ", "-").casefold())
        if spdx is not None:
            return cls(*LICENCES[spdx], spdx)
        return cls(text, text if _WEB.match(text) else None)


@dataclass(frozen=True)
class About:
    """What every description of a release says; nothing in it comes from the confidential file.

    Parameters
    ----------
    release
        The contents of ``release.json``.
    publication
        What the publisher states.
    year
        Of publication.
    """

    release: Mapping[str, Any]
    publication: Publication
    year: int

    @property
    def title(self) -> str:
        """The title, or what such files are."""
        return self.publication.title or UNTITLED

    @property
    def creators(self) -> tuple[Creator, ...]:
        """Who made the files; empty where that is not stated."""
        return tuple(Creator(name) for name in self.publication.creators)

    @property
    def publisher(self) -> str:
        """Who publishes them."""
        return self.publication.publisher or NOT_STATED

    @property
    def licence(self) -> Licence | None:
        """What users may do with them; None where that is not stated."""
        return Licence.of(self.publication.licence)

    @property
    def contact(self) -> str:
        """Whom users write to."""
        return self.publication.contact or NOT_STATED

    @property
    def mail(self) -> str | None:
        """The contact, where it is an e-mail address."""
        return self.contact if _MAIL.match(self.contact) else None

    @property
    def doi(self) -> str | None:
        """The DOI without its resolver, where the identifier is one."""
        found = _DOI.match(self.publication.identifier or "")
        return found[1] if found else None

    @property
    def address(self) -> str | None:
        """The web address of the files, where there is one."""
        if self.doi is not None:
            return f"https://doi.org/{quote(self.doi, safe='/:;()[]._-')}"
        given = self.publication.identifier
        return given if given and _WEB.match(given) else None

    @property
    def files(self) -> Sequence[str]:
        """The synthetic files."""
        return tuple(self.release["files"])

    @property
    def columns(self) -> Sequence[Mapping[str, str]]:
        """What ``release.json`` says of each column."""
        return tuple(self.release["columns"])

    def named(self, role: str) -> str:
        """Return the columns of a role, in a sentence."""
        return ", ".join(column["name"] for column in self.columns if column["role"] == role) or "none"

    @property
    def sizes(self) -> list[str]:
        """How large the files are, in words."""
        many, records = len(self.files), f"{self.release['records']} records"
        return ["1 file", records] if many == 1 else [f"{many} files", f"{records} each"]

    @property
    def altered(self) -> bool:
        """Whether the replaced columns are masked, and not drawn from a model."""
        return bool(self.release.get("design", {}).get("altered"))

    @property
    def description(self) -> str:
        """What the files are, in sentences; what the publisher says of their subject comes first."""
        many = len(self.files)
        what = "One synthetic data set" if many == 1 else f"{many} synthetic data sets"
        size = f"{self.release['records']} records{'' if many == 1 else ' each'}"
        said = f"{what} of {size}, made by synthdp to stand for a confidential file. "
        how = "Masked" if self.altered else "Drawn anew"
        said += f"{how}: {self.named('replaced')}. As in the confidential file: {self.named('kept')}."
        return f"{self.publication.abstract} {said}" if self.publication.abstract else said

    @property
    def citation(self) -> str:
        """The files in a list of references."""
        who = "; ".join(creator.name for creator in self.creators) or f"Creator {NOT_STATED}"
        publisher = f" {self.publication.publisher}." if self.publication.publisher else ""
        where = f" {self.address or self.publication.identifier}" if self.publication.identifier else ""
        return f"{who} ({self.year}). {self.title} [Synthetic data].{publisher}{where}"
