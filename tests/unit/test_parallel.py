"""The one parallel map: the same results in the same order, however many work on them."""

import os
import signal
import threading
import time

import pytest

from synthdp.errors import Unfinished
from synthdp.parallel import THREADS, each, one_thread


def slow_square(x):
    time.sleep(0.01 * (3 - x))  # the first takes longest
    return x * x


@pytest.mark.parametrize(("jobs", "processes"), [(1, False), (3, False), (1, True), (2, True)])
def test_results_come_in_the_order_of_the_items(jobs, processes):
    told = []
    found = each(slow_square, range(4), jobs=jobs, processes=processes, advance=lambda *done: told.append(done))
    assert list(found) == [0, 1, 4, 9]
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_one_job_works_where_the_caller_stands():
    assert set(each(lambda _: threading.get_ident(), range(3))) == {threading.get_ident()}
    assert threading.get_ident() not in set(each(lambda _: threading.get_ident(), range(3), jobs=2))


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_the_callers(jobs):
    with pytest.raises(ZeroDivisionError):
        list(each(lambda x: 1 / x, [1, 0], jobs=jobs))


def test_libraries_use_one_thread_unless_told_otherwise(monkeypatch):
    environment = {"OMP_NUM_THREADS": "3"}
    monkeypatch.setattr("os.environ", environment)
    one_thread()
    assert environment == dict.fromkeys(THREADS, "1") | {"OMP_NUM_THREADS": "3"}


def end_itself(x):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_one_sentence():
    with pytest.raises(Unfinished, match=r"one of 2 processes was ended from outside, .* continue with --resume"):
        list(each(end_itself, range(2), jobs=2, processes=True))
