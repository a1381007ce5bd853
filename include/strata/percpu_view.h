/* SPDX-License-Identifier: MIT */
#ifndef STRATA_PERCPU_VIEW_H
#define STRATA_PERCPU_VIEW_H

/* The consumer's side of per-CPU trace buffers in the layout that Xen publishes. The buffers are from a running Xen, or
 * from any program that traces with strata/percpu.h.
 *
 * Freestanding: the functions need no libc. They return 0 or more, or a negative error with the number of Linux's
 * errno. A function that fails leaves its outputs untouched. The functions check the content of the buffers before they
 * use it. The consumer checks the content of records.
 *
 * Threads: a buffer has one consumer at a time, besides the CPU that writes it. Signals: all functions are safe in
 * signal handlers, under the same rule.
 *
 * ## The buffer of a CPU (Xen calls it struct t_buf), N pages of 4096 bytes
 *
 *     offset  bytes
 *          0      4  cons   end of what was read; the consumer writes it
 *          4      4  prod   end of the records; the CPU writes it
 *          8      X  data   X = N * 4096 - 8: not a power of two
 *
 * cons and prod count modulo 2X: position P is at data + P % X. So a buffer is empty if cons == prod, and full if
 * prod == cons + X (modulo 2X). Both are multiples of 4. Records follow each other. They may cross the end of a page,
 * but not the end of the data: a record WRAP_BUFFER fills the space there that is too short for the next record.
 *
 * ## A record (struct t_rec)
 *
 *     offset  bytes
 *          0      4  header: bits 0-27 event, 28-30 E: number of extra words, 31 C: 1 if cycles follow
 *          4    8*C  cycles of the CPU's time stamp counter, low word first
 *      4+8*C    4*E  extra words: the payload
 *
 * In an event, bits 16-27 are its class (one bit), 12-15 its subclasses, 0-11 its number.
 *
 *     0x1f001  LOST_RECORDS  with cycles; {count, domain:16 | vcpu:16, cycles of the first lost one: 64}:
 *                            the CPU had no room for `count` records before this one
 *     0x1f002  WRAP_BUFFER   a filler; its extra words have no meaning. It has cycles if it must fill more
 *                            than 7 extra words
 *
 * ## Where the buffers are (struct t_info)
 *
 *     offset  bytes
 *          0      2  pages per buffer
 *          2    2*C  for each CPU: where its list of pages begins, in units of 4 bytes from the start of
 *                    this structure; 0: the CPU is offline and has no buffer
 *          …         the lists: 4 bytes per page, its machine frame number
 *
 * t_info does not state the number of CPUs. All numbers are in the byte order of the machine. A number of 64 bits in a
 * record is two words.
 *
 * Source: the layouts in Xen's public header xen/include/public/trace.h, and what Xen 4.17 and 4.22 were
 * seen to write. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STRATA_PERCPU_PAGE 4096U

/* Errors, as -STRATA_PERCPU_E…; Linux's numbers. */
#define STRATA_PERCPU_EBUSY 16
#define STRATA_PERCPU_ENODEV 19
#define STRATA_PERCPU_EINVAL 22
#define STRATA_PERCPU_EBADMSG 74
#define STRATA_PERCPU_ENOTSUP 95
#define STRATA_PERCPU_ESTALE 116

/* ---- A CPU's buffer ---- */

/* A consumer's view of one buffer. It owns nothing. */
struct strata_percpu_view {
    uint32_t *buffer; /* cons, prod */
    const uint8_t *data;
    uint32_t size; /* X, bytes */
    /* as strata_percpu_view_windows() last found them */
    uint32_t cons, prod;
};

/* A contiguous run of bytes. */
struct strata_percpu_window {
    const uint8_t *data;
    size_t size;
};

/* MEMORY: BYTES bytes with one buffer, mapped for reading and writing as long as the view is used. -EINVAL:
 * not aligned to 4, or an invalid size. */
int strata_percpu_view_init(struct strata_percpu_view *ret, void *memory, size_t bytes);

/* Finds what can be read, in order. Returns the number of windows that it set in RET: 0, 1 or 2; the others are empty.
 * Windows stay readable until they are released. Each window has whole records. -EBADMSG: invalid cons and prod; the
 * view is unchanged. */
int strata_percpu_view_windows(struct strata_percpu_view *view, struct strata_percpu_window ret[2]);

/* Returns the first BYTES bytes of the last windows to the CPU, which may then overwrite them. BYTES is all of the
 * windows, or ends after a record. May be called several times for the same windows. -EINVAL: more bytes than the windows
 * have left, or not a multiple of 4. -ESTALE: cons is not where this view left it: there is another
 * consumer, or the CPU has started its buffer again. */
int strata_percpu_view_release(struct strata_percpu_view *view, size_t bytes);

/* Drops all that can be read now. Returns the number of bytes; -EBADMSG as above. */
int64_t strata_percpu_view_skip(struct strata_percpu_view *view);

/* The same, with any value of cons: for a buffer whose last consumer left it inconsistent. -EBADMSG: prod is damaged,
 * which only the CPU could repair. */
int strata_percpu_view_reset(struct strata_percpu_view *view);

/* ---- t_info ---- */

struct strata_percpu_info {
    const uint8_t *memory;
    size_t bytes;
    uint32_t pages; /* per buffer, at least 1 */
};

/* MEMORY has BYTES bytes with a t_info, and must stay while RET is used. -EINVAL: it is not aligned to 4, or too short;
 * -EBADMSG: it says that buffers have no pages. */
int strata_percpu_info_init(struct strata_percpu_info *ret, const void *memory, size_t bytes);

/* The list of INFO->pages page numbers of a CPU's buffer. -ENODEV: the CPU is offline. -EINVAL: there is no CPU of this
 * number, because its entry would be outside of the memory. -EBADMSG: its list is outside of the memory. */
int strata_percpu_info_cpu(const struct strata_percpu_info *info, unsigned cpu,
                           const uint32_t **ret_pages);

#ifdef __cplusplus
}
#endif

#endif
