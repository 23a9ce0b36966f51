/* Dining philosophers, searched for deadlocks by a checker of a few lines: without reduction, and with
 * stubborn sets by several algorithms.
 *
 *     cargo build --release -p stubborn-c
 *     cc -I crates/stubborn-c/include crates/stubborn-c/examples/philosophers.c \
 *        -L target/release -lstubborn_c -Wl,-rpath,target/release -o philosophers
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stubborn.h"

enum { SEATS = 7, STEPS = 3 * SEATS };
enum { THINKS, HOLDS_LEFT, EATS };
enum { TAKE_LEFT, TAKE_RIGHT, PUT_DOWN };

typedef struct { unsigned char at[SEATS]; } table;

static unsigned step(unsigned seat, unsigned act) { return 3 * (seat % SEATS) + act; }

/* Fork i lies to the left of philosopher i. */
static bool fork_is_free(const table *t, unsigned fork) {
  return t->at[fork] == THINKS && t->at[(fork + SEATS - 1) % SEATS] != EATS;
}

static bool is_enabled(const table *t, unsigned number) {
  unsigned seat = number / 3;
  switch (number % 3) {
    case TAKE_LEFT: return t->at[seat] == THINKS && fork_is_free(t, seat);
    case TAKE_RIGHT: return t->at[seat] == HOLDS_LEFT && fork_is_free(t, (seat + 1) % SEATS);
    default: return t->at[seat] == EATS;
  }
}

static table after(table t, unsigned number) {
  t.at[number / 3] = (unsigned char)((number + 1) % 3);
  return t;
}

static size_t number_of(const table *t) {
  size_t number = 0;
  for (unsigned seat = 0; seat < SEATS; seat++) number = 3 * number + t->at[seat];
  return number;
}

static stubborn_relations *relations(void) {
  stubborn_relations *r = stubborn_relations_new(STEPS, SEATS);
  for (unsigned seat = 0; seat < SEATS; seat++) {
    unsigned right = (seat + 1) % SEATS;
    for (unsigned act = 0; act < 3; act++) {
      /* One step of a philosopher makes the next one possible. */
      stubborn_can_enable(r, step(seat, act), step(seat, (act + 1) % 3));
      stubborn_belongs_to(r, step(seat, act), seat);
    }
    /* Condition i: fork i is free. */
    stubborn_waits_for(r, step(seat, TAKE_LEFT), seat);
    stubborn_waits_for(r, step(seat, TAKE_RIGHT), right);
    stubborn_can_satisfy(r, step(seat, PUT_DOWN), seat);
    stubborn_can_satisfy(r, step(seat, PUT_DOWN), right);
    /* Whoever puts forks down makes room for both neighbours. */
    stubborn_can_enable(r, step(seat, PUT_DOWN), step(right, TAKE_LEFT));
    stubborn_can_enable(r, step(seat, PUT_DOWN), step(seat + SEATS - 1, TAKE_RIGHT));
    /* Neighbours compete for the fork between them. */
    stubborn_disturbs(r, step(seat, TAKE_RIGHT), step(right, TAKE_LEFT));
    stubborn_disturbs(r, step(right, TAKE_LEFT), step(seat, TAKE_RIGHT));
  }
  return r;
}

static bool fork_is_free_here(void *context, uint32_t fork) { return fork_is_free(context, fork); }

typedef struct { unsigned states, deadlocks; } counts;

/* Depth-first; without a worker all steps are taken. */
static counts search(stubborn_worker *worker) {
  size_t most = 1;
  for (unsigned seat = 0; seat < SEATS; seat++) most *= 3;
  bool *seen = calloc(most, sizeof *seen);
  table *stack = malloc(most * sizeof *stack);
  size_t depth = 0;
  counts found = {0, 0};
  table start;
  memset(&start, THINKS, sizeof start);
  seen[number_of(&start)] = true;
  stack[depth++] = start;
  while (depth > 0) {
    table here = stack[--depth];
    uint32_t steps[STEPS];
    size_t count = 0;
    found.states++;
    for (unsigned number = 0; number < STEPS; number++)
      if (is_enabled(&here, number)) steps[count++] = number;
    if (count == 0) found.deadlocks++;
    if (worker != NULL) {
      stubborn_situation situation = {&here, fork_is_free_here, NULL};
      int64_t size = stubborn_set(worker, steps, count, &situation, steps);
      if (size < 0) {
        fprintf(stderr, "%s\n", stubborn_error());
        exit(1);
      }
      count = (size_t)size;
    }
    for (size_t i = 0; i < count; i++) {
      table next = after(here, steps[i]);
      if (!seen[number_of(&next)]) {
        seen[number_of(&next)] = true;
        stack[depth++] = next;
      }
    }
  }
  free(seen);
  free(stack);
  return found;
}

int main(void) {
  const char *algorithms[] = {NULL, "closure", "beam", "deletion"};
  counts all = search(NULL);
  printf("unreduced: %u states, %u deadlocks\n", all.states, all.deadlocks);
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    stubborn_reduction *reduction =
        stubborn_reduction_new(relations(), STUBBORN_DEADLOCKS, algorithms[i]);
    if (reduction == NULL) {
      fprintf(stderr, "%s\n", stubborn_error());
      return 1;
    }
    stubborn_worker *worker = stubborn_worker_new(reduction);
    counts some = search(worker);
    printf("%s: %u states, %u deadlocks\n", algorithms[i] ? algorithms[i] : "local", some.states,
           some.deadlocks);
    stubborn_worker_free(worker);
    stubborn_reduction_free(reduction);
  }
  /* What was not announced is refused. */
  stubborn_relations *few = stubborn_relations_new(2, 0);
  int refused = stubborn_disturbs(few, 0, 2);
  printf("refused: %d, %s\n", refused, stubborn_error());
  stubborn_relations_free(few);
  return 0;
}
