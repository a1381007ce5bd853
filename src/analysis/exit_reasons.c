/* SPDX-License-Identifier: MIT */
#include "analysis/exit_reasons.h"

#include <stddef.h>

#include <string.h>

#include "base/macro.h"

/* AMD64 Architecture Programmer's Manual, volume 2, appendix C. From 0x400 on: another table. */
static const char *const svm_names[] = {
    [0x000] = "read_cr0",
    [0x002] = "read_cr2",
    [0x003] = "read_cr3",
    [0x004] = "read_cr4",
    [0x008] = "read_cr8",
    [0x010] = "write_cr0",
    [0x012] = "write_cr2",
    [0x013] = "write_cr3",
    [0x014] = "write_cr4",
    [0x018] = "write_cr8",
    [0x020] = "read_dr0",
    [0x021] = "read_dr1",
    [0x022] = "read_dr2",
    [0x023] = "read_dr3",
    [0x024] = "read_dr4",
    [0x025] = "read_dr5",
    [0x026] = "read_dr6",
    [0x027] = "read_dr7",
    [0x030] = "write_dr0",
    [0x031] = "write_dr1",
    [0x032] = "write_dr2",
    [0x033] = "write_dr3",
    [0x034] = "write_dr4",
    [0x035] = "write_dr5",
    [0x036] = "write_dr6",
    [0x037] = "write_dr7",
    [0x040] = "DE excp",
    [0x041] = "DB excp",
    [0x042] = "NMI excp",
    [0x043] = "BP excp",
    [0x044] = "OF excp",
    [0x045] = "BR excp",
    [0x046] = "UD excp",
    [0x047] = "NM excp",
    [0x048] = "DF excp",
    [0x04a] = "TS excp",
    [0x04b] = "NP excp",
    [0x04c] = "SS excp",
    [0x04d] = "GP excp",
    [0x04e] = "PF excp",
    [0x050] = "MF excp",
    [0x051] = "AC excp",
    [0x052] = "MC excp",
    [0x053] = "XF excp",
    [0x060] = "interrupt",
    [0x061] = "nmi",
    [0x062] = "smi",
    [0x063] = "init",
    [0x064] = "vintr",
    [0x065] = "cr0_sel_write",
    [0x066] = "read_idtr",
    [0x067] = "read_gdtr",
    [0x068] = "read_ldtr",
    [0x069] = "read_tr",
    [0x06a] = "write_idtr",
    [0x06b] = "write_gdtr",
    [0x06c] = "write_ldtr",
    [0x06d] = "write_tr",
    [0x06e] = "rdtsc",
    [0x06f] = "rdpmc",
    [0x070] = "pushf",
    [0x071] = "popf",
    [0x072] = "cpuid",
    [0x073] = "rsm",
    [0x074] = "iret",
    [0x075] = "swint",
    [0x076] = "invd",
    [0x077] = "pause",
    [0x078] = "hlt",
    [0x079] = "invlpg",
    [0x07a] = "invlpga",
    [0x07b] = "io",
    [0x07c] = "msr",
    [0x07d] = "task_switch",
    [0x07e] = "ferr_freeze",
    [0x07f] = "shutdown",
    [0x080] = "vmrun",
    [0x081] = "hypercall",
    [0x082] = "vmload",
    [0x083] = "vmsave",
    [0x084] = "stgi",
    [0x085] = "clgi",
    [0x086] = "skinit",
    [0x087] = "rdtscp",
    [0x088] = "icebp",
    [0x089] = "wbinvd",
    [0x08a] = "monitor",
    [0x08b] = "mwait",
    [0x08c] = "mwait_cond",
    [0x08d] = "xsetbv",
    [0x08e] = "rdpru",
    [0x08f] = "efer_write_trap",
    [0x090] = "cr0_write_trap",
    [0x094] = "cr4_write_trap",
    [0x098] = "cr8_write_trap",
    [0x0a2] = "invpcid",
};
#define SVM_MORE 0x400
static const char *const svm_more_names[] = {
    "npf",
    "avic_incomplete_ipi",
    "avic_unaccelerated_access",
    "vmgexit",
};

/* Intel SDM, volume 3, appendix C. */
static const char *const vmx_names[] = {
    [0] = "EXCEPTION_NMI",
    [1] = "EXTERNAL_INTERRUPT",
    [2] = "TRIPLE_FAULT",
    [3] = "INIT_SIGNAL",
    [4] = "SIPI_SIGNAL",
    [6] = "OTHER_SMI",
    [7] = "INTERRUPT_WINDOW",
    [8] = "NMI_WINDOW",
    [9] = "TASK_SWITCH",
    [10] = "CPUID",
    [12] = "HLT",
    [13] = "INVD",
    [14] = "INVLPG",
    [15] = "RDPMC",
    [16] = "RDTSC",
    [18] = "VMCALL",
    [19] = "VMCLEAR",
    [20] = "VMLAUNCH",
    [21] = "VMPTRLD",
    [22] = "VMPTRST",
    [23] = "VMREAD",
    [24] = "VMRESUME",
    [25] = "VMWRITE",
    [26] = "VMOFF",
    [27] = "VMON",
    [28] = "CR_ACCESS",
    [29] = "DR_ACCESS",
    [30] = "IO_INSTRUCTION",
    [31] = "MSR_READ",
    [32] = "MSR_WRITE",
    [33] = "INVALID_STATE",
    [34] = "MSR_LOAD_FAIL",
    [36] = "MWAIT_INSTRUCTION",
    [37] = "MONITOR_TRAP_FLAG",
    [39] = "MONITOR_INSTRUCTION",
    [40] = "PAUSE_INSTRUCTION",
    [41] = "MCE_DURING_VMENTRY",
    [43] = "TPR_BELOW_THRESHOLD",
    [44] = "APIC_ACCESS",
    [45] = "EOI_INDUCED",
    [46] = "GDTR_IDTR",
    [47] = "LDTR_TR",
    [48] = "EPT_VIOLATION",
    [49] = "EPT_MISCONFIG",
    [50] = "INVEPT",
    [51] = "RDTSCP",
    [52] = "PREEMPTION_TIMER",
    [53] = "INVVPID",
    [54] = "WBINVD",
    [55] = "XSETBV",
    [56] = "APIC_WRITE",
    [57] = "RDRAND",
    [58] = "INVPCID",
    [59] = "VMFUNC",
    [60] = "ENCLS",
    [61] = "RDSEED",
    [62] = "PML_FULL",
    [63] = "XSAVES",
    [64] = "XRSTORS",
    [67] = "UMWAIT",
    [68] = "TPAUSE",
    [74] = "BUS_LOCK",
    [75] = "NOTIFY",
    [77] = "TDCALL",
};

/* Arm Architecture Reference Manual, ESR_EL2.EC. */
static const char *const arm64_names[] = {
    [0x00] = "UNKNOWN",     [0x01] = "WFx",         [0x03] = "CP15_32",     [0x04] = "CP15_64",
    [0x05] = "CP14_MR",     [0x06] = "CP14_LS",     [0x07] = "FP_ASIMD",    [0x08] = "CP10_ID",
    [0x09] = "PAC",         [0x0c] = "CP14_64",     [0x0e] = "ILL",         [0x11] = "SVC32",
    [0x12] = "HVC32",       [0x13] = "SMC32",       [0x15] = "SVC64",       [0x16] = "HVC64",
    [0x17] = "SMC64",       [0x18] = "SYS64",       [0x19] = "SVE",         [0x1a] = "ERET",
    [0x1f] = "IMP_DEF",     [0x20] = "IABT_LOW",    [0x21] = "IABT_CUR",    [0x22] = "PC_ALIGN",
    [0x24] = "DABT_LOW",    [0x25] = "DABT_CUR",    [0x26] = "SP_ALIGN",    [0x28] = "FP_EXC32",
    [0x2c] = "FP_EXC64",    [0x2f] = "SERROR",      [0x30] = "BREAKPT_LOW", [0x31] = "BREAKPT_CUR",
    [0x32] = "SOFTSTP_LOW", [0x33] = "SOFTSTP_CUR", [0x34] = "WATCHPT_LOW", [0x35] = "WATCHPT_CUR",
    [0x38] = "BKPT32",      [0x3a] = "VECTOR32",    [0x3c] = "BRK64",
};
/* KVM's own. */
static const char *const arm64_others[] = {"IRQ", "EL1_SERROR", NULL, "IL"};

/* RISC-V Privileged Architecture, scause with the hypervisor extension. */
static const char *const riscv_names[] = {
    [0] = "INST_MISALIGNED",
    [1] = "INST_ACCESS",
    [2] = "INST_ILLEGAL",
    [3] = "BREAKPOINT",
    [4] = "LOAD_MISALIGNED",
    [5] = "LOAD_ACCESS",
    [6] = "STORE_MISALIGNED",
    [7] = "STORE_ACCESS",
    [8] = "SYSCALL",
    [9] = "HYPERVISOR_SYSCALL",
    [10] = "SUPERVISOR_SYSCALL",
    [12] = "INST_PAGE_FAULT",
    [13] = "LOAD_PAGE_FAULT",
    [15] = "STORE_PAGE_FAULT",
    [20] = "INST_GUEST_PAGE_FAULT",
    [21] = "LOAD_GUEST_PAGE_FAULT",
    [22] = "VIRTUAL_INST_FAULT",
    [23] = "STORE_GUEST_PAGE_FAULT",
};
static const char *const riscv_interrupts[] = {
    [1] = "IRQ_S_SOFT", [2] = "IRQ_VS_SOFT", [5] = "IRQ_S_TIMER", [6] = "IRQ_VS_TIMER",
    [9] = "IRQ_S_EXT",  [10] = "IRQ_VS_EXT", [12] = "IRQ_S_GEXT",
};

/* Interpretive Execution facility: the interception codes, by 4. */
static const char *const s390_names[] = {
    [0x04 / 4] = "Instruction",
    [0x08 / 4] = "Program interruption",
    [0x0c / 4] = "Instruction and program interruption",
    [0x10 / 4] = "External request",
    [0x14 / 4] = "External interruption",
    [0x18 / 4] = "I/O request",
    [0x1c / 4] = "Wait state",
    [0x20 / 4] = "Validity",
    [0x28 / 4] = "Stop request",
};

/* Power ISA, book III: interrupt vectors. */
static const struct {
    uint64_t vector;
    const char *name;
} power_names[] = {
    {0x100, "SYSTEM_RESET"},
    {0x200, "MACHINE_CHECK"},
    {0x300, "DATA_STORAGE"},
    {0x380, "DATA_SEGMENT"},
    {0x400, "INST_STORAGE"},
    {0x480, "INST_SEGMENT"},
    {0x500, "EXTERNAL"},
    {0x502, "EXTERNAL_HV"},
    {0x600, "ALIGNMENT"},
    {0x700, "PROGRAM"},
    {0x800, "FP_UNAVAIL"},
    {0x900, "DECREMENTER"},
    {0x980, "HV_DECREMENTER"},
    {0xc00, "SYSCALL"},
    {0xd00, "TRACE"},
    {0xe00, "H_DATA_STORAGE"},
    {0xe20, "H_INST_STORAGE"},
    {0xe40, "H_EMUL_ASSIST"},
    {0xe60, "HMI"},
    {0xe80, "H_DOORBELL"},
    {0xea0, "H_VIRT"},
    {0xf00, "PERFMON"},
    {0xf20, "ALTIVEC"},
    {0xf40, "VSX"},
    {0xf60, "FAC_UNAVAIL"},
    {0xf80, "H_FAC_UNAVAIL"},
};

/* LoongArch Reference Manual, volume 1: exception codes. */
static const char *const loongarch_names[] = {
    "INT",
    "PIL",
    "PIS",
    "PIF",
    "PME",
    "PNR",
    "PNX",
    "PPI",
    "ADE",
    "ALE",
    "BCE",
    "SYS",
    "BRK",
    "INE",
    "IPE",
    "FPD",
    "SXD",
    "ASXD",
    "FPE",
    "WPE",
    "BTD",
    "BTE",
    "GSPR",
    "HVC",
    "GCC",
    /* KVM's own */
    [64] = "IDLE",
    [65] = "CACHE",
};

/* The kernel's <linux/kvm.h>. */
static const char *const kvm_user_names[] = {
    "UNKNOWN",
    "EXCEPTION",
    "IO",
    "HYPERCALL",
    "DEBUG",
    "HLT",
    "MMIO",
    "IRQ_WINDOW_OPEN",
    "SHUTDOWN",
    "FAIL_ENTRY",
    "INTR",
    "SET_TPR",
    "TPR_ACCESS",
    "S390_SIEIC",
    "S390_RESET",
    "DCR",
    "NMI",
    "INTERNAL_ERROR",
    "OSI",
    "PAPR_HCALL",
    "S390_UCONTROL",
    "WATCHDOG",
    "S390_TSCH",
    "EPR",
    "SYSTEM_EVENT",
    "S390_STSI",
    "IOAPIC_EOI",
    "HYPERV",
    "ARM_NISV",
    "X86_RDMSR",
    "X86_WRMSR",
    "DIRTY_RING_FULL",
    "AP_RESET_HOLD",
    "X86_BUS_LOCK",
    "XEN",
    "RISCV_SBI",
    "RISCV_CSR",
    "NOTIFY",
};

static const char *name_of(const char *const *names, size_t n, uint64_t number)
{
    return number < n ? names[number] : NULL;
}

const char *exit_reason_name(enum exit_isa isa, uint64_t reason)
{
    switch (isa) {
    case EXIT_ISA_UNKNOWN: break;
    case EXIT_ISA_VMX: return name_of(vmx_names, ARRAY_SIZE(vmx_names), reason);
    case EXIT_ISA_SVM:
        if ((uint32_t)reason == UINT32_MAX)
            return "invalid_guest_state";
        if (reason >= SVM_MORE)
            return name_of(svm_more_names, ARRAY_SIZE(svm_more_names), reason - SVM_MORE);
        return name_of(svm_names, ARRAY_SIZE(svm_names), reason);
    case EXIT_ISA_ARM64:
        if (reason >= EXIT_ARM64_OTHER)
            return name_of(arm64_others, ARRAY_SIZE(arm64_others), reason - EXIT_ARM64_OTHER);
        return name_of(arm64_names, ARRAY_SIZE(arm64_names), reason);
    case EXIT_ISA_RISCV:
        if (reason & EXIT_RISCV_INTERRUPT)
            return name_of(riscv_interrupts, ARRAY_SIZE(riscv_interrupts),
                           reason & ~EXIT_RISCV_INTERRUPT);
        return name_of(riscv_names, ARRAY_SIZE(riscv_names), reason);
    case EXIT_ISA_S390:
        return reason % 4 == 0 ? name_of(s390_names, ARRAY_SIZE(s390_names), reason / 4) : NULL;
    case EXIT_ISA_POWER:
        for (unsigned i = 0; i < ARRAY_SIZE(power_names); i++)
            if (power_names[i].vector == reason)
                return power_names[i].name;
        break;
    case EXIT_ISA_LOONGARCH: return name_of(loongarch_names, ARRAY_SIZE(loongarch_names), reason);
    case EXIT_ISA_KVM_USER: return name_of(kvm_user_names, ARRAY_SIZE(kvm_user_names), reason);
    }
    return NULL;
}

/* True if TEXT is NAME, or NAME followed by a space and flags. Names contain spaces, too. */
static bool is_name(const char *name, const char *text, size_t len)
{
    size_t n = name ? strlen(name) : 0;

    return n > 0 && n <= len && memcmp(name, text, n) == 0 && (n == len || text[n] == ' ');
}

bool exit_reason_of_name(const char *name, size_t len, enum exit_isa *ret_isa, uint64_t *ret_reason)
{
    static const struct {
        enum exit_isa isa;
        const char *const *names;
        size_t n;
        uint64_t first;
    } tables[] = {
        {EXIT_ISA_VMX, vmx_names, ARRAY_SIZE(vmx_names), 0},
        {EXIT_ISA_SVM, svm_names, ARRAY_SIZE(svm_names), 0},
        {EXIT_ISA_SVM, svm_more_names, ARRAY_SIZE(svm_more_names), SVM_MORE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        for (size_t j = 0; j < tables[i].n; j++)
            if (is_name(tables[i].names[j], name, len)) {
                *ret_isa = tables[i].isa;
                *ret_reason = tables[i].first + j;
                return true;
            }
    *ret_isa = EXIT_ISA_SVM;
    *ret_reason = UINT32_MAX;
    return is_name(exit_reason_name(EXIT_ISA_SVM, UINT32_MAX), name, len);
}

static const struct {
    enum exit_isa isa;
    uint64_t reason;
} idle_reasons[] = {
    {EXIT_ISA_VMX, 12},     {EXIT_ISA_VMX, 36},    {EXIT_ISA_VMX, 67},   {EXIT_ISA_VMX, 68},
    {EXIT_ISA_SVM, 0x78},   {EXIT_ISA_SVM, 0x8b},  {EXIT_ISA_SVM, 0x8c}, {EXIT_ISA_ARM64, 0x01},
    {EXIT_ISA_KVM_USER, 5}, {EXIT_ISA_S390, 0x1c},
};

bool exit_reason_is_idle(enum exit_isa isa, uint64_t reason)
{
    for (unsigned i = 0; i < ARRAY_SIZE(idle_reasons); i++)
        if (idle_reasons[i].isa == isa && idle_reasons[i].reason == reason)
            return true;
    return false;
}

bool exit_reason_name_is_idle(const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(idle_reasons); i++) {
        const char *idle = exit_reason_name(idle_reasons[i].isa, idle_reasons[i].reason);

        if (idle && strcmp(idle, name) == 0)
            return true;
    }
    return false;
}
