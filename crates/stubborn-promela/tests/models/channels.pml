/* model: a buffer between two processes */
/* expect: states 12 transitions 14 errors 0 */
chan q = [2] of { byte };
active proctype S() { q!1; q!2; q!3 }
active proctype R() { byte v; q?v; q?v; q?v; assert(v == 3) }

/* model: sending to a full buffer waits */
/* expect: states 2 transitions 2 errors 1 */
chan q = [1] of { byte };
active proctype S() { q!1; q!2 }

/* model: constants, eval and variables in a receive */
/* expect: states 10 transitions 10 errors 0 */
mtype = { data, ack };
chan q = [3] of { mtype, byte };
byte k = 5; byte v;
active proctype A() { q!data(4); q!ack, 5; q!data(5); if :: q?ack(v) -> assert(false) :: q?data(v) -> assert(v == 4) fi; q?ack(eval(k)); q?_, v; assert(v == 5) }

/* model: values are matched before they are bound */
/* expect: states 5 transitions 5 errors 0 */
chan q = [1] of { byte, byte };
byte v = 6;
active proctype A() { q!5, 6; q?v, eval(v); assert(v == 5) }

/* model: sorted sends */
/* expect: states 10 transitions 10 errors 0 */
chan q = [4] of { byte, byte }; byte v;
active proctype A() { q!!3, 1; q!!1, 9; q!!3, 0; q?1, 9; q?3, v; assert(v == 0); q?3, v; assert(v == 1) }

/* model: a random receive takes the first that fits */
/* expect: states 11 transitions 11 errors 0 */
chan q = [4] of { byte, byte }; byte v;
active proctype A() { q!1, 5; q!2, 6; q!1, 7; q??2, v; assert(v == 6 && len(q) == 2); q??1, v; assert(v == 5); q??v, 7; assert(v == 1) }

/* model: looking without taking */
/* expect: states 13 transitions 13 errors 0 */
chan q = [2] of { byte }; byte v;
active proctype A() { q!4; q!6; assert(q?[4] && !q?[6] && q??[6]); q?<v>; assert(v == 4); q??<6>; assert(full(q)); q?v; assert(nfull(q) && nempty(q)); q?6; assert(empty(q)) }

/* model: message fields are cut to their types */
/* expect: states 5 transitions 5 errors 0 */
chan q = [1] of { bit, byte, short }; byte a; int b, c;
active proctype A() { q!3, 259, 70000; q?a, b, c; assert(a == 1 && b == 3 && c == 4464) }

/* model: messages of a typedef */
/* expect: states 9 transitions 9 errors 0 */
typedef Msg { byte to; short body[2] };
chan q = [2] of { Msg, bit }; Msg m; bit f;
active proctype A() { m.to = 3; m.body[1] = -5; q!m, 1; m.to = 0; m.body[1] = 0; q?m, f; assert(m.to == 3 && m.body[1] == -5 && f == 1) }

/* model: channels as parameters */
/* expect: states 9 transitions 10 errors 0 */
chan left = [1] of { byte }; chan right = [1] of { byte };
proctype Move(chan from, to) { byte v; from?v; to!v + 1 }
init { left!5; run Move(left, right); right?6 }

/* model: arrays of channels, indexed by process number */
/* expect: states 54 transitions 108 errors 0 */
chan c[3] = [1] of { byte };
active [3] proctype Ring() { byte v; c[(_pid + 1) % 3]!_pid; c[_pid]?v; assert(v == (_pid + 2) % 3) }

/* model: a channel sent through a channel */
/* expect: states 10 transitions 12 errors 0 */
chan desk = [1] of { chan }; chan other = [1] of { byte };
active proctype Client() { chan mine = [1] of { byte }; byte v; desk!mine; mine?v; assert(v == 9) }
active proctype Server() { chan who; desk?who; who!9 }

/* model: channel variables hold small numbers */
/* expect: states 12 transitions 12 errors 0 */
chan a = [1] of { byte }; chan b = [1] of { byte }; byte n;
active proctype A() { chan c = [1] of { byte }; chan d; n = b; assert(n == 2); n = c; assert(n == 3); d = a; d!7; assert(len(a) == 1); a = b; a!1; assert(len(b) == 1) }

/* model: channels of processes are numbered when they start and freed when they end */
/* expect: states 19 transitions 19 errors 0 */
byte n;
init { byte k; do :: k < 2 -> run P(); (_nr_pr == 1); assert(n == 1); k++ :: else -> break od }
proctype P() { chan own = [2] of { byte }; own!3; n = own }

/* model: messages left over are fine at the end */
/* expect: states 3 transitions 3 errors 1 */
chan q = [2] of { byte };
active proctype A() { q!1; end: q!2; q!3 }

/* model: else beside a receive */
/* expect: states 6 transitions 6 errors 0 */
chan q = [1] of { byte };
active proctype A() { byte v; do :: q?v -> break :: else -> q!8 od; assert(v == 8) }

/* model: too few fields in a message */
/* expect: states 4 transitions 4 errors 1 */
chan q = [1] of { byte, byte }; byte a;
active proctype A() { q!1; q?a, _ }

/* model: a rendez-vous is one step of two processes */
/* expect: states 6 transitions 6 errors 0 */
chan c = [0] of { byte };
active proctype S() { c!1; c!2 }
active proctype R() { byte v; c?v; c?v; assert(v == 2) }

/* model: every partner that fits, and every option */
/* expect: states 4 transitions 6 errors 2 */
chan c = [0] of { byte };
active proctype S() { if :: c!1 :: c!2 fi }
active proctype R1() { if :: c?1 :: c?_ fi }
active proctype R2() { c?2 }

/* model: nobody meets himself */
/* expect: states 1 transitions 1 errors 1 */
chan c = [0] of { byte };
active proctype A() { byte v; if :: c!1 :: c?v fi }

/* model: a sender in an atomic sequence loses it to the receiver */
/* expect: states 14 transitions 16 errors 0 */
chan c = [0] of { byte }; byte n;
active proctype S() { atomic { c!1; n = 1; n = 2 } }
active proctype R() { byte v; c?v; n = 5; n = 6 }

/* model: a receiver in an atomic sequence goes on */
/* expect: states 23 transitions 34 errors 0 */
chan c = [0] of { byte }; byte n;
active proctype S() { c!1; n = 1 }
active proctype R() { byte v; atomic { c?v; n = 5; n = 6 }; n = 7 }
active proctype T() { skip }

/* model: both in atomic sequences */
/* expect: states 10 transitions 12 errors 0 */
chan c = [0] of { byte }; byte n;
active proctype S() { atomic { n = 9; c!1; n = 1; c!2; n = 3 } }
active proctype R() { byte v; atomic { n = 4; c?v; n = 5; c?v; n = 6 } }

/* model: a receive as the last statement of an atomic sequence */
/* expect: states 14 transitions 16 errors 0 */
chan c = [0] of { byte }; byte n;
active proctype S() { atomic { n = 9; c!1; n = 1 } }
active proctype R() { atomic { n < 10 -> c?1 }; n = 5 }

/* model: a rendez-vous into a d_step */
/* expect: states 6 transitions 7 errors 0 */
chan c = [0] of { byte }; byte n;
active proctype S() { c!3; n = n + 1 }
active proctype R() { byte v; d_step { c?v; n = v; n = n * 2 } }

/* model: else beside a rendez-vous send means that nobody waits */
/* expect: states 14 transitions 16 errors 0 */
chan c = [0] of { byte }; byte n;
active proctype S() { if :: c!1 -> n = 1 :: else -> n = 2 fi }
active proctype R() { skip; if :: c?1 :: n == 2 fi }

/* model: else beside a rendez-vous receive is always possible */
/* expect: states 11 transitions 12 errors 0 */
chan c = [0] of { byte }; byte n;
active proctype R() { if :: c?1 -> n = 1 :: else -> n = 2 fi }
active proctype S() { if :: c!1 :: n == 2 fi }

/* model: rendez-vous over channel parameters */
/* expect: states 11 transitions 13 errors 0 */
chan a = [0] of { byte }; chan b = [0] of { byte };
proctype Relay(chan from, to) { byte v; from?v; to!v + 1 }
init { byte v; atomic { run Relay(a, b); run Relay(b, a) }; a!1; a?v; assert(v == 3) }

/* model: channel variables that start as another channel */
/* expect: states 10 transitions 11 errors 0 */
chan a = [1] of { byte }; chan b = a; chan c = a;
active proctype S() { chan d = b; d!1; c = d; c!2 }
active proctype R() { byte v; b?v; c?v; assert(v == 2) }
