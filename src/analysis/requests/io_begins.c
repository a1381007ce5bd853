/* SPDX-License-Identifier: MIT */
#include "analysis/requests/io_begins.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/ticks.h"

/* If so many requests of a device have no block_bio_queue, requests of this device never have one. */
#define WITHOUT_MAX 64u
#define DEVICES_MAX 4096u

struct io_begins_source {
    const struct origin *origin;
    int64_t missing_until;
    unsigned n_begun; /* losses that have begun and not ended */
};

struct io_begins_device {
    const struct origin *origin;
    uint64_t device;
    unsigned kind;
    bool has_begins;
    unsigned n_without;
    int64_t longest; /* longest time that a request was queued */
};

void io_begins_done(struct io_begins *begins)
{
    free(begins->sources);
    free(begins->devices);
    *begins = (struct io_begins){0};
}

/* NULL if out of memory. */
static struct io_begins_source *get_source(struct io_begins *begins, const struct origin *origin,
                                           int64_t time)
{
    struct io_begins_source *more;
    unsigned i = 0;

    while (i < begins->n_sources && begins->sources[i].origin != origin)
        i++;
    if (i < begins->n_sources)
        return &begins->sources[i];
    more = realloc(begins->sources, (i + 1) * sizeof *more);
    if (!more)
        return NULL;
    begins->sources = more;
    begins->n_sources++;
    more[i] = (struct io_begins_source){.origin = origin, .missing_until = time};
    return &more[i];
}

static struct io_begins_device *find_device(const struct io_begins *begins,
                                            const struct origin *origin, uint64_t device,
                                            unsigned kind)
{
    for (unsigned i = 0; i < begins->n_devices; i++)
        if (begins->devices[i].device == device && begins->devices[i].kind == kind &&
            begins->devices[i].origin == origin)
            return &begins->devices[i];
    return NULL;
}

/* NULL if out of memory, or if there are too many. */
static struct io_begins_device *get_device(struct io_begins *begins, const struct origin *origin,
                                           uint64_t device, unsigned kind)
{
    struct io_begins_device *found = find_device(begins, origin, device, kind);
    unsigned n = begins->n_devices;

    if (found || n == DEVICES_MAX)
        return found;
    if ((n & (n - 1)) == 0) {
        struct io_begins_device *more = realloc(begins->devices, MAX(n * 2, 1u) * sizeof *more);

        if (!more)
            return NULL;
        begins->devices = more;
    }
    begins->devices[n] =
        (struct io_begins_device){.origin = origin, .device = device, .kind = kind};
    return &begins->devices[begins->n_devices++];
}

int io_begins_lose(struct io_begins *begins, const struct origin *origin, int64_t time)
{
    struct io_begins_source *source = get_source(begins, origin, time);

    if (!source)
        return -ENOMEM;
    source->n_begun -= source->n_begun > 0;
    source->missing_until = MAX(source->missing_until, time);
    return 0;
}

int io_begins_forget(struct io_begins *begins, const struct origin *origin, int64_t time)
{
    struct io_begins_source *source = get_source(begins, origin, time);

    if (!source)
        return -ENOMEM;
    source->missing_until = MAX(source->missing_until, time);
    return 0;
}

int io_begins_begin_loss(struct io_begins *begins, const struct item *item)
{
    struct io_begins_source *source = get_source(begins, item->origin, item->time);

    if (!source)
        return -ENOMEM;
    source->n_begun++;
    return 0;
}

bool io_begins_in_loss(const struct io_begins *begins, const struct origin *origin)
{
    for (unsigned i = 0; i < begins->n_sources; i++)
        if (begins->sources[i].origin == origin)
            return begins->sources[i].n_begun > 0 || begins->sources[i].missing_until == INT64_MAX;
    return false;
}

int io_begins_put(struct io_begins *begins, const struct item *issue, uint64_t device,
                  unsigned kind, int64_t queued, int64_t second, bool *ret_may_lack)
{
    /* The first of its source: what was before is not in the trace. */
    struct io_begins_source *source = get_source(begins, issue->origin, issue->time);
    struct io_begins_device *found = get_device(begins, issue->origin, device, kind);

    if (!source)
        return -ENOMEM;
    *ret_may_lack = false;
    if (!found)
        return begins->n_devices == DEVICES_MAX ? 0 : -ENOMEM;
    if (queued != TIME_UNKNOWN) {
        found->has_begins = true;
        found->longest = MAX(found->longest, ticks_between(queued, issue->time));
        return 0;
    }
    found->n_without++;
    *ret_may_lack =
        source->n_begun > 0 || source->missing_until >= issue->time ||
        ticks_between(source->missing_until, issue->time) <= MAX(found->longest, second);
    return 0;
}

enum io_begins_are io_begins_are(const struct io_begins *begins, const struct origin *origin,
                                 uint64_t device, unsigned kind)
{
    const struct io_begins_device *found = find_device(begins, origin, device, kind);

    if (found && found->has_begins)
        return IO_BEGINS_SEEN;
    return found && found->n_without < WITHOUT_MAX ? IO_BEGINS_UNSEEN : IO_BEGINS_NONE;
}
