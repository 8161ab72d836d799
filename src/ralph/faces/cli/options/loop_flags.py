"""What supervise, story run and execute are told alike: which agent, in which sandbox, how it is shown."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ralph.app.paths import Paths
from ralph.config.schema import Settings
from ralph.faces.cli.options.agent import apply_agent_options
from ralph.faces.cli.options.sandbox import choose_sandbox_kind


class LoopFlags(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The values of `add_agent_options`, `add_sandbox_options`, `timeout_option`, `idle_timeout_option`,
    `accept_settings_option`, `add_json_option`, `add_plain_option` and `add_verbose_option`."""

    agent: str | None
    model: str | None
    allow: tuple[str, ...]
    sandbox: str | None
    no_sandbox: bool
    timeout: float | None
    idle_timeout: float | None
    accept_settings: bool
    as_json: bool
    plain: bool | None
    verbose: bool

    def list_settings(self) -> dict[str, object]:
        """By the keys of settings; None: as they say."""
        return {
            "agent.timeoutSeconds": self.timeout,
            "agent.idleTimeoutSeconds": self.idle_timeout,
            "sandbox.kind": choose_sandbox_kind(self.sandbox, self.no_sandbox),
            "display.plain": self.plain,
        }

    def choose_agent(self, settings: Settings, paths: Paths) -> Settings:
        return apply_agent_options(settings, paths, agent=self.agent, model=self.model, allow=self.allow)


def collect_loop_flags(given: Mapping[str, object]) -> LoopFlags:
    """What click gave a command beside its own options; one that is missing or unknown is refused."""
    return msgspec.convert(given, LoopFlags)
