#!/bin/bash
# The git work of tasks by hand: tasks.sh AGENT JOBS TASK... in a repository. A work tree each, four agents, four
# checks, a merge.
set -e
export AGENT=$1 JOBS=$2 REPOSITORY=$PWD
shift 2

# Git trips over another of itself that makes or removes a work tree.
alone() { flock "$REPOSITORY/.git/turn" git "$@"; }

work() {
    tree=$REPOSITORY/.trees/$1
    alone worktree add --quiet -b "work/$1" "$tree" main
    cd "$tree"
    for stage in coder reviewer tester qa; do
        RALPH_STAGE=$stage RALPH_TASK=$1 "$AGENT" < /dev/null > /dev/null
        sh -c "grep -q done $1.txt"
    done
    cd "$REPOSITORY"
    alone merge --quiet --no-edit "work/$1"
    alone worktree remove --force "$tree"
    alone branch --quiet --delete --force "work/$1"
}

export -f alone work
printf '%s\n' "$@" | xargs -P "$JOBS" -I@ bash -c 'set -e; work @'
