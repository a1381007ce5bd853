/* SPDX-License-Identifier: MIT */

/* A RISC-V processor (RV32I, machine mode, words only in memory), interpreted. */

#include <stdio.h>
#include <string.h>

#include "../machine.h"
#include "trace-vcpu.h"

#define MIE 8U     /* of mstatus: interrupts are taken */
#define MPIE 0x80U /* of mstatus: what MIE was before */

static const struct device {
    const char *name;
    uint32_t base;
    uint32_t (*read)(struct vcpu *vcpu, uint32_t offset);
    void (*write)(struct vcpu *vcpu, uint32_t offset, uint32_t value);
} devices[] = {
    {"uart", UART_BASE, uart_read, uart_write},
    {"timer", TIMER_BASE, timer_read, timer_write},
    {"blk", BLK_BASE, blk_read, blk_write},
};

static const struct device *device_at(uint32_t address)
{
    for (unsigned i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if (address - devices[i].base < DEVICE_SIZE)
            return &devices[i];
    return NULL;
}

/* NULL, or why the guest cannot go on. */
static const char *load_word(struct vcpu *vcpu, uint32_t address, uint32_t *ret)
{
    const uint8_t *ram = machine_ram(vcpu->machine, address, 4);
    const struct device *device = device_at(address);

    if (ram)
        memcpy(ret, ram, 4);
    else if (device) {
        *ret = device->read(vcpu, address - device->base);
        trace_vcpu_mmio_read(vcpu->number, device->name, address - device->base, *ret);
    } else
        return "nothing there to load";
    return NULL;
}

static const char *store_word(struct vcpu *vcpu, uint32_t address, uint32_t value)
{
    uint8_t *ram = machine_ram(vcpu->machine, address, 4);
    const struct device *device = device_at(address);

    if (ram)
        memcpy(ram, &value, 4);
    else if (device) {
        trace_vcpu_mmio_write(vcpu->number, device->name, address - device->base, value);
        device->write(vcpu, address - device->base, value);
    } else
        return "nothing there to store to";
    return NULL;
}

void vcpu_set_irq(struct vcpu *vcpu, unsigned irq, bool raised)
{
    pthread_mutex_lock(&vcpu->lock);
    if (raised)
        atomic_fetch_or(&vcpu->pending, 1U << irq);
    else
        atomic_fetch_and(&vcpu->pending, ~(1U << irq));
    pthread_cond_signal(&vcpu->woken);
    pthread_mutex_unlock(&vcpu->lock);
}

static void sleep_until_irq(struct vcpu *vcpu)
{
    trace_vcpu_sleep(vcpu->number, vcpu->pc);
    pthread_mutex_lock(&vcpu->lock);
    while (!atomic_load(&vcpu->pending) && !atomic_load(&machine_stopping))
        pthread_cond_wait(&vcpu->woken, &vcpu->lock);
    pthread_mutex_unlock(&vcpu->lock);
    trace_vcpu_wake(vcpu->number, atomic_load(&vcpu->pending));
}

static void take_irq(struct vcpu *vcpu, unsigned pending)
{
    unsigned irq = pending >> IRQ_BLK & 1 ? IRQ_BLK : IRQ_TIMER;

    trace_vcpu_irq(vcpu->number, irq, vcpu->pc);
    vcpu->mcause = 1U << 31 | irq;
    vcpu->mepc = vcpu->pc;
    vcpu->mstatus = MPIE;
    vcpu->pc = vcpu->mtvec;
}

static uint32_t *csr(struct vcpu *vcpu, uint32_t number)
{
    switch (number) {
    case 0x300: return &vcpu->mstatus;
    case 0x305: return &vcpu->mtvec;
    case 0x341: return &vcpu->mepc;
    case 0x342: return &vcpu->mcause;
    default: return NULL;
    }
}

/* Opcode 0x73: the processor's own registers, interrupts, sleep. */
static const char *do_system(struct vcpu *vcpu, uint32_t i)
{
    uint32_t f3 = i >> 12 & 7, rs = i >> 15 & 31, rd = i >> 7 & 31;
    uint32_t *reg = csr(vcpu, i >> 20), value = f3 & 4 ? rs : vcpu->x[rs], old;

    switch (i) {
    case 0x00100073: return "done"; /* ebreak */
    case 0x10500073: sleep_until_irq(vcpu); return NULL;
    case 0x30200073: /* mret; pc moves on by 4 behind this */
        trace_vcpu_irq_return(vcpu->number, vcpu->mepc);
        vcpu->mstatus = vcpu->mstatus & MPIE ? MIE | MPIE : MPIE;
        vcpu->pc = vcpu->mepc - 4;
        return NULL;
    default: break;
    }
    if (!reg || (f3 & 3) == 0)
        return "unknown instruction";
    old = *reg;
    switch (f3 & 3) {
    case 1: *reg = value; break;
    case 2: *reg |= value; break;
    default: *reg &= ~value; break;
    }
    vcpu->x[rd] = old;
    return NULL;
}

/* Opcodes 0x13 and 0x33: B is an immediate value or a register. */
static uint32_t compute(uint32_t f3, bool other, uint32_t a, uint32_t b)
{
    switch (f3) {
    case 0: return other ? a - b : a + b;
    case 1: return a << (b & 31);
    case 2: return (int32_t)a < (int32_t)b;
    case 3: return a < b;
    case 4: return a ^ b;
    case 5: return other ? (uint32_t)((int32_t)a >> (b & 31)) : a >> (b & 31);
    case 6: return a | b;
    default: return a & b;
    }
}

static bool branches(uint32_t f3, uint32_t a, uint32_t b)
{
    bool yes;

    switch (f3 >> 1) {
    case 0: yes = a == b; break;
    case 2: yes = (int32_t)a < (int32_t)b; break;
    case 3: yes = a < b; break;
    default: return false;
    }
    return yes != (f3 & 1);
}

/* The N bits of I from bit AT on, moved to bit TO: instructions hold numbers in pieces. */
static uint32_t bits(uint32_t i, unsigned at, unsigned n, unsigned to)
{
    return (i >> at & ((1U << n) - 1)) << to;
}

/* Bit 31 of I, in all bits from TO on. */
static uint32_t sign(uint32_t i, unsigned to)
{
    return i >> 31 ? ~0U << to : 0;
}

static const char *step(struct vcpu *vcpu, uint32_t i)
{
    uint32_t *x = vcpu->x, rd = i >> 7 & 31, f3 = i >> 12 & 7;
    uint32_t a = x[i >> 15 & 31], b = x[i >> 20 & 31], next = vcpu->pc + 4;
    uint32_t imm = bits(i, 20, 11, 0) | sign(i, 11);
    const char *why = NULL;

    trace_vcpu_step(vcpu->number, vcpu->pc, i);
    switch (i & 127) {
    case 0x37: x[rd] = i & 0xfffff000; break;
    case 0x17: x[rd] = vcpu->pc + (i & 0xfffff000); break;
    case 0x13: x[rd] = compute(f3, f3 == 5 && i >> 30 & 1, a, imm); break;
    case 0x33: x[rd] = compute(f3, i >> 30 & 1, a, b); break;
    case 0x03: why = f3 == 2 ? load_word(vcpu, a + imm, &x[rd]) : "not a word"; break;
    case 0x23:
        imm = bits(i, 7, 5, 0) | bits(i, 25, 6, 5) | sign(i, 11);
        why = f3 == 2 ? store_word(vcpu, a + imm, b) : "not a word";
        break;
    case 0x63:
        imm = bits(i, 8, 4, 1) | bits(i, 25, 6, 5) | bits(i, 7, 1, 11) | sign(i, 12);
        if (branches(f3, a, b))
            next = vcpu->pc + imm;
        break;
    case 0x6f:
        imm = bits(i, 21, 10, 1) | bits(i, 20, 1, 11) | bits(i, 12, 8, 12) | sign(i, 20);
        x[rd] = next;
        next = vcpu->pc + imm;
        break;
    case 0x67:
        x[rd] = next;
        next = (a + imm) & ~1U;
        break;
    case 0x73:
        why = do_system(vcpu, i);
        next = vcpu->pc + 4;
        break;
    default: why = "unknown instruction";
    }
    x[0] = 0;
    vcpu->pc = next;
    vcpu->instructions++;
    return why;
}

static void *run(void *arg)
{
    struct vcpu *vcpu = arg;
    const char *why = NULL;
    char name[16];

    snprintf(name, sizeof name, "vcpu%u", vcpu->number);
    pthread_setname_np(pthread_self(), name); /* which a trace shows */
    trace_vcpu_start(vcpu->number, vcpu->machine->ram, vcpu->pc);
    while (!why) {
        unsigned pending = atomic_load_explicit(&vcpu->pending, memory_order_acquire);
        const uint8_t *ram;
        uint32_t i;

        if (pending && vcpu->mstatus & MIE)
            take_irq(vcpu, pending);
        ram = machine_ram(vcpu->machine, vcpu->pc, 4);
        if (!ram)
            why = "runs where there is no RAM";
        else if (atomic_load_explicit(&machine_stopping, memory_order_relaxed))
            why = "stopped from outside";
        else {
            memcpy(&i, ram, 4);
            why = step(vcpu, i);
        }
    }
    trace_vcpu_stop(vcpu->number, vcpu->instructions, why);
    return strcmp(why, "done") == 0 || atomic_load(&machine_stopping) ? NULL : (void *)why;
}

int vcpu_start(struct vcpu *vcpu, uint32_t rounds)
{
    pthread_mutex_init(&vcpu->lock, NULL);
    pthread_cond_init(&vcpu->woken, NULL);
    vcpu->pc = RAM_BASE;
    vcpu->x[10] = vcpu->number; /* a0 */
    vcpu->x[11] = rounds;       /* a1; 0: 2^32 rounds, which is for ever */
    return -pthread_create(&vcpu->thread, NULL, run, vcpu);
}
