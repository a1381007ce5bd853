/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "trace/recognise.h"

static uint8_t head[1 << 14];

/* Fills `head` with the beginning of a file of the test data. */
static size_t load(const char *path)
{
    char command[512];
    size_t n;
    FILE *file;

    snprintf(command, sizeof command, "%s '%s/%s'", strstr(path, ".xz") ? "xz -dc" : "cat",
             TEST_DATA, path);
    file = popen(command, "r");
    assert_non_null(file);
    n = fread(head, 1, sizeof head, file);
    pclose(file);
    assert_true(n > 0);
    return n;
}

static void test_kinds(void **state)
{
    static const struct {
        const char *path;
        enum input_format kind;
    } files[] = {
        {"qemu/trace.simpletrace.xz", INPUT_FORMAT_SIMPLETRACE},
        {"qemu/made/v0.simpletrace", INPUT_FORMAT_SIMPLETRACE},
        {"qemu/made/v2.simpletrace", INPUT_FORMAT_SIMPLETRACE},
        {"qemu/made/v3.simpletrace", INPUT_FORMAT_SIMPLETRACE},
        {"qemu/made/v4-big-endian.simpletrace", INPUT_FORMAT_SIMPLETRACE},
        {"qemu/stock-qemu.log.xz", INPUT_FORMAT_QEMU_LOG},
        {"xen/xen-4.17-all.raw.xz", INPUT_FORMAT_XENTRACE},
        {"xen/xen-4.22-all.raw.xz", INPUT_FORMAT_XENTRACE},
        {"ftrace/guest-local-clock/cpu0.raw.xz", INPUT_FORMAT_FTRACE_PAGES},
        {"ftrace/guest-local-clock/cpu1.raw.xz", INPUT_FORMAT_FTRACE_PAGES},
        {"ftrace/guest-tsc-clock/cpu0.raw.xz", INPUT_FORMAT_FTRACE_PAGES},
        {"ftrace/guest-tsc-clock/cpu1.raw.xz", INPUT_FORMAT_FTRACE_PAGES},
        {"ftrace/made/v6.dat", INPUT_FORMAT_TRACE_DAT},
        {"ftrace/made/v7-zstd.dat", INPUT_FORMAT_TRACE_DAT},
        {"perf/made/little.data", INPUT_FORMAT_PERF_DATA},
        {"perf/made/big.data", INPUT_FORMAT_PERF_DATA},
        {"perf/stream.data.xz", INPUT_FORMAT_PERF_DATA},
        {"xen/formats", INPUT_FORMAT_UNKNOWN},
        {"qemu/made/make.py", INPUT_FORMAT_UNKNOWN},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(files); i++) {
        size_t n = load(files[i].path);

        if (recognise(head, n) != files[i].kind)
            fail_msg("%s is taken for %u", files[i].path, recognise(head, n));
        /* Whatever is there of a beginning, no byte behind it is looked at. */
        for (size_t m = 0; m <= MIN(n, (size_t)4200); m += m < 100 ? 1 : 41) {
            uint8_t *copy = malloc(m ? m : 1);
            enum input_format kind;

            assert_non_null(copy);
            memcpy(copy, head, m);
            kind = recognise(copy, m);
            if (m >= 4096)
                assert_int_equal(kind, files[i].kind);
            free(copy);
        }
    }
}

/* A page written on a machine of the other byte order. */
static void test_swapped_page(void **state)
{
    uint8_t page[4096] = {0};
    uint8_t *p = page + 16;

    memcpy(page, "\0\0\0\1\2\3\4\5", 8);        /* time */
    memcpy(page + 8, "\0\0\0\0\0\0\0\x18", 8);  /* 24 bytes of records */
    for (unsigned i = 0; i < 2; i++, p += 12) { /* type_len 2 in the top bits: 8 bytes */
        memcpy(p, "\x10\0\0\5", 4);
        memcpy(p + 4, "\0\1\0\0\0\0\0\1", 8);
    }
    assert_int_equal(recognise(page, sizeof page), INPUT_FORMAT_FTRACE_PAGES);
    page[15] = 0x17; /* the records do not fit together */
    assert_int_equal(recognise(page, sizeof page), INPUT_FORMAT_UNKNOWN);
}

static void test_not_captures(void **state)
{
    uint64_t seed = 1;

    memset(head, 0, sizeof head);
    assert_int_equal(recognise(head, sizeof head), INPUT_FORMAT_UNKNOWN);
    memset(head, 0xff, sizeof head);
    assert_int_equal(recognise(head, sizeof head), INPUT_FORMAT_UNKNOWN);
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < sizeof head; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            head[i] = (uint8_t)(seed >> 56);
        }
        assert_int_equal(recognise(head, sizeof head), INPUT_FORMAT_UNKNOWN);
    }
    assert_int_equal(recognise(head, 0), INPUT_FORMAT_UNKNOWN);
}

static void test_packed(void **state)
{
    assert_string_equal(recognise_packed("\xfd"
                                         "7zXZ\0",
                                         6),
                        "xz -dc");
    assert_string_equal(recognise_packed("\x1f\x8b\x08", 3), "gzip -dc");
    assert_string_equal(recognise_packed("\x28\xb5\x2f\xfd", 4), "zstd -dc");
    assert_null(recognise_packed("\x28\xb5\x2f", 3));
    assert_null(recognise_packed("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_swapped_page),
        cmocka_unit_test(test_not_captures),
        cmocka_unit_test(test_packed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
