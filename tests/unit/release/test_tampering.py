"""Ways to tamper with a release, and what finds each: the public files alone, the manifest beside them, a signature."""

import hashlib
import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import release
from synthdp.cli import app
from synthdp.errors import InputError
from synthdp.evaluation.leaks.scan import _unlisted
from synthdp.evaluation.leaks.statements import PublicFile
from synthdp.release import signing, verifying
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

ROWS = 30
SECRET = "Zebulon"


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """A published release with its manifest, made once."""
    out = tmp_path_factory.mktemp("release") / "out"
    rng = np.random.default_rng(1)
    original = pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "sex": rng.choice(["F", "M"], ROWS),
            "income": rng.normal(50, 10, ROWS).round(2),
        }
    )
    data = resolve(original, {"age": Variable(role="replace", key=True, bounds=(18, 90))})
    copies = [data.frame.assign(age=rng.integers(18, 90, ROWS)) for _ in range(3)]
    described = release.describe(
        data.schema, method="da_mi", imputations=1, copies=3, mask_draw="per_copy", rule="reiter2003",
        records=ROWS, masks={"age": "gaussian"}, format="csv",
    )  # fmt: skip
    with release.prepare_out(out, resume=False):
        release.start_manifest(out, config={}, inputs={"data": "0"}, study=False, resume=False)
        sums = release.publish(
            out, copies, codebook=release.codebook(data.schema, copies), release=described,
            readme=release.readme(described), format="csv", permutations=[rng.permutation(ROWS) for _ in copies],
        )  # fmt: skip
        (out / "confidential" / "rows.csv").write_text(f"{SECRET}\n")
        release.finish_manifest(out, status="published", timings={}, public=sums)
    return out


@pytest.fixture
def out(untouched, tmp_path):
    shutil.copytree(untouched, tmp_path / "out")
    return tmp_path / "out"


def sums_of(at):
    names = sorted(path.name for path in at.iterdir() if path.name not in ("SHA256SUMS", "SHA256SUMS.sig"))
    return {name: hashlib.sha256((at / name).read_bytes()).hexdigest() for name in names}


def write_sums(at, sums=None):
    text = "".join(f"{checksum}  {name}\n" for name, checksum in (sums or sums_of(at)).items())
    (at / "SHA256SUMS").write_text(text)


def lines(at, change):
    held = (at / "SHA256SUMS").read_text().splitlines()
    (at / "SHA256SUMS").write_text("".join(f"{line}\n" for line in change(held)))


def spoken(at, **changes):
    path = at / "release.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    write_sums(at)


def table(at, change, name="synthetic_02.csv", sums=True):
    path = at / name
    change(pd.read_csv(path, dtype=str, keep_default_na=False)).to_csv(path, index=False)
    if sums:
        write_sums(at)


def cell(column, value):
    def change(frame):
        frame.loc[0, column] = value
        return frame

    return change


def replace_by_link(path, target):
    path.unlink()
    path.symlink_to(target)


def hard_link(at):
    (at / "synthetic_02.csv").unlink()
    os.link(at.parent / "confidential" / "rows.csv", at / "synthetic_02.csv")
    write_sums(at)


def move_public(at):
    at.rename(at.parent / "elsewhere")
    at.symlink_to(at.parent / "elsewhere")


def without_a_copy(at):
    (at / "synthetic_03.csv").unlink()
    write_sums(at)


def without_a_copy_everywhere(at):
    (at / "synthetic_03.csv").unlink()
    spoken(at, files=["synthetic_01.csv", "synthetic_02.csv"])


def without_a_copy_and_counted(at):
    (at / "synthetic_03.csv").unlink()
    spoken(at, files=["synthetic_01.csv", "synthetic_02.csv"], copies=2)


def the_same_records_removed(at):
    for name in ("synthetic_01.csv", "synthetic_02.csv", "synthetic_03.csv"):
        table(at, lambda frame: frame[frame["income"].rank() > 20], name)
    spoken(at, records=10)


def rows_removed_everywhere(at):
    for name in ("synthetic_01.csv", "synthetic_02.csv", "synthetic_03.csv"):
        table(at, lambda frame: frame.head(10), name)
    spoken(at, records=10)


def listed_addition(at):
    (at / "more.csv").write_text("a\n1\n")
    write_sums(at)


def traversal(at):
    secret = hashlib.sha256((at.parent / "confidential" / "rows.csv").read_bytes()).hexdigest()
    lines(at, lambda held: [*held, f"{secret}  ../confidential/rows.csv"])


def two_copies_swapped(at):
    (at / "synthetic_01.csv").rename(at / "x")
    (at / "synthetic_02.csv").rename(at / "synthetic_01.csv")
    (at / "x").rename(at / "synthetic_02.csv")


def raw(at, change):
    (at / "SHA256SUMS").write_bytes(change((at / "SHA256SUMS").read_bytes()))


PUBLIC, MANIFEST = "public", "manifest"
# what is done, what finds it when nothing else is there, and the words
WAYS = {
    "a byte is added to a copy": (lambda at: (at / "synthetic_01.csv").open("a").write("x"), PUBLIC, "changed since"),
    "two copies are swapped": (two_copies_swapped, PUBLIC, "changed since"),
    "the README is emptied": (lambda at: (at / "README.md").write_text(""), PUBLIC, "changed since"),
    "a copy is deleted": (lambda at: (at / "synthetic_02.csv").unlink(), PUBLIC, "but missing"),
    "a copy is deleted with its line": (without_a_copy, PUBLIC, "named in release.json, but missing"),
    "a copy is deleted everywhere": (without_a_copy_everywhere, PUBLIC, "1 × 3 copies are stated, but 2 files"),
    "a copy is deleted and counted": (without_a_copy_and_counted, MANIFEST, "it was rewritten"),
    "the list is deleted": (lambda at: (at / "SHA256SUMS").unlink(), PUBLIC, "missing, so nothing can be checked"),
    "the list is emptied": (lambda at: (at / "SHA256SUMS").write_text(""), PUBLIC, "empty, so nothing"),
    "the list is blank": (lambda at: (at / "SHA256SUMS").write_text("\n \n"), PUBLIC, "empty, so nothing"),
    "a line is removed": (lambda at: lines(at, lambda held: held[1:]), PUBLIC, "but not listed in SHA256SUMS"),
    "a line is doubled": (lambda at: lines(at, lambda held: [*held, held[0]]), PUBLIC, "a second time"),
    "a line in other case": (lambda at: lines(at, lambda held: [*held, held[0].swapcase()]), PUBLIC, "line 7 is not"),
    "a name in other case": (
        lambda at: lines(at, lambda held: [*held, held[-1].replace("synthetic", "SYNTHETIC")]), PUBLIC, "a second time",
    ),
    "an empty line": (lambda at: lines(at, lambda held: [held[0], "", *held[1:]]), PUBLIC, "line 2 is not a checksum"),
    "a comment": (lambda at: lines(at, lambda held: ["# fine", *held]), PUBLIC, "line 1 is not a checksum"),
    "CRLF": (lambda at: raw(at, lambda data: data.replace(b"\n", b"\r\n")), PUBLIC, "line 1 is not a checksum"),
    "a byte order mark": (lambda at: raw(at, lambda data: b"\xef\xbb\xbf" + data), PUBLIC, "line 1 is not a checksum"),
    "capital letters": (lambda at: raw(at, lambda data: data[:64].upper() + data[64:]), PUBLIC, "line 1 is not"),
    "cut off": (lambda at: raw(at, lambda data: data[:-1]), PUBLIC, "the last line has no end"),
    "a path out of the folder": (traversal, PUBLIC, "line 7 is not a checksum"),
    "a file is added": (lambda at: (at / "more.csv").write_text("a"), PUBLIC, "not part of the release"),
    "a hidden file is added": (lambda at: (at / ".notes").write_text("a"), PUBLIC, "not part of the release"),
    "a file is added and listed": (listed_addition, PUBLIC, "but no file of this release"),
    "a folder is added": (lambda at: (at / "more").mkdir(), PUBLIC, "is a folder; a release has none"),
    "a pipe is added": (lambda at: os.mkfifo(at / "pipe"), PUBLIC, "is not a regular file"),
    "a link into confidential/": (
        lambda at: replace_by_link(at / "synthetic_02.csv", "../confidential/rows.csv"), PUBLIC, "is a link",
    ),
    "release.json is a link": (lambda at: replace_by_link(at / "release.json", "/dev/null"), PUBLIC, "is a link"),
    "a dangling link": (lambda at: (at / "old.csv").symlink_to("nowhere"), PUBLIC, "is a link"),
    "public/ is a link": (move_public, PUBLIC, "is a link; a release is a folder of its own"),
    "a hard link into confidential/": (hard_link, PUBLIC, "is the same file as one in confidential/"),
    "rows are removed, sums anew": (lambda at: table(at, lambda frame: frame.head(20)), PUBLIC, "30 rows are stated"),
    "rows are removed everywhere": (rows_removed_everywhere, PUBLIC, "the kept columns are not those"),
    "the same records are removed everywhere": (the_same_records_removed, MANIFEST, "it was rewritten"),
    "a column is renamed, sums anew": (
        lambda at: table(at, lambda frame: frame.rename(columns={"age": "Age"})), PUBLIC, "the columns are not those",
    ),
    "columns are reordered, sums anew": (
        lambda at: table(at, lambda frame: frame[frame.columns[::-1]]), PUBLIC, "the columns are not those",
    ),
    "a column is added, sums anew": (lambda at: table(at, lambda frame: frame.assign(id=1)), PUBLIC, "the columns are"),
    "a level appears, sums anew": (lambda at: table(at, cell("sex", SECRET)), PUBLIC, "1 values of sex are none"),
    "a number becomes text, sums anew": (lambda at: table(at, cell("age", SECRET)), PUBLIC, "values of age are none"),
    "a kept cell, sums anew": (lambda at: table(at, cell("income", "999")), PUBLIC, "the kept columns are not those"),
    "a replaced cell, sums anew": (lambda at: table(at, cell("age", "44")), MANIFEST, "it was rewritten"),
    "a copy is no table, sums anew": (
        lambda at: ((at / "synthetic_01.csv").write_bytes(b"\0\1"), write_sums(at)), PUBLIC, "synthetic_01.csv",
    ),
    "the codebook loses a column": (
        lambda at: table(at, lambda frame: frame.iloc[1:], "codebook.csv"), PUBLIC, "describes 2 columns",
    ),
    "the codebook changes a role": (lambda at: table(at, cell("role", "kept"), "codebook.csv"), PUBLIC, "column 1 is"),
    "the codebook is another table": (
        lambda at: ((at / "codebook.csv").write_text("a,b\n1,2\n"), write_sums(at)), PUBLIC, "not the codebook",
    ),
    "more records are stated": (lambda at: spoken(at, records=300), PUBLIC, "300 rows are stated"),
    "another number of copies": (lambda at: spoken(at, copies=5), PUBLIC, "5 copies are stated"),
    "no number of copies": (lambda at: spoken(at, copies=None), PUBLIC, "must say how many"),
    "no columns": (lambda at: spoken(at, columns=None), PUBLIC, "must list the columns"),
    "an epsilon is invented": (lambda at: spoken(at, privacy={"epsilon": 1.0}), MANIFEST, "it was rewritten"),
    "the folder above is listed": (
        lambda at: lines(at, lambda held: [*held, f"{'0' * 64}  .."]), PUBLIC, "line 7 lists something",
    ),
    "the list lists itself": (
        lambda at: lines(at, lambda held: [*held, f"{'0' * 64}  SHA256SUMS"]), PUBLIC, "line 7 lists something",
    ),
    "a secret file as the signature": (
        lambda at: shutil.copy(at.parent / "confidential" / "manifest.json", at / "SHA256SUMS.sig"),
        PUBLIC, "SHA256SUMS.sig: not a signature",
    ),
    "a signature and a secret behind it": (
        lambda at: (at / "SHA256SUMS.sig").write_text("A" * 86 + "==" + " " * 2000 + SECRET),
        PUBLIC, "SHA256SUMS.sig: not a signature",
    ),
    "another rule is stated": (lambda at: spoken(at, rule="rubin1987"), MANIFEST, "it was rewritten"),
}  # fmt: skip


def test_there_are_ways_enough():
    assert len(WAYS) >= 30
    assert sum(found == PUBLIC for _, found, _ in WAYS.values()) >= 30


@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_found(out, way):
    assert release.verify(out) == []
    harm, _, words = WAYS[way]
    harm(out / "public")
    problems = release.verify(out)
    assert any(words in problem for problem in problems), problems
    assert not any(SECRET in problem for problem in problems)


@pytest.mark.parametrize("way", WAYS)
def test_what_the_public_files_alone_tell(out, way):
    harm, finder, _ = WAYS[way]
    harm(out / "public")
    if way != "a hard link into confidential/":  # which needs its other end
        shutil.rmtree(out / "confidential")
    assert bool(release.verify(out / "public")) == (finder == PUBLIC)


def test_the_command_says_one_sentence_for_each_problem_and_what_sums_do_not_prove(out):
    invoke = CliRunner().invoke
    found = invoke(app, ["verify", str(out)])
    assert found.exit_code == 0
    assert "The checksums are those in confidential/manifest.json." in found.stdout
    shutil.rmtree(out / "confidential")
    assert verifying.FORGEABLE in invoke(app, ["verify", str(out)]).stdout
    (out / "public" / ".notes").write_text("x")
    (out / "public" / "README.md").unlink()
    found = invoke(app, ["verify", str(out)])
    assert found.exit_code == 2
    assert len(found.stderr.splitlines()) == 2


def test_hard_links_elsewhere_are_the_business_of_backups(out, tmp_path):
    os.link(out / "public" / "README.md", tmp_path / "backup")
    assert release.verify(out) == []


@pytest.mark.parametrize("status", ["refused", "study"])
def test_a_run_that_was_not_published_has_no_release(out, status):
    path = out / "confidential" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": status}))
    (problem,) = release.verify(out)
    assert f"not published ({status})" in problem


def test_a_damaged_manifest_is_a_problem_and_an_unfinished_one_is_none(out):
    path = out / "confidential" / "manifest.json"
    contents = json.loads(path.read_text())
    path.write_text("{")
    assert "damaged" in release.verify(out)[0]
    path.write_text(json.dumps({**contents, "status": "running", "public": None}))
    assert release.verify(out) == []


DAMAGED = {
    "a status that there is not": {"status": "fine"},
    "an infinite seed": {"seed": float("inf")},
    "no list of what was published": {"public": None},
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_changed_manifest_is_a_problem(out, damage):
    path = out / "confidential" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | DAMAGED[damage]))
    (problem,) = release.verify(out)
    assert "manifest.json: " in problem


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_in_place_of_the_manifest_is_not_waited_for(out, make):
    path = out / "confidential" / "manifest.json"
    path.unlink()
    make(path)
    assert "damaged" in release.verify(out)[0]
    assert CliRunner().invoke(app, ["verify", str(out)]).exit_code == 2


def test_what_was_signed_for_is_damaged(out):
    path = out / "confidential" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"accepted": ["everything"]}))
    found = CliRunner().invoke(app, ["verify", str(out)])
    assert (found.exit_code, "what was signed for is damaged" in found.stderr) == (2, True)


def test_a_manifest_that_may_not_be_read_is_not_asked(out, monkeypatch):
    def fail(_out):
        raise PermissionError

    monkeypatch.setattr(verifying, "read_manifest", fail)
    assert release.verify(out) == []
    assert release.standing(out) == [verifying.FORGEABLE]


@pytest.fixture
def keys(tmp_path):
    pytest.importorskip("cryptography", reason="the extra sign is not installed")
    return release.new_key(tmp_path / "agency.pem")


def test_a_signature_finds_what_only_a_manifest_would(out, keys, tmp_path):
    private, public = keys
    at = out / "public"
    assert "not signed" in release.verify(out, key=public)[0]
    assert release.sign(out, private) == at / "SHA256SUMS.sig"
    assert release.verify(out, key=public) == []
    assert "was made with the private key" in release.standing(out, key=public)[-1]
    assert any("was not checked" in line for line in release.standing(out))
    assert not _unlisted([PublicFile(path, at) for path in at.iterdir()])
    for way, (harm, finder, _) in WAYS.items():
        if finder == MANIFEST:
            copy = tmp_path / "copies" / str(len(way))
            shutil.copytree(at, copy, dirs_exist_ok=True)
            harm(copy)
            assert release.verify(copy) == []
            (problem,) = release.verify(copy, key=public)
            assert "was not signed with the key" in problem


def test_the_signature_of_somebody_else_or_none_at_all(out, keys, tmp_path):
    _, public = keys
    other, _ = release.new_key(tmp_path / "other.pem")
    release.sign(out, other)
    assert "was not signed with the key" in release.verify(out, key=public)[0]
    for text in (b"", b"AAAA\n", b"not base 64 \xff"):
        (out / "public" / "SHA256SUMS.sig").write_bytes(text)
        assert len(release.verify(out, key=public)) == 1
    replace_by_link(out / "public" / "SHA256SUMS.sig", tmp_path / "agency.pem")
    assert any("is a link" in problem for problem in release.verify(out, key=public))


def test_openssl_agrees(out, keys, tmp_path):
    import base64
    import subprocess

    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    private, public = keys
    release.sign(out, private)
    (tmp_path / "raw").write_bytes(base64.b64decode((out / "public" / "SHA256SUMS.sig").read_bytes()))
    done = subprocess.run(
        ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin",
         "-in", out / "public" / "SHA256SUMS", "-sigfile", tmp_path / "raw"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert "Signature Verified Successfully" in done.stdout


def test_keys_are_kept_apart(out, keys, tmp_path):
    private, public = keys
    assert private.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="never overwritten"):
        release.new_key(private)
    for place in (out / "public" / "key.pem", out / "key.pem", out / "confidential" / "key.pem"):
        with pytest.raises(InputError, match="does not belong in the folder of a release"):
            release.new_key(place)
        shutil.copy(private, place)
        with pytest.raises(InputError, match="does not belong in the folder of a release"):
            signing.sign_sums(out / "public", place)
        place.unlink()
    with pytest.raises(InputError, match="cannot be written there"):
        release.new_key(tmp_path / "absent" / "key.pem")
    with pytest.raises(InputError, match="is a private key; give the public one"):
        release.verify(out, key=private)
    public.chmod(0o600)
    with pytest.raises(InputError, match="must be a private Ed25519 key"):
        release.sign(out, public)
    (tmp_path / "text").write_text("x")
    with pytest.raises(InputError, match="must be a public Ed25519 key"):
        release.verify(out, key=tmp_path / "text")
    with pytest.raises(InputError, match="no key can be read there"):
        release.sign(out, tmp_path / "absent.pem")
    private.chmod(0o640)
    with pytest.raises(InputError, match="others may read this private key"):
        release.sign(out, private)
    (out / "public" / "README.md").unlink()
    with pytest.raises(InputError, match="but missing"):
        release.sign(out, private)


def test_the_commands(out, keys, tmp_path):
    def invoke(*args):
        return CliRunner().invoke(app, [str(arg) for arg in args])

    assert invoke("sign", "--new-key", tmp_path / "k.pem").exit_code == 0
    assert "signed." in invoke("sign", out, "--key", tmp_path / "k.pem").stdout
    assert "belongs to" in invoke("verify", out, "--key", tmp_path / "k.pub.pem").stdout
    assert invoke("verify", out, "--key", keys[1]).exit_code == 2
    assert "takes no other arguments" in invoke("sign", out, "--new-key", tmp_path / "l.pem").stderr
    assert "needs the folder of a release and --key" in invoke("sign", out).stderr


def test_a_pair_of_keys_is_made_whole_or_not_at_all(tmp_path):
    for taken, free in (("a.pem", "a.pub.pem"), ("b.pub.pem", "b.pem")):
        (tmp_path / taken).write_text("x")
        with pytest.raises(InputError, match=f"{taken}: already exists"):
            signing.new_key(tmp_path / f"{taken[0]}.pem")
        assert not (tmp_path / free).exists()
        assert (tmp_path / taken).read_text() == "x"


def test_without_the_library_it_is_said(out, tmp_path, monkeypatch):
    def absent(_name):
        raise ImportError

    monkeypatch.setattr(signing.importlib, "import_module", absent)
    with pytest.raises(InputError, match=r"pip install 'synthdp\[sign\]'"):
        release.verify(out, key=tmp_path / "key.pem")
