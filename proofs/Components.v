(** Sets by strongly connected components: `inc`.

    `Incremental` of `stubborn-reduce/src/inc.rs`. Every visited transition has its edges: an enabled one its
    do-not-accord row, a disabled one the row of one enabling set, chosen when it was first visited. Tarjan's
    algorithm (1972) finishes components such that their edges lead into themselves or into those
    finished before; that is taken from him. The first one with an enabled transition is taken.

    Why it matters: only the component's enabled transitions are kept, and nobody looks at what can be
    reached from it. That there is nothing enabled is what the order of the components is for. *)

From Coq Require Import List Bool.
From Stubborn Require Import Deadlocks Closed Tables.
Import ListNotations.

Section Components.

Context {M : system} {R : relations M} (tb : tables R).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).

Variable s : state M.
Variable now : transition -> bool.
Hypothesis now_tells : forall t, now t = true <-> enabled t s.

(** The enabling set that was chosen for a disabled transition. *)
Variable choice : transition -> @enabling_set M.

(** `Edges`. *)
Definition edges (t : transition) : list transition :=
  if now t then accord_row tb t else row_of tb (choice t).

(** The component that is taken, and those finished before. *)
Variables component before : transition -> Prop.

Definition reached (t : transition) : Prop := component t \/ before t.

(** `enter` gives up where no enabling set may be used. *)
Hypothesis choice_is_allowed : forall t, reached t -> now t = false ->
  In (choice t) (options tb t) /\ usable s (choice t) = true.
(** Tarjan: a component is finished after what its edges lead to. *)
Hypothesis edges_lead_back : forall t u, reached t -> In u (edges t) -> reached u.
(** `finish_component` goes on while nothing is enabled; what belongs to a component that was taken for an
    earlier start ends the search (`spent`). *)
Hypothesis nothing_before : forall t, before t -> now t = false.

Theorem component_is_complete : complete tb reached s /\ complete_strong tb reached s.
Proof.
  split.
  - intros t Ht. destruct (now t) eqn:N.
    + right; left; split; [now apply now_tells |]. intros u Hu; apply (edges_lead_back t); auto.
      unfold edges; now rewrite N.
    + left. destruct (choice_is_allowed t Ht N) as [Ho Hu]. apply option_covers with tb (choice t); auto.
      intros u Hin; apply (edges_lead_back t); auto. unfold edges; now rewrite N.
  - intros t Ht He u Hu. apply now_tells in He. apply (edges_lead_back t); auto.
    unfold edges; now rewrite He.
Qed.

(** What is kept is what is enabled in the set. *)
Theorem component_has_all_that_is_enabled : forall t, reached t /\ enabled t s <-> component t /\ enabled t s.
Proof.
  intros t; split.
  - intros [[H | H] He]; [auto |]. apply nothing_before in H. apply now_tells in He. congruence.
  - intros [H He]; split; [left; exact H | exact He].
Qed.

Theorem component_has_key : forall k, component k -> now k = true -> has_key tb reached s k.
Proof.
  intros k Hk N. assert (He : enabled k s) by now apply now_tells.
  split; [now left | split; [exact He |]]. now apply component_is_complete; [left |].
Qed.

End Components.
