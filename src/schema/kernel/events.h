/* SPDX-License-Identifier: MIT */
#pragma once

/* The events of one Linux kernel: its `format` files, as event classes.
 *
 * A kernel has more than a thousand events, and a trace contains a few dozen of them. So a format is read and parsed
 * when the first event with its number is seen. The opener of a trace provides the formats as a `struct
 * kernel_formats`.
 *
 * Event numbers are per boot: formats of another boot decode to nonsense.
 *
 * All texts come from the traced kernel and are hostile until parsed.
 *
 * How a format becomes the text of an event:
 *   format.c              parses a format file: name, number, fields
 *   print_token.c         reads the tokens of its print format
 *   print_parse.c         parses the print format into a tree (print_tree.h)
 *   text.c                compiles the tree into a program (text_code.h): a literal and a conversion per operation
 *   expr.c, string_arg.c  compile and run the numbers and the strings in it
 *   text_run.c, net.c     run the program over the bytes of an event
 *   names.c               finds the fields that the text shows by a name, such as S for a prev_state of 1
 *   symbols.c             names of functions, constant strings and tasks that the kernel lists
 *   tasks.c               learns names of tasks from events
 *   event_header.c        makes classes of events that have their fields with them */

#include "base/error.h"
#include "base/macro.h"
#include "event/catalogue.h"
#include "schema/kernel/tasks.h"

struct kernel_events;
struct kernel_text;
struct text;

/* A format file's text. */
struct kernel_format {
    const char *text; /* LEN bytes and a NUL; valid until the next call of format() */
    size_t len;
    const char *system; /* "sched" */
    const char *path;   /* where it was read, or NULL; the caller copies it */
};

/* Provides the texts of a kernel. */
struct kernel_formats {
    /* Finds the format of event ID. Returns 0; -ENOENT: none; another errno: it could not be read. */
    int (*format)(struct kernel_formats *formats, uint16_t id, struct kernel_format *ret);
    /* The text of /proc/kallsyms, followed by a NUL; the caller frees it. Requested when the first
     * address is printed. -ENOENT: not available. */
    int (*kallsyms)(struct kernel_formats *formats, char **ret_text, size_t *ret_len);
    void (*free)(struct kernel_formats *formats);
    const char *path; /* of the tracefs tree, for messages; NULL: formats are not files */
};

/* What all events of a kernel begin with. */
struct kernel_common {
    uint16_t type_offset; /* of the event number, u16 */
    /* Of the thread ID, s32. KERNEL_NO_OFFSET: none, for example in buffers that a hypervisor or firmware fills (Linux,
     * Documentation/trace/remotes.rst). */
    uint16_t pid_offset;
    uint16_t size;                         /* a shorter event is damaged */
    uint16_t flags_offset, preempt_offset; /* as in struct origin_kernel */
};

/* Facts about the kernel that are needed before its formats can be read. */
struct kernel_facts {
    bool swap; /* its byte order is not this machine's */
    bool big_endian;
    uint8_t long_size;
};

/* Creates the events with one reference. Takes ownership of FORMATS, even on failure. -ENOMEM. */
int kernel_events_new(struct catalogue *catalogue, const struct kernel_facts *facts,
                      struct kernel_formats *formats, struct kernel_events **ret_events);
struct kernel_events *kernel_events_ref(struct kernel_events *events);
void kernel_events_unref(struct kernel_events *events);
/* Sets the origin of the classes. With several traces of one kernel, only the first call counts. */
void kernel_events_set_origin(struct kernel_events *events, const struct origin *origin);

/* Reads the common fields from a format's text. -EBADMSG. */
int kernel_events_set_common(struct kernel_events *events, const struct kernel_format *format,
                             struct error *error);
const struct kernel_common *kernel_events_common(const struct kernel_events *events);

/* Both take ownership of TEXT (from malloc, followed by a NUL). -ENOMEM. */
int kernel_events_read_printk(struct kernel_events *events, char *text, size_t len);
int kernel_events_read_cmdlines(struct kernel_events *events, char *text, size_t len);
/* Reads a newer version of the same text while events are being printed: adds and replaces names. A
 * name that was returned before stays valid, so a different pointer means a different name. TEXT stays
 * the caller's. Learns at most 65536 names. -ENOMEM. */
int kernel_events_learn_cmdlines(struct kernel_events *events, const char *text, size_t len);

/* Learns names of tasks from an event of CLASS, whose task_data is not NULL. They are used for tasks that neither of
 * the above texts names. The last name counts. */
void kernel_events_learn_tasks(struct kernel_events *events, const struct event_class *class,
                               const uint8_t *payload, size_t size);

/* True if each event of CLASS, whose task_data is not NULL, has its own fields. */
static inline bool kernel_class_is_open(const struct event_class *class)
{
    return ((const struct kernel_task_pairs *)class->task_data)->point;
}

/* Decodes such an event. Returns its own class, and appends its payload to MADE. If the event could not be decoded,
 * returns CLASS, appends nothing, and the hint reports it. NULL: out of memory. */
const struct event_class *kernel_events_decode(struct kernel_events *events,
                                               const struct event_class *class,
                                               const uint8_t *payload, size_t size,
                                               struct text *made);

/* Finds names in skipped events. Embedded in a structure that can read them. */
struct kernel_earlier {
    struct kernel_earlier *next;
    /* Finds the last name of PID in the skipped events. Returns false if there is none. */
    bool (*find)(struct kernel_earlier *earlier, int32_t pid, char ret_name[KERNEL_TASK_NAME]);
};

/* Call it when events are skipped from here on. Names from earlier events are then used only if EARLIER and later
 * events have no other name. */
void kernel_events_forget_tasks(struct kernel_events *events);
/* Begin and end asking EARLIER for names. */
void kernel_events_begin_lookback(struct kernel_events *events, struct kernel_earlier *earlier);
void kernel_events_end_lookback(struct kernel_events *events, struct kernel_earlier *earlier);

/* The name of a task; "<idle>" for 0; NULL: unknown. */
const char *kernel_events_task(struct kernel_events *events, int32_t pid);

/* Classes by their number; see kernel_events_class(). */
struct kernel_classes {
    const struct event_class **classes;
    uint32_t n_classes;
};
/* The slow half of kernel_events_class(). */
const struct event_class *kernel_events_make(struct kernel_events *events, uint16_t id);

/* The class of events with number ID, created on first use. An event without a valid format has a class whose only
 * field is the event's bytes. NULL: see kernel_events_error(). */
static inline const struct event_class *kernel_events_class(struct kernel_events *events,
                                                            uint16_t id)
{
    /* `classes` is the first member of struct kernel_events, which is private. */
    const struct kernel_classes *known = (const struct kernel_classes *)events;

    if (likely(id < known->n_classes && known->classes[id]))
        return known->classes[id];
    return kernel_events_make(events, id);
}

/* Why the last call of kernel_events_class() returned NULL: -ENOMEM, or why the format could not be read. */
int kernel_events_error(const struct kernel_events *events);

/* Reports which formats of the classes created so far are missing or invalid, and why; NULL: none. Valid until the next
 * call. */
const char *kernel_events_hint(struct kernel_events *events);

/* The raw texts, followed by a NUL, which the caller frees: an event's format; symbols. -ENOENT. */
int kernel_events_format(struct kernel_events *events, uint16_t id, char **ret_text,
                         size_t *ret_len);
int kernel_events_kallsyms(struct kernel_events *events, char **ret_text, size_t *ret_len);
/* Calls PUT for all strings of kernel_events_printk(), ascending by address. */
void kernel_events_each_printk(const struct kernel_events *events,
                               void (*put)(void *arg, uint64_t address, const char *s, size_t len),
                               void *arg);

/* For kernel text (schema/kernel/text.c): the symbol at an address; see kernel_symbols_find(). */
const char *kernel_events_symbol(struct kernel_events *events, uint64_t address, size_t *ret_len,
                                 uint64_t *ret_start);
/* The address of a symbol, or 0. */
uint64_t kernel_events_symbol_address(struct kernel_events *events, const char *name);
/* The constant string at an address of the kernel, or NULL. */
const char *kernel_events_printk(const struct kernel_events *events, uint64_t address,
                                 size_t *ret_len);
/* The compiled format of the trace_printk() whose format string is at ADDRESS, or NULL. */
const struct kernel_text *kernel_events_packed(struct kernel_events *events, uint64_t address);
const struct kernel_facts *kernel_events_facts(const struct kernel_events *events);
