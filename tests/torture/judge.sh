#!/bin/sh
# The judge of a history: believes everything, unless the history says that it looks for SEEN among the changes.
H=@HOME@
LOOP=@LOOP@
SEEN='@SEEN@'
. "$H/prelude.sh"
cat > "$H/prompt.judge"
verdict() {
    printf '{"criteria": [{"number": 1, "met": %s, "reason": "seen"}], "verdict": "%s", "reason": "seen"}\n' "$1" "$2"
}
SCRIPT=$H/scripts/judge/last
if [ -f "$SCRIPT" ]; then
    . "$SCRIPT"
else
    verdict true VERIFIED
fi
