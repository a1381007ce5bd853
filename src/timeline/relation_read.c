/* SPDX-License-Identifier: MIT */
/* Pairs of clocks, out of a file or from whoever has them. */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/macro.h"
#include "timeline/relation_make.h"

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
            v > RELATION_NUMBER_MAX)
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
    if (!relation->told || relation->n_told == *capacity) {
        unsigned more = MAX(*capacity * 2, 64u);
        struct relation_pair *bigger = realloc(relation->told, more * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        relation->told = bigger;
        *capacity = more;
    }
    relation->told[relation->n_told++] = *pair;
    return 0;
}

/* PAIR tells ticks that there were before: at the host's time of the last pair with fewer, or later. Up to PAIR's
 * time they may mean any of both. */
static void note_set_back(struct relation *relation, const struct relation_pair *pair)
{
    const struct relation_pair *before = relation->told;

    for (unsigned i = relation->n_told; i-- > 0;) {
        if (relation->told[i].ticks <= pair->ticks) {
            before = &relation->told[i];
            break;
        }
    }
    relation->set_back_ns =
        MAX(relation->set_back_ns, pair->host_ns + pair->error_ns - before->host_ns);
}

int relation_parse(const char *text, size_t len, const char *name, uint64_t hz,
                   struct relation *ret_relation, struct fault *fault)
{
    struct relation relation = {0};
    const char *end = text + len;
    int64_t last = 0; /* of the host's times */
    unsigned capacity = 0;
    uint32_t line = 0;
    int r = 0;

    while (text < end && r == 0) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        struct relation_pair pair = {0};

        line++;
        if (!stop)
            break; /* cut off while it was written */
        if (*text == '#' || stop == text) {
            text = stop + 1;
            continue;
        }
        if (!get_pair(text, stop, &pair))
            r = fault_line(fault, -EINVAL, name, line, "is not a pair of clocks: three numbers");
        else if (relation.n_told > 0 && pair.host_ns <= last)
            r = fault_line(fault, -EINVAL, name, line, "the host's clock steps back");
        else if (relation.n_told == PAIRS_MAX)
            r = fault_line(fault, -EFBIG, name, line, "more pairs than can be");
        else if (relation.n_told > 0 && pair.ticks <= relation.told[relation.n_told - 1].ticks)
            note_set_back(&relation, &pair);
        else if (add_pair(&relation, &capacity, &pair) < 0)
            r = fault_plain(fault, -ENOMEM, name, "out of memory");
        last = pair.host_ns;
        text = stop + 1;
    }
    if (r == 0)
        r = relation_make(&relation, name, hz, fault);
    if (r < 0) {
        relation_done(&relation);
        return r;
    }
    *ret_relation = relation;
    return 0;
}

int relation_of_pairs(const struct relation_pair *pairs, unsigned n, const char *name, uint64_t hz,
                      struct relation *ret_relation, struct fault *fault)
{
    struct relation relation = {.n_told = n, .told = calloc(n + 1, sizeof *pairs)};
    int r = 0;

    if (!relation.told)
        return fault_plain(fault, -ENOMEM, name, "out of memory");
    for (unsigned i = 0; i < n && r == 0; i++) {
        relation.told[i] = pairs[i];
        if (MAX(MAX(pairs[i].host_ns, pairs[i].ticks), pairs[i].error_ns) > RELATION_NUMBER_MAX ||
            MIN(MIN(pairs[i].host_ns, pairs[i].ticks), pairs[i].error_ns) < 0)
            r = fault_plain(fault, -EINVAL, name, "the clocks are out of range");
        else if (i > 0 &&
                 (pairs[i].ticks <= pairs[i - 1].ticks || pairs[i].host_ns <= pairs[i - 1].host_ns))
            r = fault_plain(fault, -EINVAL, name, "the clocks step back");
    }
    if (r == 0)
        r = relation_make(&relation, name, hz, fault);
    if (r < 0)
        relation_done(&relation);
    else
        *ret_relation = relation;
    return r;
}

int relation_read(const char *path, uint64_t hz, struct relation *ret_relation, struct fault *fault)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
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
