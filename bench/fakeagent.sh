#!/bin/sh
# The fake agent where no C compiler is: same flags and words as fakeagent.c, slower on both sides of every ratio.
counter= emitted=
while [ $# -gt 0 ]; do
    case $1 in
    --version) echo "2.1.197 (Claude Code)"; exit 0 ;;
    --count) counter=$2; shift ;;
    --emit) emitted=$2; shift ;;
    esac
    shift
done
cat >/dev/null
[ -z "$counter" ] || printf . >>"$counter" || exit 3
[ -z "$emitted" ] || cat "$emitted" || exit 3
cat <<'WORDS'
{"type":"assistant","message":{"id":"msg_01","type":"message","role":"assistant","model":"fake","content":[{"type":"text","text":"still working"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":9}},"parent_tool_use_id":null,"session_id":"s-1"}
{"type":"result","subtype":"success","is_error":false,"duration_ms":5,"num_turns":1,"result":"still working","stop_reason":"end_turn","session_id":"s-1","total_cost_usd":0.01,"usage":{"input_tokens":3,"output_tokens":9},"permission_denials":[]}
WORDS
