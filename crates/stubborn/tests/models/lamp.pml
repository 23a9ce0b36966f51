/* A lamp that is switched on and off, and one process that looks once. */
#define lit (lamp == 1)

bit lamp;
bool seen;

active proctype Switch() {
  do
  :: lamp = 1 - lamp
  od
}

active proctype Guard() {
L: seen = true
}

ltl blinks { [] <> lit && [] <> ! lit }
ltl notices { <> seen }
ltl { [] (lamp <= 1) }

never once {  /* it is not switched off after it was on */
  do
  :: true
  :: lit -> break
  od;
accept:
  do
  :: lit
  od
}
