-- 13 dining philosophers, as in dining.dve.
const N: 13;

type Philosopher: 0 .. N - 1;
     Place: enum { thinking, hungry, eating, done };

var at: array[Philosopher] of Place;
    taken: array[Philosopher] of boolean;

startstate begin
  for i: Philosopher do
    at[i] := thinking;
    taken[i] := false;
  end;
end;

ruleset i: Philosopher do
  rule "take the left fork"
    at[i] = thinking & !taken[i] ==>
  begin
    at[i] := hungry;
    taken[i] := true;
  end;

  rule "take the right fork"
    at[i] = hungry & !taken[(i + 1) % N] ==>
  begin
    at[i] := eating;
    taken[(i + 1) % N] := true;
  end;

  rule "put down the left fork"
    at[i] = eating ==>
  begin
    at[i] := done;
    taken[i] := false;
  end;

  rule "put down the right fork"
    at[i] = done ==>
  begin
    at[i] := thinking;
    taken[(i + 1) % N] := false;
  end;
end;
