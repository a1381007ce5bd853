/* SPDX-License-Identifier: MIT */
/* Trees of the shapes that QEMU's have, made in a directory of our own. */
#include "cmocka_all.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen/qemu_tree.h"

static char dir[256]; /* the working directory of all tests */

static void make_file(const char *path, const char *text)
{
    char parents[PATH_MAX];
    FILE *file;

    snprintf(parents, sizeof parents, "%s", path);
    for (char *slash = parents; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(parents, 0777) < 0)
            assert_int_equal(errno, EEXIST);
        *slash = '/';
    }
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    char template[] = "/tmp/strata-qemu-tree-XXXXXX";

    if (!mkdtemp(template) || chdir(template) < 0 || !getcwd(dir, sizeof dir))
        return -1;
    make_file("old/VERSION", "5.2.0\n");
    make_file("old/trace/control.h", "\n");
    make_file("old/include/qemu/error-report.h", "extern bool error_with_timestamp;\n");
    make_file("old/util/log.c", "int qemu_log(const char *fmt, ...)\n");

    make_file("middle/VERSION", "7.2.0\n");
    make_file("middle/trace/control.h", "\n");
    make_file("middle/include/qemu/error-report.h", "extern bool message_with_timestamp;\n");
    make_file("middle/util/log.c", "void qemu_log(const char *fmt, ...)\n");
    make_file("middle/hw/block/trace-events", "\n");

    make_file("new/VERSION", "10.2.0\n");
    make_file("new/trace/control.h", "\n");
    make_file("new/include/qemu/error-report.h", "extern bool message_with_timestamp;\n");
    make_file("new/util/log.c", "    if (message_with_timestamp) {\n");

    make_file("none/trace-events", "\n");
    make_file("none/VERSION", "not a tree of QEMU\n");
    return 0;
}

static int teardown(void **state)
{
    char command[PATH_MAX + 32];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return chdir("/") < 0 || system(command) != 0 ? -1 : 0;
}

static void expect_root(const char *input, const char *expected)
{
    _cleanup_free_ char *root = NULL;
    char path[512];

    assert_int_equal(qemu_tree_find(input, &root), 0);
    snprintf(path, sizeof path, "%s/%s", dir, expected);
    assert_string_equal(root, path);
}

static void finds_the_tree_above_an_input(void **state)
{
    _cleanup_free_ char *root = NULL;

    expect_root("middle/hw/block/trace-events", "middle");
    expect_root("middle/hw/../trace-events", "middle");
    expect_root("new/trace-events", "new");
    assert_int_equal(chdir("middle/hw/block"), 0);
    expect_root("trace-events", "middle");
    expect_root("../../../new/trace-events", "new");
    assert_int_equal(chdir(dir), 0);

    assert_int_equal(qemu_tree_find("none/trace-events", &root), -ENOENT);
    assert_int_equal(qemu_tree_find("no/such/directory/trace-events", &root), -ENOENT);
    assert_int_equal(qemu_tree_find("", &root), -ENOENT);
    assert_null(root);
}

/* QEMU's build hands over files that it has made in its own directory, or standard input. */
static void finds_the_tree_that_was_configured(void **state)
{
    char text[PATH_MAX + 128];

    snprintf(text, sizeof text, "# made\nPREFIX=/usr\nSRC_PATH=%s/middle\nX=y\n", dir);
    make_file("build-make/config-host.mak", text);
    snprintf(text, sizeof text,
             "{\"meson_version\": {\"full\": \"1.0\"}, \"directories\": {\"source\": \"%s/new\", "
             "\"build\": \"x\"}}",
             dir);
    make_file("build-meson/meson-info/meson-info.json", text);
    make_file("build-wrong/config-host.mak", "SRC_PATH=/no/such/tree\n");
    make_file("build-cut/config-host.mak", "SRC_PATH=");

    assert_int_equal(chdir("build-make"), 0);
    expect_root(NULL, "middle");
    expect_root("-", "middle");
    expect_root("../none/trace-events", "middle");
    /* The input's own tree comes first. */
    expect_root("../new/trace-events", "new");

    assert_int_equal(chdir("../build-meson"), 0);
    expect_root(NULL, "new");
    assert_int_equal(chdir("../middle/hw"), 0);
    expect_root(NULL, "middle");
    assert_int_equal(chdir(dir), 0);
}

static void ignores_what_leads_nowhere(void **state)
{
    static const char *const dirs[] = {"build-wrong", "build-cut", "none"};
    _cleanup_free_ char *root = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
        assert_int_equal(chdir(dirs[i]), 0);
        assert_int_equal(qemu_tree_find(NULL, &root), -ENOENT);
        assert_int_equal(chdir(dir), 0);
    }
}

static void tells_who_stamps_a_line_of_the_log(void **state)
{
    struct gen_qemu_tree tree;

    assert_int_equal(qemu_tree_look("old", &tree), 0);
    assert_true(tree.major == 5 && tree.minor == 2);
    assert_false(tree.log_stamps);
    assert_false(tree.log_asks);
    assert_int_equal(qemu_tree_look("middle", &tree), 0);
    assert_false(tree.log_stamps);
    assert_true(tree.log_asks);
    assert_int_equal(qemu_tree_look("new", &tree), 0);
    assert_true(tree.log_stamps);
    assert_false(tree.log_asks);

    assert_int_equal(qemu_tree_of("middle/hw/block/trace-events", &tree), 0);
    assert_true(tree.log_asks);
    assert_int_equal(qemu_tree_of("old/trace-events", &tree), 0);
    assert_false(tree.log_asks || tree.log_stamps);
    /* None at hand: the newest. */
    assert_int_equal(qemu_tree_of("none/trace-events", &tree), 0);
    assert_true(tree.log_stamps);
}

static void tells_of_a_file_that_cannot_be_read(void **state)
{
    struct gen_qemu_tree tree = {.log_asks = true};

    make_file("broken/VERSION", "7.2.0\n");
    make_file("broken/trace/control.h", "\n");
    make_file("broken/util/log.c/x", "\n");
    assert_int_equal(qemu_tree_look("broken", &tree), -EISDIR);
    assert_true(tree.log_asks); /* untouched */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_tree_above_an_input),
        cmocka_unit_test(finds_the_tree_that_was_configured),
        cmocka_unit_test(ignores_what_leads_nowhere),
        cmocka_unit_test(tells_who_stamps_a_line_of_the_log),
        cmocka_unit_test(tells_of_a_file_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
