/* SPDX-License-Identifier: MIT */
/* Writes a trace.dat of version 6, which every trace-cmd and KernelShark reads. format/trace_dat/trace_dat.h has its
 * byte table.
 *
 * Each source with events is a buffer. The first source of a Linux kernel, otherwise the first source, is the top
 * buffer. The others have the names of their layers. A buffer has a row of pages for each CPU. Events of a VMM whose
 * thread runs a vCPU are on the row of the vCPU's number. Events with neither CPU nor vCPU are on the last row.
 *
 * Records of a kernel are written unchanged, with the kernel's own formats. All other events become records with
 * formats made of their fields, and a system for each layer (export/trace_dat/kernel_layout.h). If two kernels use a
 * number for different events, one is renumbered.
 *
 * Rows are contiguous in the file, but items arrive mixed, so records are spooled first
 * (export/trace_dat/record_spool.h). Pages are long enough for the longest record.
 *
 * Times in a row must not decrease. The few events that were too late to be put in order get the time of the previous
 * event. For negative times, the option "offset" moves the origin to a whole second before them. */

#include <string.h>

#include "base/bytes.h"
#include "export/bounds.h"
#include "export/trace_dat/export.h"

static int failed(struct dat_export *dat, int err)
{
    if (err == -ENOMEM)
        return export_no_memory(&dat->sink.error);
    return error_set(&dat->sink.error, err, dat->options->name, "cannot write: %s", strerror(-err));
}

static unsigned source_of(const struct dat_export *dat, const struct origin *origin)
{
    unsigned i = 0;

    while (dat->options->catalogue->origins[i] != origin)
        i++;
    return i;
}

static _cold_ struct dat_buffer *add_buffer(struct dat_export *dat, const struct origin *origin)
{
    struct dat_buffer **at = &dat->buffers;
    struct dat_buffer *buffer;

    for (; *at; at = &(*at)->next)
        if ((*at)->origin == origin)
            return *at;
    buffer = arena_alloc(&dat->events.arena, sizeof *buffer);
    if (!buffer)
        return NULL;
    buffer->origin = origin;
    *at = buffer;
    return buffer;
}

static _cold_ struct dat_row *add_row(struct dat_export *dat, struct dat_buffer *buffer,
                                      unsigned place)
{
    struct dat_row *row;

    if (place >= buffer->n_by_number) {
        unsigned n = MAX(place + 1, 2 * buffer->n_by_number);
        struct dat_row **bigger = realloc(buffer->by_number, n * sizeof *bigger);

        if (!bigger)
            return NULL;
        memset(bigger + buffer->n_by_number, 0, (n - buffer->n_by_number) * sizeof *bigger);
        buffer->by_number = bigger;
        buffer->n_by_number = n;
    }
    row = arena_alloc(&dat->events.arena, sizeof *row);
    if (!row)
        return NULL;
    row->number = (int32_t)place - 1;
    row->next = buffer->rows;
    buffer->rows = row;
    buffer->by_number[place] = row;
    record_spool_add(&dat->spool, &row->records);
    return row;
}

static struct dat_row *row_of(struct dat_export *dat, const struct item *item)
{
    struct dat_buffer *buffer = dat->recent;
    int32_t number = item->cpu;
    unsigned place;

    if (unlikely(!buffer || buffer->origin != item->origin)) {
        buffer = dat->recent = add_buffer(dat, item->origin);
        if (!buffer)
            return NULL;
    }
    if (number == CPU_UNKNOWN && item->origin->layer == LAYER_VMM)
        number = item->vcpu;
    place = number < 0 || number >= DAT_ROWS_MAX - 1 ? 0 : (unsigned)number + 1;
    if (likely(place < buffer->n_by_number && buffer->by_number[place]))
        return buffer->by_number[place];
    return add_row(dat, buffer, place);
}

/* Converts a time for the row: from the base on, and not before the previous time. */
static uint64_t row_time(struct dat_export *dat, struct dat_row *row, const struct item *item)
{
    int64_t ns;

    if (item->time == TIME_UNKNOWN)
        return row->last;
    ns = export_ns(item, item->time);
    if (unlikely(!dat->started)) {
        dat->started = true;
        dat->base = export_base_s(ns) * NANOSECONDS;
    }
    row->last = MAX(row->last, export_since(ns, dat->base));
    return row->last;
}

static _cold_ struct dat_vcpu *add_vcpu(struct dat_export *dat, const struct item *item)
{
    uint64_t key = (uint64_t)source_of(dat, item->origin) << 32 | (uint32_t)item->vcpu;
    struct dat_vcpu *vcpu = map_get(&dat->vcpus, key);

    if (vcpu)
        return vcpu;
    vcpu = arena_alloc(&dat->events.arena, sizeof *vcpu);
    if (!vcpu || map_put(&dat->vcpus, key, vcpu) < 0)
        return NULL;
    vcpu->origin = item->origin;
    vcpu->vcpu = item->vcpu;
    vcpu->pid = dat->last_vcpu ? dat->last_vcpu->pid + 1 : DAT_VCPU_PID;
    *(dat->last_vcpu ? &dat->last_vcpu->next : &dat->first_vcpu) = vcpu;
    dat->last_vcpu = vcpu;
    return vcpu;
}

/* Gets the thread of ITEM; 0 if unknown. */
static int thread_of(struct dat_export *dat, const struct item *item, int32_t *ret)
{
    struct dat_vcpu *vcpu = dat->recent_vcpu;

    *ret = item->pid == PID_UNKNOWN ? 0 : item->pid;
    if (likely(item->pid != PID_UNKNOWN || item->vcpu == VCPU_UNKNOWN || !item->origin->put_vcpu))
        return 0;
    if (!vcpu || vcpu->vcpu != item->vcpu || vcpu->origin != item->origin)
        vcpu = dat->recent_vcpu = add_vcpu(dat, item);
    if (!vcpu)
        return -ENOMEM;
    *ret = vcpu->pid;
    return 0;
}

/* Remembers a thread, for its name. */
static int note_thread(struct dat_export *dat, const struct origin *origin, int32_t pid)
{
    uint64_t key = (uint64_t)source_of(dat, origin) << 32 | (uint32_t)pid;

    if (pid <= 0 || key == dat->recent_thread)
        return 0;
    dat->recent_thread = key;
    return map_get(&dat->threads, key) ? 0 : map_put(&dat->threads, key, (void *)origin);
}

static int put_event(struct dat_export *dat, struct dat_row *row, const struct item *item)
{
    const struct dat_class *class;
    struct text *record = &dat->record;
    uint64_t time = row_time(dat, row, item);
    int32_t pid;
    int r = dat_events_get(&dat->events, item->class, &class);

    row->n_events++;
    if (unlikely(r < 0))
        return r == -ENOMEM ? r
                            : error_set(&dat->sink.error, r, item->origin->path,
                                        "cannot read the format of the event '%s': %s",
                                        item->class->name, strerror(-r));
    r = thread_of(dat, item, &pid);
    if (item->origin->task_name && r == 0)
        r = note_thread(dat, item->origin, pid);
    if (unlikely(r < 0))
        return r;
    if (likely(class->raw && !class->renumbered)) {
        dat->longest = MAX(dat->longest, item->size);
        return record_spool_put(&dat->spool, &row->records, time, SPOOL_EVENT, item->payload,
                                item->size);
    }
    record->next = record->start;
    if (class->raw) {
        uint16_t id = class->event->id;

        text_put(record, (const char *)item->payload, item->size);
        if (!record->error)
            store_u16(record->start + class->type_offset,
                      dat->events.swap ? __builtin_bswap16(id) : id);
    } else {
        kernel_layout_put_record(record, &class->event->layout, class->event->id, pid, item,
                                 dat->events.swap);
    }
    if (record->error)
        return -ENOMEM;
    dat->longest = MAX(dat->longest, (uint32_t)text_len(record));
    return record_spool_put(&dat->spool, &row->records, time, SPOOL_EVENT, record->start,
                            (uint32_t)text_len(record));
}

static int trace_dat_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct dat_export *dat = container_of(sink, struct dat_export, sink);

    for (unsigned i = 0; i < n; i++) {
        struct dat_row *row = row_of(dat, &items[i]);
        int r;

        if (unlikely(!row))
            r = -ENOMEM;
        else if (likely(items[i].kind == ITEM_EVENT))
            r = put_event(dat, row, &items[i]);
        else
            r = record_spool_put(&dat->spool, &row->records, row_time(dat, row, &items[i]),
                                 SPOOL_LOSS, &items[i].lost, sizeof items[i].lost);
        if (r < 0)
            return failed(dat, r);
    }
    return 0;
}

static int trace_dat_finish(struct sink *sink)
{
    struct dat_export *dat = container_of(sink, struct dat_export, sink);
    int r = dat_file_write(dat);

    return r < 0 ? failed(dat, r) : 0;
}

static void trace_dat_free(struct sink *sink)
{
    struct dat_export *dat = container_of(sink, struct dat_export, sink);

    for (struct dat_buffer *b = dat->buffers; b; b = b->next)
        free(b->by_number);
    record_spool_done(&dat->spool);
    map_done(&dat->threads);
    map_done(&dat->vcpus);
    text_done(&dat->record);
    text_done(&dat->out);
    dat_events_done(&dat->events);
    free(dat);
}

int export_trace_dat_open(const struct export_options *options, struct sink **ret_sink,
                          struct error *error)
{
    static const struct sink_ops ops = {
        .put = trace_dat_put, .finish = trace_dat_finish, .free = trace_dat_free};
    struct dat_export *dat = calloc(1, sizeof *dat);
    const struct origin_kernel *kernel = NULL;
    int r;

    if (!dat)
        return export_no_memory(error);
    for (unsigned i = 0; i < options->catalogue->n_origins && !kernel; i++)
        kernel = options->catalogue->origins[i]->kernel;
    dat->sink.ops = &ops;
    dat->options = options;
    dat->record = dat->out = TEXT_IN_MEMORY;
    dat->spool.fd = -1;
    dat->recent_thread = UINT64_MAX;
    dat_events_init(&dat->events, kernel);
    r = record_spool_open(options->path, &dat->spool);
    if (r < 0) {
        failed(dat, r);
        *error = dat->sink.error;
        trace_dat_free(&dat->sink);
        return r;
    }
    return export_bounds_open(&dat->sink, ret_sink, error);
}
