/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"
#include "tracedir/cpu_files.h"
#include "tracedir/source_files.h"

static char dir[64];

static int make_dir(void **state)
{
    strcpy(dir, "/tmp/strata-manifest-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static const char *in_dir(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put_file(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "w");

    assert_non_null(f);
    assert_int_equal(fputs(text, f) < 0, 0);
    assert_int_equal(fclose(f), 0);
}

static struct manifest_source full_source(void)
{
    static const uint32_t cpus[] = {0, 2};
    static const uint32_t offline[] = {1};
    static const struct manifest_domain domains[] = {{0, "Domain-0"}, {7, "b\xff\"d"}, {8, NULL}};
    static const struct manifest_xen xen = {
        .version = "4.17.7",
        .extra = "-debian",
        .caps = "xen-3.0-x86_64",
        .commandline = "com1 tbuf_size=64",
        .cpu_vendor = "amd",
        .scheduler = "credit2",
        .cpus = cpus,
        .n_cpus = 2,
        .offline = offline,
        .n_offline = 1,
        .domains = domains,
        .n_domains = 3,
    };
    static const struct manifest_host host = {.boot_id = "b-1", .name = "build7", .recorder = 4710};
    static const char *const events[] = {"xen/events", "xen/events2"};
    static const char *const problems[] = {"the disk was full"};
    static const char *const filters[] = {"sched:sched_switch=prev_pid != 0"};

    return (struct manifest_source){
        .name = "xen",
        .kind = "xentrace",
        .layer = "hypervisor",
        .path = "xen/trace.raw",
        .events = events,
        .n_events = 2,
        .clock = {.name = "tsc", .hz = 2400000000},
        .host = &host,
        .xen = &xen,
        .began = {1, 2, 3, 11},
        .ended = {4, 5, INT64_MAX, 0},
        .lost_known = true,
        .lost = 9,
        .lost_at_end = 4,
        .lost_uncounted = true,
        .complete = true,
        .filters = filters,
        .n_filters = 1,
        .filters_known = true,
        .problems = problems,
        .n_problems = 1,
    };
}

static void test_round_trip(void **state)
{
    static const struct manifest_percpu percpu = {.buffer = "toy"};
    static const char *const command[] = {"qemu", "-m", ""};
    static const struct manifest_thread threads[] = {
        {12, 3, "CPU 0/TCG", 0}, {13, 0, NULL, -1}, {14, 0, "CPU 4095/TCG", 4095}};
    static const struct manifest_vmm vmm = {
        .pid = 11,
        .name = "web,7",
        .uuid = "11111111-1111-1111-1111-111111111117",
        .paused_ns = 17022000000,
        .stopped_ns = 4000000000,
        .program = "/usr/bin/qemu",
        .version = "7.2.22",
        .accelerator = "tcg",
        .command = command,
        .n_command = 3,
        .threads = threads,
        .n_threads = 3,
        .exit = "status 1",
        .qmp = "/run/qmp",
    };
    static const struct manifest_file files[] = {{"host/cpu0.raw", 0}, {"host/a", INT64_MAX}};
    struct manifest_source sources[] = {
        full_source(),
        {.name = "toy", .kind = "xentrace", .layer = "hypervisor", .path = "t", .percpu = &percpu},
        {.name = "qemu",
         .kind = "qemu-log",
         .layer = "vmm",
         .path = "vmm/trace.log",
         .clock = {.name = "realtime", .pairs = "vmm/clock-pairs"},
         .vmm = &vmm},
        {.name = "kernel",
         .kind = "ftrace",
         .layer = "host",
         .path = "host",
         .clock = {.name = "mono", .hz = 1000000000, .host = true, .error_ns = 5},
         .files = files,
         .n_files = 2},
    };
    static const char *const also[] = {"exit", "signal USR1"};
    static const struct manifest_snapshot snapshot = {
        .reason = "trigger",
        .trigger = "qmp:STOP",
        .what = "STOP {}",
        .time = {.realtime_ns = 5, .monotonic_ns = 6},
        .repeats = 7,
        .also = also,
        .n_also = 2,
        .suppressed = 8,
    };
    struct manifest manifest = {.sources = sources, .n_sources = 4, .snapshot = &snapshot};
    const struct manifest_source *source;
    struct error error = {0};
    struct manifest back;

    assert_false(manifest_probe(dir));
    assert_int_equal(manifest_read(dir, &back, &error), -ENOENT);
    error_clear(&error);
    assert_int_equal(manifest_write(dir, &manifest, &error), 0);
    assert_true(manifest_probe(dir));
    assert_int_not_equal(access(in_dir("." MANIFEST_NAME ".new"), F_OK), 0);
    assert_int_equal(manifest_read(dir, &back, &error), 0);
    assert_int_equal(back.n_sources, 4);

    source = &back.sources[0];
    assert_string_equal(source->name, "xen");
    assert_string_equal(source->kind, "xentrace");
    assert_string_equal(source->layer, "hypervisor");
    assert_string_equal(source->path, "xen/trace.raw");
    assert_int_equal(source->n_events, 2);
    assert_string_equal(source->events[1], "xen/events2");
    assert_string_equal(source->clock.name, "tsc");
    assert_int_equal(source->clock.hz, 2400000000);
    assert_null(source->clock.pairs);
    assert_false(source->clock.host);
    assert_string_equal(source->host->boot_id, "b-1");
    assert_string_equal(source->host->name, "build7");
    assert_int_equal(source->host->recorder, 4710);
    assert_null(source->vmm);
    assert_string_equal(source->xen->version, "4.17.7");
    assert_string_equal(source->xen->extra, "-debian");
    assert_string_equal(source->xen->caps, "xen-3.0-x86_64");
    assert_string_equal(source->xen->commandline, "com1 tbuf_size=64");
    assert_string_equal(source->xen->cpu_vendor, "amd");
    assert_string_equal(source->xen->scheduler, "credit2");
    assert_int_equal(source->xen->n_cpus, 2);
    assert_int_equal(source->xen->cpus[1], 2);
    assert_int_equal(source->xen->n_offline, 1);
    assert_int_equal(source->xen->offline[0], 1);
    assert_int_equal(source->xen->n_domains, 3);
    assert_int_equal(source->xen->domains[1].id, 7);
    /* What was no UTF-8 is shown to have been something. */
    assert_string_equal(source->xen->domains[1].name, "b\xef\xbf\xbd\"d");
    assert_null(source->xen->domains[2].name);
    assert_int_equal(source->began.realtime_ns, 1);
    assert_int_equal(source->began.monotonic_ns, 2);
    assert_int_equal(source->began.tsc, 3);
    assert_int_equal(source->began.error_ns, 11);
    assert_int_equal(source->ended.tsc, INT64_MAX);
    assert_true(source->lost_known);
    assert_int_equal(source->lost, 9);
    assert_int_equal(source->lost_at_end, 4);
    assert_true(source->lost_uncounted);
    assert_true(source->complete);
    assert_true(source->filters_known);
    assert_int_equal(source->n_filters, 1);
    assert_string_equal(source->filters[0], "sched:sched_switch=prev_pid != 0");
    assert_int_equal(source->n_problems, 1);
    assert_string_equal(source->problems[0], "the disk was full");
    assert_null(source->percpu);
    assert_int_equal(source->n_files, 0);

    source = &back.sources[1];
    assert_null(source->xen);
    assert_null(source->clock.name);
    assert_null(source->host);
    assert_string_equal(source->percpu->buffer, "toy");
    assert_false(source->lost_known);
    assert_false(source->complete);

    source = &back.sources[2];
    assert_string_equal(source->clock.pairs, "vmm/clock-pairs");
    assert_int_equal(source->vmm->pid, 11);
    assert_string_equal(source->vmm->name, "web,7");
    assert_string_equal(source->vmm->uuid, "11111111-1111-1111-1111-111111111117");
    assert_int_equal(source->vmm->paused_ns, 17022000000);
    assert_int_equal(source->vmm->stopped_ns, 4000000000);
    assert_string_equal(source->vmm->program, "/usr/bin/qemu");
    assert_string_equal(source->vmm->version, "7.2.22");
    assert_string_equal(source->vmm->accelerator, "tcg");
    assert_int_equal(source->vmm->n_command, 3);
    assert_string_equal(source->vmm->command[2], "");
    assert_int_equal(source->vmm->n_threads, 3);
    assert_int_equal(source->vmm->threads[0].id, 12);
    assert_int_equal(source->vmm->threads[0].own_id, 3);
    assert_int_equal(source->vmm->threads[1].own_id, 0);
    assert_string_equal(source->vmm->threads[0].name, "CPU 0/TCG");
    assert_int_equal(source->vmm->threads[0].vcpu, 0);
    assert_null(source->vmm->threads[1].name);
    assert_int_equal(source->vmm->threads[1].vcpu, -1);
    assert_int_equal(source->vmm->threads[2].vcpu, 4095);
    assert_string_equal(source->vmm->exit, "status 1");
    assert_string_equal(source->vmm->qmp, "/run/qmp");

    source = &back.sources[3];
    assert_true(source->clock.host);
    assert_int_equal(source->clock.error_ns, 5);
    assert_null(source->clock.pairs);
    assert_int_equal(source->n_files, 2);
    assert_string_equal(source->files[0].path, "host/cpu0.raw");
    assert_int_equal(source->files[0].bytes, 0);
    assert_string_equal(source->files[1].path, "host/a");
    assert_int_equal(source->files[1].bytes, INT64_MAX);

    assert_string_equal(back.snapshot->reason, "trigger");
    assert_string_equal(back.snapshot->trigger, "qmp:STOP");
    assert_string_equal(back.snapshot->what, "STOP {}");
    assert_int_equal(back.snapshot->time.realtime_ns, 5);
    assert_int_equal(back.snapshot->time.monotonic_ns, 6);
    assert_int_equal(back.snapshot->repeats, 7);
    assert_int_equal(back.snapshot->n_also, 2);
    assert_string_equal(back.snapshot->also[1], "signal USR1");
    assert_int_equal(back.snapshot->suppressed, 8);
    manifest_done(&back);

    /* A second writing takes the place of the first. */
    sources[0].complete = false;
    manifest.n_sources = 1;
    manifest.snapshot = NULL;
    assert_int_equal(manifest_write(dir, &manifest, &error), 0);
    assert_int_equal(manifest_read(dir, &back, &error), 0);
    assert_int_equal(back.n_sources, 1);
    assert_null(back.snapshot);
    assert_false(back.sources[0].complete);
    manifest_done(&back);
}

static void test_wrong_to_write(void **state)
{
    struct manifest_source sources[] = {full_source(), full_source()};
    struct manifest manifest = {.sources = sources, .n_sources = 2};
    struct error error = {0};

    assert_int_equal(manifest_write(dir, &manifest, &error), -EINVAL);
    assert_non_null(strstr(error.what, "two sources"));
    sources[1].name = "a/b";
    error_clear(&error);
    assert_int_equal(manifest_write(dir, &manifest, &error), -EINVAL);
    manifest.n_sources = 1;
    sources[0].path = "/etc/passwd";
    error_clear(&error);
    assert_int_equal(manifest_write(dir, &manifest, &error), -EINVAL);
    assert_false(manifest_probe(dir));
    sources[0].path = "ok";
    sources[0].clock.pairs = "a/../../b";
    error_clear(&error);
    assert_int_equal(manifest_write(dir, &manifest, &error), -EINVAL);
    assert_non_null(strstr(error.what, "does not stay"));
    sources[0].clock = (struct manifest_clock){.pairs = "p", .host = true};
    error_clear(&error);
    assert_int_equal(manifest_write(dir, &manifest, &error), -EINVAL);
    assert_non_null(strstr(error.what, "not both"));
    sources[0].clock = (struct manifest_clock){.hz = 1000000, .host = true};
    error_clear(&error);
    assert_int_equal(manifest_write(dir, &manifest, &error), -EINVAL);
    assert_non_null(strstr(error.what, "1000000000 ticks"));
    sources[0].clock = (struct manifest_clock){0};
    error_clear(&error);
    assert_int_equal(manifest_write("/nonexistent/directory", &manifest, &error), -ENOENT);
    assert_non_null(strstr(error.what, "trace.json"));
}

/* What stands in `…` below as the one source. */
#define BEGIN "{\"format\":\"strata-trace\",\"version\":1,\"sources\":["
#define SOURCE "{\"name\":\"a\",\"kind\":\"k\",\"layer\":\"l\",\"path\":\"p\""

static void test_hostile(void **state)
{
    static const struct {
        const char *text;
        const char *what;
    } bad[] = {
        {"", "is not JSON"},
        {"{", "is not JSON"},
        {"[]", "\"format\" should be"},
        {"{\"format\":7}", "\"format\" should be"},
        {"{\"format\":\"strata-trace\",\"version\":2}", "newer"},
        {"{\"format\":\"strata-trace\",\"format\":\"strata-trace\"}", "is not JSON"},
        {"{\"format\":\"strata-trace\",\"version\":1,\"sources\":7}", "sources should be a list"},
        {BEGIN "7]}", "sources should be a list of objects"},
        {BEGIN "{}]}", "needs a name"},
        {BEGIN SOURCE "}," SOURCE "}]}", "two sources"},
        {BEGIN "{\"name\":\"a/b\",\"kind\":\"k\",\"layer\":\"l\",\"path\":\"p\"}]}",
         "a name consists"},
        {BEGIN "{\"name\":\"..\",\"kind\":\"k\",\"layer\":\"l\",\"path\":\"p\"}]}",
         "a name consists"},
        {BEGIN "{\"name\":\"a\",\"kind\":\"k\",\"layer\":\"l\",\"path\":\"../p\"}]}",
         "does not stay"},
        {BEGIN "{\"name\":\"a\",\"kind\":\"k\",\"layer\":\"l\",\"path\":\"p\\u0000\"}]}",
         "is not JSON"},
        {BEGIN SOURCE ",\"events\":[\"/x\"]}]}", "does not stay"},
        {BEGIN SOURCE ",\"events\":[7]}]}", "sources[0].events should be a list of strings"},
        {BEGIN SOURCE ",\"clock\":7}]}", "sources[0].clock should be an object"},
        {BEGIN SOURCE ",\"clock\":{\"hz\":-1}}]}", "sources[0].hz should be from 0"},
        {BEGIN SOURCE ",\"clock\":{\"hz\":1.5}}]}", "sources[0].hz should be a whole number"},
        {BEGIN SOURCE ",\"clock\":{\"pairs\":\"/p\"}}]}", "does not stay"},
        {BEGIN SOURCE ",\"clock\":{\"host\":1}}]}", "sources[0].host should be true or false"},
        {BEGIN SOURCE ",\"clock\":{\"host\":true,\"hz\":1000}}]}", "1000000000 ticks"},
        {BEGIN SOURCE ",\"clock\":{\"host\":true,\"error_ns\":-1}}]}",
         "sources[0].error_ns should be from 0"},
        {BEGIN SOURCE ",\"host\":\"b\"}]}", "sources[0].host should be an object"},
        {BEGIN SOURCE ",\"host\":{\"boot_id\":7}}]}", "sources[0].boot_id should be a string"},
        {BEGIN SOURCE ",\"vmm\":{\"pid\":-1}}]}", "sources[0].pid should be from 0"},
        {BEGIN SOURCE ",\"vmm\":{\"threads\":[7]}}]}",
         "sources[0].threads should be a list of objects with an id each"},
        {BEGIN SOURCE ",\"vmm\":{\"threads\":[{\"id\":1,\"vcpu\":4096}]}}]}",
         "sources[0].vcpu should be from 0 to 4095"},
        {BEGIN SOURCE ",\"vmm\":{\"command\":\"qemu\"}}]}", "sources[0].command should be a list"},
        {BEGIN SOURCE ",\"lost\":-1}]}", "sources[0].lost should be from 0"},
        {BEGIN SOURCE ",\"lost_at_end\":\"1\"}]}",
         "sources[0].lost_at_end should be a whole number"},
        {BEGIN SOURCE ",\"files\":[]}]}", "sources[0].files should be an object"},
        {BEGIN SOURCE ",\"files\":{\"a\":\"1\"}}]}",
         "sources[0].files should be an object of whole numbers from 0"},
        {BEGIN SOURCE ",\"files\":{\"a\":1,\"b\":-1}}]}",
         "sources[0].files should be an object of whole numbers from 0"},
        {BEGIN SOURCE ",\"files\":{\"a\":1,\"a\":1}}]}", "is not JSON"},
        {BEGIN SOURCE ",\"files\":{\"a/../../b\":1}}]}", "does not stay"},
        {BEGIN SOURCE ",\"complete\":1}]}", "sources[0].complete should be true or false"},
        {BEGIN SOURCE ",\"xen\":{\"cpus\":[4096]}}]}",
         "sources[0].cpus should be a list of numbers"},
        {BEGIN SOURCE ",\"xen\":{\"domains\":[7]}}]}", "sources[0].domains should be a list"},
        {BEGIN SOURCE ",\"xen\":{\"domains\":[{\"id\":65536}]}}]}",
         "sources[0].id should be from 0"},
        {BEGIN SOURCE ",\"problems\":{}}]}", "sources[0].problems should be a list"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error error = {0};
        struct manifest manifest;

        assert_int_equal(manifest_parse(bad[i].text, strlen(bad[i].text), "f", &manifest, &error),
                         -EINVAL);
        if (!strstr(error.what, bad[i].what))
            fail_msg("%s\n -> %s\nexpected: %s", bad[i].text, error.what, bad[i].what);
    }
}

static void test_later_keys_are_passed_over(void **state)
{
    static const char text[] =
        BEGIN SOURCE ",\"clock_pairs\":[[1,2]],\"xen\":{\"numa\":{}}}],\"x\":0}";
    struct error error = {0};
    struct manifest manifest;

    assert_int_equal(manifest_parse(text, sizeof text - 1, "f", &manifest, &error), 0);
    assert_int_equal(manifest.n_sources, 1);
    assert_non_null(manifest.sources[0].xen);
    manifest_done(&manifest);
}

static void test_paths(void **state)
{
    static const char *const good[] = {"a", "a/b", "xen/trace.raw", "...", "a/..b", ".a"};
    static const char *const bad[] = {"",   "/a",   "a/",   "a//b",   ".",
                                      "..", "../a", "a/..", "a/../b", "./a"};

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(manifest_path_is_fine(good[i]));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(manifest_path_is_fine(bad[i]));
}

static void test_resolve(void **state)
{
    struct error error = {0};
    char *path = NULL;

    assert_int_equal(mkdir(in_dir("xen"), 0777), 0);
    put_file("xen/trace.raw", "x");
    assert_int_equal(symlink("/etc", in_dir("out")), 0);
    assert_int_equal(symlink("trace.raw", in_dir("xen/in")), 0);

    assert_int_equal(manifest_resolve(dir, "xen/trace.raw", &path, &error), 0);
    assert_string_equal(path, in_dir("xen/trace.raw"));
    free(path);
    path = NULL;
    assert_int_equal(manifest_resolve(dir, "out/passwd", &path, &error), -ELOOP);
    assert_non_null(strstr(error.what, "symbolic link"));
    error_clear(&error);
    assert_int_equal(manifest_resolve(dir, "xen/in", &path, &error), -ELOOP);
    error_clear(&error);
    assert_int_equal(manifest_resolve(dir, "xen/none", &path, &error), -ENOENT);
    assert_non_null(strstr(error.what, "missing"));
    error_clear(&error);
    assert_int_equal(mkfifo(in_dir("xen/pipe"), 0666), 0);
    assert_int_equal(manifest_resolve(dir, "xen/pipe", &path, &error), -EINVAL);
    assert_non_null(strstr(error.what, "neither"));
    error_clear(&error);
    assert_int_equal(manifest_resolve(dir, "xen/trace.raw/x", &path, &error), -ENOTDIR);
    error_clear(&error);
    assert_int_equal(manifest_resolve(dir, "../x", &path, &error), -EINVAL);
    assert_null(path);
}

static void test_cpu_files(void **state)
{
    static const char *const others[] = {"cpu01.raw", "cpu.raw",     "cpu1.raw.gz", "",
                                         "cpu-1.raw", "cpu4096.raw", "xcpu1.raw"};
    uint32_t cpu;

    for (uint32_t i = 0; i < MANIFEST_CPUS_MAX; i++) {
        char name[CPU_FILE_NAME_MAX];

        cpu_file_name(i, name);
        assert_true(cpu_file_cpu(name, &cpu));
        assert_int_equal(cpu, i);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(cpu_file_cpu(others[i], &cpu));
}

/* What a source has: its file, or those of its directory, what declares its events and the pairs of its clock, each once. */
static void test_source_files(void **state)
{
    static const char *const events[] = {"vmm/trace-events", "vmm/none"};
    struct manifest_source sources[] = {
        {.name = "host", .kind = "ftrace", .path = "host", .clock = {.pairs = "host/clock-pairs"}},
        {.name = "vmm",
         .kind = "qemu-log",
         .path = "vmm/trace.log",
         .events = events,
         .n_events = 2,
         .clock = {.pairs = "pairs"}},
        {.name = "no", .kind = MANIFEST_NO_EVENTS, .path = "vmm"},
        {.name = "gone", .kind = "ctf", .path = "gone"},
    };
    static const struct manifest_file expected[] = {{"host/clock-pairs", 4}, {"host/cpu9.raw", 0},
                                                    {"host/cpu10.raw", 10},  {"pairs", 1},
                                                    {"vmm/trace-events", 3}, {"vmm/trace.log", 2}};
    _cleanup_(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct arena arena = {0};

    assert_int_equal(mkdir(in_dir("host"), 0777), 0);
    assert_int_equal(mkdir(in_dir("vmm"), 0777), 0);
    assert_int_equal(mkdir(in_dir("host/cpu5.raw"), 0777), 0);
    put_file("host/cpu5.raw/below", "x");
    put_file("host/.hidden", "x");
    put_file("host/\xff", "x");
    assert_int_equal(symlink("cpu10.raw", in_dir("host/cpu6.raw")), 0);
    assert_int_equal(mkfifo(in_dir("host/pipe"), 0666), 0);
    put_file("host/cpu9.raw", "");
    put_file("host/cpu10.raw", "0123456789");
    put_file("host/clock-pairs", "1 2\n");
    put_file("pairs", "1");
    put_file("vmm/trace.log", "12");
    put_file("vmm/trace-events", "123");
    put_file("vmm/other", "1234");
    assert_int_equal(source_files_find(fd, sources, ARRAY_SIZE(sources), &arena), 0);
    assert_int_equal(sources[0].n_files, 3);
    assert_int_equal(sources[1].n_files, 3);
    assert_int_equal(sources[2].n_files, 0);
    assert_int_equal(sources[3].n_files, 0);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        const struct manifest_file *file = &sources[i / 3].files[i % 3];

        assert_string_equal(file->path, expected[i].path);
        assert_int_equal(file->bytes, expected[i].bytes);
    }
    arena_done(&arena);
}

static void test_strange_files(void **state)
{
    struct error error = {0};
    struct manifest manifest;

    /* One that would wait for a writer. */
    assert_int_equal(mkfifo(in_dir(MANIFEST_NAME), 0666), 0);
    assert_true(manifest_probe(dir));
    assert_int_equal(manifest_read(dir, &manifest, &error), -EINVAL);
    assert_non_null(strstr(error.what, "regular file"));
    assert_int_equal(unlink(in_dir(MANIFEST_NAME)), 0);
    assert_int_equal(symlink("/etc/passwd", in_dir(MANIFEST_NAME)), 0);
    error_clear(&error);
    assert_int_equal(manifest_read(dir, &manifest, &error), -ELOOP);
    assert_int_equal(unlink(in_dir(MANIFEST_NAME)), 0);
    put_file(MANIFEST_NAME, "{\n\"format\": x\n");
    error_clear(&error);
    assert_int_equal(manifest_read(dir, &manifest, &error), -EINVAL);
    assert_int_equal(error.line, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_wrong_to_write, make_dir, remove_dir),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_later_keys_are_passed_over),
        cmocka_unit_test(test_paths),
        cmocka_unit_test_setup_teardown(test_resolve, make_dir, remove_dir),
        cmocka_unit_test(test_cpu_files),
        cmocka_unit_test_setup_teardown(test_source_files, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_strange_files, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
