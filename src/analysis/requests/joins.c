/* SPDX-License-Identifier: MIT */
#include "analysis/requests/joins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/macro.h"

struct join_entry {
    uint64_t words[JOIN_WORDS];
    uint64_t id;
    int64_t until; /* when it is over for certain, ns; INT64_MAX: it is open */
    uint32_t hash;
    uint32_t next, previous; /* in the bucket; of those that are free */
    uint32_t ended_after;    /* of those that ended: the ones before and after it */
    uint32_t ended_before;
    enum layer layer;
    bool joined;
};

static struct join_entry *get(const struct joins *joins, uint32_t number)
{
    return &joins->entries[number];
}

static uint32_t *get_bucket(const struct joins *joins, uint32_t hash)
{
    return &joins->buckets[hash & (joins->n_buckets - 1)];
}

static void put_in_bucket(struct joins *joins, uint32_t number)
{
    struct join_entry *entry = get(joins, number);
    uint32_t *bucket = get_bucket(joins, entry->hash);

    entry->next = *bucket;
    entry->previous = 0;
    if (*bucket != 0)
        get(joins, *bucket)->previous = number;
    *bucket = number;
}

/* NUMBER is no longer a candidate. */
static void take_out(struct joins *joins, uint32_t number)
{
    struct join_entry *entry = get(joins, number);

    if (entry->previous != 0)
        get(joins, entry->previous)->next = entry->next;
    else
        *get_bucket(joins, entry->hash) = entry->next;
    if (entry->next != 0)
        get(joins, entry->next)->previous = entry->previous;
    if (entry->until == INT64_MAX)
        return;
    if (entry->ended_before != 0)
        get(joins, entry->ended_before)->ended_after = entry->ended_after;
    else
        joins->oldest_ended = entry->ended_after;
    if (entry->ended_after != 0)
        get(joins, entry->ended_after)->ended_before = entry->ended_before;
    else
        joins->newest_ended = entry->ended_before;
}

static void release(struct joins *joins, uint32_t number)
{
    get(joins, number)->next = joins->free;
    joins->free = number;
    joins->n--;
}

static void forget(struct joins *joins, uint32_t number)
{
    take_out(joins, number);
    release(joins, number);
}

static _cold_ int grow(struct joins *joins)
{
    uint32_t room = joins->room == 0 ? 64 : 2 * joins->room;
    struct join_entry *entries = realloc(joins->entries, room * sizeof *entries);
    uint32_t *buckets;

    if (!entries)
        return -ENOMEM;
    joins->entries = entries;
    buckets = calloc(room, sizeof *buckets);
    if (!buckets)
        return -ENOMEM;
    free(joins->buckets);
    joins->buckets = buckets;
    joins->n_buckets = room;
    /* All are in use, as none was free. */
    for (uint32_t i = 1; i < joins->room; i++)
        if (!entries[i].joined)
            put_in_bucket(joins, i);
    for (uint32_t i = room - 1; i >= MAX(joins->room, 1u); i--) {
        entries[i].next = joins->free;
        joins->free = i;
    }
    joins->room = room;
    return 0;
}

/* The one request of another layer with these WORDS that has no partner and may be open at EARLIEST; 0 where there is
 * none, or where there are more, of either side. */
static uint32_t find_partner(const struct joins *joins, enum layer layer, const uint64_t *words,
                             uint32_t hash, int64_t earliest)
{
    uint32_t found = 0;

    for (uint32_t i = *get_bucket(joins, hash); i != 0; i = get(joins, i)->next) {
        const struct join_entry *entry = get(joins, i);

        if (memcmp(entry->words, words, sizeof entry->words) != 0 || entry->until < earliest)
            continue;
        if (entry->layer == layer || found)
            return 0;
        found = i;
    }
    return found;
}

int joins_begin(struct joins *joins, enum layer layer, const uint64_t words[static JOIN_WORDS],
                int64_t earliest, uint32_t *ret_number, uint64_t *ret_id, bool *ret_joins)
{
    uint64_t hash = hash_mix(hash_mix(hash_mix(0, words[0]), words[1]), words[2]);
    struct join_entry *entry;
    uint32_t partner;
    uint32_t number;

    while (joins->oldest_ended != 0 &&
           (get(joins, joins->oldest_ended)->until < earliest || joins->n == JOINS_MAX))
        forget(joins, joins->oldest_ended);
    if (joins->n == JOINS_MAX) {
        *ret_number = 0;
        return 0;
    }
    if (joins->free == 0 && grow(joins) < 0)
        return -ENOMEM;
    number = joins->free;
    entry = get(joins, number);
    joins->free = entry->next;
    joins->n++;
    *entry =
        (struct join_entry){.layer = layer, .until = INT64_MAX, .hash = (uint32_t)(hash >> 32)};
    memcpy(entry->words, words, sizeof entry->words);
    partner = find_partner(joins, layer, words, entry->hash, earliest);
    if (partner != 0) {
        struct join_entry *other = get(joins, partner);

        entry->joined = other->joined = true;
        entry->id = other->id;
        take_out(joins, partner);
        if (other->until != INT64_MAX)
            release(joins, partner);
    } else {
        entry->id = ++joins->last_id;
        put_in_bucket(joins, number);
    }
    *ret_number = number;
    *ret_id = entry->id;
    *ret_joins = partner != 0;
    return 0;
}

void joins_end(struct joins *joins, uint32_t number, int64_t latest)
{
    struct join_entry *entry;

    if (number == 0)
        return;
    entry = get(joins, number);
    if (entry->joined) {
        release(joins, number);
    } else if (latest == INT64_MIN) {
        forget(joins, number);
    } else {
        entry->until = MIN(latest, INT64_MAX - 1);
        entry->ended_before = joins->newest_ended;
        entry->ended_after = 0;
        if (joins->newest_ended != 0)
            get(joins, joins->newest_ended)->ended_after = number;
        else
            joins->oldest_ended = number;
        joins->newest_ended = number;
    }
}

void joins_done(struct joins *joins)
{
    free(joins->entries);
    free(joins->buckets);
    *joins = (struct joins){0};
}
