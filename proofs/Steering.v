(** Sets for the automaton's state lose no accepted run: for any automaton, without a proviso, without visibility.

    Conditions 1 to 4 of `stubborn-emptiness/src/steering.rs`; "Products: sets for the automaton's state" in
    `docs/soundness.md`. Steps may have any number of outcomes.

    What is proved is about one node: there is a kept step that keeps a live node and makes the way to a mark
    shorter ([steered_nodes_go_on], the premise of lemma D with "smaller").

    Why it matters: together with classic nodes this is how formulas of LTL are checked by default. Version 0.1.0 left
    out the last part of condition 4, and lost violations. *)

From Coq Require Import List Bool Arith Lia Wf_nat.
From Stubborn Require Import Deadlocks Closed Temporal.
Import ListNotations.

(** Decisions that nobody has to take: they are made where something false is to be shown. *)
Lemma either : forall P : Prop, (P \/ ~ P -> False) -> False.
Proof. intros P H; apply H; right; intros HP; apply H; now left. Qed.

Section Steering.

Variables (M : system) (R : relations M).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).
Local Notation deadlock := (deadlock M).
Local Notation path := (path M).
Local Notation end_of := (end_of M).
Local Notation avoids := (avoids M).

(** ** The automaton, by its edges *)

Variables (letter astate mark edge : Type).
Variable shown : state -> letter.
Variables (source target : edge -> astate) (guard : edge -> letter -> bool) (collects : edge -> marks mark).
Hypothesis same_astate : forall a b : astate, {a = b} + {a <> b}.
Hypothesis same_state : forall a b : state, {a = b} + {a <> b}.
Hypothesis same_node : forall a b : node M astate, {a = b} + {a <> b}.
Variable node_list : list (node M astate).
Hypothesis finitely_many_nodes : forall n, In n node_list.
Variable mark_list : list mark.
Hypothesis finitely_many_marks : forall i, In i mark_list.

Definition on (e : edge) (v : letter) : Prop := guard e v = true.
Definition moves (q : astate) (v : letter) (F : marks mark) (r : astate) : Prop :=
  exists e, source e = q /\ target e = r /\ on e v /\ F = collects e.

Local Notation node := (node M astate).
Local Notation pstep := (pstep M letter astate mark shown moves).
Local Notation alive := (live M letter astate mark shown moves (any M astate)).
Local Notation dist := (finds M letter astate mark shown moves (any M astate) alive).
Local Notation reads := (reads M letter astate mark shown moves).
Local Notation does := (does M).
Local Notation has := (has mark).

(** `Waiting`: the loops of a state, and the marks that all of them have. *)
Definition waits (r : astate) (v : letter) : Prop := exists e, source e = r /\ target e = r /\ on e v.
Definition base (r : astate) (j : mark) : Prop :=
  (exists e, source e = r /\ target e = r) /\ forall e, source e = r -> target e = r -> collects e j = true.
Hypothesis waits_dec : forall r v, {waits r v} + {~ waits r v}.

(** A loop with no more marks than all loops of its state have: any other one will do in its place. *)
Definition common (e : edge) : Prop := forall j, collects e j = true -> base (source e) j.
Hypothesis common_dec : forall e, {common e} + {~ common e}.

(** What was collected if [f] has just been taken and its target waits. *)
Definition gathered (f : edge) (j : mark) : Prop := collects f j = true \/ base (target f) j.
Hypothesis gathered_dec : forall f j, {gathered f j} + {~ gathered f j}.

(** Needed events: edges that go on, and loops with more marks. *)
Definition needed (f e : edge) : Prop :=
  source e = target f /\ (target e <> target f \/ exists j, collects e j = true /\ ~ gathered f j).
Hypothesis needed_dec : forall f e, {needed f e} + {~ needed f e}.

(** `returns`: inside a component of the automaton. *)
Variable returns : edge -> bool.
Variable rank : astate -> nat.
Hypothesis rank_falls : forall e, rank (target e) <= rank (source e) /\
  (returns e = false -> rank (target e) < rank (source e)).

(** ** One node *)

Variables (s : state) (q : astate).
Hypothesis reachable_s : reachable s.
Variable T : transition -> Prop.
Hypothesis T_dec : forall t, {T t} + {~ T t}.

(** Edges that can be taken first. *)
Definition first (f : edge) : Prop := source f = q /\ on f (shown s).

(** What paths outside of the set do to a condition ([Goals.hits], as sets of `goal`: demands are goals), and what any
    transition may. *)
Definition never_true (c : letter -> Prop) : Prop := forall l, path s l -> avoids T l -> ~ c (shown (end_of s l)).
Definition never_false (c : letter -> Prop) : Prop := forall l, path s l -> avoids T l -> c (shown (end_of s l)).
Definition establishes (t : transition) (c : letter -> Prop) : Prop :=
  exists x x1, reachable x /\ step t x x1 /\ ~ c (shown x) /\ c (shown x1).
Definition falsifies (t : transition) (c : letter -> Prop) : Prop :=
  exists x x1, reachable x /\ step t x x1 /\ c (shown x) /\ ~ c (shown x1).

(** An event that can be taken at once may be taken at once. *)
Definition short (f e : edge) : Prop :=
  (forall v, on e v -> waits (target e) v) /\
  exists f', first f' /\ target f' = target e /\
    forall j, gathered f j \/ collects e j = true -> collects f' j = true.

(** Condition 1. *)
Hypothesis D1 : closed M R T s.
(** Condition 2. *)
Hypothesis events_are_members : forall f e, first f -> needed f e -> ~ on e (shown s) -> never_true (on e).
Hypothesis events_are_short : forall f e, first f -> needed f e -> on e (shown s) ->
  short f e /\ never_false (on e).
Hypothesis waiting_is_a_member : forall f, first f -> ~ waits (target f) (shown s) -> never_true (waits (target f)).
(** Condition 3. *)
Hypothesis who_ends_waiting : forall f t, first f -> waits (target f) (shown s) -> T t -> enabled t s ->
  falsifies t (waits (target f)) -> forall u, establishes u (waits (target f)) -> T u.
Hypothesis who_brings_an_event : forall f e t, first f -> waits (target f) (shown s) -> needed f e ->
  ~ on e (shown s) -> T t -> enabled t s -> falsifies t (waits (target f)) -> establishes t (on e) ->
  (forall u, establishes u (on e) -> T u) /\ (forall v, on e v -> waits (target e) v) /\
  forall j, base (target f) j -> collects f j = true \/ collects e j = true.
(** Condition 4. *)
Definition wants_key (f : edge) : Prop := first f /\ (forall j, gathered f j) /\ waits (target f) (shown s).
Hypothesis key : (exists f, wants_key f) -> exists k, is_key M R T s k /\ forall f, wants_key f ->
  ~ falsifies k (waits (target f)) /\
  (forall e, source e = target f -> target e = target f -> ~ needed f e -> ~ common e -> ~ falsifies k (on e)) /\
  (forall e, needed f e -> on e (shown s) -> returns e = true -> ~ falsifies k (on e)).

(** *** Along paths outside of the set *)

Definition all_on (c : letter -> Prop) (l : list (transition * state)) : Prop :=
  Forall (fun e => c (shown (snd e))) l.

Lemma path_app : forall l r x, path x (l ++ r) <-> path x l /\ path (end_of x l) r.
Proof. induction l as [| [u y] l IH]; intros r x; simpl; [tauto |]. rewrite IH; tauto. Qed.

Lemma end_app : forall l r x, end_of x (l ++ r) = end_of (end_of x l) r.
Proof. induction l as [| [u y] l IH]; intros r x; simpl; auto. Qed.

Lemma never_false_along : forall c l, never_false c -> path s l -> avoids T l -> all_on c l.
Proof.
  intros c l Hn; induction l as [| [t y] l IH] using rev_ind; intros Hp Ha; [constructor |].
  apply path_app in Hp. apply Forall_app in Ha. destruct Hp as [Hp1 Hp2], Ha as [Ha1 Ha2].
  apply Forall_app; split; [apply IH; auto |]. constructor; [| constructor].
  specialize (Hn (l ++ [(t, y)])). rewrite end_app in Hn. apply Hn.
  - apply path_app; auto.
  - apply Forall_app; auto.
Qed.

Lemma all_on_end : forall c l x, all_on c l -> l <> [] -> c (shown (end_of x l)).
Proof.
  intros c; induction l as [| [t y] l IH]; intros x Ha Hne; [now destruct Hne |].
  inversion_clear Ha as [| ? ? H1 H2]; simpl in *. destruct l as [| z l]; [exact H1 |].
  apply (IH y); auto. discriminate.
Qed.

(** Back from where a condition holds, if nobody on the way establishes it. *)
Lemma back_along : forall c, (forall v, {c v} + {~ c v}) -> (forall u, establishes u c -> T u) ->
  forall m x, reachable x -> path x m -> avoids T m -> c (shown (end_of x m)) -> c (shown x) /\ all_on c m.
Proof.
  intros c dec Hest; induction m as [| [t y] m IH]; intros x Hr Hp Ha Hc; [split; [exact Hc | constructor] |].
  destruct Hp as [Hs Hp]. inversion_clear Ha as [| ? ? Ht Ha']; simpl in *.
  destruct (IH y) as [Hy Hm]; eauto using reachable_step. split; [| constructor; auto].
  destruct (dec (shown x)) as [H | H]; auto. destruct Ht. apply Hest. exists x, y; auto.
Qed.

Lemma on_dec : forall e v, {on e v} + {~ on e v}.
Proof. intros e v; unfold on; destruct (guard e v); auto. Qed.

(** Waiting at a state and at those of a path, but the last. *)
Fixpoint waits_on (r : astate) (x : state) (m : list (transition * state)) : Prop :=
  match m with
  | [] => True
  | (_, x1) :: m => waits r (shown x) /\ waits_on r x1 m
  end.

Lemma waits_on_of_all : forall r m x, waits r (shown x) -> all_on (waits r) m -> waits_on r x m.
Proof.
  intros r; induction m as [| [t y] m IH]; intros x Hx Ha; simpl; auto.
  inversion_clear Ha as [| ? ? H1 H2]; simpl in *. auto.
Qed.

Lemma waits_on_snoc : forall r m x t z, waits_on r x m -> waits r (shown (end_of x m)) ->
  waits_on r x (m ++ [(t, z)]).
Proof.
  intros r; induction m as [| [u y] m IH]; intros x t z Hw Hx; simpl in *; auto. destruct Hw; auto.
Qed.

Lemma waits_on_all : forall r m x, waits_on r x m -> waits r (shown (end_of x m)) ->
  waits r (shown x) /\ all_on (waits r) m.
Proof.
  intros r; induction m as [| [u y] m IH]; intros x Hw Hx; simpl in *; [split; [exact Hx | constructor] |].
  destruct Hw as [Hw1 Hw2]. destruct (IH y Hw2 Hx) as [H1 H2]. split; auto. constructor; auto.
Qed.

(** The automaton reads it by loops, with all marks of [base]. *)
Lemma waits_reads : forall r m x, waits_on r x m ->
  exists gs, reads r x m gs r /\ forall G, In G gs -> forall j, base r j -> G j = true.
Proof.
  intros r; induction m as [| [u y] m IH]; intros x Hw; simpl in Hw.
  - exists []; split; [constructor | intros G []].
  - destruct Hw as [[e [H1 [H2 H3]]] Hw]. destruct (IH y Hw) as [gs [Hg Hb]].
    exists (collects e :: gs); split.
    + constructor 2 with r; [exists e; auto | exact Hg].
    + intros G [<- | HG] j Hj; [now apply Hj | eauto].
Qed.

(** So a live node at its end makes the beginning live, and everything is as far as it is long. *)
Lemma waiting_way : forall r m x i e, path x m -> waits_on r x m -> alive (end_of x m, r) ->
  alive (x, r) /\ (dist i (end_of x m, r) e -> dist i (x, r) (length m + e)) /\
  (m <> [] -> forall j, base r j -> dist (Some j) (x, r) 1).
Proof.
  intros r m x i e Hp Hw Hal. destruct (waits_reads r m x Hw) as [gs [Hg Hb]].
  assert (Hx : alive (x, r)) by (eapply alive_along; eauto).
  split; [exact Hx | split].
  - intros Hd. eapply dist_along; eauto.
  - intros Hne j Hj. destruct gs as [| G gs]; [inversion Hg; subst; now destruct Hne |].
    eapply dist_at with (j := 0); eauto; [reflexivity |]. simpl. apply Hb; [now left | exact Hj].
Qed.

(** *** What is shown *)

Definition gath (f : edge) (i : option mark) : Prop :=
  match i with None => True | Some j => gathered f j end.

Definition kept (a : option transition) : Prop := match a with Some t => T t | None => True end.

(** A kept step that keeps a live node; the edge has the mark, or the way to it is shorter. *)
Definition goes_on (i : option mark) (d : nat) : Prop :=
  exists a F n1, kept a /\ pstep (s, q) a F n1 /\ alive n1 /\ (has F i \/ exists d1, d1 < d /\ dist i n1 d1).

Lemma first_moves : forall f, first f -> moves q (shown s) (collects f) (target f).
Proof. intros f [H1 H2]; exists f; auto. Qed.

(** An event that is possible after a path outside of the set was possible before, and can be taken at once. *)
Lemma shortcut : forall f e l, first f -> needed f e -> path s l -> avoids T l -> on e (shown (end_of s l)) ->
  on e (shown s) /\ all_on (waits (target e)) l /\
  exists f', first f' /\ target f' = target e /\ forall j, gathered f j \/ collects e j = true -> collects f' j = true.
Proof.
  intros f e l Hf He Hp Ha Hon. destruct (on_dec e (shown s)) as [Hs | Hs].
  - destruct (events_are_short f e Hf He Hs) as [[Hw Hex] Hn]. split; [exact Hs | split; [| exact Hex]].
    assert (Hall := never_false_along (on e) l Hn Hp Ha).
    eapply Forall_impl; [| exact Hall]. intros x; apply Hw.
  - destruct (events_are_members f e Hf He Hs l Hp Ha Hon).
Qed.

Lemma waits_at_s : forall f t s1, first f -> step t s s1 -> ~ T t -> waits (target f) (shown s1) ->
  waits (target f) (shown s).
Proof.
  intros f t s1 Hf Hs Ht Hw. destruct (waits_dec (target f) (shown s)) as [H | H]; auto.
  assert (Ha : avoids T [(t, s1)]) by (constructor; [exact Ht | constructor]).
  destruct (waiting_is_a_member f Hf H [(t, s1)] (conj Hs I) Ha Hw).
Qed.

(** The target of [f] waits all along, and the next step leads to a live node. *)
Definition ready (f : edge) (l : list (transition * state)) (a : option transition) (z : state) : Prop :=
  first f /\ path s l /\ avoids T l /\ l <> [] /\ all_on (waits (target f)) l /\
  does a (end_of s l) z /\ alive (z, target f).

Lemma ready_waits : forall f l a z, ready f l a z -> waits (target f) (shown s).
Proof.
  intros f [| [t s1] l] a z [Hf [Hp [Ha [Hne [Hw _]]]]]; [now destruct Hne |].
  destruct Hp as [Hs _]. inversion_clear Ha as [| ? ? Ht _]. inversion_clear Hw as [| ? ? Hw1 _].
  eapply waits_at_s; eauto.
Qed.

(** A member is taken first, and the target of [f] waits until then. *)
Lemma member_first_waiting : forall f l t z i d, ready f l (Some t) z -> T t -> waits (target f) (shown z) ->
  (gath f i /\ (has (collects f) i \/ 2 <= d)) \/ (exists e, dist i (z, target f) e /\ S (length l) + e <= d) ->
  ~ ~ goes_on i d.
Proof.
  intros f l t z i d Hready Ht Hz Hreq Hno. assert (Hws := ready_waits _ _ _ _ Hready).
  destruct Hready as [Hf [Hp [Ha [Hne [Hw [Hs Hal]]]]]]; simpl in Hs.
  destruct (lemma_A M R T s t l z reachable_s D1 Ht Hp Ha Hs) as [x [m [Hx [Hl E]]]].
  destruct (ladder_path M _ _ _ _ Hl) as [Hpm Em].
  assert (Hrx : reachable x) by eauto using reachable_step.
  assert (Ham : avoids T m) by (apply avoids_outside; rewrite Em; now apply avoids_outside).
  assert (Hlen : length m = length l) by now rewrite <- (map_length fst m), Em, map_length.
  set (r := target f) in *.
  apply (either (falsifies t (waits r))). intros Hfal.
  assert (Hon : waits_on r x m).
  { destruct Hfal as [Hfal | Hfal].
    - destruct (back_along (waits r) (waits_dec r)
        (who_ends_waiting f t Hf Hws Ht (ex_intro _ x Hx) Hfal) m x Hrx Hpm Ham) as [H1 H2].
      + now rewrite E.
      + now apply waits_on_of_all.
    - assert (Hkeep : forall a b, reachable a -> step t a b -> waits r (shown a) -> waits r (shown b)).
      { intros a b Hr Hab Hwa. destruct (waits_dec r (shown b)) as [H | H]; auto.
        destruct Hfal. exists a, b; auto. }
      assert (Hlad : forall l s0 x0 m, reachable s0 -> path s0 l -> waits_on r s0 l -> step t s0 x0 ->
        ladder M t x0 l m -> waits_on r x0 m).
      { clear - Hkeep. induction l as [| [u s1] l IH]; intros s0 x0 [| [v x1] m] Hr Hp Hw Hx Hl; simpl in Hl;
          try tauto; simpl; auto. destruct Hp as [Hs Hp]. destruct Hw as [Hw1 Hw2].
        destruct Hl as [_ [_ [Hx1 Hl]]]. split; [eauto | apply (IH s1); eauto using reachable_step]. }
      apply (Hlad l s x m); auto. now apply waits_on_of_all. }
  assert (Hend : alive (end_of x m, r)) by now rewrite E.
  assert (Hmne : m <> []) by (intros ->; destruct l; [now destruct Hne | discriminate]).
  assert (Hgo : forall e, alive (x, r) /\ (dist i (end_of x m, r) e -> dist i (x, r) (length m + e)) /\
    (m <> [] -> forall j, base r j -> dist (Some j) (x, r) 1)) by (intros e; now apply waiting_way).
  apply Hno. exists (Some t), (collects f), (x, r). split; [exact Ht | split; [split; [exact Hx | now apply first_moves] |]].
  split; [exact (proj1 (Hgo 0)) |].
  destruct Hreq as [[Hg [Hi | Hd]] | [e [He Hle]]]; [now left | |].
  - destruct i as [j |]; [| now left]. destruct Hg as [Hc | Hb]; [now left | right].
    exists 1; split; [lia |]. now apply (proj2 (proj2 (Hgo 0))).
  - right. exists (length m + e); split; [lia |]. apply (Hgo e). now rewrite E.
Qed.

(** A member is taken first, whether or not waiting ends with it. *)
Lemma member_first : forall f l t z i d, ready f l (Some t) z -> T t ->
  (gath f i /\ (has (collects f) i \/ 2 <= d)) \/ (exists e, dist i (z, target f) e /\ S (length l) + e <= d) ->
  ~ ~ goes_on i d.
Proof.
  intros f l t z i d Hready Ht Hreq. destruct (waits_dec (target f) (shown z)) as [Hz | Hz].
  { now apply member_first_waiting with f l t z. }
  intros Hno. assert (Hws := ready_waits _ _ _ _ Hready).
  assert (Hready' := Hready). destruct Hready' as [Hf [Hp [Ha [Hne [Hw [Hs Hal]]]]]]; simpl in Hs.
  (* The next edge: an event. *)
  assert (Hnext : exists a F n1, pstep (z, target f) a F n1 /\ alive n1 /\
    ((gath f i /\ (has (collects f) i \/ 2 <= d)) \/
     (has F i /\ S (length l) + 1 <= d) \/ exists e, dist i n1 e /\ S (length l) + S e <= d)).
  { destruct Hreq as [Hg | [e [He Hle]]].
    - destruct (alive_step _ _ _ _ _ _ _ Hal) as [a [F [n1 [H1 H2]]]]. exists a, F, n1; auto.
    - inversion He as [? a F n1 _ H1 H2 Hi | ? a F n1 e' _ H1 H2 He']; subst; exists a, F, n1;
        (split; [exact H1 | split; [exact H2 | right]]); [left; auto | right; exists e'; auto]. }
  destruct Hnext as [a [F [[z1 r1] [[Hd [e [He1 [He2 [He3 ->]]]]] [Hal1 Hreq1]]]]]; simpl in *. subst r1.
  assert (Hloop : target e <> target f).
  { intros E. apply Hz. exists e; auto. }
  assert (He : needed f e) by (split; auto).
  destruct (on_dec e (shown (end_of s l))) as [Hon | Hoff].
  - (* It could have been taken before: at once. *)
    destruct (shortcut f e l Hf He Hp Ha Hon) as [_ [Hw' [f' [Hf' [Ef Hm]]]]].
    rewrite <- Ef in *.
    assert (Hwz : waits (target f') (shown z)).
    { destruct (shortcut f e l Hf He Hp Ha Hon) as [Hs0 _].
      destruct (events_are_short f e Hf He Hs0) as [[Hx _] _]. rewrite Ef. now apply Hx. }
    destruct Hwz as [w [Hw1 [Hw2 Hw3]]].
    assert (Hpz : pstep (z, target f') a (collects w) (z1, target f')).
    { split; [exact Hd |]. exists w; auto. }
    assert (Halz : alive (z, target f')) by (eapply alive_back; eauto).
    assert (Hr' : ready f' l (Some t) z) by (repeat split; auto; apply Hf').
    apply (member_first_waiting f' l t z i d Hr' Ht); [exists w; auto | | exact Hno].
    destruct Hreq1 as [[Hg Hd'] | [[Hi Hle] | [e' [He' Hle]]]].
    + left. destruct i as [j |]; simpl in *; [| split; auto]. split; [left | left]; apply Hm; now left.
    + left. destruct i as [j |]; simpl in *; [| split; auto]. split; [left | left]; apply Hm; now right.
    + right. exists (S e'); split; [| exact Hle]. eapply later; eauto. exact I.
  - (* The member makes it possible, and ends waiting: it is taken right after it. *)
    assert (Hoff_s : ~ on e (shown s)).
    { intros Hon_s. destruct (events_are_short f e Hf He Hon_s) as [_ Hn].
      assert (H := never_false_along (on e) l Hn Hp Ha).
      exact (Hoff (all_on_end _ l s H Hne)). }
    assert (Hrl : reachable (end_of s l)) by (apply reachable_path; auto).
    destruct (lemma_A M R T s t l z reachable_s D1 Ht Hp Ha Hs) as [x [m [Hx [Hl E]]]].
    destruct (ladder_path M _ _ _ _ Hl) as [Hpm Em].
    assert (Hrx : reachable x) by eauto using reachable_step.
    assert (Ham : avoids T m) by (apply avoids_outside; rewrite Em; now apply avoids_outside).
    assert (Hlen : length m = length l) by now rewrite <- (map_length fst m), Em, map_length.
    destruct (who_brings_an_event f e t Hf Hws He Hoff_s Ht (ex_intro _ x Hx)) as [Hest [Himp Hbase]].
    { exists (end_of s l), z. repeat split; auto. now apply all_on_end. }
    { exists (end_of s l), z. repeat split; auto. }
    destruct (back_along (on e) (on_dec e) Hest m x Hrx Hpm Ham) as [Hex Hem]; [now rewrite E |].
    destruct m as [| [v x1] m]; [destruct l; [now destruct Hne | discriminate] |].
    destruct Hpm as [Hvx Hpm]. inversion_clear Hem as [| ? ? He1' Hem']. simpl in He1', E, Hlen.
    assert (Hw1 : waits_on (target e) x1 m).
    { apply waits_on_of_all; [now apply Himp |]. eapply Forall_impl; [| exact Hem']. intros y; apply Himp. }
    destruct (Himp _ He3) as [w [Hwa [Hwb Hwc]]].
    assert (Hpz : pstep (z, target e) a (collects w) (z1, target e)) by (split; [exact Hd | exists w; auto]).
    assert (Halz : alive (end_of x1 m, target e)) by (rewrite E; eapply alive_back; eauto).
    assert (Hgo : forall i e', alive (x1, target e) /\
      (dist i (end_of x1 m, target e) e' -> dist i (x1, target e) (length m + e')) /\
      (m <> [] -> forall j, base (target e) j -> dist (Some j) (x1, target e) 1)) by (intros; now apply waiting_way).
    assert (Hal_x1 := proj1 (Hgo None 0)).
    assert (Hfirst : pstep (x, target f) (Some v) (collects e) (x1, target e)).
    { split; [exact Hvx |]. exists e; auto. }
    apply Hno. exists (Some t), (collects f), (x, target f).
    split; [exact Ht | split; [split; [exact Hx | now apply first_moves] |]].
    split; [eapply alive_back; eauto |].
    assert (Hone : has (collects e) i -> 1 < d -> exists d1, d1 < d /\ dist i (x, target f) d1).
    { intros Hi Hd1. exists 1; split; [lia |]. eapply at_once; eauto. exact I. }
    destruct Hreq1 as [[Hg [Hi | Hd']] | [[Hi Hle] | [e' [He' Hle]]]]; [now left | | |].
    + destruct i as [j |]; [| now left]. destruct Hg as [Hc | Hb]; [now left |].
      destruct (Hbase j Hb) as [H | H]; [now left | right; apply Hone; auto].
    + right; apply Hone; auto; lia.
    + right. exists (S (length m + S e')); split; [lia |].
      eapply later with (n1 := (x1, target e)); eauto; [exact I |].
      apply (Hgo i (S e')). rewrite E. eapply later; eauto. exact I.
Qed.

(** ** Along a run, beside the set *)

(** The target of [f] waits between the first state of the path and its end. *)
Definition inner (r : astate) (l : list (transition * state)) : Prop :=
  match l with [] => False | (_, s1) :: l => waits_on r s1 l end.

Definition beside (f : edge) (l : list (transition * state)) : Prop :=
  first f /\ path s l /\ avoids T l /\ inner (target f) l /\ alive (end_of s l, target f).

Lemma inner_all : forall r l, inner r l -> waits r (shown (end_of s l)) -> l <> [] /\ all_on (waits r) l.
Proof.
  intros r [| [t s1] l] Hi Hw; [destruct Hi | split; [discriminate |]]. simpl in *.
  destruct (waits_on_all r l s1 Hi Hw) as [H1 H2]. constructor; auto.
Qed.

Lemma all_inner : forall r l, l <> [] -> all_on (waits r) l -> inner r l.
Proof.
  intros r [| [t s1] l] Hne Ha; [now destruct Hne |]. inversion_clear Ha as [| ? ? H1 H2].
  simpl in *. now apply waits_on_of_all.
Qed.

Lemma inner_nonempty : forall r l, inner r l -> l <> [].
Proof. intros r [| e l] H; [destruct H | discriminate]. Qed.

Lemma inner_snoc : forall r l t z, inner r l -> waits r (shown (end_of s l)) -> inner r (l ++ [(t, z)]).
Proof. intros r [| [u s1] l] t z Hi Hw; [destruct Hi |]. simpl in *. now apply waits_on_snoc. Qed.

(** What the next edge is: a loop that is not needed; or an event that could have been taken at once, and another
    first edge that stands for both. *)
Definition next_edge (f f' : edge) (l : list (transition * state)) (F : marks mark) (r1 : astate) : Prop :=
  exists e, source e = target f /\ target e = r1 /\ on e (shown (end_of s l)) /\ F = collects e /\
    (~ needed f e /\ f' = f \/
     needed f e /\ on e (shown s) /\ forall j, gathered f j \/ collects e j = true -> collects f' j = true).

Lemma normalise : forall f l a F z r1, beside f l -> pstep (end_of s l, target f) a F (z, r1) -> alive (z, r1) ->
  exists f', ready f' l a z /\ target f' = r1 /\ next_edge f f' l F r1 /\
    (forall j, collects f j = true -> collects f' j = true) /\
    (forall j, gathered f j -> gathered f' j) /\ (forall i, has F i -> gath f' i).
Proof.
  intros f l a F z r1 [Hf [Hp [Ha [Hi Hal]]]] [Hd [e [He1 [He2 [He3 ->]]]]] Hal1; simpl in *. subst r1.
  destruct (needed_dec f e) as [He | He].
  - destruct (shortcut f e l Hf He Hp Ha He3) as [Hs [Hw [f' [Hf' [Ef Hm]]]]].
    exists f'. split; [| split; [exact Ef | split; [| split; [| split]]]].
    + split; [exact Hf' | split; [exact Hp | split; [exact Ha | split; [eapply inner_nonempty; eauto |]]]].
      rewrite Ef. split; [exact Hw | split; [exact Hd | exact Hal1]].
    + exists e. repeat (split; [assumption || reflexivity |]). right; auto.
    + intros j Hj; apply Hm; left; now left.
    + intros j Hj; left; apply Hm; now left.
    + intros [j |] Hj; simpl in *; auto. left; apply Hm; now right.
  - assert (Et : target e = target f).
    { destruct (same_astate (target e) (target f)) as [E | E]; auto. destruct He; split; auto. }
    assert (Hg : forall j, collects e j = true -> gathered f j).
    { intros j Hj. destruct (gathered_dec f j) as [H | H]; auto. destruct He; split; auto. right; exists j; auto. }
    destruct (inner_all (target f) l Hi) as [Hne Hw]; [exists e; auto |].
    exists f. split; [| split; [now symmetry | split; [| split; [| split]]]]; auto.
    + split; [exact Hf | split; [exact Hp | split; [exact Ha | split; [exact Hne | split; [exact Hw |]]]]].
      split; [exact Hd | now rewrite <- Et].
    + exists e. repeat (split; [assumption || reflexivity |]). left; auto.
    + intros [j |] Hj; simpl in *; auto.
Qed.

(** The path goes on beside the set. *)
Definition longer (l : list (transition * state)) (a : option transition) (z : state) : list (transition * state) :=
  match a with Some t => l ++ [(t, z)] | None => l end.

Lemma ready_beside : forall f l a z, ready f l a z -> (forall t, a = Some t -> ~ T t) ->
  beside f (longer l a z) /\ end_of s (longer l a z) = z.
Proof.
  intros f l a z [Hf [Hp [Ha [Hne [Hw [Hd Hal]]]]]] Hout. destruct a as [t |]; simpl in *.
  - rewrite end_app; simpl. split; [| reflexivity].
    assert (Ha' : avoids T (l ++ [(t, z)])).
    { apply Forall_app; split; [exact Ha | constructor; [exact (Hout t eq_refl) | constructor]]. }
    assert (Hi : inner (target f) (l ++ [(t, z)])).
    { apply inner_snoc; [now apply all_inner | now apply (all_on_end _ l s Hw)]. }
    split; [exact Hf | split; [apply path_app; simpl; auto | split; [exact Ha' | split; [exact Hi |]]]].
    now rewrite end_app.
  - destruct Hd as [_ ->]. split; [| reflexivity].
    split; [exact Hf | split; [exact Hp | split; [exact Ha | split; [now apply all_inner | exact Hal]]]].
Qed.

(** At the node where a step begins that waits. *)
Lemma ready_alive : forall f l a z, ready f l a z -> beside f l.
Proof.
  intros f l a z [Hf [Hp [Ha [Hne [Hw [Hd Hal]]]]]].
  split; [exact Hf | split; [exact Hp | split; [exact Ha | split; [now apply all_inner |]]]].
  destruct (all_on_end _ l s Hw Hne) as [w [H1 [H2 H3]]].
  apply alive_back with a (collects w) (z, target f); auto. split; [exact Hd | exists w; auto].
Qed.

(** *** To the mark *)

Lemma to_the_mark : forall i d e f l, beside f l -> dist i (end_of s l, target f) e -> length l + e <= d ->
  (goes_on i d -> False) -> ((exists f' l', beside f' l' /\ gath f' i /\ 2 <= d) -> False) -> False.
Proof.
  intros i d; induction e as [e IH] using lt_wf_ind. intros f l Hb Hdist Hle Hno Hnot.
  assert (Hne := inner_nonempty _ _ (proj1 (proj2 (proj2 (proj2 Hb))))).
  assert (Hlen : 1 <= length l) by (destruct l; [now destruct Hne | simpl; lia]).
  inversion Hdist as [? a F [z r1] _ Hs Hal1 Hi | ? a F [z r1] e' _ Hs Hal1 He']; subst;
    destruct (normalise f l a F z r1 Hb Hs Hal1) as [f' [Hready [Ef [_ [_ [_ Hg]]]]]].
  - apply Hnot. exists f', l. split; [eapply ready_alive; eauto | split; [now apply Hg | lia]].
  - subst r1. destruct a as [t |].
    + destruct (T_dec t) as [Ht | Ht].
      * apply (member_first f' l t z i d Hready Ht); [right; exists e'; split; [exact He' | lia] | exact Hno].
      * destruct (ready_beside f' l (Some t) z Hready) as [Hb' E]; [intros u Eu; injection Eu as <-; exact Ht |].
        apply (IH e' ltac:(lia) f' _ Hb'); auto; [now rewrite E |].
        simpl. rewrite app_length; simpl; lia.
    + destruct (ready_beside f' l None z Hready) as [Hb' E]; [discriminate |].
      apply (IH e' ltac:(lia) f' _ Hb'); auto; [now rewrite E | simpl; lia].
Qed.

(** *** Where nothing is gained any more *)

Section Stuck.

Variables (i : option mark) (d : nat).
Hypothesis stuck : ~ goes_on i d.

(** The mark is gathered already: by the first edge, or it will be by the next one, which is no further away. *)
Definition ripe (f : edge) : Prop := gath f i /\ (has (collects f) i \/ 2 <= d).

(** The mark in mind is gathered already, and the target waits where the node is. *)
Definition settled (f : edge) (l : list (transition * state)) : Prop :=
  beside f l /\ ripe f /\ waits (target f) (shown s).

(** Every live step goes on beside the set. *)
Lemma goes_beside : forall f l a F z r1, beside f l -> ripe f ->
  pstep (end_of s l, target f) a F (z, r1) -> alive (z, r1) ->
  exists f', settled f' (longer l a z) /\ end_of s (longer l a z) = z /\ target f' = r1 /\
    next_edge f f' l F r1 /\ (forall t, a = Some t -> ~ T t) /\
    (forall j, collects f j = true -> collects f' j = true) /\ (forall k, has F k -> gath f' k).
Proof.
  intros f l a F z r1 Hb Hg Hs Hal1.
  destruct (normalise f l a F z r1 Hb Hs Hal1) as [f' [Hready [Ef [Hnext [Hc [Hgg Hm]]]]]].
  assert (Hg' : ripe f').
  { destruct Hg as [H1 H2]. unfold ripe. destruct i as [j |]; simpl in *; [| auto].
    split; [auto |]. destruct H2; auto. }
  assert (Hout : forall t, a = Some t -> ~ T t).
  { intros t -> Ht. apply (member_first f' l t z i d Hready Ht); [left; exact Hg' | exact stuck]. }
  destruct (ready_beside f' l a z Hready Hout) as [Hb' E].
  exists f'. split; [split; [exact Hb' | split; [exact Hg' | eapply ready_waits; eauto]] |].
  repeat (split; [assumption |]). exact Hm.
Qed.

(** From one to another. *)
Inductive follows : edge * list (transition * state) -> edge * list (transition * state) -> Prop :=
| follows_here : forall c, follows c c
| follows_on : forall f l a F z r1 f' c, settled f l -> pstep (end_of s l, target f) a F (z, r1) -> alive (z, r1) ->
    settled f' (longer l a z) -> target f' = r1 -> end_of s (longer l a z) = z -> next_edge f f' l F r1 ->
    (forall j, collects f j = true -> collects f' j = true) ->
    follows (f', longer l a z) c -> follows (f, l) c.

Lemma follows_trans : forall a b c, follows a b -> follows b c -> follows a c.
Proof. induction 1; intros Hc; auto. eapply follows_on; eauto. Qed.

Lemma follows_settled : forall a b, follows a b -> settled (fst a) (snd a) -> settled (fst b) (snd b).
Proof. induction 1; auto. Qed.

Lemma follows_collects : forall a b, follows a b -> forall j, collects (fst a) j = true -> collects (fst b) j = true.
Proof. induction 1; simpl in *; auto. Qed.

Lemma next_rank : forall f f' l F r1, next_edge f f' l F r1 -> target f' = r1 -> rank (target f') <= rank (target f).
Proof.
  intros f f' l F r1 [e [H1 [H2 _]]] <-. rewrite <- H2, <- H1. apply rank_falls.
Qed.

Lemma follows_rank : forall a b, follows a b -> rank (target (fst b)) <= rank (target (fst a)).
Proof.
  induction 1 as [c | f l a F z r1 f' c _ _ _ _ Ef _ Hn _ _ IH]; simpl in *; auto.
  assert (H := next_rank _ _ _ _ _ Hn Ef). lia.
Qed.

(** What is left to be gained: marks, and components of the automaton. *)
Definition missing (f : edge) : nat := length (filter (fun j => negb (collects f j)) mark_list).

Lemma fewer : forall f f' l, (forall j, collects f j = true -> collects f' j = true) ->
  length (filter (fun j => negb (collects f' j)) l) <= length (filter (fun j => negb (collects f j)) l) /\
  (length (filter (fun j => negb (collects f' j)) l) = length (filter (fun j => negb (collects f j)) l) ->
   forall j, In j l -> collects f' j = true -> collects f j = true).
Proof.
  intros f f' l Hm; induction l as [| j l [IH1 IH2]]; [split; [simpl; lia | intros _ j []] |].
  simpl. destruct (collects f j) eqn:E.
  - rewrite (Hm j E). simpl. split; [exact IH1 |]. intros He k [<- | Hk] Hc; auto.
  - simpl. destruct (collects f' j) eqn:E'; simpl.
    + split; [lia |]. intros He. lia.
    + split; [lia |]. intros He k [<- | Hk] Hc; [congruence | apply IH2; auto].
Qed.

Definition gain (f : edge) : nat := missing f + rank (target f).

Definition stable (c : edge * list (transition * state)) : Prop :=
  forall c', follows c c' -> gain (fst c') = gain (fst c).

Lemma follows_gain : forall a b, follows a b -> gain (fst b) <= gain (fst a).
Proof.
  intros a b H. assert (Hr := follows_rank _ _ H).
  destruct (fewer (fst a) (fst b) mark_list (follows_collects _ _ H)) as [Hm _]. unfold gain, missing. lia.
Qed.

Lemma stable_keeps : forall c c', stable c -> follows c c' ->
  (forall j, collects (fst c') j = true -> collects (fst c) j = true) /\
  rank (target (fst c')) = rank (target (fst c)) /\ stable c'.
Proof.
  intros c c' Hst Hc. assert (Hg := Hst c' Hc). assert (Hr := follows_rank _ _ Hc).
  destruct (fewer (fst c) (fst c') mark_list (follows_collects _ _ Hc)) as [H1 H2].
  unfold gain, missing in Hg. split; [| split; [lia |]].
  - intros j Hj. apply H2; auto. lia.
  - intros c2 H. rewrite (Hst c2), (Hst c'); auto. eapply follows_trans; eauto.
Qed.

Lemma some_are_stable : forall c, ((exists c', follows c c' /\ stable c') -> False) -> False.
Proof.
  intros c. remember (gain (fst c)) as n eqn:Hn. revert c Hn.
  induction n as [n IH] using lt_wf_ind. intros c -> Hno.
  apply (either (exists c', follows c c' /\ gain (fst c') < gain (fst c))). intros [[c' [Hc Hlt]] | Hall].
  - apply (IH _ Hlt c' eq_refl). intros [c2 [H1 H2]]. apply Hno. exists c2; split; auto.
    eapply follows_trans; eauto.
  - apply Hno. exists c; split; [constructor |]. intros c' Hc.
    assert (Hle := follows_gain _ _ Hc). destruct (Nat.eq_dec (gain (fst c')) (gain (fst c))); auto.
    destruct Hall. exists c'; split; auto. lia.
Qed.

(** Any mark is gathered some time. *)
Lemma gathers : forall j e n, dist (Some j) n e -> forall f l, settled f l -> n = (end_of s l, target f) ->
  exists c, follows (f, l) c /\ gathered (fst c) j.
Proof.
  intros j e n H; induction H as [n a F n1 _ Hs Hal Hi | n a F n1 e _ Hs Hal _ IH]; intros f l Hset ->;
    destruct n1 as [z r1];
    destruct (goes_beside f l a F z r1 (proj1 Hset) (proj1 (proj2 Hset)) Hs Hal)
      as [f' [Hset' [E [Ef [Hn [_ [Hc Hm]]]]]]].
  - exists (f', longer l a z). split; [eapply follows_on; eauto; constructor | exact (Hm (Some j) Hi)].
  - destruct (IH f' (longer l a z) Hset') as [c [Hc1 Hc2]]; [now rewrite E, Ef |].
    exists c; split; auto. eapply follows_on; eauto.
Qed.

(** In the end, all marks are gathered, for good. *)
Lemma all_are_gathered : forall c, settled (fst c) (snd c) -> stable c ->
  ((exists c', follows c c' /\ forall c2, follows c' c2 -> forall j, gathered (fst c2) j) -> False) -> False.
Proof.
  intros c Hset Hst Hno.
  assert (Hdist : forall c1 j, settled (fst c1) (snd c1) -> exists c2, follows c1 c2 /\ gathered (fst c2) j).
  { intros [f l] j H; simpl in H. assert (Hb := proj1 H).
    destruct (live_is_accepting _ _ _ _ _ _ _ _ (proj2 (proj2 (proj2 (proj2 Hb)))) (Some j)) as [e He].
    exact (gathers j e _ He f l H eq_refl). }
  apply (either (exists c1, follows c c1 /\ forall c2, follows c1 c2 -> fst c2 = fst c1)).
  intros [[c1 [H1 Hfree]] | Hall].
  - (* No event any more. *)
    apply Hno. exists c1; split; auto. intros c2 H2 j.
    destruct (Hdist c1 j (follows_settled _ _ H1 Hset)) as [c3 [H3 Hg]].
    rewrite (Hfree c2 H2), <- (Hfree c3 H3). exact Hg.
  - (* Always another event: it has all marks that were gathered. *)
    assert (Hev : forall c1, follows c c1 -> forall j, gathered (fst c1) j -> collects (fst c) j = true).
    { intros c1 H1 j Hj. destruct (collects (fst c) j) eqn:Ec; auto. exfalso. apply Hall.
      exists c1; split; auto. intros c2 H2.
      assert (Hgen : forall a b, follows a b -> follows c a -> fst a = fst c1 -> fst b = fst c1).
      { induction 1 as [a | f l a F z r1 f' b Hs0 Hp0 Hal0 Hs1 Ef E Hn Hcol _ IH]; intros Hca Ea; auto.
        simpl in Ea. assert (Hone : follows (f, l) (f', longer l a z)) by (eapply follows_on; eauto; constructor).
        assert (Hcf := follows_trans _ _ _ Hca Hone). apply IH; [exact Hcf |]. simpl.
        destruct Hn as [e [_ [_ [_ [_ [[_ ->] | [_ [_ Hcc]]]]]]]]; [exact Ea | exfalso].
        destruct (stable_keeps c _ Hst Hcf) as [Hk _]. simpl in Hk.
        rewrite (Hk j) in Ec; [discriminate |]. apply Hcc. left. now rewrite Ea. }
      now apply (Hgen c1 c2). }
    apply Hno. exists c; split; [constructor |]. intros c2 H2 j.
    destruct (Hdist c j Hset) as [c3 [H3 Hg]]. left.
    apply (follows_collects _ _ H2). exact (Hev c3 H3 j Hg).
Qed.

(** *** The key *)

Lemma nothing_hits : forall l2 f l x fs p t F n1, settled f l -> end_of s l = x -> path x l2 ->
  reads (target f) x l2 fs p -> alive (end_of x l2, p) ->
  T t -> step t (end_of x l2) (fst n1) -> moves p (shown (end_of x l2)) F (snd n1) -> alive n1 -> False.
Proof.
  induction l2 as [| [u x1] l2 IH]; intros f l x fs p t F n1 Hset Ex Hp Hrd Hal Ht Hs Hm Hal1; inversion Hrd; subst.
  - simpl in *. destruct n1 as [z r1].
    destruct (goes_beside f l (Some t) F z r1 (proj1 Hset) (proj1 (proj2 Hset))) as [f' [_ [_ [_ [_ [Hout _]]]]]]; auto.
    + split; [exact Hs | exact Hm].
    + exact (Hout t eq_refl Ht).
  - destruct Hp as [Hu Hp]. simpl in Hal, Hs, Hm.
    assert (Hal' : alive (x1, r)) by (eapply alive_along; eauto).
    destruct (goes_beside f l (Some u) F0 x1 r (proj1 Hset) (proj1 (proj2 Hset))) as [f' [Hset' [E [Ef _]]]]; auto.
    + split; [exact Hu |]. assumption.
    + rewrite <- Ef in *. eapply (IH f' (longer l (Some u) x1) x1); eauto.
Qed.

Lemma the_key_goes_on : forall c, settled (fst c) (snd c) -> stable c ->
  (forall c2, follows c c2 -> forall j, gathered (fst c2) j) -> False.
Proof.
  intros [f l] Hset Hst Hall; simpl in Hset.
  assert (Hwants : forall c2, follows (f, l) c2 -> wants_key (fst c2)).
  { intros c2 H2. assert (Hs2 := follows_settled _ _ H2 Hset).
    split; [apply Hs2 | split; [exact (Hall c2 H2) | apply Hs2]]. }
  destruct (key (ex_intro _ f (Hwants (f, l) (follows_here _)))) as [k [Hkey Hk]].
  assert (Hkey' := Hkey). destruct Hkey' as [HTk [Hke Hrow]].
  assert (Hset' := Hset). destruct Hset' as [Hb [Hg Hws]].
  assert (Hb' := Hb). destruct Hb' as [Hf [Hp [Ha [Hi Hal]]]].
  assert (Hrl : reachable (end_of s l)) by (apply reachable_path; auto).
  (* The key changes nothing that the automaton does. *)
  set (spared := fun n : node => exists c2, follows (f, l) c2 /\ n = (end_of s (snd c2), target (fst c2))).
  assert (Hspared_on : forall n a F n1, spared n -> pstep n a F n1 -> alive n1 ->
    (forall t, a = Some t -> ~ T t) -> spared n1).
  { intros n a F [z r1] [[f2 l2] [H2 ->]] Hs Hal1 _; simpl in *.
    assert (Hs2 := follows_settled _ _ H2 Hset). simpl in Hs2.
    destruct (goes_beside f2 l2 a F z r1 (proj1 Hs2) (proj1 (proj2 Hs2)) Hs Hal1)
      as [f3 [Hs3 [E [Ef [Hn [_ [Hc _]]]]]]].
    exists (f3, longer l2 a z). split; [| simpl; now rewrite E, Ef].
    eapply follows_trans; [exact H2 |]. eapply follows_on; eauto. constructor. }
  assert (Hspared_reads : forall x p t F n1 y, reachable x -> spared (x, p) -> pstep (x, p) (Some t) F n1 ->
    alive n1 -> step k x y -> exists G, moves p (shown y) G (snd n1) /\ forall i, has F i -> has G i).
  { intros x p t F [z r1] y Hrx [[f2 l2] [H2 En]] Hs Hal1 Hy; simpl in *. injection En as -> ->.
    assert (Hs2 := follows_settled _ _ H2 Hset). simpl in Hs2.
    destruct (goes_beside f2 l2 (Some t) F z r1 (proj1 Hs2) (proj1 (proj2 Hs2)) Hs Hal1)
      as [f3 [Hs3 [E [Ef [Hn [_ [Hc _]]]]]]].
    destruct (Hk f2 (Hwants _ H2)) as [Hwait [Hloops Hevents]].
    assert (H3 : follows (f, l) (f3, longer l2 (Some t) z)).
    { eapply follows_trans; [exact H2 |]. eapply follows_on; eauto. constructor. }
    destruct Hn as [e [He1 [He2 [He3 [-> He4]]]]].
    assert (Hsame : on e (shown y) -> exists G, moves (target f2) (shown y) G r1 /\
      forall i0, has (collects e) i0 -> has G i0).
    { intros H. exists (collects e); split; auto. exists e; auto. }
    destruct (on_dec e (shown y)) as [H | H]; [now apply Hsame |].
    assert (Hfal : falsifies k (on e)) by (exists (end_of s l2), y; auto).
    destruct He4 as [[Hno ->] | [Hne [Hons _]]].
    - assert (Et : target e = target f2) by congruence.
      destruct (common_dec e) as [Hcom | Hcom]; [| destruct (Hloops e He1 Et Hno Hcom Hfal)].
      (* Another loop, with the marks of all loops. *)
      destruct (waits_dec (target f2) (shown y)) as [Hw | Hw].
      + destruct Hw as [w [Hw1 [Hw2 Hw3]]]. exists (collects w); split.
        * exists w. repeat split; auto. congruence.
        * intros [j |] Hj; simpl in *; auto. specialize (Hcom j Hj). rewrite He1 in Hcom. now apply Hcom.
      + destruct Hwait. exists (end_of s l2), y. repeat split; auto. exists e; auto.
    - exfalso. destruct (returns e) eqn:Er; [exact (Hevents e Hne Hons Er Hfal) |].
      destruct (stable_keeps _ _ Hst H3) as [_ [Hrank _]]. destruct (stable_keeps _ _ Hst H2) as [_ [Hrank2 _]].
      simpl in *. destruct (rank_falls e) as [_ Hlt]. specialize (Hlt Er). rewrite He1, He2, <- Ef in Hlt. lia. }
  assert (Hq : quiet M letter astate mark shown moves T k spared (end_of s l, target f)).
  { split; [exact Hrl | split; [| split; [| split; [exact Hal |]]]]; simpl.
    - apply (stays_enabled M R k l s); auto. apply (avoids_row M T _ l); auto.
    - exists (f, l); split; [constructor | reflexivity].
    - intros [l2 [fs [p [t [F [n1 [H1 [H2 [H3 [H4 [H5 [H6 H7]]]]]]]]]]]]; simpl in *.
      assert (Hal2 : alive (end_of (end_of s l) l2, p)).
      { eapply alive_back; [| exact H7]. split; [exact (H5 : does (Some t) _ _) | exact H6]. }
      exact (nothing_hits l2 f l _ fs p t F n1 Hset eq_refl H1 H2 Hal2 H4 H5 H6 H7). }
  destruct (a_key_keeps_a_live_node M R letter astate mark shown moves node_list finitely_many_nodes mark_list
    finitely_many_marks same_state same_node T k Hrow spared Hspared_on Hspared_reads _ _ Hq) as [y [Hy Hyal]].
  destruct (accords_to_front M R k l s y reachable_s Hp Hke (avoids_row M T _ l Hrow Ha) Hy) as [x [m [Hx [Hl E]]]].
  destruct (ladder_path M _ _ _ _ Hl) as [Hpm Em].
  (* The target of [f] waits beside as it waited. *)
  assert (Hkeep : forall a b, reachable a -> step k a b -> waits (target f) (shown a) -> waits (target f) (shown b)).
  { intros a b Hr Hab Hwa. destruct (waits_dec (target f) (shown b)) as [H | H]; auto.
    destruct (proj1 (Hk f (Hwants _ (follows_here _)))). exists a, b; auto. }
  assert (Hon : waits_on (target f) x m).
  { assert (Hlad : forall l s0 x0 m, reachable s0 -> path s0 l -> waits_on (target f) s0 l -> step k s0 x0 ->
      ladder M k x0 l m -> waits_on (target f) x0 m).
    { clear - Hkeep. induction l as [| [u s1] l IH]; intros s0 x0 [| [v x1] m] Hr Hp Hw Hx Hl; simpl in Hl;
        try tauto; simpl; auto. destruct Hp as [Hs Hp]. destruct Hw as [Hw1 Hw2].
      destruct Hl as [_ [_ [Hx1 Hl]]]. split; [eauto | apply (IH s1); eauto using reachable_step]. }
    apply (Hlad l s x m); auto. destruct l as [| [t1 s1] l]; [destruct Hi |]. split; auto. }
  assert (Hend : alive (end_of x m, target f)) by now rewrite E.
  destruct (waiting_way (target f) m x i 0 Hpm Hon Hend) as [Hxal [_ Hbase]].
  apply stuck. exists (Some k), (collects f), (x, target f).
  split; [exact HTk | split; [split; [exact Hx | now apply first_moves] | split; [exact Hxal |]]].
  destruct Hg as [Hg [Hc | Hfar]]; [now left |].
  destruct i as [j |]; [| now left]. destruct Hg as [Hc | Hbj]; [now left | right].
  exists 1; split; [lia |]. apply Hbase; auto.
  intros ->. destruct l; [destruct Hi | discriminate].
Qed.

Theorem never_stuck : forall f l, settled f l -> False.
Proof.
  intros f l Hset. apply (some_are_stable (f, l)). intros [c [Hc Hst]].
  assert (Hs := follows_settled _ _ Hc Hset).
  apply (all_are_gathered c Hs Hst). intros [c' [Hc' Hall]].
  destruct (stable_keeps c c' Hst Hc') as [_ [_ Hst']].
  exact (the_key_goes_on c' (follows_settled _ _ Hc' Hs) Hst' Hall).
Qed.

End Stuck.

(** Lemma D's premise with "smaller", of a node with a set for the automaton's state. *)
Theorem steered_node_goes_on : forall i d, alive (s, q) -> dist i (s, q) d -> ~ ~ goes_on i d.
Proof.
  intros i d Hal Hdist Hno.
  assert (Hripe : forall f l, beside f l -> ripe i d f -> False).
  { intros f l Hb Hg. destruct (alive_step _ _ _ _ _ _ _ (proj2 (proj2 (proj2 (proj2 Hb)))))
      as [a [F [[z r1] [H1 H2]]]].
    destruct (goes_beside i d Hno f l a F z r1 Hb Hg H1 H2) as [f' [Hset _]].
    exact (never_stuck i d Hno _ _ Hset). }
  inversion Hdist as [? a F [s1 r1] _ Hs Hal1 Hi | ? a F [s1 r1] e _ Hs Hal1 He]; subst;
    assert (Hs' := Hs); destruct Hs' as [Hd [f [H1 [H2 [H3 ->]]]]]; simpl in *;
    (assert (Hkept : kept a -> False);
      [ intros Hk; apply Hno; exists a, (collects f), (s1, r1); split; [exact Hk | split; [exact Hs | split; [exact Hal1 |]]];
        try (now left); right; exists e; auto |]);
    (destruct a as [t |]; [| now apply Hkept]);
    (destruct (T_dec t) as [Ht | Ht]; [now apply Hkept |]);
    (assert (Hb : beside f [(t, s1)]) by
      (split; [split; auto | split; [simpl; auto | split; [constructor; [exact Ht | constructor] |
        split; [exact I | simpl; now rewrite H2]]]])).
  - apply (Hripe f _ Hb). split; [destruct i as [j |]; [left; exact Hi | exact I] | now left].
  - apply (to_the_mark i (S e) e f _ Hb); auto; [simpl; now rewrite H2 |].
    intros [f' [l' [Hb' [Hg Hfar]]]]. apply (Hripe f' l' Hb'). split; auto.
Qed.

End Steering.

(** ** Products all of whose nodes have such sets *)

Section Products.

Variables (M : system) (R : relations M) (letter astate mark edge : Type).
Variable shown : state M -> letter.
Variables (source target : edge -> astate) (guard : edge -> letter -> bool) (collects : edge -> marks mark).
Variables (returns : edge -> bool) (rank : astate -> nat).
Hypothesis rank_falls : forall e, rank (target e) <= rank (source e) /\
  (returns e = false -> rank (target e) < rank (source e)).
Hypothesis same_astate : forall a b : astate, {a = b} + {a <> b}.
Hypothesis same_state : forall a b : state M, {a = b} + {a <> b}.
Hypothesis same_node : forall a b : node M astate, {a = b} + {a <> b}.
Variable node_list : list (node M astate).
Hypothesis finitely_many_nodes : forall n, In n node_list.
Variable mark_list : list mark.
Hypothesis finitely_many_marks : forall i, In i mark_list.

Local Notation moves := (moves letter astate mark edge source target guard collects).
Local Notation first := (first M letter astate edge shown source guard).
Local Notation waits := (waits letter astate edge source target guard).
Local Notation base := (base astate mark edge source target collects).
Local Notation needed := (needed astate mark edge source target collects).
Local Notation on := (on letter edge guard).
Local Notation gathered := (gathered astate mark edge source target collects).
Local Notation common := (common astate mark edge source target collects).
Local Notation falsifies := (falsifies M letter shown).
Local Notation establishes := (establishes M letter shown).

Hypothesis waits_dec : forall r v, {waits r v} + {~ waits r v}.
Hypothesis common_dec : forall e, {common e} + {~ common e}.
Hypothesis gathered_dec : forall f j, {gathered f j} + {~ gathered f j}.
Hypothesis needed_dec : forall f e, {needed f e} + {~ needed f e}.

(** Conditions 1 to 4 of `SteeringTables::demand`. *)
Record steers (s : state M) (q : astate) (T : transition M -> Prop) : Prop := {
  set_is_closed : closed M R T s;
  events : forall f e, first s q f -> needed f e -> ~ on e (shown s) -> never_true M letter shown s T (on e);
  short_events : forall f e, first s q f -> needed f e -> on e (shown s) ->
    short M letter astate mark edge shown source target guard collects s q f e /\
    never_false M letter shown s T (on e);
  waiting : forall f, first s q f -> ~ waits (target f) (shown s) -> never_true M letter shown s T (waits (target f));
  ending : forall f t, first s q f -> waits (target f) (shown s) -> T t -> enabled M t s ->
    falsifies t (waits (target f)) -> forall u, establishes u (waits (target f)) -> T u;
  bringing : forall f e t, first s q f -> waits (target f) (shown s) -> needed f e -> ~ on e (shown s) -> T t ->
    enabled M t s -> falsifies t (waits (target f)) -> establishes t (on e) ->
    (forall u, establishes u (on e) -> T u) /\ (forall v, on e v -> waits (target e) v) /\
    forall j, base (target f) j -> collects f j = true \/ collects e j = true;
  a_key : (exists f, wants_key M letter astate mark edge shown source target guard collects s q f) ->
    exists k, is_key M R T s k /\
    forall f, wants_key M letter astate mark edge shown source target guard collects s q f ->
    ~ falsifies k (waits (target f)) /\
    (forall e, source e = target f -> target e = target f -> ~ needed f e -> ~ common e -> ~ falsifies k (on e)) /\
    (forall e, needed f e -> on e (shown s) -> returns e = true -> ~ falsifies k (on e))
}.

Variable chosen : node M astate -> transition M -> Prop.
Hypothesis chosen_dec : forall n t, {chosen n t} + {~ chosen n t}.

(** As [Temporal.accepted_runs_are_kept] asks of nodes that are not plain. *)
Theorem steered_sets_go_on : forall i s q d, steers s q (chosen (s, q)) -> reachable s ->
  live M letter astate mark shown moves (any M astate) (s, q) ->
  finds M letter astate mark shown moves (any M astate) (live M letter astate mark shown moves (any M astate)) i (s, q) d ->
  ~ ~ exists a F n1, Temporal.kept M astate chosen (s, q) a /\ pstep M letter astate mark shown moves (s, q) a F n1 /\
    live M letter astate mark shown moves (any M astate) n1 /\
    (has mark F i \/ exists d1, d1 < d /\
      finds M letter astate mark shown moves (any M astate) (live M letter astate mark shown moves (any M astate)) i n1 d1).
Proof.
  intros i s q d [H1 H2 H3 H4 H5 H6 H7] Hr Hal Hd.
  exact (steered_node_goes_on M R letter astate mark edge shown source target guard collects same_astate same_state
    same_node node_list finitely_many_nodes mark_list finitely_many_marks waits_dec common_dec gathered_dec needed_dec
    returns rank rank_falls s q Hr (chosen (s, q)) (chosen_dec (s, q)) H1 H2 H3 H4 H5 H6 H7 i d Hal Hd).
Qed.

(** `--steering only`: no normal form, no visibility, no stutter-invariance, no proviso. Where no such set is known,
    everything is taken. *)
Theorem steered_products_keep_accepted_runs :
  (forall s q, reachable s -> steers s q (chosen (s, q)) \/ forall t, enabled M t s -> chosen (s, q) t) ->
  forall n, reachable (fst n) -> live M letter astate mark shown moves (any M astate) n ->
  ~ ~ live M letter astate mark shown moves (Temporal.kept M astate chosen) n.
Proof.
  intros Hall. apply (lemma_D M letter astate mark shown moves node_list finitely_many_nodes mark_list
    finitely_many_marks chosen (fun _ => False)).
  - intros i s q d t1 Hr Hal Hby Hno. destruct (Hall s q Hr) as [Hset | Hfull].
    2: { destruct Hby as [F [n1 [Hs [Hal1 Hd]]]]. apply Hno. exists (Some t1), F, n1.
         split; [apply Hfull; exists (fst n1); exact (proj1 Hs) | split; [exact Hs | split; [exact Hal1 |]]].
         destruct Hd as [[-> Hi] | [e [-> He]]]; [now left | right; left; exists e; auto]. }
    assert (Hd : finds M letter astate mark shown moves (any M astate)
      (live M letter astate mark shown moves (any M astate)) i (s, q) d).
    { destruct Hby as [F [n1 [Hs [Hal1 [[-> Hi] | [e [-> He]]]]]]].
      - eapply at_once; eauto. exact I.
      - eapply later; eauto. exact I. }
    apply (steered_sets_go_on i s q d Hset Hr Hal Hd). intros [a [F [n1 [Hk [Hs [Hal1 Hm]]]]]].
    apply Hno. exists a, F, n1. repeat (split; [assumption |]). destruct Hm as [Hi | [d1 [Hlt Hd1]]]; [now left |].
    right; left; exists d1; auto.
  - intros t n. constructor. intros n1 [[] _].
Qed.

(** *** Both kinds of nodes: `Soundness::Mixed`, the default *)

Section Mixed.

(** The automaton is in stutter normal form. *)
Hypothesis N1 : forall q v F r, moves q v F r -> (exists G, moves q v G q) \/ exists G, moves r v G r.
Hypothesis N2 : forall q v F r G p, moves q v F r -> moves r v G p ->
  exists H, moves q v H p /\ forall i, has mark F i \/ has mark G i -> has mark H i.

(** Whether a transition may change what can be looked at from a state of the automaton on. *)
Variable alike : astate -> letter -> letter -> Prop.
Hypothesis alike_refl : forall q v, alike q v v.
Hypothesis alike_sym : forall q v w, alike q v w -> alike q w v.
Hypothesis alike_trans : forall q u v w, alike q u v -> alike q v w -> alike q u w.
Hypothesis alike_moves : forall q v w F r, alike q v w -> moves q v F r -> moves q w F r.
Hypothesis alike_ahead : forall q u F r v w, moves q u F r -> alike q v w -> alike r v w.
Variable visible : astate -> transition M -> Prop.
Hypothesis visible_dec : forall q t, {visible q t} + {~ visible q t}.
Hypothesis invisible_law : forall q t s s1, reachable s -> ~ visible q t -> step t s s1 -> alike q (shown s) (shown s1).
Hypothesis visible_ahead : forall q v F r t, moves q v F r -> visible r t -> visible q t.

(** Classic nodes have sets with D1, D2, V and I; all others satisfy conditions 1 to 4. *)
Variable plain : node M astate -> Prop.
Hypothesis plain_dec : forall n, {plain n} + {~ plain n}.
Hypothesis classic_closed : forall s q, plain (s, q) -> reachable s -> closed M R (chosen (s, q)) s.
Hypothesis classic_V : forall s q t, plain (s, q) -> reachable s -> chosen (s, q) t -> enabled M t s -> visible q t ->
  forall u, visible q u -> chosen (s, q) u.
Hypothesis classic_I : forall s q, plain (s, q) -> reachable s -> ~ deadlock M s ->
  exists k, is_key M R (chosen (s, q)) s k /\ ((exists u, enabled M u s /\ ~ visible q u) -> ~ visible q k).
Hypothesis others_are_steered : forall s q, ~ plain (s, q) -> reachable s -> steers s q (chosen (s, q)).

(** No cycle of classic nodes leaves something out in all of its nodes. *)
Hypothesis no_cycle_leaves_out : well_founded (fun n1 n => plain n /\ ~ expanded M astate chosen n /\
  exists a F, Temporal.kept M astate chosen n a /\ pstep M letter astate mark shown moves n a F n1).

Theorem mixed_products_keep_accepted_runs : forall n, reachable (fst n) ->
  live M letter astate mark shown moves (any M astate) n ->
  ~ ~ live M letter astate mark shown moves (Temporal.kept M astate chosen) n.
Proof.
  apply (accepted_runs_are_kept M R letter astate mark shown moves N1 N2 alike alike_refl alike_sym alike_trans
    alike_moves alike_ahead node_list finitely_many_nodes mark_list finitely_many_marks same_state same_node visible
    visible_dec invisible_law visible_ahead chosen chosen_dec plain plain_dec classic_closed classic_V classic_I).
  - intros i s q d Hp Hr Hal Hd. exact (steered_sets_go_on i s q d (others_are_steered s q Hp Hr) Hr Hal Hd).
  - apply cycle_provisos_ignore_nothing. exact no_cycle_leaves_out.
Qed.

End Mixed.

End Products.
