/* SPDX-License-Identifier: MIT */
/* strata record --libvirt: a domain of libvirt, whose monitor is reached through libvirt's daemon. */

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/record.h"
#include "control/libvirt.h"
#include "record/qemu/recorder.h"

/* ---- The daemon ---- */

static int open_domain(const struct record_options *options, const char *word,
                       struct libvirt_domain **ret, struct error *error)
{
    const char *uri = options->libvirt_uri ? options->libvirt_uri : getenv("LIBVIRT_DEFAULT_URI");

    /* A running domain has a daemon: none is started to look for one. */
    (void)setenv("LIBVIRT_AUTOSTART", "0", 1);
    return libvirt_domain_open(uri && *uri ? uri : NULL, word, ret, error);
}

/* Whether RUNNING is the domain. The directory of a domain has its number in its name, "domain-3-web". */
static bool is_of(const struct qemu_running *running, const struct libvirt_domain *domain)
{
    const char *slash = running->libvirt ? strrchr(running->libvirt, '/') : NULL;
    char start[32];

    if (!running->uuid || strcmp(running->uuid, libvirt_domain_uuid(domain)) != 0)
        return false;
    snprintf(start, sizeof start, "/domain-%u-", libvirt_domain_id(domain));
    return !slash || strncmp(slash, start, strlen(start)) == 0;
}

static int record_domain(const struct record_options *options, const struct qemu_running *running,
                         struct libvirt_domain *domain)
{
    const struct qemu_recorder_settings how = {
        .running = running,
        .monitor = libvirt_domain_monitor(domain),
        .domain = domain,
    };

    return record_vm_running(options, &how);
}

/* ---- By the domain ---- */

struct search {
    const struct libvirt_domain *domain;
    pid_t pid; /* 0: not found */
};

static int find_process(const struct qemu_running *running, void *userdata)
{
    struct search *search = userdata;

    if (!is_of(running, search->domain))
        return 0;
    search->pid = running->pid;
    return 1;
}

int record_libvirt(const struct record_options *options)
{
    _cleanup_(libvirt_domain_closep) struct libvirt_domain *domain = NULL;
    struct search search = {0};
    struct qemu_running running;
    struct error error = {0};
    int status;

    if (open_domain(options, options->libvirt, &domain, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    search.domain = domain;
    (void)qemu_running_foreach(find_process, &search);
    if (search.pid == 0) {
        cli_error("libvirt domain '%s': this user sees no QEMU of it on this machine; record on "
                  "the machine where it runs, as root",
                  libvirt_domain_name(domain));
        return EXIT_FAILURE;
    }
    if (qemu_running_open(search.pid, &running, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    status = record_domain(options, &running, domain);
    qemu_running_done(&running);
    return status;
}

/* ---- By the process ---- */

int record_libvirt_process(const struct record_options *options, const struct qemu_running *running)
{
    _cleanup_(libvirt_domain_closep) struct libvirt_domain *domain = NULL;
    const char *name = running->name ? running->name : running->uuid;
    struct error error = {0};
    char why[512];

    if (running->uuid && open_domain(options, running->uuid, &domain, &error) >= 0 &&
        is_of(running, domain))
        return record_domain(options, running, domain);
    error_print(&error, why, sizeof why);
    cli_error("process %ld is the QEMU of libvirt domain '%s', and its monitor is reached through "
              "libvirt only: strata record --libvirt '%s' --libvirt-uri URI%s%s",
              (long)running->pid, name ? name : "", name ? name : "", why[0] ? "; " : "", why);
    return EXIT_FAILURE;
}
