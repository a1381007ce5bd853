/* SPDX-License-Identifier: MIT */
#include "analysis/requests/joins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/macro.h"

struct join_entry {
    struct join_request request;
    uint64_t id;
    int64_t until; /* when it is certainly over, in ns; INT64_MAX: it is open */
    uint32_t hash;
    uint32_t next, previous; /* in the bucket, or in the free list */
    uint32_t ended_after;    /* in the list of those that ended: the neighbours */
    uint32_t ended_before;
    bool is_joined, is_ambiguous;
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
    get(joins, number)->request.tag = 0;
    joins->free = number;
    joins->n--;
}

static void give_up(struct joins *joins, uint32_t number)
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
        if (!entries[i].is_joined)
            put_in_bucket(joins, i);
    for (uint32_t i = room - 1; i >= MAX(joins->room, 1u); i--) {
        entries[i].next = joins->free;
        joins->free = i;
    }
    joins->room = room;
    return 0;
}

/* True if ENTRY may be open at EARLIEST, and has the same words as REQUEST. */
static bool is_alike(const struct join_entry *entry, const struct join_request *request,
                     int64_t earliest)
{
    const void *vm = entry->request.vm;

    return entry->until >= earliest &&
           memcmp(entry->request.words, request->words, sizeof request->words) == 0 &&
           (!vm || !request->vm || vm == request->vm);
}

/* Returns the only request that is the same as REQUEST. 0 if there is none, or if *RET_AMBIGUOUS. */
static uint32_t find_partner(const struct joins *joins, const struct join_request *request,
                             uint32_t hash, int64_t earliest, bool *ret_ambiguous)
{
    unsigned n_others = 0, n_alike = 0;
    bool is_ambiguous = false;
    uint32_t found = 0;

    for (uint32_t i = *get_bucket(joins, hash); i != 0; i = get(joins, i)->next) {
        const struct join_entry *entry = get(joins, i);

        if (!is_alike(entry, request, earliest))
            continue;
        n_alike++;
        is_ambiguous |= entry->is_ambiguous;
        if (entry->request.layer != request->layer) {
            n_others++;
            found = i;
        }
    }
    *ret_ambiguous = n_others > 0 && (n_alike > 1 || is_ambiguous);
    return *ret_ambiguous ? 0 : found;
}

static void mark_ambiguous(struct joins *joins, const struct join_request *request, uint32_t hash,
                           int64_t earliest)
{
    for (uint32_t i = *get_bucket(joins, hash); i != 0; i = get(joins, i)->next)
        if (is_alike(get(joins, i), request, earliest))
            get(joins, i)->is_ambiguous = true;
}

/* Joins NUMBER, which is in no bucket, with PARTNER. */
static void join(struct joins *joins, uint32_t number, uint32_t partner)
{
    struct join_entry *entry = get(joins, number), *other = get(joins, partner);

    entry->is_joined = other->is_joined = true;
    entry->id = other->id;
    take_out(joins, partner);
    if (other->until != INT64_MAX)
        release(joins, partner);
}

int joins_begin(struct joins *joins, const struct join_request *request, int64_t earliest,
                struct join *ret_join)
{
    const uint64_t *words = request->words;
    uint64_t hash = hash_mix(hash_mix(hash_mix(0, words[0]), words[1]), words[2]);
    struct join_entry *entry;
    uint32_t number, partner;

    *ret_join = (struct join){0};
    while (joins->oldest_ended != 0 &&
           (get(joins, joins->oldest_ended)->until < earliest || joins->n == JOINS_MAX))
        give_up(joins, joins->oldest_ended);
    if (joins->n == JOINS_MAX)
        return 0;
    if (joins->free == 0 && grow(joins) < 0)
        return -ENOMEM;
    number = joins->free;
    entry = get(joins, number);
    joins->free = entry->next;
    joins->n++;
    *entry = (struct join_entry){
        .request = *request, .until = INT64_MAX, .hash = (uint32_t)(hash >> 32)};
    partner = find_partner(joins, request, entry->hash, earliest, &ret_join->is_ambiguous);
    if (partner != 0) {
        ret_join->is_joined = true;
        ret_join->partner = get(joins, partner)->request.tag;
        join(joins, number, partner);
    } else {
        entry->id = ++joins->last_id;
        put_in_bucket(joins, number);
        if (ret_join->is_ambiguous)
            mark_ambiguous(joins, request, entry->hash, earliest);
    }
    ret_join->number = number;
    ret_join->id = entry->id;
    return 0;
}

void joins_end(struct joins *joins, uint32_t number, int64_t latest)
{
    struct join_entry *entry;

    if (number == 0)
        return;
    entry = get(joins, number);
    if (entry->is_joined) {
        release(joins, number);
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

void joins_forget(struct joins *joins, uint32_t number, uint32_t tag)
{
    if (number == 0 || get(joins, number)->request.tag != tag)
        return;
    if (get(joins, number)->is_joined)
        release(joins, number);
    else
        give_up(joins, number);
}

void joins_done(struct joins *joins)
{
    free(joins->entries);
    free(joins->buckets);
    *joins = (struct joins){0};
}
