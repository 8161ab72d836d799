"""The options that say what "done" means, as `task create`, `followup` and `edit` have them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
import msgspec

from ralph.faces.cli.options.amounts import CountParam
from ralph.model.errors import UsageError
from ralph.model.spec import ROLES

_CommandT = TypeVar("_CommandT", bound=Callable[..., Any])  # click's own bound
_CRITERIA_KEYS = {  # of an agent's criteria: the option's ending → the key
    "promise": "promise",
    "description": "description",
    "verify": "verification_method",
    "max_iterations": "max_iterations",
}


def add_criteria_options(command: _CommandT) -> _CommandT:
    """Adds --outcome, --acceptance, and for each role its promise and how that is verified."""
    for role in reversed(ROLES):
        command = _add_role_options(role, command)
    for option in reversed(
        [
            click.option("--outcome", metavar="TEXT", help="One sentence: what is true when it is done."),
            click.option(
                "--acceptance",
                "--acceptance-criteria",
                "acceptance",
                multiple=True,
                metavar="TEXT",
                help="A requirement that can be checked; may be repeated.",
            ),
            click.option(
                "--may-change-nothing/--must-change-something",
                "may_change_nothing",
                default=None,
                help="Whether it may be done without a change to any file.  [default: it must change something]",
            ),
            click.option("--max-iterations", type=CountParam(), metavar="N", help="Maximum iterations of each agent."),
            click.option(
                "--verify-config",
                metavar="JSON|@FILE",
                help='Options of the verification, by agent: {"qa": {"stages": […]}}; for one agent, just its own.',
            ),
        ]
    ):
        command = option(command)
    return command


def _add_role_options(role: str, command: _CommandT) -> _CommandT:
    def name(part: str) -> str:
        return f"--{role}-{part}"

    options = [
        click.option(name("promise"), metavar="TEXT", help=f"What {role} promises when done."),
        click.option(
            name("verify"),
            name("verification"),
            f"{role}_verify",
            metavar="METHOD",
            help="string_match, semantic, external, multi_stage, or a template's name.",
        ),
        click.option(
            name("verify-cmd"), name("command"), f"{role}_verify_cmd", metavar="CMD", help="The command that verifies."
        ),
        click.option(name("verify-config"), metavar="JSON|@FILE", help="Options of the verification."),
        click.option(name("description"), metavar="TEXT", help="What success means for it, in its prompt."),
        click.option(name("max-iterations"), type=CountParam(), metavar="N", help="Maximum iterations."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def build_completion(given: Mapping[str, Any]) -> dict[str, object]:
    """The options as the mapping a YAML file would hold; what was not given is left out."""
    completion: dict[str, object] = {}
    if given["outcome"] is not None:
        completion["outcome"] = given["outcome"]
    if given["acceptance"]:
        completion["acceptance_criteria"] = [*given["acceptance"]]
    if given["may_change_nothing"] is not None:
        completion["may_change_nothing"] = given["may_change_nothing"]
    agents: dict[str, dict[str, object]] = {role: _build_criteria(role, given) for role in ROLES}
    _add_shared_config(agents, given["verify_config"])
    for role, criteria in agents.items():
        if given["max_iterations"] is not None:
            criteria.setdefault("max_iterations", given["max_iterations"])
        if criteria:
            completion[role] = criteria
    return completion


def _build_criteria(role: str, given: Mapping[str, Any]) -> dict[str, object]:
    criteria = {
        key: given[f"{role}_{part}"] for part, key in _CRITERIA_KEYS.items() if given[f"{role}_{part}"] is not None
    }
    config = _read_config(f"--{role}-verify-config", given[f"{role}_verify_config"])
    if (command := given[f"{role}_verify_cmd"]) is not None:
        config = {**config, "command": command}
    return {**criteria, "verification_config": config} if config else criteria


def _add_shared_config(agents: Mapping[str, dict[str, object]], text: str | None) -> None:
    config = _read_config("--verify-config", text)
    if not config.keys() & {*ROLES} and config:
        meant = [role for role in ROLES if agents[role]]
        if len(meant) != 1:
            hint = 'name it: {"coder": {…}}, or use --coder-verify-config'
            raise UsageError("--verify-config does not say which agent it is for", hint)
        config = {meant[0]: config}
    for role, own in config.items():
        if role not in agents or not isinstance(own, dict):
            what = f"--verify-config: {role!r}: expected one of {', '.join(ROLES)} with an object"
            raise UsageError(what, 'for example {"coder": {"command": "make test"}}')
        known = agents[role].get("verification_config")
        agents[role]["verification_config"] = {**own, **(known if isinstance(known, dict) else {})}


def _read_config(option: str, text: str | None) -> dict[str, object]:
    if text is None:
        return {}
    try:
        if text.startswith("@"):
            with open(text[1:], "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, object])
        return msgspec.json.decode(text, type=dict[str, object])
    except OSError as error:
        raise UsageError(f"{option}: cannot read {text[1:]!r}: {error.strerror}", "@FILE names a JSON file") from None
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"{option}: {error}", "it takes a JSON object, or @FILE with one in it") from None
