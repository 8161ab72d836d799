"""Verifications by name: what most tasks need, ready made."""

from collections.abc import Mapping

from msgspec import Struct

from ralph.core.tasks.contradictions import CONTRADICTION_PATTERNS
from ralph.model.spec import VerificationMethod
from ralph.model.verdict import VerifierConfig

_METHODS_BY_NAME = {method.value: method for method in VerificationMethod}


class Template(Struct, frozen=True, kw_only=True):
    """A method with options; a task's own options go on top."""

    description: str
    method: str
    config: VerifierConfig = {}
    needs: tuple[str, ...] = ()  # options that have to be given


def _build_command_template(description: str, command: str) -> Template:
    return Template(description=description, method="external", config={"command": command})


TEMPLATES: Mapping[str, Template] = {
    "acceptance": Template(
        description="every acceptance criterion of the task is met",
        method="semantic",
        config={"check_for": "{{acceptance_criteria}}"},
    ),
    "cargo-test": _build_command_template("the tests of a Rust crate pass", "cargo test"),
    "clean-tree": _build_command_template("everything is committed", 'test -z "$(git status --porcelain)"'),
    "contradictions": Template(
        description=f"the message has none of: {', '.join(CONTRADICTION_PATTERNS)}; "
        "a coder tells of a commit, a tester of passed tests, a reviewer of approval",
        method="contradictions",
    ),
    "files-exist": Template(description="files are there", method="files_exist", needs=("paths",)),
    "go-test": _build_command_template("the tests of a Go module pass", "go test ./..."),
    "http-health": Template(description="a URL answers with 200", method="http_health", needs=("url",)),
    "make-test": _build_command_template("make test succeeds", "make test"),
    "mypy": _build_command_template("mypy finds no error", "mypy ."),
    "no-todos": Template(
        description="the message leaves nothing to do",
        method="semantic",
        config={"negative_patterns": ["TODO", "FIXME", "not yet implemented"]},
    ),
    "npm-test": _build_command_template("npm test succeeds", "npm test"),
    "pytest": _build_command_template("the Python tests pass", "pytest"),
    "ruff": _build_command_template("ruff finds no fault", "ruff check ."),
    "tsc": _build_command_template("TypeScript compiles", "npx --no-install tsc --noEmit"),
}


def apply_template(name: str, config: VerifierConfig) -> tuple[str, VerifierConfig]:
    """The method and options a name stands for; `template` among the options names another. A name that is no template
    stands for itself."""
    if isinstance(named := config.get("template"), str):
        name, config = named, {key: value for key, value in config.items() if key != "template"}
    template = TEMPLATES.get(name)
    return (template.method, {**template.config, **config}) if template else (name, config)


def resolve_method(name: str, config: VerifierConfig) -> tuple[VerificationMethod, VerifierConfig]:
    """The same in terms of a task: what is none of the four methods becomes the one stage of a multi_stage."""
    method, options = apply_template(name, config)
    if method in _METHODS_BY_NAME:
        return _METHODS_BY_NAME[method], options
    return VerificationMethod.MULTI_STAGE, {"stages": [{"name": name, "method": method, "config": {**options}}]}
