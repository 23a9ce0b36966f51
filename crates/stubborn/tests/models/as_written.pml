/* Statements out of macros and inlines, named values, loops that count. */
#define N 2
#define FREE (lock == free)
#define DOWN(s) atomic { s > 0 -> s-- }
#define ADD(v) v = v + N

mtype = { busy, free };
mtype lock = free;
byte x, sem = 1;
byte a[N];
chan c = [0] of { byte, mtype };

inline take(what, as) {
  what == free -> what = as; /* a comment */
  ADD(x)
}

active proctype A() {
  byte i;
  FREE;
  DOWN(sem);
  take(lock, busy);
  c!x,free;
  for (i : 0 .. N-1) { a[i] = i }
  (lock == free && (x == 3 || x == 4))
}

active proctype B() { byte v; c?v,free }
