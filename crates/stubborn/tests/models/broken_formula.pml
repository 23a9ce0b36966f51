/* Two formulas, of which one names something that does not exist. */
byte x;

active proctype P() {
  do
  :: x < 3 -> x++
  :: x == 3 -> x = 0
  od
}

ltl fine { [] <> (x == 3) }
ltl broken { [] <> (y == 3) }
