from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from ralph.core.supervised.bus_format import canonicalize_type, encode_message, find_append_point, parse_bus
from ralph.model.message import MESSAGE_TYPES, Message, Parent

WHEN = datetime(2026, 2, 5, 10, 0, tzinfo=UTC)
ID = "MSG-20260205-100000-000000001-PID00042-0001"

AWKWARD = [
    "---",
    "\\---",
    "---\r",
    "msg_id: MSG-1",
    "\\msg_id:",
    "type: FACT",
    "lines: 7",
    "[2026-02-01 10:00:00] A: b",
]
BODIES = st.text() | st.lists(st.sampled_from(AWKWARD) | st.text(max_size=5), max_size=6).map("\n".join)
IDS = st.integers(0, 9999).map(lambda n: f"MSG-20260205-100000-000000001-PID00042-{n:04d}")
TIMES = st.datetimes(timezones=st.just(UTC))
VALUES = st.text(max_size=12) | st.sampled_from(
    ["null", "12", "a: b", "# c", "'", '"', "a\n---\nmsg_id: x", " a ", "-"]
)
PARENTS = st.lists(st.builds(Parent, VALUES.filter(bool), VALUES), max_size=3).map(tuple)
MESSAGES = st.builds(
    Message,
    msg_id=IDS,
    ts=TIMES,
    type=st.sampled_from(["FACT", "INFO", "other"]),
    body=BODIES,
    project_id=VALUES,
    task_id=VALUES,
    run_id=VALUES,
    issue_id=VALUES,
    parents=PARENTS,
)


def message(body: str, project_id: str = "", *, task_id: str = "", run_id: str = "", issue_id: str = "") -> Message:
    return Message(
        msg_id=ID,
        ts=WHEN,
        type="FACT",
        body=body,
        project_id=project_id,
        task_id=task_id,
        run_id=run_id,
        issue_id=issue_id,
    )


def joined(data: bytes, *messages: Message) -> bytes:
    """What a writer makes of a file."""
    for each in messages:
        joint = find_append_point(data, at_start=True)
        assert joint is not None
        data = data[: joint.keep] + joint.separator + encode_message(each)
    return data


def bodies(data: bytes) -> list[str]:
    return [message.body for message in parse_bus(data).messages]


# -- the documented format ------------------------------------------------------------------------
def test_an_ordinary_entry_is_the_documented_one_to_the_byte() -> None:  # §4 Bus entry
    assert encode_message(message("hello", project_id="my-project", task_id="task-001", run_id="run-1")) == (
        b"---\n"
        b"msg_id: MSG-20260205-100000-000000001-PID00042-0001\n"
        b"ts: 2026-02-05T10:00:00Z\n"
        b"type: FACT\n"
        b"project_id: my-project\n"
        b"task_id: task-001\n"
        b"run_id: run-1\n"
        b"---\n"
        b"hello\n"
    )


def test_entries_are_parted_by_a_blank_line() -> None:
    data = joined(b"", message("one"), message("two"))
    assert data == encode_message(message("one")) + b"\n" + encode_message(message("two"))


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("a\n---\nb", b"a\n\\---\nb\n"),
        ("\\---", b"\\\\---\n"),
        ("---\r", b"\\---\r\n"),
        ("msg_id: x", b"\\msg_id: x\n"),
        ("----", b"----\n"),
        ("a\nmsg_id: x", b"a\nmsg_id: x\n"),
    ],
)
def test_only_what_would_break_the_framing_is_escaped(body: str, written: bytes) -> None:  # §3-13
    data = encode_message(message(body))
    assert data.endswith(b"\n---\n" + written)
    assert bodies(data) == [body]


def test_several_lines_are_counted_one_is_not() -> None:
    assert b"\nlines: 3\n---\n" in encode_message(message("a\n\nb"))
    assert b"lines" not in encode_message(message("a"))


@pytest.mark.parametrize("value", ["x\ntype: ERROR", "x\n---\nmsg_id: y", "null", "007", "yes", "a: b", "", " x", "é"])
def test_no_value_breaks_out_of_its_line(value: str) -> None:
    data = encode_message(message("body", project_id=value, issue_id="i"))
    assert parse_bus(data).messages == (message("body", project_id=value, issue_id="i"),)
    assert yaml.safe_load(data.split(b"---\n")[1])["project_id"] == value  # for readers with a YAML library


@given(MESSAGES)
def test_other_readers_find_valid_yaml_of_the_same_meaning(one: Message) -> None:
    fields = yaml.safe_load(encode_message(one).split(b"\n---\n")[0].decode())
    assert [fields[key] for key in ("msg_id", "type", "task_id")] == [one.msg_id, one.type, one.task_id]
    assert [p["msg_id"] for p in fields.get("parents", [])] == [p.msg_id for p in one.parents]


# -- reading --------------------------------------------------------------------------------------
def test_legacy_lines_are_read() -> None:  # §4 Bus entry
    data = b"# notes\n[2026-02-01 10:00:00] FACT: first\n[2026-02-01T10:00:01] just words\nnothing\n"
    first, second = parse_bus(data).messages
    assert first == Message(
        msg_id="LEGACY-LINE-000000002", ts=datetime(2026, 2, 1, 10, tzinfo=UTC), type="FACT", body="first"
    )
    assert (second.msg_id, second.type, second.body) == ("LEGACY-LINE-000000003", "INFO", "just words")


@pytest.mark.parametrize(
    ("line", "kind", "body"),
    [
        ("[2026-02-01 10:00:00] progress: half", "PROGRESS", "half"),
        ("[2026-02-01 10:00:00] WAIT_without_restart: for you", "wait_without_restart", "for you"),
        ("[2026-02-01 10:00:00] Attempt 1: Agent failed (exit 1)", "INFO", "Attempt 1: Agent failed (exit 1)"),
        ("[2026-02-01 10:00:00] http://x", "INFO", "http://x"),
        ("  [2026-02-01T10:00:00Z] HOME/MADE: x  ", "HOME/MADE", "x"),
        ("[2026-02-01 10:00:00] FACT:", "INFO", "FACT:"),
    ],
)
def test_the_type_of_a_legacy_line(line: str, kind: str, body: str) -> None:
    (found,) = parse_bus(f"{line}\n".encode()).messages
    assert (found.type, found.body) == (kind, body)


@pytest.mark.parametrize("line", ["[yesterday] FACT: x", "[2026-13-01 10:00:00] FACT: x", "[2026-02-01]", "[] x", "x"])
def test_a_line_without_a_good_time_is_skipped(line: str) -> None:  # §4 Bus entry
    assert parse_bus(f"{line}\n".encode()).messages == ()


def test_an_entry_with_a_bad_time_is_skipped_and_the_next_is_read() -> None:  # §4 Bus entry
    bad = b"---\nmsg_id: MSG-x\nts: yesterday\ntype: FACT\n---\nlost\n\n"
    assert parse_bus(bad + encode_message(message("kept"))).messages == (message("kept"),)


def test_without_a_type_it_is_info() -> None:  # §4 Bus entry
    (found,) = parse_bus(b"---\nmsg_id: a\nts: 2026-02-05T10:00:00Z\n---\nbody\n").messages
    assert found == Message(msg_id="a", ts=WHEN, type="INFO", body="body")


def test_unknown_types_are_kept_and_known_ones_spelled_right() -> None:
    (odd,) = parse_bus(b"---\nmsg_id: a\nts: 2026-02-05\ntype: Odd\n---\nx\n").messages
    assert odd.type == "Odd"
    assert [canonicalize_type(word) for word in ("fact", "Wait_Without_Restart")] == ["FACT", "wait_without_restart"]
    assert all(canonicalize_type(word) == word for word in MESSAGE_TYPES)


def test_an_agents_own_entry_needs_no_more_than_a_type() -> None:  # 003-13
    (found,) = parse_bus(b"hello\n\n---\ntype: wait_without_restart\n---\nWaiting for user input\n").messages
    assert (found.msg_id, found.type) == ("LEGACY-LINE-000000003", "wait_without_restart")
    assert found.body == "Waiting for user input"
    (silent,) = parse_bus(b"---\ntype: wait_without_restart\n---\n").messages
    assert silent.type == "wait_without_restart"


def test_the_time_may_be_told_by_the_id() -> None:
    (found,) = parse_bus(f"---\nmsg_id: {ID}\ntype: FACT\n---\nx\n".encode()).messages
    assert found.ts == WHEN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parents:\n  - msg-001\n  - msg-002\n", (Parent("msg-001"), Parent("msg-002"))),
        ("parents:\n- 'it''s'\n", (Parent("it's"),)),
        ("parents: [msg-001, msg-002]\n", (Parent("msg-001"), Parent("msg-002"))),
        ('parents: ["a", {"msg_id": "b", "kind": "blocks"}]\n', (Parent("a"), Parent("b", "blocks"))),
        (
            "parents:\n    - msg_id: x\n      kind: depends_on\n      meta:\n        k: v\n    - msg_id: y\n",
            (Parent("x", "depends_on"), Parent("y")),
        ),
        ("parents: nonsense\n", (Parent("nonsense"),)),
        ("parents:\n", ()),
        ("parents: []\n", ()),
    ],
)
def test_parents_are_objects_however_they_were_written(text: str, expected: tuple[Parent, ...]) -> None:  # §4
    (found,) = parse_bus(f"---\nmsg_id: a\nts: 2026-02-05\n{text}---\nx\n".encode()).messages
    assert found.parents == expected


def test_an_issue_has_its_own_id_as_issue_id() -> None:  # §4 Bus entry
    data = b"---\nmsg_id: a\nts: 2026-02-05\ntype: ISSUE\n---\nx\n"
    assert parse_bus(data).messages[0].issue_id == "a"
    assert parse_bus(data.replace(b"type", b"issue_id: b\ntype")).messages[0].issue_id == "b"


def test_a_rule_in_somebody_elses_body_breaks_nothing() -> None:  # §3-13
    foreign = b"---\nmsg_id: a\nts: 2026-02-05\ntype: FACT\n---\nabove\n---\nbelow\n"
    assert bodies(foreign + b"\n" + encode_message(message("next"))) == ["above\n---\nbelow", "next"]


def test_what_was_edited_by_hand_is_shown_whatever_the_count() -> None:
    data = encode_message(message("a\nb")).replace(b"b\n", b"b\nadded\n")
    assert bodies(data + b"\n" + encode_message(message("next"))) == ["a\nb\nadded", "next"]
    data = encode_message(message("a\nb\nc")).replace(b"a\nb\n", b"")
    assert bodies(data + b"\n" + encode_message(message("next"))) == ["c", "next"]


@pytest.mark.parametrize(
    ("written", "value"), [("null", ""), ("~", ""), ("'it''s'", "it's"), ('"a\\tb"', "a\tb"), ('"broken', "broken")]
)
def test_values_as_other_writers_of_yaml_put_them(written: str, value: str) -> None:
    (found,) = parse_bus(f"---\nmsg_id: a\nts: 2026-02-05\nproject_id: {written}\n---\nx\n".encode()).messages
    assert found.project_id == value


def test_windows_line_ends_are_read() -> None:
    data = b"---\r\nmsg_id: a\r\nts: 2026-02-05\r\ntype: FACT\r\n---\r\none\r\ntwo\r\n"
    (found,) = parse_bus(data).messages
    assert (found.msg_id, found.type, found.body) == ("a", "FACT", "one\ntwo")


# -- any bytes, any crash -------------------------------------------------------------------------
@given(st.lists(MESSAGES, max_size=6))
def test_any_sequence_of_messages_is_read_back(messages: list[Message]) -> None:
    data = joined(b"", *messages)
    assert list(parse_bus(data).messages) == messages
    assert parse_bus(data).bytes_read == len(data)


@given(
    st.binary() | st.lists(st.sampled_from([a.encode() for a in AWKWARD] + [b"", b"ts: 1", b"\xff"])).map(b"\n".join)
)
@example(b"---")
@example(b"---\nmsg_id:")
@example(b"---\nts: 0001-01-01T00:00:00+23:59\n---\n\n")
@example(b"---\nlines: 999999999\nparents: [1, {}]\n---\n")
@example(b"[2026-02-01 10:00:00] " + b" " * 100_000)
def test_any_bytes_are_read_and_hurt_no_message_behind_them(data: bytes) -> None:
    assert parse_bus(data).bytes_read <= len(data)
    after = joined(data, message("one"), message("two\n---"))
    assert parse_bus(after).messages[-2:] == (message("one"), message("two\n---"))


@given(st.lists(MESSAGES, max_size=3), MESSAGES, MESSAGES, st.data())
def test_a_torn_tail_loses_only_the_torn_entry_and_the_next_append_repairs_it(
    before: list[Message], torn: Message, after: Message, data: st.DataObject
) -> None:  # FACTS §6
    whole = joined(b"", *before)
    full = joined(whole, torn)
    cut = full[: data.draw(st.integers(len(whole), len(full) - 1))] + b"\0" * data.draw(st.integers(0, 2))
    assert list(parse_bus(cut).messages) == before
    assert list(parse_bus(joined(cut, after)).messages) == [*before, after]


def test_every_cut_of_a_message_of_many_lines_is_seen() -> None:
    whole = joined(b"", message("kept\n"))
    full = joined(whole, message("a\n\n---\n[x] b\n\nc\n\n"))
    for length in range(len(whole), len(full)):
        assert bodies(full[:length]) == ["kept\n"]
        assert bodies(joined(full[:length], message("next"))) == ["kept\n", "next"]
        if length > len(whole) + 1:  # a blank line alone may be the end of a body
            assert joined(full[:length], message("next")) == joined(whole, message("next"))


def test_what_others_left_without_a_newline_is_kept() -> None:
    by_hand = b"---\ntype: QUESTION\n---\nwhich one?"
    assert bodies(by_hand) == []  # perhaps still being written
    assert bodies(joined(by_hand, message("next"))) == ["which one?", "next"]
    assert bodies(joined(encode_message(message("said")) + b"and more", message("next"))) == ["said\nand more", "next"]


def test_a_torn_header_nobody_repaired_does_not_take_the_next_entry_with_it() -> None:
    torn = encode_message(message("torn"))[:90]
    assert bodies(torn + b"\n" + encode_message(message("next"))) == ["next"]


@given(st.lists(MESSAGES, min_size=1, max_size=4), st.data())
def test_reading_on_from_where_the_last_reading_ended_gives_the_same(
    messages: list[Message], data: st.DataObject
) -> None:
    full = joined(b"", *messages)
    cut = data.draw(st.integers(0, len(full)))
    first = parse_bus(full[:cut])
    rest = parse_bus(full[first.bytes_read :], 1 + full.count(b"\n", 0, first.bytes_read))
    assert [*first.messages, *rest.messages] == messages


def test_a_window_that_shows_no_entry_says_so() -> None:
    data = joined(b"", message("x" * 100))
    assert find_append_point(data[-50:], at_start=False) is None
    assert find_append_point(b"", at_start=True) == find_append_point(b"\0\0", at_start=True)
