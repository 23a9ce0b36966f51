(** Sticky transitions: a cycle proviso that is known before the search.

    `sticky_transitions` in `stubborn-emptiness/src/sticky.rs`. All transitions that may stay enabled after themselves
    are sticky, and of the others enough that "may make a guard true of" has no cycle among those that are not. A
    state that keeps a sticky transition is expanded.

    Why it matters: searches in several processes have no order in which a proviso could look at cycles; this
    is the one that they use. *)

From Coq Require Import List Bool Arith Lia.
From Stubborn Require Import Deadlocks Closed Tables.
Import ListNotations.

Section Sticky.

Context {M : system} {R : relations M} (tb : tables R).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).

Variable sticky : transition -> Prop.
(** `must_disable`: after itself, it is not enabled. *)
Hypothesis others_disable_themselves : forall t s s1, reachable s -> ~ sticky t -> step t s s1 -> ~ enabled t s1.
(** `helped_by`, among those that are not sticky: no component with a cycle is left. *)
Definition helps (u t : transition) : Prop :=
  ~ sticky t /\ ~ sticky u /\ exists g, In g (guards tb t) /\ In u (enable_row tb g).
Hypothesis no_cycle_of_helpers : well_founded helps.

(** A cycle of states, by any transitions. *)
Variables (at_ : nat -> state) (by_ : nat -> transition) (size : nat).
Hypothesis size_positive : 0 < size.
Hypothesis goes_round : forall i, at_ (i + size) = at_ i /\ by_ (i + size) = by_ i.
Hypothesis steps : forall i, step (by_ i) (at_ i) (at_ (S i)).
Hypothesis reachable_start : reachable (at_ 0).
(** No step fails in these states, and none is of low priority (those are sticky): guards tell. *)
Hypothesis guards_tell : forall t i, ~ sticky t -> (forall g, In g (guards tb t) -> holds g (at_ i) = true) ->
  enabled t (at_ i).

Lemma all_reachable : forall i, reachable (at_ i).
Proof. induction i as [| i IH]; [exact reachable_start | eauto using reachable_step]. Qed.

(** Whoever makes a label true between two places is in its row. *)
Lemma who_makes_it_true : forall g d i, holds g (at_ i) = false -> holds g (at_ (i + d)) = true ->
  exists k, In (by_ k) (enable_row tb g).
Proof.
  intros g; induction d as [| d IH]; intros i Hf Ht; [rewrite Nat.add_0_r in Ht; congruence |].
  replace (i + S d) with (S i + d) in Ht by lia.
  destruct (holds g (at_ (S i))) eqn:E; [| exact (IH (S i) E Ht)].
  exists i. apply (enable_row_is_whole R tb).
  exact (may_enable_law M R (at_ i) (by_ i) (at_ (S i)) g (all_reachable i) (steps i) Hf E).
Qed.

Theorem every_cycle_has_a_sticky_transition : ~ forall i, ~ sticky (by_ i).
Proof.
  intros Hno.
  assert (H : forall t, forall i, by_ i <> t).
  { intros t; induction t as [t IH] using (well_founded_ind no_cycle_of_helpers). intros i E.
    (* [t] is disabled after itself, and enabled when it comes again. *)
    assert (Hdis : ~ enabled t (at_ (S i))).
    { apply (others_disable_themselves t (at_ i)); auto using all_reachable.
      - rewrite <- E; apply Hno.
      - rewrite <- E; apply steps. }
    assert (Hfalse : exists g, In g (guards tb t) /\ holds g (at_ (S i)) = false).
    { destruct (existsb (fun g => negb (holds g (at_ (S i)))) (guards tb t)) eqn:Ex.
      - apply existsb_exists in Ex; destruct Ex as [g [Hg Hf]]. exists g; split; auto.
        now destruct (holds g (at_ (S i))).
      - destruct Hdis. apply guards_tell; [rewrite <- E; apply Hno |]. intros g Hg.
        destruct (holds g (at_ (S i))) eqn:Eg; auto.
        assert (existsb (fun g => negb (holds g (at_ (S i)))) (guards tb t) = true); [| congruence].
        apply existsb_exists; exists g; split; auto. now rewrite Eg. }
    destruct Hfalse as [g [Hg Hf]].
    assert (Htrue : holds g (at_ (S i + (size - 1))) = true).
    { replace (S i + (size - 1)) with (i + size) by lia. destruct (goes_round i) as [-> _].
      apply (guards_hold M (at_ i) t); auto using all_reachable.
      - apply step_offered with (at_ (S i)); auto using all_reachable. rewrite <- E; apply steps.
      - now apply (guards_are_guards R tb). }
    destruct (who_makes_it_true g (size - 1) (S i) Hf Htrue) as [k Hk].
    apply (IH (by_ k)) with k; auto. repeat split; [rewrite <- E; apply Hno | apply Hno |].
    exists g; auto. }
  exact (H (by_ 0) 0 eq_refl).
Qed.

End Sticky.
