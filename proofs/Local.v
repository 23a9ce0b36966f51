(** Local sets: `lpor`.

    `Local` of `stubborn-reduce/src/local.rs`. The set is all that is out of reach: what neither is enabled
    without being a member nor can become enabled without a member. No member depends on anything in
    reach. Dependence is one-sided ([one_sided]): who may disable a member, or over whom it cannot be moved
    left; that is all that D1 and D2 ask for.

    Why it matters: the sets of `lpor` have the other reductions' conditions, although they are found
    the other way round. With a safety proviso one side is not enough where members have several outcomes
    ([Goals.one_side_meets], [Outcomes.OneSide]). *)

From Coq Require Import List Bool Arith.
From Stubborn Require Import Deadlocks Closed Goals Tables.
Import ListNotations.

(** ** One-sided dependence *)

Section Dependence.

Context {M : system} {R : relations M} (tb : tables R).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).

(** `!may_fail && priority == 0`: it is enabled where all its guards hold. *)
Variable guards_tell : transition -> bool.
Hypothesis guards_tell_all : forall t, guards_tell t = true -> forall s, reachable s ->
  (forall g, In g (guards tb t) -> holds g s = true) -> enabled t s.

(** `strong_row`, but for what a question adds. *)
Definition strong_row (t : transition) : list transition :=
  filter (fun u => negb (guards_tell t) || mem tb u (left_row tb t)
    || existsb (fun g => mem tb u (disable_row tb g)) (guards tb t)) (accord_row tb t).

Lemma one_sided_law : forall s t u, reachable s -> ~ In u (strong_row t) ->
  enabled t s -> enabled u s -> keeps u t s /\ moves_left t u s.
Proof.
  intros s t u Hr Hn Ht Hu.
  destruct (in_dec (same tb) u (accord_row tb t)) as [Ha | Ha].
  2: { apply (accord_law M R); auto. intros Hd; apply Ha, (accord_row_is_whole R tb), Hd. }
  assert (Hnot : negb (guards_tell t) || mem tb u (left_row tb t)
    || existsb (fun g => mem tb u (disable_row tb g)) (guards tb t) = false).
  { destruct (negb (guards_tell t) || mem tb u (left_row tb t)
      || existsb (fun g => mem tb u (disable_row tb g)) (guards tb t)) eqn:E; auto.
    destruct Hn; apply filter_In; auto. }
  apply orb_false_elim in Hnot; destruct Hnot as [Hnot Hd].
  apply orb_false_elim in Hnot; destruct Hnot as [Hg Hl].
  apply negb_false_iff in Hg. apply mem_false in Hl. split.
  - intros s1 Hs1. apply guards_tell_all; auto; [eauto using reachable_step |].
    intros g Hin. destruct (holds g s1) eqn:E; auto.
    assert (Hs : holds g s = true).
    { destruct Ht as [x Hx]. apply (guards_hold M s t g Hr); eauto using step_offered.
      now apply (guards_are_guards R tb). }
    assert (Hm := may_disable_law M R _ _ _ _ Hr Hs1 Hs E).
    apply (disable_row_is_whole R tb) in Hm.
    assert (existsb (fun g => mem tb u (disable_row tb g)) (guards tb t) = true); [| congruence].
    apply existsb_exists; exists g; split; [exact Hin | now apply mem_spec].
  - apply (left_law M R); auto. intros Hd'; apply Hl, (left_row_is_whole R tb), Hd'.
Qed.

(** The relations with one-sided dependence in the place of accordance: all laws of [Closed] hold. *)
Definition one_sided : relations M := {|
  may_enable := may_enable R; may_disable := may_disable R; never_together := never_together R;
  do_not_accord := fun t u => In u (strong_row t);
  do_not_left_accord := do_not_left_accord R;
  may_enable_law := may_enable_law M R; may_disable_law := may_disable_law M R;
  never_together_law := never_together_law M R;
  accord_law := one_sided_law;
  left_law := left_law M R |}.

(** *** Where the search may follow any step *)

(** Members with several outcomes depend, too, on those with whose outcomes they need not meet again (`must_meet`,
    `one_side_is_enough`). Rows of do-not-accord have those that may not meet in any case, then. *)
Section Meeting.

Variables (deterministic : transition -> bool) (apart_row : transition -> list transition).
Hypothesis one_outcome_law : forall t s, deterministic t = true -> reachable s -> one_outcome M t s.
Hypothesis apart_law : forall t u s, ~ In u (apart_row t) -> reachable s -> meets M t u s.
Hypothesis accord_rows_meet : forall t u s, ~ In u (accord_row tb t) -> reachable s -> meets M t u s.

Definition one_side_is_enough (t u : transition) : bool :=
  guards_tell t && (deterministic t || negb (mem tb u (apart_row t))).

Definition strong_row_that_meets (t : transition) : list transition :=
  filter (fun u => negb (one_side_is_enough t u) || mem tb u (left_row tb t)
    || existsb (fun g => mem tb u (disable_row tb g)) (guards tb t)) (accord_row tb t).

Lemma strong_row_is_part : forall t u, In u (strong_row t) -> In u (strong_row_that_meets t).
Proof.
  intros t u H. apply filter_In in H; destruct H as [Hin H]. apply filter_In; split; auto.
  unfold one_side_is_enough. destruct (guards_tell t); simpl in *; auto.
  destruct (deterministic t || negb (mem tb u (apart_row t))); simpl; auto.
Qed.

(** [Goals.meets_law], of local sets. *)
Theorem members_meet : forall s t u, reachable s -> ~ In u (strong_row_that_meets t) -> enabled t s -> enabled u s ->
  meets M t u s.
Proof.
  intros s t u Hr Hn Ht Hu.
  destruct (one_sided_law s t u Hr (fun H => Hn (strong_row_is_part t u H)) Ht Hu) as [Hk Hl].
  destruct (in_dec (same tb) u (accord_row tb t)) as [Ha | Ha]; [| auto].
  destruct (one_side_is_enough t u) eqn:E.
  - unfold one_side_is_enough in E. apply andb_prop in E; destruct E as [_ E].
    apply orb_prop in E; destruct E as [E | E].
    + now apply one_side_meets; [| | apply one_outcome_law].
    + apply apart_law; auto. now apply negb_true_iff, mem_false in E.
  - destruct Hn. apply filter_In; split; auto. now rewrite E.
Qed.

End Meeting.

(** ** Out of reach *)

Variable s : state M.
Variable now : transition -> bool.
Hypothesis now_tells : forall t, now t = true <-> enabled t s.

(** `strong.row` with what a question adds, `weak.row`. *)
Variables row_strong row_weak : transition -> list transition.
Hypothesis row_strong_is_whole : forall t u, In u (strong_row t) -> In u (row_strong t).
Hypothesis row_weak_is_whole : forall t u, In u (left_row tb t) -> In u (row_weak t).
Variable weak : bool.

(** `Attempt`: enabled transitions, the first of which is the key. *)
Variable key : transition.
Variable chosen : list transition.
Hypothesis chosen_are_enabled : forall t, In t chosen -> now t = true.
Hypothesis key_is_chosen : In key chosen.

Definition row (t : transition) : list transition :=
  if weak && negb (if same tb t key then true else false) then row_weak t else row_strong t.

(** `is_free`: every enabling set that may be used has someone in reach. *)
Definition is_free (reach : list transition) (t : transition) : bool :=
  negb (existsb (fun e => usable s e && negb (existsb (fun u => mem tb u reach) (row_of tb e)))
    (options tb t)).

Definition joins (reach : list transition) (t : transition) : bool :=
  negb (mem tb t reach) && negb (now t) && is_free reach t.

(** `Reach::compute`, by rounds; [None] by too little fuel. *)
Fixpoint spread (fuel : nat) (reach : list transition) : option (list transition) :=
  match filter (joins reach) (all tb), fuel with
  | [], _ => Some reach
  | _, 0 => None
  | new, S fuel => spread fuel (new ++ reach)
  end.

Definition compute_reach (fuel : nat) : option (list transition) :=
  match filter (fun t => now t && negb (mem tb t chosen)) (all tb) with
  | [] => Some []
  | begin => spread fuel begin
  end.

(** `threat`. *)
Definition is_threat (reach : list transition) : bool :=
  existsb (fun t => existsb (fun u => mem tb u reach) (row t)) chosen.

Lemma spread_ends : forall fuel reach end_, spread fuel reach = Some end_ ->
  filter (joins end_) (all tb) = [] /\
  (forall t, In t reach -> In t end_) /\
  (forall t, In t end_ -> now t = true -> In t reach).
Proof.
  induction fuel as [| fuel IH]; intros reach end_ E; simpl in E;
    destruct (filter (joins reach) (all tb)) as [| x new] eqn:F; try discriminate.
  1, 2: injection E as <-; auto.
  change (x :: new ++ reach) with ((x :: new) ++ reach) in E. rewrite <- F in E.
  destruct (IH _ _ E) as [H1 [H2 H3]]. repeat split; auto.
  - intros t Ht; apply H2, in_or_app; auto.
  - intros t Ht N. destruct (in_app_or _ _ _ (H3 t Ht N)) as [H | H]; auto.
    apply filter_In in H; destruct H as [_ H]. unfold joins in H. rewrite N, andb_false_r in H.
    discriminate.
Qed.

Definition out_of (reach : list transition) : transition -> Prop := fun t => ~ In t reach.

Theorem out_of_reach_is_closed : forall fuel reach, compute_reach fuel = Some reach ->
  is_threat reach = false ->
  closed M one_sided (out_of reach) s /\ is_key M one_sided (out_of reach) s key /\
  (weak = false -> strong M one_sided (out_of reach) s) /\
  (forall t, out_of reach t /\ enabled t s -> In t chosen).
Proof.
  intros fuel reach E Hthreat.
  assert (Hrow : forall t u, In t chosen -> In u (row t) -> out_of reach u).
  { intros t u Ht Hu Hin. assert (is_threat reach = true); [| congruence].
    apply existsb_exists; exists t; split; auto. apply existsb_exists; exists u; split; auto.
    now apply mem_spec. }
  assert (Hall : (forall u, out_of reach u) \/ filter (joins reach) (all tb) = []).
  { unfold compute_reach in E.
    destruct (filter (fun t => now t && negb (mem tb t chosen)) (all tb)) as [| x l].
    - injection E as <-; left; intros u [].
    - right; exact (proj1 (spread_ends _ _ _ E)). }
  assert (Hnow : forall t, now t = true -> (In t reach <-> ~ In t chosen)).
  { unfold compute_reach in E. intros t N.
    destruct (filter (fun t => now t && negb (mem tb t chosen)) (all tb)) as [| x l] eqn:F.
    - injection E as <-. split; [intros [] |]. intros Hno.
      assert (Hin : In t (filter (fun t => now t && negb (mem tb t chosen)) (all tb))).
      { apply filter_In; split; [apply all_are_there |]. rewrite N; simpl.
        now apply negb_true_iff, mem_false. }
      rewrite F in Hin; exact Hin.
    - destruct (spread_ends _ _ _ E) as [_ [H2 H3]]. rewrite <- F in H2, H3. split.
      + intros Hin. apply H3 in Hin; auto. apply filter_In in Hin; destruct Hin as [_ Hin].
        apply andb_prop in Hin; destruct Hin as [_ Hin]. now apply negb_true_iff, mem_false in Hin.
      + intros Hno. apply H2, filter_In; split; [apply all_are_there |]. rewrite N; simpl.
        now apply negb_true_iff, mem_false. }
  assert (Hkey : is_key M one_sided (out_of reach) s key).
  { repeat split.
    - intros Hin. apply Hnow in Hin; auto.
    - now apply now_tells, chosen_are_enabled.
    - intros u Hu. apply (Hrow key); auto. unfold row.
      destruct (same tb key key) as [_ | Hno]; [| now destruct Hno].
      rewrite andb_false_r. now apply row_strong_is_whole. }
  assert (Hchosen : forall t, out_of reach t -> now t = true -> In t chosen).
  { intros t Ht N. destruct (in_dec (same tb) t chosen) as [H | H]; auto.
    destruct Ht; now apply Hnow. }
  split; [| split; [exact Hkey | split]].
  - intros t Ht. destruct (now t) eqn:N.
    + assert (Hc := Hchosen t Ht N). unfold row in Hrow.
      specialize (Hrow t). destruct (weak && negb (if same tb t key then true else false)).
      * right; right. intros u Hu. apply Hrow; auto.
        now apply row_weak_is_whole, (left_row_is_whole R tb).
      * right; left; split; [now apply now_tells |]. intros u Hu. apply Hrow; auto.
    + left. destruct Hall as [Hall | Hstable]; [now apply by_everything |].
      (* It is not free: an enabling set that may be used is out of reach. *)
      assert (Hfree : is_free reach t = false).
      { destruct (is_free reach t) eqn:F; auto.
        assert (Hin : In t (filter (joins reach) (all tb))).
        { apply filter_In; split; [apply all_are_there |]. unfold joins. rewrite N, F.
          unfold out_of in Ht. apply (proj2 (mem_false tb t reach)) in Ht. now rewrite Ht. }
        rewrite Hstable in Hin; destruct Hin. }
      unfold is_free in Hfree. apply negb_false_iff, existsb_exists in Hfree.
      destruct Hfree as [e [He Hu]]. apply andb_prop in Hu; destruct Hu as [Hu Hb].
      unfold options in He. apply in_app_or in He.
      destruct He as [He | He]; apply in_map_iff in He; destruct He as [g [<- Hg]]; simpl in *.
      * apply by_guard with g; [now apply (guards_are_guards R tb) | now destruct (holds g s) |].
        intros u Hm Hre. apply negb_true_iff in Hb.
        assert (existsb (fun u => mem tb u reach) (enable_row tb g) = true); [| congruence].
        apply existsb_exists; exists u; split; [now apply (enable_row_is_whole R tb) | now apply mem_spec].
      * destruct (excluders_exclude R tb t g Hg) as [g' [Hg' Hn]]. apply by_excluder with g' g; auto.
        intros u Hm Hre. apply negb_true_iff in Hb.
        assert (existsb (fun u => mem tb u reach) (disable_row tb g) = true); [| congruence].
        apply existsb_exists; exists u; split; [now apply (disable_row_is_whole R tb) | now apply mem_spec].
  - intros Hw t Ht He. assert (N : now t = true) by now apply now_tells.
    repeat split; auto. intros u Hu. apply (Hrow t); auto. unfold row; rewrite Hw; simpl; auto.
  - intros t [Ht He]. apply Hchosen; auto. now apply now_tells.
Qed.

End Dependence.
