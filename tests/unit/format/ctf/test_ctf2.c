/* SPDX-License-Identifier: MIT */
/* The metadata of CTF 2: what is refused, and what hostile metadata cost. tests/golden/ctf.sh reads all kinds of fields. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "event/program.h"
#include "format/ctf/ctf.h"

#define RS "\x1e"
#define START RS "{\"type\": \"preamble\", \"version\": 2}\n"
#define CLASS(members) "{\"type\": \"structure\", \"member-classes\": [" members "]}"
#define MEMBER(name, class) "{\"name\": \"" name "\", \"field-class\": " class "}"
#define U8                                                                            \
    "{\"type\": \"fixed-length-unsigned-integer\", \"length\": 8, \"alignment\": 8, " \
    "\"byte-order\": "                                                                \
    "\"little-endian\"}"
#define STREAM RS "{\"type\": \"data-stream-class\"}\n"
#define EVENT(members)                                                                        \
    RS "{\"type\": \"event-record-class\", \"name\": \"e\", \"payload-field-class\": " CLASS( \
        members) "}\n"

static struct catalogue catalogue;
static struct error error;
static struct ctf_trace *trace;

static int open_metadata(const char *metadata)
{
    catalogue_done(&catalogue);
    error_clear(&error);
    return ctf_trace_new("t", "t/metadata", metadata, strlen(metadata), &catalogue, &trace, &error);
}

/* The events of the LEN bytes at STREAM, a line each. */
static int read_stream(const char *stream, size_t len, char *ret, size_t size)
{
    struct reader_options options = {0};
    struct text text = TEXT_IN_MEMORY;
    const struct item *items;
    struct source *source;
    struct input in;
    int n;

    assert_int_equal(input_open_memory(&in, stream, len, "s"), 0);
    assert_int_equal(ctf_stream_open(trace, &in, &options, &source, &error), 0);
    while ((n = source_next(source, &items)) > 0)
        for (int i = 0; i < n; i++) {
            item_put_text(&items[i], &text);
            text_put_char(&text, '\n');
        }
    error = source->error;
    source_free(source);
    text_put_char(&text, '\0');
    snprintf(ret, size, "%s", text.start);
    text_done(&text);
    return n;
}

static void test_errors(void **state)
{
    static const struct {
        const char *metadata;
        uint32_t line;
        const char *what;
    } wrongs[] = {
        {RS "{\"type\": \"trace-class\"}", 1, "the first fragment is not a preamble"},
        {RS "{\"type\": \"preamble\", \"version\": 3}", 1, "CTF 3 is not supported"},
        {RS "{\"type\": \"preamble\"}", 1, "'version' is missing"},
        {RS "{\"type\": \"preamble\", \"version\": 2, \"uuid\": [1, 2]}", 1,
         "'uuid' is not an array of 16 integers"},
        {RS "{\"type\": \"preamble\", \"version\": 2, \"extensions\": {\"a.b\": {\"c\": 1}}}", 1,
         "the extension 'a.b' is not supported"},
        {START START, 2, "a second preamble"},
        {START RS "[]", 2, "the fragment is not an object"},
        {START RS "{\"type\": \"what\"}", 2, "unknown type of fragment 'what'"},
        {START STREAM RS "{\"type\": \"trace-class\"}", 3,
         "a trace class after a data stream class"},
        {START RS "{\"type\": \"clock-class\", \"id\": \"c\", \"frequency\": 0}", 2,
         "invalid 'frequency' 0"},
        {START RS "{\"type\": \"data-stream-class\", \"default-clock-class-id\": \"c\"}", 2,
         "undeclared clock class 'c'"},
        {START RS "{\"type\": \"field-class-alias\", \"name\": \"a\", \"field-class\": \"b\"}", 2,
         "the alias 'a' has no field class"},
        {START STREAM EVENT(MEMBER("a", "\"u8\"")), 3, "'a': undeclared field class 'u8'"},
        {START STREAM EVENT(MEMBER("a", "{\"type\": \"x\"}")), 3,
         "'a': unknown type of field class 'x'"},
        {START STREAM EVENT(MEMBER("a", "{\"type\": \"fixed-length-boolean\", \"length\": 65, "
                                        "\"byte-order\": \"big-endian\"}")),
         3, "'a': invalid size of 65 bits (1 to 64 are supported)"},
        {START STREAM EVENT(MEMBER("a", "{\"type\": \"fixed-length-boolean\", \"length\": 5, "
                                        "\"byte-order\": \"big-endian\", \"alignment\": 3}")),
         3, "'a': invalid alignment of 3 bits"},
        {START STREAM EVENT(MEMBER("a",
                                   "{\"type\": \"fixed-length-floating-point-number\", \"length\": "
                                   "16, \"byte-order\": \"big-endian\"}")),
         3, "'a': unsupported float of 16 bits (32 and 64 are supported)"},
        {START STREAM EVENT(
             MEMBER("a", "{\"type\": \"null-terminated-string\", \"encoding\": \"x\"}")),
         3, "'a': unknown encoding 'x'"},
        {START STREAM EVENT(MEMBER("a", "{\"type\": \"dynamic-length-blob\", "
                                        "\"length-field-location\": {\"path\": [\"n\"]}}")),
         3, "'a': its length or selector 'n' is not before it"},
        {START STREAM EVENT(MEMBER("a", "{\"type\": \"dynamic-length-blob\", "
                                        "\"length-field-location\": {\"path\": []}}")),
         3, "'a': 'length-field-location' has no path, or one of more than 32 elements"},
        {START STREAM EVENT(MEMBER("a", "{\"type\": \"dynamic-length-blob\", "
                                        "\"length-field-location\": {\"path\": [null, \"n\"]}}")),
         3, "'a': its length or selector 'n' is not before it"},
        {START STREAM EVENT(MEMBER("n", "{\"type\": \"null-terminated-string\"}") ", " MEMBER(
             "a", "{\"type\": \"dynamic-length-string\", \"length-field-location\": {\"origin\": "
                  "\"event-record-payload\", \"path\": [\"n\"]}}")),
         3, "'a': 'n' cannot be its length or selector"},
        {START STREAM EVENT(MEMBER("n", U8) ", " MEMBER(
             "a", "{\"type\": \"variant\", \"selector-field-location\": {\"path\": [\"n\"]}, "
                  "\"options\": [{\"field-class\": " U8 ", \"selector-field-ranges\": [[1]]}]}")),
         3, "'a': not ranges of integers"},
        {START STREAM EVENT(MEMBER("n", U8) ", " MEMBER(
             "a", "{\"type\": \"variant\", \"selector-field-location\": {\"path\": [\"n\"]}, "
                  "\"options\": [{\"field-class\": " U8
                  ", \"selector-field-ranges\": [[0, 0], [5, -1]]}]}")),
         3, "'a': the range [5, -1] ends before it begins"},
        {START STREAM EVENT(MEMBER("a", U8) ", " MEMBER("b", U8) ", " MEMBER("a", U8)), 3,
         "'payload-field-class': two members are called 'a'"},
        {START STREAM EVENT(MEMBER("s", CLASS(MEMBER("a", U8) ", " MEMBER("a", U8)))), 3,
         "'s': two members are called 'a'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        assert_int_equal(open_metadata(wrongs[i].metadata), -EBADMSG);
        assert_string_equal(error.what, wrongs[i].what);
        assert_int_equal(error.line, wrongs[i].line);
    }
    assert_int_equal(open_metadata(START "\n" RS "{\n\"type\"\n"), -EBADMSG);
    assert_int_equal(error.line, 5);
}

/* Aliases that double from one to the next, and classes inside each other without end. */
static void test_bombs(void **state)
{
    static char metadata[1 << 16];
    size_t n = (size_t)snprintf(metadata, sizeof metadata, "%s", START);

    (void)state;
    n += (size_t)snprintf(
        metadata + n, sizeof metadata - n,
        RS "{\"type\": \"field-class-alias\", \"name\": \"a0\", \"field-class\": " U8 "}\n");
    for (unsigned i = 1; i < 16; i++)
        n += (size_t)snprintf(
            metadata + n, sizeof metadata - n,
            RS "{\"type\": \"field-class-alias\", \"name\": \"a%u\", \"field-class\": " CLASS(
                MEMBER("x", "\"a%u\"") ", " MEMBER("y", "\"a%u\"")) "}\n",
            i, i - 1, i - 1);
    snprintf(metadata + n, sizeof metadata - n, "%s", STREAM EVENT(MEMBER("a", "\"a15\"")));
    assert_int_equal(open_metadata(metadata), -EBADMSG);
    assert_string_equal(error.what, "'x': structure too large");

    n = (size_t)snprintf(metadata, sizeof metadata, "%s",
                         START STREAM RS
                         "{\"type\": \"event-record-class\", \"payload-field-class\": ");
    for (unsigned i = 0; i < 300; i++)
        n += (size_t)snprintf(metadata + n, sizeof metadata - n,
                              "{\"type\": \"structure\", \"member-classes\": [{\"name\": \"s\", "
                              "\"field-class\": ");
    assert_int_equal(open_metadata(metadata), -EBADMSG); /* it has no end, which is found first */
    snprintf(metadata + n, sizeof metadata - n, "1");
    n = strlen(metadata);
    for (unsigned i = 0; i < 300; i++)
        n += (size_t)snprintf(metadata + n, sizeof metadata - n, "}]}");
    snprintf(metadata + n, sizeof metadata - n, "}");
    assert_int_equal(open_metadata(metadata), -EBADMSG);
    assert_string_equal(error.what, "'s': structures nested too deeply");
}

/* A number in LEB128 has up to 64 bits; further bytes may only repeat its sign. */
static void test_variable(void **state)
{
    static const char metadata[] = START STREAM EVENT(
        MEMBER("u", "{\"type\": \"variable-length-unsigned-integer\"}") ", " MEMBER(
            "s", "{\"type\": \"variable-length-signed-integer\"}"));
    static const struct {
        const char *bytes;
        size_t len;
        const char *shown; /* NULL: damage */
    } cases[] = {
        {"\x05\x7f", 2, "u=5 s=-1\n"},
        {"\x85\x80\x00\x40", 4, "u=5 s=-64\n"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 20,
         "u=18446744073709551615 s=-9223372036854775808\n"},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
         "\x7f",
         23, "u=0 s=-1\n"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00", 11, NULL},
        {"\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, NULL},
        {"\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12, NULL},
        {"\x05\x80", 2, NULL},
    };
    char shown[128];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(open_metadata(metadata), 0);
        assert_int_equal(read_stream(cases[i].bytes, cases[i].len, shown, sizeof shown),
                         cases[i].shown ? 0 : -EBADMSG);
        assert_string_equal(shown, cases[i].shown ? cases[i].shown : "");
    }
}

/* Ranges of unsigned numbers go up to 2^64 - 1. */
static void test_large(void **state)
{
#define U64                                                                            \
    "{\"type\": \"fixed-length-unsigned-integer\", \"length\": 64, \"alignment\": 8, " \
    "\"byte-order\": \"little-endian\""
#define S64                                                                          \
    "{\"type\": \"fixed-length-signed-integer\", \"length\": 64, \"alignment\": 8, " \
    "\"byte-order\": \"little-endian\""
#define MAX_U64 "18446744073709551615"
    static const struct {
        const char *metadata, *why;
    } wrong[] = {
        {START STREAM EVENT(MEMBER("a", S64 ", \"mappings\": {\"x\": [[1, " MAX_U64 "]]}}")),
         "'a': a range beyond the values of the field"},
        {START STREAM EVENT(MEMBER("a", U64 ", \"mappings\": {\"x\": [[" MAX_U64 ", 1]]}}")),
         "'a': a range ends before it begins"},
        {START STREAM EVENT(
             MEMBER("a", U64 ", \"mappings\": {\"x\": [[1, 18446744073709551616]]}}")),
         "not JSON: too big integer near '18446744073709551616'"},
        {START STREAM EVENT(
             MEMBER("a", U64 ", \"mappings\": {\"x\": [[-9223372036854775809, 1]]}}")),
         "not JSON: too big negative integer near '-9223372036854775809'"},
    };
    char shown[128];

    (void)state;
    assert_int_equal(
        open_metadata(START STREAM EVENT(MEMBER(
            "t", U64
            ", \"mappings\": {\"large \\\" " MAX_U64 "\": [[9223372036854775807, " MAX_U64
            "]], \"one\": [[1, 1]]}}") ", " MEMBER("v",
                                                   "{\"type\": \"variant\", "
                                                   "\"selector-field-location\": {\"path\": "
                                                   "[\"t\"]}, "
                                                   "\"options\": [{\"selector-field-ranges\": [[0, "
                                                   "1]], \"field-class\": " U8 "}, "
                                                   "{\"name\": \"l\", \"selector-field-ranges\": "
                                                   "[[9223372036854775808, " MAX_U64
                                                   "]], \"field-class\": " CLASS(
                                                       MEMBER("x", U8)) "}]}"))),
        0);
    assert_int_equal(read_stream("\1\0\0\0\0\0\0\0\7\xff\xff\xff\xff\xff\xff\xff\xff\5", 18, shown,
                                 sizeof shown),
                     0);
    assert_string_equal(shown, "t=one v=7\nt=18446744073709551615 v.x=5\n");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(open_metadata(wrong[i].metadata), -EBADMSG);
        assert_string_equal(error.what, wrong[i].why);
    }
}

/* A length may be in an option of a variant, and out of several structures. */
static void test_locations(void **state)
{
#define VARIANT(a, b)                                                                          \
    "{\"type\": \"variant\", \"selector-field-location\": {\"path\": [\"t\"]}, \"options\": [" \
    "{\"selector-field-ranges\": [[0, 0]], \"field-class\": " a "}, "                          \
    "{\"selector-field-ranges\": [[1, 255]], \"field-class\": " b "}]}"
#define TEXT(path) \
    "{\"type\": \"dynamic-length-string\", \"length-field-location\": {\"path\": [" path "]}}"
    char shown[128];

    (void)state;
    assert_int_equal(
        open_metadata(START STREAM EVENT(MEMBER("t", U8) ", " MEMBER(
            "v",
            VARIANT(U8, CLASS(MEMBER("x", U8) ", " MEMBER(
                            "n",
                            U8)))) ", " MEMBER("s",
                                               CLASS(MEMBER(
                                                   "u",
                                                   CLASS(MEMBER(
                                                       "w", TEXT("null, null, \"v\", \"n\"")))))))),
        0);
    assert_int_equal(read_stream("\1\7\2ab", 5, shown, sizeof shown), 0);
    assert_string_equal(shown, "t=1 v.x=7 v.n=2 s.u.w=\"ab\"\n");
    /* Steps out of what the path led into, whatever that is. */
    assert_int_equal(open_metadata(START STREAM EVENT(MEMBER("t", U8) ", " MEMBER(
                         "s", CLASS(MEMBER("w", TEXT("\"x\", null, \"y\", null, null, \"t\"")))))),
                     0);
    assert_int_equal(read_stream("\2ab", 3, shown, sizeof shown), 0);
    assert_string_equal(shown, "t=2 s.w=\"ab\"\n");
    assert_int_equal(open_metadata(START STREAM EVENT(MEMBER("t", U8) ", " MEMBER(
                         "v", VARIANT(U8, U8)) ", " MEMBER("w", TEXT("\"v\"")))),
                     0);
    assert_int_equal(read_stream("\0\2ab\1\1c", 7, shown, sizeof shown), 0);
    assert_string_equal(shown, "t=0 v=2 w=\"ab\"\nt=1 v=1 w=\"c\"\n");
}

static int done(void **state)
{
    (void)state;
    catalogue_done(&catalogue);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_variable),  cmocka_unit_test(test_large),
        cmocka_unit_test(test_locations),
    };

    return cmocka_run_group_tests(tests, NULL, done);
}
