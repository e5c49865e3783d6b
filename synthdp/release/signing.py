"""A signature on a release: Ed25519 on the bytes of SHA256SUMS, which names every other file.

The private key belongs to whoever answers for the release and never lies near it; the public key reaches data users on
another way than the release does (a web page, a letter). The file ``SHA256SUMS.sig`` is the signature in base 64, so
that other tools can check it too::

    base64 -d SHA256SUMS.sig > signature
    openssl pkeyutl -verify -pubin -inkey key.pub.pem -rawin -in SHA256SUMS -sigfile signature

References
----------
Bernstein, Duif, Lange, Schwabe, Yang (2012), "High-speed high-security signatures", J. Cryptographic Engineering 2;
RFC 8032 (Ed25519), RFC 8410 (its PEM files).
"""

import base64
import importlib
import os
import stat
from pathlib import Path
from typing import Any

from synthdp.errors import InputError
from synthdp.files import write_atomic, write_through
from synthdp.release.reading import RELEASE, SIGNATURE, SUMS

PUBLIC_SUFFIX = ".pub.pem"
LENGTH = 64


def new_key(path: Path) -> tuple[Path, Path]:
    """Draw a pair of keys; return where the private one (for its owner only) and the public one were written.

    Examples
    --------
    ``new_key(Path("agency.pem"))`` writes agency.pem and agency.pub.pem.
    """
    _, ed25519, serialization = _library()
    _refuse_inside_release(path)
    public = path.with_suffix(PUBLIC_SUFFIX)
    key = ed25519.Ed25519PrivateKey.generate()
    private_text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_text = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    # the public half first: a private key without it would be of no use, and stand in the way of the next try
    for place, text, mode in ((public, public_text, 0o644), (path, private_text, 0o600)):
        try:
            if os.path.lexists(path):
                raise FileExistsError
            write_through(place, text, mode=mode)
        except FileExistsError:
            place = path if os.path.lexists(path) else place
            raise InputError(f"{place}: already exists, and a key is never overwritten; choose another name.") from None
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            raise InputError(f"{place}: cannot be written there; choose another place for the key.") from None
    return path, public


def sign_sums(folder: Path, key: Path) -> Path:
    """Sign the checksums in a folder; return the file of the signature.

    Parameters
    ----------
    folder
        With the public files.
    key
        The private key, a PEM file that only its owner may read, outside of the release.
    """
    private = _private_key(key)
    signature = base64.b64encode(private.sign((folder / SUMS).read_bytes())) + b"\n"
    write_atomic(folder / SIGNATURE, signature, mode=0o644)
    return folder / SIGNATURE


def signature_problems(folder: Path, key: Path | None) -> list[str]:
    """Return what is wrong with the signature of a release; empty when it was made with the private half of the key.

    Without a key only its form is looked at: no list names this file, so it could hold anything.

    Raises
    ------
    InputError
        When the key cannot be used.
    """
    path, public = folder / SIGNATURE, _public_key(key) if key is not None else None
    forged = _library()[0] if key is not None else ()
    try:
        signature = _signature(path)
        if public is not None:
            public.verify(signature, (folder / SUMS).read_bytes())
    except FileNotFoundError:
        return [f"{path}: missing; the release is not signed."] if key is not None else []
    except (OSError, ValueError):
        return [f"{path}: not a signature."]
    except forged:
        return [f"{path}: {SUMS} was not signed with the key that belongs to {key}, or was changed since."]
    return []


def _signature(path: Path) -> bytes:
    """Return the 64 bytes of a signature, and nothing beside them.

    Raises
    ------
    ValueError
        When the file holds anything else.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        text = file.read(2 * LENGTH)
    found = base64.b64decode(text.strip(), validate=True)
    if len(text) == 2 * LENGTH or len(found) != LENGTH:
        raise ValueError("no signature")
    return found


def _private_key(path: Path) -> Any:
    _, ed25519, serialization = _library()
    _refuse_inside_release(path)
    text = _key_text(path)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InputError(f"{path}: others may read this private key; chmod 600 {path}, or make a new pair.")
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InputError(
            f"{path}: must be a private Ed25519 key without a passphrase; synthdp sign --new-key makes one."
        )
    return key


def _public_key(path: Path) -> Any:
    _, ed25519, serialization = _library()
    text = _key_text(path)
    if b"PRIVATE KEY" in text:
        raise InputError(f"{path}: is a private key; give the public one ({PUBLIC_SUFFIX}), and keep this one away.")
    try:
        key = serialization.load_pem_public_key(text)
    except ValueError:
        key = None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise InputError(f"{path}: must be a public Ed25519 key (PEM).")
    return key


def _key_text(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise FileNotFoundError
        return path.read_bytes()
    except (FileNotFoundError, PermissionError):
        raise InputError(f"{path}: no key can be read there.") from None


def _refuse_inside_release(path: Path) -> None:
    """Refuse a private key in the folder of a release or under it: it would go out with the release one day."""
    for folder in path.resolve().parents:
        if (folder / RELEASE).exists() or (folder / "public" / RELEASE).exists():
            raise InputError(f"{path}: a private key does not belong in the folder of a release; keep it elsewhere.")


def _library() -> tuple[Any, Any, Any]:
    """Return the parts of ``cryptography`` that are used, or say how to get it."""
    try:
        names = ("exceptions", "hazmat.primitives.asymmetric.ed25519", "hazmat.primitives.serialization")
        exceptions, ed25519, serialization = (importlib.import_module(f"cryptography.{name}") for name in names)
    except ImportError:
        raise InputError("signatures need the library cryptography: pip install 'synthdp[sign]'.") from None
    return exceptions.InvalidSignature, ed25519, serialization
