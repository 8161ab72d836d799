"""Where the Claude Code plugin that comes with ralph lies."""

import os

from ralph.model.errors import MachineError

PLUGIN_NAME = "ralph"
_MANIFEST_PATH = os.path.join(".claude-plugin", "plugin.json")
_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def find_plugin_folder() -> str:
    """The plugin: beside the installed package, else in the checkout."""
    checkout = os.path.dirname(os.path.dirname(_PACKAGE_FOLDER))
    for folder in (os.path.join(_PACKAGE_FOLDER, "plugin"), os.path.join(checkout, "plugins", PLUGIN_NAME)):
        if os.path.exists(os.path.join(folder, _MANIFEST_PATH)):
            return folder
    raise MachineError("this installation of ralph has no Claude Code plugin", "install ralph again")
