/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/requests/io_slots.h"
#include "base/macro.h"
#include "event/class_map.h"
#include "event/kernel_event.h"
#include "event/value.h"
#include "event/vmm_event.h"

/* A flush has no sector, or a sector that depends on the kernel's version. */
#define FLUSH_SECTOR UINT64_MAX

enum io_event {
    EVENT_NONE,
    EVENT_QUEUE,
    EVENT_ISSUE,
    EVENT_REQUEUE,
    EVENT_COMPLETE,
    EVENT_IRQ_ENTRY,
    EVENT_IRQ_EXIT,
    EVENT_KICK,
    EVENT_READ,
    EVENT_WRITE,
    EVENT_BLK,
    EVENT_SUBMIT,
    EVENT_WORKED,
    EVENT_RETURNED,
    EVENT_NOTIFY,
};

#define EVENT_FIELDS 4

static const struct {
    const char *group; /* in a kernel; NULL for QEMU's events */
    const char *name;  /* "A|B": names in different versions */
    enum io_event event;
    int point; /* -1: none */
    const char *fields[EVENT_FIELDS];
} events[] = {
    {"block", "block_bio_queue", EVENT_QUEUE, IO_QUEUED, {"dev", "sector", "nr_sector"}},
    {"block", "block_rq_issue", EVENT_ISSUE, IO_ISSUED, {"dev", "sector", "nr_sector", "rwbs"}},
    {"block", "block_rq_requeue", EVENT_REQUEUE, -1, {"dev", "sector", "nr_sector", "rwbs"}},
    {"block",
     "block_rq_complete",
     EVENT_COMPLETE,
     IO_COMPLETED,
     {"dev", "sector", "nr_sector", "rwbs"}},
    {"irq", "irq_handler_entry", EVENT_IRQ_ENTRY, IO_INTERRUPT, {0}},
    {"irq", "irq_handler_exit", EVENT_IRQ_EXIT, -1, {0}},
    {NULL, "virtio_queue_notify", EVENT_KICK, IO_KICKED, {"vdev"}},
    {NULL, "virtio_blk_handle_read", EVENT_READ, IO_HANDLED, {"vdev", "req", "sector", "nsectors"}},
    {NULL,
     "virtio_blk_handle_write",
     EVENT_WRITE,
     IO_HANDLED,
     {"vdev", "req", "sector", "nsectors"}},
    {NULL, "blk_co_preadv", EVENT_BLK, -1, {"offset", "bytes"}},
    {NULL, "blk_co_pwritev", EVENT_BLK, -1, {"offset", "bytes"}},
    {NULL, VMM_POOL_SUBMIT, EVENT_SUBMIT, IO_SUBMITTED, {"pool", "req"}},
    {NULL, VMM_POOL_COMPLETE, EVENT_WORKED, IO_WORKED, {"pool", "req"}},
    {NULL, "virtio_blk_req_complete", EVENT_RETURNED, IO_RETURNED, {"vdev", "req"}},
    {NULL, VMM_NOTIFY, EVENT_NOTIFY, IO_NOTIFIED, {"vdev"}},
};

struct io_class {
    bool known;
    uint8_t event; /* enum io_event */
    int8_t fields[EVENT_FIELDS];
};

/* ---- Events of block layers ---- */

static uint64_t field(const struct item *item, const struct io_class *class, unsigned i)
{
    return class->fields[i] < 0 ? 0 : item_value(item, (unsigned)class->fields[i]).u;
}

static enum io_kind get_kind(const struct item *item, const struct io_class *class)
{
    switch (kernel_event_rwbs(item, (unsigned)class->fields[3])) {
    case 'R': return IO_READ;
    case 'W': return IO_WRITE;
    case 'D': return IO_DISCARD;
    case 'F': return IO_FLUSH;
    default: return IO_OTHER;
    }
}

static uint32_t block_hash(const struct origin *origin, uint64_t device, uint64_t sector)
{
    return io_hash((uintptr_t)origin, device, sector);
}

static bool is_bio(const struct io_bio *bio, const struct origin *origin, uint64_t device,
                   uint64_t sector)
{
    return bio->origin == origin && bio->device == device && bio->sector == sector;
}

/* The entry for what was queued for SECTOR; otherwise a free entry, or the oldest in its set. */
static struct io_bio *place_of_bio(struct io_tracker *tracker, const struct origin *origin,
                                   uint64_t device, uint64_t sector)
{
    /* Not by the address of ORIGIN: what is forgotten would be another thing each time. */
    uint32_t set = io_hash((uint64_t)origin->layer, device, sector) % (IO_BIOS / IO_BIO_WAYS);
    struct io_bio *bios = &tracker->bios[set * IO_BIO_WAYS], *best = bios;

    for (unsigned i = 0; i < IO_BIO_WAYS; i++) {
        if (is_bio(&bios[i], origin, device, sector))
            return &bios[i];
        if (best->origin && (!bios[i].origin || bios[i].time < best->time))
            best = &bios[i];
    }
    return best;
}

static uint32_t find_block(const struct io_tracker *tracker, const struct origin *origin,
                           uint64_t device, uint64_t sector)
{
    uint32_t hash = block_hash(origin, device, sector);

    for (uint32_t i = *io_bucket(tracker, BY_BLOCK, hash); i;
         i = tracker->slots[i].next[BY_BLOCK]) {
        const struct io_slot *slot = &tracker->slots[i];

        if (slot->request.origin == origin && slot->request.device == device &&
            slot->next_sector == sector)
            return i;
    }
    return 0;
}

static void get_origin(const struct io_tracker *tracker, struct io_slot *slot,
                       const struct item *item)
{
    slot->request.group = tracker->ops->begin ? tracker->ops->begin(tracker->arg, item) : 0;
    slot->request.origin = item->origin;
    slot->request.cpu = item->cpu;
    slot->request.pid = item->pid;
    slot->request.vcpu = item->vcpu;
    io_note_error(slot, item->error_ns, item->clock_part);
}

/* Counts a request of which only ITEM is known. */
static void count_fate_at(struct io_tracker *tracker, const struct item *item, enum io_point point,
                          enum span_fate fate)
{
    struct io_request request = {
        .origin = item->origin, .cpu = item->cpu, .pid = item->pid, .vcpu = item->vcpu};

    for (unsigned i = 0; i < IO_POINTS; i++)
        request.at[i] = i == point ? item->time : TIME_UNKNOWN;
    io_count_fate(tracker, &request, fate);
}

/* Makes a slot for ITEM, POINT of a request. It replaces slot N (0: none), which began again before it ended. 0 if too
 * many are open. */
static uint32_t renew_slot(struct io_tracker *tracker, uint32_t n, const struct item *item,
                           enum io_point point)
{
    if (n)
        io_drop(tracker, n, SPAN_AGAIN);
    n = io_slot_new(tracker);
    if (n == 0)
        count_fate_at(tracker, item, point, SPAN_GIVEN_UP);
    return n;
}

static int put_issue(struct io_tracker *tracker, const struct item *item,
                     const struct io_class *class)
{
    enum io_kind kind = get_kind(item, class);
    uint64_t device = field(item, class, 0);
    uint64_t sector = kind == IO_FLUSH ? FLUSH_SECTOR : field(item, class, 1);
    uint32_t n = find_block(tracker, item->origin, device, sector);
    /* A scheduler of requests issues them later, by a kernel's thread: the request is that of the thread that queued it. */
    struct item begin = *item;
    struct io_slot *slot;
    struct io_bio *bio;
    int r;

    if (n && tracker->slots[n].was_requeued) {
        tracker->slots[n].was_requeued = false;
        return 0;
    }
    n = renew_slot(tracker, n, item, IO_ISSUED);
    if (!n)
        return 0;
    slot = &tracker->slots[n];
    bio = place_of_bio(tracker, item->origin, device, sector);
    if (is_bio(bio, item->origin, device, sector) && bio->time <= item->time) {
        slot->request.at[IO_QUEUED] = bio->time;
        io_note_error(slot, bio->error_ns, bio->clock_part);
        bio->origin = NULL;
        if (bio->pid != PID_UNKNOWN) {
            begin.pid = bio->pid;
            begin.comm = bio->comm;
        }
    }
    get_origin(tracker, slot, &begin);
    slot->request.device = device;
    slot->request.sector = slot->next_sector = sector;
    slot->request.sectors = slot->left = (uint32_t)field(item, class, 2);
    slot->request.kind = kind;
    slot->request.at[IO_ISSUED] = item->time;
    r = io_begins_put(&tracker->begins, item, device, io_begin_kind(kind),
                      slot->request.at[IO_QUEUED], tracker->ticks_per_ms * 1000,
                      &slot->may_lack_begin);
    io_index_add(tracker, BY_BLOCK, block_hash(item->origin, device, sector), n);
    if (r >= 0 && item->origin->layer == LAYER_GUEST)
        r = io_join(tracker, n);
    return r >= 0 && tracker->first[LIST_UNSURE] &&
                   io_begins_are(&tracker->begins, item->origin, device, io_begin_kind(kind)) !=
                       IO_BEGINS_UNSEEN
               ? io_give_unsure(tracker, item->origin, device, kind)
               : r;
}

/* The fate of a request that ITEM completes. If a CPU has no data at that time, the request may have ended on it, and
 * ITEM may complete a later request with the same key. */
static enum span_fate find_fate(const struct io_tracker *tracker, const struct item *item)
{
    if (item->origin->complete_from != 0 && item->time < item->origin->complete_from)
        return SPAN_EARLY;
    return io_begins_in_loss(&tracker->begins, item->origin) ? SPAN_LOST : SPAN_COMPLETE;
}

static int put_complete(struct io_tracker *tracker, const struct item *item,
                        const struct io_class *class)
{
    enum io_kind kind = get_kind(item, class);
    uint64_t device = field(item, class, 0);
    uint64_t sector = kind == IO_FLUSH ? FLUSH_SECTOR : field(item, class, 1);
    uint32_t sectors = (uint32_t)field(item, class, 2);
    uint32_t n = find_block(tracker, item->origin, device, sector);
    struct io_thread *place;
    struct io_slot *slot;
    enum span_fate fate;

    /* An empty write that flushes first was never issued: the flush was, in its place. */
    if (sectors == 0 && kind != IO_FLUSH)
        return 0;
    if (!n) {
        count_fate_at(tracker, item, IO_COMPLETED, SPAN_NO_BEGIN);
        return 0;
    }
    slot = &tracker->slots[n];
    io_note_error(slot, item->error_ns, item->clock_part);
    if (sectors > 0 && sectors < slot->left) {
        io_index_remove(tracker, BY_BLOCK, n);
        slot->next_sector += sectors;
        slot->left -= sectors;
        io_index_add(tracker, BY_BLOCK, block_hash(item->origin, device, slot->next_sector), n);
        return 0;
    }
    fate = find_fate(tracker, item);
    if (unlikely(fate != SPAN_COMPLETE)) {
        io_drop(tracker, n, fate);
        return 0;
    }
    slot->request.at[IO_COMPLETED] = item->time;
    slot->request.end_vcpu = item->vcpu;
    place =
        io_place(&tracker->interrupts, &tracker->n_interrupts, item->origin, (uint32_t)item->cpu);
    if (place && place->time != TIME_UNKNOWN && place->time >= slot->request.at[IO_ISSUED])
        slot->request.at[IO_INTERRUPT] = place->time;
    return io_end(tracker, n, item->time);
}

/* ---- Events of VMMs ---- */

static uint32_t find_vmm(const struct io_tracker *tracker, const struct item *item, uint64_t device,
                         uint64_t request)
{
    uint32_t hash = io_hash((uintptr_t)item->origin, device, request);

    for (uint32_t i = *io_bucket(tracker, BY_VMM, hash); i; i = tracker->slots[i].next[BY_VMM]) {
        const struct io_slot *slot = &tracker->slots[i];

        if (slot->request.origin == item->origin && slot->request.device == device &&
            slot->vmm_request == request)
            return i;
    }
    return 0;
}

static int put_handle(struct io_tracker *tracker, const struct item *item,
                      const struct io_class *class)
{
    uint64_t device = field(item, class, 0), request = field(item, class, 1);
    uint32_t n = find_vmm(tracker, item, device, request);
    struct io_thread *kick = io_place(&tracker->kicks, &tracker->n_kicks, item->origin, device);
    struct io_slot *slot;

    if (unlikely(kick && kick->may_lack)) {
        kick->may_lack = false;
        if (kick->time == TIME_UNKNOWN && tracker->counts.points >> IO_KICKED & 1) {
            if (n)
                io_drop(tracker, n, SPAN_AGAIN);
            count_fate_at(tracker, item, IO_HANDLED, SPAN_NO_BEGIN);
            return 0;
        }
    }
    n = renew_slot(tracker, n, item, IO_HANDLED);
    if (!n)
        return 0;
    slot = &tracker->slots[n];
    get_origin(tracker, slot, item);
    slot->is_vmm = true;
    slot->request.device = device;
    slot->request.vmm = item->origin;
    slot->request.vmm_pid = item->pid;
    slot->vmm_request = request;
    slot->request.sector = field(item, class, 2);
    slot->request.sectors = (uint32_t)field(item, class, 3);
    slot->request.kind = class->event == EVENT_WRITE ? IO_WRITE : IO_READ;
    slot->request.at[IO_HANDLED] = item->time;
    if (kick) {
        slot->request.at[IO_KICKED] = kick->time;
        slot->request.kick_pid = kick->pid;
        kick->time = TIME_UNKNOWN;
    }
    io_index_add(tracker, BY_VMM, io_hash((uintptr_t)item->origin, device, request), n);
    io_list_add(tracker, LIST_PENDING, n);
    return io_join(tracker, n);
}

/* True if the bytes of the request are among those that the thread reads or writes (R3). */
static bool is_among(const struct io_tracker *tracker, const struct io_request *request)
{
    return request->sector <= UINT64_MAX / 512 && request->sector * 512 >= tracker->blk_from &&
           request->sector * 512 < tracker->blk_until;
}

static void put_submit(struct io_tracker *tracker, const struct item *item,
                       const struct io_class *class)
{
    bool has_bytes = tracker->blk_origin == item->origin && tracker->blk_pid == item->pid;
    uint64_t pool = field(item, class, 0), request = field(item, class, 1);
    unsigned n_pending = 0;
    uint32_t next;

    for (uint32_t i = tracker->first[LIST_PENDING]; i; i = tracker->slots[i].list_next)
        n_pending += tracker->slots[i].request.origin == item->origin &&
                     tracker->slots[i].request.vmm_pid == item->pid;
    tracker->blk_origin = NULL;
    tracker->counts.unthreaded += has_bytes && n_pending > 1 && item->pid == PID_UNKNOWN;
    if (!has_bytes && n_pending != 1) {
        tracker->counts.opaque += n_pending > 1;
        return;
    }
    for (uint32_t i = tracker->first[LIST_PENDING]; i; i = next) {
        struct io_slot *slot = &tracker->slots[i];

        next = slot->list_next;
        if (slot->request.origin != item->origin || slot->request.vmm_pid != item->pid ||
            (has_bytes && !is_among(tracker, &slot->request)))
            continue;
        io_list_remove(tracker, i);
        slot->request.at[IO_SUBMITTED] = item->time;
        io_note_error(slot, item->error_ns, item->clock_part);
        slot->pool = pool;
        slot->pool_request = request;
        io_index_add(tracker, BY_POOL, io_hash((uintptr_t)item->origin, pool, request), i);
    }
}

static void put_worked(struct io_tracker *tracker, const struct item *item,
                       const struct io_class *class)
{
    uint64_t pool = field(item, class, 0), request = field(item, class, 1);
    uint32_t next;

    for (uint32_t i = *io_bucket(tracker, BY_POOL, io_hash((uintptr_t)item->origin, pool, request));
         i; i = next) {
        struct io_slot *slot = &tracker->slots[i];

        next = slot->next[BY_POOL];
        if (slot->request.origin != item->origin || slot->pool != pool ||
            slot->pool_request != request)
            continue;
        slot->request.at[IO_WORKED] = item->time;
        io_note_error(slot, item->error_ns, item->clock_part);
        io_index_remove(tracker, BY_POOL, i);
    }
}

static int put_returned(struct io_tracker *tracker, const struct item *item,
                        const struct io_class *class)
{
    uint32_t n = find_vmm(tracker, item, field(item, class, 0), field(item, class, 1));
    struct io_thread *device;
    enum span_fate fate;

    /* QEMU has no event where it begins to handle a flush. */
    if (!n)
        return 0;
    io_index_remove(tracker, BY_VMM, n);
    tracker->slots[n].request.at[IO_RETURNED] = item->time;
    io_note_error(&tracker->slots[n], item->error_ns, item->clock_part);
    device = io_place(&tracker->kicks, &tracker->n_kicks, item->origin, field(item, class, 0));
    if (device)
        device->has_ended = true;
    fate = find_fate(tracker, item);
    if (unlikely(fate != SPAN_COMPLETE)) {
        io_drop(tracker, n, fate);
        return 0;
    }
    return io_end(tracker, n, item->time);
}

static void put_notify(struct io_tracker *tracker, const struct item *item,
                       const struct io_class *class)
{
    uint64_t number = field(item, class, 0);
    struct io_thread *device = io_place(&tracker->kicks, &tracker->n_kicks, item->origin, number);

    /* Devices of other kinds notify, too. */
    if (device && !device->has_ended)
        return;
    /* The last ones: all before one that was notified of were, too. */
    for (uint32_t i = tracker->last[LIST_OVER]; i; i = tracker->slots[i].list_before) {
        struct io_slot *slot = &tracker->slots[i];

        if (!slot->is_vmm || slot->request.origin != item->origin || slot->request.device != number)
            continue;
        if (slot->request.at[IO_NOTIFIED] != TIME_UNKNOWN)
            break;
        slot->request.at[IO_NOTIFIED] = item->time;
        io_note_error(slot, item->error_ns, item->clock_part);
    }
    if (device)
        device->has_ended = false;
}

/* ---- All events ---- */

static void remember(struct io_thread *place, int64_t time, int32_t pid)
{
    if (!place)
        return;
    place->time = time;
    place->pid = pid;
}

static int put_event(struct io_tracker *tracker, const struct item *item,
                     const struct io_class *class)
{
    uint32_t *error =
        item->origin->layer == LAYER_VMM ? &tracker->vmm_error : &tracker->guest_error;
    struct io_bio *bio;
    uint64_t sector;

    if (item->origin->layer == LAYER_VMM || item->origin->layer == LAYER_GUEST)
        *error = MAX(*error, item->error_ns);
    switch ((enum io_event) class->event) {
    case EVENT_NONE: return 0;
    case EVENT_QUEUE:
        sector = field(item, class, 2) == 0 ? FLUSH_SECTOR : field(item, class, 1);
        bio = place_of_bio(tracker, item->origin, field(item, class, 0), sector);
        if (unlikely(bio->origin && !is_bio(bio, item->origin, field(item, class, 0), sector)) &&
            io_begins_forget(&tracker->begins, bio->origin, bio->time) < 0)
            return -ENOMEM;
        *bio = (struct io_bio){.origin = item->origin,
                               .device = field(item, class, 0),
                               .sector = sector,
                               .time = item->time,
                               .error_ns = item->error_ns,
                               .clock_part = item->clock_part,
                               .pid = item->pid,
                               .comm = item->comm};
        return 0;
    case EVENT_ISSUE: return put_issue(tracker, item, class);
    case EVENT_REQUEUE: {
        uint32_t n =
            find_block(tracker, item->origin, field(item, class, 0), field(item, class, 1));

        if (n)
            tracker->slots[n].was_requeued = true;
        return 0;
    }
    case EVENT_COMPLETE: return put_complete(tracker, item, class);
    case EVENT_IRQ_ENTRY:
    case EVENT_IRQ_EXIT:
        remember(io_place(&tracker->interrupts, &tracker->n_interrupts, item->origin,
                          (uint32_t)item->cpu),
                 class->event == EVENT_IRQ_ENTRY ? item->time : TIME_UNKNOWN, item->pid);
        return 0;
    case EVENT_KICK:
        remember(io_place(&tracker->kicks, &tracker->n_kicks, item->origin, field(item, class, 0)),
                 item->time, item->pid);
        return 0;
    case EVENT_READ:
    case EVENT_WRITE: return put_handle(tracker, item, class);
    case EVENT_BLK:
        tracker->blk_origin = item->origin;
        tracker->blk_pid = item->pid;
        tracker->blk_from = field(item, class, 0);
        tracker->blk_until = tracker->blk_from + field(item, class, 1);
        return 0;
    case EVENT_SUBMIT: put_submit(tracker, item, class); return 0;
    case EVENT_WORKED: put_worked(tracker, item, class); return 0;
    case EVENT_RETURNED: return put_returned(tracker, item, class);
    case EVENT_NOTIFY: put_notify(tracker, item, class); return 0;
    }
    return 0;
}

/* The guest may have been notified, in a loss, of requests of the VMM ORIGIN that are over. */
static int drop_unnotified(struct io_tracker *tracker, const struct origin *origin,
                           enum span_fate fate)
{
    uint32_t next;
    int r = 0;

    for (uint32_t i = tracker->first[LIST_OVER]; i && r >= 0; i = next) {
        const struct io_slot *slot = &tracker->slots[i];

        next = slot->list_next;
        if (!slot->is_vmm || slot->request.origin != origin ||
            slot->request.at[IO_NOTIFIED] != TIME_UNKNOWN)
            continue;
        if (tracker->counts.points >> IO_NOTIFIED & 1)
            io_drop(tracker, i, fate);
        else
            r = io_give(tracker, i);
    }
    return r;
}

/* Open requests of ORIGIN may have ended there. */
static int drop_all(struct io_tracker *tracker, const struct origin *origin, enum span_fate fate)
{
    for (uint32_t i = 1; i < tracker->n_slots; i++)
        if (tracker->slots[i].is_used && tracker->slots[i].request.origin == origin &&
            tracker->slots[i].ended == TIME_UNKNOWN)
            io_drop(tracker, i, fate);
    for (unsigned i = 0; i < IO_BIOS; i++)
        if (tracker->bios[i].origin == origin)
            tracker->bios[i].origin = NULL;
    for (unsigned i = 0; i < tracker->n_interrupts; i++)
        if (tracker->interrupts[i].origin == origin)
            tracker->interrupts[i].time = TIME_UNKNOWN;
    for (unsigned i = 0; i < tracker->n_kicks; i++)
        if (tracker->kicks[i].origin == origin) {
            tracker->kicks[i].time = TIME_UNKNOWN;
            tracker->kicks[i].may_lack = true;
        }
    if (tracker->blk_origin == origin)
        tracker->blk_origin = NULL;
    return drop_unnotified(tracker, origin, fate);
}

/* All CPUs of ORIGIN have begun. */
static _cold_ int complete(struct io_tracker *tracker, const struct origin *origin)
{
    int r;

    if (map_get(&tracker->complete, (uintptr_t)origin))
        return 0;
    r = drop_all(tracker, origin, SPAN_EARLY);
    if (r >= 0)
        r = io_begins_lose(&tracker->begins, origin, origin->complete_from);
    return r < 0 ? r : map_put(&tracker->complete, (uintptr_t)origin, tracker);
}

static bool has_fields(const struct event_class *class, const char *const *names,
                       struct io_class *ret)
{
    for (unsigned i = 0; i < EVENT_FIELDS; i++) {
        int n = names[i] ? event_class_field(class, names[i]) : -1;
        bool may_be_text = names[i] && strcmp(names[i], "rwbs") == 0;

        if (names[i] &&
            (n < 0 || n > INT8_MAX || (class->fields[n].storage != STORE_SCALAR && !may_be_text)))
            return false;
        ret->fields[i] = (int8_t)n;
    }
    return true;
}

/* True if NAME is one of LIKE ("A|B"), or one of them with "_…" appended, because versions rename events. */
static bool is_like(const char *name, const char *like)
{
    for (;; like++) {
        size_t len = strcspn(like, "|");

        if (strncmp(name, like, len) == 0 && (name[len] == '\0' || name[len] == '_'))
            return true;
        like += len;
        if (*like == '\0')
            return false;
    }
}

static _cold_ int add_class(struct io_tracker *tracker, const struct item *item)
{
    const struct event_class *class = item->class;
    bool is_kernel = item->origin->layer == LAYER_GUEST || item->origin->layer == LAYER_HOST;
    struct io_class found = {.known = true};

    if (class_map_grow(tracker->classes, tracker->n_classes, class) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < ARRAY_SIZE(events); i++)
        if (is_kernel == (events[i].group != NULL) &&
            (is_kernel ? kernel_event_is(class, events[i].group, events[i].name)
                       : event_class_is_named(class, events[i].name)) &&
            has_fields(class, events[i].fields, &found)) {
            found.event = (uint8_t)events[i].event;
            if (events[i].point >= 0)
                tracker->counts.points |= 1u << events[i].point;
        }
    for (unsigned i = 0; i < ARRAY_SIZE(events) && found.event == EVENT_NONE; i++)
        if (events[i].point >= 0 && is_kernel == (events[i].group != NULL) &&
            is_like(class->name, events[i].name)) {
            tracker->counts.unknown[events[i].point] = class->name;
            if (!is_kernel && !class->declared_in)
                tracker->counts.undeclared |= 1u << events[i].point;
        }
    tracker->classes[class->index] = found;
    return 0;
}

int io_tracker_put(struct io_tracker *tracker, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        const struct io_class *class;
        int r;

        if (unlikely(item->kind != ITEM_EVENT)) {
            r = drop_all(tracker, item->origin, SPAN_LOST);
            if (r >= 0)
                r = io_begins_lose(&tracker->begins, item->origin,
                                   item->is_open ? INT64_MAX : item->time);
            if (r >= 0 && item->before_loss)
                r = io_begins_begin_loss(&tracker->begins, item);
            if (r < 0)
                return r;
            continue;
        }
        if (unlikely(item->before_loss) && io_begins_begin_loss(&tracker->begins, item) < 0)
            return -ENOMEM;
        if (unlikely(item->class->index >= tracker->n_classes ||
                     !tracker->classes[item->class->index].known) &&
            add_class(tracker, item) < 0)
            return -ENOMEM;
        class = &tracker->classes[item->class->index];
        if (likely(class->event == EVENT_NONE) || item->time == TIME_UNKNOWN)
            continue;
        if (unlikely(item->origin->complete_from != 0) &&
            item->time >= item->origin->complete_from) {
            r = complete(tracker, item->origin);
            if (r < 0)
                return r;
        }
        r = put_event(tracker, item, class);
        if (r >= 0 && tracker->first[LIST_OVER])
            r = io_give_due(tracker, item->time);
        if (r < 0)
            return r;
    }
    return 0;
}

int io_tracker_give(struct io_tracker *tracker, int64_t time)
{
    return io_give_due(tracker, time);
}

int io_tracker_finish(struct io_tracker *tracker)
{
    int r = 0;

    tracker->is_finished = true;
    while (tracker->first[LIST_OVER] && r >= 0)
        r = io_give(tracker, tracker->first[LIST_OVER]);
    while (tracker->first[LIST_UNSURE] && r >= 0)
        r = io_give(tracker, tracker->first[LIST_UNSURE]);
    if (r >= 0 && tracker->ops->open)
        io_tracker_foreach_open(tracker, tracker->ops->open, tracker->arg);
    for (uint32_t i = 1; i < tracker->n_slots && r >= 0; i++)
        if (tracker->slots[i].is_used && tracker->slots[i].ended == TIME_UNKNOWN)
            io_drop(tracker, i, io_knows_open(tracker, &tracker->slots[i]) ? SPAN_OPEN : SPAN_LOST);
    return r;
}

int io_tracker_init(struct io_tracker *tracker, const struct clock *clock,
                    const struct io_tracker_ops *ops, void *arg)
{
    *tracker = (struct io_tracker){
        .ops = ops, .arg = arg, .n_slots = 1, .ticks_per_ms = (int64_t)(clock->hz / 1000)};
    tracker->buckets = calloc((size_t)INDEXES * IO_BUCKETS, sizeof *tracker->buckets);
    tracker->bios = calloc(IO_BIOS, sizeof *tracker->bios);
    return tracker->buckets && tracker->bios ? 0 : -ENOMEM;
}

void io_tracker_done(struct io_tracker *tracker)
{
    free(tracker->slots);
    free(tracker->buckets);
    joins_done(&tracker->joins);
    free(tracker->bios);
    io_begins_done(&tracker->begins);
    free(tracker->classes);
    free(tracker->interrupts);
    free(tracker->kicks);
    map_done(&tracker->complete);
    *tracker = (struct io_tracker){0};
}

void io_point_put_events(enum io_point point, struct text *text)
{
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(events); i++) {
        if (events[i].point != (int)point)
            continue;
        for (const char *p = events[i].name; *p; p += *p == '|') {
            int len = (int)strcspn(p, "|");

            text_printf(text, "%s%.*s", n++ > 0 ? " or " : "", len, p);
            p += len;
        }
    }
}
