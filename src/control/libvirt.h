/* SPDX-License-Identifier: MIT */
#pragma once

/* Domains of libvirt: virtual machines whose QEMU, and its monitor, belong to libvirt's daemon. Commands reach the
 * monitor through the daemon (virDomainQemuMonitorCommand()), never on its socket.
 *
 * Only libvirt_domain_stop_reason() and libvirt_domain_next_event() may be called while another thread uses the monitor.
 * No daemon is started. */

#include "control/qmp.h"

struct libvirt_domain;

/* The names of the two instances of the daemon: of the host, and of a user. */
#define LIBVIRT_URI_SYSTEM "qemu:///system"
#define LIBVIRT_URI_SESSION "qemu:///session"

/* Finds the running domain WORD: a number, UUID or name. URI: of the daemon; NULL: the host's daemon, then the user's
 * daemon. -ELIBACC: libvirt is not installed; -ENOTCONN: no daemon; -EACCES: not for this user; -ENOENT: unknown
 * domain; -EHOSTDOWN: it is off; each with ERROR. */
int libvirt_domain_open(const char *uri, const char *word, struct libvirt_domain **ret,
                        struct error *error);
void libvirt_domain_close(struct libvirt_domain *domain);
static inline void libvirt_domain_closep(struct libvirt_domain **domain)
{
    libvirt_domain_close(*domain);
}

const char *libvirt_domain_name(const struct libvirt_domain *domain);
const char *libvirt_domain_uuid(const struct libvirt_domain *domain);
/* Its number while it runs. */
unsigned libvirt_domain_id(const struct libvirt_domain *domain);
/* The URI of its daemon. */
const char *libvirt_domain_uri(const struct libvirt_domain *domain);

/* Its monitor. Connecting to it connects to the daemon again if that was restarted. Valid until
 * libvirt_domain_close(). */
const struct qmp_endpoint *libvirt_domain_monitor(const struct libvirt_domain *domain);

/* Finds the socket of the virtio-serial port NAME, and QEMU's ID of the port or NULL; the caller frees both. Returns 0
 * if there is no such port. */
int libvirt_domain_port(struct libvirt_domain *domain, const char *name, char **ret_path,
                        char **ret_id, struct error *error);
/* Add the port to the running domain, or remove it, which takes until the guest has released it. -EREMOTE with ERROR:
 * libvirt refuses. */
int libvirt_domain_add_port(struct libvirt_domain *domain, const char *name, struct error *error);
int libvirt_domain_remove_port(struct libvirt_domain *domain, const char *name,
                               struct error *error);

/* Begins to watch for the domain's end and for events of its machine. -EREMOTE with ERROR. */
int libvirt_domain_watch(struct libvirt_domain *domain, struct error *error);

/* An event of QEMU's monitor. */
struct libvirt_monitor_event {
    char name[48];       /* "STOP" */
    int64_t realtime_us; /* by QEMU's clock, CLOCK_REALTIME */
    char data[200];      /* as JSON; "": none, or too long */
};
/* Limit of events that wait to be read; later events are dropped. Half of them are reserved for STOP, RESUME and
 * RESET. */
#define LIBVIRT_EVENTS_MAX 256
/* Returns the oldest unread event; false: none. */
bool libvirt_domain_next_event(struct libvirt_domain *domain, struct libvirt_monitor_event *ret);
/* The descriptor to poll for reading while the domain is watched: there may be an event. -1: none will come. */
int libvirt_domain_event_fd(const struct libvirt_domain *domain);
/* Why it has stopped, as libvirt reports it ("destroyed"). Waits up to MS milliseconds for the report. NULL: not
 * reported. */
const char *libvirt_domain_stop_reason(struct libvirt_domain *domain, unsigned ms);
