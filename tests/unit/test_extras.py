"""What an extra lacks is one sentence with the install command, and the main job needs none of them."""

import subprocess
import sys

import pytest

from reports import figures
from synthdp.errors import InputError
from synthdp.release import signing

EXTRA = ("arviz", "cryptography", "dash", "flask", "formulaic", "matplotlib", "pymc", "pytensor")


def test_a_file_is_synthesized_and_evaluated_without_any_extra():
    code = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRA!r}))
import synthdp
import synthdp.cli
settings = {{"variables": {{"age": {{"role": "replace", "key": True, "tolerance": 3}}}},
            "masks": {{"age": {{"method": "gaussian", "sd": 1.0}}}}, "synthesis": {{"copies": 2}},
            "evaluation": {{"utility": ["pmse"], "risk": ["identity"]}}}}
voters = synthdp.datasets.anes96().head(200)
release = synthdp.synthesize(voters, settings, seed=1)
print(len(release.copies), synthdp.evaluate(voters, release, settings)["risk"]["identity"]["true_match"] is not None)
print(synthdp.pool(release.copies, model="logit", formula="vote ~ age + C(educ)").names[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "True", "Intercept"]


def test_signatures_name_their_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for module in [name for name in sys.modules if name.startswith("cryptography.")]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r"need the library cryptography: pip install 'synthdp\[sign\]'\."):
        signing.new_key(tmp_path / "key")


def test_figures_of_studies_name_their_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match=r"need matplotlib: pip install 'synthdp\[studies\]'\."):
        figures.panels(1, 1, (4.0, 3.0))
