/* An inline that is used twice, of which one use is never reached. */
byte x;

inline add(n) {
  x < 3 -> x = x + n
}

active proctype P() {
  add(1);
  x == 3;
  add(1)
}
