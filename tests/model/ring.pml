/* SPDX-License-Identifier: MIT */

/* The protocol of the ring (src/runtime/ring/ring.h) for spin, which tries every interleaving of
 *
 *   - a thread that emits, and signal handlers that interrupt it and each other anywhere and emit too: what finds
 *     the ring busy goes into another ring, of which no more is said here;
 *   - a consumer on another processor that takes what is there and releases it (discard), or copies
 *     what may be written over meanwhile (overwrite);
 *   - the end of the process at any moment, and a process that reads the mapping then (CRASH).
 *
 * Every load and store of the mapping, of `head` or of `busy` is a step of its own. Steps are seen by others in the order of the program: what barriers make of real processors is said
 * where they stand, and not shown here. The functions and names are those of strata/ring.h,
 * ring_reserve.c and ring_read.c; the numbers are the invariants of ring.h.
 *
 * All is counted in units: a packet's header is one, a record is one, a sub-buffer has SUB, the last of
 * which is never filled to its end. The real ring has a byte there; that is what makes a position that
 * is a multiple of SUB say that no packet is open.
 *
 * With -D of spin: OVERWRITE; CRASH (else a live consumer); MAIN, FIRST and SECOND: how many events the
 * thread, its handlers and those that interrupt handlers emit. */

#ifndef MAIN
#define MAIN 3
#endif
#ifndef FIRST
#define FIRST 2
#endif
#ifndef SECOND
#define SECOND 1
#endif
#define SUB 4
#ifndef SIZE
#define SIZE 8
#endif
#define IDS (MAIN + FIRST + SECOND)
#define SUBBUFFER(position) ((position) / SUB * SUB)

/* ---- The mapping ---- */

byte committed, line_time, closed, oldest, discarded, consumed;

/* A record is its header word (which event, when) and its arguments (which event). */
byte word[SIZE], argument[SIZE], stamp[SIZE];
/* Of packets. */
byte header_sequence[SIZE], header_content[SIZE], header_begin[SIZE], header_end[SIZE];

/* ---- Private to the thread ---- */

byte head;
bool busy;
byte level;   /* who runs: 0 the thread, 1 a handler, 2 one that interrupts it */
byte left[3]; /* how many events each has still to emit */

/* ---- What is true, for the assertions ---- */

byte clock; /* goes on when it is read */
byte next_id = 1;
short acknowledged, taken; /* events, a bit each */
byte place[IDS + 1];
byte dropped;
bool ended, dead;

#define BIT(id) (1 << (id))
#define ELSEWHERE 255 /* place of an event that found the ring busy */

/* ---- Writing ----
 *
 * An atomic block is one access to what others see, and what is worked out from it before the next. A
 * label stands before a `skip`, as a jump into an atomic block would go on without a step between. */

inline may_write(position) /* [7] [8] */
{
#ifdef OVERWRITE
    assert(position < oldest + SIZE)
#else
    assert(position < consumed + SIZE)
#endif
}

inline commit(position)
{
    assert(position > committed && head >= position); /* [4] */
    committed = position
}

inline make_room()
{
#ifdef OVERWRITE
    if
    :: next + SUB > SIZE -> oldest = next + SUB - SIZE
    :: else
    fi
#else
    atomic {
        if
        :: next + SUB > consumed + SIZE -> goto drop
        :: else
        fi
    }
#endif
}

/* Who runs is said by `level`; init is process 0, the emitters are 1 to 3. */
proctype emitter(byte me) provided (level + 1 == _pid && !dead)
{
    byte id, from, at, next, time;
    bool opens, was_busy;

    do
    :: atomic { left[me] > 0 -> id = next_id; next_id++; left[me]--; was_busy = busy }
        /* strata_ring_begin() */
        if
        :: was_busy -> goto slow
        :: else
        fi;
        busy = true; /* in begin */
        from = head;
        atomic { clock++; time = clock }
        if
        :: from % SUB == 0 || from % SUB + 1 >= SUB -> busy = false; goto slow
        :: else
        fi;
        line_time = time; /* in begin */
        at = from;
        goto begun;

slow:
        /* strata_ring_begin_slow(): the stamp is another one. */
        was_busy = busy;
        if
        :: was_busy -> goto elsewhere
        :: else
        fi;
        busy = true;
        from = head;
        atomic {
            clock++;
            time = clock;
            at = from;
            opens = at % SUB == 0 || at % SUB + 1 >= SUB;
            if
            :: opens -> next = (from + SUB - 1) / SUB * SUB; at = next + 1
            :: else
            fi
        }
        if
        :: opens ->
            make_room();
            if
            :: from % SUB ->
                header_end[SUBBUFFER(from) % SIZE] = time;
                header_content[SUBBUFFER(from) % SIZE] = from % SUB
            :: else
            fi;
            atomic {
                may_write(next);
                header_sequence[next % SIZE] = next / SUB;
                header_begin[next % SIZE] = time
            }
            head = at;
            line_time = time;
            atomic { commit(at) }
            closed = next
        :: else -> line_time = time
        fi;

begun:
        skip;
        atomic { may_write(at); place[id] = at; argument[at % SIZE] = id }
        atomic { word[at % SIZE] = id; stamp[at % SIZE] = time }

        /* strata_ring_end() */
        head = at + 1;
        atomic { commit(at + 1) }
        busy = false; /* in end */
        atomic { acknowledged = acknowledged | BIT(id); goto done }
elsewhere:
        atomic { place[id] = ELSEWHERE; goto done }
drop:
        skip;
        atomic { discarded++; dropped++ }
        busy = false;
done:
        atomic {
            id = 0; from = 0; at = 0; next = 0; time = 0;
            opens = false; was_busy = false;
            if
            :: me > 0 -> level = me - 1 /* back to what was interrupted */
            :: me == 0 && left[0] == 0 -> ended = true
            :: else
            fi
        }
    od
}

/* A signal comes. */
proctype interrupts()
{
    do
    :: atomic { !dead && !ended && level < 2 && left[level + 1] > 0 -> level++ }
    :: atomic { ended || dead -> break }
    od
}

/* ---- Reading ---- */

/* A record at POSITION of a part that says to hold it: whole, once, in the order of time. */
inline check_record(position)
{
    assert(word[position % SIZE] != 0 && word[position % SIZE] == argument[position % SIZE]); /* [2] */
    assert(stamp[position % SIZE] >= last);                                                   /* [1] */
    last = stamp[position % SIZE];
    assert(!(found & BIT(word[position % SIZE])));
    assert(place[word[position % SIZE]] == position);
    found = found | BIT(word[position % SIZE])
}

#ifdef CRASH

/* Whoever finds the mapping after the process was killed between any two steps. */
proctype crash()
{
    byte position, end, next, last, i;
    short found;

    d_step {
        dead = true;
        assert(closed <= committed && head >= committed); /* [5] [4] */
#ifdef OVERWRITE
        position = oldest;
#else
        position = consumed;
#endif
        do
        :: next = SUBBUFFER(position) + SUB;
            if
            :: closed >= next || committed >= next ->
                end = SUBBUFFER(position) + header_content[SUBBUFFER(position) % SIZE];
                assert(header_content[SUBBUFFER(position) % SIZE] >= 1);
            :: else ->
                if
                :: committed > position -> end = committed; next = committed
                :: else -> break
                fi
            fi;
            assert(end % SUB != 0 || end == position);
            if
            :: position % SUB == 0 ->
                position++
            :: else
            fi;
            do
            :: position < end -> check_record(position); position++
            :: else -> break
            od;
            position = next
        od;
        /* [3]: all that was acknowledged and neither read nor given up is found. */
        for (i : 1 .. IDS) {
#ifdef OVERWRITE
            assert(!(acknowledged & BIT(i)) || (found & BIT(i)) || place[i] < oldest)
#else
            assert(!(acknowledged & BIT(i)) || ((found | taken) & BIT(i)))
#endif
        }
    }
}

#endif

#ifndef OVERWRITE

/* A live consumer: ring_reader_next() with RING_FLUSH, what it finds released each time. */
proctype consumer()
{
    byte position, end, next, last, time_end, c, t, again;
    short found;
    bool all_there;

    do
    :: dead -> break
    :: else ->
        atomic {
            all_there = ended; /* looked at first: what is there then is all that will be */
            next = SUBBUFFER(position) + SUB
        }
        if
        :: closed >= next -> goto whole
        :: else
        fi;
        c = committed;
        t = line_time;
        again = committed;
        if
        :: again >= next ->
whole:
            atomic {
                end = SUBBUFFER(position) + header_content[SUBBUFFER(position) % SIZE];
                time_end = header_end[SUBBUFFER(position) % SIZE];
                assert(header_sequence[SUBBUFFER(position) % SIZE] == position / SUB)
            }
        :: else ->
            if
            :: c <= position ->
                if
                :: all_there -> break
                :: else
                fi;
                goto nothing
            :: else
            fi;
            if
            :: again > c -> t = stamp[c % SIZE]
            :: else
            fi;
            end = c;
            next = c;
            time_end = t
        fi;
        /* No step of the owner's may change what lies there: that is [7], asserted where it writes. */
        atomic {
            if
            :: position % SUB == 0 -> position++
            :: else
            fi;
            do
            :: position < end -> check_record(position); position++
            :: else -> break
            od;
            assert(time_end >= last); /* [6]: what is not yet read is not before this */
            last = time_end;
            position = next
        }
        atomic { taken = found; consumed = position }
nothing:
        atomic { end = 0; next = 0; time_end = 0; c = 0; t = 0; again = 0; all_there = false }
    od;
    if
    :: dead -> skip
    :: else ->
        /* Emitted is read and dropped, exactly. */
        assert(found == acknowledged);
        assert(!busy && committed == head && dropped == discarded);
        assert(dropped <= IDS)
    fi
}

#else

/* A live consumer of a flight recorder: ring_reader_copy(). */
proctype consumer()
{
    byte position, begin, end, next, last, time_end, c, t, again, o, i, n;
    byte copy_id[SUB], copy_argument[SUB], copy_stamp[SUB];
    short found;
    bool all_there;

    do
    :: dead -> break
    :: else ->
        all_there = ended;
        o = oldest;
        if
        :: position < o -> position = o
        :: else
        fi;
        next = SUBBUFFER(position) + SUB;
        if
        :: closed >= next -> goto whole
        :: else
        fi;
        c = committed;
        t = line_time;
        again = committed;
        if
        :: again >= next ->
whole:
            end = SUBBUFFER(position) + header_content[SUBBUFFER(position) % SIZE];
            time_end = header_end[SUBBUFFER(position) % SIZE];
            /* What is read here may be rubbish already. The real one bounds it as well. */
            if
            :: end > next || end <= SUBBUFFER(position) -> end = SUBBUFFER(position) + 1
            :: else
            fi
        :: else ->
            if
            :: c <= position ->
                if
                :: all_there && oldest <= position -> break
                :: else
                fi;
                goto nothing
            :: else
            fi;
            if
            :: again > c -> t = stamp[c % SIZE]
            :: else
            fi;
            end = c;
            next = c;
            time_end = t
        fi;
        begin = position;
        if
        :: begin % SUB == 0 -> begin++
        :: else
        fi;
        n = 0;
        do
        :: begin + n < end ->
            d_step { copy_id[n] = word[(begin + n) % SIZE]; copy_stamp[n] = stamp[(begin + n) % SIZE] };
            copy_argument[n] = argument[(begin + n) % SIZE];
            n++
        :: else -> break
        od;
        if
        :: oldest > position -> goto nothing /* worthless */
        :: else
        fi;
        d_step {
            i = 0;
            do
            :: i < n ->
                assert(copy_id[i] != 0 && copy_id[i] == copy_argument[i]); /* [2] [8] */
                assert(copy_stamp[i] >= last);                             /* [1] */
                last = copy_stamp[i];
                assert(!(found & BIT(copy_id[i])) && place[copy_id[i]] == begin + i);
                found = found | BIT(copy_id[i]);
                i++
            :: else -> break
            od;
            assert(time_end >= last); /* [6] */
            last = time_end;
            position = next
        };
nothing:
        atomic {
            begin = 0; end = 0; next = 0; n = 0; o = 0; time_end = 0; c = 0; t = 0; again = 0;
            d_step {
                i = 0;
                do
                :: i < SUB -> copy_id[i] = 0; copy_argument[i] = 0; copy_stamp[i] = 0; i++
                :: else -> break
                od;
                i = 0
            }
        }
    od;
    if
    :: dead -> skip
    :: else -> assert(!busy && committed == head && dropped == discarded)
    fi
}

#endif

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
#ifdef CRASH
        run crash();
#endif
#ifndef ALONE
        run consumer()
#endif
    }
}
