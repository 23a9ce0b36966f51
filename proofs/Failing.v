(** Steps that fail: they count as disabled, and where some step fails, nothing is left out.

    `some_step_fails` in `stubborn-reduce/src/reducer.rs` and `steer.rs`; "Steps that fail" in `docs/soundness.md`.
    Sets are computed from the steps that a state has, failing ones included: in a state where none fails, that is
    the same. A state all of whose steps fail is no deadlock, and whether a step can fail is a goal of its own
    ([Goals.sought]).

    Why it matters: without this a step that may fail would conflict with everything, and models with arrays
    would hardly be reduced; with less, a set would be used that is none. *)

From Coq Require Import List Bool.
From Stubborn Require Import Deadlocks Closed.
Import ListNotations.

Section Failing.

Variables (state transition label : Type).
(** [None]: the step fails. Any number of outcomes, some of which may fail. *)
Variable fires : transition -> state -> option state -> Prop.
Variable holds : label -> state -> bool.
Variable guard : transition -> label -> Prop.
Variable outranks : transition -> transition -> Prop.
Variable reachable : state -> Prop.

(** What `Successors` tell: there is a step, whatever its outcome. *)
Definition has_step (t : transition) (s : state) : Prop := exists o, fires t s o.
Definition fails_in (s : state) : Prop := exists t, fires t s None.

Hypothesis reachable_fires : forall s t s1, reachable s -> fires t s (Some s1) -> reachable s1.
Hypothesis guards_hold : forall s t g, reachable s -> has_step t s -> guard t g -> holds g s = true.
Hypothesis outranked : forall s k t, reachable s -> has_step k s -> outranks k t -> ~ has_step t s.

(** The system whose steps do not fail. *)
Definition M : system := {|
  Closed.state := state; Closed.transition := transition; Closed.label := label;
  Closed.reachable := reachable;
  Closed.step := fun t s s1 => fires t s (Some s1);
  offered := has_step; Closed.holds := holds; Closed.guard := guard; Closed.outranks := outranks;
  reachable_step := fun s t s1 Hr Hs => reachable_fires s t s1 Hr Hs;
  step_offered := fun s t s1 _ Hs => ex_intro _ (Some s1) Hs;
  Closed.guards_hold := guards_hold; Closed.outranked := outranked |}.

(** Where none fails, "enabled" means the same for both. *)
Lemma same_where_none_fails : forall s, ~ fails_in s -> forall t, has_step t s <-> enabled M t s.
Proof.
  intros s Hno t; split.
  - intros [[s1 |] H]; [now exists s1 | destruct Hno; now exists t].
  - intros [s1 H]; now exists (Some s1).
Qed.

(** What the search explores: the set, or everything where a step fails. *)
Variable set : state -> transition -> Prop.
Hypothesis set_dec : forall s t, {set s t} + {~ set s t}.
Variable fails_dec : forall s, {fails_in s} + {~ fails_in s}.
Definition explored (s : state) (t : transition) : Prop := fails_in s \/ set s t.

Variable R : relations M.
(** Sets are closed where no step fails, and have a key there. *)
Hypothesis set_closed : forall s, reachable s -> ~ fails_in s -> closed M R (set s) s.
Hypothesis set_key : forall s, reachable s -> ~ fails_in s -> (exists t, has_step t s) ->
  exists k, is_key M R (set s) s k.

Lemma explored_dec : forall s t, {explored s t} + {~ explored s t}.
Proof.
  intros s t; unfold explored. destruct (fails_dec s) as [H | H]; auto. destruct (set_dec s t); auto.
  right; tauto.
Qed.

Theorem explored_is_closed : forall s, reachable s -> closed M R (explored s) s.
Proof.
  intros s Hr. destruct (fails_dec s) as [Hf | Hf].
  - intros t _; left; apply by_everything; intros u; now left.
  - (* The same members as the set. *)
    assert (E : forall t, explored s t <-> set s t) by (intros t; unfold explored; tauto).
    assert (Hcon : forall row : transition -> Prop, contains M (set s) row -> contains M (explored s) row).
    { intros row H u Hu; apply E, H, Hu. }
    assert (Hkey : forall k, is_key M R (set s) s k -> is_key M R (explored s) s k).
    { intros k [H1 [H2 H3]]; split; [now apply E | split; auto]. }
    intros t Ht. apply E in Ht.
    destruct (set_closed s Hr Hf t Ht) as [[g Hg Hh Hrow | g h Hg Hn Hh Hrow | k Hk Ho | k g h Hk Hkg Htg Hn | Hall] | [[He Hrow] | Hrow]].
    + left; eapply by_guard; eauto.
    + left; eapply by_excluder; eauto.
    + left; eapply by_key; eauto.
    + left; eapply by_key_guard; eauto.
    + left; apply by_everything; intros u; apply E, Hall.
    + right; left; auto.
    + right; right; auto.
Qed.

(** Where all steps fail, everything that does not fail is explored, which is nothing; so a key is asked for only
    where something does not fail. *)
Lemma explored_has_key : forall s, reachable s -> ~ deadlock M s ->
  {exists t, enabled M t s} + {deadlock M s} -> exists k, is_key M R (explored s) s k.
Proof.
  intros s Hr Hno [Hex | Hd]; [| contradiction]. destruct (fails_dec s) as [Hf | Hf].
  - destruct Hex as [t Ht]. exists t; split; [now left | split; [exact Ht | intros u _; now left]].
  - destruct Hex as [t Ht]. destruct (set_key s Hr Hf) as [k [H1 [H2 H3]]].
    + exists t. now apply same_where_none_fails.
    + exists k; split; [now right | split; [exact H2 | intros u Hu; right; now apply H3]].
Qed.

(** Every state without any step is reached, by steps that do not fail. *)
Theorem states_without_steps_are_kept :
  (forall s, {exists t, enabled M t s} + {deadlock M s}) ->
  forall w s s1, reachable s -> run M s w s1 -> (forall t, ~ has_step t s1) -> reduced M explored s s1.
Proof.
  intros Hdec w s s1 Hr Hrun Hend.
  apply (closed_sets_keep_deadlocks M R explored explored_dec explored_is_closed) with w; auto.
  - intros x Hx Hno. apply explored_has_key; auto.
  - intros t [y Hy]. apply (Hend t). now exists (Some y).
Qed.

End Failing.
