"""What watchers of a run hear: no secrets."""

from ralph.engine.redaction import RedactingWatcher
from ralph.model.events import (
    Committed,
    Debugged,
    Event,
    FileEdit,
    Finished,
    GateEnded,
    GateStarted,
    Planned,
    RunEnded,
    Said,
    Spent,
    Todo,
    ToolEnded,
    ToolStarted,
)
from support.scripted_processes import Listener

TOKEN = "ghp_" + "a1" * 18


def hear(*events: Event, learned: str = "") -> list[Event]:
    listener = Listener()
    watcher = RedactingWatcher((listener,), {"DEPLOY_KEY": "open sesame"})
    watcher.learn({"EXTRA_SECRET": learned})
    watcher(1.0, 1, events)
    return [event for _, event in listener.told]


def test_secrets_are_hidden_whoever_says_them() -> None:
    assert hear(
        Said(f"the token is {TOKEN}"),
        ToolStarted(id="1", name="Bash", summary="curl -H open sesame"),
        ToolEnded(id="1", output=f"TOKEN={TOKEN}", error="open sesame"),
        ToolStarted(id="2", name="Edit", edit=FileEdit(added=1, hunk=f"+KEY = '{TOKEN}'")),
        Planned((Todo("use open sesame"),)),
        Finished(ok=True, text=TOKEN),
    ) == [
        Said("the token is ***"),
        ToolStarted(id="1", name="Bash", summary="curl -H ***"),
        ToolEnded(id="1", output="TOKEN=***", error="***"),
        ToolStarted(id="2", name="Edit", edit=FileEdit(added=1, hunk="+KEY = '***'")),
        Planned((Todo("use ***"),)),
        Finished(ok=True, text="***"),
    ]


def test_what_the_loop_itself_tells_holds_none() -> None:
    def events(word: str) -> list[Event]:
        return [
            GateStarted(f"check {word}", command=f"run {word}"),
            GateEnded(gate=f"check {word}", passed=False, exit_code=1, seconds=1.0, detail=word, tail=f"red: {word}"),
            Committed(message=f"Use {word}", problems=(f"push {word}",)),
            Debugged(f"Prompt: {word}"),
            RunEnded(
                run="r",
                outcome="blocked",
                why=f"red: {word}",
                exit_code=3,
                iterations=1,
                seconds=1.0,
                question=f"is it {word}?",
                problems=(f"push {word}",),
            ),
        ]

    assert hear(*events("open sesame")) == events("***")


def test_values_of_the_agents_own_variables_are_hidden_too() -> None:
    assert hear(Said("it is abracadabra"), learned="abracadabra") == [Said("it is ***")]


def test_what_holds_none_is_the_very_same_event() -> None:
    events: tuple[Event, ...] = (
        Said("commit " + "0a1b2c3d" * 5),
        Spent(0.5),
        ToolStarted(id="2", name="Edit", edit=FileEdit(added=1, hunk="+x = 1")),
        Planned((Todo("x"),)),
    )
    assert all(heard is told for heard, told in zip(hear(*events), events, strict=True))


def test_watchers_are_told_when_and_in_which_iteration() -> None:
    told: list[tuple[float, int]] = []
    RedactingWatcher([lambda at, iteration, events: told.append((at, iteration))], {})(1.5, 7, [Said("x")])
    assert told == [(1.5, 7)]
