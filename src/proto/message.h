/* SPDX-License-Identifier: MIT */
#pragma once

/* The messages in frames. H: from the host to the agent, A: from the agent to the host. Numbers are
 * little-endian, "text" is a u16 with its length and that many bytes without a NUL, "n ×" is a u32 with
 * how many there are and so many of what follows.
 *
 *    1 HELLO       H  u16 lowest and u16 highest version that the host speaks; 16 bytes nonce
 *                  A  u16 the version chosen; 16 bytes nonce of the HELLO that this answers; 16 bytes
 *                     nonce of its own; u8 1: AUTH is needed; text version of the agent; 16 bytes session (of the agent's process, at random); text kernel release;
 *                     text machine; text boot_id; u32 bytes of a memory page; u8 bytes of a long; u8 1: big
 *                     endian; u32 CPUs that may come to be; n × u32 CPU online; text clocks offered,
 *                     a blank between them; text the clock in force
 *    2 AUTH        H  32 bytes HMAC-SHA-256(key, "strata host" | agent's nonce | host's nonce)
 *                  A  32 bytes HMAC-SHA-256(key, "strata agent" | host's nonce | agent's nonce), or FAILED
 *    3 SETUP       H  u32 KiB of kernel buffer per CPU (0: as it is); u32 KiB of queue per CPU (0: the
 *                     agent's own choice); u32 seconds to go on without a host (0: for ever); text clock
 *                     ("": the best); u8 zstd level, 0 to 19 (0: no compression); u8 wants: enum
 *                     proto_wants; n × {text event, "SYSTEM:EVENT" with * and ?; text filter or ""}
 *                  A  META …, then READY or FAILED
 *    4 META        A  u16 enum proto_meta; text path; u8 1: the last piece; the rest: bytes of it
 *    5 READY       A  u32 events enabled; text clock; u64 its Hz (0: not known); u32 bytes of a
 *                     ring-buffer page; n × u32 CPU
 *    6 START       H  nothing. The answer is STARTED or FAILED
 *    7 STARTED     A  u64 guest time
 *    8 STOP        H  nothing. The answer: DATA with all that is left, META of what has changed, STATUS,
 *                     STOPPED
 *    9 STOPPED     A  u64 guest time
 *   10 DATA        A  u32 CPU; u32 how many pages; u64 number of the first one on this CPU, from 0 per
 *                     session, so that gaps show; the pages, all of READY's length
 *   11 STATUS      A  u64 guest time; n × {u32 CPU; u8 1: online; u64 pages read; u64 pages sent; u64 bytes
 *                     queued; u64 times the queue was full; u64 entries; u64 overrun; u64 dropped events;
 *                     u64 commit overrun; u64 read events}. Every second while started, and when asked for
 *   12 ASK_STATUS  H  nothing
 *   13 PING        H  u64 token; u64 host time
 *   14 PONG        A  u64 token and u64 host time of the PING; u64 guest time when it came; u64 guest time
 *                     when this was sent; u64 CLOCK_MONOTONIC_RAW and u64 CLOCK_REALTIME of the guest, in ns
 *   15 FAILED      A  i32 errno (positive); text what went wrong; text what to do
 *   16 BYE         HA nothing. The session is over; the agent leaves tracefs as it found it, answers BYE
 *                     when it has, and waits for another HELLO
 *   17 RESUME      H  16 bytes session; n × {u32 CPU; u64 number of the page wanted next}. The answer is
 *                     STARTED or FAILED
 *   18 FLUSH       H  u64 token. What was recorded before is sent, also in pages that are not full, and the tracing goes
 *                     on. The answer: DATA, META of the names of tasks if they are wanted, STATUS, FLUSHED
 *   19 FLUSHED     A  u64 token of the FLUSH; u64 guest time when it came
 *
 * FLUSH and FLUSHED are of version 2, which has nothing else that version 1 has not.
 *
 * "Guest time" is the trace's own clock, in its ticks; 0 where it cannot be read outside the kernel. */

#include "base/sha256.h"
#include "proto/body.h"
#include "proto/frame.h"

/* That this library speaks, and the lowest that it still speaks. */
#define PROTO_VERSION 2
#define PROTO_VERSION_LOWEST 1
/* From which on an agent answers FLUSH. */
#define PROTO_VERSION_FLUSH 2
#define PROTO_NONCE_SIZE 16
#define PROTO_SESSION_SIZE 16
#define PROTO_CPUS_MAX 4096u
#define PROTO_EVENTS_MAX 4096u
/* A DATA frame with a checksum is not longer than this, unless it has a single page that is: so a PONG does not wait long. A
 * virtio-serial port accepts 32 KiB at a time, so it is two writes. */
#define PROTO_DATA_MAX 65536u
/* Bytes of it before its pages. */
#define PROTO_DATA_ROOM (PROTO_HEADER_SIZE + 16u)
/* The longest body of the host's messages. */
#define PROTO_HOST_BODY_MAX 262144u
#define PROTO_META_FILE_MAX (UINT32_C(16) << 20)
#define PROTO_META_MAX (UINT32_C(256) << 20)
/* The name of the virtio-serial port. */
#define PROTO_PORT "org.strata.agent"

enum proto_type {
    PROTO_HELLO = 1,
    PROTO_AUTH = 2,
    PROTO_SETUP = 3,
    PROTO_META = 4,
    PROTO_READY = 5,
    PROTO_START = 6,
    PROTO_STARTED = 7,
    PROTO_STOP = 8,
    PROTO_STOPPED = 9,
    PROTO_DATA = 10,
    PROTO_STATUS = 11,
    PROTO_ASK_STATUS = 12,
    PROTO_PING = 13,
    PROTO_PONG = 14,
    PROTO_FAILED = 15,
    PROTO_BYE = 16,
    PROTO_RESUME = 17,
    PROTO_FLUSH = 18,
    PROTO_FLUSHED = 19,
};

enum proto_meta {
    PROTO_META_FILE = 1,     /* of the tracefs tree, by its path from there */
    PROTO_META_KALLSYMS = 2, /* the path is "" */
    PROTO_META_FACT =
        3, /* the path is its name, the bytes are its value. "problem": printed for the user; "loss": also, and an unknown
            * number of events is missing */
};

enum proto_wants {
    PROTO_WANT_KALLSYMS = 1,
    PROTO_WANT_PRINTK_FORMATS = 2,
    PROTO_WANT_CMDLINES = 4,
    /* For the live view: send the names of tasks every second. */
    PROTO_WANT_LIVE = 8,
    PROTO_WANT_UNCHECKED = 16, /* the host accepts DATA with PROTO_UNCHECKED */
    PROTO_WANT_DELAY = 32,     /* pages that are not full, and STATUS, may be seconds late */
    /* What is recorded may stay in the kernel until its buffers are three quarters full, or FLUSH asks for it, but no
     * longer than 5 s; so may STATUS. */
    PROTO_WANT_HOLD = 64,
};

/* "META" or NULL. */
const char *proto_type_name(uint16_t type);

/* Begins a frame in the SIZE bytes (more than PROTO_HEADER_SIZE) at P. */
static inline struct proto_out proto_begin(void *p, size_t size)
{
    return (struct proto_out){.start = p, .len = PROTO_HEADER_SIZE, .capacity = size};
}

/* Ends it: makes its header. Its length is out->len. -E2BIG: something did not fit. */
int proto_end(struct proto_out *out, enum proto_type type, uint64_t sequence);

/* Numbers in a body. */
struct proto_u32s {
    const uint8_t *p;
    uint32_t n;
};

static inline uint32_t proto_u32_at(const struct proto_u32s *list, uint32_t i)
{
    return load_le32(list->p + (size_t)4 * i);
}

/* Each message as a structure. proto_get_…() borrows from the body, checks all of it, also that nothing follows, and returns 0
 * or -EBADMSG. proto_put_…() puts the fixed part; lists, and the rest of a message, are put after it by further calls. */

struct proto_host_hello {
    uint16_t lowest, highest;
    uint8_t nonce[PROTO_NONCE_SIZE];
};
void proto_put_host_hello(struct proto_out *out, const struct proto_host_hello *hello);
int proto_get_host_hello(const struct proto_frame *frame, struct proto_host_hello *ret);

struct proto_agent_hello {
    uint16_t version;
    uint8_t answers
        [PROTO_NONCE_SIZE]; /* the host's nonce, by which an answer to another host is recognised */
    uint8_t nonce[PROTO_NONCE_SIZE];
    bool needs_auth;
    struct proto_text agent;
    uint8_t session[PROTO_SESSION_SIZE];
    struct proto_text release, machine, boot_id;
    uint32_t page_size;
    uint8_t long_size; /* 4 or 8 */
    bool big_endian;
    uint32_t n_possible;
    struct proto_u32s online; /* not used by proto_put_agent_hello() */
    struct proto_text clocks, clock;
};
void proto_put_agent_hello(struct proto_out *out, const struct proto_agent_hello *hello,
                           const uint32_t *online, uint32_t n_online);
int proto_get_agent_hello(const struct proto_frame *frame, struct proto_agent_hello *ret);

/* Both directions. */
int proto_get_auth(const struct proto_frame *frame, uint8_t ret_proof[SHA256_SIZE]);
/* The proof of knowing KEY: "strata host" and the agent's nonce before the host's, or "strata agent" and
 * the host's before the agent's. */
void proto_host_proof(const void *key, size_t key_size, const uint8_t agent_nonce[PROTO_NONCE_SIZE],
                      const uint8_t host_nonce[PROTO_NONCE_SIZE], uint8_t ret_proof[SHA256_SIZE]);
void proto_agent_proof(const void *key, size_t key_size,
                       const uint8_t agent_nonce[PROTO_NONCE_SIZE],
                       const uint8_t host_nonce[PROTO_NONCE_SIZE], uint8_t ret_proof[SHA256_SIZE]);

struct proto_setup_event {
    struct proto_text event, filter;
};
struct proto_setup {
    uint32_t buffer_kib, queue_kib, keep_seconds;
    struct proto_text clock;
    uint8_t level; /* 0 to 19 */
    uint8_t wants;
    uint32_t n_events;
    struct proto_body events; /* for proto_setup_next() */
};
/* Then as many proto_put_setup_event() as n_events says. */
void proto_put_setup(struct proto_out *out, const struct proto_setup *setup);
void proto_put_setup_event(struct proto_out *out, const struct proto_setup_event *event);
int proto_get_setup(const struct proto_frame *frame, struct proto_setup *ret);
/* The next event of SETUP, which has been decoded. False: there are no more. */
bool proto_setup_next(struct proto_setup *setup, struct proto_setup_event *ret);

struct proto_meta_piece {
    enum proto_meta kind;
    struct proto_text path;
    bool last;
    const uint8_t *p; /* proto_put_meta() does not put them: call proto_put() after it */
    size_t size;
};
void proto_put_meta(struct proto_out *out, const struct proto_meta_piece *meta);
int proto_get_meta(const struct proto_frame *frame, struct proto_meta_piece *ret);

struct proto_ready {
    uint32_t n_events;
    struct proto_text clock;
    uint64_t hz;
    uint32_t page_size; /* of the ring buffer */
    struct proto_u32s cpus;
};
void proto_put_ready(struct proto_out *out, const struct proto_ready *ready, const uint32_t *cpus,
                     uint32_t n_cpus);
int proto_get_ready(const struct proto_frame *frame, struct proto_ready *ret);

/* STARTED and STOPPED. */
int proto_get_time(const struct proto_frame *frame, uint64_t *ret_time);

struct proto_data {
    uint32_t cpu;
    uint32_t n_pages;
    uint64_t first;
    const uint8_t *pages; /* proto_put_data() does not put them: call proto_put() after it */
    size_t size;          /* bytes of all pages */
};
void proto_put_data(struct proto_out *out, const struct proto_data *data);
/* Makes a frame of the data->size bytes at PAGES without copying them: the fixed part and room for the header are written into
 * the PROTO_DATA_ROOM bytes before PAGES. */
struct proto_out proto_data_around(uint8_t *pages, const struct proto_data *data);
/* Checks of the pages only that their bytes are a multiple of their number. */
int proto_get_data(const struct proto_frame *frame, struct proto_data *ret);

struct proto_status_cpu {
    uint32_t cpu;
    bool online;
    uint64_t pages_read, pages_sent, bytes_queued, times_full;
    uint64_t entries, overrun, dropped, commit_overrun, read_events; /* the kernel's */
};
struct proto_status {
    uint64_t time;
    uint32_t n_cpus;
    const uint8_t *cpus; /* for proto_status_at() */
};
/* Then as many proto_put_status_cpu() as n_cpus says. */
void proto_put_status(struct proto_out *out, const struct proto_status *status);
void proto_put_status_cpu(struct proto_out *out, const struct proto_status_cpu *cpu);
int proto_get_status(const struct proto_frame *frame, struct proto_status *ret);
struct proto_status_cpu proto_status_at(const struct proto_status *status, uint32_t i);

struct proto_ping {
    uint64_t token;
    uint64_t host_time;
};
void proto_put_ping(struct proto_out *out, const struct proto_ping *ping);
int proto_get_ping(const struct proto_frame *frame, struct proto_ping *ret);

struct proto_pong {
    struct proto_ping ping;
    uint64_t came, sent;              /* guest time */
    uint64_t monotonic_raw, realtime; /* ns, read between these two */
};
void proto_put_pong(struct proto_out *out, const struct proto_pong *pong);
int proto_get_pong(const struct proto_frame *frame, struct proto_pong *ret);

struct proto_failed {
    int32_t error; /* a positive errno */
    struct proto_text what, hint;
};
void proto_put_failed(struct proto_out *out, const struct proto_failed *failed);
int proto_get_failed(const struct proto_frame *frame, struct proto_failed *ret);

struct proto_resume {
    uint8_t session[PROTO_SESSION_SIZE];
    uint32_t n_cpus;
    const uint8_t *cpus; /* for proto_resume_at() */
};
/* Then as many proto_put_resume_cpu() as n_cpus says. */
void proto_put_resume(struct proto_out *out, const struct proto_resume *resume);
void proto_put_resume_cpu(struct proto_out *out, uint32_t cpu, uint64_t next_page);
int proto_get_resume(const struct proto_frame *frame, struct proto_resume *ret);
void proto_resume_at(const struct proto_resume *resume, uint32_t i, uint32_t *ret_cpu,
                     uint64_t *ret_next_page);

struct proto_flushed {
    uint64_t token;
    uint64_t time;
};
int proto_get_flush(const struct proto_frame *frame, uint64_t *ret_token);
void proto_put_flushed(struct proto_out *out, const struct proto_flushed *flushed);
int proto_get_flushed(const struct proto_frame *frame, struct proto_flushed *ret);

/* START, STOP, ASK_STATUS, BYE: an empty body. */
int proto_get_nothing(const struct proto_frame *frame);
