#!/bin/sh
# The agent of a history: keeps what it is told, plays the script of its role and call, claims completion.
H=@HOME@
LOOP=@LOOP@
. "$H/prelude.sh"
cat > "$H/prompt"
case $LOOP in
story) grep -q '"reviewStatus": "needs_review"' ralph/tasks.json && ROLE=review || ROLE=implement ;;
execute) ROLE=$RALPH_STAGE ;;
*) ROLE=work ;;
esac
WHOSE=$ROLE
[ -d "$H/scripts/$RALPH_TASK.$ROLE" ] && WHOSE=$RALPH_TASK.$ROLE
[ "$ROLE" ] || exec judge < "$H/prompt"
echo Working.
CALL=$(($(cat "$H/calls.$WHOSE" 2> /dev/null || echo 0) + 1))
echo $CALL > "$H/calls.$WHOSE"
cp "$H/prompt" "$H/prompt.$WHOSE.$CALL"
SCRIPT=$H/scripts/$WHOSE/$CALL
[ -f "$SCRIPT" ] || SCRIPT=$H/scripts/$WHOSE/last
[ ! -f "$SCRIPT" ] || . "$SCRIPT"
claim
