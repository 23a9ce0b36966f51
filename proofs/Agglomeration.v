(** Structural rules of Petri nets that merge transitions: post- and pre-agglomeration keep deadlocks, and the
    markings of watched places.

    `stubborn-net/src/structural/rules.rs`; Poitrenaud, Pradat-Peyre, *Pre- and post-agglomerations for LTL model
    checking* (2000). The direction that a `holds` needs: what the net can do, the smaller one can. (The other one is a
    replay: [merged_step_is_two].)

    Why it matters: on by default, and the rules that gain most. *)

From Coq Require Import List Arith Lia.
From Stubborn Require Import Nets.
Import ListNotations.

Section Agglomeration.

Variables place transition : Type.
Variables takes gives : transition -> place -> nat.
Hypothesis same_place : forall a b : place, {a = b} + {a <> b}.

Local Notation marking := (marking place).
Local Notation can_fire := (can_fire place transition takes).
Local Notation fires := (fires place transition takes gives).
Local Notation run := (run place transition takes gives (all transition)).

(** The place in the middle, its producers and its consumers. *)
Variable p : place.
Variables producer consumer : transition -> Prop.
Variable kind : forall t, {producer t} + {consumer t} + {~ producer t /\ ~ consumer t}.
Hypothesis producers_give_one : forall h, producer h -> gives h p = 1 /\ takes h p = 0.
Hypothesis consumers_take_one : forall f, consumer f -> takes f p = 1 /\ gives f p = 0.
Hypothesis others_do_nothing : forall t, ~ producer t -> ~ consumer t -> takes t p = 0 /\ gives t p = 0.
Hypothesis no_both : forall t, producer t -> consumer t -> False.

(** The smaller net: others, and one transition for each pair. *)
Inductive merged := keep (t : transition) | pair (h f : transition).
Definition is_there (x : merged) : Prop :=
  match x with keep t => ~ producer t /\ ~ consumer t | pair h f => producer h /\ consumer f end.
(** It needs what the producer takes, and what the consumer takes beyond what the producer gives. *)
Definition takes' (x : merged) (r : place) : nat :=
  match x with keep t => takes t r | pair h f => takes h r + (takes f r - gives h r) end.
Definition gives' (x : merged) (r : place) : nat :=
  match x with keep t => gives t r | pair h f => gives f r + (gives h r - takes f r) end.
(** Without the place in the middle. *)
Definition can_fire' (x : merged) (m : marking) : Prop := forall r, r <> p -> takes' x r <= m r.
Definition fires' (x : merged) (m m1 : marking) : Prop :=
  can_fire' x m /\ forall r, r <> p -> m1 r + takes' x r = m r + gives' x r.
Inductive run' : marking -> marking -> Prop :=
| run_none' : forall m m1, (forall r, r <> p -> m1 r = m r) -> run' m m1
| run_one' : forall x m m1 m2, is_there x -> fires' x m m1 -> run' m1 m2 -> run' m m2.
Definition deadlock (m : marking) : Prop := forall t, ~ can_fire t m.
Definition deadlock' (m : marking) : Prop := forall x, is_there x -> ~ can_fire' x m.

(** A merged step is two steps. *)
Theorem merged_step_is_two : forall h f m m1, producer h -> consumer f -> fires' (pair h f) m m1 -> m1 p = m p ->
  exists m2, fires h m m2 /\ fires f m2 m1.
Proof.
  intros h f m m1 Hh Hf [Hc He] Hp. destruct (producers_give_one h Hh) as [H1 H2], (consumers_take_one f Hf) as [H3 H4].
  exists (fun r => m r + gives h r - takes h r).
  assert (Hch : can_fire h m).
  { intros r. destruct (same_place r p) as [-> | Hr]; [lia |]. specialize (Hc r Hr). simpl in Hc. lia. }
  split; [split; [exact Hch | intros r; specialize (Hch r); lia] | split].
  - intros r. specialize (Hch r). destruct (same_place r p) as [-> | Hr]; [lia |].
    specialize (Hc r Hr). simpl in Hc. lia.
  - intros r. specialize (Hch r). destruct (same_place r p) as [-> | Hr]; [lia |].
    specialize (He r Hr); specialize (Hc r Hr). simpl in *. lia.
Qed.

(** The places that a question looks at. *)
Variable watched : place -> Prop.
Hypothesis p_is_not_watched : ~ watched p.

Definition sum (c : transition -> place -> nat) (l : list transition) (r : place) : nat :=
  fold_right (fun t n => c t r + n) 0 l.

(** *** Post-agglomeration *)

Section Post.

(** Consumers take from the place in the middle only, and give nothing to watched places. *)
Hypothesis consumers_take_nothing_else : forall f r, consumer f -> r <> p -> takes f r = 0.
Hypothesis consumers_are_not_seen : forall f r, consumer f -> watched r -> gives f r = 0.
Variable some_consumer : transition.
Hypothesis there_is_a_consumer : consumer some_consumer.

(** A consumer was chosen for each token in the middle, and was fired already. *)
Definition after (fs : list transition) (m n : marking) : Prop :=
  Forall consumer fs /\ length fs = m p /\ forall r, r <> p -> n r = m r + sum gives fs r.

(** Each consumer is moved directly behind its producer; the choice is made from the end of the run. *)
Theorem post_runs : forall w m m1, run m w m1 ->
  exists fs fs1 n n1, after fs m n /\ run' n n1 /\ after fs1 m1 n1.
Proof.
  induction 1 as [m | t m m2 w m1 _ [Hc He] _ IH].
  - assert (H : exists fs, Forall consumer fs /\ length fs = m p).
    { exists (repeat some_consumer (m p)). split; [| apply repeat_length].
      apply Forall_forall. intros x Hx. apply repeat_spec in Hx. now subst. }
    destruct H as [fs [H1 H2]]. exists fs, fs, (fun r => m r + sum gives fs r), (fun r => m r + sum gives fs r).
    split; [split; auto | split; [now constructor | split; auto]].
  - destruct IH as [fs [fs1 [n2 [n1 [[H1 [H2 H3]] [Hr Hend]]]]]].
    assert (Hep := He p). destruct (kind t) as [[Hh | Hf] | [Hnh Hnf]].
    + (* A producer: with the consumer of its token. *)
      destruct (producers_give_one t Hh) as [E1 E2]. rewrite E1, E2 in Hep.
      destruct fs as [| f fs]; [simpl in H2; lia |]. inversion_clear H1 as [| ? ? Hcf Hcfs].
      exists fs, fs1, (fun r => m r + sum gives fs r), n1. split; [| split; [| exact Hend]].
      * split; [exact Hcfs | split; [simpl in H2; lia | reflexivity]].
      * apply run_one' with (pair t f) n2; [split; auto | split | exact Hr].
        -- intros r Hr'. simpl. specialize (Hc r). rewrite (consumers_take_nothing_else f r Hcf Hr'). simpl. lia.
        -- intros r Hr'. simpl. rewrite (H3 r Hr'). simpl. specialize (He r). specialize (Hc r).
           rewrite (consumers_take_nothing_else f r Hcf Hr'). lia.
    + (* A consumer: it was fired before. *)
      destruct (consumers_take_one t Hf) as [E1 E2]. rewrite E1, E2 in Hep. specialize (Hc p). rewrite E1 in Hc.
      exists (t :: fs), fs1, n2, n1. split; [| split; [exact Hr | exact Hend]].
      split; [constructor; auto | split; [simpl; lia |]]. intros r Hr'. rewrite (H3 r Hr'). simpl.
      specialize (He r). rewrite (consumers_take_nothing_else t r Hf Hr') in He. lia.
    + destruct (others_do_nothing t Hnh Hnf) as [E1 E2]. rewrite E1, E2 in Hep.
      exists fs, fs1, (fun r => m r + sum gives fs r), n1. split; [| split; [| exact Hend]].
      * split; [exact H1 | split; [lia | reflexivity]].
      * apply run_one' with (keep t) n2; [split; auto | split | exact Hr].
        -- intros r Hr'. simpl. specialize (Hc r). lia.
        -- intros r Hr'. simpl. rewrite (H3 r Hr'). specialize (He r). specialize (Hc r). lia.
Qed.

Lemma sum_zero : forall c l r, (forall t, In t l -> c t r = 0) -> sum c l r = 0.
Proof.
  intros c; induction l as [| t l IH]; intros r H; simpl; auto.
  rewrite (H t (or_introl eq_refl)), (IH r); auto. intros u Hu; apply H; now right.
Qed.

Lemma sum_of_one : forall c f l r, (forall t, In t l -> t = f) -> sum c l r = length l * c f r.
Proof.
  intros c f; induction l as [| t l IH]; intros r H; simpl; auto.
  rewrite (H t (or_introl eq_refl)), (IH r); auto. intros u Hu; apply H; now right.
Qed.

(** With one consumer only, the place need not be empty: the smaller net begins where it was fired for each token. *)
Theorem one_consumer_begins : (forall f, consumer f -> f = some_consumer) -> forall fs m n, after fs m n ->
  forall r, r <> p -> n r = m r + m p * gives some_consumer r.
Proof.
  intros Hone fs m n [H1 [H2 H3]] r Hne. rewrite (H3 r Hne), (sum_of_one gives some_consumer), H2; auto.
  intros t Ht. rewrite Forall_forall in H1. auto.
Qed.

(** Where the place is empty at first, the smaller net begins where the net does. *)
Theorem post_keeps_watched_places : forall w m m1, run m w m1 -> m p = 0 ->
  exists n n1, (forall r, r <> p -> n r = m r) /\ run' n n1 /\ forall r, watched r -> n1 r = m1 r.
Proof.
  intros w m m1 Hr Hp. destruct (post_runs w m m1 Hr) as [fs [fs1 [n [n1 [[_ [H2 H3]] [Hr' [H4 [_ H6]]]]]]]].
  destruct fs as [| f fs]; [| simpl in H2; lia]. exists n, n1. split; [| split; [exact Hr' |]].
  - intros r Hne. rewrite (H3 r Hne). simpl. lia.
  - intros r Hw. rewrite H6; [| intros ->; contradiction]. rewrite sum_zero; [lia |].
    intros f Hf. rewrite Forall_forall in H4. auto.
Qed.

Theorem post_keeps_deadlocks : forall w m m1, run m w m1 -> m p = 0 -> deadlock m1 ->
  exists n n1, (forall r, r <> p -> n r = m r) /\ run' n n1 /\ deadlock' n1.
Proof.
  intros w m m1 Hr Hp Hd. destruct (post_runs w m m1 Hr) as [fs [fs1 [n [n1 [[_ [H2 H3]] [Hr' [H4 [H5 H6]]]]]]]].
  destruct fs as [| f fs]; [| simpl in H2; lia].
  (* The place is empty in a deadlock. *)
  assert (Hempty : m1 p = 0).
  { destruct (Nat.eq_dec (m1 p) 0) as [E | E]; auto. destruct (Hd some_consumer).
    intros r. destruct (same_place r p) as [-> | Hne].
    - destruct (consumers_take_one _ there_is_a_consumer) as [-> _]. lia.
    - rewrite (consumers_take_nothing_else _ r there_is_a_consumer Hne). lia. }
  destruct fs1 as [| f fs1]; [| simpl in H5; lia].
  exists n, n1. split; [intros r Hne; rewrite (H3 r Hne); simpl; lia | split; [exact Hr' |]].
  assert (Hsame : forall r, r <> p -> n1 r = m1 r) by (intros r Hne; rewrite (H6 r Hne); simpl; lia).
  intros [t | h f] Ht Hc; simpl in Ht.
  - apply (Hd t). intros r. destruct (same_place r p) as [-> | Hne].
    + destruct (others_do_nothing t (proj1 Ht) (proj2 Ht)) as [-> _]. lia.
    + rewrite <- (Hsame r Hne). exact (Hc r Hne).
  - apply (Hd h). intros r. destruct (same_place r p) as [-> | Hne].
    + destruct (producers_give_one h (proj1 Ht)) as [_ ->]. lia.
    + rewrite <- (Hsame r Hne). specialize (Hc r Hne). simpl in Hc. lia.
Qed.

End Post.

(** *** Pre-agglomeration *)

Section Pre.

(** Producers give to the place in the middle only, and take nothing from watched places; nobody else takes from
    where they take. *)
Hypothesis producers_give_nothing_else : forall h r, producer h -> r <> p -> gives h r = 0.
Hypothesis producers_are_not_seen : forall h r, producer h -> watched r -> takes h r = 0.
Hypothesis inputs_are_their_own : forall h t r, producer h -> 0 < takes h r -> ~ producer t -> takes t r = 0.

(** The producers of the tokens in the middle have not been fired. *)
Definition before (hs : list transition) (m n : marking) : Prop :=
  Forall producer hs /\ length hs = m p /\ forall r, r <> p -> n r = m r + sum takes hs r.

(** Each producer is put off until directly before a consumer of its token. *)
Theorem pre_runs : forall w m m1, run m w m1 -> forall hs n, before hs m n ->
  exists hs1 n1, run' n n1 /\ before hs1 m1 n1.
Proof.
  induction 1 as [m | t m m2 w m1 _ [Hc He] _ IH]; intros hs n [H1 [H2 H3]].
  - exists hs, n. split; [now constructor | split; auto].
  - assert (Hep := He p). destruct (kind t) as [[Hh | Hf] | [Hnh Hnf]].
    + destruct (producers_give_one t Hh) as [E1 E2]. rewrite E1, E2 in Hep.
      apply (IH (t :: hs) n). split; [constructor; auto | split; [simpl; lia |]].
      intros r Hne. rewrite (H3 r Hne). simpl. specialize (He r). rewrite (producers_give_nothing_else t r Hh Hne) in He. lia.
    + destruct (consumers_take_one t Hf) as [E1 E2]. rewrite E1, E2 in Hep. assert (Hcp := Hc p). rewrite E1 in Hcp.
      destruct hs as [| h hs]; [simpl in H2; lia |]. inversion_clear H1 as [| ? ? Hh Hhs].
      destruct (IH hs (fun r => m2 r + sum takes hs r)) as [hs1 [n1 [Hr Hend]]].
      { split; [exact Hhs | split; [simpl in H2; lia | reflexivity]]. }
      exists hs1, n1. split; [| exact Hend].
      apply run_one' with (pair h t) (fun r => m2 r + sum takes hs r); [split; auto | split | exact Hr].
      * intros r Hne. simpl. rewrite (H3 r Hne), (producers_give_nothing_else h r Hh Hne). simpl. specialize (Hc r). lia.
      * intros r Hne. simpl. rewrite (H3 r Hne), (producers_give_nothing_else h r Hh Hne). simpl. specialize (He r). lia.
    + destruct (others_do_nothing t Hnh Hnf) as [E1 E2]. rewrite E1, E2 in Hep.
      destruct (IH hs (fun r => m2 r + sum takes hs r)) as [hs1 [n1 [Hr Hend]]].
      { split; [exact H1 | split; [lia | reflexivity]]. }
      exists hs1, n1. split; [| exact Hend].
      apply run_one' with (keep t) (fun r => m2 r + sum takes hs r); [split; auto | split | exact Hr].
      * intros r Hne. simpl. rewrite (H3 r Hne). specialize (Hc r). lia.
      * intros r Hne. simpl. rewrite (H3 r Hne). specialize (He r). specialize (Hc r). lia.
Qed.

Lemma before_initially : forall m, m p = 0 -> before [] m m.
Proof. intros m Hp. split; [constructor | split; [simpl; lia | intros r _; simpl; lia]]. Qed.

Theorem pre_keeps_watched_places : forall w m m1, run m w m1 -> m p = 0 ->
  exists n1, run' m n1 /\ forall r, watched r -> n1 r = m1 r.
Proof.
  intros w m m1 Hr Hp. destruct (pre_runs w m m1 Hr [] m (before_initially m Hp)) as [hs [n1 [Hr' [H1 [_ H3]]]]].
  exists n1. split; [exact Hr' |]. intros r Hw. rewrite H3; [| intros ->; contradiction].
  assert (E : sum takes hs r = 0).
  { clear - H1 Hw producers_are_not_seen. induction H1 as [| h hs Hh _ IH]; simpl; auto.
    rewrite (producers_are_not_seen h r Hh Hw), IH. reflexivity. }
  lia.
Qed.

Theorem pre_keeps_deadlocks : forall w m m1, run m w m1 -> m p = 0 -> deadlock m1 ->
  exists n1, run' m n1 /\ deadlock' n1.
Proof.
  intros w m m1 Hr Hp Hd. destruct (pre_runs w m m1 Hr [] m (before_initially m Hp)) as [hs [n1 [Hr' [H1 [H2 H3]]]]].
  exists n1. split; [exact Hr' |].
  (* Who is no producer finds nothing more than in the deadlock. *)
  assert (Hsum : forall t r, ~ producer t -> 0 < takes t r -> sum takes hs r = 0).
  { intros t r Ht Hr0. clear - H1 inputs_are_their_own Ht Hr0. induction H1 as [| h hs Hh _ IH]; simpl; auto.
    rewrite IH. destruct (Nat.eq_dec (takes h r) 0) as [-> | E]; auto.
    rewrite (inputs_are_their_own h t r Hh) in Hr0; [lia | lia | exact Ht]. }
  intros [t | h f] Ht Hc; simpl in Ht.
  - apply (Hd t). intros r. destruct (Nat.eq_dec (takes t r) 0) as [E | E]; [lia |].
    destruct (same_place r p) as [-> | Hne].
    + destruct (others_do_nothing t (proj1 Ht) (proj2 Ht)) as [E' _]. lia.
    + specialize (Hc r Hne). simpl in Hc. rewrite (H3 r Hne), (Hsum t r (proj1 Ht)) in Hc; lia.
  - destruct Ht as [Hh Hf]. assert (Hnf : ~ producer f) by (intros H; exact (no_both f H Hf)).
    destruct hs as [| h0 hs].
    + (* Nothing was put off: the producer can be fired. *)
      apply (Hd h). intros r. destruct (same_place r p) as [-> | Hne].
      * destruct (producers_give_one h Hh) as [_ ->]. lia.
      * specialize (Hc r Hne). simpl in Hc. rewrite (H3 r Hne) in Hc. simpl in Hc. lia.
    + (* A token is there: the consumer can be fired. *)
      apply (Hd f). intros r. destruct (Nat.eq_dec (takes f r) 0) as [E | E]; [lia |].
      destruct (same_place r p) as [-> | Hne].
      * destruct (consumers_take_one f Hf) as [-> _]. simpl in H2. lia.
      * specialize (Hc r Hne). simpl in Hc. rewrite (H3 r Hne), (Hsum f r Hnf) in Hc; [| lia].
        rewrite (producers_give_nothing_else h r Hh Hne) in Hc. lia.
Qed.

End Pre.

End Agglomeration.

(** ** An instance: one token that goes from a place to another one, and away

    Either rule merges the two transitions; the deadlock of the net is one of the smaller net. *)

Module Example.

Inductive Place := from | middle.
Inductive Transition := enter | leave.
Definition takes (t : Transition) (r : Place) : nat :=
  match t, r with enter, from | leave, middle => 1 | _, _ => 0 end.
Definition gives (t : Transition) (r : Place) : nat := match t, r with enter, middle => 1 | _, _ => 0 end.
Definition initial (r : Place) : nat := match r with from => 1 | middle => 0 end.
Definition nothing (r : Place) : nat := 0.
Definition producer (t : Transition) : Prop := t = enter.
Definition consumer (t : Transition) : Prop := t = leave.

Lemma same_place : forall a b : Place, {a = b} + {a <> b}.
Proof. decide equality. Defined.

Lemma kind : forall t, {producer t} + {consumer t} + {~ producer t /\ ~ consumer t}.
Proof. intros []; [left; left | left; right]; reflexivity. Defined.

Lemma the_run : Nets.run Place Transition takes gives (all Transition) initial [enter; leave] nothing.
Proof.
  apply run_one with (fun r => match r with from => 0 | middle => 1 end); [exact I | |].
  - split; intros []; simpl; lia.
  - apply run_one with nothing; [exact I | | constructor]. split; intros []; unfold nothing; simpl; lia.
Qed.

Lemma the_deadlock : deadlock Place Transition takes nothing.
Proof. intros [] H; [specialize (H from) | specialize (H middle)]; unfold nothing in H; simpl in H; lia. Qed.

Theorem both_rules_keep_it :
  (exists n n1, (forall r, r <> middle -> n r = initial r) /\
    run' Place Transition takes gives middle producer consumer n n1 /\
    deadlock' Place Transition takes gives middle producer consumer n1) /\
  exists n1, run' Place Transition takes gives middle producer consumer initial n1 /\
    deadlock' Place Transition takes gives middle producer consumer n1.
Proof.
  assert (H1 : forall h, producer h -> gives h middle = 1 /\ takes h middle = 0) by (intros h ->; auto).
  assert (H2 : forall f, consumer f -> takes f middle = 1 /\ gives f middle = 0) by (intros f ->; auto).
  assert (H3 : forall t, ~ producer t -> ~ consumer t -> takes t middle = 0 /\ gives t middle = 0).
  { intros [] A B; [now destruct A | now destruct B]. }
  split.
  - apply (post_keeps_deadlocks Place Transition takes gives same_place middle producer consumer kind H1 H2 H3)
      with leave [enter; leave] nothing; auto using the_run, the_deadlock; try reflexivity.
    intros f [] -> Hne; [reflexivity | now destruct Hne].
  - apply (pre_keeps_deadlocks Place Transition takes gives same_place middle producer consumer kind H1 H2 H3)
      with [enter; leave] nothing; auto using the_run, the_deadlock.
    + intros t -> E; discriminate.
    + intros h [] -> Hne; [reflexivity | now destruct Hne].
    + intros h [] r -> Hr Hno; [now destruct Hno |]. destruct r; simpl in *; [reflexivity | lia].
Qed.

End Example.
