"""The last look at a release in shards."""

from pathlib import Path

from synthdp.stages.sharded.scanning import leaks_in

SEED = 2**90 + 12345


def test_documents_are_read_and_files_of_records_are_not(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("made for the public")
    (tmp_path / "synthetic_01.csv").write_text(f"a\n{SEED}\n")
    assert leaks_in(tmp_path, {"seed": SEED}, None, records=3) == []
    (tmp_path / "README.md").write_text(f"made with seed {SEED}")
    (found,) = leaks_in(tmp_path, {"seed": SEED}, {"excess": 0}, records=3)
    assert "seed" in found


def test_rows_copied_over_keep_a_release_back(tmp_path: Path) -> None:
    (found,) = leaks_in(tmp_path, {}, {"excess": 2}, records=3)
    assert found == "2 rows or values of the original stand in the copies, beyond what chance gives."
