/* SPDX-License-Identifier: MIT */
#include "timeline/relation.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/macro.h"

/* Ten hours of pairs are 2 MB. */
#define FILE_MAX ((size_t)1 << 30)
#define PAIRS_MAX 20000000u
#define SECOND INT64_C(1000000000)
/* Products of two such, and of a time and one, fit in 128 bits. */
#define NUMBER_MAX_VALUE (INT64_MAX / 2)

__extension__ typedef __int128 wide;

static int64_t narrow(wide v)
{
    if (v > INT64_MAX)
        return INT64_MAX;
    return v < -INT64_MAX ? -INT64_MAX : (int64_t)v;
}

/* V of a million, rounded up. */
static wide ppm(wide v, int64_t parts)
{
    return (v * parts + 999999) / 1000000;
}

/* The time at TICKS, from A to B, and its bound. */
static int64_t between(const struct relation_pair *a, const struct relation_pair *b, int64_t ticks,
                       int64_t *ret_error)
{
    wide span = (wide)b->ticks - a->ticks;
    wide done = (wide)ticks - a->ticks;
    wide ns = (wide)b->host_ns - a->host_ns;
    wide since = done * ns / span;
    wide error = ((wide)a->error_ns * (span - done) + (wide)b->error_ns * done + span - 1) / span;

    /* 1: what rounding adds. */
    *ret_error = narrow(error + ppm(MIN(since, ns - since), RELATION_WANDER_PPM) + 1);
    return narrow(a->host_ns + since);
}

/* Leaves out pairs that those around them tell better. */
static void choose(struct relation *relation)
{
    struct relation_pair *pairs = relation->pairs;
    unsigned kept = 0;

    for (unsigned i = 0; i < relation->n; i++) {
        int64_t error;

        if (kept > 0 && i + 1 < relation->n) {
            (void)between(&pairs[kept - 1], &pairs[i + 1], pairs[i].ticks, &error);
            if (error < pairs[i].error_ns)
                continue;
        }
        pairs[kept++] = pairs[i];
    }
    relation->n = kept;
}

/* The ends are where times outside are told from: the better ones near them make better ends. */
static int finish(struct relation *relation, const char *name, uint64_t hz, struct fault *fault)
{
    const struct relation_pair *first = relation->pairs;
    const struct relation_pair *last;

    if (relation->n == 0)
        return fault_plain(fault, -EINVAL, name, "holds no pairs: nothing relates the clocks");
    choose(relation);
    last = &relation->pairs[relation->n - 1];
    relation->hz = hz;
    if (relation->n > 1)
        relation->hz = (uint64_t)narrow(((wide)last->ticks - first->ticks) * SECOND /
                                        ((wide)last->host_ns - first->host_ns));
    if (relation->hz == 0)
        return fault_plain(fault, -EINVAL, name,
                           "holds a single pair, which tells no rate, and no other is known");
    return 0;
}

static const char *get_number(const char *p, const char *end, int64_t *ret)
{
    int64_t v = 0;
    const char *start;

    while (p < end && *p == ' ')
        p++;
    for (start = p; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v) ||
            v > NUMBER_MAX_VALUE)
            return NULL;
    *ret = v;
    return p > start ? p : NULL;
}

static bool get_pair(const char *p, const char *end, struct relation_pair *ret)
{
    p = get_number(p, end, &ret->host_ns);
    if (p)
        p = get_number(p, end, &ret->ticks);
    if (p)
        p = get_number(p, end, &ret->error_ns);
    return p == end;
}

static int add_pair(struct relation *relation, unsigned *capacity, const struct relation_pair *pair)
{
    if (!relation->pairs || relation->n == *capacity) {
        unsigned more = MAX(*capacity * 2, 64u);
        struct relation_pair *bigger = realloc(relation->pairs, more * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        relation->pairs = bigger;
        *capacity = more;
    }
    relation->pairs[relation->n++] = *pair;
    return 0;
}

int relation_parse(const char *text, size_t len, const char *name, uint64_t hz,
                   struct relation *ret_relation, struct fault *fault)
{
    struct relation relation = {0};
    const char *end = text + len;
    unsigned capacity = 0;
    uint32_t line = 0;
    int r = 0;

    while (text < end && r == 0) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        struct relation_pair pair;

        line++;
        if (!stop)
            break; /* cut off while it was written */
        if (*text == '#' || stop == text) {
            text = stop + 1;
            continue;
        }
        if (!get_pair(text, stop, &pair))
            r = fault_line(fault, -EINVAL, name, line, "is not a pair of clocks: three numbers");
        else if (relation.n > 0 && (pair.ticks <= relation.pairs[relation.n - 1].ticks ||
                                    pair.host_ns <= relation.pairs[relation.n - 1].host_ns))
            r = fault_line(fault, -EINVAL, name, line, "the clocks step back");
        else if (relation.n == PAIRS_MAX)
            r = fault_line(fault, -EFBIG, name, line, "more pairs than can be");
        if (r == 0 && add_pair(&relation, &capacity, &pair) < 0)
            r = fault_plain(fault, -ENOMEM, name, "out of memory");
        text = stop + 1;
    }
    if (r == 0)
        r = finish(&relation, name, hz, fault);
    if (r < 0) {
        relation_done(&relation);
        return r;
    }
    *ret_relation = relation;
    return 0;
}

int relation_read(const char *path, uint64_t hz, struct relation *ret_relation, struct fault *fault)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    struct stat st;
    int r;

    if (fd < 0)
        return fault_plain(fault, -errno, path, "cannot open it: %s", strerror(errno));
    if (fstat(fd, &st) < 0)
        r = fault_plain(fault, -errno, path, "%s", strerror(errno));
    else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX)
        r = fault_plain(fault, -EINVAL, path, "is not a file of pairs of clocks");
    else
        r = input_read_file(fd, (size_t)st.st_size, path, &text, &len, fault);
    close(fd);
    return r < 0 ? r : relation_parse(text, len, path, hz, ret_relation, fault);
}

void relation_done(struct relation *relation)
{
    free(relation->pairs);
    *relation = (struct relation){0};
}

/* From the pair EDGE out, AWAY ticks. */
static int64_t outside(const struct relation *relation, const struct relation_pair *edge,
                       int64_t ticks, int64_t *ret_error)
{
    const struct relation_pair *first = relation->pairs;
    const struct relation_pair *last = &relation->pairs[relation->n - 1];
    wide away = (wide)ticks - edge->ticks;
    wide far = away < 0 ? -away : away;
    wide ns, error;

    if (relation->n == 1) {
        ns = away * SECOND / (wide)relation->hz;
        error = ppm(far * SECOND / (wide)relation->hz, RELATION_DRIFT_PPM);
    } else {
        wide span = (wide)last->ticks - first->ticks;

        ns = away * ((wide)last->host_ns - first->host_ns) / span;
        error = far * ((wide)first->error_ns + last->error_ns) / span +
                ppm(narrow(ns < 0 ? -ns : ns), RELATION_WANDER_PPM);
    }
    *ret_error = narrow(error + edge->error_ns + 2);
    return narrow(edge->host_ns + ns);
}

int64_t relation_convert(struct relation *relation, int64_t ticks, int64_t *ret_error_ns)
{
    const struct relation_pair *pairs = relation->pairs;
    unsigned i = relation->latest;
    int64_t unused;

    if (!ret_error_ns)
        ret_error_ns = &unused;
    if (ticks <= pairs[0].ticks)
        return outside(relation, &pairs[0], ticks, ret_error_ns);
    if (ticks >= pairs[relation->n - 1].ticks)
        return outside(relation, &pairs[relation->n - 1], ticks, ret_error_ns);
    if (ticks < pairs[i].ticks || ticks >= pairs[i + 1].ticks) {
        unsigned low = 0, high = relation->n - 1;

        if (i + 2 < relation->n && ticks >= pairs[i + 1].ticks && ticks < pairs[i + 2].ticks) {
            low = i + 1;
        } else {
            while (high - low > 1) {
                unsigned middle = low + (high - low) / 2;

                if (pairs[middle].ticks <= ticks)
                    low = middle;
                else
                    high = middle;
            }
        }
        relation->latest = i = low;
    }
    return between(&pairs[i], &pairs[i + 1], ticks, ret_error_ns);
}
