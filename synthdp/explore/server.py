"""The door of the workbench: this machine only, one token, one browser, and headers that let nothing leave the page.

A page of another site can make a browser send requests to 127.0.0.1, and a name of its own may be made to mean that
(DNS rebinding). So the host that is asked for must be ours, requests must come from our own page, and each needs a
cookie that the page cannot read and other sites cannot send. The token of the address is exchanged for it once; whoever
finds the address in a history later finds nothing.
"""

import base64
import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, redirect, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, ThreadedWSGIServer, WSGIRequestHandler

from synthdp.errors import InputError

if TYPE_CHECKING:
    from dash import Dash

HOME = "127.0.0.1"
# the page sends names and numbers; a file is named by its path and never sent
LARGEST_REQUEST = 2_000_000
TOO_LARGE = (
    f"Refused: the workbench takes at most {LARGEST_REQUEST // 1_000_000} MB in one request. Files are not uploaded; "
    "name the file's path under Open instead, and it is read where it lies."
)
NO_TOKEN = "This page is for whoever started it: open the address that `synthdp explore` has printed."
SPENT = (
    "This address has been used: it opens one browser, once. Go on in that browser, or start `synthdp explore` again."
)
NOT_OURS = "The workbench answers to its own address only."
ALONE = "sandbox allow-scripts allow-downloads allow-modals"
SCRIPT = re.compile(rb"<script(?P<about>[^>]*)>(?P<text>.*?)</script>", re.DOTALL | re.IGNORECASE)


@dataclass
class Door:
    """Who may come in.

    Parameters
    ----------
    port
        Of the server; the host of every request must name it.
    token
        In the address, exchanged for the cookie once.
    """

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _pass: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _spent: bool = False

    @property
    def address(self) -> str:
        """What the person opens in the browser."""
        return f"http://{HOME}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies do not tell ports apart, so that two workbenches need two names."""
        return f"synthdp-{self.port}"

    def knock(self) -> Response | None:
        """Return why a request may not come in, or the exchange of its token; None lets it in."""
        # without the header the server's own name would stand in for it
        if request.headers.get("Host") not in (f"{HOME}:{self.port}", f"localhost:{self.port}"):
            return _refused(NOT_OURS)
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{request.host}":
            return _refused(NOT_OURS)
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            return _refused(NOT_OURS)
        given = request.args.get("token")
        if hmac.compare_digest(request.cookies.get(self.cookie, "").encode(), self._pass.encode()):
            return redirect("/", 303) if given is not None else None  # type: ignore[return-value]
        if given is None:
            return _refused(NO_TOKEN)
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return _refused(NO_TOKEN)
        if self._spent:
            return _refused(SPENT)
        self._spent = True
        inside: Any = redirect("/", 303)
        inside.set_cookie(self.cookie, self._pass, httponly=True, samesite="Strict", path="/")
        return inside  # type: ignore[no-any-return]


def guarded(flask: Flask, door: Door, hashes: Callable[[], Iterable[str]]) -> Flask:
    """Put the door, the headers and plain words for errors onto a Flask app.

    Parameters
    ----------
    hashes
        Of the inline scripts of the page, as a content security policy names them.

    Notes
    -----
    Dash needs its own scripts (``script-src 'self'`` and the hash of the one inline line that starts it) and inline
    styles, which plotly and Dash write as they draw (``style-src 'unsafe-inline'``); plotly shows pictures that it made
    itself (``img-src data: blob:``). It needs no ``eval``.
    """
    flask.config["MAX_CONTENT_LENGTH"] = LARGEST_REQUEST
    flask.logger.disabled = True
    logging.getLogger("werkzeug").disabled = True

    @flask.before_request
    def knock() -> Response | None:
        refused = door.knock()
        if refused is None and (request.content_length or 0) > LARGEST_REQUEST:
            return Response(TOO_LARGE, 413, mimetype="text/plain")
        return refused

    @flask.after_request
    def close(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", policy(hashes()))
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "DENY"
        response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response

    @flask.errorhandler(Exception)
    def said(error: Exception) -> Response:
        # what an exception says may quote the data
        if isinstance(error, HTTPException):
            code = error.code or 500
            words = TOO_LARGE if code == 413 else f"{code}: {error.name}"
            return Response(words, code, mimetype="text/plain")
        return Response(f"A bug in synthdp: {type(error).__name__}. Please report it.", 500, mimetype="text/plain")

    return flask


def policy(hashes: Iterable[str]) -> str:
    """Return the content security policy of a page whose inline scripts have these hashes."""
    scripts = " ".join(["'self'", *(f"'{one.strip(chr(39))}'" for one in hashes)])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def document(page: str | bytes, *, found: bool = False) -> Response:
    """Return a page that stands on its own; its own scripts run, and no others.

    Parameters
    ----------
    found
        Whether it was found in a folder, as a report is. Whoever made that folder wrote its scripts, so it is shut away
        from the workbench: without an origin it can neither ask for anything here nor read what another page shows.
    """
    body = page.encode() if isinstance(page, str) else page
    response = Response(body, mimetype="text/html")
    allowed = policy(script_hashes(body))
    if found:
        allowed = allowed.replace("connect-src 'self'", "connect-src 'none'") + "; " + ALONE
        # a browser shows no page that is shut away and asks for a group of its own besides
        response.headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
    response.headers["Content-Security-Policy"] = allowed
    return response


def script_hashes(page: bytes) -> list[str]:
    """Return the hashes of the scripts inside a page; text that is no program needs none."""
    inside = [
        one["text"] for one in SCRIPT.finditer(page) if b"src=" not in one["about"] and b"json" not in one["about"]
    ]
    return [f"sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}" for text in inside]


class Unlogged(WSGIRequestHandler):
    """Requests are written down nowhere: an address may hold the token."""

    def log(self, type: str, message: str, *args: Any) -> None:
        """Write nothing."""


class Quiet(ThreadedWSGIServer):
    """Says nothing of browsers that hang up in the middle, nor of requests that are none."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing."""


def listening(port: int) -> BaseWSGIServer:
    """Return a server that listens on this machine; the app is put into it before it serves."""
    import socket

    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOME, port))
        except (OSError, OverflowError):
            raise InputError(
                f"--port {port}: cannot be used (another program has it, or it is reserved); try another."
            ) from None
    return Quiet(HOME, port, Flask("closed"), Unlogged)


def enter(server: BaseWSGIServer, app: "Dash", door: Door) -> None:
    """Put the app behind its door into a server."""
    server.app = guarded(app.server, door, app.csp_hashes)


def _refused(sentence: str) -> Response:
    return Response(sentence, 403, mimetype="text/plain")
