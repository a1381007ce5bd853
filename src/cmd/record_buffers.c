/* SPDX-License-Identifier: MIT */
/* strata record --xen, and --percpu: the records of per-CPU trace buffers, and what decodes them, into a
 * directory. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock_ns.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/record.h"
#include "cmd/record_run.h"
#include "record/percpu/percpu.h"
#include "record/xen/buffers.h"
#include "schema/xen/user_events.h"
#include "tracedir/registry.h"

/* How long to wait for a program to make its buffers, and between two looks for them; ns. */
#define BUFFER_WAIT (10 * UINT64_C(1000000000))
#define BUFFER_PAUSE UINT64_C(20000000)

#define MEMBER(m) offsetof(struct record_buffers_options, m)

const struct option record_buffers_options[] = {
    {OPTION_STRINGS, 0, "trace-events", "FILE", "declares events of your own; goes into the trace",
     MEMBER(tables)},
    {OPTION_STRING, 0, "cpu", "LIST", "of these CPUs: 0,2-5,7-", MEMBER(cpus)},
    {OPTION_PARSED, 0, "buffer-size", "SIZE", "of each CPU's buffer (128K); set once after a boot",
     MEMBER(buffer_size), NULL, size_parse},
    {OPTION_PARSED, 0, "flight-recorder", "SIZE",
     "keep the last SIZE in memory, write it at the end", MEMBER(memory), NULL, size_parse},
    {OPTION_PARSED, 0, "min-free", "SIZE", "stop when less would be free on the disk (64M)",
     MEMBER(reserve), NULL, size_parse},
    {OPTION_NUMBER, 0, "poll", "MS", "look into the buffers as often as that (100)", MEMBER(poll)},
    {OPTION_FLAG, 0, "include-old", NULL, "take what is in the buffers already, too",
     MEMBER(backlog)},
    {OPTION_FLAG, 0, "libxenctrl", NULL, "talk to Xen by its own libxenctrl", MEMBER(libxenctrl)},
    {OPTION_FLAG, 0, "leave-enabled", NULL, "leave tracing on at the end, and the masks as set",
     MEMBER(leave_on)},
    {OPTION_END},
};

/* ---- Which events ---- */

/* Of a pipe, nothing would be left to be copied into the trace. */
static int read_table(struct xen_table *table, const char *path, struct fault *fault)
{
    struct stat st;

    if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
        return fault_plain(fault, -EINVAL, path,
                           "must be a file: it is read, and then copied into the trace");
    return xen_custom_read(table, path, fault);
}

static int choose(const struct record_buffers_options *options, const struct strings *events,
                  struct xen_event_mask *choice, struct fault *fault)
{
    struct xen_table table = {0};
    int r = xen_table_built_in(&table, fault);

    for (unsigned i = 0; r >= 0 && i < options->tables.n; i++)
        r = read_table(&table, options->tables.items[i], fault);
    for (unsigned i = 0; r >= 0 && i < events->n; i++)
        r = xen_event_mask_add(choice, &table, events->items[i], fault);
    if (r >= 0 && events->n == 0)
        r = xen_event_mask_add_mask(choice, XEN_MASK_ALL, fault);
    xen_table_done(&table);
    return r;
}

/* ---- Recording ---- */

static void tell(const struct record_options *options, const struct recorder_totals *totals)
{
    char size[16];

    output_line(stdout, "%" PRIu64 " events written to %s (%s)", totals->records, options->output,
                bytes_text(size, sizeof size, totals->bytes));
    if (totals->left_out)
        cli_message("  %" PRIu64
                    " others came, as the mask is coarser than what was asked for, and "
                    "were left out",
                    totals->left_out);
    if (totals->dropped)
        cli_message("  older ones, %" PRIu64
                    " windows, are not in it: --flight-recorder has no room for them",
                    totals->dropped);
}

static int run(const struct record_options *options, struct record_run *run,
               struct recorder_totals *ret_totals)
{
    struct fault fault = {0};
    struct registry_entry registry_entry = REGISTRY_NONE;
    struct stream output;
    bool begun = false;
    int status = EXIT_FAILURE;
    int r = recording_new(options->output, options->buffers.name ? "percpu" : "xen",
                          options->buffers.tables.items, options->buffers.tables.n, &run->recording,
                          &fault);

    if (r >= 0)
        r = stream_init(&output, recording_fd(run->recording), recording_path(run->recording),
                        &fault);
    if (r < 0) {
        cli_fault(&fault);
    } else {
        output.max = options->max_size;
        output.reserve = options->buffers.reserve;
        run->output = &output;
        /* For others to know of, and no more. */
        (void)registry_add(getenv("XDG_RUNTIME_DIR"), options->output, &registry_entry, NULL);
        status = record_run(run, ret_totals, &begun);
        registry_remove(&registry_entry);
        if (begun)
            tell(options, ret_totals);
        else
            recording_remove(run->recording);
    }
    recording_free(run->recording);
    return status;
}

/* The program that makes the buffers may just have been started. */
static int open_program(const struct record_options *options, struct trace_buffers **ret,
                        struct fault *fault)
{
    uint64_t wait = options->time ? MIN(options->time, BUFFER_WAIT) : BUFFER_WAIT;
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + wait;
    bool reported = false;

    for (;;) {
        int r = percpu_buffers_open(options->buffers.name, ret, fault);

        if ((r != -ENOENT && r != -EAGAIN) || clock_ns(CLOCK_MONOTONIC) >= until)
            return r;
        if (!reported)
            cli_message("strata: waiting for the buffers '%s'", options->buffers.name);
        reported = true;
        if (record_sleep(BUFFER_PAUSE))
            return r;
        fault_clear(fault);
    }
}

static int with_choice(const struct record_options *options, const struct xen_event_mask *choice)
{
    const struct record_buffers_options *o = &options->buffers;
    uint64_t pages = o->buffer_size / 4096 + (o->buffer_size % 4096 != 0);
    /* Records of percpu/ are stamped as their program wants. */
    uint32_t mask = o->name ? choice->mask : xen_event_mask_stamped_mask(choice);
    bool exact = mask == choice->mask && xen_event_mask_is_exact(choice);
    struct record_run r = {
        .settings = {.set_events = true,
                     .events = mask,
                     .pages_exactly = true,
                     .discard = !o->backlog},
        .recorder = {.poll = o->poll * 1000000,
                     .choice = exact ? NULL : choice,
                     .memory = o->memory},
        .time = options->time,
        .leave = o->leave_on,
        .more_room = o->name
                         ? "Less of --event, a shorter --poll, or larger buffers of the program "
                           "help"
                         : "Less of --event, a shorter --poll or, once after each boot, a larger "
                           "--buffer-size helps",
    };
    struct recorder_totals totals = {0};
    struct cpu_set cpus;
    struct fault fault = {0};
    int status;

    if (pages > UINT16_MAX)
        return cli_usage_error("record", "--buffer-size is 255M at most");
    r.settings.pages = (unsigned)pages;
    record_catch_signals();
    if ((o->name ? open_program(options, &r.buffers, &fault)
                 : xen_buffers_open(o->libxenctrl, &r.buffers, &fault)) < 0 ||
        (o->cpus && cpu_set_parse(o->cpus, r.buffers->n_cpus, &cpus, &fault) < 0)) {
        cli_fault(&fault);
        buffers_free(r.buffers);
        return EXIT_FAILURE;
    }
    r.settings.cpus = o->cpus ? &cpus : NULL;
    status = run(options, &r, &totals);
    buffers_free(r.buffers);
    if (status == EXIT_SUCCESS && options->strict && totals.lost)
        status = EXIT_LOSSES;
    return status;
}

int record_buffers(const struct record_options *options, int n, char **operands)
{
    struct xen_event_mask choice;
    struct fault fault = {0};
    int status;

    if (n > 0)
        return cli_usage_error("record", "unknown argument '%s'; --%s accepts no PID", operands[0],
                               options->xen ? "xen" : "percpu");
    if (options->buffers.poll == 0 || options->buffers.poll > 3600000)
        return cli_usage_error("record", "--poll is 1 to 3600000 milliseconds");
    if (xen_event_mask_init(&choice) < 0) {
        cli_error("out of memory");
        return EXIT_FAILURE;
    }
    if (choose(&options->buffers, &options->events, &choice, &fault) < 0) {
        cli_fault(&fault);
        status = EXIT_USAGE;
    } else {
        status = with_choice(options, &choice);
    }
    xen_event_mask_done(&choice);
    return status;
}
