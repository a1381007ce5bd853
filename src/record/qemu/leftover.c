/* SPDX-License-Identifier: MIT */
#include "record/qemu/leftover.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "proto/message.h"
#include "record/qemu/place.h"

/* {"events": [of trace-event-get-state, those that were on], "log": PATH, "simple": PATH, "simple_was_on": …,
 * "domain_port": true, "fifo": PATH}; each may lack. */

static json_t *enabled_events(const json_t *states)
{
    _cleanup_(json_decrefp) json_t *events = json_array();
    json_t *event;
    size_t i;

    json_array_foreach(states, i, event)
    {
        const char *state = json_string_value(json_object_get(event, "state"));

        if (state && strcmp(state, "enabled") == 0 && json_array_append(events, event) < 0)
            return NULL;
    }
    return TAKE_PTR(events);
}

static int put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value);
}

int qemu_leftover_save(const struct qemu_restore *changes)
{
    _cleanup_(json_decrefp) json_t *object = json_object();
    _cleanup_free_ char *text = NULL;
    int r = object ? 0 : -1;

    if (!changes->entry)
        return 0;
    if (r >= 0 && changes->states)
        r = put(object, "events", enabled_events(changes->states));
    if (r >= 0 && changes->log)
        r = put(object, "log", json_string(changes->log));
    if (r >= 0 && changes->simple)
        r = put(object, "simple", json_string(changes->simple));
    if (r >= 0)
        r = put(object, "simple_was_on", json_boolean(changes->simple_was_on));
    if (r >= 0 && changes->domain_port)
        r = put(object, "domain_port", json_true());
    if (r >= 0 && changes->fifo)
        r = put(object, "fifo", json_string(changes->fifo));
    text = r >= 0 ? json_dumps(object, JSON_COMPACT) : NULL;
    return text ? registry_put_restore(changes->entry, changes->pid, text) : -ENOMEM;
}

/* A copy of the string KEY; NULL: there is none. -ENOMEM. */
static int get_string(struct qemu_restore *to, const json_t *object, const char *key,
                      const char **ret)
{
    const char *value = json_string_value(json_object_get(object, key));

    if (!value)
        return 0;
    *ret = arena_strdup(&to->arena, value);
    return *ret ? 0 : -ENOMEM;
}

int qemu_leftover_find(const char *runtime, pid_t pid, struct qemu_restore *ret)
{
    struct qemu_restore left = {.pid = pid};
    _cleanup_(json_decrefp) json_t *object = NULL;
    _cleanup_free_ char *text = NULL;
    int r = registry_find_restore(runtime, pid, &text);

    if (r < 0)
        return r;
    object = text ? json_loads(text, 0, NULL) : NULL;
    if (json_is_array(json_object_get(object, "events")))
        left.states = json_incref(json_object_get(object, "events"));
    left.simple_was_on = json_is_true(json_object_get(object, "simple_was_on"));
    r = get_string(&left, object, "log", &left.log);
    if (r >= 0)
        r = get_string(&left, object, "simple", &left.simple);
    if (r >= 0)
        r = get_string(&left, object, "fifo", &left.fifo);
    left.domain_port = json_is_true(json_object_get(object, "domain_port"));
    if (r < 0)
        qemu_restore_done(&left);
    else
        *ret = left;
    return r;
}

/* Its reader has ended, and QEMU writes elsewhere. */
static void remove_fifo(struct qemu_restore *left)
{
    if (left->fifo)
        qemu_place_remove_left(left->fifo);
    left->fifo = NULL;
}

int qemu_leftover_undo(struct qemu_restore *left, struct qmp *qmp, struct libvirt_domain *domain,
                       const char *runtime, bool with_serial, bool *ret_any, struct error *error)
{
    bool has_serial, has_domain_port = left->domain_port && domain;
    int r = qemu_restore_find_port(left, qmp, error);

    if (r < 0)
        return r;
    *ret_any = qemu_restore_is_due(left) || has_domain_port;
    has_serial = left->serial;
    left->serial &= with_serial;
    if (qemu_restore_is_due(left))
        r = qemu_restore_undo(left, qmp, error);
    left->serial |= has_serial && !with_serial;
    if (has_domain_port) {
        struct error why = {0};
        int removed = libvirt_domain_remove_port(domain, PROTO_PORT, &why);

        left->domain_port = false; /* a port that the guest does not release stays */
        if (removed < 0 && r >= 0) {
            *error = why;
            r = removed;
        }
    }
    if (r >= 0 || r == -EREMOTE || r == -EBUSY)
        remove_fifo(left);
    /* QEMU is as it was, but for what it refuses, or its guest. */
    if (r >= 0 || r == -EREMOTE || r == -EBUSY)
        registry_drop_restore(runtime, left->pid);
    return r;
}
