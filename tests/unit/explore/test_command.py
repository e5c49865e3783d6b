"""The command itself: what it says when it cannot begin, and the page of regions that it serves."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from synthdp.cli import app
from synthdp.explore import app as page
from synthdp.explore.desk import Desk
from synthdp.explore.server import Door, guarded


def test_without_the_extra_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dash", None)
    done = CliRunner().invoke(app, ["explore"])
    assert done.exit_code == 2
    assert done.output == "explore: needs the library dash: pip install 'synthdp[explore]'.\n"


def test_what_cannot_be_opened_is_said_before_anything_is_served(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["explore", str(tmp_path / "nothing.csv"), "--no-browser"])
    assert done.exit_code == 2
    assert "there is no such file or folder; name a config, a data file or a folder of results." in done.output


def test_the_regions_are_served_inside_the_token(desk: Desk) -> None:
    door = Door(4567)
    built = page.built(desk)
    client = guarded(built.server, door, built.csp_hashes).test_client()
    base = "http://127.0.0.1:4567"
    assert client.get("/regions", base_url=base).status_code == 403
    client.get(f"/?token={door.token}", base_url=base)
    found = client.get("/regions", base_url=base)
    assert "Privacy regions" in found.text
    assert "sha256-" in found.headers["Content-Security-Policy"]
