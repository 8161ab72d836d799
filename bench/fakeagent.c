/* An agent that answers at once, in the words of `claude -p --output-format stream-json`, and never says it is done.

   It knows three flags and ignores every other argument:
     --version      says a version, as harnesses ask for it
     --count FILE   appends one byte to FILE: its size is the number of calls
     --emit FILE    copies FILE to stdout before the answer, as fast as the reader takes it
   Flags and not variables, because a harness may choose its child's environment. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024, UNREADABLE = 3, READER_GONE = 4 };

static const char ANSWER[] =
    "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_01\",\"type\":\"message\",\"role\":\"assistant\","
    "\"model\":\"fake\",\"content\":[{\"type\":\"text\",\"text\":\"still working\"}],\"stop_reason\":\"end_turn\","
    "\"usage\":{\"input_tokens\":3,\"output_tokens\":9}},\"parent_tool_use_id\":null,\"session_id\":\"s-1\"}\n"
    "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"duration_ms\":5,\"num_turns\":1,"
    "\"result\":\"still working\",\"stop_reason\":\"end_turn\",\"session_id\":\"s-1\",\"total_cost_usd\":0.01,"
    "\"usage\":{\"input_tokens\":3,\"output_tokens\":9},\"permission_denials\":[]}\n";

static char block[BLOCK];

static int put(const char *from, size_t left) {
    while (left > 0) {
        ssize_t wrote = write(STDOUT_FILENO, from, left);
        if (wrote <= 0) return READER_GONE;
        from += wrote;
        left -= (size_t)wrote;
    }
    return 0;
}

static int copy(const char *path) {
    int file = open(path, O_RDONLY);
    if (file < 0) {
        perror(path);
        return UNREADABLE;
    }
    int failed = 0;
    for (ssize_t got; !failed && (got = read(file, block, BLOCK)) > 0;) failed = put(block, (size_t)got);
    close(file);
    return failed;
}

static int count(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0 || write(file, ".", 1) != 1) {
        perror(path);
        return UNREADABLE;
    }
    return close(file);
}

static const char *after(const char *flag, int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], flag)) return argv[i + 1];
    return NULL;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--version")) return put("2.1.197 (Claude Code)\n", 22);
    const char *counter = after("--count", argc, argv), *emitted = after("--emit", argc, argv);
    while (read(STDIN_FILENO, block, BLOCK) > 0)
        ;
    int failed = counter ? count(counter) : 0;
    if (!failed && emitted) failed = copy(emitted);
    return failed ? failed : put(ANSWER, sizeof ANSWER - 1);
}
