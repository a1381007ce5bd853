/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's side of the protocol in proto/: a session with the agent of one guest, as a state machine. It does no I/O and
 * reads no clock: its owner gives it received bytes and the time, and sends what it puts into a buffer. The trace goes to a
 * kernel_sink. So it is tested, and fuzzed, without a guest.
 *
 *   HELLO ─► (AUTH) ─► SETUP ─► pings ─► START ─► RUNNING ─► STOP ─► pings ─► BYE ─► BYE
 *     │                                              ▲
 *     └─► (AUTH) ─► RESUME ──────────────────────────┘      on another connection
 *
 * Whatever the guest sends, a session holds bounded memory (one frame, and a list of at most PROTO_CPUS_MAX CPUs), hands on
 * no more than its limits, and each of its waits ends, also while the guest goes on sending. All times are CLOCK_MONOTONIC
 * in ns. Not thread-safe. */

#include "base/error.h"
#include "proto/message.h"
#include "record/kernel/kernel_sink.h"

struct ZSTD_DCtx_s;

enum guest_state {
    GUEST_DISCONNECTED, /* not connected */
    GUEST_HELLO,        /* waits for the agent's HELLO */
    GUEST_AUTH,         /* waits for the proof that the agent knows the key */
    GUEST_SETUP,        /* waits until tracing is set up; files of tracefs come */
    GUEST_BEFORE,       /* samples the clocks before it starts */
    GUEST_STARTING,     /* waits for STARTED, after START or RESUME */
    GUEST_RUNNING,
    GUEST_STOPPING, /* reads the rest, and waits for STOPPED */
    GUEST_AFTER,    /* samples the clocks once more */
    GUEST_BYE,      /* waits until the agent has cleaned up, and answers BYE */
    GUEST_OVER,     /* complete */
};

struct guest_event {
    const char *event;  /* "sched:sched_*" */
    const char *filter; /* or "" */
};

/* What a guest is asked to trace, and how. Borrowed; outlives the session. */
struct trace_config {
    const struct guest_event *events;
    uint32_t n_events;
    uint32_t buffer_kib, queue_kib, keep_seconds;
    const char *clock; /* "": the best that it has */
    bool is_host;      /* the kernel is this machine's */
    uint8_t level;     /* zstd */
    uint8_t wants;     /* enum proto_wants */
    const void *key;   /* NULL: none */
    size_t key_size;
    /* The agent may keep what it records until its buffers are three quarters full, or guest_session_flush() asks for it, but
     * no longer than 5 s. Not with PROTO_WANT_LIVE. */
    bool holds;
    bool must_prove;   /* refuse an agent that does not prove that it knows the key */
    uint64_t max_size; /* of pages, 0: any */
    /* While the disk is full, pages are dropped. Otherwise the session fails. */
    bool drops_when_full;
};

/* Pages of a CPU that the sink had no room for, since the last page that it took. */
struct guest_dropped {
    bool is_any;        /* there are some */
    bool is_uncounted;  /* more events are missing, and not known how many */
    uint64_t events;    /* in these pages, and lost before each of them */
    uint64_t last_time; /* of the last of these events, or pages */
};

struct guest_cpu {
    bool known;
    bool torn;            /* pages before the next one may be missing: their numbers began again */
    bool is_repeating;    /* the session was resumed: pages that came before may come again */
    bool is_rewound;      /* the agent's state went back: the next page has any number */
    bool status_is_old;   /* … and so the next status includes losses of before */
    uint64_t next_page;   /* its number */
    uint64_t pages, gaps; /* that came; that are missing */
    uint64_t bytes;       /* of the pages that were handed on, of this boot */
    uint64_t events;      /* in the pages that were handed on */
    uint64_t unwritten; /* in those that were not, because --max-size or an error allows no more */
    struct guest_dropped dropped;
    uint64_t lost;                  /* by the headers of pages, in this session of the agent */
    struct proto_status_cpu status; /* the last */
    uint64_t lost_before;           /* by earlier sessions of the agent */
    uint64_t status_before;         /* lost by the statuses before its state went back */
};

struct guest_session {
    enum guest_state state;
    bool big_endian; /* the agent's machine … */
    uint8_t long_size;
    bool has_session; /* the agent has tracing set up for this host */
    bool has_pages;   /* pages of this boot came before */
    bool resumes;     /* STARTED answers RESUME, not START */
    bool is_rewound;  /* … after the agent's state went back: it may have another session now */
    bool relatable;   /* the agent can read the clock of its trace */
    bool
        same_clock; /* … which is this machine's monotonic one: pings only show that the agent lives */
    bool said_bye; /* the agent ended the session itself, and has sent all */
    bool ran;      /* it was RUNNING on this connection */
    bool stop_wanted;
    bool is_paused;       /* the guest's machine stands still: its agent cannot answer */
    bool full;            /* max_size is reached: later pages are left out, and counted */
    bool ping_out;        /* a ping is not answered yet */
    bool has_best;        /* `best` holds a pair */
    bool in_file;         /* a file has begun, and not ended */
    bool file_is_unknown; /* skip pieces up to the end of a file: some of it may be lost */
    const struct trace_config *config;
    struct kernel_sink *sink; /* an error of it ends the session */
    struct proto_reader reader;
    struct ZSTD_DCtx_s *zstd;
    uint8_t *unpacked; /* of PROTO_BODY_MAX bytes */
    uint8_t *scratch;  /* of two such, for pages that are changed, and a page before them */
    uint8_t *out;      /* to be sent: out_sent … out_filled */
    size_t out_sent, out_filled;
    uint64_t sequence;

    /* Of the agent. */
    uint8_t nonce[PROTO_NONCE_SIZE], agent_nonce[PROTO_NONCE_SIZE];
    uint8_t session[PROTO_SESSION_SIZE], agent_session[PROTO_SESSION_SIZE];
    char boot_id[64];
    uint32_t page_size;
    unsigned hellos; /* sent on this connection */

    uint16_t version; /* of the protocol, that the agent chose */

    /* How many flushes were asked for; which was asked of the agent last; which is done. */
    uint64_t flush_asked, flush_sent, flushed;

    /* Deadlines. */
    uint64_t deadline;    /* of the answer that the state waits for */
    uint64_t received_at; /* when a frame came last */
    uint64_t closed_at;   /* when the agent closed its port; 0: it has not */
    uint64_t hello_next;  /* when HELLO is sent again */
    uint64_t paused_at;
    unsigned damages; /* how often data was corrupted, on all connections */
    unsigned n_pairs; /* of the clocks, that were kept since tracing started */

    /* Pings: one at a time. */
    uint64_t token, ping_sent, ping_next;
    uint64_t unanswered_since; /* with ping_out: when the first ping without an answer was sent */
    unsigned pings_left;       /* of the state */
    unsigned pings;            /* answered since a pair was kept */
    uint64_t spliced;          /* bytes of DATA that the agent has spliced, since a ping for them */
    struct guest_pair best;
    uint64_t best_since;
    uint64_t guest_time; /* the last that was seen of the guest's clock; 0: none */
    uint64_t hz;         /* its rate; 0: not known */

    /* The file that comes in pieces. */
    enum proto_meta file_kind;
    char file_path[512];
    uint64_t file_size, meta_total;
    uint32_t n_files;
    char fact[256];
    size_t fact_len;

    struct guest_cpu *cpus; /* by number, PROTO_CPUS_MAX of them */
    uint32_t n_cpus;        /* the highest known number, plus 1 */
    uint64_t bytes;         /* of pages that were handed on */
    uint64_t first, last;   /* of the times of their events, of this kernel; 0: none */
    uint32_t n_events;      /* that were enabled */
    uint64_t start_sent, started_at, stop_sent;
    uint64_t waited_ns;    /* from the START before the first page to that page; 0: none came */
    uint64_t stopped_ns;   /* from STOP to STOPPED, or 0 */
    struct error failure;  /* pages could not be handed on; later ones are left out as well */
    uint64_t skipped;      /* bytes that belong to no frame, on earlier connections */
    uint64_t skipped_seen; /* of this connection, those that were handled as corruption */
};

/* SINK is given the trace. WISHES and SINK are borrowed. -ENOMEM. */
int guest_session_init(struct guest_session *session, const struct trace_config *config,
                       struct kernel_sink *sink);
void guest_session_done(struct guest_session *session);

/* A connection was made; NONCE is random. */
void guest_session_connected(struct guest_session *session, const uint8_t nonce[PROTO_NONCE_SIZE],
                             uint64_t now);
/* It is lost. On the next one the session goes on where it was. */
void guest_session_disconnected(struct guest_session *session);

/* Where to read received bytes to. */
static inline uint8_t *guest_session_room(struct guest_session *session, size_t *ret_size)
{
    return proto_reader_room(&session->reader, ret_size);
}
/* SIZE bytes were received at NOW. 0; -ESTALE: call guest_session_connected(), on the same connection; -ECONNRESET: call it
 * on another connection; another negative errno: the session has failed, with ERROR. */
int guest_session_received(struct guest_session *session, size_t size, uint64_t now,
                           struct error *error);
/* Does what is due at NOW. Call it at *ret_next, and whenever something has changed. Errors as above. */
int guest_session_step(struct guest_session *session, uint64_t now, uint64_t *ret_next,
                       struct error *error);

/* Extends the deadlines by DELAY ns, in which this process was stopped or had no time, and the agent perhaps as well. Call it
 * at NOW before guest_session_step(). */
void guest_session_add_delay(struct guest_session *session, uint64_t delay, uint64_t now);

/* The guest's machine stands still from NOW on, or goes on. What the agent owes is not waited for meanwhile, unless the session
 * is stopped. */
void guest_session_pause(struct guest_session *session, bool is_paused, uint64_t now);

/* The agent has closed its port: the connection does not show that, as QEMU keeps its own end. */
void guest_session_agent_closed(struct guest_session *session, uint64_t now);
/* Whether the agent has answered no ping for a second, though it is traced and its machine is not known to stand still. */
bool guest_session_is_silent(const struct guest_session *session, uint64_t now);

/* What is to be sent; then report with guest_session_sent() how much of it was. */
static inline const uint8_t *guest_session_pending(const struct guest_session *session,
                                                   size_t *ret_size)
{
    *ret_size = session->out_filled - session->out_sent;
    return session->out + session->out_sent;
}
void guest_session_sent(struct guest_session *session, size_t size);

/* Stops the tracing, reads the rest, and ends in state GUEST_OVER. */
void guest_session_stop(struct guest_session *session);

/* Asks for all that the guest has recorded until now. guest_session_step() goes on with it. */
void guest_session_flush(struct guest_session *session);
/* Whether it came, or cannot come: the guest is not connected, not traced or paused, or its agent is too old. */
static inline bool guest_session_is_flushed(const struct guest_session *session)
{
    return session->flushed >= session->flush_asked;
}

/* The session has failed: sends BYE, so that the agent does not keep the trace for another connection. Call only
 * guest_session_pending(), guest_session_sent() and guest_session_done() after that. */
void guest_session_give_up(struct guest_session *session);

/* Gives the sink a page without events for each CPU of which pages were dropped: it says how many events are missing. If the
 * disk is still full, a later page says it. */
void guest_session_state_dropped(struct guest_session *session);
/* The same at the end of a trace, where no later page says it. -errno with ERROR. */
int guest_session_end_dropped(struct guest_session *session, struct error *error);

/* Marks a ring-buffer page, as the kernel does, as one before which an unknown number of events is missing
 * (format/ftrace/page.h has the table). */
void guest_page_mark_missed(uint8_t *page, bool big_endian, uint8_t long_size);

/* Events that the guest's kernel had no room for: by the agent's last status, or by the headers of pages if that is more, as
 * a guest that ends at once sends no status. */
uint64_t guest_session_lost(const struct guest_session *session);
/* Pages that were sent and never came. */
uint64_t guest_session_gaps(const struct guest_session *session);
/* Events in pages that came, and were not handed on. */
uint64_t guest_session_unwritten(const struct guest_session *session);
/* Of these, events that no page which was handed on tells of. */
uint64_t guest_session_unstated(const struct guest_session *session);
/* 0; or the error because of which pages were not handed on, with ERROR, which has the number of events. */
int guest_session_failure(const struct guest_session *session, struct error *error);
/* Events in the pages that were handed on. */
uint64_t guest_session_events(const struct guest_session *session);
