"""A guardrail kind: no file is longer than so many lines."""

from pathlib import Path

from msgspec import Struct, ValidationError, convert

from ralph.core.guardrail import build_gate_result
from ralph.model.errors import ConfigError
from ralph.model.loop import GateResult
from ralph.model.ports import Evidence, Gate, GateOptions, Processes


class Options(Struct, forbid_unknown_fields=True):
    pattern: str
    lines: int = 400


class MaxLines:
    def __init__(self, options: GateOptions, wanted: Options) -> None:
        self._options, self._wanted = options, wanted

    @property
    def title(self) -> str:
        return f"at most {self._wanted.lines} lines in {self._wanted.pattern}"

    def check(self, evidence: Evidence) -> GateResult:
        folder = Path(evidence.folder)
        lengths = {
            path: len(path.read_bytes().splitlines())
            for path in sorted(folder.glob(self._wanted.pattern))
            if path.is_file()
        }
        problems = [
            f"{path.relative_to(folder)} has {length} lines"
            for path, length in lengths.items()
            if length > self._wanted.lines
        ]
        return build_gate_result(self.title, problems, self._options)


def build(options: GateOptions, processes: Processes) -> Gate:
    try:
        return MaxLines(options, convert(options.options, Options))
    except ValidationError as error:
        raise ConfigError(f"max_lines: {error}", 'for example "pattern": "src/**/*.py"') from None
