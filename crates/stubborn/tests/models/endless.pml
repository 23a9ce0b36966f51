/* An uninterrupted sequence that never ends, on one of two ways. */
byte x;

active proctype P() {
  x = 1;
  atomic {
    if
    :: assert(x == 0); do :: x = 3 - x od
    :: x = 5
    fi
  }
}
