"""What the board looks like: a colour for each lane and each tone, and where everything stands."""

from collections.abc import Mapping

from rich.style import Style

LANE_COLORS: Mapping[str, str] = {
    "todo": "#9aa5b8",
    "coder": "#4fb3ff",
    "reviewer": "#c792ea",
    "tester": "#ffcb6b",
    "qa": "#5fd7c8",
    "done": "#8bd17c",
}
_OTHER_LOOP_COLOR = "#f2a65a"  # loops that are no stage of a task
_RED, _GREEN, _YELLOW, _FAINT = "#ff6b6b", "#8bd17c", "#ffcb6b", "#76808f"

TONE_STYLES: Mapping[str, Style] = {
    # of cards
    "running": Style(bold=True),
    "ready": Style(color=_GREEN),
    "waiting": Style(color=_FAINT),
    "trouble": Style(color=_RED),
    "done": Style(color=_GREEN),
    "cancelled": Style(color=_FAINT),
    # of the log
    "said": Style(),
    "faint": Style(color=_FAINT),
    "tool": Style(color="#7fb4ff"),
    "good": Style(color=_GREEN),
    "bad": Style(color=_RED),
    "warning": Style(color=_YELLOW),
    "heading": Style(bold=True),
}
PLAIN_STYLE = Style()
BOLD_STYLE = Style(bold=True)
FAINT_STYLE = TONE_STYLES["faint"]
SELECTED_STYLE = Style(bgcolor="#2d4263", bold=True)
SURFACE_STYLE = Style(bgcolor="#1a1f28")


def get_lane_color(role: str) -> str:
    """The colour of a lane, a stage, or another kind of loop, which all share one."""
    return LANE_COLORS.get(role, _OTHER_LOOP_COLOR)


_TITLE_CSS = "".join(f"#lane-{lane} {{ border-title-color: {color}; }}\n" for lane, color in LANE_COLORS.items())
_LAYOUT_CSS = """
BoardScreen { background: #12151b; }
#headline { height: 1; padding: 0 1; background: #1f2733; }
#tabs { height: 1; display: none; padding: 0 1; }
#keys { height: 1; padding: 0 1; background: #1f2733; color: #9aa5b8; }
#lanes { height: 1fr; }
#empty { height: 1fr; display: none; content-align: center middle; padding: 1 2; color: #9aa5b8; }
.-empty #empty { display: block; }
.-empty #lanes, .-empty #tabs { display: none; }
BoardScreen.-no-tasks Lane, BoardScreen.-no-runs RunLane { display: none; }
#bottom { height: 14; }
BoardLane { width: 1fr; }
BoardLane, SlotPanel, LogPanel {
    height: 1fr; border: round #39424f; background: #12151b; overflow-x: hidden; scrollbar-size-vertical: 1;
    scrollbar-color: #39424f; scrollbar-background: #12151b;
    border-title-color: #9aa5b8; border-subtitle-color: #76808f;
}
BoardLane:focus, SlotPanel:focus, LogPanel:focus {
    border: round #f2a65a; border-title-color: #f2a65a; border-title-style: bold;
}
SlotPanel { width: 40; }
SlotPanel.many { width: 50%; }
LogPanel { width: 1fr; }
#filter-bar { height: 1; display: none; padding: 0 1; background: #1f2733; }
#filter-bar.shown { display: block; }
#filter-label { width: auto; color: #f2a65a; text-style: bold; }
#filter { width: 1fr; height: 1; border: none; padding: 0; background: #1f2733; }
#filter-count { width: auto; padding: 0 1; color: #9aa5b8; }

.-narrow #tabs { display: block; }
.-narrow BoardLane, .-narrow #slots, .-narrow #log { display: none; }
.-narrow BoardLane.current, .-narrow #slots.front, .-narrow #log.front { display: block; }
.-narrow #slots.front { width: 1fr; }
.-short #bottom { height: 8; }
.-ascii BoardLane, .-ascii SlotPanel, .-ascii LogPanel { border: ascii #39424f; scrollbar-size-vertical: 0; }
.-ascii BoardLane:focus, .-ascii SlotPanel:focus, .-ascii LogPanel:focus { border: ascii #f2a65a; }
.-tiny #bottom, .-tiny #keys { display: none; }
BoardScreen.-tiny BoardLane, BoardScreen.-tiny BoardLane:focus { border: none; }

PageDialog, ConfirmDialog, HelpDialog, TextDialog, ChoiceDialog { align: center middle; background: #000000 50%; }
.dialog {
    border: round #f2a65a; background: #171c24; padding: 0 1; border-title-color: #f2a65a; border-title-style: bold;
    border-subtitle-color: #9aa5b8; max-width: 100%; max-height: 100%;
}
.-ascii .dialog { border: ascii #f2a65a; }
PageDialog .dialog { width: 120; height: 95%; scrollbar-size-vertical: 1; scrollbar-color: #39424f; }
PageDialog Static { width: 1fr; height: auto; }
TextDialog .dialog { width: 80; height: auto; padding: 1 2; }
TextDialog Static { height: auto; margin-bottom: 1; }
TextDialog Input { height: 1; border: none; background: #263041; }
ChoiceDialog .dialog { width: 70; height: auto; padding: 1 2; }
ChoiceDialog Static { height: auto; }
ConfirmDialog .dialog { width: 60; height: auto; padding: 1 2; }
ConfirmDialog Horizontal { height: auto; margin-top: 1; }
ConfirmDialog Button { margin-right: 2; }
HelpDialog .dialog { width: 74; height: auto; padding: 1 2; overflow-y: auto; }
HelpDialog Static { height: auto; }
"""
BOARD_CSS = _LAYOUT_CSS + _TITLE_CSS
