#!/bin/sh
# Puts a finished story loop away: all options are those of `ralph story archive` (see --help).
. "$(dirname -- "$0")/find-ralph.sh"
find_ralph story archive "$@"
