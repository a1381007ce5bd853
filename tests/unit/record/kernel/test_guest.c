/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/kernel/guest_internal.h"
#include "record/kernel/guest_manifest.h"

/* Two guests of a recording, of which one's confined process is taken over by what its guest sent: a process of the test's stands in its
 * place, and sends to the collector what it likes. The collector ends that guest or bears it, keeps nothing of it open,
 * and goes on with the other one. */

#define HEAD offsetof(struct guest_packet, bytes)

static char directory[] = "/tmp/strata-guests-XXXXXX";
static unsigned n_messages;

static void count_message(void *userdata, const char *guest, const char *what)
{
    (void)userdata;
    (void)guest;
    (void)what;
    n_messages++;
}

/* ---- What the hostile process does ---- */

static void send_bytes(int channel, const void *p, size_t size, unsigned n_fds)
{
    struct iovec iov = {(void *)(uintptr_t)p, size};
    union {
        char bytes[CMSG_SPACE(200 * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

    if (n_fds > 0) {
        struct cmsghdr *cmsg;

        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        cmsg = CMSG_FIRSTHDR(&message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memset(CMSG_DATA(cmsg), 0, n_fds * sizeof(int)); /* descriptor 0, N times */
    }
    if (sendmsg(channel, &message, MSG_NOSIGNAL) < 0)
        _exit(0);
}

static void send_packet(int channel, uint32_t kind, uint32_t cpu, const void *p, uint32_t size)
{
    static struct guest_packet packet;

    packet.head = (struct guest_packet_head){.kind = kind, .cpu = cpu, .size = size};
    if (size > 0)
        memcpy(packet.bytes, p, size);
    send_bytes(channel, &packet, HEAD + size, 0);
}

static void send_fact(int channel, const char *name, const char *value)
{
    char both[1024];
    int n = snprintf(both, sizeof both, "%s%c%s", name, 0, value);

    send_packet(channel, PACKET_FACT, 0, both, (uint32_t)n);
}

/* Which may be anything, in any order, of any length. */
static void say_wrong_length(int channel)
{
    static char bytes[100000];
    const struct guest_packet_head head = {.kind = PACKET_PROGRESS, .size = 17};

    send_bytes(channel, &head, sizeof head, 0);
    send_bytes(channel, bytes, sizeof bytes, 0);
}

static void say_oversize(int channel)
{
    static char bytes[100000];

    send_bytes(channel, bytes, sizeof bytes, 0);
}

static void say_nothing(int channel)
{
    send_bytes(channel, "", 0, 0);
}

static void say_half_a_head(int channel)
{
    send_bytes(channel, "x", 1, 0);
}

static void say_unknown(int channel)
{
    send_packet(channel, 77, 0, NULL, 0);
}

static void say_the_collectors(int channel)
{
    send_packet(channel, PACKET_CONNECTION, 0, NULL, 0);
}

static void send_descriptors(int channel)
{
    const struct guest_packet_head head = {.kind = PACKET_FILE_END};

    for (unsigned i = 0; i < 1000; i++)
        send_bytes(channel, &head, sizeof head, 1 + i % 200);
}

static void progress_is(int channel, size_t offset, uint8_t value)
{
    uint8_t bytes[sizeof(struct guest_progress)] = {0};

    bytes[offset] = value;
    send_packet(channel, PACKET_PROGRESS, 0, bytes, sizeof bytes);
}

static void progress_of_no_state(int channel)
{
    progress_is(channel, offsetof(struct guest_progress, state), 99);
}

static void progress_of_no_bool(int channel)
{
    progress_is(channel, offsetof(struct guest_progress, said_bye), 2);
}

static void progress_of_no_size(int channel)
{
    send_packet(channel, PACKET_PROGRESS, 0, directory, 5);
}

static void ask_for_files(int channel)
{
    for (uint32_t i = 0; i < 100000; i++)
        send_packet(channel, PACKET_OPEN_PAGES, i % PROTO_CPUS_MAX, NULL, 0);
}

static void ask_for_no_cpu(int channel)
{
    send_packet(channel, PACKET_OPEN_PAGES, UINT32_MAX, NULL, 0);
}

/* They go into files that the process is given, and never through the collector. */
static void send_pages(int channel)
{
    static const uint8_t page[4096];

    for (uint32_t i = 0; i < 1000; i++)
        send_packet(channel, PACKET_PAGES, i % 4, page, sizeof page);
}

static void ask_for_connections(int channel)
{
    for (;;)
        send_packet(channel, PACKET_DISCONNECTED, 0, NULL, 0);
}

static void begin_parts(int channel)
{
    for (;;)
        send_packet(channel, PACKET_BOOT, 0, NULL, 0);
}

static void begin_files(int channel)
{
    for (unsigned i = 0; i < 1000; i++) {
        char path[64];
        int n = snprintf(path, sizeof path, "events/a/b%u/format", i);

        send_packet(channel, PACKET_FILE_BEGIN, 0, path, (uint32_t)n);
    }
}

static void begin_elsewhere(int channel)
{
    send_packet(channel, PACKET_FILE_BEGIN, 0, "../other/cpu0.raw", 17);
}

static void begin_with_nul(int channel)
{
    send_packet(channel, PACKET_FILE_BEGIN, 0, "trace_clock\0/../../x", 20);
}

static void put_into_none(int channel)
{
    send_packet(channel, PACKET_FILE_PUT, 0, directory, 4);
}

static void put_for_ever(int channel)
{
    static char bytes[GUEST_PACKET_MAX];

    send_packet(channel, PACKET_FILE_BEGIN, 0, "kallsyms", 8);
    for (;;)
        send_packet(channel, PACKET_FILE_PUT, 0, bytes, sizeof bytes);
}

static void fact_without_value(int channel)
{
    send_packet(channel, PACKET_FACT, 0, "release", 7);
}

static void fact_of_full_size(int channel)
{
    static char bytes[GUEST_PACKET_MAX];

    memset(bytes, 'x', sizeof bytes);
    bytes[4] = '\0';
    send_packet(channel, PACKET_FACT, 0, bytes, sizeof bytes);
}

/* These messages are accepted: they may be true. */

static void send_facts(int channel)
{
    char value[GUEST_PACKET_MAX / 64];

    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    for (unsigned i = 0; i < 20000; i++) {
        char problem[32];

        snprintf(problem, sizeof problem, "problem %u", i);
        send_fact(channel, "problem", problem);
        send_fact(channel, i % 2 ? "clock" : "boot_id", i % 4 == 1 ? "x86-tsc" : value);
        send_fact(channel, "hz", "-1");
    }
}

static void send_pairs(int channel)
{
    for (uint64_t i = 0; i < 20000; i++) {
        struct guest_pair pair = {i % 3 ? i * i : UINT64_MAX - i, i % 5 ? i : UINT64_MAX, i << 50};

        send_packet(channel, PACKET_PAIR, 0, &pair, sizeof pair);
    }
}

static void flap(int channel)
{
    struct guest_progress progress = {.bytes = UINT64_MAX, .gaps = UINT64_MAX};

    for (unsigned i = 0; i < 20000; i++) {
        progress.state = i % 2 ? GUEST_RUNNING : GUEST_HELLO;
        progress.lost = i % 3 ? UINT64_MAX : 0;
        send_packet(channel, PACKET_PROGRESS, 0, &progress, sizeof progress);
    }
}

static void end_well(int channel)
{
    struct guest_packet packet = {
        .head = {.kind = PACKET_END, .error = INT_MAX, .size = GUEST_PACKET_MAX}};

    memset(packet.bytes, 'x', sizeof packet.bytes);
    send_bytes(channel, &packet, sizeof packet, 0);
}

static void end_badly(int channel)
{
    const struct guest_packet_head head = {.kind = PACKET_END, .error = INT_MIN};

    send_bytes(channel, &head, sizeof head, 0);
}

/* ---- The collector ---- */

static unsigned count_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* An agent that accepts every connection, and sends nothing. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1000), 0);
    return fd;
}

/* In the place of the process of GUEST. */
static void take_over(struct guest *guest, void (*act)(int channel))
{
    int ends[2], status;

    close(guest->channel);
    kill(guest->pid, SIGKILL);
    assert_int_equal(waitpid(guest->pid, &status, 0), guest->pid);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    guest->pid = fork();
    if (guest->pid == 0) {
        alarm(200);
        close(ends[0]);
        act(ends[1]);
        shutdown(ends[1], SHUT_WR);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    guest->channel = ends[0];
}

static uint64_t disk_use(const char *path)
{
    char command[200];
    unsigned long kib = 0;
    FILE *out;

    snprintf(command, sizeof command, "du -sk %s", path);
    out = popen(command, "r"); /* NOLINT(cert-env33-c): our own name */
    assert_non_null(out);
    assert_int_equal(fscanf(out, "%lu", &kib), 1); /* NOLINT(cert-err34-c) */
    pclose(out);
    return (uint64_t)kib << 10;
}

struct attack {
    const char *name;
    void (*act)(int channel);
    bool is_error; /* the guest's end is one */
    uint64_t most; /* bytes that it may leave on the disk */
};

#define KIB UINT64_C(1024)
/* Of the limit of a guest's files, which is large. */
#define ROOM_LEFT (4096 * KIB)

static const struct attack attacks[] = {
    {"wrong length", say_wrong_length, true, 200 * KIB},
    {"oversize", say_oversize, true, 200 * KIB},
    {"nothing", say_nothing, true, 200 * KIB},
    {"half a head", say_half_a_head, true, 200 * KIB},
    {"unknown", say_unknown, true, 200 * KIB},
    {"the collector's", say_the_collectors, true, 200 * KIB},
    {"descriptors", send_descriptors, true, 200 * KIB},
    {"no state", progress_of_no_state, true, 200 * KIB},
    {"no bool", progress_of_no_bool, true, 200 * KIB},
    {"no size", progress_of_no_size, true, 200 * KIB},
    {"files", ask_for_files, true, 200 * KIB},
    {"no CPU", ask_for_no_cpu, true, 200 * KIB},
    {"pages", send_pages, true, 200 * KIB},
    {"connections", ask_for_connections, true, 200 * KIB},
    {"parts", begin_parts, true, 2000 * KIB},
    {"many files", begin_files, true, 16000 * KIB},
    {"elsewhere", begin_elsewhere, true, 200 * KIB},
    {"NUL", begin_with_nul, true, 200 * KIB},
    {"no file", put_into_none, true, 200 * KIB},
    {"endless", put_for_ever, true, ROOM_LEFT + 200 * KIB},
    {"no value", fact_without_value, true, 200 * KIB},
    {"full size", fact_of_full_size, true, 200 * KIB},
    {"facts", send_facts, true, 400 * KIB},
    {"pairs", send_pairs, true, 4000 * KIB},
    {"flapping", flap, true, 200 * KIB},
    {"well", end_well, false, 200 * KIB},
    {"badly", end_badly, true, 200 * KIB},
};

static void remove_all(const char *path)
{
    char command[200];

    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): our own name */
}

/* Waits until one of both GUESTS has something to do, and does it. One of them at least has not ended. */
static void serve_once(struct guest guests[static 2])
{
    struct recorder_wait wait = {.until = UINT64_MAX};
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    unsigned n_first;

    guest_poll(&guests[0], &wait, now);
    n_first = wait.n;
    guest_poll(&guests[1], &wait, now);
    assert_false(wait.failed || (guests[0].ended && guests[1].ended));
    assert_true(poll(wait.fds, wait.n,
                     wait.until > now ? (int)MIN((wait.until - now) / 1000000 + 1, 1000u) : 0) >=
                0);
    for (unsigned i = 0; i < 2; i++) {
        int r = guests[i].ended ? 0
                                : guest_serve(&guests[i], wait.fds + (i == 0 ? 0 : n_first),
                                              clock_ns(CLOCK_MONOTONIC));

        assert_int_equal(r, !guests[i].ended);
    }
    free(wait.fds);
}

/* As the recording does that they are a part of. */
static void write_manifest(struct guest guests[static 2], const char *path, bool complete)
{
    struct manifest manifest = {0};
    struct manifest_source *of_guest, *sources = NULL;
    struct error error = {0};
    unsigned n;

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(guest_put_sources(&guests[i], complete, GUEST_SILENT_AS_OTHERS,
                                           &manifest.arena, &of_guest, &n),
                         0);
        sources = realloc(sources, (manifest.n_sources + n) * sizeof *sources);
        assert_non_null(sources);
        memcpy(&sources[manifest.n_sources], of_guest, n * sizeof *sources);
        manifest.n_sources += n;
        guests[i].written = true;
    }
    manifest.sources = sources;
    if (manifest_write(path, &manifest, &error) < 0)
        fail_msg("%s", error.what);
    manifest_done(&manifest);
    free(sources);
}

static void try_attack(const struct attack *attack)
{
    char path[sizeof directory + 16], socket_path[sizeof directory + 16];
    const struct trace_config trace = {.clock = ""};
    struct guest_config configs[2] = {{.name = "bad", .trace = &trace},
                                      {.name = "good", .trace = &trace}};
    unsigned open_before = count_open(), most_open = 0;
    struct guest guests[2];
    struct stat st;
    int listener, dir;

    snprintf(path, sizeof path, "%s/out", directory);
    snprintf(socket_path, sizeof socket_path, "%s/port", directory);
    listener = listen_at(socket_path);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            guest_endpoint_parse(ENDPOINT_PORT, socket_path, &configs[i].endpoint, NULL), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(guest_open(dir, 0, &configs[i], &guests[i], NULL), 0);
    guests[0].store.files_size = GUEST_FILES_SIZE_MAX - ROOM_LEFT;
    n_messages = 0;
    guests[0].report = guests[1].report = count_message;
    take_over(&guests[0], attack->act);
    while (!guests[0].ended) {
        serve_once(guests);
        if (!guests[0].written || !guests[1].written)
            write_manifest(guests, path, false);
        most_open = MAX(most_open, count_open());
    }
    if (attack->is_error != (guests[0].error < 0))
        fail_msg("%s: ended with %d: %s", attack->name, guests[0].error, guests[0].what);
    assert_false(guests[1].ended);
    assert_true(most_open < open_before + 40);
    if (n_messages > 140)
        fail_msg("%s: %u messages", attack->name, n_messages);
    for (unsigned i = 0; i < 2; i++)
        guest_end_early(&guests[i]);
    write_manifest(guests, path, true);
    for (unsigned i = 0; i < 2; i++)
        guest_close(&guests[i]);
    close(dir);
    close(listener);
    assert_int_equal(count_open(), open_before);
    if (disk_use(path) > attack->most)
        fail_msg("%s: %llu bytes", attack->name, (unsigned long long)disk_use(path));
    snprintf(socket_path, sizeof socket_path, "%s/out/other", directory);
    assert_int_equal(stat(socket_path, &st), -1);
    remove_all(path);
    snprintf(socket_path, sizeof socket_path, "%s/port", directory);
    assert_int_equal(unlink(socket_path), 0);
}

/* An agent that has not answered brings nothing; one that was not asked, or has ended, is not waited for. A process that was
 * taken over, and answers more than was asked, is not waited for either: only its own guest is not in the snapshot. */
static void answer_flushes(int channel)
{
    const struct guest_packet_head head = {.kind = PACKET_FLUSHED, .offset = UINT64_MAX};

    for (unsigned i = 0; i < 3; i++)
        send_bytes(channel, &head, sizeof head, 0);
    pause();
}

static void flush_both(struct guest guests[static 2])
{
    guest_flush(&guests[0]);
    guest_flush(&guests[1]);
}

static bool are_flushed(const struct guest guests[static 2])
{
    return guest_is_flushed(&guests[0]) && guest_is_flushed(&guests[1]);
}

static void who_can_bring_nothing_is_flushed(void **state)
{
    char path[sizeof directory + 16];
    const struct trace_config trace = {.clock = ""};
    struct guest_config configs[2] = {{.name = "bad", .trace = &trace},
                                      {.name = "good", .trace = &trace}};
    struct guest guests[2];
    int listener;

    (void)state;
    snprintf(path, sizeof path, "%s/port", directory);
    listener = listen_at(path);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(guest_endpoint_parse(ENDPOINT_PORT, path, &configs[i].endpoint, NULL), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(guest_open(-1, 0, &configs[i], &guests[i], NULL), 0);
    assert_true(are_flushed(guests));
    for (unsigned i = 0; i < 3; i++) {
        flush_both(guests);
        assert_false(are_flushed(guests));
        while (!are_flushed(guests))
            serve_once(guests);
    }
    take_over(&guests[0], answer_flushes);
    flush_both(guests);
    while (!are_flushed(guests))
        serve_once(guests);
    assert_int_equal(guests[0].flushed, 4);
    flush_both(guests);
    assert_false(are_flushed(guests));
    for (unsigned i = 0; i < 2; i++)
        guest_end_early(&guests[i]);
    assert_true(are_flushed(guests));
    for (unsigned i = 0; i < 2; i++)
        guest_close(&guests[i]);
    close(listener);
    assert_int_equal(unlink(path), 0);
}

/* The agent of one guest is killed, and that of the other says that it exits: both are away, but only the first is lost. */
static void lose_the_agent(int channel)
{
    struct guest_progress progress = {.state = GUEST_RUNNING, .ran = true};

    send_packet(channel, PACKET_PROGRESS, 0, &progress, sizeof progress);
    send_packet(channel, PACKET_DISCONNECTED, 0, NULL, 0);
    pause();
}

static void end_the_agent(int channel)
{
    struct guest_progress progress = {.state = GUEST_RUNNING, .ran = true};

    send_packet(channel, PACKET_PROGRESS, 0, &progress, sizeof progress);
    progress.said_bye = true;
    progress.state = GUEST_DISCONNECTED;
    send_packet(channel, PACKET_PROGRESS, 0, &progress, sizeof progress);
    send_packet(channel, PACKET_DISCONNECTED, 0, NULL, 0);
    pause();
}

static bool is_away(const struct guest *guest)
{
    struct manifest manifest = {0};
    struct manifest_source *sources;
    bool away;

    assert_int_equal(guest_put_sources(guest, false, GUEST_SILENT_AS_OTHERS, &manifest.arena,
                                       &sources, &manifest.n_sources),
                     0);
    away = sources[0].guest->is_away;
    manifest_done(&manifest);
    return away;
}

static void an_agent_that_was_killed_is_lost(void **state)
{
    char path[sizeof directory + 16], text[300];
    const struct trace_config trace = {.clock = ""};
    struct guest_config configs[2] = {{.name = "killed", .trace = &trace},
                                      {.name = "ended", .trace = &trace}};
    struct guest *guest;
    struct guest guests[2];
    int listener;

    (void)state;
    snprintf(path, sizeof path, "%s/port", directory);
    listener = listen_at(path);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(guest_endpoint_parse(ENDPOINT_PORT, path, &configs[i].endpoint, NULL), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(guest_open(-1, 0, &configs[i], &guests[i], NULL), 0);
    guest = &guests[0];
    while (guest->connection != CONNECTION_GIVEN || guest[1].connection != CONNECTION_GIVEN)
        serve_once(guests);
    assert_false(is_away(&guests[0]) || is_away(&guests[1]));
    assert_false(guest_loss_text(guest, clock_ns(CLOCK_MONOTONIC), text, sizeof text));
    take_over(&guest[0], lose_the_agent);
    take_over(&guest[1], end_the_agent);
    while (!is_away(&guests[0]) || !is_away(&guests[1]))
        serve_once(guests);
    assert_false(guests[0].written || guests[1].written);
    assert_true(
        guest_loss_text(guest, guest->lost_at + 21300 * (NSEC_PER_SEC / 1000), text, sizeof text));
    assert_non_null(strstr(text, "agent stopped answering 21.3 seconds before"));
    guest->closed_at = guest->lost_at;
    assert_true(guest_loss_text(guest, guest->lost_at, text, sizeof text));
    assert_non_null(strstr(text, "agent ended unexpectedly 0.0 seconds before"));
    assert_false(guest_loss_text(&guest[1], clock_ns(CLOCK_MONOTONIC), text, sizeof text));
    for (unsigned i = 0; i < 2; i++)
        guest_close(&guests[i]);
    close(listener);
    assert_int_equal(unlink(path), 0);
}

static void send_two_pairs(int channel)
{
    static const struct guest_pair pairs[] = {{1 * NSEC_PER_SEC, 1 * NSEC_PER_SEC, 1000},
                                              {5 * NSEC_PER_SEC, 3 * NSEC_PER_SEC, 1000}};

    send_fact(channel, "hz", "1000000000");
    for (unsigned i = 0; i < ARRAY_SIZE(pairs); i++)
        send_packet(channel, PACKET_PAIR, 0, &pairs[i], sizeof pairs[i]);
}

static struct guest *paused_guest;
static unsigned n_reads;

/* What its monitor has reported before the second pair, and nobody has read. */
static void read_machine(struct recorder *machine)
{
    (void)machine;
    assert_int_equal(paused_guest->boots[0].n_pairs, n_reads);
    if (++n_reads < 2)
        return;
    guest_machine_stopped(paused_guest, 2 * NSEC_PER_SEC);
    guest_machine_resumed(paused_guest, 4 * NSEC_PER_SEC);
}

static void pauses_are_known_before_pairs(void **state)
{
    char path[sizeof directory + 16];
    const struct trace_config trace = {.clock = ""};
    struct guest_config configs[2] = {{.name = "paused", .trace = &trace},
                                      {.name = "other", .trace = &trace}};
    struct guest guests[2];
    int listener;

    (void)state;
    snprintf(path, sizeof path, "%s/port", directory);
    listener = listen_at(path);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(guest_endpoint_parse(ENDPOINT_PORT, path, &configs[i].endpoint, NULL), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(guest_open(-1, 0, &configs[i], &guests[i], NULL), 0);
    paused_guest = &guests[0];
    guests[0].read_machine = read_machine;
    for (unsigned i = 0; i < 2; i++)
        take_over(&guests[i], send_two_pairs);
    while (!guests[0].ended || !guests[1].ended)
        serve_once(guests);
    assert_int_equal(n_reads, 2);
    /* One pair before the pause and one after it; the other guest's is not known. */
    assert_int_equal(guests[0].boots[0].n_pairs, 4);
    assert_int_equal(guests[1].boots[0].n_pairs, 2);
    for (unsigned i = 0; i < 2; i++)
        guest_close(&guests[i]);
    close(listener);
    assert_int_equal(unlink(path), 0);
}

static void a_process_that_was_taken_over_is_not_believed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
        print_message("%s\n", attacks[i].name);
        try_attack(&attacks[i]);
    }
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_that_was_killed_is_lost),
        cmocka_unit_test(pauses_are_known_before_pairs),
        cmocka_unit_test(who_can_bring_nothing_is_flushed),
        cmocka_unit_test(a_process_that_was_taken_over_is_not_believed),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
