(** Branching time: one step alone, or everything, is not seen by CTL* without "next".

    `BranchingReduction` in `stubborn-emptiness/src/branching.rs`: a reduced state keeps everything, or exactly one
    step, invisible, by a transition that is deterministic, and there is a cycle proviso (after Gerth, Kuiper, Peled,
    Penczek, 1999). Other steps may have any number of outcomes. The reduced graph and the full one are branching
    bisimilar, with the same deadlocks and the same divergence.

    Why it matters: formulas of CTL are checked on such graphs. *)

From Coq Require Import List Bool Arith Lia.
From Stubborn Require Import Deadlocks Closed Goals Outcomes Mistakes.
Import ListNotations.

Section Branching.

Variables (M : system) (R : relations M).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).
Local Notation deadlock := (deadlock M).
Local Notation path := (path M).
Local Notation end_of := (end_of M).

Hypothesis same : forall t u : transition, {t = u} + {t <> u}.
Variable value : Type.
Variable shown : state -> value.

(** Whatever else happens, it stays possible, has one outcome, and commutes. *)
Definition inert (a : transition) (s : state) : Prop :=
  reachable s /\ forall l, path s l -> Forall (fun e => fst e <> a) l ->
    enabled a (end_of s l) /\
    forall t x y, t <> a -> step a (end_of s l) x -> step t (end_of s l) y -> exists z, step t x z /\ step a y z.

Definition deterministic (a : transition) : Prop := forall s x y, reachable s -> step a s x -> step a s y -> x = y.
Definition silent (a : transition) : Prop :=
  deterministic a /\ forall s x, reachable s -> step a s x -> shown x = shown s.

(** The only enabled member of a set with D1 that is its key. *)
Theorem alone_is_inert : forall (T : transition -> Prop) (dec : forall t, {T t} + {~ T t}) s a,
  reachable s -> closed M R T s -> is_key M R T s a ->
  (forall t, T t -> enabled t s -> t = a) -> deterministic a -> inert a s.
Proof.
  intros T dec s a Hr Hc Hk Hone Hdet. split; [exact Hr |].
  (* Paths without it avoid the set: the first member on the way would be enabled. *)
  assert (Havoid : forall l, path s l -> Forall (fun e => fst e <> a) l -> avoids M T l).
  { intros l Hp Hf.
    destruct (first_member state transition (fun _ => T) (fun _ => dec) s (map fst l)) as [Ho | [u [t [v [E [Hu Ht]]]]]].
    - now apply avoids_outside.
    - exfalso. assert (Hrun := run_of_path M l s Hp). rewrite E in Hrun. change (t :: v) with ([t] ++ v) in Hrun.
      rewrite app_assoc in Hrun. apply run_app in Hrun. destruct Hrun as [m [Hut _]].
      destruct (closed_has_D1 M R T s u t m Hr Hc Ht Hu Hut) as [x [Hx _]].
      assert (t = a) by (apply Hone; [exact Ht | now exists x]). subst t.
      assert (Hin : In a (map fst l)) by (rewrite E; apply in_or_app; right; now left).
      apply in_map_iff in Hin. destruct Hin as [e [Ee Hin]]. rewrite Forall_forall in Hf. exact (Hf e Hin Ee). }
  intros l Hp Hf. assert (Ha := Havoid l Hp Hf). assert (Hrl := reachable_path M l s Hr Hp).
  assert (He : enabled a (end_of s l)).
  { destruct (lemma_B M R T s a l Hr Hk Hp Ha) as [y [_ [_ [Hy _]]]]. now exists y. }
  split; [exact He |]. intros t x y Hta Hx Hy.
  (* Once more, one step further. *)
  assert (Hp' : path s (l ++ [(t, y)])).
  { clear - Hp Hy. revert s Hp Hy. induction l as [| [u z] l IH]; intros s Hp Hy; simpl in *; auto.
    destruct Hp; auto. }
  assert (Hend : end_of s (l ++ [(t, y)]) = y).
  { clear. revert s. induction l as [| [u z] l IH]; intros s; simpl; auto. }
  assert (Hf' : Forall (fun e => fst e <> a) (l ++ [(t, y)])).
  { apply Forall_app; split; auto. }
  destruct Hk as [HTa [Hea Hrow]].
  assert (Hout : ~ T t).
  { assert (H := Havoid _ Hp' Hf'). apply Forall_app in H. destruct H as [_ H]. now inversion H. }
  assert (Hacc : ~ do_not_accord R a t) by (intros H; exact (Hout (Hrow t H))).
  destruct (accord_law M R (end_of s l) a t Hrl Hacc He (ex_intro _ y Hy)) as [Hkeep Hleft].
  destruct (Hkeep y Hy) as [z Hz]. destruct (Hleft y z Hy Hz) as [x' [Hx' Hxz]].
  rewrite (Hdet (end_of s l) x x' Hrl Hx Hx'). exists z; auto.
Qed.

Lemma inert_stays : forall a s t y, inert a s -> t <> a -> step t s y -> inert a y.
Proof.
  intros a s t y [Hr H] Hne Hs. split; [eauto using reachable_step |].
  intros l Hp Hf. apply (H ((t, y) :: l)); simpl; auto.
Qed.

Lemma inert_square : forall a s t x y, inert a s -> t <> a -> step a s x -> step t s y ->
  exists z, step t x z /\ step a y z.
Proof. intros a s t x y [_ H] Hne Hx Hy. destruct (H [] I (Forall_nil _)) as [_ Hsq]. simpl in Hsq. eauto. Qed.

(** From a state by so many inert silent steps to another one. *)
Inductive settles : nat -> state -> state -> Prop :=
| settled : forall s, reachable s -> settles 0 s s
| settles_on : forall n a s x r, inert a s -> silent a -> step a s x -> settles n x r -> settles (S n) s r.

Lemma settles_reachable : forall n s r, settles n s r -> reachable s /\ reachable r.
Proof.
  induction 1 as [s Hr | n a s x r Hi _ Hs _ [_ IH]]; [auto |]. split; [apply Hi | exact IH].
Qed.

Lemma settles_shows : forall n s r, settles n s r -> shown r = shown s.
Proof.
  induction 1 as [s Hr | n a s x r Hi [_ Hv] Hs _ IH]; auto. rewrite IH. apply (Hv s x); auto. apply Hi.
Qed.

Lemma settles_snoc : forall n s r, settles n s r -> forall a x, inert a r -> silent a -> step a r x ->
  settles (S n) s x.
Proof.
  induction 1 as [s Hr | n b s y r Hi Hb Hs _ IH]; intros a x Ha Hsil Hx.
  - eapply settles_on; eauto. constructor. eauto using reachable_step.
  - eapply settles_on; eauto.
Qed.

(** A step beside the inert ones: it is one of them, or can be taken after them. *)
Lemma step_beside : forall n s r, settles n s r -> forall t y, step t s y ->
  (exists m, m < n /\ settles m y r) \/ exists r1 m, step t r r1 /\ settles m y r1.
Proof.
  induction 1 as [s Hr | n a s x r Hi Ha Hx Hset IH]; intros t y Hy.
  - right. exists y, 0. split; [exact Hy | constructor; eauto using reachable_step].
  - destruct (same t a) as [-> | Hne].
    + left. exists n. split; [lia |]. destruct Ha as [Hdet _].
      rewrite (Hdet s y x (proj1 Hi) Hy Hx). exact Hset.
    + destruct (inert_square a s t x y Hi Hne Hx Hy) as [z [Hz1 Hz2]].
      assert (Hiy := inert_stays a s t y Hi Hne Hy).
      destruct (IH t z Hz1) as [[m [Hm Hsm]] | [r1 [m [Hr1 Hsm]]]].
      * left. exists (S m). split; [lia |]. eapply settles_on; eauto.
      * right. exists r1, (S m). split; [exact Hr1 |]. eapply settles_on; eauto.
Qed.

(** ** The reduced graph *)

Variable chosen : state -> transition -> Prop.
(** Everything that is enabled, or one inert silent step. *)
Definition alone (s : state) : Prop := exists a, chosen s a /\ inert a s /\ silent a.
Definition everything (s : state) : Prop := forall t, enabled t s -> chosen s t.
Hypothesis everything_or_one : forall s, reachable s -> everything s \/ ~ everything s /\ alone s.
(** The cycle proviso: each cycle has a state with everything. *)
Hypothesis no_cycle_alone : well_founded (fun x s => ~ everything s /\ exists a, chosen s a /\ step a s x).

(** Kept steps of that kind. *)
Inductive drifts : state -> state -> Prop :=
| drifted : forall r, drifts r r
| drifts_on : forall a r x r1, chosen r a -> inert a r -> silent a -> step a r x -> drifts x r1 -> drifts r r1.

(** One step: it was done already; or it can be done; or one inert step is taken before. *)
Lemma one_step : forall n s r t y, settles n s r -> step t s y ->
  (exists m, m < n /\ settles m y r) \/
  (exists r2 m, chosen r t /\ step t r r2 /\ settles m y r2) \/
  (exists a x, ~ everything r /\ chosen r a /\ inert a r /\ silent a /\ step a r x /\ settles (S n) s x).
Proof.
  intros n s r t y Hset Hy.
  destruct (step_beside n s r Hset t y Hy) as [H | [r1 [m [Hr1 Hsm]]]]; [now left | right].
  destruct (settles_reachable _ _ _ Hset) as [_ Hr].
  destruct (everything_or_one r Hr) as [Hall | [Hnot [a [Ha [Hi Hsil]]]]].
  - left. exists r1, m. split; [apply Hall; now exists r1 | auto].
  - destruct (same t a) as [-> | Hne]; [left; exists r1, m; auto | right].
    destruct (proj2 Hi [] I (Forall_nil _)) as [[x Hx] _]. simpl in Hx.
    exists a, x. repeat (split; [assumption |]). eapply settles_snoc; eauto.
Qed.

(** What the full graph does, the reduced one does after some inert steps, or it was done already. *)
Theorem full_is_simulated : forall r n s t y, settles n s r -> step t s y -> exists r1, drifts r r1 /\
  (exists k, settles k s r1) /\
  ((exists m, settles m y r1) \/ exists r2 m, chosen r1 t /\ step t r1 r2 /\ settles m y r2).
Proof.
  intros r; induction r as [r IH] using (well_founded_ind no_cycle_alone). intros n s t y Hset Hy.
  destruct (one_step n s r t y Hset Hy) as [[m [_ Hm]] | [[r2 [m Hr2]] | [a [x [Hnot [Ha [Hi [Hsil [Hx Hsx]]]]]]]]].
  - exists r. split; [constructor | split; [exists n; exact Hset | left; exists m; exact Hm]].
  - exists r. split; [constructor | split; [exists n; exact Hset | right; exists r2, m; exact Hr2]].
  - destruct (IH x (conj Hnot (ex_intro _ a (conj Ha Hx))) (S n) s t y Hsx Hy) as [r1 [Hd H]].
    exists r1. split; [eapply drifts_on; eauto | exact H].
Qed.

(** What the reduced graph does, the full one does, after the inert steps. *)
Inductive full_way : state -> state -> Prop :=
| full_here : forall s, full_way s s
| full_on : forall a s x r, step a s x -> shown x = shown s -> full_way x r -> full_way s r.

Theorem reduced_is_simulated : forall n s r t r1, settles n s r -> chosen r t -> step t r r1 ->
  full_way s r /\ step t r r1 /\ settles 0 r1 r1.
Proof.
  intros n s r t r1 Hset _ Hs. destruct (settles_reachable _ _ _ Hset) as [_ Hr].
  split; [| split; [exact Hs | constructor; eauto using reachable_step]].
  induction Hset as [s Hr' | n a s x r Hi [_ Hv] Hx _ IH]; [constructor |].
  apply full_on with a x; [exact Hx | apply (Hv s x); auto; apply Hi | auto].
Qed.

(** Deadlocks are the same. *)
Theorem deadlocks_agree : forall n s r, settles n s r ->
  (deadlock s -> s = r) /\ ((forall t, chosen r t -> ~ enabled t r) -> deadlock r).
Proof.
  intros n s r Hset. split.
  - intros Hd. inversion Hset as [| ? a ? x ? _ _ Hx _]; subst; auto. destruct (Hd a). now exists x.
  - intros Hno t Ht. destruct (settles_reachable _ _ _ Hset) as [_ Hr].
    destruct (everything_or_one r Hr) as [Hall | [_ [a [Ha [Hi _]]]]]; [exact (Hno t (Hall t Ht) Ht) |].
    destruct (proj2 Hi [] I (Forall_nil _)) as [He _]. exact (Hno a Ha He).
Qed.

(** To go on for ever without showing anything else: a set of states inside of which one can. *)
Definition diverges (allowed : state -> transition -> Prop) (s : state) : Prop :=
  exists X : state -> Prop, X s /\ forall x, X x -> exists t y, allowed x t /\ step t x y /\ X y /\ shown y = shown x.

Theorem divergence_is_kept : forall n s r, settles n s r -> diverges (fun _ _ => True) s -> diverges chosen r.
Proof.
  intros n0 s0 r0 Hset0 [X [H0 HX]].
  exists (fun r => exists n s, settles n s r /\ X s). split; [exists n0, s0; auto |].
  intros r [n [s [Hset Hs]]]. revert s Hset Hs. induction n as [n IH] using (well_founded_ind lt_wf).
  intros s Hset Hs. destruct (HX s Hs) as [t [y [_ [Hy [Xy Ey]]]]].
  destruct (one_step n s r t y Hset Hy) as [[m [Hm Hsm]] | [[r2 [m [Hc [Hr2 Hsm]]]] | [a [x [_ [Ha [Hi [Hsil [Hx Hsx]]]]]]]]].
  - exact (IH m Hm y Hsm Xy).
  - exists t, r2. split; [exact Hc | split; [exact Hr2 | split; [exists m, y; auto |]]].
    rewrite (settles_shows _ _ _ Hsm), (settles_shows _ _ _ Hset). exact Ey.
  - exists a, x. split; [exact Ha | split; [exact Hx | split; [exists (S n), s; auto |]]].
    destruct Hsil as [_ Hv]. apply (Hv r x); auto. apply Hi.
Qed.

Theorem divergence_is_not_added : forall n s r, settles n s r -> diverges chosen r -> diverges (fun _ _ => True) s.
Proof.
  intros n0 s0 r0 Hset0 [X [H0 HX]].
  exists (fun s => exists n r, settles n s r /\ X r). split; [exists n0, r0; auto |].
  intros s [n [r [Hset Hr]]]. inversion Hset as [s' Hrs | m a s' x r' Hi [_ Hv] Hx Hset']; subst.
  - destruct (HX r Hr) as [t [y [_ [Hy [Xy Ey]]]]]. exists t, y. split; [exact I | split; [exact Hy | split; [| exact Ey]]].
    exists 0, y. split; [constructor; eauto using reachable_step | exact Xy].
  - exists a, x. split; [exact I | split; [exact Hx | split; [exists m, r; auto |]]]. apply (Hv s x); auto. apply Hi.
Qed.

End Branching.

(** ** An instance: [a] of [Mistakes.Parity] alone where the bit is not set *)

Module Example.
Import Mistakes.Parity.

Definition chosen (s : State) (t : Transition) : Prop := match t with a => True | b => fst s = true end.

Lemma a_is_inert : forall s, inert M a s.
Proof.
  intros s; split; [exact I |]. intros l _ _. split; [apply enabled_always |].
  intros t x y Hta Hx Hy. destruct t; [now destruct Hta |].
  destruct (end_of M s l) as [[] []], x as [[] []], y as [[] []]; simpl in *; try discriminate; find_state.
Qed.

Lemma a_is_silent : silent M bool snd a.
Proof.
  split.
  - intros [[] []] [[] []] [[] []] _ Hx Hy; simpl in *; congruence.
  - intros [[] []] [[] []] _ Hx; simpl in *; congruence.
Qed.

Theorem the_instance : forall (r : State) n (s : State) (t : Transition) (y : State), settles M bool snd n s r ->
  edge t s y = true -> exists r1, drifts M bool snd chosen r r1 /\ (exists k, settles M bool snd k s r1) /\
  ((exists m, settles M bool snd m y r1) \/ exists r2 m, chosen r1 t /\ edge t r1 r2 = true /\ settles M bool snd m y r2).
Proof.
  assert (Hdec : forall t u : Transition, {t = u} + {t <> u}) by decide equality.
  assert (Hall : forall x, everything M chosen (true, x)) by (intros x [] _; exact I || reflexivity).
  assert (Hone : forall s : State, @reachable M s -> everything M chosen s \/
    ~ everything M chosen s /\ alone M bool snd chosen s).
  { intros [[] x] _; [left; apply Hall | right]. split.
    - intros H. specialize (H b (enabled_always b _)). discriminate.
    - exists a. split; [exact I | split; [apply a_is_inert | apply a_is_silent]]. }
  apply (full_is_simulated M Hdec bool snd chosen Hone).
  assert (Ht : forall x, Acc (fun x s : State => ~ everything M chosen s /\
    exists t : Transition, chosen s t /\ edge t s x = true) (true, x)).
  { intros x; constructor; intros y [Hno _]. destruct (Hno (Hall x)). }
  intros [[] x]; [apply Ht | constructor]. intros [[] y] [_ [t [Hc He]]]; [apply Ht |].
  destruct t; simpl in *; discriminate.
Qed.

End Example.
