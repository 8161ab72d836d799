"""Whether bubblewrap can be had for a test; said loudly where not."""

import os
import shutil
import subprocess

import pytest

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None
    or subprocess.run(
        ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true"], capture_output=True, check=False
    ).returncode
    != 0,
    reason="NOT RUN: bubblewrap does not work here (apt install bubblewrap)",
)
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="NOT RUN: only root can become another user")
