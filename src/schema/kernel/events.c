/* SPDX-License-Identifier: MIT */
#include "schema/kernel/events.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "event/kernel.h"
#include "event/value.h"
#include "schema/kernel/event_header.h"
#include "schema/kernel/format.h"
#include "schema/kernel/names.h"
#include "schema/kernel/symbols.h"
#include "schema/kernel/tasks.h"
#include "schema/kernel/text.h"

/* Tasks looked up lately. */
#define RECENT_TASKS 256
/* Tasks whose names were in recent events. */
#define SEEN_TASKS 1024
/* Events without a format that are listed in a hint. */
#define MISSING_LISTED 8u
/* Of those that are learned meanwhile. */
#define TASKS_MAX 65536
#define TASK_NAME_MAX 64

struct kernel_events {
    struct kernel_classes known; /* must stand first: kernel_events_class() */
    unsigned n_refs;
    struct catalogue *catalogue;
    const struct origin *origin;
    struct kernel_facts facts;
    struct kernel_common common;
    struct kernel_formats *formats;
    int error;         /* why there is no class */
    unsigned n_failed; /* formats that could not be parsed */
    char failure[512]; /* what is wrong with the first one */
    char failures[640];
    unsigned n_missing; /* formats that there are not */
    uint16_t missing[MISSING_LISTED];
    struct text hint;
    struct eh_events headers;
    struct kernel_strings printk;
    struct kernel_strings cmdlines;
    /* Protects what is looked up while texts of events are written, which other threads than the reader may do:
     * `symbols`, `packed`, and their sources. Recursive, because compiling a text may need a symbol. */
    pthread_mutex_t lock;
    struct kernel_symbols *symbols;
    bool symbols_tried;
    struct recent_task {
        int32_t pid;
        const char *name;
    } recent[RECENT_TASKS];
    struct seen_task {
        int32_t pid;
        char name[KERNEL_TASK_NAME];
    } seen[SEEN_TASKS];
    struct map from_events; /* of kernel_events_learn_tasks(): names by thread */
    struct map before;      /* the same, before kernel_events_forget_tasks() */
    struct kernel_earlier *earlier;
    struct arena packed_arena; /* not the catalogue's arena, which belongs to the reader */
    struct map packed;         /* format strings of trace_printk(): struct packed by address */
    struct map learned;        /* of kernel_events_learn_cmdlines(): names by thread */
    struct map names;          /* the names themselves, each once */
    struct arena names_arena;
};

struct packed {
    const struct kernel_text *text; /* NULL: not understood */
};

int kernel_events_new(struct catalogue *catalogue, const struct kernel_facts *facts,
                      struct kernel_formats *formats, struct kernel_events **ret_events)
{
    struct kernel_events *events = calloc(1, sizeof *events);
    pthread_mutexattr_t recursive;

    if (!events) {
        formats->free(formats);
        return -ENOMEM;
    }
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&events->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    events->hint = TEXT_IN_MEMORY;
    eh_events_init(&events->headers);
    events->n_refs = 1;
    events->catalogue = catalogue;
    events->facts = *facts;
    events->formats = formats;
    /* As all kernels since 2.6.30 have it. */
    events->common = (struct kernel_common){
        .type_offset = 0, .flags_offset = 2, .preempt_offset = 3, .pid_offset = 4, .size = 8};
    *ret_events = events;
    return 0;
}

struct kernel_events *kernel_events_ref(struct kernel_events *events)
{
    events->n_refs++;
    return events;
}

void kernel_events_unref(struct kernel_events *events)
{
    if (!events || --events->n_refs > 0)
        return;
    if (events->formats)
        events->formats->free(events->formats);
    kernel_strings_done(&events->printk);
    kernel_strings_done(&events->cmdlines);
    kernel_symbols_free(events->symbols);
    map_done(&events->packed);
    arena_done(&events->packed_arena);
    pthread_mutex_destroy(&events->lock);
    map_done(&events->learned);
    map_done(&events->from_events);
    map_done(&events->before);
    map_done(&events->names);
    arena_done(&events->names_arena);
    text_done(&events->hint);
    eh_events_done(&events->headers);
    free(events->known.classes);
    free(events);
}

void kernel_events_set_origin(struct kernel_events *events, const struct origin *origin)
{
    if (!events->origin)
        events->origin = origin;
}

const struct kernel_common *kernel_events_common(const struct kernel_events *events)
{
    return &events->common;
}

const struct kernel_facts *kernel_events_facts(const struct kernel_events *events)
{
    return &events->facts;
}

/* The offset of a common field of one byte; KERNEL_NO_OFFSET: there is none. */
static uint16_t byte_offset(const struct kernel_format *format, const char *name)
{
    uint32_t offset, size;

    if (!kernel_format_field(format->text, format->len, name, &offset, &size) || size != 1 ||
        offset > 64)
        return KERNEL_NO_OFFSET;
    return (uint16_t)offset;
}

int kernel_events_set_common(struct kernel_events *events, const struct kernel_format *format,
                             struct error *error)
{
    uint32_t type_offset, type_size, pid_offset, pid_size;
    bool has_pid;

    if (!kernel_format_field(format->text, format->len, "common_type", &type_offset, &type_size))
        return error_set(error, -EBADMSG, format->path,
                         "no field common_type: this is not a kernel's event format");
    has_pid = kernel_format_field(format->text, format->len, "common_pid", &pid_offset, &pid_size);
    if (!has_pid) {
        pid_offset = KERNEL_NO_OFFSET;
        pid_size = 0;
    }
    if (type_size != 2 || type_offset > 64 || (has_pid && (pid_size != 4 || pid_offset > 64)))
        return error_set(error, -EBADMSG, format->path,
                         "common_type of %u bytes at %u and common_pid of %u bytes at %u: only 2 "
                         "and 4 bytes within the first 64 can be read",
                         type_size, type_offset, pid_size, pid_offset);
    events->common = (struct kernel_common){
        .type_offset = (uint16_t)type_offset,
        .pid_offset = (uint16_t)pid_offset,
        .flags_offset = byte_offset(format, "common_flags"),
        .preempt_offset = byte_offset(format, "common_preempt_count"),
        .size = (uint16_t)MAX(type_offset + 2, has_pid ? pid_offset + 4 : 0),
    };
    return 0;
}

int kernel_events_read_printk(struct kernel_events *events, char *text, size_t len)
{
    kernel_strings_done(&events->printk);
    return kernel_strings_read_printk(text, len, &events->printk);
}

int kernel_events_read_cmdlines(struct kernel_events *events, char *text, size_t len)
{
    kernel_strings_done(&events->cmdlines);
    memset(events->recent, 0, sizeof events->recent);
    return kernel_strings_read_cmdlines(text, len, &events->cmdlines);
}

/* NAME, once and for all; NULL: memory or room is out. */
static char *keep_name(struct kernel_events *events, const struct kernel_string *name)
{
    char *kept = map_get_str(&events->names, name->s, name->len);

    if (kept || events->names.used >= TASKS_MAX || name->len > TASK_NAME_MAX)
        return kept;
    kept = arena_strndup(&events->names_arena, name->s, name->len);
    if (kept && map_put_str(&events->names, kept, name->len, kept) < 0)
        return NULL;
    return kept;
}

int kernel_events_learn_cmdlines(struct kernel_events *events, const char *text, size_t len)
{
    struct kernel_strings strings;
    char *copy = strndup(text, len);
    int r = copy ? kernel_strings_read_cmdlines(copy, strlen(copy), &strings) : -ENOMEM;

    if (r < 0)
        return r;
    for (size_t i = 0; i < strings.n_entries && r == 0; i++) {
        const struct kernel_string *entry = &strings.entries[i];
        char *name = keep_name(events, entry);

        if (name && (events->learned.used < TASKS_MAX || map_get(&events->learned, entry->key)))
            r = map_put(&events->learned, entry->key, name);
    }
    kernel_strings_done(&strings);
    memset(events->recent, 0, sizeof events->recent);
    return r;
}

static void learn_task(struct kernel_events *events, int32_t pid, const char text[KERNEL_TASK_NAME])
{
    struct seen_task *seen = &events->seen[(uint32_t)pid % SEEN_TASKS];
    struct recent_task *recent = &events->recent[(uint32_t)pid % RECENT_TASKS];
    struct kernel_string name = {.s = seen->name};
    char *kept;

    if (pid <= 0 || (seen->pid == pid && memcmp(seen->name, text, sizeof seen->name) == 0))
        return;
    seen->pid = pid;
    memcpy(seen->name, text, sizeof seen->name);
    name.len = (uint32_t)strlen(seen->name);
    kept = keep_name(events, &name);
    if (!kept ||
        (events->from_events.used >= TASKS_MAX && !map_get(&events->from_events, (uint64_t)pid)))
        return;
    /* Without memory the task has no name, as without the event. */
    if (map_put(&events->from_events, (uint64_t)pid, kept) >= 0 && recent->pid == pid)
        recent->pid = 0;
}

/* Most events say what another has said: the name is compared as it stands there. */
static inline bool is_seen(const struct kernel_events *events, const struct kernel_task_pair *pair,
                           const uint8_t *payload)
{
    const uint8_t *name = payload + pair->name_offset;
    uint32_t pid = load_u32(payload + pair->pid_offset);
    const struct seen_task *seen = &events->seen[pid % SEEN_TASKS];

    _Static_assert(sizeof seen->name == 16, "compared as two words");
    return pid == 0 || ((uint32_t)seen->pid == pid && load_u64(seen->name) == load_u64(name) &&
                        load_u64(seen->name + 8) == load_u64(name + 8));
}

static _cold_ void learn_pair(struct kernel_events *events, const struct kernel_task_pair *pair,
                              const uint8_t *payload, size_t size)
{
    char name[KERNEL_TASK_NAME];
    int32_t pid;

    if (kernel_task_pair_read(pair, payload, size, &pid, name))
        learn_task(events, pid, name);
}

void kernel_events_learn_tasks(struct kernel_events *events, const struct event_class *class,
                               const uint8_t *payload, size_t size)
{
    const struct kernel_task_pairs *pairs = class->task_data;
    const struct kernel_task_pair *end = pairs->list + pairs->n;
    bool quick = pairs->quick_size > 0 && size >= pairs->quick_size;

    for (const struct kernel_task_pair *pair = pairs->list; pair < end; pair++)
        if (unlikely(!quick || !is_seen(events, pair, payload)))
            learn_pair(events, pair, payload, size);
}

const struct event_class *kernel_events_decode(struct kernel_events *events,
                                               const struct event_class *class,
                                               const uint8_t *payload, size_t size,
                                               struct text *made)
{
    const struct kernel_task_pairs *data = class->task_data;
    const struct event_class *own = class;
    size_t before = text_len(made);
    int r = eh_event_decode(&events->headers, events->catalogue, data->point, class, payload, size,
                            events->common.size, made, &own);

    if (r > 0)
        return own;
    if (text_len(made) > before)
        made->next = made->start + before;
    if (r == 0)
        return class;
    events->error = r;
    return NULL;
}

void kernel_events_forget_tasks(struct kernel_events *events)
{
    size_t iter = 0;
    uint64_t pid;
    void *name;

    while (map_next(&events->from_events, &iter, &pid, &name))
        if (map_put(&events->before, pid, name) < 0)
            break;
    map_done(&events->from_events);
    events->from_events = (struct map){0};
    memset(events->seen, 0, sizeof events->seen);
    memset(events->recent, 0, sizeof events->recent);
}

void kernel_events_begin_lookback(struct kernel_events *events, struct kernel_earlier *earlier)
{
    for (const struct kernel_earlier *e = events->earlier; e; e = e->next)
        if (e == earlier)
            return;
    earlier->next = events->earlier;
    events->earlier = earlier;
}

void kernel_events_end_lookback(struct kernel_events *events, struct kernel_earlier *earlier)
{
    for (struct kernel_earlier **e = &events->earlier; *e; e = &(*e)->next)
        if (*e == earlier) {
            *e = earlier->next;
            return;
        }
}

/* A name from events that were passed over, and before. */
static const char *find_earlier_task(struct kernel_events *events, int32_t pid)
{
    char text[KERNEL_TASK_NAME];

    for (struct kernel_earlier *e = events->earlier; e; e = e->next)
        if (e->find(e, pid, text)) {
            const struct kernel_string name = {.s = text, .len = (uint32_t)strlen(text)};

            return keep_name(events, &name);
        }
    return map_get(&events->before, (uint64_t)pid);
}

static const char *find_task(struct kernel_events *events, int32_t pid)
{
    const char *name = map_get(&events->learned, (uint64_t)pid);
    const struct kernel_string *found;

    if (name)
        return name;
    found = kernel_strings_find(&events->cmdlines, (uint64_t)pid);
    if (found)
        return found->s;
    name = map_get(&events->from_events, (uint64_t)pid);
    return name ? name : find_earlier_task(events, pid);
}

const char *kernel_events_task(struct kernel_events *events, int32_t pid)
{
    struct recent_task *recent = &events->recent[(uint32_t)pid % RECENT_TASKS];

    if (pid <= 0)
        return pid == 0 ? "<idle>" : NULL;
    /* At first all are of the thread 0. */
    if (recent->pid != pid)
        *recent = (struct recent_task){.pid = pid, .name = find_task(events, pid)};
    return recent->name;
}

static struct kernel_symbols *symbols(struct kernel_events *events)
{
    char *text;
    size_t len;

    if (!events->symbols_tried) {
        events->symbols_tried = true;
        if (events->formats->kallsyms(events->formats, &text, &len) == 0 &&
            kernel_symbols_new(text, len, &events->symbols) < 0)
            events->symbols = NULL;
    }
    return events->symbols;
}

const char *kernel_events_symbol(struct kernel_events *events, uint64_t address, size_t *ret_len,
                                 uint64_t *ret_start)
{
    struct kernel_symbols *table;
    const char *name;

    pthread_mutex_lock(&events->lock);
    table = symbols(events);
    name = table ? kernel_symbols_find(table, address, ret_len, ret_start) : NULL;
    pthread_mutex_unlock(&events->lock);
    return name;
}

uint64_t kernel_events_symbol_address(struct kernel_events *events, const char *name)
{
    struct kernel_symbols *table;
    uint64_t address;

    pthread_mutex_lock(&events->lock);
    table = symbols(events);
    address = table ? kernel_symbols_address(table, name) : 0;
    pthread_mutex_unlock(&events->lock);
    return address;
}

const char *kernel_events_printk(const struct kernel_events *events, uint64_t address,
                                 size_t *ret_len)
{
    const struct kernel_string *found = kernel_strings_find(&events->printk, address);

    if (!found)
        return NULL;
    *ret_len = found->len;
    return found->s;
}

int kernel_events_format(struct kernel_events *events, uint16_t id, char **ret_text,
                         size_t *ret_len)
{
    struct kernel_format format;
    char *text;
    int r = events->formats->format(events->formats, id, &format);

    if (r < 0)
        return r;
    text = malloc(format.len + 1);
    if (!text)
        return -ENOMEM;
    memcpy(text, format.text, format.len + 1);
    *ret_text = text;
    *ret_len = format.len;
    return 0;
}

int kernel_events_kallsyms(struct kernel_events *events, char **ret_text, size_t *ret_len)
{
    return events->formats->kallsyms(events->formats, ret_text, ret_len);
}

void kernel_events_each_printk(const struct kernel_events *events,
                               void (*put)(void *arg, uint64_t address, const char *s, size_t len),
                               void *arg)
{
    for (size_t i = 0; i < events->printk.n_entries; i++)
        put(arg, events->printk.entries[i].key, events->printk.entries[i].s,
            events->printk.entries[i].len);
}

static const struct kernel_text *get_packed(struct kernel_events *events, uint64_t address)
{
    const struct packed *known = map_get(&events->packed, address);
    struct arena *arena = &events->packed_arena;
    struct packed *made;
    const char *s;
    size_t len;

    if (known)
        return known->text;
    /* Only what the table has is kept, so that made-up addresses take no memory. */
    s = kernel_events_printk(events, address, &len);
    made = s ? arena_alloc(arena, sizeof *made) : NULL;
    if (!made)
        return NULL;
    if (kernel_text_compile_packed(arena, events, s, len, &made->text) < 0)
        made->text = NULL;
    if (map_put(&events->packed, address, made) < 0)
        return NULL;
    return made->text;
}

const struct kernel_text *kernel_events_packed(struct kernel_events *events, uint64_t address)
{
    const struct kernel_text *text;

    pthread_mutex_lock(&events->lock);
    text = get_packed(events, address);
    pthread_mutex_unlock(&events->lock);
    return text;
}

/* How the format's field reads as one of ours. */
static struct field field_of(const struct kernel_events *events, const struct kernel_field *f)
{
    struct field field = {
        .name = f->name,
        .c_type = f->type,
        .place = PLACE_FIXED,
        .offset = f->offset,
        .size = f->size,
        .swap = events->facts.swap,
    };
    bool is_array = f->flags & FIELD_IS_ARRAY;
    /* Print formats take an array of u8 for a string if it looks like one; its value is bytes, which may hold a NUL. */
    bool is_u8 = !strstr(f->type, "char") && (strstr(f->type, "u8") || strstr(f->type, "s8"));
    bool is_string = f->flags & FIELD_IS_STRING && !is_u8;

    if (f->flags & FIELD_IS_DYNAMIC) {
        field.place = f->flags & FIELD_IS_RELATIVE ? PLACE_REL_LOC : PLACE_DATA_LOC;
        field.storage = STORE_ARRAY;
        field.type = is_string ? FIELD_STRING : FIELD_BYTES;
    } else if (is_array ||
               (field.size != 1 && field.size != 2 && field.size != 4 && field.size != 8)) {
        /* An array of no length, such as `char buf[]`, is the rest of the event. */
        field.storage = field.size == 0 ? STORE_TO_END : STORE_ARRAY;
        field.type = is_string ? FIELD_STRING : FIELD_BYTES;
    } else {
        field.storage = STORE_SCALAR;
        if (f->flags & FIELD_IS_POINTER)
            field.type = FIELD_POINTER;
        else if (strcmp(f->type, "bool") == 0 && field.size == 1)
            field.type = FIELD_BOOL;
        else
            field.type = f->flags & FIELD_IS_SIGNED ? FIELD_INT : FIELD_UINT;
        /* A `long` of the kernel's is an address or a mask more often than a count. */
        field.hex = (f->flags & FIELD_IS_LONG) && field.type == FIELD_UINT;
    }
    if (field.type == FIELD_BYTES &&
        (f->element_size == 2 || f->element_size == 4 || f->element_size == 8))
        field.element = (uint8_t)f->element_size;
    return field;
}

/* What is written into trace_marker_raw is binary, though it is declared as characters. */
static void fix_raw_data(const struct event_class *class, struct field *fields)
{
    for (unsigned i = 0; i < class->n_fields; i++)
        if (strcmp(class->group, "ftrace") == 0 && strcmp(class->name, "raw_data") == 0 &&
            fields[i].type == FIELD_STRING)
            fields[i].type = FIELD_BYTES;
}

/* If CLASS is a tracepoint of EventHeader, its events have fields of their own. Those that cannot be decoded show what follows
 * their header as bytes. */
static int make_open(struct kernel_events *events, struct event_class *class)
{
    static const struct field rest = {.name = "data",
                                      .c_type = "u8[]",
                                      .type = FIELD_BYTES,
                                      .place = PLACE_FIXED,
                                      .storage = STORE_TO_END};
    struct arena *arena = &events->catalogue->arena;
    struct kernel_task_pairs *data;
    struct field *fields, *last;
    struct eh_point found, *point;
    int r = class->n_fields < FIELDS_MAX ? eh_point_find(arena, class, (uint16_t) class->id, &found)
                                         : 0;

    if (r <= 0)
        return r;
    point = arena_memdup(arena, &found, sizeof found);
    data = arena_alloc(arena, sizeof *data);
    fields = arena_alloc(arena, (class->n_fields + 1) * sizeof *fields);
    if (!point || !data || !fields)
        return -ENOMEM;
    data->point = point;
    class->task_data = data;
    memcpy(fields, class->fields, class->n_fields * sizeof *fields);
    last = &fields[class->n_fields - 1];
    fields[class->n_fields] = rest;
    fields[class->n_fields].offset = last->offset + last->size;
    class->fields = fields;
    class->n_fields++;
    class->put_text = NULL;
    class->put_name = NULL;
    return 0;
}

/* A stack trace is declared as an array of 8; `size`, the field before it, is how many entries it has. */
static void fix_stack(const struct event_class *class, struct field *fields)
{
    struct field *caller = &fields[1];

    if (!kernel_text_is_stack(class->reader_data) || class->n_fields < 2)
        return;
    caller->storage = STORE_SIZED;
    caller->hex = true;
}

static int make_fields(struct kernel_events *events, const struct kernel_event_format *format,
                       struct event_class *class, struct field **ret_fields)
{
    struct arena *arena = &events->catalogue->arena;
    unsigned n = MIN(format->n_fields - format->n_common, (unsigned)FIELDS_MAX);
    struct field *fields = arena_alloc(arena, MAX(n, 1u) * sizeof *fields);

    if (!fields)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        fields[i] = field_of(events, &format->fields[format->n_common + i]);
        fields[i].name = arena_strdup(arena, fields[i].name);
        fields[i].c_type = arena_strdup(arena, fields[i].c_type);
        if (!fields[i].name || !fields[i].c_type)
            return -ENOMEM;
    }
    class->fields = *ret_fields = fields;
    class->n_fields = n;
    return 0;
}

/* Makes a class for events of which only the number is known. */
static int make_unknown(struct kernel_events *events, uint16_t id, struct event_class *class)
{
    static const struct field bytes = {.name = "data",
                                       .c_type = "u8[]",
                                       .type = FIELD_BYTES,
                                       .place = PLACE_FIXED,
                                       .storage = STORE_TO_END};
    struct arena *arena = &events->catalogue->arena;
    struct field *fields = arena_memdup(arena, &bytes, sizeof bytes);
    char name[32];

    snprintf(name, sizeof name, "unknown-%u", id);
    class->name = arena_strdup(arena, name);
    if (!class->name || !fields)
        return -ENOMEM;
    fields->offset = events->common.size;
    class->fields = fields;
    class->n_fields = 1;
    class->has_no_format = true;
    return 0;
}

static int make_known(struct kernel_events *events, const struct kernel_event_format *format,
                      const struct kernel_format *file, struct arena *scratch,
                      struct event_class *class, struct error *error)
{
    struct arena *arena = &events->catalogue->arena;
    const struct kernel_text *text;
    const struct kernel_task_pairs *tasks;
    struct field *fields;
    int r;

    class->name = arena_strdup(arena, format->name);
    class->group = arena_strdup(arena, file->system);
    if (!class->name || !class->group)
        return -ENOMEM;
    if (file->path) {
        class->declared_in = arena_strdup(arena, file->path);
        if (!class->declared_in)
            return -ENOMEM;
    }
    r = make_fields(events, format, class, &fields);
    if (r < 0)
        return r;
    r = kernel_text_compile(arena, scratch, events, format, strcmp(file->system, "ftrace") == 0,
                            file->path, &text, error);
    if (r < 0)
        return r;
    kernel_text_mark_hex(text, fields, class->n_fields);
    class->reader_data = text;
    r = kernel_names_find(arena, (struct kernel_text *)(uintptr_t)text, class, fields);
    if (r < 0)
        return r;
    r = kernel_task_pairs_find(arena, class, &tasks);
    if (r < 0)
        return r;
    class->task_data = tasks;
    fix_stack(class, fields);
    fix_raw_data(class, fields);
    class->put_text = kernel_text_put;
    return make_open(events, class);
}

/* Keeps why a format could not be parsed, for kernel_events_hint(). */
static void note_failure(struct kernel_events *events, const struct kernel_format *file,
                         const struct event_class *class, const struct error *error)
{
    struct error named = *error;

    if (events->n_failed++ == 0) {
        if (!file->path)
            snprintf(named.path, sizeof named.path, "format of %s:%s", file->system, class->name);
        error_print(&named, events->failure, sizeof events->failure);
        snprintf(events->failures, sizeof events->failures, "%s; its events show as %s",
                 events->failure, class->group ? "their fields" : "bytes");
        return;
    }
    snprintf(events->failures, sizeof events->failures,
             "%s; events of this format, and of %u others, show as their fields or bytes",
             events->failure, events->n_failed - 1);
}

static void note_missing(struct kernel_events *events, uint16_t id)
{
    if (events->n_missing < MISSING_LISTED)
        events->missing[events->n_missing] = id;
    events->n_missing++;
}

static void put_missing(const struct kernel_events *events, struct text *hint)
{
    unsigned listed = MIN(events->n_missing, MISSING_LISTED);
    bool one = events->n_missing == 1;

    text_put_str(hint, one ? "the format of event " : "the formats of events ");
    for (unsigned i = 0; i < listed; i++)
        text_printf(hint, "%s%u", i ? ", " : "", events->missing[i]);
    if (events->n_missing > listed)
        text_printf(hint, " and %u more", events->n_missing - listed);
    text_printf(hint,
                one ? " is missing; it shows as bytes, as unknown-%u"
                    : " are missing; they show as bytes, such as unknown-%u",
                events->missing[0]);
    if (events->formats->path)
        text_printf(hint, "; copy its file 'format' to %s/events/GROUP/NAME/",
                    events->formats->path);
}

static void put_bad_headers(const struct eh_events *headers, struct text *hint)
{
    bool one = headers->n_bad == 1;

    text_printf(
        hint,
        one ? "%" PRIu64 " event of EventHeader cannot be decoded, and shows as bytes: %s, of %s"
            : "%" PRIu64 " events of EventHeader cannot be decoded, and show as bytes: %s in "
              "the first one, of %s",
        headers->n_bad, headers->bad_why, headers->bad_name);
}

const char *kernel_events_hint(struct kernel_events *events)
{
    struct text *hint = &events->hint;

    hint->next = hint->start;
    if (events->n_failed)
        text_put_str(hint, events->failures);
    if (events->n_missing) {
        text_put_str(hint, text_len(hint) ? "; " : "");
        put_missing(events, hint);
    }
    if (events->headers.n_bad) {
        text_put_str(hint, text_len(hint) ? "; " : "");
        put_bad_headers(&events->headers, hint);
    }
    if (text_len(hint) == 0)
        return NULL;
    text_put_char(hint, '\0');
    return hint->error ? NULL : hint->start;
}

/* Makes the class of events with number ID: from its format or, without a valid format, of bytes. */
static int make_class(struct kernel_events *events, uint16_t id, struct event_class *class)
{
    struct kernel_event_format format;
    struct kernel_format file;
    struct arena scratch = {0};
    struct error error = {0};
    int r;

    pthread_mutex_lock(&events->lock);
    r = events->formats->format(events->formats, id, &file);
    pthread_mutex_unlock(&events->lock);
    if (error_is_local(r))
        return r;
    if (r < 0) {
        note_missing(events, id);
        return make_unknown(events, id, class);
    }
    r = kernel_format_parse(&scratch, file.text, file.len, events->facts.long_size, file.path,
                            &format, &error);
    if (r == 0 && format.id != id)
        r = error_set(&error, -EBADMSG, file.path, "the format of event %u has ID %u", id,
                      format.id);
    if (r == 0)
        r = make_known(events, &format, &file, &scratch, class, &error);
    else if (r == -EBADMSG)
        r = make_unknown(events, id, class);
    if (r >= 0 && error.code)
        note_failure(events, &file, class, &error);
    arena_done(&scratch);
    return r;
}

int kernel_events_error(const struct kernel_events *events)
{
    return events->error;
}

const struct event_class *kernel_events_make(struct kernel_events *events, uint16_t id)
{
    struct event_class class = {.id = id, .origin = events->origin};
    struct event_class *made;

    events->error = -ENOMEM;
    if (id >= events->known.n_classes) {
        uint32_t n = MAX((uint32_t)id + 1, events->known.n_classes * 2);
        const struct event_class **bigger;

        n = MIN(MAX(n, UINT32_C(1024)), UINT32_C(65536));
        bigger = realloc(events->known.classes, n * sizeof *bigger);
        if (!bigger)
            return NULL;
        memset(bigger + events->known.n_classes, 0, (n - events->known.n_classes) * sizeof *bigger);
        events->known.classes = bigger;
        events->known.n_classes = n;
    }

    events->error = make_class(events, id, &class);
    if (events->error == 0)
        events->error = catalogue_add(events->catalogue, &class, &made);
    if (events->error != 0)
        return NULL;
    events->known.classes[id] = made;
    return made;
}
