(** Dead variables: setting to zero what nobody reads before it is written again leaves a bisimilar model.

    `lower/liveness.rs` of `stubborn-promela` ("Dead variables" in `docs/soundness.md`). What follows from the text of a
    model, and is not proved here: which numbers a step uses, and which it writes for sure.

    Why it matters: on by default for Promela. *)

From Coq Require Import Bool.

Section DeadVariables.

(** Control states of all processes together; numbers, those that are never dead among them; outcomes of steps. *)
Variables control number value step outcome : Type.
Definition numbers : Type := number -> value.
Variable fires : step -> control -> numbers -> control -> numbers -> outcome -> Prop.

Variable uses : step -> control -> number -> Prop.
(** By a step from one control state to another one, for sure. *)
Variable writes : step -> control -> control -> number -> Prop.
Hypothesis writes_dec : forall t c c1 x, {writes t c c1 x} + {~ writes t c c1 x}.

(** Guards, outcomes, what is written and where a step leads depend on what it uses; other numbers stay. *)
Hypothesis depends : forall t c v c1 v1 o w, fires t c v c1 v1 o -> (forall x, uses t c x -> w x = v x) ->
  exists w1, fires t c w c1 w1 o /\ (forall x, writes t c c1 x -> w1 x = v1 x) /\
    forall x, ~ writes t c c1 x -> (v1 x = v x /\ w1 x = w x) \/ w1 x = v1 x.

(** `ProcessLiveness`: a number is live that a next step uses, or that is live after one that need not write it. *)
Variable live : control -> number -> Prop.
Hypothesis used_is_live : forall t c v c1 v1 o x, fires t c v c1 v1 o -> uses t c x -> live c x.
Hypothesis live_before : forall t c v c1 v1 o x, fires t c v c1 v1 o -> live c1 x -> ~ writes t c c1 x -> live c x.

(** What is set to zero at a control state: dead numbers only. *)
Variable reset : control -> numbers -> numbers.
Hypothesis reset_dead_only : forall c v x, live c x -> reset c v x = v x.

Definition fires_and_resets (t : step) (c : control) (v : numbers) (c1 : control) (v1 : numbers) (o : outcome) : Prop :=
  exists v0, fires t c v c1 v0 o /\ v1 = reset c1 v0.

(** Equal but for dead numbers. *)
Definition alike (c : control) (v w : numbers) : Prop := forall x, live c x -> v x = w x.

Lemma alike_step : forall t c v w c1 v1 o, alike c v w -> fires t c v c1 v1 o ->
  exists w1, fires t c w c1 w1 o /\ alike c1 v1 w1.
Proof.
  intros t c v w c1 v1 o Ha Hf.
  destruct (depends t c v c1 v1 o w Hf) as [w1 [Hw [Hwr Hst]]].
  { intros x Hx. symmetry. apply Ha. eapply used_is_live; eauto. }
  exists w1; split; [exact Hw |]. intros x Hx. destruct (writes_dec t c c1 x) as [H | H].
  - now rewrite Hwr.
  - destruct (Hst x H) as [[E1 E2] | E]; [| now symmetry]. rewrite E1, E2. apply Ha. eapply live_before; eauto.
Qed.

(** The two models simulate each other, step by step, with the same outcomes and control states. *)
Theorem dead_variables_are_not_seen : forall c v w, alike c v w ->
  (forall t c1 v1 o, fires t c v c1 v1 o -> exists w1, fires_and_resets t c w c1 w1 o /\ alike c1 v1 w1) /\
  (forall t c1 w1 o, fires_and_resets t c w c1 w1 o -> exists v1, fires t c v c1 v1 o /\ alike c1 v1 w1).
Proof.
  intros c v w Ha. split.
  - intros t c1 v1 o Hf. destruct (alike_step t c v w c1 v1 o Ha Hf) as [w1 [Hw Haw]].
    exists (reset c1 w1). split; [exists w1; auto |]. intros x Hx. rewrite (reset_dead_only c1 w1 x Hx). auto.
  - intros t c1 w1 o [w0 [Hw ->]]. assert (Ha' : alike c w v) by (intros x Hx; symmetry; auto).
    destruct (alike_step t c w v c1 w0 o Ha' Hw) as [v1 [Hv Hav]].
    exists v1. split; [exact Hv |]. intros x Hx. rewrite (reset_dead_only c1 w0 x Hx). symmetry; auto.
Qed.

(** What is looked at in a state and is never dead has the same value in both. *)
Theorem live_numbers_are_equal : forall c v w x, alike c v w -> live c x -> v x = w x.
Proof. auto. Qed.

End DeadVariables.

(** ** An instance: a number that is written, copied once and never read again *)

Module Example.

(** 0: write 1 to it; 1: the step there asks whether it is 1; 2: the end. *)
Inductive Control := at_0 | at_1 | at_2.
Definition fires (t : unit) (c : Control) (v : numbers unit bool) (c1 : Control) (v1 : numbers unit bool) (o : unit) : Prop :=
  match c, c1 with
  | at_0, at_1 => v1 tt = true
  | at_1, at_2 => v tt = true /\ v1 = v
  | _, _ => False
  end.
Definition live (c : Control) (x : unit) : Prop := c = at_1.
Definition reset (c : Control) (v : numbers unit bool) : numbers unit bool :=
  match c with at_1 => v | _ => fun _ => false end.

Theorem what_was_read_may_go : forall v w : numbers unit bool, alike Control unit bool live at_0 v w ->
  forall c1 v1, fires tt at_0 v c1 v1 tt ->
  exists w1, fires_and_resets Control unit bool unit unit fires reset tt at_0 w c1 w1 tt /\
    alike Control unit bool live c1 v1 w1.
Proof.
  intros v w Ha c1 v1.
  set (uses := fun (_ : unit) (c : Control) (_ : unit) => c = at_1).
  set (writes := fun (_ : unit) (c _ : Control) (_ : unit) => c = at_0).
  assert (Hdec : forall t c c1 x, {writes t c c1 x} + {~ writes t c c1 x}).
  { intros t [] c2 x; [left; reflexivity | right; discriminate | right; discriminate]. }
  assert (Hdep : forall t c x c1 x1 o y, fires t c x c1 x1 o -> (forall z, uses t c z -> y z = x z) ->
    exists y1, fires t c y c1 y1 o /\ (forall z, writes t c c1 z -> y1 z = x1 z) /\
      forall z, ~ writes t c c1 z -> (x1 z = x z /\ y1 z = y z) \/ y1 z = x1 z).
  { intros t [] x [] x1 o y H Hu; simpl in H; try tauto.
    - exists x1. repeat split; auto.
    - destruct H as [H ->]. exists y. assert (E := Hu tt eq_refl). split; [split; congruence |].
      split; [discriminate | auto]. }
  assert (Hused : forall t c x c1 x1 o z, fires t c x c1 x1 o -> uses t c z -> live c z) by (intros t c x c2 x1 o z _ H; exact H).
  assert (Hbefore : forall t c x c1 x1 o z, fires t c x c1 x1 o -> live c1 z -> ~ writes t c c1 z -> live c z).
  { intros t [] x [] x1 o z H Hl Hw; simpl in *; try tauto; try discriminate; now destruct Hw. }
  assert (Hreset : forall c x z, live c z -> reset c x z = x z) by (intros c x z ->; reflexivity).
  apply (dead_variables_are_not_seen Control unit bool unit unit fires uses writes Hdec Hdep live Hused Hbefore
    reset Hreset at_0 v w Ha).
Qed.

End Example.
