/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "bytes.h"
#include "record/kernel/guest_session.h"
#include "tracedir/tracefs_copy.h"

/* The host's session with a guest that says anything. The first byte is what is asked of it; then come
 * steps:
 *
 *   0…17  a frame of that type, rightly sealed: u16 length, body
 *   18    a packed frame: u8 type, u16 length, u16 unpacked, body
 *   19    bytes as they are: u16 length, bytes
 *   20    time passes: u8, of 64 ms
 *   21    the connection is lost, and made again
 *   22    it is to stop
 *   23    nothing that the host says is taken any more
 *   24    FLUSHED, rightly sealed: u16 length, body
 *   25    a flush is asked for
 *   26    the guest's machine stands still, or goes on: u8
 */

struct seen {
    struct guest_session session;
    struct kernel_sink sink;
    uint64_t offsets[PROTO_CPUS_MAX];
    bool in_file;
    uint64_t bytes;
    uint64_t max_size;
};

static struct seen *seen_of(struct kernel_sink *sink)
{
    return container_of(sink, struct seen, sink);
}

static int file_begin(struct kernel_sink *sink, const char *path, size_t len, struct error *error)
{
    (void)error;
    (void)tracefs_copy_has(path, len);
    seen_of(sink)->in_file = true;
    return 0;
}

static int file_put(struct kernel_sink *sink, const void *p, size_t size, struct error *error)
{
    (void)error;
    if (!seen_of(sink)->in_file || size == 0)
        abort();
    free(memcpy(malloc(size), p, size));
    return 0;
}

static int file_end(struct kernel_sink *sink, struct error *error)
{
    (void)error;
    if (!seen_of(sink)->in_file)
        abort();
    seen_of(sink)->in_file = false;
    return 0;
}

static int pages(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                 size_t size, struct error *error)
{
    struct seen *seen = seen_of(sink);
    uint32_t page_size = seen->session.page_size;

    (void)error;
    if (cpu >= PROTO_CPUS_MAX || size == 0 || page_size < 64 || size % page_size != 0)
        abort();
    if (offset != seen->offsets[cpu])
        abort();
    seen->offsets[cpu] += size;
    seen->bytes += size;
    if (seen->max_size && seen->bytes > seen->max_size)
        abort();
    free(memcpy(malloc(size), p, size));
    return 0;
}

static int fact(struct kernel_sink *sink, const char *name, const char *value, struct error *error)
{
    (void)sink;
    (void)error;
    if (strlen(name) >= 512 || strlen(value) >= 256)
        abort();
    return 0;
}

static int pair(struct kernel_sink *sink, const struct guest_pair *made, struct error *error)
{
    (void)sink;
    (void)error;
    if (made->error_ns > UINT64_C(60000000000))
        abort();
    return 0;
}

static int boot(struct kernel_sink *sink, struct error *error)
{
    (void)error;
    memset(seen_of(sink)->offsets, 0, sizeof seen_of(sink)->offsets);
    return 0;
}

static int rewind_trace(struct kernel_sink *sink, struct error *error)
{
    (void)sink;
    (void)error;
    return 0;
}

static const struct kernel_sink_ops ops = {
    .file_begin = file_begin,
    .file_put = file_put,
    .file_end = file_end,
    .pages = pages,
    .fact = fact,
    .pair = pair,
    .boot = boot,
    .rewind = rewind_trace,
};

static int receive(struct seen *seen, const uint8_t *p, size_t size, uint64_t now)
{
    int r = 0;

    while (size > 0 && r == 0) {
        size_t room;
        uint8_t *to = guest_session_room(&seen->session, &room);

        if (room == 0)
            abort();
        room = MIN(room, size);
        memcpy(to, p, room);
        p += room;
        size -= room;
        r = guest_session_received(&seen->session, room, now, NULL);
    }
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct guest_event event = {"a:*", ""};
    static uint8_t frame[PROTO_HEADER_SIZE + 65536];
    const uint8_t nonce[PROTO_NONCE_SIZE] = {1};
    struct bytes bytes = {data, data + size};
    unsigned how = take(&bytes, 1);
    struct trace_config config = {.events = &event,
                                  .n_events = 1,
                                  .clock = "",
                                  .key = how & 1 ? "key" : NULL,
                                  .key_size = 3,
                                  .max_size = how & 2 ? 1000 : 0};
    struct seen seen = {.sink = {.ops = &ops}, .max_size = config.max_size};
    uint64_t now = UINT64_C(1000000000), number = 0, next = 0;
    bool deaf = false;
    int r = 0;

    if (guest_session_init(&seen.session, &config, &seen.sink) < 0)
        abort();
    guest_session_connected(&seen.session, nonce, now);
    while (bytes.next < bytes.end && seen.session.state != GUEST_OVER) {
        unsigned op = take(&bytes, 1) % 27;
        unsigned type = op == 18 ? take(&bytes, 1) : op == 24 ? PROTO_FLUSHED : op;
        unsigned length = op <= 19 || op == 24 ? take(&bytes, 2) : 0;
        unsigned unpacked = op == 18 ? take(&bytes, 2) : length;
        uint8_t *body = frame + PROTO_HEADER_SIZE;

        length = (unsigned)MIN((size_t)length, (size_t)(bytes.end - bytes.next));
        if (op != 18)
            unpacked = length;
        memcpy(body, bytes.next, length);
        bytes.next += length;
        /* What only chance would find. */
        if (op == PROTO_HELLO && length >= 2 + PROTO_NONCE_SIZE)
            memcpy(body + 2, seen.session.nonce, PROTO_NONCE_SIZE);
        if (op == PROTO_PONG && length >= 16) {
            store_le64(body, seen.session.token);
            store_le64(body + 8, seen.session.ping_sent);
        }
        if (op == PROTO_AUTH && config.key && length == SHA256_SIZE && body[0] & 1)
            proto_agent_proof(config.key, config.key_size, seen.session.agent_nonce,
                              seen.session.nonce, body);
        if (op == 24 && length >= 8 && body[0] & 1)
            store_le64(body, seen.session.flush_sent);
        if (op <= 18 || op == 24) {
            proto_frame_seal(frame, (uint16_t)type, op == 18 ? PROTO_ZSTD : 0, length, unpacked,
                             number++);
            r = receive(&seen, frame, PROTO_HEADER_SIZE + length, now);
        } else if (op == 19) {
            r = receive(&seen, body, length, now);
        } else if (op == 20) {
            now += (uint64_t)take(&bytes, 1) << 26;
        } else if (op == 21) {
            guest_session_disconnected(&seen.session);
            seen.in_file = false;
            guest_session_connected(&seen.session, nonce, now);
        } else if (op == 22) {
            guest_session_stop(&seen.session);
        } else if (op == 25) {
            guest_session_flush(&seen.session);
        } else if (op == 26) {
            guest_session_pause(&seen.session, take(&bytes, 1) & 1, now);
        } else {
            deaf = true;
        }
        if (r == 0)
            r = guest_session_step(&seen.session, now, &next, NULL);
        if (r == -ESTALE || r == -ECONNRESET) {
            guest_session_disconnected(&seen.session);
            seen.in_file = false;
            guest_session_connected(&seen.session, nonce, now);
            r = 0;
        }
        if (r < 0)
            break;
        if (!deaf) {
            size_t pending;

            (void)guest_session_pending(&seen.session, &pending);
            guest_session_sent(&seen.session, pending);
        }
    }
    /* However it goes on, a session that is to stop comes to an end; but for one that looks for its agent:
     * that its owner gives up. */
    guest_session_stop(&seen.session);
    for (unsigned i = 0; r == 0 && seen.session.state != GUEST_OVER; i++) {
        r = guest_session_step(&seen.session, now, &next, NULL);
        if (seen.session.state == GUEST_DISCONNECTED ||
            (seen.session.state == GUEST_HELLO && seen.session.has_session))
            break;
        if (i > 10000)
            abort();
        now += UINT64_C(100000000);
    }
    if (seen.session.state == GUEST_OVER) {
        (void)guest_session_step(&seen.session, now, &next, NULL);
        if (!guest_session_is_flushed(&seen.session))
            abort();
    }
    guest_session_done(&seen.session);
    return 0;
}
