(** Goals are kept: with sets driven by the goal, without any proviso and as near as before; with
    strong sets and condition G, if a state where nothing is left out can always be reached.

    The first part is about `stubborn-reduce/src/goal.rs`, the second about `Plan` in
    `stubborn-reduce/src/aim.rs` and the rows of `Tables::new` in `tables.rs` ("Goals without
    visibility: condition G" in `docs/soundness.md`). A goal is a conjunction of labels, or a step with
    a bad outcome (it fails, or violates an assertion). Of several goals, each one is kept.

    Why it matters: a `holds` for invariants and assertions rests on this. The second part follows any kept step,
    whatever its outcome, so it needs, besides accordance, that outcomes meet again ([meets_law], `do_not_meet` in
    `relations.rs`); without that the theorem is wrong, see [Outcomes]. *)

From Coq Require Import List Bool Lia Wf_nat.
From Stubborn Require Import Deadlocks Closed.
Import ListNotations.

Section Goals.

Variables (M : system) (R : relations M).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation label := (label M).
Local Notation enabled := (enabled M).
Local Notation deadlock := (deadlock M).
Local Notation run := (run M).
Local Notation path := (path M).
Local Notation end_of := (end_of M).
Local Notation avoids := (avoids M).
Local Notation contains := (contains M).

Variable chosen : state -> transition -> Prop.
Hypothesis chosen_dec : forall s t, {chosen s t} + {~ chosen s t}.
Hypothesis chosen_closed : forall s, reachable s -> closed M R (chosen s) s.

(** Reduced paths and their lengths. *)
Inductive reduced_in : nat -> state -> state -> Prop :=
| reduced_none : forall s, reduced_in 0 s s
| reduced_more : forall n t s s1 s', chosen s t -> step t s s1 -> reduced_in n s1 s' ->
    reduced_in (S n) s s'.

(** Either the word avoids the set, or it has the same end after a kept step, and is shorter. *)
Lemma take_first : forall s w s', reachable s -> run s w s' ->
  Forall (fun t => ~ chosen s t) w \/
  exists t s1 v, chosen s t /\ step t s s1 /\ run s1 v s' /\ length w = S (length v).
Proof.
  intros s w s' Hr Hrun.
  destruct (first_member state transition chosen chosen_dec s w) as [Ho | [u [t [v [E [Hu Ht]]]]]];
    [left; exact Ho | right].
  subst. change (t :: v) with ([t] ++ v) in Hrun. rewrite app_assoc in Hrun.
  apply run_app in Hrun. destruct Hrun as [m [Hut Hv]].
  destruct (closed_has_D1 M R (chosen s) s u t m Hr (chosen_closed s Hr) Ht Hu Hut) as [s1 [Hs Hum]].
  exists t, s1, (u ++ v). repeat split; auto.
  - apply run_app; eauto.
  - rewrite !app_length; simpl; lia.
Qed.

(** ** Sets driven by the goal *)

(** No path outside of the set comes to the goal. *)
Definition hits (T : transition -> Prop) (s : state) (goal : state -> Prop) : Prop :=
  ~ goal s -> forall l, path s l -> avoids T l -> ~ goal (end_of s l).

Section Driven.

Variable goal : state -> Prop.
Hypothesis goal_dec : forall s, {goal s} + {~ goal s}.
Hypothesis chosen_hits : forall s, reachable s -> hits (chosen s) s goal.

(** No key, no visibility, no proviso; weak sets as well; what is found is as near as before. *)
Theorem driven_sets_keep_the_goal : forall w s s', reachable s -> run s w s' -> goal s' ->
  exists n s'', n <= length w /\ reduced_in n s s'' /\ goal s''.
Proof.
  intros w; remember (length w) as k eqn:Hk; revert w Hk.
  induction k as [k IH] using lt_wf_ind; intros w Hk s s' Hr Hrun Hg.
  destruct (goal_dec s) as [Hs | Hs].
  { exists 0, s; repeat split; [lia | constructor | exact Hs]. }
  destruct (take_first s w s' Hr Hrun) as [Ho | [t [s1 [v [Ht [Hstep [Hv Hl]]]]]]].
  - destruct (path_of_run M _ _ _ Hrun) as [l [Hp [E1 E2]]]; subst.
    destruct (chosen_hits s Hr Hs l Hp); auto. apply avoids_outside; exact Ho.
  - destruct (IH (length v)) with (w := v) (s := s1) (s' := s') as [n [s'' [Hn [Hred Hg']]]];
      auto; [lia | eauto using reachable_step |].
    exists (S n), s''; repeat split; [lia | econstructor; eauto | exact Hg'].
Qed.

(** If no member is enabled, the goal is here or out of reach. *)
Corollary nothing_to_do : forall s, reachable s -> ~ goal s ->
  (forall t, chosen s t -> ~ enabled t s) -> forall w s', run s w s' -> ~ goal s'.
Proof.
  intros s Hr Hs Hno w s' Hrun Hg.
  destruct (driven_sets_keep_the_goal w s s' Hr Hrun Hg) as [n [s'' [_ [Hred Hg']]]].
  inversion Hred; subst; [exact (Hs Hg') |].
  eapply Hno; [eassumption | eexists; eassumption].
Qed.

End Driven.

(** A deadlock is a goal that sets with a key hit: it is kept, and as near as before ("Shortest runs to
    deadlocks" in `docs/soundness.md`). *)
Theorem deadlocks_are_as_near :
  (forall s, {deadlock s} + {~ deadlock s}) ->
  (forall s, reachable s -> ~ deadlock s -> exists k, is_key M R (chosen s) s k) ->
  forall w s s', reachable s -> run s w s' -> deadlock s' ->
  exists n s'', n <= length w /\ reduced_in n s s'' /\ deadlock s''.
Proof.
  intros Hdec Hkey; apply driven_sets_keep_the_goal; [exact Hdec |].
  intros s Hr Hs l Hp Ha Hend. destruct (Hkey s Hr Hs) as [k Hk].
  destruct (lemma_B M R (chosen s) s k l Hr Hk Hp Ha) as [y [_ [_ [Hy _]]]].
  apply (Hend k); exists y; exact Hy.
Qed.

(** ** What makes a set hit a goal *)

(** A conjunction of labels: as for the guards of a disabled transition. *)
Definition all_hold (C : list label) (s : state) : Prop := forall g, In g C -> holds g s = true.

Inductive needed (T : transition -> Prop) (s : state) (C : list label) : Prop :=
| by_label : forall g, In g C -> holds g s = false -> contains T (may_enable R g) -> needed T s C
| by_excluding_label : forall g h, In g C -> never_together R g h -> holds h s = true ->
    contains T (may_disable R h) -> needed T s C
| by_all : (forall u, T u) -> needed T s C.

Lemma all_avoid_nothing : forall (T : transition -> Prop) l, (forall u, T u) -> avoids T l -> l = [].
Proof.
  intros T [| e l] Hall Ha; [reflexivity |].
  inversion_clear Ha as [| ? ? H _]; destruct (H (Hall _)).
Qed.

(** A disjunct that holds needs nothing: [hits] asks only where it does not. *)
Theorem needed_hits : forall T s C, reachable s -> (~ all_hold C s -> needed T s C) ->
  hits T s (all_hold C).
Proof.
  intros T s C Hr Hn Hs l Hp Ha Hend. destruct (Hn Hs) as [g Hg Hf Hrow | g h Hg Hnt Hh Hrow | Hall].
  - specialize (Hend g Hg).
    rewrite (enabling_row_is_necessary M R g l s) in Hend; eauto using avoids_row; discriminate.
  - specialize (Hend g Hg). rewrite (never_together_law M R _ g h) in Hend; auto; [discriminate | |].
    + apply reachable_path; auto.
    + apply (disabling_row_is_necessary M R); eauto using avoids_row.
  - rewrite (all_avoid_nothing T l Hall Ha) in Hend. exact (Hs Hend).
Qed.

(** Steps with a bad outcome, and who may change the outcome of whom. *)
Variable bad : transition -> state -> Prop.
Variable may_change_outcome : transition -> transition -> Prop.
Hypothesis bad_dec : forall u s, {bad u s} + {~ bad u s}.
Hypothesis bad_is_offered : forall u s, reachable s -> bad u s -> offered u s.
Hypothesis outcome_law : forall s s' u t, reachable s -> ~ may_change_outcome u t -> offered u s ->
  step t s s' -> offered u s' /\ (bad u s' <-> bad u s).

(** A sought step as a member: in weak sets as in strong ones, whatever row it brings has those that may
    change its outcome (G2). *)
Definition sought (T : transition -> Prop) (s : state) (u : transition) : Prop :=
  covered M R T s u \/ (offered u s /\ contains T (may_change_outcome u)).

Lemma outcome_stays : forall u l s, reachable s -> offered u s -> path s l ->
  avoids (may_change_outcome u) l -> offered u (end_of s l) /\ (bad u (end_of s l) <-> bad u s).
Proof.
  induction l as [| [t s1] l IH]; simpl; intros s Hr Ho Hp Ha; [tauto |].
  destruct Hp as [Hs Hp]. inversion_clear Ha as [| ? ? Ht Ha'].
  destruct (outcome_law s s1 u t Hr Ht Ho Hs) as [Ho1 E].
  destruct (IH s1) as [Ho2 E2]; eauto using reachable_step. tauto.
Qed.

Theorem sought_hits : forall T s u, reachable s -> sought T s u -> hits T s (bad u).
Proof.
  intros T s u Hr [Hc | [Ho Hrow]] Hs l Hp Ha Hend.
  - destruct (covered_is_necessary M R T s u l Hr Hc Hp Ha) as [E | Hno].
    + subst; exact (Hs Hend).
    + exact (Hno (bad_is_offered _ _ (reachable_path M l s Hr Hp) Hend)).
  - destruct (outcome_stays u l s Hr Ho Hp) as [_ E]; [eauto using avoids_row | tauto].
Qed.

(** ** Strong sets with condition G and a safety proviso *)

Hypothesis chosen_strong : forall s, reachable s -> strong M R (chosen s) s.

(** Any outcome of [t] and any of [u] meet again: what is not in `do_not_meet`, and follows from accordance where one
    of the two has one outcome. This is accordance in definition 8 of Laarman et al. (2014). *)
Definition meets (t u : transition) (s : state) : Prop :=
  forall x s1, step t s x -> step u s s1 -> exists y, step u x y /\ step t s1 y.

(** Where the search may follow any kept step, rows of do-not-accord have those that may not meet, too
    (`Tables::new`). *)
Hypothesis meets_law : forall s t u, reachable s -> ~ do_not_accord R t u -> meets t u s.

(** Lemma B for *every* outcome of the key. *)
Lemma every_outcome : forall t l s x, reachable s -> path s l -> avoids (do_not_accord R t) l ->
  step t s x -> exists m, ladder M t x l m /\ step t (end_of s l) (end_of x m).
Proof.
  induction l as [| [u s1] l IH]; simpl; intros s x Hr Hp Ha Hx.
  - exists []; simpl; auto.
  - destruct Hp as [Hs Hp]. inversion_clear Ha as [| ? ? Hu Ha'].
    destruct (meets_law s t u Hr Hu x s1 Hx Hs) as [y [Hy1 Hy2]].
    destruct (IH s1 y) as [m [Hl He]]; eauto using reachable_step.
    exists ((u, y) :: m); simpl; auto.
Qed.

(** After any outcome of any kept step, the paths outside of the set lead to the goal as before. *)
Definition spares (T : transition -> Prop) (s : state) (goal : state -> Prop) : Prop :=
  forall t l y, T t -> enabled t s -> path s l -> avoids T l -> ~ goal s -> goal (end_of s l) ->
  step t (end_of s l) y -> goal y.

Definition full (s : state) : Prop := forall t, enabled t s -> chosen s t.

Local Notation reduced := (reduced M chosen).

Lemma reduced_reachable : forall s s', reduced s s' -> reachable s -> reachable s'.
Proof. induction 1; eauto using reachable_step. Qed.

Lemma reduced_snoc : forall s s1, reduced s s1 -> forall t s2, chosen s1 t -> step t s1 s2 -> reduced s s2.
Proof.
  induction 1; intros; [eapply reduced_step; eauto; constructor | eapply reduced_step; eauto].
Qed.

Section Proviso.

Variable initial : state.
Hypothesis initial_reachable : reachable initial.

(** Terminal components, levels, stack or closed set: whatever is done, this is what it promises. *)
Hypothesis proviso : forall s, reduced initial s ->
  exists f, reduced s f /\ (full f \/ deadlock f).

Variable goal : state -> Prop.
Hypothesis goal_dec : forall s, {goal s} + {~ goal s}.
Hypothesis chosen_spares : forall s, reachable s -> spares (chosen s) s goal.

Theorem proviso_keeps_the_goal : forall w s s', reduced initial s -> run s w s' -> goal s' ->
  exists s'', reduced initial s'' /\ goal s''.
Proof.
  intros w; remember (length w) as k eqn:Hk; revert w Hk.
  induction k as [k IH] using lt_wf_ind; intros w Hk s s' Hin Hrun Hg.
  destruct (proviso s Hin) as [f [Hsf Hf]]. revert w Hk s' Hin Hrun Hg.
  induction Hsf as [s | t s s1 f Ht Hstep Hsf IHf]; intros w Hk s' Hin Hrun Hg.
  - destruct w as [| t v].
    { inversion Hrun; subst; eauto. }
    inversion Hrun as [| ? ? ? s1 ? Hs Hv]; subst. destruct Hf as [Hfull | Hdead].
    + apply (IH (length v)) with (w := v) (s := s1) (s' := s'); auto.
      apply reduced_snoc with s t; auto. apply Hfull; eexists; eauto.
    + destruct (Hdead t); eexists; eauto.
  - assert (Hr : reachable s) by (eapply reduced_reachable; eauto).
    destruct (goal_dec s) as [Hs | Hs]; [eauto |].
    destruct (take_first s w s' Hr Hrun) as [Ho | [u [a [v [Hu [Hua [Hv Hl]]]]]]].
    + destruct (path_of_run M _ _ _ Hrun) as [l [Hp [E1 E2]]].
      assert (Ha : avoids (chosen s) l) by (apply avoids_outside; rewrite E1; exact Ho).
      assert (He : enabled t s) by (eexists; eauto).
      destruct (chosen_strong s Hr t Ht He) as [_ [_ Hrow]].
      destruct (every_outcome t l s s1) as [m [Hl Hlast]]; eauto using avoids_row.
      destruct (ladder_path M _ _ _ _ Hl) as [Hpm Em].
      apply (IHf Hf w Hk (end_of s1 m)).
      * apply reduced_snoc with s t; auto.
      * rewrite <- E1, <- Em. apply run_of_path, Hpm.
      * apply (chosen_spares s Hr t l (end_of s1 m)); auto. rewrite E2; exact Hg.
    + apply (IH (length v)) with (w := v) (s := a) (s' := s'); auto; [lia |].
      apply reduced_snoc with s u; auto.
Qed.

End Proviso.

(** ** The same with a cycle proviso *)

(** If no cycle consists of states where something is left out, some outcome of the key is enough: weak
    sets are right then, and accordance alone. *)
Section Cycles.

Hypothesis full_dec : forall s, {full s} + {~ full s}.
Hypothesis chosen_key : forall s, reachable s -> ~ deadlock s -> exists k, is_key M R (chosen s) s k.
Hypothesis no_cycle_leaves_out :
  well_founded (fun s1 s => ~ full s /\ exists t, chosen s t /\ step t s s1).

Variable goal : state -> Prop.
Hypothesis goal_dec : forall s, {goal s} + {~ goal s}.
Hypothesis chosen_spares : forall s, reachable s -> spares (chosen s) s goal.

Theorem cycle_proviso_keeps_the_goal : forall w s s', reachable s -> run s w s' -> goal s' ->
  exists s'', reduced s s'' /\ goal s''.
Proof.
  intros w; remember (length w) as k eqn:Hk; revert w Hk.
  induction k as [k IH] using lt_wf_ind; intros w Hk s. revert w Hk.
  induction s as [s IHs] using (well_founded_induction no_cycle_leaves_out).
  intros w Hk s' Hr Hrun Hg. destruct (goal_dec s) as [Hs | Hs].
  { exists s; split; [constructor | exact Hs]. }
  destruct (take_first s w s' Hr Hrun) as [Ho | [u [a [v [Hu [Hua [Hv Hl]]]]]]].
  - destruct w as [| t v]; [inversion Hrun; subst; now destruct Hs |].
    destruct (path_of_run M _ _ _ Hrun) as [l [Hp [E1 E2]]].
    assert (Ha : avoids (chosen s) l) by (apply avoids_outside; rewrite E1; exact Ho).
    destruct (chosen_key s Hr) as [key Hkey].
    { intros Hd; inversion Hrun; subst; apply (Hd t); eexists; eauto. }
    destruct (lemma_B M R (chosen s) s key l Hr Hkey Hp Ha) as [y [x [m [Hy [Hx [Hl E]]]]]].
    destruct (ladder_path M _ _ _ _ Hl) as [Hpm Em]. destruct Hkey as [Hk1 [Hk2 _]].
    destruct (IHs x) with (w := t :: v) (s' := y) as [s'' [Hred Hg']]; eauto using reachable_step.
    + split; [| eauto]. intros Hf. inversion Hrun; subst. inversion_clear Ho as [| ? ? Ht _].
      apply Ht, Hf; eexists; eauto.
    + rewrite <- E1, <- Em, <- E. apply run_of_path, Hpm.
    + apply (chosen_spares s Hr key l y); auto. rewrite E2; exact Hg.
    + exists s''; split; [eapply reduced_step; eauto | exact Hg'].
  - destruct (IH (length v)) with (w := v) (s := a) (s' := s') as [s'' [Hred Hg']];
      eauto using reachable_step; [lia |].
    exists s''; split; [eapply reduced_step; eauto | exact Hg'].
Qed.

End Cycles.

(** G1: an enabled member that may make a label of [C] false brings all that may make one true. *)
Definition G1 (T : transition -> Prop) (s : state) (C : list label) : Prop :=
  forall t g, T t -> enabled t s -> In g C -> may_disable R g t ->
  forall g', In g' C -> contains T (may_enable R g').

Lemma some_false : forall C s, ~ all_hold C s -> exists g, In g C /\ holds g s = false.
Proof.
  induction C as [| g C IH]; intros s H.
  - destruct H; intros g [].
  - destruct (holds g s) eqn:E.
    + destruct (IH s) as [h [Hin Hf]].
      { intros Hall; apply H; intros h [<- | Hin]; auto. }
      exists h; simpl; auto.
    + exists g; simpl; auto.
Qed.

Theorem G1_spares : forall T s C, reachable s -> G1 T s C -> spares T s (all_hold C).
Proof.
  intros T s C Hr HG t l y Ht He Hp Ha Hs Hend Hy g Hg.
  assert (Hrend := reachable_path M l s Hr Hp).
  destruct (holds g y) eqn:E; [reflexivity | exfalso].
  assert (Hd := may_disable_law M R _ _ _ _ Hrend Hy (Hend g Hg) E).
  destruct (some_false C s Hs) as [h [Hh Hf]].
  specialize (Hend h Hh). rewrite (enabling_row_is_necessary M R h l s) in Hend; auto; [discriminate |].
  eapply avoids_row; [exact (HG t g Ht He Hg Hd h Hh) | exact Ha].
Qed.

(** G2: an enabled member that may change the outcome of [u] brings [u], and [u] as a member is [sought]. *)
Definition G2 (T : transition -> Prop) (s : state) (u : transition) : Prop :=
  (T u -> sought T s u) /\ forall t, T t -> enabled t s -> may_change_outcome u t -> T u.

Theorem G2_spares : forall s u, reachable s -> G2 (chosen s) s u -> spares (chosen s) s (bad u).
Proof.
  intros s u Hr [Hm HG] t l y Ht He Hp Ha Hs Hend Hy.
  destruct (chosen_dec s u) as [Hu | Hu].
  - destruct (sought_hits _ s u Hr (Hm Hu) Hs l Hp Ha Hend).
  - assert (Hrend := reachable_path M l s Hr Hp).
    assert (Hn : ~ may_change_outcome u t) by (intros Hc; exact (Hu (HG t Ht He Hc))).
    apply (outcome_law _ y u t Hrend Hn (bad_is_offered u _ Hrend Hend) Hy), Hend.
Qed.

(** ** When accordance is enough *)

(** Accordance, as `relations.rs` has it: where both are enabled, neither disables the other, and both orders have the
    same ends. *)
Definition accord (t u : transition) (s : state) : Prop :=
  keeps u t s /\ keeps t u s /\ moves_left t u s /\ moves_left u t s.

Definition one_outcome (t : transition) (s : state) : Prop :=
  forall a b, step t s a -> step t s b -> a = b.

(** One side of accordance, as `stubborn-reduce/src/local.rs` uses it, is enough if the member has one
    outcome here. *)
Theorem one_side_meets : forall t u s, keeps u t s -> moves_left t u s -> one_outcome t s -> meets t u s.
Proof.
  intros t u s Hut Hl Hd x s1 Hx Hs1. destruct (Hut s1 Hs1) as [y Hy].
  destruct (Hl s1 y Hs1 Hy) as [x' [Hx' Hy']]. rewrite (Hd _ _ Hx Hx'). eauto.
Qed.

(** Both sides are enough if either has one outcome here. *)
Theorem accord_meets : forall t u s, accord t u s -> one_outcome t s \/ one_outcome u s -> meets t u s.
Proof.
  intros t u s [Hut [Htu [Hl Hr]]] [Hd | Hd]; [now apply one_side_meets |].
  intros x s1 Hx Hs1. destruct (one_side_meets u t s Htu Hr Hd s1 x Hs1 Hx) as [y [H1 H2]]; eauto.
Qed.

End Goals.

