#!/bin/bash
# The git work of tasks by hand: tasks.sh AGENT JOBS TASK... in a repository. A work tree each, four agents, four
# checks, a merge.
set -e
export AGENT=$1 JOBS=$2 REPOSITORY=$PWD
shift 2

work() {
    tree=$REPOSITORY/.trees/$1
    git worktree add --quiet -b "work/$1" "$tree" main
    cd "$tree"
    for stage in coder reviewer tester qa; do
        RALPH_STAGE=$stage RALPH_TASK=$1 "$AGENT" < /dev/null > /dev/null
        sh -c "grep -q done $1.txt"
    done
    cd "$REPOSITORY"
    flock .git/turn git merge --quiet --no-edit "work/$1"
    git worktree remove --force "$tree"
    git branch --quiet --delete --force "work/$1"
}

export -f work
printf '%s\n' "$@" | xargs -P "$JOBS" -I@ bash -c 'set -e; work @'
