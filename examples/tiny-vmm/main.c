/* SPDX-License-Identifier: MIT */

/* tiny-vmm: a virtual machine with RISC-V processors, a serial line, timers and a disk, traced.
 *
 *     tiny-vmm [-smp N] [-rounds N] [-trace OPTIONS]... [-monitor WHERE] DISK
 *
 * Each processor is a thread and runs the program of guest.c: N rounds of it, or until Ctrl-C. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_MONITOR
#include <strata/monitor.h>
#endif
#include <strata/trace.h>

#include "machine.h"

static const char usage[] =
    "Usage: tiny-vmm [-smp N] [-rounds N] [-trace OPTIONS]...\n"
    "                [-monitor WHERE] DISK\n"
    "\n"
    "  -smp N          number of processors, 2 of at most 8\n"
    "  -rounds N       end after so many rounds of the guest's program\n"
    "  -trace OPTIONS  what to trace, and where to: strata-trace(7)\n"
    "  -monitor WHERE  control the tracing from there: stdio, unix:PATH or\n"
    "                  tcp:PORT; strata-monitor(7)\n"
    "  DISK            a file, of at least a sector (512 bytes) for each\n"
    "                  processor\n";

atomic_bool machine_stopping;
static struct machine machine;
static struct vcpu vcpus[VCPUS_MAX];

#ifdef WITH_MONITOR
static struct strata_monitor *monitor;

static int start_monitor(const char *where)
{
    int r = strata_monitor_new(STRATA_MONITOR_HMP, &monitor);

    if (r >= 0)
        r = strata_monitor_set_prompt(monitor, "(tiny-vmm) ");
    if (r >= 0)
        r = strata_monitor_listen(monitor, where);
    return r < 0 ? r : strata_monitor_start(monitor);
}

static void stop_monitor(void)
{
    strata_monitor_free(monitor);
}
#else
static int start_monitor(const char *where)
{
    (void)where;
    return -EOPNOTSUPP; /* it was made without libstrata-monitor */
}

static void stop_monitor(void)
{
}
#endif

static int fail(const char *what, int error)
{
    fprintf(stderr, "tiny-vmm: %s: %s\n", what, strerror(-error));
    return 1;
}

static bool parse_number(const char *word, unsigned long max, unsigned long *ret)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(word, &end, 10);
    if (end == word || *end || errno || value == 0 || value > max)
        return false;
    *ret = value;
    return true;
}

/* Waits for Ctrl-C or SIGTERM, or SIGUSR1 from main() when the guest is done; then stops the vCPUs. */
static void *wait_for_signal(void *signals)
{
    int signal;

    sigwait(signals, &signal);
    atomic_store(&machine_stopping, true);
    for (unsigned i = 0; i < machine.n_vcpus; i++)
        vcpu_set_irq(&vcpus[i], 0, false); /* none; it wakes */
    return NULL;
}

struct options {
    unsigned long n_vcpus, rounds;
    const char *monitor; /* NULL: none */
};

static int run(const char *disk, const struct options *options)
{
    pthread_t waiter;
    sigset_t signals;
    int status = 0, r;

    /* All threads are to have these blocked. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    guest_load(&machine);
    r = blk_start(disk);
    if (r < 0)
        return fail(disk, r);
    r = timer_start();
    if (r < 0)
        return fail("cannot start a thread", r);
    for (unsigned i = 0; i < machine.n_vcpus; i++) {
        vcpus[i].number = i;
        vcpus[i].machine = &machine;
        r = vcpu_start(&vcpus[i], (uint32_t)options->rounds);
        if (r < 0)
            return fail("cannot start a thread", r);
    }
    if (options->monitor) {
        r = start_monitor(options->monitor);
        if (r < 0)
            return fail(options->monitor, r);
    }
    r = -pthread_create(&waiter, NULL, wait_for_signal, &signals);
    if (r < 0)
        return fail("cannot start a thread", r);
    for (unsigned i = 0; i < machine.n_vcpus; i++) {
        void *why;

        pthread_join(vcpus[i].thread, &why);
        if (why) {
            fprintf(stderr, "tiny-vmm: vcpu %u at 0x%08x: %s\n", i, vcpus[i].pc, (char *)why);
            status = 1;
        }
    }
    pthread_kill(waiter, SIGUSR1);
    pthread_join(waiter, NULL);
    stop_monitor();
    timer_stop();
    blk_stop();
    printf("\n%u vcpus are done\n", machine.n_vcpus);
    return status;
}

/* One option and its value; NULL: it has none. 0: go on; 1: all is done; -EINVAL: it is wrong. */
static int parse_option(const char *option, const char *value, struct options *ret)
{
    if (strcmp(option, "-help") == 0 || strcmp(option, "--help") == 0) {
        fputs(usage, stdout);
        return 1;
    }
    if (value && strcmp(option, "-smp") == 0 && parse_number(value, VCPUS_MAX, &ret->n_vcpus))
        return 0;
    if (value && strcmp(option, "-rounds") == 0 && parse_number(value, UINT32_MAX, &ret->rounds))
        return 0;
    if (value && strcmp(option, "-monitor") == 0) {
        ret->monitor = value;
        return 0;
    }
    if (value && strcmp(option, "-trace") == 0)
        return strata_trace_opt_parse(value); /* tells by itself what is wrong */
    fprintf(stderr, "tiny-vmm: %s %s: is no option\n%s", option, value ? value : "", usage);
    return -EINVAL;
}

int main(int argc, char **argv)
{
    struct options options = {.n_vcpus = 2};
    int i;

    for (i = 1; i < argc && argv[i][0] == '-'; i += 2) {
        int r = parse_option(argv[i], argv[i + 1], &options);

        if (r != 0)
            return r < 0 ? 2 : 0;
    }
    if (i != argc - 1) {
        fputs(usage, stderr);
        return 2;
    }
    machine.n_vcpus = (unsigned)options.n_vcpus;
    return run(argv[i], &options);
}
