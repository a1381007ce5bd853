/* SPDX-License-Identifier: MIT */
#pragma once

/* An event class: the event's name, its typed fields and their layout in the payload, its text, and its
 * origin. Code after format/ need not know which tool wrote the bytes.
 *
 * Classes live in a catalogue (event/catalogue.h) until the catalogue is freed. A class does not change after an event of
 * it was lent, except for members that a reader learns while reading (`declared_in`). */

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

/* Where the payload has a field's value. */
enum field_place {
    PLACE_FIXED, /* at `offset` */
    /* after the previous field, which has a variable length; `offset` is unused */
    PLACE_AFTER_PREVIOUS,
    /* u32 at `offset`: low half is the value's offset in the payload, high half its length */
    PLACE_DATA_LOC,
    PLACE_REL_LOC, /* the same, but the offset counts from the end of the u32 */
};

/* How the payload stores the value. */
enum field_storage {
    STORE_SCALAR,    /* `size` bytes, 1 to 8 */
    STORE_COUNTED,   /* u32 length, then the bytes: simpletrace */
    STORE_ARRAY,     /* `size` bytes; a string ends at its NUL or at the size */
    STORE_NUL_ENDED, /* up to a NUL or the payload's end */
    STORE_TO_END,    /* up to the payload's end */
    /* as many elements as the preceding scalar field says, at most up to the payload's end */
    STORE_SIZED,
};

/* Names of a field's values: names[value], NULL if the value has no name. Large values are in `more`. */
struct value_names {
    const char *const *names;
    uint32_t n;
    bool bits; /* names[i] is the name of bit i, and a value is a set of bits; `more` is empty */
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
    uint32_t offset;     /* bytes from the payload's start */
    uint32_t size;       /* bytes of a scalar or an array */
    uint8_t element;     /* FIELD_BYTES: element size of an array of numbers; 0: plain bytes */
    bool element_signed; /* FIELD_BYTES: elements are signed numbers */
    bool element_base10; /* FIELD_BYTES: elements without a sign are decimal, unless `hex` */
    uint8_t c_size;      /* size of the declared C type if it is stored wider; 0: same as `size` */
    uint8_t shift;       /* of a bit field: the place of its lowest bit in the scalar */
    uint8_t bits;        /* of a bit field; 0: the whole scalar */
    bool swap;           /* stored in the other byte order */
    bool hex;            /* shown in hexadecimal */
    bool
        json; /* FIELD_STRING: well-formed JSON of the reader's own making, for a list or an object */
    bool optional;                   /* may be beyond the payload's end; then it has no value */
    uint32_t condition;              /* for the reader that defines the class; unused elsewhere */
    const struct value_names *names; /* of an integer's values; NULL: none */
};

/* True if the elements of an array are shown in decimal. */
static inline bool field_has_decimal_elements(const struct field *field)
{
    return !field->hex && (field->element_signed || field->element_base10);
}

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
/* Finds a layer by its name; -EINVAL: none. */
int layer_by_name(const char *name, enum layer *ret_layer);

/* One trace of one tracer, and what its events have in common. */
struct origin {
    enum layer layer;
    unsigned number;    /* its place in the catalogue of its trace */
    const char *format; /* the wire format: "simpletrace", "ftrace", … */
    const char *path;   /* as the user gave it */
    struct clock clock;
    const char *host_name;  /* of the machine where it was recorded; NULL: not in the format */
    const char *machine;    /* of a kernel, as `uname -m` prints it; NULL: not known */
    const char *clock_uuid; /* the same in all traces with this clock; NULL: not in the format */
    /* Name of a task, or NULL; the string lives as long as the source. NULL: the format has no names. */
    const char *(*task_name)(const struct origin *origin, int32_t pid);
    /* Name for an item's `comm`, if the format stores it with each event; otherwise NULL. */
    const char *(*comm)(const struct origin *origin, uint32_t comm);
    const struct thread_names *thread_names; /* for the module that set it; otherwise unused */
    /* Name of the virtual machine whose monitor has thread PID; NULL: no known machine. The member is NULL if no monitor's
     * threads are known. */
    const char *(*vm_name)(const struct origin *origin, int32_t pid);
    /* Identifies the virtual machine that runs this guest's kernel, or whose monitor this is. vm_of() identifies the machine
     * whose monitor has thread PID. Equal pointers mean the same machine; NULL: not known. The pointers are only
     * compared, and live as long as the trace. */
    const void *vm;
    const void *(*vm_of)(const struct origin *origin, int32_t pid);
    const struct vm_threads *vm_threads; /* for the module that set it; otherwise unused */
    /* Writes the name of an event's vCPU ("d0v1"); NULL: a plain number. */
    void (*put_vcpu)(const struct origin *origin, int32_t vcpu, struct text *text);
    const struct origin_kernel *kernel; /* event/kernel.h; NULL: not of a Linux kernel */
    unsigned n_cpus;                    /* 0: not in the format */
    bool vms_are_named;                 /* vm_name() has the name that the user gave to a machine */
    /* The kernel recorded only while certain threads ran, and the switches to and from these threads (set_event_pid). */
    bool pid_filter;
    /* The tracer recorded only certain threads, and not everything about them, so no state follows from its switches. */
    bool threads_only;
    /* Some switches were left out, for example by a filter of events, so no state follows from the other switches. */
    bool lacks_switches;
    /* The processes that recorded it, by the numbers of this kernel (event/own_threads.h). 0: another program recorded it;
     * PID_UNKNOWN: an unknown process of Strata did. */
    int32_t recorder_pid, agent_pid;
    /* The trace was empty when it was opened, so its clock is unknown. */
    bool is_empty;
    /* A file of its recording was cut or removed, so at least one CPU lacks its events from some time on. */
    bool is_cut;
    /* It is still being recorded, so events of a CPU after its last event here may be missing. */
    bool is_live;
    /* More events were lost, or may be missing, than are counted: the recorder says so, or was killed. */
    bool lost_uncounted;
    /* Its CPUs were recorded until different times, which nothing states. Each CPU is known up to its last event. */
    bool ends_apart;
    /* Events refute the stated error of its clock (trace/clocks.h), so the error of its times is unknown. */
    bool is_error_refuted;
    /* The largest error of a duration between two of its events (event/clock_error.h): this part of the duration,
     * because the rate of its clock is not known more exactly, plus this number of ns, for example because its times
     * lack digits. 0: exact. */
    double rate_error;
    uint32_t duration_error_ns;
    /* The lost events that its recorder counted, with or without a record for them; 0: none, or no count. */
    uint64_t lost;
    /* The time, by the tracer's clock, at which the last of its CPUs begins; 0: not known. */
    int64_t last_begin;
    /* The same of the CPUs that lost events before their first event; 0: no CPU did. */
    int64_t lost_begin;
    /* The kept events of the CPUs begin at different times. Before this time, anything may have happened on some CPUs. 0: all
     * CPUs begin with the trace. */
    int64_t complete_from;
    /* The time, by the trace's clock, at which its recording ended; anything later is unknown. 0: at the end of the
     * trace, as far as known. */
    int64_t ended;
    /* All events from this time on were recorded, by the trace's clock. The first event may be later. 0: not known. */
    int64_t known_from;
    /* All events until this time were recorded, by the trace's clock. The last event may be earlier. 0: not known; for
     * example, the last events of a guest may not have arrived. */
    int64_t known_until;
};

/* True if, as far as known, everything on the CPUs of ORIGIN was recorded up to its last event: an event that a CPU
 * does not have did not happen. False: each CPU is recorded from its first event to its last event. */
static inline bool origin_is_recorded_to_end(const struct origin *origin)
{
    return !origin->is_live && !origin->ends_apart &&
           (origin->layer != LAYER_HYPERVISOR || origin->known_until != 0);
}

/* True if the states of threads and CPUs follow from the switches of ORIGIN. */
static inline bool origin_has_states(const struct origin *origin)
{
    return !origin->threads_only && !origin->lacks_switches;
}

struct event_class {
    const char *name;
    const char *group; /* the kernel's "system", QEMU's file group; NULL: none */
    const struct origin *origin;
    const struct field *fields;
    unsigned n_fields;
    unsigned index; /* dense, from 0, within the catalogue: for arrays by class */
    /* The first class of the same event with another record layout; NULL: none. `stat_row` is the index of that
     * class; events are counted by it. */
    const struct event_class *variant_of;
    unsigned stat_row;
    uint32_t declared_line;  /* of `declared_in` */
    uint64_t id;             /* the wire format's own number */
    const char *format;      /* printf-style, over the fields in order; NULL: none */
    const char *declared_in; /* file, NULL: built in or not known */
    bool disabled;           /* declared with `disable` */
    bool
        has_no_format; /* its format is missing or invalid: events are bytes, and may be any event */
    const struct text_program *program; /* `format` compiled; NULL: none */
    /* "name=value …" compiled, if the fields are the event's text; otherwise NULL. */
    const struct text_program *fields_program;
    /* Writes the event's text if the format is more than printf over the fields (kernel print formats). NULL: the text is
     * from `program`, or "name=value …". Several threads may call put_text and put_name at once, while another thread
     * reads. */
    void (*put_text)(const struct item *item, struct text *text);
    /* Writes the name that the text shows for a field's value; false: none, and nothing is written.
     * NULL: the field's `names` are used. */
    bool (*put_name)(const struct item *item, unsigned field, struct text *text);
    const bool
        *named_fields;       /* by field: whether put_name may write a name for it; NULL: for any */
    const void *reader_data; /* for the source that made the class */
    /* The same, if events of the class name tasks, or if each event has its own fields; otherwise NULL. */
    const void *task_data;
};

/* True if PATTERN matches CLASS: `NAME`, `GROUP:NAME`, `LAYER:NAME` or `LAYER:GROUP:NAME`; names and
 * groups may contain wildcards (base/glob.h). */
bool event_class_matches(const struct event_class *class, const char *pattern);

/* True if NAMES, "A|B", has the name of CLASS. For events of a kernel, kernel_event_is() also knows groups and the names of
 * other tracers. */
bool event_class_is_named(const struct event_class *class, const char *names);

/* The index of the field of CLASS that is called NAME; -1: it has none, or NAME is NULL. */
int event_class_field(const struct event_class *class, const char *name);
