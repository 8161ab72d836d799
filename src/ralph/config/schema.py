"""The one validation layer: what settings are, what they may be, and which words they stand for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import replace

from ralph.core.notice import NOTICE_KINDS, NoticeKind
from ralph.model.agent_card import Permissions
from ralph.model.agent_chain import ESCALATION, AgentChain, OnLimit
from ralph.model.bounds import MAX_AMOUNT, MAX_COUNT
from ralph.model.loop import FailAction, Limits, Patience
from ralph.model.price import TokenPrice
from ralph.model.proofs import ProofMode
from ralph.model.sandbox import SandboxChoice
from ralph.model.standstill import StuckLimits

NON_BLANK_PATTERN = r"^[^\x00]*[^\s\x00][^\x00]*$"
EMPTY_OR_TEXT_PATTERN = rf"^$|{NON_BLANK_PATTERN}"
NO_NUL_PATTERN = r"^[^\x00]*$"  # a NUL cannot be handed to a program
SIGNAL_PATTERN = r"^(response|promise|file:[^\x00]+)$"
VARIABLE_PATTERN = r"^[^=\x00]+$"

PositiveCount = Annotated[int, Meta(ge=1, le=MAX_COUNT)]
Amount = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
Seconds = Annotated[float, Meta(gt=0, le=MAX_AMOUNT)]
PositiveDollars = Annotated[float, Meta(gt=0, le=MAX_AMOUNT)]
NonBlankText = Annotated[str, Meta(pattern=NON_BLANK_PATTERN)]
Word = Annotated[str, Meta(pattern=NO_NUL_PATTERN)]
Signal = Annotated[str, Meta(pattern=SIGNAL_PATTERN)]
Variable = Annotated[str, Meta(pattern=VARIABLE_PATTERN)]
WEBHOOK_PATTERN = r"^(https?://\S+)?$"
APPRISE_PATTERN = r"^[A-Za-z][A-Za-z0-9+.-]*://\S*$"
Verification = Literal["string_match", "semantic", "external", "multi_stage"]

SHELL_KIND = "shell"  # what a guardrail is when it does not say

RawSettings = Mapping[str, object]  # settings as a file has them, before they are checked


FILLED_AGENT_KEYS = ("price", "substitutes")  # by ralph itself, from other settings: nobody writes or reads them


class AgentSettings(Struct, frozen=True, rename="camel", kw_only=True):
    """The coding agent and how it is called."""

    command: Annotated[str, Meta(pattern=EMPTY_OR_TEXT_PATTERN)] = ""  # empty: whichever is found
    flags: tuple[Word, ...] = ()
    permissions: Permissions | None = None  # None: checks
    allow: tuple[NonBlankText, ...] = ()  # commands it may run besides
    model: str = ""
    adapter: NonBlankText | None = None  # None: by the command's name
    timeout_seconds: Seconds | None = None
    idle_timeout_seconds: Seconds | None = None
    environment: dict[Variable, Word] = {}
    pass_environment: tuple[Variable, ...] = ()
    guard: bool = True  # where no sandbox is in force
    fallback_model: str = ""  # where its CLI has such a flag
    price: TokenPrice | None = None  # filled from `prices`
    substitutes: dict[str, "AgentSettings"] = {}  # by name: who takes over; filled from `agents` and `escalate`


class Guardrail(Struct, frozen=True, rename="camel", kw_only=True):
    """A check that must pass before work counts as done; unless its kind says otherwise, a shell command."""

    kind: NonBlankText = SHELL_KIND
    command: NonBlankText | None = None  # None: its kind needs none
    fail_action: FailAction = "APPEND"
    hint: str = ""
    timeout_seconds: Seconds | None = None
    options: dict[str, Any] = {}  # its further keys, which its kind understands

    @property
    def label(self) -> str:
        """What it is called before its kind is asked."""
        words = (self.command,) if self.kind == SHELL_KIND else (self.kind, self.command)
        return " ".join(word for word in words if word)


class OwnAgentSettings(Struct, frozen=True, rename="camel", kw_only=True):
    """What holds for one agent whenever it is the one that runs."""

    flags: tuple[Word, ...] = ()
    permissions: Permissions | None = None
    allow: tuple[NonBlankText, ...] = ()
    model: str = ""
    fallback_model: str = ""


class Escalation(Struct, frozen=True, kw_only=True):
    """Who takes over a run that stands still."""

    agent: NonBlankText | None = None  # None: the same, with another model
    model: NonBlankText | None = None


class Scm(Struct, frozen=True, rename="camel"):
    """What is done with work that passed."""

    command: NonBlankText = "git"
    tasks: tuple[NonBlankText, ...] = ()
    allow_dirty: bool = False  # commit also what the user had not committed when the run began


class Retry(Struct, frozen=True, rename="camel", kw_only=True):
    """How trouble that is not the agent's is waited for."""

    attempts: Amount = 12
    delay_seconds: Seconds = 5.0
    maximum_delay_seconds: Seconds = 900.0
    empty_answers: Amount = 3
    max_wait_seconds: Seconds = 6 * 3600.0


class Stuck(Struct, frozen=True, rename="camel", kw_only=True):
    """What is done about iterations in a row that get no further, after how many of them; 0: never."""

    tell_after: Amount = 2
    escalate_after: Amount = 3
    stop_after: Amount = 5

    def as_limits(self, stop_after: int | None = None) -> StuckLimits:
        stop = self.stop_after if stop_after is None else stop_after
        return StuckLimits(tell=self.tell_after, escalate=self.escalate_after, stop=stop)


class Notify(Struct, frozen=True, rename="camel", kw_only=True):
    """Who to notify about a run, besides the screen."""

    command: tuple[NonBlankText, ...] = ()  # gets the message as JSON on stdin
    webhook: Annotated[str, Meta(pattern=WEBHOOK_PATTERN)] = ""
    apprise: tuple[Annotated[str, Meta(pattern=APPRISE_PATTERN)], ...] = ()  # addresses for the extra [notify]
    secret_variable: NonBlankText = "RALPH_WEBHOOK_SECRET"  # noqa: S105  # the name of the variable that holds it
    on: tuple[NoticeKind, ...] = NOTICE_KINDS
    bell: bool = True  # on a terminal

    @property
    def names_someone(self) -> bool:
        return bool(self.command or self.webhook or self.apprise)


class Display(Struct, frozen=True, rename="camel", kw_only=True):
    """How a run looks on a terminal."""

    glyphs: Literal["auto", "emoji", "unicode", "ascii"] = "auto"
    color: Literal["auto", "always", "never"] = "auto"
    timestamps: bool | None = None
    max_output_lines: Amount = 3
    max_output_chars: Amount = 300
    max_check_lines: Amount = 5
    max_edit_lines: Amount = 6
    keys: bool = True  # single keys steer a run that somebody watches
    plain: bool = False  # sentences, nothing drawn again: for screen readers


class StageSettings(Struct, frozen=True, kw_only=True):
    """One agent of the SpecFlow pipeline."""

    enabled: bool = True
    max_iterations: PositiveCount | None = None  # None: default_max_iterations
    completion_promise: NonBlankText = "STAGE_COMPLETE"
    verify_promises: bool | None = None  # None: as for all
    agent: NonBlankText | None = None  # None: the agent of `ralph run`
    model: NonBlankText | None = None


class Coder(StageSettings, frozen=True, kw_only=True):
    """Writes the code."""

    max_iterations: PositiveCount | None = 15
    completion_promise: NonBlankText = "IMPLEMENTATION_COMPLETE"


class Reviewer(StageSettings, frozen=True, kw_only=True):
    """Reads it."""

    max_iterations: PositiveCount | None = 5
    completion_promise: NonBlankText = "REVIEW_PASSED"


class Tester(StageSettings, frozen=True, kw_only=True):
    """Tests it."""

    max_iterations: PositiveCount | None = 10
    completion_promise: NonBlankText = "TESTS_PASSED"


class Qa(StageSettings, frozen=True, kw_only=True):
    """Has the last word."""

    max_iterations: PositiveCount | None = 5
    completion_promise: NonBlankText = "QA_PASSED"


class Judge(Struct, frozen=True):
    """Who reads a diff and says whether it meets the criteria."""

    agent: NonBlankText
    model: NonBlankText | None = None  # None: its small one


class SandboxSettings(Struct, frozen=True, rename="camel", kw_only=True):
    """Where agents and checks run, and what they can reach from there."""

    kind: SandboxChoice | None = None  # None: auto for an agent that may do everything, else none
    network: Literal["full", "none"] | tuple[NonBlankText, ...] | None = None  # None: the backend's own
    protected: tuple[NonBlankText, ...] = ()  # patterns, read-only in it
    mounts: tuple[NonBlankText, ...] = ()  # further folders, read-only; writable with `:rw` behind
    image: str = ""  # for docker and podman; empty: the backend's own


class Specflow(Struct, frozen=True, kw_only=True):
    """The `ralph:` part of `.specflow/config.yaml`, under its own names."""

    enabled: bool = True
    default_max_iterations: PositiveCount = 10
    verify_promises: bool = True
    default_verification: Verification | None = None  # None: each agent's own, string_match in the end
    promise_match: Literal["strict", "loose"] = "strict"
    max_send_backs: Amount = 3
    circuit_breaker: PositiveCount | None = None  # None: stuck.stopAfter
    adaptive: bool = False  # limits by how long verified tasks took
    task_budget_usd: PositiveDollars | None = None
    semantic: Literal["judge", "words"] = "judge"  # words: criteria named in the agent's message count as met
    judge: Judge | None = None  # None: the agent's own vendor, its small model
    coder: Coder = Coder()
    reviewer: Reviewer = Reviewer()
    tester: Tester = Tester()
    qa: Qa = Qa()


class Supervise(Struct, frozen=True, rename="camel", kw_only=True):
    """Settings of `ralph supervise` only."""

    checks: tuple[NonBlankText, ...] = ()  # as --check


class Settings(Struct, frozen=True, rename="camel", kw_only=True):
    """Everything that can be set."""

    schema: str = field(default="", name="$schema")
    maximum_iterations: PositiveCount = 10
    completion_response: NonBlankText = "DONE"
    output_truncate_chars: Amount = 5000  # 0: all of it
    stream_agent_output: bool = True
    include_iteration_count_in_prompt: bool = False
    agent: AgentSettings = AgentSettings()
    guardrails: tuple[Guardrail, ...] = ()
    scm: Scm | None = None
    tell_completion: bool = True  # to an agent whose prompt names no signal
    until: Annotated[tuple[Signal, ...], Meta(min_length=1)] = ("response",)
    max_time_seconds: Seconds | None = None
    budget_usd: PositiveDollars | None = None
    budget_usd_per_day: PositiveDollars | None = None
    budget_reserve: Annotated[float, Meta(ge=0, lt=1)] = 0.1  # of a task's or story loop's budget, for reviews
    prices: dict[str, TokenPrice] = {}  # by model or agent
    snapshots: bool = True
    keep_days: Amount = 90  # after which later runs remove what a run left; 0: never
    proofs: ProofMode = "warn"  # what becomes of a claim whose checks pass only with changed tests
    protected: tuple[NonBlankText, ...] = ()  # patterns of files no agent may change
    sandbox: SandboxSettings = SandboxSettings()
    setup: str = ""  # a command that makes a work tree ready, in the sandbox
    agents: dict[str, OwnAgentSettings] = {}  # by name: claude, codex, …
    chain: tuple[NonBlankText, ...] = ()  # agents that take over from each other; a list of `agents` means this
    on_limit: OnLimit | None = None  # None: switch where there is another agent, else wait
    escalate: Escalation | None = None
    retry: Retry = Retry()
    stuck: Stuck = Stuck()
    display: Display = Display()
    notify: Notify = Notify()
    supervise: Supervise = Supervise()
    specflow: Specflow = Specflow()

    @property
    def limits(self) -> Limits:
        """What forbids starting another agent run."""
        return Limits(
            self.maximum_iterations,
            self.max_time_seconds,
            cost_usd=self.budget_usd,
            stuck=self.build_stuck_limits(),
            chain=self.agent_chain,
            day_usd=self.budget_usd_per_day,
        )

    def build_stuck_limits(self, stop_after: int | None = None) -> StuckLimits:
        """`stop_after`: instead of the one that is set."""
        limits = self.stuck.as_limits(stop_after)
        return replace(limits, agent=ESCALATION if ESCALATION in self.agent.substitutes else "")

    @property
    def agent_chain(self) -> AgentChain:
        """Who takes over from the first agent."""
        others = tuple(name for name in self.agent.substitutes if name != ESCALATION)
        return AgentChain(others=others, on_limit=self.on_limit or ("switch" if others else "wait"))

    def with_limits(self, limits: Limits) -> "Settings":
        """The same, under other limits."""
        return replace(
            self,
            maximum_iterations=limits.iterations,
            max_time_seconds=limits.seconds,
            budget_usd=limits.cost_usd,
        )

    @property
    def patience(self) -> Patience:
        """How trouble is waited for."""
        retry = self.retry
        return Patience(
            retries=retry.attempts,
            delay=retry.delay_seconds,
            longest=retry.maximum_delay_seconds,
            empty_retries=retry.empty_answers,
            max_wait=retry.max_wait_seconds,
        )


SETTINGS_PARTS: Mapping[str, type[Struct]] = {  # keys whose value has keys of its own
    "agent": AgentSettings,
    "guardrails": Guardrail,
    "scm": Scm,
    "retry": Retry,
    "escalate": Escalation,
    "stuck": Stuck,
    "display": Display,
    "notify": Notify,
    "sandbox": SandboxSettings,
    "supervise": Supervise,
    "specflow": Specflow,
    "coder": Coder,
    "reviewer": Reviewer,
    "tester": Tester,
    "qa": Qa,
    "judge": Judge,
}


class Layer(Struct, frozen=True, kw_only=True):
    """What one source says, and how to speak of it."""

    name: str
    raw: RawSettings
    text: str = ""  # the file's, to find lines in
    root: str = ""  # what the file calls our top-level key, where it has a name of its own
    lax: bool = False  # text may stand for numbers, as in environment variables


def check_layer(layer: Layer) -> Settings:
    """The settings this layer alone gives; ConfigError names the file, the line, the key and what was expected."""
    try:
        found = convert_settings(layer.raw, strict=not layer.lax)
    except ValidationError as error:
        from ralph.config.complaints import build_rejection_error

        raise build_rejection_error(str(error), layer) from None
    for index, guardrail in enumerate(found.guardrails):
        if guardrail.kind == SHELL_KIND and guardrail.command is None:
            from ralph.config.complaints import build_missing_command_error

            raise build_missing_command_error(layer, index)
    for index, flag in enumerate(found.agent.flags):
        if _split_flag(flag) is None:
            from ralph.config.complaints import build_quotation_error

            raise build_quotation_error(layer, found.agent.flags, index)
    return found


def convert_settings(raw: RawSettings, *, strict: bool = True) -> Settings:
    """Raw settings, typed."""
    return convert(expand_shorthand(raw), Settings, strict=strict)


def expand_shorthand(raw: RawSettings) -> RawSettings:
    """The same, written out: an agent that is only named, a guardrail that is only a command, a failAction in any
    case, a guardrail kind's own keys. What is written out already stays as it is."""
    written = dict(raw)
    if isinstance(agent := raw.get("agent"), str):
        written["agent"] = {"command": agent}
    if isinstance(sandbox := raw.get("sandbox"), str):
        written["sandbox"] = {"kind": sandbox}
    if isinstance(agents := raw.get("agents"), (list, tuple)) and all(isinstance(each, str) for each in agents):
        written["chain"] = list(agents)
        del written["agents"]
    if isinstance(guardrails := raw.get("guardrails"), (list, tuple)):
        written["guardrails"] = [_expand_guardrail(guardrail) for guardrail in guardrails]
    return written


def _expand_guardrail(raw: object) -> object:
    if isinstance(raw, str):
        return {"command": raw}
    if not isinstance(raw, dict):
        return raw
    written = dict(raw)
    if isinstance(action := raw.get("failAction"), str):
        written["failAction"] = action.strip().upper()
    further = [key for key in raw if key not in Guardrail.__struct_encode_fields__]
    if raw.get("kind", SHELL_KIND) != SHELL_KIND and further and isinstance(given := raw.get("options", {}), dict):
        written["options"] = {**given, **{key: written.pop(key) for key in further}}
    return written


def find_unknown_keys(
    raw: RawSettings, kind: type[Struct] = Settings, where: str = ""
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Keys nobody reads: where, which, and those that are known there."""
    known = kind.__struct_encode_fields__
    for key, value in raw.items():
        if key not in known:
            yield where, str(key), known
        elif key == "agents" and isinstance(value, dict):
            for name, own in value.items():
                if isinstance(own, dict):
                    yield from find_unknown_keys(own, OwnAgentSettings, f"{where}agents.{name}.")
        elif key in SETTINGS_PARTS:
            items = value if isinstance(value, (list, tuple)) else [value]
            for item in items:
                if isinstance(item, dict):
                    yield from find_unknown_keys(item, SETTINGS_PARTS[key], f"{where}{key}.")


def split_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """The words of `agent.flags`: an item with spaces is split as a shell would, if a shell could."""
    split = ((flag, _split_flag(flag)) for flag in flags)
    return tuple(word for flag, words in split for word in ((flag,) if words is None else words))


def _split_flag(flag: str) -> Sequence[str] | None:
    """None: a quotation in it does not end."""
    if not any(map(str.isspace, flag)):
        return (flag,)
    import shlex

    try:
        return shlex.split(flag)
    except ValueError:
        return None
