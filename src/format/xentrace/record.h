/* SPDX-License-Identifier: MIT */
#pragma once

/* One record of Xen's trace buffers, as xentrace writes them to a file.
 *
 *     offset  size  what
 *     0       4     header: bits 0-27 event, 28-30 number E of extra words, 31 C: a cycle count follows
 *     4       8*C   cycle count of the cpu's time stamp counter
 *     4+8*C   4*E   extra words, the payload
 *
 * There is no file header, no version, no alignment beyond 4 bytes. In the event, bits 16-27 are its class (one bit), bits
 * 12-15 its subclass, bits 0-11 its number.
 *
 * Everything is words of 32 bits in the byte order of the machine. A number of 64 bits has its low word first. Every
 * machine on which Xen runs is little-endian. Programs that use libstrata-percpu on a big-endian machine write
 * big-endian files. The first window shows the byte order. Readers convert big-endian words to little-endian as they
 * read them (xentrace_words_to_le()).
 *
 * A file is a chain of windows. A window is a record CPU_CHANGE (made by xentrace, not by Xen), with
 * the extra words {cpu, bytes of the window}, and then that many bytes of that cpu's records; a record
 * never crosses the end of its window.
 *
 * Source: the layouts in Xen's public header xen/include/public/trace.h, and files of xentrace 4.17 and 4.22. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    XEN_LOST_RECORDS =
        0x1f001,               /* {count, domain:16 | vcpu:16, cycle count of the first lost: 64} */
    XEN_WRAP_BUFFER = 0x1f002, /* fills the buffer's end; its words are stale */
    XEN_CPU_CHANGE = 0x1f003,  /* {cpu, bytes} */
    XEN_TRACE_IRQ = 0x1f004,

    XEN_CONTINUE_RUNNING = 0x21002,
    XEN_SWITCH = 0x2800a,
    XEN_SWITCH_INFCONT = 0x28011,

    XEN_SVM_EXIT = 0x81003, /* since Xen 4.19; before, VMX and SVM share 0x81002 */
    XEN_SVM_EXIT64 = 0x81103,

    XEN_HYPERCALL_V2 = 0x20100d,
    XEN_HYPERCALL_SUBCALL = 0x20200e,
};

#define XEN_CLASS_GEN 0x0001f000u
#define XEN_CLASS_GUEST 0x0800f000u

#define XENTRACE_RECORD_MAX 40
/* True if little-endian words have the other byte order than this machine. */
#define XENTRACE_SWAPPED (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
#define XENTRACE_WINDOW_HEADER_SIZE 12
#define XENTRACE_WINDOW_HEADER 0x2001f003u
/* Xen can be built for at most 4095 CPUs; a larger number means damage. */
#define XENTRACE_CPUS_MAX 4096u

static inline uint32_t xentrace_event(uint32_t header)
{
    return header & 0x0fffffff;
}

static inline unsigned xentrace_words(uint32_t header)
{
    return header >> 28 & 7;
}

static inline bool xentrace_has_tsc(uint32_t header)
{
    return header >> 31;
}

static inline uint32_t xentrace_record_size(uint32_t header)
{
    return 4 + 8 * (header >> 31) + 4 * (header >> 28 & 7);
}

/* True if Xen can have written such a header: exactly one class, and a subclass. */
static inline bool xentrace_header_plausible(uint32_t header)
{
    uint32_t class = header >> 16 & 0xfff;

    return class != 0 && (class & (class - 1)) == 0 && (header & 0xf000) != 0;
}

static inline uint32_t xentrace_load(const uint8_t *p, bool big_endian)
{
    return load_u32_swap(p, big_endian ? !XENTRACE_SWAPPED : XENTRACE_SWAPPED);
}

/* True if the 12 bytes at P can be a window's CPU_CHANGE record. */
static inline bool xentrace_window_plausible(const uint8_t *p, bool big_endian)
{
    return xentrace_load(p, big_endian) == XENTRACE_WINDOW_HEADER &&
           xentrace_load(p + 4, big_endian) < XENTRACE_CPUS_MAX &&
           xentrace_load(p + 8, big_endian) % 4 == 0;
}

/* True if a file that begins with these bytes (some KB if possible) is such a stream. A file whose beginning was cut
 * off is recognised by the first window in the bytes. */
bool xentrace_recognise(const uint8_t *p, size_t len);

/* True if the words of that stream are big-endian. */
bool xentrace_is_big_endian(const uint8_t *p, size_t len);

/* The first place in P from FROM on where a window may begin; LEN: none. Fewer than 12 bytes at the end are not
 * checked. */
size_t xentrace_find_window(const uint8_t *p, size_t len, size_t from, bool big_endian);

/* Converts the big-endian words at P to little-endian. Bytes after the last whole word of LEN bytes stay unchanged. */
void xentrace_words_to_le(uint8_t *p, size_t len);
