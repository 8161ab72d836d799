"""What the containers of a work tree are called."""

import hashlib
import os
import re

MAX_BASENAME_CHARS = 40
RUN_LABEL, FOLDER_LABEL = "ralph.run", "ralph.sandbox"
_OURS = re.compile(r"ralph-[A-Za-z0-9][A-Za-z0-9_.+-]*")


def name_sandbox(folder: str, separator: str = "_") -> str:
    """`ralph-` and the folder's name, and a hash of its whole path: two projects may have the same name. What is no
    letter, digit, dot, dash or underscore becomes `separator`."""
    basename = re.sub(r"[^A-Za-z0-9._-]", separator, os.path.basename(folder.rstrip("/")) or "root")
    if separator == "-":
        basename = basename.replace("_", "-")
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]
    return f"ralph-{basename[:MAX_BASENAME_CHARS]}-{digest}"


def is_ours(name: str) -> bool:
    """Whether it is a name that `name_sandbox` could have given."""
    return bool(_OURS.fullmatch(name))
