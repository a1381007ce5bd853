/* SPDX-License-Identifier: MIT */
#include "format/simpletrace/resync.h"

#include "base/bytes.h"
#include "base/macro.h"
#include "event/item.h"
#include "format/simpletrace/layout.h"

/* While resyncing, a record passes for real when it is this near to the last one, and no longer. */
#define RESYNC_TIME_NS (INT64_C(3600) * 1000000000)
#define RESYNC_SIZE_MAX (32 * 1024)

static bool is_name(const uint8_t *p, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
              (p[i] >= '0' && p[i] <= '9') || p[i] == '_'))
            return false;
    return true;
}

static bool plausible_mapping(const struct simpletrace_ids *ids, const uint8_t *p, size_t left)
{
    uint32_t len;

    if (left < TYPE_SIZE + MAPPING_HEAD_SIZE ||
        load_u64_swap(p + TYPE_SIZE, ids->swap) >= SIMPLETRACE_DENSE_IDS)
        return false;
    len = load_u32_swap(p + TYPE_SIZE + 8, ids->swap);
    return len > 2 && len <= 128 && left >= TYPE_SIZE + MAPPING_HEAD_SIZE + len &&
           is_name(p + TYPE_SIZE + MAPPING_HEAD_SIZE, len);
}

/* Whether the class's fields can take SIZE bytes: without strings just as many, with them more. */
static bool right_size(const struct event_class *class, uint32_t size)
{
    uint32_t least = 0;
    bool exact = class->declared_in;

    for (unsigned i = 0; i < class->n_fields; i++) {
        enum field_storage storage = class->fields[i].storage;

        if (storage != STORE_TO_END)
            least += storage == STORE_COUNTED ? 4 : 8;
        exact = exact && storage == STORE_SCALAR;
    }
    return exact ? size == least : size >= least;
}

/* Whether a whole record could begin at P: its event is known, has the size that its declaration
 * asks for, and happened about when the last one did; and something like a record follows. */
static bool plausible(const struct simpletrace_ids *ids, int64_t last, const uint8_t *p,
                      size_t left)
{
    size_t front = ids->version == 4 ? TYPE_SIZE : 0;
    uint64_t time;
    uint32_t size;

    if (left < front + EVENT_HEAD_SIZE)
        return false;
    if (front && load_u64_swap(p, ids->swap) == TYPE_MAPPING)
        return plausible_mapping(ids, p, left);
    if (front && load_u64_swap(p, ids->swap) != TYPE_EVENT)
        return false;
    p += front;
    left -= front;
    size = load_u32_swap(p + 16, ids->swap);
    time = load_u64_swap(p + 8, ids->swap);
    if (size < EVENT_HEAD_SIZE || size > RESYNC_SIZE_MAX || size > left)
        return false;
    if (last != TIME_UNKNOWN &&
        time - (uint64_t)last + (uint64_t)RESYNC_TIME_NS > 2 * (uint64_t)RESYNC_TIME_NS)
        return false;
    if (load_u64_swap(p, ids->swap) != DROPPED_ID) {
        const struct event_class *class;

        if (!simpletrace_ids_known(ids, load_u64_swap(p, ids->swap), &class) ||
            (class && !right_size(class, size - EVENT_HEAD_SIZE)))
            return false;
    } else if (size != EVENT_HEAD_SIZE + 8) {
        return false;
    }
    return !front || left < size + front || load_u64_swap(p + size, ids->swap) <= TYPE_EVENT;
}

int simpletrace_resync(struct input *in, const struct simpletrace_ids *ids, int64_t last,
                       uint64_t *skipped, struct error *error)
{
    size_t i = 1; /* what is at the first place is the damage */

    for (;;) {
        const uint8_t *p = input_at(in);
        size_t left = input_buffered(in);

        for (; i < left; i++)
            if (plausible(ids, last, p + i, left - i)) {
                input_skip(in, i);
                *skipped += i;
                return 1;
            }
        /* A record that the end of the buffer cuts is not plausible yet: its bytes are kept as long
         * as there is more to read. */
        i = in->ended ? left : left - MIN(left, (size_t)RESYNC_SIZE_MAX + TYPE_SIZE);
        input_skip(in, i);
        *skipped += i;
        if (in->ended)
            return 0;
        i = *skipped == 0;
        if (input_refill(in, error) < 0)
            return error->code;
    }
}
