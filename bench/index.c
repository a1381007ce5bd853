/* SPDX-License-Identifier: MIT */
/* For bench/index: builds the index of a trace, and asks it.
 *
 *     index build FILE TRACE...   prints events, seconds of CPU, the index's size and the most memory
 *     index ask FILE [N]          N random views of 40 rows of 2,000 pixels: prints the milliseconds of CPU that half of them, and
 *                                 99 of 100, took at most, and the slices that they gave
 *     index list FILE             the tracks */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "index/build.h"
#include "index/index.h"
#include "trace/trace.h"

#define ROWS 40
#define PIXELS 2000

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int fail(const struct error *error)
{
    char text[1024];

    error_print(error, text, sizeof text);
    fprintf(stderr, "index: %s\n", text);
    return EXIT_FAILURE;
}

static int build(const char *path, const char *const *traces, unsigned n)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const struct trace_options options = {0};
    struct error error = {0};
    struct rusage usage;
    struct trace *trace;
    struct index *index;
    double cpu;

    if (fd < 0) {
        perror(path);
        return EXIT_FAILURE;
    }
    if (trace_open(traces, n, &options, &trace, &error) < 0)
        return fail(&error);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (index_build(trace, NULL, fd, &error) < 0)
        return fail(&error);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    trace_free(trace);
    if (index_open(path, &index, &error) < 0)
        return fail(&error);
    getrusage(RUSAGE_SELF, &usage);
    printf("events %" PRIu64 " cpu_seconds %.3f bytes %jd memory_kb %ld\n",
           index_summary(index)->n_events, cpu, (intmax_t)lseek(fd, 0, SEEK_END), usage.ru_maxrss);
    index_free(index);
    close(fd);
    return EXIT_SUCCESS;
}

static uint64_t random_u64(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* One row of a view. Returns how many things there are to draw. */
static uint64_t ask_row(const struct index *index, uint32_t number, int64_t from, int64_t to)
{
    const struct index_track *track = index_track(index, number);
    int64_t resolution = (to - from) / PIXELS;
    struct index_slices slices = {0};
    uint64_t counts[PIXELS];
    struct index_value *values;
    unsigned n = 0;

    for (unsigned depth = 0; depth < track->n_depths; depth++) {
        if (index_slices(index, number, depth, from, to, resolution, &slices) < 0)
            abort();
        n += slices.n;
        slices.n = 0;
    }
    index_slices_done(&slices);
    if (track->kind == INDEX_EVENTS) {
        if (index_counts(index, number, from, to, PIXELS, counts) < 0)
            abort();
        n = PIXELS;
    } else if (track->kind == INDEX_COUNTER) {
        if (index_values(index, number, from, to, resolution, &values, &n) < 0)
            abort();
        free(values);
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static int ask(const char *path, unsigned n)
{
    const struct index_summary *summary;
    struct error error = {0};
    struct rusage usage;
    struct index *index;
    uint32_t *tracks;
    uint32_t n_tracks = 0;
    uint64_t total = 0;
    double opened = seconds(CLOCK_MONOTONIC);
    double *times;

    if (index_open(path, &index, &error) < 0)
        return fail(&error);
    opened = seconds(CLOCK_MONOTONIC) - opened;
    summary = index_summary(index);
    times = calloc(n, sizeof *times);
    tracks = calloc(summary->n_tracks, sizeof *tracks);
    if (!times || !tracks || n == 0)
        return EXIT_FAILURE;
    for (uint32_t i = 0; i < summary->n_tracks; i++)
        if (index_track(index, i)->kind != INDEX_GROUP)
            tracks[n_tracks++] = i;
    if (n_tracks == 0)
        return EXIT_FAILURE; /* nothing to ask for */
    for (unsigned i = 0; i < n; i++) {
        uint64_t whole = (uint64_t)(summary->end - summary->begin);
        uint64_t span = MAX(whole >> random_u64() % 20, 1u);
        int64_t from = summary->begin + (int64_t)(random_u64() % (whole - span + 1));
        uint64_t first = random_u64();

        times[i] = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (unsigned row = 0; row < ROWS; row++)
            total += ask_row(index, tracks[(first + row) % n_tracks], from, from + (int64_t)span);
        times[i] = seconds(CLOCK_THREAD_CPUTIME_ID) - times[i];
    }
    qsort(times, n, sizeof *times, compare);
    getrusage(RUSAGE_SELF, &usage);
    printf("tracks %" PRIu32 " open_ms %.3f p50_ms %.3f p99_ms %.3f max_ms %.3f drawn %" PRIu64
           " memory_kb %ld\n",
           n_tracks, opened * 1e3, times[n / 2] * 1e3, times[n - 1 - n / 100] * 1e3,
           times[n - 1] * 1e3, total, usage.ru_maxrss);
    free(times);
    free(tracks);
    index_free(index);
    return EXIT_SUCCESS;
}

static int list(const char *path)
{
    static const char *const kinds[] = {"group", "slices", "states", "events", "counter", "losses"};
    struct error error = {0};
    struct index *index;

    if (index_open(path, &index, &error) < 0)
        return fail(&error);
    for (uint32_t i = 0; i < index_summary(index)->n_tracks; i++) {
        const struct index_track *track = index_track(index, i);

        printf("%" PRIu32 " in %" PRId32 " %s \"%s\" %s depths %u n %" PRIu64 "\n", i,
               (int32_t)track->parent, kinds[track->kind], track->name,
               track->unit ? track->unit : "-", track->n_depths, track->n);
    }
    index_free(index);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "build") == 0)
        return build(argv[2], (const char *const *)argv + 3, (unsigned)argc - 3);
    if (argc >= 3 && strcmp(argv[1], "ask") == 0)
        return ask(argv[2], argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1000);
    if (argc == 3 && strcmp(argv[1], "list") == 0)
        return list(argv[2]);
    fprintf(stderr, "usage: index build FILE TRACE...\n       index ask FILE [N]\n"
                    "       index list FILE\n");
    return EXIT_FAILURE;
}
