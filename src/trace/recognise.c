/* SPDX-License-Identifier: MIT */
#include "trace/recognise.h"

#include <string.h>

#include "base/macro.h"
#include "format/ftrace/page.h"
#include "format/kernel_text/kernel_text.h"
#include "format/perf_data/perf_data.h"
#include "format/qemu_log/qemu_log.h"
#include "format/simpletrace/simpletrace.h"
#include "format/trace_dat/trace_dat.h"
#include "format/xentrace/record.h"

/* Pages have no magic number. Bytes count as a page if its records fit together and have plausible event numbers.
 * Accepts the kernel's 4 KB pages and larger pages, which users can choose. */
static bool is_ftrace_page(const uint8_t *head, size_t n, bool swap)
{
    static const uint32_t sizes[] = {4096, 8192};
    const uint16_t one = 1;
    bool big_endian = *(const uint8_t *)&one != 1;

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct ftrace_layout layout = {.long_size = 8, .commit = 8, .data = 16, .size = sizes[i]};
        struct ftrace_record record;
        struct ftrace_page page;
        const char *what;
        unsigned records = 0;
        int r;

        ftrace_layout_set_order(&layout, big_endian != swap);
        if (n < sizes[i] || !ftrace_page_is_plausible(&layout, head, n) ||
            ftrace_page_open(&page, &layout, head, sizes[i], &what) < 0)
            continue;
        while ((r = ftrace_page_next(&page, &layout, &record)) > 0) {
            /* The common fields alone take 8 bytes. */
            if (record.size < 8)
                break;
            records++;
        }
        if (r == 0 && records > 0)
            return true;
    }
    return false;
}

static bool begins(const void *head, size_t n, const char *magic, size_t len)
{
    return n >= len && memcmp(head, magic, len) == 0;
}

enum input_format recognise(const void *head, size_t n)
{
    int log = qemu_log_probe(head, n);

    if (simpletrace_probe(head, n))
        return INPUT_FORMAT_SIMPLETRACE;
    if (trace_dat_is(head, n))
        return INPUT_FORMAT_TRACE_DAT;
    if (perf_data_is(head, n))
        return INPUT_FORMAT_PERF_DATA;
    if (log == 2)
        return INPUT_FORMAT_QEMU_LOG;
    if (kernel_text_probe(head, n))
        return INPUT_FORMAT_KERNEL_TEXT;
    if (xentrace_recognise(head, n))
        return INPUT_FORMAT_XENTRACE;
    if (is_ftrace_page(head, n, false) || is_ftrace_page(head, n, true))
        return INPUT_FORMAT_FTRACE_PAGES;
    /* Nearly any text could be a log without times. */
    return log == 1 ? INPUT_FORMAT_QEMU_LOG : INPUT_FORMAT_UNKNOWN;
}

const char *recognise_packed(const void *head, size_t n)
{
    static const struct {
        const char *magic;
        size_t len;
        const char *command;
    } packers[] = {
        {"\x1f\x8b", 2, "gzip -dc"},
        {"\xfd"
         "7zXZ",
         5, "xz -dc"},
        {"\x28\xb5\x2f\xfd", 4, "zstd -dc"},
        {"BZh", 3, "bzip2 -dc"},
        {"\x04\x22\x4d\x18", 4, "lz4 -dc"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(packers); i++)
        if (begins(head, n, packers[i].magic, packers[i].len))
            return packers[i].command;
    return NULL;
}

/* Perfetto's trace is a protobuf message of packets: field 1, a length, the packet; here the first two and the tag of a third. */
static bool is_perfetto(const uint8_t *head, size_t n)
{
    size_t at = 0;

    for (unsigned packets = 0; packets < 2; packets++) {
        size_t len = 0;
        unsigned shift = 0;

        if (at >= n || head[at++] != 0x0a)
            return false;
        do {
            if (at >= n || shift > 21)
                return false;
            len |= (size_t)(head[at] & 0x7f) << shift;
            shift += 7;
        } while (head[at++] & 0x80);
        if (len == 0 || len > n - at)
            return false;
        at += len;
    }
    return at < n && head[at] == 0x0a;
}

bool recognise_exported(const void *head, size_t n, const char **ret_what, const char **ret_viewer)
{
    if (begins(head, n, "SQLite format 3", 16)) {
        *ret_what = "a SQLite database";
        *ret_viewer = "sqlite3";
    } else if (begins(head, n, "PAR1", 4)) {
        *ret_what = "a Parquet file";
        *ret_viewer = "DuckDB, for example";
    } else if (is_perfetto(head, n)) {
        *ret_what = "a Perfetto trace";
        *ret_viewer = "ui.perfetto.dev";
    } else {
        return false;
    }
    return true;
}
