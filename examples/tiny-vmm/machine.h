/* SPDX-License-Identifier: MIT */
#pragma once

/* What the parts of the machine know of one another. Guest addresses and registers are 32 bits wide. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RAM_BASE 0x80000000U
#define RAM_SIZE (64U * 1024)
#define UART_BASE 0x10000000U
#define TIMER_BASE 0x10001000U
#define BLK_BASE 0x10002000U
#define DEVICE_SIZE 0x1000U

#define VCPUS_MAX 8

/* Interrupts, by RISC-V's numbers. */
#define IRQ_TIMER 7
#define IRQ_BLK 11

struct machine {
    uint8_t ram[RAM_SIZE];
    unsigned n_vcpus;
};

struct vcpu {
    struct machine *machine;
    unsigned number;
    uint32_t x[32]; /* x[0] stays 0 */
    uint32_t pc;
    uint32_t mstatus, mtvec, mepc, mcause;
    uint64_t instructions; /* done */
    atomic_uint pending;   /* bit N: interrupt N is raised */
    pthread_mutex_t lock;  /* with woken: for vCPUs that wait for an interrupt */
    pthread_cond_t woken;
    pthread_t thread;
};

extern atomic_bool machine_stopping;

/* LEN bytes of RAM at a guest's address, or NULL: they are not all RAM. */
static inline uint8_t *machine_ram(struct machine *machine, uint32_t address, uint32_t len)
{
    uint32_t at = address - RAM_BASE;

    return at < RAM_SIZE && len <= RAM_SIZE - at ? machine->ram + at : NULL;
}

/* Starts the thread that runs guest code, until the guest says that it is done: it returns NULL, or what
 * went wrong, a text. */
int vcpu_start(struct vcpu *vcpu, uint32_t rounds);
/* From any thread. */
void vcpu_set_irq(struct vcpu *vcpu, unsigned irq, bool raised);

/* The devices. A register is read or written by a vCPU's thread; timer and blk have a thread of their
 * own, and a set of registers for each vCPU. */
uint32_t uart_read(struct vcpu *vcpu, uint32_t offset);
void uart_write(struct vcpu *vcpu, uint32_t offset, uint32_t value);
int timer_start(void);
void timer_stop(void);
uint32_t timer_read(struct vcpu *vcpu, uint32_t offset);
void timer_write(struct vcpu *vcpu, uint32_t offset, uint32_t value);
int blk_start(const char *path);
void blk_stop(void);
uint32_t blk_read(struct vcpu *vcpu, uint32_t offset);
void blk_write(struct vcpu *vcpu, uint32_t offset, uint32_t value);

/* The guest's program into RAM, at its beginning. */
void guest_load(struct machine *machine);
