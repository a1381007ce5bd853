/* SPDX-License-Identifier: MIT */
/* What records a virtual machine monitor, piece by piece; with a real one: tests/golden/record_vm.sh. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock_ns.h"
#include "base/macro.h"
#include "base/text.h"
#include "qemu_user.h"
#include "record/qemu/arguments.h"
#include "record/qemu/command.h"
#include "record/qemu/log.h"
#include "record/qemu/monitor.h"
#include "record/qemu/probe.h"
#include "tracedir/registry.h"

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/strata-qemu-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static const char *in_dir(const char *name, char buf[128])
{
    snprintf(buf, 128, "%s/%s", dir, name);
    return buf;
}

/* Reads the file NAME of the directory into BUF. */
static const char *content(const char *name, char *buf, size_t size)
{
    char path[128];
    int fd = open(in_dir(name, path), O_RDONLY);
    ssize_t n = read(fd, buf, size - 1);

    assert_true(fd >= 0 && n >= 0);
    close(fd);
    buf[n] = '\0';
    return buf;
}

/* ---- The command line ---- */

#define ARGUMENTS(...)                                          \
    const char *argv[] = {"qemu-system-x86_64", ##__VA_ARGS__}; \
    struct qemu_arguments arguments;                            \
    qemu_arguments_read(argv[0], argv, (unsigned)ARRAY_SIZE(argv), &arguments)

static void arguments_are_read(void **state)
{
    ARGUMENTS("-machine", "accel=tcg,type=q35", "--daemonize", "-D", "my.log", "-msg",
              "guest-name=on,timestamp=off", "-d", "in_asm", "-name", "x,debug-threads=off");
    assert_true(arguments.daemonize);
    assert_string_equal(arguments.log, "my.log");
    assert_string_equal(arguments.message, "guest-name=on,timestamp=off");
    assert_true(arguments.logs);
    assert_true(arguments.names_threads);
    assert_string_equal(arguments.machine, "q35");
}

/* The name at any position among the properties. The command line of the probe has the name alone. */
static void accelerators_are_read(void **state)
{
    {
        ARGUMENTS("-accel", "kvm,dirty-ring-size=4096", "--accel", "tcg");
        assert_string_equal(arguments.accelerator, "kvm:tcg");
    }
    {
        ARGUMENTS("-accel", "thread=multi,accel=tcg");
        assert_string_equal(arguments.accelerator, "tcg");
    }
    {
        ARGUMENTS("-accel", "accel=kvm,kernel-irqchip=off");
        assert_string_equal(arguments.accelerator, "kvm");
    }
    {
        ARGUMENTS("-accel", "thread=multi");
        assert_string_equal(arguments.accelerator, "");
    }
}

static void config_files_are_read(void **state)
{
    char path[128];
    FILE *file = fopen(in_dir("user.cfg", path), "w");

    assert_non_null(file);
    fputs("# [machine]\n[machine]\n\ttype = \"microvm\"\n  accel=\"kvm:tcg\"\n[ \n[]\n[name \"n\"\n"
          "type = \"lost\n[device \"machine\"]\n  type = \"q35\"\nno value\n= \"x\"\n"
          "[accel]\n  accel = \"hvf\"\n[name]\n  debug-threads = \"off\"",
          file);
    fclose(file);
    {
        ARGUMENTS("-readconfig", path);
        assert_string_equal(arguments.machine, "microvm");
        assert_string_equal(arguments.accelerator, "kvm:tcg:hvf");
        assert_true(arguments.names_threads);
    }
    {
        ARGUMENTS("-readconfig", path, "-M", "pc");
        assert_string_equal(arguments.machine, "pc");
    }
    {
        ARGUMENTS("-readconfig", "/nowhere", "-readconfig", dir, "-readconfig", "/dev/zero");
        assert_string_equal(arguments.machine, "");
        assert_string_equal(arguments.accelerator, "");
        assert_false(arguments.names_threads);
    }
}

/* The words, with spaces between. */
static char *built(const struct qemu_arguments *arguments, const struct vmm_additions *additions,
                   struct arena *arena)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error = {0};
    char **argv;
    unsigned n;

    assert_int_equal(qemu_arguments_build(arguments, additions, arena, &argv, &n, &error), 0);
    assert_null(argv[n]);
    for (unsigned i = 0; i < n; i++)
        text_printf(&text, "%s%s", i ? " " : "", argv[i]);
    text_put_char(&text, '\0');
    assert_int_equal(text.error, 0);
    return text.start;
}

/* Commas are doubled in values, and in nothing else. */
static void commas_are_doubled_in_values(void **state)
{
    struct arena arena = {0};
    char path[128], *line;

    {
        ARGUMENTS("-name", "guest=a,,b,debug-threads", "-machine", "q,,35,accel=kvm,,x");
        assert_string_equal(arguments.name, "a,b");
        assert_true(arguments.names_threads);
        assert_string_equal(arguments.machine, "q,35");
        assert_string_equal(arguments.accelerator, "kvm,x");
    }
    {
        ARGUMENTS("-nodefaults");
        struct vmm_additions additions = {.config = in_dir("a,b", path)};

        line = built(&arguments, &additions, &arena);
        assert_non_null(strstr(line, "a,b"));
        free(line);
        unlink(path);
    }
    arena_done(&arena);
}

/* The word after an option that requires a text is not an option. */
static void words_of_a_guest_are_no_options(void **state)
{
    ARGUMENTS("-append", "-daemonize", "-nographic", "-kernel", "-D", "disk", "-trace", "-qmp_*",
              "-S", "-D");
    assert_false(arguments.daemonize);
    assert_null(arguments.log);
    assert_true(arguments.logs);
}

static void serial_device_is_of_the_machine(void **state)
{
    {
        ARGUMENTS("-M", "q35");
        assert_string_equal(vmm_serial_device(&arguments), "virtio-serial-pci");
    }
    {
        ARGUMENTS("-M", "microvm,rtc=on");
        assert_string_equal(vmm_serial_device(&arguments), "virtio-serial-device");
    }
    {
        ARGUMENTS("-machine", "none");
        assert_null(vmm_serial_device(&arguments));
    }
    {
        ARGUMENTS("-m", "64");
        arguments.program = "/usr/bin/qemu-system-s390x";
        assert_string_equal(vmm_serial_device(&arguments), "virtio-serial-ccw");
    }
}

static void command_line_is_added_to(void **state)
{
    static const char *const events[] = {"pci_*", "-pci_cfg_*"};
    struct arena arena = {0};
    ARGUMENTS("-msg", "timestamp=off,guest-name=on", "disk");
    struct vmm_additions additions = {.events = events, .n_events = 2, .log = "/run/log"};
    char *line = built(&arguments, &additions, &arena);

    /* -msg forgets what the one before said. */
    assert_string_equal(line, "qemu-system-x86_64 -msg timestamp=off,guest-name=on disk "
                              "-trace enable=pci_* -trace enable=-pci_cfg_* -D /run/log "
                              "-msg timestamp=on,guest-name=on -name debug-threads=on");
    free(line);
    additions = (struct vmm_additions){.trace_file = "/a,b/trace"};
    line = built(&arguments, &additions, &arena);
    assert_non_null(strstr(line, " -trace file=/a,,b/trace"));
    free(line);
    arena_done(&arena);
}

static void config_has_monitors_and_port(void **state)
{
    struct arena arena = {0};
    char path[128], text[2048];
    ARGUMENTS("-M", "microvm");
    struct vmm_additions additions = {.config = in_dir("config", path),
                                      .monitor = "/run/monitor",
                                      .control = "/run/qmp",
                                      .port = "/run/agent"};
    char *line = built(&arguments, &additions, &arena);

    assert_non_null(strstr(line, " -readconfig /tmp/"));
    content("config", text, sizeof text);
    assert_non_null(strstr(text, "path = \"/run/monitor\""));
    assert_non_null(strstr(text, "path = \"/run/qmp\""));
    assert_non_null(strstr(text, "driver = \"virtio-serial-device\""));
    assert_non_null(strstr(text, "name = \"org.strata.agent\""));
    free(line);
    unlink(path);
    arena_done(&arena);
}

static void a_config_that_does_not_fit_says_why(void **state)
{
    struct arena arena = {0};
    struct rlimit before, small;
    struct error error = {0};
    char path[128], **argv_built;
    unsigned n;
    ARGUMENTS("-M", "microvm");
    struct vmm_additions additions = {.config = in_dir("config", path), .monitor = "/run/monitor"};

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 8;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(qemu_arguments_build(&arguments, &additions, &arena, &argv_built, &n, &error),
                     -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_string_equal(error.what, "cannot be written: File too large");
    unlink(path);
    arena_done(&arena);
}

static void what_cannot_be_is_refused(void **state)
{
    struct arena arena = {0};
    struct vmm_additions additions = {.port = "/run/agent"};
    struct error error = {0};
    char **argv_built;
    unsigned n;

    {
        ARGUMENTS("-daemonize");
        assert_int_equal(
            qemu_arguments_build(&arguments, &additions, &arena, &argv_built, &n, &error), -EINVAL);
        assert_non_null(strstr(error.what, "-daemonize"));
    }
    error_clear(&error);
    {
        ARGUMENTS("-M", "isapc");
        assert_int_equal(
            qemu_arguments_build(&arguments, &additions, &arena, &argv_built, &n, &error), -EINVAL);
        assert_non_null(strstr(error.what, "virtio-serial"));
    }
    arena_done(&arena);
}

static void qemu_is_known_by_its_words(void **state)
{
    char path[128];
    static const char words[] = "\x7f"
                                "ELF....QEMU emulator version 7";
    int fd = open(in_dir("renamed", path), O_WRONLY | O_CREAT, 0700);

    assert_int_equal(write(fd, words, sizeof words), sizeof words);
    close(fd);
    assert_true(vmm_is_qemu(path));
    assert_true(vmm_is_qemu("/opt/bin/qemu-system-riscv64"));
    assert_false(vmm_is_qemu("/bin/sh"));
    assert_false(vmm_is_qemu("/usr/bin/qemu-img-no-such"));
    unlink(path);
}

/* ---- The log ---- */

struct logging {
    struct qemu_log_input log;
    int writer;
};

static void open_log(struct logging *logging, uint64_t max_size, bool copies_rest)
{
    char fifo[128], file[128], copy[128];
    int fd = open(in_dir("copy", copy), O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(qemu_log_input_open_fifo(in_dir("fifo", fifo), in_dir("log", file), max_size,
                                              fd, copies_rest, 0, &logging->log, NULL),
                     0);
    logging->writer = open(fifo, O_WRONLY | O_NONBLOCK);
    assert_true(logging->writer >= 0);
}

static void put(const struct logging *logging, const char *s)
{
    assert_int_equal(write(logging->writer, s, strlen(s)), strlen(s));
}

static void close_log(struct logging *logging)
{
    char path[128];

    qemu_log_input_done(&logging->log);
    if (logging->writer >= 0)
        close(logging->writer);
    unlink(in_dir("fifo", path));
    unlink(in_dir("log", path));
    unlink(in_dir("copy", path));
}

/* Nothing is to be done for a log into which nothing comes: neither before QEMU has opened it, nor after QEMU's end. */
static void log_is_idle(void **state)
{
    struct logging logging;
    struct pollfd fd;
    uint64_t sleep;

    open_log(&logging, 0, true);
    fd = (struct pollfd){logging.log.in, POLLIN, 0};
    qemu_log_input_take(&logging.log, &sleep);
    assert_true(logging.log.is_idle && sleep == UINT64_MAX);
    assert_int_equal(poll(&fd, 1, 0), 0);
    put(&logging, "1@2.000003:a\n");
    assert_int_equal(poll(&fd, 1, 0), 1);
    qemu_log_input_take(&logging.log, &sleep);
    assert_true(!logging.log.is_idle && sleep < UINT64_C(10000000));
    close(logging.writer);
    logging.writer = -1;
    qemu_log_input_take(&logging.log, &sleep);
    assert_true(logging.log.is_idle && sleep == UINT64_MAX);
    assert_int_equal(poll(&fd, 1, 0), 0);
    close_log(&logging);
}

static void log_is_taken(void **state)
{
    struct logging logging;
    uint64_t sleep;
    char text[4096];

    open_log(&logging, 0, true);
    qemu_log_input_take(&logging.log, &sleep);
    put(&logging, "1@2.000003:a x\n0x123: nop\n1@2.0000");
    qemu_log_input_take(&logging.log, &sleep);
    /* The first piece of a line decides its kind. */
    put(&logging, "04:b\nguest er");
    qemu_log_input_take(&logging.log, &sleep);
    put(&logging, "ror\n77@5");
    close(logging.writer);
    logging.writer = -1;
    qemu_log_input_finish(&logging.log);
    /* An incomplete line is dropped. */
    assert_string_equal(content("log", text, sizeof text),
                        "1@2.000003:a x\n0x123: nop\n1@2.000004:b\nguest error\n");
    assert_int_equal(logging.log.lines, 4);
    assert_int_equal(logging.log.lost_lines, 0);
    assert_string_equal(content("copy", text, sizeof text), "0x123: nop\nguest error\n");
    close_log(&logging);
}

/* The file ends with a whole line, and the lines after it are counted. The copy has all. */
static void log_is_cut_off(void **state)
{
    struct logging logging;
    uint64_t sleep;
    char text[4096];

    open_log(&logging, 20, false);
    put(&logging, "1@2.000003:a\n1@2.000003:b\n1@2.000003:c\n");
    qemu_log_input_take(&logging.log, &sleep);
    put(&logging, "1@2.000003:d\n");
    close(logging.writer);
    logging.writer = -1;
    qemu_log_input_finish(&logging.log);
    assert_int_equal(logging.log.error, -EFBIG);
    assert_string_equal(content("log", text, sizeof text), "1@2.000003:a\n");
    assert_int_equal(logging.log.lines, 1);
    assert_int_equal(logging.log.lost_lines, 3);
    assert_int_equal(logging.log.bytes, 13);
    assert_int_equal(logging.log.lost_bytes, 39);
    assert_string_equal(content("copy", text, sizeof text),
                        "1@2.000003:a\n1@2.000003:b\n1@2.000003:c\n1@2.000003:d\n");
    close_log(&logging);
}

/* ---- The directory for what does not stay ---- */

struct seen {
    char trace[128];
    unsigned n;
};

static int note_recording(const struct registry_recording *recording, void *userdata)
{
    struct seen *seen = userdata;

    /* Others of this user may record, too. */
    if (strcmp(recording->trace, seen->trace) == 0) {
        assert_int_equal(recording->pid, getpid());
        assert_true(recording->since_ns > 0);
        seen->n++;
    }
    return 0;
}

static void dead_recorders_dir_is_removed(void **state)
{
    struct registry_entry dead, other, next;
    char name[REGISTRY_NAME_MAX], half[128], fifo[128];
    struct seen seen = {0};
    int fd, held;

    snprintf(seen.trace, sizeof seen.trace, "%s", dir);

    assert_int_equal(registry_add(dir, dir, &dead, NULL), 0);
    assert_int_equal(strncmp(dead.dir.path, dir, strlen(dir)), 0);
    fd = open(registry_name(&dead, "left", name), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(registry_add(dir, dir, &other, NULL), 0);
    /* It is in use. */
    assert_int_equal(access(name, F_OK), 0);
    close(dead.dir.fd); /* as the end of its recorder does */
    /* Neither what begins, ends, nor is something else. */
    assert_int_equal(mkdir(in_dir("strata-record-half", half), 0700), 0);
    /* Nor one that would make us wait, as whom the directory was given to may leave there. */
    assert_int_equal(mkfifo(in_dir("strata-record-half/recording", fifo), 0600), 0);
    held = open(half, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(registry_foreach(dir, note_recording, &seen), 0);
    assert_int_equal(seen.n, 1);
    close(held);
    assert_int_equal(registry_add(dir, dir, &next, NULL), 0);
    assert_int_equal(access(dead.dir.path, F_OK), -1);
    assert_int_equal(access(other.dir.path, F_OK), 0);
    registry_remove(&other);
    registry_remove(&next);
    assert_int_equal(access(next.dir.path, F_OK), -1);
}

/* ---- The monitor ---- */

static void say(int fd, const char *s)
{
    assert_int_equal(write(fd, s, strlen(s)), strlen(s));
}

static void monitor_tells_of_threads_and_end(void **state)
{
    struct qemu_monitor monitor;
    char text[1024], reply[256];
    uint64_t sleep;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[128];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    SKIP_BY_QEMU_USER("has threads of its own in /proc/self/task");
    memcpy(address.sun_path, in_dir("monitor", path), strlen(in_dir("monitor", path)));
    assert_int_equal(qemu_monitor_listen(path, 0, &monitor, NULL), 0);
    assert_int_equal(qemu_monitor_step(&monitor, 1, &sleep, NULL),
                     0); /* nobody came: it does not wait */
    assert_int_equal(monitor.pid, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(qemu_monitor_step(&monitor, 1, &sleep, NULL),
                     0); /* nor when nothing is said */
    assert_int_equal(monitor.pid, getpid());
    say(fd, "{\"QMP\": {\"version\": {\"qemu\": {\"major\": 7, \"minor\": 2, \"micro\": 1}, "
            "\"package\": \"\"}, \"capabilities\": []}}\r\n{\"return\": {}}\r\n");
    assert_int_equal(qemu_monitor_step(&monitor, 2, &sleep, NULL), 0);
    assert_string_equal(monitor.version, "QEMU 7.2.1");
    text[read(fd, text, sizeof text - 1)] = '\0';
    assert_non_null(strstr(text, "qmp_capabilities"));
    assert_non_null(strstr(text, "query-cpus-fast"));
    assert_true(qemu_monitor_is_asked(&monitor));
    snprintf(reply, sizeof reply,
             "{\"event\": \"RESET\", \"data\": {}}\n{\"return\": [{\"thread-id\": %d, "
             "\"cpu-index\": 0}, {\"thread-id\": %d, \"cpu-index\": 1}, {\"cpu-index\": 2}]}\n",
             (int)getpid(), (int)getpid());
    say(fd, reply);
    assert_int_equal(qemu_monitor_step(&monitor, 3, &sleep, NULL), 0);
    assert_int_equal(monitor.resets, 1);
    assert_true(monitor.changed);
    /* One thread that runs two vCPUs is there with each. */
    assert_int_equal(monitor.n_threads, 2);
    assert_int_equal(monitor.threads[0].vcpu + monitor.threads[1].vcpu, 1);
    assert_string_equal(monitor.threads[0].name, "test_qemu");
    /* It has answered, and is asked nothing more where that is not wished for. */
    monitor.ends = monitor.wants_cpus = true;
    assert_int_equal(qemu_monitor_step(&monitor, 3, &sleep, NULL), 0);
    assert_false(qemu_monitor_is_asked(&monitor));
    assert_int_equal(recv(fd, text, sizeof text, MSG_DONTWAIT), -1);
    /* As QEMU says it, with the real time, and as it does not. */
    snprintf(reply, sizeof reply,
             "{\"event\": \"RESUME\"}\n{\"event\": \"STOP\", \"timestamp\": {\"seconds\": %lld, "
             "\"microseconds\": 0}}\n",
             (long long)time(NULL) - 5);
    say(fd, reply);
    assert_int_equal(qemu_monitor_step(&monitor, 4, &sleep, NULL), 0);
    assert_true(monitor.is_paused);
    assert_int_equal(monitor.pause.resumed, 0);
    /* After SHUTDOWN, QEMU stops the machine to end. */
    assert_true(qemu_monitor_stands_still(&monitor, monitor.pause.stopped));
    strcpy(monitor.shutdown, "guest-shutdown");
    assert_false(qemu_monitor_stands_still(&monitor, monitor.pause.stopped + NSEC_PER_SEC / 2));
    assert_true(qemu_monitor_stands_still(&monitor, monitor.pause.stopped + 2 * NSEC_PER_SEC));
    monitor.shutdown[0] = '\0';
    /* The reason of the pause shows whether the guest was migrated. */
    monitor.ends = monitor.wants_cpus = false;
    assert_int_equal(qemu_monitor_step(&monitor, 4, &sleep, NULL), 0);
    text[read(fd, text, sizeof text - 1)] = '\0';
    assert_non_null(strstr(text, "query-status"));
    /* It says so late: QEMU stops the machine before it sends the rest of it. */
    say(fd, "{\"return\": {\"status\": \"finish-migrate\", \"running\": false}}\n");
    assert_int_equal(qemu_monitor_step(&monitor, 4, &sleep, NULL), 0);
    assert_false(monitor.is_migrated || qemu_monitor_is_asked(&monitor));
    assert_true(sleep < NSEC_PER_SEC);
    assert_int_equal(qemu_monitor_step(&monitor, 4 + sleep, &sleep, NULL), 0);
    text[read(fd, text, sizeof text - 1)] = '\0';
    assert_non_null(strstr(text, "query-status"));
    say(fd, "{\"return\": {\"status\": \"postmigrate\", \"running\": false}}\n");
    assert_int_equal(qemu_monitor_step(&monitor, 4, &sleep, NULL), 0);
    assert_true(monitor.is_migrated);
    monitor.ends = true;
    say(fd, "{\"event\": \"STOP\"}\n{\"event\": \"RESUME\", \"timestamp\": 3}\n");
    assert_int_equal(qemu_monitor_step(&monitor, 4, &sleep, NULL), 0);
    assert_false(monitor.is_paused || monitor.is_migrated);
    assert_int_equal(monitor.n_pauses, 1);
    assert_true(monitor.paused_ns == monitor.pause.resumed - monitor.pause.stopped);
    assert_true(monitor.paused_ns > 5 * NSEC_PER_SEC - 1000 &&
                monitor.paused_ns < 500 * NSEC_PER_SEC);
    say(fd, "{\"event\": \"SHUTDOWN\", \"data\": {\"reason\": \"guest-shutdown\"}}\n");
    close(fd);
    assert_int_equal(qemu_monitor_step(&monitor, 4, &sleep, NULL), 0);
    assert_string_equal(monitor.shutdown, "guest-shutdown");
    assert_int_equal(qemu_monitor_step(&monitor, 5, &sleep, NULL), 0);
    assert_null(monitor.qmp);
    qemu_monitor_done(&monitor);
    assert_int_equal(qemu_monitor_fd(&monitor), -1);
    unlink(path);
}

struct reset {
    unsigned ms; /* since the machine began */
    bool is_hosts;
};

static unsigned count_resets(const struct reset *resets, unsigned n)
{
    struct qemu_monitor monitor = {.listener = -1};
    int64_t began = (int64_t)(clock_ns(CLOCK_REALTIME) / 1000) - 60000000;

    for (unsigned i = 0; i < n; i++) {
        json_t *data = json_pack("{s:b}", "guest", !resets[i].is_hosts);

        assert_non_null(data);
        qemu_monitor_event(&monitor, "RESET", data, began + resets[i].ms * INT64_C(1000));
        json_decref(data);
    }
    return monitor.resets;
}

/* The times of events are those of QEMU 7.2. */
static void test_resets(void **state)
{
    /* A boot sector that resets its machine, each time by the port 0xcf9, in a loop. */
    static const struct reset loop[] = {{295},  {403},  {403},  {868},  {1016}, {1016}, {1442},
                                        {1598}, {1999}, {2130}, {2522}, {2654}, {3297}, {3420}};
    /* … by a triple fault. */
    static const struct reset fault[] = {{212}, {281}, {281}, {521},  {572},  {576},
                                         {602}, {602}, {946}, {1056}, {1056}, {1433}};
    /* system_reset, of the host. */
    static const struct reset hosts[] = {{3001, true}, {3103}, {6011, true}, {6135}, {6136}};
    /* … and no firmware that resets. */
    static const struct reset others[] = {{100, true}, {200, true}, {9000}, {9001}, {15000}};

    (void)state;
    assert_int_equal(count_resets(loop, ARRAY_SIZE(loop)), 6);
    assert_int_equal(count_resets(fault, ARRAY_SIZE(fault)), 4);
    assert_int_equal(count_resets(hosts, ARRAY_SIZE(hosts)), 2);
    assert_int_equal(count_resets(others, ARRAY_SIZE(others)), 4);
    assert_int_equal(count_resets(hosts, 1), 1);
}

static void burn_and_stop(void)
{
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void)raise(SIGSTOP);
    while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < NSEC_PER_SEC / 10)
        ;
    (void)raise(SIGSTOP);
    _exit(0);
}

/* A process that is traced, as by strace, is seen in the state of one that stands still. */
static void a_traced_process_runs(void **state)
{
    struct qemu_monitor monitor;
    uint64_t sleep, now = NSEC_PER_SEC;
    int status;
    pid_t pid;

    (void)state;
    SKIP_BY_QEMU_USER("has no ptrace()");
    pid = fork();
    if (pid == 0)
        burn_and_stop();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    qemu_monitor_watch(pid, &monitor);
    assert_int_equal(qemu_monitor_step(&monitor, now, &sleep, NULL), 0);
    assert_int_equal(monitor.n_halts, 0);
    assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(qemu_monitor_step(&monitor, 2 * now, &sleep, NULL), 0);
    assert_int_equal(monitor.n_halts, 0);
    /* One that does nothing between two looks stands still. */
    assert_int_equal(qemu_monitor_step(&monitor, 3 * now, &sleep, NULL), 0);
    assert_int_equal(monitor.n_halts, 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    qemu_monitor_done(&monitor);
}

/* ---- Commands ---- */

static const char *made(const char *name, const char *text, char path[128])
{
    int fd = open(in_dir(name, path), O_WRONLY | O_CREAT | O_TRUNC, 0700);

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return path;
}

#define COMMAND(...)                                                                           \
    const char *command[] = {__VA_ARGS__};                                                     \
    struct qemu_command found = {0};                                                           \
    struct error error = {0};                                                                  \
    int r = qemu_command_find(command, (unsigned)ARRAY_SIZE(command), search, &found, &error); \
    free(found.program)

static void qemu_is_found_behind_others(void **state)
{
    char qemu[128], other[128], search[160];

    made("qemu-system-x", "", qemu);
    made("other", "", other);
    snprintf(search, sizeof search, "/usr/bin:/bin:%s", dir);
    {
        COMMAND("qemu-system-x", "-m", "1");
        assert_true(r == 1 && found.n_before == 0);
    }
    {
        COMMAND("nice", "-n", "5", "/usr/bin/env", "A=b", "taskset", "-c", "0", qemu, "-m", "1");
        assert_true(r == 1 && found.n_before == 8);
    }
    {
        const char *const words[] = {"env", NULL, "qemu-system-x"};
        char path[160];

        snprintf(path, sizeof path, "PATH=%s", dir);
        snprintf(search, sizeof search, "/usr/bin:/bin");
        COMMAND(words[0], path, words[2]);
        assert_true(r == 1 && found.n_before == 2);
        snprintf(search, sizeof search, "/usr/bin:/bin:%s", dir);
    }
    {
        COMMAND("setpriv", "--no-new-privs", "qemu-system-x");
        assert_true(r == 1 && found.n_before == 2);
    }
    {
        COMMAND("sudo", "-u", "other-user", "qemu-system-x");
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(error.what, "as another user"));
    }
    {
        COMMAND("setpriv", "--reuid=5", "qemu-system-x");
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(error.what, "as another user"));
    }
    {
        COMMAND("sudo", "other", "qemu-system-x");
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(error.what, "as another user"));
    }
    unlink(qemu);
    unlink(other);
}

#define UNKNOWN(SAYS, ...)                                               \
    do {                                                                 \
        const char *says = SAYS;                                         \
        COMMAND(__VA_ARGS__);                                            \
        assert_int_equal(r, *says ? -EINVAL : 0);                        \
        if (!strstr(error.what, says))                                   \
            fail_msg("%s %s: '%s'", command[0], command[1], error.what); \
    } while (0)

/* A program that is not known, with a QEMU among its operands, most likely starts it. */
static void qemu_behind_an_unknown_program_is_told(void **state)
{
    char other[128], unshare[128], su[128], docker[128], search[160];

    made("other", "", other);
    made("unshare", "", unshare);
    made("su", "", su);
    made("docker", "", docker);
    snprintf(search, sizeof search, "%s", dir);
    UNKNOWN("add --qemu=qemu-system-x if", "other", "qemu-system-x");
    UNKNOWN("add --qemu=/opt/qemu-system-x86_64 if", "unshare", "-m", "/opt/qemu-system-x86_64",
            "-m");
    UNKNOWN("add --qemu=qemu-system-arm if", "other", "-c", "exec qemu-system-arm -m 1");
    UNKNOWN("as another user", "su", "-", "nobody", "-c", "qemu-system-arm -m 1");
    UNKNOWN("--attach PID", "docker", "run", "image", "qemu-system-arm");
    UNKNOWN("", "other", "qemu-system-x.conf");
    UNKNOWN("", "other", "qemu-system-");
    UNKNOWN("", "other", "exec qemu-system-arm");
    UNKNOWN("", "no-such-program", "none");
    unlink(other);
    unlink(unshare);
    unlink(su);
    unlink(docker);
}

static void script_that_starts_qemu_is_told(void **state)
{
    static const struct {
        const char *text, *says; /* NULL: nothing */
    } scripts[] = {
        {"#!/bin/sh\nexec qemu-system-x86_64 -m 1 \"$@\"\n",
         "add --qemu=qemu-system-x86_64 if the script"},
        {"#!/bin/sh\nQEMU=\"/opt/q/qemu-system-arm\"\n",
         "add --qemu=/opt/q/qemu-system-arm if the script"},
        {"#!/bin/sh\nqemu-system-$ARCH -m 1\n", "add --qemu=PROGRAM if the script"},
        {"#!/bin/sh\n\"${DIR}/qemu-system-arm\" -m 1\n", "add --qemu=PROGRAM if the script"},
        {"#!/bin/sh\n # qemu-system-arm\n", NULL},
        {"#!/bin/sh\necho\n", NULL},
        {"qemu-system-arm", NULL},
    };
    const char *search = "/usr/bin:/bin";
    char path[128];

    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        COMMAND("nice", "-n", "1", made("start", scripts[i].text, path));
        assert_int_equal(r, scripts[i].says ? -EINVAL : 0);
        if (scripts[i].says && !strstr(error.what, scripts[i].says))
            fail_msg("%s: %s", scripts[i].text, error.what);
    }
    unlink(path);
}

/* ---- Children ---- */

static void children_end(void **state)
{
    static const char *const fails[] = {"sh", "-c", "exit 3", NULL};
    static const char *const killed[] = {"sh", "-c", "kill -9 $$", NULL};
    static const char *const variable[] = {"sh", "-c", "test \"$STRATA_X\" = 'a b'", NULL};
    static const char *const missing[] = {"/no/such/program", NULL};
    struct child_how how = {.argv = fails, .in = -1, .out = -1, .err = -1};
    struct error error = {0};
    struct child child;
    char text[64];

    assert_int_equal(child_start(&how, &child, NULL), 0);
    assert_true(child_wait(&child, UINT64_C(60000000000)));
    assert_int_equal(child_exit_status(&child), 3);
    assert_string_equal(child_end_text(&child, text, sizeof text), "status 3");
    child_done(&child);
    how.argv = killed;
    assert_int_equal(child_start(&how, &child, NULL), 0);
    assert_true(child_wait(&child, UINT64_C(60000000000)));
    assert_int_equal(child_exit_status(&child), 137);
    assert_string_equal(child_end_text(&child, text, sizeof text), "killed by signal 9 (Killed)");
    child_done(&child);
    how.argv = variable;
    how.variable = "STRATA_X=a b";
    assert_int_equal(child_start(&how, &child, NULL), 0);
    assert_true(child_wait(&child, UINT64_C(60000000000)));
    assert_int_equal(child_exit_status(&child), 0);
    child_done(&child);
    how.argv = missing;
    assert_int_equal(child_start(&how, &child, &error), -ENOENT);
    assert_string_equal(error.path, "/no/such/program");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_read),
        cmocka_unit_test(config_files_are_read),
        cmocka_unit_test(accelerators_are_read),
        cmocka_unit_test(commas_are_doubled_in_values),
        cmocka_unit_test(words_of_a_guest_are_no_options),
        cmocka_unit_test(serial_device_is_of_the_machine),
        cmocka_unit_test(command_line_is_added_to),
        cmocka_unit_test(config_has_monitors_and_port),
        cmocka_unit_test(a_config_that_does_not_fit_says_why),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(qemu_is_known_by_its_words),
        cmocka_unit_test(log_is_idle),
        cmocka_unit_test(log_is_taken),
        cmocka_unit_test(log_is_cut_off),
        cmocka_unit_test(dead_recorders_dir_is_removed),
        cmocka_unit_test(monitor_tells_of_threads_and_end),
        cmocka_unit_test(qemu_is_found_behind_others),
        cmocka_unit_test(test_resets),
        cmocka_unit_test(a_traced_process_runs),
        cmocka_unit_test(qemu_behind_an_unknown_program_is_told),
        cmocka_unit_test(script_that_starts_qemu_is_told),
        cmocka_unit_test(children_end),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
