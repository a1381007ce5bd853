/* SPDX-License-Identifier: MIT */
/* The recorder over per-CPU buffers that a program really fills: this one, with two CPUs. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/percpu/percpu.h"
#include "record/percpu/recorder.h"
#include "record/percpu/recording.h"

static struct strata_percpu_cpu *self;
#define STRATA_PERCPU_SELF() self
#include "strata/percpu.h"

#define PAGES 2u
#define EVENT (STRATA_TRC_GUEST | 0x123)
#define OTHER ((STRATA_TRC_HVM & 0x82fff) + 1)

struct program {
    struct strata_percpu_cpu cpus[2];
    struct strata_percpu_control *control;
    char path[64];
    size_t size;
    uint64_t emitted;
    /* And who records from it. */
    struct trace_buffers *buffers;
    struct stream stream;
    struct recorder *recorder;
    int fd;
};

static void start(struct program *program, const struct trace_buffers_settings *settings,
                  const struct recorder_settings *recorder)
{
    struct strata_percpu_options options = {.n_cpus = 2, .pages = PAGES, .name = "test"};
    struct fault fault = {0};
    void *memory;
    int fd;

    *program = (struct program){.size = strata_percpu_size(&options)};
    strcpy(program->path, "/tmp/strata-percpu-XXXXXX");
    fd = mkstemp(program->path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)program->size), 0);
    memory = mmap(NULL, program->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    close(fd);
    assert_int_equal(strata_percpu_init(memory, program->size, &options, &program->control), 0);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(strata_percpu_cpu_init(&program->cpus[i], program->control, i, NULL), 0);
    strata_percpu_control = program->control;

    if (percpu_buffers_open(program->path, &program->buffers, &fault) < 0)
        fail_msg("%s", fault.what);
    assert_int_equal(program->buffers->ops->begin(program->buffers, settings, &fault), 0);
    program->fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    assert_int_equal(stream_init(&program->stream, program->fd, "stream", &fault), 0);
    assert_int_equal(
        recorder_new(program->buffers, &program->stream, recorder, &program->recorder, &fault), 0);
}

static void end(struct program *program)
{
    recorder_free(program->recorder);
    buffers_free(program->buffers);
    munmap(program->control, program->size);
    unlink(program->path);
    close(program->fd);
}

static void emit(struct program *program, unsigned cpu, uint32_t event, unsigned n)
{
    self = &program->cpus[cpu];
    for (unsigned i = 0; i < n; i++)
        TRACE_2D(event, i, cpu);
    program->emitted += n;
}

static int step(struct program *program)
{
    struct fault fault = {0};
    sigset_t mask;

    sigprocmask(SIG_SETMASK, NULL, &mask);
    return recorder_step(program->recorder, 0, &mask, &fault);
}

static int finish(struct program *program)
{
    return recorder_finish(program->recorder, false, NULL);
}

/* What is in the stream: its windows, and events by CPU. */
struct content {
    unsigned windows;
    uint64_t events[2];
    uint64_t lost[2];
};

static struct content read_stream(const struct program *program)
{
    struct content content = {0};
    off_t size = lseek(program->fd, 0, SEEK_END);
    uint8_t *bytes = malloc((size_t)size + 1);

    assert_int_equal(pread(program->fd, bytes, (size_t)size, 0), size);
    for (off_t at = 0; at < size;) {
        struct chunk_state state = {0};
        uint32_t header[3];

        memcpy(header, bytes + at, sizeof header);
        assert_int_equal(header[0], 0x2001f003);
        assert_true(header[1] < 2);
        assert_true(header[2] > 0 && at + 12 + header[2] <= size);
        assert_int_equal(chunk_count(&state, bytes + at + 12, header[2]), 0);
        content.windows++;
        content.events[header[1]] += state.counts.records;
        content.lost[header[1]] += state.counts.lost;
        at += 12 + (off_t)header[2];
    }
    free(bytes);
    return content;
}

static const struct recorder_settings plain = {.poll = 1};

static void test_all(void **state)
{
    struct program p;
    struct content content;
    struct recorder_totals totals;

    start(&p, &(struct trace_buffers_settings){.set_events = true, .events = STRATA_TRC_ALL},
          &plain);
    for (unsigned round = 0; round < 50; round++) {
        emit(&p, 0, EVENT, 30);
        emit(&p, round % 2, OTHER, 11);
        assert_int_equal(step(&p), RECORDER_GOES_ON);
    }
    emit(&p, 1, EVENT, 7);
    assert_int_equal(finish(&p), RECORDER_GOES_ON);
    emit(&p, 1, EVENT, 1); /* it is off now */
    p.emitted--;
    content = read_stream(&p);
    totals = recorder_totals(p.recorder);
    assert_int_equal(content.windows, 50 + 25 + 1);
    assert_int_equal(content.events[0], 50 * 30 + 25 * 11);
    assert_int_equal(content.events[1], 25 * 11 + 7);
    assert_int_equal(totals.records, p.emitted);
    assert_int_equal(totals.lost + totals.left_out + totals.damaged + totals.dropped, 0);
    assert_int_equal(totals.bytes, lseek(p.fd, 0, SEEK_END));
    end(&p);
}

/* Whatever is lost is counted, also what no record could tell any more. */
static void test_losses(void **state)
{
    struct program p;
    struct content content;
    struct recorder_totals totals;

    start(&p, &(struct trace_buffers_settings){0}, &plain);
    emit(&p, 0, EVENT, 1000); /* 20 bytes each; there is room for 400 */
    emit(&p, 1, EVENT, 10);
    assert_int_equal(step(&p), RECORDER_GOES_ON);
    emit(&p, 0, EVENT, 1);
    assert_int_equal(step(&p), RECORDER_GOES_ON);
    assert_in_range(recorder_lost(p.recorder, 0), 500, 700);
    assert_int_equal(recorder_lost(p.recorder, 1), 0);
    emit(&p, 1, EVENT, 500);
    assert_int_equal(finish(&p), RECORDER_GOES_ON);
    content = read_stream(&p);
    totals = recorder_totals(p.recorder);
    assert_int_equal(totals.records + totals.lost, p.emitted);
    assert_int_equal(content.events[0] + content.lost[0], 1001);
    assert_true(content.events[1] + content.lost[1] < 510);
    assert_int_equal(content.events[1] + recorder_lost(p.recorder, 1), 510);
    assert_int_equal(totals.losses, 2);
    end(&p);
}

static void test_choice(void **state)
{
    struct program p;
    struct xen_event_mask choice;
    struct recorder_settings settings = {.poll = 1, .choice = &choice};
    struct content content;

    assert_int_equal(xen_event_mask_init(&choice), 0);
    assert_int_equal(xen_event_mask_add(&choice, &(struct xen_table){0}, "0x800f123", NULL), 0);
    start(&p, &(struct trace_buffers_settings){.set_events = true, .events = STRATA_TRC_ALL},
          &settings);
    for (unsigned round = 0; round < 40; round++) { /* over the buffer's end, too */
        emit(&p, 0, EVENT, 20);
        emit(&p, 0, OTHER, 21);
        emit(&p, 1, OTHER, 10);
        assert_int_equal(step(&p), RECORDER_GOES_ON);
    }
    assert_int_equal(finish(&p), RECORDER_GOES_ON);
    content = read_stream(&p);
    assert_int_equal(content.windows, 40); /* none that is empty */
    assert_int_equal(content.events[0], 800);
    assert_int_equal(content.events[1], 0);
    assert_int_equal(recorder_totals(p.recorder).left_out, 40 * 31);
    end(&p);
    xen_event_mask_done(&choice);
}

static void test_memory(void **state)
{
    struct recorder_settings settings = {.poll = 1, .memory = 4096};
    struct recorder *recorder;
    struct program p;
    struct content content;
    struct fault fault = {0};

    settings.memory = 4095;
    start(&p, &(struct trace_buffers_settings){0}, &plain);
    assert_int_equal(recorder_new(p.buffers, &p.stream, &settings, &recorder, &fault), -EINVAL);
    assert_non_null(strstr(fault.what, "4095 bytes of memory are too few"));
    end(&p);

    /* Less than one CPU's buffer holds: the newest of it, and the rest is counted. */
    settings.memory = 4096;
    start(&p, &(struct trace_buffers_settings){0}, &settings);
    emit(&p, 0, EVENT, 20);
    emit(&p, 1, EVENT, 300);
    assert_int_equal(step(&p), RECORDER_GOES_ON);
    assert_int_equal(finish(&p), RECORDER_GOES_ON);
    content = read_stream(&p);
    assert_int_equal(content.windows, 1);
    assert_int_equal(content.events[0], 0);
    assert_in_range(content.events[1], 100, 299);
    assert_int_equal(recorder_totals(p.recorder).records, content.events[1]);
    end(&p);

    settings.memory = PAGES * 4096 + 12;
    start(&p, &(struct trace_buffers_settings){0}, &settings);
    for (unsigned round = 0; round < 100; round++) {
        emit(&p, 0, EVENT, 20);
        emit(&p, 1, EVENT, 20);
        assert_int_equal(step(&p), RECORDER_GOES_ON);
    }
    assert_int_equal(p.stream.written, 0);
    assert_int_equal(finish(&p), RECORDER_GOES_ON);
    content = read_stream(&p);
    assert_in_range(content.windows, 16, 20); /* of 412 bytes each */
    assert_int_equal(content.windows % 2, 0);
    assert_int_equal(content.events[0], content.events[1]);
    assert_true(recorder_totals(p.recorder).dropped + content.windows >= 200);
    end(&p);

    /* What was kept is written, too, when no more can be taken. */
    start(&p, &(struct trace_buffers_settings){0}, &settings);
    emit(&p, 0, EVENT, 20);
    assert_int_equal(step(&p), RECORDER_GOES_ON);
    p.buffers->views[0]->buffer[0] = 1;
    assert_int_equal(step(&p), -EBADMSG);
    assert_int_equal(finish(&p), -EBADMSG);
    assert_int_equal(read_stream(&p).events[0], 20);
    end(&p);
}

/* After what could not be written, nothing is: no gap but at the end. */
static void test_full(void **state)
{
    struct program p;
    struct content content;

    start(&p, &(struct trace_buffers_settings){0}, &plain);
    p.stream.max = 3000;
    emit(&p, 0, EVENT, 100);
    assert_int_equal(step(&p), RECORDER_GOES_ON);
    emit(&p, 0, EVENT, 100);
    emit(&p, 1, EVENT, 1);
    assert_int_equal(step(&p), RECORDER_FULL);
    assert_int_equal(finish(&p), RECORDER_FULL);
    content = read_stream(&p);
    assert_int_equal(content.windows, 1);
    assert_int_equal(content.events[0], 100);
    assert_int_equal(recorder_totals(p.recorder).records, 100);
    assert_int_equal(p.control->masks.enabled, 0);
    end(&p);
}

static void test_threshold(void **state)
{
    struct recorder_settings settings = {.poll = 1, .threshold = 50};
    struct program p;

    start(&p, &(struct trace_buffers_settings){0}, &settings);
    emit(&p, 0, EVENT, 49);
    assert_int_equal(step(&p), RECORDER_GOES_ON);
    assert_int_equal(p.stream.written, 0);
    emit(&p, 0, EVENT, 1);
    assert_int_equal(step(&p), RECORDER_GOES_ON);
    assert_int_equal(p.stream.written, 12 + 50 * 20);
    emit(&p, 0, EVENT, 3);
    assert_int_equal(finish(&p), RECORDER_GOES_ON);
    assert_int_equal(p.stream.written, 12 + 50 * 20 + 12 + 3 * 20);
    end(&p);
}

/* Somebody else who takes records as well, and a buffer that cannot be. */
static void test_disorder(void **state)
{
    struct program p;
    struct fault fault = {0};

    start(&p, &(struct trace_buffers_settings){0}, &plain);
    emit(&p, 0, EVENT, 5);
    p.buffers->views[0]->buffer[0] = 2 * p.buffers->views[0]->size;
    assert_int_equal(step(&p), -EBADMSG);
    assert_int_equal(recorder_finish(p.recorder, false, &fault), -EBADMSG);
    end(&p);
}

/* Somebody makes the file smaller under the recorder, who may be about to look into it. */
static void test_gone(void **state)
{
    struct program p;
    struct manifest_source source = {0};
    struct arena arena = {0};
    struct fault fault = {0};
    struct strata_percpu_window windows[2];

    start(&p, &(struct trace_buffers_settings){0}, &plain);
    emit(&p, 0, EVENT, 5);
    assert_int_equal(step(&p), RECORDER_GOES_ON);
    emit(&p, 0, EVENT, 100);
    emit(&p, 1, EVENT, 7);
    assert_int_equal(strata_percpu_view_windows(p.buffers->views[0], windows), 1);
    assert_int_equal(windows[0].size, 2000);
    assert_int_equal(truncate(p.path, 4096), 0);
    assert_int_equal(windows[0].data[0], 0);
    assert_int_equal(step(&p), -EIO);
    assert_int_equal(recorder_finish(p.recorder, false, &fault), -EIO);
    assert_int_equal(p.buffers->ops->describe(p.buffers, &arena, &source), 0);
    assert_int_equal(source.percpu->n_cpus, 2);
    assert_int_equal(p.buffers->ops->restore(p.buffers, false, &fault), 0);
    assert_int_equal(read_stream(&p).events[0], 5);
    assert_int_equal(recorder_totals(p.recorder).records, 5);
    arena_done(&arena);
    end(&p);

    /* Between the look at cons and prod and that at the records: what is not there is made up by nobody. */
    start(&p, &(struct trace_buffers_settings){0}, &plain);
    emit(&p, 1, EVENT, 300); /* into the second page */
    assert_int_equal(truncate(p.path, (off_t)p.size - 4096), 0);
    assert_int_equal(step(&p), -EIO);
    assert_int_equal(p.stream.written, 0);
    end(&p);
}

/* The directory of a recording: what is said of it at the start and at the end. */
static void test_recording(void **state)
{
    char dir[] = "/tmp/strata-recording-XXXXXX";
    char trace[64];
    struct recorder_totals totals = {.lost = 5};
    struct recording *recording, *second;
    struct manifest manifest = {0};
    struct fault fault = {0};
    struct rlimit files;
    struct program p;
    int fd;

    start(&p, &(struct trace_buffers_settings){0}, &plain);
    assert_non_null(mkdtemp(dir));
    if (recording_new(dir, "percpu", NULL, 0, &recording, &fault) < 0)
        fail_msg("%s: %s", fault.path, fault.what);
    assert_int_equal(recording_new(dir, "percpu", NULL, 0, &second, &fault), -EEXIST);
    assert_int_equal(recording_note(recording, p.buffers, NULL), 0);
    assert_int_equal(manifest_read(dir, &manifest, NULL), 0);
    assert_int_equal(manifest.n_sources, 1);
    assert_false(manifest.sources[0].complete);
    assert_true(manifest.sources[0].began.realtime_ns > 0);
    assert_int_equal(manifest.sources[0].percpu->n_cpus, 2);
    manifest_done(&manifest);
    /* A directory that cannot be looked into is somebody else's, and stays as it is. */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    fd = dup(0);
    close(fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)fd, files.rlim_max}), 0);
    assert_int_equal(recording_new(dir, "percpu", NULL, 0, &second, NULL), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_true(manifest_probe(dir));
    assert_int_equal(recording_problem(recording, "it was %s", "late"), 0);
    assert_int_equal(recording_end(recording, p.buffers, &totals, true, NULL), 0);
    memset(&manifest, 0, sizeof manifest);
    assert_int_equal(manifest_read(dir, &manifest, NULL), 0);
    assert_true(manifest.sources[0].complete);
    assert_int_equal(manifest.sources[0].lost, 5);
    assert_string_equal(manifest.sources[0].problems[0], "it was late");
    assert_true(manifest.sources[0].ended.monotonic_ns >= manifest.sources[0].began.monotonic_ns);
    manifest_done(&manifest);
    recording_remove(recording);
    recording_free(recording);
    snprintf(trace, sizeof trace, "%s/percpu", dir);
    assert_int_equal(access(trace, F_OK), -1);
    assert_int_equal(rmdir(dir), 0); /* it was there before, and empty */
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),      cmocka_unit_test(test_losses),
        cmocka_unit_test(test_choice),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_full),     cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_disorder), cmocka_unit_test(test_recording),
        cmocka_unit_test(test_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
