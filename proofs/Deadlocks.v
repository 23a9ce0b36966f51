(** Stubborn sets keep every reachable deadlock.

    The conditions are D1 and D2 of Valmari (1989, 2017), for any set-valued
    function of the state; nothing is assumed finite or deterministic. *)

From Coq Require Import List Lia Wf_nat.
Import ListNotations.

Section Deadlocks.

Variables (state transition : Type).
Variable step : transition -> state -> state -> Prop.

Definition enabled (t : transition) (s : state) : Prop := exists s', step t s s'.
Definition deadlock (s : state) : Prop := forall t, ~ enabled t s.

(** A run along a word of transitions. *)
Inductive run : state -> list transition -> state -> Prop :=
| run_nil  : forall s, run s [] s
| run_cons : forall t w s s' s'', step t s s' -> run s' w s'' -> run s (t :: w) s''.

(** The set chosen in a state. *)
Variable chosen : state -> transition -> Prop.
Hypothesis chosen_dec : forall s t, {chosen s t} + {~ chosen s t}.

Definition outside (s : state) (w : list transition) : Prop := Forall (fun t => ~ chosen s t) w.

(** D1: a member that occurs after others can be moved to the front. *)
Hypothesis D1 : forall s w t s', chosen s t -> outside s w -> run s (w ++ [t]) s' ->
  exists s1, step t s s1 /\ run s1 w s'.

(** D2: unless nothing is enabled, some member stays enabled whatever others do. *)
Hypothesis D2 : forall s, ~ deadlock s ->
  exists key, chosen s key /\ forall w s', outside s w -> run s w s' -> enabled key s'.

Inductive reduced : state -> state -> Prop :=
| reduced_refl : forall s, reduced s s
| reduced_step : forall t s s' s'', chosen s t -> step t s s' -> reduced s' s'' -> reduced s s''.

Lemma run_app : forall u v s s'', run s (u ++ v) s'' <-> exists s', run s u s' /\ run s' v s''.
Proof.
  induction u as [| t u IH]; intros v s s''; simpl; split.
  - intros H; exists s; split; [constructor | exact H].
  - intros [s' [Hu Hv]]; inversion Hu; subst; exact Hv.
  - intros H; inversion H; subst. apply IH in H5. destruct H5 as [m [Hu Hv]].
    exists m; split; [econstructor; eauto | exact Hv].
  - intros [s' [Hu Hv]]; inversion Hu; subst. econstructor; [eassumption |]. apply IH. eauto.
Qed.

(** The first member of a word, if there is one. *)
Lemma first_member : forall s w, outside s w \/
  exists u t v, w = u ++ t :: v /\ outside s u /\ chosen s t.
Proof.
  intros s; induction w as [| t w IH].
  - left; constructor.
  - destruct (chosen_dec s t) as [Hin | Hout].
    + right; exists [], t, w; repeat split; auto; constructor.
    + destruct IH as [IH | [u [x [v [E [Hu Hx]]]]]].
      * left; constructor; auto.
      * right; exists (t :: u), x, v; subst; repeat split; auto; constructor; auto.
Qed.

Theorem deadlocks_are_kept : forall w s s', run s w s' -> deadlock s' -> reduced s s'.
Proof.
  intros w; remember (length w) as n eqn:Hn; revert w Hn.
  induction n as [n IH] using lt_wf_ind; intros w Hn s s' Hrun Hdead.
  destruct w as [| a w'].
  - inversion Hrun; subst; constructor.
  - destruct (first_member s (a :: w')) as [Hout | [u [t [v [E [Hu Ht]]]]]].
    + exfalso. destruct (D2 s) as [key [_ Hkey]].
      { intros Hd; inversion Hrun; subst; apply (Hd a); eexists; eassumption. }
      exact (Hdead key (Hkey _ _ Hout Hrun)).
    + rewrite E in Hrun. change (t :: v) with ([t] ++ v) in Hrun. rewrite app_assoc in Hrun.
      apply run_app in Hrun. destruct Hrun as [m [Hut Hv]].
      destruct (D1 s u t m Ht Hu Hut) as [s1 [Hstep Hum]].
      apply (reduced_step t s s1 s' Ht Hstep).
      apply (IH (length (u ++ v))) with (w := u ++ v); auto.
      * subst n. rewrite E. rewrite !app_length; simpl; lia.
      * apply run_app; eauto.
Qed.

End Deadlocks.

