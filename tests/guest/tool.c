/* SPDX-License-Identifier: MIT */
//
// What the tests need within the guest and a shell cannot do well there. Statically linked.
//
//     tool marks CPU FIRST COUNT SIZE NAME PER_SECOND DIR
//         From CPU writes COUNT lines "NAME <number> xxx…" of SIZE bytes, numbered from FIRST, into the
//         trace_marker in DIR; as fast as it can where PER_SECOND is 0.
//     tool forks CPU COUNT
//         From CPU makes COUNT processes, one after the other, that end at once.
//     tool bell PORT DIR
//         Answers each byte on the virtio port PORT: writes the line "bell <number>" into the
//         trace_marker in DIR, then the number, as a line, into PORT. Ends at 'q'.
//     tool outs CPU FIRST COUNT PORT PER_SECOND DIR
//         From CPU writes COUNT times the line "out <number>" into the trace_marker in DIR, then its last 8 bits
//         to the I/O port PORT, then the line "done <number>" into the trace_marker.
//     tool kernel-outs ...
//         The same, but writes to the port by /dev/port.
//     tool tsc CPU TICKS
//         Sets the time stamp counter of CPU ahead by TICKS. Needs /dev/cpu/CPU/msr.
//     tool pages CPU PORT
//         What any program can do that knows of the old protocol nothing but that its data ports carry
//         pages: reads the pages of the top-level buffer, whole or not, until there are no more, and
//         writes them into PORT.
//     tool export DIR
//         The files of a tracefs tree that decoding needs, to standard output: for each a line
//         "PATH SIZE" and its bytes. (A shell takes a minute for it: a process for each of 1,500
//         files, under emulation.)

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACEFS "/sys/kernel/tracing"

static long number(const char *text)
{
    char *end;

    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || n < 0)
        errx(2, "no number: %s", text);
    return n;
}

static void bind_to(long cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        err(1, "CPU %ld", cpu);
}

static int open_marker(const char *dir)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s/trace_marker", dir);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        err(1, "%s", path);
    return fd;
}

static void write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0)
            err(1, "write");
        bytes += n;
        size -= (size_t)n;
    }
}

// Sleeps until the COUNT-th event of PER_SECOND after START is due.
static void wait_for_turn(const struct timespec *start, long count, long per_second)
{
    long long ns = start->tv_nsec + (long long)count * 1000000000LL / per_second;
    struct timespec due = {
        .tv_sec = start->tv_sec + (time_t)(ns / 1000000000LL),
        .tv_nsec = (long)(ns % 1000000000LL),
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
        ;
}

static void marks(long cpu, long first, long count, long size, const char *name, long per_second,
                  const char *dir)
{
    char line[4096];
    struct timespec start;

    bind_to(cpu);
    int fd = open_marker(dir);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < count; i++) {
        int n = snprintf(line, sizeof(line), "%s %ld ", name, first + i);
        size_t length = (size_t)n;
        while (length < (size_t)size && length < sizeof(line))
            line[length++] = 'x';
        /* Not more often than every millisecond: sleeping takes longer than writing. */
        if (per_second > 0 && (per_second < 2000 || i % (per_second / 1000) == 0))
            wait_for_turn(&start, i, per_second);
        write_all(fd, line, length);
    }
    close(fd);
}

static void forks(long cpu, long count)
{
    bind_to(cpu);
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0)
            err(1, "fork");
        if (child == 0)
            _exit(0);
        if (waitpid(child, NULL, 0) < 0)
            err(1, "waitpid");
    }
}

static void bell(const char *path, const char *dir)
{
    char line[64], byte;

    int port = open(path, O_RDWR | O_CLOEXEC);
    if (port < 0)
        err(1, "%s", path);
    int marker = open_marker(dir);
    for (long i = 0;; i++) {
        ssize_t n = read(port, &byte, 1);
        if (n < 0)
            err(1, "%s", path);
        if (n == 0 || byte == 'q')
            break;
        int length = snprintf(line, sizeof(line), "bell %ld", i);
        write_all(marker, line, (size_t)length);
        write_all(port, line + 5, (size_t)length - 5);
        write_all(port, "\n", 1);
    }
}

static void mark_number(int marker, const char *what, long number)
{
    char line[64];
    int n = snprintf(line, sizeof(line), "%s %ld", what, number);

    write_all(marker, line, (size_t)n);
}

// BY_KERNEL: a virtual machine of an emulated KVM may not be allowed a port by ioperm().
static void outs(long cpu, long first, long count, long port, long per_second, const char *dir,
                 bool by_kernel)
{
    struct timespec start;
    int ports = -1;

    bind_to(cpu);
    int marker = open_marker(dir);
    if (by_kernel)
        ports = open("/dev/port", O_WRONLY | O_CLOEXEC);
    if (by_kernel ? ports < 0 : ioperm((unsigned long)port, 1, 1) < 0)
        err(1, "port %ld", port);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)(first + i);
        wait_for_turn(&start, i, per_second);
        mark_number(marker, "out", first + i);
        if (!by_kernel)
            outb(byte, (unsigned short)port);
        else if (pwrite(ports, &byte, 1, port) != 1)
            err(1, "port %ld", port);
        mark_number(marker, "done", first + i);
    }
    if (ports >= 0)
        close(ports);
    close(marker);
}

static void set_tsc(long cpu, long ticks)
{
    char path[64];

    snprintf(path, sizeof(path), "/dev/cpu/%ld/msr", cpu);
    bind_to(cpu);
    int msr = open(path, O_WRONLY | O_CLOEXEC);
    if (msr < 0)
        err(1, "%s", path);
    unsigned long long value = __builtin_ia32_rdtsc() + (unsigned long long)ticks;
    // The register's number is the place in the file.
    if (pwrite(msr, &value, sizeof(value), 0x10) != sizeof(value))
        err(1, "the time stamp counter");
    close(msr);
}

static void pages(long cpu, const char *path)
{
    char page[4096], from[256];

    snprintf(from, sizeof(from), TRACEFS "/per_cpu/cpu%ld/trace_pipe_raw", cpu);
    int pipe = open(from, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe < 0)
        err(1, "%s", from);
    int port = open(path, O_WRONLY | O_CLOEXEC);
    if (port < 0)
        err(1, "%s", path);
    for (;;) {
        ssize_t n = read(pipe, page, sizeof(page));
        if (n < 0 && errno != EAGAIN)
            err(1, "%s", from);
        if (n <= 0)
            break;
        write_all(port, page, sizeof(page));
    }
}

static void export_file(const char *root, const char *path)
{
    static char *bytes;
    static size_t capacity;
    size_t size = 0;
    char full[1024];

    snprintf(full, sizeof(full), "%s/%s", root, path);
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    for (;;) {
        if (capacity - size < 65536) {
            capacity = capacity == 0 ? 1 << 20 : 2 * capacity;
            bytes = realloc(bytes, capacity);
            if (bytes == NULL)
                err(1, "memory");
        }
        // These files say that they are empty: how long they are is known at their end.
        ssize_t n = read(fd, bytes + size, 65536);
        if (n < 0)
            err(1, "%s", full);
        if (n == 0)
            break;
        size += (size_t)n;
    }
    close(fd);
    printf("%s %zu\n", path, size);
    fwrite(bytes, 1, size, stdout);
}

static void export_formats(const char *root, const char *path)
{
    char full[1024];
    struct dirent *entry;

    snprintf(full, sizeof(full), "%s/%s", root, path);
    DIR *dir = opendir(full);
    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' ||
            snprintf(full, sizeof(full), "%s/%s", path, entry->d_name) < 0)
            continue;
        if (entry->d_type == DT_DIR)
            export_formats(root, full);
        else if (strcmp(entry->d_name, "format") == 0)
            export_file(root, full);
    }
    closedir(dir);
}

static void export_tree(const char *root)
{
    static const char *const files[] = {
        "events/header_page", "events/header_event", "trace_clock",
        "saved_cmdlines",     "printk_formats",
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        export_file(root, files[i]);
    export_formats(root, "events");
    if (fflush(stdout) != 0)
        err(1, "standard output");
}

int main(int argc, char **argv)
{
    if (argc == 9 && strcmp(argv[1], "marks") == 0)
        marks(number(argv[2]), number(argv[3]), number(argv[4]), number(argv[5]), argv[6],
              number(argv[7]), argv[8]);
    else if (argc == 4 && strcmp(argv[1], "forks") == 0)
        forks(number(argv[2]), number(argv[3]));
    else if (argc == 4 && strcmp(argv[1], "bell") == 0)
        bell(argv[2], argv[3]);
    else if (argc == 8 && (strcmp(argv[1], "outs") == 0 || strcmp(argv[1], "kernel-outs") == 0))
        outs(number(argv[2]), number(argv[3]), number(argv[4]), number(argv[5]), number(argv[6]),
             argv[7], strcmp(argv[1], "outs") != 0);
    else if (argc == 4 && strcmp(argv[1], "tsc") == 0)
        set_tsc(number(argv[2]), number(argv[3]));
    else if (argc == 4 && strcmp(argv[1], "pages") == 0)
        pages(number(argv[2]), argv[3]);
    else if (argc == 3 && strcmp(argv[1], "export") == 0)
        export_tree(argv[2]);
    else
        errx(2, "see the head of tests/guest/tool.c");
    return 0;
}
