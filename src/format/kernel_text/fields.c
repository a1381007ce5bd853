/* SPDX-License-Identifier: MIT */
#include "format/kernel_text/fields.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "event/kernel_event.h"

/* "{NAME:TYPE}" is a field; the other letters stand in the text, and "*" is any text up to the next of them. Types:
 *   d, u, x   a number, with a sign, without, or hexadecimal with or without 0x
 *   c, s      a text of up to 15 or 127 bytes
 *   N         a number, hexadecimal with 0x, otherwise decimal with a sign
 *   S         the state of a task, "S", "R+", as the number that the kernel has
 *   T         the same in the letters of trace-cmd's plugin
 *   D         a device, "8,16", as the number that the kernel has
 *   V         the number of a softirq
 *   H         "handled" or "unhandled", as 1 or 0
 *
 * Source: the print formats of Linux 4.4 to 7.0, of trace-cmd's plugins, and what trace-cmd report -R prints. */
struct kernel_pattern {
    const char *group;
    const char *name;
    size_t name_len;
    const char *pattern;
};

/* clang-format off */
#define P(group, name, pattern) {group, name, sizeof(name) - 1, pattern}
static const struct kernel_pattern patterns[] = {
    P("sched", "sched_switch", "prev_comm={prev_comm:c} prev_pid={prev_pid:d} prev_prio={prev_prio:d} prev_state={prev_state:S} ==> next_comm={next_comm:c} next_pid={next_pid:d} next_prio={next_prio:d}"),
    P("sched", "sched_switch", "{prev_comm:c}:{prev_pid:d} [{prev_prio:d}] {prev_state:T} ==> {next_comm:c}:{next_pid:d} [{next_prio:d}]"),
    P("sched", "sched_switch", "prev_comm={prev_comm:c} prev_pid={prev_pid:d} prev_prio={prev_prio:d} prev_state={prev_state:N} next_comm={next_comm:c} next_pid={next_pid:d} next_prio={next_prio:d}"),
    P("sched", "sched_waking", "comm={comm:c} pid={pid:d} prio={prio:d} target_cpu={target_cpu:d}"),
    P("sched", "sched_waking", "{comm:c}:{pid:d} [{prio:d}] CPU:{target_cpu:d}"),
    P("sched", "sched_wakeup", "comm={comm:c} pid={pid:d} prio={prio:d} target_cpu={target_cpu:d}"),
    P("sched", "sched_wakeup", "comm={comm:c} pid={pid:d} prio={prio:d} success=* target_cpu={target_cpu:d}"),
    P("sched", "sched_wakeup", "{comm:c}:{pid:d} [{prio:d}] CPU:{target_cpu:d}"),
    P("sched", "sched_wakeup", "{comm:c}:{pid:d} [{prio:d}] success=* CPU:{target_cpu:d}"),
    P("sched", "sched_wakeup_new", "comm={comm:c} pid={pid:d} prio={prio:d} target_cpu={target_cpu:d}"),
    P("sched", "sched_wakeup_new", "comm={comm:c} pid={pid:d} prio={prio:d} success=* target_cpu={target_cpu:d}"),
    P("sched", "sched_wakeup_new", "{comm:c}:{pid:d} [{prio:d}] CPU:{target_cpu:d}"),
    P("sched", "sched_migrate_task", "comm={comm:c} pid={pid:d} prio={prio:d} orig_cpu={orig_cpu:d} dest_cpu={dest_cpu:d}"),
    P("sched", "sched_process_exit", "comm={comm:c} pid={pid:d} prio={prio:d}"),
    P("sched", "sched_process_exit", "comm={comm:c} pid={pid:d} prio={prio:d} group_dead=*"),
    P("sched", "sched_process_free", "comm={comm:c} pid={pid:d} prio={prio:d}"),
    P("sched", "sched_process_fork", "comm={parent_comm:c} pid={parent_pid:d} child_comm={child_comm:c} child_pid={child_pid:d}"),
    P("sched", "sched_process_fork", "parent_comm={parent_comm:c} parent_pid={parent_pid:d} child_comm={child_comm:c} child_pid={child_pid:d}"),
    P("irq", "irq_handler_entry", "irq={irq:d} name={name:s}"),
    P("irq", "irq_handler_exit", "irq={irq:d} ret={ret:H}"),
    P("irq", "softirq_entry", "vec={vec:V} [action={action:c}]"),
    P("irq", "softirq_entry", "vec={vec:V}"),
    P("irq", "softirq_exit", "vec={vec:V} [action={action:c}]"),
    P("irq", "softirq_exit", "vec={vec:V}"),
    P("irq", "softirq_raise", "vec={vec:V} [action={action:c}]"),
    P("irq", "softirq_raise", "vec={vec:V}"),
    P("block", "block_rq_issue", "{dev:D} {rwbs:c} {bytes:u} (*) {sector:u} + {nr_sector:u} [{comm:c}]"),
    P("block", "block_rq_issue", "{dev:D} {rwbs:c} {bytes:u} (*) {sector:u} + {nr_sector:u} *,*,* [{comm:c}]"),
    P("block", "block_rq_issue", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} bytes={bytes:u} rwbs={rwbs:c} comm={comm:c} cmd=*"),
    P("block", "block_rq_issue", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} bytes={bytes:u} ioprio=* rwbs={rwbs:c} comm={comm:c} cmd=*"),
    P("block", "block_rq_insert", "{dev:D} {rwbs:c} {bytes:u} (*) {sector:u} + {nr_sector:u} [{comm:c}]"),
    P("block", "block_rq_insert", "{dev:D} {rwbs:c} {bytes:u} (*) {sector:u} + {nr_sector:u} *,*,* [{comm:c}]"),
    P("block", "block_rq_insert", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} bytes={bytes:u} rwbs={rwbs:c} comm={comm:c} cmd=*"),
    P("block", "block_rq_insert", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} bytes={bytes:u} ioprio=* rwbs={rwbs:c} comm={comm:c} cmd=*"),
    P("block", "block_rq_complete", "{dev:D} {rwbs:c} (*) {sector:u} + {nr_sector:u} [{error:d}]"),
    P("block", "block_rq_complete", "{dev:D} {rwbs:c} (*) {sector:u} + {nr_sector:u} *,*,* [{error:d}]"),
    P("block", "block_rq_complete", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} error={error:d} rwbs={rwbs:c} cmd=*"),
    P("block", "block_rq_complete", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} error={error:d} ioprio=* rwbs={rwbs:c} cmd=*"),
    P("block", "block_bio_queue", "{dev:D} {rwbs:c} {sector:u} + {nr_sector:u} [{comm:c}]"),
    P("block", "block_bio_queue", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} rwbs={rwbs:c} comm={comm:c}"),
    P("block", "block_io_start", "{dev:D} {rwbs:c} {bytes:u} (*) {sector:u} + {nr_sector:u} *,*,* [{comm:c}]"),
    P("block", "block_io_start", "{dev:D} {rwbs:c} {bytes:u} (*) {sector:u} + {nr_sector:u} [{comm:c}]"),
    P("block", "block_io_start", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} bytes={bytes:u} rwbs={rwbs:c} comm={comm:c} cmd=*"),
    P("block", "block_io_start", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} bytes={bytes:u} ioprio=* rwbs={rwbs:c} comm={comm:c} cmd=*"),
    P("block", "block_io_done", "{dev:D} {rwbs:c} {bytes:u} (*) {sector:u} + {nr_sector:u} *,*,* [{comm:c}]"),
    P("block", "block_io_done", "{dev:D} {rwbs:c} {bytes:u} (*) {sector:u} + {nr_sector:u} [{comm:c}]"),
    P("block", "block_io_done", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} bytes={bytes:u} rwbs={rwbs:c} comm={comm:c} cmd=*"),
    P("block", "block_io_done", "dev={dev:N} sector={sector:u} nr_sector={nr_sector:u} bytes={bytes:u} ioprio=* rwbs={rwbs:c} comm={comm:c} cmd=*"),
    P("raw_syscalls", "sys_enter", "NR {id:d} (*)"),
    P("raw_syscalls", "sys_enter", "id={id:d} args=*"),
    P("raw_syscalls", "sys_exit", "NR {id:d} = {ret:d}"),
    P("raw_syscalls", "sys_exit", "id={id:d} ret={ret:d}"),
    P("kvm", "kvm_entry", "vcpu {vcpu_id:u}, rip {rip:x}"),
    P("kvm", "kvm_entry", "vcpu {vcpu_id:u}, rip {rip:x} *"),
    P("kvm", "kvm_entry", "vcpu {vcpu_id:u}"),
    P("kvm", "kvm_entry", "vcpu_id={vcpu_id:u} rip={rip:x}"),
    P("kvm", "kvm_entry", "vcpu_id={vcpu_id:u} rip={rip:x} *"),
    P("kvm", "kvm_exit", "vcpu {vcpu_id:u} reason {exit_reason:s} rip {guest_rip:x} info1 {info1:x} info2 {info2:x} intr_info {intr_info:x} error_code {error_code:x}"),
    P("kvm", "kvm_exit", "vcpu {vcpu_id:u} reason {exit_reason:s} rip {guest_rip:x} info1 {info1:x} info2 {info2:x} intr_info {intr_info:x} error_code {error_code:x} *"),
    P("kvm", "kvm_exit", "vcpu {vcpu_id:u} reason {exit_reason:s} rip {guest_rip:x} info {info1:x} {info2:x}"),
    P("kvm", "kvm_exit", "reason {exit_reason:s} rip {guest_rip:x} info {info1:x} {info2:x}"),
    P("kvm", "kvm_exit", "reason {exit_reason:s} rip {guest_rip:x}"),
    P("kvm", "kvm_exit", "exit_reason={exit_reason:u} guest_rip={guest_rip:x} isa={isa:u} info1={info1:x} info2={info2:x} intr_info={intr_info:x} error_code={error_code:x} vcpu_id={vcpu_id:u}"),
    P("kvm", "kvm_exit", "exit_reason={exit_reason:u} guest_rip={guest_rip:x} isa={isa:u} info1={info1:x} info2={info2:x} intr_info={intr_info:x} error_code={error_code:x} vcpu_id={vcpu_id:u} *"),
    P("kvm", "kvm_exit", "exit_reason={exit_reason:u} guest_rip={guest_rip:x} isa={isa:u} info1={info1:x} info2={info2:x} vcpu_id={vcpu_id:u}"),
    P("ftrace", "function", "{func:s} <-{parent:s}"),
    P("ftrace", "function", "ip={ip:x} parent_ip={parent_ip:x}"),
    P("ftrace", "funcgraph_entry", "--> {func:s} ({depth:u})"),
    P("ftrace", "funcgraph_exit", "<-- {func:s} ({depth:u}) duration={duration:u} ns"),
    P("ftrace", "funcgraph_exit", "<-- {func:s} ({depth:u})"),
};
#undef P
/* clang-format on */
_Static_assert(ARRAY_SIZE(patterns) < KERNEL_PATTERNS_MAX, "they have numbers from 1 on");

const char *kernel_pattern_group(const struct kernel_pattern *pattern)
{
    return pattern->group;
}

unsigned kernel_pattern_number(const struct kernel_pattern *pattern)
{
    return pattern ? (unsigned)(pattern - patterns) + 1 : 0;
}

const char *kernel_pattern_group_of(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
        if (patterns[i].name_len == len && memcmp(patterns[i].name, name, len) == 0)
            return patterns[i].group;
    return NULL;
}

/* ---- Pieces of a pattern ---- */

struct piece {
    char type;        /* '\0': none, literal text */
    const char *name; /* of a field */
    size_t name_len;
    const char *literal; /* that follows it */
    size_t literal_len;
};

/* The next field of a pattern, or its "*", and the text up to the one after it. False: there is none. */
static bool next_piece(const char **p, struct piece *ret)
{
    struct piece piece = {0};

    if (**p == '\0')
        return false;
    if (**p == '{') {
        const char *colon = strchr(*p, ':');

        piece.name = *p + 1;
        piece.name_len = (size_t)(colon - piece.name);
        piece.type = colon[1];
        *p = colon + 3;
    } else if (**p == '*') {
        piece.type = '*';
        ++*p;
    }
    piece.literal = *p;
    piece.literal_len = strcspn(*p, "{*");
    *p += piece.literal_len;
    *ret = piece;
    return true;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static unsigned size_of(char type)
{
    return type == 'c' ? 16 : type == 's' ? 128 : type == '*' || type == '\0' ? 0 : 8;
}

/* ---- Values ---- */

static bool read_number(const char *p, size_t len, unsigned base, bool has_sign, uint64_t *ret)
{
    bool negative = has_sign && len > 0 && *p == '-';
    uint64_t v = 0;

    p += negative;
    len -= negative;
    if (base == 16 && len > 2 && p[0] == '0' && p[1] == 'x') {
        p += 2;
        len -= 2;
    }
    if (len == 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = p[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;

        if (digit >= base || __builtin_mul_overflow(v, base, &v) ||
            __builtin_add_overflow(v, digit, &v))
            return false;
    }
    if (has_sign && v > (uint64_t)INT64_MAX + negative)
        return false;
    *ret = negative ? -v : v;
    return true;
}

/* Reads "S", "D|W", "R+" as bits of the kernel since 4.14. The bits of older kernels are the same except for dead
 * tasks. trace-cmd has its own LETTERS for the same bits. */
static bool read_state(const char *letters, const char *p, size_t len, uint64_t *ret)
{
    uint64_t v = 0;

    if (len > 1 && p[len - 1] == '+') {
        v = 0x100;
        len--;
    }
    if (len == 1 && *p == 'R') {
        *ret = v;
        return true;
    }
    for (size_t i = 0; i < len; i++) {
        const char *letter = strchr(letters, p[i]);

        if (p[i] == '|' && i > 0 && i + 1 < len)
            continue;
        if (letter && *letter)
            v |= UINT64_C(1) << (letter - letters);
        else if (!memchr("KWNRxm", p[i], 6))
            return false;
        else if (len == 1) /* not runnable; as what is parked */
            v |= 0x40;
    }
    *ret = v;
    return len > 0;
}

/* MAJOR,MINOR as the kernel's dev_t. */
static bool read_device(const char *p, size_t len, uint64_t *ret)
{
    const char *comma = memchr(p, ',', len);
    uint64_t major, minor;

    if (!comma || !read_number(p, (size_t)(comma - p), 10, false, &major) ||
        !read_number(comma + 1, (size_t)(p + len - comma - 1), 10, false, &minor) ||
        major >= 1 << 12 || minor >= 1 << 20)
        return false;
    *ret = major << 20 | minor;
    return true;
}

/* The option `fields` prints a number twice, "0x10 (16)", or once, "(16)". Selects the number for TYPE. */
static void choose_number(char type, const char **p, size_t *len)
{
    const char *open = *len > 2 && (*p)[*len - 1] == ')' ? memrchr(*p, '(', *len) : NULL;
    bool is_twice = open && open - *p > 3 && open[-1] == ' ' && memcmp(*p, "0x", 2) == 0;

    for (const char *digit = *p + 2; is_twice && digit < open - 1; digit++)
        is_twice = is_hex(*digit);
    if (is_twice && type == 'x') {
        *len = (size_t)(open - 1 - *p);
    } else if (is_twice || open == *p) {
        *len -= (size_t)(open - *p) + 2;
        *p = open + 1;
    }
}

/* The value of TYPE at OUT, `size_of(TYPE)` bytes. */
static bool read_value(char type, const char *p, size_t len, uint8_t *out)
{
    uint64_t v = 0;
    bool is;

    if (type != 'c' && type != 's' && type != '*' && len > 0 && p[len - 1] == ')')
        choose_number(type, &p, &len);
    switch (type) {
    case 'd': is = read_number(p, len, 10, true, &v); break;
    case 'V':
    case 'u': is = read_number(p, len, 10, false, &v); break;
    case 'x': is = read_number(p, len, 16, false, &v); break;
    case 'S': is = read_state("SDTtXZPI", p, len, &v); break;
    case 'T': is = read_state("SDTtZXxW", p, len, &v); break;
    case 'D': is = read_device(p, len, &v); break;
    case 'N':
        is = read_number(p, len, len > 2 && p[0] == '0' && p[1] == 'x' ? 16 : 10, true, &v);
        break;
    case 'H':
        if (len == 1 && (*p == '0' || *p == '1')) {
            v = *p == '1';
            is = true;
            break;
        }
        v = len == 7 && memcmp(p, "handled", 7) == 0;
        is = v || (len == 9 && memcmp(p, "unhandled", 9) == 0);
        break;
    case 'c':
    case 's':
        if (len >= size_of(type) || memchr(p, '\0', len))
            return false;
        memset(out, 0, size_of(type));
        memcpy(out, p, len);
        return true;
    default: return true;
    }
    memcpy(out, &v, sizeof v);
    return is;
}

/* Whether what is left of a text, from TEXT to END, is as PATTERN says; the values then are at OUT. A task's name may have in it
 * what follows it in the pattern, as in kworker/0:1: it ends at the first place after which all else fits. */
static bool match(const char *pattern, const char *text, const char *end, uint8_t *out)
{
    struct piece piece;

    while (next_piece(&pattern, &piece)) {
        bool is_text = piece.type == 'c' || piece.type == 's';
        const char *stop = text;

        if (piece.type && piece.literal_len == 0) {
            stop = end;
        } else if (piece.type && *pattern == '\0') {
            /* So the last field of a pattern takes all that is left. */
            stop = (size_t)(end - text) >= piece.literal_len ? end - piece.literal_len : NULL;
        } else if (piece.type) {
            stop = memmem(text, (size_t)(end - text), piece.literal, piece.literal_len);
            for (; is_text && stop && stop - text < size_of(piece.type);
                 stop =
                     memmem(stop + 1, (size_t)(end - stop - 1), piece.literal, piece.literal_len))
                if (match(pattern, stop + piece.literal_len, end, out + size_of(piece.type)))
                    return read_value(piece.type, text, (size_t)(stop - text), out);
            if (is_text)
                return false;
        }
        if (!stop || (size_t)(end - stop) < piece.literal_len ||
            memcmp(stop, piece.literal, piece.literal_len) != 0 ||
            (piece.type && !read_value(piece.type, text, (size_t)(stop - text), out)))
            return false;
        out += size_of(piece.type);
        text = stop + piece.literal_len;
    }
    return text == end;
}

static const struct kernel_pattern *find_pattern(const struct kernel_line *line, size_t len,
                                                 uint8_t *p)
{
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
        if (patterns[i].name_len == line->name_len &&
            memcmp(patterns[i].name, line->name, line->name_len) == 0 &&
            match(patterns[i].pattern, line->text, line->text + len, p))
            return &patterns[i];
    return NULL;
}

/* What tools print behind a text: " Latency: 22.684 usecs", trace-cmd report -w; " ffffffff810a8fe2 SYMBOL", perf's field `ip`. Returns
 * the length of the text without it. */
static size_t leave_out_addition(const char *text, size_t len)
{
    static const char latency[] = " Latency: ";
    const char *p = memmem(text, len, latency, strlen(latency));
    size_t digits;

    if (p && len > 6 && memcmp(text + len - 6, " usecs", 6) == 0)
        return (size_t)(p - text);
    for (size_t i = len; i-- > 0;) {
        if (text[i] != ' ')
            continue;
        for (digits = 0; i + 1 + digits < len && is_hex(text[i + 1 + digits]);)
            digits++;
        if (digits >= 8 && (i + 1 + digits == len || text[i + 1 + digits] == ' '))
            return i;
    }
    return len;
}

const struct kernel_pattern *kernel_pattern_read(const struct kernel_line *line, uint8_t *p)
{
    const struct kernel_pattern *pattern;
    size_t len = line->text_len;

    while (len > 0 && line->text[len - 1] == ' ')
        len--;
    pattern = find_pattern(line, len, p);
    if (pattern || !kernel_pattern_group_of(line->name, line->name_len))
        return pattern;
    return find_pattern(line, leave_out_addition(line->text, len), p);
}

/* ---- Fields ---- */

static struct field field_of(const struct piece *piece, const char *name, uint32_t offset)
{
    struct field field = {
        .name = name, .offset = offset, .size = size_of(piece->type), .place = PLACE_FIXED};

    if (piece->type == 'c' || piece->type == 's') {
        field.c_type = piece->type == 'c' ? "char[16]" : "char[128]";
        field.type = FIELD_STRING;
        field.storage = STORE_ARRAY;
        return field;
    }
    field.storage = STORE_SCALAR;
    field.type = strchr("dNSTH", piece->type) ? FIELD_INT : FIELD_UINT;
    field.c_type = field.type == FIELD_INT ? "int64_t" : "uint64_t";
    field.hex = piece->type == 'x';
    if (piece->type == 'V')
        field.names = &kernel_softirq_names;
    return field;
}

struct field *kernel_pattern_fields(const struct kernel_pattern *pattern, struct arena *arena,
                                    unsigned *ret_n, uint32_t *ret_size)
{
    const char *p = pattern ? pattern->pattern : "";
    struct field *fields = arena_alloc(arena, 16 * sizeof *fields);
    uint32_t size = 0;
    unsigned n = 0;
    struct piece piece;

    if (!fields)
        return NULL;
    while (next_piece(&p, &piece)) {
        const char *name;

        if (piece.type == '\0' || piece.type == '*')
            continue;
        name = arena_strndup(arena, piece.name, piece.name_len);
        if (!name)
            return NULL;
        fields[n++] = field_of(&piece, name, size);
        size += size_of(piece.type);
    }
    if (!pattern)
        fields[n++] = (struct field){.name = "text",
                                     .c_type = "const char *",
                                     .type = FIELD_STRING,
                                     .place = PLACE_FIXED,
                                     .storage = STORE_TO_END};
    *ret_n = n;
    *ret_size = size;
    return fields;
}
