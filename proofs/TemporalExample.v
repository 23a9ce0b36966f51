(** An instance of [Temporal]: all of its hypotheses hold of the system of [Mistakes.Parity] with an automaton in
    normal form, "the letter stays as it is". Two of four nodes leave something out; the accepted run is kept.

    Why it matters: hypotheses that nothing satisfies would prove anything. *)

From Coq Require Import List Bool.
From Stubborn Require Import Deadlocks Closed Goals Outcomes Temporal Mistakes.
Import ListNotations.
Import Parity.

Definition Q : Type := unit.
Definition moves (q : Q) (letter : bool) (F : marks unit) (r : Q) : Prop := letter = false /\ F tt = true.

(** Where the bit is not set, [a] alone. *)
Definition chosen (n : State * Q) (t : Transition) : Prop :=
  match t with a => True | b => fst (fst n) = true end.

Lemma chosen_dec : forall n t, {chosen n t} + {~ chosen n t}.
Proof. intros [[[] x] q] []; simpl; auto; right; discriminate. Defined.

Lemma nothing_is_ignored : forall t, well_founded (ignores M bool Q unit shown moves chosen (fun _ => True) t).
Proof.
  intros t. assert (Hset : forall x q, Acc (ignores M bool Q unit shown moves chosen (fun _ => True) t) ((true, x), q)).
  { intros x q; constructor; intros n1 [_ [_ [Hno _]]]. destruct t; simpl in Hno; now destruct Hno. }
  intros [[[] x] q]; [apply Hset |]. constructor; intros [[[] y] r] [_ [_ [Hno [u [F [Hk [Hd _]]]]]]]; [apply Hset |].
  destruct u as [[] |]; simpl in *.
  - discriminate.
  - discriminate.
  - destruct Hd as [Hd _]. destruct (Hd a (enabled_always a _)).
Qed.

Definition begin : State * Q := ((false, false), tt).

Lemma an_accepted_run : live M bool Q unit shown moves (any M Q) begin.
Proof.
  exists (fun n => snd (fst n) = false); split; [| reflexivity].
  intros [[x y] q] Hn i; simpl in Hn; subst y. exists 1.
  apply at_once with (Some a) (fun _ => true) ((negb x, false), tt); [exact I | | reflexivity |].
  - split; [| split; reflexivity]. simpl. now destruct x.
  - destruct i; [reflexivity | exact I].
Qed.

Theorem the_accepted_run_is_kept : ~ ~ live M bool Q unit shown moves (kept M Q chosen) begin.
Proof.
  assert (Hb : forall x y : bool, {x = y} + {x <> y}) by (intros [] []; auto; right; discriminate).
  assert (Hs : forall x y : State, {x = y} + {x <> y}) by (intros; decide equality).
  assert (Hn : forall x y : State * Q, {x = y} + {x <> y}) by (intros; repeat decide equality).
  assert (N1 : forall q v F r, moves q v F r -> (exists G, moves q v G q) \/ (exists G, moves r v G r))
    by (intros q v F r H; left; exists F; exact H).
  assert (N2 : forall q v F r G p, moves q v F r -> moves r v G p ->
    exists H, moves q v H p /\ forall i, has unit F i \/ has unit G i -> has unit H i).
  { intros q v F r G p [H1 _] _. exists (fun _ => true). split; [split; auto |]. intros [] _; exact I || reflexivity. }
  assert (Hnodes : forall n : State * Q, In n [((false, false), tt); ((false, true), tt); ((true, false), tt); ((true, true), tt)])
    by (intros [[[] []] []]; simpl; auto).
  assert (Hmarks : forall i : unit, In i [tt]) by (intros []; now left).
  assert (Hvis : forall (q : Q) (t : Transition), {t = b} + {t <> b}) by (intros q []; auto; right; discriminate).
  assert (Hinv : forall (q : Q) (t : Transition) (s s1 : State), @reachable M s -> t <> b -> @step M t s s1 ->
    shown s = shown s1).
  { intros q [] [[] []] [[] []] _ Hb' H; simpl in *; congruence. }
  assert (Hclosed : forall s q, True -> @reachable M s -> closed M R (chosen (s, q)) s).
  { intros s q _ _ t Ht. right; left; split; [apply enabled_always | intros u <-; exact Ht]. }
  assert (HV : forall s q t, True -> @reachable M s -> chosen (s, q) t -> enabled M t s -> t = b ->
    forall u, u = b -> chosen (s, q) u) by (intros s q t _ _ Ht _ -> u ->; exact Ht).
  assert (HI : forall s q, True -> @reachable M s -> ~ deadlock M s -> exists k, is_key M R (chosen (s, q)) s k /\
    ((exists u, enabled M u s /\ u <> b) -> k <> b)).
  { intros s q _ _ _. exists a; split; [| discriminate].
    repeat split; [apply enabled_always | intros u <-; exact I]. }
  exact (accepted_runs_are_kept M R bool Q unit shown moves N1 N2 (fun _ x y => x = y) (fun _ v => eq_refl)
    (fun _ v w H => eq_sym H) (fun _ u v w H1 H2 => eq_trans H1 H2)
    (fun q v w F r E H => eq_ind v (fun w => moves q w F r) H w E)
    (fun _ _ _ _ _ _ _ E => E) _ Hnodes _ Hmarks Hs Hn (fun _ t => t = b) Hvis Hinv
    (fun _ _ _ _ _ _ H => H) chosen chosen_dec (fun _ => True) (fun _ => left I) Hclosed HV HI
    (fun _ _ _ _ Hno => False_ind _ (Hno I)) nothing_is_ignored begin I an_accepted_run).
Qed.
