/* SPDX-License-Identifier: MIT */
#include "export/trace_dat/events.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "event/class_map.h"
#include "event/kernel.h"
#include "export/put_binary.h"

static const char ftrace[] = "ftrace";

void dat_events_init(struct dat_events *events, const struct origin_kernel *kernel)
{
    bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

    *events = (struct dat_events){
        .big_endian = kernel ? kernel->big_endian : big,
        .long_size = kernel ? kernel->long_size : sizeof(long),
        .names = {.share = true},
        .next_id = INT16_MAX, /* KernelShark keeps numbers in 16 bits with a sign */
    };
    events->swap = events->big_endian != big;
}

void dat_events_done(struct dat_events *events)
{
    free(events->classes);
    map_done(&events->by_id);
    map_done(&events->made);
    class_names_done(&events->names);
    arena_done(&events->arena);
    *events = (struct dat_events){0};
}

static struct dat_event *add(struct dat_events *events, uint16_t id, const char *system)
{
    struct dat_event *event = arena_alloc(&events->arena, sizeof *event);

    if (!event || map_put(&events->by_id, id, event) < 0)
        return NULL;
    event->id = id;
    event->system = system;
    *(events->last ? &events->last->next : &events->first) = event;
    events->last = event;
    return event;
}

/* Returns a number that no event has, or 0 if none is free. */
static uint16_t free_id(struct dat_events *events)
{
    while (events->next_id && map_get(&events->by_id, events->next_id))
        events->next_id--;
    return events->next_id;
}

/* Copies FORMAT with another number in its line "ID: N". */
static bool set_format(struct dat_events *events, struct dat_event *event, const char *format,
                       size_t len, bool renumbered)
{
    static const char key[] = "\nID:";
    const char *line = renumbered ? memmem(format, len, key, sizeof key - 1) : NULL;
    struct text text = TEXT_IN_MEMORY;

    if (line) {
        const char *end = memchr(line + 1, '\n', len - (size_t)(line + 1 - format));

        text_put(&text, format, (size_t)(line - format));
        text_printf(&text, "\nID: %u", event->id);
        if (end)
            text_put(&text, end, len - (size_t)(end - format));
    } else {
        text_put(&text, format, len);
    }
    event->format_len = text_len(&text);
    event->format =
        text.error ? NULL
                   : arena_strndup(&events->arena, text.start ? text.start : "", event->format_len);
    text_done(&text);
    return event->format;
}

/* Adds an event with the kernel's own format. */
static bool add_kernel(struct dat_events *events, const struct event_class *class,
                       const char *format, size_t len, struct dat_class *ret)
{
    uint16_t id = (uint16_t) class->id;
    struct dat_event *event = map_get(&events->by_id, id);

    ret->raw = true;
    ret->type_offset = class->origin->kernel->type_offset;
    if (event && strcmp(event->system, class->group) == 0 && event->format_len == len &&
        memcmp(event->format, format, len) == 0) {
        ret->event = event;
        return true;
    }
    if (event) {
        ret->renumbered = true;
        id = free_id(events);
    }
    event = id ? add(events, id, class->group) : NULL;
    ret->event = event && set_format(events, event, format, len, ret->renumbered) ? event : NULL;
    return ret->event;
}

/* Readers find a kernel's events by their systems, such as "sched". Other events have their layer's name. */
static const char *made_system(const struct event_class *class)
{
    enum layer layer = class->origin->layer;
    bool is_kernel = layer == LAYER_GUEST || layer == LAYER_HOST;

    return is_kernel && class->group && class->group[0] ? class->group : layer_name(layer);
}

static bool add_made(struct dat_events *events, const struct event_class *class,
                     struct dat_class *ret)
{
    const char *name = class_names_get(&events->names, class, NULL);
    struct dat_event *event = name ? map_get_str(&events->made, name, strlen(name)) : NULL;
    struct text format = TEXT_IN_MEMORY;
    uint16_t id;

    ret->event = event;
    if (!name || event)
        return event;
    id = free_id(events);
    event = id ? add(events, id, made_system(class)) : NULL;
    if (!event || kernel_layout_make(&events->arena, class, &event->layout) < 0)
        return false;
    kernel_layout_put_format(&format, &event->layout, id);
    if (!format.error && set_format(events, event, format.start, text_len(&format), false) &&
        map_put_str(&events->made, name, strlen(name), event) == 0)
        ret->event = event;
    text_done(&format);
    return ret->event;
}

/* Gets the format that CLASS has in its kernel. NULL if this file cannot use it. */
static int kernel_format(const struct dat_events *events, const struct event_class *class,
                         char **ret_format, size_t *ret_len)
{
    const struct origin_kernel *kernel = class->origin->kernel;
    int r;

    *ret_format = NULL;
    /* Records of a kernel with another byte order or word size are written by their fields, in the file's order. */
    if (!kernel || !class->group || class->id == 0 || kernel->big_endian != events->big_endian ||
        kernel->long_size != events->long_size)
        return 0;
    r = kernel->format(class->origin, (uint16_t) class->id, ret_format, ret_len);
    return error_is_local(r) ? r : 0;
}

int dat_events_make(struct dat_events *events, const struct event_class *class,
                    const struct dat_class **ret_class)
{
    _cleanup_free_ char *format = NULL;
    struct dat_class made = {0};
    size_t len;
    int r;

    if (class_map_grow(events->classes, events->n_classes, class) < 0)
        return -ENOMEM;
    r = kernel_format(events, class, &format, &len);
    if (r < 0)
        return r;
    if (format ? !add_kernel(events, class, format, len, &made) : !add_made(events, class, &made))
        return -ENOMEM;
    events->classes[class->index] = made;
    *ret_class = &events->classes[class->index];
    return 0;
}

static void put_order_u32(const struct dat_events *events, struct text *text, uint32_t v)
{
    put_u32(text, events->swap ? __builtin_bswap32(v) : v);
}

static void put_of_system(const struct dat_events *events, const char *system, struct text *text)
{
    uint32_t n = 0;

    for (const struct dat_event *e = events->first; e; e = e->next)
        n += strcmp(e->system, system) == 0;
    put_order_u32(events, text, n);
    for (const struct dat_event *e = events->first; e; e = e->next)
        if (strcmp(e->system, system) == 0) {
            put_u64(text, events->swap ? __builtin_bswap64(e->format_len) : e->format_len);
            text_put(text, e->format, e->format_len);
        }
}

/* True if E is the first event of its system, and the system is not the kernel's own. */
static bool begins_system(const struct dat_events *events, const struct dat_event *e)
{
    if (strcmp(e->system, ftrace) == 0)
        return false;
    for (const struct dat_event *before = events->first; before != e; before = before->next)
        if (strcmp(before->system, e->system) == 0)
            return false;
    return true;
}

void dat_events_put_formats(const struct dat_events *events, struct text *text)
{
    uint32_t n = 0;

    put_of_system(events, ftrace, text);
    for (const struct dat_event *e = events->first; e; e = e->next)
        n += begins_system(events, e);
    put_order_u32(events, text, n);
    for (const struct dat_event *e = events->first; e; e = e->next)
        if (begins_system(events, e)) {
            text_put(text, e->system, strlen(e->system) + 1);
            put_of_system(events, e->system, text);
        }
}
