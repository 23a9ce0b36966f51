/* model: a trace is part of the state */
/* expect: states 5 transitions 6 errors 0 */
chan q = [1] of { byte };
active proctype A() { do :: q!2; q?_ od }
trace { q!2; q!2; do :: q!2 od }

/* model: what it does not mention is free */
/* expect: states 7 transitions 7 errors 0 */
chan q = [1] of { byte }; chan r = [2] of { byte };
active proctype A() { r!1; q!1; r?_; r!2; q?_ }
trace { q!1 }

/* model: another value is an error */
/* expect: states 8 transitions 9 errors 2 */
chan q = [2] of { byte };
active proctype A() { q!1; q!2 }
active proctype B() { q?_; q?_ }
trace { q!1; q!3 }

/* model: more events than there are in it are an error, fewer are none */
/* expect: states 5 transitions 5 errors 1 */
chan q = [2] of { byte }; chan r = [1] of { byte };
active proctype A() { q!1; q!1; r!1 }
trace { q!1 }

/* model: receives can be followed too */
/* expect: states 8 transitions 9 errors 0 */
chan q = [2] of { byte, byte };
active proctype A() { q!1, 5; q!2, 6 }
active proctype B() { q?_, _; q?_, _ }
trace { q?1, _; q?2, _ }

/* model: a rendez-vous is an event */
/* expect: states 5 transitions 5 errors 1 */
chan r = [0] of { byte };
active proctype A() { r!1; r!2 }
active proctype B() { r?_; r?_ }
trace { r!1; r!3 }

/* model: a choice by value */
/* expect: states 9 transitions 9 errors 0 */
chan q = [1] of { byte };
active proctype A() { if :: q!1; q?_; q!2 :: q!3; q?_; q!4 fi }
trace { if :: q!1; q!2 :: q!3; q!4 fi }

/* model: what must not happen */
/* expect: states 6 transitions 6 errors 1 */
chan q = [2] of { byte };
active proctype A() { q!1; if :: q!2 :: q!3 fi }
notrace { q!1; q!2 }

/* model: a sequence that starts otherwise is fine for what must not happen */
/* expect: states 5 transitions 5 errors 0 */
chan q = [3] of { byte };
active proctype A() { q!4; q!1; q!2 }
notrace { q!1; q!2 }
