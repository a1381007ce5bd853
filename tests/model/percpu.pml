/* SPDX-License-Identifier: MIT */

/* The protocol of the per-CPU buffers (src/percpu/buffer.h) for spin, which tries every interleaving of
 *
 *   - a CPU that emits, and interrupts that come anywhere, interrupt each other, and emit too;
 *   - a consumer on another processor that reads what is published, one item at a time, and gives it back.
 *
 * Every load and store of what an interrupt or the consumer can change is a step of its own; a
 * compare-and-exchange is one. Steps are seen by others in the order of the program: what barriers make of
 * real processors is said where they stand, and not shown here. Names are those of strata/percpu.h and
 * emit.c; the numbers are the invariants of buffer.h.
 *
 * All is counted in units: a record is two, LOST_RECORDS one, and the ring has X of them, an odd number, so
 * that a record does not fit before its end in every other lap. Positions only grow, and P lies at P % X;
 * that prod runs modulo 2X is for the unit tests.
 *
 * With -D of spin: MAIN, FIRST and SECOND: how many records the CPU, its interrupts and those that
 * interrupt interrupts emit. */

#ifndef MAIN
#define MAIN 3
#endif
#ifndef FIRST
#define FIRST 1
#endif
#ifndef SECOND
#define SECOND 1
#endif
#ifndef X
#define X 5
#endif
#ifndef MARK
#define MARK 3
#endif
#define IDS (MAIN + FIRST + SECOND)

#define FILLER 254
#define TOLD 255

/* ---- What both see ---- */

byte prod, cons;
byte unit[X], stamp[X];         /* of records: their id, in both units */
byte told_n[X], told_first[X];  /* of LOST_RECORDS */

/* ---- The CPU's ---- */

byte reserve, committed, limit, cons_seen;
byte lost, generation, first; /* `lost` and the bits above it change in one step */
byte crossed, notified;
byte level;   /* what runs: 0 the CPU's own, 1 an interrupt, 2 one that interrupts it */
byte left[3]; /* how many records each has still to emit */

/* ---- What is true, for the assertions ---- */

byte clock; /* goes on when it is read */
byte next_id = 1;
byte dropped;
byte true_first;
bool ended;

#define BIT(id) (1 << (id))
#define LAP_END(position) ((position) / X * X + X)
#define FITS(position, size) ((position) + (size) <= LAP_END(position))

/* ---- Writing ---- */

inline put(position, what)
{
    assert(position < cons + X); /* [5] */
    unit[(position) % X] = what
}

inline settle()
{
    do
    :: seen = crossed;
        c = committed;
        r = reserve;
        atomic {
            k = cons;
            if
            :: k > c -> l = 0; above = (seen & 1) /* an interrupt came; the next record settles */
            :: else ->
                above = (c - k >= MARK);
                l = LAP_END(r);
                if
                :: k + X + 1 < l -> l = k + X + 1
                :: else
                fi;
                if
                :: !above && k + MARK < l -> l = k + MARK
                :: else
                fi
            fi
        }
        if
        :: above == (seen & 1) -> break
        :: else ->
            atomic {
                if
                :: crossed == seen -> crossed++; b = above
                :: else -> b = false
                fi
            }
            if
            :: b -> notified++
            :: else
            fi
        fi
    od;
    limit = l;
    cons_seen = k;
    if
    :: lost > 0 -> limit = 0
    :: else
    fi
}

inline publish()
{
    do
    :: end = reserve;
        atomic {
            c = committed;
            if
            :: c >= end -> break
            :: else
            fi
        }
        seen = crossed;
        atomic {
            if
            :: (seen & 1) && committed - cons < MARK -> b = true
            :: else -> b = false
            fi
        }
        if
        :: b -> atomic { assert(crossed == seen); crossed++ }
        :: else
        fi;
        atomic { assert(end > prod); prod = end }           /* [4] */
        atomic { assert(end > committed); committed = end } /* [4] */
    od;
    settle()
}

/* What runs is said by `level`; init is process 0, the emitters are 1 to 3. */
proctype emitter(byte me) provided (level + 1 == _pid)
{
    byte id, from, at, told_at, end, time, seen, c, k, r, l, w, g;
    bool outermost, tells, above, b;

    do
    :: atomic { left[me] > 0 -> id = next_id; next_id++; left[me]-- }
        /* strata_percpu_record() */
        from = reserve;
        atomic { clock++; time = clock; end = from + 2 }
        atomic {
            if
            :: end >= limit -> goto slow
            :: else
            fi
        }
        atomic {
            if
            :: cons != cons_seen -> goto slow
            :: else
            fi
        }
        atomic {
            if
            :: committed != from -> goto slow
            :: else
            fi
        }
        atomic {
            if
            :: reserve == from -> reserve = end; assert(committed == from)
            :: else -> goto slow
            fi
        }
        atomic { assert(FITS(from, 2)); put(from, id); stamp[from % X] = time }
        atomic { put(from + 1, id) }
        atomic { assert(end > prod && end - cons < MARK || crossed & 1); prod = end } /* [4] [10] */
        atomic { assert(committed == from); committed = end }                         /* [3] */
        if
        :: reserve != end -> publish()
        :: else
        fi;
        goto done;

slow:
        skip;
        from = reserve;
        atomic { c = committed; outermost = (c == from) }
        atomic { tells = (outermost && lost > 0) }
        atomic { clock++; time = clock }
        atomic {
            k = cons;
            told_at = from;
            at = (tells -> from + 1 : from);
            end = (FITS(at, 2) -> at + 2 : LAP_END(at) + 2);
            b = (k <= c && end <= k + X)
        }
        if
        :: !b ->
            if
            :: reserve != from -> goto slow
            :: else -> goto drop
            fi
        :: else
        fi;
        atomic {
            if
            :: reserve == from -> reserve = end; b = true
            :: else -> b = false
            fi
        }
        if
        :: !b -> goto slow
        :: else
        fi;
        if
        :: tells ->
            /* put_lost() */
            l = first;
            do
            :: atomic { w = lost; g = generation }
                atomic {
                    if
                    :: lost == w && generation == g ->
                        lost = 0;
                        generation++;
                        assert(w > 0 && l == true_first); /* [8] [9] */
                        break
                    :: else
                    fi
                }
            od;
            atomic {
                put(told_at, TOLD);
                stamp[told_at % X] = time;
                told_n[told_at % X] = w;
                told_first[told_at % X] = l
            }
        :: else
        fi;
        if
        :: !FITS(at, 2) -> atomic { put(at, FILLER); at = LAP_END(at) }
        :: else
        fi;
        atomic { put(at, id); stamp[at % X] = time }
        atomic { put(at + 1, id) }
        if
        :: outermost -> publish()
        :: else -> assert(committed < from || committed == c) /* somebody else's business */
        fi;
        goto done;

drop:
        skip;
        l = first;
        atomic { w = lost; g = generation }
        atomic { clock++; time = clock }
        if
        :: w == 0 ->
            atomic {
                if
                :: first == l -> first = time
                :: else -> goto drop
                fi
            }
        :: else
        fi;
        atomic {
            if
            :: lost == w && generation == g ->
                lost = w + 1;
                dropped++;
                true_first = (w == 0 -> time : true_first)
            :: else -> goto drop
            fi
        }
        limit = 0;
done:
        atomic {
            id = 0; from = 0; at = 0; told_at = 0; end = 0; time = 0; seen = 0; c = 0; k = 0; r = 0; l = 0;
            w = 0; g = 0; outermost = false; tells = false; above = false; b = false;
            if
            :: me > 0 -> level = me - 1 /* back to what was interrupted */
            :: me == 0 && left[0] == 0 ->
                assert(prod - cons < MARK || crossed & 1); /* [11] */
                ended = true
            :: else
            fi
        }
    od
}

/* An interrupt comes. */
proctype interrupts()
{
    do
    :: atomic { !ended && level < 2 && left[level + 1] > 0 -> level++ }
    :: atomic { ended -> break }
    od
}

/* ---- Reading ---- */

proctype consumer()
{
    byte position, until, last, last_told, told;
    short found;
    bool all_there;

    do
    :: atomic { all_there = ended; until = prod }
        atomic {
            if
            :: position == until && all_there -> break
            :: else
            fi
        }
        do
        :: position < until ->
            atomic { /* no CPU writes there: asserted where it is written */
                if
                :: unit[position % X] == FILLER ->
                    assert(!FITS(position, 2));
                    position = LAP_END(position)
                :: unit[position % X] == TOLD ->
                    assert(stamp[position % X] >= last); /* [1] */
                    assert(told_n[position % X] > 0);
                    assert(told_first[position % X] > last_told);
                    assert(told_first[position % X] < stamp[position % X]);
                    last = stamp[position % X];
                    last_told = last;
                    told = told + told_n[position % X];
                    position++
                :: else ->
                    assert(FITS(position, 2)); /* [2] */
                    assert(unit[position % X] > 0 && unit[position % X] <= IDS);
                    assert(unit[(position + 1) % X] == unit[position % X]);
                    assert(!(found & BIT(unit[position % X])));
                    assert(stamp[position % X] >= last); /* [1] */
                    last = stamp[position % X];
                    found = found | BIT(unit[position % X]);
                    position = position + 2
                fi;
                assert(position <= until)
            }
            /* As it likes: now, or when it has read more. */
            if
            :: cons = position
            :: skip
            fi
        :: else -> break
        od;
        atomic { cons = position; until = 0; all_there = false }
    od;
    skip;
    d_step {
        /* At rest: what was emitted was read, reported as lost, or is pending [7]. */
        last = 0;
        until = 1;
        do
        :: until <= IDS ->
            last = last + ((found & BIT(until)) -> 1 : 0);
            until++
        :: else -> break
        od;
        assert(last + told + lost == next_id - 1);
        assert(told + lost == dropped);
        assert(committed == reserve && prod == reserve);
        assert(notified == (crossed + 1) / 2) /* [11] */
    }
}

init
{
    atomic {
        left[0] = MAIN;
        left[1] = FIRST;
        left[2] = SECOND;
        run emitter(0);
        run emitter(1);
        run emitter(2);
        run interrupts();
        run consumer()
    }
}
