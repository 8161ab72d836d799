#!/bin/sh
# Prepares a project for a story loop: all options are those of `ralph story init` (see --help).
command -v ralph >/dev/null 2>&1 || {
  echo "ralph is not installed; try: pipx install ralph-loop" >&2
  exit 2
}
exec ralph story init "$@"
