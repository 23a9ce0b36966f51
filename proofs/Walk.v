(** Cycle provisos: that every cycle of the reduced graph has an expanded node, as an invariant of the walk.

    - Rules about back-edges: `source`, `dest`, `cond-source`, `cond-dest`, `two-phase`, and `parallel` on one
      thread ([back_edges]).
    - `closed-set`, in any order and on any number of threads ([closed_set]).
    - `highlink-stab-scan`, the default, and `stab` with its other parts ([stab]).

    `stubborn-emptiness/src/walk.rs` and `watch.rs`. A walk is seen by the times at which it does things. What is
    asked of it ([H_...]) are single statements about the code: how a stack works, what Tarjan's algorithm says of
    complete components, what a frame's `need` is at least, what is added to its link. That links bound whatever a
    node can reach, although they are stored once and brought up to date later, is a theorem ([link_bounds]).

    Why it matters: [Temporal] rests on this, and four natural ways to define links were wrong. *)

From Coq Require Import List Bool Arith Lia Wf_nat.
Import ListNotations.

(** ** Numbers that come again *)

Section Periodic.

Variables (f : nat -> nat) (n : nat).
Hypothesis positive : 0 < n.
Hypothesis periodic : forall i, f (i + n) = f i.

Lemma periodic_mod : forall i, f i = f (i mod n).
Proof.
  assert (H : forall k i, f (i + k * n) = f i).
  { induction k as [| k IH]; intros i; simpl; [now rewrite Nat.add_0_r |].
    replace (i + (n + k * n)) with (i + k * n + n) by lia. now rewrite periodic. }
  intros i. rewrite (Nat.div_mod_eq i n) at 1. rewrite Nat.add_comm, Nat.mul_comm. apply H.
Qed.

Lemma least : exists m, forall j, f m <= f j.
Proof.
  assert (H : forall k, exists m, forall j, j < S k -> f m <= f j).
  { induction k as [| k [m Hm]].
    - exists 0; intros j Hj; replace j with 0 by lia; lia.
    - destruct (le_lt_dec (f m) (f (S k))) as [H | H].
      + exists m; intros j Hj. destruct (Nat.eq_dec j (S k)) as [-> | Hn]; auto. apply Hm; lia.
      + exists (S k); intros j Hj. destruct (Nat.eq_dec j (S k)) as [-> | Hn]; auto.
        specialize (Hm j ltac:(lia)); lia. }
  destruct (H n) as [m Hm]. exists m; intros j. rewrite (periodic_mod j). apply Hm.
  assert (Hb := Nat.mod_upper_bound j n). lia.
Qed.

Lemma greatest : exists m, forall j, f j <= f m.
Proof.
  assert (H : forall k, exists m, forall j, j < S k -> f j <= f m).
  { induction k as [| k [m Hm]].
    - exists 0; intros j Hj; replace j with 0 by lia; lia.
    - destruct (le_lt_dec (f (S k)) (f m)) as [H | H].
      + exists m; intros j Hj. destruct (Nat.eq_dec j (S k)) as [-> | Hn]; auto. apply Hm; lia.
      + exists (S k); intros j Hj. destruct (Nat.eq_dec j (S k)) as [-> | Hn]; auto.
        specialize (Hm j ltac:(lia)); lia. }
  destruct (H n) as [m Hm]. exists m; intros j. rewrite (periodic_mod j). apply Hm.
  assert (Hb := Nat.mod_upper_bound j n). lia.
Qed.

End Periodic.

Section Walk.

Variable node : Type.

(** When a node was entered, and when it left the path. *)
Variables entered left : node -> nat.
(** An edge is taken, at some time. Those of a node that is not expanded are its kept ones. *)
Variable takes : node -> node -> nat -> Prop.
(** At some time, at last. *)
Variable expanded : node -> Prop.

(** A cycle without expanded node, by its nodes and the times at which its edges were taken. *)
Record cycle := {
  at_ : nat -> node;
  time : nat -> nat;
  size : nat;
  size_positive : 0 < size;
  goes_round : forall i, at_ (i + size) = at_ i;
  edges : forall i, takes (at_ i) (at_ (S i)) (time i);
  times_go_round : forall i, time (i + size) = time i;
  nothing_expanded : forall i, ~ expanded (at_ i)
}.

(** *** Closed set *)

(** The edges of a node that is not expanded lead to nodes that are entered later: none was when it was
    (`reaches_entered`); on several threads, entering is sequentially consistent. *)
Theorem closed_set : (forall x y t, takes x y t -> ~ expanded x -> entered x < entered y) -> forall c : cycle, False.
Proof.
  intros Hrule c.
  assert (H : forall k, entered (at_ c 0) + k <= entered (at_ c k)).
  { induction k as [| k IH]; [lia |].
    assert (Hlt := Hrule _ _ _ (edges c k) (nothing_expanded c k)). lia. }
  specialize (H (size c)). assert (E := goes_round c 0). rewrite Nat.add_0_l in E. rewrite E in H.
  assert (Hpos := size_positive c). lia.
Qed.

(** ** Depth-first walks *)

Definition on_path (x : node) (t : nat) : Prop := entered x <= t < left x.

(** Edges are taken from the last node of the path. *)
Hypothesis H_last : forall x y t, takes x y t ->
  on_path x t /\ forall z, on_path z t -> entered z <= entered x.
(** They lead to a node that was entered before, or enter it. *)
Hypothesis H_enters : forall x y t, takes x y t -> entered y <= t \/ entered y = S t /\ S t < left x.
(** The path is a stack; one thing happens at a time. *)
Hypothesis H_stack : forall x y, entered x < entered y < left x -> entered y < left y < left x.
Hypothesis H_one_by_one : forall x y, entered x = entered y -> x = y.

Lemma inside : forall x y, entered x <= entered y < left x -> left y <= left x.
Proof.
  intros x y H. destruct (Nat.eq_dec (entered x) (entered y)) as [E | E].
  - now rewrite (H_one_by_one x y E).
  - assert (Hs := H_stack x y ltac:(lia)). lia.
Qed.

(** *** Back-edges *)

(** Each cycle has an edge to a node of the path: the one of the cycle that was entered first. *)
Lemma back_edge_of : forall c : cycle, exists i, on_path (at_ c (S i)) (time c i).
Proof.
  intros c.
  (* The first node. *)
  destruct (least (fun i => entered (at_ c i)) (size c) (size_positive c)) as [m Hm].
  { intros i; now rewrite goes_round. }
  (* All nodes after it are entered before it is left. *)
  assert (Hin : forall k, entered (at_ c (m + k)) < left (at_ c m)).
  { induction k as [| k IH].
    - rewrite Nat.add_0_r. destruct (H_last _ _ _ (edges c m)) as [[H1 H2] _]; lia.
    - replace (m + S k) with (S (m + k)) by lia.
      assert (He := edges c (m + k)). destruct (H_last _ _ _ He) as [[H1 H2] _].
      assert (Hl := inside (at_ c m) (at_ c (m + k)) (conj (Hm _) IH)).
      destruct (H_enters _ _ _ He) as [H | [H H']]; lia. }
  (* Somebody closes the cycle. *)
  assert (Hpos := size_positive c). exists (m + (size c - 1)).
  replace (S (m + (size c - 1))) with (m + size c) by lia. rewrite goes_round.
  destruct (H_last _ _ _ (edges c (m + (size c - 1)))) as [[H1 H2] _].
  assert (Hl := inside (at_ c m) (at_ c (m + (size c - 1))) (conj (Hm _) (Hin _))).
  specialize (Hm (m + (size c - 1))). split; lia.
Qed.

(** Of an edge to a node of the path, one end is expanded, at once or before it is left. *)
Theorem back_edges :
  (forall x y t, takes x y t -> on_path y t -> expanded x \/ expanded y) -> forall c : cycle, False.
Proof.
  intros Hrule c. destruct (back_edge_of c) as [i Hi].
  destruct (Hrule _ _ _ (edges c i) Hi) as [H | H]; [exact (nothing_expanded c i H) | exact (nothing_expanded c (S i) H)].
Qed.

(** *** Intervals *)

(** To where it was entered later than [p], a walk comes through [p], while [p] is on the path: only the edge that
    enters [p] leads across. *)
Lemma only_way : forall x y t p now, takes x y t -> t <= now -> on_path p now ->
  entered x < entered p -> entered p <= entered y -> y = p.
Proof.
  intros x y t p now He Ht [Hp1 Hp2] Hx Hy. destruct (H_last _ _ _ He) as [_ Hlast].
  assert (Hno : ~ entered p <= t).
  { intros H. assert (Hon : on_path p t) by (split; lia). specialize (Hlast p Hon). lia. }
  destruct (H_enters _ _ _ He) as [H | [H _]]; [lia |]. apply H_one_by_one; lia.
Qed.

Section Last.

Variables (c : cycle) (m : nat).
(** The last edge of the cycle to be taken. *)
Hypothesis last : forall i, time c i <= time c m.

Definition on_cycle (x : node) : Prop := exists i, at_ c i = x.

(** The cycle comes again to its last edge, after any place. *)
Lemma comes_again : forall j, exists k, j <= k /\ at_ c k = at_ c m /\ time c k = time c m.
Proof.
  intros j. exists (m + j * size c). assert (Hpos := size_positive c). split; [nia |].
  assert (H : forall k, at_ c (m + k * size c) = at_ c m /\ time c (m + k * size c) = time c m).
  { induction k as [| k [IH1 IH2]]; simpl; [now rewrite Nat.add_0_r |].
    replace (m + (size c + k * size c)) with (m + k * size c + size c) by lia.
    rewrite goes_round, times_go_round. auto. }
  apply H.
Qed.

(** A cycle with a node [y] of the path has all nodes of the path from [y] on. *)
Theorem interval : forall j p, on_path (at_ c j) (time c m) -> on_path p (time c m) ->
  entered (at_ c j) <= entered p -> on_cycle p.
Proof.
  intros j p Hj Hp Hle.
  destruct (Nat.eq_dec (entered (at_ c j)) (entered p)) as [E | Hne].
  { exists j. now apply H_one_by_one. }
  destruct (comes_again j) as [k [Hk [Ek Et]]].
  destruct (H_last _ _ _ (edges c m)) as [_ Hlast]. specialize (Hlast p Hp).
  (* Somewhere between [j] and [k] it comes to nodes that were entered after [p]. *)
  assert (H : forall d i, i + d = k -> entered (at_ c i) < entered p -> on_cycle p).
  { induction d as [| d IH]; intros i Hi Hlt.
    - replace i with k in Hlt by lia. rewrite Ek in Hlt. lia.
    - destruct (le_lt_dec (entered p) (entered (at_ c (S i)))) as [H | H].
      + exists (S i). apply (only_way _ _ _ p (time c m) (edges c i)); auto.
      + apply (IH (S i)); [lia | exact H]. }
  apply (H (k - j) j); lia.
Qed.

End Last.

(** ** The default: `highlink-stab-scan` *)

Section Stab.

(** Depth on the path. *)
Variable depth : node -> nat.
Hypothesis H_deeper : forall x y t, on_path x t -> on_path y t -> entered x < entered y -> depth x < depth y.
(** Below the first node of the path there is the one that entered it. *)
Hypothesis H_parent : forall x y t, on_path x t -> on_path y t -> entered x < entered y ->
  exists z tz, takes z y tz /\ entered y = S tz.

(** The component of a node is complete. Tarjan (1972): then all that can be reached from it has left the path. *)
Variable complete : node -> nat -> Prop.
Inductive reaches : node -> node -> Prop :=
| reaches_at_once : forall x y t, takes x y t -> reaches x y
| reaches_more : forall x y z t, takes x y t -> reaches y z -> reaches x z.
Hypothesis H_complete : forall x y t, complete x t -> reaches x y -> left y <= t.
Hypothesis H_complete_left : forall x t, complete x t -> left x <= t.

(** When a node was declared green: when it was left, or by `scan`. *)
Variable green : node -> nat -> Prop.
(** `Frame::need` when a node that is not expanded is left. *)
Variable need : node -> option nat.
(** `highlink` of a node that was left, asked at some time. *)
Variable highlink : node -> nat -> option nat.

(** [y] is reached from [x], which was left, through nodes that were left, and nothing on the way is harmless. *)
Inductive dangerous_way (t : nat) : node -> node -> Prop :=
| way_ends : forall x, on_path x t -> ~ expanded x -> (forall g, g <= t -> ~ green x g) -> dangerous_way t x x
| way_goes_on : forall x y z u, takes x y u -> left x <= t -> ~ expanded x -> (forall g, g <= t -> ~ green x g) ->
    dangerous_way t y z -> dangerous_way t x z.

(** *** Links *)

(** `Reach`: some nodes of the path, and a bound for the depth of all others; [None] is -1. *)
Record reach := { nodes : list node; others : option nat }.

Definition at_most (d : nat) (b : option nat) : Prop := match b with Some b => d <= b | None => False end.
Definition bound_le (a b : option nat) : Prop := forall d, at_most d a -> at_most d b.

(** What does not fit into a link is bounded (`joined`). *)
Definition holds_node (r : reach) (z : node) : Prop := In z (nodes r) \/ at_most (depth z) (others r).
Definition within (r r' : reach) : Prop :=
  (forall z, In z (nodes r) -> holds_node r' z) /\ bound_le (others r) (others r').

(** What was stored of a node when it was left. *)
Variable stored : node -> reach.

(** `refreshed`, with some patience: what is harmless now is left out, what is on the path stays, and what was left
    is replaced by what it reached, or by a bound: it was deeper than all that it reached. *)
Fixpoint refreshed (patience : nat) (now : nat) (r r' : reach) : Prop :=
  (forall z, In z (nodes r) ->
    (expanded z \/ exists g, g <= now /\ green z g) \/
    (on_path z now /\ holds_node r' z) \/
    (left z <= now /\ ((forall d, d < depth z -> at_most d (others r')) \/
      match patience with
      | 0 => False
      | S patience => exists part, refreshed patience now (stored z) part /\ within part r'
      end))) /\
  bound_le (others r) (others r').

(** While a node is on the path, its own link is refreshed and joined with others (`add_reach`). *)
Inductive becomes (x : node) : reach -> reach -> Prop :=
| stays : forall r, becomes x r r
| is_joined : forall r r1 r', within r r1 -> becomes x r1 r' -> becomes x r r'
| is_refreshed : forall patience now r r1 r', now < left x -> refreshed patience now r r1 ->
    becomes x r1 r' -> becomes x r r'.

(** `add_reach` in `on_danger`. *)
Hypothesis H_reach_seen : forall x y t, takes x y t -> ~ expanded x -> (forall g, g <= t -> ~ green x g) ->
  entered y <= t -> ~ complete y t -> ~ expanded y -> (forall g, g <= t -> ~ green y g) ->
  exists more, becomes x more (stored x) /\ (on_path y t -> In y (nodes more)) /\
    (left y <= t -> exists patience, refreshed patience t (stored y) more).
(** `add_reach` in `on_child_done`. *)
Hypothesis H_reach_child : forall x y t, takes x y t -> entered y = S t -> ~ expanded x -> ~ expanded y ->
  (forall g, g <= left y -> ~ green y g) -> ~ complete y (left y) ->
  exists more patience, becomes x more (stored x) /\ refreshed patience (left y) (stored y) more.
(** `highlink`. *)
Hypothesis H_highlink : forall x t, left x <= t -> exists patience r,
  refreshed patience t (stored x) r /\
  (forall z, In z (nodes r) -> on_path z t /\ at_most (depth z) (highlink x t)) /\
  (forall z, on_path z t -> at_most (depth z) (others r) -> at_most (depth z) (highlink x t)).

Lemma way_ends_on_path : forall t x y, dangerous_way t x y -> on_path y t.
Proof. induction 1; auto. Qed.

Lemma way_is_dangerous : forall t x y, dangerous_way t x y -> ~ expanded x /\ forall g, g <= t -> ~ green x g.
Proof. induction 1; auto. Qed.

(** What was left reaches only nodes of the path that are less deep. *)
Lemma reached_is_above : forall t x y, dangerous_way t x y -> left x <= t -> entered y < entered x.
Proof.
  induction 1 as [x Hx _ _ | x y z u He Hl _ _ Hw IH]; intros Hleft; [unfold on_path in Hx; lia |].
  assert (Hz := way_ends_on_path _ _ _ Hw). destruct (H_last _ _ _ He) as [[Hx1 Hx2] _].
  destruct (Nat.lt_trichotomy (entered z) (entered x)) as [H | [H | H]]; [exact H | |].
  - apply H_one_by_one in H. subst z. unfold on_path in Hz; lia.
  - exfalso. destruct (le_lt_dec (entered z) (entered y)) as [Hy | Hy].
    + assert (E := only_way x y u z t He ltac:(lia) Hz H Hy). subst y.
      destruct (H_last _ _ _ He) as [_ Hlast]. unfold on_path in Hz.
      destruct (H_enters _ _ _ He) as [H1 | [H1 H2]].
      * specialize (Hlast z ltac:(unfold on_path; lia)). lia.
      * assert (Hs := H_stack x z ltac:(lia)). lia.
    + inversion Hw as [? Hon _ _ | ? y' ? ? _ Hyl _ _ _]; subst; [lia |].
      specialize (IH Hyl). lia.
Qed.

Lemma reached_is_less_deep : forall t x y, dangerous_way t x y -> left x <= t -> depth y < depth x.
Proof.
  intros t x y Hw Hl. assert (Hlt := reached_is_above t x y Hw Hl). assert (Hy := way_ends_on_path _ _ _ Hw).
  inversion Hw as [? Hon _ _ | ? y' ? u He _ _ _ _]; subst; [unfold on_path in Hon; lia |].
  destruct (H_last _ _ _ He) as [Hx _]. unfold on_path in *.
  apply (H_deeper y x (entered x)); unfold on_path; lia.
Qed.

Lemma reached_is_not_deeper : forall t x y, dangerous_way t x y -> depth y <= depth x.
Proof.
  intros t x y Hw. destruct (le_lt_dec (left x) t) as [Hl | Hl].
  - assert (H := reached_is_less_deep t x y Hw Hl). lia.
  - inversion Hw; subst; lia.
Qed.

Definition covers (t : nat) (r : reach) (y : node) : Prop :=
  (exists z, In z (nodes r) /\ dangerous_way t z y) \/ at_most (depth y) (others r).

Lemma at_most_less : forall a b c, a <= b -> at_most b c -> at_most a c.
Proof. intros a b [c |]; simpl; lia. Qed.

Lemma within_covers : forall t r r' y, within r r' -> covers t r y -> covers t r' y.
Proof.
  intros t r r' y [Hn Ho] [[z [Hz Hw]] | Hd]; [| right; auto].
  destruct (Hn z Hz) as [H | H]; [left; exists z; auto | right].
  apply at_most_less with (depth z); auto. eapply reached_is_not_deeper; eauto.
Qed.

Lemma refreshed_covers : forall t y patience now r r', now <= t ->
  (forall z, left z <= now -> dangerous_way t z y -> covers t (stored z) y) ->
  refreshed patience now r r' -> covers t r y -> covers t r' y.
Proof.
  intros t y; induction patience as [| patience IH]; intros now r r' Hle Hmain Href Hcov; simpl in Href;
    destruct Href as [Hn Ho]; (destruct Hcov as [[z [Hz Hw]] | Hd]; [| right; auto]);
    destruct (way_is_dangerous _ _ _ Hw) as [Hexp Hgr];
    destruct (Hn z Hz) as [[H | [g [Hg H]]] | [[_ [H | H]] | [Hl [H | H]]]]; try contradiction;
    try (exfalso; exact (Hgr g ltac:(lia) H)); try (left; exists z; now auto);
    try (right; apply at_most_less with (depth z); [eapply reached_is_not_deeper; eauto | exact H]);
    try (right; apply H; apply (reached_is_less_deep t); auto; lia).
  destruct H as [part [Hp Hwi]]. apply (within_covers t part); auto.
  apply (IH now (stored z)); auto.
Qed.

Lemma becomes_covers : forall t y x r r', left x <= t ->
  (forall z, left z < left x -> dangerous_way t z y -> covers t (stored z) y) ->
  becomes x r r' -> covers t r y -> covers t r' y.
Proof.
  intros t y x r r' Hl Hmain H; induction H as [r | r r1 r' Hw _ IH | n now r r1 r' Hnow Href _ IH]; intros Hc; auto.
  - apply IH, (within_covers t r); auto.
  - apply IH. apply (refreshed_covers t y n now r); auto; [lia |].
    intros z Hz; apply Hmain; lia.
Qed.

Lemma way_reaches : forall t x y, dangerous_way t x y -> x = y \/ reaches x y.
Proof.
  induction 1 as [x _ _ _ | x y z u He _ _ _ _ [<- | IH]]; [now left | |].
  - right; eapply reaches_at_once; eauto.
  - right; eapply reaches_more; eauto.
Qed.

(** What was stored covers all that can be reached, at any later time. *)
Theorem stored_covers : forall t y x, left x <= t -> dangerous_way t x y -> covers t (stored x) y.
Proof.
  intros t y. assert (H : forall n x, left x < n -> left x <= t -> dangerous_way t x y -> covers t (stored x) y).
  2: { intros x; apply (H (S (left x))); lia. }
  induction n as [| n IH]; intros x Hn Hl Hw; [lia |].
  assert (Hmain : forall z, left z < left x -> dangerous_way t z y -> covers t (stored z) y).
  { intros z Hz; apply IH; lia. }
  inversion Hw as [? Hon _ _ | ? x' ? u He _ Hexp Hgr Hw']; subst; [unfold on_path in Hon; lia |].
  destruct (H_last _ _ _ He) as [[Hx1 Hx2] _]. destruct (way_is_dangerous _ _ _ Hw') as [Hexp' Hgr'].
  assert (Hopen : forall v, v <= t -> ~ complete x' v).
  { intros v Hv Hc. assert (Hy := way_ends_on_path _ _ _ Hw'). unfold on_path in Hy.
    destruct (way_reaches _ _ _ Hw') as [<- | Hr].
    - specialize (H_complete_left _ _ Hc). lia.
    - specialize (H_complete _ _ _ Hc Hr). lia. }
  destruct (H_enters _ _ _ He) as [Hent | [Hent Hent']].
  - destruct (H_reach_seen _ _ _ He Hexp) as [more [Hb [Hon Hleft]]]; auto.
    + intros g Hg; apply Hgr; lia.
    + apply Hopen; lia.
    + intros g Hg; apply Hgr'; lia.
    + apply (becomes_covers t y x more); auto.
      destruct (le_lt_dec (left x') u) as [Hl' | Hl'].
      * destruct (Hleft Hl') as [patience Href].
        apply (refreshed_covers t y patience u (stored x')); auto; [lia | |].
        -- intros z Hz; apply Hmain; lia.
        -- apply Hmain; [lia | exact Hw'].
      * left. exists x'; split; [apply Hon; split; auto | exact Hw'].
  - assert (Hs := H_stack x x' ltac:(lia)).
    destruct (H_reach_child _ _ _ He Hent Hexp Hexp') as [more [patience [Hb Href]]].
    + intros g Hg; apply Hgr'; lia.
    + apply Hopen; lia.
    + apply (becomes_covers t y x more); auto.
      apply (refreshed_covers t y patience (left x') (stored x')); auto; [lia | |].
      * intros z Hz; apply Hmain; lia.
      * apply Hmain; [lia | exact Hw'].
Qed.

(** What `highlink` says: at least the depth of whatever can be reached like that. *)
Theorem link_bounds : forall x y t, left x <= t -> dangerous_way t x y ->
  exists h, highlink x t = Some h /\ depth y <= h.
Proof.
  intros x y t Hl Hw. assert (Hy := way_ends_on_path _ _ _ Hw).
  destruct (H_highlink x t Hl) as [patience [r [Href [Hn Ho]]]].
  assert (Hc : covers t r y).
  { apply (refreshed_covers t y patience t (stored x)); auto.
    - intros z Hz; apply stored_covers; auto.
    - now apply stored_covers. }
  assert (Hm : at_most (depth y) (highlink x t)).
  { destruct Hc as [[z [Hz Hzw]] | Hd]; [| auto]. destruct (Hn z Hz) as [Hon Hd].
    inversion Hzw as [? _ _ _ | ? y' ? u _ Hzl _ _ _]; subst; auto. unfold on_path in Hon; lia. }
  unfold at_most in Hm. destruct (highlink x t) as [h |]; [exists h; auto | destruct Hm].
Qed.

(** `on_known`, `on_danger`: an edge to what is seen, not complete and not green opens an interval. *)
Hypothesis H_danger : forall x y t, takes x y t -> ~ expanded x -> (forall g, g <= t -> ~ green x g) ->
  entered y <= t -> ~ complete y t -> (forall g, g <= t -> ~ green y g) ->
  (on_path y t -> exists d, need x = Some d /\ depth y <= d) /\
  (left y <= t -> forall h, highlink y t = Some h -> exists d, need x = Some d /\ h <= d).
(** `on_child_done`: of a child that was left red, in an open component, the parent has the needs. *)
Hypothesis H_child : forall x y t d, takes x y t -> entered y = S t -> ~ expanded x -> ~ expanded y ->
  need y = Some d -> ~ complete y (left y) -> exists e, need x = Some e /\ d <= e.
(** `on_exhausted`: who needs itself is expanded. *)
Hypothesis H_exhausted : forall x, ~ expanded x -> need x <> Some (depth x).
(** Depths of the path only. *)
Hypothesis H_need : forall x d, need x = Some d -> d <= depth x.

(** `on_leave` and `scan`: who is green needs nothing, and has taken all of its edges. *)
Hypothesis H_green_needs : forall x g, ~ expanded x -> green x g -> need x = None.
Hypothesis H_green_done : forall x y t g, ~ expanded x -> green x g -> takes x y t -> t < g.
(** `on_leave`: who is left without needs is green. *)
Hypothesis H_left : forall x, ~ expanded x -> need x = None -> exists g, g <= left x /\ green x g.
(** `scan`, from an expanded node up: the next one was expanded, or is green already. *)
Hypothesis H_scan : forall x y t g, ~ expanded x -> green x g -> takes x y t -> entered y = S t ->
  g <= left y -> expanded y \/ exists g', g' < g /\ green y g'.

Section Contradiction.

Variable c : cycle.

Lemma reaches_all : forall i j, reaches (at_ c i) (at_ c j).
Proof.
  assert (H : forall d i, reaches (at_ c i) (at_ c (i + S d))).
  { induction d as [| d IH]; intros i.
    - replace (i + 1) with (S i) by lia. econstructor; apply edges.
    - eapply reaches_more; [apply edges |]. replace (i + S (S d)) with (S i + S d) by lia. apply IH. }
  intros i j. assert (Hpos := size_positive c).
  assert (E : forall k, at_ c (j + k * size c) = at_ c j).
  { induction k as [| k IH]; simpl; [now rewrite Nat.add_0_r |].
    replace (j + (size c + k * size c)) with (j + k * size c + size c) by lia. now rewrite goes_round. }
  rewrite <- (E (S i)). assert (Hlt : i < j + S i * size c) by nia.
  replace (j + S i * size c) with (i + S (j + S i * size c - i - 1)) by lia. apply H.
Qed.

(** While one of its nodes is on the path, none is complete. *)
Lemma not_complete : forall i j t, on_path (at_ c j) t -> ~ complete (at_ c i) t.
Proof.
  intros i j t [_ Hj] Hc. assert (H := H_complete _ _ _ Hc (reaches_all i j)). lia.
Qed.

(** From a node of the cycle that was left there is a way, over the cycle, to the path, if it has a node
    there and no node of it is green yet. *)
Lemma a_way_to_the_path : forall t, (exists j, on_path (at_ c j) t) ->
  (forall i g, g <= t -> ~ green (at_ c i) g) ->
  forall i, entered (at_ c i) <= t ->
  exists j, on_path (at_ c j) t /\ dangerous_way t (at_ c i) (at_ c j).
Proof.
  intros t [j Hj] Hg i Hi. assert (Hpos := size_positive c).
  assert (E : forall k, at_ c (j + k * size c) = at_ c j).
  { induction k as [| k IH]; simpl; [now rewrite Nat.add_0_r |].
    replace (j + (size c + k * size c)) with (j + k * size c + size c) by lia. now rewrite goes_round. }
  assert (Hend : on_path (at_ c (j + S i * size c)) t) by now rewrite E.
  assert (Hlt : i <= j + S i * size c) by nia.
  remember (j + S i * size c) as k eqn:Hk. clear E Hk Hj Hpos.
  assert (H : forall d i, i + d = k -> entered (at_ c i) <= t ->
    exists j, on_path (at_ c j) t /\ dangerous_way t (at_ c i) (at_ c j)).
  { induction d as [| d IH]; intros i' Hi' Hent.
    - exists k; split; [exact Hend |]. replace i' with k by lia. apply way_ends; auto using nothing_expanded.
    - destruct (le_lt_dec (left (at_ c i')) t) as [Hl | Hl].
      + (* It was left, so all its edges were taken. *)
        assert (He := edges c i'). destruct (H_last _ _ _ He) as [[_ H1] _].
        assert (Hent' : entered (at_ c (S i')) <= t) by (destruct (H_enters _ _ _ He) as [H | [H H']]; lia).
        destruct (IH (S i')) as [j' [H2 H3]]; [lia | exact Hent' |]. exists j'; split; auto.
        eapply way_goes_on; eauto using nothing_expanded.
      + exists i'. assert (Hon : on_path (at_ c i') t) by (split; auto).
        split; [exact Hon |]. apply way_ends; auto using nothing_expanded. }
  apply (H (k - i)); lia.
Qed.

(** What an edge of the cycle leads to is a danger, while nothing of the cycle is green. *)
Lemma edge_is_dangerous : forall i, (forall j g, g <= time c i -> ~ green (at_ c j) g) ->
  entered (at_ c (S i)) <= time c i ->
  exists j d, on_path (at_ c j) (time c i) /\ need (at_ c i) = Some d /\ depth (at_ c j) <= d.
Proof.
  intros i Hg Hent. assert (He := edges c i). destruct (H_last _ _ _ He) as [Hon _].
  destruct (H_danger _ _ _ He (nothing_expanded c i) (Hg i)) as [Hpath Hleft]; [exact Hent | | |].
  { apply (not_complete (S i) i); exact Hon. }
  { intros g Hle; apply Hg; exact Hle. }
  destruct (le_lt_dec (left (at_ c (S i))) (time c i)) as [Hl | Hl].
  - destruct (a_way_to_the_path (time c i) (ex_intro _ i Hon) Hg (S i) Hent) as [j [Hj Hway]].
    destruct (link_bounds _ _ _ Hl Hway) as [h [Hh Hle]]. destruct (Hleft Hl h Hh) as [d [Hd Hhd]].
    exists j, d; repeat split; auto; try lia; apply Hj.
  - destruct (Hpath (conj Hent Hl)) as [d [Hd Hle]]. exists (S i), d; repeat split; auto.
Qed.

(** No node of it is ever declared green: the first one would have to be green, or need nothing, although what
    it leads to is neither. *)
Lemma never_green : forall g i, ~ green (at_ c i) g.
Proof.
  induction g as [g IH] using lt_wf_ind. intros i Hgreen.
  assert (Hun := nothing_expanded c i). assert (He := edges c i).
  assert (Hneed := H_green_needs _ _ Hun Hgreen). assert (Hdone := H_green_done _ _ _ _ Hun Hgreen He).
  destruct (H_last _ _ _ He) as [Hon _].
  destruct (H_enters _ _ _ He) as [Hent | [Hent Hleft]].
  - destruct (edge_is_dangerous i (fun j g' Hle => IH g' ltac:(lia) j) Hent) as [j [d [_ [Hd _]]]]. congruence.
  - (* Entered by this edge. *)
    destruct (le_lt_dec g (left (at_ c (S i)))) as [Hl | Hl].
    2: { destruct (need (at_ c (S i))) as [d |] eqn:Hd.
      - destruct (H_child _ _ _ d He Hent Hun (nothing_expanded c (S i)) Hd) as [e [He' _]]; [| congruence].
        apply (not_complete (S i) i). unfold on_path in *.
        assert (Hs := H_stack (at_ c i) (at_ c (S i)) ltac:(lia)). split; lia.
      - destruct (H_left _ (nothing_expanded c (S i)) Hd) as [g' [Hg' Hgr]].
        exact (IH g' ltac:(lia) (S i) Hgr). }
    destruct (H_scan _ _ _ _ Hun Hgreen He Hent Hl) as [Hx | [g' [Hlt Hg']]].
    + exact (nothing_expanded c (S i) Hx).
    + exact (IH g' Hlt (S i) Hg').
Qed.

(** Needs go down the path, until somebody of the interval needs itself. *)
Lemma needs_go_down : forall m j, (forall i, time c i <= time c m) -> on_path (at_ c j) (time c m) ->
  forall n p e, entered p <= n -> on_path p (time c m) -> entered (at_ c j) <= entered p ->
  need p = Some e -> depth (at_ c j) <= e -> False.
Proof.
  intros m j Hlast Hj. induction n as [n IH] using lt_wf_ind. intros p e Hn Hp Hle Hd Hde.
  destruct (interval c m Hlast j p Hj Hp Hle) as [i Ei]. subst p.
  destruct (Nat.eq_dec (entered (at_ c j)) (entered (at_ c i))) as [E | Hne].
  - apply H_one_by_one in E. rewrite <- E in *.
    apply (H_exhausted _ (nothing_expanded c j)). rewrite Hd. f_equal.
    specialize (H_need _ _ Hd). lia.
  - destruct (H_parent (at_ c j) (at_ c i) (time c m) Hj Hp ltac:(lia)) as [z [tz [Hz Ez]]].
    destruct (H_last _ _ _ Hz) as [[Hz1 Hz2] Hzl].
    assert (Hz3 : S tz < left z) by (destruct (H_enters _ _ _ Hz) as [H | [_ H]]; lia).
    assert (Hs := H_stack z (at_ c i) ltac:(lia)).
    unfold on_path in Hj, Hp. assert (Hzp : on_path z (time c m)) by (unfold on_path; lia).
    assert (Hzj : entered (at_ c j) <= entered z) by (apply Hzl; unfold on_path; lia).
    destruct (interval c m Hlast j z Hj Hzp Hzj) as [k Ek].
    destruct (H_child z (at_ c i) tz e Hz Ez) as [e' [He' Hle']]; auto using nothing_expanded.
    + rewrite <- Ek. apply nothing_expanded.
    + apply (not_complete i k). rewrite Ek. unfold on_path; lia.
    + apply (IH (entered z)) with z e'; auto; lia.
Qed.

Theorem stab_has_no_such_cycle : False.
Proof.
  destruct (greatest (time c) (size c) (size_positive c) (times_go_round c)) as [m Hm].
  assert (He := edges c m). destruct (H_last _ _ _ He) as [Hon _].
  assert (Hent : entered (at_ c (S m)) <= time c m).
  { destruct (H_enters _ _ _ He) as [H | [H _]]; auto. exfalso.
    destruct (H_last _ _ _ (edges c (S m))) as [[H1 _] _]. specialize (Hm (S m)). lia. }
  destruct (edge_is_dangerous m (fun j g _ => never_green g j) Hent) as [j [d [Hj [Hd Hle]]]].
  apply (needs_go_down m j Hm Hj (entered (at_ c m)) (at_ c m) d); auto.
  destruct (H_last _ _ _ He) as [_ Hl]. now apply Hl.
Qed.

End Contradiction.

(** Every cycle of the reduced graph has an expanded node. *)
Theorem stab : forall c : cycle, False.
Proof. exact stab_has_no_such_cycle. Qed.

End Stab.

End Walk.

(** ** An instance: two nodes that lead to each other

    The second one is left red, with a need of depth 0, and the first one is expanded for it. *)

Definition the_walk_of_two (x y : bool) (t : nat) : Prop :=
  match x, y with false, true => t = 1 | true, false => t = 3 | _, _ => False end.

Theorem the_hypotheses_can_be_met :
  forall c : cycle bool the_walk_of_two (fun x => x = false), False.
Proof.
  set (entered := fun x : bool => if x then 2 else 0). set (left := fun x : bool => if x then 6 else 10).
  set (depth := fun x : bool => if x then 1 else 0).
  set (nothing := Build_reach bool [] None).
  set (stored := fun x : bool => if x then Build_reach bool [false] None else nothing).
  apply (stab bool entered left the_walk_of_two (fun x => x = false))
    with (depth := depth) (complete := fun (_ : bool) (_ : nat) => False)
      (green := fun (_ : bool) (_ : nat) => False)
      (need := fun x : bool => if x then Some 0 else None)
      (highlink := fun (_ : bool) (_ : nat) => @None nat) (stored := stored).
  - intros [] [] t; simpl; try tauto; intros ->; unfold on_path; simpl; (split; [lia |]);
      intros [] H; simpl in *; lia.
  - intros [] [] t; simpl; try tauto; intros ->; lia.
  - intros [] [] H; simpl in *; lia.
  - intros [] []; simpl; auto; discriminate.
  - intros [] [] t; unfold on_path; simpl; lia.
  - intros [] [] t Hx Hy Hlt; simpl in *; try lia. exists false, 1; simpl; auto.
  - intros x y t [].
  - intros x t [].
  - intros [] [] t; simpl; try tauto; intros _ _ _ _ _ Hy; now destruct Hy.
  - intros [] [] t; simpl; try tauto; intros Ht E Hx; try (now destruct Hx); subst; discriminate.
  - intros [] t Hl; simpl in Hl.
    + exists 0, nothing. split; [| split; [intros z [] | intros z _ []]].
      simpl. split; [intros z [<- | []]; left; now left | intros d []].
    + exists 0, nothing. split; [| split; [intros z [] | intros z _ []]].
      simpl. split; [intros z [] | intros d []].
  - intros [] [] t; simpl; try tauto; intros Ht Hx _ _ _ _; subst; try (now destruct Hx).
    unfold on_path; simpl. split; [intros _; exists 0; auto | lia].
  - intros [] [] t d; simpl; try tauto; intros Ht E Hx; try (now destruct Hx); subst; discriminate.
  - intros [] Hx; simpl; [discriminate | now destruct Hx].
  - intros [] d; simpl; intros E; try discriminate. injection E as <-; lia.
  - intros x g _ [].
  - intros x y t g _ [].
  - intros [] Hx; simpl; [discriminate | now destruct Hx].
  - intros x y t g _ [].
Qed.
