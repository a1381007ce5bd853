/* SPDX-License-Identifier: MIT */
/* strata record -- PROGRAM: what a program that links libstrata traces, from its start to its end. */

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock_ns.h"
#include "cmd/cmd.h"
#include "cmd/record.h"
#include "cmd/record_kernel.h"
#include "cmd/record_nothing.h"
#include "cmd/ring_drain.h"
#include "cmd/run_signals.h"
#include "record/agent/guests_manifest.h"
#include "record/agent/host_agent.h"
#include "record/directory.h"
#include "record/rings/programs.h"
#include "tracedir/registry.h"

#define SECOND UINT64_C(1000000000)
/* What is told to end, and does not, is made to. */
#define TIMEOUT (5 * SECOND)
/* So long the program's start waits for the kernel's tracing, and its end for what that has left. */
#define HOST_TIMEOUT (10 * SECOND)
/* While the kernel is traced, nothing but time tells of what the program has emitted. */
#define POLL_INTERVAL (2 * SECOND / 1000)
#define HOST_PROBLEMS_MAX 8u
#define CHILDREN_MAX 256u

struct run {
    const struct record_options *options;
    const char *dir;
    struct record_dir directory;
    struct programs programs;
    struct child child;
    pid_t ours[CHILDREN_MAX]; /* children of this process that are not the program's */
    unsigned n_ours;
    /* This machine's kernel, where it is wished for. */
    struct record_kernel kernel;
    struct guests guests; /* n 0: none */
    struct host_agent agent;
    char host_problems[HOST_PROBLEMS_MAX][480];
    unsigned n_host_problems;
    uint64_t until;  /* ns: when --time is up */
    uint64_t killed; /* when it is made to end; 0: it is not told to yet */
    unsigned heard;  /* signals that were dealt with */
    bool early;      /* one of them may have come before the program was there */
    bool hurries;    /* nobody is waited for any more */
    bool told;
    char exit[64];
};

/* ---- Signals ---- */

/* The first is the program's, which then ends as it likes; with the second it has no choice. */
static void handle_signals(struct run *run, uint64_t now)
{
    bool alone;
    int signal;
    unsigned n = run_signals_count(&signal, &alone);

    if (n == run->heard)
        return;
    if (run->heard == 0 && (alone || run->early))
        child_signal(&run->child, signal);
    if (n > 1) {
        run->hurries = true;
        if (run->killed == 0) {
            child_signal(&run->child, SIGTERM);
            run->killed = now + TIMEOUT;
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
        run->killed = now + TIMEOUT;
        run->hurries = true;
    }
    if (run->killed && now >= run->killed)
        child_signal(&run->child, SIGKILL);
}

/* ---- The directory ---- */

/* What went wrong with the host's kernel stands with the program, as there may be no source of it. */
static int put_host_problems(const struct run *run, struct arena *arena,
                             struct manifest_source *source)
{
    unsigned n = source->n_problems;
    const char **problems;

    if (run->n_host_problems == 0)
        return 0;
    problems = arena_alloc(arena, (n + run->n_host_problems) * sizeof *problems);
    if (!problems)
        return -ENOMEM;
    if (n > 0)
        memcpy(problems, source->problems, n * sizeof *problems);
    for (unsigned i = 0; i < run->n_host_problems; i++)
        problems[n++] = run->host_problems[i];
    source->problems = problems;
    source->n_problems = n;
    return 0;
}

static int put_sources(const struct run *run, bool complete, struct manifest *manifest)
{
    struct manifest_source *sources, *programs, *kernels = NULL;
    unsigned n_programs, n_kernels = 0;
    int r =
        programs_put_sources(&run->programs, complete, &manifest->arena, &programs, &n_programs);

    if (r >= 0 && run->guests.n > 0)
        r = guests_put_sources(&run->guests, complete, &manifest->arena, &kernels, &n_kernels);
    if (r < 0)
        return r;
    sources = arena_alloc(&manifest->arena, (n_programs + n_kernels + 1) * sizeof *sources);
    if (!sources)
        return -ENOMEM;
    memcpy(sources, programs, n_programs * sizeof *sources);
    if (n_kernels > 0)
        memcpy(sources + n_programs, kernels, n_kernels * sizeof *sources);
    if (n_programs + n_kernels > 0 && put_host_problems(run, &manifest->arena, &sources[0]) < 0)
        return -ENOMEM;
    manifest->sources = sources;
    manifest->n_sources = n_programs + n_kernels;
    return 0;
}

static int write_manifest(struct run *run, bool complete, struct fault *fault)
{
    struct manifest manifest = {0};
    int r = put_sources(run, complete, &manifest);

    if (r < 0)
        fault_plain(fault, r, run->dir, "out of memory");
    else if (manifest.n_sources > 0)
        r = manifest_write(run->dir, &manifest, fault);
    manifest_done(&manifest);
    run->programs.changed = false;
    run->guests.written = true;
    return r;
}

/* It is tried again at the end, and told then. */
static void note(struct run *run)
{
    if (run->programs.changed || (run->guests.n > 0 && !run->guests.written))
        (void)write_manifest(run, false, NULL);
}

/* ---- This machine's kernel ---- */

static void host_problem(struct run *run, const char *what, const char *why)
{
    cli_error("%s: %s", what, why);
    if (run->n_host_problems < HOST_PROBLEMS_MAX)
        (void)snprintf(run->host_problems[run->n_host_problems++], sizeof run->host_problems[0],
                       "%s: %s", what, why);
}

static void read_agent_stderr(struct run *run)
{
    char line[256];

    while (run->agent.said >= 0 && host_agent_hear(&run->agent, line, sizeof line) > 0)
        host_problem(run, "the host's kernel", line);
}

static int host_failed(struct run *run, struct fault *why, struct fault *fault)
{
    host_agent_explain(&run->agent, why);
    return fault_plain(fault, why->error, NULL, "the host's kernel cannot be recorded: %s",
                       why->what);
}

/* Before the program runs: what it does first is in the trace, and it need not run for nothing. */
static int begin_host(struct run *run, struct fault *fault)
{
    struct guest_config plan = {.name = "host",
                                .is_host = true,
                                .place = {.kind = ENDPOINT_FD, .text = "the host's kernel"}};
    char agent[PATH_MAX];
    struct fault why = {0};
    int r;

    if (!run->options->host)
        return 0;
    r = record_kernel_choose((char *)(uintptr_t)run->options->host, true, &run->kernel, fault);
    if (r < 0)
        return r;
    plan.wishes = &run->kernel.wishes;
    /* The program is not there yet: ours are followed, and so are children. */
    r = host_agent_start(record_kernel_agent(agent, sizeof agent),
                         run->options->host_threads ? getpid() : 0, &run->agent, &plan.place.fd,
                         &why);
    if (r < 0)
        return host_failed(run, &why, fault);
    r = guests_join(run->directory.fd, run->dir, plan.wishes, run->options->max_size, &plan, 1,
                    &run->guests, fault);
    if (r >= 0 && guests_await(&run->guests, "host", HOST_TIMEOUT, &why) < 0)
        return host_failed(run, &why, fault);
    return r;
}

/* Takes what is left. */
static void end_host(struct run *run)
{
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + HOST_TIMEOUT;

    if (run->guests.n == 0)
        return;
    guests_stop(&run->guests);
    while (clock_ns(CLOCK_MONOTONIC) < until &&
           guests_step(&run->guests, POLL_INTERVAL, NULL, NULL) > 0)
        ;
    guests_end(&run->guests);
    read_agent_stderr(run);
}

/* ---- The course ---- */

static void wait_for_something(struct run *run, uint64_t sleep, const sigset_t *waiting)
{
    struct pollfd fds[] = {
        {run->child.ended ? -1 : run->child.end, POLLIN, 0},
        {run->programs.watch, POLLIN, 0},
    };
    struct timespec time = {.tv_sec = (time_t)(sleep / SECOND), .tv_nsec = (long)(sleep % SECOND)};

    if (run->guests.n > 0) {
        read_agent_stderr(run);
        sleep = MIN(sleep, POLL_INTERVAL);
        if (guests_step(&run->guests, sleep, waiting, NULL) > 0)
            return;
        time = (struct timespec){.tv_nsec = (long)sleep};
    }
    (void)ppoll(fds, ARRAY_SIZE(fds), &time, waiting);
}

/* How many processes that the program has started and left still run: a daemon may have its first event long after
 * its parent has ended. They are our children by then. */
static unsigned count_orphans(const struct run *run)
{
    pid_t children[2 * CHILDREN_MAX];
    unsigned n = child_list(children, ARRAY_SIZE(children));
    unsigned orphans = 0;

    for (unsigned i = 0; i < n; i++) {
        bool known = children[i] == run->child.pid;

        for (unsigned j = 0; j < run->n_ours && !known; j++)
            known = run->ours[j] == children[i];
        orphans += !known;
    }
    return orphans;
}

static void tell_rest(struct run *run, unsigned n)
{
    if (run->told || n == 0)
        return;
    run->told = true;
    cli_message("strata: the program has ended; %u process%s that it started %s on and %s recorded "
                "until Ctrl-C",
                n, n == 1 ? "" : "es", n == 1 ? "goes" : "go", n == 1 ? "is" : "are");
}

static void loop(struct run *run, const sigset_t *waiting)
{
    bool goes_on = true;

    while (goes_on) {
        /* Asked before the rings are looked at: what was made until then is seen. */
        bool ended = child_has_ended(&run->child);
        unsigned running, orphans = ended ? count_orphans(run) : 0;
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        uint64_t sleep;

        (void)programs_step(&run->programs, &sleep);
        note(run);
        handle_signals(run, now);
        watch_time(run, now);
        /* One that made its rings just now may not have been seen: they are looked for now and then. */
        if (ended && programs_running(&run->programs) == 0)
            programs_look(&run->programs);
        running = programs_running(&run->programs);
        goes_on = !ended || (running + orphans > 0 && !run->hurries);
        if (!goes_on)
            break;
        if (ended)
            tell_rest(run, MAX(running, orphans));
        if (orphans > 0) /* nothing wakes us when they end */
            sleep = MIN(sleep, SECOND / 10);
        if (run->killed || run->child.end < 0)
            sleep = MIN(sleep, SECOND / 100);
        if (run->until > now)
            sleep = MIN(sleep, run->until - now);
        wait_for_something(run, sleep, waiting);
    }
    programs_finish(&run->programs);
    end_host(run);
}

/* ---- The end ---- */

/* What came of one process. */
static int tell(const struct run *run, const struct program *program)
{
    const struct drain_stats *taken = &program->taken;

    cli_message("%s (process %" PRIu32 "): %" PRIu64 " events written to %s/%s", program->program,
                program->pid, taken->events, run->dir, program->name);
    if (taken->discarded)
        cli_message("  %" PRIu64 " events were lost: its rings were full (STRATA_TRACE='ring=SIZE' "
                    "makes them larger)",
                    taken->discarded);
    if (taken->no_ring)
        cli_message("  %" PRIu64 " events were lost: their threads got no ring", taken->no_ring);
    if (taken->unwritten)
        cli_message("  %" PRIu64 " events were lost: %s%s", taken->unwritten,
                    taken->full ? "--max-size allows no more" : "they could not be written: ",
                    taken->full ? "" : strerror(-taken->error));
    drain_stats_tell_unreadable(taken);
    if (program->error < 0)
        cli_error("%s (process %" PRIu32 "): %s", program->program, program->pid, program->what);
    if (program->left)
        cli_message("  its rings stay in %s", program->rings);
    return program->error < 0 || taken->unwritten                 ? EXIT_FAILURE
           : run->options->strict && !drain_stats_is_whole(taken) ? EXIT_LOSSES
                                                                  : EXIT_SUCCESS;
}

/* Where the kernel beside it was recorded, that is what there is: not an error, and no word where nothing else was
 * asked for. */
static int tell_nothing(const struct run *run)
{
    const struct strings *events = &run->options->events;
    char reason[600];

    record_nothing_reason(&run->programs, events, reason, sizeof reason);
    if (run->guests.n == 0)
        cli_error("nothing was recorded: %s", reason);
    else if (events->n > 0)
        cli_error("only the host kernel was recorded: %s", reason);
    return run->guests.n == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Of processes that are no source. */
static int tell_no_ring(const struct run *run)
{
    uint32_t n;
    uint64_t events = programs_no_ring(&run->programs, &n);

    if (events == 0)
        return EXIT_SUCCESS;
    cli_message("%" PRIu64 " events were lost: %" PRIu32 " process%s could make no rings", events,
                n, n == 1 ? "" : "es");
    return run->options->strict ? EXIT_LOSSES : EXIT_SUCCESS;
}

static int sum_up(struct run *run)
{
    struct fault fault = {0};
    int status = EXIT_SUCCESS;

    if (run->child.status != 0)
        cli_message("%s: %s", run->programs.main_command[0], run->exit);
    if (run->programs.n == 0)
        status = tell_nothing(run);
    for (unsigned i = 0; i < run->programs.n; i++) {
        int one = tell(run, run->programs.items[i]);

        if (status != EXIT_FAILURE && one != EXIT_SUCCESS)
            status = one;
    }
    if (run->programs.n > 0 && tell_no_ring(run) != EXIT_SUCCESS && status == EXIT_SUCCESS)
        status = EXIT_LOSSES;
    for (unsigned i = 0; i < run->guests.n; i++)
        if (!record_kernel_tell(run->dir, &run->guests.guests[i]) && run->options->strict &&
            status == EXIT_SUCCESS)
            status = EXIT_LOSSES;
    if (write_manifest(run, true, &fault) < 0) {
        cli_fault(&fault);
        status = EXIT_FAILURE;
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

static int in_dir(struct run *run, char **command)
{
    struct fault fault = {0};
    sigset_t waiting;
    int status;
    int r = programs_open(run->dir, &run->programs, &fault);

    if (r < 0) {
        cli_fault(&fault);
        return EXIT_FAILURE;
    }
    run->programs.main_command = (const char *const *)command;
    run->programs.max_size = run->options->max_size;
    run_signals_catch(&waiting);
    r = begin_host(run, &fault);
    if (r < 0) {
        cli_fault(&fault);
        return EXIT_FAILURE;
    }
    run->n_ours = child_list(run->ours, CHILDREN_MAX);
    child_adopt_orphans();
    r = start(run, command, &waiting, &fault);
    if (r < 0) {
        cli_fault(&fault);
        end_host(run);
        /* As a shell has it. */
        status = r == -ENOENT ? 127 : 126;
    } else {
        run->early = run_signals_waiting();
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
        .dir = record_output(options, name, sizeof name),
        .child.end = -1,
        .agent.said = -1,
        .until = options->time ? clock_ns(CLOCK_MONOTONIC) + options->time : UINT64_MAX,
    };
    struct fault fault = {0};
    struct registry_entry registry_entry = REGISTRY_NONE;
    bool empty;
    int status;

    if (record_dir_open(run.dir, &run.directory, &fault) < 0) {
        cli_fault(&fault);
        return EXIT_FAILURE;
    }
    cmd_raise_files(); /* a file for each ring */
    /* For others to know of, and no more. */
    (void)registry_add(getenv("XDG_RUNTIME_DIR"), run.dir, &registry_entry, NULL);
    status = in_dir(&run, command);
    registry_remove(&registry_entry);
    empty = run.programs.n == 0;
    programs_close(&run.programs);
    if (run.guests.n > 0) {
        guests_remove_silent(&run.guests);
        (void)guests_close(&run.guests, NULL);
    }
    host_agent_done(&run.agent);
    record_kernel_done(&run.kernel);
    record_dir_close(&run.directory, empty);
    return status;
}
