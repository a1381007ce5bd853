/* SPDX-License-Identifier: MIT */
#include "schema/kernel/origin.h"

#include "base/text.h"

static struct kernel_events *events_of(const struct origin *origin)
{
    return container_of(origin, struct kernel_origin, origin)->events;
}

static const char *task_name(const struct origin *origin, int32_t pid)
{
    return kernel_events_task(events_of(origin), pid);
}

static int get_format(const struct origin *origin, uint16_t id, char **ret_text, size_t *ret_len)
{
    return kernel_events_format(events_of(origin), id, ret_text, ret_len);
}

static int get_kallsyms(const struct origin *origin, char **ret_text, size_t *ret_len)
{
    return kernel_events_kallsyms(events_of(origin), ret_text, ret_len);
}

static bool put_function(const struct origin *origin, uint64_t address, struct text *text)
{
    uint64_t start;
    size_t len;
    const char *name = kernel_events_symbol(events_of(origin), address, &len, &start);

    if (!name || start != address)
        return false;
    text_put(text, name, len);
    return true;
}

static void each_string(const struct origin *origin,
                        void (*put)(void *arg, uint64_t address, const char *s, size_t len),
                        void *arg)
{
    kernel_events_each_printk(events_of(origin), put, arg);
}

void kernel_origin_init(struct kernel_origin *ret, const struct origin *origin,
                        struct kernel_events *events)
{
    const struct kernel_facts *facts = kernel_events_facts(events);

    *ret = (struct kernel_origin){.origin = *origin, .events = events};
    ret->origin.task_name = task_name;
    ret->origin.kernel = &ret->kernel;
    ret->kernel = (struct origin_kernel){
        .big_endian = facts->big_endian,
        .long_size = facts->long_size,
        .type_offset = kernel_events_common(events)->type_offset,
        .flags_offset = kernel_events_common(events)->flags_offset,
        .preempt_offset = kernel_events_common(events)->preempt_offset,
        .format = get_format,
        .kallsyms = get_kallsyms,
        .put_function = put_function,
        .strings = each_string,
    };
    kernel_events_set_origin(events, &ret->origin);
}
