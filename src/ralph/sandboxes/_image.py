"""The image for agents where nobody chose one: a small system with git, and the agents as their cards install them."""

import hashlib
import os
from collections.abc import Iterable

from ralph.model.agent_card import AgentCard
from ralph.model.errors import MachineError
from ralph.model.sandbox import SandboxPlan
from ralph.sandboxes._client import Client
from ralph.sandboxes._system import is_in_system

BASE_IMAGE = "node:22-bookworm-slim"
BUILD_SECONDS = 1800.0
LOOK_SECONDS = 60.0
BUILT_IN_ADAPTERS = frozenset({"command", "scripted"})  # whose program is the user's business
_MISSING_PREFIX = "missing "
_LOOK_SCRIPT = 'for name; do command -v "$name" >/dev/null || echo "missing $name"; done; cat /etc/passwd'
_PACKAGES = "bash ca-certificates curl git jq make openssh-client patch procps python3 ripgrep unzip xz-utils"


def render_dockerfile(cards: Iterable[AgentCard], base: str = BASE_IMAGE) -> str:
    """The same agents give the same text, whatever their order."""
    installs = sorted({card.install for card in cards if card.install})
    lines = [
        f"FROM {base}",
        f"RUN apt-get update && apt-get install -y --no-install-recommends {_PACKAGES} && rm -rf /var/lib/apt/lists/*",
        *(f"RUN {install}" for install in installs),
    ]
    return "\n".join(lines) + "\n"


def name_image(dockerfile: str) -> str:
    return f"ralph-agent:{hashlib.sha256(dockerfile.encode()).hexdigest()[:12]}"


def provide_image(engine: Client, chosen: str, cards: Iterable[AgentCard]) -> str:
    """The image that was chosen, pulled where it is not there; else our own, built once."""
    if chosen:
        if not _has_image(engine, chosen):
            pulled = engine.ask("pull", chosen, seconds=BUILD_SECONDS)
            _check(pulled.is_fine, f"cannot pull the image {chosen!r}: {pulled.last_complaint}", engine)
        return chosen
    dockerfile = render_dockerfile(cards)
    image = name_image(dockerfile)
    if not _has_image(engine, image):
        built = engine.ask("build", "--tag", image, "-", stdin=dockerfile.encode(), seconds=BUILD_SECONDS)
        _check(built.is_fine, f"cannot build the image for the sandbox: {built.last_complaint}", engine)
    return image


def check_image(engine: Client, image: str, plan: SandboxPlan, *, run: tuple[str, ...], user: str) -> str:
    """That it has the agents' programs, and what an allow-list needs. Gives a file of users that has this one, where
    the image's has not: some programs do not start for somebody without a name."""
    programs = [(card.programs or (adapter,))[0] for adapter, card in zip(plan.adapters, plan.cards, strict=False)]
    brought = {os.path.basename(path) for path in plan.readable if os.path.isfile(path) and not is_in_system(path)}
    needed = [*(name for name in programs if name not in BUILT_IN_ADAPTERS | brought), "git"]
    if isinstance(plan.network, tuple):
        needed.append("python3")
    words = ("--network=none", "--entrypoint=sh", image, "-c", _LOOK_SCRIPT, "sh", *needed)
    answer = engine.ask(*run, *words, seconds=LOOK_SECONDS)
    _check(answer.is_fine, f"the image {image!r} cannot be used: {answer.last_complaint}", engine)
    missing = [line.removeprefix(_MISSING_PREFIX) for line in answer.lines if line.startswith(_MISSING_PREFIX)]
    _check(not missing, f"the image {image!r} has no {' and no '.join(missing)}", engine)
    users = [line for line in answer.lines if not line.startswith(_MISSING_PREFIX)]
    number, _, group = user.partition(":")
    if any(line.split(":")[2:3] == [number] for line in users):
        return ""
    path = os.path.join(plan.scratch, "passwd")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in (*users, f"agent:x:{number}:{group}::{plan.home.folder}:/bin/sh"))
    return path


def _has_image(engine: Client, image: str) -> bool:
    return engine.ask("image", "inspect", "--format", "{{.Id}}", image).is_fine


def _check(is_fine: bool, problem: str, engine: Client) -> None:
    if not is_fine:
        hint = f'set one that has git and the agent in it: "sandbox": {{"kind": "{engine.title}", "image": "…"}}'
        raise MachineError(problem, hint)
