/* Two writers share a mailbox that holds one letter; one of them gives up too early. */
mtype = { letter, parcel };
chan box = [1] of { mtype, byte };
byte lost;

active [2] proctype Writer() {
  if
  :: atomic { nfull(box) -> box!letter, _pid }
  :: full(box) -> lost++; printf("writer %d gives up\n", _pid)
  fi
}

active proctype Reader() {
  mtype kind;
  byte from;
  box?kind, from;
  printf("a %e from %d\n", kind, from);
  if
  :: kind == letter -> skip
  :: kind == parcel -> lost = 0
  fi;
  assert(lost == 0)
}
