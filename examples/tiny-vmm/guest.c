/* SPDX-License-Identifier: MIT */

/* The guest: a program for RISC-V, assembled here word by word. Each vCPU, by its number: reads its
 * sector from the disk, adds one to the first word, writes it back, says its number on the serial line,
 * waits for the timer to tick; and again, as many rounds as a1 tells. Meanwhile it sleeps. */

#include <string.h>

#include "machine.h"

enum { ZERO, RA, T0 = 5, T1, S1 = 9, A0, A1, A2, S2 = 18, S3, S4, S5, S6, T5 = 30, T6 };
enum { MSTATUS = 0x300, MTVEC = 0x305, MCAUSE = 0x342 };
#define MIE 8U     /* of mstatus */
#define TICK 10000 /* µs */

enum label { HANDLER, ROUND, SPIN, TICKED, DISK, DISK_WAIT, DISK_DONE, TICK_HANDLER, LABELS };

/* Assembled twice: the second time, all labels are known. */
static uint32_t *code;
static unsigned at;
static uint32_t labels[LABELS];

static void put(uint32_t word)
{
    code[at++] = word;
}

static void label(enum label name)
{
    labels[name] = at * 4;
}

static void type_i(uint32_t op, uint32_t f3, uint32_t rd, uint32_t rs, int32_t imm)
{
    put((uint32_t)imm << 20 | rs << 15 | f3 << 12 | rd << 7 | op);
}

static void addi(uint32_t rd, uint32_t rs, int32_t imm)
{
    type_i(0x13, 0, rd, rs, imm);
}

static void load(uint32_t rd, uint32_t rs, int32_t offset)
{
    type_i(0x03, 2, rd, rs, offset);
}

static void store(uint32_t value, uint32_t rs, uint32_t offset)
{
    put((offset >> 5) << 25 | value << 20 | rs << 15 | 2 << 12 | (offset & 31) << 7 | 0x23);
}

static void li(uint32_t rd, uint32_t value)
{
    uint32_t high = value + 0x800;

    put((high & 0xfffff000U) | rd << 7 | 0x37);
    addi(rd, rd, (int32_t)(value & 0xfff));
}

static void branch(uint32_t f3, uint32_t a, uint32_t b, enum label to)
{
    uint32_t d = labels[to] - at * 4;

    put((d >> 12 & 1) << 31 | (d >> 5 & 63) << 25 | b << 20 | a << 15 | f3 << 12 |
        (d >> 1 & 15) << 8 | (d >> 11 & 1) << 7 | 0x63);
}

#define beq(a, b, to) branch(0, a, b, to)
#define bne(a, b, to) branch(1, a, b, to)

static void jal(uint32_t rd, enum label to)
{
    uint32_t d = labels[to] - at * 4;

    put((d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
        (d >> 12 & 0xff) << 12 | rd << 7 | 0x6f);
}

static void interrupts(bool on)
{
    type_i(0x73, on ? 6 : 7, ZERO, MIE, MSTATUS); /* csrsi, csrci */
}

/* Sleeps until an interrupt's handler has set S1. Not to miss it, they are off while S1 is looked at;
 * wfi ends for an interrupt all the same. */
static void wait_for_s1(enum label again, enum label done)
{
    label(again);
    interrupts(false);
    bne(S1, ZERO, done);
    put(0x10500073); /* wfi */
    interrupts(true);
    jal(ZERO, again);
    label(done);
    interrupts(true);
}

static void assemble(void)
{
    at = 0;
    li(T0, RAM_BASE + labels[HANDLER]);
    type_i(0x73, 1, ZERO, T0, MTVEC); /* csrw */
    li(S2, UART_BASE);
    li(S3, TIMER_BASE);
    li(S4, BLK_BASE);
    li(S5, RAM_BASE + 0x1000);
    type_i(0x13, 1, T0, A0, 9);                /* slli */
    put(T0 << 20 | S5 << 15 | S5 << 7 | 0x33); /* add: a sector's room for each */
    li(T0, TICK);
    store(T0, S3, 0);
    interrupts(true);

    label(ROUND);
    addi(T0, ZERO, 1000);
    label(SPIN);
    addi(T0, T0, -1);
    bne(T0, ZERO, SPIN);
    addi(A2, ZERO, 1);
    jal(RA, DISK);
    load(T0, S5, 0);
    addi(T0, T0, 1);
    store(T0, S5, 0);
    addi(A2, ZERO, 2);
    jal(RA, DISK);
    addi(T0, A0, '0');
    store(T0, S2, 0);
    addi(S6, ZERO, 0); /* until the next tick */
    label(TICKED);
    put(0x10500073);
    beq(S6, ZERO, TICKED);
    addi(A1, A1, -1);
    bne(A1, ZERO, ROUND);
    put(0x00100073); /* ebreak: done */

    /* Does A2 (1: read, 2: write) to the sector of that number, and returns when it is done. */
    label(DISK);
    addi(S1, ZERO, 0);
    store(A0, S4, 0);
    store(S5, S4, 4);
    store(A2, S4, 8);
    wait_for_s1(DISK_WAIT, DISK_DONE);
    type_i(0x67, 0, ZERO, RA, 0); /* ret */

    label(HANDLER);
    type_i(0x73, 2, T5, ZERO, MCAUSE); /* csrr */
    type_i(0x13, 7, T5, T5, 15);       /* andi */
    addi(T6, ZERO, IRQ_TIMER);
    beq(T5, T6, TICK_HANDLER);
    store(ZERO, S4, 12);
    addi(S1, ZERO, 1);
    put(0x30200073); /* mret */
    label(TICK_HANDLER);
    li(T6, TICK);
    store(T6, S3, 0);
    addi(S6, S6, 1);
    put(0x30200073);
}

void guest_load(struct machine *machine)
{
    static uint32_t words[256];

    code = words;
    assemble();
    assemble();
    memcpy(machine->ram, words, at * sizeof words[0]);
}
