/* SPDX-License-Identifier: MIT */
#include "analysis/tally_cover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* As in a coverage, events on CPUs from this number on count as events without a CPU. */
#define CPUS_MAX 65536

void tally_cover_done(struct tally_cover *cover)
{
    for (unsigned i = 0; i < cover->n_sources; i++)
        free(cover->sources[i].places);
    free(cover->sources);
    free(cover->losses);
    *cover = (struct tally_cover){0};
}

static struct tally_source *find_source(struct tally_cover *cover, const struct origin *origin)
{
    struct tally_source *more;

    for (unsigned i = 0; i < cover->n_sources; i++)
        if (cover->sources[i].origin == origin) {
            cover->recent = i;
            return &cover->sources[i];
        }
    more = realloc(cover->sources, (cover->n_sources + 1) * sizeof *more);
    if (!more)
        return NULL;
    cover->sources = more;
    more[cover->n_sources] = (struct tally_source){.origin = origin};
    cover->recent = cover->n_sources++;
    return &more[cover->recent];
}

static int add_places(struct tally_source *source, unsigned number)
{
    unsigned n = MAX(number + 1, source->n_places * 2);
    struct tally_place *places = realloc(source->places, n * sizeof *places);

    if (!places)
        return -ENOMEM;
    for (unsigned i = source->n_places; i < n; i++)
        places[i] = (struct tally_place){TIME_UNKNOWN, TIME_UNKNOWN, 0};
    source->places = places;
    source->n_places = n;
    return 0;
}

struct tally_place *tally_cover_place(struct tally_cover *cover, const struct origin *origin,
                                      int32_t cpu)
{
    struct tally_source *source = find_source(cover, origin);
    unsigned number = (unsigned)cpu < CPUS_MAX ? (unsigned)cpu + 1 : 0;

    if (!source || (number >= source->n_places && add_places(source, number) < 0))
        return NULL;
    return &source->places[number];
}

/* The oldest of all CPUs' last events. */
static int64_t oldest_last(const struct tally_source *source)
{
    int64_t last = source->places[0].last;

    for (unsigned i = 1; i < source->n_places; i++) {
        int64_t other = source->places[i].last;

        if (other != TIME_UNKNOWN && (last == TIME_UNKNOWN || other < last))
            last = other;
    }
    return last;
}

static int keep(struct tally_cover *cover, const struct tally_loss *loss)
{
    if (cover->n_losses == cover->room) {
        unsigned room = MAX(cover->room * 2, 16u);
        struct tally_loss *more = realloc(cover->losses, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        cover->losses = more;
        cover->room = room;
    }
    cover->losses[cover->n_losses++] = *loss;
    return 0;
}

static _cold_ int put_loss(struct tally_cover *cover, const struct item *loss)
{
    const struct tally_place *place = tally_cover_place(cover, loss->origin, loss->cpu);
    const struct tally_source *source;

    if (!place)
        return -ENOMEM;
    source = &cover->sources[cover->recent];
    return keep(cover, &(struct tally_loss){*loss, place == &source->places[0] ? oldest_last(source)
                                                                               : place->last});
}

/* Counts the first of N items, an event at a known time, and the following events on its CPU. Returns their number, or
 * -ENOMEM. */
static int put_events(struct tally_cover *cover, const struct item *items, unsigned n)
{
    const struct origin *origin = items->origin;
    const struct tally_source *source =
        cover->n_sources > 0 ? &cover->sources[cover->recent] : NULL;
    unsigned number = (unsigned)(items->cpu + 1);
    struct tally_place *place;
    int64_t last;
    unsigned i = 1;

    if (unlikely(!source || source->origin != origin || number >= source->n_places)) {
        place = tally_cover_place(cover, origin, items->cpu);
        if (!place)
            return -ENOMEM;
    } else {
        place = &source->places[number];
    }
    if (unlikely(place->first == TIME_UNKNOWN)) {
        place->first = items->time;
        place->n_losses = cover->n_losses;
    }
    place->first = MIN(place->first, items->time);
    last = MAX(place->last, items->time);
    for (; i < n && items[i].cpu == items->cpu && items[i].origin == origin &&
           items[i].kind == ITEM_EVENT && items[i].time >= last;
         i++)
        last = items[i].time;
    place->last = last;
    return (int)i;
}

int tally_cover_put(struct tally_cover *cover, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n;) {
        int r = 1;

        if (unlikely(items[i].kind != ITEM_EVENT)) {
            if (put_loss(cover, &items[i]) < 0)
                return -ENOMEM;
        } else if (likely(items[i].time != TIME_UNKNOWN)) {
            r = put_events(cover, &items[i], n - i);
            if (r < 0)
                return r;
        }
        i += (unsigned)r;
    }
    return 0;
}

int64_t tally_loss_since(const struct tally_loss *loss)
{
    return loss->item.since != TIME_UNKNOWN ? loss->item.since : loss->before;
}

/* The last event before loss K of LATER. Its source is THERE in LATER, and HERE in the earlier part. NUMBER is the
 * CPU's. */
static int64_t find_before(const struct tally_cover *later, unsigned k,
                           const struct tally_source *there, const struct tally_source *here,
                           unsigned number)
{
    int64_t before = later->losses[k].before;

    if (number > 0)
        return before == TIME_UNKNOWN ? here->places[number].last : before;
    for (unsigned i = 0; i < here->n_places; i++) {
        bool is_seen = i < there->n_places && there->places[i].first != TIME_UNKNOWN &&
                       there->places[i].n_losses <= k;
        int64_t last = here->places[i].last;

        if (last != TIME_UNKNOWN && !is_seen && (before == TIME_UNKNOWN || last < before))
            before = last;
    }
    return before;
}

int tally_cover_merge(struct tally_cover *cover, const struct tally_cover *later,
                      const struct origin *(*origin)(void *arg, const struct origin *origin),
                      void *arg)
{
    for (unsigned i = 0; i < later->n_losses; i++) {
        struct tally_loss loss = later->losses[i];
        const struct tally_source *there = later->sources;
        const struct tally_place *place;
        const struct tally_source *here;

        while (there->origin != loss.item.origin)
            there++;
        loss.item.origin = origin ? origin(arg, loss.item.origin) : loss.item.origin;
        if (!loss.item.origin)
            return -ERANGE;
        place = tally_cover_place(cover, loss.item.origin, loss.item.cpu);
        if (!place)
            return -ENOMEM;
        here = &cover->sources[cover->recent];
        loss.before = find_before(later, i, there, here, (unsigned)(place - here->places));
        if (keep(cover, &loss) < 0)
            return -ENOMEM;
    }
    for (unsigned i = 0; i < later->n_sources; i++) {
        const struct tally_source *there = &later->sources[i];
        const struct origin *here = origin ? origin(arg, there->origin) : there->origin;

        for (unsigned j = 0; j < there->n_places; j++) {
            struct tally_place *place =
                here ? tally_cover_place(cover, here, (int32_t)j - 1) : NULL;

            if (!place)
                return here ? -ENOMEM : -ERANGE;
            if (there->places[j].first == TIME_UNKNOWN)
                continue;
            place->first = place->first == TIME_UNKNOWN ? there->places[j].first
                                                        : MIN(place->first, there->places[j].first);
            place->last = MAX(place->last, there->places[j].last);
        }
    }
    return 0;
}

/* ---- The coverage ---- */

/* Compares times. At the same time, a loss ends before what follows it. */
static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind == ITEM_LOSS ? -1 : 1;
    return 0;
}

static void put_event(struct item **next, const struct origin *origin, int32_t cpu, int64_t time)
{
    if (time != TIME_UNKNOWN)
        *(*next)++ = (struct item){.time = time, .origin = origin, .cpu = cpu};
}

static void put_source(const struct tally_source *source, struct item **next)
{
    for (unsigned i = 0; i < source->n_places; i++) {
        put_event(next, source->origin, (int32_t)i - 1, source->places[i].first);
        put_event(next, source->origin, (int32_t)i - 1, source->places[i].last);
    }
}

int tally_cover_make(const struct tally_cover *cover, const struct origin *origin,
                     struct coverage *ret)
{
    size_t n = cover->n_losses;
    struct item *items, *next;
    int r;

    for (unsigned i = 0; i < cover->n_sources; i++)
        n += 2 * (size_t)cover->sources[i].n_places;
    items = next = malloc(MAX(n, (size_t)1) * sizeof *items);
    if (!items)
        return -ENOMEM;
    for (unsigned i = 0; i < cover->n_sources; i++)
        if (!origin || cover->sources[i].origin == origin)
            put_source(&cover->sources[i], &next);
    for (unsigned i = 0; i < cover->n_losses; i++) {
        struct item loss = cover->losses[i].item;
        int64_t before = cover->losses[i].before;

        /* Its CPU has an event at its end: it takes no time. */
        if ((origin && loss.origin != origin) ||
            (before != TIME_UNKNOWN && before >= loss.time && !loss.is_open))
            continue;
        if (before != TIME_UNKNOWN)
            loss.since = MAX(loss.since, before);
        *next++ = loss;
    }
    qsort(items, (size_t)(next - items), sizeof *items, compare_items);
    r = coverage_put(ret, items, (unsigned)(next - items));
    free(items);
    return r;
}
