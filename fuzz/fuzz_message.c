/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "proto/message.h"

/* The first byte is how many bytes come at once. Each frame is taken for a message of its type, from
 * either side; all that came is lent as a frame, passed over, or still waited for. */

static volatile uint64_t seen;

static void see(const void *p, size_t size)
{
    const uint8_t *bytes = p;

    for (size_t i = 0; i < size; i++)
        seen += bytes[i];
}

static void decode(const struct proto_frame *frame)
{
    union {
        struct proto_host_hello host_hello;
        struct proto_agent_hello agent_hello;
        struct proto_setup setup;
        struct proto_meta_piece meta;
        struct proto_ready ready;
        struct proto_data data;
        struct proto_status status;
        struct proto_pong pong;
        struct proto_ping ping;
        struct proto_failed failed;
        struct proto_resume resume;
        struct proto_flushed flushed;
        uint8_t proof[SHA256_SIZE];
        uint64_t time;
    } m;
    struct proto_setup_event event;

    (void)proto_type_name(frame->type);
    (void)proto_get_nothing(frame);
    switch (frame->type % 20) {
    case PROTO_HELLO:
        (void)proto_get_host_hello(frame, &m.host_hello);
        if (proto_get_agent_hello(frame, &m.agent_hello) == 0) {
            see(m.agent_hello.clocks.p, m.agent_hello.clocks.len);
            for (uint32_t i = 0; i < m.agent_hello.online.n; i++)
                seen += proto_u32_at(&m.agent_hello.online, i);
        }
        break;
    case PROTO_AUTH: (void)proto_get_auth(frame, m.proof); break;
    case PROTO_SETUP:
        if (proto_get_setup(frame, &m.setup) == 0)
            for (uint32_t i = 0; i < m.setup.n_events; i++) {
                if (!proto_setup_next(&m.setup, &event))
                    abort();
                see(event.event.p, event.event.len);
                see(event.filter.p, event.filter.len);
            }
        break;
    case PROTO_META:
        if (proto_get_meta(frame, &m.meta) == 0)
            see(m.meta.p, m.meta.size);
        break;
    case PROTO_READY:
        if (proto_get_ready(frame, &m.ready) == 0)
            see(m.ready.clock.p, m.ready.clock.len);
        break;
    case PROTO_STARTED:
    case PROTO_STOPPED: (void)proto_get_time(frame, &m.time); break;
    case PROTO_DATA:
        if (proto_get_data(frame, &m.data) == 0)
            see(m.data.pages, m.data.size);
        break;
    case PROTO_STATUS:
        if (proto_get_status(frame, &m.status) == 0)
            for (uint32_t i = 0; i < m.status.n_cpus; i++)
                seen += proto_status_at(&m.status, i).read_events;
        break;
    case PROTO_PING: (void)proto_get_ping(frame, &m.ping); break;
    case PROTO_PONG: (void)proto_get_pong(frame, &m.pong); break;
    case PROTO_FAILED:
        if (proto_get_failed(frame, &m.failed) == 0)
            see(m.failed.hint.p, m.failed.hint.len);
        break;
    case PROTO_RESUME:
        if (proto_get_resume(frame, &m.resume) == 0)
            for (uint32_t i = 0; i < m.resume.n_cpus; i++) {
                uint32_t cpu;
                uint64_t page;

                proto_resume_at(&m.resume, i, &cpu, &page);
                seen += cpu + page;
            }
        break;
    case PROTO_FLUSH: (void)proto_get_flush(frame, &m.time); break;
    case PROTO_FLUSHED: (void)proto_get_flushed(frame, &m.flushed); break;
    default: break;
    }
}

/* The bytes as a body, whatever their checksum: so the code after the check of it is reached. */
static void decode_bare(const uint8_t *data, size_t size)
{
    uint8_t *body = malloc(size ? size : 1);
    struct proto_frame frame = {.size = (uint32_t)size, .body = body};

    if (!body)
        abort();
    memcpy(body, data, size);
    for (frame.type = 0; frame.type < 20; frame.type++)
        decode(&frame);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proto_reader reader;
    struct proto_frame frame;
    uint64_t lent = 0;
    size_t piece;

    if (size == 0)
        return 0;
    piece = (size_t)data[0] + 1;
    data++;
    size--;
    decode_bare(data, size);
    if (proto_reader_init(&reader, 4096) < 0)
        abort();
    for (size_t at = 0, n; at < size; at += n) {
        uint8_t *p = proto_reader_room(&reader, &n);

        if (n == 0)
            abort();
        n = MIN(MIN(n, piece), size - at);
        memcpy(p, data + at, n);
        proto_reader_filled(&reader, n);
        while (proto_reader_next(&reader, &frame) > 0) {
            lent += PROTO_HEADER_SIZE + frame.size;
            decode(&frame);
        }
    }
    for (;;) {
        if (lent + reader.skipped + (reader.filled - reader.next) != size)
            abort();
        if (!proto_reader_is_within(&reader))
            break;
        proto_reader_give_up(&reader);
        while (proto_reader_next(&reader, &frame) > 0)
            lent += PROTO_HEADER_SIZE + frame.size;
    }
    proto_reader_done(&reader);
    return 0;
}
