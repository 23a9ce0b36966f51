(** A structural rule of Petri nets: places between which tokens move freely are one place.

    `shared_places` in `stubborn-net/src/structural/rules.rs`. "The sums are equal" is a simulation both ways, in which
    moves of tokens are matched by nothing.

    Why it matters: the contest uses it for all questions. *)

From Coq Require Import List Arith Lia.
From Stubborn Require Import Nets.
Import ListNotations.

Section Sums.

Variable A : Type.

Definition sum (f : A -> nat) (l : list A) : nat := fold_right (fun a n => f a + n) 0 l.

Lemma sum_le : forall f g l, (forall a, In a l -> f a <= g a) -> sum f l <= sum g l.
Proof.
  intros f g; induction l as [| a l IH]; intros H; simpl; [lia |].
  assert (H1 := H a (or_introl eq_refl)). assert (H2 : sum f l <= sum g l) by (apply IH; intros b Hb; apply H; now right). lia.
Qed.

Lemma sum_lt : forall f g l x, (forall a, In a l -> f a <= g a) -> In x l -> f x < g x -> sum f l < sum g l.
Proof.
  intros f g; induction l as [| a l IH]; intros x H Hx Hlt; simpl; [destruct Hx |].
  assert (H1 := H a (or_introl eq_refl)). assert (Hl : forall b, In b l -> f b <= g b) by (intros b Hb; apply H; now right).
  destruct Hx as [-> | Hx].
  - assert (H2 := sum_le f g l Hl). lia.
  - assert (H2 := IH x Hl Hx Hlt). lia.
Qed.

Lemma sum_plus : forall f g l, sum (fun a => f a + g a) l = sum f l + sum g l.
Proof. intros f g; induction l as [| a l IH]; simpl; lia. Qed.

Lemma sum_ext : forall f g l, (forall a, In a l -> f a = g a) -> sum f l = sum g l.
Proof.
  intros f g; induction l as [| a l IH]; intros H; simpl; auto.
  rewrite (H a (or_introl eq_refl)), IH; auto. intros b Hb; apply H; now right.
Qed.

(** Somebody has less than wanted, together there is enough: somebody has more. *)
Lemma somebody_has_more : forall (have want : A -> nat) l, sum want l <= sum have l -> forall a, In a l -> have a < want a ->
  exists b, In b l /\ want b < have b.
Proof.
  intros have want l Hsum a Ha Hlt.
  assert (H : (exists b, In b l /\ want b < have b) \/ forall b, In b l -> have b <= want b).
  { clear - l. induction l as [| x l IH]; [right; intros b [] |].
    destruct IH as [[b [Hb Hl]] | Hall]; [left; exists b; simpl; auto |].
    destruct (le_lt_dec (have x) (want x)) as [H | H]; [right; intros b [<- | Hb]; auto | left; exists x; simpl; auto]. }
  destruct H as [H | H]; auto. assert (Hs := sum_lt have want l a H Ha Hlt). lia.
Qed.

End Sums.

Section Shared.

Variables place transition : Type.
Variables takes gives : transition -> place -> nat.
Hypothesis same : forall a b : place, {a = b} + {a <> b}.
Local Notation marking := (marking place).
Local Notation can_fire := (can_fire place transition takes).
Local Notation fires := (fires place transition takes gives).
Local Notation run := (run place transition takes gives (all transition)).

(** The shared places. *)
Variable C : list place.
Hypothesis once : NoDup C.

Definition one (a r : place) : nat := if same r a then 1 else 0.

(** A step that moves a token, and nothing else. *)
Definition moves (t : transition) (a b : place) : Prop :=
  In a C /\ In b C /\ (forall r, takes t r = one a r) /\ forall r, gives t r = one b r.

Inductive linked : place -> place -> Prop :=
| linked_here : forall a, In a C -> linked a a
| linked_on : forall t a b c, moves t a b -> linked b c -> linked a c.
(** A component of such steps. *)
Hypothesis all_linked : forall a b, In a C -> In b C -> linked a b.

Lemma run_trans : forall m w m1, run m w m1 -> forall v m2, run m1 v m2 -> exists u, run m u m2.
Proof.
  induction 1 as [m | t m m1 w m' Ht Hf _ IH]; intros v m2 Hv; [exists v; exact Hv |].
  destruct (IH v m2 Hv) as [u Hu]. exists (t :: u). econstructor; eauto.
Qed.

(** So a token can go from any of them to any other one. *)
Lemma a_token_moves : forall a b, linked a b -> forall m, 0 < m a ->
  exists w m1, run m w m1 /\ forall r, m1 r + one a r = m r + one b r.
Proof.
  induction 1 as [a Ha | t a b c [Ha [Hb [Ht Hg]]] _ IH]; intros m Hm.
  - exists [], m. split; [constructor | intros r; lia].
  - assert (Hf : fires t m (fun r => m r + one b r - one a r)).
    { assert (Hc : can_fire t m).
      { intros r. rewrite Ht. unfold one. destruct (same r a) as [-> | _]; lia. }
      split; [exact Hc |]. intros r. specialize (Hc r). rewrite Ht in *. rewrite Hg. lia. }
    destruct (IH (fun r => m r + one b r - one a r)) as [w [m1 [Hr He]]].
    { unfold one. destruct (same b b) as [_ | Hno]; [| now destruct Hno]. destruct (same b a) as [-> | _]; lia. }
    exists (t :: w), m1. split; [econstructor; eauto; exact I |].
    intros r. specialize (He r). simpl in He.
    assert (Hle : one a r <= m r + one b r) by (unfold one; destruct (same r a) as [-> | _]; lia). lia.
Qed.

Lemma sum_one : forall l a, NoDup l -> In a l -> sum place (one a) l = 1.
Proof.
  induction l as [| x l IH]; intros a Hn Ha; [destruct Ha |]. inversion_clear Hn as [| ? ? Hx Hl]. simpl.
  unfold one at 1. destruct (same x a) as [-> | Hne].
  - assert (E : sum place (one a) l = 0); [| lia].
    clear - Hx. induction l as [| y l IH]; simpl; auto. unfold one at 1.
    destruct (same y a) as [-> | _]; [destruct Hx; now left |]. apply IH. intros H; apply Hx; now right.
  - destruct Ha as [-> | Ha]; [now destruct Hne |]. rewrite (IH a Hl Ha). reflexivity.
Qed.

(** Tokens in all shared places together. *)
Definition total (m : marking) : nat := sum place m C.

(** The smaller net: arcs are summed up; [same_image] says that two markings have the same image. *)
Definition same_image (m n : marking) : Prop := total m = total n /\ forall r, ~ In r C -> m r = n r.
Definition can_fire' (t : transition) (m : marking) : Prop :=
  sum place (takes t) C <= total m /\ forall r, ~ In r C -> takes t r <= m r.

(** What the net can do, the smaller one can, to the same image. *)
Theorem shared_forth : forall t m m1, fires t m m1 ->
  can_fire' t m /\ total m1 + sum place (takes t) C = total m + sum place (gives t) C.
Proof.
  intros t m m1 [Hc He]. split.
  - split; [apply sum_le; intros a _; apply Hc | intros r _; apply Hc].
  - unfold total. rewrite <- !sum_plus. apply sum_ext. intros a _. apply He.
Qed.

(** Tokens can be moved to where a transition takes them. *)
Lemma tokens_gather : forall t n m, sum place (fun a => takes t a - m a) C <= n -> sum place (takes t) C <= total m ->
  exists w m1, run m w m1 /\ same_image m m1 /\ forall a, In a C -> takes t a <= m1 a.
Proof.
  intros t; induction n as [| n IH]; intros m Hn Hsum.
  - exists [], m. split; [constructor | split; [split; auto |]]. intros a Ha.
    destruct (le_lt_dec (takes t a) (m a)) as [H | H]; auto. exfalso.
    assert (Hpos : 0 < takes t a - m a) by lia.
    assert (Hlt := sum_lt place (fun _ => 0) (fun a => takes t a - m a) C a (fun b _ => Nat.le_0_l _) Ha Hpos). lia.
  - assert (Hdec : (exists a, In a C /\ m a < takes t a) \/ forall a, In a C -> takes t a <= m a).
    { clear. induction C as [| x l IH]; [right; intros a [] |].
      destruct IH as [[a [Ha Hl]] | H]; [left; exists a; simpl; auto |].
      destruct (le_lt_dec (takes t x) (m x)) as [Hx | Hx]; [right; intros a [<- | Ha]; auto | left; exists x; simpl; auto]. }
    destruct Hdec as [[a [Ha Hlt]] | Hall].
    2: { exists [], m. split; [constructor | split; [split; auto | exact Hall]]. }
    destruct (somebody_has_more place m (takes t) C Hsum a Ha Hlt) as [b [Hb Hmore]].
    assert (Hmb : 0 < m b) by lia.
    destruct (a_token_moves b a (all_linked b a Hb Ha) m Hmb) as [w [m1 [Hr He]]].
    assert (Hab : a <> b) by (intros ->; lia).
    assert (Htot : total m1 = total m).
    { unfold total. assert (E : sum place (fun r => m1 r + one b r) C = sum place (fun r => m r + one a r) C)
        by (apply sum_ext; intros r _; apply He).
      rewrite (sum_plus place m1 (one b)), (sum_plus place m (one a)), (sum_one C b once Hb), (sum_one C a once Ha) in E.
      lia. }
    assert (Hpoint : forall r, takes t r - m1 r <= takes t r - m r).
    { intros r. specialize (He r). unfold one in He. destruct (same r b) as [E1 | E1], (same r a) as [E2 | E2].
      all: try (subst r; congruence); try (rewrite E1 in *; lia); lia. }
    assert (Hfewer : sum place (fun r => takes t r - m1 r) C < sum place (fun r => takes t r - m r) C).
    { apply sum_lt with a; auto. specialize (He a). unfold one in He.
      destruct (same a b) as [E | _]; [contradiction |]. destruct (same a a) as [_ | Hno]; [lia | now destruct Hno]. }
    destruct (IH m1) as [v [m2 [Hv [[Ht2 Ho2] H2]]]]; [lia | now rewrite Htot |].
    destruct (run_trans m w m1 Hr v m2 Hv) as [u Hu]. exists u, m2. split; [exact Hu | split; [split |]]; auto.
    + now rewrite <- Htot.
    + intros r Hnot. rewrite <- (Ho2 r Hnot). specialize (He r). unfold one in He.
      destruct (same r b) as [-> | _]; [contradiction |]. destruct (same r a) as [-> | _]; [contradiction |]. lia.
Qed.

(** What the smaller net can do, the net can, after moves that nobody sees. *)
Theorem shared_back : forall t m, can_fire' t m ->
  exists w m1 m2, run m w m1 /\ same_image m m1 /\ fires t m1 m2.
Proof.
  intros t m [Hsum Hout]. destruct (tokens_gather t _ m (Nat.le_refl _) Hsum) as [w [m1 [Hr [[Ht Ho] Hin]]]].
  exists w, m1, (fun r => m1 r + gives t r - takes t r). split; [exact Hr | split; [split; auto |]].
  assert (Hc : can_fire t m1).
  { intros r. destruct (in_dec same r C) as [H | H]; [now apply Hin | rewrite <- (Ho r H); now apply Hout]. }
  split; [exact Hc | intros r; specialize (Hc r); lia].
Qed.

(** Deadlocks are the same (steps that only move a token among them). *)
Theorem shared_deadlocks : forall m, (forall t, ~ can_fire t m) <-> (forall t, ~ can_fire' t m).
Proof.
  intros m; split; intros H t Hc.
  - destruct (shared_back t m Hc) as [[| u w] [m1 [m2 [Hr [_ Hf]]]]].
    + inversion Hr; subst. exact (H t (proj1 Hf)).
    + inversion Hr as [| ? ? m3 ? ? _ Hu]; subst. exact (H u (proj1 Hu)).
  - apply (H t). split; [apply sum_le; intros a _; apply Hc | intros r _; apply Hc].
Qed.

End Shared.

(** ** An instance: two tokens must come to one place before somebody takes them *)

Module Example.

Inductive Place := left | right.
Inductive Transition := there | back | both.
Definition takes (t : Transition) (r : Place) : nat :=
  match t, r with there, left | back, right => 1 | both, right => 2 | _, _ => 0 end.
Definition gives (t : Transition) (r : Place) : nat := match t, r with there, right | back, left => 1 | _, _ => 0 end.
Definition initial (r : Place) : nat := match r with left => 2 | right => 0 end.

Lemma same : forall a b : Place, {a = b} + {a <> b}.
Proof. decide equality. Defined.

Theorem they_come_together : ~ can_fire Place Transition takes both initial /\
  exists w m1 m2, Nets.run Place Transition takes gives (all Transition) initial w m1 /\
    same_image Place [left; right] initial m1 /\ fires Place Transition takes gives both m1 m2.
Proof.
  split; [intros H; specialize (H right); simpl in H; lia |].
  assert (Hthere : moves Place Transition takes gives same [left; right] there left right).
  { split; [simpl; auto | split; [simpl; auto | split; intros []; reflexivity]]. }
  assert (Hback : moves Place Transition takes gives same [left; right] back right left).
  { split; [simpl; auto | split; [simpl; auto | split; intros []; reflexivity]]. }
  apply (shared_back Place Transition takes gives same [left; right]).
  - constructor; [intros [H | []]; discriminate | constructor; [intros [] | constructor]].
  - intros [] [] _ _; try (apply linked_here; simpl; auto).
    + apply linked_on with there right; [exact Hthere | apply linked_here; simpl; auto].
    + apply linked_on with back left; [exact Hback | apply linked_here; simpl; auto].
  - split; [simpl; lia | intros [] H; destruct H; simpl; auto].
Qed.

End Example.
