(** Structural rules of Petri nets that leave out transitions and places.

    `stubborn-net/src/structural/rules.rs`: dead transitions, redundant transitions, redundant places, irrelevant
    transitions ("Structural rules of nets" in `docs/soundness.md`).

    Why it matters: these are on by default, before anything is explored. *)

From Coq Require Import List Arith Lia ZArith.
Import ListNotations.

Section Net.

Variables place transition : Type.
(** Tokens that a transition takes from a place and gives to it. *)
Variables takes gives : transition -> place -> nat.

Definition marking : Type := place -> nat.

Definition can_fire (t : transition) (m : marking) : Prop := forall p, takes t p <= m p.
Definition fires (t : transition) (m m' : marking) : Prop :=
  can_fire t m /\ forall p, m' p + takes t p = m p + gives t p.

(** Runs by those transitions that a rule has left. *)
Inductive run (left : transition -> Prop) : marking -> list transition -> marking -> Prop :=
| run_none : forall m, run left m [] m
| run_one : forall t m m1 w m', left t -> fires t m m1 -> run left m1 w m' -> run left m (t :: w) m'.

Definition all (t : transition) : Prop := True.

(** *** Dead transitions *)

Section Dead.

(** The most tokens that a place can get if none are ever taken away; [None] for any number. *)
Variable most : place -> option nat.
Definition below (n : nat) (b : option nat) : Prop := match b with Some b => n <= b | None => True end.
Variable initial : marking.
Hypothesis most_initial : forall p, below (initial p) (most p).
(** Whoever can fire then leaves it so: it gives only to places that may have any number. *)
Hypothesis most_closed : forall t, (forall p, below (takes t p) (most p)) ->
  forall p, 0 < gives t p -> most p = None.

Lemma below_most : forall w m m', run all m w m' -> (forall p, below (m p) (most p)) ->
  forall p, below (m' p) (most p).
Proof.
  induction 1 as [m | t m m1 w m' _ [Hc He] _ IH]; auto. intros Hm. apply IH. intros p.
  assert (Ht : forall q, below (takes t q) (most q)).
  { intros q. specialize (Hm q); specialize (Hc q). unfold below in *. destruct (most q); auto; lia. }
  specialize (He p). specialize (Hm p). destruct (Nat.eq_dec (gives t p) 0) as [E | E].
  - unfold below in *. destruct (most p); auto; lia.
  - rewrite (most_closed t Ht p); [exact I | lia].
Qed.

(** It cannot fire even then, so it fires in no run. *)
Theorem dead_transitions_never_fire : forall t p, ~ below (takes t p) (most p) ->
  forall w m, run all initial w m -> ~ can_fire t m.
Proof.
  intros t p Hno w m Hr Hc. apply Hno. assert (Hb := below_most w initial m Hr most_initial p).
  specialize (Hc p). unfold below in *. destruct (most p); auto; lia.
Qed.

End Dead.

(** *** Redundant transitions *)

(** The same effect, and it can fire wherever the other one can: every edge is one of it as well. *)
Theorem redundant_transitions_add_nothing : forall t u,
  (forall p, takes t p <= takes u p) ->
  (forall p, gives t p + takes u p = gives u p + takes t p) ->
  forall m m', fires u m m' -> fires t m m'.
Proof.
  intros t u Hle Heff m m' [Hc He]. split.
  - intros p. specialize (Hc p); specialize (Hle p). lia.
  - intros p. specialize (He p); specialize (Heff p); specialize (Hc p); specialize (Hle p). lia.
Qed.

Corollary redundant_transitions_may_go : forall left : transition -> Prop,
  (forall u, left u \/ exists t, left t /\ (forall p, takes t p <= takes u p) /\
    forall p, gives t p + takes u p = gives u p + takes t p) ->
  forall w m m', run all m w m' -> exists v, run left m v m' /\ length v = length w.
Proof.
  intros left H w m m' Hr; induction Hr as [m | u m m1 w m' _ Hu _ [v [Hv El]]].
  - exists []; split; [constructor | reflexivity].
  - destruct (H u) as [Hl | [t [Hl [Hle Heff]]]].
    + exists (u :: v); simpl; split; [econstructor; eauto | now rewrite El].
    + exists (t :: v); simpl; split; [| now rewrite El].
      econstructor; eauto. eapply redundant_transitions_add_nothing; eauto.
Qed.

(** *** Redundant places *)

Section Redundant.

(** The place that goes, and what is looked at without it. *)
Variable gone : place.
Definition can_fire_without (t : transition) (m : marking) : Prop := forall p, p <> gone -> takes t p <= m p.
Definition fires_without (t : transition) (m m' : marking) : Prop :=
  can_fire_without t m /\ forall p, p <> gone -> m' p + takes t p = m p + gives t p.

Definition same (m n : marking) : Prop := forall p, p <> gone -> m p = n p.

(** It never keeps a transition from firing that the other places let fire, as long as [inv] holds. *)
Variable inv : marking -> Prop.
Hypothesis enough : forall t m, inv m -> can_fire_without t m -> takes t gone <= m gone.
Hypothesis inv_fires : forall t m m', inv m -> fires t m m' -> inv m'.

(** "Equal on the other places" is a bisimulation. *)
Theorem redundant_places_may_go : forall m n, inv m -> same m n ->
  (forall t m', fires t m m' -> exists n', fires_without t n n' /\ same m' n') /\
  (forall t n', fires_without t n n' -> exists m', fires t m m' /\ same m' n' /\ inv m').
Proof.
  intros m n Hi Hs. split.
  - intros t m' [Hc He]. exists m'. split; [split | intros p _; reflexivity].
    + intros p Hp. rewrite <- (Hs p Hp). apply Hc.
    + intros p Hp. rewrite <- (Hs p Hp). apply He.
  - intros t n' [Hc He].
    assert (Hcm : can_fire_without t m) by (intros p Hp; rewrite (Hs p Hp); auto).
    assert (Hg := enough t m Hi Hcm).
    exists (fun p => m p + gives t p - takes t p).
    assert (Hf : fires t m (fun p => m p + gives t p - takes t p)).
    { assert (Hall : can_fire t m).
      { intros p. destruct (le_lt_dec (takes t p) (m p)) as [H | H]; auto. exfalso.
        assert (Hne : p <> gone) by (intros ->; lia). specialize (Hcm p Hne). lia. }
      split; [exact Hall |]. intros p. specialize (Hall p). lia. }
    split; [exact Hf | split; [| now apply (inv_fires t m)]].
    intros p Hp. specialize (He p Hp). specialize (Hc p Hp). rewrite (Hs p Hp). lia.
Qed.

End Redundant.

(** Arcs of one place are [d] times a shape, those of another one [e] times the same: the one with the larger quotient
    at first never keeps anything from firing. *)
Section Shapes.

Variables (p q : place) (d e : nat) (shape_takes shape_gives : transition -> nat).
Hypothesis positive : 0 < d /\ 0 < e.
Hypothesis arcs_p : forall t, takes t p = d * shape_takes t /\ gives t p = d * shape_gives t.
Hypothesis arcs_q : forall t, takes t q = e * shape_takes t /\ gives t q = e * shape_gives t.
Hypothesis other : q <> p.
Variable initial : marking.
Hypothesis larger : initial q / e <= initial p / d.

(** All changes have equal factors. *)
Definition shaped (m : marking) : Prop := exists z : Z,
  (Z.of_nat (m p) = Z.of_nat (initial p) + Z.of_nat d * z)%Z /\
  (Z.of_nat (m q) = Z.of_nat (initial q) + Z.of_nat e * z)%Z.

Lemma shaped_initial : shaped initial.
Proof. exists 0%Z. lia. Qed.

Lemma shaped_fires : forall t m m', shaped m -> fires t m m' -> shaped m'.
Proof.
  intros t m m' [z [Hp Hq]] [_ He]. exists (z + Z.of_nat (shape_gives t) - Z.of_nat (shape_takes t))%Z.
  assert (H1 := He p). assert (H2 := He q). destruct (arcs_p t) as [E1 E2], (arcs_q t) as [E3 E4].
  rewrite E1, E2 in H1. rewrite E3, E4 in H2. nia.
Qed.

Theorem shaped_places_have_enough : forall t m, shaped m -> can_fire_without p t m -> takes t p <= m p.
Proof.
  intros t m [z [Hp Hq]] Hc. specialize (Hc q other). destruct (arcs_p t) as [E1 _], (arcs_q t) as [E3 _].
  rewrite E1. rewrite E3 in Hc.
  assert (Hdiv_q := Nat.div_mod (initial q) e ltac:(lia)). assert (Hmod_q := Nat.mod_upper_bound (initial q) e ltac:(lia)).
  assert (Hdiv_p := Nat.div_mod (initial p) d ltac:(lia)).
  set (a := initial q / e) in *. set (b := initial p / d) in *.
  (* What the other one has, in units. *)
  assert (Hu : (Z.of_nat (shape_takes t) <= Z.of_nat a + z)%Z).
  { assert (H1 : (Z.of_nat e * Z.of_nat (shape_takes t) <= Z.of_nat (initial q) + Z.of_nat e * z)%Z) by nia.
    assert (H2 : (Z.of_nat (initial q) < Z.of_nat e * (Z.of_nat a + 1))%Z) by nia.
    assert (H3 : (Z.of_nat e * Z.of_nat (shape_takes t) < Z.of_nat e * (Z.of_nat a + z + 1))%Z) by nia.
    assert (H4 : (Z.of_nat (shape_takes t) < Z.of_nat a + z + 1)%Z) by (apply Z.mul_lt_mono_pos_l with (Z.of_nat e); lia).
    lia. }
  assert (H5 : (Z.of_nat d * Z.of_nat (shape_takes t) <= Z.of_nat d * (Z.of_nat b + z))%Z).
  { apply Z.mul_le_mono_nonneg_l; lia. }
  assert (H6 : (Z.of_nat d * Z.of_nat b <= Z.of_nat (initial p))%Z) by nia.
  nia.
Qed.

End Shapes.

(** *** Irrelevant transitions *)

Section Irrelevant.

(** The places that a question looks at. *)
Variable watched : place -> Prop.
Variable relevant : transition -> Prop.
Hypothesis relevant_dec : forall t, {relevant t} + {~ relevant t}.
(** Who changes a watched place is relevant; who gives more than it takes to a place from which a relevant one
    takes is relevant. *)
Hypothesis changes : forall t p, watched p -> gives t p <> takes t p -> relevant t.
Hypothesis feeds : forall t u p, relevant u -> 0 < takes u p -> takes t p < gives t p -> relevant t.

(** Leave out the others: at least as many tokens are left where relevant ones take, and the same where
    somebody looks. *)
Theorem irrelevant_transitions_may_go : forall w m m', run all m w m' ->
  forall n, (forall p, watched p -> n p = m p) -> (forall u p, relevant u -> 0 < takes u p -> m p <= n p) ->
  exists v n', run relevant n v n' /\ forall p, watched p -> n' p = m' p.
Proof.
  induction 1 as [m | t m m1 w m' _ [Hc He] _ IH]; intros n Hw Hn.
  - exists [], n; split; [constructor | exact Hw].
  - destruct (relevant_dec t) as [Ht | Ht].
    + assert (Hcn : can_fire t n).
      { intros p. destruct (Nat.eq_dec (takes t p) 0) as [E | E]; [lia |].
        specialize (Hn t p Ht ltac:(lia)). specialize (Hc p). lia. }
      destruct (IH (fun p => n p + gives t p - takes t p)) as [v [n' [Hr Hn']]].
      * intros p Hp. specialize (Hw p Hp); specialize (He p); specialize (Hc p). lia.
      * intros u p Hu Hp. specialize (Hn u p Hu Hp); specialize (He p); specialize (Hc p). lia.
      * exists (t :: v), n'; split; auto. econstructor; eauto. split; [exact Hcn |].
        intros p. specialize (Hcn p). lia.
    + apply IH.
      * intros p Hp. rewrite (Hw p Hp). specialize (He p).
        destruct (Nat.eq_dec (gives t p) (takes t p)) as [E | E]; [lia |]. destruct Ht; eauto.
      * intros u p Hu Hp. specialize (Hn u p Hu Hp); specialize (He p).
        destruct (le_lt_dec (gives t p) (takes t p)) as [E | E]; [lia |]. destruct Ht; eauto.
Qed.

Corollary watched_markings_stay : forall w m m', run all m w m' ->
  exists v n', run relevant m v n' /\ forall p, watched p -> n' p = m' p.
Proof. intros w m m' H; apply (irrelevant_transitions_may_go w m m' H); auto. Qed.

End Irrelevant.

End Net.
