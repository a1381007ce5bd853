/* SPDX-License-Identifier: MIT */
/* strata record -- PROGRAM: records a program that links libstrata, from its start to its end. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "cmd/ring_drain.h"
#include "record/qemu/command.h"
#include "record/rings/program_recorder.h"
#include "record/rings/why_empty.h"

/* Prints the results of a process. */
static int sum_up_process(const struct record_run *run, const struct program *program)
{
    const struct drain_stats *taken = &program->taken;

    cli_message("%s (process %" PRIu32 "): %" PRIu64 " events written to %s/%s", program->program,
                program->pid, taken->events, run->dir, program->name);
    drain_stats_report_dropped(taken, "", " (STRATA_TRACE='ring=SIZE' makes them larger)");
    drain_stats_report_unwritten(taken);
    drain_stats_report_unreadable(taken);
    if (program->error < 0)
        cli_error("%s (process %" PRIu32 "): %s", program->program, program->pid, program->what);
    drain_stats_report_kept(taken, program->rings);
    if (program->left && !taken->kept)
        cli_message("  its rings stay in %s", program->rings);
    return program->error < 0 || taken->unwritten              ? EXIT_FAILURE
           : run->plan->strict && !drain_stats_is_whole(taken) ? EXIT_LOSSES
                                                               : EXIT_SUCCESS;
}

/* If something else was recorded, a program without events is not an error. It is only mentioned if its events were
 * requested. */
static int sum_up_nothing(const struct record_run *run, const struct record_item *item)
{
    const struct programs *programs = program_recorder_programs(item->recorder);
    const struct strings *events = &run->plan->chosen.process.patterns;
    bool is_alone = !record_run_has_others(run, item);
    char reason[1000];

    record_nothing_reason(programs, events, reason, sizeof reason);
    if (is_alone)
        cli_error("nothing was recorded: %s", reason);
    else if (events->n > 0 && run->plan->host)
        cli_error("only the host kernel was recorded: %s", reason);
    else if (events->n > 0)
        cli_error("nothing of the program was recorded: %s", reason);
    return is_alone ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Reports processes without a ring, which are not sources. */
static int sum_up_no_ring(const struct record_run *run, const struct programs *programs)
{
    uint32_t n;
    uint64_t events = programs_no_ring(programs, &n);

    if (events == 0)
        return EXIT_SUCCESS;
    cli_message("%" PRIu64 " events were lost: %" PRIu32 " process%s could make no rings", events,
                n, n == 1 ? "" : "es");
    return run->plan->strict ? EXIT_LOSSES : EXIT_SUCCESS;
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct programs *programs = program_recorder_programs(item->recorder);
    int status = EXIT_SUCCESS;

    if (program_recorder_child(item->recorder)->status != 0)
        cli_message("%s: %s", programs->main_command[0], programs->main_exit);
    if (programs->n == 0)
        return sum_up_nothing(run, item);
    for (unsigned i = 0; i < programs->n; i++) {
        int one = sum_up_process(run, programs->items[i]);

        if (status != EXIT_FAILURE && one != EXIT_SUCCESS)
            status = one;
    }
    if (sum_up_no_ring(run, programs) != EXIT_SUCCESS && status == EXIT_SUCCESS)
        status = EXIT_LOSSES;
    if (programs->n_passed_over) {
        cli_error("%u more process%s not recorded, because a recording has at most %u; "
                  "'strata recover -o DIR %s' saves the events",
                  programs->n_passed_over, programs->n_passed_over == 1 ? " was" : "es were",
                  programs->max, programs->rings.path);
        status = EXIT_FAILURE;
    }
    if (programs->unread.code) {
        char unread[1000];

        record_put_unread(programs, unread, sizeof unread);
        cli_error("%s", unread);
        status = EXIT_FAILURE;
    }
    return status;
}

static int add(struct record_run *run)
{
    static const char *const all[] = {"*"};
    const struct strings *events = &run->plan->chosen.program;
    const char *const *command = run->subject.qemu.command;
    const char *trace = run->plan->environment.trace;
    bool wants_all = events->n == 0 && (!trace || !*trace);
    struct program_recorder_settings settings = {
        .command = command,
        .patterns = wants_all ? all : events->items,
        .n_patterns = wants_all ? 1 : events->n,
        .filters = run->plan->chosen.filters.items,
        .n_filters = run->plan->chosen.filters.n,
        .trace = trace,
    };
    struct record_item item = {.sum_up = sum_up};

    if (qemu_command_is_tool(command[0]))
        cli_warning("%s: its events are recorded only if it is built with libstrata; without that, "
                    "its --trace enable=PATTERN,file=LOG writes them, without times",
                    command[0]);
    if (program_recorder_new(&settings, &item.recorder) < 0)
        return cli_no_memory();
    return record_run_add(run, &item);
}

/* As in a shell, if the program could not be started; otherwise the program's exit status, if it has one. */
static int exit_status(const struct record_run *run, int status)
{
    const struct recorder *recorder = run->items[run->n - 1].recorder;
    int error = program_recorder_child_error(recorder);
    const struct child *child = program_recorder_child(recorder);

    if (error < 0)
        return error == -ENOENT ? 127 : 126;
    return child->pid && child_exit_status(child) ? child_exit_status(child) : status;
}

const struct record_about record_about_program = {
    .add = add,
    .exit_status = exit_status,
    .keeps_ignored = true,
};
