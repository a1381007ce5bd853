/* SPDX-License-Identifier: MIT */
/* The pages of each CPU: by their numbers, which came, came twice, or are missing; and what the kernel had lost. */
#include <inttypes.h>
#include <string.h>

#include "base/macro.h"
#include "format/ftrace/page.h"
#include "record/kernel/guest_session_send.h"

static uint64_t lost_by_status(const struct guest_cpu *cpu)
{
    return cpu->status.overrun + cpu->status.dropped + cpu->status.commit_overrun;
}

/* In this session of the agent, or since its state went back. */
static uint64_t lost_of(const struct guest_cpu *cpu)
{
    uint64_t lost = lost_by_status(cpu);

    return MAX(lost - MIN(lost, cpu->status_before), cpu->lost);
}

void guest_session_keep_lost(struct guest_cpu *cpu)
{
    cpu->lost_before += lost_of(cpu);
    cpu->lost = cpu->status_before = 0;
    cpu->status = (struct proto_status_cpu){0};
}

void guest_session_forget_counts(struct guest_session *session)
{
    for (uint32_t i = 0; i < session->n_cpus; i++) {
        struct guest_cpu *cpu = &session->cpus[i];

        guest_session_keep_lost(cpu);
        cpu->next_page = 0;
        cpu->known = cpu->is_repeating = cpu->is_rewound = cpu->status_is_old = false;
        cpu->torn = cpu->pages > 0;
    }
}

static struct ftrace_layout page_layout(const struct guest_session *session)
{
    struct ftrace_layout layout = {
        .long_size = session->long_size,
        .commit = sizeof(uint64_t),
        .data = sizeof(uint64_t) + session->long_size,
        .size = session->page_size,
    };

    ftrace_layout_set_order(&layout, session->big_endian);
    return layout;
}

/* The events of PAGE are not written. */
static void leave_out_page(struct guest_cpu *cpu, struct ftrace_page *page,
                           const struct ftrace_layout *layout)
{
    struct guest_dropped *dropped = &cpu->dropped;
    uint64_t n = 0;
    int r = ftrace_page_count(page, layout, &n);

    cpu->unwritten += n;
    dropped->events += n + (page->count_known ? page->n_missed : 0);
    dropped->is_uncounted |= r < 0 || page->cut || (page->missed && !page->count_known);
    dropped->last_time = MAX(dropped->last_time, page->time);
}

/* Counts the events in SIZE bytes of whole pages, which are WRITTEN or left out. Of a corrupted page, those that can be
 * read. */
static void count_events(struct guest_session *session, struct guest_cpu *cpu, const uint8_t *p,
                         size_t size, bool written)
{
    const struct ftrace_layout layout = page_layout(session);
    struct ftrace_record record;
    struct ftrace_page page;
    const char *what;

    for (const uint8_t *end = p + size; p < end; p += session->page_size) {
        if (ftrace_page_open(&page, &layout, p, session->page_size, &what) < 0) {
            cpu->dropped.is_uncounted |= !written;
            continue;
        }
        cpu->lost += page.count_known ? page.n_missed : 0;
        if (!written) {
            leave_out_page(cpu, &page, &layout);
            continue;
        }
        while (ftrace_page_next(&page, &layout, &record) > 0) {
            if (session->first == 0 || record.time < session->first)
                session->first = record.time;
            session->last = MAX(session->last, record.time);
            cpu->events++;
        }
    }
}

static void leave_out(struct guest_session *session, const struct proto_data *data)
{
    struct guest_cpu *cpu = &session->cpus[data->cpu];

    if (session->full)
        cpu->gaps += data->size / session->page_size;
    count_events(session, cpu, data->pages, data->size, false);
}

/* ---- Pages that are dropped while the disk is full ---- */

/* The pages of DATA are dropped. MISSED: as for hand_on(). */
static void drop_pages(struct guest_session *session, const struct proto_data *data, bool missed)
{
    struct guest_cpu *cpu = &session->cpus[data->cpu];

    cpu->dropped.is_any = true;
    cpu->dropped.is_uncounted |= missed;
    count_events(session, cpu, data->pages, data->size, false);
}

/* A page before the pages that begin at TIME, into `scratch`. */
static void make_loss_page(const struct guest_session *session, const struct guest_dropped *dropped,
                           uint64_t time)
{
    const struct ftrace_layout layout = page_layout(session);

    ftrace_page_make_loss(&layout, time,
                          dropped->is_uncounted ? FTRACE_LOST_UNKNOWN : dropped->events,
                          session->scratch);
}

static bool drops(const struct guest_session *session, int r)
{
    return session->config->drops_when_full && (r == -ENOSPC || r == -EDQUOT);
}

/* Of CPU, by a page without events. 0, or -errno: the disk is still full. */
static int put_loss_page(struct guest_session *session, uint32_t number)
{
    struct guest_cpu *cpu = &session->cpus[number];
    struct error error = {0};
    int r;

    if (!cpu->dropped.is_any)
        return 0;
    make_loss_page(session, &cpu->dropped, cpu->dropped.last_time);
    r = kernel_sink_pages(session->sink, number, cpu->bytes, session->scratch, session->page_size,
                          &error);
    if (r < 0)
        return r;
    cpu->dropped = (struct guest_dropped){0};
    session->bytes += session->page_size;
    cpu->bytes += session->page_size;
    return 0;
}

void guest_session_state_dropped(struct guest_session *session)
{
    for (uint32_t i = 0; i < session->n_cpus; i++)
        (void)put_loss_page(session, i);
}

int guest_session_end_dropped(struct guest_session *session, struct error *error)
{
    bool is_unstated = false;

    for (uint32_t i = 0; i < session->n_cpus; i++) {
        is_unstated |= put_loss_page(session, i) < 0;
        session->cpus[i].dropped = (struct guest_dropped){0};
    }
    return is_unstated
               ? kernel_sink_fact(session->sink, "loss",
                                  "the disk was full: the last events could not be written", error)
               : 0;
}

uint64_t guest_session_unstated(const struct guest_session *session)
{
    uint64_t events = 0;

    for (uint32_t i = 0; i < session->n_cpus; i++)
        events += session->cpus[i].dropped.is_any ? session->cpus[i].dropped.events : 0;
    return events;
}

/* Copies the pages of DATA after what they lack. Returns the bytes at `scratch`. */
static size_t copy_with_losses(struct guest_session *session, const struct proto_data *data,
                               bool missed)
{
    const struct ftrace_layout layout = page_layout(session);
    const struct guest_dropped *dropped = &session->cpus[data->cpu].dropped;
    size_t size = dropped->is_any ? session->page_size : 0;

    if (dropped->is_any)
        make_loss_page(session, dropped, load_u64_swap(data->pages, layout.swap));
    memcpy(session->scratch + size, data->pages, data->size);
    if (missed)
        guest_page_mark_missed(session->scratch + size, session->big_endian, session->long_size);
    return size + data->size;
}

/* MISSED: pages before these are missing, which the first page then says. */
static void hand_on(struct guest_session *session, const struct proto_data *data, bool missed)
{
    struct guest_cpu *cpu = &session->cpus[data->cpu];
    const uint8_t *pages = data->pages;
    size_t size = data->size;
    struct error error = {0};
    int r;

    if (missed || cpu->dropped.is_any) {
        size = copy_with_losses(session, data, missed);
        pages = session->scratch;
    }
    r = kernel_sink_pages(session->sink, data->cpu, cpu->bytes, pages, size, &error);

    /* Measured here: after a later START the first page does not answer that. */
    if (session->waited_ns == 0)
        session->waited_ns = session->received_at - session->start_sent;
    if (drops(session, r)) {
        drop_pages(session, data, missed);
        return;
    }
    if (r < 0) {
        error_set(&session->failure, r, NULL, "%s", error.what[0] ? error.what : strerror(-r));
        session->stop_wanted = true;
        leave_out(session, data);
        return;
    }
    cpu->dropped = (struct guest_dropped){0};
    session->bytes += size;
    cpu->bytes += size;
    cpu->pages += data->size / session->page_size;
    count_events(session, cpu, data->pages, data->size, true);
}

/* What DATA shows about the numbers of its CPU's pages, before it is handed on. */
static int check_number(struct guest_session *session, const struct proto_data *data,
                        struct error *error)
{
    struct guest_cpu *cpu = &session->cpus[data->cpu];
    int r = 0;

    /* Without RESUME no page comes twice. */
    if (cpu->known && !cpu->is_rewound && !cpu->is_repeating && data->first < cpu->next_page &&
        session->state != GUEST_STARTING)
        r = guest_session_rewind(session, true, session->received_at, error);
    if (cpu->is_rewound)
        cpu->next_page = data->first;
    cpu->is_rewound = false;
    if (data->first + data->n_pages > cpu->next_page)
        cpu->is_repeating = false;
    return r;
}

int guest_session_on_data(struct guest_session *session, const struct proto_frame *frame,
                          struct error *error)
{
    struct proto_data data;
    struct guest_cpu *cpu;
    uint64_t old;
    bool missed;
    int r = proto_get_data(frame, &data);

    if (r < 0)
        return r;
    /* After RESUME pages may come before STARTED. */
    if ((session->state != GUEST_RUNNING && session->state != GUEST_STOPPING &&
         session->state != GUEST_STARTING) ||
        session->page_size == 0)
        return -EBADMSG;
    if (data.size / data.n_pages != session->page_size)
        return error_set(error, -EBADMSG, NULL, "the guest sends pages of %zu bytes, not of %u",
                         data.size / data.n_pages, session->page_size);
    if (frame->flags & PROTO_UNCHECKED)
        guest_session_spliced(session, frame->size);
    cpu = &session->cpus[data.cpu];
    r = check_number(session, &data, error);
    if (r < 0)
        return r;
    session->n_cpus = MAX(session->n_cpus, data.cpu + 1);
    cpu->known = true;
    old = data.first < cpu->next_page ? MIN(cpu->next_page - data.first, data.n_pages) : 0;
    if (old == data.n_pages)
        return 0; /* they came before the connection was lost */
    missed = data.first > cpu->next_page || cpu->torn;
    if (data.first > cpu->next_page)
        cpu->gaps += data.first - cpu->next_page;
    cpu->torn = false;
    cpu->next_page = data.first + data.n_pages;
    data.pages += old * session->page_size;
    data.size -= (size_t)old * session->page_size;
    if (session->config->max_size && data.size + (cpu->dropped.is_any ? session->page_size : 0) >
                                         session->config->max_size - session->bytes)
        session->full = session->stop_wanted = true;
    if (!session->full && !session->failure.code)
        hand_on(session, &data, missed);
    else
        leave_out(session, &data);
    return 0;
}

/* The agent counts from the start of its session, and has counted again what it lost before it was set back. */
static void set_status_before(struct guest_cpu *cpu)
{
    uint64_t lost = lost_by_status(cpu);

    if (cpu->status_is_old)
        cpu->status_before = lost - MIN(lost, cpu->lost);
    cpu->status_is_old = false;
}

int guest_session_on_status(struct guest_session *session, const struct proto_frame *frame)
{
    struct proto_status status;
    int r = proto_get_status(frame, &status);

    for (uint32_t i = 0; r == 0 && i < status.n_cpus; i++) {
        struct proto_status_cpu cpu = proto_status_at(&status, i);

        session->n_cpus = MAX(session->n_cpus, cpu.cpu + 1);
        session->cpus[cpu.cpu].known = true;
        session->cpus[cpu.cpu].status = cpu;
        set_status_before(&session->cpus[cpu.cpu]);
    }
    return r;
}

void guest_session_count_tail(struct guest_session *session)
{
    for (uint32_t i = 0; i < session->n_cpus; i++) {
        struct guest_cpu *cpu = &session->cpus[i];

        if (cpu->status.pages_sent > cpu->next_page) {
            cpu->gaps += cpu->status.pages_sent - cpu->next_page;
            cpu->next_page = cpu->status.pages_sent;
        }
    }
}

void guest_page_mark_missed(uint8_t *page, bool big_endian, uint8_t long_size)
{
    /* Sets bit 31 of the low half of `commit`, which follows the u64 time, and clears bit 30, which would mean that the
     * kernel counted them. */
    uint8_t *top = page + (!big_endian ? 11 : long_size == 8 ? 12 : 8);

    *top = (uint8_t)((*top | 0x80) & ~0x40);
}

uint64_t guest_session_lost(const struct guest_session *session)
{
    uint64_t lost = 0;

    for (uint32_t i = 0; i < session->n_cpus; i++) {
        const struct guest_cpu *cpu = &session->cpus[i];

        lost += cpu->lost_before + lost_of(cpu);
    }
    return lost;
}

uint64_t guest_session_unwritten(const struct guest_session *session)
{
    uint64_t events = 0;

    for (uint32_t i = 0; i < session->n_cpus; i++)
        events += session->cpus[i].unwritten;
    return events;
}

int guest_session_failure(const struct guest_session *session, struct error *error)
{
    if (session->failure.code == 0)
        return 0;
    return error_set(error, session->failure.code, NULL,
                     "%s; %" PRIu64 " events that came after that, and all later ones, are not in "
                     "the trace",
                     session->failure.what, guest_session_unwritten(session));
}

uint64_t guest_session_gaps(const struct guest_session *session)
{
    uint64_t gaps = 0;

    for (uint32_t i = 0; i < session->n_cpus; i++)
        gaps += session->cpus[i].gaps;
    return gaps;
}

uint64_t guest_session_events(const struct guest_session *session)
{
    uint64_t events = 0;

    for (uint32_t i = 0; i < session->n_cpus; i++)
        events += session->cpus[i].events;
    return events;
}
