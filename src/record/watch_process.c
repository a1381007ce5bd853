/* SPDX-License-Identifier: MIT */
#include "record/watch_process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock_ns.h"
#include "base/fd.h"

#define LINE_MAX_BYTES 8192u
#define RESTARTS_MAX 8u
#define RESTART_FIRST_NS NSEC_PER_SEC
/* Lines of one step, so that others have their turn. */
#define READS_AT_ONCE 16u

struct watch_process {
    watch_process_function *function;
    void *function_userdata;
    unsigned n;
    struct watch_process_handler handler;
    struct recorder *recorder;
    struct child child;
    int in, stop; /* our ends of the pipes; -1: closed */
    char line[LINE_MAX_BYTES];
    size_t len;
    bool is_too_long; /* the rest of the line is passed over */
    unsigned n_restarts;
    uint64_t restart_at; /* UINT64_MAX: never */
    bool is_stopping;
};

/* ---- The process ---- */

/* All but 0 to 2, OUT and STOP: what is recorded ends when the recorder closes them, also if it is killed. */
static void close_others(int out, int stop)
{
    int low = MIN(out, stop), high = MAX(out, stop);

#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3, low - 1, 0) == 0 || low == 3) {
        if (high > low + 1)
            (void)syscall(SYS_close_range, low + 1, high - 1, 0);
        if (syscall(SYS_close_range, high + 1, UINT_MAX, 0) == 0)
            return;
    }
#endif
    for (int fd = 3, max = (int)sysconf(_SC_OPEN_MAX); fd < MIN(max, 1 << 16); fd++)
        if (fd != low && fd != high)
            close(fd);
}

static _Noreturn void run(const struct watch_process *watch, pid_t parent, uint64_t since, int out,
                          int stop)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    (void)setsid();
    close_others(out, stop);
    _exit(watch->function(watch->function_userdata, since, out, stop));
}

static int start(struct watch_process *watch, struct error *error)
{
    int lines[2], stop[2];
    pid_t parent = getpid(), pid;
    uint64_t since = clock_ns(CLOCK_MONOTONIC);

    if (pipe2(lines, O_CLOEXEC) < 0)
        return error_set(error, -errno, NULL, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(stop, O_CLOEXEC) < 0) {
        int r = error_set(error, -errno, NULL, "cannot make a pipe: %s", strerror(errno));

        close(lines[0]);
        close(lines[1]);
        return r;
    }
    pid = fork();
    if (pid == 0)
        run(watch, parent, since, lines[1], stop[0]);
    close(lines[1]);
    close(stop[0]);
    if (pid < 0) {
        int r = error_set(error, -errno, NULL, "cannot make a process: %s", strerror(errno));

        close(lines[0]);
        close(stop[1]);
        return r;
    }
    child_add_helper(pid);
    watch->child = (struct child){.pid = pid, .end = -1, .watch = oom_begin()};
    watch->in = lines[0];
    watch->stop = stop[1];
    watch->len = 0;
    watch->is_too_long = false;
    (void)fcntl(watch->in, F_SETFL, O_NONBLOCK);
    return 0;
}

static void end(struct watch_process *watch)
{
    pid_t pid = watch->child.pid;

    closep(&watch->in);
    closep(&watch->stop);
    watch->in = watch->stop = -1;
    if (pid == 0)
        return;
    child_done(&watch->child);
    child_remove_helper(pid);
}

int watch_process_start(watch_process_function *function, void *function_userdata, unsigned n,
                        const struct watch_process_handler *handler, struct recorder *recorder,
                        struct watch_process **ret, struct error *error)
{
    struct watch_process *watch = calloc(1, sizeof *watch);
    int r;

    if (!watch)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    *watch = (struct watch_process){
        .function = function,
        .function_userdata = function_userdata,
        .n = n,
        .handler = *handler,
        .recorder = recorder,
        .child.end = -1,
        .in = -1,
        .stop = -1,
        .restart_at = UINT64_MAX,
    };
    r = start(watch, error);
    if (r < 0) {
        free(watch);
        return r;
    }
    *ret = watch;
    return 0;
}

void watch_process_free(struct watch_process *watch)
{
    if (!watch)
        return;
    end(watch);
    free(watch);
}

/* ---- What it writes ---- */

/* The word at *S, ended, and *S after it. NULL: there is none. */
static char *next_word(char **s)
{
    char *word = *s, *blank = word ? strchr(word, ' ') : NULL;

    *s = blank ? blank + 1 : NULL;
    if (blank)
        *blank = '\0';
    return word && *word ? word : NULL;
}

/* A guest may have made it write anything. */
static void make_printable(char *s)
{
    for (; s && *s; s++)
        if (iscntrl((unsigned char)*s))
            *s = '?';
}

/* Digits alone. -EINVAL. */
static int parse_u64(const char *s, uint64_t *ret)
{
    char *end;

    errno = 0;
    *ret = strtoull(s, &end, 10);
    return !isdigit((unsigned char)*s) || *end || errno ? -EINVAL : 0;
}

static void handle_line(struct watch_process *watch, char *line, size_t len)
{
    char *rest = line;
    const char *verb, *word;
    char *time;
    uint64_t index = UINT_MAX, ns;

    if (strncmp(line, "fired ", 6) != 0 && strncmp(line, "problem ", 8) != 0) {
        line[len] = '\n';
        if (watch->handler.other)
            watch->handler.other(watch->handler.userdata, line, len + 1);
        return;
    }
    verb = next_word(&rest);
    word = next_word(&rest);
    if (!verb || !word ||
        ((strcmp(word, "-") != 0 || strcmp(verb, "problem") != 0) &&
         (parse_u64(word, &index) < 0 || index >= watch->n)))
        return;
    if (strcmp(verb, "problem") == 0) {
        make_printable(rest);
        watch->handler.problem(watch->handler.userdata, (unsigned)index, rest ? rest : "");
        return;
    }
    time = next_word(&rest);
    if (strcmp(verb, "fired") != 0 || !time || parse_u64(time, &ns) < 0)
        return;
    make_printable(rest);
    watch->handler.fired(watch->handler.userdata, (unsigned)index, ns, rest ? rest : "");
}

static void handle_bytes(struct watch_process *watch, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            watch->line[watch->len] = '\0';
            if (!watch->is_too_long)
                handle_line(watch, watch->line, watch->len);
            watch->len = 0;
            watch->is_too_long = false;
        } else if (watch->len < sizeof watch->line - 1) {
            watch->line[watch->len++] = bytes[i];
        } else {
            watch->is_too_long = true;
        }
    }
}

/* It has ended. */
static void handle_end(struct watch_process *watch, uint64_t now)
{
    char text[CHILD_END_SIZE];

    (void)child_wait(&watch->child, NSEC_PER_SEC);
    child_end_text(&watch->child, text, sizeof text);
    end(watch);
    if (watch->is_stopping)
        return;
    if (watch->n_restarts == RESTARTS_MAX) {
        watch->handler.problem(
            watch->handler.userdata, UINT_MAX,
            "the process that watches events died again and again; conditions over "
            "events save no more snapshots");
        return;
    }
    if (watch->n_restarts == 0)
        recorder_report(watch->recorder,
                        "the process that watches events for --on ended: %s; it is started again",
                        text);
    watch->restart_at = now + (RESTART_FIRST_NS << watch->n_restarts);
    watch->n_restarts++;
}

void watch_process_poll(const struct watch_process *watch, struct recorder_wait *wait)
{
    recorder_wait_fd(wait, watch ? watch->in : -1, POLLIN);
    if (watch)
        recorder_wait_until(wait, watch->restart_at);
}

void watch_process_step(struct watch_process *watch, uint64_t now)
{
    char bytes[LINE_MAX_BYTES];
    ssize_t n = 1;

    if (!watch)
        return;
    for (unsigned i = 0; i < READS_AT_ONCE && watch->in >= 0; i++) {
        n = read(watch->in, bytes, sizeof bytes);
        if (n <= 0)
            break;
        handle_bytes(watch, bytes, (size_t)n);
    }
    if (watch->in >= 0 && n == 0)
        handle_end(watch, now);
    if (now >= watch->restart_at) {
        struct error error = {0};

        watch->restart_at = UINT64_MAX;
        if (start(watch, &error) < 0)
            watch->handler.problem(watch->handler.userdata, UINT_MAX, error.what);
    }
}

void watch_process_stop(struct watch_process *watch)
{
    watch->is_stopping = true;
    watch->restart_at = UINT64_MAX;
    closep(&watch->stop);
    watch->stop = -1;
}

bool watch_process_has_ended(const struct watch_process *watch)
{
    return !watch || (watch->in < 0 && watch->restart_at == UINT64_MAX);
}
