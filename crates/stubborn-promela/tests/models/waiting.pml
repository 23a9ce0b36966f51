/* model: timeout when nothing else can move */
/* expect: states 5 transitions 5 errors 1 */
byte n;
active proctype A() { timeout -> n = 1 }
active proctype B() { n == 1 -> n = 2; n == 9 }

/* model: two wait for a timeout */
/* expect: states 13 transitions 13 errors 0 */
byte n;
active proctype A() { timeout -> n = 1 }
active proctype B() { timeout -> n = 2 }

/* model: timeout in an expression */
/* expect: states 3 transitions 3 errors 1 */
byte n;
active proctype A() { if :: (n == 3 || timeout) -> n = 1 :: n == 0 -> n = 3 fi; n == 1 -> n = 4 }

/* model: timeout inside an atomic sequence */
/* expect: states 7 transitions 7 errors 0 */
byte n;
active proctype A() { atomic { n = 1; timeout; n = 2 } }
active proctype B() { n == 2 -> n = 3 }

/* model: valid end states */
/* expect: states 2 transitions 2 errors 0 */
byte n;
active proctype A() { n = 1; end_here: n == 5 -> n = 2 }
active proctype B() { endless: do :: n == 7 -> skip od }

/* model: an invalid end state */
/* expect: states 2 transitions 2 errors 1 */
byte n;
active proctype A() { n = 1; n == 5 }
active proctype B() { end: n == 7 }

/* model: an end label after the guard is no help */
/* expect: states 1 transitions 1 errors 1 */
byte n;
active proctype A() { do :: n == 1 -> end: skip od }

/* model: unless interrupts at any point */
/* expect: states 27 transitions 35 errors 1 */
byte n;
active proctype A() { { n = 1; n = 2; n = 3 } unless { n == 2 -> n = 8 }; n = 9 }
active proctype B() { n == 1 -> n = 2 }

/* model: unless by another process */
/* expect: states 36 transitions 53 errors 0 */
byte n, stop;
active proctype A() { do :: n < 3 -> n++ :: n == 3 -> break od unless { stop -> n = 7 } }
active proctype B() { stop = 1 }

/* model: the outer escape wins and covers the inner one */
/* expect: states 7 transitions 7 errors 0 */
byte n;
active proctype A() { { { n = 1; n = 2 } unless { n == 1 -> n = 5; n = 6 }; n = 3 } unless { n == 5 -> n = 9 } }

/* model: an escape interrupts an atomic sequence, but no d_step */
/* expect: states 17 transitions 22 errors 0 */
byte n;
active proctype A() { { atomic { n = 1; n = 2; n = 3 } } unless { n == 2 -> n = 9 } }
active proctype B() { { d_step { n = 4; n = 2; n = 6 } } unless { n == 2 -> n = 9 } }

/* model: an escape that sends */
/* expect: states 3 transitions 3 errors 1 */
chan q = [1] of { byte }; byte n;
active proctype A() { { n = 1; n = 2 } unless { q!1 -> n = 9 } }
active proctype B() { n == 2 }

/* model: a rendez-vous send as an escape needs a partner */
/* expect: states 6 transitions 7 errors 0 */
chan c = [0] of { byte }; byte n;
active proctype A() { { n = 1; n = 2 } unless { c!1 -> n = 9 } }
active proctype B() { if :: c?1 :: n == 2 fi }

/* model: a rendez-vous receive as an escape just offers itself */
/* expect: states 13 transitions 16 errors 0 */
chan c = [0] of { byte }; byte n;
active proctype A() { { n = 1; n = 2 } unless { c?1 -> n = 9 } }
active proctype B() { if :: c!1 :: n == 2 fi }

/* model: an enabled escape keeps from sending, not from receiving */
/* expect: states 10 transitions 13 errors 0 */
chan c = [0] of { byte }; byte n = 3;
active proctype A() { { c?1; n = 2 } unless { n == 3 -> n = 9 } }
active proctype B() { if :: c!1 :: n == 9 fi }

/* model: an escape that jumps back */
/* expect: states 5 transitions 6 errors 0 */
byte n;
active proctype A() { { n = 1; back: n = 2; n = 3 } unless { n == 2 -> n = 4; goto back }; n = 11 }
