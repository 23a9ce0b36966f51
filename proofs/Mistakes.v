(** Two theorems that were published and are wrong, as counterexamples that are checked.

    1. "D1, D2, V, I and L keep stutter traces" does not hold of weak sets: D1 compares ends only, and the labels in
       between may differ ([Labels]; found by Neele, Valmari, Willemse, *The inconsistent labelling problem of
       stutter-preserving partial-order reduction*, 2020). [Closed.lemma_A] gives the squares in between, D1',
       for all sets that are closed under pairwise relations; this set is none.
    2. "The conditions may be asked for in the product with a stutter-invariant automaton, node by node" does not
       hold ([Parity]; found by Siegel, *What's wrong with on-the-fly partial order reduction*, 2019). All that
       [Temporal.holds_is_right] asks for holds here, except for the normal form of the automaton.

    Why it matters: both were believed for decades, and both are about the very conditions that this program
    uses (`prepare.rs` of `stubborn-emptiness` makes automata normal). *)

From Coq Require Import List Bool Arith Lia.
From Stubborn Require Import Deadlocks Closed Goals Outcomes Traces Temporal.
Import ListNotations.

(** ** 1. Labels between the ends *)

Module Labels.

Inductive State := s0 | s1 | s2 | s2' | e | s0' | s1' | k0 | k1 | k2.
(** [a] and [k] are invisible; [k] is the key, [a] is none. *)
Inductive Transition := a | k | a1 | a2 | v.
Inductive Value := nothing | q | r.

Definition next (t : Transition) (s : State) : option State :=
  match t, s with
  | a1, s0 => Some s1 | a2, s1 => Some s2 | a, s2 => Some s2' | v, s2' => Some e
  | a, s0 => Some s0' | a1, s0' => Some s1' | a2, s1' => Some s2'
  | k, s0 => Some k0 | a1, k0 => Some k1 | a2, k1 => Some k2 | k, s1 => Some k1 | k, s2 => Some k2
  | _, _ => None
  end.
Definition step (t : Transition) (s s' : State) : Prop := next t s = Some s'.

Definition shown (s : State) : Value := match s with s1 | k1 => q | e => r | _ => nothing end.

Definition chosen (s : State) (t : Transition) : Prop :=
  match s, t with s0, a1 | s0, a2 | s0, v => False | _, _ => True end.

Local Notation enabled := (Deadlocks.enabled State Transition step).
Local Notation run := (Deadlocks.run State Transition step).
Definition visible (t : Transition) : Prop := match t with a | k => False | _ => True end.

Ltac one_step :=
  match goal with
  | H : step ?t ?s ?x |- _ => unfold step in H; simpl in H; discriminate || (injection H as <-) || idtac
  end.

(** Paths outside of the set of [s0]. *)
Lemma ways_outside : forall w s, Forall (fun t => ~ chosen s0 t) w -> run s0 w s ->
  (w = [] /\ s = s0) \/ (w = [a1] /\ s = s1) \/ (w = [a1; a2] /\ s = s2).
Proof.
  intros w s Ho Hr. inversion Hr as [? | t w' ? x ? Hs Hr']; subst; [auto |].
  inversion_clear Ho as [| ? ? Ht Ho']. destruct t; simpl in Ht; try tauto; unfold step in Hs; simpl in Hs;
    try discriminate. injection Hs as <-.
  inversion Hr' as [? | t w'' ? x ? Hs Hr'']; subst; [auto |].
  inversion_clear Ho' as [| ? ? Ht' Ho'']. destruct t; simpl in Ht'; try tauto; unfold step in Hs; simpl in Hs;
    try discriminate. injection Hs as <-.
  inversion Hr'' as [? | t w''' ? x ? Hs Hr''']; subst; [auto |].
  inversion_clear Ho'' as [| ? ? Ht'' Ho''']. destruct t; simpl in Ht''; try tauto; unfold step in Hs;
    simpl in Hs; discriminate.
Qed.

Theorem D1_holds : forall s w t s', chosen s t -> Forall (fun u => ~ chosen s u) w -> run s (w ++ [t]) s' ->
  exists x, step t s x /\ run x w s'.
Proof.
  intros s w t s' Ht Ho Hr.
  assert (Hall : (forall u, chosen s u) \/ s = s0) by (destruct s; auto; left; intros u; exact I).
  destruct Hall as [Hall | ->].
  - destruct w as [| u w]; [| inversion_clear Ho as [| ? ? Hu _]; destruct (Hu (Hall u))].
    inversion Hr as [| ? ? ? x ? Hs Hn]; subst. exists x; split; auto.
  - apply run_app in Hr. destruct Hr as [m [Hw Hlast]].
    assert (Hs : step t m s') by (inversion Hlast as [| ? ? ? x ? Hs Hn]; subst; inversion Hn; subst; exact Hs).
    clear Hlast.
    destruct (ways_outside w m Ho Hw) as [[-> ->] | [[-> ->] | [-> ->]]]; destruct t; simpl in Ht; try tauto;
      unfold step in Hs; simpl in Hs; try discriminate; injection Hs as <-.
    + exists s0'; split; [reflexivity | constructor].
    + exists k0; split; [reflexivity | constructor].
    + exists k0; split; [reflexivity | econstructor; [reflexivity | constructor]].
    + exists s0'; split; [reflexivity |]. econstructor; [reflexivity | econstructor; [reflexivity | constructor]].
    + exists k0; split; [reflexivity |]. econstructor; [reflexivity | econstructor; [reflexivity | constructor]].
Qed.

Theorem D2_holds_with_an_invisible_key : forall s, (exists t, enabled t s) ->
  exists key, chosen s key /\ ((exists t, enabled t s /\ ~ visible t) -> ~ visible key) /\
    forall w s', Forall (fun u => ~ chosen s u) w -> run s w s' -> enabled key s'.
Proof.
  intros s [t Ht].
  assert (Hall : s = s0 \/ forall key, enabled key s ->
    forall w s', Forall (fun u => ~ chosen s u) w -> run s w s' -> enabled key s').
  { destruct s; auto; right; intros key Hk w s' Ho Hr; destruct w as [| u w];
      try (inversion Hr; subst; exact Hk); inversion_clear Ho as [| ? ? Hu _]; destruct (Hu I). }
  destruct Hall as [-> | Hall].
  - exists k; split; [exact I | split; [intros _ H; exact H |]].
    intros w s' Ho Hr. destruct (ways_outside w s' Ho Hr) as [[_ ->] | [[_ ->] | [_ ->]]];
      [exists k0 | exists k1 | exists k2]; reflexivity.
  - destruct s;
      try (exists a; split; [exact I | split; [intros _ H; exact H | apply Hall; eexists; reflexivity]]);
      try (exists k; split; [exact I | split; [intros _ H; exact H | apply Hall; eexists; reflexivity]]);
      (exists t; split; [destruct t; exact I | split; [| apply Hall; exact Ht]]);
      intros [u [[x Hu] Hi]]; destruct u; unfold step in Hu; simpl in Hu, Hi; try discriminate; tauto.
Qed.

Theorem V_holds : forall s t, chosen s t -> enabled t s -> visible t -> forall u, visible u -> chosen s u.
Proof.
  intros s t Ht _ Hv u Hu. destruct s; try exact I. destruct t; simpl in *; tauto.
Qed.

Lemma invisible_law : forall t s s', ~ visible t -> step t s s' -> shown s' = shown s.
Proof.
  intros t s s' Hv Hs; destruct t; simpl in Hv; try tauto; destruct s; unfold step in Hs; simpl in Hs;
    try discriminate; injection Hs as <-; reflexivity.
Qed.

(** There is no cycle, so L holds. *)
Definition rank (s : State) : nat :=
  match s with s0 => 0 | s1 | s0' | k0 => 1 | s2 | s1' | k1 => 2 | s2' | k2 => 3 | e => 4 end.
Theorem no_cycle : forall t s s', step t s s' -> rank s < rank s'.
Proof.
  intros t s s' Hs; destruct t, s; unfold step in Hs; simpl in Hs; try discriminate; injection Hs as <-;
    simpl; lia.
Qed.

(** A run whose trace begins like this, as [Traces.can_show]. *)
Section Shows.
Variable kept : State -> Transition -> Prop.
Inductive can_show : State -> list Value -> Prop :=
| show_last : forall s, can_show s [shown s]
| show_same : forall t s s' tr, kept s t -> step t s s' -> shown s' = shown s -> can_show s' tr -> can_show s tr
| show_change : forall t s s' tr, kept s t -> step t s s' -> shown s' <> shown s -> can_show s' tr ->
    can_show s (shown s :: tr).
End Shows.

Definition trace : list Value := [nothing; q; nothing; r].

Theorem the_trace_is_there : can_show (fun _ _ => True) s0 trace.
Proof.
  change (can_show (fun _ _ => True) s0 (shown s0 :: [q; nothing; r])).
  apply show_change with a1 s1; [exact I | reflexivity | discriminate |].
  change (can_show (fun _ _ => True) s1 (shown s1 :: [nothing; r])).
  apply show_change with a2 s2; [exact I | reflexivity | discriminate |].
  apply show_same with a s2'; [exact I | reflexivity | reflexivity |].
  change (can_show (fun _ _ => True) s2' (shown s2' :: [r])).
  apply show_change with v e; [exact I | reflexivity | discriminate |]. apply (show_last _ e).
Qed.

Ltac follow H :=
  inversion H as [? | ?t ?s ?s' ?tr ?Hk ?Hs ?Hv ?H' | ?t ?s ?s' ?tr ?Hk ?Hs ?Hv ?H']; subst;
  simpl in *; try discriminate;
  try (match goal with Hs : step ?t _ _, Hk : _ |- _ =>
    destruct t; unfold step in Hs; simpl in Hs, Hk; try tauto; try discriminate; injection Hs as <- end);
  simpl in *; try congruence.

Theorem the_trace_is_lost : ~ can_show chosen s0 trace.
Proof.
  assert (He : forall tr, can_show chosen e tr -> tr = [r]) by (intros tr H; follow H; reflexivity).
  assert (Hs2' : forall tr, can_show chosen s2' tr -> tr = [nothing] \/ tr = [nothing; r]).
  { intros tr H; follow H; auto; match goal with H' : can_show _ _ _ |- _ => apply He in H' end; subst; auto. }
  assert (Hs1' : forall tr, can_show chosen s1' tr -> tr = [nothing] \/ tr = [nothing; r]).
  { intros tr H; follow H; auto. }
  assert (Hs0' : forall tr, can_show chosen s0' tr -> tr = [nothing] \/ tr = [nothing; r]).
  { intros tr H; follow H; auto. }
  assert (Hk2 : forall tr, can_show chosen k2 tr -> tr = [nothing]) by (intros tr H; follow H; auto).
  assert (Hk1 : forall tr, can_show chosen k1 tr -> tr = [q] \/ tr = [q; nothing]).
  { intros tr H; follow H; auto; match goal with H' : can_show _ _ _ |- _ => apply Hk2 in H' end; subst; auto. }
  assert (Hk0 : forall tr, can_show chosen k0 tr -> tr = [nothing] \/ tr = [nothing; q] \/ tr = [nothing; q; nothing]).
  { intros tr H; follow H; auto; match goal with H' : can_show _ _ _ |- _ => apply Hk1 in H' end;
      match goal with H' : _ \/ _ |- _ => destruct H' as [-> | ->] end; auto. }
  intros H; unfold trace in H; follow H.
  - match goal with H' : can_show _ s0' _ |- _ => apply Hs0' in H'; destruct H'; discriminate end.
  - match goal with H' : can_show _ k0 _ |- _ => apply Hk0 in H'; destruct H' as [H' | [H' | H']]; discriminate end.
Qed.

(** D1': [a] would have to be enabled in between. *)
Theorem D1'_does_not_hold : step a1 s0 s1 /\ ~ chosen s0 a1 /\ ~ enabled a s1.
Proof. repeat split; auto. intros [x H]; discriminate. Qed.

Theorem D1_does_not_keep_labels :
  (forall s w t s', chosen s t -> Forall (fun u => ~ chosen s u) w -> run s (w ++ [t]) s' ->
    exists x, step t s x /\ run x w s') /\
  (forall s, (exists t, enabled t s) -> exists key, chosen s key /\
    ((exists t, enabled t s /\ ~ visible t) -> ~ visible key) /\
    forall w s', Forall (fun u => ~ chosen s u) w -> run s w s' -> enabled key s') /\
  (forall s t, chosen s t -> enabled t s -> visible t -> forall u, visible u -> chosen s u) /\
  (forall t s s', step t s s' -> rank s < rank s') /\
  can_show (fun _ _ => True) s0 trace /\ ~ can_show chosen s0 trace.
Proof.
  exact (conj D1_holds (conj D2_holds_with_an_invisible_key (conj V_holds (conj no_cycle
    (conj the_trace_is_there the_trace_is_lost))))).
Qed.

End Labels.

(** ** 2. Expanded by node, in an automaton that is not normal *)

Module Parity.

(** [a] switches a bit that nobody sees, [b] the letter; both are always possible. *)
Definition State : Type := bool * bool.
Inductive Transition := a | b.
Definition edge (t : Transition) (s s' : State) : bool :=
  match t with
  | a => eqb (fst s') (negb (fst s)) && eqb (snd s') (snd s)
  | b => eqb (fst s') (fst s) && eqb (snd s') (negb (snd s))
  end.

Definition M : system.
Proof.
  refine (table State Transition Empty_set edge (fun _ _ => true) (fun _ _ => true) _). reflexivity.
Defined.

Ltac find_state := solve
  [ now exists (false, false) | now exists (false, true) | now exists (true, false) | now exists (true, true) ].

Definition R : relations M.
Proof.
  refine (Build_relations M (fun _ _ => False) (fun _ _ => False) (fun _ _ => False)
    (fun t u : Transition => t = u) (fun _ _ => True) _ _ _ _ _).
  - intros ? ? ? [].
  - intros ? ? ? [].
  - intros ? ? [].
  - intros [[] []] [] [] _ Hab _ _; try (now destruct Hab); (split;
      [ intros [[] []] Hz; simpl in *; try discriminate; find_state
      | intros [[] []] [[] []] Hz Hz'; simpl in *; try discriminate; find_state ]).
  - intros s t u _ H; destruct (H I).
Defined.

(** "The letter changes for ever": the automaton guesses for each block of one letter whether it is of even
    or odd length, and counts. The states also say which letter the block is of. *)
Inductive Count := e0 | e1 | e2 | o0 | o1 | o2 | o3.
Definition Q : Type := Count * bool.
(** Where it goes on a letter, and whether the edge has the mark. *)
Definition next (q : Q) (letter : bool) : list (Q * bool) :=
  let (count, block) := q in
  if eqb letter block then
    match count with
    | e0 => [((e1, block), false)] | e1 => [((e2, block), false)] | e2 => [((e1, block), false)]
    | o0 => [((o1, block), false)] | o1 => [((o2, block), false)] | o2 => [((o3, block), false)]
    | o3 => [((o2, block), false)]
    end
  else
    match count with
    | e2 | o1 | o3 => [((e1, letter), true); ((o1, letter), true)]
    | _ => []
    end.
Definition moves (q : Q) (letter : bool) (F : marks unit) (r : Q) : Prop := In (r, F tt) (next q letter).

Definition shown (s : State) : bool := snd s.
Definition node : Type := (State * Q)%type.

(** Only where the plain proviso expands, or where the walk does not come, is everything taken. *)
Definition begin : node := ((false, false), (e0, false)).
Definition second : node := ((true, false), (e1, false)).
Definition chosen (n : node) (t : Transition) : Prop :=
  match t with
  | a => True
  | b => match n with ((false, false), (e0, false)) | ((true, false), (e1, false)) => False | _ => True end
  end.

Local Notation pstep := (pstep M bool Q unit shown moves).
Local Notation kept := (kept M Q chosen).
Local Notation expanded := (expanded M Q chosen).

Lemma enabled_always : forall t s, enabled M t s.
Proof. intros [] [[] []]; find_state. Qed.

Theorem sets_are_closed : forall s q, closed M R (chosen (s, q)) s.
Proof.
  intros s q t Ht. right; left; split; [apply enabled_always | intros u <-; exact Ht].
Qed.

Definition visible (q : Q) (t : Transition) : Prop := t = b.

Theorem V_holds : forall s q t, chosen (s, q) t -> visible q t -> forall u, visible q u -> chosen (s, q) u.
Proof. intros s q t Ht -> u ->; exact Ht. Qed.

Theorem the_key_is_invisible : forall s q, is_key M R (chosen (s, q)) s a /\ ~ visible q a.
Proof.
  intros s q; split; [| discriminate]. repeat split; [apply enabled_always | intros u <-; exact I].
Qed.

Lemma expanded_elsewhere : forall n, n <> begin -> n <> second -> expanded n.
Proof.
  intros [[[] []] [[] []]] H1 H2 [] _; try exact I; (now destruct H1) || now destruct H2.
Qed.

(** Every cycle has an expanded node. *)
Theorem no_cycle_leaves_out :
  well_founded (fun n1 n => ~ expanded n /\ exists t F, kept n t /\ pstep n t F n1).
Proof.
  assert (Hno : forall n, n <> begin -> n <> second ->
    Acc (fun n1 n => ~ expanded n /\ exists t F, kept n t /\ pstep n t F n1) n -> True) by auto. clear Hno.
  assert (Hexp : forall n, expanded n ->
    Acc (fun n1 n => ~ expanded n /\ exists t F, kept n t /\ pstep n t F n1) n).
  { intros n Hn; constructor; intros n1 [Hno _]; now destruct Hno. }
  assert (Hnext : forall n1, (exists t F, kept second t /\ pstep second t F n1) -> expanded n1).
  { intros [s [c l]] [t [F [Hk [Hd Hm]]]]. apply expanded_elsewhere; intros E; injection E as -> -> ->;
      simpl in Hm; destruct Hm as [Hm | []]; discriminate. }
  assert (Hsecond : Acc (fun n1 n => ~ expanded n /\ exists t F, kept n t /\ pstep n t F n1) second).
  { constructor; intros n1 [_ H]. apply Hexp, Hnext, H. }
  intros n. destruct n as [[[] []] [[] []]];
    try (apply Hexp, expanded_elsewhere; discriminate); [exact Hsecond |].
  constructor; intros [s [c l]] [_ [t [F [Hk [Hd Hm]]]]]. simpl in Hm. destruct Hm as [Hm | []].
  injection Hm as <- <- _. destruct t as [[] |]; simpl in Hk; try tauto.
  - simpl in Hd. destruct s as [[] []]; try discriminate. exact Hsecond.
  - destruct Hd as [Hd _]. destruct (Hd a (enabled_always a _)).
Qed.

(** The lasso: two steps for each letter. *)
Definition on_the_lasso (n : node) : Prop :=
  n = begin \/ n = second \/ n = ((true, true), (e2, false)) \/ n = ((false, true), (e1, true)) \/
  n = ((false, false), (e2, true)).

Theorem an_accepted_run : live M bool Q unit shown moves (any M Q) begin.
Proof.
  exists on_the_lasso. split; [| now left].
  set (no := fun _ : unit => false). set (yes := fun _ : unit => true).
  assert (H1 : pstep ((false, false), (e0, false)) (Some a) no ((true, false), (e1, false)))
    by (split; [reflexivity | now left]).
  assert (H2 : pstep ((true, false), (e1, false)) (Some b) no ((true, true), (e2, false)))
    by (split; [reflexivity | now left]).
  assert (H3 : pstep ((true, true), (e2, false)) (Some a) yes ((false, true), (e1, true)))
    by (split; [reflexivity | now left]).
  assert (H4 : pstep ((false, true), (e1, true)) (Some b) no ((false, false), (e2, true)))
    by (split; [reflexivity | now left]).
  assert (H5 : pstep ((false, false), (e2, true)) (Some a) yes ((true, false), (e1, false)))
    by (split; [reflexivity | now left]).
  assert (L : forall n, n = begin \/ n = second \/ n = ((true, true), (e2, false)) \/
    n = ((false, true), (e1, true)) \/ n = ((false, false), (e2, true)) -> on_the_lasso n) by auto.
  assert (Hf : forall i n t n1, on_the_lasso n1 -> pstep n t yes n1 ->
    exists d, finds M bool Q unit shown moves (any M Q) on_the_lasso i n d).
  { intros i n t n1 Hn Hs; exists 1. apply at_once with t yes n1; auto; [exact I | destruct i; exact I || reflexivity]. }
  assert (Hl : forall i n t F n1, on_the_lasso n1 -> pstep n t F n1 ->
    (exists d, finds M bool Q unit shown moves (any M Q) on_the_lasso i n1 d) ->
    exists d, finds M bool Q unit shown moves (any M Q) on_the_lasso i n d).
  { intros i n t F n1 Hn Hs [d Hd]; exists (S d). apply later with t F n1; auto. exact I. }
  assert (G3 : forall i, exists d, finds M bool Q unit shown moves (any M Q) on_the_lasso i ((true, true), (e2, false)) d)
    by (intros i; eapply Hf; [| exact H3]; apply L; (right; right; right; left; reflexivity)).
  assert (G2 : forall i, exists d, finds M bool Q unit shown moves (any M Q) on_the_lasso i ((true, false), (e1, false)) d)
    by (intros i; eapply Hl; [| exact H2 | apply G3]; apply L; (right; right; left; reflexivity)).
  assert (G1 : forall i, exists d, finds M bool Q unit shown moves (any M Q) on_the_lasso i ((false, false), (e0, false)) d)
    by (intros i; eapply Hl; [| exact H1 | apply G2]; apply L; (right; left; reflexivity)).
  assert (G5 : forall i, exists d, finds M bool Q unit shown moves (any M Q) on_the_lasso i ((false, false), (e2, true)) d)
    by (intros i; eapply Hf; [| exact H5]; apply L; (right; left; reflexivity)).
  assert (G4 : forall i, exists d, finds M bool Q unit shown moves (any M Q) on_the_lasso i ((false, true), (e1, true)) d)
    by (intros i; eapply Hl; [| exact H4 | apply G5]; apply L; (right; right; right; right; reflexivity)).
  intros n [-> | [-> | [-> | [-> | ->]]]]; auto.
Qed.

(** Where the reduced product comes: no edge has the mark. *)
Definition visited (n : node) : Prop :=
  n = begin \/ n = second \/ n = ((false, false), (e2, false)) \/ n = ((false, true), (e1, false)).

Lemma nothing_marked : forall n t F n1, visited n -> kept n t -> pstep n t F n1 -> visited n1 /\ F tt = false.
Proof.
  intros n t F [[x l] [c m]] Hv Hk [Hd Hm].
  assert (Ht : exists u, t = Some u).
  { destruct t as [u |]; [now exists u |]. destruct Hd as [Hd _]. destruct (Hd a (enabled_always a _)). }
  destruct Ht as [u ->]. simpl in Hd, Hm, Hk.
  destruct Hv as [-> | [-> | [-> | ->]]]; simpl in *; destruct u; simpl in Hk; try tauto; try (now destruct Hm);
    (destruct Hm as [Hm | Hm]; [injection Hm as <- <- Hm | now destruct Hm]);
    (split; [| now symmetry]); destruct x, l; simpl in Hd; try discriminate; unfold visited;
    (right; left; reflexivity) || (right; right; left; reflexivity) || (right; right; right; reflexivity).
Qed.

Theorem it_is_lost : ~ live M bool Q unit shown moves kept begin.
Proof.
  intros [X [HX Hn]]. destruct (HX begin Hn (Some tt)) as [d Hd].
  assert (Hgen : forall i n d, finds M bool Q unit shown moves kept X i n d -> i = Some tt -> ~ visited n).
  { induction 1 as [n t F n1 Hk Hs HX1 Hi | n t F n1 e Hk Hs HX1 _ IH]; intros -> Hv;
      destruct (nothing_marked _ _ _ _ Hv Hk Hs) as [Hv1 Hf].
    - simpl in Hi; congruence.
    - exact (IH eq_refl Hv1). }
  apply (Hgen _ _ _ Hd eq_refl). now left.
Qed.

(** What is missing is the normal form. *)
Theorem the_automaton_is_not_normal : moves (e0, false) false (fun _ => false) (e1, false) /\
  (forall F, ~ moves (e0, false) false F (e0, false)) /\ forall F, ~ moves (e1, false) false F (e1, false).
Proof.
  split; [now left |]. split; intros F [H | []]; discriminate.
Qed.

Theorem a_proviso_by_node_asks_for_a_normal_automaton :
  (forall s q, closed M R (chosen (s, q)) s) /\
  (forall s q, is_key M R (chosen (s, q)) s a /\ ~ visible q a) /\
  (forall s q t, chosen (s, q) t -> visible q t -> forall u, visible q u -> chosen (s, q) u) /\
  well_founded (fun n1 n => ~ expanded n /\ exists t F, kept n t /\ pstep n t F n1) /\
  live M bool Q unit shown moves (any M Q) begin /\ ~ live M bool Q unit shown moves kept begin.
Proof.
  exact (conj sets_are_closed (conj the_key_is_invisible (conj V_holds (conj no_cycle_leaves_out
    (conj an_accepted_run it_is_lost))))).
Qed.

End Parity.
