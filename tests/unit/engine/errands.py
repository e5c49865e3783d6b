"""Work for the tests of the engines: functions that a worker can load."""

import os
import signal
import time
from pathlib import Path

from synthdp.errors import InputError

SECRET = "Rumpelstilzchen"


def square(x):
    return x * x


def process(x):
    return os.getpid(), x


def now(x):
    return time.time()


def held_up(task):
    """Write that an item has begun; the first one waits."""
    folder, number = task
    Path(folder, str(number)).touch()
    if number == 0:
        time.sleep(1.5)
    return number


def refuse(x):
    if x == 2:
        raise InputError("variables.age: must be there.")
    return x


def fail_on(x):
    raise ValueError(f"cannot convert {x}")


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def fail_oddly(x):
    raise Odd(x, lambda: x)


def echo(x):
    return f"{x} came back"


def large(size):
    return b"x" * size


def fill(folder):
    """Write to a disk that is full."""
    with open("/dev/full", "wb") as file:
        file.write(b"x" * 2**20)


def die_once(task):
    folder, number = task
    mark = Path(folder, f"died-{number}")
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def die(x):
    os.kill(os.getpid(), signal.SIGKILL)


def wait(seconds):
    time.sleep(seconds)
    return os.getpid()
