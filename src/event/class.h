/* SPDX-License-Identifier: MIT */
#pragma once

/* What an event is: its name, its typed fields and where each lies in the payload, how it reads as
 * text, and where it came from. Classes live in a catalogue (event/catalogue.h) until that is freed;
 * they do not change once events of them are lent, but for what a reader learns while it reads
 * (`declared_in`). Nobody downstream of format/ needs to know which tool wrote the bytes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/clock.h"

struct item;
struct origin_kernel;
struct text;
struct text_program;

enum field_type {
    FIELD_UINT,
    FIELD_INT,
    FIELD_BOOL,
    FIELD_CHAR,    /* one character, stored as an integer */
    FIELD_POINTER, /* an address: shown as hexadecimal */
    FIELD_STRING,
    FIELD_BYTES, /* raw memory, an array of integers */
    FIELD_FLOAT, /* a double, stored as its 8 bytes */
};

/* Where a field lies in the payload. */
enum field_place {
    PLACE_FIXED,          /* at `offset` */
    PLACE_AFTER_PREVIOUS, /* behind the field before it, which is of variable length; `offset` is unused */
    PLACE_DATA_LOC, /* at `offset`: u32, low half where it lies from the payload's start, high its length */
    PLACE_REL_LOC, /* the same, but counted from behind the u32 */
};

/* How a string or a run of bytes is stored at its place. */
enum field_storage {
    STORE_SCALAR,    /* `size` bytes, 1 to 8 */
    STORE_COUNTED,   /* u32 length, then the bytes: simpletrace */
    STORE_ARRAY,     /* `size` bytes; a string ends at its NUL or at the size */
    STORE_NUL_ENDED, /* up to a NUL or the payload's end */
    STORE_TO_END,    /* up to the payload's end */
    STORE_SIZED,     /* as many elements as the scalar field before it says and the payload has */
};

/* Names for some of a field's values: names[value], or NULL where it has none; of large values, in
 * `more`. */
struct value_names {
    const char *const *names;
    uint32_t n;
    bool bits; /* names[i] is that of bit i, and a value is a set of bits; `more` is empty */
    uint32_t n_more;
    const struct value_name {
        uint64_t value;
        const char *name;
    } * more; /* ascending, from `n` on */
};

/* The slow half of value_name(). */
const char *value_name_more(const struct value_names *names, uint64_t v);

/* The name of a value, or NULL. */
static inline const char *value_name(const struct value_names *names, uint64_t v)
{
    if (v < names->n)
        return names->names[v];
    if (names->n_more == 0 || v < names->more[0].value)
        return NULL;
    return value_name_more(names, v);
}

struct field {
    const char *name;
    const char *c_type; /* as declared: "const char *", "uint64_t"; never NULL */
    enum field_type type;
    enum field_place place;
    enum field_storage storage;
    uint32_t offset; /* bytes from the payload's start */
    uint32_t size;   /* bytes of a scalar or an array */
    uint8_t element; /* FIELD_BYTES: bytes of an element of an array of numbers; 0: plain bytes */
    bool element_signed; /* FIELD_BYTES: elements are signed numbers */
    uint8_t c_size;      /* bytes of the declared C type, where it is stored wider; 0: as `size` */
    uint8_t shift;       /* of a bit field in its scalar, from the lowest bit */
    uint8_t bits;        /* of a bit field, or 0: the whole scalar */
    bool swap;           /* stored in the other byte order */
    bool hex;            /* people read it as hexadecimal */
    bool optional;       /* may lie behind the payload's end; it then has no value */
    uint32_t condition;  /* for the reader that defines the class; unused elsewhere */
    const struct value_names *names; /* of an integer's values; NULL: none */
};

enum layer {
    LAYER_VMM,
    LAYER_HYPERVISOR,
    LAYER_GUEST,
    LAYER_HOST,
    LAYER_PROGRAM,
};

/* "vmm", "hypervisor", "guest", "host", "program". */
const char *layer_name(enum layer layer);
#define LAYERS 5
/* The one that is called NAME; -EINVAL: none is. */
int layer_by_name(const char *name, enum layer *ret_layer);

/* One capture of one tracer: what its events have in common. */
struct origin {
    enum layer layer;
    const char *format; /* the wire format: "simpletrace", "ftrace", … */
    const char *path;   /* as the user gave it */
    struct clock clock;
    unsigned n_cpus; /* 0: the format does not tell */
    const char
        *host_name; /* of the machine that it was recorded on; NULL: the format does not tell */
    const char
        *clock_uuid; /* the same in all traces with this clock; NULL: the format does not tell */
    /* The name of a task, or NULL; the string lives as long as the source. NULL: no names here. */
    const char *(*task_name)(const struct origin *origin, int32_t pid);
    /* The name that an item's `comm` stands for, of a format that has it in each event; NULL: it has not. */
    const char *(*comm)(const struct origin *origin, uint32_t comm);
    const struct thread_names *thread_names; /* of whoever set that; else unused */
    /* Writes the name of the vCPU of an event ("d0v1"); NULL: plain number. */
    void (*put_vcpu)(const struct origin *origin, int32_t vcpu, struct text *text);
    const struct origin_kernel *kernel; /* event/kernel.h; NULL: not of a Linux kernel */
};

/* " name=": what stands before the value of a field in the event's text. TEXT_UNIT bytes may be read after it. */
struct field_label {
    const char *text;
    uint32_t len;
};

struct event_class {
    const char *name;
    const char *group; /* the kernel's "system", QEMU's file group; NULL: none */
    const struct origin *origin;
    const struct field *fields;
    /* Of the fields, made by the catalogue where the event's text has them; NULL: not made. */
    const struct field_label *labels;
    unsigned n_fields;
    unsigned index; /* dense, from 0, within the catalogue: for tables beside it */
    /* Another class of the same event, whose records are laid out otherwise; NULL: none. `row` is the index
     * of the first of these: for what counts events. */
    const struct event_class *variant_of;
    unsigned row;
    uint32_t declared_line;             /* of `declared_in` */
    uint64_t id;                        /* the wire format's own number */
    const char *format;                 /* printf-style, over the fields in order; NULL: none */
    const char *declared_in;            /* file, NULL: built in or not known */
    bool disabled;                      /* declared with `disable` */
    const struct text_program *program; /* `format` compiled; NULL: none */
    /* Writes the event's text where the format is more than printf over the fields (kernel print
     * formats). NULL: `program`, or else "name=value …". */
    void (*put_text)(const struct item *item, struct text *text);
    /* Writes the name that the text shows for the value of a field; false: it shows none, and nothing is written. NULL:
     * the field's `names` has them. */
    bool (*put_name)(const struct item *item, unsigned field, struct text *text);
    const void *reader_data; /* of the source that made the class */
    const void *task_data;   /* the same, where events of the class name tasks; else NULL */
};

/* Whether CLASS is one that PATTERN names: `NAME`, `GROUP:NAME`, `LAYER:NAME` or `LAYER:GROUP:NAME`, where names and
 * groups may have wildcards (base/glob.h). */
bool event_class_matches(const struct event_class *class, const char *pattern);
