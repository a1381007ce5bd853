/* SPDX-License-Identifier: MIT */
/* The cache of indexes: when an index is built, and what a crash, damage or a second process leave,
 * and which are removed. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/remove_dir.h"
#include "cmocka_all.h"
#include "index/build_internal.h"
#include "index/cache.h"

/* What the cache may hold. */
static uint64_t max_size, max_unused_s;

static char scratch[64], cache[128], trace[128], in_trace[160];

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **unused)
{
    (void)unused;
    max_size = UINT64_MAX;
    max_unused_s = UINT64_MAX;
    snprintf(scratch, sizeof scratch, "/tmp/test_index_cache.XXXXXX");
    if (!mkdtemp(scratch))
        return -1;
    snprintf(cache, sizeof cache, "%s/home/cache/strata", scratch);
    snprintf(trace, sizeof trace, "%s/trace", scratch);
    snprintf(in_trace, sizeof in_trace, "%s/deep", trace);
    if (mkdir(trace, 0700) < 0 || mkdir(in_trace, 0700) < 0)
        return -1;
    snprintf(in_trace, sizeof in_trace, "%s/deep/bytes", trace);
    put_file(in_trace, "first");
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    return remove_dir_at(AT_FDCWD, scratch) ? 0 : -1;
}

/* What a build does beside building. */
struct building {
    unsigned n;
    int fail;            /* negative errno */
    bool crash;          /* ends the process */
    const char *changes; /* a file of the trace */
    int begun, go;       /* pipes: says that it has begun, and waits; 0: none */
    const char *counter; /* a file that gets a byte */
};

static int build(void *arg, int fd, struct error *error)
{
    struct building *building = arg;
    struct builder *builder = calloc(1, sizeof *builder);
    int r;

    assert_non_null(builder);
    building->n++;
    if (building->counter) {
        int counter = open(building->counter, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

        assert_int_equal(write(counter, "x", 1), 1);
        close(counter);
    }
    if (building->begun) {
        char c;

        assert_int_equal(write(building->begun, "x", 1), 1);
        assert_int_equal(read(building->go, &c, 1), 1);
    }
    assert_int_equal(index_writer_init(&builder->writer, fd), 0);
    assert_int_equal(index_names_init(&builder->names), 0);
    builder->writer.header.n_events = 77;
    assert_int_equal(build_tracks_finish(builder), 0);
    if (building->crash)
        _exit(7);
    if (building->changes)
        put_file(building->changes, "changed while it is read");
    r = building->fail ? building->fail : index_writer_finish(&builder->writer);
    if (building->fail)
        error_set(error, r, NULL, "made to fail");
    index_names_done(&builder->names);
    index_writer_done(&builder->writer);
    free(builder);
    return r;
}

/* Opens it; whether it is built is BUILT. */
static void open_index(struct building *building, const char *settings, bool built)
{
    const char *const paths[] = {trace};
    const struct index_cache_request request = {
        .directory = cache,
        .paths = paths,
        .n_paths = 1,
        .settings = settings,
        .max_size = max_size,
        .max_unused_s = max_unused_s,
        .build = build,
        .arg = building,
    };
    struct error error = {0};
    unsigned before = building->n;
    struct index *index;
    bool was_built;

    if (index_cache_open(&request, &index, &was_built, &error) < 0)
        fail_msg("%s: %s", error.path, error.what);
    assert_int_equal(was_built, built);
    assert_int_equal(building->n - before, built);
    assert_int_equal(index_summary(index)->n_events, 77);
    index_free(index);
}

static int try_index(struct building *building, struct error *error)
{
    const char *const paths[] = {trace};
    const struct index_cache_request request = {
        .directory = cache,
        .paths = paths,
        .n_paths = 1,
        .max_size = max_size,
        .max_unused_s = max_unused_s,
        .build = build,
        .arg = building,
    };
    struct index *index;
    int r;

    *error = (struct error){0};
    r = index_cache_open(&request, &index, NULL, error);
    if (r == 0)
        index_free(index);
    return r;
}

/* How many files there are in the directory; *RET_INDEX: one that is an index. */
static unsigned count_files(char *ret_index, size_t size)
{
    char path[160];
    struct dirent *entry;
    unsigned n = 0;
    DIR *dir;

    snprintf(path, sizeof path, "%s/index", cache);
    dir = opendir(path);
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        n++;
        if (ret_index && strstr(entry->d_name, ".index"))
            snprintf(ret_index, size, "%s/%s", path, entry->d_name);
    }
    closedir(dir);
    return n;
}

static void test_kept(void **unused)
{
    struct building building = {0};
    char path[512] = "";
    struct stat st;

    (void)unused;
    open_index(&building, NULL, true);
    open_index(&building, NULL, false);
    assert_int_equal(count_files(path, sizeof path), 1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(cache, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    /* Other settings are another index. */
    open_index(&building, "--pair x", true);
    open_index(&building, "--pair x", false);
    open_index(&building, NULL, false);
    assert_int_equal(count_files(NULL, 0), 2);
}

static void test_changed(void **unused)
{
    struct building building = {0};
    char other[256];
    unsigned n;

    (void)unused;
    open_index(&building, NULL, true);
    put_file(in_trace, "longer than before");
    open_index(&building, NULL, true);
    open_index(&building, NULL, false);
    snprintf(other, sizeof other, "%s/other", trace);
    put_file(other, "");
    open_index(&building, NULL, true);
    open_index(&building, NULL, false);
    /* What changes while it is read is answered, but not kept. */
    put_file(in_trace, "once more");
    n = count_files(NULL, 0);
    building.changes = in_trace;
    open_index(&building, NULL, true);
    assert_int_equal(count_files(NULL, 0), n);
    building.changes = NULL;
    open_index(&building, NULL, true);
    open_index(&building, NULL, false);
}

static void test_damaged(void **unused)
{
    struct building building = {0};
    char path[512] = "";

    (void)unused;
    open_index(&building, NULL, true);
    count_files(path, sizeof path);
    assert_int_equal(truncate(path, 100), 0);
    open_index(&building, NULL, true);
    open_index(&building, NULL, false);
    put_file(path, "");
    open_index(&building, NULL, true);
    assert_int_equal(count_files(NULL, 0), 1);
    /* A FIFO that nobody writes to: opening it does not wait. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    open_index(&building, NULL, true);
    open_index(&building, NULL, false);
}

/* Whoever has an index open sees that its file was cut, before it reads what is missing. */
static void test_cut_while_open(void **unused)
{
    struct building building = {0};
    char path[512] = "";
    struct index *index;
    int fd;

    (void)unused;
    open_index(&building, NULL, true);
    count_files(path, sizeof path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(index_open_fd(fd, path, &index, NULL), 0);
    close(fd);
    assert_true(index_is_whole(index));
    assert_int_equal(truncate(path, 100), 0);
    assert_false(index_is_whole(index));
    index_free(index);
}

static void test_fails(void **unused)
{
    struct building building = {.fail = -ENOSPC};
    struct error error;

    (void)unused;
    assert_int_equal(try_index(&building, &error), -ENOSPC);
    assert_string_equal(error.what, "made to fail");
    assert_int_equal(count_files(NULL, 0), 0);
    building.fail = 0;
    open_index(&building, NULL, true);
}

/* A process that dies while it builds leaves nothing that is taken for an index, and nothing that stays. */
static void test_crash(void **unused)
{
    struct building building = {.crash = true};
    pid_t child = fork();
    int status;

    (void)unused;
    assert_true(child >= 0);
    if (child == 0) {
        struct error error;

        try_index(&building, &error);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    building.crash = false;
    open_index(&building, NULL, true);
    open_index(&building, NULL, false);
    assert_int_equal(count_files(NULL, 0), 1);
}

static pid_t start(struct building *building, int says)
{
    pid_t child = fork();
    struct error error;

    assert_true(child >= 0);
    if (child > 0)
        return child;
    assert_int_equal(write(says, "x", 1), 1);
    _exit(try_index(building, &error) == 0 ? 0 : 1);
}

static void test_two(void **unused)
{
    struct building building = {0};
    char counter[128];
    int begun[2];
    int go[2];
    int started[2];
    pid_t children[4];
    struct stat st;
    char c;

    (void)unused;
    snprintf(counter, sizeof counter, "%s/counter", scratch);
    assert_int_equal(pipe(begun), 0);
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(started), 0);
    building.counter = counter;
    building.begun = begun[1];
    building.go = go[0];
    children[0] = start(&building, started[1]);
    /* The first is building, whatever the others do. */
    assert_int_equal(read(begun[0], &c, 1), 1);
    for (unsigned i = 1; i < ARRAY_SIZE(children); i++)
        children[i] = start(&building, started[1]);
    for (unsigned i = 0; i < ARRAY_SIZE(children); i++)
        assert_int_equal(read(started[0], &c, 1), 1);
    assert_int_equal(write(go[1], "xxxx", 4), 4);
    for (unsigned i = 0; i < ARRAY_SIZE(children); i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(stat(counter, &st), 0);
    assert_int_equal(st.st_size, 1);
    assert_int_equal(count_files(NULL, 0), 1);
    for (unsigned i = 0; i < 2; i++) {
        close(begun[i]);
        close(go[i]);
        close(started[i]);
    }
}

/* The last use of all indexes was SECONDS earlier. */
static void age(int64_t seconds)
{
    char path[512];
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof path, "%s/index", cache);
    dir = opendir(path);
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        struct timespec times[2];
        struct stat st;

        if (entry->d_name[0] == '.')
            continue;
        assert_int_equal(fstatat(dirfd(dir), entry->d_name, &st, 0), 0);
        times[0] = times[1] = st.st_mtim;
        times[1].tv_sec -= seconds;
        assert_int_equal(utimensat(dirfd(dir), entry->d_name, times, 0), 0);
    }
    closedir(dir);
}

static void test_too_large(void **unused)
{
    struct building building = {0};
    char path[512] = "";
    struct stat st;

    (void)unused;
    open_index(&building, "a", true);
    count_files(path, sizeof path);
    assert_int_equal(stat(path, &st), 0);
    max_size = (uint64_t)st.st_size * 2;
    age(100);
    open_index(&building, "b", true);
    age(100);
    open_index(&building, "a", false);
    age(100);
    /* b was used least recently. */
    open_index(&building, "c", true);
    assert_int_equal(count_files(NULL, 0), 2);
    age(100);
    open_index(&building, "c", false);
    open_index(&building, "a", false);
    age(100);
    open_index(&building, "b", true);
    assert_int_equal(count_files(NULL, 0), 2);
    /* What was built stays, whatever its size. */
    max_size = 0;
    open_index(&building, "d", true);
    assert_int_equal(count_files(NULL, 0), 1);
    open_index(&building, "d", false);
}

static void test_unused(void **unused)
{
    struct building building = {0};

    (void)unused;
    max_unused_s = 1000;
    open_index(&building, "a", true);
    open_index(&building, "b", true);
    age(2000);
    /* Opening is a use. */
    open_index(&building, "a", false);
    assert_int_equal(count_files(NULL, 0), 2);
    open_index(&building, "c", true);
    assert_int_equal(count_files(NULL, 0), 2);
    open_index(&building, "a", false);
    open_index(&building, "b", true);
}

/* What was removed can still be read by those who have it open. */
static void test_removed_while_open(void **unused)
{
    const char *const paths[] = {trace};
    struct building building = {0};
    const struct index_cache_request request = {
        .directory = cache, .paths = paths, .n_paths = 1, .build = build, .arg = &building};
    struct error error = {0};
    struct index *index;

    (void)unused;
    assert_int_equal(index_cache_open(&request, &index, NULL, &error), 0);
    max_size = 0;
    open_index(&building, "another", true);
    assert_int_equal(count_files(NULL, 0), 1);
    assert_int_equal(index_summary(index)->n_events, 77);
    assert_string_equal(index_name(index, 0), "");
    index_free(index);
}

static void crash_while_building(void)
{
    struct building building = {.crash = true};
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        struct error error;

        try_index(&building, &error);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* What a crash left goes; what another process builds, and what is not the cache's, stays. */
static void test_leftovers(void **unused)
{
    struct building building = {0};
    char path[512];
    int begun[2];
    int go[2];
    int started[2];
    pid_t child;
    int status;
    char c;

    (void)unused;
    crash_while_building();
    assert_int_equal(count_files(NULL, 0), 2);
    snprintf(path, sizeof path, "%s/index/notes.lock", cache);
    put_file(path, "");
    max_size = 0;
    open_index(&building, "another", true);
    assert_int_equal(count_files(NULL, 0), 2);
    assert_int_equal(access(path, F_OK), 0);

    assert_int_equal(pipe(begun), 0);
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(started), 0);
    building.begun = begun[1];
    building.go = go[0];
    child = start(&building, started[1]);
    assert_int_equal(read(begun[0], &c, 1), 1);
    building.begun = 0;
    open_index(&building, "a third", true);
    assert_int_equal(count_files(NULL, 0), 4);
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    open_index(&building, NULL, false);
    for (unsigned i = 0; i < 2; i++) {
        close(begun[i]);
        close(go[i]);
        close(started[i]);
    }
}

static struct index_cache_request request_of(struct building *building, const char **path)
{
    *path = trace;
    return (struct index_cache_request){
        .directory = cache,
        .paths = path,
        .n_paths = 1,
        .max_size = max_size,
        .max_unused_s = max_unused_s,
        .build = build,
        .arg = building,
    };
}

/* An index that will not be kept has no name from the first, so that nothing can be left of it. */
static void test_unnamed(void **unused)
{
    struct building building = {0};
    const char *path;
    struct index_cache_request request = request_of(&building, &path);
    struct error error = {0};
    struct index *index;
    int fd;

    (void)unused;
    fd = index_cache_open_unnamed(&request, &error);
    assert_true(fd >= 0);
    assert_int_equal(count_files(NULL, 0), 0);
    assert_int_equal(build(&building, fd, &error), 0);
    assert_int_equal(index_open_fd(fd, "index", &index, &error), 0);
    close(fd);
    assert_int_equal(count_files(NULL, 0), 0);
    assert_int_equal(index_summary(index)->n_events, 77);
    index_free(index);
}

static void test_key(void **unused)
{
    struct building building = {0};
    const char *path;
    struct index_cache_request request = request_of(&building, &path);
    char first[INDEX_CACHE_KEY_SIZE], second[INDEX_CACHE_KEY_SIZE];

    (void)unused;
    assert_int_equal(index_cache_key(&request, first, NULL), 0);
    assert_int_equal(index_cache_key(&request, second, NULL), 0);
    assert_string_equal(first, second);
    assert_int_equal(strlen(first), INDEX_CACHE_KEY_SIZE - 1);
    put_file(in_trace, "longer than it was");
    assert_int_equal(index_cache_key(&request, second, NULL), 0);
    assert_string_not_equal(first, second);
}

/* The next snapshot links the files of this one, and one that is removed does so no more. */
static void test_key_of_linked_files(void **unused)
{
    struct building building = {0};
    const char *path;
    struct index_cache_request request = request_of(&building, &path);
    char first[INDEX_CACHE_KEY_SIZE], second[INDEX_CACHE_KEY_SIZE];
    char other[sizeof scratch + 16];

    (void)unused;
    assert_int_equal(index_cache_data_key(&request, first, NULL), 0);
    snprintf(other, sizeof other, "%s/linked", scratch);
    assert_int_equal(link(in_trace, other), 0);
    assert_int_equal(index_cache_data_key(&request, second, NULL), 0);
    assert_string_equal(first, second);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(index_cache_data_key(&request, second, NULL), 0);
    assert_string_equal(first, second);
    put_file(in_trace, "longer than it was before");
    assert_int_equal(index_cache_data_key(&request, second, NULL), 0);
    assert_string_not_equal(first, second);
}

/* A process that is to stop does not wait for another one's index. */
static void test_stops(void **unused)
{
    struct building building = {0};
    atomic_bool stops = true;
    const char *path;
    struct index_cache_request request = request_of(&building, &path);
    char key[INDEX_CACHE_KEY_SIZE];
    char lock[256];
    struct index *index;
    struct error error = {0};
    int fd;

    (void)unused;
    open_index(&building, "makes the directory", true);
    assert_int_equal(index_cache_key(&request, key, NULL), 0);
    snprintf(lock, sizeof lock, "%s/index/%s.lock", cache, key);
    fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    request.stops = &stops;
    assert_int_equal(index_cache_open(&request, &index, NULL, &error), -ECANCELED);
    assert_int_equal(building.n, 1);
    close(fd);
    assert_int_equal(index_cache_open(&request, &index, NULL, &error), 0);
    index_free(index);
}

static void test_refused(void **unused)
{
    struct building building = {0};
    struct error error;
    char path[160];

    (void)unused;
    open_index(&building, NULL, true);
    snprintf(path, sizeof path, "%s/index", cache);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(try_index(&building, &error), -EPERM);
    assert_non_null(strstr(error.what, "XDG_CACHE_HOME"));
    assert_int_equal(chmod(path, 0700), 0);
    snprintf(trace, sizeof trace, "/dev/null");
    assert_int_equal(try_index(&building, &error), -EINVAL);
    assert_string_equal(error.path, "/dev/null");
    snprintf(trace, sizeof trace, "/nonexistent");
    assert_int_equal(try_index(&building, &error), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut_while_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_crash, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removed_while_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_leftovers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unnamed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key_of_linked_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
