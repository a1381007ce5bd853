/* SPDX-License-Identifier: MIT */

/* How a process wakes a recorder that sleeps while rings fill slowly (src/runtime/ring/pool_file.h), for spin, which tries
 * every interleaving of a process that closes CLOSES sub-buffers and a recorder that drains them.
 *
 * Each has a store buffer of one store, which others see some time later; a fence waits for that. The bounded time of
 * the recorder's sleep is left out: without it no sub-buffer may stay. */

#ifndef CLOSES
#define CLOSES 3
#endif

byte closed, drained; /* sub-buffers */
byte stored_closed;   /* in the process's store buffer; 0: nothing */
bool asleep, stored_asleep;
bool is_sleeping, has_ended;

active proctype buffers()
{
    do
    :: atomic { stored_closed != 0 -> closed = stored_closed; stored_closed = 0 }
    :: atomic { stored_asleep -> asleep = true; stored_asleep = false }
    od
}

active proctype process()
{
    byte n;
    bool was;

    do
    :: n < CLOSES ->
        n++;
        (stored_closed == 0);
        stored_closed = n;
        (stored_closed == 0); /* fence of the process */
        if
        :: asleep ->
            atomic { was = asleep; asleep = false } /* exchange */
            if
            :: was -> is_sleeping = false /* FUTEX_WAKE */
            :: else
            fi
        :: else
        fi
    :: else -> break
    od;
    has_ended = true
}

active proctype recorder()
{
    do
    :: true ->
        skip; /* before */
        stored_asleep = true;
        !stored_asleep; /* fence of the recorder */
        drained = closed; /* after */
        atomic { is_sleeping = asleep } /* FUTEX_WAIT */
        !is_sleeping
    od
}

active proctype check()
{
    atomic { has_ended && is_sleeping; assert(drained == CLOSES) }
}
