/* SPDX-License-Identifier: MIT */
/* strata record --xen, and --percpu: the records of per-CPU trace buffers, and what decodes them, into a
 * directory. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock_ns.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "record/percpu/percpu.h"
#include "record/percpu/recorder.h"
#include "record/xen/buffers.h"
#include "schema/xen/user_events.h"

/* How long to wait for a program to make its buffers, and between two looks for them; ns. */
#define BUFFER_WAIT (10 * NSEC_PER_SEC)
#define BUFFER_PAUSE UINT64_C(20000000)

/* ---- Which events ---- */

/* Of a pipe, nothing would be left to be copied into the trace. */
static int read_table(struct xen_table *table, const char *path, struct error *error)
{
    struct stat st;

    if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
        return error_set(
            error, -EINVAL, path,
            "must be a regular file, because it is read and then copied into the trace");
    return xen_user_events_read(table, path, error);
}

/* EVENTS as they were given, and the NEEDED; without either, all. */
static int choose(const struct plan_buffers *options, const struct strings *events,
                  const struct strings *needed, struct xen_event_mask *choice, struct error *error)
{
    struct xen_table table = {0};
    int r = xen_table_built_in(&table, error);

    for (unsigned i = 0; r >= 0 && i < options->tables.n; i++)
        r = read_table(&table, options->tables.items[i], error);
    for (unsigned i = 0; r >= 0 && i < events->n; i++)
        r = xen_event_mask_add(choice, &table, events->items[i], error);
    for (unsigned i = 0; r >= 0 && i < needed->n; i++)
        r = xen_event_mask_add(choice, &table, needed->items[i], error);
    if (r >= 0 && events->n + needed->n == 0)
        r = xen_event_mask_add_mask(choice, XEN_MASK_ALL, error);
    xen_table_done(&table);
    return r;
}

/* ---- The recorders ---- */

/* What a recorder borrows. */
struct item {
    char name[32];
    struct xen_event_mask choice;
    struct cpu_set cpus;
};

static void free_item(void *userdata)
{
    struct item *item = userdata;

    xen_event_mask_done(&item->choice);
    free(item);
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct record_plan *plan = run->plan;
    struct buffer_drain_totals totals = buffers_recorder_totals(item->recorder);
    char size[16];

    output_line(stdout, "%" PRIu64 " events written to %s%s%s (%s)", totals.records, run->dir,
                run->n > 1 ? "/" : "", run->n > 1 ? item->recorder->name : "",
                bytes_text(size, sizeof size, totals.bytes));
    if (totals.left_out)
        cli_message("  %" PRIu64
                    " events that were not asked for were discarded (the event mask is "
                    "coarser)",
                    totals.left_out);
    if (totals.dropped)
        cli_message("  older ones, %" PRIu64
                    " windows, are not in it: --keep-in-memory has no room for them",
                    totals.dropped);
    return plan->strict && (totals.lost || item->recorder->has_lost_uncounted) ? EXIT_LOSSES
                                                                               : EXIT_SUCCESS;
}

/* The program that makes the buffers may just have been started. */
static int open_program(struct record_run *run, const char *name, struct trace_buffers **ret,
                        struct error *error)
{
    const struct record_plan *plan = run->plan;
    uint64_t wait = plan->time ? MIN(plan->time, BUFFER_WAIT) : BUFFER_WAIT;
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + wait;
    bool reported = false;

    for (;;) {
        int r = percpu_buffers_open(name, ret, error);

        if ((r != -ENOENT && r != -EAGAIN) || clock_ns(CLOCK_MONOTONIC) >= until)
            return r;
        if (!reported)
            cli_message("strata: waiting for the buffers '%s'", name);
        reported = true;
        if (stop_signals_sleep(&run->signals, BUFFER_PAUSE))
            return r;
        error_clear(error);
    }
}

/* Of the buffers NAME; NULL: of Xen. */
static int open_buffers(struct record_run *run, const char *name, struct item *item,
                        struct recorder **ret)
{
    const struct plan_buffers *o = &run->plan->buffers;
    uint64_t pages = o->buffer_size / 4096 + (o->buffer_size % 4096 != 0);
    /* Records of percpu/ are stamped as their program wants. */
    uint32_t mask = name ? item->choice.mask : xen_event_mask_stamped_mask(&item->choice);
    bool exact = mask == item->choice.mask && xen_event_mask_is_exact(&item->choice);
    struct buffers_recorder_settings settings = {
        .name = item->name,
        .buffers = {.set_events = true,
                    .events = mask,
                    .pages = (unsigned)pages,
                    .pages_exactly = true,
                    .discard = !o->backlog,
                    .cpus = o->cpus ? &item->cpus : NULL},
        .drain = {.choice = exact ? NULL : &item->choice, .memory = o->memory},
        .look_ns = o->poll * 1000000,
        .tables = o->tables.items,
        .n_tables = o->tables.n,
        .leave_on = o->leave_on,
        .more_room = name ? "Less of --event, a shorter --poll, or larger buffers of the program "
                            "help"
                          : "Less of --event, a shorter --poll or, once after each boot, a larger "
                            "--buffer-size helps",
    };
    struct trace_buffers *buffers = NULL;
    struct error error = {0};

    if ((name ? open_program(run, name, &buffers, &error)
              : xen_buffers_open(o->libxenctrl, &buffers, &error)) < 0 ||
        (o->cpus && cpu_set_parse(o->cpus, buffers->n_cpus, &item->cpus, &error) < 0)) {
        cli_print_error(&error);
        buffers_free(buffers);
        return EXIT_FAILURE;
    }
    return buffers_recorder_new(buffers, &settings, ret) < 0 ? cli_no_memory() : EXIT_SUCCESS;
}

/* N: how many of their kind came before. */
static int add_buffers(struct record_run *run, const char *name, unsigned n)
{
    static const struct strings none;
    const struct record_plan *plan = run->plan;
    struct record_item added = {.sum_up = sum_up, .free = free_item};
    struct item *item = calloc(1, sizeof *item);
    struct error error = {0};
    int status, r;

    if (!item || xen_event_mask_init(&item->choice) < 0) {
        free(item);
        return cli_no_memory();
    }
    snprintf(item->name, sizeof item->name, name ? "percpu" : "xen");
    if (n > 0)
        snprintf(item->name, sizeof item->name, "percpu-%u", n + 1);
    added.userdata = item;
    r = choose(&plan->buffers, &plan->chosen.buffers.patterns, name ? &none : &plan->needs.xen,
               &item->choice, &error);
    if (r < 0) {
        cli_print_error(&error);
        status = r == -ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
    } else {
        status = open_buffers(run, name, item, &added.recorder);
    }
    if (status != EXIT_SUCCESS) {
        free_item(item);
        return status;
    }
    return record_run_add(run, &added);
}

int record_xen_add(struct record_run *run)
{
    return run->plan->xen ? add_buffers(run, NULL, 0) : EXIT_SUCCESS;
}

int record_percpu_add(struct record_run *run)
{
    const struct strings *names = &run->plan->buffers.names;
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; status == EXIT_SUCCESS && i < names->n; i++)
        status = add_buffers(run, names->items[i], i);
    return status;
}
