/* SPDX-License-Identifier: MIT */
/* A virtual machine of KVM whose exits are known: one vCPU in real mode, without a kernel, that does
 *
 *     1000 times  `out` to port 0xe9, `cpuid` of leaf 0
 *        7 times  `rdmsr` of MSR 0x1b
 *        5 times  a write of 0x5a to the address 0xc0000, where nothing is
 *        1 time   `hlt`, which ends it
 *
 *
 * Prints "NAME N" of the exits that KVM hands to this program. Exit status 0: they were as many.
 *
 *     kvm-guest [--wait [NAME]]
 *
 * --wait: prints "ready" when the virtual machine and its vCPU are made, in a thread called NAME, and runs it when it has
 * read a byte from standard input; at its end, it exits with status 3. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ROUNDS 1000
#define MSRS 7
#define WRITES 5
#define CODE_START 0x1000
#define CODE_ROOM 0x10000
#define TASK_STATE 0xfffbd000

/* clang-format off */
static const uint8_t code[] = {
    0xbe, ROUNDS & 0xff, ROUNDS >> 8, /*       mov si, ROUNDS */
    0xb0, 0x42,                       /* 1:    mov al, 0x42 */
    0xe6, 0xe9,                       /*       out 0xe9, al */
    0x66, 0x31, 0xc0,                 /*       xor eax, eax */
    0x0f, 0xa2,                       /*       cpuid */
    0x4e,                             /*       dec si */
    0x75, 0xf4,                       /*       jnz 1b */
    0xbe, MSRS, 0,                    /*       mov si, MSRS */
    0x66, 0xb9, 0x1b, 0, 0, 0,        /*       mov ecx, 0x1b */
    0x0f, 0x32,                       /* 2:    rdmsr */
    0x4e,                             /*       dec si */
    0x75, 0xfb,                       /*       jnz 2b */
    0xb8, 0x00, 0xc0,                 /*       mov ax, 0xc000 */
    0x8e, 0xd8,                       /*       mov ds, ax */
    0xbe, WRITES, 0,                  /*       mov si, WRITES */
    0xc6, 0x06, 0, 0, 0x5a,           /* 3:    mov byte [0], 0x5a */
    0x4e,                             /*       dec si */
    0x75, 0xf8,                       /*       jnz 3b */
    0xf4,                             /*       hlt */
};
/* clang-format on */

static int checked(int r, const char *what)
{
    if (r < 0) {
        perror(what);
        exit(1);
    }
    return r;
}

/* Whether to go on. */
static int wait_for_byte(const char *name)
{
    char byte;

    if (name && *name)
        checked(prctl(PR_SET_NAME, name), "PR_SET_NAME");
    puts("ready");
    fflush(stdout);
    return read(STDIN_FILENO, &byte, 1) == 1;
}

int main(int argc, char **argv)
{
    int kvm = checked(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
    int vm = checked(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
    uint8_t *memory =
        mmap(NULL, CODE_ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct kvm_userspace_memory_region region = {.guest_phys_addr = CODE_START,
                                                 .memory_size = CODE_ROOM,
                                                 .userspace_addr = (uintptr_t)memory};
    struct kvm_regs regs = {.rip = CODE_START, .rflags = 2};
    struct kvm_sregs segments;
    struct kvm_run *run;
    unsigned io = 0, mmio = 0, size;
    int vcpu;

    checked(ioctl(vm, KVM_SET_TSS_ADDR, TASK_STATE), "KVM_SET_TSS_ADDR");
    if (memory == MAP_FAILED)
        checked(-1, "memory");
    memcpy(memory, code, sizeof code);
    checked(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region), "KVM_SET_USER_MEMORY_REGION");
    vcpu = checked(ioctl(vm, KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
    size = (unsigned)checked(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "KVM_GET_VCPU_MMAP_SIZE");
    run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
    if (run == MAP_FAILED)
        checked(-1, "vCPU");
    checked(ioctl(vcpu, KVM_GET_SREGS, &segments), "KVM_GET_SREGS");
    segments.cs.base = 0;
    segments.cs.selector = 0;
    checked(ioctl(vcpu, KVM_SET_SREGS, &segments), "KVM_SET_SREGS");
    checked(ioctl(vcpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");

    if (argc > 1 && strcmp(argv[1], "--wait") == 0 && !wait_for_byte(argv[2]))
        return 3;
    for (;;) {
        checked(ioctl(vcpu, KVM_RUN, 0), "KVM_RUN");
        if (run->exit_reason == KVM_EXIT_IO)
            io++;
        else if (run->exit_reason == KVM_EXIT_MMIO)
            mmio++;
        else
            break;
    }
    printf("io %u\nmmio %u\nhlt %d\n", io, mmio, run->exit_reason == KVM_EXIT_HLT);
    return io == ROUNDS && mmio == WRITES && run->exit_reason == KVM_EXIT_HLT ? 0 : 1;
}
