/* SPDX-License-Identifier: MIT */
/* strata-agent, and trace-agent: the guest's agent. Alone in this layer it talks to people and ends the
 * process. */
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/key.h"
#include "agent/old.h"
#include "agent/own.h"

#define EXIT_FINE 0
#define EXIT_COULD_NOT 1
#define EXIT_USAGE 2

/* How long what was read may take to be sent when the agent is ended: it has to be gone in a second. */
#define LAST_WORDS_MS 400

static const char *called = "strata-agent";

static const char help[] =
    "Usage: strata-agent [OPTION...]\n"
    "\n"
    "Traces this kernel for the host, over virtio-serial.\n"
    "\n"
    "On the port org.strata.agent, or at an address, it does what 'strata collect'\n"
    "on the host asks for. On the ports agent-ctl-path and trace-path-cpuN it does\n"
    "what Linux's trace-agent does: `1` on the first starts it, `0` stops it, and raw\n"
    "pages of the trace buffer go out on the others.\n"
    "\n"
    "Where hosts are met:\n"
    "  -n, --port=NAME         this port instead of org.strata.agent\n"
    "  -l, --listen=ADDRESS    listen there: tcp:ADDRESS:PORT, vsock:PORT, unix:PATH\n"
    "  -c, --connect=ADDRESS   connect to there: tcp:ADDRESS:PORT, vsock:CID:PORT,\n"
    "                          unix:PATH\n"
    "  -k, --key=FILE          who wants to trace has to know this key; over TCP\n"
    "                          there has to be one\n"
    "      --fd=N              this descriptor, a socket; the agent ends with it\n"
    "  -p, --ports=FOLDER      where the ports are, instead of /dev/virtio-ports:\n"
    "                          FIFOs or listening sockets of their names\n"
    "  -w, --wait=SECONDS      how long to wait for ports to appear (10)\n"
    "\n"
    "By the old protocol:\n"
    "  -o, --stdout            write the pages to standard output; without a port\n"
    "                          agent-ctl-path from the start on\n"
    "  -i, --instance=NAME     send the buffer of this instance of tracefs instead\n"
    "                          of the top-level one\n"
    "\n"
    "Options:\n"
    "      --pid=PID           trace only what happens while threads of this process,\n"
    "                          and of its children, run\n"
    "  -q, --queue-size=SIZE   hold at most so much per CPU (4M)\n"
    "  -t, --tracefs=FOLDER    where tracefs is, instead of looking for it\n"
    "      --version           show the version\n"
    "  -h, --help              show this help\n";

struct options {
    struct old_options old;
    const char *port, *listen, *connect;
    const char *key_file;
    uint8_t *key; /* or NULL */
    size_t key_size;
    const char *instance;
    const char *tracefs;
    int fd;    /* -1: none */
    pid_t pid; /* 0: all */
    unsigned wait_seconds;
};

/* One write(2), and none at all where it would wait: a console or journal that is stuck must not stop
 * the agent. */
static void say_line(void *userdata, const char *text)
{
    char line[1200];
    int n = snprintf(line, sizeof line, "%s: %s\n", called, text);
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};

    (void)userdata;
    if (n > 0 && poll(&fd, 1, 0) > 0 && fd.revents & POLLOUT)
        (void)!write(STDERR_FILENO, line, MIN((size_t)n, sizeof line - 1));
}

static const struct say say_to = {.line = say_line};

static int usage_error(const char *what, const char *value)
{
    fprintf(stderr, "%s: %s '%s'\nTry '%s --help'.\n", called, what, value, called);
    return EXIT_USAGE;
}

/* "4M", "512k", "65536". */
static bool parse_size(const char *text, size_t *ret_size)
{
    static const char units[] = "kmg";
    unsigned long long size;
    const char *unit;
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    size = strtoull(text, &end, 10);
    if (errno)
        return false;
    if (*end) {
        unit = strchr(units, *end | 0x20);
        if (!unit || end[1] || size > UINT64_MAX >> 30)
            return false;
        size <<= 10 * (unit - units + 1);
    }
    *ret_size = (size_t)size;
    return true;
}

/* The old agent's options: -h and what is wrong show its usage and end with 1, as there. Its -s was the size of a
 * pipe, which this agent has none of; what is out of its range was refused. */
static int parse_old_options(int argc, char **argv, struct options *options)
{
    size_t size;
    int c;

    opterr = 0;
    options->port = NULL; /* nothing but the old protocol */
    while ((c = getopt(argc, argv, "hos:")) != -1) {
        if (c == 'o') {
            options->old.to_stdout = true;
            continue;
        }
        if (c == 's' && parse_size(optarg, &size) && size >= (size_t)64 << 10 &&
            size <= (size_t)1 << 20)
            continue;
        if (c == 's')
            fprintf(stderr, "%s: a pipe has 64K to 1M\n", called);
        fprintf(stderr, "usage: %s [-h] [-o] [-s <size of pipe>]\n", called);
        return EXIT_COULD_NOT;
    }
    return EXIT_FINE;
}

/* EXIT_FINE: go on; another one: end with it. -1: end, all is well. */
static int parse_options(int argc, char **argv, struct options *options)
{
    static const struct option table[] = {
        {"port", required_argument, NULL, 'n'},
        {"listen", required_argument, NULL, 'l'},
        {"connect", required_argument, NULL, 'c'},
        {"key", required_argument, NULL, 'k'},
        {"fd", required_argument, NULL, 'F'},
        {"pid", required_argument, NULL, 'P'},
        {"stdout", no_argument, NULL, 'o'},
        {"instance", required_argument, NULL, 'i'},
        {"queue-size", required_argument, NULL, 'q'},
        {"ports", required_argument, NULL, 'p'},
        {"tracefs", required_argument, NULL, 't'},
        {"wait", required_argument, NULL, 'w'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    size_t number;
    int c;

    while ((c = getopt_long(argc, argv, "n:l:c:k:oi:q:p:t:w:h", table, NULL)) != -1) {
        switch (c) {
        case 'n': options->port = optarg; break;
        case 'l': options->listen = optarg; break;
        case 'c': options->connect = optarg; break;
        case 'k': options->key_file = optarg; break;
        case 'o': options->old.to_stdout = true; break;
        case 'i': options->instance = optarg; break;
        case 'p': options->old.ports = optarg; break;
        case 't': options->tracefs = optarg; break;
        case 'q':
            if (!parse_size(optarg, &options->old.queue_bytes) ||
                options->old.queue_bytes < (size_t)64 << 10 ||
                options->old.queue_bytes > (size_t)1 << 30)
                return usage_error("a queue has 64k to 1g, not", optarg);
            break;
        case 'w':
            if (!parse_size(optarg, &number) || number > 86400)
                return usage_error("this is no number of seconds:", optarg);
            options->wait_seconds = (unsigned)number;
            break;
        case 'F':
            if (!parse_size(optarg, &number) || number > INT_MAX)
                return usage_error("this is no descriptor:", optarg);
            options->fd = (int)number;
            break;
        case 'P':
            if (!parse_size(optarg, &number) || number == 0 || number > INT_MAX)
                return usage_error("this is no process's number:", optarg);
            options->pid = (pid_t)number;
            break;
        case 'V': puts("strata-agent " STRATA_VERSION); return -1;
        case 'h': fputs(help, stdout); return -1;
        default: fprintf(stderr, "Try '%s --help'.\n", called); return EXIT_USAGE;
        }
    }
    if (optind < argc)
        return usage_error("there is no use for", argv[optind]);
    if (options->listen && options->connect)
        return usage_error("it listens or connects, not both:", options->connect);
    if (options->fd >= 0 && (options->listen || options->connect || options->old.to_stdout))
        return usage_error("with --fd there is nothing else it could do:",
                           options->listen    ? options->listen
                           : options->connect ? options->connect
                                              : "--stdout");
    return EXIT_FINE;
}

/* Something ends the agent: a signal, or `died`. False: MS have passed without. */
static bool wait_for_end(int signal_fd, struct bell *died, int ms)
{
    struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN},
                            {.fd = died->fd, .events = POLLIN}};
    int n;

    do
        n = poll(fds, 2, ms);
    while (n < 0 && errno == EINTR);
    return n != 0;
}

static void on_dead(void *userdata)
{
    bell_ring_always(userdata);
}

/* What is running. */
struct servers {
    struct own *own;
    struct old *old;
};

static int start_own(const struct options *options, const struct tracefs *tracefs,
                     struct bell *over, struct servers *servers, struct fault *fault)
{
    const char *address = options->listen ? options->listen : options->connect;
    struct endpoint endpoint;
    int r = 0;

    if (options->fd >= 0)
        r = endpoint_fd(options->fd, &endpoint, fault);
    else if (address)
        r = endpoint_parse(address, options->listen ? ENDPOINT_LISTEN : ENDPOINT_CONNECT, &endpoint,
                           fault);
    else
        endpoint_port(options->old.ports, options->port, &endpoint);
    if (r < 0)
        return r;
    if (endpoint.is_network && !options->key)
        return fault_plain(
            fault, -EACCES, address,
            "whoever reaches this address could trace this kernel; give a key by --key");
    r = endpoint_open(&endpoint, fault);
    if (r < 0)
        return r;
    r = own_new(&endpoint, tracefs, options->old.queue_bytes, options->pid, options->key,
                options->key_size, &say_to, over, &servers->own, fault);
    if (r < 0)
        endpoint_done(&endpoint);
    return r;
}

/* Starts what there are ports for. -ENOENT: there are none yet. */
static int start(const struct options *options, const struct tracefs *tracefs, int dir,
                 struct bell *died, struct servers *servers, struct fault *fault)
{
    bool only_old = options->old.to_stdout || options->instance || !options->port;
    bool only_own = options->listen || options->connect || options->fd >= 0;
    int r = -ENOENT;

    if (!only_old && !servers->own) {
        r = start_own(options, tracefs, died, servers, fault);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    if (!only_own && !servers->old) {
        struct fault unused = {0};
        int error = old_new(dir, &options->old, &say_to, on_dead, died, &servers->old,
                            only_old ? fault : &unused);

        if (error >= 0 || (error != -ENOENT && !servers->own))
            r = error;
        if (error < 0 && error != -ENOENT && !only_old)
            *fault = unused;
    }
    if (r == -ENOENT && !only_old && !only_own) {
        fault_clear(fault);
        fault_plain(fault, r, "", "there is no virtio-serial port %s or " OLD_CONTROL_PORT,
                    options->port);
    }
    return servers->own || servers->old ? 0 : r;
}

/* From found ports to the end. */
static int serve(const struct options *options, const struct tracefs *tracefs, int dir,
                 int signal_fd)
{
    _cleanup_(bell_done) struct bell died = {.fd = -1};
    struct servers servers = {NULL, NULL};
    int64_t until = outlet_now() + (int64_t)options->wait_seconds * 1000;
    uint64_t left_own = 0, left_old = 0;
    int64_t deadline;
    int r = bell_init(&died);

    if (r < 0) {
        say(&say_to, "%s", strerror(-r));
        return EXIT_COULD_NOT;
    }
    for (;;) {
        bool is_running = servers.own || servers.old;
        bool is_full = servers.own && servers.old;
        struct fault fault = {0};

        /* Also later: ports of the other kind may come. */
        r = is_full ? 0 : start(options, tracefs, dir, &died, &servers, &fault);
        if (r < 0 && (r != -ENOENT || outlet_now() >= until)) {
            say_fault(&say_to, &fault);
            return EXIT_COULD_NOT;
        }
        if (wait_for_end(signal_fd, &died, is_full ? -1 : is_running ? 1000 : 50))
            break;
    }

    deadline = outlet_now() + LAST_WORDS_MS;
    r = servers.old ? atomic_load(&servers.old->dead) : 0;
    own_free(servers.own, deadline, &left_own);
    old_free(servers.old, deadline, &left_old);
    if (left_own + left_old)
        say(&say_to, "%" PRIu64 " pages had been read and could not be sent", left_own + left_old);
    if (r == -EPIPE) {
        /* Whoever read standard output has ended; end as if by SIGPIPE. */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (r < 0) {
        say(&say_to, "cannot go on: %s", strerror(-r));
        return EXIT_COULD_NOT;
    }
    return EXIT_FINE;
}

/* The key, for good: it is needed for as long as the agent runs. */
static int read_key(struct options *options)
{
    struct fault fault = {0};

    if (!options->key_file ||
        key_read(options->key_file, &options->key, &options->key_size, &fault) >= 0)
        return 0;
    say_fault(&say_to, &fault);
    return -EINVAL;
}

int main(int argc, char **argv)
{
    struct options options = {
        .old.queue_bytes = (size_t)4 << 20, .wait_seconds = 10, .port = LINK_PORT, .fd = -1};
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    struct fault fault = {0};
    struct tracefs tracefs;
    sigset_t signals;
    int signal_fd, dir, status, r;

    if (argc > 0)
        called = slash ? slash + 1 : argv[0];
    status = strcmp(called, "trace-agent") == 0 ? parse_old_options(argc, argv, &options)
                                                : parse_options(argc, argv, &options);
    if (status != EXIT_FINE)
        return MAX(status, 0);

    /* For all threads: those that come inherit it. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0) {
        say(&say_to, "cannot wait for signals: %s", strerror(errno));
        return EXIT_COULD_NOT;
    }

    if (read_key(&options) < 0)
        return EXIT_COULD_NOT;
    if (tracefs_open(options.tracefs, &tracefs, &fault) < 0) {
        say_fault(&say_to, &fault);
        return EXIT_COULD_NOT;
    }
    dir = tracefs.fd;
    if (options.instance) {
        r = tracefs_instance_open(&tracefs, options.instance, &dir);
        if (r < 0) {
            say(&say_to, "there is no instance '%s' in %s: %s", options.instance, tracefs.path,
                strerror(-r));
            return EXIT_COULD_NOT;
        }
    }
    tracefs_instance_sweep(&tracefs);
    status = serve(&options, &tracefs, dir, signal_fd);
    tracefs_done(&tracefs);
    free(options.key);
    return status;
}
