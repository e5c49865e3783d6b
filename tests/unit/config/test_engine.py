"""Where the work runs is said in a block of its own, and every mistake in it is named."""

import pytest

from synthdp.config import load, parse
from synthdp.config.engine import Dask, Local, in_bytes
from synthdp.errors import InputError

TLS = {"ca": "a.pem", "cert": "b.pem", "key": "c.pem"}


def engine(block):
    return parse({"data": {"path": "x.csv"}, "engine": block}).engine


def test_nothing_said_is_this_machine_and_is_not_written():
    config = parse({"data": {"path": "x.csv"}})
    assert config.engine == Local() == engine({}) == engine({"method": "local"})
    assert "engine" not in config.model_dump()
    assert "engine" in parse({"data": {"path": "x.csv"}, "engine": {"method": "dask"}}).model_dump()


@pytest.mark.parametrize(
    "block", [{"workers": 3}, {"address": "tcp://10.0.0.1:8786"}, {"address": "tls://[fd00::1]:8786", "tls": TLS}]
)
def test_a_block_that_describes_a_cluster_is_one(block):
    assert isinstance(engine(block), Dask)
    assert engine(block) == engine({"method": "dask", **block})


@pytest.mark.parametrize(
    ("text", "size"), [("4 GB", 4 * 10**9), ("512MiB", 2**29), ("1.5 TB", 1_500_000_000_000), (" 2 GB ", 2 * 10**9)]
)
def test_memory_is_written_as_people_do(text, size):
    assert engine({"memory": text}).memory_bytes == size == in_bytes(text.strip())
    assert engine({"method": "dask", "memory": text}).memory_bytes == size
    assert engine({}).memory_bytes is None
    assert engine({"method": "dask"}).memory_bytes is None


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"method": "dsk"}, "engine.method: must be one of local, dask; found 'dsk'; did you mean 'dask'?"),
        ({"memry": "4 GB"}, "engine.memry: unknown key; did you mean 'memory'?"),
        ({"workers": 2, "adress": "x"}, "engine.adress: unknown key; did you mean 'address'?"),
        ({"workers": 0}, "engine.workers: must be greater than or equal to 1."),
        ({"memory": 4}, "engine.memory: must be a number with its unit, for example 4 GB"),
        ({"memory": "0 GB"}, "engine.memory: must be a number with its unit"),
        ({"address": "host:8786"}, "engine: address must have the form tcp://host:port or tls://host:port."),
        ({"address": "tcp://host:1", "workers": 2}, "engine: workers is for processes of this machine"),
        ({"address": "tcp://host:1", "memory": "1 GB"}, "engine: memory is for processes of this machine"),
        ({"address": "tls://host:1"}, "engine: an address with tls:// needs tls: {ca: FILE, cert: FILE, key: FILE}."),
        ({"address": "tcp://host:1", "tls": TLS}, "engine: tls needs an address that begins with tls://."),
        ({"tls": TLS}, "engine: tls is for a cluster at an address"),
        (
            {"address": "tls://host:1", "tls": {**TLS, "cart": "x"}},
            "engine.tls.cart: unknown key; did you mean",
        ),
    ],
)
def test_every_mistake_is_named(block, words):
    with pytest.raises(InputError) as error:
        engine(block)
    assert words in str(error.value)


def test_the_files_of_tls_are_beside_the_config(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(
        "data: {path: x.csv}\nengine: {address: 'tls://host:1', tls: {ca: a.pem, cert: certs/b.pem, key: /c.pem}}\n"
    )
    tls = load(path).engine.tls
    assert [str(one) for one in (tls.ca, tls.cert, tls.key)] == [
        str(tmp_path / "a.pem"),
        str(tmp_path / "certs" / "b.pem"),
        "/c.pem",
    ]
