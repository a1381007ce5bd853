/* SPDX-License-Identifier: MIT */
#include "report/info_row.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "event/program.h"
#include "report/causal.h"
#include "report/losses_text.h"
#include "trace/complete.h"
#include "tracedir/manifest.h"

enum {
    INFO_HEADING, /* the path, with the source's name if a directory has several */
    INFO_PATH,
    INFO_FORMAT,
    INFO_LAYER,
    INFO_LAYERS,
    INFO_LAYERS_TEXT,
    INFO_FACTS,
    INFO_RECORDER,
    INFO_BUFFERS,
    INFO_CLOCK_TEXT,
    INFO_CLOCK,
    INFO_CLOCK_HZ,
    INFO_CPUS_TEXT,
    INFO_CPUS,
    INFO_CPUS_SEEN,
    INFO_EVENTS_TEXT,
    INFO_EVENTS,
    INFO_CLASSES,
    INFO_TIME_TEXT,
    INFO_FIRST_NS,
    INFO_LAST_NS,
    INFO_FIRST_TICKS,
    INFO_LAST_TICKS,
    INFO_HOST_TEXT,
    INFO_HOST_FIRST,
    INFO_HOST_LAST,
    INFO_HOST_ERROR,
    INFO_CAUSAL_TEXT,
    INFO_CAUSAL_PAIRS,
    INFO_CAUSAL_ERROR,
    INFO_CAUSAL_STATED,
    INFO_CAUSAL_VIOLATIONS,
    INFO_CAUSAL_WORST,
    INFO_CAUSAL_WORST_AT,
    INFO_CAUSAL_WORST_WHAT,
    INFO_LATE_TEXT,
    INFO_SWITCHES_TEXT,
    INFO_SWITCHES,
    INFO_SWITCHES_BROKEN,
    INFO_LATE,
    INFO_LOST_TEXT,
    INFO_LOST,
    INFO_LOST_UNCOUNTED,
    INFO_LOST_PLACES,
    INFO_LOST_SKIPPED,
    INFO_COLUMNS,
};

static const struct table_column columns[INFO_COLUMNS] = {
    [INFO_HEADING] = {.title = ""},
    [INFO_PATH] = {.name = "path"},
    [INFO_FORMAT] = {.title = "format", .name = "format"},
    [INFO_LAYER] = {.name = "layer"},
    [INFO_LAYERS] = {.name = "layers"},
    [INFO_LAYERS_TEXT] = {.title = "layer"},
    [INFO_FACTS] = {.title = "", .name = "facts"},
    [INFO_RECORDER] = {.title = "recorder"},
    [INFO_BUFFERS] = {.title = ""},
    [INFO_CLOCK_TEXT] = {.title = "clock"},
    [INFO_CLOCK] = {.name = "clock", .object = "clock", .key = "name"},
    [INFO_CLOCK_HZ] = {.name = "clock_hz", .object = "clock", .key = "hz"},
    [INFO_CPUS_TEXT] = {.title = "cpus"},
    [INFO_CPUS] = {.name = "cpus"},
    [INFO_CPUS_SEEN] = {.name = "cpus_seen"},
    [INFO_EVENTS_TEXT] = {.title = "events"},
    [INFO_EVENTS] = {.name = "events"},
    [INFO_CLASSES] = {.name = "classes"},
    [INFO_TIME_TEXT] = {.title = "time"},
    [INFO_FIRST_NS] = {.name = "first_ns"},
    [INFO_LAST_NS] = {.name = "last_ns"},
    [INFO_FIRST_TICKS] = {.name = "first_ticks"},
    [INFO_LAST_TICKS] = {.name = "last_ticks"},
    [INFO_HOST_TEXT] = {.title = "host's time"},
    [INFO_HOST_FIRST] = {.name = "host_first_ns", .object = "host_time", .key = "first_ns"},
    [INFO_HOST_LAST] = {.name = "host_last_ns", .object = "host_time", .key = "last_ns"},
    [INFO_HOST_ERROR] = {.name = "host_error_ns", .object = "host_time", .key = "error_ns"},
    [INFO_CAUSAL_TEXT] = {.title = "tightened"},
    [INFO_CAUSAL_PAIRS] = {.name = "causal_pairs", .object = "causal", .key = "pairs"},
    [INFO_CAUSAL_ERROR] = {.name = "causal_error_ns", .object = "causal", .key = "error_ns"},
    [INFO_CAUSAL_STATED] = {.name = "causal_stated_ns", .object = "causal", .key = "stated_ns"},
    [INFO_CAUSAL_VIOLATIONS] = {.name = "causal_violations",
                                .object = "causal",
                                .key = "violations"},
    [INFO_CAUSAL_WORST] = {.name = "causal_worst_ns", .object = "causal", .key = "worst_ns"},
    [INFO_CAUSAL_WORST_AT] = {.name = "causal_worst_at_ns",
                              .object = "causal",
                              .key = "worst_at_ns"},
    [INFO_CAUSAL_WORST_WHAT] = {.name = "causal_worst", .object = "causal", .key = "worst"},
    [INFO_LATE_TEXT] = {.title = "out of order"},
    [INFO_SWITCHES_TEXT] = {.title = "switches"},
    [INFO_SWITCHES] = {.name = "switches", .object = "switches", .key = "count"},
    [INFO_SWITCHES_BROKEN] = {.name = "switches_not_following",
                              .object = "switches",
                              .key = "not_following"},
    [INFO_LATE] = {.name = "out_of_order"},
    [INFO_LOST_TEXT] = {.title = "lost"},
    [INFO_LOST] = {.name = "lost", .object = "lost", .key = "events"},
    [INFO_LOST_UNCOUNTED] = {.name = "lost_uncounted", .object = "lost", .key = "uncounted"},
    [INFO_LOST_PLACES] = {.name = "lost_places", .object = "lost", .key = "places"},
    [INFO_LOST_SKIPPED] = {.name = "lost_skipped_bytes", .object = "lost", .key = "skipped_bytes"},
};

const struct table_form info_form = {columns, INFO_COLUMNS, .records = true,
                                     .silent_if_empty = true};

static unsigned cpus_seen(const struct info *info)
{
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(info->cpus); i++)
        n += (unsigned)__builtin_popcountll(info->cpus[i]);
    return n;
}

static unsigned classes_seen(const struct info *info)
{
    unsigned n = 0;

    for (unsigned i = 0; i < info->tally.n_rows; i++)
        n += info->tally.rows[i].count > 0;
    return n;
}

/* A source of a recorded directory is named by the directory. */
static const char *path_of(const struct info *info)
{
    const struct trace_input *input = &info->trace->inputs[0];

    return input->recorded ? input->path : info->origin->path;
}

/* Finds the layers of the origins, each once. */
static unsigned find_layers(const struct info *info, const char *ret_names[LAYERS])
{
    const struct trace_input *input = &info->trace->inputs[0];
    unsigned seen = 0, n = 0;

    for (unsigned i = 0; i < input->n_origins; i++) {
        enum layer layer = info->trace->catalogue.origins[input->first_origin + i]->layer;

        if (!(seen >> layer & 1))
            ret_names[n++] = layer_name(layer);
        seen |= 1U << layer;
    }
    return n;
}

/* True if its recorder has the directory locked (record/directory.h). */
static bool is_recording(const char *directory)
{
    _cleanup_(closep) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Describes the recorder of a source whose end is not written. */
static void set_recorder(const struct info *info, const struct trace_input *input,
                         struct table *table)
{
    const struct manifest_source *source = input->recorded;

    if (!source || manifest_source_has_ended(source))
        return;
    if (is_recording(input->path))
        table_str(table, INFO_RECORDER, "is recording");
    else if (strcmp(source->kind, "ctf") == 0 && info->has_no_rings)
        table_str(table, INFO_RECORDER,
                  "was killed; the rings of its process are recovered, or gone");
    else if (strcmp(source->kind, "ctf") == 0)
        table_str(table, INFO_RECORDER,
                  "was killed; 'strata recover' lists the processes whose rings still hold events");
    else
        table_str(table, INFO_RECORDER, "was killed; what it had not written is lost");
}

/* True if something in the trace cannot be read. */
static bool is_damaged(const struct info *info)
{
    return info->stopped || info->tally.losses.damaged;
}

struct fact_target {
    const struct info *info;
    struct table *table;
};

/* True if the value of "complete" is of a recorder that ended properly, with or without losses (trace/complete.h).
 * Otherwise the value says why not. */
static bool is_finished(const char *complete)
{
    return strcmp(complete, "yes") == 0 || strncmp(complete, "no; ", 4) == 0;
}

/* Corrects what the recorder states about completeness and losses, if parts cannot be read or more was lost than it
 * counted. */
static void add_fact(void *arg, const char *key, const char *value)
{
    const struct fact_target *target = arg;
    const struct manifest_source *source = target->info->trace->inputs[0].recorded;
    const struct losses *losses = &target->info->tally.losses;
    char text[80];

    if (is_damaged(target->info) && strcmp(key, "complete") == 0 && is_finished(value)) {
        value = "no; the recorder finished, but parts cannot be read";
    } else if (strcmp(key, "complete") == 0 && strcmp(value, "yes") == 0) {
        value = trace_complete_text(losses->events, losses->uncounted > 0, text);
    } else if ((is_damaged(target->info) ||
                (source && (manifest_source_lost_more(source) || !source->complete))) &&
               strcmp(key, "lost in all") == 0) {
        snprintf(text, sizeof text, "unknown; %s by the recorder's count", value);
        value = text;
    }
    table_pairs_add(target->table, key, value);
}

static void put_heading(const struct info *info, struct table *table)
{
    const struct trace_input *input = &info->trace->inputs[0];
    struct text *cell = table_cell(table, INFO_HEADING);

    text_put_str(cell, path_of(info));
    if (input->manifest && input->manifest->n_sources > 1) {
        text_put_literal(cell, ": ");
        text_put_str(cell, input->recorded->name);
    }
}

/* Sets what the trace is. */
static int set_identity(const struct info *info, struct table *table)
{
    const struct trace_input *input = &info->trace->inputs[0];
    struct fact_target target = {info, table};
    const char *layers[LAYERS];
    unsigned n_layers = find_layers(info, layers);
    int r;

    put_heading(info, table);
    table_str(table, INFO_PATH, path_of(info));
    table_str(table, INFO_FORMAT, info->origin->format);
    table_str(table, INFO_LAYER, layer_name(info->origin->layer));
    for (unsigned column = INFO_LAYERS; column <= INFO_LAYERS_TEXT; column++) {
        if (column == INFO_LAYERS && n_layers < 2)
            continue;
        table_list(table, column);
        for (unsigned i = 0; i < n_layers; i++)
            table_list_add(table, layers[i]);
    }
    table_pairs(table, INFO_FACTS);
    r = trace_input_facts(input, add_fact, &target);
    set_recorder(info, input, table);
    table_pairs(table, INFO_BUFFERS);
    for (unsigned i = 1; i < input->n_origins; i++) {
        const char *path = info->trace->catalogue.origins[input->first_origin + i]->path;

        if (strcmp(path, info->origin->path) != 0)
            table_pairs_add(table, "buffer", path);
    }
    return r;
}

static void set_clock(const struct clock *clock, struct table *table)
{
    struct text *cell;

    table_str(table, INFO_CLOCK, clock->name);
    if (clock->hz)
        table_u64(table, INFO_CLOCK_HZ, clock->hz);
    cell = table_cell(table, INFO_CLOCK_TEXT);
    text_put_str(cell, clock->name);
    if (clock->hz == 0)
        text_put_literal(cell, ", its rate is unknown");
    else
        text_printf(cell, ", %" PRIu64 " ticks a second", clock->hz);
}

static void set_cpus(const struct info *info, struct table *table)
{
    unsigned seen = cpus_seen(info);

    if (info->origin->n_cpus)
        table_u64(table, INFO_CPUS, info->origin->n_cpus);
    table_u64(table, INFO_CPUS_SEEN, seen);
    if (info->origin->n_cpus)
        text_put_u64(table_cell(table, INFO_CPUS_TEXT), info->origin->n_cpus);
    else if (seen)
        text_printf(table_cell(table, INFO_CPUS_TEXT), "%u seen", seen);
    else
        table_str(table, INFO_CPUS_TEXT, "not recorded");
}

static void set_times(const struct info *info, struct table *table)
{
    const struct tally *tally = &info->tally;
    const struct clock *clock = &info->origin->clock;
    struct text *cell;
    char buf[32];

    if (tally->count == 0)
        return;
    if (tally->first == TIME_UNKNOWN) {
        table_str(table, INFO_TIME_TEXT, "not recorded");
        return;
    }
    table_i64(table, clock->hz ? INFO_FIRST_NS : INFO_FIRST_TICKS,
              clock_to_ns(clock, tally->first));
    table_i64(table, clock->hz ? INFO_LAST_NS : INFO_LAST_TICKS, clock_to_ns(clock, tally->last));
    cell = table_cell(table, INFO_TIME_TEXT);
    clock_put_time(clock, tally->first, cell);
    text_put_literal(cell, " to ");
    clock_put_time(clock, tally->last, cell);
    text_printf(cell, ", %s%s", duration_text(buf, sizeof buf, clock, tally_duration(tally)),
                clock->hz ? "" : " ticks");
}

bool info_host_times(const struct info *info, struct trace_host_times *ret)
{
    const struct trace_input *input = &info->trace->inputs[0];

    return !info->trace->host_time && info->tally.first != TIME_UNKNOWN &&
           trace_input_host_times(input, info->tally.first, info->tally.last, ret);
}

void info_put_host_times(struct text *cell, const struct trace_host_times *times)
{
    static const struct clock host = {"monotonic", NANOSECONDS};
    char buf[32];

    clock_put_time(&host, times->first, cell);
    text_put_literal(cell, " to ");
    clock_put_time(&host, times->last, cell);
    text_printf(cell, ", within %s",
                duration_text(buf, sizeof buf, &host, trace_clock_round_up(times->error_ns)));
}

static void set_host_times(const struct info *info, struct table *table)
{
    struct trace_host_times times;

    if (!info_host_times(info, &times))
        return;
    table_i64(table, INFO_HOST_FIRST, times.first);
    table_i64(table, INFO_HOST_LAST, times.last);
    table_i64(table, INFO_HOST_ERROR, times.error_ns);
    info_put_host_times(table_cell(table, INFO_HOST_TEXT), &times);
}

/* Sets what causes and effects in other sources tell about its clock. */
static void set_causal(const struct trace_clock *row, struct table *table)
{
    if (!row)
        return;
    table_u64(table, INFO_CAUSAL_PAIRS, row->pairs);
    if (row->violations)
        table_unknown(table, INFO_CAUSAL_ERROR);
    else
        table_i64(table, INFO_CAUSAL_ERROR, row->error_ns);
    table_i64(table, INFO_CAUSAL_STATED, row->stated_ns);
    table_u64(table, INFO_CAUSAL_VIOLATIONS, row->violations);
    if (row->violations) {
        table_i64(table, INFO_CAUSAL_WORST, row->worst_ns);
        table_i64(table, INFO_CAUSAL_WORST_AT, row->worst_at);
        table_str(table, INFO_CAUSAL_WORST_WHAT, row->worst);
    }
    causal_put_row(table_cell(table, INFO_CAUSAL_TEXT), row);
}

/* Counts the switches of threads, and the switches that are followed by another thread than they name. */
static void count_switches(const struct info *info, uint64_t *ret_n, uint64_t *ret_broken)
{
    *ret_n = *ret_broken = 0;
    for (unsigned i = 0; i < info->states.n_sources; i++) {
        const struct origin *origin;
        const struct state_counts *counts = states_counts(&info->states, i, &origin);

        if (origin->layer == LAYER_HYPERVISOR)
            continue;
        *ret_n += counts->switches;
        *ret_broken += counts->contradictions;
    }
}

/* Sets what is in doubt. */
static void set_order(const struct info *info, struct table *table)
{
    uint64_t late = trace_late(info->trace);
    uint64_t n, broken;

    count_switches(info, &n, &broken);

    table_u64(table, INFO_LATE, late);
    if (late)
        text_printf(table_cell(table, INFO_LATE_TEXT),
                    "%" PRIu64 " events, by too much to be put in place", late);
    if (n > 0) {
        table_u64(table, INFO_SWITCHES, n);
        table_u64(table, INFO_SWITCHES_BROKEN, broken);
    }
    if (broken > 0)
        text_printf(table_cell(table, INFO_SWITCHES_TEXT),
                    "%" PRIu64 " of %" PRIu64
                    " do not follow the previous one on their CPU: what ran in between is unknown",
                    broken, n);
}

/* True if something states how much was lost, or that something was. */
static bool has_count(const struct losses *losses)
{
    return losses->n > 0 || losses->unplaced > 0 || losses->elsewhere > 0;
}

/* SOURCE is NULL if Strata did not record it. */
static void put_lost(const struct info *info, const struct manifest_source *source,
                     struct text *cell)
{
    if (has_count(&info->tally.losses)) {
        losses_put(&info->tally.losses, cell);
        if (info->stopped)
            text_put_literal(cell, "; later ones are unknown: reading stopped");
    } else if (info->stopped) {
        text_put_literal(cell, "unknown: reading stopped, and what was read shows no loss");
    } else if (source && !source->complete) {
        text_put_literal(cell,
                         "unknown: the recording is not complete, and its records show no loss");
    } else if (source && source->lost_uncounted) {
        text_put_literal(cell, "an unknown number, as its problems say");
    } else if (info->origin->threads_only) {
        text_put_literal(cell, "unknown: only certain threads were recorded");
    } else if (source && !source->lost_known) {
        text_put_literal(cell, "nothing by its records; the recorder has no count");
    } else if (!source && info->tally.losses.n_recorders > 0) {
        text_put_literal(cell, "unknown: the file does not say");
    } else if (info->origin->pid_filter) {
        text_put_literal(cell, "nothing of the threads that were recorded");
    } else {
        text_put_literal(cell, "nothing");
    }
}

/* True if nothing states how much was lost, or that nothing was. */
static bool is_lost_unknown(const struct info *info, const struct manifest_source *source)
{
    if (has_count(&info->tally.losses))
        return false;
    return info->stopped || info->origin->threads_only ||
           (source ? !source->complete || source->lost_uncounted
                   : info->tally.losses.n_recorders > 0);
}

static void set_lost(const struct info *info, struct table *table)
{
    const struct losses *losses = &info->tally.losses;
    const struct manifest_source *source = info->trace->inputs[0].recorded;

    if (!is_lost_unknown(info, source))
        table_u64(table, INFO_LOST, losses->events);
    table_u64(table, INFO_LOST_UNCOUNTED, losses->uncounted);
    table_u64(table, INFO_LOST_PLACES, losses->n);
    table_u64(table, INFO_LOST_SKIPPED, losses->skipped);
    put_lost(info, source, table_cell(table, INFO_LOST_TEXT));
}

int info_put_row(const struct info *info, struct table *table)
{
    int r = set_identity(info, table);

    set_clock(&info->origin->clock, table);
    set_cpus(info, table);
    table_u64(table, INFO_EVENTS, info->tally.count);
    table_u64(table, INFO_CLASSES, classes_seen(info));
    text_printf(table_cell(table, INFO_EVENTS_TEXT), "%" PRIu64 " of %u classes", info->tally.count,
                classes_seen(info));
    set_times(info, table);
    set_host_times(info, table);
    set_causal(info->clock, table);
    set_order(info, table);
    set_lost(info, table);
    table_end_row(table);
    return r;
}
