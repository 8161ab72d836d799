#!/bin/sh
# Runs the story loop of the current project: all options are those of `ralph story run` (see --help).
. "$(dirname -- "$0")/find-ralph.sh"
find_ralph story run "$@"
