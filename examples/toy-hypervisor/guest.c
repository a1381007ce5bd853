/* SPDX-License-Identifier: MIT */

/* What guests do: compute, touch a page for the first time, call the hypervisor, halt. */

#include "hypervisor.h"

static const struct {
    enum exit_reason reason;
    unsigned work;
} program[] = {
    {EXIT_VMMCALL, 300}, {EXIT_NPF, 50},     {EXIT_VMMCALL, 100}, {EXIT_NPF, 20},
    {EXIT_NPF, 20},      {EXIT_VMMCALL, 50}, {EXIT_HLT, 200},
};

#define STEPS (sizeof(program) / sizeof(program[0]))
#define CODE 0xffffffff81000000

enum exit_reason guest_run(struct vcpu *vcpu, const volatile bool *interrupted,
                           uint64_t *ret_address)
{
    uint64_t step;

    if (vcpu->rip == 0)
        vcpu->rip = CODE;
    step = vcpu->rip - CODE;
    for (; vcpu->work < program[step].work; vcpu->work++) {
        if (*interrupted)
            return EXIT_INTR;
        vcpu->random = vcpu->random * 6364136223846793005 + 1442695040888963407;
    }
    vcpu->work = 0;
    vcpu->rip = CODE + (step + 1) % STEPS;
    *ret_address = vcpu->random >> 28 & ~0xfffULL;
    return program[step].reason;
}
