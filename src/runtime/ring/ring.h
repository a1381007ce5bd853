/* SPDX-License-Identifier: MIT */
#pragma once

/* The memory layout of a thread's ring. The emit path writes it (strata/ring.h, inlined into generated code;
 * runtime/ring/ring_reserve.c). Consumers read it: the program's writer thread, an outside collector, or `strata
 * recover` after the program was killed.
 *
 * A ring is a shared mapping of a file in the process's directory (runtime/ring/process_file.h). If no file can be
 * created, it is memory that only the process and its children have. Everything is in native byte order, like the CTF
 * stream.
 *
 *     offset  bytes
 *          0      8  "STRARING"
 *          8      4  version, 2
 *         12      4  flags: 1 = overwrite (flight recorder), else discard; 2 = has no file
 *         16      8  size of the data, a power of two
 *         24      8  size of a sub-buffer, a power of two
 *         32      8  offset of the data, a multiple of 4096
 *         40      8  offset of the drop counts per class
 *         48      4  how many classes have a drop count (0 up to this - 1)
 *         52      4  the ring's number in its process
 *         56      4  pid of the process
 *         60      4  kind of clock: enum clock_kind
 *         64     16  UUID of the trace
 *         80      8  ticks a second of the clock, as known when the ring was made
 *         88      8  \
 *         96      8   > one moment: ticks, CLOCK_MONOTONIC ns, CLOCK_REALTIME ns
 *        104      8  /
 *        112      8  when the process began, in clock ticks since boot (/proc/PID/stat): pids come again
 *
 *        128      8  committed     the owner writes these for every event
 *        136      8  time
 *
 *        320      8  closed        the owner writes these when it goes to another sub-buffer or drops
 *        328      8  oldest
 *        336      8  discarded
 *        344      8  ready         up to which position the data has its pages; 2^64 - 1: all of it
 *
 *        384      8  consumed      the consumer writes these
 *        448     64  2 releases, 32 bytes each: end, packet_seq_num of the next packet, timestamp_end of
 *                    the last one, and how many events of this ring the consumer could not store
 *
 *        512      4  owner: a thread id, 0 when the ring is free
 *        516      4  the thread of the last packets
 *        520     16  its name, ended by a NUL
 *
 *   o.classes        8 x classes: how many events of each class were dropped
 *   o.data           the data
 *
 * Positions (committed, closed, oldest, consumed) count bytes since the ring was created and only grow: position P is
 * at o.data + P % size. The sub-buffer of P begins at the last multiple of the sub-buffer's size. A sub-buffer is a CTF
 * 1.8 packet: a header (struct ring_packet_header), then records. A packet is at least as long as its header and leaves
 * the last 8 bytes of its sub-buffer free, so a position that is a multiple of the sub-buffer's size means that no
 * packet is open there.
 *
 * A record begins at a multiple of 8 and has, without padding between:
 *
 *          0      8  header word: (time << 16) | class (on big-endian machines class << 48 | time),
 *                    the time being the clock's low 48 bits
 *          8      …  the arguments in their C sizes; a string with its NUL
 *
 * and ends there. The next record begins at the next multiple of 8. The bytes in between are undefined.
 *
 * ## Writing
 *
 * Only the owning thread writes, so nothing here needs a locked instruction. But a signal handler may interrupt the
 * thread anywhere, emit records itself, and be interrupted in turn. Each such level has a ring of its own, up to
 * RING_LEVELS rings, which is created when it is first needed: a record that is emitted while another record is open
 * goes into the ring of the next level. So a ring has at most one open record, and only the code that opened it writes
 * to the ring meanwhile. `head`, `limit` and `busy` are private to the thread. Emitting is
 *
 *             if busy: reserve_slow(), with the ring of the first level that is not busy
 *             busy = 1
 *             t = clock
 *             if the record does not fit in the packet or t is not less than 2^47 ticks after `time`:
 *                busy = 0; reserve_slow(), which closes the packet and opens the next one
 *             time = t
 *             write arguments, then the header word
 *             head = committed = end         [release]
 *             busy = 0
 *
 * A handler that runs before busy = 1 has emitted all its records when it returns. A handler that runs before busy = 0
 * uses another ring. The length of a string is unknown until it is copied. If the packet has too little room, the
 * record, which is not committed yet, is moved to the next packet.
 *
 * ## What holds at every instant (between any two instructions of the owner)
 *
 *  1. Records are in the order of their time stamps: between stamp and commit, no other record is put into the ring.
 *  2. Everything in [oldest or consumed, committed) is complete: records, closed packets with their headers, and the
 *     header of the open packet except its end, size and counts.
 *  3. A record whose emission has returned is before `committed`.
 *  4. committed never decreases, and is not beyond head while the ring is not busy.
 *  5. closed <= committed. closed is the begin of a sub-buffer. Every packet that begins before it is closed, and its
 *     header is complete. Consumers may poll it, because its cache line changes once per sub-buffer.
 *  6. `time` is the stamp of the last record before committed, or of the record that begins there and is being written.
 *  7. discard: head - consumed <= size, so no unconsumed byte is overwritten. An event without room is only counted, in
 *     `discarded` and for its class.
 *  8. overwrite: oldest is raised before the first byte of the packet that is given up is overwritten.
 *  9. Events that `discarded` counts and a packet's events_discarded does not yet count were dropped after that packet
 *     began.
 * 10. Every byte of the data below `ready` has its page: no packet is opened beyond. The owner raises it, before
 *     it takes space for a packet; no other thread reads it.
 *
 * A killed process stops between two instructions, and its stores reach the mapping in program order. So recovery finds
 * what holds at every instant. A live consumer runs on another processor. The comments at the barriers say what it
 * needs: the owner publishes by release stores of committed, closed and oldest; consumers load them by acquire and read
 * only bytes below them.
 *
 * Each store to the map that another process may read at any time is one instruction, also on 32-bit machines: it is an
 * __atomic builtin on a word at a multiple of 8. On i386, the compiler stores 64 bits by fistp or movq.
 *
 * All this is in tests/model/ring.pml for spin to search: change both.
 *
 * ## Reading
 *
 * A consumer of a discard ring reads from consumed to closed, packet by packet, or to committed if it also wants the
 * open packet. It then makes a header for that part, and later another header for the rest, so a packet in memory may
 * become several packets in a file. Their events keep their order. It releases finished packets by raising consumed
 * [release: after its last read]. A consumer of an overwrite ring copies a packet, and then reads oldest again [acquire
 * fence: after the copy]. If oldest was raised beyond the begin of the copy, the copy is worthless.
 *
 * A consumer may be killed too, and the next one continues where it was. What the next one must know besides `consumed`
 * is written first, into the unused one of the two releases; the valid release is the one whose end is `consumed`. A
 * consumer first stores packets, then releases them. If packets were stored a second time, packet_seq_num shows it: it
 * is then not below the packet_seq_num of the valid release. The program's own writer also notes in this way how far it
 * has written out a flight recorder.
 *
 * Rings outlive threads. A thread that ends closes its packet, so that its ring is at the begin of a sub-buffer, and
 * sets owner to 0. The next thread that needs a ring takes it over by a compare-and-exchange of owner, and opens a
 * packet with its own thread ID. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/clock.h"
#include "strata/trace.h"

#define RING_MAGIC "STRARING"
#define RING_VERSION 2
#define RING_OVERWRITE 1U
#define RING_NO_FILE 2U

/* Limit of rings of a thread: its own, and rings of handlers that interrupt emissions of each other. */
#define RING_LEVELS 8

/* The class IDs that a record may have. 0 never occurs. */
#define RING_CLASS_MIN 1
#define RING_CLASS_MAX 65535

struct ring_release {
    uint64_t end, sequence, time, lost;
};

/* See the table above. */
struct ring_map {
    char magic[8];
    uint32_t version;
    uint32_t flags;
    uint64_t size;
    uint64_t subbuffer_size;
    uint64_t data_offset;
    uint64_t classes_offset;
    uint32_t n_classes;
    uint32_t number;
    uint32_t pid;
    uint32_t clock_kind;
    uint8_t uuid[16];
    uint64_t clock_hz;
    struct clock_pair clock_pair;
    uint64_t process_start;
    uint64_t reserved0;

    /* The emit path uses the offsets of these two (struct strata_ring_commit). */
    uint64_t committed;
    uint64_t time;
    uint64_t reserved1[6];
    uint64_t reserved2[16];

    uint64_t closed;
    uint64_t oldest;
    uint64_t discarded;
    uint64_t ready;
    uint64_t reserved3[4];

    uint64_t consumed;
    uint64_t reserved4[7];
    struct ring_release releases[2];

    uint32_t owner;
    uint32_t tid;
    char thread_name[16];
};

/* What each packet begins with: CTF's packet header (magic, uuid, stream_id) and our packet context.
 * 96 bytes; the metadata declares the same. */
struct ring_packet_header {
    uint32_t magic; /* CTF_MAGIC */
    uint8_t uuid[16];
    uint32_t stream_id;        /* 0: there is one class of streams */
    uint64_t timestamp_begin;  /* all 64 bits of the clock */
    uint64_t timestamp_end;    /* not before its last record, not after the next packet's begin */
    uint64_t content_size;     /* bits, with this header */
    uint64_t packet_size;      /* bits, with padding */
    uint64_t packet_seq_num;   /* increases by one from packet to packet of a ring */
    uint64_t events_discarded; /* of this ring, since it was made */
    uint32_t pid;
    uint32_t tid;
    char thread_name[16]; /* name when the thread got the ring; padded with NULs */
};

#define CTF_MAGIC 0xc1fc1fc1U

/* ---- Making them (ring.c) ---- */

struct ring_options {
    const char *
        dir; /* parent of the process's directory (runtime/ring/process_dir.h); NULL: the default */
    bool unnamed; /* no directory, and no files */
    /* bytes of a ring's data, rounded up to a power of two; 0: depends on the number of rings */
    size_t size;
    size_t subbuffer_size; /* likewise; 0: RING_SUBBUFFER_SIZE. At most half of the size. */
    /* of all rings; rings that are created beyond it are small; 0: RING_TOTAL */
    size_t total;
    bool overwrite;
    uint8_t uuid[16];
    /* minimal number of drop counts per ring; further classes count in 0 */
    uint32_t n_classes;
};

/* RING_SIZE_FEW is the size of the first rings in discard mode, until they use a quarter of all memory for rings;
 * RING_SIZE is the size of the others. A thread fills 4 MiB in 2 ms. Its writer may not run during this time, because
 * it sleeps or others use the processor. A ring takes only as much memory as was used; a flight recorder uses all of
 * it. */
#define RING_SIZE_FEW (16U << 20)
#define RING_SIZE (4U << 20)
#define RING_SUBBUFFER_SIZE (64U << 10)
#define RING_TOTAL (1ULL << 30)
#define RINGS_MAX 4096

/* Sets how rings are created from now on; existing rings stay unchanged. Default: the default options. The strings are
 * copied. Not from signal handlers. -EINVAL, -ENAMETOOLONG. */
int ring_setup(const struct ring_options *options);

/* The rings of this process: ring_at(0) to ring_at(ring_count() - 1). They stay until the process ends. NULL: the ring
 * is still being created. Any thread. */
unsigned ring_count(void);
struct ring_map *ring_at(unsigned number);
/* The length of the mapping of ring_at(NUMBER) in bytes. It is not read from the map, which others may write to. */
size_t ring_length(unsigned number);

/* The number of events of a class that were dropped by all rings and outside of rings. */
uint64_t ring_drops_of(uint32_t class_id);

/* True if no record is open, and no committed data is left for a consumer. */
bool ring_all_taken(void);
/* Call it when the process ends. REMOVE: everything is written out, so the files are removed. */
void ring_end(bool remove);

/* ---- Reading them (ring_read.c) ---- */

/* A consumer. Only one consumer at a time may release; any number may read overwrite rings. */
struct ring_reader {
    struct ring_map *map;
    /* Copied when the mapping was checked, and not read again, because its writer is not trusted. */
    uint64_t size, subbuffer_size;
    const uint8_t *data;
    bool overwrite;
    uint64_t position;  /* end of what it has read */
    uint64_t sequence;  /* packet_seq_num of the next packet that it returns */
    uint64_t time;      /* timestamp_end of the last packet */
    uint64_t discarded; /* its events_discarded */
    /* for the releasing consumer: events of this ring that could not be stored */
    uint64_t lost;
    /* packet_seq_num of the first packet that was not released at the start */
    uint64_t stored;
};

enum ring_reading {
    RING_CLOSED, /* closed packets */
    RING_FLUSH,  /* … and committed records in the open packet */
};

/* A packet, or a part of a packet, to be written: header, then `content`. */
struct ring_packet {
    /* complete; packet_size is 96 + content_size, rounded up to a multiple of 8 */
    struct ring_packet_header header;
    const uint8_t *content; /* records; aligned to 8; readable up to a multiple of 8 */
    size_t content_size;    /* bytes: without the header, without padding */
    uint64_t end;           /* position after it */
};

/* MAP: LENGTH bytes of a ring's file or mapping. Checks that its sizes and positions lie inside. -EINVAL: not a ring,
 * or a damaged ring; -ENOTSUP: another version. A reader of a discard ring begins where the last reader released; a
 * reader of an overwrite ring begins with the oldest packet. */
int ring_reader_init(struct ring_reader *ret, void *map, size_t length);

/* The same without consuming, while another reader consumes: ignores the release positions. */
int ring_reader_look(struct ring_reader *ret, void *map, size_t length);

/* Overwrite rings: continues where the last reader released, or after what was overwritten since. */
void ring_reader_resume(struct ring_reader *reader);

/* Returns 1 with the next packet, which is borrowed from the mapping; 0: none now. For discard rings, and for overwrite
 * rings whose owner is dead. */
int ring_reader_next(struct ring_reader *reader, enum ring_reading how, struct ring_packet *ret);

/* A packet without records, at TIME, that reports all drops so far. Must not be released. */
void ring_reader_losses(struct ring_reader *reader, uint64_t time, struct ring_packet *ret);

/* Releases all returned packets up to PACKET. In a discard ring, their space may then be overwritten. */
void ring_reader_release(struct ring_reader *reader, const struct ring_packet *packet);

/* Copies the next packet of an overwrite ring to BUFFER, of at least the sub-buffer's size; ret->content then points
 * there. Returns 1; 0: none now. Skips packets that were overwritten meanwhile; packet_seq_num shows how many are
 * missing. */
int ring_reader_copy(struct ring_reader *reader, enum ring_reading how, uint8_t *buffer,
                     struct ring_packet *ret);

/* The number of events that this ring has dropped. */
uint64_t ring_discarded(const struct ring_map *map);
