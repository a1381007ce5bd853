/* SPDX-License-Identifier: MIT */
#pragma once

/* The ring of a thread, as it lies in memory: what the emit path writes (strata/ring.h, inlined into
 * generated code; runtime/ring/ring_reserve.c), and what a consumer reads: the program's writer thread, a
 * collector outside of it, or `strata recover` after the program was killed.
 *
 * A ring is one shared mapping of a file in the process's directory (runtime/ring/process_file.h), or, where
 * there can be none, memory that only the process and its children have. All is in native byte order, as the CTF stream is.
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
 * Positions (committed, closed, oldest, consumed) count bytes since the ring was made and
 * only grow: position P lies at o.data + P % size. The sub-buffer of P begins at the last multiple of
 * the sub-buffer's size, and is a CTF 1.8 packet: a header (struct ring_packet_header), then records.
 * A packet is at least as long as its header and leaves the last 8 bytes of its sub-buffer free, so a
 * position that is a multiple of the sub-buffer's size means that no packet is open there.
 *
 * A record begins at a multiple of 8 and has, without padding between:
 *
 *          0      8  header word: (time << 16) | class (on big-endian machines class << 48 | time),
 *                    the time being the clock's low 48 bits
 *          8      …  the arguments in their C sizes; a string with its NUL
 *
 * and ends there; the next one begins at the next multiple of 8. What lies between is undefined.
 *
 * ## Writing
 *
 * Only the owning thread writes, so nothing here needs a locked instruction. But a signal handler may
 * interrupt the thread anywhere in the middle and write records of its own, and be interrupted itself. Each
 * such level has a ring of its own, up to RING_LEVELS of them, made when it is first needed: a record that
 * is emitted while another one is open goes into the ring of the next level. So of one ring there is at most
 * one open record, and nobody writes to the ring meanwhile but the one who opened it. `head`, `limit` and
 * `busy` are private to the thread; emitting is
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
 * A handler that comes before busy = 1 has emitted all that it has to when it returns; one that comes before
 * busy = 0 uses another ring. The room for a string is not known before it is copied: where the packet has
 * too little, the record, which is not committed yet, is moved to the next one.
 *
 * ## What holds at every instant (between any two instructions of the owner)
 *
 *  1. Records lie in the order of their time stamps: from the stamp to the commit no other record comes
 *     into the ring.
 *  2. All that lies in [oldest or consumed, committed) is complete: records, closed packets with their
 *     headers, and the header of the packet that is open but for its end, size and counts.
 *  3. A record that is acknowledged, that is, whose emission has returned, lies before `committed`.
 *  4. committed never goes back, and is not beyond head when the ring is not busy.
 *  5. closed <= committed: it is the begin of a sub-buffer, and every packet that begins before it is
 *     closed: its header is complete. (Consumers may poll it: its cache line changes once a sub-buffer.)
 *  6. `time` is the stamp of the last record before committed, or that of the record which begins there,
 *     being written.
 *  7. discard: head - consumed <= size: no byte that was not consumed is written over. An event that
 *     would need such is counted in `discarded` and in its class, and leaves no trace else.
 *  8. overwrite: oldest is raised before the first byte of the packet that it gives up is written over.
 *  9. What was counted in `discarded` and not yet in a packet's events_discarded was dropped after that
 *     packet began.
 * 10. Every byte of the data below `ready` has its page: no packet is opened beyond. The owner raises it, before
 *     it takes space for a packet; no other thread reads it.
 *
 * A process that is killed stops between two instructions and its stores reach the mapping in program
 * order, so what holds at every instant is what recovery finds. A live consumer runs on another
 * processor; what it needs is said at each barrier: the owner publishes by release stores of committed,
 * closed and oldest, consumers load them by acquire and look at bytes only below.
 *
 * Each store to the map that another process reads at any time is one instruction, on 32-bit machines too: by the
 * __atomic builtins, of words at multiples of 8. On i386 the compiler stores 64 bits by fistp or movq.
 *
 * All this is in tests/model/ring.pml for spin to search: change both.
 *
 * ## Reading
 *
 * A consumer of a discard ring takes from consumed up to closed, packet by packet, or up to committed
 * when it wants what lies in the open packet too. Then it makes up a header for that part, and for
 * the rest another one later: a packet in memory may become several in a file. Their events keep their
 * order. It releases what it has dealt with by raising consumed [release: after its last read].
 * A consumer of an overwrite ring copies, and then looks at oldest again [acquire fence: after the
 * copy]: if it was raised beyond what was copied, the copy is worthless.
 *
 * A consumer may be killed as well, and the next one goes on where it was. What it must know besides
 * `consumed` is written before, into the release of the two that is not in force: the one in force is
 * that whose end is `consumed`. So a consumer first stores what it has taken, then releases: what was
 * stored twice over is told by packet_seq_num, which is then not below that of the release in force.
 * The program's own writer notes so also how far it has written a flight recorder out.
 *
 * Rings outlive threads. A thread that ends closes its packet, so that its ring stands at the begin of
 * a sub-buffer, and sets owner to 0; the next thread that needs a ring takes it over by a
 * compare-and-exchange of owner, and opens a packet with its own thread id. */

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

/* Rings that a thread has at most: its own, and those of handlers that interrupt the emission of each other. */
#define RING_LEVELS 8

/* The class ids that a record may have. 0 never occurs. */
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
    uint64_t timestamp_begin;  /* full 64 bits of the clock */
    uint64_t timestamp_end;    /* not before its last record, not after the next packet's begin */
    uint64_t content_size;     /* bits, with this header */
    uint64_t packet_size;      /* bits, with padding */
    uint64_t packet_seq_num;   /* one up from packet to packet of a ring */
    uint64_t events_discarded; /* of this ring, since it was made */
    uint32_t pid;
    uint32_t tid;
    char thread_name[16]; /* at the time when the thread got the ring; padded with NULs */
};

#define CTF_MAGIC 0xc1fc1fc1U

/* ---- Making them (ring.c) ---- */

struct ring_options {
    const char *
        dir; /* parent of the process's directory (runtime/ring/process_dir.h); NULL: the default */
    bool unnamed; /* no directory, and no files */
    size_t size;  /* of a ring's data, rounded up to a power of two; 0: by how many there are */
    size_t subbuffer_size; /* likewise; 0: RING_SUBBUFFER_SIZE. At most half of the size. */
    size_t total; /* of all rings; those made when it is used up are small. 0: RING_TOTAL */
    bool overwrite;
    uint8_t uuid[16];
    uint32_t n_classes; /* how many drop counts a ring gets, at least; more classes count in 0 */
};

/* Of the first rings in discard mode, until they are a quarter of all memory for rings, and of the others. A thread fills
 * 4 MiB in 2 ms, in which its writer may not run: it sleeps, or others use the processor. Of a ring no more memory is taken
 * than was used of it. A flight recorder uses all of it. */
#define RING_SIZE_FEW (16U << 20)
#define RING_SIZE (4U << 20)
#define RING_SUBBUFFER_SIZE (64U << 10)
#define RING_TOTAL (1ULL << 30)
#define RINGS_MAX 4096

/* Sets how rings are made from now on; those that are there stay as they are. Without it rings are
 * made by the defaults. The strings are copied. Not from signal handlers. -EINVAL, -ENAMETOOLONG. */
int ring_setup(const struct ring_options *options);

/* The rings of this process: ring_at(0) to ring_at(ring_count() - 1). They stay until the process ends;
 * NULL where the making of one has not ended. Any thread. */
unsigned ring_count(void);
struct ring_map *ring_at(unsigned number);
/* Of the mapping of a ring that ring_at() gives. The map itself may be written to by others. */
size_t ring_length(unsigned number);

/* How many of a class were dropped by all rings and outside of them. */
uint64_t ring_drops_of(uint32_t class_id);

/* Whether no record is open, and nothing committed is left for a consumer. */
bool ring_all_taken(void);
/* The process ends. REMOVE: all is written out, and the files go. */
void ring_end(bool remove);

/* ---- Reading them (ring_read.c) ---- */

/* A consumer. Only one at a time may release; overwrite rings may be read by any number. */
struct ring_reader {
    struct ring_map *map;
    /* From the mapping when it was checked; not read again, because its writer is not trusted. */
    uint64_t size, subbuffer_size;
    const uint8_t *data;
    bool overwrite;
    uint64_t position;  /* up to where it has read */
    uint64_t sequence;  /* packet_seq_num of the next packet that it hands out */
    uint64_t time;      /* timestamp_end of the last packet */
    uint64_t discarded; /* its events_discarded */
    /* for the releasing consumer: events of this ring that could not be stored */
    uint64_t lost;
    uint64_t stored; /* packet_seq_num of the first packet that was not released at the start */
};

enum ring_reading {
    RING_CLOSED, /* packets that are closed */
    RING_FLUSH,  /* and what is committed in the open one */
};

/* A packet, or a part of one, to be written: header, then `content`. */
struct ring_packet {
    struct ring_packet_header
        header;             /* complete; packet_size is 96 + content_size up to a multiple of 8 */
    const uint8_t *content; /* records; aligned to 8; readable up to a multiple of 8 */
    size_t content_size;    /* bytes: without the header, without padding */
    uint64_t end;           /* position after it */
};

/* MAP is LENGTH bytes of a ring's file or mapping. Its sizes and positions are checked to lie inside.
 * -EINVAL: not a ring, or a damaged one; -ENOTSUP: another version. A reader of a discard ring begins
 * where the last one released, a reader of an overwrite ring with the oldest packet. */
int ring_reader_init(struct ring_reader *ret, void *map, size_t length);

/* The same without consuming, while another reader consumes: ignores the release positions. */
int ring_reader_look(struct ring_reader *ret, void *map, size_t length);

/* Overwrite rings: continues where the last reader released, or after what was overwritten since. */
void ring_reader_resume(struct ring_reader *reader);

/* The next packet, lent from the mapping: 1; 0: none now. For discard rings, and for overwrite rings
 * whose owner is dead. */
int ring_reader_next(struct ring_reader *reader, enum ring_reading how, struct ring_packet *ret);

/* A packet without records, at TIME, that reports all drops so far. Must not be released. */
void ring_reader_losses(struct ring_reader *reader, uint64_t time, struct ring_packet *ret);

/* What was handed out up to and with PACKET is dealt with; in a discard ring its space may be written
 * again. */
void ring_reader_release(struct ring_reader *reader, const struct ring_packet *packet);

/* Copies the next packet of an overwrite ring to BUFFER, of at least the sub-buffer's size, to which
 * ret->content then points: 1; 0: none now. Skips packets that were overwritten meanwhile;
 * packet_seq_num shows how many are missing. */
int ring_reader_copy(struct ring_reader *reader, enum ring_reading how, uint8_t *buffer,
                     struct ring_packet *ret);

/* Drops of this ring. */
uint64_t ring_discarded(const struct ring_map *map);
