# What scripts of histories may use. H is the home of the history, LOOP its loop.
put() { mkdir -p "$(dirname "$1")"; cat > "$1"; }
swap() { sed -i "s|$2|$3|" "$1"; }
commit() { git add -A; git commit -qm "${1:-Work}" || true; }
explain() { printf '<changes>\n%s\n</changes>\n' "$1"; }
approve() { for f in "$@"; do echo "<approves>$f: the task asks for it</approves>"; done; } # a reviewer's word
crash() { kill -9 "$(cat "$H/ralph.pid")" && sleep 20; exit; } # as if the machine went down
told() { grep -q "$1" "$H/prompt"; } # what the agent reads
claim() {
    case $LOOP-$ROLE in
    run-*) echo '<response>DONE</response>' ;;
    supervise-*) touch "$TASK_FOLDER/DONE"; echo Done. ;;
    story-review)
        sed -i 's/"passes": false/"passes": true/; s/"reviewStatus": .*/"reviewStatus": "approved",/' ralph/tasks.json
        reviews=$(sed -n 's/.*"reviewCount": \([0-9]*\).*/\1/p' ralph/tasks.json)
        sed -i "s/\"reviewCount\": .*/\"reviewCount\": $((reviews + 1)),/" ralph/tasks.json
        commit "review: [US-001] - approved"; echo Reviewed. ;;
    story-*)
        sed -i 's/"reviewStatus": .*/"reviewStatus": "needs_review",/; s/"reviewFeedback": .*/"reviewFeedback": "",/; s/"notes": "",/"notes": "a + b",/' ralph/tasks.json
        commit "feat: [US-001] - Add"; echo Implemented. ;;
    *-coder) commit; echo '<promise>IMPLEMENTATION_COMPLETE</promise>' ;;
    *-reviewer) echo '<promise>REVIEW_PASSED</promise>' ;;
    *-tester) commit; echo '<promise>TESTS_PASSED</promise>' ;;
    *-qa) echo '<promise>QA_PASSED</promise>' ;;
    esac
}
