/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files about libvirt's domains call of each other. */

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
    bool is_watched; /* its events are wanted, and … */
    /* … subscribed to on `connection`: the numbers of that; -1: they are not */
    int event, monitor_event;
    int event_fd; /* of the queue of QMP's events; -1: none */
    /* Written by the thread of libvirt's event loop. */
    pthread_mutex_t lock;
    pthread_cond_t has_changed;
    unsigned users; /* subscriptions that have the domain, which must stay */
    bool has_stopped;
    int stop_detail;
    struct libvirt_monitor_event queue[LIBVIRT_EVENTS_MAX]; /* of QMP's events, the oldest first */
    unsigned n_queued;
};

/* Sets ERROR to the last error of libvirt in this thread: "WHAT: its words". Returns CODE. */
int libvirt_error(const struct libvirt_api *api, int code, const char *path, const char *what,
                  struct error *error);

/* Connects again if the daemon has closed the connection. -errno with ERROR. */
int libvirt_domain_reconnect(struct libvirt_domain *domain, struct error *error);
/* Subscribes to the events on a new connection. -EREMOTE with ERROR. */
int libvirt_domain_subscribe(struct libvirt_domain *domain, struct error *error);
/* False: libvirt still uses the domain, which must not be freed. */
bool libvirt_domain_unsubscribe(struct libvirt_domain *domain);

/* The endpoint of its monitor (libvirt_qmp.c). */
struct qmp_endpoint libvirt_monitor(const char *label);
