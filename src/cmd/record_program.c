/* SPDX-License-Identifier: MIT */
/* strata record -- PROGRAM: what a program that links libstrata traces, from its start to its end. */

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "capture/programs.h"
#include "capture/recording.h"
#include "cmd/cmd.h"
#include "cmd/record.h"
#include "cmd/run_signals.h"
#include "cmd/taken.h"
#include "vmm/child.h"

#define SECOND UINT64_C(1000000000)
/* What is told to end, and does not, is made to. */
#define PATIENCE (5 * SECOND)

extern char **environ;

struct run {
    const struct record_options *options;
    const char *folder;
    struct programs programs;
    struct child child;
    uint64_t until;  /* ns: when --time is up */
    uint64_t killed; /* when it is made to end; 0: it is not told to yet */
    unsigned heard;  /* signals that were dealt with */
    bool hurries;    /* nobody is waited for any more */
    bool told;
    char exit[64];
};

/* ---- Signals ---- */

/* The first is the program's, which then ends as it likes; with the second it has no choice. */
static void hear_signals(struct run *run, uint64_t now)
{
    bool alone;
    int signal;
    unsigned n = run_signals_count(&signal, &alone);

    if (n == run->heard)
        return;
    if (run->heard == 0 && alone)
        child_signal(&run->child, signal);
    if (n > 1) {
        run->hurries = true;
        if (run->killed == 0) {
            child_signal(&run->child, SIGTERM);
            run->killed = now + PATIENCE;
        } else {
            run->killed = now;
        }
    } else if (run->child.ended) {
        run->hurries = true;
    }
    run->heard = n;
}

static void watch_time(struct run *run, uint64_t now)
{
    if (now >= run->until && run->killed == 0) {
        child_signal(&run->child, SIGTERM);
        run->killed = now + PATIENCE;
        run->hurries = true;
    }
    if (run->killed && now >= run->killed)
        child_signal(&run->child, SIGKILL);
}

/* ---- The folder ---- */

static int write_manifest(struct run *run, bool complete, struct fault *fault)
{
    struct manifest manifest = {0};
    struct manifest_source *sources;
    int r = programs_put_sources(&run->programs, complete, &manifest.arena, &sources,
                                 &manifest.n_sources);

    manifest.sources = sources;
    if (r < 0)
        fault_plain(fault, r, run->folder, "out of memory");
    else if (manifest.n_sources > 0)
        r = manifest_write(run->folder, &manifest, fault);
    manifest_done(&manifest);
    run->programs.changed = false;
    return r;
}

/* It is tried again at the end, and told then. */
static void note(struct run *run)
{
    if (run->programs.changed)
        (void)write_manifest(run, false, NULL);
}

/* ---- The course ---- */

static void wait_for_something(struct run *run, uint64_t sleep, const sigset_t *waiting)
{
    struct pollfd fds[] = {
        {run->child.ended ? -1 : run->child.end, POLLIN, 0},
        {run->programs.watch, POLLIN, 0},
    };
    struct timespec time = {.tv_sec = (time_t)(sleep / SECOND), .tv_nsec = (long)(sleep % SECOND)};

    (void)ppoll(fds, ARRAY_SIZE(fds), &time, waiting);
}

static void tell_rest(struct run *run)
{
    unsigned n = programs_running(&run->programs);

    if (run->told || n == 0)
        return;
    run->told = true;
    cmd_message("strata: the program has ended; %u process%s that it started %s on and %s recorded "
                "until Ctrl-C",
                n, n == 1 ? "" : "es", n == 1 ? "goes" : "go", n == 1 ? "is" : "are");
}

static void loop(struct run *run, const sigset_t *waiting)
{
    bool goes_on = true;

    while (goes_on) {
        /* Asked before the rings are looked at: what was made until then is seen. */
        bool ended = child_has_ended(&run->child);
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        uint64_t sleep;

        (void)programs_step(&run->programs, &sleep);
        note(run);
        hear_signals(run, now);
        watch_time(run, now);
        goes_on = !ended || (programs_running(&run->programs) > 0 && !run->hurries);
        if (!goes_on)
            break;
        if (ended)
            tell_rest(run);
        if (run->killed || run->child.end < 0)
            sleep = MIN(sleep, SECOND / 100);
        if (run->until > now)
            sleep = MIN(sleep, run->until - now);
        wait_for_something(run, sleep, waiting);
    }
    programs_finish(&run->programs);
}

/* ---- The end ---- */

/* What came of one process. */
static int tell(const struct run *run, const struct program *program)
{
    const struct taken *taken = &program->taken;

    cmd_message("%s (process %" PRIu32 "): %" PRIu64 " events written to %s/%s", program->program,
                program->pid, taken->events, run->folder, program->name);
    if (taken->discarded)
        cmd_message("  %" PRIu64 " events were lost: its rings were full (STRATA_TRACE='ring=SIZE' "
                    "makes them larger)",
                    taken->discarded);
    if (taken->homeless)
        cmd_message("  %" PRIu64 " events were lost: their threads got no ring", taken->homeless);
    if (taken->unwritten)
        cmd_message("  %" PRIu64 " events were lost: they could not be written: %s",
                    taken->unwritten, strerror(-taken->error));
    taken_tell_unreadable(taken);
    if (program->error < 0)
        cmd_error("%s (process %" PRIu32 "): %s", program->program, program->pid, program->what);
    if (program->left)
        cmd_message("  its rings stay in %s", program->rings);
    return program->error < 0 || taken->unwritten           ? EXIT_COULD_NOT
           : run->options->strict && !taken_is_whole(taken) ? EXIT_LOSSES
                                                            : EXIT_FINE;
}

static int tell_nothing(const struct run *run)
{
    cmd_error(
        "nothing was recorded: no process had a ring. Does the program link libstrata, with the "
        "backend ring or simple, and did it reach an event of those that were asked for%s?",
        run->options->events.n ? "" : " (all, unless STRATA_TRACE says which)");
    return EXIT_COULD_NOT;
}

static int sum_up(struct run *run)
{
    struct fault fault = {0};
    int status = EXIT_FINE;

    if (run->child.status != 0)
        cmd_message("%s: %s", run->programs.main_command[0], run->exit);
    if (run->programs.n == 0)
        return tell_nothing(run);
    for (unsigned i = 0; i < run->programs.n; i++) {
        int one = tell(run, run->programs.items[i]);

        if (status != EXIT_COULD_NOT && one != EXIT_FINE)
            status = one;
    }
    if (write_manifest(run, true, &fault) < 0) {
        cmd_fault(&fault);
        status = EXIT_COULD_NOT;
    }
    return status;
}

/* ---- The beginning ---- */

static int start(struct run *run, char **command, const sigset_t *waiting, struct fault *fault)
{
    const struct strings *events = &run->options->events;
    const char *before = getenv("STRATA_TRACE");
    const char *const all[] = {"*"};
    bool wants_all = events->n == 0 && (!before || !*before);
    struct child_how how = {
        .argv = (const char *const *)command, .in = -1, .out = -1, .err = -1, .mask = waiting};
    _cleanup_free_ char *value = programs_environment(
        &run->programs, before, wants_all ? all : events->items, wants_all ? 1 : events->n);
    int r;

    if (!value || setenv("STRATA_TRACE", value, 1) < 0)
        return fault_plain(fault, -ENOMEM, NULL, "out of memory");
    r = child_start(&how, &run->child, fault);
    if (r >= 0)
        run->programs.main_pid = (uint32_t)run->child.pid;
    return r;
}

static int in_folder(struct run *run, char **command)
{
    struct fault fault = {0};
    sigset_t waiting;
    int status;
    int r = programs_open(run->folder, &run->programs, &fault);

    if (r < 0) {
        cmd_fault(&fault);
        return EXIT_COULD_NOT;
    }
    run->programs.main_command = (const char *const *)command;
    run_signals_catch(&waiting);
    r = start(run, command, &waiting, &fault);
    if (r < 0) {
        cmd_fault(&fault);
        /* As a shell has it. */
        status = r == -ENOENT ? 127 : 126;
    } else {
        loop(run, &waiting);
        run->programs.main_exit = child_end_text(&run->child, run->exit, sizeof run->exit);
        status = sum_up(run);
        if (child_exit_status(&run->child) != 0)
            status = child_exit_status(&run->child);
    }
    child_done(&run->child);
    return status;
}

int record_program(const struct record_options *options, char **command)
{
    char name[64];
    struct run run = {
        .options = options,
        .folder = record_output(options, name, sizeof name),
        .child.end = -1,
        .until =
            options->seconds ? clock_ns(CLOCK_MONOTONIC) + options->seconds * SECOND : UINT64_MAX,
    };
    struct fault fault = {0};
    bool made = false, empty;
    int status;

    if (recording_make_folder(run.folder, &made, &fault) < 0) {
        cmd_fault(&fault);
        return EXIT_COULD_NOT;
    }
    cmd_raise_files(); /* a file for each ring */
    status = in_folder(&run, command);
    empty = run.programs.n == 0;
    programs_close(&run.programs);
    if (empty && made)
        (void)rmdir(run.folder);
    return status;
}
