/* SPDX-License-Identifier: MIT */
/* What stands for QEMU: registers events, and shows on standard output what each backend is given.
 * Records of `simple` go into the file that $SIMPLE names, a simpletrace file of version 4. */
#include "standin.h"

#include <syslog.h>

#include "qemu/module.h"
#include "trace/ftrace.h"
#include "trace/simple.h"

int trace_events_enabled_count;
int trace_marker_fd = 1;

static TraceEvent **groups[8];
static unsigned n_groups;
static uint32_t next_id;

void trace_event_register_group(TraceEvent **events)
{
#ifdef STANDIN_VCPU_IDS
    static uint32_t next_vcpu_id;
#endif

    groups[n_groups++] = events;
    for (unsigned i = 0; events[i]; i++) {
        events[i]->id = next_id++;
#ifdef STANDIN_VCPU_IDS
        if (events[i]->vcpu_id != TRACE_VCPU_EVENT_NONE)
            events[i]->vcpu_id = next_vcpu_id++;
#endif
    }
}

/* What the state of an event that is on holds: of a vCPU's event, on how many vCPUs it is on. */
static uint16_t count_of(const TraceEvent *event)
{
#ifdef STANDIN_VCPU_IDS
    if (event->vcpu_id != TRACE_VCPU_EVENT_NONE)
        return STANDIN_VCPUS;
#endif
    (void)event;
    return 1;
}

void standin_enable(bool on)
{
    for (unsigned g = 0; g < n_groups; g++)
        for (unsigned i = 0; groups[g][i]; i++) {
            TraceEvent *event = groups[g][i];

            if (!event->sstate || !!*event->dstate == on)
                continue;
            *event->dstate = on ? count_of(event) : 0;
            trace_events_enabled_count += on ? 1 : -1;
        }
}

unsigned standin_list(void)
{
    unsigned n = 0;

    for (unsigned g = 0; g < n_groups; g++)
        for (unsigned i = 0; groups[g][i]; i++, n++)
            printf("%s %d %d\n", groups[g][i]->name, groups[g][i]->sstate, *groups[g][i]->dstate);
    return n;
}

int qemu_get_thread_id(void)
{
    return 4321;
}

void syslog(int priority, const char *format, ...)
{
    va_list ap;

    printf("syslog: <%d>", priority);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    putchar('\n');
}

/* ---- simpletrace, version 4 ---- */

static unsigned char record[4096];
static uint32_t claimed;

static FILE *simple_file(void)
{
    static const uint64_t header[] = {~(uint64_t)0, 0xf2b177cb0aa429b4, 4};
    static const uint64_t mapping;
    static FILE *file;

    if (file)
        return file;
    file = fopen(getenv("SIMPLE"), "wb");
    assert(file);
    fwrite(header, sizeof header, 1, file);
    for (unsigned g = 0; g < n_groups; g++)
        for (unsigned i = 0; groups[g][i]; i++) {
            uint64_t id = groups[g][i]->id;
            uint32_t len = (uint32_t)strlen(groups[g][i]->name);

            fwrite(&mapping, sizeof mapping, 1, file);
            fwrite(&id, sizeof id, 1, file);
            fwrite(&len, sizeof len, 1, file);
            fwrite(groups[g][i]->name, len, 1, file);
        }
    return file;
}

static void append(TraceBufferRecord *rec, const void *data, size_t len)
{
    memcpy(record + rec->next, data, len);
    rec->next += (unsigned)len;
}

int trace_record_start(TraceBufferRecord *rec, uint32_t id, size_t size)
{
    uint64_t event = id, time = 1000000 + next_id++;
    uint32_t pid = 1234;

    claimed = (uint32_t)(24 + size);
    assert(claimed <= sizeof record);
    *rec = (TraceBufferRecord){0};
    append(rec, &event, sizeof event);
    append(rec, &time, sizeof time);
    append(rec, &claimed, sizeof claimed);
    append(rec, &pid, sizeof pid);
    return 0;
}

void trace_record_write_u64(TraceBufferRecord *rec, uint64_t value)
{
    append(rec, &value, sizeof value);
}

void trace_record_write_str(TraceBufferRecord *rec, const char *s, uint32_t len)
{
    append(rec, &len, sizeof len);
    if (len > 0)
        append(rec, s, len);
}

/* What was claimed must have been written. */
void trace_record_finish(TraceBufferRecord *rec)
{
    static const uint64_t is_event = 1;

    assert(rec->next == claimed);
    fwrite(&is_event, sizeof is_event, 1, simple_file());
    fwrite(record, claimed, 1, simple_file());
    fflush(simple_file());
}
