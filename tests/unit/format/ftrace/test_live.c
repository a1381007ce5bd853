/* SPDX-License-Identifier: MIT */
/* A kernel's trace while it is made: format/ftrace/live.h, and record/kernel/live_stream.h, which brings it there. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "cmocka_all.h"
#include "event/value.h"
#include "format/ftrace/live.h"
#include "record/kernel/live_stream.h"

#define PAGE 256

static struct catalogue catalogue;
static struct ftrace_live *live;

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                                  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                                  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                                  "\tfield: char data;\toffset:16;\tsize:240;\tsigned:0;\n";
static const char beat[] =
    "name: beat\nID: 300\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:u64 count;\toffset:8;\tsize:8;\tsigned:0;\n\n"
    "print fmt: \"count=%llu\", REC->count\n";

static void file(const char *path, const char *text)
{
    assert_int_equal(ftrace_live_file(live, path, strdup(text), strlen(text)), 0);
}

/* A page with N beats from TIME on, 10 apart, that count from COUNT. */
static const uint8_t *make_page(uint64_t time, unsigned n, uint64_t count)
{
    static uint8_t page[PAGE];
    uint8_t *p = page + 16;

    memset(page, 0, sizeof page);
    store_le64(page, time);
    store_le64(page + 8, n * 20);
    for (unsigned i = 0; i < n; i++, p += 20) {
        store_le32(p, (i ? 10u : 0u) << 5 | 4);
        store_le16(p + 4, 300);
        store_le32(p + 8, 42);
        store_le64(p + 12, count + i);
    }
    return page;
}

static int set_up(void **state)
{
    (void)state;
    memset(&catalogue, 0, sizeof catalogue);
    assert_int_equal(ftrace_live_new(&catalogue, "v", LAYER_GUEST, &live), 0);
    file("events/header_page", header_page);
    file("events/toy/beat/format", beat);
    file("trace_clock", "local [mono]\n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    live = ftrace_live_free(live);
    catalogue_done(&catalogue);
    return 0;
}

static int pages(uint32_t cpu, uint64_t offset, const uint8_t *p, size_t size, uint64_t came)
{
    struct error error = {0};

    return ftrace_live_pages(live, cpu, offset, p, size, came, &error);
}

/* All that waits, as "CPU:COUNT@TIME", or "CPU:LOST@TIME". */
static const char *all(void)
{
    static char text[2000];
    struct item *item;
    size_t len = 0;
    uint64_t came;

    text[0] = '\0';
    while (ftrace_live_look(live, &item, &came)) {
        if (item->kind == ITEM_LOSS)
            len += (size_t)snprintf(text + len, sizeof text - len, "%d:LOST@%lld ", item->cpu,
                                    (long long)item->time);
        else
            len += (size_t)snprintf(text + len, sizeof text - len, "%d:%llu@%lld ", item->cpu,
                                    (unsigned long long)load_le64(item->payload + 8),
                                    (long long)item->time);
        ftrace_live_take(live);
    }
    return text;
}

static void cpus_are_put_in_order(void **state)
{
    struct item *item;
    uint64_t came;

    (void)state;
    assert_false(ftrace_live_look(live, &item, &came));
    assert_int_equal(pages(0, 0, make_page(100, 3, 0), PAGE, 7), 0);
    assert_int_equal(pages(1, 0, make_page(105, 2, 50), PAGE, 5), 0);
    assert_int_equal(ftrace_live_held(live), 2 * PAGE);
    assert_true(ftrace_live_look(live, &item, &came));
    assert_int_equal(came, 5);
    assert_int_equal(item->time, 100);
    assert_string_equal(ftrace_live_origin(live)->clock.name, "monotonic");
    assert_string_equal(item->class->name, "beat");
    assert_string_equal(all(), "0:0@100 1:50@105 0:1@110 1:51@115 0:2@120 ");
    /* It goes on where it was. */
    assert_int_equal(pages(1, PAGE, make_page(200, 1, 52), PAGE, 8), 0);
    assert_string_equal(all(), "1:52@200 ");
    assert_int_equal(ftrace_live_held(live), 0);
}

static void pages_come_in_pieces(void **state)
{
    uint8_t two[2 * PAGE];

    (void)state;
    memcpy(two, make_page(100, 1, 0), PAGE);
    memcpy(two + PAGE, make_page(200, 1, 1), PAGE);
    for (size_t at = 0, n; at < sizeof two; at += n) {
        n = MIN((size_t)99, sizeof two - at);
        /* What a page looks like has to be seen from its beginning. */
        assert_int_equal(pages(0, at, two + at, n, 1), 0);
    }
    assert_string_equal(all(), "0:0@100 0:1@200 ");
}

static void what_did_not_come_is_a_loss(void **state)
{
    (void)state;
    assert_int_equal(pages(0, 0, make_page(100, 2, 0), PAGE, 1), 0);
    assert_int_equal(pages(0, 2 * PAGE, make_page(300, 1, 9), PAGE, 1), 0);
    assert_string_equal(all(), "0:0@100 0:1@110 0:LOST@300 0:9@300 ");
    /* In the midst of a page: what is left of it is of no use, and so is what was there of it. */
    assert_int_equal(pages(0, 3 * PAGE, make_page(400, 1, 10), 50, 1), 0);
    assert_int_equal(pages(0, 5 * PAGE - 20, make_page(0, 1, 0), 20, 1), 0);
    assert_int_equal(pages(0, 5 * PAGE, make_page(500, 1, 11), PAGE, 1), 0);
    assert_string_equal(all(), "0:LOST@500 0:11@500 ");
    /* At the end, and of another CPU not. */
    assert_int_equal(pages(1, 0, make_page(600, 1, 12), PAGE, 1), 0);
    assert_int_equal(pages(0, 7 * PAGE, NULL, 0, 1), 0);
    ftrace_live_end(live);
    assert_string_equal(all(), "0:LOST@500 1:12@600 ");
    assert_string_equal(all(), "");
}

static void a_count_of_the_kernels_is_not_that_of_all(void **state)
{
    uint8_t page[PAGE];
    struct item *item;
    uint64_t came;

    (void)state;
    assert_int_equal(pages(0, 0, make_page(100, 1, 0), PAGE, 1), 0);
    (void)all();
    memcpy(page, make_page(200, 1, 1), PAGE);
    store_le64(page + 8, load_le64(page + 8) | 0xffffffffc0000000);
    store_le64(page + 36, 77);
    assert_int_equal(pages(0, PAGE, page, PAGE, 1), 0);
    assert_true(ftrace_live_look(live, &item, &came));
    assert_int_equal(item->lost, 77);
    (void)all();
    /* Where a page did not come either, 77 is not all. */
    assert_int_equal(pages(0, 3 * PAGE, page, PAGE, 1), 0);
    assert_true(ftrace_live_look(live, &item, &came));
    assert_true(item->lost == LOST_UNKNOWN);
}

static void damage_costs_a_page(void **state)
{
    uint8_t page[PAGE];

    (void)state;
    assert_int_equal(pages(0, 0, make_page(100, 1, 0), PAGE, 1), 0);
    memcpy(page, make_page(200, 3, 1), PAGE);
    store_le32(page + 16 + 20, 28); /* the second record is longer than what is left */
    assert_int_equal(pages(0, PAGE, page, PAGE, 1), 0);
    assert_int_equal(pages(0, 2 * PAGE, make_page(300, 1, 9), PAGE, 1), 0);
    assert_non_null(strstr(all(), "0:9@300"));
    /* Nonsense. */
    memset(page, 0xff, sizeof page);
    assert_int_equal(pages(0, 3 * PAGE, page, PAGE, 1), 0);
    assert_int_equal(pages(0, 4 * PAGE, make_page(400, 1, 10), PAGE, 1), 0);
    assert_non_null(strstr(all(), "0:10@400"));
}

static void names_of_tasks_are_learned(void **state)
{
    const struct origin *origin;
    const char *name;

    (void)state;
    file("saved_cmdlines", "42 first\n43 other\n");
    assert_int_equal(pages(0, 0, make_page(100, 1, 0), PAGE, 1), 0);
    origin = ftrace_live_origin(live);
    name = origin->task_name(origin, 42);
    assert_string_equal(name, "first");
    file("saved_cmdlines", "42 second\n44 third\n");
    /* What was given out stays, and another name is another pointer. */
    assert_string_equal(name, "first");
    assert_string_equal(origin->task_name(origin, 42), "second");
    assert_ptr_not_equal(origin->task_name(origin, 42), name);
    assert_string_equal(origin->task_name(origin, 43), "other");
    assert_string_equal(origin->task_name(origin, 44), "third");
    file("saved_cmdlines", "42 first\n");
    assert_ptr_equal(origin->task_name(origin, 42), name);
}

static void what_cannot_be_read_is_refused(void **state)
{
    (void)state;
    assert_int_equal(pages(FTRACE_LIVE_CPUS_MAX, 0, make_page(1, 1, 1), PAGE, 1), -EBADMSG);
    live = ftrace_live_free(live);
    assert_int_equal(ftrace_live_new(&catalogue, "w", LAYER_GUEST, &live), 0);
    assert_int_equal(pages(0, 0, make_page(1, 1, 1), PAGE, 1), -EBADMSG);
    file("events/header_page", "nothing");
    assert_int_equal(pages(0, 0, make_page(1, 1, 1), PAGE, 1), -EBADMSG);
}

/* The way there. */

static unsigned receive(int fd, struct guest_packet_head *ret_head)
{
    uint8_t bytes[sizeof *ret_head + GUEST_PACKET_MAX];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (n <= 0)
        return UINT32_MAX;
    memcpy(ret_head, bytes, sizeof *ret_head);
    return (unsigned)n - (unsigned)sizeof *ret_head;
}

static void send_pages(struct live_stream *out, uint64_t *offset,
                       const uint8_t bytes[static GUEST_PACKET_MAX])
{
    assert_int_equal(
        kernel_sink_pages(live_stream_sink(out), 3, *offset, bytes, GUEST_PACKET_MAX, NULL), 0);
    *offset += GUEST_PACKET_MAX;
}

static void who_sends_does_not_wait(void **state)
{
    static uint8_t bytes[GUEST_PACKET_MAX];
    struct live_stream out;
    struct guest_packet_head head;
    uint64_t got = 0, next = 0, sent = 0;
    unsigned gaps = 0, n;
    int ends[2];

    (void)state;
    assert_int_equal(live_pair(ends), 0);
    assert_int_equal(live_stream_init(&out, ends[0]), 0);
    assert_int_equal(kernel_sink_file_begin(live_stream_sink(&out), "x", 1, NULL), 0);
    while (out.unshown < 1000000)
        send_pages(&out, &sent, bytes);
    assert_true(out.queued <= LIVE_QUEUE_MAX);
    assert_true(live_stream_has_queued(&out));
    /* Files are not left out. */
    assert_int_equal(kernel_sink_file_put(live_stream_sink(&out), bytes, sizeof bytes, NULL), 0);
    assert_int_equal(receive(ends[1], &head), 1);
    for (unsigned i = 0; i < 10000; i++) {
        n = receive(ends[1], &head);
        live_stream_flush(&out);
        if (n == UINT32_MAX)
            break;
        if (head.kind != PACKET_PAGES)
            continue;
        assert_int_equal(head.cpu, 3);
        gaps += head.offset != next;
        next = head.offset + n;
        got += n;
    }
    assert_false(live_stream_has_queued(&out));
    assert_int_equal(got + out.unshown, sent);
    /* The end tells that the last of it did not come. */
    live_stream_drain(&out, 10);
    assert_int_equal(receive(ends[1], &head), 0);
    assert_int_equal(head.kind, PACKET_PAGES);
    assert_int_equal(head.offset, sent);
    assert_true(gaps == 0 && next < sent);

    /* Nobody is there any more. */
    close(ends[1]);
    send_pages(&out, &sent, bytes);
    assert_int_equal(out.fd, -1);
    send_pages(&out, &sent, bytes);
    assert_false(live_stream_has_queued(&out));
    live_stream_done(&out);
}

static void the_end_tells_of_a_gap_through_a_full_socket(void **state)
{
    static uint8_t bytes[GUEST_PACKET_MAX];
    struct live_stream out;
    struct guest_packet_head head;
    uint64_t sent = 0;
    int ends[2], status;
    pid_t reader;

    (void)state;
    assert_int_equal(live_pair(ends), 0);
    assert_int_equal(live_stream_init(&out, ends[0]), 0);
    while (out.unshown == 0)
        send_pages(&out, &sent, bytes);
    /* For each that is taken one more has room: in the end nothing waits, and the socket is full. */
    while (live_stream_has_queued(&out)) {
        assert_int_equal(receive(ends[1], &head), sizeof bytes);
        live_stream_flush(&out);
    }
    reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        struct pollfd fd = {ends[1], POLLIN, 0};
        unsigned n;

        close(ends[0]);
        do {
            (void)poll(&fd, 1, -1);
            n = receive(ends[1], &head);
        } while (n != UINT32_MAX && n > 0);
        _exit(n == 0 && head.kind == PACKET_PAGES && head.cpu == 3 && head.offset == sent ? 0 : 1);
    }
    close(ends[1]);
    live_stream_drain(&out, 60000);
    live_stream_done(&out);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(cpus_are_put_in_order),
        TEST(pages_come_in_pieces),
        TEST(what_did_not_come_is_a_loss),
        TEST(a_count_of_the_kernels_is_not_that_of_all),
        TEST(damage_costs_a_page),
        TEST(names_of_tasks_are_learned),
        TEST(what_cannot_be_read_is_refused),
        cmocka_unit_test(who_sends_does_not_wait),
        cmocka_unit_test(the_end_tells_of_a_gap_through_a_full_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
