/* model: only both ends of an uninterrupted sequence are states */
/* expect: states 10 transitions 14 errors 0 */
byte n;
active proctype A() { atomic { n = 1; n = 2; n = 3 }; n = 4 }
active proctype B() { skip }

/* model: a choice inside gives one edge a way */
/* expect: states 5 transitions 7 errors 0 */
byte n;
active proctype A() { atomic { if :: n = 1 :: n = 2 :: n = 3 fi; if :: n == 1 -> n = 5 :: n > 1 -> n = 5 :: else fi } }
active proctype B() { n == 5 }

/* model: a sequence that blocks is given up, and taken up again later */
/* expect: states 11 transitions 12 errors 0 */
byte n;
active proctype A() { atomic { n = 1; n == 2; n = 3; n == 4; n = 5 } }
active proctype B() { n == 1 -> n = 2; n == 3 -> n = 4 }

/* model: a blocked first statement leaves others free */
/* expect: states 6 transitions 6 errors 0 */
byte n;
active proctype A() { atomic { n == 1 -> n = 2; n = 3 } }
active proctype B() { n = 1; n == 3 }

/* model: a jump out of it is a step of its own */
/* expect: states 10 transitions 14 errors 0 */
byte n;
active proctype A() { atomic { n = 1; goto out; n = 2 }; n = 3; out: n = 4 }
active proctype B() { skip }

/* model: break out of a loop around it */
/* expect: states 19 transitions 29 errors 0 */
byte n;
active proctype A() { do :: atomic { n < 3 -> n++ } :: atomic { n == 3 -> n = 7; break } od; n = 8 }
active proctype B() { skip }

/* model: a jump from one into the middle of another keeps going */
/* expect: states 10 transitions 14 errors 0 */
byte n;
active proctype A() { atomic { n = 1; goto mid }; atomic { n = 2; mid: n = 3; n = 4 }; n = 5 }
active proctype B() { skip }

/* model: a jump to the head of another one stops in between */
/* expect: states 10 transitions 14 errors 0 */
byte n;
active proctype A() { atomic { n = 1; goto head }; n = 9; head: atomic { n = 3; n = 4 } }
active proctype B() { skip }

/* model: nested ones are one */
/* expect: states 7 transitions 9 errors 0 */
byte n;
active proctype A() { atomic { n = 1; atomic { n = 2; n = 3 }; { n = 4; n = 5 } } }
active proctype B() { skip }

/* model: a loop inside */
/* expect: states 3 transitions 7 errors 0 */
byte n;
active proctype A() { atomic { do :: n < 4 -> n++ :: n < 4 -> n = 4 :: n >= 4 -> break od; n = 0 } }

/* model: a choice as the last statement */
/* expect: states 19 transitions 29 errors 0 */
byte n;
active proctype A() { do :: atomic { n < 4 -> n++; if :: n == 2 -> n = 3 :: n != 2 -> skip fi } :: n == 4 -> break od; n = 9 }
active proctype B() { skip }

/* model: assertions inside are checked */
/* expect: states 3 transitions 3 errors 1 */
byte n;
active proctype A() { atomic { n = 1; assert(n == 2); n = 2; n = 3 } }

/* model: an end label inside */
/* expect: states 2 transitions 2 errors 0 */
byte n;
active proctype A() { atomic { n = 1; end: n == 7 -> n = 2 } }

/* model: two of them in competition */
/* expect: states 17 transitions 21 errors 0 */
byte n, m;
active proctype A() { atomic { m == 0 -> m = 1 }; n = n + 1; m = 0 }
active proctype B() { atomic { m == 0 -> m = 1 }; n = n + 1; m = 0 }

/* model: a d_step is one step */
/* expect: states 10 transitions 14 errors 0 */
byte n;
active proctype A() { d_step { n = 1; n = n * 7; n = n + 3 }; n = 0 }
active proctype B() { skip }

/* model: a d_step takes the first option that it can */
/* expect: states 4 transitions 4 errors 0 */
byte n;
active proctype A() { d_step { if :: n == 1 -> n = 5 :: n == 0 -> n = 6 :: n == 0 -> n = 7 fi; do :: n < 9 -> n++ :: n < 20 -> n = 50 :: else -> break od }; assert(n == 50) }

/* model: a d_step waits for its first statement */
/* expect: states 6 transitions 6 errors 0 */
byte n;
active proctype A() { d_step { if :: n == 1 -> n = 5 :: n == 2 -> n = 6 fi; n = n + 1 } }
active proctype B() { n = 2; n == 7 }

/* model: jumps inside a d_step */
/* expect: states 4 transitions 4 errors 0 */
byte n;
active proctype A() { d_step { n = 1; top: n = n * 2; if :: n < 10 -> goto top :: else fi; { byte k = n; n = k + 1 } }; assert(n == 17) }

/* model: a d_step inside an atomic sequence */
/* expect: states 7 transitions 9 errors 0 */
byte n;
active proctype A() { atomic { n = 1; d_step { n = 2; n = 3 }; n = 4 } }
active proctype B() { skip }

/* model: blocking inside a d_step is an error */
/* expect: fails */
byte n;
active proctype A() { d_step { n = 1; n == 3; n = 2 } }

/* model: no option inside a d_step is an error */
/* expect: fails */
byte n;
active proctype A() { d_step { n = 1; if :: n == 3 -> n = 2 fi } }

/* model: a loop of many rounds ends */
/* expect: states 4 transitions 4 errors 0 */
int i;
active proctype P() { atomic { do :: i < 140000 -> i++ :: else -> break od }; assert(i == 140000) }

/* model: the same in a d_step, and an assertion that sees it */
/* expect: states 4 transitions 4 errors 1 */
int i;
active proctype P() { d_step { i = 0; do :: i < 1500000 -> i++ :: else -> break od }; assert(i == 5) }

/* model: two ways to one state after many rounds, one of which violates an assertion */
/* expect: states 3 transitions 4 errors 1 */
byte b, j; int i;
active proctype P() {
  atomic {
    do :: i < 3000 -> i++ :: else -> break od;
    if :: b = 0 :: assert(b == 1) fi;
    do :: j < 3 -> j++ :: else -> break od
  }
}
