/* SPDX-License-Identifier: MIT */
/* What trace/control.h of the versions have in common. STANDIN_VCPU_IDS: events have the number that
 * the vCPUs know them by. */
#pragma once

#include "qemu/osdep.h"

#define TRACE_VCPU_EVENT_NONE ((uint32_t)-1)

/* The low byte of this count is 2, so that nobody takes it for a set of bits, or for 8 bits wide. */
#define STANDIN_VCPUS 0x102

typedef struct TraceEvent {
    uint32_t id;
#ifdef STANDIN_VCPU_IDS
    uint32_t vcpu_id;
#endif
    const char *name;
    const bool sstate;
    uint16_t *dstate;
} TraceEvent;

extern int trace_events_enabled_count;

void trace_event_register_group(TraceEvent **events);

#define trace_event_get_state_dynamic_by_id(id) \
    (unlikely(trace_events_enabled_count) && _##id##_DSTATE)
#define trace_event_get_state(id) ((id##_ENABLED) && trace_event_get_state_dynamic_by_id(id))
#define trace_event_get_state_backends(id) ((id##_ENABLED) && id##_BACKEND_DSTATE())
