/* SPDX-License-Identifier: MIT */

/* A serial line: what is written into register 0 appears on standard output. */

#include <stdio.h>

#include "../machine.h"
#include "trace-uart.h"

uint32_t uart_read(struct vcpu *vcpu, uint32_t offset)
{
    (void)vcpu, (void)offset;
    return 0;
}

void uart_write(struct vcpu *vcpu, uint32_t offset, uint32_t value)
{
    if (offset != 0)
        return;
    trace_uart_write(vcpu->number, (uint8_t)value);
    putchar((uint8_t)value);
    fflush(stdout);
}
