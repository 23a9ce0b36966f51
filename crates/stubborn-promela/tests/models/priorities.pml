/* model: the more important one goes first, to its end */
/* expect: states 8 transitions 8 errors 0 */
byte n;
active proctype Low() priority 2 { n = 1; n = 2; n = 3 }
active proctype High() priority 7 { n = 4; n = 5 }

/* model: who cannot move does not keep others from moving */
/* expect: states 10 transitions 10 errors 0 */
byte n;
active proctype High() priority 7 { n == 2 -> n = 9; n == 4 }
active proctype Low() priority 2 { n = 1; n = 2; n = 3; n = 4 }

/* model: a new process may have a priority of its own */
/* expect: states 11 transitions 11 errors 0 */
byte n;
proctype Work(byte k) { n = n + k; n = n + k }
init { run Work(1) priority 3; run Work(2) priority 9; n = 100 }

/* model: priorities can be changed and asked for */
/* expect: states 11 transitions 11 errors 1 */
byte n;
active proctype A() priority 4 { n = 1; set_priority(1, 6); n = 2; assert(get_priority(1) == 6) }
active proctype B() priority 2 { n = n + 10; _priority = 1; n = n + 10; assert(_priority == 1) }

/* model: an important process interrupts an uninterrupted sequence */
/* expect: states 7 transitions 7 errors 0 */
byte n;
active proctype High() priority 5 { atomic { n == 2 -> n = 7; n = 8 }; n = 9 }
active proctype Low() priority 3 { atomic { n = 1; n = 2; n = 3; n = 4 } }

/* model: without a priority it is one */
/* expect: states 25 transitions 31 errors 0 */
byte n;
active proctype A() { n = 1; n = 2 }
active proctype B() priority 2 { n = 3; n = 4 }
active proctype C() { assert(_priority == 1); n = 5 }
