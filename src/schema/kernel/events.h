/* SPDX-License-Identifier: MIT */
#pragma once

/* The events of one Linux kernel: its `format` files, as event classes.
 *
 * A kernel has well over a thousand events and a capture holds a few dozen of them, so a format is
 * looked for and parsed when the first event with its number is seen. Who opens a capture says where
 * formats come from, by a `struct kernel_formats`.
 *
 * Event numbers are per boot: formats of another boot decode to nonsense.
 *
 * All texts come from the traced kernel and are hostile until parsed.
 *
 * How a format becomes the text of an event:
 *   format.c           parses a format file: name, number, fields
 *   print_token.c      reads the tokens of its print format
 *   print_parse.c      parses the print format into a tree (print_tree.h)
 *   text.c             compiles the tree into a program (text_code.h): a literal and a conversion per operation
 *   expr.c, piece.c    compile and run the numbers and the strings in it
 *   text_run.c, net.c  run the program over the bytes of an event
 *   names.c            finds the fields that the program shows by a name, such as S for a prev_state of 1
 *   symbols.c          has the names of functions, constant strings and tasks that the kernel lists
 *   tasks.c            learns names of tasks from events */

#include "base/error.h"
#include "base/macro.h"
#include "event/catalogue.h"

struct kernel_events;
struct kernel_text;

/* A format file's text. */
struct kernel_format {
    const char *text; /* LEN bytes and a NUL; valid until the next call of format() */
    size_t len;
    const char *system; /* "sched" */
    const char *path;   /* where it was read, or NULL; copied by who needs it */
};

/* Where the texts of a kernel are. */
struct kernel_formats {
    /* The format of the event ID. 0, -ENOENT: there is none, other: it could not be read. */
    int (*format)(struct kernel_formats *formats, uint16_t id, struct kernel_format *ret);
    /* The text of /proc/kallsyms, from malloc, with a NUL behind; it is asked for when the first
     * address is to be shown. -ENOENT: there is none. */
    int (*kallsyms)(struct kernel_formats *formats, char **ret_text, size_t *ret_len);
    void (*free)(struct kernel_formats *formats);
};

/* What all events of a kernel begin with. */
struct kernel_common {
    uint16_t type_offset; /* of the event number, u16 */
    uint16_t pid_offset;  /* of the thread id, s32 */
    uint16_t size;        /* a shorter event is damaged */
};

/* What to know of the kernel before its formats can be read. */
struct kernel_facts {
    bool swap; /* its byte order is not this machine's */
    bool big_endian;
    uint8_t long_size;
};

/* With one reference. Takes FORMATS over, also when it fails. -ENOMEM. */
int kernel_events_new(struct catalogue *catalogue, const struct kernel_facts *facts,
                      struct kernel_formats *formats, struct kernel_events **ret_events);
struct kernel_events *kernel_events_ref(struct kernel_events *events);
void kernel_events_unref(struct kernel_events *events);
/* Whose events these are: for the classes. Of several captures of one kernel the first counts. */
void kernel_events_set_origin(struct kernel_events *events, const struct origin *origin);

/* Takes the common fields from a format's text. -EBADMSG. */
int kernel_events_set_common(struct kernel_events *events, const struct kernel_format *format,
                             struct error *error);
const struct kernel_common *kernel_events_common(const struct kernel_events *events);

/* Both take over TEXT (from malloc, with a NUL behind). -ENOMEM. */
int kernel_events_read_printk(struct kernel_events *events, char *text, size_t len);
int kernel_events_read_cmdlines(struct kernel_events *events, char *text, size_t len);
/* The same text once more, while events are being shown: what it says is added to what is known, or takes its
 * place. A name that was given out stays where it is, so that another pointer means another name. TEXT stays the
 * caller's. Names are not kept without end; those beyond 65536 are not learned. -ENOMEM. */
int kernel_events_learn_cmdlines(struct kernel_events *events, const char *text, size_t len);

/* What an event of CLASS, whose task_data is not NULL, says of names: they are for tasks of which neither of the above
 * knows one, and the last one counts. */
void kernel_events_learn_tasks(struct kernel_events *events, const struct event_class *class,
                               const uint8_t *payload, size_t size);

/* The name of a task; "<idle>" for 0; NULL: not known. */
const char *kernel_events_task(struct kernel_events *events, int32_t pid);

/* Classes by their number; see kernel_events_class(). */
struct kernel_classes {
    const struct event_class **classes;
    uint32_t n_classes;
};
/* The slow half of kernel_events_class(). */
const struct event_class *kernel_events_make(struct kernel_events *events, uint16_t id);

/* The class of events of the number ID, made now if need be. An event without a format, or with one
 * that cannot be parsed, has a class whose one field is the event's bytes. NULL: kernel_events_error() says why. */
static inline const struct event_class *kernel_events_class(struct kernel_events *events,
                                                            uint16_t id)
{
    /* The first member, so that this need not know the rest. */
    const struct kernel_classes *known = (const struct kernel_classes *)events;

    if (likely(id < known->n_classes && known->classes[id]))
        return known->classes[id];
    return kernel_events_make(events, id);
}

/* Why the last call of kernel_events_class() returned NULL: -ENOMEM, or why the format could not be read. */
int kernel_events_error(const struct kernel_events *events);

/* Which formats of the classes made so far could not be parsed, and why; NULL: none. Valid until the next class. */
const char *kernel_events_hint(const struct kernel_events *events);

/* The texts themselves, from malloc with a NUL behind: an event's format, symbols. -ENOENT. */
int kernel_events_format(struct kernel_events *events, uint16_t id, char **ret_text,
                         size_t *ret_len);
int kernel_events_kallsyms(struct kernel_events *events, char **ret_text, size_t *ret_len);
/* Calls PUT for all that kernel_events_printk() knows, ascending by address. */
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
/* The compiled format of the trace_printk() whose format string is at an address, or NULL. */
const struct kernel_text *kernel_events_packed(struct kernel_events *events, uint64_t address);
const struct kernel_facts *kernel_events_facts(const struct kernel_events *events);
