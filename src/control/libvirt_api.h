/* SPDX-License-Identifier: MIT */
#pragma once

/* The functions of libvirt's client library that Strata calls. The library is opened when it is needed, so that the
 * same binary runs without libvirt. Its interface is stable (libvirt.so.0 and libvirt-qemu.so.0, of libvirt 1.2.3 and
 * later). */

#include "base/error.h"

struct virt_connection;
struct virt_domain;

struct virt_error { /* libvirt's virError */
    int code, domain;
    char *message;
    int level;
    void *connection, *domain_object;
    char *str1, *str2, *str3;
    int int1, int2; /* int1: errno, of VIRT_ERROR_SYSTEM */
    void *network;
};

/* Error numbers of libvirt (virterror.h). */
#define VIRT_ERROR_SYSTEM 38
#define VIRT_ERROR_NO_DOMAIN 42
#define VIRT_ERROR_AUTH_FAILED 45
#define VIRT_ERROR_AUTH_CANCELLED 79
#define VIRT_ERROR_ACCESS_DENIED 88
#define VIRT_ERROR_AUTH_UNAVAILABLE 94

/* Flags of list_domains() and attach(), detach(); states of get_state(). */
#define VIRT_LIST_ACTIVE 1u
#define VIRT_AFFECT_LIVE 1u
#define VIRT_STATE_SHUTDOWN 4
#define VIRT_STATE_OFF 5
#define VIRT_STATE_CRASHED 6

#define VIRT_UUID_SIZE 37

/* An event of a domain's life: it has stopped. Its detail is a virDomainEventStoppedDetailType. */
#define VIRT_EVENT_LIFECYCLE 0
#define VIRT_EVENT_STOPPED 5

typedef int (*virt_lifecycle)(struct virt_connection *connection, struct virt_domain *domain,
                              int event, int detail, void *userdata);

/* An event of QMP, with its time of day; DETAILS is its data as JSON, or NULL. */
typedef void (*virt_monitor_event)(struct virt_connection *connection, struct virt_domain *domain,
                                   const char *event, long long seconds, unsigned us,
                                   const char *details, void *userdata);

struct libvirt_api {
    void *handles[2]; /* of dlopen() */

    struct virt_error *(*last_error)(void);
    void (*set_error_func)(void *userdata, void (*function)(void *userdata, struct virt_error *));

    struct virt_connection *(*open)(const char *uri);
    struct virt_connection *(*open_read_only)(const char *uri);
    int (*close)(struct virt_connection *connection);
    int (*is_alive)(struct virt_connection *connection);
    const char *(*get_type)(struct virt_connection *connection);
    char *(*get_uri)(struct virt_connection *connection); /* allocated */

    int (*list_domains)(struct virt_connection *connection, struct virt_domain ***ret,
                        unsigned flags); /* allocated */
    struct virt_domain *(*find_id)(struct virt_connection *connection, int id);
    struct virt_domain *(*find_uuid)(struct virt_connection *connection, const char *uuid);
    struct virt_domain *(*find_name)(struct virt_connection *connection, const char *name);
    int (*ref)(struct virt_domain *domain);
    int (*free)(struct virt_domain *domain);
    const char *(*get_name)(struct virt_domain *domain);
    unsigned (*get_id)(struct virt_domain *domain);
    int (*get_uuid)(struct virt_domain *domain, char *buf);
    int (*get_state)(struct virt_domain *domain, int *ret_state, int *ret_reason, unsigned flags);
    char *(*get_xml)(struct virt_domain *domain, unsigned flags); /* allocated */
    int (*attach)(struct virt_domain *domain, const char *xml, unsigned flags);
    int (*detach)(struct virt_domain *domain, const char *xml, unsigned flags);
    int (*monitor_command)(struct virt_domain *domain, const char *command, char **ret,
                           unsigned flags); /* allocated */
    /* EVENT NULL: all events. */
    int (*register_monitor_event)(struct virt_connection *connection, struct virt_domain *domain,
                                  const char *event, virt_monitor_event function, void *userdata,
                                  void (*free)(void *userdata), unsigned flags);
    int (*deregister_monitor_event)(struct virt_connection *connection, int id);

    int (*register_loop)(void);
    int (*run_loop)(void);
    int (*register_event)(struct virt_connection *connection, struct virt_domain *domain, int event,
                          virt_lifecycle function, void *userdata, void (*free)(void *userdata));
    int (*deregister_event)(struct virt_connection *connection, int id);
};

/* Opens the library, once per process. -ELIBACC with ERROR: it is not installed. Do not call it from several threads at
 * once. */
int libvirt_api_open(const struct libvirt_api **ret, struct error *error);
