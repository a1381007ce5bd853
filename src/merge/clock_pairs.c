/* SPDX-License-Identifier: MIT */
/* Writes the file that relates a source's clock to the timeline. */

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/wide.h"
#include "format/ctf/ctf.h"
#include "merge/internal.h"

/* If a clock relates to the timeline only by its rate, it gets pairs at this interval, at most EVEN_PAIRS_MAX. Then the
 * drift that timeline/clock_map.h assumes between pairs is negligible. */
#define EVEN_PAIRS_NS INT64_C(10000000)
#define EVEN_PAIRS_MAX 200000
#define NUMBER_MAX_VALUE (INT64_MAX / 2)

static bool put_pair(struct text *text, const struct clock_map_pair *pair,
                     struct clock_map_pair *last, bool is_paused)
{
    if (pair->host_ns < 0 || pair->ticks < 0 || pair->error_ns < 0 ||
        pair->host_ns > NUMBER_MAX_VALUE || pair->ticks > NUMBER_MAX_VALUE ||
        pair->error_ns > NUMBER_MAX_VALUE)
        return false;
    if (last->ticks >= 0 && (pair->host_ns <= last->host_ns || pair->ticks <= last->ticks))
        return false;
    text_printf(text, "%s%" PRId64 " %" PRId64 " %" PRId64 "\n",
                is_paused ? CLOCK_MAP_PAUSED "\n" : "", pair->host_ns, pair->ticks, pair->error_ns);
    *last = *pair;
    return true;
}

/* Converts a time of SOURCE's domain to its ticks. */
static int64_t ticks_at(const struct merge_source *source, int64_t time)
{
    int64_t low = 0, high = NUMBER_MAX_VALUE;
    int64_t ignored;

    if (source->host_map.n == 0) {
        int64_t ticks = merge_counter_ticks(&source->counter, time);

        return ticks < 0 || ticks > NUMBER_MAX_VALUE ? -1 : ticks;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (merge_domain_time(source, middle, &ignored) < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int compare_ticks(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* Chooses the ticks of the pairs that relate SOURCE to the timeline: from the pairs of both clock maps between them,
 * or, without such pairs, at equal intervals. */
static int64_t *choose_ticks(const struct merge *merge, const struct merge_source *source,
                             size_t *ret_n)
{
    const struct clock_map *map = &merge->domains[source->domain].map;
    bool even = source->host_map.n == 0 && map->n == 0;
    int64_t first = source->first == TIME_UNKNOWN ? 0 : source->first;
    int64_t last = source->last == TIME_UNKNOWN ? 0 : source->last;
    uint64_t hz = source->clock.hz ? source->clock.hz : merge->domains[source->domain].hz;
    int64_t step = MAX((int64_t)mul_div_u64(EVEN_PAIRS_NS, hz, NANOSECONDS), (int64_t)1);
    size_t n = (size_t)source->host_map.n + map->n;
    int64_t *ticks;
    size_t done = 0;

    if (even) {
        /* A step more on either side; times are not below nothing. */
        first = MAX(first - step, (int64_t)0);
        last = MIN(last, NUMBER_MAX_VALUE - 2 * step) + 2 * step;
        step = MAX(step, (last - first) / EVEN_PAIRS_MAX);
        n = (size_t)((last - first) / step) + 1;
    }
    ticks = calloc(n, sizeof *ticks);
    if (!ticks)
        return NULL;
    for (size_t i = 0; even && i < n; i++)
        ticks[done++] = first + (int64_t)i * step;
    for (unsigned i = 0; i < source->host_map.n; i++)
        ticks[done++] = source->host_map.pairs[i].ticks;
    for (unsigned i = 0; i < map->n; i++)
        ticks[done++] = ticks_at(source, map->pairs[i].ticks);
    qsort(ticks, n, sizeof *ticks, compare_ticks);
    *ret_n = n;
    return ticks;
}

/* A CTF trace is read in ns, but its pairs are in its clock's ticks (trace/host_time.c). Finds the first tick whose
 * time is *TICKS or later, and sets *TICKS to that time. */
static int64_t counted_ticks(const struct merge_source *source, int64_t *ticks)
{
    const struct origin *origin = source->trace->inputs[0].origin;
    int64_t low = 0, high = 1;

    if (strcmp(source->format, "ctf") != 0)
        return *ticks;
    while (high < NUMBER_MAX_VALUE && ctf_time_of(origin, high) < *ticks) {
        low = high;
        high *= 2;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (ctf_time_of(origin, middle) < *ticks)
            low = middle + 1;
        else
            high = middle;
    }
    *ticks = ctf_time_of(origin, low);
    return low;
}

/* True if the clock of SOURCE stood still somewhere between two of its ticks. FROM must not decrease from call to call.
 * *AT, 0 at first, is the pair where this call begins to search. */
static bool is_paused_between(const struct merge_source *source, int64_t from, int64_t to,
                              unsigned *at)
{
    const struct clock_map *map = &source->host_map;
    bool is_paused = false;

    while (*at + 1 < map->n && map->pairs[*at + 1].ticks <= from)
        (*at)++;
    for (unsigned i = *at; i + 1 < map->n && map->pairs[i].ticks < to; i++)
        is_paused |= map->pairs[i].is_paused;
    return is_paused;
}

/* Reduces ERROR_NS, the error of the time of TICKS, if it includes a pause that begins there. The next pair covers the
 * pause. */
static int64_t error_before_pause(const struct merge *merge, const struct merge_source *source,
                                  int64_t ticks, unsigned at, int64_t error_ns)
{
    int64_t before;

    if (ticks == 0 || !is_paused_between(source, ticks, ticks + 1, &at))
        return error_ns;
    (void)merge_time(merge, source, ticks - 1, &before);
    return MIN(error_ns, narrow(wide_sum(before, 1)));
}

int merge_write_pairs(struct merge *merge, const struct merge_source *source, const char *path)
{
    const struct merge_domain *domain = &merge->domains[source->domain];
    struct clock_map_pair last = {.ticks = -1};
    _cleanup_free_ int64_t *ticks = NULL;
    bool is_paused = false; /* since the last pair that was put */
    int64_t last_ticks = -1;
    unsigned at = 0;
    struct text text;
    size_t n = 0, put = 0;
    int fd, r;

    ticks = choose_ticks(merge, source, &n);
    if (!ticks)
        return merge_no_memory(merge);
    /* The one that was copied with its directory; a hard link of it stays as it is. */
    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set(&merge->error, -errno, path, "cannot create: %s", strerror(errno));
    if (text_open_fd(&text, fd, (size_t)64 * 1024) < 0) {
        close(fd);
        return merge_no_memory(merge);
    }
    if (domain->evidence) {
        text_put_literal(&text, "# strata merge: by ");
        text_put_safe_str(&text, domain->evidence);
        text_put_char(&text, '\n');
    }
    for (size_t i = 0; i < n; i++) {
        struct clock_map_pair pair;

        if (ticks[i] < 0)
            continue;
        pair.ticks = counted_ticks(source, &ticks[i]);
        pair.host_ns = merge_time(merge, source, ticks[i], &pair.error_ns);
        pair.error_ns = error_before_pause(merge, source, ticks[i], at, pair.error_ns);
        if (source->host_map.n == 0 && domain->map.n == 0)
            pair.error_ns = 1;
        if (put > 0)
            is_paused |= is_paused_between(source, last_ticks, ticks[i], &at);
        last_ticks = ticks[i];
        if (!put_pair(&text, &pair, &last, is_paused))
            continue;
        is_paused = false;
        put++;
    }
    r = text_flush(&text);
    text_done(&text);
    if (close(fd) < 0 && r >= 0)
        r = -errno;
    if (r < 0)
        return error_set(&merge->error, r, path, "cannot write: %s", strerror(-r));
    if (put == 0)
        return error_set(
            &merge->error, -ERANGE, source->name,
            "its times would be before the start of the timeline; give another --reference");
    return 0;
}
