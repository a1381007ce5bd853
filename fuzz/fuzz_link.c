/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "link/message.h"

/* The first byte is how many bytes come at once. Each frame is taken for a message of its type, from
 * either side; all that came is lent as a frame, passed over, or still waited for. */

static volatile uint64_t seen;

static void see(const void *p, size_t size)
{
    const uint8_t *bytes = p;

    for (size_t i = 0; i < size; i++)
        seen += bytes[i];
}

static void decode(const struct link_frame *frame)
{
    union {
        struct link_host_hello host_hello;
        struct link_agent_hello agent_hello;
        struct link_setup setup;
        struct link_meta_piece meta;
        struct link_ready ready;
        struct link_data data;
        struct link_status status;
        struct link_pong pong;
        struct link_ping ping;
        struct link_failed failed;
        struct link_resume resume;
        uint8_t proof[SHA256_SIZE];
        uint64_t time;
    } m;
    struct link_setup_event event;

    (void)link_type_name(frame->type);
    (void)link_get_nothing(frame);
    switch (frame->type % 20) {
    case LINK_HELLO:
        (void)link_get_host_hello(frame, &m.host_hello);
        if (link_get_agent_hello(frame, &m.agent_hello) == 0) {
            see(m.agent_hello.clocks.p, m.agent_hello.clocks.len);
            for (uint32_t i = 0; i < m.agent_hello.online.n; i++)
                seen += link_u32_at(&m.agent_hello.online, i);
        }
        break;
    case LINK_AUTH: (void)link_get_auth(frame, m.proof); break;
    case LINK_SETUP:
        if (link_get_setup(frame, &m.setup) == 0)
            for (uint32_t i = 0; i < m.setup.n_events; i++) {
                if (!link_setup_next(&m.setup, &event))
                    abort();
                see(event.event.p, event.event.len);
                see(event.filter.p, event.filter.len);
            }
        break;
    case LINK_META:
        if (link_get_meta(frame, &m.meta) == 0)
            see(m.meta.p, m.meta.size);
        break;
    case LINK_READY:
        if (link_get_ready(frame, &m.ready) == 0)
            see(m.ready.clock.p, m.ready.clock.len);
        break;
    case LINK_STARTED:
    case LINK_STOPPED: (void)link_get_time(frame, &m.time); break;
    case LINK_DATA:
        if (link_get_data(frame, &m.data) == 0)
            see(m.data.pages, m.data.size);
        break;
    case LINK_STATUS:
        if (link_get_status(frame, &m.status) == 0)
            for (uint32_t i = 0; i < m.status.n_cpus; i++)
                seen += link_status_at(&m.status, i).read_events;
        break;
    case LINK_PING: (void)link_get_ping(frame, &m.ping); break;
    case LINK_PONG: (void)link_get_pong(frame, &m.pong); break;
    case LINK_FAILED:
        if (link_get_failed(frame, &m.failed) == 0)
            see(m.failed.hint.p, m.failed.hint.len);
        break;
    case LINK_RESUME:
        if (link_get_resume(frame, &m.resume) == 0)
            for (uint32_t i = 0; i < m.resume.n_cpus; i++) {
                uint32_t cpu;
                uint64_t page;

                link_resume_at(&m.resume, i, &cpu, &page);
                seen += cpu + page;
            }
        break;
    default: break;
    }
}

/* The bytes as a body, whatever their checksum: so that what is behind it is reached. */
static void decode_bare(const uint8_t *data, size_t size)
{
    uint8_t *body = malloc(size ? size : 1);
    struct link_frame frame = {.size = (uint32_t)size, .body = body};

    if (!body)
        abort();
    memcpy(body, data, size);
    for (frame.type = 0; frame.type < 20; frame.type++)
        decode(&frame);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct link_reader reader;
    struct link_frame frame;
    uint64_t lent = 0;
    size_t piece;

    if (size == 0)
        return 0;
    piece = (size_t)data[0] + 1;
    data++;
    size--;
    decode_bare(data, size);
    if (link_reader_init(&reader, 4096) < 0)
        abort();
    for (size_t at = 0, n; at < size; at += n) {
        uint8_t *p = link_reader_room(&reader, &n);

        if (n == 0)
            abort();
        n = MIN(MIN(n, piece), size - at);
        memcpy(p, data + at, n);
        link_reader_filled(&reader, n);
        while (link_reader_next(&reader, &frame) > 0) {
            lent += LINK_HEADER_SIZE + frame.size;
            decode(&frame);
        }
    }
    for (;;) {
        if (lent + reader.skipped + (reader.filled - reader.next) != size)
            abort();
        if (!link_reader_is_within(&reader))
            break;
        link_reader_give_up(&reader);
        while (link_reader_next(&reader, &frame) > 0)
            lent += LINK_HEADER_SIZE + frame.size;
    }
    link_reader_done(&reader);
    return 0;
}
