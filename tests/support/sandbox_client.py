"""A stand-in for `docker`, its `sandbox`, `sbx` and `podman` on PATH: it writes down what it is told, and can fail."""

from pathlib import Path

from msgspec import Struct

_SCRIPT = """#!/bin/sh
room='{room}'
me=${{0##*/}}
printf '%s' "$me" >> "$room/calls"
printf '\\037%s' "$@" >> "$room/calls"
printf '\\036' >> "$room/calls"
[ "$me" = docker ] && [ "$1" = sandbox ] && shift
verb=$1
[ -e "$room/faults/$verb" ] && {{ . "$room/faults/$verb"; }}
case "$verb" in
ls) cat "$room/sandboxes" ;;
create) shift; [ "$1" = --name ] && printf '%s\\n' "$2" >> "$room/sandboxes" ;;
version) echo 1 ;;
exec) case "$*" in *curl*) exit 22 ;; *"cat > "*) cat > "$room/put" ;; esac ;;
run) cat > /dev/null; echo ran ;;
esac
exit 0
"""


class StandIn(Struct, frozen=True):
    """Where it is, what it was told, and how to break it."""

    room: Path

    @property
    def variables(self) -> dict[str, str]:
        return {"PATH": f"{self.room / 'bin'}:/usr/bin:/bin", "HOME": str(self.room / "home")}

    def install(self, *names: str) -> "StandIn":
        for folder in ("bin", "faults", "home"):
            (self.room / folder).mkdir(parents=True, exist_ok=True)
        (self.room / "sandboxes").touch()
        for name in names:
            program = self.room / "bin" / name
            program.write_text(_SCRIPT.format(room=self.room))
            program.chmod(0o755)
        return self

    def fail(self, verb: str, script: str) -> None:
        """What happens instead, in sh; with an `exit` in it nothing else does."""
        (self.room / "faults" / verb).write_text(script)

    def mend(self, verb: str) -> None:
        (self.room / "faults" / verb).unlink()

    def calls(self, *, forget: bool = False) -> list[list[str]]:
        path = self.room / "calls"
        text = path.read_text() if path.exists() else ""
        if forget:
            path.unlink(missing_ok=True)
        return [call.split("\x1f") for call in text.split("\x1e") if call]

    def verbs(self, *, forget: bool = False) -> list[str]:
        """The first words, without the program's own."""
        found = (call[2] if call[:2] == ["docker", "sandbox"] else call[1] for call in self.calls(forget=forget))
        return [verb for verb in found if verb != "version"]
