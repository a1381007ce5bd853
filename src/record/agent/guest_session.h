/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's side of what link/ says: a session with the agent of one guest, as a state machine. It
 * does no I/O and reads no clock: it is given what came, the time, and memory for what to send, and hands
 * on what it got by functions of its owner. So it is tested, and fuzzed, without a guest.
 *
 *   HELLO ─► (AUTH) ─► SETUP ─► pings ─► START ─► RUNNING ─► STOP ─► pings ─► BYE ─► BYE
 *     │                                              ▲
 *     └─► (AUTH) ─► RESUME ──────────────────────────┘      on a connection made anew
 *
 * Whatever the guest says, a session holds bounded memory (one frame, and a list of at most PROTO_CPUS_MAX
 * CPUs), hands on no more than its limits, and does not wait for ever: each wait has an end, also where
 * the guest goes on talking. All times are CLOCK_MONOTONIC in ns. Not thread-safe. */

#include "base/error.h"
#include "proto/message.h"
#include "record/agent/kernel_sink.h"

struct ZSTD_DCtx_s;

enum guest_state {
    GUEST_DISCONNECTED, /* not connected */
    GUEST_HELLO,        /* waits for the agent to say who it is */
    GUEST_AUTH,         /* … to prove it */
    GUEST_SETUP,        /* … to set up the tracing and tell what decodes it */
    GUEST_BEFORE,       /* relates the clocks before it starts */
    GUEST_STARTING,     /* waits for STARTED, behind START or RESUME */
    GUEST_RUNNING,
    GUEST_STOPPING, /* takes the rest */
    GUEST_AFTER,    /* relates the clocks once more */
    GUEST_BYE,      /* waits until the agent has cleaned up */
    GUEST_OVER,     /* came to its end */
};

struct guest_event {
    const char *event;  /* "sched:sched_*" */
    const char *filter; /* or "" */
};

/* What is asked of the guest. Borrowed; outlives the session. */
struct trace_config {
    const struct guest_event *events;
    uint32_t n_events;
    uint32_t buffer_kib, queue_kib, keep_seconds;
    const char *clock; /* "": the best */
    uint8_t level;     /* zstd */
    uint8_t wants;     /* enum proto_wants */
    const void *key;   /* NULL: none */
    size_t key_size;
    bool must_prove;   /* an agent that cannot prove to know the key is not talked to */
    uint64_t max_size; /* of pages, 0: any */
};

struct guest_cpu {
    bool known;
    bool torn;                      /* what came before its next page ended at an unknown place */
    uint64_t next_page;             /* the number of the page that comes next */
    uint64_t pages, gaps;           /* that came; that did not */
    uint64_t bytes;                 /* of the pages that were handed on, of this boot */
    uint64_t events;                /* in the pages that were handed on */
    uint64_t unwritten;             /* in those that were not, as there is no room */
    uint64_t lost;                  /* by what these pages say, in this session of the agent's */
    struct proto_status_cpu status; /* the last */
    uint64_t lost_before;           /* by the agent's sessions before this one */
};

struct guest_session {
    enum guest_state state;
    bool big_endian; /* the agent's machine … */
    uint8_t long_size;
    bool has_session; /* the agent has set up one for us */
    bool parted;      /* pages of its boot came before */
    bool resumes;     /* RESUME, not SETUP, is what STARTED answers */
    bool relatable;   /* guest time can be read */
    bool said_bye;    /* the agent ended the session, and has sent all */
    bool ran;         /* it was RUNNING on this connection */
    bool stop_wanted;
    bool full;     /* max_size is reached: what comes from then on is left out, and counted */
    bool ping_out; /* a ping is under way */
    bool has_best; /* `best` holds a pair */
    bool in_file;  /* a file is under way */
    bool doubtful; /* pieces of a file may have been lost: the next one's beginning is not known */
    const struct trace_config *wishes;
    struct kernel_sink *sink; /* an error of it ends the session */
    struct proto_reader reader;
    struct ZSTD_DCtx_s *zstd;
    uint8_t *unpacked; /* of PROTO_BODY_MAX bytes */
    uint8_t *scratch;  /* the same, for pages that are changed */
    uint8_t *out;      /* to be sent: out_sent … out_filled */
    size_t out_sent, out_filled;
    uint64_t sequence;

    /* What the agent is. */
    uint8_t nonce[PROTO_NONCE_SIZE], agent_nonce[PROTO_NONCE_SIZE];
    uint8_t session[PROTO_SESSION_SIZE], agent_session[PROTO_SESSION_SIZE];
    char boot_id[64];
    uint32_t page_size;
    unsigned hellos; /* said on this connection */

    /* Waits. */
    uint64_t deadline;   /* of the state's answer, however much comes meanwhile */
    uint64_t heard;      /* when something came last */
    uint64_t hello_next; /* when HELLO is said again */
    unsigned damages;    /* of all connections */

    /* Pings: one under way at a time. */
    uint64_t token, ping_sent, ping_next;
    unsigned pings_left; /* of the state */
    unsigned pings;      /* that came back since a pair was kept */
    struct guest_pair best;
    uint64_t best_since;

    /* The file that is under way. */
    enum proto_meta file_kind;
    char file_path[512];
    uint64_t file_size, meta_total;
    uint32_t n_files;
    char fact[256];
    size_t fact_len;

    struct guest_cpu *cpus; /* by number, PROTO_CPUS_MAX of them */
    uint32_t n_cpus;        /* the highest known, and one */
    uint64_t bytes;         /* of pages that were handed on */
    uint64_t first, last;   /* of the times of their events, of this kernel; 0: none */
    uint32_t n_events;      /* that were enabled */
    uint64_t start_said, started_at, stop_said;
    uint64_t waited_ns;    /* from the START before the first page to that page; 0: none came */
    uint64_t stopped_ns;   /* from STOP to STOPPED, or 0 */
    struct error failure;  /* pages could not be handed on, and so are left out, too */
    uint64_t skipped;      /* bytes that were no frames, of all connections */
    uint64_t skipped_seen; /* of this connection's, those that were thought about */
};

/* SINK is given the trace. WISHES and SINK are borrowed. -ENOMEM. */
int guest_session_init(struct guest_session *session, const struct trace_config *wishes,
                       struct kernel_sink *sink);
void guest_session_done(struct guest_session *session);

/* A connection was made; NONCE is random. */
void guest_session_connected(struct guest_session *session, const uint8_t nonce[PROTO_NONCE_SIZE],
                             uint64_t now);
/* It is lost. The session is apart, and goes on where it was once it is connected again. */
void guest_session_apart(struct guest_session *session);

/* Where what comes is to be read to. */
static inline uint8_t *guest_session_room(struct guest_session *session, size_t *ret_size)
{
    return proto_reader_room(&session->reader, ret_size);
}
/* SIZE bytes came at NOW. 0; -ESTALE: it must be begun anew by guest_session_connected(), the connection
 * may stay; -ECONNRESET: so it must, on another connection; another negative errno: it has failed for
 * good, with ERROR. */
int guest_session_received(struct guest_session *session, size_t size, uint64_t now,
                           struct error *error);
/* What the time brings; to be called at *ret_next and whenever something has changed. Errors as above. */
int guest_session_tick(struct guest_session *session, uint64_t now, uint64_t *ret_next,
                       struct error *error);

/* LATE ns passed in which nobody looked at what came, as our process was stopped or had no time, and the agent may have been
 * as well: that is no silence of the agent's, and no time that it had. To be called at NOW before guest_session_tick(). */
void guest_session_excuse(struct guest_session *session, uint64_t late, uint64_t now);

/* What is to be sent, and how much of it was. */
static inline const uint8_t *guest_session_pending(const struct guest_session *session,
                                                   size_t *ret_size)
{
    *ret_size = session->out_filled - session->out_sent;
    return session->out + session->out_sent;
}
void guest_session_sent(struct guest_session *session, size_t size);

/* The tracing is to end, and the rest to be taken; it is over in state GUEST_OVER. */
void guest_session_stop(struct guest_session *session);

/* The session has failed: the agent is told that nobody goes on with it, so that it need not keep what it traces. There
 * is nothing more to call but guest_session_pending() and guest_session_done(). */
void guest_session_give_up(struct guest_session *session);

/* Marks a ring-buffer page, as the kernel itself does, as one before which events were missed whose number
 * is not known (format/ftrace/page.h has the table). */
void guest_page_mark_missed(uint8_t *page, bool big_endian, uint8_t long_size);

/* Events that the kernel, by its own account, had no room for: by the agent's last status, or by the pages where they say
 * more, as the guest may end at once. */
uint64_t guest_session_lost(const struct guest_session *session);
/* Pages that were sent and never came. */
uint64_t guest_session_gaps(const struct guest_session *session);
/* Events in pages that came, and were not handed on as there was no room for them. */
uint64_t guest_session_unwritten(const struct guest_session *session);
/* 0, or why pages could not be handed on, with ERROR: how many events that are. */
int guest_session_failure(const struct guest_session *session, struct error *error);
/* Events in the pages that were handed on. */
uint64_t guest_session_events(const struct guest_session *session);
