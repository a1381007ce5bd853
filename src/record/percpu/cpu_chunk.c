/* SPDX-License-Identifier: MIT */
#include "record/percpu/cpu_chunk.h"

#include <string.h>

#include "format/xentrace/record.h"

/* True: the record is of an event. */
static bool count(struct chunk_counts *counts, uint32_t header, const uint8_t *record)
{
    uint32_t event = xentrace_event(header);

    if (likely(event != XEN_LOST_RECORDS && event != XEN_WRAP_BUFFER))
        return true;
    if (event == XEN_LOST_RECORDS && xentrace_words(header) >= 1) {
        counts->lost += load_u32(record + 4 + (xentrace_has_tsc(header) ? 8 : 0));
        counts->losses++;
    }
    return false;
}

int chunk_count(struct chunk_state *state, const uint8_t *records, size_t size)
{
    size_t at = 0;

    while (size - at >= 4) {
        uint32_t header = load_u32(records + at);
        uint32_t len = xentrace_record_size(header);

        if (len > size - at)
            return -EBADMSG;
        state->counts.records += count(&state->counts, header, records + at);
        at += len;
    }
    return at == size ? 0 : -EBADMSG;
}

bool chunk_has(const uint8_t *records, size_t size, uint64_t n)
{
    struct chunk_counts counts = {0};
    size_t at = 0;

    while (n > 0 && size - at >= 4) {
        uint32_t header = load_u32(records + at);
        uint32_t len = xentrace_record_size(header);

        if (len > size - at)
            break;
        n -= count(&counts, header, records + at);
        at += len;
    }
    return n == 0;
}

/* Writes a record without a time, together with the time that it needs. */
static size_t put_with_time(uint8_t *out, uint32_t header, const uint8_t *record, size_t len,
                            uint64_t time)
{
    header |= UINT32_C(1) << 31;
    memcpy(out, &header, 4);
    memcpy(out + 4, &time, 8);
    memcpy(out + 12, record + 4, len - 4);
    return len + 8;
}

int chunk_filter(struct chunk_state *state, const struct xen_event_mask *choice,
                 const uint8_t *records, size_t size, uint8_t *out, size_t *ret_size)
{
    size_t at = 0;
    size_t used = 0;
    int r = 0;

    while (at < size) {
        const uint8_t *record = records + at;
        uint32_t header = size - at >= 4 ? load_u32(record) : 0;
        uint32_t len = xentrace_record_size(header);
        uint32_t event = xentrace_event(header);
        bool timed = xentrace_has_tsc(header);

        if (unlikely(len > size - at)) {
            memcpy(out + used, record, size - at);
            used += size - at;
            r = -EBADMSG;
            break;
        }
        at += len;
        if (count(&state->counts, header, record)) {
            if (!xen_event_mask_has(choice, event)) {
                state->counts.left_out++;
                if (timed) {
                    state->owed = true;
                    state->time = load_u64(record + 4);
                }
                continue;
            }
            state->counts.records++;
        } else if (event == XEN_WRAP_BUFFER) {
            continue;
        }
        if (!timed && state->owed) {
            used += put_with_time(out + used, header, record, len, state->time);
        } else {
            memcpy(out + used, record, len);
            used += len;
        }
        if (timed || state->owed)
            state->owed = false;
    }
    *ret_size = used;
    return r;
}
