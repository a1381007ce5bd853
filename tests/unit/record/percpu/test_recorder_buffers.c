/* SPDX-License-Identifier: MIT */
/* The recorder over per-CPU buffers that a program really fills: this one, with two CPUs. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "byte_order.h"
#include "qemu_user.h"
#include "record/percpu/percpu.h"
#include "record/percpu/recorder.h"
#include "record/recording.h"

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
    struct buffer_drain *recorder;
    int fd;
};

static void make_program(struct program *program)
{
    struct strata_percpu_options options = {.n_cpus = 2, .pages = PAGES, .name = "test"};
    struct error error = {0};
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

    if (percpu_buffers_open(program->path, &program->buffers, &error) < 0)
        fail_msg("%s", error.what);
}

static void start(struct program *program, const struct trace_buffers_settings *settings,
                  const struct buffer_drain_settings *recorder)
{
    struct error error = {0};

    make_program(program);
    assert_int_equal(program->buffers->ops->begin(program->buffers, settings, &error), 0);
    program->fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    assert_int_equal(stream_init(&program->stream, program->fd, "stream", &error), 0);
    assert_int_equal(
        buffer_drain_new(program->buffers, &program->stream, recorder, &program->recorder, &error),
        0);
}

static void end_program(struct program *program)
{
    buffers_free(program->buffers);
    munmap(program->control, program->size);
    unlink(program->path);
}

static void end(struct program *program)
{
    buffer_drain_free(program->recorder);
    end_program(program);
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
    struct error error = {0};

    return buffer_drain_take(program->recorder, &error);
}

static int finish(struct program *program)
{
    return buffer_drain_finish(program->recorder, false, NULL);
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

static const struct buffer_drain_settings plain = {0};

static void test_all(void **state)
{
    struct program p;
    struct content content;
    struct buffer_drain_totals totals;

    start(&p, &(struct trace_buffers_settings){.set_events = true, .events = STRATA_TRC_ALL},
          &plain);
    for (unsigned round = 0; round < 50; round++) {
        emit(&p, 0, EVENT, 30);
        emit(&p, round % 2, OTHER, 11);
        assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    }
    emit(&p, 1, EVENT, 7);
    assert_int_equal(finish(&p), BUFFER_DRAIN_ONGOING);
    emit(&p, 1, EVENT, 1); /* it is off now */
    p.emitted--;
    content = read_stream(&p);
    totals = buffer_drain_totals(p.recorder);
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
    struct buffer_drain_totals totals;

    start(&p, &(struct trace_buffers_settings){0}, &plain);
    emit(&p, 0, EVENT, 1000); /* 20 bytes each; there is room for 400 */
    emit(&p, 1, EVENT, 10);
    assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    emit(&p, 0, EVENT, 1);
    assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    assert_in_range(buffer_drain_lost(p.recorder, 0), 500, 700);
    assert_int_equal(buffer_drain_lost(p.recorder, 1), 0);
    emit(&p, 1, EVENT, 500);
    assert_int_equal(finish(&p), BUFFER_DRAIN_ONGOING);
    content = read_stream(&p);
    totals = buffer_drain_totals(p.recorder);
    assert_int_equal(totals.records + totals.lost, p.emitted);
    assert_int_equal(content.events[0] + content.lost[0], 1001);
    assert_true(content.events[1] + content.lost[1] < 510);
    assert_int_equal(content.events[1] + buffer_drain_lost(p.recorder, 1), 510);
    assert_int_equal(totals.losses, 2);
    end(&p);
}

static void test_choice(void **state)
{
    struct program p;
    struct xen_event_mask choice;
    struct buffer_drain_settings settings = {.choice = &choice};
    struct content content;

    assert_int_equal(xen_event_mask_init(&choice), 0);
    assert_int_equal(xen_event_mask_add(&choice, &(struct xen_table){0}, "0x800f123", NULL), 0);
    start(&p, &(struct trace_buffers_settings){.set_events = true, .events = STRATA_TRC_ALL},
          &settings);
    for (unsigned round = 0; round < 40; round++) { /* over the buffer's end, too */
        emit(&p, 0, EVENT, 20);
        emit(&p, 0, OTHER, 21);
        emit(&p, 1, OTHER, 10);
        assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    }
    assert_int_equal(finish(&p), BUFFER_DRAIN_ONGOING);
    content = read_stream(&p);
    assert_int_equal(content.windows, 40); /* none that is empty */
    assert_int_equal(content.events[0], 800);
    assert_int_equal(content.events[1], 0);
    assert_int_equal(buffer_drain_totals(p.recorder).left_out, 40 * 31);
    end(&p);
    xen_event_mask_done(&choice);
}

static void test_memory(void **state)
{
    struct buffer_drain_settings settings = {.memory = 4096};
    struct buffer_drain *recorder;
    struct program p;
    struct content content;
    struct error error = {0};

    settings.memory = 4095;
    start(&p, &(struct trace_buffers_settings){0}, &plain);
    assert_int_equal(buffer_drain_new(p.buffers, &p.stream, &settings, &recorder, &error), -EINVAL);
    assert_non_null(strstr(error.what, "4095 bytes of memory are too few"));
    end(&p);

    /* Less than one CPU's buffer holds: the newest of it, and the rest is counted. */
    settings.memory = 4096;
    start(&p, &(struct trace_buffers_settings){0}, &settings);
    emit(&p, 0, EVENT, 20);
    emit(&p, 1, EVENT, 300);
    assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    assert_int_equal(finish(&p), BUFFER_DRAIN_ONGOING);
    content = read_stream(&p);
    assert_int_equal(content.windows, 1);
    assert_int_equal(content.events[0], 0);
    assert_in_range(content.events[1], 100, 299);
    assert_int_equal(buffer_drain_totals(p.recorder).records, content.events[1]);
    end(&p);

    settings.memory = PAGES * 4096 + 12;
    start(&p, &(struct trace_buffers_settings){0}, &settings);
    for (unsigned round = 0; round < 100; round++) {
        emit(&p, 0, EVENT, 20);
        emit(&p, 1, EVENT, 20);
        assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    }
    assert_int_equal(p.stream.written, 0);
    assert_int_equal(finish(&p), BUFFER_DRAIN_ONGOING);
    content = read_stream(&p);
    assert_in_range(content.windows, 16, 20); /* of 412 bytes each */
    assert_int_equal(content.windows % 2, 0);
    assert_int_equal(content.events[0], content.events[1]);
    assert_true(buffer_drain_totals(p.recorder).dropped + content.windows >= 200);
    end(&p);

    /* What was kept is written, too, when no more can be taken. */
    start(&p, &(struct trace_buffers_settings){0}, &settings);
    emit(&p, 0, EVENT, 20);
    assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
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
    assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    emit(&p, 0, EVENT, 100);
    emit(&p, 1, EVENT, 1);
    assert_int_equal(step(&p), BUFFER_DRAIN_MAX_SIZE);
    assert_int_equal(finish(&p), BUFFER_DRAIN_MAX_SIZE);
    content = read_stream(&p);
    assert_int_equal(content.windows, 1);
    assert_int_equal(content.events[0], 100);
    assert_int_equal(buffer_drain_totals(p.recorder).records, 100);
    assert_int_equal(p.control->masks.enabled, 0);
    end(&p);
}

static void test_threshold(void **state)
{
    struct buffer_drain_settings settings = {.threshold = 50};
    struct program p;

    start(&p, &(struct trace_buffers_settings){0}, &settings);
    emit(&p, 0, EVENT, 49);
    assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    assert_int_equal(p.stream.written, 0);
    emit(&p, 0, EVENT, 1);
    assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    assert_int_equal(p.stream.written, 12 + 50 * 20);
    emit(&p, 0, EVENT, 3);
    assert_int_equal(finish(&p), BUFFER_DRAIN_ONGOING);
    assert_int_equal(p.stream.written, 12 + 50 * 20 + 12 + 3 * 20);
    end(&p);
}

/* Somebody else who takes records as well, and a buffer that cannot be. */
static void test_disorder(void **state)
{
    struct program p;
    struct error error = {0};

    start(&p, &(struct trace_buffers_settings){0}, &plain);
    emit(&p, 0, EVENT, 5);
    p.buffers->views[0]->buffer[0] = 2 * p.buffers->views[0]->size;
    assert_int_equal(step(&p), -EBADMSG);
    assert_int_equal(buffer_drain_finish(p.recorder, false, &error), -EBADMSG);
    end(&p);
}

/* Somebody makes the file smaller under the recorder, who may be about to look into it. */
static void test_gone(void **state)
{
    struct program p;
    struct manifest_source source = {0};
    struct arena arena = {0};
    struct error error = {0};
    struct strata_percpu_window windows[2];

    if (SWAP_LITTLE)
        SKIP_BY_QEMU_USER("gives a handler of SIGBUS a wrong address on big-endian machines");
    start(&p, &(struct trace_buffers_settings){0}, &plain);
    emit(&p, 0, EVENT, 5);
    assert_int_equal(step(&p), BUFFER_DRAIN_ONGOING);
    emit(&p, 0, EVENT, 100);
    emit(&p, 1, EVENT, 7);
    assert_int_equal(strata_percpu_view_windows(p.buffers->views[0], windows), 1);
    assert_int_equal(windows[0].size, 2000);
    assert_int_equal(truncate(p.path, 4096), 0);
    assert_int_equal(windows[0].data[0], 0);
    assert_int_equal(step(&p), -EIO);
    assert_int_equal(buffer_drain_finish(p.recorder, false, &error), -EIO);
    assert_int_equal(p.buffers->ops->describe(p.buffers, &arena, &source), 0);
    assert_int_equal(source.percpu->n_cpus, 2);
    assert_int_equal(p.buffers->ops->restore(p.buffers, false, &error), 0);
    assert_int_equal(read_stream(&p).events[0], 5);
    assert_int_equal(buffer_drain_totals(p.recorder).records, 5);
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

/* The buffers' program, and a recording that is under way: what is said of it then and at the end. */
struct watched {
    struct program program;
    struct manifest manifest;
    const char *dir;
};

static void watch(void *userdata, const struct recording *recording)
{
    struct watched *watched = userdata;

    if (watched->manifest.n_sources > 0 ||
        manifest_read(watched->dir, &watched->manifest, NULL) < 0)
        return;
    emit(&watched->program, 0, EVENT, 30);
    emit(&watched->program, 1, OTHER, 12);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
}

static void test_recording(void **state)
{
    char dir[] = "/tmp/strata-recording-XXXXXX";
    struct watched watched = {.dir = dir};
    struct stop_signals signals;
    struct recording_settings settings = {.dir = dir,
                                          .runtime = "/tmp",
                                          .signals = &signals,
                                          .progress = watch,
                                          .progress_ns = 1000000,
                                          .userdata = &watched};
    struct buffers_recorder_settings buffers = {.name = "percpu", .look_ns = 100000000};
    struct recording *recording;
    struct recorder *recorder;
    struct manifest manifest = {0};
    struct error error = {0};
    struct stat st;
    char path[64];

    assert_int_equal(stop_signals_open(false, &signals), 0);
    make_program(&watched.program);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(recording_new(&settings, &recording, &error), 0);
    assert_int_equal(buffers_recorder_new(watched.program.buffers, &buffers, &recorder), 0);
    assert_int_equal(recording_add(recording, recorder), 0);
    if (recording_run(recording, &error) < 0)
        fail_msg("%s", error.what);
    assert_int_equal(buffers_recorder_totals(recorder).records, 42);
    recording_free(recording);
    assert_int_equal(watched.manifest.n_sources, 1);
    assert_false(watched.manifest.sources[0].complete);
    assert_true(watched.manifest.sources[0].began.realtime_ns > 0);
    assert_int_equal(watched.manifest.sources[0].percpu->n_cpus, 2);
    manifest_done(&watched.manifest);
    assert_int_equal(manifest_read(dir, &manifest, NULL), 0);
    assert_true(manifest.sources[0].complete);
    assert_true(manifest.sources[0].lost_known);
    /* The pairs are of the counter that host_moment() reads, which it does not on every machine. */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
    assert_true(manifest.sources[0].began.tsc > 0);
#endif
    if (manifest.sources[0].began.tsc > 0)
        assert_string_equal(manifest.sources[0].clock.pairs, "percpu/clock-pairs");
    else
        assert_null(manifest.sources[0].clock.pairs);
    assert_true(manifest.sources[0].ended.monotonic_ns >= manifest.sources[0].began.monotonic_ns);
    manifest_done(&manifest);
    snprintf(path, sizeof path, "%s/percpu/trace.raw", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 42 * 20);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/percpu/clock-pairs", dir);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/percpu", dir);
    assert_int_equal(rmdir(path), 0);
    snprintf(path, sizeof path, "%s/trace.json", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    watched.program.buffers = NULL;
    end_program(&watched.program);
    stop_signals_close(&signals);
}

/* A recording of idle buffers sleeps: it looks at them once a second. */
static void test_idle(void **state)
{
    struct recording_settings settings = {.time = 3100000000};
    struct buffers_recorder_settings buffers = {.name = "percpu", .look_ns = 100000000, .fd = -1};
    struct recording *recording;
    struct recorder *recorder;
    struct error error = {0};
    struct program p;

    make_program(&p);
    buffers.fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    buffers.path = "stream";
    assert_int_equal(recording_new(&settings, &recording, &error), 0);
    assert_int_equal(buffers_recorder_new(p.buffers, &buffers, &recorder), 0);
    assert_int_equal(recording_add(recording, recorder), 0);
    assert_int_equal(recording_run(recording, &error), 0);
    /* After 0.1, 0.3, 0.7 seconds, and then each second, with what is due once a second. */
    assert_in_range(recording_wakeups(recording), 3, 10);
    recording_free(recording);
    close(buffers.fd);
    p.buffers = NULL;
    end_program(&p);
}

/* A buffer that gets half full wakes the recorder, however long it would sleep. */
static void wake(void *userdata, const struct recording *recording)
{
    struct program *program = userdata;
    unsigned n;
    struct recorder *const *recorders = recording_recorders(recording, &n);

    if (program->emitted == 0)
        emit(program, 0, EVENT, 300);
    if (buffers_recorder_totals(recorders[0]).records == 300)
        assert_int_equal(kill(getpid(), SIGTERM), 0);
}

static void test_wakeup(void **state)
{
    struct stop_signals signals;
    struct program p;
    struct recording_settings settings = {
        .signals = &signals, .progress = wake, .progress_ns = 1000000, .userdata = &p};
    /* A look once an hour. */
    struct buffers_recorder_settings buffers = {.name = "percpu",
                                                .look_ns = UINT64_C(3600000000000)};
    struct recording *recording;
    struct recorder *recorder;
    struct error error = {0};

    assert_int_equal(stop_signals_open(false, &signals), 0);
    make_program(&p);
    buffers.fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    buffers.path = "stream";
    assert_int_equal(recording_new(&settings, &recording, &error), 0);
    assert_int_equal(buffers_recorder_new(p.buffers, &buffers, &recorder), 0);
    assert_int_equal(recording_add(recording, recorder), 0);
    assert_int_equal(recording_run(recording, &error), 0);
    assert_int_equal(buffers_recorder_totals(recorder).records, 300);
    recording_free(recording);
    close(buffers.fd);
    p.buffers = NULL;
    end_program(&p);
    stop_signals_close(&signals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),      cmocka_unit_test(test_losses),
        cmocka_unit_test(test_choice),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_full),     cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_disorder), cmocka_unit_test(test_recording),
        cmocka_unit_test(test_gone),     cmocka_unit_test(test_idle),
        cmocka_unit_test(test_wakeup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
