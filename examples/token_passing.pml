/*
 * Three stations in a ring pass a token; who has it may use the line.
 *
 * The token can get lost on its way. A station that waits in vain makes a new one, and that is
 * the mistake: when two stations lose patience there are two tokens, and the assertion fails.
 */
#define STATIONS 3

chan ring[STATIONS] = [STATIONS] of { bit };
byte talking;

active [STATIONS] proctype Station()
{
    if
    :: _pid == 0 -> goto holding
    :: else -> skip
    fi;
waiting:
    if
    :: ring[_pid] ? _ -> goto holding
    :: timeout -> goto holding        /* nothing moves any more: the token must be lost */
    :: empty(ring[_pid]) -> goto holding /* impatience: it may just be somewhere else */
    fi;
holding:
    talking++;
    assert(talking == 1);
    talking--;
    if
    :: ring[(_pid + 1) % STATIONS] ! 1
    :: skip                           /* lost */
    fi;
    goto waiting
}
