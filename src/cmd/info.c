/* SPDX-License-Identifier: MIT */
/* strata info: what is in a capture. */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "analysis/switch_check.h"
#include "analysis/tally.h"
#include "base/fd.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"
#include "event/program.h"
#include "print/json.h"
#include "tracedir/manifest.h"

#define OUT_SIZE ((size_t)64 * 1024)
#define CPUS_MAX 4096

enum format {
    FORMAT_TEXT,
    FORMAT_JSON,
};

/* All sources of a directory in the host's time, as far as they have been told. */
struct timeline {
    unsigned n;
    struct trace_host_times times;
};

struct info_options {
    struct open_options open;
    unsigned format;           /* enum format */
    struct timeline *timeline; /* to add what is told to; NULL: nothing */
};

static const char *const formats[] = {"text", "json", NULL};

static const struct option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json", "output format; json is one object per line (text)",
     offsetof(struct info_options, format), .choices = formats},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Output", output_options, 0},
    {"Reading", open_option_table, offsetof(struct info_options, open)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command info_command = {
    .name = "info",
    .summary = "describe a trace: format, clock, events, losses",
    .operands = "PATH...",
    .about = "Describes each trace: its format and version, clock, CPUs, event classes, the\n"
             "time that it covers, and what was lost. The whole trace is read.\n\n"
             "The format of PATH is detected; - is standard input.",
    .groups = groups,
    .examples = "  strata info trace\n"
                "  strata info -f json trace | jq .lost.events",
};

struct info {
    const struct trace *trace;
    const struct origin *origin;
    struct sink seen; /* of what follows it, but for the tally */
    struct switch_check switches;
    uint64_t cpus[CPUS_MAX / 64]; /* seen, one bit each */
    struct tally tally;
    struct text *out;
};

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct info *info = container_of(sink, struct info, seen);

    for (unsigned i = 0; i < n; i++)
        if ((uint32_t)items[i].cpu < CPUS_MAX)
            info->cpus[items[i].cpu / 64] |= (uint64_t)1 << (items[i].cpu % 64);
    return switch_check_add(&info->switches, items, n);
}

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

struct lines {
    struct text *out;
    size_t width; /* of the first column */
};

static void put_key(const struct lines *lines, const char *key)
{
    text_printf_safe(lines->out, "  %-*s  ", (int)lines->width, key);
}

static void put_fact(void *arg, const char *key, const char *value)
{
    const struct lines *lines = arg;

    put_key(lines, key);
    text_put_safe(lines->out, value, strlen(value));
    text_put_char(lines->out, '\n');
}

static void widen(void *arg, const char *key, const char *value)
{
    struct lines *lines = arg;

    (void)value;
    lines->width = MAX(lines->width, strlen(key));
}

static void each_fact(const struct info *info,
                      void (*put_one)(void *arg, const char *key, const char *value), void *arg)
{
    int r = trace_part_facts(&info->trace->parts[0], put_one, arg);

    /* Which ends what is written with this error. */
    if (r < 0 && !info->out->error)
        info->out->error = r;
}

/* A source of a recorded directory is known by the directory. */
static const char *path_of(const struct info *info)
{
    const struct trace_part *part = &info->trace->parts[0];

    return part->recorded ? part->path : info->origin->path;
}

static void put_clock(const struct lines *lines, const struct clock *clock)
{
    put_key(lines, "clock");
    text_put_safe_str(lines->out, clock->name);
    if (clock->hz == 0)
        text_put_literal(lines->out, ", its rate is not known\n");
    else
        text_printf(lines->out, ", %" PRIu64 " ticks a second\n", clock->hz);
}

static void put_cpus(const struct info *info, const struct lines *lines)
{
    put_key(lines, "cpus");
    if (info->origin->n_cpus)
        text_printf(lines->out, "%u\n", info->origin->n_cpus);
    else if (cpus_seen(info))
        text_printf(lines->out, "%u seen\n", cpus_seen(info));
    else
        text_put_literal(lines->out, "not recorded\n");
}

static void put_times(const struct info *info, const struct lines *lines)
{
    const struct tally *tally = &info->tally;
    const struct clock *clock = &info->origin->clock;
    char buf[32];

    put_key(lines, "time");
    if (tally->first == TIME_UNKNOWN) {
        text_put_literal(lines->out, "not recorded\n");
        return;
    }
    clock_put_time(clock, tally->first, lines->out);
    text_put_literal(lines->out, " to ");
    clock_put_time(clock, tally->last, lines->out);
    text_printf(lines->out, ", %s%s\n",
                duration_text(buf, sizeof buf, clock, tally_duration(tally)),
                clock->hz ? "" : " ticks");
}

/* The same in the host's time, where its clock is another, and related to the host's. */
static bool host_times(const struct info *info, struct trace_host_times *ret)
{
    const struct trace_part *part = &info->trace->parts[0];

    return !info->trace->host_time && info->tally.first != TIME_UNKNOWN &&
           trace_part_host_times(part, info->tally.first, info->tally.last, ret);
}

/* With three digits at the most, as duration_text() has them, and never less than it is. */
static uint64_t round_up(int64_t error_ns)
{
    uint64_t error = (uint64_t)error_ns;
    uint64_t step = 1;

    while (error / step > 999)
        step *= 10;
    return step > UINT64_MAX - error ? error : (error + step - 1) / step * step;
}

static void put_host_times(const struct lines *lines, const struct trace_host_times *times)
{
    static const struct clock host = {"monotonic", NANOSECONDS};
    char buf[32];

    put_key(lines, "host's time");
    clock_put_time(&host, times->first, lines->out);
    text_put_literal(lines->out, " to ");
    clock_put_time(&host, times->last, lines->out);
    text_printf(lines->out, ", within %s\n",
                duration_text(buf, sizeof buf, &host, round_up(times->error_ns)));
}

/* Its recorder has the directory locked (record/directory.h). */
static bool is_recording(const char *directory)
{
    _cleanup_(closep) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Of a recorded source whose end is not written. */
static void put_recorder(const struct info *info, const struct lines *lines)
{
    const struct trace_part *part = &info->trace->parts[0];
    const struct manifest_source *source = part->recorded;

    if (!source || manifest_source_has_ended(source))
        return;
    put_key(lines, "recorder");
    if (is_recording(part->path))
        text_put_literal(lines->out, "is recording\n");
    else if (strcmp(source->kind, "ctf") == 0)
        text_put_literal(lines->out, "was killed; 'strata recover' lists the processes whose rings "
                                     "still hold events\n");
    else
        text_put_literal(lines->out, "was killed; what it had not written is lost\n");
}

/* The layers of the origins, each once. */
static unsigned find_layers(const struct info *info, const char *ret_names[LAYERS])
{
    const struct trace_part *part = &info->trace->parts[0];
    unsigned seen = 0, n = 0;

    for (unsigned i = 0; i < part->n_origins; i++) {
        enum layer layer = info->trace->catalogue.origins[part->first_origin + i]->layer;

        if (!(seen >> layer & 1))
            ret_names[n++] = layer_name(layer);
        seen |= 1U << layer;
    }
    return n;
}

static void put_layers(const struct info *info, struct lines *lines)
{
    const char *names[LAYERS];
    unsigned n = find_layers(info, names);

    put_key(lines, "layer");
    for (unsigned i = 0; i < n; i++)
        text_printf(lines->out, "%s%s", i ? ", " : "", names[i]);
    text_put_char(lines->out, '\n');
}

/* What the records say; and what the recorder counted, where they say nothing. SOURCE: NULL: not recorded by us. */
static void put_lost(const struct info *info, const struct manifest_source *source)
{
    if (info->tally.losses.n)
        losses_put(&info->tally.losses, info->out);
    else if (source && source->lost_known && source->lost)
        text_printf(info->out, "%" PRIu64 " events by the recorder's count; when is not known",
                    source->lost);
    else if (source && !source->complete)
        text_put_literal(info->out,
                         "unknown: the recording is not complete, and its records show no loss");
    else
        text_put_literal(info->out, "nothing");
}

static void put_text(const struct info *info)
{
    struct trace_host_times times;
    const struct trace_part *part = &info->trace->parts[0];
    const struct tally *tally = &info->tally;
    struct text *out = info->out;
    struct lines lines = {out, strlen("out of order")};

    each_fact(info, widen, &lines);
    text_put_safe(out, path_of(info), strlen(path_of(info)));
    text_put_char(out, '\n');
    put_fact(&lines, "format", info->origin->format);
    put_layers(info, &lines);
    each_fact(info, put_fact, &lines);
    put_recorder(info, &lines);
    for (unsigned i = 1; i < part->n_origins; i++) {
        const char *path = info->trace->catalogue.origins[part->first_origin + i]->path;

        if (strcmp(path, info->origin->path) != 0)
            put_fact(&lines, "buffer", path);
    }
    put_clock(&lines, &info->origin->clock);
    put_cpus(info, &lines);
    put_key(&lines, "events");
    text_printf(out, "%" PRIu64 " of %u classes\n", tally->count, classes_seen(info));
    if (tally->count)
        put_times(info, &lines);
    if (host_times(info, &times))
        put_host_times(&lines, &times);
    if (trace_late(info->trace)) {
        put_key(&lines, "out of order");
        text_printf(out, "%" PRIu64 " events, by too much to be put in place\n",
                    trace_late(info->trace));
    }
    if (info->switches.broken) {
        put_key(&lines, "switches");
        text_printf(out,
                    "%" PRIu64 " of %" PRIu64 " do not follow the one before on their CPU: what "
                    "ran in between is not known\n",
                    info->switches.broken, info->switches.n);
    }
    put_key(&lines, "lost");
    put_lost(info, part->recorded);
    text_put_char(out, '\n');
}

struct json_facts {
    struct text *out;
    const char *before;
};

static void put_json_fact(void *arg, const char *key, const char *value)
{
    struct json_facts *facts = arg;

    text_put_str(facts->out, facts->before);
    facts->before = ",";
    json_put_str(facts->out, key);
    text_put_char(facts->out, ':');
    json_put_str(facts->out, value);
}

static void put_json_times(const struct info *info)
{
    const struct clock *clock = &info->origin->clock;
    const char *unit = clock->hz ? "ns" : "ticks";
    const struct tally *tally = &info->tally;

    if (tally->first == TIME_UNKNOWN)
        return;
    text_printf(info->out, ",\"first_%s\":%" PRId64 ",\"last_%s\":%" PRId64, unit,
                clock_to_ns(clock, tally->first), unit, clock_to_ns(clock, tally->last));
}

/* Where there are several. */
static void put_json_layers(const struct info *info)
{
    const char *names[LAYERS];
    unsigned n = find_layers(info, names);

    if (n < 2)
        return;
    text_put_literal(info->out, ",\"layers\":");
    for (unsigned i = 0; i < n; i++)
        text_printf(info->out, "%c\"%s\"", i ? ',' : '[', names[i]);
    text_put_char(info->out, ']');
}

static void put_json(const struct info *info)
{
    const struct origin *origin = info->origin;
    struct text *out = info->out;
    struct json_facts facts = {out, ""};
    struct trace_host_times times;

    text_put_literal(out, "{\"path\":");
    json_put_str(out, path_of(info));
    text_put_literal(out, ",\"format\":");
    json_put_str(out, origin->format);
    text_printf(out, ",\"layer\":\"%s\"", layer_name(origin->layer));
    put_json_layers(info);
    text_put_literal(out, ",\"facts\":{");
    each_fact(info, put_json_fact, &facts);
    text_put_literal(out, "},\"clock\":{\"name\":");
    json_put_str(out, origin->clock.name);
    if (origin->clock.hz)
        text_printf(out, ",\"hz\":%" PRIu64, origin->clock.hz);
    text_put_char(out, '}');
    if (origin->n_cpus)
        text_printf(out, ",\"cpus\":%u", origin->n_cpus);
    text_printf(out, ",\"cpus_seen\":%u,\"events\":%" PRIu64 ",\"classes\":%u", cpus_seen(info),
                info->tally.count, classes_seen(info));
    if (info->tally.count)
        put_json_times(info);
    if (host_times(info, &times))
        text_printf(out,
                    ",\"host_time\":{\"first_ns\":%" PRId64 ",\"last_ns\":%" PRId64
                    ",\"error_ns\":%" PRId64 "}",
                    times.first, times.last, times.error_ns);
    if (info->switches.n)
        text_printf(out, ",\"switches\":{\"count\":%" PRIu64 ",\"not_following\":%" PRIu64 "}",
                    info->switches.n, info->switches.broken);
    text_printf(out, ",\"out_of_order\":%" PRIu64 ",", trace_late(info->trace));
    losses_put_json(&info->tally.losses, out);
    text_put_literal(out, "}\n");
}

static void add_to_timeline(struct timeline *timeline, const struct info *info)
{
    struct trace_host_times *all = &timeline->times;
    struct trace_host_times times;

    if (!host_times(info, &times))
        return;
    all->first = timeline->n ? MIN(all->first, times.first) : times.first;
    all->last = timeline->n ? MAX(all->last, times.last) : times.last;
    all->error_ns = MAX(all->error_ns, times.error_ns);
    timeline->n++;
}

/* What all sources of the directory are together. STATUS: how reading each by itself ended, which has reported those
 * that cannot be shown. */
static int tell_timeline(const struct info_options *options, const struct manifest *manifest,
                         const char *path, int status)
{
    const struct trace_options trace_options = {.reader = {.keep_going = options->open.keep_going},
                                                .cpu_hz = options->open.cpu_hz};
    struct trace *trace = NULL;
    struct error error;
    struct text out;
    struct lines lines = {&out, strlen("out of order")};
    char why[1200];
    int r;

    error_clear(&error);
    r = trace_open(&path, 1, &trace_options, &trace, &error);
    if (error_is_local(r)) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (trace && trace->n_missing && status == EXIT_SUCCESS) {
        walk_report_notes(trace);
        status = EXIT_FAILURE;
    }
    if (output_open(&out, OUTPUT_TEXT, OUT_SIZE) < 0) {
        trace_free(trace);
        cli_error("out of memory");
        return EXIT_FAILURE;
    }
    if (r < 0) {
        error_print(&error, why, sizeof why);
    } else {
        snprintf(why, sizeof why, "the sources are of one clock");
    }
    text_put_safe(&out, path, strlen(path));
    text_printf(&out, ", %u sources\n", manifest->n_sources);
    put_key(&lines, "timeline");
    if (trace && trace->host_time) {
        const struct manifest_host *host = trace->parts[0].recorded->host;

        text_put_safe_str(&out, trace_part_timeline(&trace->parts[0]));
        if (host && host->name) {
            text_put_literal(&out, ", of ");
            text_put_safe(&out, host->name, strlen(host->name));
        }
        text_put_char(&out, '\n');
        if (options->timeline->n)
            put_host_times(&lines, &options->timeline->times);
    } else {
        text_put_str(&out, trace ? "" : "none: ");
        text_put_safe(&out, why, strlen(why));
        text_put_char(&out, '\n');
    }
    trace_free(trace);
    r = text_flush(&out);
    text_done(&out);
    return r < 0 ? cli_output_error(r) : status;
}

static int tell(const struct info_options *options, struct trace *trace)
{
    const struct select_options all = {0};
    struct text out;
    struct selection selection = {0};
    static const struct sink_ops ops = {.put = put};
    struct info info = {
        .trace = trace, .origin = trace->parts[0].origin, .seen = {.ops = &ops}, .out = &out};
    struct sink *const sinks[] = {&info.seen, &info.tally.sink};
    struct tee_sink tee;
    struct walk walk = {.trace = trace,
                        .selection = &selection,
                        .out = &out,
                        .sink = &tee.sink,
                        .losses = &info.tally.losses};
    int status = EXIT_FAILURE;

    if (output_open(&out, options->format == FORMAT_JSON ? OUTPUT_DATA : OUTPUT_TEXT, OUT_SIZE) <
        0) {
        cli_error("out of memory");
        return EXIT_FAILURE;
    }
    tally_init(&info.tally, TALLY_BY_SOURCE_EVENT);
    tee_sink_init(&tee, sinks, ARRAY_SIZE(sinks));
    if (selection_init(&selection, &all) < 0) {
        cli_error("out of memory");
    } else {
        status = walk_through(&walk);
        if (options->format == FORMAT_JSON)
            put_json(&info);
        else
            put_text(&info);
        if (options->timeline)
            add_to_timeline(options->timeline, &info);
        status = walk_end(&walk, &options->open, status);
    }
    tally_done(&info.tally);
    switch_check_done(&info.switches);
    selection_done(&selection);
    text_done(&out);
    return status;
}

static int worse(int a, int b)
{
    return a == EXIT_SUCCESS || b == EXIT_FAILURE ? b : a;
}

static int tell_one(const struct info_options *options, char *path)
{
    struct trace *trace = walk_open(&options->open, &path, 1);
    int status = trace ? tell(options, trace) : EXIT_FAILURE;

    trace_free(trace);
    return status;
}

/* A capture, or each source of a recorded directory. */
static int tell_path(const struct info_options *options, char *path)
{
    struct timeline timeline = {0};
    struct info_options one = *options;
    struct manifest manifest;
    struct error error;
    int status = EXIT_SUCCESS;
    int r;

    if (options->open.source || !manifest_probe(path))
        return tell_one(options, path);
    error_clear(&error);
    r = manifest_read(path, &manifest, &error);
    if (error_is_local(r)) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (r < 0)
        return tell_one(options, path); /* which says what is wrong with it */
    if (manifest.n_sources == 0) {
        manifest_done(&manifest);
        return tell_one(options, path);
    }
    one.timeline = &timeline;
    for (unsigned i = 0; i < manifest.n_sources; i++) {
        one.open.source = manifest.sources[i].name;
        status = worse(status, tell_one(&one, path));
    }
    if (manifest.n_sources > 1 && options->format == FORMAT_TEXT && !options->open.host_time)
        status = worse(status, tell_timeline(&one, &manifest, path, status));
    manifest_done(&manifest);
    return status;
}

int cmd_info(int argc, char **argv)
{
    struct info_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&info_command, argc, argv, &options, &n, &status)) {
        status = EXIT_SUCCESS;
        if (n == 0)
            status = cli_usage_error("info", "no trace file given");
        /* Each by itself: what one is does not depend on the others, and their clocks may differ. */
        for (int i = 0; i < n; i++)
            status = worse(status, tell_path(&options, argv[1 + i]));
    }
    open_options_done(&options.open);
    return status;
}
