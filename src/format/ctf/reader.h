/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files of the CTF stream reader (ctf.c): its state about a trace (trace.c), the current packet
 * (packet.c) and the event (event.c). */

#include "base/wide.h"
#include "format/ctf/ctf.h"
#include "format/ctf/decode.h"
#include "format/ctf/layout.h"

#define PACKET_MAGIC UINT32_C(0xc1fc1fc1)

#define RUN_MAX 2048
/* Bytes that are read first of a packet that may be skipped: enough for most headers. */
#define CTF_HEADER_READ ((size_t)512)
#define LOSSES_MAX 3 /* limit of losses that a packet adds */

/* The size of a made payload without its arrays: numbers, and the NULs and lengths of the rest. */
#define MADE_ROOM ((size_t)64 * 1024)

struct ctf_thread {
    struct ctf_thread *next;
    int32_t tid;
    uint32_t comm; /* number of its last known name */
};

#define THREAD_BUCKETS 256

/* Names of threads, each stored once; number 0: no name. Names beyond COMM_CHUNKS * COMM_CHUNK are not kept. */
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
    uint32_t n; /* number of names, and the highest number */
};

/* The origin of events of one layer. A trace has one origin, unless it was exported from several. */
struct ctf_origin {
    struct origin origin;
    const struct ctf_trace *trace;
    struct ctf_thread *threads[THREAD_BUCKETS];
};

/* A CPU of a tracer whose packets state their CPU: its streams that are not read completely. */
struct ctf_cpu {
    struct ctf_cpu *next;
    int32_t cpu;
    unsigned n_streams;
    int64_t end; /* end of its last packet; or TIME_UNKNOWN */
};

struct ctf_trace {
    struct ctf_origin *first; /* for streams without another origin */
    struct ctf_cpu *cpus;
    unsigned n_cpus; /* CPUs with such streams */
    int64_t end;     /* end of the last one of the other CPUs; TIME_UNKNOWN: none */
    /* Begin of the first packet of any CPU, as far as known; or TIME_UNKNOWN. */
    int64_t begin;
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
    /* limits of ticks from base_ticks that can be converted to ns */
    uint64_t after_max, before_max;
    struct ctf_comms comms;
    unsigned n_foreign; /* streams whose packets have another UUID than the metadata */
    const struct ctf *first_foreign;
};

/* Values from headers and contexts. */
struct ctf_header_values {
    uint64_t values[CTF_ROLES];
    uint32_t has; /* a bit for each role */
    uint8_t uuid[16];
    unsigned uuid_len;
    unsigned discarded_bits;
    unsigned number_bits; /* bits of the packet's number */
    const char *name;
    uint64_t name_len;
    uint64_t ticks; /* full value of the clock at the last time stamp */
};

/* The further files of a stream (chain.c). */
struct ctf_files {
    char **paths; /* files after the first */
    unsigned n, next;
    size_t capacity;        /* capacity of each file's buffer */
    uint64_t before, after; /* bytes of the files before and after the current file */
};

struct ctf {
    struct source source; /* first: the source is the reader */
    struct input in;
    struct ctf_trace *trace;
    /* NULL: its first packet does not state a CPU, or all of it was read */
    struct ctf_cpu *of_cpu;
    const struct ctf_stream_class *class; /* class of the current packet */
    bool keep_going;
    bool damaged; /* skip the following data */
    bool is_cut;  /* its recorder wrote more than the file has */
    bool foreign; /* its packets have another UUID than the metadata: `uuid` */
    uint8_t uuid[16];
    int failed;
    uint64_t *slots;
    /* The current packet; positions in bits from its begin. */
    bool in_packet;
    uint64_t origin; /* of the next byte of `in` */
    /* of the next bit: less than 8 bits after origin, or beyond the available data */
    uint64_t position;
    uint64_t content; /* end of its content; UINT64_MAX: end of the file */
    uint64_t size;    /* with padding */
    uint64_t end;     /* ticks */
    bool has_end;
    int32_t tid;
    int32_t cpu;
    /* Kept from packet to packet. */
    struct ctf_header_values heard;
    bool any;
    bool has_events; /* the packets so far, without repeated ones, had events */
    bool has_gap, has_held;
    bool is_repeated;   /* the current packet was already read in an earlier file */
    uint64_t number;    /* number of the previous packet */
    uint64_t discarded; /* events discarded up to the previous packet */
    uint64_t pending;   /* events dropped in the current packet */
    int64_t last;       /* time of the last item returned, or TIME_UNKNOWN */
    int64_t since;      /* end of the previous packet, or TIME_UNKNOWN */
    /* If has_gap: the unreadable data before the next packet. */
    uint64_t gap_bytes;
    int64_t gap_since;
    int64_t seek_time; /* packets that end before this time are skipped; INT64_MIN: none */
    /* If has_held: the last event of a packet. It is kept until the next packet states whether events were lost after
     * it. It has two payload buffers, because the previous held event may still be borrowed. */
    struct item held;
    uint8_t *held_payloads[2];
    unsigned next_held;
    struct ctf_files files;
    /* The made payloads of one run. */
    uint8_t *made;
    size_t made_len;
    size_t made_room;
    /* class of the current event; its thread, CPU and vCPU are below */
    const struct ctf_class *event;
    const struct ctf_shape *shape; /* shape of the event, as far as it was read */
    struct text scratch;
    int32_t event_tid;
    int32_t event_cpu;
    int32_t event_vcpu;
    uint32_t event_comm;
    uint32_t comm; /* name of the packet's thread */
    bool in_context;

    struct item items[RUN_MAX];
};

/* True if TICKS can be converted to a time. */
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

/* The origin of the events of the current packet. */
static inline struct origin *ctf_origin_of(const struct ctf *c)
{
    return c->class ? c->class->decl->origin : &c->trace->first->origin;
}

/* True if Strata exported the trace from another trace. */
bool ctf_is_exported(const struct ctf_trace *trace);
/* True if LTTng traced a kernel. */
bool ctf_is_of_lttng_kernel(const struct ctf_trace *trace);

/* Continues with the stream's next file. Returns 1; 0: there is none; or a negative errno. */
int ctf_next_file(struct ctf *c);
void ctf_files_done(struct ctf_files *files);
/* True if the packet whose header was read is from a restarted tracer: it has a lower number and a later time. */
bool ctf_has_restarted(const struct ctf *c);
/* True if the packet whose header was read was already in an earlier file, because snapshots overlap. */
bool ctf_is_repeated(const struct ctf *c);

/* Sets an error -EBADMSG at the next byte of the input, and returns it. */
int ctf_damaged(struct ctf *c, const char *format, ...) _printf_(2, 3) _cold_;
/* The same for TICKS that cannot be converted to a time. */
int ctf_time_is_damaged(struct ctf *c, uint64_t ticks) _cold_;
int ctf_out_of_memory(struct ctf *c);

/* Notes the present name of a thread (TID may be PID_UNKNOWN). *RET_COMM: the number of the name, for items. LEN 0: the
 * name is unknown, and *RET_COMM is 0. -ENOMEM. */
int ctf_note_thread(struct ctf *c, int32_t tid, const char *name, uint64_t len, uint32_t *ret_comm);

/* Reads TYPE (may be NULL) at CURSOR into c->heard. Returns as ctf_walk(). */
int ctf_walk_header(struct ctf *c, struct ctf_cursor *cursor, const struct ctf_type *type);
struct ctf_cursor ctf_cursor_of(const struct ctf *c);
/* Moves to POSITION, or to the end of the buffer if that comes first. */
void ctf_move_to(struct ctf *c, uint64_t position);
/* Adds a loss to the run of *N items. */
void ctf_put_loss(struct ctf *c, unsigned *n, enum loss_cause cause, uint64_t lost, int64_t since,
                  int64_t until);
/* Ends the unreadable gap at UNTIL. */
void ctf_end_gap(struct ctf *c, unsigned *n, int64_t until);
/* Reads a packet's header. Returns 1, or 0 if the buffer does not have all of it. Adds up to two items to the run of *N
 * items. */
int ctf_open_packet(struct ctf *c, unsigned *n);
/* Call it when all records of the packet are read. Reports dropped events by at most one item. */
void ctf_end_events(struct ctf *c, unsigned *n);

/* The size of the fields of OF, which must be direct, at P, of which LEFT bytes are available; SIZE_MAX: more. The
 * first function is for classes with strings. */
size_t ctf_size_of_strings(const struct ctf_class *of, const uint8_t *p, size_t left);
static inline size_t ctf_size_of(const struct ctf_class *of, const uint8_t *p, size_t left)
{
    if (unlikely(of->strings))
        return ctf_size_of_strings(of, p, left);
    return of->size <= left ? of->size : SIZE_MAX;
}

/* Add records in the buffer to the run. Return 1: there may be more; 0: the buffer ends before the record; 2: the other
 * function must read the next record; -ENOBUFS: no room for its payload; another negative errno: damage. The first
 * function is for streams with a known header; the second reads one record of any kind. */
int ctf_walk_records(struct ctf *c, unsigned *n);
int ctf_walk_record(struct ctf *c, unsigned *n);

void ctf_facts(const struct source *source,
               void (*put)(void *arg, const char *key, const char *value), void *arg);
