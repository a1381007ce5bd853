/* SPDX-License-Identifier: MIT */
#include "record/xen/recorder_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock_ns.h"
#include "event/class.h"
#include "record/percpu/percpu.h"
#include "record/percpu/recorder.h"
#include "record/plan/plan.h"
#include "record/xen/buffers.h"
#include "record/xen/options.h"
#include "schema/xen/user_events.h"

/* How long to wait for a program to make its buffers, and between two looks for them; ns. */
#define BUFFER_WAIT (10 * NSEC_PER_SEC)
#define BUFFER_PAUSE UINT64_C(20000000)
/* Xen's and percpu's buffers count their pages in 16 bits. */
#define BUFFER_SIZE_MAX ((uint64_t)UINT16_MAX * 4096)
#define POLL_MAX_MS 3600000u
#define MIN_FREE ((uint64_t)64 << 20)

/* ---- The options ---- */

static unsigned count_xen(const void *options)
{
    return ((const struct buffers_options *)options)->xen;
}

static unsigned count_percpu(const void *options)
{
    return ((const struct buffers_options *)options)->names.n;
}

static int check(const void *options, const struct record_plan *plan, struct error *error)
{
    const struct buffers_options *buffers = options;
    bool is_wanted = count_xen(options) + count_percpu(options) > 0;

    if (is_wanted && plan->buffer_size > BUFFER_SIZE_MAX)
        return record_misuse(error, "--buffer-size is 255M at most");
    if (buffers->memory > SIZE_MAX / 2)
        return record_misuse(error, "--keep-in-memory is too large");
    if (buffers->poll == 0 || buffers->poll > POLL_MAX_MS)
        return record_misuse(error, "--poll is 1 to 3600000 milliseconds");
    return 0;
}

static void done(void *options)
{
    struct buffers_options *buffers = options;

    strings_done(&buffers->names);
    strings_done(&buffers->tables);
}

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

static int choose(const struct buffers_options *options, const struct strings *events,
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

/* What a recorder borrows, and frees. */
struct lent {
    char name[32];
    struct xen_event_mask choice;
    struct cpu_set cpus;
};

static void free_lent(void *userdata)
{
    struct lent *lent = userdata;

    xen_event_mask_done(&lent->choice);
    free(lent);
}

/* The program that makes the buffers may just have been started. */
static int open_program(const struct record_plan *plan, const char *name,
                        struct trace_buffers **ret, struct error *error)
{
    const struct plan_environment *environment = &plan->environment;
    uint64_t wait = plan->time ? MIN(plan->time, BUFFER_WAIT) : BUFFER_WAIT;
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + wait;
    bool reported = false;
    char text[300];

    for (;;) {
        int r = percpu_buffers_open(name, ret, error);

        if ((r != -ENOENT && r != -EAGAIN) || clock_ns(CLOCK_MONOTONIC) >= until)
            return r;
        snprintf(text, sizeof text, "waiting for the buffers '%s'", name);
        if (!reported && environment->report)
            environment->report(environment->userdata, text);
        reported = true;
        if (stop_signals_sleep(environment->signals, BUFFER_PAUSE))
            return r;
        error_clear(error);
    }
}

/* The buffers NAME; NULL: Xen's. *RET has LENT. */
static int open_buffers(const struct buffers_options *options, const struct record_plan *plan,
                        const char *name, struct lent *lent, struct recorder **ret,
                        struct error *error)
{
    /* The records of a program's buffers are stamped as the program wants. */
    uint32_t mask = name ? lent->choice.mask : xen_event_mask_stamped_mask(&lent->choice);
    bool exact = mask == lent->choice.mask && xen_event_mask_is_exact(&lent->choice);
    struct buffers_recorder_settings settings = {
        .name = lent->name,
        .buffers = {.set_events = true,
                    .events = mask,
                    .pages = (unsigned)(plan->buffer_size / 4096 + (plan->buffer_size % 4096 != 0)),
                    .pages_exactly = true,
                    .discard = !options->backlog,
                    .cpus = options->cpus ? &lent->cpus : NULL},
        .drain = {.choice = exact ? NULL : &lent->choice, .memory = options->memory},
        .look_ns = options->poll * 1000000,
        .tables = options->tables.items,
        .n_tables = options->tables.n,
        .leave_on = options->leave_on,
        .more_room = name ? "Less of --event, a shorter --poll, or larger buffers of the program "
                            "help"
                          : "Less of --event, a shorter --poll or, once after each boot, a larger "
                            "--buffer-size helps",
        .userdata = lent,
        .free_userdata = free_lent,
    };
    struct trace_buffers *buffers = NULL;
    int r = name ? open_program(plan, name, &buffers, error)
                 : xen_buffers_open(options->libxenctrl, &buffers, error);

    if (r >= 0 && options->cpus)
        r = cpu_set_parse(options->cpus, buffers->n_cpus, &lent->cpus, error);
    if (r < 0) {
        buffers_free(buffers);
        return r;
    }
    return buffers_recorder_new(buffers, &settings, ret);
}

static int make_named(const struct buffers_options *options, const struct record_plan *plan,
                      const char *name, unsigned n, struct recorder **ret, struct error *error)
{
    static const struct strings none;
    struct lent *lent = calloc(1, sizeof *lent);
    int r = lent ? xen_event_mask_init(&lent->choice) : -ENOMEM;

    if (r < 0) {
        free(lent);
        return r;
    }
    snprintf(lent->name, sizeof lent->name, name ? "percpu" : "xen");
    if (n > 0)
        snprintf(lent->name, sizeof lent->name, "percpu-%u", n + 1);
    r = choose(options, &plan->chosen.buffers.patterns, name ? &none : &plan->needs.xen,
               &lent->choice, error);
    if (r < 0 && r != -ENOMEM)
        r = -RECORD_MISUSE;
    if (r >= 0)
        r = open_buffers(options, plan, name, lent, ret, error);
    if (r < 0)
        free_lent(lent);
    return r;
}

static int make_xen(const void *options, const struct record_plan *plan, unsigned n,
                    struct recorder **ret, struct error *error)
{
    return make_named(options, plan, NULL, n, ret, error);
}

static int make_percpu(const void *options, const struct record_plan *plan, unsigned n,
                       struct recorder **ret, struct error *error)
{
    const struct buffers_options *buffers = options;

    return make_named(buffers, plan, buffers->names.items[n], n, ret, error);
}

const struct recorder_type xen_recorder_type = {
    .option = "--xen",
    .count = count_xen,
    .make = make_xen,
    .layers = 1u << LAYER_HYPERVISOR,
    .min_free = MIN_FREE,
    .has_buffer_size = true,
};

const struct recorder_type percpu_recorder_type = {
    .option = "--percpu",
    .count = count_percpu,
    .check = check,
    .make = make_percpu,
    .done = done,
    .layers = 1u << LAYER_PROGRAM,
    .min_free = MIN_FREE,
    .has_buffer_size = true,
};
