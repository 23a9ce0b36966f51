/* Stubborn sets for any checker, from C.
 *
 * Say how many transitions there are and which of them can enable and disturb which; get, for a
 * state, some of the enabled transitions: exploring only these loses no deadlock (or no bad state).
 *
 *     stubborn_relations *relations = stubborn_relations_new(4, 0);
 *     stubborn_can_enable(relations, 0, 1);
 *     stubborn_disturbs(relations, 1, 2);
 *     stubborn_reduction *reduction = stubborn_reduction_new(relations, STUBBORN_DEADLOCKS, "beam");
 *     stubborn_worker *worker = stubborn_worker_new(reduction);
 *     int64_t size = stubborn_set(worker, enabled, count, NULL, chosen);
 *
 * Transitions, conditions and processes are numbered from 0. Pairs that are not stated are taken to
 * be impossible, so state every pair that you cannot exclude: more pairs are always sound.
 *
 * Functions that can fail return a negative number or NULL, and stubborn_error says why. Relations
 * belong to one thread until they become a reduction; a reduction can be shared by threads, and each of
 * them makes a worker of its own.
 */
#ifndef STUBBORN_H
#define STUBBORN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stubborn_relations stubborn_relations;
typedef struct stubborn_reduction stubborn_reduction;
typedef struct stubborn_worker stubborn_worker;

/* Why the last call in this thread failed. Valid until the next call; empty if none has failed. */
const char *stubborn_error(void);

/* Relations between this many transitions and conditions, all of them empty. NULL if there is no memory for
 * them, or if transitions * (transitions + conditions + 65) exceeds 2^31. */
stubborn_relations *stubborn_relations_new(uint32_t transitions, uint32_t conditions);
void stubborn_relations_free(stubborn_relations *relations);

/* In some state u is disabled, and firing t enables it. */
int stubborn_can_enable(stubborn_relations *relations, uint32_t t, uint32_t u);

/* In some state both are enabled, and t disables u, or t u and u t end in different states. Where bad
 * states are to be kept and transitions have several outcomes, also if an outcome of t and one of u do
 * not come together again: if what u can do after the one and what t can do after the other have no end
 * in common. */
int stubborn_disturbs(stubborn_relations *relations, uint32_t t, uint32_t u);

/* Where t disturbs u, it does so by disabling it alone: where both orders are possible they end in the
 * same state. May be left out; weak sets become smaller by it. */
int stubborn_only_disables(stubborn_relations *relations, uint32_t t, uint32_t u);

/* t is disabled where this condition does not hold. May be left out; with conditions, more is known of
 * what a disabled transition waits for. */
int stubborn_waits_for(stubborn_relations *relations, uint32_t t, uint32_t condition);

/* In some state the condition does not hold, and after t it does. */
int stubborn_can_satisfy(stubborn_relations *relations, uint32_t t, uint32_t condition);

/* t is a step of this process. Ample sets need it. */
int stubborn_belongs_to(stubborn_relations *relations, uint32_t t, uint32_t process);

/* Firing t can change whether a state is bad. */
int stubborn_is_visible(stubborn_relations *relations, uint32_t t);

/* What a reduced search must keep. */
enum stubborn_keep {
  /* Every state without successors. */
  STUBBORN_DEADLOCKS = 0,
  /* Whether a bad state can be reached; the state graph has no cycles. */
  STUBBORN_INVARIANTS_ACYCLIC = 1,
  /* The same with cycles: the search says which sets are not enough (insufficient, below). */
  STUBBORN_INVARIANTS = 2,
};

/* Takes the relations, which need not be freed any more (also if it fails). The algorithm is one of those
 * of `stubborn check --por`, as "beam" or "deletion"; NULL for the local sets of Bokor and others. */
stubborn_reduction *stubborn_reduction_new(stubborn_relations *relations, enum stubborn_keep keep,
                                           const char *algorithm);
/* Workers may outlive it. */
void stubborn_reduction_free(stubborn_reduction *reduction);

/* Computes sets, in one thread at a time. */
stubborn_worker *stubborn_worker_new(const stubborn_reduction *reduction);
void stubborn_worker_free(stubborn_worker *worker);

/* What the search knows of one state. Every part may be NULL. */
typedef struct stubborn_situation {
  /* Handed to the functions. */
  void *context;
  /* Whether a condition holds. NULL: nothing is known of conditions. */
  bool (*holds)(void *context, uint32_t condition);
  /* Only for STUBBORN_INVARIANTS, which needs it: whether this set is not enough, for example because
   * every successor by it was expanded before; then all enabled transitions are taken. */
  bool (*insufficient)(void *context, const uint32_t *set, size_t size);
} stubborn_situation;

/* A stubborn set of a state in which exactly these transitions are enabled: writes its enabled members
 * in their order to chosen, which has room for as many as are enabled, and returns how many there are.
 * No more are enabled than there are transitions.
 * The situation may be NULL, except for STUBBORN_INVARIANTS. */
int64_t stubborn_set(stubborn_worker *worker, const uint32_t *enabled, size_t count,
                     const stubborn_situation *situation, uint32_t *chosen);

#ifdef __cplusplus
}
#endif

#endif
