"""What `permissions`, `allow`, `folders` and `model` become for each CLI."""

import importlib
import json
import tomllib

import pytest
from msgspec.structs import replace

from ralph.agents import amp, claude, codex, command, gemini, opencode
from ralph.agents._cards import load_builtin_cards
from ralph.agents._permissions import list_simple_commands, to_prefix
from ralph.model.agent_card import GIT_COMMANDS, Grant
from ralph.model.ports import Agent, AgentOptions

CARDS = load_builtin_cards()
ALLOW = ("make test", "uv run *")


def options(line: str, *flags: str, **more: object) -> AgentOptions:
    return AgentOptions(command=tuple(line.split()), flags=flags, **more)  # type: ignore[arg-type]  # by name


def granted(name: str, *flags: str, **more: object) -> Grant:
    found: Grant = importlib.import_module(f"ralph.agents.{name}").grant_permissions(options(name, *flags, **more))
    return found


def argv(name: str, *flags: str, **more: object) -> tuple[str, ...]:
    agent: Agent = importlib.import_module(f"ralph.agents.{name}").build(options(name, *flags, **more))
    return agent.invocation("do it", "stream", None).argv


# -- commands in plain words -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("make test", ["make test"]),
        ("cd app && make test", ["cd app", "make test"]),
        ("make lint; make test || true", ["make lint", "make test", "true"]),
        ("make test 2>&1 | tail -5 > log", ["make test", "tail -5"]),
        ("grep -q 'a && b; c' file", ["grep -q 'a && b; c' file"]),
        ('echo "a | b" \\; x', ['echo "a | b" \\; x']),
        ("CI=1 FOO=x  make test", ["CI=1 FOO=x make test", "make test"]),
        ("if make lint; then make test; fi", ["if make lint", "make lint", "then make test", "make test", "fi"]),
        ("make test FOO=1 all", ["make test FOO=1 all"]),
        ("  ", []),
    ],
)
def test_a_compound_command_is_its_parts(line: str, expected: list[str]) -> None:
    assert list(list_simple_commands([line])) == expected


@pytest.mark.parametrize(
    ("check", "others"),
    [
        ("npm run test", ["npm test"]),
        ("cd app && CI=1 pnpm run test -- -x", ["pnpm test -- -x"]),
        ("python3 -m pytest -q", ["python -m pytest -q", "pytest -q"]),
        ("python -m unittest", ["python3 -m unittest"]),
        ("npm run test:unit", []),
        ("bun run test", []),  # `bun test` is another runner
        ("pytest", []),  # an agent with rules for programs only would get all of Python
    ],
)
def test_a_check_is_allowed_in_the_words_agents_type_for_it(check: str, others: list[str]) -> None:
    plain = {*check.split(" && "), check.split(" && ")[-1].removeprefix("CI=1 ")}
    assert [command for command in list_simple_commands([check]) if command not in plain] == others


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [("uv run *", "uv run"), ("make test", "make test"), ("npm run test*", None), ("make * test", None), ("*", None)],
)
def test_a_star_as_the_last_word_is_a_prefix(pattern: str, prefix: str | None) -> None:
    assert to_prefix(pattern) == prefix


# -- all agents --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "flag"), [(name, flag) for name, card in CARDS.items() for flag in card.permission_flags]
)
@pytest.mark.parametrize("permissions", ["checks", "edits", "all", None])
def test_a_permission_flag_of_the_users_own_wins(name: str, flag: str, permissions: str | None) -> None:  # issue 12
    words = ("-c", f"{flag}=x") if not flag.startswith("-") else (flag, "x")
    git = ("/repo/.git",)
    found = granted(name, *words, permissions=permissions, allow=ALLOW, git_folders=git)
    assert replace(found, can_commit=True, can_start_runs=True) == Grant()
    in_command = options(f"{name} {' '.join(words)}", permissions=permissions, allow=ALLOW)
    found = importlib.import_module(f"ralph.agents.{name}").grant_permissions(in_command)
    assert replace(found, can_commit=True, can_start_runs=True) == Grant()


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.folder_flag])
def test_a_folder_is_given_whoever_decides_on_permissions(name: str) -> None:  # issue 12
    card = CARDS[name]
    for flags in ((), (card.permission_flags[0],)):
        words = argv(name, *flags, folders=("/task one", "/two"))
        places = [words[at + 1] for at, word in enumerate(words) if word == card.folder_flag]
        assert places == ["/task one", "/two"]


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.model_flag])
def test_the_chosen_model_takes_the_place_of_the_flags(name: str) -> None:  # issue 12
    card = CARDS[name]
    for flags in (
        (),
        ("--model", "old", "--keep"),
        ("--model=old",),
        *((alias, "old") for alias in card.model_aliases),
    ):
        words = argv(name, *flags, model="new")
        assert words[words.index(card.model_flag) + 1] == "new"
        assert "old" not in " ".join(words)
        assert ("--keep" in words) == ("--keep" in flags)


def test_who_takes_no_model_says_so() -> None:
    grant = amp.grant_permissions(options("x", model="opus"))
    assert "takes no model: 'opus' is ignored" in " ".join(grant.limits)


def test_any_other_command_is_given_a_model_as_most_take_it() -> None:
    call = command.build(options("x", model="opus")).invocation("p", "text", None)
    assert call.argv[-2:] == ("--model", "opus")


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("codex", {}, False),
        ("codex", {"permissions": "checks"}, False),
        ("codex", {"permissions": "all"}, True),
        ("claude", {"permissions": "checks"}, True),
        ("claude", {"own_sandbox": True}, False),
    ],
)
def test_no_agent_is_told_to_start_runs_that_its_sandbox_ends(
    name: str, words: dict[str, object], expected: bool
) -> None:
    assert granted(name, **words).can_start_runs is expected


@pytest.mark.parametrize(("mode", "expected"), [("danger-full-access", True), ("workspace-write", False)])
def test_codex_starts_runs_where_the_user_opened_its_sandbox(mode: str, expected: bool) -> None:
    assert granted("codex", "-s", mode).can_start_runs is expected


# -- claude ------------------------------------------------------------------------------------------
def test_claude_with_checks_may_edit_and_run_them() -> None:  # issue 12
    expected = (
        *("claude", "-p", "--output-format", "stream-json", "--verbose"),
        *("--permission-mode", "acceptEdits", "--allowedTools"),
        *("Bash(make test)", "Bash(make test:*)", "Bash(uv run *)", "Bash(git add *)"),
    )
    assert argv("claude", permissions="checks", allow=(*ALLOW, GIT_COMMANDS[0])) == expected


def test_claudes_list_of_tools_cannot_swallow_the_prompt() -> None:
    call = claude.build(options("claude", permissions="checks", allow=ALLOW)).invocation("do it", "text", None)
    assert call.argv[-1] == "Bash(uv run *)"
    assert call.stdin == "do it"


def test_claude_with_edits_or_all() -> None:
    assert granted("claude", permissions="edits", allow=ALLOW).argv == ("--permission-mode", "acceptEdits")
    assert granted("claude", permissions="all", allow=ALLOW).argv == ("--dangerously-skip-permissions",)
    assert granted("claude", permissions="checks").argv == ("--permission-mode", "acceptEdits")


# -- codex -------------------------------------------------------------------------------------------
def test_codex_says_that_it_has_a_sandbox_and_no_list() -> None:  # issue 12
    grant = granted("codex", permissions="checks", allow=ALLOW, folders=("/task",))
    assert grant.argv == ("-s", "workspace-write", "--add-dir", "/task")
    assert grant.limits == ("Codex cannot allow single commands: it may run any command inside its own sandbox.",)


def test_codex_commits_where_checks_open_what_a_commit_writes_to() -> None:  # issue 12
    assert not CARDS["codex"].can_commit
    grant = granted("codex", permissions="checks", git_folders=("/repo/.git",))
    assert (grant.argv, grant.can_commit) == (("-s", "workspace-write", "--add-dir", "/repo/.git"), True)
    edits = granted("codex", permissions="edits", git_folders=("/repo/.git",))
    assert (edits.argv, edits.can_commit) == (("-s", "workspace-write"), False)


@pytest.mark.parametrize(
    ("name", "flags", "permissions", "expected"),
    [
        ("codex", "", "all", True),
        ("codex", "-s workspace-write", "checks", False),
        ("codex", "-s danger-full-access", "edits", True),
        ("codex", "-c sandbox_mode=danger-full-access", "checks", True),
        ("codex", "--yolo", "checks", True),
        ("claude", "", "checks", True),
        ("claude", "", "edits", False),
        ("claude", "", "all", True),
        ("claude", "--permission-mode acceptEdits", "checks", False),
        ("claude", "--permission-mode acceptEdits --allowedTools Bash", "edits", True),
        ("claude", "--dangerously-skip-permissions", "edits", True),
        *((name, "", "checks", True) for name in ("gemini", "opencode", "qwen", "copilot", "amp")),
        *((name, "", "edits", False) for name in ("gemini", "opencode", "qwen", "copilot")),
        *((name, "", "all", True) for name in ("gemini", "opencode", "qwen", "copilot", "amp", "command")),
    ],
)
def test_whether_it_may_commit(name: str, flags: str, permissions: str, expected: bool) -> None:  # issue 12
    grant = granted(name, *flags.split(), permissions=permissions, allow=GIT_COMMANDS)
    assert grant.can_commit is expected


def test_an_old_codex_cannot_commit() -> None:
    found = codex.grant_permissions(options("codex", permissions="checks", git_folders=("/x",), version="0.42.0"))
    assert (found.argv, found.can_commit) == (("--full-auto",), False)


@pytest.mark.parametrize(
    ("variables", "warned"),
    [
        ({"HOME": "/tmp/me"}, True),
        ({"HOME": "/home/me"}, False),
        ({"HOME": "/home/me", "CODEX_HOME": "/tmp/x"}, True),
        ({"HOME": "/tmp/me", "CODEX_HOME": "/srv/codex"}, False),
        ({"HOME": "/tmp/me", "TMPDIR": "/var/tmp"}, False),
        ({"HOME": "/home/me", "TMPDIR": "/home/me"}, True),
        ({"HOME": "/tmpfoo"}, False),
        ({}, False),
    ],
)
def test_codex_warns_of_a_home_below_the_temporary_folder(variables: dict[str, str], warned: bool) -> None:  # issue 12
    told = codex.check_environment(variables)
    assert bool(told) is warned
    assert all("Set CODEX_HOME or TMPDIR" in text for text in told)


def test_codex_with_all_has_no_sandbox() -> None:
    assert granted("codex", permissions="all").argv == ("--dangerously-bypass-approvals-and-sandbox",)


@pytest.mark.parametrize("flag", ["-sread-only", "--config=sandbox_mode=read-only"])
def test_the_users_sandbox_is_seen_however_it_is_spelt(flag: str) -> None:
    assert granted("codex", flag, permissions="all").argv == ()


def test_an_old_codex_takes_no_folders() -> None:
    grant = codex.grant_permissions(options("codex", permissions="checks", folders=("/x",), version="0.42.0"))
    assert grant.argv == ("--full-auto",)
    assert "takes no more folders: /x may not be writable" in grant.limits[1]


# -- gemini, opencode, amp, any command --------------------------------------------------------------
def test_gemini_gets_a_policy_file() -> None:
    agent = gemini.build(options("gemini", permissions="checks", allow=(*ALLOW, "npm run test*")))
    call = agent.invocation("do it", "stream", None)
    words = " ".join(call.argv)
    assert "--approval-mode auto_edit --policy {policy.toml} --skip-trust -p do it" in words
    assert "--yolo" not in words
    (rule,) = tomllib.loads(call.files["{policy.toml}"])["rule"]
    assert rule["commandPrefix"][:2] == ["make test", "uv run"]
    assert "tail" in rule["commandPrefix"]
    assert (rule["toolName"], rule["decision"]) == ("run_shell_command", "allow")


def test_gemini_says_which_pattern_it_cannot_allow() -> None:
    limits = granted("gemini", permissions="checks", allow=("npm run test*",)).limits
    assert limits == ("Gemini CLI cannot allow `npm run test*`: `*` must be its last word.",)


def test_gemini_with_edits_or_all() -> None:
    assert granted("gemini", permissions="edits", allow=ALLOW).argv == ("--approval-mode", "auto_edit")
    assert granted("gemini", permissions="all") == Grant(argv=("--yolo",))


def test_opencode_gets_rules_in_a_variable_and_none_that_asks() -> None:
    agent = opencode.build(options("opencode", permissions="checks", allow=ALLOW, folders=("/task/",)))
    call = agent.invocation("do it", "stream", None)
    assert "--auto" not in call.argv
    rules = json.loads(call.environment["OPENCODE_PERMISSION"])
    assert list(rules["bash"].items())[:3] == [("*", "deny"), ("make test", "allow"), ("make test *", "allow")]
    assert rules["bash"]["uv run"] == rules["bash"]["uv run *"] == rules["bash"]["tail *"] == "allow"
    assert rules["external_directory"] == {"*": "deny", "/task/*": "allow"}
    assert "ask" not in call.environment["OPENCODE_PERMISSION"].replace("/task", "")


def test_opencode_with_edits_or_all() -> None:
    rules = json.loads(granted("opencode", permissions="edits", allow=ALLOW).environment["OPENCODE_PERMISSION"])
    assert (rules["edit"], rules["bash"]) == ("allow", "deny")
    assert granted("opencode", permissions="all") == Grant(argv=("--auto",))


def test_amp_says_that_it_has_all_permissions() -> None:
    grant = granted("amp", permissions="checks", allow=ALLOW)
    assert grant.argv == ("--dangerously-allow-all",)
    assert "Amp runs with all permissions" in grant.limits[0]
    assert granted("amp", permissions="all").limits == ()


def test_any_command_is_called_as_it_is() -> None:
    assert argv("command", permissions="checks", allow=ALLOW) == ("command",)


# -- the agent's own sandbox -------------------------------------------------------------------------
def test_claude_keeps_its_commands_in_its_own_sandbox_and_its_edits_in_the_work_tree() -> None:
    words = argv("claude", "--dangerously-skip-permissions", own_sandbox=True, permissions="all")
    assert "--dangerously-skip-permissions" not in words
    assert words[words.index("--permission-mode") + 1] == "acceptEdits"
    told = json.loads(words[words.index("--settings") + 1])["sandbox"]
    assert told == {
        "enabled": True,
        "failIfUnavailable": True,
        "autoAllowBashIfSandboxed": True,
        "allowUnsandboxedCommands": False,
    }


@pytest.mark.parametrize("permissions", ["all", "checks", "edits"])
def test_codex_keeps_its_own_sandbox_whatever_it_may_do(permissions: str) -> None:
    words = argv("codex", own_sandbox=True, permissions=permissions, git_folders=("/repo/.git",))
    assert words[words.index("-s") + 1] == "workspace-write"
    assert not any("bypass" in word for word in words)


def test_only_agents_that_have_a_sandbox_say_so() -> None:
    assert {name for name, card in CARDS.items() if card.has_own_sandbox} == {"claude", "codex"}
