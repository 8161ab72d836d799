#!/bin/sh
# Puts a finished story loop away: all options are those of `ralph story archive` (see --help).
command -v ralph >/dev/null 2>&1 || {
  echo "ralph is not installed; try: pipx install ralph-loop" >&2
  exit 2
}
exec ralph story archive "$@"
