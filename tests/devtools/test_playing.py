"""A script played to whoever asks."""

from typing import Any

import pytest

from ralph.agents._script import COMMIT_QUESTION, ScriptError, ScriptRun
from ralph.devtools.conversation import (
    Disconnect,
    ModelReply,
    ModelRequest,
    Pause,
    RawText,
    ReplyText,
    ReplyTokens,
    ServiceError,
    ToolCall,
)
from ralph.devtools.playing import FOREVER_SECONDS, SIDE_REPLY, ScriptPlayback, check_script
from ralph.devtools.tool_names import SHELL_TOOLS, TODO_TOOLS

CLAUDE = frozenset({"Bash", "Edit", "Read", "Write", "TaskCreate", "TaskUpdate"})
DONE = {"say": "done"}


def playing(*runs: object) -> ScriptPlayback:
    return ScriptPlayback([ScriptRun(run) for run in runs])


def answers(played: ScriptPlayback, count: int, session: str = "a", **more: Any) -> list[ModelReply]:
    """What one conversation hears, one question after another."""
    asked = [ModelRequest(session=session, tools=CLAUDE, fresh=number == 0, **more) for number in range(count)]
    return [played.answer_request(question)[1] for question in asked]


def one(*steps: dict[str, Any], tools: frozenset[str] = CLAUDE) -> ModelReply:
    return playing([*steps]).answer_request(ModelRequest(session="a", tools=tools))[1]


# -- runs -----------------------------------------------------------------------------------------
def test_every_conversation_is_a_run_and_the_last_repeats() -> None:
    played = playing([{"say": "one"}], [{"say": "two"}])
    told = [played.answer_request(ModelRequest(session=name, tools=CLAUDE)) for name in "abcb"]
    assert [number for number, _ in told] == [1, 2, 3, 2]
    assert [answer.parts for _, answer in told] == [(ReplyText("one"),), *[(ReplyText("two"),)] * 3]


def test_without_a_name_a_fresh_question_after_an_answer_is_a_new_run() -> None:
    played = playing([{"error": {"status": 500, "message": "x"}}, {"bash": "ls"}, DONE], [{"say": "two"}])
    fresh, later = ModelRequest(tools=CLAUDE), ModelRequest(tools=CLAUDE, fresh=False)
    assert [played.answer_request(question)[0] for question in (fresh, fresh, later, fresh)] == [1, 1, 1, 2]


def test_a_request_without_tools_plays_nothing() -> None:
    played = playing([{"say": "one"}])
    assert played.answer_request(ModelRequest(session="a")) == (0, SIDE_REPLY)
    assert played.answer_request(ModelRequest(session="a", tools=CLAUDE))[1].parts == (ReplyText("one"),)


@pytest.mark.parametrize(("run", "message"), [({"steps": [DONE], "message": "Add it"}, "Add it"), ([DONE], "done")])
def test_a_commit_message_is_answered_without_playing(run: object, message: str) -> None:
    played = playing(run, [{"say": "two"}])
    answers(played, 1)
    question = ModelRequest(session="b", tools=CLAUDE, asked=f"{COMMIT_QUESTION} for the changes.")
    assert played.answer_request(question) == (0, ModelReply((ReplyText(message),)))
    assert played.answer_request(ModelRequest(session="c", tools=CLAUDE))[1].parts == (ReplyText("two"),)


def test_it_is_over_when_the_last_run_had_its_last_word() -> None:
    played = playing([DONE], [{"bash": "ls"}, DONE])
    seen = []
    for name in "abb":
        played.answer_request(ModelRequest(session=name, tools=CLAUDE))
        seen.append(played.is_over)
    assert seen == [False, False, True]


# -- answers --------------------------------------------------------------------------------------
def test_words_go_with_the_tool_they_lead_to() -> None:
    told = answers(playing([{"think": "hm"}, {"say": "so"}, {"bash": "ls"}, DONE]), 3)
    call = ToolCall("Bash", {"command": "ls", "description": "scripted"})
    assert told[0].parts == (ReplyText("hm", thought=True), ReplyText("so"), call)
    assert told[0].has_tool_calls
    assert [answer.parts for answer in told[1:]] == [(ReplyText("done"),), (ReplyText("done"),)]


def test_a_run_that_ends_with_a_tool_says_its_last_word_again() -> None:
    assert answers(playing([DONE, {"bash": "ls"}]), 2)[1].parts == (ReplyText("done"),)
    assert answers(playing([{"bash": "ls"}]), 2)[1].parts == ()


def test_the_result_is_the_last_word() -> None:
    assert one({"say": "a"}, {"result": "b"}).parts == (ReplyText("a"), ReplyText("b"))
    assert answers(playing([DONE, {"bash": "ls"}, {"result": ""}]), 2)[1].parts == ()


def test_sleep_raw_usage_and_cost() -> None:
    answer = one({"usage": {"input_tokens": 7}}, {"cost": 1}, {"sleep": 2}, {"raw": "x"}, DONE)
    assert answer == ModelReply((Pause(2.0), RawText("x"), ReplyText("done")), ReplyTokens(input_tokens=7))


def test_trouble_ends_an_answer_and_a_retry_gets_what_follows() -> None:
    told = answers(playing([{"say": "a"}, {"cut": True}, {"empty": True}, {"overload": True}, {"hang": True}, DONE]), 5)
    assert [answer.parts for answer in told] == [
        (ReplyText("a"), Disconnect()),
        (),
        (ServiceError(status=529, message="Overloaded"),),
        (Pause(FOREVER_SECONDS),),
        (ReplyText("done"),),
    ]


def test_the_last_trouble_is_repeated() -> None:
    error = {"status": 429, "message": "slow", "retry_after": 1}
    told = answers(playing([{"error": error}]), 3)
    assert [answer.failure for answer in told] == [ServiceError(status=429, message="slow", retry_after=1)] * 3


def test_an_error_may_come_several_times() -> None:
    error = {"status": 500, "message": "x", "times": 2}
    told = answers(playing([{"error": error}, {"error": {"status": 401, "message": "y"}}, DONE]), 4)
    assert [answer.failure and answer.failure.status for answer in told] == [500, 500, 401, None]


def test_an_error_after_words_is_told_in_the_stream() -> None:
    answer = one({"say": "a"}, {"overload": True}, DONE)
    assert answer.failure is None
    assert answer.parts == (ReplyText("a"), ServiceError(status=529, message="Overloaded"))


# -- tools ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SHELL_TOOLS)
def test_every_client_is_told_to_run_a_command_its_own_way(name: str) -> None:
    (call,) = one({"bash": "echo 'a\"b'"}, tools=frozenset({name, "other"})).parts
    assert isinstance(call, ToolCall)
    assert call.tool == name
    assert "echo" in str(call.given)


def test_a_client_without_a_shell_is_told() -> None:
    with pytest.raises(ScriptError, match="offers no tool to run a command: other"):
        one({"bash": "ls"}, tools=frozenset({"other"}))


@pytest.mark.parametrize(
    ("tools", "tool", "given"),
    [
        ({"Write", "Bash"}, "Write", {"file_path": "d/a", "content": "x\ny\n"}),
        ({"write", "bash"}, "write", {"filePath": "d/a", "content": "x\ny\n"}),
        ({"write_file"}, "write_file", {"file_path": "d/a", "content": "x\ny\n"}),
        ({"create", "edit", "bash"}, "create", {"path": "d/a", "file_text": "x\ny\n"}),
        (
            {"write_file", "edit", "shell_command"},  # Qwen's wants an absolute path
            "shell_command",
            {"command": "mkdir -p d && echo eAp5Cg== | base64 -d > d/a"},
        ),
        ({"apply_patch"}, "apply_patch", "*** Begin Patch\n*** Add File: d/a\n+x\n+y\n*** End Patch"),
        ({"shell_command"}, "shell_command", {"command": "mkdir -p d && echo eAp5Cg== | base64 -d > d/a"}),
    ],
)
def test_every_client_is_told_to_write_its_own_way(tools: set[str], tool: str, given: object) -> None:
    answer = one({"write": {"path": "d/a", "content": "x\ny\n"}}, tools=frozenset(tools))
    assert answer.parts == (ToolCall(tool, given),)  # type: ignore[arg-type]  # a dict here, any mapping there


@pytest.mark.parametrize("tools", [{"Edit", "Read"}, {"edit", "read"}])
def test_who_must_read_before_an_edit_does(tools: set[str]) -> None:
    played = playing([{"edit": {"path": "a", "old": "x", "new": "y"}}, DONE])
    told = [played.answer_request(ModelRequest(session="a", tools=frozenset(tools)))[1] for _ in range(3)]
    assert [part.tool.lower() for answer in told[:2] for part in answer.parts if isinstance(part, ToolCall)] == [
        "read",
        "edit",
    ]
    assert told[2].parts == (ReplyText("done"),)


def test_claudes_tasks_are_made_once_and_moved_by_number() -> None:
    told = answers(playing([{"todo": ["[x] read", "write"]}, {"todo": ["[x] read", "[>] write", "test"]}, DONE]), 5)
    calls = [[(part.tool, part.given) for part in answer.parts if isinstance(part, ToolCall)] for answer in told]
    subjects = [[given.get("subject") for _, given in made if not isinstance(given, str)] for made in calls]
    assert [subjects[0], subjects[2]] == [["read", "write"], ["test"]]
    assert calls[1] == [("TaskUpdate", {"taskId": "1", "status": "completed"})]
    assert calls[3] == [("TaskUpdate", {"taskId": "2", "status": "in_progress"})]


@pytest.mark.parametrize("name", TODO_TOOLS)
def test_others_write_their_plan_whole(name: str) -> None:
    (call,) = one({"todo": ["[x] read", "write"]}, tools=frozenset({name})).parts
    assert isinstance(call, ToolCall)
    assert call.tool == name


def test_a_client_without_a_plan_goes_on() -> None:
    assert one({"todo": ["read"]}, DONE, tools=frozenset({"bash"})).parts == (ReplyText("done"),)


# -- faults ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "step",
    [{"error": {"status": "x"}}, {"usage": {"money": 1}}, {"write": {"path": "x"}}, {"sleep": "long"}, {"todo": [1]}],
)
def test_a_step_that_is_given_the_wrong_things_is_told(step: dict[str, Any]) -> None:
    with pytest.raises(ScriptError, match="is not what"):
        one(step, DONE)


@pytest.mark.parametrize("step", [{}, {"dance": 1}, {"say": "a", "bash": "b"}, "say", {"write": "x"}, {"error": 500}])
def test_what_is_no_step_is_found_before_anyone_asks(step: object) -> None:
    with pytest.raises(ScriptError):
        check_script([ScriptRun([step])])
