/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files about libvirt's domains. */

#include <pthread.h>

#include "control/libvirt.h"
#include "control/libvirt_api.h"

struct libvirt_domain {
    struct qmp_endpoint monitor;
    const struct libvirt_api *api;
    struct virt_connection *connection;
    struct virt_domain *handle;
    char *uri, *name;
    char *label; /* "libvirt domain 'web'", for messages */
    char uuid[VIRT_UUID_SIZE];
    unsigned id;
    bool is_watched; /* events of the domain are wanted */
    /* numbers of the subscriptions on `connection`; -1: not subscribed */
    int event, monitor_event;
    int event_fd; /* for the queue of QMP events; -1: none */
    /* Written by the thread of libvirt's event loop. */
    pthread_mutex_t lock;
    pthread_cond_t has_changed;
    unsigned users; /* subscriptions that use the domain, which must not be freed */
    bool has_stopped;
    int stop_detail;
    struct libvirt_monitor_event queue[LIBVIRT_EVENTS_MAX]; /* QMP events, the oldest first */
    unsigned n_queued;
};

/* Sets ERROR to the last error of libvirt in this thread, "WHAT: MESSAGE". Returns CODE. */
int libvirt_error(const struct libvirt_api *api, int code, const char *path, const char *what,
                  struct error *error);

/* Connects again if the daemon has closed the connection. -errno with ERROR. */
int libvirt_domain_reconnect(struct libvirt_domain *domain, struct error *error);
/* Subscribes to the events on a new connection. -EREMOTE with ERROR. */
int libvirt_domain_subscribe(struct libvirt_domain *domain, struct error *error);
/* Returns false if libvirt still uses the domain, which then must not be freed. */
bool libvirt_domain_unsubscribe(struct libvirt_domain *domain);

/* The endpoint of its monitor (libvirt_qmp.c). */
struct qmp_endpoint libvirt_monitor(const char *label);
