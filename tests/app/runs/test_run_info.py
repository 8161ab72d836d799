"""`run-info.yaml` says what the record says."""

from pathlib import Path

from msgspec.structs import replace

from ralph.app.runs.run_info import write_run_info
from ralph.model.supervised import AttemptRecord


def test_the_file_follows_its_record_and_is_not_written_twice(tmp_path: Path) -> None:
    attempt = AttemptRecord(
        id="a", run="r", number=0, previous=None, project="p", folder=str(tmp_path), pid=1, started_at=0.0
    )
    write_run_info(attempt, "t", "claude", "")
    path = tmp_path / "run-info.yaml"
    assert 'status: "running"' in path.read_text()
    number = path.stat().st_ino
    write_run_info(attempt, "t", "claude", "")
    assert path.stat().st_ino == number
    write_run_info(replace(attempt, status="failed", ended_at=1.0), "t", "claude", "")
    assert 'status: "failed"' in path.read_text()
    path.write_text("torn")
    write_run_info(attempt, "t", "claude", "")
    assert path.read_text().startswith('run_id: "a"\n')
