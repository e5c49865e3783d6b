"""Who publishes the files and under which title: what only a person can say, for the metadata in ``public/``."""

import re
from typing import Any

from pydantic import Field, field_validator

from synthdp.table.schema import Settings

# what XML cannot hold, nor a catalogue show
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class Publication(Settings):
    """How the public files are described to catalogues and cited; whatever is left out is said to be "not stated".

    Parameters
    ----------
    title
        Of the public files, as it should be cited.
    creators
        Who made them: organisations as they are called, people as "Family name, Given name".
    publisher
        Who makes them available.
    year
        Of publication; by default that of the run.
    licence
        Under which others may use them: the short name of a licence (CC-BY-4.0), a web address, or a sentence.
    contact
        Whom users write to: an e-mail address, a web address, or a name. It becomes public.
    identifier
        Under which the files can be found for good: a DOI (10.1234/abcd) or a web address.
    abstract
        What the confidential file is about, in a few sentences; it becomes public.

    Examples
    --------
    >>> Publication(title="Voters, 1996", creators="Election Office").creators
    ('Election Office',)
    """

    title: str | None = Field(default=None, min_length=1)
    creators: tuple[str, ...] = ()
    publisher: str | None = Field(default=None, min_length=1)
    year: int | None = Field(default=None, ge=1000, le=9999)
    licence: str | None = Field(default=None, min_length=1)
    contact: str | None = Field(default=None, min_length=1)
    identifier: str | None = Field(default=None, min_length=1)
    abstract: str | None = Field(default=None, min_length=1)

    @field_validator("creators", mode="before")
    @classmethod
    def _listed(cls, creators: Any) -> Any:
        # most files have one creator, and a list of one is easily forgotten
        return (creators,) if isinstance(creators, str) else creators

    @field_validator("creators")
    @classmethod
    def _named(cls, creators: tuple[str, ...]) -> tuple[str, ...]:
        if not all(creator.strip(" ,") for creator in creators):
            raise ValueError("every creator needs a name")
        return tuple(_printable(creator) for creator in creators)

    @field_validator("title", "publisher", "licence", "contact", "identifier", "abstract")
    @classmethod
    def _printed(cls, text: str | None) -> str | None:
        return None if text is None else _printable(text)

    @property
    def words(self) -> tuple[str, ...]:
        """Everything that the publisher wants to be public, as it was written."""
        stated = (self.title, *self.creators, self.publisher, self.licence, self.contact, self.identifier)
        return tuple(one for one in (*stated, self.abstract) if one)


def _printable(text: str) -> str:
    if _UNPRINTABLE.search(text):
        raise ValueError("must be text without control characters")
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()
