/* 13 dining philosophers, as in dining.dve. */
#define N 13
#define LEFT taken[_pid]
#define RIGHT taken[(_pid + 1) % N]

bit taken[N];

active [N] proctype Philosopher() {
thinking:
  atomic { LEFT == 0 -> LEFT = 1 };
  atomic { RIGHT == 0 -> RIGHT = 1 };
  LEFT = 0;
  RIGHT = 0;
  goto thinking
}
