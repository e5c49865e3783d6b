"""From the command to the page and back: open, serve, and leave everything in order."""

import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

from synthdp.explore.app import built
from synthdp.explore.desk import Desk
from synthdp.explore.server import Door, enter, listening
from synthdp.explore.session import Session


def serve(
    given: Path | None, *, port: int, browser: bool, say: Callable[[str], None], home: Path = Path("synthdp-out")
) -> None:
    """Serve the workbench until it is interrupted.

    Parameters
    ----------
    given
        A config, a data file or a folder; None opens nothing.
    port
        Of this machine; 0 takes a free one.
    browser
        Whether a browser is opened.
    say
        Tells the person the address.
    home
        Where trials and runs go.
    """
    desk = Desk(Session(home), home=home)
    try:
        if given is not None:
            desk.open(given)
        server = listening(port)
        door = Door(server.server_port)
        enter(server, built(desk, tour=desk.session.first), door)
        say(f"The workbench is open to one browser, at {door.address}")
        say("It ends with Ctrl-C; what was not written is gone then.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(door.address,), daemon=True).start()
        try:
            server.serve_forever()
        finally:
            server.server_close()
    finally:
        desk.close()
