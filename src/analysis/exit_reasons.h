/* SPDX-License-Identifier: MIT */
#pragma once

/* Why vCPUs leave their guest: the numbers that processors and KVM use, and their names as in the kernel's trace output
 * and in perf kvm. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who defines the numbers. */
enum exit_isa {
    EXIT_ISA_UNKNOWN,
    EXIT_ISA_VMX,       /* Intel's; the kernel's KVM_ISA_VMX */
    EXIT_ISA_SVM,       /* AMD's; the kernel's KVM_ISA_SVM */
    EXIT_ISA_ARM64,     /* the class of ESR_EL2; EXIT_ARM64_OTHER: another kind of exit */
    EXIT_ISA_RISCV,     /* scause */
    EXIT_ISA_S390,      /* the interception code of SIE */
    EXIT_ISA_POWER,     /* the vector of the interrupt */
    EXIT_ISA_LOONGARCH, /* the exception code; from 64 on, KVM's own */
    EXIT_ISA_KVM_USER,  /* KVM_EXIT_* of struct kvm_run: exits to the VMM */
};

/* In numbers of EXIT_ISA_ARM64: the rest is not the class of a trap, but KVM's own number of the exit (interrupt,
 * SError). */
#define EXIT_ARM64_OTHER UINT64_C(0x100)
#define EXIT_ARM64_TRAP 2 /* KVM's number of exits with a class */
/* In numbers of EXIT_ISA_RISCV: an interrupt. */
#define EXIT_RISCV_INTERRUPT (UINT64_C(1) << 63)

/* "io"; NULL if the number is unknown. */
const char *exit_reason_name(enum exit_isa isa, uint64_t reason);

/* Finds the x86 reason called NAME, LEN bytes ("npf", "EPT_VIOLATION"). Ignores flags that the kernel appends. False if
 * the name is unknown. */
bool exit_reason_of_name(const char *name, size_t len, enum exit_isa *ret_isa,
                         uint64_t *ret_reason);

/* True if the guest was idle: it waits for an interrupt until the next entry. */
bool exit_reason_is_idle(enum exit_isa isa, uint64_t reason);
/* The same for a name from exit_reason_name(). */
bool exit_reason_name_is_idle(const char *name);
