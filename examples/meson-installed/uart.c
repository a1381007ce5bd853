/* SPDX-License-Identifier: MIT */

/* The sending half of a serial port, as a virtual machine has one: a guest writes bytes into a FIFO
 * of 16, the line takes one byte every four ticks, and an interrupt tells the guest that the FIFO is
 * empty. Traced:
 *
 *     uart TEXT…       prints what came out of the line, and how long it took */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "trace-uart.h"

#define FIFO 16
#define TICKS_A_BYTE 4

static uint8_t fifo[FIFO];
static unsigned first, level;
static unsigned long now;
static bool irq;

static void set_irq(bool raised)
{
    if (irq != raised)
        trace_uart_irq(now, raised);
    irq = raised;
}

static void tick(void)
{
    now++;
    if (now % TICKS_A_BYTE != 0 || level == 0)
        return;
    trace_uart_sent(now, fifo[first]);
    putchar(fifo[first]);
    first = (first + 1) % FIFO;
    if (--level == 0)
        set_irq(true);
}

static bool guest_writes(uint8_t byte)
{
    if (level == FIFO) {
        trace_uart_full(now);
        return false;
    }
    fifo[(first + level++) % FIFO] = byte;
    trace_uart_write(byte, level);
    set_irq(false);
    return true;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        for (const char *byte = argv[i]; *byte; tick())
            if (guest_writes((uint8_t)*byte))
                byte++;
            else
                while (!irq)
                    tick();
    while (level > 0)
        tick();
    printf("\n%lu ticks\n", now);
    return 0;
}
