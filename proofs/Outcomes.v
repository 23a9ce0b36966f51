(** Three counterexamples for transitions with several outcomes, checked by computation: what "accord"
    must mean for them.

    1. That neither disables the other, and both orders have the same ends, is enough for D1 and D2 ([Closed]), but
       not for goals with a safety proviso: a closed strong set with condition G, no visible member, and a state
       where nothing is left out always within reach loses a goal ([Ends]). A safety proviso may follow any
       outcome of any kept step, and lemma B is about some outcome.
    2. With one side of accordance, as `lpor` takes it (`strong_row` in `stubborn-reduce/src/local.rs`), the
       same happens if only the kept step has several outcomes: one of them may disable the other ([OneSide]).
    3. The other way round, "any two outcomes meet again" (definition 8 of Laarman et al., 2014, which is
       about one outcome each) loses deadlocks ([Meeting]).

    Right is both, see [Goals.meets_law]. The first alone is enough where one of the two has one outcome
    ([Goals.accord_meets]), the second where the member has ([Goals.one_side_meets]), and either under a
    cycle proviso ([Goals.cycle_proviso_keeps_the_goal], [Temporal]) and for sets driven by the goal.

    Why it matters: these systems are why relations say `do_not_meet` besides `do_not_accord`. Version 0.2.0 did not,
    and lost violations. *)

From Coq Require Import List Bool.
From Stubborn Require Import Deadlocks Closed Goals.
Import ListNotations.

(** A finite system by a table of steps; all states count as reachable. *)
Section Table.

Variables (State Transition Label : Type).
Variable edge : Transition -> State -> State -> bool.
Variable value : Label -> State -> bool.
Variable condition : Transition -> Label -> bool.
Hypothesis conditions_hold : forall t s s' g, edge t s s' = true -> condition t g = true -> value g s = true.

Definition table : system.
Proof.
  refine {| state := State; transition := Transition; label := Label;
    reachable := fun _ => True;
    step := fun t s s' => edge t s s' = true;
    offered := fun t s => exists s', edge t s s' = true;
    holds := value;
    guard := fun t g => condition t g = true;
    outranks := fun _ _ => False |}; simpl.
  - auto.
  - eauto.
  - intros s t g _ [s' H] Hg; eauto.
  - intros ? ? ? _ _ [].
Defined.

End Table.

(** ** 1. Equal ends lose a goal under a safety proviso *)

Module Ends.

Inductive State := start | lost | goal | over.
Inductive Transition := t | u.
Inductive Label := at_goal | still_open.

Definition edge (a : Transition) (s s' : State) : bool :=
  match a, s, s' with
  | t, start, start | t, start, lost | t, lost, lost | t, goal, goal | t, over, over => true
  | u, start, goal | u, start, over | u, lost, over => true
  | _, _, _ => false
  end.
Definition value (g : Label) (s : State) : bool :=
  match g, s with
  | at_goal, goal | still_open, start | still_open, lost => true
  | _, _ => false
  end.
Definition condition (a : Transition) (g : Label) : bool :=
  match a, g with u, still_open => true | _, _ => false end.

Definition M : system.
Proof. refine (table State Transition Label edge value condition _). now intros [] [] [] []. Defined.

(** Only [u] changes labels; every pair of different transitions accords. *)
Definition R : relations M.
Proof.
  refine (Build_relations M
    (* may_enable *) (fun (g : Label) (a : Transition) => g = at_goal /\ a = u)
    (* may_disable *) (fun (g : Label) (a : Transition) => g = still_open /\ a = u)
    (* never_together *) (fun _ _ => False)
    (* do_not_accord *) (fun a b => a = b)
    (* do_not_left_accord *) (fun _ _ => True) _ _ _ _ _).
  - now intros [] [] [] [].
  - now intros [] [] [] [].
  - intros ? ? ? _ [].
  - intros s a b _ Hab [x Hx] [y Hy]; split.
    + intros z Hz; destruct s, a, b, z; simpl in *; try discriminate; try (now destruct Hab);
        solve [now exists start | now exists lost | now exists goal | now exists over].
    + intros z z' Hz Hz'; destruct s, a, b, z, z'; simpl in *; try discriminate; try (now destruct Hab);
        solve [now exists start | now exists lost | now exists goal | now exists over].
  - intros s a b _ H; destruct (H I).
Defined.

Definition chosen (s : State) (a : Transition) : Prop := match s with start => a = t | _ => True end.

Lemma pairs_accord : forall s, enabled M t s -> enabled M u s -> accord M t u s.
Proof.
  intros s _ [s' Hu]; repeat split; intros z; [| | intros z' | intros z']; destruct s, s', z;
    try destruct z'; simpl in *; try discriminate; intros; try discriminate;
    solve [now exists start | now exists lost | now exists goal | now exists over].
Qed.

Lemma sets_are_strong : forall s, strong M R (chosen s) s.
Proof. intros s a Ha He; repeat split; auto. intros b <-; exact Ha. Qed.

Lemma sets_are_closed : forall s, closed M R (chosen s) s.
Proof.
  intros [] a Ha; try (left; apply by_everything; now intros []).
  right; left; split; [rewrite Ha; now exists start | intros b <-; exact Ha].
Qed.

Lemma sets_have_a_key : forall s, exists k, is_key M R (chosen s) s k.
Proof.
  intros s; exists t; repeat split; [now destruct s | | intros b <-; now destruct s].
  now exists s; destruct s.
Qed.

Lemma sets_have_G1 : forall s, G1 M R (chosen s) s [at_goal].
Proof. intros s a g _ _ [<- | []] [E _]; discriminate. Qed.

(** No member of a set that leaves something out changes any label. *)
Lemma sets_have_V : forall s a s' g, chosen s a -> edge a s s' = true -> value g s <> value g s' ->
  forall b, chosen s b.
Proof. intros [] a s' g Ha; [rewrite Ha | | |]; destruct s', g; simpl; auto; congruence. Qed.

Lemma proviso_holds : forall s, exists f, reduced M chosen s f /\ full M chosen f.
Proof.
  intros []; [exists lost | exists lost | exists goal | exists over]; split; try constructor;
    try (now intros a _).
  apply reduced_step with t lost; [reflexivity | reflexivity | constructor].
Qed.

Theorem the_goal_is_reachable : run M start [u] goal.
Proof. apply run_cons with goal; [reflexivity | constructor]. Qed.

Theorem the_goal_is_lost : forall s, reduced M chosen start s -> ~ all_hold M [at_goal] s.
Proof.
  intros s H. assert (Hs : s <> goal).
  { assert (Hgen : forall a b, reduced M chosen a b -> a <> goal -> b <> goal).
    { induction 1 as [a | x a b c Hx Hstep _ IH]; auto. intros Ha; apply IH; intros ->.
      destruct a; simpl in Hx; [subst x | destruct x | destruct x | destruct x];
        simpl in Hstep; discriminate || now destruct Ha. }
    apply (Hgen start s H); discriminate. }
  intros Hg. specialize (Hg at_goal (or_introl eq_refl)). now destruct s.
Qed.

(** All hypotheses of [Goals.proviso_keeps_the_goal] but [Goals.meets_law], and D1 and D2 besides. *)
Theorem a_safety_proviso_asks_for_more :
  (forall s, enabled M t s -> enabled M u s -> accord M t u s) /\
  (forall s, closed M R (chosen s) s /\ strong M R (chosen s) s /\ G1 M R (chosen s) s [at_goal] /\
    exists k, is_key M R (chosen s) s k) /\
  (forall s, exists f, reduced M chosen s f /\ full M chosen f) /\
  run M start [u] goal /\ all_hold M [at_goal] goal /\
  forall s, reduced M chosen start s -> ~ all_hold M [at_goal] s.
Proof.
  repeat apply conj; auto using pairs_accord, proviso_holds, the_goal_is_reachable, the_goal_is_lost.
  - auto using sets_are_closed, sets_are_strong, sets_have_G1, sets_have_a_key.
  - now intros g [<- | []].
Qed.

(** What is missing: one outcome of [t] and one of [u] never meet. *)
Lemma they_do_not_meet : ~ meets M t u start.
Proof.
  intros H; destruct (H lost goal eq_refl eq_refl) as [[] [H1 H2]]; simpl in *; discriminate.
Qed.

End Ends.

(** ** 2. One side of accordance loses a goal, with one step that has two outcomes *)

Module OneSide.

Inductive State := start | lost | goal.
Inductive Transition := t | u.
Inductive Label := at_goal | still_open.

Definition edge (a : Transition) (s s' : State) : bool :=
  match a, s, s' with
  | t, start, start | t, start, lost | t, lost, lost | t, goal, goal | u, start, goal => true
  | _, _, _ => false
  end.
Definition value (g : Label) (s : State) : bool :=
  match g, s with at_goal, goal | still_open, start => true | _, _ => false end.
Definition condition (a : Transition) (g : Label) : bool :=
  match a, g with u, still_open => true | _, _ => false end.

Definition M : system.
Proof. refine (table State Transition Label edge value condition _). now intros [] [] [] []. Defined.

(** [t] can be moved left over [u], which does not disable it; but it may disable [u]. *)
Definition R : relations M.
Proof.
  refine (Build_relations M
    (* may_enable *) (fun (g : Label) (a : Transition) => g = at_goal /\ a = u)
    (* may_disable *) (fun (g : Label) (a : Transition) => g = still_open)
    (* never_together *) (fun _ _ => False)
    (* do_not_accord *) (fun (a b : Transition) => a = b \/ a = u)
    (* do_not_left_accord *) (fun _ _ => True) _ _ _ _ _).
  - now intros [] [] [] [].
  - now intros [] [] [] [].
  - intros ? ? ? _ [].
  - intros s a b _ Hab [x Hx] [y Hy]; destruct a; [| now destruct Hab; auto].
    destruct b; [now destruct Hab; auto |].
    split; [intros z Hz | intros z z' Hz Hz']; destruct s, z; try destruct z'; simpl in *;
      try discriminate; solve [now exists start | now exists lost | now exists goal].
  - intros s a b _ H; destruct (H I).
Defined.

Definition chosen (s : State) (a : Transition) : Prop := match s with start => a = t | _ => True end.

Theorem a_safety_proviso_asks_for_both_sides :
  (forall s, closed M R (chosen s) s /\ strong M R (chosen s) s /\ G1 M R (chosen s) s [at_goal] /\
    exists k, is_key M R (chosen s) s k) /\
  (forall s, exists f, reduced M chosen s f /\ full M chosen f) /\
  run M start [u] goal /\ all_hold M [at_goal] goal /\
  forall s, reduced M chosen start s -> ~ all_hold M [at_goal] s.
Proof.
  assert (Hrow : forall s, contains M (chosen s) (do_not_accord R t)).
  { intros s b [<- | H]; [now destruct s | discriminate]. }
  assert (Hkey : forall s, is_key M R (chosen s) s t).
  { intros s; repeat split; [now destruct s | | apply Hrow]. now exists s; destruct s. }
  repeat apply conj.
  - intros s; repeat apply conj; [| | | exists t; apply Hkey].
    + intros a Ha. destruct s; try (left; apply by_everything; now intros []).
      right; left; rewrite Ha; split; apply Hkey.
    + intros a Ha He. destruct s; [rewrite Ha; apply Hkey | |]; repeat split; auto; now intros [].
    + intros a g Ha He [<- | []] E; discriminate.
  - intros []; [exists lost | exists lost | exists goal]; split; try constructor; try (now intros a _).
    apply reduced_step with t lost; [reflexivity | reflexivity | constructor].
  - apply run_cons with goal; [reflexivity | constructor].
  - now intros g [<- | []].
  - assert (Hgen : forall a b, reduced M chosen a b -> a <> goal -> b <> goal).
    { induction 1 as [a | x a b c Hx Hstep _ IH]; auto. intros Ha; apply IH; intros ->.
      destruct a; [simpl in Hx; subst x | destruct x | now destruct Ha]; discriminate. }
    intros s H Hg. specialize (Hg at_goal (or_introl eq_refl)).
    destruct s; try discriminate. now apply (Hgen _ _ H).
Qed.

End OneSide.

(** ** 3. Outcomes that meet lose a deadlock *)

Module Meeting.

Inductive State := start | left | right | one | two.
Inductive Transition := t | u.

Definition edge (a : Transition) (s s' : State) : bool :=
  match a, s, s' with
  | t, start, left | t, right, one | t, right, two | u, start, right | u, left, one => true
  | _, _, _ => false
  end.

Definition M : system.
Proof.
  refine (table State Transition Empty_set edge (fun _ _ => true) (fun _ _ => true) _). reflexivity.
Defined.

Lemma any_outcomes_meet : forall s, meets M t u s /\ meets M u t s.
Proof.
  intros s; split; intros x y; destruct s, x, y; simpl; try discriminate; intros _ _; exists one; auto.
Qed.

(** Nothing depends on anything, so this is a set; its member is a key, and remains enabled. *)
Definition chosen (s : State) (a : Transition) : Prop := match s with start => a = t | _ => True end.

Theorem a_deadlock_is_reachable : run M start [u; t] two /\ deadlock M two.
Proof.
  split.
  - apply run_cons with right; [reflexivity |]. apply run_cons with two; [reflexivity | constructor].
  - intros a [s' H]; destruct a, s'; discriminate.
Qed.

Theorem the_deadlock_is_lost : ~ reduced M chosen start two.
Proof.
  assert (Hgen : forall a b, reduced M chosen a b -> a <> right /\ a <> two -> b <> right /\ b <> two).
  { induction 1 as [a | x a b c Hx Hstep _ IH]; auto. intros [H1 H2]; apply IH.
    destruct a; simpl in Hx; [subst x | destruct x | | destruct x | now destruct H2]; try now destruct H1.
    all: destruct b; simpl in Hstep; try discriminate; split; discriminate. }
  intros H; destruct (Hgen _ _ H) as [_ Hn]; [split; discriminate | now apply Hn].
Qed.

End Meeting.

