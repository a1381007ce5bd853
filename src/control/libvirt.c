/* SPDX-License-Identifier: MIT */
#include "control/libvirt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/suggest.h"
#include "base/text.h"
#include "control/libvirt_internal.h"
#include "control/libvirt_xml.h"

/* Of the domains that a message names. */
#define NAMES_MAX 8

/* Until the guest has released a device. */
#define REMOVE_TRIES 100
#define REMOVE_INTERVAL_NS (50 * 1000 * 1000)

int libvirt_error(const struct libvirt_api *api, int code, const char *path, const char *what,
                  struct error *error)
{
    const struct virt_error *last = api->last_error();
    const char *message = last && last->message ? last->message : "no reason given";

    return error_set(error, code, path, "%s: %.*s", what, (int)strcspn(message, "\r\n"), message);
}

/* ---- The connection ---- */

/* Libvirt's last error, as an errno of this header. */
static int connect_errno(const struct libvirt_api *api)
{
    const struct virt_error *last = api->last_error();

    switch (last ? last->code : 0) {
    case VIRT_ERROR_AUTH_FAILED:
    case VIRT_ERROR_AUTH_CANCELLED:
    case VIRT_ERROR_AUTH_UNAVAILABLE:
    case VIRT_ERROR_ACCESS_DENIED: return -EACCES;
    case VIRT_ERROR_SYSTEM: return last->int1 == EACCES ? -EACCES : -ENOTCONN;
    default: return -ENOTCONN;
    }
}

static int connect_daemon(const struct libvirt_api *api, const char *uri,
                          struct virt_connection **ret, struct error *error)
{
    struct virt_connection *connection = api->open(uri);
    const char *type;
    int r;

    if (!connection) {
        r = connect_errno(api);
        return libvirt_error(
            api, r, uri,
            r == -EACCES ? "libvirt refuses this user; run it as root, or as a user of the group "
                           "libvirt"
                         : "cannot connect to libvirt; start its daemon (libvirtd or virtqemud), "
                           "or name another one with --libvirt-uri",
            error);
    }
    type = api->get_type(connection);
    if (!type || strcmp(type, "QEMU") != 0) {
        r = error_set(error, -ENOTCONN, uri, "libvirt serves %s there, not QEMU",
                      type ? type : "another hypervisor");
        (void)api->close(connection);
        return r;
    }
    *ret = connection;
    return 0;
}

int libvirt_domain_reconnect(struct libvirt_domain *domain, struct error *error)
{
    const struct libvirt_api *api = domain->api;
    struct virt_connection *connection;
    struct virt_domain *handle;
    int r;

    if (api->is_alive(domain->connection) == 1)
        return 0;
    r = connect_daemon(api, domain->uri, &connection, error);
    if (r < 0)
        return r;
    handle = api->find_uuid(connection, domain->uuid);
    if (!handle) {
        r = libvirt_error(api, -ENOENT, domain->label, "the domain no longer exists", error);
        (void)api->close(connection);
        return r;
    }
    (void)libvirt_domain_unsubscribe(domain);
    (void)api->free(domain->handle);
    (void)api->close(domain->connection);
    domain->handle = handle;
    domain->connection = connection;
    /* Without events the reason of the end is not known: no more than that. */
    if (domain->is_watched)
        (void)libvirt_domain_subscribe(domain, NULL);
    return 0;
}

/* ---- Finding a domain ---- */

/* As virsh: a number, a UUID, or else a name. */
static struct virt_domain *look_up(const struct libvirt_api *api,
                                   struct virt_connection *connection, const char *word)
{
    struct virt_domain *handle = NULL;
    char *end;
    long id = strtol(word, &end, 10);

    if (*word && !*end && id > 0 && id <= INT32_MAX)
        handle = api->find_id(connection, (int)id);
    if (!handle && strlen(word) == VIRT_UUID_SIZE - 1)
        handle = api->find_uuid(connection, word);
    return handle ? handle : api->find_name(connection, word);
}

/* "unknown domain 'wbe'; did you mean 'web'?", or with the list of those that run. */
static int unknown(const struct libvirt_api *api, struct virt_connection *connection,
                   const char *uri, const char *word, struct error *error)
{
    struct virt_domain **domains = NULL;
    int n = api->list_domains(connection, &domains, VIRT_LIST_ACTIVE);
    const char **names = n > 0 ? calloc((size_t)n + 1, sizeof *names) : NULL;
    struct text list = TEXT_IN_MEMORY;
    const char *near = NULL;

    for (int i = 0; names && i < n; i++) {
        names[i] = api->get_name(domains[i]);
        if (i < NAMES_MAX)
            text_printf(&list, "%s%s", i ? ", " : "", names[i] ? names[i] : "");
        else if (i == NAMES_MAX)
            text_put_str(&list, ", ...");
    }
    text_put_char(&list, '\0');
    if (names)
        near = suggest_find(word, strlen(word), names);
    if (near)
        error_set(error, -ENOENT, uri, "unknown domain '%.80s'; did you mean '%.80s'?", word, near);
    else if (names && !list.error)
        error_set(error, -ENOENT, uri, "unknown domain '%.80s'; the running domains are: %.200s",
                  word, list.start);
    else
        error_set(error, -ENOENT, uri, "unknown domain '%.80s'; no domain runs", word);
    text_done(&list);
    free(names);
    for (int i = 0; i < n; i++)
        (void)api->free(domains[i]);
    free(domains);
    return -ENOENT;
}

static int check_runs(const struct libvirt_domain *domain, struct error *error)
{
    int state, reason;

    if (domain->api->get_state(domain->handle, &state, &reason, 0) < 0)
        return libvirt_error(domain->api, -EREMOTE, domain->label, "cannot get its state", error);
    if (state == VIRT_STATE_OFF || state == VIRT_STATE_CRASHED)
        return error_set(error, -EHOSTDOWN, domain->label,
                         "it does not run; start it with: virsh -c %s start %s", domain->uri,
                         domain->name);
    return 0;
}

/* What is known of the domain, from its handle. */
static int describe(struct libvirt_domain *domain, struct error *error)
{
    const struct libvirt_api *api = domain->api;
    const char *name = api->get_name(domain->handle);

    domain->id = api->get_id(domain->handle);
    domain->name = strdup(name ? name : "");
    if (asprintf(&domain->label, "libvirt domain '%s'", name ? name : "") < 0)
        domain->label = NULL;
    if (!domain->name || !domain->label)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    if (api->get_uuid(domain->handle, domain->uuid) < 0)
        return libvirt_error(api, -EREMOTE, domain->label, "cannot get its UUID", error);
    domain->monitor = libvirt_monitor(domain->label);
    return check_runs(domain, error);
}

static struct libvirt_domain *make_domain(const struct libvirt_api *api, const char *uri)
{
    struct libvirt_domain *domain = calloc(1, sizeof *domain);
    pthread_condattr_t attributes;

    if (!domain)
        return NULL;
    domain->api = api;
    domain->event = domain->monitor_event = domain->event_fd = -1;
    pthread_mutex_init(&domain->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&domain->has_changed, &attributes);
    pthread_condattr_destroy(&attributes);
    domain->uri = strdup(uri);
    if (domain->uri)
        return domain;
    libvirt_domain_close(domain);
    return NULL;
}

static int open_at(const struct libvirt_api *api, const char *uri, const char *word,
                   struct libvirt_domain **ret, struct error *error)
{
    _cleanup_(libvirt_domain_closep) struct libvirt_domain *domain = make_domain(api, uri);
    int r;

    if (!domain)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    r = connect_daemon(api, uri, &domain->connection, error);
    if (r < 0)
        return r;
    domain->handle = look_up(api, domain->connection, word);
    if (!domain->handle)
        return unknown(api, domain->connection, uri, word, error);
    r = describe(domain, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(domain);
    return 0;
}

int libvirt_domain_open(const char *uri, const char *word, struct libvirt_domain **ret,
                        struct error *error)
{
    const struct libvirt_api *api;
    struct error first = {0}, second = {0};
    int r = libvirt_api_open(&api, error), other;

    if (r < 0)
        return r;
    r = open_at(api, uri ? uri : LIBVIRT_URI_SYSTEM, word, ret, &first);
    if (r < 0 && !uri && r != -EHOSTDOWN) {
        other = open_at(api, LIBVIRT_URI_SESSION, word, ret, &second);
        /* A session without a daemon says nothing about the domain. A session with a daemon says more than a host
         * without one. */
        if (other >= 0 || other == -EHOSTDOWN || (r == -ENOTCONN && other == -ENOENT)) {
            first = second;
            r = other;
        }
    }
    if (r < 0 && error)
        *error = first;
    return r;
}

void libvirt_domain_close(struct libvirt_domain *domain)
{
    bool is_free;

    if (!domain)
        return;
    is_free = libvirt_domain_unsubscribe(domain);
    if (domain->handle)
        (void)domain->api->free(domain->handle);
    if (domain->connection)
        (void)domain->api->close(domain->connection);
    if (!is_free)
        return;
    if (domain->event_fd >= 0)
        close(domain->event_fd);
    pthread_cond_destroy(&domain->has_changed);
    pthread_mutex_destroy(&domain->lock);
    free(domain->uri);
    free(domain->name);
    free(domain->label);
    free(domain);
}

const char *libvirt_domain_name(const struct libvirt_domain *domain)
{
    return domain->name;
}

const char *libvirt_domain_uuid(const struct libvirt_domain *domain)
{
    return domain->uuid;
}

unsigned libvirt_domain_id(const struct libvirt_domain *domain)
{
    return domain->id;
}

const char *libvirt_domain_uri(const struct libvirt_domain *domain)
{
    return domain->uri;
}

const struct qmp_endpoint *libvirt_domain_monitor(const struct libvirt_domain *domain)
{
    return &domain->monitor;
}

/* ---- A port of the guest ---- */

int libvirt_domain_port(struct libvirt_domain *domain, const char *name, char **ret_path,
                        char **ret_id, struct error *error)
{
    _cleanup_free_ char *xml = domain->api->get_xml(domain->handle, 0);
    int r;

    if (!xml)
        return libvirt_error(domain->api, -EREMOTE, domain->label, "cannot get its XML", error);
    r = libvirt_xml_port(xml, name, ret_path, ret_id);
    return r < 0 ? error_set(error, r, NULL, "out of memory") : r;
}

int libvirt_domain_add_port(struct libvirt_domain *domain, const char *name, struct error *error)
{
    _cleanup_free_ char *xml = libvirt_xml_channel(NULL, name);

    if (!xml)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    if (domain->api->attach(domain->handle, xml, VIRT_AFFECT_LIVE) < 0)
        return libvirt_error(domain->api, -EREMOTE, "", "libvirt adds no port", error);
    return 0;
}

/* Until the guest has released the port. */
static int wait_removed(struct libvirt_domain *domain, const char *name, struct error *error)
{
    const struct timespec interval = {.tv_nsec = REMOVE_INTERVAL_NS};

    for (unsigned i = 0; i < REMOVE_TRIES; i++) {
        _cleanup_free_ char *path = NULL, *id = NULL;
        int r = libvirt_domain_port(domain, name, &path, &id, error);

        if (r <= 0)
            return r;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &interval, NULL);
    }
    return error_set(error, -EBUSY, NULL, "the guest does not release the port %s", name);
}

int libvirt_domain_remove_port(struct libvirt_domain *domain, const char *name, struct error *error)
{
    _cleanup_free_ char *path = NULL, *id = NULL, *xml = NULL;
    int r = libvirt_domain_port(domain, name, &path, &id, error);

    if (r <= 0)
        return r;
    /* libvirt finds the channel by all that is known of it. */
    xml = libvirt_xml_channel(path, name);
    if (!xml)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    if (domain->api->detach(domain->handle, xml, VIRT_AFFECT_LIVE) < 0)
        return libvirt_error(domain->api, -EREMOTE, "", "libvirt does not remove the port", error);
    return wait_removed(domain, name, error);
}
