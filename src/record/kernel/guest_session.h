/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's side of the protocol in proto/: a session with the agent of one guest, as a state machine. It does no I/O
 * and reads no clock. Its owner passes in the received bytes and the time, and sends what the session puts into a
 * buffer. The trace goes to a kernel_sink. So the session can be tested and fuzzed without a guest.
 *
 *   HELLO ─► (AUTH) ─► SETUP ─► pings ─► START ─► RUNNING ─► STOP ─► pings ─► BYE ─► BYE
 *     │                                              ▲
 *     └─► (AUTH) ─► RESUME ──────────────────────────┘      on another connection
 *
 * Whatever the guest sends, a session uses bounded memory (one frame, and a list of at most PROTO_CPUS_MAX CPUs) and
 * passes on no more than its limits. Each of its waits ends, even if the guest continues to send. All times are
 * CLOCK_MONOTONIC in ns. Not thread-safe. */

#include "base/error.h"
#include "proto/message.h"
#include "record/kernel/kernel_sink.h"

struct ZSTD_DCtx_s;

enum guest_state {
    GUEST_DISCONNECTED, /* not connected */
    GUEST_HELLO,        /* waits for the agent's HELLO */
    GUEST_AUTH,         /* waits until the agent proves that it knows the key */
    GUEST_SETUP,        /* waits until tracing is set up; files of tracefs come */
    GUEST_BEFORE,       /* samples the clocks before it starts */
    GUEST_STARTING,     /* waits for STARTED, after START or RESUME */
    GUEST_RUNNING,
    GUEST_STOPPING, /* reads the remaining data, and waits for STOPPED */
    GUEST_AFTER,    /* samples the clocks once more */
    GUEST_BYE,      /* waits until the agent has cleaned up and answers BYE */
    GUEST_OVER,     /* complete */
};

struct guest_event {
    const char *event;  /* "sched:sched_*" */
    const char *filter; /* or "" */
};

/* What a guest is asked to trace, and how. Borrowed; must outlive the session. */
struct trace_config {
    const struct guest_event *events;
    uint32_t n_events;
    uint32_t buffer_kib, queue_kib, keep_seconds;
    const char *clock; /* "": the best clock of the guest */
    bool is_host;      /* the kernel is this machine's */
    uint8_t level;     /* zstd */
    uint8_t wants;     /* enum proto_wants */
    const void *key;   /* NULL: none */
    size_t key_size;
    /* The agent may hold data back until its buffers are three quarters full or guest_session_flush() asks for it, but
     * at most 5 s. Not with PROTO_WANT_LIVE. */
    bool holds;
    bool must_prove;   /* refuse an agent that does not prove that it knows the key */
    uint64_t max_size; /* of pages; 0: no limit */
    /* True: pages are dropped while the disk is full. False: the session fails. */
    bool drops_when_full;
};

/* Pages of a CPU that the sink had no room for, since the last page that it accepted. */
struct guest_dropped {
    bool is_any;        /* pages were dropped */
    bool is_uncounted;  /* an unknown number of further events is missing */
    uint64_t events;    /* events in these pages, and events lost before each of them */
    uint64_t last_time; /* time of the last of these events or pages */
};

struct guest_cpu {
    bool known;
    bool torn;         /* page numbers began again, so pages before the next one may be missing */
    bool is_repeating; /* the session was resumed, so pages may come a second time */
    bool is_rewound;   /* the agent's state went back, so the next page may have any number */
    /* the agent's state went back, so the next status includes earlier losses */
    bool status_is_old;
    uint64_t next_page;   /* number of the next page */
    uint64_t pages, gaps; /* pages that came; pages that are missing */
    uint64_t bytes;       /* in the pages of this boot that were passed on */
    uint64_t events;      /* in the pages that were passed on */
    /* In pages that were not passed on because of --max-size or an error. */
    uint64_t unwritten;
    struct guest_dropped dropped;
    uint64_t lost; /* events lost in this session of the agent, by the headers of pages */
    struct proto_status_cpu status; /* the last */
    uint64_t lost_before;           /* events lost in earlier sessions of the agent */
    uint64_t status_before;         /* events lost before its state went back, by the statuses */
};

struct guest_session {
    enum guest_state state;
    bool big_endian; /* byte order of the agent's machine */
    uint8_t long_size;
    bool has_session; /* the agent has set up tracing for this host */
    bool has_pages;   /* pages of this boot have come */
    bool resumes;     /* STARTED answers RESUME, not START */
    /* with `resumes`: after the agent's state went back; it may have another session now */
    bool is_rewound;
    bool relatable; /* the agent can read its trace clock */
    /* The agent's trace clock is this machine's monotonic clock, so pings only show that the agent lives. */
    bool same_clock;
    bool said_bye; /* the agent has sent everything and ended the session itself */
    bool ran;      /* it was RUNNING on this connection */
    bool stop_wanted;
    bool is_paused; /* the guest's machine is stopped, so its agent cannot answer */
    bool full;      /* max_size is reached; later pages are counted and not passed on */
    bool ping_out;  /* a ping is not answered yet */
    bool has_best;  /* `best` holds a pair */
    bool in_file;   /* a file has begun and not ended */
    /* skip pieces up to the end of a file, because some of it may be lost */
    bool file_is_unknown;
    const struct trace_config *config;
    struct kernel_sink *sink; /* an error of the sink ends the session */
    struct proto_reader reader;
    struct ZSTD_DCtx_s *zstd;
    uint8_t *unpacked; /* of PROTO_BODY_MAX bytes */
    /* of two such sizes: for pages that are changed, and a page before them */
    uint8_t *scratch;
    uint8_t *out; /* bytes to be sent: out_sent … out_filled */
    size_t out_sent, out_filled;
    uint64_t sequence;

    /* About the agent. */
    uint8_t nonce[PROTO_NONCE_SIZE], agent_nonce[PROTO_NONCE_SIZE];
    uint8_t session[PROTO_SESSION_SIZE], agent_session[PROTO_SESSION_SIZE];
    char boot_id[64];
    uint32_t page_size;
    unsigned hellos; /* sent on this connection */

    uint16_t version; /* of the protocol, chosen by the agent */

    /* Numbers of flushes: requested by the owner; last requested from the agent; done. */
    uint64_t flush_asked, flush_sent, flushed;

    /* Deadlines. */
    uint64_t deadline;    /* for the answer that the state waits for */
    uint64_t received_at; /* when the last frame came */
    uint64_t closed_at;   /* when the agent closed its port; 0: it has not */
    uint64_t hello_next;  /* when to send HELLO again */
    uint64_t paused_at;
    unsigned damages; /* how often data was damaged, on all connections */
    unsigned n_pairs; /* pairs of clocks that were kept since tracing started */

    /* Pings: one at a time. */
    uint64_t token, ping_sent, ping_next;
    uint64_t unanswered_since; /* with ping_out: when the first unanswered ping was sent */
    unsigned pings_left;       /* to be sent in this state */
    unsigned pings;            /* pings answered since a pair was kept */
    /* bytes of DATA that the agent has spliced since the last ping for them */
    uint64_t spliced;
    struct guest_pair best;
    uint64_t best_since;
    uint64_t guest_time; /* last time seen of the guest's clock; 0: none */
    uint64_t hz;         /* rate of the guest's clock; 0: unknown */

    /* The file that comes in pieces. */
    enum proto_meta file_kind;
    char file_path[512];
    uint64_t file_size, meta_total;
    uint32_t n_files;
    char fact[256];
    size_t fact_len;

    struct guest_cpu *cpus; /* PROTO_CPUS_MAX, by number */
    uint32_t n_cpus;        /* highest known number, plus 1 */
    uint64_t bytes;         /* of pages that were passed on */
    /* times of the first and last event of this kernel in these pages; 0: none */
    uint64_t first, last;
    uint32_t n_events; /* enabled events */
    uint64_t start_sent, started_at, stop_sent;
    uint64_t waited_ns;  /* from START to the first page; 0: no page came */
    uint64_t stopped_ns; /* from STOP to STOPPED, or 0 */
    /* why pages could not be passed on; later pages are not passed on either */
    struct error failure;
    uint64_t skipped;      /* bytes that belong to no frame, on earlier connections */
    uint64_t skipped_seen; /* skipped bytes of this connection that were handled as damage */
};

/* The trace goes to SINK. CONFIG and SINK are borrowed. -ENOMEM. */
int guest_session_init(struct guest_session *session, const struct trace_config *config,
                       struct kernel_sink *sink);
void guest_session_done(struct guest_session *session);

/* A connection was made; NONCE is random. */
void guest_session_connected(struct guest_session *session, const uint8_t nonce[PROTO_NONCE_SIZE],
                             uint64_t now);
/* The connection was lost. On the next connection, the session continues where it was. */
void guest_session_disconnected(struct guest_session *session);

/* Returns the buffer for received bytes. */
static inline uint8_t *guest_session_room(struct guest_session *session, size_t *ret_size)
{
    return proto_reader_room(&session->reader, ret_size);
}
/* Handles SIZE bytes, received at NOW. Returns 0; -ESTALE: call guest_session_connected() on the same connection;
 * -ECONNRESET: call it on another connection; other negative errno with ERROR: the session has failed. */
int guest_session_received(struct guest_session *session, size_t size, uint64_t now,
                           struct error *error);
/* Does what is due at NOW. Call it at *RET_NEXT, and whenever something has changed. Errors as above. */
int guest_session_step(struct guest_session *session, uint64_t now, uint64_t *ret_next,
                       struct error *error);

/* Extends the deadlines by DELAY ns, because this process, and perhaps the agent, was stopped or had no CPU time. Call
 * it at NOW, before guest_session_step(). */
void guest_session_add_delay(struct guest_session *session, uint64_t delay, uint64_t now);

/* The guest's machine is stopped from NOW on, or continues. While it is stopped, the session does not wait for the
 * agent's answers, unless the session is being stopped. */
void guest_session_pause(struct guest_session *session, bool is_paused, uint64_t now);

/* The agent has closed its port. The connection does not show this, because QEMU keeps its own end open. */
void guest_session_agent_closed(struct guest_session *session, uint64_t now);
/* True if the agent has not answered a ping for a second, although it is traced and its machine is not known to be
 * stopped. */
bool guest_session_is_silent(const struct guest_session *session, uint64_t now);

/* Returns the bytes to be sent. Afterwards, report how many were sent by guest_session_sent(). */
static inline const uint8_t *guest_session_pending(const struct guest_session *session,
                                                   size_t *ret_size)
{
    *ret_size = session->out_filled - session->out_sent;
    return session->out + session->out_sent;
}
void guest_session_sent(struct guest_session *session, size_t size);

/* Stops the tracing, reads the remaining data, and ends in state GUEST_OVER. */
void guest_session_stop(struct guest_session *session);

/* Asks for everything that the guest has recorded until now. guest_session_step() continues the flush. */
void guest_session_flush(struct guest_session *session);
/* True if the flush is complete or cannot be completed: the guest is not connected, not traced or paused, or its agent
 * is too old. */
static inline bool guest_session_is_flushed(const struct guest_session *session)
{
    return session->flushed >= session->flush_asked;
}

/* Call it after the session has failed. Sends BYE, so that the agent does not keep the trace for another connection.
 * Afterwards, call only guest_session_pending(), guest_session_sent() and guest_session_done(). */
void guest_session_give_up(struct guest_session *session);

/* Gives the sink a page without events for each CPU of which pages were dropped. The page states how many events are
 * missing. If the disk is still full, a later page states it. */
void guest_session_state_dropped(struct guest_session *session);
/* The same at the end of a trace, after which no later page can state it. -errno with ERROR. */
int guest_session_end_dropped(struct guest_session *session, struct error *error);

/* Marks a ring-buffer page as the kernel does: an unknown number of events before the page is missing
 * (format/ftrace/page.h has the table). */
void guest_page_mark_missed(uint8_t *page, bool big_endian, uint8_t long_size);

/* The number of events that the guest's kernel had no room for: from the agent's last status, or from the headers of
 * pages if that number is larger, because a guest that ends at once sends no status. */
uint64_t guest_session_lost(const struct guest_session *session);
/* The number of pages that were sent and never came. */
uint64_t guest_session_gaps(const struct guest_session *session);
/* The number of events in pages that came and were not passed on. */
uint64_t guest_session_unwritten(const struct guest_session *session);
/* The number of events of these that no passed-on page reports. */
uint64_t guest_session_unstated(const struct guest_session *session);
/* Returns 0, or the error because of which pages were not passed on. ERROR includes the number of events. */
int guest_session_failure(const struct guest_session *session, struct error *error);
/* The number of events in the pages that were passed on. */
uint64_t guest_session_events(const struct guest_session *session);
