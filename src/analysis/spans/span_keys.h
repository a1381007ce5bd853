/* SPDX-License-Identifier: MIT */
#pragma once

/* Keys of struct spans: an event's place, and the values that must be equal for begin and end (P3 in
 * analysis/spans/spans.h). */

#include "analysis/spans/span_steps.h"
#include "base/hash.h"
#include "event/value.h"

struct key {
    uint32_t hash;
    uint32_t name;
    uint32_t source;
    uint64_t place;
    uint64_t keys[SPAN_KEYS];
};

/* A hash of a key's fixed members. It is mixed with the values by which the key is found, and folded. */
static inline uint64_t start_hash(const struct key *key)
{
    return hash_mix((uint64_t)key->name << 32 | key->source, key->place);
}

static inline uint32_t fold_hash(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

/* The hash of KEY, whose other members are set. N_FOUND_BY of its keys are in the hash. */
static inline uint32_t hash_key(const struct key *key, unsigned n_found_by)
{
    uint64_t hash = start_hash(key);

    for (unsigned i = 0; i < n_found_by; i++)
        hash = hash_mix(hash, key->keys[i]);
    return fold_hash(hash);
}

/* Makes the key. False if ITEM lacks one of the values, or the place. SHAPE is the rule's. */
static inline __attribute__((always_inline)) bool make_key(const struct spans *spans,
                                                           const struct step_use *use,
                                                           const struct item *item, uint32_t source,
                                                           struct rule_shape shape, struct key *key)
{
    const struct span_rule *rule = spans->rules[use->rule];
    uint64_t hash;

    key->name = use->name;
    key->source = spans->rule_keys[use->rule].crossings != 0 ? 0 : source;
    key->place = 0;
    switch (rule->place) {
    case SPAN_ANYWHERE: break;
    case SPAN_ON_CPU:
        if (item->cpu == CPU_UNKNOWN)
            return false;
        key->place = (uint32_t)item->cpu;
        break;
    case SPAN_ON_THREAD:
        if (item->pid == PID_UNKNOWN)
            return false;
        /* Each CPU has an idle thread, and all have the number 0. */
        key->place = item->pid == 0 ? UINT64_C(1) << 32 | (uint32_t)item->cpu : (uint32_t)item->pid;
        break;
    case SPAN_ON_VCPU:
        if (item->vcpu == VCPU_UNKNOWN)
            return false;
        key->place = (uint32_t)item->vcpu;
        break;
    }
    hash = start_hash(key);
    for (unsigned i = 0; i < shape.n_keys; i++) {
        const struct span_key *k = &rule->steps[use->step].keys[i];
        struct value value;
        uint64_t v = 0;

        switch (k->kind) {
        case SPAN_KEY_FIELD:
            if (use->fields[i] < 0)
                return false;
            value = item_value(item, (unsigned)use->fields[i]);
            if (!value.present)
                return false;
            v = item->class->fields[use->fields[i]].storage == STORE_SCALAR
                    ? value.u >> k->shift
                    : hash_bytes(value.s + MIN(k->shift, value.len),
                                 value.len - MIN(k->shift, value.len));
            break;
        case SPAN_KEY_TASK:
            if (item->pid == PID_UNKNOWN)
                return false;
            v = (uint64_t)item->pid >> k->shift;
            break;
        case SPAN_KEY_CPU:
            if (item->cpu == CPU_UNKNOWN)
                return false;
            v = (uint64_t)item->cpu >> k->shift;
            break;
        case SPAN_KEY_VCPU:
            if (item->vcpu == VCPU_UNKNOWN)
                return false;
            v = (uint64_t)item->vcpu >> k->shift;
            break;
        }
        key->keys[i] = k->mask != 0 ? v & k->mask : v;
        if (i < shape.n_found_by)
            hash = hash_mix(hash, key->keys[i]);
    }
    key->hash = fold_hash(hash);
    return true;
}
