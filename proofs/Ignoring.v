(** The ignoring problem, checked by computation, and its repair.

    A bit that is switched for ever, and a step that makes the goal true. The sets that always switch the bit
    are closed and strong, nothing in them is visible, condition G holds, every deadlock is kept
    ([Closed]); and the goal is lost, because what reaches it is put off on every cycle. With one state
    where nothing is left out on the cycle, all hypotheses of [Goals.proviso_keeps_the_goal] hold, and the
    goal is found; half of the states still leave something out.

    Why it matters: this is what `NeededProviso::Safety` in `stubborn-reduce/src/aim.rs` is for, and what
    fails first if `stubborn-search/src/proviso` is wrong (test
    `without_a_proviso_the_bug_is_ignored_and_with_one_it_is_found`). It shows, too, that the hypotheses of
    the theorem can be met. *)

From Coq Require Import List Bool.
From Stubborn Require Import Deadlocks Closed Goals Outcomes.
Import ListNotations.

(** The bit, and whether the goal was reached. *)
Definition State : Type := bool * bool.
Inductive Transition := switch | reach.
Inductive Label := reached | waiting.

Definition edge (t : Transition) (s s' : State) : bool :=
  match t with
  | switch => eqb (fst s') (negb (fst s)) && eqb (snd s') (snd s)
  | reach => eqb (fst s') (fst s) && negb (snd s) && snd s'
  end.
Definition value (g : Label) (s : State) : bool :=
  match g with reached => snd s | waiting => negb (snd s) end.
Definition condition (t : Transition) (g : Label) : bool :=
  match t, g with reach, waiting => true | _, _ => false end.

Definition M : system.
Proof.
  refine (table State Transition Label edge value condition _).
  now intros [] [[] []] [[] []] [].
Defined.

Ltac find_state := solve
  [ now exists (false, false) | now exists (false, true) | now exists (true, false)
  | now exists (true, true) ].

Definition R : relations M.
Proof.
  refine (Build_relations M
    (* may_enable *) (fun (g : Label) (t : Transition) => g = reached /\ t = reach)
    (* may_disable *) (fun (g : Label) (t : Transition) => g = waiting /\ t = reach)
    (* never_together *) (fun _ _ => False)
    (* do_not_accord *) (fun t u => t = u)
    (* do_not_left_accord *) (fun _ _ => True) _ _ _ _ _).
  - now intros [[] []] [] [[] []] [].
  - now intros [[] []] [] [[] []] [].
  - intros ? ? ? _ [].
  - intros [[] []] [] [] _ Hab [[[] []] Hx] [[[] []] Hy]; simpl in *; try discriminate;
      try (now destruct Hab); (split;
      [ intros [[] []] Hz; simpl in *; try discriminate; find_state
      | intros [[] []] [[] []] Hz Hz'; simpl in *; try discriminate; find_state ]).
  - intros s t u _ H; destruct (H I).
Defined.

Lemma every_outcome_meets : forall s t u, reachable s -> ~ do_not_accord R t u -> meets M t u s.
Proof.
  intros [[] []] [] [] _ Hab [[] []] [[] []] Hx Hy; simpl in *; try discriminate;
    try (now destruct Hab); find_state.
Qed.

(** Everything, but where the goal is not reached, at one or both values of the bit, [switch] alone. *)
Definition chosen (everything : bool -> bool) (s : State) (t : Transition) : Prop :=
  match t with switch => True | reach => everything (fst s) || snd s = true end.

Lemma chosen_dec : forall e s t, {chosen e s t} + {~ chosen e s t}.
Proof. intros e s []; simpl; [left; exact I | destruct (e (fst s) || snd s); auto]. Defined.

Lemma sets_are_strong : forall e s, strong M R (chosen e s) s.
Proof. intros e s t Ht He; repeat split; auto. intros u <-; exact Ht. Qed.

Lemma sets_are_closed : forall e s, closed M R (chosen e s) s.
Proof.
  intros e [b []] t Ht.
  - left; apply by_everything. intros []; simpl; auto. now rewrite orb_true_r.
  - right; left; split; [| intros u <-; exact Ht].
    destruct t; [exists (negb b, false) | exists (b, true)]; now destruct b.
Qed.

Lemma sets_have_a_key : forall e s, exists k, is_key M R (chosen e s) s k.
Proof.
  intros e [b p]; exists switch; repeat split; [| intros u <-; exact I].
  exists (negb b, p); now destruct b, p.
Qed.

Lemma sets_have_G1 : forall e s, G1 M R (chosen e s) s [reached].
Proof. intros e s t g _ _ [<- | []] [E _]; discriminate. Qed.

Definition initial : State := (false, false).

Theorem the_goal_is_reachable : run M initial [reach] (false, true).
Proof. apply run_cons with (false, true); [reflexivity | constructor]. Qed.

(** ** Without a proviso *)

Theorem the_goal_is_ignored : forall s, reduced M (chosen (fun _ => false)) initial s ->
  ~ all_hold M [reached] s.
Proof.
  assert (Hgen : forall a b, reduced M (chosen (fun _ => false)) a b -> snd a = false -> snd b = false).
  { induction 1 as [a | t a b c Ht Hs _ IH]; auto. intros Ha; apply IH.
    destruct a as [[] []], b as [[] []], t; simpl in *; congruence. }
  intros s H Hg. specialize (Hg reached (or_introl eq_refl)). simpl in Hg.
  rewrite (Hgen _ _ H eq_refl) in Hg; discriminate.
Qed.

(** ** With one *)

(** Everything where the bit is set: where a cycle closes. *)
Definition mended : State -> Transition -> Prop := chosen (fun b => b).

Lemma all_taken : forall b p, b || p = true -> full M mended (b, p).
Proof. intros b p H [] _; [exact I | exact H]. Qed.

Lemma proviso_holds : forall s, exists f, reduced M mended s f /\ (full M mended f \/ deadlock M f).
Proof.
  intros [[] []];
    try (eexists; split; [apply reduced_refl | left; apply all_taken; reflexivity]).
  exists (true, false); split; [| left; apply all_taken; reflexivity].
  apply reduced_step with switch (true, false); [exact I | reflexivity | constructor].
Qed.

Lemma goal_dec : forall s, {all_hold M [reached] s} + {~ all_hold M [reached] s}.
Proof.
  intros [b []]; [left | right]; [now intros g [<- | []] |].
  intros H; specialize (H reached (or_introl eq_refl)); discriminate.
Defined.

Theorem the_goal_is_found : exists s, reduced M mended initial s /\ all_hold M [reached] s.
Proof.
  apply (proviso_keeps_the_goal M R mended (chosen_dec _) (fun s _ => sets_are_closed _ s)
    (fun s _ => sets_are_strong _ s) every_outcome_meets initial I (fun s _ => proviso_holds s)
    (all_hold M [reached]) goal_dec
    (fun s _ => G1_spares M R _ s _ I (sets_have_G1 _ s)) [reach] initial (false, true)).
  - constructor.
  - exact the_goal_is_reachable.
  - now intros g [<- | []].
Qed.

