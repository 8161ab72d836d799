#!/bin/bash
# Prepares a Docker sandbox once, as root inside it: credentials that outlive the sandbox, and a git identity.
#   docker sandbox exec -u root NAME bash -s -- STATE_DIR < setup.sh
# STATE_DIR is the folder of the host that the sandbox was created with, usually ~/.dclaude_state.
set -euo pipefail

agent="${RALPH_SANDBOX_USER:-agent}"
home="${RALPH_SANDBOX_HOME:-/home/$agent}"
state="${1:-${RALPH_STATE_DIR:-}}"

if [ -z "$state" ]; then
  # The mount keeps its path of the host, and only the host knows that one: look where it usually is.
  for candidate in /Users/*/.dclaude_state /home/*/.dclaude_state /root/.dclaude_state; do
    if [ -d "$candidate" ]; then
      state="$candidate"
      break
    fi
  done
fi
if [ ! -d "$state" ]; then
  echo "setup.sh: no state folder${state:+ at $state}; create it on the host (mkdir -p ~/.dclaude_state) and pass its path" >&2
  exit 2
fi

mkdir -p "$state/.claude"
# An empty file is no JSON, and Claude Code would not start with it.
[ -s "$state/.claude.json" ] || echo '{}' > "$state/.claude.json"

for name in .claude .claude.json; do
  rm -rf "${home:?}/$name"
  ln -s "$state/$name" "$home/$name"
  chown -h "$agent:$agent" "$home/$name" 2>/dev/null || true
done

git config --file "$home/.gitconfig" user.email "ralph@localhost"
git config --file "$home/.gitconfig" user.name "Ralph Loop"
chown "$agent:$agent" "$home/.gitconfig" 2>/dev/null || true
