(** Closed sets have D1 and D2, so they keep every reachable deadlock.

    States: what `stubborn-system/src/relations.rs` promises of each relation, in reachable states
    only, for transitions with any number of outcomes; what the loop of
    `stubborn-reduce/src/growth.rs` leaves behind ([closed], [is_key]); that this is enough for D1
    and D2 of [Deadlocks], weak and strong, with all squares in between (D1' of Neele, Valmari,
    Willemse, 2020). Lemmas A and B of `docs/soundness.md`, lemma 1 of Laarman et al. (2014).

    Why it matters: every algorithm that ends in such a set, whatever it chooses on the way, loses
    no deadlock. *)

From Coq Require Import List Bool.
From Stubborn Require Import Deadlocks.
Import ListNotations.

(** ** Systems and what is known of them *)

Record system := {
  state : Type;
  transition : Type;
  label : Type;
  reachable : state -> Prop;
  (** Steps that do not fail, with any number of outcomes. *)
  step : transition -> state -> state -> Prop;
  (** All guards hold and nothing outranks it; its step may fail, then it counts as disabled. *)
  offered : transition -> state -> Prop;
  holds : label -> state -> bool;
  guard : transition -> label -> Prop;
  (** Of a higher priority (a smaller number in the code). *)
  outranks : transition -> transition -> Prop;
  reachable_step : forall s t s', reachable s -> step t s s' -> reachable s';
  step_offered : forall s t s', reachable s -> step t s s' -> offered t s;
  guards_hold : forall s t g, reachable s -> offered t s -> guard t g -> holds g s = true;
  outranked : forall s k t, reachable s -> offered k s -> outranks k t -> ~ offered t s
}.
Arguments reachable {_}. Arguments step {_}. Arguments offered {_}. Arguments holds {_}.
Arguments guard {_}. Arguments outranks {_}.

Notation enabled M := (Deadlocks.enabled (state M) (transition M) step).
Notation deadlock M := (Deadlocks.deadlock (state M) (transition M) step).
Notation run M := (Deadlocks.run (state M) (transition M) step).
Notation reduced M chosen := (Deadlocks.reduced (state M) (transition M) step chosen).

(** [u] does not disable [t] here. *)
Definition keeps {M} (u t : transition M) (s : state M) : Prop :=
  forall s1, step u s s1 -> enabled M t s1.

(** What [u t] reaches from here, [t u] reaches. *)
Definition moves_left {M} (t u : transition M) (s : state M) : Prop :=
  forall s1 s2, step u s s1 -> step t s1 s2 -> exists x, step t s x /\ step u x s2.

(** The laws of `relations.rs`, as far as they are needed here. Of accordance that is one half: that
    [t] keeps [u], and that [t u] reaches no more than [u t], is not asked for. *)
Record relations (M : system) := {
  may_enable : label M -> transition M -> Prop;
  may_disable : label M -> transition M -> Prop;
  never_together : label M -> label M -> Prop;
  do_not_accord : transition M -> transition M -> Prop;
  do_not_left_accord : transition M -> transition M -> Prop;
  may_enable_law : forall s t s' g, reachable s -> step t s s' ->
    holds g s = false -> holds g s' = true -> may_enable g t;
  may_disable_law : forall s t s' g, reachable s -> step t s s' ->
    holds g s = true -> holds g s' = false -> may_disable g t;
  never_together_law : forall s g h, reachable s -> never_together g h ->
    holds h s = true -> holds g s = false;
  accord_law : forall s t u, reachable s -> ~ do_not_accord t u ->
    enabled M t s -> enabled M u s -> keeps u t s /\ moves_left t u s;
  left_law : forall s t u, reachable s -> ~ do_not_left_accord t u -> moves_left t u s
}.
Arguments may_enable {_}. Arguments may_disable {_}. Arguments never_together {_}.
Arguments do_not_accord {_}. Arguments do_not_left_accord {_}.

Section Closed.

Variables (M : system) (R : relations M).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).
Local Notation deadlock := (deadlock M).
Local Notation run := (run M).

(** ** What growing a set leaves behind *)

Definition contains (T : transition -> Prop) (row : transition -> Prop) : Prop :=
  forall u, row u -> T u.

Definition is_key (T : transition -> Prop) (s : state) (k : transition) : Prop :=
  T k /\ enabled k s /\ contains T (do_not_accord R k).

(** A disabled member needs a set that must act first: who may make true a guard that is false, or
    who may make false what excludes a guard; or a key that outranks it, or one of whose guards excludes a
    guard of it (as the location of a process excludes its other ones, [Ample]); or everything. *)
Inductive covered (T : transition -> Prop) (s : state) (t : transition) : Prop :=
| by_guard : forall g, guard t g -> holds g s = false -> contains T (may_enable R g) -> covered T s t
| by_excluder : forall g h, guard t g -> never_together R g h -> holds h s = true ->
    contains T (may_disable R h) -> covered T s t
| by_key : forall k, is_key T s k -> outranks k t -> covered T s t
| by_key_guard : forall k g h, is_key T s k -> guard k h -> guard t g -> never_together R g h -> covered T s t
| by_everything : (forall u, T u) -> covered T s t.

(** The middle case is that of strong sets and of keys; the last one that of weak sets. (In the last
    case nobody asks whether [t] is enabled.) *)
Definition closed (T : transition -> Prop) (s : state) : Prop :=
  forall t, T t -> covered T s t
    \/ (enabled t s /\ contains T (do_not_accord R t))
    \/ contains T (do_not_left_accord R t).

(** In a strong set every enabled member is a key. *)
Definition strong (T : transition -> Prop) (s : state) : Prop :=
  forall t, T t -> enabled t s -> is_key T s t.

(** ** Paths with their states *)

Fixpoint path (s : state) (l : list (transition * state)) : Prop :=
  match l with
  | [] => True
  | (u, s1) :: l => step u s s1 /\ path s1 l
  end.

Fixpoint end_of (s : state) (l : list (transition * state)) : state :=
  match l with
  | [] => s
  | (_, s1) :: l => end_of s1 l
  end.

Definition avoids (T : transition -> Prop) (l : list (transition * state)) : Prop :=
  Forall (fun e => ~ T (fst e)) l.

(** The path [m] from [x] has the same transitions as [l], and [t] leads from each state of [l] to the
    one of [m]: all squares close. *)
Fixpoint ladder (t : transition) (x : state) (l m : list (transition * state)) : Prop :=
  match l, m with
  | [], [] => True
  | (u, s1) :: l, (v, x1) :: m => u = v /\ step u x x1 /\ step t s1 x1 /\ ladder t x1 l m
  | _, _ => False
  end.

Lemma ladder_path : forall t l m x, ladder t x l m -> path x m /\ map fst m = map fst l.
Proof.
  induction l as [| [u s1] l IH]; destruct m as [| [v x1] m]; simpl; try tauto.
  intros x [E [Hs [_ H]]]; subst. destruct (IH _ _ H) as [Hp E]. rewrite E; auto.
Qed.

Lemma path_of_run : forall s w s', run s w s' ->
  exists l, path s l /\ map fst l = w /\ end_of s l = s'.
Proof.
  induction 1 as [s | t w s s1 s' Hs _ [l [Hp [E1 E2]]]].
  - exists []; simpl; auto.
  - exists ((t, s1) :: l); simpl; subst; auto.
Qed.

Lemma run_of_path : forall l s, path s l -> run s (map fst l) (end_of s l).
Proof.
  induction l as [| [u s1] l IH]; simpl; intros s H; [constructor |].
  destruct H; econstructor; eauto.
Qed.

Lemma reachable_path : forall l s, reachable s -> path s l -> reachable (end_of s l).
Proof.
  induction l as [| [u s1] l IH]; simpl; intros s Hr H; [exact Hr |].
  destruct H; eauto using reachable_step.
Qed.

Lemma avoids_outside : forall T l, avoids T l <-> Forall (fun u => ~ T u) (map fst l).
Proof. intros T l; unfold avoids; rewrite Forall_map; tauto. Qed.

Lemma avoids_row : forall (T row : transition -> Prop) l, contains T row -> avoids T l -> avoids row l.
Proof. intros T row l H; apply Forall_impl; intros e He Hrow; exact (He (H _ Hrow)). Qed.

(** ** Rows are necessary sets *)

(** Whoever makes a label true on the way is in its row. *)
Lemma enabling_row_is_necessary : forall g l s, reachable s -> path s l -> holds g s = false ->
  avoids (may_enable R g) l -> holds g (end_of s l) = false.
Proof.
  induction l as [| [u s1] l IH]; simpl; intros s Hr Hp Hg Ha; [exact Hg |].
  destruct Hp as [Hs Hp]. inversion_clear Ha as [| ? ? Hu Ha'].
  apply IH; eauto using reachable_step. destruct (holds g s1) eqn:E; [| reflexivity].
  destruct (Hu (may_enable_law M R _ _ _ _ Hr Hs Hg E)).
Qed.

Lemma disabling_row_is_necessary : forall h l s, reachable s -> path s l -> holds h s = true ->
  avoids (may_disable R h) l -> holds h (end_of s l) = true.
Proof.
  induction l as [| [u s1] l IH]; simpl; intros s Hr Hp Hg Ha; [exact Hg |].
  destruct Hp as [Hs Hp]. inversion_clear Ha as [| ? ? Hu Ha'].
  apply IH; eauto using reachable_step. destruct (holds h s1) eqn:E; [reflexivity |].
  destruct (Hu (may_disable_law M R _ _ _ _ Hr Hs Hg E)).
Qed.

Lemma stays_enabled : forall t l s, reachable s -> path s l -> enabled t s ->
  avoids (do_not_accord R t) l -> enabled t (end_of s l).
Proof.
  induction l as [| [u s1] l IH]; simpl; intros s Hr Hp He Ha; [exact He |].
  destruct Hp as [Hs Hp]. inversion_clear Ha as [| ? ? Hu Ha'].
  destruct (accord_law M R s t u Hr Hu He) as [Hk _]; [eexists; eauto |].
  apply IH; eauto using reachable_step.
Qed.

(** What is covered is not offered after any path outside of the set, unless the set is everything
    (then there is no such path but the empty one). *)
Lemma covered_is_necessary : forall T s t l, reachable s -> covered T s t -> path s l -> avoids T l ->
  l = [] \/ ~ offered t (end_of s l).
Proof.
  intros T s t l Hr Hc Hp Ha. assert (Hend := reachable_path l s Hr Hp).
  destruct Hc as [g Hg Hf Hrow | g h Hg Hn Hh Hrow | k [_ [He Hrow]] Ho
    | k g h [_ [He Hrow]] Hkh Htg Hn | Hall].
  - right; intros Hoff. apply (guards_hold M _ t g) in Hoff; auto.
    rewrite (enabling_row_is_necessary g l s) in Hoff; eauto using avoids_row; discriminate.
  - right; intros Hoff. apply (guards_hold M _ t g) in Hoff; auto.
    rewrite (never_together_law M R _ g h) in Hoff; auto; [discriminate |].
    apply disabling_row_is_necessary; eauto using avoids_row.
  - right. destruct (stays_enabled k l s) as [y Hy]; eauto using avoids_row.
    apply (outranked M _ k t); eauto using step_offered.
  - right; intros Hoff. destruct (stays_enabled k l s) as [y Hy]; eauto using avoids_row.
    assert (Hh : holds h (end_of s l) = true) by eauto using guards_hold, step_offered.
    apply (guards_hold M _ t g) in Hoff; auto.
    rewrite (never_together_law M R _ g h) in Hoff; auto; discriminate.
  - left; destruct l as [| e l]; [reflexivity |].
    inversion_clear Ha as [| ? ? Hx _]; destruct (Hx (Hall _)).
Qed.

(** ** Moving to the front *)

Lemma accords_to_front : forall t l s y, reachable s -> path s l -> enabled t s ->
  avoids (do_not_accord R t) l -> step t (end_of s l) y ->
  exists x m, step t s x /\ ladder t x l m /\ end_of x m = y.
Proof.
  induction l as [| [u s1] l IH]; simpl; intros s y Hr Hp He Ha Hy.
  - exists y, []; simpl; auto.
  - destruct Hp as [Hs Hp]. inversion_clear Ha as [| ? ? Hu Ha'].
    destruct (accord_law M R s t u Hr Hu He) as [Hk Hm]; [eexists; eauto |].
    destruct (IH s1 y) as [x1 [m [Hx [Hl E]]]]; eauto using reachable_step.
    destruct (Hm _ _ Hs Hx) as [x [Htx Hux]].
    exists x, ((u, x1) :: m); simpl; auto 6.
Qed.

Lemma left_to_front : forall t l s y, reachable s -> path s l ->
  avoids (do_not_left_accord R t) l -> step t (end_of s l) y ->
  exists x m, step t s x /\ ladder t x l m /\ end_of x m = y.
Proof.
  induction l as [| [u s1] l IH]; simpl; intros s y Hr Hp Ha Hy.
  - exists y, []; simpl; auto.
  - destruct Hp as [Hs Hp]. inversion_clear Ha as [| ? ? Hu Ha'].
    destruct (IH s1 y) as [x1 [m [Hx [Hl E]]]]; eauto using reachable_step.
    destruct (left_law M R s t u Hr Hu _ _ Hs Hx) as [x [Htx Hux]].
    exists x, ((u, x1) :: m); simpl; auto 6.
Qed.

(** Lemma A: a member that comes after others can come first, and all squares close. *)
Theorem lemma_A : forall T s t l y, reachable s -> closed T s -> T t -> path s l -> avoids T l ->
  step t (end_of s l) y -> exists x m, step t s x /\ ladder t x l m /\ end_of x m = y.
Proof.
  intros T s t l y Hr Hc Ht Hp Ha Hy.
  destruct (Hc t Ht) as [Hcov | [[He Hrow] | Hrow]].
  - destruct (covered_is_necessary T s t l Hr Hcov Hp Ha) as [E | Hnot].
    + subst; simpl in *. exists y, []; simpl; auto.
    + destruct Hnot; eauto using reachable_path, step_offered.
  - eapply accords_to_front; eauto using avoids_row.
  - eapply left_to_front; eauto using avoids_row.
Qed.

(** Lemma B: a key can come first on any path of others, with some outcome. *)
Theorem lemma_B : forall T s k l, reachable s -> is_key T s k -> path s l -> avoids T l ->
  exists y x m, step k (end_of s l) y /\ step k s x /\ ladder k x l m /\ end_of x m = y.
Proof.
  intros T s k l Hr [_ [He Hrow]] Hp Ha.
  destruct (stays_enabled k l s) as [y Hy]; eauto using avoids_row.
  destruct (accords_to_front k l s y) as [x [m [H1 [H2 H3]]]]; eauto using avoids_row.
  exists y, x, m; auto.
Qed.

Theorem closed_has_D1 : forall T s w t s', reachable s -> closed T s -> T t ->
  Forall (fun u => ~ T u) w -> run s (w ++ [t]) s' -> exists s1, step t s s1 /\ run s1 w s'.
Proof.
  intros T s w t s' Hr Hc Ht Ho Hrun. apply run_app in Hrun. destruct Hrun as [sn [Hw Hlast]].
  assert (Hstep : step t sn s').
  { inversion Hlast as [| ? ? ? ? ? Hs Hnil]; subst. inversion Hnil; subst; exact Hs. }
  destruct (path_of_run _ _ _ Hw) as [l [Hp [E1 E2]]]; subst.
  destruct (lemma_A T s t l s') as [x [m [Hx [Hl E]]]]; auto; [apply avoids_outside; exact Ho |].
  exists x; split; [exact Hx |].
  destruct (ladder_path _ _ _ _ Hl) as [Hpm Em]. rewrite <- E, <- Em. apply run_of_path, Hpm.
Qed.

Theorem key_has_D2 : forall T s k w s', reachable s -> is_key T s k ->
  Forall (fun u => ~ T u) w -> run s w s' -> enabled k s'.
Proof.
  intros T s k w s' Hr Hk Ho Hrun. destruct (path_of_run _ _ _ Hrun) as [l [Hp [E1 E2]]]; subst.
  destruct (lemma_B T s k l) as [y [x [m [Hy _]]]]; auto; [apply avoids_outside; exact Ho |].
  eexists; eauto.
Qed.

(** ** Deadlocks *)

Variable chosen : state -> transition -> Prop.
Hypothesis chosen_dec : forall s t, {chosen s t} + {~ chosen s t}.
Hypothesis chosen_closed : forall s, reachable s -> closed (chosen s) s.
Hypothesis chosen_key : forall s, reachable s -> ~ deadlock s -> exists k, is_key (chosen s) s k.

Local Notation reduced := (reduced M chosen).

(** [Deadlocks] speaks of all states, the relations of reachable ones only: take these as the states. *)
Let inside : Type := {s : state | reachable s}.
Let step_in (t : transition) (a b : inside) : Prop := step t (proj1_sig a) (proj1_sig b).
Let chosen_in (a : inside) : transition -> Prop := chosen (proj1_sig a).
Let run_in := Deadlocks.run inside transition step_in.

Lemma enabled_in : forall t a, Deadlocks.enabled inside transition step_in t a <-> enabled t (proj1_sig a).
Proof.
  intros t [s Hr]; split.
  - intros [b H]; exists (proj1_sig b); exact H.
  - intros [s' H]; exists (exist reachable s' (reachable_step M _ _ _ Hr H)); exact H.
Qed.

Lemma run_out : forall a w b, run_in a w b -> run (proj1_sig a) w (proj1_sig b).
Proof. induction 1; econstructor; eauto. Qed.

(** After a first step the end can be any given one: no two proofs need to be equal. *)
Lemma run_to_given : forall s1 w s', run s1 w s' -> forall (q : reachable s') s (p : reachable s) t,
  step t s s1 -> exists p1 : reachable s1, run_in (exist _ s1 p1) w (exist _ s' q).
Proof.
  induction 1 as [s1 | u w s1 s2 s' Hu Hw IH]; intros q s p t Hs.
  - exists q; constructor.
  - exists (reachable_step M _ _ _ p Hs).
    destruct (IH q s1 (reachable_step M _ _ _ p Hs) u Hu) as [p2 H].
    apply run_cons with (exist _ s2 p2); [exact Hu | exact H].
Qed.

Lemma run_into : forall s w s', run s w s' -> forall p : reachable s,
  exists q : reachable s', run_in (exist _ s p) w (exist _ s' q).
Proof.
  induction 1 as [s | t w s s1 s' Hs Hw IH]; intros p.
  - exists p; constructor.
  - destruct (IH (reachable_step M _ _ _ p Hs)) as [q H]. exists q.
    eapply run_cons; [| exact H]; exact Hs.
Qed.

Lemma reduced_out : forall a b, Deadlocks.reduced inside transition step_in chosen_in a b ->
  reduced (proj1_sig a) (proj1_sig b).
Proof. induction 1; econstructor; eauto. Qed.

Theorem closed_sets_keep_deadlocks : forall w s s', reachable s -> run s w s' -> deadlock s' ->
  reduced s s'.
Proof.
  intros w s s' p Hrun Hdead. destruct (run_into _ _ _ Hrun p) as [q Hin].
  apply (reduced_out (exist _ s p) (exist _ s' q)).
  apply (deadlocks_are_kept inside transition step_in chosen_in) with (w := w); [| | | exact Hin |].
  - intros a t; apply chosen_dec.
  - intros [a pa] v t [b pb] Ht Ho Hr.
    destruct (closed_has_D1 (chosen a) a v t b) as [x [Hx Hv]]; auto.
    { exact (run_out _ _ _ Hr). }
    destruct (run_to_given _ _ _ Hv pb a pa t Hx) as [px Hvx].
    exists (exist _ x px); split; [exact Hx | exact Hvx].
  - intros [a pa] Hnot. destruct (chosen_key a pa) as [k Hk].
    { intros Hd; apply Hnot; intros t Ht; apply (Hd t), (enabled_in t (exist _ a pa)), Ht. }
    exists k; split; [exact (proj1 Hk) |]. intros v b Ho Hr.
    apply enabled_in. eapply key_has_D2; [exact pa | exact Hk | exact Ho | exact (run_out _ _ _ Hr)].
  - intros t Ht; apply (Hdead t), (enabled_in t (exist _ s' q)), Ht.
Qed.

End Closed.

