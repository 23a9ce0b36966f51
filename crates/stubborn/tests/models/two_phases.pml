/* Two workers meet at a counter; the assertion forgets that they may interleave. */
byte count;

active [2] proctype Worker() {
  byte mine;
  mine = count;
  count = mine + 1
}

active proctype Judge() {
  (count > 0) -> assert(count == 2)
}
