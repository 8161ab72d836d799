"""A harness to be killed: runs evil.py through the real supervisor. usage: harness.py TOKEN stay|leave SECONDS"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from ralph.model.command import Command
from ralph.process.spawner import start_guardian
from ralph.process.supervisor import Supervisor
from support.quiet_inbox import QuietInbox

if __name__ == "__main__":
    token, what, seconds = sys.argv[1:4]
    inbox = QuietInbox()
    inbox.stop_after = float(seconds)
    supervisor = Supervisor(inbox, start_guardian(orphan_grace=0.3))
    print(supervisor.guardian_pid, flush=True)
    evil = (sys.executable, str(Path(__file__).with_name("evil.py")), token, what)
    exited = supervisor.run(Command(argv=evil, environment=dict(os.environ), cwd="/"), len, len)
    supervisor.close()
    print(exited.ending, flush=True)
