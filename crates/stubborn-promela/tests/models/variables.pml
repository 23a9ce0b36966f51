/* model: declarations at the head are no steps and see what was declared before */
/* expect: states 3 transitions 3 errors 0 */
byte g = 4;
active proctype Head() { byte a = g; byte b = a + 1; short c[3] = 6; assert(a == 4 && b == 5 && c[2] == 6) }

/* model: a declaration after a statement is a step, with or without a value */
/* expect: states 7 transitions 7 errors 0 */
byte g;
active proctype Late() { g = 1; byte a; g = 2; byte b = g + 5; assert(b == 7) }

/* model: a declaration in a block is a step and starts again in each round */
/* expect: states 13 transitions 13 errors 0 */
byte g;
active proctype Rounds() { do :: g < 2 -> byte k; k = k + 5; assert(k == 5); g++ :: else -> break od }

/* model: sibling blocks may use the same name for different types */
/* expect: states 9 transitions 9 errors 0 */
int g;
active proctype Siblings() { { byte k = 255; k++; g = k }; { short k = 255; k++; g = k }; assert(g == 256) }

/* model: in an array only the first element is reset by a late declaration */
/* expect: states 17 transitions 17 errors 1 */
byte g;
active proctype LateArray() { do :: g < 2 -> byte t[2]; t[0]++; t[1]++; assert(t[0] == 1); assert(t[1] == 1); g++ :: else -> break od }

/* model: assignments wrap as the type says */
/* expect: states 9 transitions 9 errors 0 */
active proctype Wraps() {
  bit b = 3; byte y = 300; short s = 40000; int i = 2147483647; unsigned u : 4 = 18;
  assert(b == 1 && y == 44 && s == -25536 && u == 2);
  i++; assert(i < 0); u = u - 3; assert(u == 15); y = -1; assert(y == 255)
}

/* model: a bool keeps its lowest bit only */
/* expect: states 5 transitions 5 errors 0 */
bool b = 2;
active proctype Bool() { assert(!b); b = 3; assert(b) }

/* model: arithmetic has 32 bits and divides towards zero */
/* expect: states 5 transitions 5 errors 0 */
byte y = 250;
active proctype Signs() { assert(y + 10 == 260); assert(-7 / 2 == -3 && -7 % 3 == -1); assert((-8 >> 1) == -4 && (1 << 4) == 16 && (~0) == -1) }

/* model: typedefs nest, with arrays and initial values */
/* expect: states 6 transitions 6 errors 0 */
typedef In { byte v[2]; short w = 3 };
typedef Out { In i[2]; bit f };
Out o;
active proctype Nested() { o.i[1].v[1] = 9; o.i[0].w = o.i[1].w + o.i[1].v[1]; assert(o.i[0].w == 12 && o.i[1].v[0] == 0); o.f = 1 }

/* model: a list of initial values, the last one repeated */
/* expect: states 3 transitions 3 errors 0 */
byte t[5] = { 4, 2, 7 };
active proctype List() { assert(t[0] == 4 && t[2] == 7 && t[4] == 7) }

/* model: within one mtype declaration the last name is number one */
/* expect: states 6 transitions 6 errors 0 */
mtype = { red, green, blue };
mtype = { black };
mtype:size = { small, large };
mtype c = green; mtype:size s = large;
active proctype Names() { assert(red == 3 && blue == 1 && black == 4); assert(small == 2 && large == 1 && c == 2); c = blue; s = small }

/* model: locals stay in the state until the process is gone */
/* expect: states 5 transitions 5 errors 0 */
byte g;
active proctype Stay() { byte v; if :: v = 1 :: v = 2 fi; g = 1 }
active proctype Block() { end: g == 5 }

/* model: a failed assertion is counted and execution goes on */
/* expect: states 7 transitions 7 errors 2 */
byte g;
active proctype Fails() { g = 1; assert(g == 2); g = 2; assert(g == 2); assert(g == 3) }

/* model: a bad index is an error */
/* expect: fails */
byte t[2]; byte i = 2;
active proctype Index() { t[i] = 1 }

/* model: division by zero is an error */
/* expect: fails */
byte z; byte n;
active proctype Divide() { n = 4 / z }
