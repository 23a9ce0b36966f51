/* model: three instances of one type */
/* expect: states 15 transitions 25 errors 0 */
byte n;
active [3] proctype Inc() { n++ }

/* model: numbers follow the text, init has no special place */
/* expect: states 31 transitions 65 errors 0 */
active proctype First() { assert(_pid == 0) }
init { assert(_pid == 1) }
active [2] proctype Last() { assert(_pid >= 2) }

/* model: init starts two processes, numbers are reused */
/* expect: states 12 transitions 14 errors 2 */
byte who;
init { who = run Child(2); (_nr_pr == 1); who = run Child(3); assert(who == 1) }
proctype Child(byte k) { who = k }

/* model: only the youngest process disappears */
/* expect: states 2 transitions 2 errors 1 */
byte n;
active proctype Old() { n = 1 }
active proctype Young() { (_nr_pr == 1) }

/* model: parameters are cut to their types, locals see them */
/* expect: states 5 transitions 5 errors 0 */
proctype Child(byte a; bit b; short c) { byte d = a + 1; assert(a == 44 && b == 0 && c == -1 && d == 45) }
init { run Child(300, 2, 65535) }

/* model: a process started in an expression gives its number */
/* expect: states 16 transitions 26 errors 0 */
byte n;
init { n = run Child() + 10 * run Child(); assert(n == 21) }
proctype Child() { skip }

/* model: starting processes in a loop */
/* expect: states 122 transitions 252 errors 0 */
byte done;
init { byte k; do :: k < 3 -> run Worker(k); k++ :: else -> break od; (_nr_pr == 1); assert(done == 6) }
proctype Worker(byte k) { done = done + k + 1 }

/* model: starting processes in one uninterrupted go */
/* expect: states 17 transitions 27 errors 0 */
byte n;
init { atomic { run W(1); run W(2); run W(4) } }
proctype W(byte k) { n = n + k }

/* model: chains of creation */
/* expect: states 18 transitions 18 errors 0 */
byte n;
init { run Link(3) }
proctype Link(byte k) { n++; if :: k > 0 -> run Link(k - 1) :: else fi }

/* model: provided holds a process back at every step */
/* expect: states 8 transitions 9 errors 0 */
byte n;
active proctype Slow() provided (n < 2) { n = 1; n = 2; n = 3 }
active proctype Free() { n == 2 -> n = 0 }

/* model: two different types share a process number over time */
/* expect: states 12 transitions 12 errors 0 */
byte n;
init { run A(); (_nr_pr == 1); run B(); (_nr_pr == 1); assert(n == 3) }
proctype A() { n = n + 1 }
proctype B() { byte own; own = 2; n = n + own }

/* model: remote references to labels and variables */
/* expect: states 23 transitions 29 errors 1 */
byte n;
active proctype Seen() { byte v = 1; n = 1; v = 7; here: n = 2; n = 3 }
active proctype Looks() { Seen[0]:v == 7; Seen@here -> n = 9 }

/* model: a label on a jump that others look at is a place of its own */
/* expect: states 17 transitions 21 errors 0 */
byte n;
active proctype Jumps() { n = 1; here: goto out; n = 5; out: n = 2 }
active proctype Looks() { if :: Jumps@here -> n = 9 :: n == 2 fi }

/* model: the last one who moved is part of the state */
/* expect: states 22 transitions 29 errors 0 */
byte n;
active proctype A() { n = 1; n = 2 }
active proctype B() { (_last == 0) -> n = 9 }

/* model: whether a process can move */
/* expect: states 9 transitions 11 errors 0 */
byte n;
active proctype Waits() { n == 1 -> n = 2 }
active proctype Asks() { if :: enabled(0) -> n = 5 :: !enabled(0) -> n = 1 fi }
