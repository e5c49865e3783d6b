"""The first thing anyone sees: it runs, passes its gate, and leaves what is needed to play with it."""

import pytest

from synthdp import datasets, release
from synthdp.cli import touring
from synthdp.cli.starting import PUBLIC_SEED, QUICK_COPIES, demo, settings, write_config
from synthdp.config import load
from synthdp.errors import InputError, SynthdpError
from synthdp.pipeline import check, run
from synthdp.progress import Silent
from synthdp.seeding import SMALLEST_SECRET_SEED
from synthdp.table import io


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "out"
    return demo(out=out, quick=True), out


def test_it_leaves_a_release_and_its_ingredients(quick):
    outcome, out = quick
    assert outcome.passed
    assert sorted(path.name for path in out.iterdir()) == ["anes96.csv", "confidential", "demo.yaml", "public"]
    voters = datasets.anes96()
    read = io.read(out / "anes96.csv")
    assert read.shape == voters.shape
    assert list(read.columns) == list(voters.columns)
    assert (read.to_numpy(float) == voters.to_numpy(float)).all()


def test_what_is_left_can_be_run(quick):
    _, out = quick
    config = load(out / "demo.yaml")
    assert config.data.path == out / "anes96.csv"
    assert config.seed is None
    first, *_ = check(config).messages
    assert first == "944 records; 4 columns replaced, 6 kept, 3 keys."
    same = config.model_copy(update={"data": settings().data, "seed": PUBLIC_SEED})
    assert same == settings()


def test_a_full_folder_is_refused(quick):
    with pytest.raises(InputError, match="the folder is not empty"):
        demo(out=quick[1], quick=True)


def test_the_settings_differ_by_speed_only():
    assert settings(quick=True).synthesis.copies == QUICK_COPIES < settings().synthesis.copies
    assert settings(quick=True).variables == settings().variables
    assert settings(quick=True).analyses == settings().analyses
    assert settings(quick=True).masks == settings().masks
    assert settings().seed == PUBLIC_SEED >= SMALLEST_SECRET_SEED
    assert str(PUBLIC_SEED) not in repr(settings())


def test_the_config_that_is_ready_passes_its_gate(tmp_path):
    (tmp_path / "anes96.csv").write_bytes(io.encode(datasets.anes96(), format="csv"))
    config = settings()
    data = config.data.model_copy(update={"path": tmp_path / "anes96.csv"})
    outcome = run(config.model_copy(update={"data": data}), out=tmp_path / "out")
    assert outcome.passed
    assert outcome.public == tmp_path / "out" / "public"
    assert outcome.report.exists()
    assert release.verify(tmp_path / "out") == []
    assert len(release.read_public(tmp_path / "out").copies) == settings().synthesis.copies
    columns = release.read_public(tmp_path / "out").copies[0].columns
    assert "logpopul" not in columns
    useful_and_safe(outcome)


def useful_and_safe(outcome):
    before, after = (outcome.metrics["risk"][name]["expected_match"] for name in ("original", "identity"))
    assert after < before / 5
    for analysis in outcome.metrics["utility"]["analyses"]:
        assert analysis["mean_ci_overlap"] > 0.5
    labels = [label for label, _ in outcome.summary]
    assert "vote for Dole: confidence intervals agree" in labels
    assert ("release gate", "passed") in outcome.summary


class Heard(Silent):
    """A listener that remembers what it was told."""

    def __init__(self):
        self.said = []

    def tell(self, sentence):
        self.said.append(sentence)


def test_every_question_of_init_is_answered(tmp_path):
    data, asked = tmp_path / touring.DATA, tmp_path / touring.CONFIG
    data.write_bytes(io.encode(datasets.anes96(), format="csv"))
    list(write_config(data, asked, touring.METHOD))
    before = asked.read_text()
    asked.write_text(touring.answered(before))
    config = load(asked)
    assert all(config.variables[name].key is False for name in touring.ANSWERS)
    assert not any("Decide" in message for message in check(config).messages)
    assert config.synthesis.copies == touring.COPIES
    assert [analysis.name for analysis in config.analyses] == ["vote for Dole", "party"]
    with pytest.raises(SynthdpError, match="init asks something that the demo has no answer to"):
        touring.answered(before.replace("PID: {", "other: {"))


def test_a_full_folder_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="the folder is not empty"):
        demo(out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
