"""What is known of a coding agent's CLI, kept in its adapter's file and nowhere else."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Permissions = Literal["checks", "edits", "all"]
ANY_KEY = frozenset({"*"})  # for an adapter that may talk to any model service
# What `checks` allows besides the commands of the run's own checks.
GIT_COMMANDS = ("git add *", "git commit *", "git status *", "git diff *", "git log *")


class AgentCard(Struct, frozen=True, kw_only=True):
    """Read by environment, detection, story, help and docs. An adapter that says nothing gets the careful answer."""

    title: str
    programs: tuple[str, ...] = ()  # the names of its program; empty: the adapter's own name
    install: str = ""  # the command that installs it
    detect_order: int | None = None  # its turn when ralph looks for an agent on PATH; None: it is not looked for
    provider: str = ""  # of its models, as OpenTelemetry calls it (gen_ai.provider.name); empty: the adapter's name
    # Of a project: what tells it what to do, besides AGENTS.md. A name counts at any depth, and so does a folder, which
    # ends with a slash; any other path counts from the root.
    instructions: tuple[str, ...] = ()
    # -- its environment
    env_keys: frozenset[str] = frozenset()  # the variables that hold its keys; others' known keys are kept from it
    session_vars: frozenset[str] = frozenset()  # marks of a session of its own, which no child of ours inherits
    home_paths: tuple[str, ...] = ()  # below HOME: its settings and its login, which it reads and writes
    program_paths: tuple[str, ...] = ()  # below HOME: where its installer puts programs, besides .local/bin
    home_variable: str = ""  # names another place for the first of them
    login_files: tuple[str, ...] = ()  # of home_paths: what it writes anew when it renews its login
    config_folders: tuple[str, ...] = ()  # of home_paths: folders it reads and a sandbox does not let it change
    hosts: tuple[str, ...] = ()  # its own service: what it must reach to work at all
    sandbox_environment: Mapping[str, str] = {}  # what it is told in a sandbox
    docker_template: str = ""  # of Docker Sandboxes, with this agent in it; empty: there is none
    # -- how it is called
    model_flag: str = "--model"  # empty: it takes no model
    model_aliases: tuple[str, ...] = ("-m",)  # other spellings of that flag
    folder_flag: str = ""  # gives it one more folder to write to; empty: it has none
    permission_flags: tuple[str, ...] = ()  # where the user wrote one of these, ralph adds no permission of its own
    story_flags: tuple[str, ...] = ()  # a story loop adds them where the user wrote no permission flag
    settings_flag: str = ""  # gives it settings, with hooks, for one run (JSON); empty: it takes none
    plugin_flag: str = ""  # loads our plugin's hooks from a folder; empty: it cannot
    counts_cached_input: bool = False  # tokens from the cache are part of its input tokens
    has_own_sandbox: bool = False  # whether `AgentOptions.own_sandbox` is understood
    can_commit: bool = True  # by itself; False: it is given the folders a commit writes to, AgentOptions.git_folders
    # -- as a judge: one question in an empty folder, with no tools and nothing of the project
    can_judge: bool = False  # whether `AgentOptions.judges` is understood
    judges_with_flags: bool = False  # the user's flags are part of its command, also when it judges
    small_model: str = ""  # judges unless another is chosen; empty: its usual one
    judge_flags: tuple[str, ...] = ()
    judge_environment: Mapping[str, str] = {}
    judge_files: Mapping[str, str] = {}  # as Invocation.files: a word of judge_flags → the text of the file
    # -- what it reports, and how we know
    streaming: bool = True  # reports what it does while it does it
    cost: bool = False  # reports what it cost
    tokens: bool = False
    tools: bool = True  # reports its tool calls
    session: bool = False  # reports the name of its session
    verified: str = "not verified"  # which versions, and against what


class Grant(Struct, frozen=True, kw_only=True):
    """What an adapter makes of AgentOptions' permissions, commands, folders and model."""

    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}  # as Invocation.files
    limits: tuple[str, ...] = ()  # what this CLI cannot express, a sentence each, for the start of a run
    can_commit: bool = True  # False: no prompt tells it to commit, and ralph commits what it leaves
    can_start_runs: bool = True  # False: what its commands start ends with them; no prompt tells it to start a run


class EndpointConfig(Struct, frozen=True):
    """Environment, flags and files that make the agent's CLI talk to one model server and to no other, with dummy
    keys."""

    environment: Mapping[str, str] = {}
    flags: tuple[str, ...] = ()
    files: Mapping[str, str] = {}  # below its home folder: path → text
