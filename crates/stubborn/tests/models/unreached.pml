byte x, y;

inline settle(v) { atomic { v = 0; y = 1 - y } }

active proctype A() {
  do
  :: x < 2 -> x++
  :: x > 5 -> assert(false)
  :: x == 2 -> settle(x)
  od
}

active proctype B() {
  end: do
  :: y == 1 -> y = 0
  :: y == 3 -> y = 2
  od
}

ltl answered { [] (x == 7 -> <> (x == 0)) }
