"""Verifications by name: what most tasks need, ready made."""

from collections.abc import Mapping

from msgspec import Struct

from ralph.core.tasks.contradictions import PATTERNS
from ralph.model.spec import VerificationMethod
from ralph.model.verdict import Config

_METHODS = {method.value: method for method in VerificationMethod}


class Template(Struct, frozen=True):
    """A method with options; a task's own options go on top."""

    description: str
    method: str
    config: Config = {}
    needs: tuple[str, ...] = ()  # options that have to be given


def _command(description: str, command: str) -> Template:
    return Template(description, "external", {"command": command})


TEMPLATES: Mapping[str, Template] = {
    "acceptance": Template(
        "every acceptance criterion of the task is met", "semantic", {"check_for": "{{acceptance_criteria}}"}
    ),
    "cargo-test": _command("the tests of a Rust crate pass", "cargo test"),
    "clean-tree": _command("everything is committed", 'test -z "$(git status --porcelain)"'),
    "contradictions": Template(
        f"the message has none of: {', '.join(PATTERNS)}; a coder tells of a commit, a tester of passed tests, "
        "a reviewer of approval",
        "contradictions",
    ),
    "files-exist": Template("files are there", "files_exist", needs=("paths",)),
    "go-test": _command("the tests of a Go module pass", "go test ./..."),
    "http-health": Template("a URL answers with 200", "http_health", needs=("url",)),
    "make-test": _command("make test succeeds", "make test"),
    "mypy": _command("mypy finds no error", "mypy ."),
    "no-todos": Template(
        "the message leaves nothing to do", "semantic", {"negative_patterns": ["TODO", "FIXME", "not yet implemented"]}
    ),
    "npm-test": _command("npm test succeeds", "npm test"),
    "pytest": _command("the Python tests pass", "pytest"),
    "ruff": _command("ruff finds no fault", "ruff check ."),
    "tsc": _command("TypeScript compiles", "npx --no-install tsc --noEmit"),
}


def applied(name: str, config: Config) -> tuple[str, Config]:
    """The method and options a name stands for; `template` among the options names another. A name that is no template
    stands for itself."""
    if isinstance(named := config.get("template"), str):
        name, config = named, {key: value for key, value in config.items() if key != "template"}
    template = TEMPLATES.get(name)
    return (template.method, {**template.config, **config}) if template else (name, config)


def resolved(name: str, config: Config) -> tuple[VerificationMethod, Config]:
    """The same in terms of a task: what is none of the four methods becomes the one stage of a multi_stage."""
    method, options = applied(name, config)
    if method in _METHODS:
        return _METHODS[method], options
    return VerificationMethod.MULTI_STAGE, {"stages": [{"name": name, "method": method, "config": {**options}}]}
