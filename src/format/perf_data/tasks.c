/* SPDX-License-Identifier: MIT */
#include "format/perf_data/tasks.h"

#include <string.h>

#include "base/macro.h"

void perf_tasks_done(struct perf_tasks *tasks)
{
    map_done(&tasks->names);
    map_done(&tasks->of_task);
    free(tasks->list);
    arena_done(&tasks->arena);
}

/* The number of a name, which is kept; 0: there are too many. */
static int number_of(struct perf_tasks *tasks, const char *name, size_t len, uint32_t *ret)
{
    const void *known = map_get_str(&tasks->names, name, len);
    char *copy;

    if (known || tasks->n >= PERF_TASKS_MAX) {
        *ret = (uint32_t)(uintptr_t)known;
        return 0;
    }
    if (tasks->n == tasks->capacity) {
        uint32_t capacity = tasks->capacity ? tasks->capacity * 2 : 256;
        const char **bigger = realloc(tasks->list, capacity * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        tasks->list = bigger;
        tasks->capacity = capacity;
    }
    copy = arena_strndup(&tasks->arena, name, len);
    if (!copy || map_put_str(&tasks->names, copy, len, (void *)(uintptr_t)(tasks->n + 1)) < 0)
        return -ENOMEM;
    tasks->list[tasks->n++] = copy;
    *ret = tasks->n;
    return 0;
}

static int assign(struct perf_tasks *tasks, int32_t tid, uint32_t comm)
{
    struct recent_comm *recent = &tasks->recent[(uint32_t)tid % PERF_TASKS_RECENT];

    if (tid <= 0 || comm == 0)
        return 0;
    if (tasks->of_task.used >= PERF_TASKS_MAX && !map_get(&tasks->of_task, (uint64_t)tid))
        return 0;
    if (map_put(&tasks->of_task, (uint64_t)tid, (void *)(uintptr_t)comm) < 0)
        return -ENOMEM;
    if (recent->tid == tid)
        recent->comm = comm;
    return 0;
}

int perf_tasks_set(struct perf_tasks *tasks, int32_t tid, const char *name, size_t len)
{
    uint32_t comm;
    int r = number_of(tasks, name, strnlen(name, len), &comm);

    return r < 0 ? r : assign(tasks, tid, comm);
}

int perf_tasks_fork(struct perf_tasks *tasks, int32_t tid, int32_t parent)
{
    return tid == parent ? 0 : assign(tasks, tid, perf_tasks_comm(tasks, parent));
}

uint32_t perf_tasks_look_up(struct perf_tasks *tasks, int32_t tid)
{
    struct recent_comm *recent = &tasks->recent[(uint32_t)tid % PERF_TASKS_RECENT];

    *recent = (struct recent_comm){
        .tid = tid,
        .comm = (uint32_t)(uintptr_t)map_get(&tasks->of_task, (uint64_t)tid),
    };
    return recent->comm;
}

const char *perf_tasks_name(const struct perf_tasks *tasks, uint32_t comm)
{
    return comm > 0 && comm <= tasks->n ? tasks->list[comm - 1] : NULL;
}
