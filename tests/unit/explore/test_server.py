"""Who comes in, what leaves, and what is said when something is wrong."""

import json
import socket
from pathlib import Path

import pandas as pd
import pytest
from flask import Response
from flask.testing import FlaskClient
from werkzeug.test import create_environ, run_wsgi_app

from synthdp.errors import InputError
from synthdp.explore.app import built
from synthdp.explore.desk import Desk
from synthdp.explore.server import LARGEST_REQUEST, Door, document, guarded, listening
from synthdp.explore.session import Session

PORT = 4567
US = f"http://127.0.0.1:{PORT}"
# what breaks out of attributes, elements, scripts, styles, addresses, templates, terminals and files
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'><b>bold</b>",
    "</script><script>alert(2)</script>",
    "javascript:alert(1)",
    "{{7*7}}",
    "{% raw %}",
    "${7*7}",
    "#{7*7}",
    "%3Cscript%3E",
    "&lt;b&gt;",
    "&amp;",
    "a&b<c>d",
    "<!-- comment",
    "-->",
    "]]>",
    "<style>*{display:none}</style>",
    "<iframe src=//x.example>",
    "<a href='https://x.example'>x</a>",
    "https://x.example/?q=1",
    "//x.example/x.js",
    "../../etc/passwd",
    "a/b/c",
    "C:\\x",
    "a|b|c",
    "column|role|0",
    "press|run|",
    "a b",
    " lead",
    "trail ",
    "tab\tin",
    "line\nbreak",
    "return\rhere",
    'quote"s',
    "apo'strophe",
    "back`tick",
    "=1+1",
    "@sum",
    "+1",
    "-1",
    "né",
    "日本",
    "\u202eevil",
    "\u200bzero",
    "😀",
    "null",
    "True",
    "0",
    "x" * 300,
)


@pytest.fixture
def door() -> Door:
    return Door(PORT)


@pytest.fixture
def client(desk: Desk, door: Door) -> FlaskClient:
    app = built(desk)
    return guarded(app.server, door, app.csp_hashes).test_client()


def get(client: FlaskClient, path: str, **more: object) -> Response:
    return client.get(path, base_url=US, **more)  # type: ignore[arg-type, return-value]


def enter(client: FlaskClient, door: Door) -> None:
    assert get(client, f"/?token={door.token}").status_code == 303


Values = tuple[dict[str, object], ...]


def ask(client: FlaskClient, output: str, inputs: Values, state: Values = ()) -> Response:
    """Ask Dash for a callback as the page does."""
    dependencies = json.loads(get(client, "/_dash-dependencies").data)
    first = inputs[0]["id"]
    named = next(one["output"] for one in dependencies if output in one["output"] and one["inputs"][0]["id"] == first)
    split = [part.rpartition(".") for part in named.strip(".").split("...")]
    outputs = [{"id": part[0], "property": part[2]} for part in split]
    body = {
        "output": named,
        "outputs": outputs if "..." in named else outputs[0],
        "inputs": inputs,
        "state": state,
        "changedPropIds": [f"{inputs[0]['id']}.{inputs[0]['property']}"],
    }
    return client.post("/_dash-update-component", base_url=US, json=body)  # type: ignore[return-value]


def edit(client: FlaskClient, about: str, value: str = "") -> Response:
    return ask(
        client,
        "said.children",
        ({"id": "edit", "property": "data", "value": {"about": about, "value": value, "count": 1}},),
        ({"id": "shown", "property": "data", "value": "columns"},),
    )


def shown(client: FlaskClient, view: str) -> Response:
    inputs: Values = (
        {"id": "beat", "property": "data", "value": 0},
        {"id": "shown", "property": "data", "value": view},
    )
    return ask(client, "main.children", inputs, ({"id": "drawn", "property": "data", "value": ""},))


def test_without_the_token_nobody_comes_in(client: FlaskClient) -> None:
    for path in ("/", "/_dash-layout", "/_dash-dependencies", "/assets/explore.js", "/opened/report.html", "/regions"):
        found = get(client, path)
        assert found.status_code == 403
        assert "open the address that `synthdp explore` has printed" in found.text
    assert get(client, "/?token=wrong").status_code == 403


def test_the_token_opens_one_browser_once_and_leaves_the_address(client: FlaskClient, door: Door, desk: Desk) -> None:
    first = get(client, f"/?token={door.token}")
    assert (first.status_code, first.headers["Location"]) == (303, "/")
    cookie = first.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert door.token not in cookie
    assert get(client, "/").status_code == 200
    assert get(client, f"/?token={door.token}").headers["Location"] == "/"
    client.delete_cookie(door.cookie, domain="127.0.0.1")
    again = get(client, f"/?token={door.token}")
    assert again.status_code == 403
    assert "has been used" in again.text
    assert door.token not in repr(door)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:4567"},
        {"Host": "127.0.0.1:80"},
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_names_and_other_pages_are_refused(client: FlaskClient, door: Door, headers: dict[str, str]) -> None:
    enter(client, door)
    found = get(client, "/", headers=headers)
    assert found.status_code == 403
    assert "its own address only" in found.text


def test_a_request_that_names_no_host_is_refused(client: FlaskClient, door: Door) -> None:
    enter(client, door)
    environ = create_environ("/", US)
    environ["HTTP_COOKIE"] = f"{door.cookie}={door._pass}"
    assert run_wsgi_app(client.application, environ)[1] == "200 OK"
    del environ["HTTP_HOST"]
    said, status, _ = run_wsgi_app(client.application, environ)
    assert status == "403 FORBIDDEN"
    assert b"its own address only" in b"".join(said)


def test_a_token_in_another_address_leads_to_the_first_page(client: FlaskClient, door: Door) -> None:
    enter(client, door)
    for path in ("//evil.example/", "/%0d%0aSet-Cookie:x=1", "/opened/x"):
        assert get(client, f"{path}?token=x").headers["Location"] == "/"


def test_every_answer_has_the_headers_that_keep_it_here(client: FlaskClient, door: Door) -> None:
    answers = [
        get(client, "/"),
        *(enter(client, door) or get(client, path) for path in ("/", "/_dash-layout", "/nowhere")),
    ]
    for one in answers:
        policy = one.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "connect-src 'self'" in policy
        assert "unsafe-eval" not in policy
        assert "http" not in policy
        assert one.headers["Referrer-Policy"] == "no-referrer"
        assert one.headers["Cache-Control"] == "no-store"
        assert one.headers["X-Content-Type-Options"] == "nosniff"
        assert one.headers["X-Frame-Options"] == "DENY"


def test_the_page_fetches_nothing_from_elsewhere(client: FlaskClient, door: Door) -> None:
    enter(client, door)
    page = get(client, "/").text
    assert "http://" not in page
    assert "https://" not in page


def test_what_is_too_large_is_refused_with_a_sentence(client: FlaskClient, door: Door) -> None:
    enter(client, door)
    found = client.post("/_dash-update-component", base_url=US, data=b"x" * (LARGEST_REQUEST + 1))
    assert found.status_code == 413
    assert "name the file's path under Open" in found.text


def test_what_goes_wrong_inside_is_named_by_its_kind_alone(
    client: FlaskClient, door: Door, desk: Desk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    enter(client, door)
    monkeypatch.setattr(desk, "counter", lambda: {}["PLANTED-31415"])
    found = shown(client, "unique")
    assert "PLANTED-31415" not in found.text
    broken = client.post("/_dash-update-component", base_url=US, data="{", headers={"Content-Type": "application/json"})
    assert "Traceback" not in broken.text
    told = capfd.readouterr()
    assert "PLANTED-31415" not in told.out + told.err


def test_a_page_of_ours_runs_its_own_scripts_and_no_others() -> None:
    found = document("<script type='application/json'>{}</script><script>let a = 1;</script>")
    scripts = found.headers["Content-Security-Policy"].split("script-src ")[1].split(";")[0]
    assert scripts.count("sha256-") == 1
    assert "unsafe-inline" not in scripts


def test_a_page_of_a_folder_is_shut_away_from_the_workbench(
    client: FlaskClient, door: Door, desk: Desk, tmp_path: Path
) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "metrics.json").write_text("{}")
    (tmp_path / "made" / "report.html").write_text("<script>fetch('/_dash-layout')</script>")
    desk.open(tmp_path / "made")
    enter(client, door)
    found = get(client, "/opened/report.html").headers
    assert "; sandbox allow-scripts" in found["Content-Security-Policy"]
    assert "allow-same-origin" not in found["Content-Security-Policy"]
    assert "connect-src 'none'" in found["Content-Security-Policy"]
    assert found["Cross-Origin-Opener-Policy"] == "unsafe-none"
    assert "sandbox" not in get(client, "/regions").headers["Content-Security-Policy"]


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InputError, match=r"^--port \d+: cannot be used .*; try another\.$"):
            listening(other.getsockname()[1])


def test_it_listens_on_this_machine_only() -> None:
    found = listening(0)
    assert found.server_address[0] == "127.0.0.1"
    found.server_close()


def test_hostile_names_and_labels_are_shown_letter_by_letter(tmp_path: Path, door: Door) -> None:
    assert len(set(HOSTILE)) == 50
    frame = pd.DataFrame({name: [HOSTILE[(k + row) % 50] for row in range(60)] for k, name in enumerate(HOSTILE)})
    frame.to_parquet(tmp_path / "hostile.parquet")
    # YAML reads the two halves of an escaped 😀 as two letters that no column has
    named = [json.dumps(name, ensure_ascii=False) for name in HOSTILE]
    variables = ", ".join(f"{name}: {{key: false, kind: nominal}}" for name in named)
    (tmp_path / "c.yaml").write_text(f"version: 1\ndata: {{path: hostile.parquet}}\nvariables: {{{variables}}}\n")
    desk = Desk(Session(tmp_path / "out"))
    try:
        desk.open(tmp_path / "c.yaml")
        app = built(desk)
        client = guarded(app.server, door, app.csp_hashes).test_client()
        enter(client, door)
        for view in ("columns", "unique", "masks", "run"):
            found = json.loads(shown(client, view).text)
            assert "does not fit" not in str(found)
            assert "no such column" not in str(found)
            for component in everything(found):
                # html components alone, whose children are text nodes: nothing that reads markup
                assert component["type"] not in ("Markdown", "DangerouslySetInnerHTML", "Iframe")
                assert not {"dangerously_allow_html", "srcDoc", "innerHTML"} & set(component["props"])
        names = [
            row["props"]["data-find"]
            for row in everything(json.loads(shown(client, "columns").text))
            if "data-find" in row["props"]
        ]
        assert len(names) == 50
        place = HOSTILE.index("column|role|0")
        assert json.loads(edit(client, f"column|role|{place}", "drop").text)["response"]["said"]["children"] == []
        assert desk.session.config.variables["column|role|0"].role == "drop"
        desk.write(tmp_path / "written.yaml")
    finally:
        desk.close()


def everything(found: object) -> list[dict[str, dict[str, object]]]:
    """Return all components of an answer."""
    if isinstance(found, list):
        return [one for part in found for one in everything(part)]
    if not isinstance(found, dict):
        return []
    inside = [one for part in found.values() for one in everything(part)]
    return [found, *inside] if "namespace" in found else inside


def test_what_the_page_asks_for_wrongly_is_said(client: FlaskClient, door: Door) -> None:
    enter(client, door)
    for about, words in (
        ("nothing|at|all", "The page asks for something that there is not; load it again."),
        ("column|role|99", "That could not be read; load the page again."),
        ("slide|mask|x", "That could not be read; load the page again."),
        ("press|undo|", "There is nothing to take back."),
        ("press|run|", "Write the config first: what runs is the file."),
        ("press|open|", "Name a file by its path."),
        ("press|ended|", "No run of this session has ended yet."),
    ):
        assert words in edit(client, about, "1" if "press" not in about else "").text
    assert "of the folder that is open" not in get(client, "/opened/etc/passwd").text
    assert get(client, "/opened/report.html").status_code == 404
