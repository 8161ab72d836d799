"""Everything a person can do on the page, to a real run of a scripted agent, on a desktop and on a phone."""

import re
from functools import partial
from typing import Any

import pytest

from support.browser import OpenPage
from support.browser_room import PageRoom, wait_until

pytestmark = pytest.mark.browser

QUESTION = "Should it be loud?"


def open_task(page: Any, name: str) -> None:
    page.evaluate(f"location.hash = '#/task/{name}'")
    page.wait_for_selector(f".page h1:has-text('{name}')")


def open_board(page: Any) -> None:
    page.evaluate("location.hash = '#/'")
    page.wait_for_selector(".board")


def card(page: Any, name: str) -> Any:
    return page.locator(f".card[data-task='{name}']")


def wait_for_lane(page: Any, name: str, lane: str) -> None:
    page.wait_for_selector(f".card[data-task='{name}'][data-stage='{lane}']", state="attached")


def press(page: Any, action: str) -> None:
    page.locator(f".actions [data-action='{action}']").click()


def send(page: Any, button: str, **values: str) -> None:
    """Fills the dialog and sends it."""
    for name, value in values.items():
        field = page.locator(f"dialog [name='{name}']")
        if field.evaluate("node => node.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    page.locator("dialog button[type=submit]", has_text=button).click()
    page.wait_for_selector("dialog", state="detached")


def test_cards_move_while_tasks_are_steered(room: PageRoom, open_page: OpenPage) -> None:
    room.add_tasks("T-1", "T-2", "T-3", "T-4")
    room.hold("T-1", "T-2", "T-3")
    room.ask("T-4", QUESTION)
    page = open_page(room.serve())
    assert card(page, "T-1").get_attribute("data-stage") == "todo"

    page.locator("#start").click()
    send(page, "Start", kind="execute", jobs="4")
    for name in ("T-1", "T-2", "T-3"):
        wait_for_lane(page, name, "coder")

    # A note is in that task's next prompt, and in no other.
    wait_until(lambda: len(room.read_prompts("T-1")) == 1, "the first agent of T-1")
    open_task(page, "T-1")
    press(page, "note")
    send(page, "Send note", text="Mind the gap <b>please</b>")
    room.let_go("T-1")
    wait_until(lambda: len(room.read_prompts("T-1")) >= 4, "four agents of T-1")
    assert ["Mind the gap <b>please</b>" in prompt for prompt in room.read_prompts("T-1")][:4] == [
        *(False, True, False, False)
    ]
    assert not any("Mind the gap" in prompt for prompt in room.read_prompts("T-2"))

    # Paused, no new agent starts; resumed, it goes on.
    open_task(page, "T-2")
    press(page, "pause")
    send(page, "Pause")
    page.wait_for_selector(".banner:has-text('Paused by')")
    room.let_go("T-2")
    open_board(page)
    wait_for_lane(page, "T-1", "done")
    assert len(room.read_prompts("T-2")) == 1
    open_task(page, "T-2")
    press(page, "resume")
    open_board(page)
    wait_for_lane(page, "T-2", "done")

    # A question is shown first; its answer is in the next prompt, and the task is done.
    tile = page.locator(".tile[data-tone=question]")
    tile.wait_for()
    assert QUESTION in tile.inner_text()
    tile.get_by_role("button", name="Answer").click()
    send(page, "Send answer", text="As loud as you can")
    wait_for_lane(page, "T-4", "done")
    assert any("As loud as you can" in prompt for prompt in room.read_prompts("T-4"))

    # Cancelled, the work stops; retried, it is reopened.
    open_task(page, "T-3")
    press(page, "cancel")
    send(page, "Cancel it")
    page.locator(".actions [data-action='retry']").wait_for()
    assert room.read_task("T-3")["status"] == "cancelled"
    room.let_go("T-3")
    press(page, "retry")
    wait_until(lambda: room.read_task("T-3")["status"] != "cancelled", "T-3 is reopened")


def test_tasks_are_added_and_changed(room: PageRoom, open_page: OpenPage) -> None:
    room.add_tasks("T-1")
    page = open_page(room.serve())

    if open_page.is_phone:
        page.locator("#more").click()
        page.locator("dialog button", has_text="Add a task").click()
    else:
        page.locator("#add-task").click()
    send(page, "Add task", title="Speak up", acceptance="- one\n- two", command="true", id="T-9", spec_id="files")
    page.wait_for_selector(".page h1:has-text('Speak up')")
    assert room.read_task("T-9")["completion_spec"]["acceptance_criteria"] == ["one", "two"]

    press(page, "edit")
    send(page, "Save", title="Speak <i>up</i> now", priority="1", needs="T-1")
    page.wait_for_selector(".page h1:has-text('Speak <i>up</i> now')")
    assert (room.read_task("T-9")["priority"], room.read_task("T-9")["depends_on"]) == (1, ["T-1"])

    page.keyboard.press("-")
    wait_until(lambda: room.read_task("T-9")["priority"] == 2, "the key for a lower priority")

    press(page, "pause")
    send(page, "Pause")
    page.wait_for_selector(".banner:has-text('Paused by')")
    press(page, "resume")
    page.locator(".actions [data-action=pause]").wait_for()
    press(page, "cancel")
    send(page, "Cancel it")
    page.locator(".actions [data-action=retry]").wait_for()
    assert room.read_task("T-9")["status"] == "cancelled"


def has_prompt(room: PageRoom, task: str) -> bool:
    return len(room.read_prompts(task)) == 1


def is_done(room: PageRoom, task: str) -> bool:
    return bool(room.read_task(task)["status"] == "done")


def test_all_tasks_are_paused_and_resumed_at_once(room: PageRoom, open_page: OpenPage) -> None:
    room.add_tasks("T-1", "T-2")
    room.hold("T-1", "T-2")
    page = open_page(room.serve())
    page.locator("#start").click()
    send(page, "Start", kind="execute", jobs="2")
    for name in ("T-1", "T-2"):
        wait_for_lane(page, name, "coder")
        wait_until(partial(has_prompt, room, name), f"the first agent of {name}")

    page.get_by_role("button", name="Pause all").click()
    send(page, "Pause")
    everyone = page.get_by_role("button", name="Resume all")
    everyone.wait_for()
    room.let_go("T-1", "T-2")
    for name in ("T-1", "T-2"):
        wait_for_lane(page, name, "reviewer")
    assert [len(room.read_prompts(name)) for name in ("T-1", "T-2")] == [1, 1]

    # Without the browser and its server all goes on.
    everyone.click()
    everyone.wait_for(state="hidden")
    page.close()
    room.stop_servers()
    for name in ("T-1", "T-2"):
        wait_until(partial(is_done, room, name), f"{name} is done", 60)


def test_another_browser_gets_a_link_of_its_own(room: PageRoom, open_page: OpenPage) -> None:
    page = open_page(room.serve())
    page.locator("#more").click()
    page.locator("dialog button", has_text="Link").click()
    link = page.locator("dialog input[readonly]").input_value()

    open_page(link).wait_for_selector(".board")


def test_a_run_is_started_read_and_outlives_the_server(room: PageRoom, open_page: OpenPage) -> None:
    room.hold("run")
    page = open_page(room.serve())
    page.wait_for_selector(".empty:has-text('ralph run -p')")  # what to type, where there is nothing yet
    page.locator("#start").click()
    send(page, "Start", kind="run", prompt="Make it work", max_iterations="3")

    page.wait_for_selector(".page h1:has-text('Make it work')")
    page.wait_for_selector(".strip button[data-iteration='1']")
    page.locator("[data-tab=log]").click()
    page.wait_for_selector(".log-line:has-text('Working on it.')")
    press(page, "note")
    send(page, "Send note", text="Quietly")

    room.stop_servers()
    page.wait_for_selector("#link-state[data-state=lost]")
    room.let_go("run")
    wait_until(lambda: not room.list_active_runs(), "the run ends without its server")

    page = open_page(room.serve())
    page.evaluate("location.hash = '#/runs'")
    row = page.locator("tr[data-run]")
    row.wait_for()
    assert "completed" in row.inner_text()
    row.locator("a").first.click()
    page.wait_for_selector(".diff-lines [data-kind=add]:has-text('+1 done')")
    assert re.search(r"\$0\.\d\d", page.locator(".facts").inner_text())
    page.locator("[data-diff=run]").click()
    page.wait_for_selector("[data-diff=run][aria-pressed=true]")
    page.wait_for_selector(".diff-lines [data-kind=add]:has-text('+1 done')")
    page.locator("[data-tab=snapshots]").click()
    page.wait_for_selector("[data-pane=snapshots] td:has-text('1')")
    restore = page.locator("[data-pane=snapshots] code").inner_text().split()
    assert room.workshop.ralph(*restore[1:4], str(room.home / "restored")).returncode == 0
    assert (room.home / "restored" / "run.txt").read_text() == "1 done\n"
    page.locator("[data-tab=prompt]").click()
    page.wait_for_selector("[data-pane=prompt] pre:has-text('Make it work')")
    page.evaluate("location.hash = '#/runs'")
    row.locator("a").first.click()
    page.wait_for_selector("[data-pane=prompt] pre:has-text('Make it work')")  # the tab stays, and is filled
