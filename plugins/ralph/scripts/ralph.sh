#!/bin/sh
# Runs the story loop of the current project: all options are those of `ralph story run` (see --help).
command -v ralph >/dev/null 2>&1 || {
  echo "ralph is not installed; try: pipx install ralph-loop" >&2
  exit 2
}
exec ralph story run "$@"
