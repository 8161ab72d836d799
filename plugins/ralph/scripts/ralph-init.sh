#!/bin/sh
# Prepares a project for a story loop: all options are those of `ralph story init` (see --help).
. "$(dirname -- "$0")/find-ralph.sh"
find_ralph story init "$@"
