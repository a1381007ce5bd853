/* SPDX-License-Identifier: MIT */
/* Small files of both versions, made by hand; trace-cmd 3.1.6 shows the same of them (but for zlib,
 * which Debian's is built without). Files as trace-cmd writes them: test_ftrace_captures.c. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bytes.h"
#include "event/program.h"
#include "format/trace_dat/codec.h"
#include "format/trace_dat/trace_dat.h"
#include "timeline/merge.h"

static uint8_t *file;
static size_t file_size;
/* That lack events by the file's own counts; looked for if it is on. */
static bool looks_for_lack;
static struct cpu_set lacking;

static void load(const char *name)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, TEST_DATA "/ftrace/made/%s.dat", name);
    f = fopen(path, "r");
    assert_non_null(f);
    free(file);
    file = malloc(65536);
    file_size = fread(file, 1, 65536, f);
    fclose(f);
}

static int read_all(bool keep_going, struct text *text, struct error *error)
{
    struct reader_options options = {.keep_going = keep_going};
    struct catalogue catalogue = {0};
    struct source **sources, *merged;
    const struct item *items;
    struct input in;
    unsigned n;
    int r;

    error_clear(error);
    assert_int_equal(input_open_memory(&in, file, file_size, "f"), 0);
    r = trace_dat_open(&in, "f", LAYER_GUEST, NULL, false, looks_for_lack ? &lacking : NULL,
                       &catalogue, &options, &sources, &n, error);
    if (r < 0) {
        catalogue_done(&catalogue);
        return r;
    }
    if (n == 0) {
        free(sources);
        catalogue_done(&catalogue);
        return 0;
    }
    assert_int_equal(merge_open(sources, n, &merged), 0);
    while ((r = source_next(merged, &items)) > 0) {
        for (int i = 0; i < r; i++) {
            const struct item *e = &items[i];
            const char *task;

            if (e->kind == ITEM_LOSS) {
                text_printf(text, "cpu%d lost %lld\n", e->cpu,
                            e->lost == LOST_UNKNOWN ? -1LL : (long long)e->lost);
                continue;
            }
            task = e->origin->task_name(e->origin, e->pid);
            text_printf(text, "%s %lld %s cpu%d %s-%d %s: ", e->origin->path, (long long)e->time,
                        e->origin->clock.name, e->cpu, task ? task : "?", e->pid, e->class->name);
            item_put_text(e, text);
            text_put_char(text, '\n');
        }
    }
    if (r < 0)
        *error = merged->error;
    source_free(merged);
    free(sources);
    catalogue_done(&catalogue);
    return r;
}

static void assert_events(const char *name, const char *expected)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;

    load(name);
    assert_int_equal(read_all(false, &text, &error), 0);
    text_put_char(&text, '\0');
    assert_string_equal(text.start, expected);
    text_done(&text);
}

static const char plain[] =
    "f 1005 monotonic cpu0 worker-9 numbers: a=1 b=-2 at 0xfffffffffffffffe\n"
    "f 1009 monotonic cpu1 other-10 numbers: a=10 b=20 at 0x14\n"
    "f 1012 monotonic cpu0 worker-9 numbers: a=2 b=-2130706141 at schedule+0x23\n"
    "f 1013 monotonic cpu0 other-10 print: schedule: hello\n"
    "cpu0 lost 12\n"
    "f 5001 monotonic cpu0 worker-9 numbers: a=3 b=4 at 0x4\n"
    "f 134218740 monotonic cpu1 other-10 numbers: a=11 b=21 at 0x15\n";

static void versions(void **state)
{
    assert_events("v6", plain);
    assert_events("v7", plain);
    assert_events("v7-zlib", plain);
    assert_events("v7-zstd", plain);
}

/* Corrections against the host, ticks to nanoseconds, and an offset. */
static void times(void **state)
{
    assert_events("v6-times",
                  "f 1624 tsc2nsec cpu1 other-10 numbers: a=10 b=20 at 0x14\n"
                  "f 1759 tsc2nsec cpu0 worker-9 numbers: a=1 b=-2 at 0xfffffffffffffffe\n"
                  "f 1769 tsc2nsec cpu0 worker-9 numbers: a=2 b=-2130706141 at schedule+0x23\n"
                  "f 1771 tsc2nsec cpu0 other-10 print: schedule: hello\n"
                  "cpu0 lost 12\n"
                  "f 8351 tsc2nsec cpu0 worker-9 numbers: a=3 b=4 at 0x4\n"
                  "f 201328220 tsc2nsec cpu1 other-10 numbers: a=11 b=21 at 0x15\n");
}

static void instances(void **state)
{
    assert_events("v7-instance",
                  "f 1005 monotonic cpu0 worker-9 numbers: a=1 b=-2 at 0xfffffffffffffffe\n"
                  "f 1009 monotonic cpu1 other-10 numbers: a=10 b=20 at 0x14\n"
                  "f:second 1009 boot cpu1 other-10 numbers: a=10 b=20 at 0x14\n"
                  "f 1012 monotonic cpu0 worker-9 numbers: a=2 b=-2130706141 at schedule+0x23\n"
                  "f 1013 monotonic cpu0 other-10 print: schedule: hello\n"
                  "cpu0 lost 12\n"
                  "f 5001 monotonic cpu0 worker-9 numbers: a=3 b=4 at 0x4\n"
                  "f 134218740 monotonic cpu1 other-10 numbers: a=11 b=21 at 0x15\n"
                  "f:second 134218740 boot cpu1 other-10 numbers: a=11 b=21 at 0x15\n");
}

/* Wherever a file ends, nothing is read behind the end, and the end is told. */
static void truncated(void **state)
{
    static const char *const names[] = {"v6",          "v6-times", "v7",
                                        "v7-instance", "v7-zlib",  "v7-zstd"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t whole;

        load(names[i]);
        whole = file_size;
        for (file_size = 0; file_size < whole; file_size++) {
            struct text text = TEXT_IN_MEMORY;
            struct error error;
            int r = read_all(false, &text, &error);

            /* The last page of version 6 may end behind its records. */
            if (r == 0)
                assert_true(file_size > whole - 512 && strncmp(names[i], "v6", 2) == 0);
            else
                assert_true(error.what[0] != '\0');
            text_done(&text);
        }
    }
}

/* Each byte of the file, one after the other, is another: whatever comes out, it comes back. */
static void garbled(void **state)
{
    static const char *const names[] = {"v6-times", "v7-instance", "v7-zlib", "v7-zstd"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        load(names[i]);
        for (size_t at = 0; at < file_size; at++) {
            static const uint8_t flips[] = {0x01, 0x80, 0xff};

            for (size_t k = 0; k < ARRAY_SIZE(flips); k++) {
                struct text text = TEXT_IN_MEMORY;
                struct error error;

                file[at] ^= flips[k];
                read_all(k & 1, &text, &error);
                file[at] ^= flips[k];
                text_done(&text);
            }
        }
    }
}

static void expect_error(int err, const char *what)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;

    assert_int_equal(read_all(false, &text, &error), err);
    if (!strstr(error.what, what))
        fail_msg("%s: instead of: %s", error.what, what);
    text_done(&text);
}

static void refused(void **state)
{
    static const uint8_t other[] = "\x17\x08\x44tracing8";
    uint8_t *codec;

    assert_true(trace_dat_is(other, sizeof other));
    assert_false(trace_dat_is(other, 9));
    load("v7");
    file[10] = '8';
    expect_error(-ENOTSUP, "version 8");
    load("v7-zlib");
    codec = memmem(file, file_size, "zlib", 4);
    memcpy(codec, "lzma", 4);
    expect_error(-ENOTSUP, "lzma");
    load("v7");
    memset(file + 12 + 6 + 7, 0, 8); /* where the options are */
    expect_error(-EBADMSG, "no options");
    load("v6");
    memcpy(memmem(file, file_size, "flyrecord", 9), "latency  ", 9);
    expect_error(-ENOTSUP, "latency");
}

/* Where in the file version 7 says where its options are, behind a compression of four letters. */
#define V7_OPTIONS 25

/* The data of option ID of the plain file of version 7. */
static uint8_t *find_option(unsigned id)
{
    uint8_t *p = file + load_le64(file + V7_OPTIONS) + 16;

    for (; load_le16(p) != id; p += 6 + load_le32(p + 2))
        assert_true(load_le16(p) != 0);
    return p + 6;
}

/* Adds a section of options to the plain file of version 7, with COUNTS as options CPUSTAT. */
static void add_counts(const char *const *counts, unsigned n)
{
    uint8_t *p;

    load("v7");
    store_le64(find_option(0), file_size);
    p = file + file_size;
    memset(p, 0, 16);
    p += 16;
    for (unsigned i = 0; i < n; i++) {
        uint32_t len = (uint32_t)strlen(counts[i]) + 1;

        store_le16(p, 2);
        store_le32(p + 2, len);
        memcpy(p + 6, counts[i], len);
        p += 6 + len;
    }
    store_le16(p, 0);
    store_le32(p + 2, 8);
    store_le64(p + 6, 0);
    p += 14;
    file_size = (size_t)(p - file);
}

static void expect_lack(const char *const *counts, unsigned n, const char *expected,
                        unsigned n_cpus)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;

    add_counts(counts, n);
    looks_for_lack = true;
    assert_int_equal(read_all(false, &text, &error), 0);
    looks_for_lack = false;
    text_put_char(&text, '\0');
    assert_string_equal(strstr(text.start, "f 5001"), expected);
    assert_int_equal(cpu_set_count(&lacking), n_cpus);
    text_done(&text);
}

#define COUNTS(cpu, entries, dropped, read)                                    \
    "CPU: " cpu "\nentries: " entries "\noverrun: 0\ndropped events: " dropped \
    "\nread events: " read "\n"

/* The file has 4 events of CPU 0, and 2 of CPU 1. */
static void fewer_events(void **state)
{
    static const char rest[] = "f 5001 monotonic cpu0 worker-9 numbers: a=3 b=4 at 0x4\n"
                               "f 134218740 monotonic cpu1 other-10 numbers: a=11 b=21 at 0x15\n";
    static const char cpu0[] = "f 5001 monotonic cpu0 worker-9 numbers: a=3 b=4 at 0x4\n"
                               "cpu0 lost 5\n"
                               "f 134218740 monotonic cpu1 other-10 numbers: a=11 b=21 at 0x15\n";
    const char *all[] = {COUNTS("0", "0", "0", "4"), COUNTS("1", "0", "0", "2")};
    const char *most[] = {COUNTS("0", "0", "0", "9"), COUNTS("1", "0", "0", "2")};
    const char *dropped[] = {COUNTS("0", "0", "5", "4")};
    /* What was in the buffer when the counts were taken may be counted twice. */
    const char *raced[] = {COUNTS("0", "3", "0", "4"), COUNTS("1", "1", "0", "2")};
    const char *more[] = {COUNTS("0", "0", "0", "1")};
    const char *twice[] = {COUNTS("0", "0", "0", "9"), COUNTS("0", "0", "0", "4")};
    const char *other[] = {"\nBuffer: second\n\n", COUNTS("0", "0", "0", "9")};
    const char *damaged[] = {"CPU: 0\nentries: 0\nread events: many\n", "CPU: 0"};

    expect_lack(all, 2, rest, 0);
    expect_lack(most, 2, cpu0, 1);
    expect_lack(dropped, 1, cpu0, 1);
    expect_lack(raced, 2, rest, 0);
    expect_lack(more, 1, rest, 0);
    expect_lack(twice, 2, rest, 0);
    expect_lack(other, 2, rest, 0);
    expect_lack(damaged, 2, rest, 0);
}

/* Tables that tell of no buffer at all, or make a small file a large one to read. */
static void tables(void **state)
{
    static uint8_t options[1000020], packed[8192];
    uint8_t *p;
    size_t n;

    load("v7");
    p = find_option(3) - 6;
    *p = 99;
    expect_error(-EBADMSG, "no buffer");

    /* As trace-cmd leaves it that was ended early. */
    load("v7");
    store_le32(find_option(3) + 18, 0);
    expect_error(-EBADMSG, "unfinished");

    load("v7");
    p = find_option(3) + 22;
    for (unsigned i = 0; i < 2; i++) {
        store_le64(p + 20 * i + 4, 0);
        store_le64(p + 20 * i + 12, file_size);
    }
    expect_error(-EBADMSG, "more than the whole file");

    /* A section of options that unpacks to a megabyte and says that it is the next one too. */
    load("v7-zstd");
    store_le32(options + 2, sizeof options - 20);
    *options = 99;
    p = options + sizeof options - 14;
    store_le32(p + 2, 8);
    store_le64(p + 6, file_size);
    n = ZSTD_compress(packed, sizeof packed, options, sizeof options, 1);
    assert_false(ZSTD_isError(n));
    store_le64(file + V7_OPTIONS, file_size);
    p = file + file_size;
    memset(p, 0, 16);
    p[2] = 1;
    store_le64(p + 8, n + 8);
    store_le32(p + 16, (uint32_t)n);
    store_le32(p + 20, sizeof options);
    memcpy(p + 24, packed, n);
    file_size += 24 + n;
    expect_error(-EBADMSG, "longer than 256 MB");
}

/* What a run of the reader may need for a file of some kilobytes. */
#define BOMB_MEMORY_MAX (UINT64_C(700) * 1024 * 1024)
#define BOMB_CPUS 64
#define BOMB_PAGE 4000000u

/* A section of the file's: its number and flags, then N bytes. */
static void append_section(unsigned id, const uint8_t *bytes, size_t n)
{
    uint8_t *p = file + file_size;

    memset(p, 0, 16);
    store_le16(p, (uint16_t)id);
    store_le64(p + 8, n);
    if (n)
        memcpy(p + 16, bytes, n);
    file_size += 16 + n;
}

/* A chunk of 32 MB of zeros, but for the times of its pages, for each of 64 CPUs, each in 1 KB of the file. */
static void chunks_that_unpack_to_gigabytes(void **state)
{
    static uint8_t packed[65536], table[64 + 20 * BOMB_CPUS];
    size_t size = 8 * (size_t)BOMB_PAGE, n, at;
    uint8_t *zeros = calloc(1, size);
    uint8_t *p = table, *bigger;
    struct rlimit before, limit;

    assert_non_null(zeros);
    for (at = 0; at < size; at += BOMB_PAGE)
        zeros[at] = 1;
    n = ZSTD_compress(packed, sizeof packed, zeros, size, 1);
    free(zeros);
    assert_false(ZSTD_isError(n));
    load("v7-zstd");
    bigger = realloc(file, file_size + 1000 + sizeof table + BOMB_CPUS * (n + 12));
    assert_non_null(bigger);
    file = bigger;
    store_le16(p, 3); /* the option of a buffer */
    store_le64(p + 6, file_size);
    append_section(3, NULL, 0);
    p[14] = 0; /* its name, then its clock */
    memcpy(p + 15, "mono", 5);
    store_le32(p + 20, BOMB_PAGE);
    store_le32(p + 24, BOMB_CPUS);
    file[file_size - 14] = 1; /* it is compressed */
    p += 28;
    for (unsigned i = 0; i < BOMB_CPUS; i++, p += 20) {
        store_le32(p, i);
        store_le64(p + 4, file_size);
        store_le64(p + 12, n + 12);
        store_le32(file + file_size, 1);
        store_le32(file + file_size + 4, (uint32_t)n);
        store_le32(file + file_size + 8, (uint32_t)size);
        memcpy(file + file_size + 12, packed, n);
        file_size += n + 12;
    }
    store_le32(table + 2, (uint32_t)(p - table - 6));
    /* The rest of the options is where it was. */
    store_le16(p, 0);
    store_le32(p + 2, 8);
    store_le64(p + 6, load_le64(file + V7_OPTIONS));
    at = file_size;
    append_section(0, table, (size_t)(p + 14 - table));
    store_le64(file + V7_OPTIONS, at);
    assert_true(file_size < 1000000);

    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
#ifndef __SANITIZE_ADDRESS__
    limit.rlim_cur = BOMB_MEMORY_MAX;
#endif
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    expect_error(-EBADMSG, "unpack to more than 512 MB");
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

static void codecs(void **state)
{
    static const uint8_t junk[64] = "no such thing";
    enum dat_codec codec;
    uint8_t *bytes;
    size_t n;

    assert_int_equal(dat_codec_find("zstd", &codec), 0);
    assert_int_equal(dat_codec_unpack(codec, junk, sizeof junk, 1000, &bytes, &n), -EBADMSG);
    assert_int_equal(dat_codec_unpack(codec, junk, 0, 1000, &bytes, &n), -EBADMSG);
    assert_int_equal(dat_codec_find("zlib", &codec), 0);
    assert_int_equal(dat_codec_unpack(codec, junk, sizeof junk, 1000, &bytes, &n), -EBADMSG);
    assert_int_equal(dat_codec_unpack(codec, junk, 0, 1000, &bytes, &n), -EBADMSG);
    assert_int_equal(dat_codec_find("lz4", &codec), -ENOTSUP);

    /* A megabyte of zeros in a kilobyte: no more is unpacked than is asked for. */
    {
        static uint8_t zeros[1 << 20], packed[8192];
        uLongf packed_size = sizeof packed;

        assert_int_equal(compress(packed, &packed_size, zeros, sizeof zeros), Z_OK);
        assert_int_equal(dat_codec_find("zlib", &codec), 0);
        assert_int_equal(dat_codec_unpack(codec, packed, packed_size, 100000, &bytes, &n), -EFBIG);
        assert_int_equal(dat_codec_unpack(codec, packed, packed_size, sizeof zeros, &bytes, &n), 0);
        assert_int_equal(n, sizeof zeros);
        assert_memory_equal(bytes, zeros, n);
        free(bytes);
        n = ZSTD_compress(packed, sizeof packed, zeros, sizeof zeros, 1);
        assert_false(ZSTD_isError(n));
        assert_int_equal(dat_codec_find("zstd", &codec), 0);
        packed_size = n;
        assert_int_equal(dat_codec_unpack(codec, packed, packed_size, 100000, &bytes, &n), -EFBIG);
        assert_int_equal(dat_codec_unpack(codec, packed, packed_size, sizeof zeros, &bytes, &n), 0);
        assert_int_equal(n, sizeof zeros);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),  cmocka_unit_test(times),
        cmocka_unit_test(instances), cmocka_unit_test(truncated),
        cmocka_unit_test(garbled),   cmocka_unit_test(refused),
        cmocka_unit_test(tables),    cmocka_unit_test(chunks_that_unpack_to_gigabytes),
        cmocka_unit_test(codecs),    cmocka_unit_test(fewer_events),
    };
    int r = cmocka_run_group_tests(tests, NULL, NULL);

    free(file);
    return r;
}
