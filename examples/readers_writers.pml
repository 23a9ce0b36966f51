/*
 * Readers and writers share a document.
 *
 * Any number of readers may look at it together; a writer needs it alone. The clerk hands out
 * the document in the order of the requests, so that nobody waits for ever behind people who
 * came later.
 *
 * expect: exclusive holds, served holds, idle violated
 */
#define READERS 2
#define WRITERS 2
#define PEOPLE  (READERS + WRITERS)

mtype = { read, write };

chan request = [PEOPLE] of { mtype, byte };
chan grant[PEOPLE] = [0] of { bit };
chan done = [0] of { mtype };

byte reading, writing;
bool waiting;  /* the last writer has asked and was not served yet */

active proctype Clerk()
{
    mtype kind;
    byte who;
    byte inside;

end:
    do
    :: done ? kind -> inside--
    :: request ? [read, who] && !writing ->
        atomic { request ? read, who -> grant[who] ! 1; inside++ }
    :: inside == 0 && request ? [write, who] ->
        atomic { request ? write, who -> grant[who] ! 1; inside++ }
    od
}

proctype Reader(byte me)
{
end:
    do
    :: request ! read, me;
        atomic { grant[me] ? _ -> reading++ }
        atomic { reading-- -> done ! read }
    od
}

proctype Writer(byte me)
{
end:
    do
    :: atomic { request ! write, me -> waiting = (me == PEOPLE - 1 -> true : waiting) }
        atomic {
            grant[me] ? _ -> writing++;
            waiting = (me == PEOPLE - 1 -> false : waiting)
        }
        assert(writing == 1 && reading == 0);
        atomic { writing-- -> done ! write }
    od
}

init
{
    byte i;
    atomic {
        for (i : 0 .. READERS - 1) { run Reader(i) }
        for (i : READERS .. PEOPLE - 1) { run Writer(i) }
    }
}

ltl exclusive { [] (writing <= 1 && !(writing && reading)) }
ltl served    { [] (waiting -> <> !waiting) }
ltl idle      { <> [] (reading == 0 && writing == 0) }
