/* SPDX-License-Identifier: MIT */
#include "analysis/result/grouping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/spans/span_match.h"
#include "base/hash.h"
#include "base/suggest.h"
#include "event/kernel_event.h"
#include "event/program.h"
#include "event/value.h"

/* Means "no such key"; a scalar or the hash of a string equals it only by chance. */
#define NO_NUMBER UINT64_C(0x6e6f206e756d6265)

static const struct {
    const char *name;
    enum group_key_kind kind;
} words[] = {
    {"task", GROUP_BY_TASK},     {"pid", GROUP_BY_PID},     {"cpu", GROUP_BY_CPU},
    {"vcpu", GROUP_BY_VCPU},     {"vm", GROUP_BY_VM},       {"layer", GROUP_BY_LAYER},
    {"source", GROUP_BY_SOURCE}, {"event", GROUP_BY_EVENT},
};

/* NULL if out of memory. */
static const char *make_title(const char *name, struct arena *arena)
{
    char *title = arena_strdup(arena, name);

    for (char *p = title; p && *p; p++)
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    return title;
}

int grouping_parse(const char *text, struct arena *arena, struct grouping *ret_grouping,
                   struct error *error)
{
    struct grouping grouping = {0};

    for (const char *p = text;; p++) {
        size_t len = strcspn(p, ",");
        struct group_key key = {.kind = GROUP_BY_FIELD, .field = -1};

        if (len == 0)
            return error_set(error, -EINVAL, NULL, "invalid keys '%s' (examples: irq, task,cpu)",
                             text);
        if (grouping.n == GROUPING_KEYS)
            return error_set(error, -EINVAL, NULL, "rows have at most %u keys, '%s' has more",
                             GROUPING_KEYS, text);
        key.name = arena_strndup(arena, p, len);
        key.title = key.name ? make_title(key.name, arena) : NULL;
        if (!key.title)
            return -ENOMEM;
        for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
            if (strcmp(words[i].name, key.name) == 0)
                key.kind = words[i].kind;
        grouping.keys[grouping.n++] = key;
        p += len;
        if (*p == '\0')
            break;
    }
    *ret_grouping = grouping;
    return 0;
}

static bool has_field(const struct catalogue *catalogue, const char *name)
{
    for (unsigned i = 0; i < catalogue->n_classes; i++)
        if (kernel_event_field(catalogue->classes[i], name) >= 0)
            return true;
    return false;
}

int grouping_check(const struct grouping *grouping, const struct catalogue *catalogue,
                   struct error *error)
{
    for (unsigned i = 0; i < grouping->n; i++)
        if (grouping->keys[i].kind == GROUP_BY_FIELD &&
            !has_field(catalogue, grouping->keys[i].name))
            return error_set(error, -ENOENT, NULL,
                             "no event of the trace has a field '%s'; rows are by a field, or by "
                             "task, pid, cpu, vcpu, vm, layer, source or event",
                             grouping->keys[i].name);
    return 0;
}

static uint64_t get_number(const struct item *item, int field)
{
    struct value value;

    if (field < 0)
        return NO_NUMBER;
    value = item_value(item, (unsigned)field);
    if (!value.present)
        return NO_NUMBER;
    return item->class->fields[field].storage == STORE_SCALAR ? value.u
                                                              : hash_bytes(value.s, value.len);
}

uint64_t grouping_field_number(struct field_finder *finder, const struct item *item,
                               const char *name)
{
    return get_number(item, field_finder_get(finder, item->class, name));
}

void grouping_numbers(struct grouping *grouping, const struct item *item, uint64_t *ret_numbers)
{
    for (unsigned i = 0; i < grouping->n; i++) {
        struct group_key *key = &grouping->keys[i];
        const char *name;
        uint64_t v = NO_NUMBER;

        switch (key->kind) {
        case GROUP_BY_FIELD:
            key->field = field_finder_get(&grouping->finder, item->class, key->name);
            v = get_number(item, key->field);
            break;
        case GROUP_BY_TASK:
            name = item_task_name(item);
            if (name)
                v = hash_bytes(name, strlen(name));
            else if (item->pid != PID_UNKNOWN)
                v = (uint32_t)item->pid;
            break;
        case GROUP_BY_PID: v = (uint64_t)item->pid; break;
        case GROUP_BY_CPU: v = (uint64_t)item->cpu; break;
        case GROUP_BY_VCPU: v = (uintptr_t)item->origin->put_vcpu ^ (uint64_t)item->vcpu; break;
        case GROUP_BY_VM:
            name = item_vm_name(item);
            if (name)
                v = hash_bytes(name, strlen(name));
            break;
        case GROUP_BY_LAYER: v = item->origin->layer; break;
        case GROUP_BY_SOURCE: v = (uintptr_t)item->origin; break;
        case GROUP_BY_EVENT: v = (uintptr_t)item->class; break;
        }
        ret_numbers[i] = v;
    }
}

void grouping_put_field(const struct item *item, const char *name, struct text *text)
{
    int field = kernel_event_field(item->class, name);
    struct value value;

    if (field < 0) {
        text_put_char(text, '-');
        return;
    }
    value = item_value(item, (unsigned)field);
    if (!value.present)
        text_put_char(text, '-');
    else if (!item_put_name(item, (unsigned)field, &value, text) &&
             !kernel_event_put_function(item, (unsigned)field, value.u, text))
        value_put(&item->class->fields[field], &value, text);
}

static void put_number(int32_t v, struct text *text)
{
    if (v < 0)
        text_put_char(text, '-');
    else
        text_put_i64(text, v);
}

void grouping_put(const struct grouping *grouping, unsigned i, const struct item *item,
                  struct text *text)
{
    const struct group_key *key = &grouping->keys[i];
    const char *name;

    switch (key->kind) {
    case GROUP_BY_FIELD: grouping_put_field(item, key->name, text); break;
    case GROUP_BY_TASK:
        name = item_task_name(item);
        if (name)
            text_put_str(text, name);
        else
            put_number(item->pid, text);
        break;
    case GROUP_BY_PID: put_number(item->pid, text); break;
    case GROUP_BY_CPU: put_number(item->cpu, text); break;
    case GROUP_BY_VCPU:
        if (item->vcpu != VCPU_UNKNOWN && item->origin->put_vcpu)
            item->origin->put_vcpu(item->origin, item->vcpu, text);
        else
            put_number(item->vcpu, text);
        break;
    case GROUP_BY_VM:
        name = item_vm_name(item);
        text_put_str(text, name ? name : "-");
        break;
    case GROUP_BY_LAYER: text_put_str(text, layer_name(item->origin->layer)); break;
    case GROUP_BY_SOURCE: text_put_str(text, item->origin->path); break;
    case GROUP_BY_EVENT: text_put_str(text, item->class->name); break;
    }
}

bool grouping_moves(const struct grouping *grouping)
{
    for (unsigned i = 0; i < grouping->n; i++)
        if (grouping->keys[i].kind == GROUP_BY_TASK || grouping->keys[i].kind == GROUP_BY_PID ||
            grouping->keys[i].kind == GROUP_BY_VM || grouping->keys[i].kind == GROUP_BY_FIELD)
            return true;
    return false;
}

bool grouping_is_number(const struct grouping *grouping, unsigned i)
{
    return grouping->keys[i].kind == GROUP_BY_CPU || grouping->keys[i].kind == GROUP_BY_PID;
}

bool grouping_value(const struct grouping *grouping, unsigned i, const struct item *item,
                    int64_t *ret_value)
{
    const struct group_key *key = &grouping->keys[i];
    struct value value;
    int field;

    switch (key->kind) {
    case GROUP_BY_CPU: *ret_value = item->cpu; return item->cpu != CPU_UNKNOWN;
    case GROUP_BY_PID: *ret_value = item->pid; return item->pid != PID_UNKNOWN;
    case GROUP_BY_VCPU: *ret_value = item->vcpu; return item->vcpu != VCPU_UNKNOWN;
    case GROUP_BY_FIELD: break;
    case GROUP_BY_TASK:
    case GROUP_BY_VM:
    case GROUP_BY_LAYER:
    case GROUP_BY_SOURCE:
    case GROUP_BY_EVENT: return false;
    }
    field = kernel_event_field(item->class, key->name);
    if (field < 0 || item->class->fields[field].storage != STORE_SCALAR ||
        item->class->fields[field].type == FIELD_FLOAT)
        return false;
    value = item_value(item, (unsigned)field);
    *ret_value = (int64_t)value.u;
    return value.present;
}
