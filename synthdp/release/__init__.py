"""What leaves the house and what stays: ``public/`` whole or not at all, ``confidential/`` for its owner only."""

from synthdp.files import prepare_out, write_atomic
from synthdp.release.guide import readme
from synthdp.release.manifest import (
    Manifest,
    Status,
    check_resumable,
    finish_manifest,
    read_manifest,
    signed,
    start_manifest,
)
from synthdp.release.metadata import DOCUMENTS, documents, said_of_any
from synthdp.release.metrics import Metrics, write_confidential
from synthdp.release.public import codebook, describe, publish
from synthdp.release.reading import PublicRelease, file_names, read_public
from synthdp.release.signing import new_key
from synthdp.release.verifying import sign, standing, verify

__all__ = [
    "DOCUMENTS",
    "Manifest",
    "Metrics",
    "PublicRelease",
    "Status",
    "check_resumable",
    "codebook",
    "describe",
    "documents",
    "file_names",
    "finish_manifest",
    "new_key",
    "prepare_out",
    "publish",
    "read_manifest",
    "read_public",
    "readme",
    "said_of_any",
    "sign",
    "signed",
    "standing",
    "start_manifest",
    "verify",
    "write_atomic",
    "write_confidential",
]
