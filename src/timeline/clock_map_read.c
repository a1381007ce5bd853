/* SPDX-License-Identifier: MIT */
/* Reads pairs of clocks from a file or from the caller. */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/macro.h"
#include "timeline/clock_map_internal.h"

/* Ten hours of pairs are 2 MB. */
#define FILE_MAX ((size_t)1 << 30)
#define PAIRS_MAX 20000000u

static const char *get_number(const char *p, const char *end, int64_t *ret)
{
    int64_t v = 0;
    const char *start;

    while (p < end && *p == ' ')
        p++;
    for (start = p; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v) ||
            v > CLOCK_MAP_NUMBER_MAX)
            return NULL;
    *ret = v;
    return p > start ? p : NULL;
}

static bool get_pair(const char *p, const char *end, struct clock_map_pair *ret)
{
    p = get_number(p, end, &ret->host_ns);
    if (p)
        p = get_number(p, end, &ret->ticks);
    if (p)
        p = get_number(p, end, &ret->error_ns);
    return p == end;
}

/* Reads a line that is not a pair. */
static void take_remark(struct clock_map *clock_map, const char *p, const char *end)
{
    size_t n = (size_t)(end - p);
    int64_t ns;

    if (clock_map->n_given > 0 && n == strlen(CLOCK_MAP_PAUSED) &&
        memcmp(p, CLOCK_MAP_PAUSED, n) == 0)
        clock_map->given[clock_map->n_given - 1].is_paused = true;
    else if (n > strlen(CLOCK_MAP_ERROR) &&
             memcmp(p, CLOCK_MAP_ERROR, strlen(CLOCK_MAP_ERROR)) == 0 &&
             get_number(p + strlen(CLOCK_MAP_ERROR), end, &ns) == end)
        clock_map->extra_ns = MAX(clock_map->extra_ns, ns);
}

static int add_pair(struct clock_map *clock_map, unsigned *capacity,
                    const struct clock_map_pair *pair)
{
    if (!clock_map->given || clock_map->n_given == *capacity) {
        unsigned more = MAX(*capacity * 2, 64u);
        struct clock_map_pair *bigger = realloc(clock_map->given, more * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        clock_map->given = bigger;
        *capacity = more;
    }
    clock_map->given[clock_map->n_given++] = *pair;
    return 0;
}

/* PAIR has ticks that an earlier one had: at the host's time of the last pair with fewer, or later. Up to PAIR's
 * time they may mean any of both. */
static void note_set_back(struct clock_map *clock_map, const struct clock_map_pair *pair)
{
    unsigned low = 0,
             high = clock_map->n_given; /* the first with more is one of these, or there is none */

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (clock_map->given[middle].ticks <= pair->ticks)
            low = middle + 1;
        else
            high = middle;
    }
    clock_map->set_back_ns =
        MAX(clock_map->set_back_ns,
            pair->host_ns + pair->error_ns - clock_map->given[low ? low - 1 : 0].host_ns);
}

int clock_map_parse(const char *text, size_t len, const char *name, uint64_t hz,
                    struct clock_map *ret_map, struct error *error)
{
    struct clock_map clock_map = {0};
    const char *end = text + len;
    int64_t last = 0; /* of the host's times */
    unsigned capacity = 0;
    uint32_t line = 0;
    int r = 0;

    while (text < end && r == 0) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        struct clock_map_pair pair = {0};

        line++;
        if (!stop)
            break; /* cut off while it was written */
        if (*text == '#' || stop == text) {
            take_remark(&clock_map, text, stop);
            text = stop + 1;
            continue;
        }
        if (!get_pair(text, stop, &pair))
            r = error_on_line(error, -EINVAL, name, line, "is not a pair of clocks: three numbers");
        else if (clock_map.n_given > 0 && pair.host_ns <= last)
            r = error_on_line(error, -EINVAL, name, line, "the host's clock steps back");
        else if (clock_map.n_given == PAIRS_MAX)
            r = error_on_line(error, -EFBIG, name, line, "more pairs than can be");
        else if (clock_map.n_given > 0 &&
                 pair.ticks <= clock_map.given[clock_map.n_given - 1].ticks)
            note_set_back(&clock_map, &pair);
        else if (add_pair(&clock_map, &capacity, &pair) < 0)
            r = error_set(error, -ENOMEM, name, "out of memory");
        last = pair.host_ns;
        text = stop + 1;
    }
    if (r == 0)
        r = clock_map_complete(&clock_map, name, hz, error);
    if (r < 0) {
        clock_map_done(&clock_map);
        return r;
    }
    *ret_map = clock_map;
    return 0;
}

int clock_map_of_pairs(const struct clock_map_pair *pairs, unsigned n, const char *name,
                       uint64_t hz, struct clock_map *ret_map, struct error *error)
{
    struct clock_map clock_map = {.n_given = n, .given = calloc(n + 1, sizeof *pairs)};
    int r = 0;

    if (!clock_map.given)
        return error_set(error, -ENOMEM, name, "out of memory");
    for (unsigned i = 0; i < n && r == 0; i++) {
        clock_map.given[i] = pairs[i];
        if (MAX(MAX(pairs[i].host_ns, pairs[i].ticks), pairs[i].error_ns) > CLOCK_MAP_NUMBER_MAX ||
            MIN(MIN(pairs[i].host_ns, pairs[i].ticks), pairs[i].error_ns) < 0)
            r = error_set(error, -EINVAL, name, "the clocks are out of range");
        else if (i > 0 &&
                 (pairs[i].ticks <= pairs[i - 1].ticks || pairs[i].host_ns <= pairs[i - 1].host_ns))
            r = error_set(error, -EINVAL, name, "the clocks step back");
    }
    if (r == 0)
        r = clock_map_complete(&clock_map, name, hz, error);
    if (r < 0)
        clock_map_done(&clock_map);
    else
        *ret_map = clock_map;
    return r;
}

int clock_map_read(const char *path, uint64_t hz, struct clock_map *ret_map, struct error *error)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    struct stat st;
    int r;

    if (fd < 0)
        return error_set(error, -errno, path, "cannot open it: %s", strerror(errno));
    if (fstat(fd, &st) < 0)
        r = error_set(error, -errno, path, "%s", strerror(errno));
    else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX)
        r = error_set(error, -EINVAL, path, "is not a file of pairs of clocks");
    else
        r = input_read_file(fd, (size_t)st.st_size, path, &text, &len, error);
    close(fd);
    return r < 0 ? r : clock_map_parse(text, len, path, hz, ret_map, error);
}
