"""A command that must succeed, and print or not print certain words."""

import hashlib
import os
from collections.abc import Callable
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from ralph.core.guardrail import slugify_command
from ralph.core.text.raw_secrets import find_secret_spans, list_raw_secrets
from ralph.core.text.secrets import list_secret_values, redact_values
from ralph.model.command import Command, CommandExit
from ralph.model.errors import ConfigError
from ralph.model.receipt import CheckEvidence
from ralph.model.verdict import Claim, Verdict, Verifier, VerifierConfig, VerifierTools
from ralph.process.output import BoundedLog, Excerpt
from ralph.process.shell import build_shell_argv
from ralph.verifiers._options import parse_options
from ralph.verifiers._verdict_cache import build_cache_key
from ralph.verifiers._worktree import resolve_inside

VERIFIES = "that a command succeeds in the worktree"
EXTERNAL_METHOD = "external"
NO_COMMAND_MESSAGE = "No command specified for external verification"
EXTERNAL_PASSED_REASON = "External verification passed"
OUTSIDE_WORKTREE = "is outside the worktree"
STREAM_HEAD_BYTES, STREAM_TAIL_BYTES = 4 << 10, 12 << 10  # bytes of each stream that are kept


class ExternalOptions(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As the task has them."""

    command: str = ""
    success_exit_code: int = 0
    output_contains: str | None = None
    output_not_contains: str | None = None
    timeout: Annotated[float, Meta(gt=0)] | None = 300
    working_dir: str = "."


def build(config: VerifierConfig, tools: VerifierTools) -> Verifier:
    options = parse_options(EXTERNAL_METHOD, ExternalOptions, config)
    if not options.command.strip():
        raise ConfigError(NO_COMMAND_MESSAGE, 'add "command": "…" to its verification_config')
    if "\0" in options.command:
        raise ConfigError("Command failed: it contains a NUL character")
    if os.path.normpath(options.working_dir).split(os.sep)[0] == os.pardir:
        raise ConfigError(f"Command failed: working_dir {options.working_dir!r} {OUTSIDE_WORKTREE}")
    return ExternalVerifier(options, config, tools)


class ExternalVerifier:
    """What cannot run, runs too long or ends otherwise than expected is a failure with its reason."""

    def __init__(self, options: ExternalOptions, config: VerifierConfig, tools: VerifierTools) -> None:
        self._options, self._config, self._tools = options, config, tools

    def verify(self, claim: Claim) -> Verdict:
        memory, known = self._tools.memory, build_cache_key(EXTERNAL_METHOD, self._config, claim)
        if found := memory.recall(known):
            return replace(found, cached=True)
        folder = resolve_inside(claim.folder, self._options.working_dir)
        if folder is None or not os.path.isdir(folder):
            where = OUTSIDE_WORKTREE if folder is None else "is not a folder of the worktree"
            return self._build_failure(f"working_dir {self._options.working_dir!r} {where}")
        return self._run(claim, folder, known)

    def _run(self, claim: Claim, folder: str, known: str) -> Verdict:
        options = self._options
        log = _open_log(claim, options.command)
        ears = _OutputScanner(options, log.write if log else len)
        argv = build_shell_argv(options.command, claim.environment)
        command = Command(argv=argv, environment=claim.environment, cwd=folder, timeout=options.timeout)
        with self._tools.processes() as processes:
            exited = processes.run(command, ears.feed_output, ears.feed_error)
        if log:
            log.close(partial(find_secret_spans, values=list_raw_secrets(claim.environment)))
        check = CheckEvidence(
            name=options.command,
            passed=False,
            argv=argv,
            exit_code=exited.code if exited.ending == "exited" else None,
            timeout=options.timeout,
            folder="" if options.working_dir == "." else os.path.normpath(options.working_dir),
            success_exit_code=options.success_exit_code,
            output_contains=options.output_contains,
            output_not_contains=options.output_not_contains,
        )
        verdict = self._judge_exit(exited, ears)
        verdict = replace(
            verdict,
            detail=redact_values(verdict.detail, list_secret_values(claim.environment)),
            check=check,
            log=log.path if log and log.is_there else "",
        )
        if exited.ending == "exited" and not exited.error:
            self._tools.memory.keep(known, verdict)  # what the machine was too slow or too full for may yet work
        return verdict

    def _judge_exit(self, exited: CommandExit, ears: "_OutputScanner") -> Verdict:
        options = self._options
        printed = ears.build_verdict(exited.seconds)
        if exited.ending == "timed_out":
            return replace(printed, reason=f"Command timed out after {options.timeout:g}s")
        if exited.ending == "stopped":
            return replace(printed, reason="Command failed: it was interrupted", interrupted=True)
        if exited.ending != "exited" or exited.error:
            failed = self._build_failure(exited.error or exited.ending)
            return replace(printed, reason=failed.reason, notes=failed.notes)
        if exited.code != options.success_exit_code:
            reason = f"Command exited with {exited.code}, expected {options.success_exit_code}"
            return replace(printed, reason=reason)
        reason = ears.find_objection()
        return replace(printed, verified=not reason, reason=reason or EXTERNAL_PASSED_REASON)

    def _build_failure(self, error: str) -> Verdict:
        note = f"{self._options.command!r} could not be run: {error}"
        return Verdict(method=EXTERNAL_METHOD, verified=False, reason=f"Command failed: {error}", notes=(note,))


def _open_log(claim: Claim, command: str) -> BoundedLog | None:
    return BoundedLog(f"{claim.log_prefix}_{slugify_command(command)}.log") if claim.log_prefix else None


class _OutputScanner:
    """Hears all a command prints, and remembers little of it."""

    def __init__(self, options: ExternalOptions, keep: Callable[[bytes], object]) -> None:
        self._keep = keep
        self._wanted, self._forbidden = options.output_contains or "", options.output_not_contains or ""
        self._streams = (_Stream(self._wanted, self._forbidden), _Stream(self._wanted, self._forbidden))

    def feed_output(self, data: bytes) -> None:
        self._keep(data)
        self._streams[0].feed(data)

    def feed_error(self, data: bytes) -> None:
        self._keep(data)
        self._streams[1].feed(data)

    def find_objection(self) -> str:
        if self._wanted and not any(stream.wanted.found for stream in self._streams):
            return f"Output doesn't contain: {self._wanted}"
        if self._forbidden and any(stream.forbidden.found for stream in self._streams):
            return f"Output contains forbidden: {self._forbidden}"
        return ""

    def build_verdict(self, seconds: float) -> Verdict:
        """What it comes to before anything is judged."""
        texts = [text for stream in self._streams if (text := stream.kept.text().rstrip())]
        digest = hashlib.sha256(b"".join(stream.digest.digest() for stream in self._streams)).hexdigest()
        return Verdict(
            method=EXTERNAL_METHOD, verified=False, reason="", detail="\n".join(texts), digest=digest, seconds=seconds
        )


class _Stream:
    """One of the two streams. They are searched apart: mixed, the one would tear the words of the other."""

    def __init__(self, wanted: str, forbidden: str) -> None:
        self.kept = Excerpt(STREAM_HEAD_BYTES, STREAM_TAIL_BYTES)
        self.digest = hashlib.sha256()
        self.wanted, self.forbidden = _Search(wanted), _Search(forbidden)

    def feed(self, data: bytes) -> None:
        self.kept.write(data)
        self.digest.update(data)
        self.wanted.feed(data)
        self.forbidden.feed(data)


class _Search:
    """Words in a stream, found across the borders of its blocks."""

    def __init__(self, words: str) -> None:
        self._words = words.encode("utf-8", "surrogateescape")
        self._rest = b""
        self.found = False

    def feed(self, data: bytes) -> None:
        if self.found or not self._words:
            return
        window = self._rest + data
        self.found = self._words in window
        self._rest = window[len(window) - len(self._words) + 1 :] if len(self._words) <= len(window) else window
