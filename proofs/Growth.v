(** Sets that grow: `closure`, `clostar`, `beam`, and the sets of `goal` all end complete, or give up.

    `Growth` of `stubborn-reduce/src/growth.rs`, step by step: enabled members bring a row, disabled ones an
    enabling set, unless they are covered or outranked by the key. What the policy prefers (scapegoats,
    costs, which of its rows an enabled member of a weak set brings) is arbitrary here; so is where
    `clostar` lets covered transitions join (`add_covered`), and which context of `beam` goes on when.

    Why it matters: with [Closed] and [Goals], a set of any of these algorithms may be used, whatever its
    heuristics do. *)

From Coq Require Import List Bool Arith Lia.
From Stubborn Require Import Deadlocks Closed Goals Tables.
Import ListNotations.

Section Growth.

Context {M : system} {R : relations M} (tb : tables R).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).
Local Notation enabling_set := (@enabling_set M).

(** One state, and what is enabled in it. *)
Variable s : state.
Variable now : transition -> bool.
Hypothesis now_tells : forall t, now t = true <-> enabled t s.

(** `Growth`: members that were worked off, and those that were not yet. *)
Record growth := {
  finished : list transition;
  enabled_todo : list transition;
  disabled_todo : list transition;
  (** They may use an enabling set that is whole. *)
  covered_already : list transition;
  key : option transition
}.

Definition members (g : growth) : list transition :=
  finished g ++ enabled_todo g ++ disabled_todo g.

(** `Policy`: all that is a matter of choice. *)
Record policy := {
  weak : bool;
  (** `keeps_key`: relies on the priority of the key. *)
  keeps_key : bool;
  (** A member of a weak set that is no key takes its do-not-left-accord row. *)
  prefers_left : growth -> transition -> bool;
  (** `choose_for`, among the enabling sets that may be used. *)
  choice : growth -> transition -> option enabling_set;
  choice_is_allowed : forall g t e, choice g t = Some e ->
    In e (options tb t) /\ usable s e = true
}.

Variable p : policy.

Definition add (g : growth) (t : transition) : growth :=
  if mem tb t (members g) then g else
  if now t then
    {| finished := finished g; enabled_todo := enabled_todo g ++ [t];
       disabled_todo := disabled_todo g; covered_already := covered_already g; key := key g |}
  else
    {| finished := finished g; enabled_todo := enabled_todo g;
       disabled_todo := disabled_todo g ++ [t]; covered_already := covered_already g; key := key g |}.

Definition add_row (g : growth) (row : list transition) : growth := fold_left add row g.

(** `start`: a key. *)
Definition start (k : transition) : growth :=
  add {| finished := []; enabled_todo := []; disabled_todo := []; covered_already := [];
         key := Some k |} k.

Definition is_key_of (g : growth) (t : transition) : bool :=
  match key g with Some k => if same tb k t then true else false | None => false end.

(** `conflicts`. *)
Definition conflicts (g : growth) (t : transition) : list transition :=
  if weak p && negb (is_key_of g t) && prefers_left p g t then left_row tb t else accord_row tb t.

(** `is_outranked`. *)
Definition is_outranked (g : growth) (t : transition) : bool :=
  keeps_key p && match key g with Some k => priority tb k <? priority tb t | None => false end.

Definition finish_enabled (g : growth) (t : transition) (rest : list transition) : growth :=
  {| finished := finished g ++ [t]; enabled_todo := rest; disabled_todo := disabled_todo g;
     covered_already := covered_already g; key := key g |}.

Definition finish_disabled (g : growth) (t : transition) (rest covered : list transition) : growth :=
  {| finished := finished g ++ [t]; enabled_todo := enabled_todo g; disabled_todo := rest;
     covered_already := covered; key := key g |}.

Inductive progress := more (g : growth) | done | give_up.

(** `step`. Which of those that may use a set are noted as covered is a matter of cost, so any list
    [noted] of them will do. *)
Variable noted : growth -> enabling_set -> list transition.
Hypothesis noted_may_use : forall g e t, In t (noted g e) -> In e (options tb t).

Definition step (g : growth) : progress :=
  match enabled_todo g with
  | t :: rest => more (add_row (finish_enabled g t rest) (conflicts g t))
  | [] =>
    match disabled_todo g with
    | [] => done
    | t :: rest =>
      if mem tb t (covered_already g) || is_outranked g t
      then more (finish_disabled g t rest (covered_already g))
      else match choice p g t with
        | Some e => more (add_row (finish_disabled g t rest (noted g e ++ covered_already g)) (row_of tb e))
        | None => give_up
        end
    end
  end.

(** `add_covered` of `clostar`: a disabled transition that may use an enabling set all of which is there
    joins, and needs nothing. *)
Definition whole (g : growth) (e : enabling_set) : bool :=
  forallb (fun u => mem tb u (members g)) (row_of tb e).

Definition add_covered (g : growth) (t : transition) : growth :=
  if negb (now t) && existsb (fun e => usable s e && whole g e) (options tb t)
  then {| finished := finished g ++ [t]; enabled_todo := enabled_todo g;
          disabled_todo := disabled_todo g; covered_already := covered_already g; key := key g |}
  else g.

(** ** What holds all along *)

Definition grown (g : growth) : transition -> Prop := of_list (members g).

(** [t] needs nothing more. *)
Definition settled (g : growth) (t : transition) : Prop :=
  (now t = true /\ (forall u, In u (accord_row tb t) -> grown g u)) \/
  (now t = true /\ weak p = true /\ is_key_of g t = false /\
    forall u, In u (left_row tb t) -> grown g u) \/
  (now t = false /\ exists e, In e (options tb t) /\ usable s e = true /\
    forall u, In u (row_of tb e) -> grown g u) \/
  (now t = false /\ is_outranked g t = true).

Record sound (g : growth) : Prop := {
  finished_are_settled : forall t, In t (finished g) -> settled g t;
  enabled_are : forall t, In t (enabled_todo g) -> now t = true;
  disabled_are : forall t, In t (disabled_todo g) -> now t = false;
  covered_are : forall t, In t (covered_already g) -> now t = false -> settled g t;
  key_is_there : forall k, key g = Some k -> grown g k
}.

(** More members, and the same key. *)
Definition extends (g h : growth) : Prop :=
  (forall u, grown g u -> grown h u) /\ key h = key g.

Lemma extends_trans : forall a b c, extends a b -> extends b c -> extends a c.
Proof. intros a b c [H1 H2] [H3 H4]; split; [auto | congruence]. Qed.

Lemma settled_extends : forall g h t, extends g h -> settled g t -> settled h t.
Proof.
  intros g h t [Hm Hk] [[H1 H2] | [[H1 [H2 [H3 H4]]] | [[H1 [e [H2 [H3 H4]]]] | [H1 H2]]]].
  - left; auto.
  - right; left; repeat split; auto. unfold is_key_of in *; now rewrite Hk.
  - right; right; left; split; [auto | exists e; auto].
  - right; right; right; split; auto. unfold is_outranked in *; now rewrite Hk.
Qed.

(** [add] keeps all of [sound] and adds its transition. *)
Lemma add_extends : forall g t, extends g (add g t) /\ grown (add g t) t.
Proof.
  intros g t; unfold add, extends, grown, of_list. destruct (mem tb t (members g)) eqn:E.
  - apply mem_spec in E; auto.
  - destruct (now t); unfold members; simpl; repeat split; intros;
      rewrite ?in_app_iff in *; simpl; tauto.
Qed.

Lemma add_sound : forall g t, sound g -> sound (add g t).
Proof.
  intros g t H. assert (He := add_extends g t). destruct He as [He _].
  assert (Hs : forall u, settled g u -> settled (add g t) u) by (intros; eapply settled_extends; eauto).
  assert (Hk : forall k, key (add g t) = Some k -> grown (add g t) k).
  { intros k Hk; destruct He as [He1 He2]; apply He1, (key_is_there g H); congruence. }
  destruct H as [H1 H2 H3 H4 H5]. unfold add in *. destruct (mem tb t (members g)); [split; auto |].
  destruct (now t) eqn:E; split; simpl in *; auto; intros u Hu; apply in_app_or in Hu;
    destruct Hu as [Hu | [<- | []]]; auto.
Qed.

Lemma add_row_extends : forall row g, extends g (add_row g row) /\
  forall u, In u row -> grown (add_row g row) u.
Proof.
  induction row as [| t row IH]; intros g; simpl; [split; [split; auto | intros u []] |].
  destruct (add_extends g t) as [He Ht]. destruct (IH (add g t)) as [Hr Hu].
  split; [eapply extends_trans; eauto |]. intros u [<- | H]; [now apply (proj1 Hr) | auto].
Qed.

Lemma add_row_sound : forall row g, sound g -> sound (add_row g row).
Proof. induction row as [| t row IH]; intros g H; simpl; auto using add_sound. Qed.

Lemma start_sound : forall k, sound (start k).
Proof.
  intros k; unfold start, add; simpl. destruct (now k) eqn:E; split; simpl; try tauto;
    try (intros t [<- | []]; auto); intros j Hj; injection Hj as <-; unfold grown, of_list; simpl; auto.
Qed.

(** To work off a member keeps the others settled: what [add_row] adds is new work. *)
Lemma finish_sound : forall g' g row t,
  (forall u, In u (finished g') -> u = t \/ In u (finished g)) ->
  (forall u, In u (enabled_todo g') -> In u (enabled_todo g)) ->
  (forall u, In u (disabled_todo g') -> In u (disabled_todo g)) ->
  (forall u, In u (covered_already g') -> In u (covered_already g) \/
    (now u = false -> settled (add_row g' row) u)) ->
  extends g g' -> sound g -> settled (add_row g' row) t -> sound (add_row g' row).
Proof.
  intros g' g row t Hf Hen Hdis Hcov He [H1 H2 H3 H4 H5] Ht.
  (* All of it but what is settled needs no row; that is added at the end. *)
  assert (Hgen : forall row g'', extends g g'' ->
    (forall u, In u (enabled_todo g'') -> now u = true) ->
    (forall u, In u (disabled_todo g'') -> now u = false) ->
    (forall u, In u (finished g'') -> In u (finished g')) ->
    (forall u, In u (covered_already g'') -> In u (covered_already g')) ->
    (forall u, In u (enabled_todo (add_row g'' row)) -> now u = true) /\
    (forall u, In u (disabled_todo (add_row g'' row)) -> now u = false) /\
    (forall u, In u (finished (add_row g'' row)) -> In u (finished g')) /\
    (forall u, In u (covered_already (add_row g'' row)) -> In u (covered_already g'))).
  { clear. induction row as [| x row IH]; intros g'' He Ha Hb Hc Hd; simpl; auto.
    apply IH; try (unfold add; destruct (mem tb x (members g'')); [now auto |];
      destruct (now x) eqn:E; simpl; auto; intros u Hu; apply in_app_or in Hu;
      destruct Hu as [Hu | [<- | []]]; now auto).
    eapply extends_trans; [exact He | apply add_extends]. }
  destruct (Hgen row g' He) as [Ga [Gb [Gc Gd]]]; auto.
  destruct (add_row_extends row g') as [Hr _]. assert (Hall := extends_trans _ _ _ He Hr).
  split; auto.
  - intros u Hu. destruct (Hf u (Gc u Hu)) as [-> | Hu']; [exact Ht |].
    eapply settled_extends; eauto.
  - intros u Hu Hd. destruct (Hcov u (Gd u Hu)) as [Hu' | Hs]; [| auto].
    eapply settled_extends; eauto.
  - intros k Hk. destruct Hall as [Ha1 Ha2]. apply Ha1, H5. congruence.
Qed.

Lemma conflicts_settle : forall g h t, extends g h -> now t = true ->
  (forall u, In u (conflicts g t) -> grown h u) -> settled h t.
Proof.
  intros g h t [_ Hk] Hn Hrow. unfold conflicts in Hrow.
  destruct (weak p && negb (is_key_of g t) && prefers_left p g t) eqn:E; [| left; auto].
  apply andb_prop in E; destruct E as [E _]; apply andb_prop in E; destruct E as [E1 E2].
  right; left; repeat split; auto. unfold is_key_of in *. rewrite Hk.
  now destruct (match key g with Some k => if same tb k t then true else false | None => false end).
Qed.

Theorem step_sound : forall g g', sound g -> step g = more g' -> sound g'.
Proof.
  intros g g' H Hs. unfold step in Hs. destruct (enabled_todo g) as [| t rest] eqn:E.
  - destruct (disabled_todo g) as [| t rest] eqn:D; [discriminate |].
    assert (Hn : now t = false) by (apply (disabled_are g H); rewrite D; simpl; auto).
    assert (He : forall c, extends g (finish_disabled g t rest c)).
    { intros c; split; [| reflexivity]. unfold grown, of_list, members; simpl. rewrite E, D; simpl.
      intros u; rewrite !in_app_iff; simpl; rewrite ?in_app_iff; tauto. }
    destruct (mem tb t (covered_already g) || is_outranked g t) eqn:C.
    + injection Hs as <-. change (finish_disabled g t rest (covered_already g))
        with (add_row (finish_disabled g t rest (covered_already g)) []).
      assert (Hset : settled g t).
      { apply orb_prop in C; destruct C as [C | C].
        - apply mem_spec in C; exact (covered_are g H t C Hn).
        - right; right; right; auto. }
      apply finish_sound with g t; simpl; auto.
      * intros u Hu; apply in_app_or in Hu; simpl in Hu; intuition.
      * intros u Hu; rewrite D; simpl; auto.
      * eapply settled_extends; [apply He | exact Hset].
    + destruct (choice p g t) as [e |] eqn:Hc; [| discriminate]. injection Hs as <-.
      destruct (choice_is_allowed p g t e Hc) as [Ho Hu].
      set (g0 := finish_disabled g t rest (noted g e ++ covered_already g)).
      destruct (add_row_extends (row_of tb e) g0) as [_ Hrow].
      apply finish_sound with g t; simpl; auto.
      * intros u Hin; apply in_app_or in Hin; simpl in Hin; intuition.
      * intros u Hin; rewrite D; simpl; auto.
      * intros u Hin; apply in_app_or in Hin; destruct Hin as [Hin | Hin]; [right | left; exact Hin].
        intros Hd; right; right; left; split; [exact Hd |]. exists e; repeat split; auto.
        eapply noted_may_use; eauto.
      * apply He.
      * right; right; left; split; [exact Hn | exists e; auto].
  - injection Hs as <-. assert (Hn : now t = true) by (apply (enabled_are g H); rewrite E; simpl; auto).
    assert (He : extends g (finish_enabled g t rest)).
    { split; [| reflexivity]. unfold grown, of_list, members; simpl. rewrite E; simpl.
      intros u; rewrite !in_app_iff; simpl; rewrite ?in_app_iff; tauto. }
    destruct (add_row_extends (conflicts g t) (finish_enabled g t rest)) as [Hr Hrow].
    apply finish_sound with g t; simpl; auto.
    + intros u Hu; apply in_app_or in Hu; simpl in Hu; intuition.
    + intros u Hu; rewrite E; simpl; auto.
    + apply conflicts_settle with g; auto. eapply extends_trans; eauto.
Qed.

Theorem add_covered_sound : forall g t, sound g -> sound (add_covered g t) /\ extends g (add_covered g t).
Proof.
  intros g t H; unfold add_covered.
  destruct (negb (now t) && existsb (fun e => usable s e && whole g e) (options tb t)) eqn:E;
    [| split; [exact H | split; auto]].
  apply andb_prop in E; destruct E as [Hn Ho]. apply existsb_exists in Ho; destruct Ho as [e [He Hu]].
  apply andb_prop in Hu; destruct Hu as [Hu Hw]. unfold whole in Hw; rewrite forallb_forall in Hw.
  set (g' := {| finished := finished g ++ [t]; enabled_todo := enabled_todo g;
    disabled_todo := disabled_todo g; covered_already := covered_already g; key := key g |}).
  assert (Hx : extends g g').
  { split; [| reflexivity]. unfold grown, of_list, members; simpl; intros u; rewrite !in_app_iff; tauto. }
  split; [| exact Hx]. change g' with (add_row g' []). apply finish_sound with g t; simpl; auto.
  - intros u Hin; apply in_app_or in Hin; simpl in Hin; intuition.
  - right; right; left; split; [now destruct (now t) |]. exists e; repeat split; auto.
    intros u Hin; apply (proj1 Hx). specialize (Hw u Hin). apply mem_spec in Hw; exact Hw.
Qed.

(** ** Where it ends *)

Theorem done_is_complete : forall g, sound g -> step g = done ->
  (forall k, key g = Some k -> enabled k s) -> complete tb (grown g) s.
Proof.
  intros g H Hd Hkey t Ht. unfold step in Hd.
  destruct (enabled_todo g) eqn:E; [| discriminate].
  destruct (disabled_todo g) as [| u rest] eqn:D.
  2: { destruct (mem tb u (covered_already g) || is_outranked g u); [discriminate |].
       destruct (choice p g u); discriminate. }
  assert (Hfin : forall u, grown g u -> In u (finished g)).
  { unfold grown, of_list, members; rewrite E, D; simpl; intros u; rewrite app_nil_r; auto. }
  destruct (finished_are_settled g H t (Hfin t Ht))
    as [[H1 H2] | [[H1 [_ [_ H2]]] | [[H1 [e [H2 [H3 H4]]]] | [H1 H2]]]].
  - right; left; split; [now apply now_tells | exact H2].
  - right; right; split; [now apply now_tells | exact H2].
  - left; eapply option_covers; eauto.
  - left. unfold is_outranked in H2. destruct (key g) as [k |] eqn:K;
      [| rewrite andb_false_r in H2; discriminate].
    apply andb_prop in H2; destruct H2 as [_ H2]; apply Nat.ltb_lt in H2.
    assert (Hk := Hkey k eq_refl).
    apply by_key with k; [| eapply (priorities_rank R tb); exact H2].
    assert (Hgk := key_is_there g H k K). repeat split; auto.
    destruct (finished_are_settled g H k (Hfin k Hgk))
      as [[_ Hrow] | [[_ [_ [Hno _]]] | [[Hno _] | [Hno _]]]].
    + now apply accord_row_holds with tb.
    + unfold is_key_of in Hno; rewrite K in Hno. destruct (same tb k k); congruence.
    + apply now_tells in Hk; congruence.
    + apply now_tells in Hk; congruence.
Qed.

Theorem done_has_key : forall g k, sound g -> step g = done -> key g = Some k -> enabled k s ->
  has_key tb (grown g) s k.
Proof.
  intros g k H Hd K Hk. assert (Hgk := key_is_there g H k K). split; [exact Hgk | split; [exact Hk |]].
  unfold step in Hd. destruct (enabled_todo g) eqn:E; [| discriminate].
  destruct (disabled_todo g) as [| u rest] eqn:D.
  2: { destruct (mem tb u (covered_already g) || is_outranked g u); [discriminate |].
       destruct (choice p g u); discriminate. }
  assert (Hfin : In k (finished g)).
  { revert Hgk; unfold grown, of_list, members; rewrite E, D; simpl; now rewrite app_nil_r. }
  destruct (finished_are_settled g H k Hfin) as [[_ Hrow] | [[_ [_ [Hno _]]] | [[Hno _] | [Hno _]]]]; auto.
  - unfold is_key_of in Hno; rewrite K in Hno. destruct (same tb k k); congruence.
  - apply now_tells in Hk; congruence.
  - apply now_tells in Hk; congruence.
Qed.

(** A strong policy makes strong sets. *)
Theorem done_is_strong : forall g, weak p = false -> sound g -> step g = done ->
  complete_strong tb (grown g) s.
Proof.
  intros g Hw H Hd t Ht He u Hu. unfold step in Hd.
  destruct (enabled_todo g) eqn:E; [| discriminate].
  destruct (disabled_todo g) as [| x rest] eqn:D.
  2: { destruct (mem tb x (covered_already g) || is_outranked g x); [discriminate |].
       destruct (choice p g x); discriminate. }
  apply now_tells in He.
  assert (Hfin : In t (finished g)).
  { revert Ht; unfold grown, of_list, members; rewrite E, D; simpl; now rewrite app_nil_r. }
  destruct (finished_are_settled g H t Hfin) as [[_ Hrow] | [[_ [Hno _]] | [[Hno _] | [Hno _]]]]; auto;
    congruence.
Qed.

(** What `clodel` goes on with. *)
Theorem done_is_settled : forall g t, sound g -> step g = done -> grown g t -> settled g t.
Proof.
  intros g t H Hd Ht. unfold step in Hd. destruct (enabled_todo g) eqn:E; [| discriminate].
  destruct (disabled_todo g) as [| x rest] eqn:D.
  2: { destruct (mem tb x (covered_already g) || is_outranked g x); [discriminate |].
       destruct (choice p g x); discriminate. }
  apply (finished_are_settled g H). revert Ht; unfold grown, of_list, members; rewrite E, D; simpl.
  now rewrite app_nil_r.
Qed.

(** ** Ways to grow *)

(** `advance`, `CountingGrow::grow` and any mixture of them: steps, and transitions that join. *)
Inductive grows : growth -> growth -> Prop :=
| stays : forall g, grows g g
| steps : forall g g' h, step g = more g' -> grows g' h -> grows g h
| joins : forall g t h, grows (add_covered g t) h -> grows g h.

Lemma step_extends : forall g g', step g = more g' -> extends g g'.
Proof.
  intros g g' Hs; unfold step in Hs. destruct (enabled_todo g) as [| t rest] eqn:E.
  - destruct (disabled_todo g) as [| t rest] eqn:D; [discriminate |].
    assert (He : forall c, extends g (finish_disabled g t rest c)).
    { intros c; split; [| reflexivity]. unfold grown, of_list, members; simpl. rewrite E, D; simpl.
      intros u; rewrite !in_app_iff; simpl; rewrite ?in_app_iff; tauto. }
    destruct (mem tb t (covered_already g) || is_outranked g t).
    + injection Hs as <-; apply He.
    + destruct (choice p g t) as [e |]; [| discriminate]. injection Hs as <-.
      eapply extends_trans; [apply He | apply add_row_extends].
  - injection Hs as <-. eapply extends_trans; [| apply add_row_extends].
    split; [| reflexivity]. unfold grown, of_list, members; simpl. rewrite E; simpl.
    intros u; rewrite !in_app_iff; simpl; rewrite ?in_app_iff; tauto.
Qed.

Lemma grows_sound : forall g h, grows g h -> sound g -> sound h /\ extends g h.
Proof.
  induction 1 as [g | g g' h Hs _ IH | g t h _ IH]; intros H.
  - split; [exact H | split; auto].
  - destruct (IH (step_sound _ _ H Hs)) as [H1 H2]; split; auto.
    eapply extends_trans; eauto using step_extends.
  - destruct (add_covered_sound g t H) as [Hs He]. destruct (IH Hs) as [H1 H2]; split; auto.
    eapply extends_trans; eauto.
Qed.

(** *** From a key: `closure`, `clostar`, each context of `beam` *)

(** What becomes of a growing set that is given up, or that has all enabled members: everything. *)
Definition result (g : option growth) : transition -> Prop :=
  match g with Some g => grown g | None => fun _ => True end.

(** A set that was grown from an enabled key, to its end; or everything. *)
Definition grown_from_a_key (g : option growth) : Prop :=
  match g with
  | Some g => exists k, now k = true /\ grows (start k) g /\ step g = done
  | None => True
  end.

Theorem grown_sets_are_complete : forall g, grown_from_a_key g ->
  complete tb (result g) s /\
  ((exists t, now t = true) -> exists k, has_key tb (result g) s k) /\
  (weak p = false -> complete_strong tb (result g) s).
Proof.
  intros [g |] H; simpl in *.
  - destruct H as [k [Hk [Hg Hd]]]. destruct (grows_sound _ _ Hg (start_sound k)) as [Hs [_ He]].
    assert (K : key g = Some k).
    { rewrite He; unfold start, add; simpl; now destruct (now k). }
    assert (Hn : enabled k s) by now apply now_tells.
    split; [| split].
    + apply done_is_complete; auto. intros j Hj; congruence.
    + intros _; exists k; now apply done_has_key.
    + intros Hw; now apply done_is_strong.
  - split; [apply everything_is_complete | split; [| intros _ t _ _ u _; exact I]].
    intros [t Ht]; exists t; repeat split; auto. now apply now_tells.
Qed.

(** `beam`: whoever is let go on, and when, and whichever are given up ([None]), the one that is finished
    first is taken. *)
Definition advance_one (g : option growth) : option growth :=
  match g with Some g => match step g with more g' => Some g' | done => Some g | give_up => None end
  | None => None end.

Fixpoint advance_at (i : nat) (contexts : list (option growth)) : list (option growth) :=
  match i, contexts with
  | _, [] => []
  | 0, g :: rest => advance_one g :: rest
  | S i, g :: rest => g :: advance_at i rest
  end.

(** Someone says who goes on ([Some i]) or whom to leave; a finished context wins. *)
Inductive order := go (i : nat) | leave (i : nat).

Fixpoint leave_at (i : nat) (contexts : list (option growth)) : list (option growth) :=
  match i, contexts with
  | _, [] => []
  | 0, g :: rest => None :: rest
  | S i, g :: rest => g :: leave_at i rest
  end.

Definition is_done (g : option growth) : bool :=
  match g with Some g => match step g with done => true | _ => false end | None => false end.

Fixpoint beam (schedule : list order) (contexts : list (option growth)) : option growth :=
  match find is_done contexts with
  | Some g => g
  | None =>
    match schedule with
    | [] => None
    | go i :: schedule => beam schedule (advance_at i contexts)
    | leave i :: schedule => beam schedule (leave_at i contexts)
    end
  end.

Definition is_context (g : option growth) : Prop :=
  match g with Some g => exists k, now k = true /\ grows (start k) g | None => True end.

Lemma grows_snoc : forall g h, grows g h -> forall h', step h = more h' -> grows g h'.
Proof.
  induction 1; intros h' Hs; [eapply steps; [eassumption | constructor] | eapply steps; eauto |
    eapply joins; eauto].
Qed.

Lemma advance_keeps_contexts : forall i l, Forall is_context l -> Forall is_context (advance_at i l).
Proof.
  induction i as [| i IH]; intros [| g l] H; simpl; auto; inversion_clear H as [| ? ? Hg Hl];
    constructor; auto. destruct g as [g |]; simpl in *; auto. destruct Hg as [k [Hk Hg]].
  destruct (step g) eqn:E; simpl; eauto using grows_snoc.
Qed.

Lemma leave_keeps_contexts : forall i l, Forall is_context l -> Forall is_context (leave_at i l).
Proof.
  induction i as [| i IH]; intros [| g l] H; simpl; auto; inversion_clear H as [| ? ? Hg Hl];
    constructor; simpl; auto.
Qed.

Theorem beam_is_grown_from_a_key : forall schedule contexts, Forall is_context contexts ->
  grown_from_a_key (beam schedule contexts).
Proof.
  assert (Hfind : forall contexts g, Forall is_context contexts -> find is_done contexts = Some g ->
    grown_from_a_key g).
  { intros contexts g H E. apply find_some in E; destruct E as [Hin E]. rewrite Forall_forall in H.
    specialize (H g Hin). destruct g as [g |]; simpl in *; [| discriminate].
    destruct H as [k [Hk Hg]]. exists k; repeat split; auto. destruct (step g); discriminate || auto. }
  induction schedule as [| o schedule IH]; intros contexts H; simpl;
    (destruct (find is_done contexts) as [g |] eqn:E; [eauto |]); [exact I |].
  destruct o; apply IH; auto using advance_keeps_contexts, leave_keeps_contexts.
Qed.

(** Beam starts from enabled transitions. *)
Lemma contexts_of_starts : forall starts, Forall (fun k => now k = true) starts ->
  Forall is_context (map (fun k => Some (start k)) starts).
Proof.
  induction 1; simpl; constructor; auto. exists x; split; auto. constructor.
Qed.

(** *** From a goal: `goal` *)

(** `clear`, then the sought steps. *)
Definition empty : growth :=
  {| finished := []; enabled_todo := []; disabled_todo := []; covered_already := []; key := None |}.

Lemma empty_sound : sound empty.
Proof. split; simpl; try tauto; discriminate. Qed.

(** One way to hit a conjunction, as `options_of_conjunction`: a label of it, or one that excludes it. *)
Definition serves (C : list (label M)) (e : enabling_set) : Prop :=
  usable s e = true /\
  match e with
  | own g => In g C
  | excluding h => exists g, In g C /\ never_together R g h
  end.

(** The set starts from the sought steps and, for each open disjunct, a row that serves it. *)
Theorem goal_sets_hit : forall sought_steps rows g (may_change_outcome : transition -> transition -> Prop),
  grows (fold_left (fun g e => add_row g (row_of tb e)) rows (add_row empty sought_steps)) g ->
  step g = done ->
  (forall t u, In t sought_steps -> may_change_outcome t u ->
    In u (accord_row tb t) /\ In u (left_row tb t)) ->
  complete tb (grown g) s /\
  (forall C, (exists e, In e rows /\ serves C e) -> needed M R (grown g) s C) /\
  (reachable s -> forall t, In t sought_steps -> sought M R may_change_outcome (grown g) s t).
Proof.
  intros sought_steps rows g mco Hg Hd Hrows.
  assert (Hfold : forall rows g0, sound g0 ->
    sound (fold_left (fun g e => add_row g (row_of tb e)) rows g0) /\
    extends g0 (fold_left (fun g e => add_row g (row_of tb e)) rows g0) /\
    forall e u, In e rows -> In u (row_of tb e) ->
      grown (fold_left (fun g e => add_row g (row_of tb e)) rows g0) u).
  { clear. induction rows as [| e rows IH]; intros g0 H; simpl.
    - split; [exact H | split; [split; auto | intros e u []]].
    - destruct (IH _ (add_row_sound (row_of tb e) g0 H)) as [H1 [H2 H3]].
      destruct (add_row_extends (row_of tb e) g0) as [Hx Hin].
      split; [exact H1 | split; [eapply extends_trans; eauto |]].
      intros e' u [<- | He'] Hu; [apply (proj1 H2); auto | eauto]. }
  destruct (Hfold rows _ (add_row_sound sought_steps empty empty_sound)) as [H1 [H2 H3]].
  destruct (grows_sound _ _ Hg H1) as [Hs [Hx Hk]].
  assert (Hc : complete tb (grown g) s).
  { apply done_is_complete; auto. intros k K. exfalso. rewrite Hk in K.
    destruct H2 as [_ H2]. rewrite H2 in K.
    destruct (add_row_extends sought_steps empty) as [[_ E] _]. rewrite E in K. discriminate. }
  split; [exact Hc | split].
  - intros C [e [He [Hu Hm]]]. assert (Hin : forall u, In u (row_of tb e) -> grown g u) by eauto.
    destruct e as [l | h]; simpl in *.
    + apply by_label with l; [auto | now destruct (holds l s) |].
      intros u Hu'; now apply Hin, (enable_row_is_whole R tb).
    + destruct Hm as [l [Hl Hn]]. apply by_excluding_label with l h; auto.
      intros u Hu'; now apply Hin, (disable_row_is_whole R tb).
  - intros Hr t Ht. assert (Hgt : grown g t).
    { apply Hx, (proj1 H2). now apply (proj2 (add_row_extends sought_steps empty)). }
    destruct (Hc t Hgt) as [Hcov | [[He Hrow] | [He Hrow]]]; [left; exact Hcov | right | right];
      (split; [destruct He as [y Hy]; eauto using step_offered |]);
      intros u Hu; apply Hrow; now apply (Hrows t u Ht Hu).
Qed.

End Growth.

