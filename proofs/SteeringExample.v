(** Sets for the automaton's state: the condition that version 0.1.0 did not have is needed, and the others can be
    met.

    - [Rounds]: two states of the automaton enter each other while `x` is false, with a mark each way, and wait at any
      time. A set with the step that sets `x` as its key, and nothing else, satisfies all conditions but the last part
      of condition 4; all accepted runs are lost, because on them short cuts never end. The test
      `a_key_does_not_end_what_goes_round_for_ever` is about this system.
    - [Instance]: sets with one of two steps, at every node, that satisfy all conditions.

    Why it matters: a condition that nobody needs would be a mistake in [Steering], as would one that nobody can
    meet. *)

From Coq Require Import List Bool Arith Lia.
From Stubborn Require Import Deadlocks Closed Goals Outcomes Temporal Steering Mistakes.
Import ListNotations.

Module Rounds.

(** `x` and `y`; [set] sets `x` once, [n] changes `y` for ever. *)
Definition State : Type := bool * bool.
Inductive Transition := set | n.
Inductive Label := x_is_false.
Definition edge (t : Transition) (s s' : State) : bool :=
  match t with
  | set => negb (fst s) && fst s' && eqb (snd s') (snd s)
  | n => eqb (fst s') (fst s) && eqb (snd s') (negb (snd s))
  end.
Definition value (g : Label) (s : State) : bool := negb (fst s).
Definition condition (t : Transition) (g : Label) : bool := match t with set => true | n => false end.

Definition M : system.
Proof.
  refine (table State Transition Label edge value condition _).
  now intros [] [[] []] [[] []] [].
Defined.

Ltac find_state := solve
  [ now exists (false, false) | now exists (false, true) | now exists (true, false) | now exists (true, true) ].

Definition R : relations M.
Proof.
  refine (Build_relations M (fun _ _ => False) (fun (_ : Label) (t : Transition) => t = set) (fun _ _ => False)
    (fun t u : Transition => t = u) (fun _ _ => True) _ _ _ _ _).
  - now intros [[] []] [] [[] []] [] _ H; simpl in *; try discriminate.
  - now intros [[] []] [] [[] []] [] _ H; simpl in *; try discriminate.
  - intros ? ? ? _ [].
  - intros [[] []] [] [] _ Hab [[[] []] Hx] [[[] []] Hy]; simpl in *; try discriminate; try (now destruct Hab);
      (split; [ intros [[] []] Hz; simpl in *; try discriminate; find_state
              | intros [[] []] [[] []] Hz Hz'; simpl in *; try discriminate; find_state ]).
  - intros s t u _ H; destruct (H I).
Defined.

(** The automaton, after marks were settled: edges between components have all marks. *)
Inductive Q := one | two | three.
Inductive Edge := to_two | to_three | loop_two | loop_three | across | back.
Definition source (e : Edge) : Q :=
  match e with to_two | to_three => one | loop_two | across => two | loop_three | back => three end.
Definition target (e : Edge) : Q :=
  match e with to_two | loop_two | back => two | to_three | loop_three | across => three end.
Definition guard (e : Edge) (x : bool) : bool :=
  match e with loop_two | loop_three => true | _ => negb x end.
(** Two marks. *)
Definition collects (e : Edge) : marks bool :=
  match e with
  | to_two | to_three => fun _ => true
  | loop_two | loop_three => fun _ => false
  | across => fun j => j
  | back => fun j => negb j
  end.
Definition shown (s : State) : bool := fst s.

Definition chosen (m : State * Q) (t : Transition) : Prop :=
  match t, m with n, ((false, _), one) => False | _, _ => True end.

Definition begin : State * Q := ((false, false), one).

Local Notation moves := (moves bool Q bool Edge source target guard collects).
Local Notation live := (live M bool Q bool shown moves).

(** All conditions, if no event counts as one that goes round. *)
Theorem all_other_conditions_hold : forall s q,
  steers M R bool Q bool Edge shown source target guard collects (fun _ => false) s q (chosen (s, q)) \/
  forall t, enabled M t s -> chosen (s, q) t.
Proof.
  intros [x y] q. destruct (bool_dec x false) as [-> | Hx];
    [| right; intros []; simpl; auto; destruct x; [auto | now destruct Hx]].
  destruct q; [left | right; intros []; simpl; auto | right; intros []; simpl; auto].
  assert (Hout : forall l, path M (false, y) l -> avoids M (chosen ((false, y), one)) l ->
    shown (end_of M (false, y) l) = false).
  { intros l; revert y. induction l as [| [t [x1 y1]] l IH]; intros y Hp Ha; [reflexivity |].
    destruct Hp as [Hs Hp]. inversion_clear Ha as [| ? ? Ht Ha']. destruct t; simpl in Ht; [destruct (Ht I) |].
    simpl in Hs. destruct x1; [discriminate |]. apply (IH y1); auto. }
  assert (Hwaits : forall r v, r = two \/ r = three -> waits bool Q Edge source target guard r v).
  { intros r v [-> | ->]; [exists loop_two | exists loop_three]; repeat split. }
  assert (Htarget : forall f, target f = two \/ target f = three) by (intros []; auto).
  assert (Hno : forall t f, ~ falsifies M bool shown t (waits bool Q Edge source target guard (target f))).
  { intros t f [a [b [_ [_ [_ H]]]]]. apply H, Hwaits, Htarget. }
  assert (Hen : enabled M set (false, y)) by (exists (true, y); simpl; now destruct y).
  assert (Hkey : is_key M R (chosen ((false, y), one)) (false, y) set).
  { split; [exact I | split; [exact Hen | intros u <-; exact I]]. }
  split.
  - intros t Ht. destruct t; [right; left; split; [exact Hen | intros u <-; exact I] | destruct Ht].
  - intros f e [Hf1 Hf2] _ Hoff. destruct Hoff. destruct e; reflexivity.
  - intros f e [Hf1 Hf2] [He1 He2] Hon. split.
    + split; [intros v _; apply Hwaits, Htarget |].
      destruct e; simpl in He1; destruct f; simpl in He1, Hf1; try discriminate;
        try (exists to_two; repeat split; auto; fail); exists to_three; repeat split; auto.
    + intros l Hp Ha. unfold on. assert (Hs := Hout l Hp Ha). simpl in Hs |- *. rewrite Hs. destruct e; reflexivity.
  - intros f _ Hw. destruct Hw. apply Hwaits, Htarget.
  - intros f t _ _ _ _ Hfal. destruct (Hno t f Hfal).
  - intros f e t _ _ _ _ _ _ Hfal. destruct (Hno t f Hfal).
  - intros _. exists set. split; [exact Hkey |]. intros f _. split; [apply Hno | split; [| discriminate]].
    intros e He1 He2 _ _ [a [b [_ [_ [_ Hoff]]]]]. apply Hoff.
    destruct e; simpl in *; try reflexivity; destruct f; discriminate.
Qed.

(** While `x` is false, from the one to the other and back, for ever. *)
Theorem an_accepted_run : live (any M Q) begin.
Proof.
  exists (fun m => fst (fst m) = false). split; [| reflexivity].
  assert (Hstep : forall y q e, source e = q ->
    pstep M bool Q bool shown moves ((false, y), q) (Some n) (collects e) ((false, negb y), target e)).
  { intros y q e <-. split; [simpl; now destruct y |]. exists e. repeat split. destruct e; reflexivity. }
  assert (Htwo : forall i y, exists d, finds M bool Q bool shown moves (any M Q) (fun m => fst (fst m) = false) i
    ((false, y), two) d).
  { intros [[] |] y.
    - exists 1. eapply at_once; [exact I | apply (Hstep y two across eq_refl) | reflexivity | reflexivity].
    - exists 2. eapply later; [exact I | apply (Hstep y two across eq_refl) | reflexivity |].
      eapply at_once; [exact I | apply (Hstep (negb y) three back eq_refl) | reflexivity | reflexivity].
    - exists 1. eapply at_once; [exact I | apply (Hstep y two across eq_refl) | reflexivity | exact I]. }
  intros [[x y] q] Hx i; simpl in Hx; subst x. destruct q.
  - destruct (Htwo i (negb y)) as [d Hd]. exists (S d).
    eapply later; [exact I | apply (Hstep y one to_two eq_refl) | reflexivity | exact Hd].
  - apply Htwo.
  - destruct (Htwo i (negb y)) as [d Hd]. exists (S d).
    eapply later; [exact I | apply (Hstep y three back eq_refl) | reflexivity | exact Hd].
Qed.

(** The set takes [set] first; afterwards nothing is collected any more. *)
Theorem it_is_lost : ~ live (Temporal.kept M Q chosen) begin.
Proof.
  intros [X [HX Hb]].
  assert (Hset : forall y q j d, q <> one ->
    ~ finds M bool Q bool shown moves (Temporal.kept M Q chosen) X (Some j) ((true, y), q) d).
  { intros y q j d Hq H. remember (Some j) as i eqn:Ei. remember ((true, y), q) as m eqn:Em.
    revert y q Hq Em. induction H as [m a F m1 _ [Hd [e [H1 [H2 [H3 ->]]]]] _ Hi | m a F m1 d _ [Hd [e [H1 [H2 [H3 ->]]]]] _ _ IH];
      intros y q Hq ->; simpl in *; subst i.
    - destruct e; simpl in *; try discriminate; now destruct Hq.
    - destruct m1 as [[x1 y1] r1]; simpl in *.
      assert (Hx1 : x1 = true).
      { destruct a as [[] |]; simpl in Hd.
        - discriminate.
        - now destruct x1.
        - destruct Hd as [_ Hd]. congruence. }
      subst x1. apply (IH y1 r1); auto. subst r1. destruct e; discriminate. }
  (* After the first step, whichever edge is taken, `x` is set. *)
  assert (Hnext : exists y q, q <> one /\ X ((true, y), q)).
  { destruct (HX begin Hb None) as [d Hd].
    inversion Hd as [? a F [[x1 y1] r1] Hk [Hs [e [H1 [H2 _]]]] HX1 _ | ? a F [[x1 y1] r1] d' Hk [Hs [e [H1 [H2 _]]]] HX1 _]; subst;
      simpl in *; (destruct a as [[] |]; simpl in *;
        [ destruct x1; [exists y1, r1; split; [subst r1; destruct e; discriminate | exact HX1] | discriminate]
        | destruct Hk
        | destruct Hs as [Hdead _]; destruct (Hdead n); now exists (false, true) ]). }
  destruct Hnext as [y [q [Hq HXq]]]. destruct (HX _ HXq (Some true)) as [d Hd]. exact (Hset y q true d Hq Hd).
Qed.

Theorem what_goes_round_must_be_kept :
  (forall s q, steers M R bool Q bool Edge shown source target guard collects (fun _ => false) s q (chosen (s, q)) \/
    forall t, enabled M t s -> chosen (s, q) t) /\
  live (any M Q) begin /\ ~ live (Temporal.kept M Q chosen) begin.
Proof. exact (conj all_other_conditions_hold (conj an_accepted_run it_is_lost)). Qed.

End Rounds.

(** An instance: [a] of [Mistakes.Parity] alone, everywhere, where the automaton has one edge to a state that waits. *)
Module Instance.
Import Mistakes.Parity.

Inductive Q := one | two.
Inductive Edge := on_it | round.
Definition source (e : Edge) : Q := match e with on_it => one | round => two end.
Definition target (e : Edge) : Q := two.
Definition guard (e : Edge) (v : bool) : bool := true.
Definition collects (e : Edge) : marks unit := fun _ => true.
Definition chosen (m : State * Q) (t : Transition) : Prop := t = a.
Definition returns (e : Edge) : bool := match e with on_it => false | round => true end.
Definition rank (q : Q) : nat := match q with one => 1 | two => 0 end.

Theorem all_conditions_hold : forall s q,
  steers M R bool Q unit Edge shown source target guard collects returns s q (chosen (s, q)).
Proof.
  intros s q.
  assert (Hneeded : forall f e, ~ needed Q unit Edge source target collects f e).
  { intros f e [_ [H | [j [_ H]]]]; apply H; [reflexivity | now left]. }
  assert (Hwaits : forall f v, waits bool Q Edge source target guard (target f) v) by (intros f v; now exists round).
  split.
  - intros t ->. right; left; split; [apply enabled_always | intros u <-; reflexivity].
  - intros f e _ He; destruct (Hneeded f e He).
  - intros f e _ He; destruct (Hneeded f e He).
  - intros f _ H; destruct (H (Hwaits f _)).
  - intros f t _ _ _ _ [x [y [_ [_ [_ H]]]]]. destruct (H (Hwaits f _)).
  - intros f e t _ _ He; destruct (Hneeded f e He).
  - intros _. exists a. split.
    + split; [reflexivity | split; [apply enabled_always | intros u <-; reflexivity]].
    + intros f _. split; [intros [x [y [_ [_ [_ H]]]]]; destruct (H (Hwaits f _)) |].
      split; [intros e _ _ _ _ [x [y [_ [_ [_ H]]]]]; now destruct H | intros e He; destruct (Hneeded f e He)].
Qed.

Local Notation moves := (Steering.moves bool Q unit Edge source target guard collects).

Theorem the_accepted_run_is_kept :
  ~ ~ live M bool Q unit shown moves (Temporal.kept M Q chosen) ((false, false), one).
Proof.
  assert (Hq : forall x y : Q, {x = y} + {x <> y}) by (intros; decide equality).
  assert (Hb : forall x y : bool, {x = y} + {x <> y}) by (intros; decide equality).
  assert (Hs : forall x y : State, {x = y} + {x <> y}) by (intros; decide equality).
  assert (Hn : forall x y : State * Q, {x = y} + {x <> y}) by (intros; decide equality).
  assert (Hnodes : forall m : State * Q, In m
    [((false, false), one); ((false, true), one); ((true, false), one); ((true, true), one);
     ((false, false), two); ((false, true), two); ((true, false), two); ((true, true), two)])
    by (intros [[[] []] []]; simpl; tauto).
  assert (Hmarks : forall i : unit, In i [tt]) by (intros []; now left).
  assert (Hrank : forall e, rank (target e) <= rank (source e) /\ (returns e = false -> rank (target e) < rank (source e))).
  { intros []; simpl; split; auto; discriminate. }
  assert (Hg : forall f j, {gathered Q unit Edge source target collects f j} + {~ gathered Q unit Edge source target collects f j})
    by (intros f j; left; now left).
  assert (Hneed : forall f e, {needed Q unit Edge source target collects f e} + {~ needed Q unit Edge source target collects f e}).
  { intros f e; right. intros [_ [H | [j [_ H]]]]; apply H; [reflexivity | now left]. }
  assert (Hc : forall e, {common Q unit Edge source target collects e} + {~ common Q unit Edge source target collects e}).
  { intros []; [right | left].
    - intros H. destruct (H tt eq_refl) as [[e [H1 H2]] _]. destruct e; discriminate.
    - intros j _. split; [now exists round | auto]. }
  assert (Hw : forall r v, {waits bool Q Edge source target guard r v} + {~ waits bool Q Edge source target guard r v}).
  { intros [] v; [right | left; now exists round]. intros [e [H1 [H2 _]]]. discriminate. }
  assert (Hch : forall (m : State * Q) (t : Transition), {chosen m t} + {~ chosen m t}).
  { intros m []; [left; reflexivity | right; discriminate]. }
  apply (steered_products_keep_accepted_runs M R bool Q unit Edge shown source target guard collects returns rank Hrank
    Hq Hs Hn _ Hnodes _ Hmarks Hw Hc Hg Hneed chosen Hch); [| exact I |].
  - intros s q _; left; apply all_conditions_hold.
  - exists (fun _ => True); split; [| exact I]. intros [[x y] q] _ i. exists 1.
    set (e := match q with one => on_it | two => round end).
    apply at_once with (Some a) (collects e) ((negb x, y), two); [exact I | | exact I | destruct i; exact I || reflexivity].
    split; [simpl; now destruct x, y |]. exists e. destruct q; repeat split.
Qed.

End Instance.
