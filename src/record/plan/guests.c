/* SPDX-License-Identifier: MIT */
#include "record/plan/guests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/message.h"
#include "record/plan/kernel.h"
#include "tracedir/machine.h"

#define GUESTS_MAX 1024u
#define KEY_MAX 4096
#define KEY_MIN 16

struct guest_list {
    struct plan_guest_list list;
    char (*names)[72];
    struct guest_event *events;
    struct trace_config trace;
    char key[KEY_MAX];
};

/* Whether WORD of --guest names an endpoint. */
static bool is_endpoint(const char *word)
{
    if (strpbrk(word, "/="))
        return true;
    if (strncmp(word, "vsock:", 6) == 0)
        return word[6] >= '0' && word[6] <= '9';
    return strncmp(word, "tcp:", 4) == 0 && strchr(word + 4, ':') && !strchr(word, ',');
}

int plan_guests_sort(struct record_plan *plan, struct error *error)
{
    for (unsigned i = 0; i < plan->guests.words.n; i++) {
        const char *word = plan->guests.words.items[i];

        if (!*word)
            plan->guest = true;
        else if (!is_endpoint(word))
            return record_misuse(
                error, "--guest='%s' is no endpoint; events are given by --event=guest:EVENT",
                word);
        else if (strings_add(&plan->guests.endpoints, word) < 0)
            return -ENOMEM;
    }
    return 0;
}

bool plan_guests_are_given(const struct plan_guests *guests)
{
    return guests->endpoints.n > 0;
}

/* ---- Endpoints ---- */

const char *plan_guest_split(const char *text, unsigned n, char *name, size_t size)
{
    const char *equals = strchr(text, '=');

    if (equals && equals > text && (size_t)(equals - text) < size) {
        memcpy(name, text, (size_t)(equals - text));
        name[equals - text] = '\0';
        if (guest_name_is_valid(name))
            return equals + 1;
    }
    snprintf(name, size, n ? "guest%u" : "guest", n + 1);
    return text;
}

enum guest_endpoint_kind plan_guest_kind(const char *place, const char **ret_place, bool *ret_fifos)
{
    static const struct {
        const char *prefix;
        enum guest_endpoint_kind kind;
        bool fifos;
    } kinds[] = {
        {"unix:", ENDPOINT_PORT, false},
        {"fifo:", ENDPOINT_PORT, true},
        {"tcp:", ENDPOINT_TCP, false},
        {"vsock:", ENDPOINT_VSOCK, false},
        {"virtio-trace:", ENDPOINT_VIRTIO_TRACE, false},
    };

    *ret_fifos = false;
    *ret_place = place;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strncmp(place, kinds[i].prefix, strlen(kinds[i].prefix)) == 0) {
            *ret_place = place + strlen(kinds[i].prefix);
            *ret_fifos = kinds[i].fifos;
            return kinds[i].kind;
        }
    return ENDPOINT_PORT;
}

/* Checks that the name of CONFIG is unique. */
static int check_name(const struct record_plan *plan, const struct guest_list *guests,
                      const char *name, const char *place, struct error *error)
{
    if (plan->guest && strcmp(name, MACHINE_GUEST_OF_QEMU) == 0)
        return record_misuse(
            error, "the guest of QEMU is called %s; give the other one another name: NAME=%s", name,
            place);
    for (unsigned i = 0; i < guests->list.n; i++)
        if (strcmp(guests->names[i], name) == 0)
            return record_misuse(error, "two guests are called %s; give them names: NAME=%s", name,
                                 place);
    return 0;
}

/* PLACE of KIND is the guest whose name was just split off. */
static int add_guest(const struct record_plan *plan, struct guest_list *guests, const char *place,
                     enum guest_endpoint_kind kind, bool fifos, struct error *error)
{
    struct guest_config *config = &guests->list.configs[guests->list.n];
    int r;

    config->name = guests->names[guests->list.n];
    r = check_name(plan, guests, config->name, place, error);
    if (r < 0)
        return r;
    if ((kind == ENDPOINT_TCP || kind == ENDPOINT_VSOCK) && !plan->guests.key)
        return record_misuse(error, "guests at TCP and vsock addresses require --key=FILE");
    if (kind != ENDPOINT_VIRTIO_TRACE)
        r = guest_endpoint_parse(kind, place, &config->endpoint, error);
    if (r >= 0 && fifos)
        r = guest_endpoint_make_fifos(place, error);
    if (r < 0)
        return r;
    config->endpoint.text = place;
    config->trace = &guests->trace;
    config->kvm_root = plan->guests.kvm_files;
    if (kind == ENDPOINT_VIRTIO_TRACE) {
        config->virtio_trace = place;
        config->tracefs_copy = plan->guests.tracefs;
        config->cpus = (unsigned)plan->guests.cpus;
    }
    guests->list.n++;
    return 0;
}

static int add_all(const struct record_plan *plan, struct guest_list *guests, struct error *error)
{
    const struct strings *endpoints = &plan->guests.endpoints;
    int r = 0;

    if (endpoints->n > GUESTS_MAX)
        return record_misuse(error, "more than %u guests", GUESTS_MAX);
    guests->list.configs = calloc(endpoints->n, sizeof *guests->list.configs);
    guests->names = calloc(endpoints->n, sizeof *guests->names);
    if (!guests->list.configs || !guests->names)
        return -ENOMEM;
    for (unsigned i = 0; r >= 0 && i < endpoints->n; i++) {
        const char *place = plan_guest_split(endpoints->items[i], i + plan->guest, guests->names[i],
                                             sizeof *guests->names);
        bool fifos;
        enum guest_endpoint_kind kind = plan_guest_kind(place, &place, &fifos);

        r = add_guest(plan, guests, place, kind, fifos, error);
    }
    for (unsigned i = 0; i < guests->list.n; i++)
        guests->list.configs[i].n_guests = guests->list.n + plan->guest;
    return r;
}

/* --kvm: of the guest of that name, or of the first one. */
static int set_vmms(const struct record_plan *plan, struct guest_list *guests, struct error *error)
{
    for (unsigned i = 0; i < plan->guests.kvms.n; i++) {
        const char *text = plan->guests.kvms.items[i];
        const char *equals = strchr(text, '=');
        size_t len = equals ? (size_t)(equals - text) : 0;
        struct guest_config *config = equals ? NULL : &guests->list.configs[0];
        char *end;
        long pid = strtol(equals ? equals + 1 : text, &end, 10);

        for (unsigned j = 0; equals && j < guests->list.n; j++)
            if (strlen(guests->names[j]) == len && memcmp(guests->names[j], text, len) == 0)
                config = &guests->list.configs[j];
        if (!config)
            return record_misuse(error, "--kvm=%s: there is no guest of that name", text);
        if (*end || pid <= 0 || pid > INT32_MAX)
            return record_misuse(error, "--kvm=%s: invalid process ID", text);
        config->vmm = (pid_t)pid;
    }
    return 0;
}

/* ---- What is traced ---- */

/* Spaces around a key are not part of it. -errno with ERROR. */
static int read_key(const char *path, char *key, size_t *ret_size, struct error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return error_set(error, -errno, path, "cannot open it: %s", strerror(errno));
    if (fstat(fd, &st) == 0 && (st.st_mode & 077) != 0 && S_ISREG(st.st_mode)) {
        close(fd);
        return error_set(error, -EACCES, path, "others can read this key: chmod 600");
    }
    n = read(fd, key, KEY_MAX);
    close(fd);
    if (n < 0)
        return error_set(error, -errno, path, "cannot read it: %s", strerror(errno));
    if (n == KEY_MAX)
        return error_set(error, -EFBIG, path, "is too long for a key");
    while (n > 0 && (key[n - 1] == '\n' || key[n - 1] == '\r' || key[n - 1] == ' '))
        n--;
    if (n < KEY_MIN)
        return error_set(error, -EINVAL, path, "a key has %d bytes or more", KEY_MIN);
    *ret_size = (size_t)n;
    return 0;
}

static int make_trace(const struct record_plan *plan, struct guest_list *guests,
                      struct error *error)
{
    const struct plan_guests *g = &plan->guests;
    struct trace_config *trace = &guests->trace;
    uint64_t buffer = plan->buffer_size ? plan->buffer_size : PLAN_KERNEL_BUFFER;
    int r = 0;

    if (g->keep > UINT32_MAX || buffer >> 10 > UINT32_MAX || g->queue >> 10 > UINT32_MAX)
        return record_misuse(error,
                             "value too large: --reconnect-timeout, --buffer-size or --queue-size");
    if (g->level > 19)
        return record_misuse(error, "--compress is 0 to 19");
    if (g->cpus > PROTO_CPUS_MAX)
        return record_misuse(error, "--cpus is at most %u", PROTO_CPUS_MAX);
    if (g->key)
        r = read_key(g->key, guests->key, &trace->key_size, error);
    if (r < 0)
        return r;
    trace->key = g->key ? guests->key : NULL;
    trace->must_prove = g->key != NULL;
    trace->clock = g->clock ? g->clock : "";
    trace->buffer_kib = (uint32_t)(buffer >> 10);
    trace->queue_kib = (uint32_t)(g->queue >> 10);
    trace->keep_seconds = (uint32_t)g->keep;
    trace->level = (uint8_t)g->level;
    trace->wants = PROTO_WANT_CMDLINES | PROTO_WANT_PRINTK_FORMATS;
    trace->holds = record_plan_may_hold(plan);
    trace->drops_when_full = record_plan_has_flight(plan);
    if (plan->live.on)
        trace->wants |= PROTO_WANT_LIVE;
    if (g->kallsyms)
        trace->wants |= PROTO_WANT_KALLSYMS;
    r = plan_kernel_events(plan, false, &guests->events, &trace->n_events);
    trace->events = guests->events;
    return r;
}

int plan_guest_list_new(const struct record_plan *plan, pid_t vmm, struct plan_guest_list **ret,
                        struct error *error)
{
    struct guest_list *guests;
    int r;

    if (!plan_guests_are_given(&plan->guests)) {
        *ret = NULL;
        return 0;
    }
    guests = calloc(1, sizeof *guests);
    if (!guests)
        return -ENOMEM;
    r = make_trace(plan, guests, error);
    if (r >= 0)
        r = add_all(plan, guests, error);
    if (r >= 0)
        r = set_vmms(plan, guests, error);
    if (r < 0) {
        plan_guest_list_free(&guests->list);
        return r;
    }
    if (guests->list.n == 1 && guests->list.configs[0].vmm == 0)
        guests->list.configs[0].vmm = vmm;
    *ret = &guests->list;
    return 0;
}

void plan_guest_list_free(struct plan_guest_list *list)
{
    struct guest_list *guests = list ? container_of(list, struct guest_list, list) : NULL;

    if (!guests)
        return;
    free(guests->list.configs);
    free(guests->names);
    free(guests->events);
    free(guests);
}

unsigned plan_guest_list_n(const struct plan_guest_list *list)
{
    return list ? list->n : 0;
}
