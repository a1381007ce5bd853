/* SPDX-License-Identifier: MIT */
#include "schema/kernel/tasks.h"

#include <string.h>

#include "base/bytes.h"
#include "event/kernel_event.h"

/* Source: the formats of these events, events/sched and events/task of Linux 4.19 to 6.18. */
static const struct {
    const char *group, *event;
    const char *pid, *name;
} known[] = {
    {"sched", "sched_switch", "prev_pid", "prev_comm"},
    {"sched", "sched_switch", "next_pid", "next_comm"},
    {"sched", "sched_wakeup", "pid", "comm"},
    {"sched", "sched_wakeup_new", "pid", "comm"},
    {"sched", "sched_waking", "pid", "comm"},
    {"sched", "sched_process_fork", "parent_pid", "parent_comm"},
    {"sched", "sched_process_fork", "child_pid", "child_comm"},
    {"sched", "sched_process_exec", "pid", "filename"},
    {"sched", "sched_process_exit", "pid", "comm"},
    {"task", "task_newtask", "pid", "comm"},
    {"task", "task_rename", "pid", "newcomm"},
};

static const struct field *field_of(const struct event_class *class, const char *name)
{
    int field = kernel_event_field(class, name);

    return field < 0 ? NULL : &class->fields[field];
}

static bool make_pair(const struct field *pid, const struct field *name,
                      struct kernel_task_pair *ret_pair)
{
    if (!pid || pid->place != PLACE_FIXED || pid->size != 4 || !name || name->type != FIELD_STRING)
        return false;
    if (name->place == PLACE_FIXED && name->storage == STORE_ARRAY && name->size > 0)
        ret_pair->name_size = name->size;
    else if (name->place == PLACE_DATA_LOC)
        ret_pair->name_size = 0;
    else
        return false;
    ret_pair->pid_offset = pid->offset;
    ret_pair->name_offset = name->offset;
    ret_pair->is_path = strcmp(name->name, "filename") == 0;
    ret_pair->swap = pid->swap;
    return true;
}

/* The end of the last of PAIRS, if all names have the size of the kernel's. */
static uint32_t quick_size(const struct kernel_task_pairs *pairs)
{
    uint32_t size = 0;

    for (unsigned i = 0; i < pairs->n; i++) {
        const struct kernel_task_pair *pair = &pairs->list[i];

        if (pair->name_size != KERNEL_TASK_NAME || pair->swap)
            return 0;
        size = MAX(size, MAX(pair->pid_offset + (uint32_t)sizeof(int32_t),
                             pair->name_offset + KERNEL_TASK_NAME));
    }
    return size;
}

int kernel_task_pairs_find(struct arena *arena, const struct event_class *class,
                           const struct kernel_task_pairs **ret_pairs)
{
    struct kernel_task_pairs pairs = {.n = 0}, *copy;

    for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
        if (kernel_event_is(class, known[i].group, known[i].event) &&
            pairs.n < ARRAY_SIZE(pairs.list))
            pairs.n += make_pair(field_of(class, known[i].pid), field_of(class, known[i].name),
                                 &pairs.list[pairs.n]);
    *ret_pairs = NULL;
    if (pairs.n == 0)
        return 0;
    pairs.quick_size = quick_size(&pairs);
    copy = arena_alloc(arena, sizeof *copy);
    if (!copy)
        return -ENOMEM;
    *copy = pairs;
    *ret_pairs = copy;
    return 0;
}

bool kernel_task_pair_read(const struct kernel_task_pair *pair, const uint8_t *payload, size_t size,
                           int32_t *ret_pid, char ret_name[KERNEL_TASK_NAME])
{
    size_t at = pair->name_offset, len = pair->name_size;
    const uint8_t *name;
    size_t n;

    if (pair->pid_offset > size || size - pair->pid_offset < 4)
        return false;
    if (len == 0) {
        uint32_t where;

        if (at > size || size - at < 4)
            return false;
        where = load_u32_swap(payload + at, pair->swap);
        at = where & 0xffff;
        len = where >> 16;
    }
    if (at > size || len > size - at)
        return false;
    name = payload + at;
    n = strnlen((const char *)name, len);
    if (pair->is_path) {
        const uint8_t *slash = memrchr(name, '/', n);

        if (slash) {
            n -= (size_t)(slash + 1 - name);
            name = slash + 1;
        }
    }
    n = MIN(n, (size_t)KERNEL_TASK_NAME - 1);
    *ret_pid = (int32_t)load_u32_swap(payload + pair->pid_offset, pair->swap);
    memset(ret_name, 0, KERNEL_TASK_NAME);
    memcpy(ret_name, name, n);
    return n > 0;
}
