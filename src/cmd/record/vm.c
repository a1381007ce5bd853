/* SPDX-License-Identifier: MIT */
/* strata record of a QEMU, which it starts or which runs, in every layer that can be reached. */

#include <inttypes.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "record/kernel/kernel_recorder.h"
#include "record/plan/qemu.h"
#include "tracedir/machine.h"

/* What the recorder borrows. */
struct vm {
    struct plan_qemu plan;
    struct recorder *machine, *guest; /* `guest` is NULL if its kernel is not recorded */
    struct termios terminal;
    bool has_terminal;
};

static void free_vm(void *userdata)
{
    struct vm *vm = userdata;

    if (vm)
        plan_qemu_done(&vm->plan);
    free(vm);
}

/* ---- Results ---- */

static void print_vmm(const struct qemu_probe *probe, const struct qemu_summary *summary)
{
    const char *plural = summary->events == 1 ? "" : "s";
    char size[16], worst[24];

    if (probe->backend == VMM_BACKEND_SIMPLE)
        cli_message("  vmm    %s of events, by the host's clock; QEMU %s",
                    bytes_text(size, sizeof size, summary->simple_size), probe->version);
    else if (probe->backend == VMM_BACKEND_RING)
        cli_message("  vmm    %" PRIu64 " event%s, %" PRIu64 " lost, of libstrata's rings; QEMU %s",
                    summary->events, plural, summary->lost, probe->version);
    else
        cli_message(
            "  vmm    %" PRIu64 " line%s of events, %" PRIu64 " lost, times within %s; QEMU %s",
            summary->events, plural, summary->lost,
            record_error_text(worst, sizeof worst, (int64_t)summary->worst_ns), probe->version);
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct vm *vm = item->userdata;
    const struct recorder *recorder = item->recorder;
    const struct guest *guest = vm->guest ? kernel_recorder_guest(vm->guest) : NULL;
    struct qemu_summary summary;
    bool is_whole;

    /* One that was killed leaves the terminal as it had made it. */
    if (vm->has_terminal && tcgetpgrp(STDIN_FILENO) == getpgrp())
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &vm->terminal);
    qemu_recorder_sum_up(recorder, &summary);
    is_whole = summary.lost == 0 && !recorder->has_lost_uncounted;
    if (!record_run_is_void(run)) {
        record_run_print_length(run, summary.seconds);
        print_vmm(&vm->plan.probe, &summary);
    }
    if (guest)
        is_whole &= record_kernel_print(run->dir, guest);
    for (unsigned i = 0; i < recorder->n_problems; i++)
        cli_message("  %s", recorder->problems[i]);
    if (guest)
        record_kernel_print_problems(guest);
    if (summary.is_cut_off || summary.is_refused || summary.is_left_changed ||
        summary.is_agent_lost ||
        (guest && (guest_is_silent(guest) || record_kernel_is_cut(guest))) ||
        (vm->plan.settings.wrapped && !summary.has_come))
        return EXIT_FAILURE;
    return run->plan->strict && !is_whole ? EXIT_LOSSES : EXIT_SUCCESS;
}

/* True if QEMU has refused its command line, or printed its help: there was no machine. */
static bool is_void(const struct record_item *item)
{
    const struct vm *vm = item->userdata;
    struct qemu_summary summary;

    qemu_recorder_sum_up(item->recorder, &summary);
    return !vm->plan.settings.running && !vm->plan.settings.wrapped && !summary.is_running &&
           !summary.is_ended && summary.bytes + summary.events + summary.lost == 0;
}

/* sum_up() prints the guest's counts with QEMU's. */
static int sum_up_guest(const struct record_run *run, const struct record_item *item)
{
    (void)run;
    (void)item;
    return EXIT_SUCCESS;
}

/* ---- The course ---- */

/* Asks QEMU for its properties. */
static int prepare(struct record_run *run)
{
    struct vm *vm = calloc(1, sizeof *vm);
    struct error error = {0};
    int r;

    run->userdata = vm;
    if (!vm)
        return cli_no_memory();
    vm->has_terminal =
        run->subject.kind == RECORD_QEMU && tcgetattr(STDIN_FILENO, &vm->terminal) == 0;
    r = plan_qemu_make(run->plan, &run->subject, &vm->plan, &error);
    return r < 0 ? record_run_failed(run->plan, &error, r) : EXIT_SUCCESS;
}

/* Adds QEMU. It starts the guest's recorder when there is a port for it. */
static int add(struct record_run *run)
{
    struct vm *vm = run->userdata;
    struct kernel_recorder_settings settings = {
        .config = {.name = MACHINE_GUEST_OF_QEMU,
                   .trace = &vm->plan.kernel.trace,
                   .n_guests = plan_guest_list_n(run->guests) + 1},
        .is_optional = true,
        .is_led = true,
    };
    struct record_item item = {.sum_up = sum_up, .is_void = is_void, .userdata = vm};
    struct record_item guest = {.sum_up = sum_up_guest};
    int status;

    if (run->plan->guest && kernel_recorder_new(&settings, &guest.recorder) < 0)
        return cli_no_memory();
    vm->plan.settings.guest = vm->guest = guest.recorder;
    if (qemu_recorder_new(&vm->plan.settings, &item.recorder) < 0) {
        if (guest.recorder)
            guest.recorder->ops->free(guest.recorder);
        return cli_no_memory();
    }
    vm->plan.settings.connection = NULL; /* the recorder has it */
    vm->machine = item.recorder;
    status = record_run_add(run, &item);
    if (!guest.recorder)
        return status;
    if (status != EXIT_SUCCESS) {
        guest.recorder->ops->free(guest.recorder);
        return status;
    }
    return record_run_add(run, &guest);
}

/* If the recorder ends QEMU, its exit status does not count. If the recorder has not started QEMU, the exit status is
 * not the recorder's. */
static int exit_status(const struct record_run *run, int status)
{
    const struct vm *vm = run->userdata;
    struct qemu_summary summary;

    if (!recording_has_begun(run->recording) || run->subject.kind != RECORD_QEMU)
        return status;
    qemu_recorder_sum_up(vm->machine, &summary);
    return !summary.is_ended && child_exit_status(summary.child) != 0
               ? child_exit_status(summary.child)
               : status;
}

const struct record_about record_about_vm = {
    .prepare = prepare,
    .add = add,
    .exit_status = exit_status,
    .free = free_vm,
    .keeps_ignored = true,
    .goes_on = true,
};
