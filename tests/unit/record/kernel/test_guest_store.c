/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "record/kernel/guest_store.h"
#include "tracedir/manifest.h"
#include "tracedir/tracefs_copy.h"

static char directory[32];
static int parent;
static struct guest_store store;

static int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/strata-store-XXXXXX");
    assert_non_null(mkdtemp(directory));
    parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(parent >= 0);
    assert_int_equal(guest_store_open(parent, GUEST_PREFIX, "v", &store, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    char command[64];

    (void)state;
    guest_store_done(&store);
    close(parent);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command); /* NOLINT(cert-env33-c): our own name */
}

/* What the file PATH of the trace directory holds; "-" if it does not exist. */
static const char *content(const char *path)
{
    static char buf[256];
    int fd = openat(parent, path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return "-";
    n = read(fd, buf, sizeof buf - 1);
    assert_true(n >= 0);
    close(fd);
    buf[n] = '\0';
    return buf;
}

static int put_file(const char *path, const char *text)
{
    int r = guest_store_file_begin(&store, path, strlen(path), NULL);

    if (r == 0)
        r = guest_store_file_put(&store, text, strlen(text), NULL);
    return r < 0 ? r : guest_store_file_end(&store, NULL);
}

static void a_file_gets_its_name_when_it_ends(void **state)
{
    (void)state;
    assert_int_equal(guest_store_file_begin(&store, "saved_cmdlines", 14, NULL), 0);
    assert_int_equal(guest_store_file_put(&store, "1 init\n", 7, NULL), 0);
    assert_string_equal(content("guest-v/saved_cmdlines"), "-");
    assert_int_equal(guest_store_file_end(&store, NULL), 0);
    assert_string_equal(content("guest-v/saved_cmdlines"), "1 init\n");
    assert_int_equal(put_file("events/sched/sched_switch/format", "name: sched_switch"), 0);
    assert_string_equal(content("guest-v/events/sched/sched_switch/format"), "name: sched_switch");
    assert_int_equal(store.n_files, 2);
    assert_int_equal(store.files_size, 7 + 18);
}

static void a_file_that_comes_again_replaces_the_first(void **state)
{
    static const char bytes[600];

    (void)state;
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(guest_store_file_begin(&store, "saved_cmdlines", 14, NULL), 0);
        assert_int_equal(guest_store_file_put(&store, bytes, 100 * i, NULL), 0);
        assert_int_equal(guest_store_file_end(&store, NULL), 0);
        assert_int_equal(guest_store_size(&store), 100 * i);
        assert_int_equal(store.n_files, 1);
    }
    assert_int_equal(put_file("kallsyms", "first, longer"), 0);
    assert_int_equal(put_file("kallsyms", "second"), 0);
    assert_string_equal(content("guest-v/kallsyms"), "second");
    assert_int_equal(store.n_files, 2);
    assert_int_equal(store.files_size, 500 + 6);
}

static void a_file_that_does_not_end_leaves_the_first(void **state)
{
    (void)state;
    assert_int_equal(put_file("kallsyms", "first"), 0);
    assert_int_equal(guest_store_file_begin(&store, "kallsyms", 8, NULL), 0);
    assert_int_equal(guest_store_file_put(&store, "sec", 3, NULL), 0);
    assert_int_equal(put_file("trace_clock", "[local]"), 0);
    assert_string_equal(content("guest-v/kallsyms"), "first");
    assert_string_equal(content("guest-v/.unfinished"), "-");
    assert_int_equal(store.files_size, 5 + 7);
}

static void names_that_tracefs_does_not_have_are_refused(void **state)
{
    static const char *const names[] = {
        "../x", "/etc/passwd", "events/../../x", ".unfinished", "cpu0.raw", "clock-pairs", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_int_equal(guest_store_file_begin(&store, names[i], strlen(names[i]), NULL), -EPERM);
    assert_int_equal(guest_store_file_begin(&store, "kallsyms\0x", 10, NULL), -EPERM);
    assert_int_equal(guest_store_file_put(&store, "x", 1, NULL), -EBADMSG);
}

static void only_names_of_a_tracefs_are_accepted(void **state)
{
    static const char *const good[] = {
        "events/header_page",    "events/header_event",
        "trace_clock",           "saved_cmdlines",
        "printk_formats",        "kallsyms",
        "saved_tgids",           "events/sched/sched_switch/format",
        "events/a-b/c_9/format",
    };
    static const char *const bad[] = {
        "",
        "/",
        "..",
        "cpu0.raw",
        "trace.json",
        "clock-pairs",
        "/kallsyms",
        "kallsyms/",
        "./kallsyms",
        "events/../kallsyms",
        "events/../../format",
        "events/a/../format",
        "events/./a/format",
        "events//a/format",
        "events/a//format",
        "events/a/b/enable",
        "events/a/b/format/",
        "events/a/b/c/format",
        "events/a/format",
        "events/-a/b/format",
        "events/a/b\n/format",
        "events/a\x80/b/format",
        "Events/a/b/format",
    };
    char nul[] = "kallsyms\0/../evil";

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(tracefs_copy_has(good[i], strlen(good[i])));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(tracefs_copy_has(bad[i], strlen(bad[i])));
    assert_false(tracefs_copy_has(nul, sizeof nul - 1));
}

static void links_are_not_followed(void **state)
{
    char target[64];

    (void)state;
    snprintf(target, sizeof target, "%s/elsewhere", directory);
    assert_int_equal(symlinkat(target, store.dir, "cpu0.raw"), 0);
    assert_true(guest_store_open_pages(&store, 0, NULL) < 0);
    assert_int_equal(symlinkat(target, store.dir, "events"), 0);
    assert_true(put_file("events/header_page", "x") < 0);
    assert_string_equal(content("elsewhere"), "-");
}

static void files_have_a_limit(void **state)
{
    (void)state;
    store.files_size = GUEST_FILES_SIZE_MAX - 4;
    assert_int_equal(put_file("trace_clock", "abcd"), 0);
    assert_int_equal(put_file("kallsyms", "x"), -E2BIG);
    assert_string_equal(content("guest-v/trace_clock"), "abcd");
}

/* The disk is full, as far as this process is concerned: the limit for a file's size. */
static void without_room_the_first_file_stays(void **state)
{
    struct rlimit before, small = {0};

    (void)state;
    assert_int_equal(put_file("kallsyms", "first"), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_cur = 2;
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(guest_store_file_begin(&store, "kallsyms", 8, NULL), 0);
    assert_int_equal(guest_store_file_put(&store, "second", 6, NULL), 1);
    assert_int_equal(guest_store_file_put(&store, "second", 6, NULL), 0);
    assert_int_equal(guest_store_file_end(&store, NULL), 0);
    /* A file that was not there before is needed. */
    assert_int_equal(put_file("trace_clock", "[local]"), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_string_equal(content("guest-v/kallsyms"), "first");
    assert_int_equal(store.files_size, 5);
}

static void pages_are_appended_by_cpu(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(guest_store_put_pages(&store, 1, "ab", 2, NULL), 0);
    assert_int_equal(guest_store_put_pages(&store, 1, "cd", 2, NULL), 0);
    assert_string_equal(content("guest-v/cpu1.raw"), "abcd");
    fd = guest_store_open_pages(&store, 2, NULL);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "xyz", 3), 3);
    close(fd);
    assert_int_equal(guest_store_size(&store), 7);
    assert_int_equal(guest_store_put_pages(&store, PROTO_CPUS_MAX, "ab", 2, NULL), -EBADMSG);
}

static void a_boot_has_a_directory_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(guest_store_put_pages(&store, 0, "ab", 2, NULL), 0);
    assert_int_equal(guest_store_pair(&store, &(struct guest_pair){1, 2, 3}, false), 0);
    assert_int_equal(guest_store_next_boot(&store, NULL), 0);
    assert_int_equal(guest_store_put_pages(&store, 0, "cde", 3, NULL), 0);
    assert_int_equal(guest_store_pair(&store, &(struct guest_pair){40, 50, 6}, false), 0);
    assert_string_equal(content("guest-v/cpu0.raw"), "ab");
    assert_string_equal(content("guest-v/clock-pairs"), "1 2 3\n");
    assert_string_equal(content("guest-v.2/cpu0.raw"), "cde");
    assert_string_equal(content("guest-v.2/clock-pairs"), "40 50 6\n");
    assert_int_equal(guest_store_size(&store), 2 + 3 + 6 + 8);
    assert_int_equal(guest_store_next_boot(&store, NULL), 0);
    assert_int_equal(guest_store_put_pages(&store, 0, "fghi", 4, NULL), 0);
    assert_string_equal(content("guest-v.3/cpu0.raw"), "fghi");
    assert_int_equal(guest_store_size(&store), 2 + 3 + 6 + 8 + 4);
}

/* Each boot is a source of the trace, which has room for so many. */
static void boots_have_a_limit(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= MANIFEST_SOURCES_MAX; n++) {
        assert_in_range(guest_store_boots_max(n), 1, GUEST_BOOTS_MAX);
        assert_in_range(n * guest_store_boots_max(n), 1, MANIFEST_SOURCES_MAX);
    }
    assert_int_equal(guest_store_boots_max(1), GUEST_BOOTS_MAX);
    store.boots_max = 2;
    assert_int_equal(guest_store_next_boot(&store, NULL), 0);
    assert_int_equal(guest_store_next_boot(&store, NULL), -E2BIG);
}

static void pairs_have_a_limit(void **state)
{
    (void)state;
    store.pairs_size = GUEST_PAIRS_SIZE_MAX - 6;
    assert_int_equal(guest_store_pair(&store, &(struct guest_pair){1, 2, 3}, false), 0);
    assert_int_equal(guest_store_pair(&store, &(struct guest_pair){4, 5, 6}, false), 0);
    assert_int_equal(guest_store_size(&store), GUEST_PAIRS_SIZE_MAX);
    assert_string_equal(content("guest-v/clock-pairs"), "1 2 3\n");
}

/* The kernel writes the part that fits: the error is that of the rest. */
static void a_pair_that_does_not_fit_says_why(void **state)
{
    struct rlimit before, limit;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

    (void)state;
    assert_int_equal(guest_store_pair(&store, &(struct guest_pair){1, 2, 3}, false), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 8;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(guest_store_pair(&store, &(struct guest_pair){4, 5, 6}, false), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_string_equal(content("guest-v/clock-pairs"), "1 2 3\n");
    assert_int_equal(store.pairs_size, 6);
    assert_int_equal(guest_store_pair(&store, &(struct guest_pair){7, 8, 9}, false), 0);
    assert_string_equal(content("guest-v/clock-pairs"), "1 2 3\n7 8 9\n");
}

static void what_exists_is_not_replaced(void **state)
{
    struct guest_store other;

    (void)state;
    assert_int_equal(guest_store_open(parent, GUEST_PREFIX, "v", &other, NULL), -EEXIST);
}

static void an_empty_one_is_removed(void **state)
{
    int fd = guest_store_open_pages(&store, 0, NULL);
    struct stat st;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(guest_store_pair(&store, &(struct guest_pair){1, 2, 3}, false), 0);
    guest_store_remove(&store);
    assert_int_equal(fstatat(parent, "guest-v", &st, 0), -1);
}

static void without_a_directory_all_is_checked_and_nothing_kept(void **state)
{
    struct guest_store none;

    (void)state;
    assert_int_equal(guest_store_open(-1, GUEST_PREFIX, "w", &none, NULL), 0);
    assert_int_equal(guest_store_file_begin(&none, "../x", 4, NULL), -EPERM);
    assert_int_equal(guest_store_file_begin(&none, "kallsyms", 8, NULL), 0);
    assert_int_equal(guest_store_file_put(&none, "x", 1, NULL), 0);
    assert_int_equal(guest_store_file_end(&none, NULL), 0);
    assert_int_equal(guest_store_file_put(&none, "x", 1, NULL), -EBADMSG);
    assert_int_equal(guest_store_open_pages(&none, 0, NULL), -ENODATA);
    assert_int_equal(guest_store_put_pages(&none, 0, "ab", 2, NULL), 0);
    assert_int_equal(guest_store_pair(&none, &(struct guest_pair){1, 2, 3}, false), 0);
    assert_int_equal(guest_store_next_boot(&none, NULL), 0);
    assert_int_equal(guest_store_size(&none), 0);
    guest_store_done(&none);
}

/* The store as a sink, before another one. */
static char seen[64];

static int see_pages(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                     size_t size, struct error *error)
{
    (void)sink;
    (void)error;
    snprintf(seen, sizeof seen, "%u@%u:%.*s", cpu, (unsigned)offset, (int)size, (const char *)p);
    return 0;
}

static void a_sink_is_given_what_the_one_before_took(void **state)
{
    static const struct kernel_sink_ops ops = {.pages = see_pages};
    struct kernel_sink second = {.ops = &ops};

    (void)state;
    store.sink.next = &second;
    assert_int_equal(kernel_sink_pages(&store.sink, 3, 12, "abc", 3, NULL), 0);
    assert_string_equal(content("guest-v/cpu3.raw"), "abc");
    assert_string_equal(seen, "3@12:abc");
    /* The first one fails, so that the second one is not given it. */
    assert_int_equal(kernel_sink_pages(&store.sink, PROTO_CPUS_MAX, 0, "x", 1, NULL), -EBADMSG);
    assert_string_equal(seen, "3@12:abc");
    /* The second one has no operation for files, and a store none for facts. */
    assert_int_equal(kernel_sink_file_begin(&store.sink, "kallsyms", 8, NULL), -EBADMSG);
    assert_int_equal(kernel_sink_fact(&store.sink, "a", "b", NULL), -EBADMSG);
}

static void names_of_guests(void **state)
{
    char longest[66];

    (void)state;
    memset(longest, 'a', sizeof longest);
    longest[64] = '\0';
    assert_true(guest_name_is_valid("a.b-C_9"));
    assert_true(guest_name_is_valid(longest));
    longest[64] = 'a';
    longest[65] = '\0';
    assert_false(guest_name_is_valid(longest));
    assert_false(guest_name_is_valid(""));
    assert_false(guest_name_is_valid(".a"));
    assert_false(guest_name_is_valid("a/b"));
    assert_false(guest_name_is_valid("a b"));
}

#define STORE_TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_file_gets_its_name_when_it_ends),
        STORE_TEST(a_file_that_comes_again_replaces_the_first),
        STORE_TEST(a_file_that_does_not_end_leaves_the_first),
        STORE_TEST(names_that_tracefs_does_not_have_are_refused),
        cmocka_unit_test(only_names_of_a_tracefs_are_accepted),
        STORE_TEST(links_are_not_followed),
        STORE_TEST(files_have_a_limit),
        STORE_TEST(without_room_the_first_file_stays),
        STORE_TEST(pages_are_appended_by_cpu),
        STORE_TEST(a_boot_has_a_directory_of_its_own),
        STORE_TEST(boots_have_a_limit),
        STORE_TEST(pairs_have_a_limit),
        STORE_TEST(a_pair_that_does_not_fit_says_why),
        STORE_TEST(what_exists_is_not_replaced),
        STORE_TEST(an_empty_one_is_removed),
        STORE_TEST(without_a_directory_all_is_checked_and_nothing_kept),
        STORE_TEST(a_sink_is_given_what_the_one_before_took),
        cmocka_unit_test(names_of_guests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
