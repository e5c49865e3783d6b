"""The one lock: who waits, who is told, and what is not followed."""

import errno
import os
import stat
import threading
import time

import pytest

from synthdp.files import hold, open_owned, write_atomic


def test_a_lock_is_waited_for_and_the_person_told_once(tmp_path):
    first, told = hold(tmp_path / "lock", patience=0, busy=lambda: None), []
    threading.Timer(0.15, os.close, [first]).start()
    started = time.monotonic()
    second = hold(tmp_path / "lock", patience=0.05, busy=lambda: told.append("busy"))
    assert time.monotonic() - started >= 0.1
    assert told == ["busy"]
    os.close(second)


def test_whoever_raises_gives_up_and_leaves_nothing_open(tmp_path):
    def give_up():
        raise TimeoutError

    first, before = hold(tmp_path / "lock", patience=0, busy=give_up), len(os.listdir("/proc/self/fd"))
    with pytest.raises(TimeoutError):
        hold(tmp_path / "lock", patience=0, busy=give_up)
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(first)


def test_links_pipes_and_folders_are_not_opened_and_permissions_are_tightened(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0o644)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("link", errno.ELOOP), ("pipe", errno.EINVAL), (".", errno.EINVAL)):
        with pytest.raises(OSError, match=rf"^\[Errno {why}\]"):
            open_owned(tmp_path / name, os.O_RDONLY)
    os.close(open_owned(tmp_path / "file", os.O_RDONLY))
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_what_a_killed_writer_left_beside_is_replaced(tmp_path):
    (tmp_path / "file.new").write_text("half")
    write_atomic(tmp_path / "file", b"whole", beside=tmp_path / "file.new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"whole")]
