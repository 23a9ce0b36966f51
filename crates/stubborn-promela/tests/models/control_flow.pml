/* model: a straight line has one state a statement, one at the closing brace, one afterwards */
/* expect: states 6 transitions 6 errors 0 */
byte n;
active proctype Line() { n = 1; n = 2; n = 3; printf("n is %d\n", n) }

/* model: a jump behind a statement costs nothing, and what it jumps over is never reached */
/* expect: states 4 transitions 4 errors 0 */
byte n;
active proctype Jumper() { n = 1; goto out; n = 2; out: n = 3 }

/* model: a jump in front of an option is a step */
/* expect: states 8 transitions 8 errors 0 */
byte n;
active proctype Chooser() { if :: goto low :: n = 9 fi; n = 5; low: n = n + 1 }

/* model: choices in front of choices are flattened */
/* expect: states 14 transitions 14 errors 0 */
byte n;
active proctype Nest() {
  if
  :: if :: n = 1 :: n = 2 fi
  :: do :: n = 3; break od
  :: { n = 4; n = 5 }
  fi;
  n = n + 10
}

/* model: a loop that counts, left by else */
/* expect: states 12 transitions 12 errors 0 */
byte n;
active proctype Count() { do :: n < 4 -> n++ :: else -> break od; assert(n == 4) }

/* model: a loop that may be left at any time */
/* expect: states 18 transitions 21 errors 0 */
byte n;
active proctype Maybe() { do :: n < 3 -> n = n + 1 :: n > 0 -> n = n - 1 :: break od }

/* model: a label on a loop is a place to jump back to */
/* expect: states 9 transitions 9 errors 0 */
byte n;
active proctype Again() { top: do :: n < 5 -> n = n + 2; goto top :: n >= 5 -> break od }

/* model: jumping into the middle of an option */
/* expect: states 5 transitions 5 errors 0 */
byte n;
active proctype Into() { goto mid; do :: n == 7 -> mid: n = 1 :: n == 1 -> break od; n = 2 }

/* model: a second skip within an option is dropped, in a plain sequence it is not */
/* expect: states 12 transitions 12 errors 0 */
byte n;
active proctype Skips() { skip; skip; if :: skip; skip; skip; n = 1 :: n = 2 fi; skip; skip }

/* model: else looks at the flattened choice, not at the inner one */
/* expect: states 5 transitions 5 errors 0 */
byte n = 2;
active proctype Inner() { if :: n == 1 -> n = 10 :: if :: n == 3 -> n = 20 :: else -> n = 30 fi fi; assert(n == 30) }

/* model: else waits for nobody, so another process can change the decision */
/* expect: states 24 transitions 30 errors 0 */
byte n;
active proctype Decide() { if :: n == 1 -> n = 5 :: else -> n = 7 fi }
active proctype Change() { n = 1; n = 0 }

/* model: for loops count to one past the end */
/* expect: states 14 transitions 14 errors 0 */
byte sum;
active proctype For() { byte k; for (k : 2 .. 4) { sum = sum + k } assert(k == 5 && sum == 9) }

/* model: for over an array, left early */
/* expect: states 17 transitions 17 errors 0 */
byte box[4]; byte hits;
active proctype Over() { byte k; for (k in box) { box[k] = k; if :: k == 2 -> break :: else -> hits++ fi } assert(hits == 2) }

/* model: for over the messages of a channel rotates it */
/* expect: states 21 transitions 21 errors 0 */
typedef Pair { byte a; byte b };
chan q = [3] of { Pair };
byte sum;
active proctype Rotate() {
  Pair p;
  p.a = 1; p.b = 2; q!p; p.a = 3; p.b = 4; q!p;
  for (p in q) { sum = sum + p.a * p.b }
  assert(sum == 14 && len(q) == 2)
}

/* model: select is one step with a choice */
/* expect: states 13 transitions 13 errors 0 */
byte n;
active proctype Pick() { byte k; select(k : 3 .. 6); n = k * 2 }

/* model: select with a variable bound counts */
/* expect: states 15 transitions 15 errors 0 */
byte n; byte top = 5;
active proctype PickUpTo() { byte k; select(k : 3 .. top); n = k }

/* model: inlines are text; every call has its own control points and locals */
/* expect: states 9 transitions 9 errors 0 */
byte n;
inline twice(target, amount) { byte tmp = amount; target = target + tmp; target = target + tmp }
active proctype Calls() { twice(n, 2); twice(n, 3); assert(n == 10) }

/* model: an inline with a result */
/* expect: states 4 transitions 4 errors 0 */
byte n;
inline larger(a, b) { return (a > b -> a : b) }
active proctype Result() { n = larger(3, 8); assert(n == 8) }

/* model: a conditional expression is evaluated lazily */
/* expect: states 4 transitions 4 errors 0 */
byte n = 3; byte zero;
active proctype Lazy() { n = (zero == 0 -> 4 : n / zero); assert(n == 4) }

/* model: a label before the closing brace needs a step of its own */
/* expect: states 8 transitions 8 errors 0 */
byte n;
active proctype AtEnd() { if :: n = 1 -> goto fin :: n = 2 fi; n = 3; fin: }

/* model: line ends stand for semicolons */
/* expect: states 6 transitions 6 errors 0 */
byte n
active proctype Lines() {
  n = 1
  if
  :: n == 1 ->
     n = 2
  :: else
  fi
  n = 3
}

/* model: macros with parameters, conditions and continuation lines */
/* expect: states 5 transitions 5 errors 0 */
#define INC(v, by) \
  v = v + (by)
#ifdef UNKNOWN
#error "not taken"
#elif defined(INC) && 2 > 1
byte n;
#else
short n;
#endif
active proctype Macro() { INC(n, 3); INC(n, 4); assert(n == 7) }
