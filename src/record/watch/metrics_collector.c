/* SPDX-License-Identifier: MIT */
#include "record/watch/metrics_collector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "record/triggers.h"
#include "tracedir/host.h"
#include "tracedir/machine.h"

/* The end of a file of clock pairs, which holds its last line. */
#define TAIL_SIZE 512u
#define NS_PER_S 1e9

enum { EVENTS, LOST, BYTES, N_TOTALS };
enum { SAVED, FAILED, SUPPRESSED, N_OUTCOMES };

struct metrics_collector {
    struct metric_family *start_time, *wakeups, *problems;
    struct metric_family *totals[N_TOTALS];
    struct metric_family *running, *complete, *clock_error;
    double (*last)[N_TOTALS]; /* of each recorder, when it was read last */
    unsigned n_last;
    double last_wakeups;
    struct metric_family *met, *outcomes; /* of triggers */
    double last_met, last_outcomes[N_OUTCOMES];
};

/* What all samples of a recorder have as labels, and what its sources say. */
struct recorder_labels {
    const char *values[3]; /* source, layer, machine */
    char machine[MACHINE_NAME_SIZE];
};

static const char *const source_labels[] = {"source", "layer", "machine"};
static const char *const version_label[] = {"version"};
static const char *const outcome_label[] = {"outcome"};

/* ---- Families ---- */

int metrics_collector_new(struct metrics *metrics, struct metrics_collector **ret)
{
    static const char *const version[] = {STRATA_VERSION};
    struct metrics_collector *collector = calloc(1, sizeof *collector);
    struct metric_family *build = NULL;
    struct metric_sample *sample;
    int r = 0;

    if (!collector)
        return -ENOMEM;

    const struct {
        struct metric_family **family;
        struct metric_desc desc;
    } families[] = {
        {&build,
         {.type = METRIC_GAUGE,
          .name = "strata_build_info",
          .help = "The version of strata, as a label of the value 1",
          .labels = version_label,
          .n_labels = 1}},
        {&collector->start_time,
         {.type = METRIC_GAUGE,
          .name = "strata_start_time_seconds",
          .unit = "seconds",
          .help = "When the recording began, in seconds since 1970"}},
        {&collector->wakeups,
         {.type = METRIC_COUNTER,
          .name = "strata_recorder_wakeups",
          .help = "How often the recorder's loop was woken up"}},
        {&collector->problems,
         {.type = METRIC_GAUGE,
          .name = "strata_problems",
          .help = "Problems of the recording that its trace mentions"}},
        {&collector->totals[EVENTS],
         {.type = METRIC_COUNTER,
          .name = "strata_recorded_events",
          .help = "Events that were recorded",
          .labels = source_labels,
          .n_labels = ARRAY_SIZE(source_labels)}},
        {&collector->totals[LOST],
         {.type = METRIC_COUNTER,
          .name = "strata_lost_events",
          .help = "Events that were lost, as far as is known by now",
          .labels = source_labels,
          .n_labels = ARRAY_SIZE(source_labels)}},
        {&collector->totals[BYTES],
         {.type = METRIC_COUNTER,
          .name = "strata_recorded_bytes",
          .unit = "bytes",
          .help = "Bytes of trace data that were recorded",
          .labels = source_labels,
          .n_labels = ARRAY_SIZE(source_labels)}},
        {&collector->running,
         {.type = METRIC_GAUGE,
          .name = "strata_source_running",
          .help = "1 while the source is recorded, 0 when its recording has ended",
          .labels = source_labels,
          .n_labels = ARRAY_SIZE(source_labels)}},
        {&collector->complete,
         {.type = METRIC_GAUGE,
          .name = "strata_source_complete",
          .help = "1 when the recording of the source has come to its end, else 0",
          .labels = source_labels,
          .n_labels = ARRAY_SIZE(source_labels)}},
        {&collector->met,
         {.type = METRIC_COUNTER,
          .name = "strata_triggers_met",
          .help = "How often the condition of a trigger was met"}},
        {&collector->outcomes,
         {.type = METRIC_COUNTER,
          .name = "strata_trigger_snapshots",
          .help = "Snapshots of triggers that were saved, that failed, and that the limits "
                  "suppressed",
          .labels = outcome_label,
          .n_labels = 1}},
        {&collector->clock_error,
         {.type = METRIC_GAUGE,
          .name = "strata_clock_error_seconds",
          .unit = "seconds",
          .help = "The most by which the newest sample of the source's clock may differ from the "
                  "host's clock",
          .labels = source_labels,
          .n_labels = ARRAY_SIZE(source_labels)}},
    };

    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(families); i++)
        r = metrics_add(metrics, &families[i].desc, families[i].family);
    if (r >= 0)
        r = metric_sample(build, version, &sample);
    if (r < 0) {
        free(collector);
        return r;
    }
    metric_set(sample, 1);
    if (metric_sample(collector->start_time, NULL, &sample) >= 0)
        metric_set(sample, (double)clock_ns(CLOCK_REALTIME) / NS_PER_S);
    *ret = collector;
    return 0;
}

void metrics_collector_free(struct metrics_collector *collector)
{
    if (!collector)
        return;
    free(collector->last);
    free(collector);
}

/* ---- Sources ---- */

/* The virtual machine of SOURCE, or the host's name. MACHINE: the machine that is recorded with its monitor; "":
 * none. */
static const char *get_machine(const struct manifest_source *source,
                               const struct recorder *recorder, const char *machine)
{
    if (strcmp(source->layer, "guest") == 0)
        return *machine && strcmp(recorder->name, MACHINE_GUEST_OF_QEMU) == 0 ? machine
                                                                              : recorder->name;
    if (machine_is_vm(source))
        return source->vmm->version ? MACHINE_GUEST_OF_QEMU : source->name;
    return source->host && source->host->name ? source->host->name : "";
}

static void set_labels(const struct manifest_source *source, const struct recorder *recorder,
                       const char *machine, struct recorder_labels *ret)
{
    ret->values[0] = source->name;
    ret->values[1] = source->layer;
    ret->values[2] = ret->machine;
    if (!machine_is_vm(source) || !machine_vm_name(source->vmm, ret->machine, sizeof ret->machine))
        snprintf(ret->machine, sizeof ret->machine, "%s", get_machine(source, recorder, machine));
}

/* Bytes of the file PATH in DIR; of a directory, of the files in it. */
static uint64_t get_size(int dir, const char *path)
{
    uint64_t size = 0;
    struct stat st;
    DIR *stream;
    int fd;

    if (dir < 0 || fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    for (const struct dirent *entry; (entry = readdir(stream));)
        if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            size += (uint64_t)st.st_size;
    closedir(stream);
    return size;
}

/* The bound of the last pair of a file of them (timeline/clock_map.h), ns; 0: there is none. */
static double get_pair_error(int dir, const char *path)
{
    _cleanup_(closep) int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char text[TAIL_SIZE + 1], *line, *end;
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return 0;
    n = pread(fd, text, TAIL_SIZE, MAX(st.st_size - (off_t)TAIL_SIZE, 0));
    if (n <= 0)
        return 0;
    text[n] = '\0';
    end = strrchr(text, '\n'); /* what comes after it is being written */
    if (!end)
        return 0;
    *end = '\0';
    line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    if (*line == '#')
        return 0;
    (void)strtoll(line, &end, 10);
    (void)strtoll(end, &end, 10);
    return (double)strtoll(end, NULL, 10);
}

/* How wrong the times of SOURCE may be, ns. False: not known. */
static bool get_clock_error(int dir, const struct manifest_source *source, double *ret)
{
    double error = 0;

    if (source->clock.pairs && dir >= 0)
        error = get_pair_error(dir, source->clock.pairs);
    else if (source->clock.host)
        error = (double)source->clock.error_ns;
    else if (source->began.tsc)
        error = (double)MAX(source->began.error_ns, source->ended.error_ns);
    if (error <= 0 && !source->clock.host)
        return false;
    *ret = error;
    return true;
}

/* ---- Collecting ---- */

static void set_gauge(struct metric_family *family, const char *const *values, double v)
{
    struct metric_sample *sample;

    if (metric_sample(family, values, &sample) >= 0)
        metric_set(sample, v);
}

static void collect_sources(struct metrics_collector *collector, int dir,
                            const struct recorder *recorder, const struct recorder_sources *sources,
                            const struct recorder_labels *labels)
{
    bool is_running = recorder->state == RECORDER_RUNNING, is_complete = true, has_error = false;
    double error = 0;

    for (unsigned i = 0; i < sources->n; i++) {
        double one;

        is_complete &= sources->items[i].complete;
        if (get_clock_error(dir, &sources->items[i], &one)) {
            error = MAX(error, one);
            has_error = true;
        }
    }
    set_gauge(collector->running, labels->values, is_running);
    set_gauge(collector->complete, labels->values, is_complete);
    if (has_error)
        set_gauge(collector->clock_error, labels->values, error / NS_PER_S);
}

static void collect_totals(struct metrics_collector *collector, unsigned i, int dir,
                           const struct recorder *recorder, const struct recorder_sources *sources,
                           const struct recorder_labels *labels)
{
    struct recorder_stats stats = {0};

    if (recorder->ops->stats)
        recorder->ops->stats(recorder, &stats);
    for (unsigned j = 0; stats.bytes == 0 && j < sources->n; j++)
        if (manifest_source_has_events(&sources->items[j]))
            stats.bytes += get_size(dir, sources->items[j].path);

    const double totals[] = {[EVENTS] = (double)stats.events,
                             [LOST] = (double)stats.lost,
                             [BYTES] = (double)stats.bytes};

    for (unsigned j = 0; j < N_TOTALS; j++) {
        struct metric_sample *sample;

        if (j != BYTES && !recorder->ops->stats)
            continue;
        if (metric_sample(collector->totals[j], labels->values, &sample) >= 0)
            metric_add_since(sample, totals[j], &collector->last[i][j]);
    }
}

/* Room for what N recorders said last. */
static bool reserve_last(struct metrics_collector *collector, unsigned n)
{
    double(*bigger)[N_TOTALS];

    if (n <= collector->n_last)
        return true;
    bigger = realloc(collector->last, n * sizeof *bigger);
    if (!bigger)
        return false;
    memset(bigger + collector->n_last, 0, (n - collector->n_last) * sizeof *bigger);
    collector->last = bigger;
    collector->n_last = n;
    return true;
}

/* The name of the virtual machine whose monitor is recorded, if it is one; else "". */
static void find_machine(struct recorder_sources *const sources, unsigned n, char *buf, size_t size)
{
    unsigned n_machines = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        const struct manifest_source *source =
            sources[i].n ? &sources[i].items[sources[i].about] : NULL;

        if (source && machine_is_vm(source) && machine_vm_name(source->vmm, buf, size))
            n_machines++;
    }
    if (n_machines != 1)
        buf[0] = '\0';
}

static void collect_recording(struct metrics_collector *collector,
                              const struct recording *recording, struct recorder *const *recorders,
                              unsigned n)
{
    double wakeups = (double)recording_wakeups(recording);
    struct metric_sample *sample;
    unsigned n_problems = 0;

    for (unsigned i = 0; i < n; i++)
        n_problems += recorders[i]->n_problems;
    if (metric_sample(collector->wakeups, NULL, &sample) >= 0)
        metric_add_since(sample, wakeups, &collector->last_wakeups);
    set_gauge(collector->problems, NULL, n_problems);
}

static void collect_triggers(struct metrics_collector *collector, struct recorder *const *recorders,
                             unsigned n)
{
    static const char *const names[] = {
        [SAVED] = "saved", [FAILED] = "failed", [SUPPRESSED] = "suppressed"};
    struct trigger_stats stats;
    struct metric_sample *sample;
    unsigned i;

    for (i = 0; i < n && !trigger_recorder_stats(recorders[i], &stats); i++)
        ;
    if (i == n)
        return;

    const double outcomes[] = {[SAVED] = (double)stats.saved,
                               [FAILED] = (double)stats.failed,
                               [SUPPRESSED] = (double)stats.suppressed};

    if (metric_sample(collector->met, NULL, &sample) >= 0)
        metric_add_since(sample, (double)stats.met, &collector->last_met);
    for (unsigned j = 0; j < N_OUTCOMES; j++)
        if (metric_sample(collector->outcomes, &names[j], &sample) >= 0)
            metric_add_since(sample, outcomes[j], &collector->last_outcomes[j]);
}

void metrics_collector_run(struct metrics_collector *collector, const struct recording *recording)
{
    unsigned n;
    struct recorder *const *recorders = recording_recorders(recording, &n);
    int dir = recording_dir(recording);
    struct arena arena = {0};
    struct recorder_sources *sources = arena_alloc(&arena, (n + 1) * sizeof *sources);
    char machine[MACHINE_NAME_SIZE];

    collect_recording(collector, recording, recorders, n);
    collect_triggers(collector, recorders, n);
    metric_clear(collector->running);
    metric_clear(collector->complete);
    metric_clear(collector->clock_error);
    for (unsigned i = 0; sources && i < n; i++)
        if (recorders[i]->state == RECORDER_NEW || !recorders[i]->ops->sources ||
            recorders[i]->ops->sources(recorders[i], &arena, &sources[i]) < 0)
            sources[i] = (struct recorder_sources){0};
    if (sources)
        find_machine(sources, n, machine, sizeof machine);
    if (sources && reserve_last(collector, n))
        for (unsigned i = 0; i < n; i++) {
            struct recorder_labels labels;

            if (sources[i].n == 0)
                continue;
            set_labels(&sources[i].items[sources[i].about], recorders[i], machine, &labels);
            collect_sources(collector, dir, recorders[i], &sources[i], &labels);
            collect_totals(collector, i, dir, recorders[i], &sources[i], &labels);
        }
    arena_done(&arena);
}
