/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of the reader of CTF's streams (ctf.c): what it knows of a trace (trace.c), of the packet
 * at hand (packet.c) and of the event (event.c). */

#include "base/wide.h"
#include "format/ctf/ctf.h"
#include "format/ctf/decode.h"
#include "format/ctf/layout.h"

#define PACKET_MAGIC UINT32_C(0xc1fc1fc1)

#define RUN_MAX 2048
/* What is read at once of a packet that may be skipped: enough for most headers. */
#define CTF_HEADER_READ ((size_t)512)
#define LOSSES_MAX 3 /* that come with a packet */

/* The size of a made payload besides its arrays: numbers, and the NULs and lengths of the rest. */
#define MADE_ROOM ((size_t)64 * 1024)

struct ctf_thread {
    struct ctf_thread *next;
    int32_t tid;
    uint32_t comm; /* what it was called when it was last heard of: a number among the names */
};

#define THREAD_BUCKETS 256

/* Names of threads, each once; the number 0 is none. Those beyond COMM_CHUNKS * COMM_CHUNK are not kept. */
#define COMM_CHUNK 256
#define COMM_CHUNKS 256
#define COMM_BUCKETS 1024
#define COMM_LEN_MAX 255

struct ctf_comm {
    struct ctf_comm *next; /* of its bucket */
    uint32_t number;
    const char *name;
};

struct ctf_comms {
    struct ctf_comm *buckets[COMM_BUCKETS];
    struct ctf_comm *chunks[COMM_CHUNKS];
    uint32_t n; /* and the highest number */
};

/* Whose events are a layer's: a trace has one, but for what was exported of several. */
struct ctf_origin {
    struct origin origin;
    const struct ctf_trace *trace;
    struct ctf_thread *threads[THREAD_BUCKETS];
};

/* A CPU of a tracer whose packets say their CPU: its streams of which not all was read. */
struct ctf_cpu {
    struct ctf_cpu *next;
    int32_t cpu;
    unsigned n_streams;
    int64_t end; /* of its last packet; TIME_UNKNOWN: not known */
};

struct ctf_trace {
    struct ctf_origin *first; /* of what has no other */
    struct ctf_cpu *cpus;
    unsigned n_cpus; /* that have such streams */
    int64_t end;     /* of the last of the other CPUs; TIME_UNKNOWN: there are none */
    int64_t
        begin; /* of the first packet of any CPU, as far as it is known; TIME_UNKNOWN: it is not */
    struct catalogue *catalogue;
    struct ctf_metadata metadata;
    struct ctf_layout layout;
    bool strata;
    bool swap;
    /* ns = base_ns + (ticks - base_ticks) * factor / 2^shift */
    uint64_t base_ticks;
    int64_t base_ns;
    uint64_t factor;
    unsigned shift;
    uint64_t after_max, before_max; /* ticks from base_ticks that have a time in ns */
    struct ctf_comms comms;
    unsigned n_foreign; /* streams whose packets have another UUID than the metadata */
    const struct ctf *first_foreign;
};

/* What headers and contexts say. */
struct ctf_header_values {
    uint64_t values[CTF_ROLES];
    uint32_t has; /* a bit for each role */
    uint8_t uuid[16];
    unsigned uuid_len;
    unsigned discarded_bits;
    unsigned number_bits; /* of the packet's number */
    const char *name;
    uint64_t name_len;
    uint64_t ticks; /* of the clock, as of the last stamp */
};

/* The files of a stream that goes on in others (chain.c). */
struct ctf_files {
    char **paths; /* those after the first */
    unsigned n, next;
    size_t capacity;        /* of the buffer of each */
    uint64_t before, after; /* bytes of the files before and after the one at hand */
};

struct ctf {
    struct source source; /* first: the source is the reader */
    struct input in;
    struct ctf_trace *trace;
    struct ctf_cpu *of_cpu; /* NULL: its first packet says none, or all of it was read */
    const struct ctf_stream_class *class; /* of the packet at hand */
    bool keep_going;
    bool damaged; /* what follows is to be passed over */
    bool is_cut;  /* its recorder wrote more than is here */
    bool foreign; /* its packets have another UUID than the metadata: */
    uint8_t uuid[16];
    int failed;
    uint64_t *slots;
    /* The packet at hand; bits from its begin. */
    bool in_packet;
    uint64_t origin;   /* of the next byte of `in` */
    uint64_t position; /* of the next bit: less than 8 after origin, or beyond what is there */
    uint64_t content;  /* its end; UINT64_MAX: the file's */
    uint64_t size;     /* with padding */
    uint64_t end;      /* ticks */
    bool has_end;
    int32_t tid;
    int32_t cpu;
    /* From packet to packet. */
    struct ctf_header_values heard;
    bool any;
    bool has_events; /* in its packets so far, but for repeated ones */
    bool has_gap, has_held;
    bool is_repeated;   /* the packet at hand was read before, in an earlier file */
    uint64_t number;    /* of the packet before */
    uint64_t discarded; /* as of the packet before */
    uint64_t pending;   /* dropped in the packet at hand */
    int64_t last;       /* time of what was lent last, or TIME_UNKNOWN */
    int64_t since;      /* end of the packet before, or TIME_UNKNOWN */
    /* What could not be read, up to the next packet, if has_gap. */
    uint64_t gap_bytes;
    int64_t gap_since;
    int64_t seek_time; /* packets that end before it are skipped; INT64_MIN: none */
    /* The last event of a packet, until the next one says whether some were lost after it. Its payload is in one of two, as
     * the one before it may be lent. Valid if has_held. */
    struct item held;
    uint8_t *held_payloads[2];
    unsigned next_held;
    struct ctf_files files;
    /* Payloads that are made, of one run. */
    uint8_t *made;
    size_t made_len;
    size_t made_room;
    const struct ctf_class *event; /* the current one, and its thread, CPU and vCPU */
    const struct ctf_shape *shape; /* of the event, as far as it was read */
    struct text scratch;
    int32_t event_tid;
    int32_t event_cpu;
    int32_t event_vcpu;
    uint32_t event_comm;
    uint32_t comm; /* of the packet's thread */
    bool in_context;

    struct item items[RUN_MAX];
};

/* Whether TICKS have a time. */
static inline bool ctf_has_time(const struct ctf_trace *trace, uint64_t ticks)
{
    int64_t since = (int64_t)(ticks - trace->base_ticks);

    return since < 0 ? -(uint64_t)since <= trace->before_max : (uint64_t)since <= trace->after_max;
}

static inline int64_t ctf_to_ns(const struct ctf_trace *trace, uint64_t ticks)
{
    int64_t since = (int64_t)(ticks - trace->base_ticks);
    uint64_t length = since < 0 ? -(uint64_t)since : (uint64_t)since;
    uint64_t ns = mul_shift_u64(length, trace->factor, trace->shift);

    return (int64_t)((uint64_t)trace->base_ns + (since < 0 ? -ns : ns));
}

static inline bool ctf_has(const struct ctf_header_values *heard, enum ctf_role role)
{
    return heard->has >> role & 1;
}

/* What the events of the packet at hand are of. */
static inline struct origin *ctf_origin_of(const struct ctf *c)
{
    return c->class ? c->class->decl->origin : &c->trace->first->origin;
}

/* Whether Strata made it from another trace. */
bool ctf_is_exported(const struct ctf_trace *trace);
/* Whether LTTng traced a kernel. */
bool ctf_is_of_lttng_kernel(const struct ctf_trace *trace);

/* Goes on to the stream's next file: 1; 0: there is none; or a negative errno. */
int ctf_next_file(struct ctf *c);
void ctf_files_done(struct ctf_files *files);
/* Whether the packet whose header was read is of a tracer that has begun again: its number is lower, and it is later. */
bool ctf_has_restarted(const struct ctf *c);
/* Whether the packet whose header was read, number NUMBER, was in an earlier file, too: snapshots overlap. */
bool ctf_is_repeated(const struct ctf *c);

/* -EBADMSG, where the next byte of the input stands. */
int ctf_damaged(struct ctf *c, const char *format, ...) _printf_(2, 3) _cold_;
/* The same of TICKS, which have no time. */
int ctf_time_is_damaged(struct ctf *c, uint64_t ticks) _cold_;
int ctf_out_of_memory(struct ctf *c);

/* Notes what a thread is called now (TID may be PID_UNKNOWN); *RET_COMM: for items. LEN 0: nothing is known, and it is
 * 0. -ENOMEM. */
int ctf_note_thread(struct ctf *c, int32_t tid, const char *name, uint64_t len, uint32_t *ret_comm);

/* What TYPE (may be NULL) at CURSOR says goes into c->heard. As ctf_walk(). */
int ctf_walk_header(struct ctf *c, struct ctf_cursor *cursor, const struct ctf_type *type);
struct ctf_cursor ctf_cursor_of(const struct ctf *c);
/* Moves on to POSITION, or as far as the buffer goes. */
void ctf_move_to(struct ctf *c, uint64_t position);
/* Adds a loss to the run, of which there are *N. */
void ctf_put_loss(struct ctf *c, unsigned *n, enum loss_cause cause, uint64_t lost, int64_t since,
                  int64_t until);
/* What could not be read lasts until UNTIL. */
void ctf_end_gap(struct ctf *c, unsigned *n, int64_t until);
/* 1: a packet's header was read; 0: not all of it is in the buffer. Up to two items are added to the run,
 * of which there are *N. */
int ctf_open_packet(struct ctf *c, unsigned *n);
/* All records of the packet are read: reports dropped events, by up to one item. */
void ctf_end_events(struct ctf *c, unsigned *n);

/* How many bytes the fields of OF, which is direct, take at P, of which LEFT are there; SIZE_MAX: more. The first is for
 * those with strings. */
size_t ctf_size_of_strings(const struct ctf_class *of, const uint8_t *p, size_t left);
static inline size_t ctf_size_of(const struct ctf_class *of, const uint8_t *p, size_t left)
{
    if (unlikely(of->strings))
        return ctf_size_of_strings(of, p, left);
    return of->size <= left ? of->size : SIZE_MAX;
}

/* Adds records to the run, as far as they are in the buffer. 1: some more may be done; 0: the buffer ends
 * before the record does; 2: the other function reads the next one; -ENOBUFS: no room for its payload;
 * another negative errno: damage. The first is for streams with a known header, the second reads one
 * record of any kind. */
int ctf_walk_records(struct ctf *c, unsigned *n);
int ctf_walk_record(struct ctf *c, unsigned *n);

void ctf_facts(const struct source *source,
               void (*put)(void *arg, const char *key, const char *value), void *arg);
