/* Four philosophers as a language module of LTSmin, by the names of SpinS (-DSPINS) or of DiVinE.
 * -DNO_GUARDS leaves guards out, -DLIAR tells lies about them, -DPROPERTY adds a property that accepts where the
 * first philosopher eats, -DASSERTION an assertion of the first one that the third does
 * not eat when it puts its forks down, and -DINCOMPLETE needs a function that nobody has. */
#include <stddef.h>
#include <string.h>

#ifdef SPINS
#define NAME(spins, divine) spins_##spins
#else
#define NAME(spins, divine) divine
#endif

enum { SEATS = 4, PLACE = SEATS, VARIABLES = PLACE + SEATS, STEPS = 3 * SEATS, LABELS = STEPS + SEATS };
enum { THINKS, HOLDS_LEFT, EATS };

typedef struct { int *labels, group, proviso; } edge;
typedef void (*collect)(void *context, edge *by, int *state, int *unwritten);

static int seat(int step) { return step / 3; }
static int next_seat(int i) { return (i + 1) % SEATS; }
/* The forks that a step needs or puts down, as two bits. */
static int left_fork(int step) { return step % 3 != HOLDS_LEFT; }
static int right_fork(int step) { return step % 3 != THINKS; }

static int can(const int *s, int step) {
  int i = seat(step);
  if (s[PLACE + i] != step % 3) return 0;
  if (step % 3 == THINKS) return s[i] == 0;
  return step % 3 == EATS || s[next_seat(i)] == 0;
}

void NAME(get_initial_state, get_initial_state)(int *to) { memset(to, 0, VARIABLES * sizeof *to); }

int NAME(get_successor, get_successor)(void *model, int step, int *s, collect found, void *context) {
  int next[VARIABLES], written[VARIABLES] = {0}, labels[2] = {0, step};
  edge by = {labels, step, 0};
  int i = seat(step), takes = step % 3 != EATS;
  (void)model;
#ifdef INCOMPLETE
  extern int nowhere_to_be_found(void);
  if (nowhere_to_be_found()) return 0;
#endif
  if (!can(s, step)) return 0;
  memcpy(next, s, sizeof next);
#ifdef ASSERTION
  labels[0] = step == EATS && s[PLACE + 2] == EATS;
#endif
  if (left_fork(step)) next[i] = takes;
  if (right_fork(step)) next[next_seat(i)] = takes;
  next[PLACE + i] = (step + 1) % 3;
  found(context, &by, next, written);
  return 1;
}

/* Backwards, for nobody promises an order. */
int NAME(get_successor_all, get_successors)(void *model, int *s, collect found, void *context) {
  int count = 0;
  for (int step = STEPS - 1; step >= 0; step--)
    count += NAME(get_successor, get_successor)(model, step, s, found, context);
  return count;
}

int NAME(get_state_size, get_state_variable_count)(void) { return VARIABLES; }
int NAME(get_transition_groups, get_transition_count)(void) { return STEPS; }

const char *NAME(get_state_variable_name, get_state_variable_name)(int variable) {
  static const char *names[] = {"fork0", "fork1", "fork2", "fork3", "P0", "P1", "P2", "P3"};
  return names[variable];
}

int NAME(get_state_variable_type, get_state_variable_type)(int variable) { return variable >= PLACE; }
int NAME(get_type_count, get_state_variable_type_count)(void) { return 4; }
int NAME(get_type_value_count, get_state_variable_type_value_count)(int type) {
  static const int counts[] = {0, 3, 2, STEPS};
  return counts[type];
}
const char *NAME(get_type_value_name, get_state_variable_type_value)(int type, int value) {
  static const char *places[] = {"thinks", "holds_left", "eats"}, *actions[] = {"", "assert"};
  static const char *steps[] = {"P0 takes left", "P0 takes right", "P0 puts down", "P1 takes left",
                                "P1 takes right", "P1 puts down", "P2 takes left", "P2 takes right",
                                "P2 puts down", "P3 takes left", "P3 takes right", "P3 puts down"};
  return type == 1 ? places[value] : type == 2 ? actions[value] : steps[value];
}

static int row[STEPS + VARIABLES + LABELS];
static int *cleared(void) { memset(row, 0, sizeof row); return row; }

static const int *touched(int step) {
  int *r = cleared(), i = seat(step);
  r[i] = left_fork(step);
  r[next_seat(i)] = right_fork(step);
  r[PLACE + i] = 1;
  return r;
}
const int *NAME(get_transition_read_dependencies, get_transition_read_dependencies)(int step) { return touched(step); }
const int *NAME(get_transition_may_write_dependencies, get_transition_may_write_dependencies)(int step) {
  return touched(step);
}

#ifndef NO_GUARDS
/* Label i < STEPS: the philosopher is where step i begins; the others: a fork is free. */
int NAME(get_label_count, get_guard_count)(void) { return LABELS; }
int NAME(get_label, get_guard)(void *model, int label, int *s) {
  (void)model;
#ifdef LIAR
  if (label >= STEPS) return 0;
#endif
  return label < STEPS ? s[PLACE + seat(label)] == label % 3 : s[label - STEPS] == 0;
}
const int *NAME(get_label_matrix, get_guard_matrix)(int label) {
  cleared()[label < STEPS ? PLACE + seat(label) : label - STEPS] = 1;
  return row;
}
const int *NAME(get_labels, get_guards)(int step) {
  int *r = cleared();
  r[++r[0]] = step;
  if (step % 3 == THINKS) r[++r[0]] = STEPS + seat(step);
  if (step % 3 == HOLDS_LEFT) r[++r[0]] = STEPS + next_seat(seat(step));
  return r;
}
const int *NAME(get_label_nes_matrix, get_guard_nes_matrix)(int label) {
  int *r = cleared();
  if (label < STEPS) r[3 * seat(label) + (label + 2) % 3] = 1;
  for (int step = EATS; label >= STEPS && step < STEPS; step += 3)
    r[step] = seat(step) == label - STEPS || next_seat(seat(step)) == label - STEPS;
  return r;
}
const int *NAME(get_label_nds_matrix, get_guard_nds_matrix)(int label) {
  int *r = cleared();
  if (label < STEPS) r[label] = 1;
  for (int i = 0; label >= STEPS && i < SEATS; i++) {
    r[3 * i + THINKS] = i == label - STEPS;
    r[3 * i + HOLDS_LEFT] = next_seat(i) == label - STEPS;
  }
  return r;
}
const int *NAME(get_label_may_be_coenabled_matrix, get_guard_may_be_coenabled_matrix)(int label) {
  int *r = cleared();
  for (int other = 0; other < LABELS; other++)
    r[other] = label >= STEPS || other >= STEPS || seat(label) != seat(other) || label == other;
  return r;
}
#endif

#ifdef SPINS
int spins_get_edge_count(void) { return 2; }
const char *spins_get_edge_name(int e) { return e == 0 ? "action" : "statement"; }
int spins_get_edge_type(int e) { return 2 + e; }
int spins_transition_has_edge(int step, int e, int value) { return e == 0 || value == step; }
#ifndef NO_GUARDS
const char *spins_get_label_name(int label) {
  static const char *forks[] = {"guard_free0", "guard_free1", "guard_free2", "guard_free3"};
  return label < STEPS ? "guard_place" : forks[label - STEPS];
}
#endif
#else
#ifdef PROPERTY
int have_property(void) { return 1; }
int buchi_is_accepting(void *model, int *s) { (void)model; return s[PLACE] == EATS; }
#else
int have_property(void) { return 0; }
#endif
#endif
