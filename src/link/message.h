/* SPDX-License-Identifier: MIT */
#pragma once

/* What frames say. H: the host says it to the agent, A: the agent to the host. Numbers are
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
 *                     link_wants; n × {text event, "SYSTEM:EVENT" with * and ?; text filter or ""}
 *                  A  META …, then READY or FAILED
 *    4 META        A  u16 enum link_meta; text path; u8 1: the last piece; the rest: bytes of it
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
 *
 * "Guest time" is the trace's own clock, in its ticks; 0 where it cannot be read outside the kernel. */

#include "base/sha256.h"
#include "link/body.h"
#include "link/frame.h"

#define LINK_VERSION 1
#define LINK_NONCE_SIZE 16
#define LINK_SESSION_SIZE 16
#define LINK_CPUS_MAX 4096u
#define LINK_EVENTS_MAX 4096u
/* A DATA frame with a checksum is no longer than this, but for one whose only page is; so a PONG never waits for
 * long. A virtio-serial port takes 32 KiB at a time, so it is two writes. */
#define LINK_DATA_MAX 65536u
/* What stands in it before its pages. */
#define LINK_DATA_ROOM (LINK_HEADER_SIZE + 16u)
/* Longest body of what the host says. */
#define LINK_HOST_BODY_MAX 262144u
#define LINK_META_FILE_MAX (UINT32_C(16) << 20)
#define LINK_META_MAX (UINT32_C(256) << 20)
/* The name of the virtio-serial port. */
#define LINK_PORT "org.strata.agent"

enum link_type {
    LINK_HELLO = 1,
    LINK_AUTH = 2,
    LINK_SETUP = 3,
    LINK_META = 4,
    LINK_READY = 5,
    LINK_START = 6,
    LINK_STARTED = 7,
    LINK_STOP = 8,
    LINK_STOPPED = 9,
    LINK_DATA = 10,
    LINK_STATUS = 11,
    LINK_ASK_STATUS = 12,
    LINK_PING = 13,
    LINK_PONG = 14,
    LINK_FAILED = 15,
    LINK_BYE = 16,
    LINK_RESUME = 17,
};

enum link_meta {
    LINK_META_FILE = 1,     /* of the tracefs tree, by its path from there */
    LINK_META_KALLSYMS = 2, /* the path is "" */
    LINK_META_FACT = 3, /* the path is its name, the bytes are its value. "problem": for people */
};

enum link_wants {
    LINK_WANT_KALLSYMS = 1,
    LINK_WANT_PRINTK_FORMATS = 2,
    LINK_WANT_CMDLINES = 4,
    /* Somebody looks on: also while it traces, the names of tasks every second. */
    LINK_WANT_LIVE = 8,
    LINK_WANT_UNCHECKED = 16, /* the host takes DATA with LINK_UNCHECKED */
};

/* "META" or NULL. */
const char *link_type_name(uint16_t type);

/* Begins a frame in the SIZE bytes (more than LINK_HEADER_SIZE) at P. */
static inline struct link_out link_begin(void *p, size_t size)
{
    return (struct link_out){.start = p, .len = LINK_HEADER_SIZE, .capacity = size};
}

/* Ends it: makes its header. Its length is out->len. -E2BIG: something did not fit. */
int link_end(struct link_out *out, enum link_type type, uint64_t sequence);

/* Numbers that stand in a body. */
struct link_u32s {
    const uint8_t *p;
    uint32_t n;
};

static inline uint32_t link_u32_at(const struct link_u32s *list, uint32_t i)
{
    return load_le32(list->p + (size_t)4 * i);
}

/* Each message as a structure. Decoding borrows from the body, checks all of it (also that nothing
 * follows), and returns 0, or -EBADMSG and leaves *RET untouched. Encoding puts what a list or the rest
 * of a message holds by calls of its own behind the fixed part. */

struct link_host_hello {
    uint16_t lowest, highest;
    uint8_t nonce[LINK_NONCE_SIZE];
};
void link_put_host_hello(struct link_out *out, const struct link_host_hello *hello);
int link_get_host_hello(const struct link_frame *frame, struct link_host_hello *ret);

struct link_agent_hello {
    uint16_t version;
    uint8_t answers[LINK_NONCE_SIZE]; /* the host's nonce: an answer to another host shows */
    uint8_t nonce[LINK_NONCE_SIZE];
    bool needs_auth;
    struct link_text agent;
    uint8_t session[LINK_SESSION_SIZE];
    struct link_text release, machine, boot_id;
    uint32_t page_size;
    uint8_t long_size; /* 4 or 8 */
    bool big_endian;
    uint32_t n_possible;
    struct link_u32s online; /* encoding takes them from CPUS */
    struct link_text clocks, clock;
};
void link_put_agent_hello(struct link_out *out, const struct link_agent_hello *hello,
                          const uint32_t *online, uint32_t n_online);
int link_get_agent_hello(const struct link_frame *frame, struct link_agent_hello *ret);

/* Both directions. */
int link_get_auth(const struct link_frame *frame, uint8_t ret_proof[SHA256_SIZE]);
/* The proof of knowing KEY: "strata host" and the agent's nonce before the host's, or "strata agent" and
 * the host's before the agent's. */
void link_host_proof(const void *key, size_t key_size, const uint8_t agent_nonce[LINK_NONCE_SIZE],
                     const uint8_t host_nonce[LINK_NONCE_SIZE], uint8_t ret_proof[SHA256_SIZE]);
void link_agent_proof(const void *key, size_t key_size, const uint8_t agent_nonce[LINK_NONCE_SIZE],
                      const uint8_t host_nonce[LINK_NONCE_SIZE], uint8_t ret_proof[SHA256_SIZE]);

struct link_setup_event {
    struct link_text event, filter;
};
struct link_setup {
    uint32_t buffer_kib, queue_kib, keep_seconds;
    struct link_text clock;
    uint8_t level; /* 0 to 19 */
    uint8_t wants;
    uint32_t n_events;
    struct link_body events; /* for link_setup_next() */
};
/* Then as many link_put_setup_event() as n_events says. */
void link_put_setup(struct link_out *out, const struct link_setup *setup);
void link_put_setup_event(struct link_out *out, const struct link_setup_event *event);
int link_get_setup(const struct link_frame *frame, struct link_setup *ret);
/* The next event of SETUP, which has been decoded. False: there are no more. */
bool link_setup_next(struct link_setup *setup, struct link_setup_event *ret);

struct link_meta_piece {
    enum link_meta kind;
    struct link_text path;
    bool last;
    const uint8_t *p; /* encoding: link_put() them behind it */
    size_t size;
};
void link_put_meta(struct link_out *out, const struct link_meta_piece *meta);
int link_get_meta(const struct link_frame *frame, struct link_meta_piece *ret);

struct link_ready {
    uint32_t n_events;
    struct link_text clock;
    uint64_t hz;
    uint32_t page_size; /* of the ring buffer */
    struct link_u32s cpus;
};
void link_put_ready(struct link_out *out, const struct link_ready *ready, const uint32_t *cpus,
                    uint32_t n_cpus);
int link_get_ready(const struct link_frame *frame, struct link_ready *ret);

/* STARTED and STOPPED. */
int link_get_time(const struct link_frame *frame, uint64_t *ret_time);

struct link_data {
    uint32_t cpu;
    uint32_t n_pages;
    uint64_t first;
    const uint8_t *pages; /* encoding: link_put() them behind it */
    size_t size;          /* n_pages times as many bytes */
};
void link_put_data(struct link_out *out, const struct link_data *data);
/* The frame around pages that lie at PAGES (data->size bytes), without copying them: what stands before them in
 * it is written into the LINK_DATA_ROOM bytes before PAGES, and its header goes there too. */
struct link_out link_data_around(uint8_t *pages, const struct link_data *data);
/* Only what the length tells is checked: that it is a multiple of the number of pages. */
int link_get_data(const struct link_frame *frame, struct link_data *ret);

struct link_status_cpu {
    uint32_t cpu;
    bool online;
    uint64_t pages_read, pages_sent, bytes_queued, times_full;
    uint64_t entries, overrun, dropped, commit_overrun, read_events; /* the kernel's */
};
struct link_status {
    uint64_t time;
    uint32_t n_cpus;
    const uint8_t *cpus; /* for link_status_at() */
};
/* Then as many link_put_status_cpu() as n_cpus says. */
void link_put_status(struct link_out *out, const struct link_status *status);
void link_put_status_cpu(struct link_out *out, const struct link_status_cpu *cpu);
int link_get_status(const struct link_frame *frame, struct link_status *ret);
struct link_status_cpu link_status_at(const struct link_status *status, uint32_t i);

struct link_ping {
    uint64_t token;
    uint64_t host_time;
};
void link_put_ping(struct link_out *out, const struct link_ping *ping);
int link_get_ping(const struct link_frame *frame, struct link_ping *ret);

struct link_pong {
    struct link_ping ping;
    uint64_t came, sent;              /* guest time */
    uint64_t monotonic_raw, realtime; /* ns, read between these two */
};
void link_put_pong(struct link_out *out, const struct link_pong *pong);
int link_get_pong(const struct link_frame *frame, struct link_pong *ret);

struct link_failed {
    int32_t error; /* a positive errno */
    struct link_text what, hint;
};
void link_put_failed(struct link_out *out, const struct link_failed *failed);
int link_get_failed(const struct link_frame *frame, struct link_failed *ret);

struct link_resume {
    uint8_t session[LINK_SESSION_SIZE];
    uint32_t n_cpus;
    const uint8_t *cpus; /* for link_resume_at() */
};
/* Then as many link_put_resume_cpu() as n_cpus says. */
void link_put_resume(struct link_out *out, const struct link_resume *resume);
void link_put_resume_cpu(struct link_out *out, uint32_t cpu, uint64_t next_page);
int link_get_resume(const struct link_frame *frame, struct link_resume *ret);
void link_resume_at(const struct link_resume *resume, uint32_t i, uint32_t *ret_cpu,
                    uint64_t *ret_next_page);

/* START, STOP, ASK_STATUS, BYE: nothing. */
int link_get_nothing(const struct link_frame *frame);
