(** Finite traces: sets with condition V and a safety proviso show every sequence of changes of labels.

    `Aim::Traces { infinite: false }` in `stubborn-reduce/src/aim.rs`: strong sets, V (a kept visible
    transition brings all visible ones, `with_visible` in `tables.rs`), and from each state one where nothing
    is left out can be reached. As for goals, any outcomes of independent steps must meet.

    Why it matters: regular safety properties, and the counterexamples of finite length of temporal ones,
    rest on this. *)

From Coq Require Import List Bool Lia Wf_nat.
From Stubborn Require Import Deadlocks Closed Goals Outcomes Ignoring.
Import ListNotations.

Section Traces.

Variables (M : system) (R : relations M).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).
Local Notation deadlock := (deadlock M).
Local Notation path := (path M).
Local Notation end_of := (end_of M).
Local Notation avoids := (avoids M).
Local Notation contains := (contains M).

Variable chosen : state -> transition -> Prop.
Hypothesis chosen_dec : forall s t, {chosen s t} + {~ chosen s t}.
Hypothesis chosen_closed : forall s, reachable s -> closed M R (chosen s) s.
Hypothesis chosen_strong : forall s, reachable s -> strong M R (chosen s) s.
Hypothesis meets_law : forall s t u, reachable s -> ~ do_not_accord R t u -> meets M t u s.

(** What the property sees of a state. *)
Variable value : Type.
Variable shown : state -> value.
Hypothesis value_dec : forall a b : value, {a = b} + {a <> b}.

Variable visible : transition -> Prop.
Hypothesis visible_dec : forall t, {visible t} + {~ visible t}.
Hypothesis invisible_law : forall t s s1, reachable s -> ~ visible t -> step t s s1 -> shown s1 = shown s.

(** V: an enabled visible member brings all visible ones. *)
Hypothesis V : forall s t, reachable s -> chosen s t -> enabled t s -> visible t ->
  forall u, visible u -> chosen s u.

Variable initial : state.
Hypothesis initial_reachable : reachable initial.
Hypothesis proviso : forall s, reduced M chosen initial s ->
  exists f, reduced M chosen s f /\ (full M chosen f \/ deadlock f).

(** The trace of a path, without repetitions, from a state on. *)
Fixpoint trace (s : state) (l : list (transition * state)) : list value :=
  match l with
  | [] => [shown s]
  | (_, s1) :: l => if value_dec (shown s) (shown s1) then trace s1 l else shown s :: trace s1 l
  end.

(** A reduced path whose trace begins like this. *)
Inductive can_show : state -> list value -> Prop :=
| show_last : forall s, can_show s [shown s]
| show_same : forall t s s1 tr, chosen s t -> step t s s1 -> shown s1 = shown s ->
    can_show s1 tr -> can_show s tr
| show_change : forall t s s1 tr, chosen s t -> step t s s1 -> shown s1 <> shown s ->
    can_show s1 tr -> can_show s (shown s :: tr).

(** What [can_show] says, in terms of traces. *)
Theorem can_show_is_shown : forall s tr, can_show s tr ->
  exists l, path s l /\ reduced M chosen s (end_of s l) /\
    exists rest, trace s l = tr ++ rest.
Proof.
  induction 1 as [s | t s s1 tr Ht Hs E H [l [Hp [Hr [rest El]]]] | t s s1 tr Ht Hs E H [l [Hp [Hr [rest El]]]]].
  - exists []; simpl; repeat split; [constructor |]. exists []; reflexivity.
  - exists ((t, s1) :: l); simpl; repeat split; auto; [econstructor; eauto |].
    exists rest. destruct (value_dec (shown s) (shown s1)); [exact El | congruence].
  - exists ((t, s1) :: l); simpl; repeat split; auto; [econstructor; eauto |].
    exists rest. destruct (value_dec (shown s) (shown s1)); [congruence | simpl; now rewrite El].
Qed.

(** *** Traces of ladders *)

(** An invisible transition leads from each state of a path to one that shows the same. *)
Lemma ladder_shows : forall t l x m s, reachable s -> path s l -> step t s x -> ~ visible t ->
  ladder M t x l m -> trace x m = trace s l.
Proof.
  induction l as [| [u s1] l IH]; intros x [| [v x1] m] s Hr Hp Hx Hi Hl; simpl in Hl; try tauto.
  - simpl. now rewrite (invisible_law t s x).
  - destruct Hp as [Hs Hp]. destruct Hl as [_ [_ [Hx1 Hl]]]. simpl.
    rewrite (invisible_law t s x), (invisible_law t s1 x1); auto; [| eauto using reachable_step].
    rewrite (IH x1 m s1); eauto using reachable_step.
Qed.

(** A path of invisible transitions shows one value. *)
Lemma invisible_path : forall l s, reachable s -> path s l -> Forall (fun e => ~ visible (fst e)) l ->
  shown (end_of s l) = shown s /\ forall r, trace s (l ++ r) = trace (end_of s l) r.
Proof.
  induction l as [| [u s1] l IH]; intros s Hr Hp Hi; simpl; auto.
  destruct Hp as [Hs Hp]. inversion_clear Hi as [| ? ? Hu Hi']; simpl in Hu.
  assert (E := invisible_law u s s1 Hr Hu Hs).
  destruct (IH s1) as [E1 E2]; eauto using reachable_step. split; [congruence |].
  intros r; rewrite E2. destruct (value_dec (shown s) (shown s1)); [reflexivity | congruence].
Qed.

Lemma path_app : forall l r s, path s (l ++ r) <-> path s l /\ path (end_of s l) r.
Proof.
  induction l as [| [u s1] l IH]; intros r s; simpl; [tauto |]. rewrite IH; tauto.
Qed.

Lemma end_app : forall l r s, end_of s (l ++ r) = end_of (end_of s l) r.
Proof. induction l as [| [u s1] l IH]; intros r s; simpl; auto. Qed.

Lemma first_on_path : forall T : transition -> Prop, (forall t, {T t} + {~ T t}) -> forall l,
  avoids T l \/ exists l1 t y l2, l = l1 ++ (t, y) :: l2 /\ avoids T l1 /\ T t.
Proof.
  intros T dec; induction l as [| [u s1] l IH]; [left; constructor |].
  destruct (dec u) as [Hu | Hu].
  - right; exists [], u, s1, l; repeat split; auto. constructor.
  - destruct IH as [IH | [l1 [t [y [l2 [E [Ha Ht]]]]]]].
    + left; constructor; auto.
    + right; exists ((u, s1) :: l1), t, y, l2; subst; repeat split; auto. constructor; auto.
Qed.

(** *** One kept step *)

(** The first member on the way goes first: as much is shown, and a step less is left. *)
Lemma member_first : forall s l, reachable s -> path s l -> avoids (chosen s) l \/
  exists t x m, chosen s t /\ step t s x /\ path x m /\ length l = S (length m) /\
    (shown x = shown s /\ trace x m = trace s l \/
     shown x <> shown s /\ trace s l = shown s :: trace x m).
Proof.
  intros s l Hr Hp.
  destruct (first_on_path (chosen s) (chosen_dec s) l) as [Ha | [l1 [t [y [l2 [-> [Ha Ht]]]]]]];
    [left; exact Ha | right].
  apply path_app in Hp; destruct Hp as [Hp1 [Hy Hp2]].
  destruct (lemma_A M R (chosen s) s t l1 y Hr (chosen_closed s Hr) Ht Hp1 Ha Hy) as [x [m [Hx [Hl E]]]].
  destruct (ladder_path M _ _ _ _ Hl) as [Hpm Em].
  assert (Hlen : length m = length l1) by (rewrite <- (map_length fst m), Em; apply map_length).
  assert (Hrx : reachable x) by eauto using reachable_step.
  exists t, x, (m ++ l2). repeat split; auto.
  - apply path_app; split; auto. now rewrite E.
  - rewrite !app_length, Hlen; simpl; lia.
  - destruct (visible_dec t) as [Hv | Hv].
    + (* All visible ones are members: what comes before is not seen. *)
      assert (Hi : forall k : list (transition * state), map fst k = map fst l1 -> Forall (fun e => ~ visible (fst e)) k).
      { intros k Ek. assert (Hout : Forall (fun u => ~ visible u) (map fst k)).
        { rewrite Ek. apply Forall_map. eapply Forall_impl; [| exact Ha]. intros [u z] Hu Hvis; simpl in *.
          apply Hu, (V s t); auto. exists x; exact Hx. }
        rewrite Forall_map in Hout; exact Hout. }
      destruct (invisible_path l1 s Hr Hp1 (Hi l1 eq_refl)) as [E1 E2].
      destruct (invisible_path m x Hrx Hpm (Hi m Em)) as [E3 E4].
      rewrite E2, E4, E. simpl. rewrite E in E3.
      destruct (value_dec (shown (end_of s l1)) (shown y)) as [Ey | Ey].
      * left; split; [congruence | reflexivity].
      * right; split; [congruence |]. now rewrite E1.
    + left; split; [now apply invisible_law with t |].
      assert (Htr : forall l0 m0 s0 x0, reachable s0 -> path s0 l0 -> step t s0 x0 -> ladder M t x0 l0 m0 ->
        end_of x0 m0 = y -> step t (end_of s0 l0) y ->
        trace x0 (m0 ++ l2) = trace s0 (l0 ++ (t, y) :: l2)).
      { clear - invisible_law Hv. induction l0 as [| [u s1] l0 IH];
          intros [| [v x1] m0] s0 x0 Hr Hp Hx Hl E Hy; simpl in Hl; try tauto; simpl in *.
        - subst x0. rewrite (invisible_law t s0 y); auto.
          destruct (value_dec (shown s0) (shown s0)); [reflexivity | congruence].
        - destruct Hp as [Hs Hp]. destruct Hl as [_ [_ [Hx1 Hl]]].
          rewrite (invisible_law t s0 x0), (invisible_law t s1 x1); auto; [| eauto using reachable_step].
          rewrite (IH m0 s1 x1); eauto using reachable_step. }
      apply Htr; auto.
Qed.

(** A kept step beside the way, whatever its outcome: as much is left to be shown. *)
Lemma aside : forall s l t x, reachable s -> path s l -> avoids (chosen s) l -> chosen s t -> step t s x ->
  trace s l = [shown s] \/
  shown x = shown s /\ exists m, path x m /\ length m = length l /\ trace x m = trace s l.
Proof.
  intros s l t x Hr Hp Ha Ht Hx. assert (He : enabled t s) by (exists x; exact Hx).
  destruct (visible_dec t) as [Hv | Hv].
  - left. assert (Hi : Forall (fun e => ~ visible (fst e)) l).
    { eapply Forall_impl; [| exact Ha]. intros [u z] Hu Hvis; simpl in *. apply Hu, (V s t); auto. }
    destruct (invisible_path l s Hr Hp Hi) as [E1 E2]. specialize (E2 []). rewrite app_nil_r in E2.
    rewrite E2; simpl. now rewrite E1.
  - right. split; [now apply invisible_law with t |].
    destruct (chosen_strong s Hr t Ht He) as [_ [_ Hrow]].
    destruct (every_outcome M R meets_law t l s x Hr Hp) as [m [Hl _]]; eauto using avoids_row.
    destruct (ladder_path M _ _ _ _ Hl) as [Hpm Em]. exists m; repeat split; auto.
    + now rewrite <- (map_length fst m), Em, map_length.
    + now apply ladder_shows with t.
Qed.

Theorem traces_are_kept : forall l s, reduced M chosen initial s -> path s l -> can_show s (trace s l).
Proof.
  intros l; remember (length l) as n eqn:Hn; revert l Hn.
  induction n as [n IH] using lt_wf_ind; intros l Hn s Hin Hp.
  destruct (proviso s Hin) as [f [Hsf Hf]]. revert l Hn Hin Hp.
  induction Hsf as [s | t s s1 f Ht Hstep Hsf IHf]; intros l Hn Hin Hp;
    (assert (Hr : reachable s) by eauto using reduced_reachable);
    (destruct (member_first s l Hr Hp) as [Ha | [u [x [m [Hu [Hx [Hpm [Hlen Htr]]]]]]]];
      [| assert (Hinx : reduced M chosen initial x) by (apply reduced_snoc with s u; auto);
         assert (Hm := IH (length m) ltac:(lia) m eq_refl x Hinx Hpm);
         destruct Htr as [[E1 E2] | [E1 E2]];
         [rewrite <- E2; eapply show_same; eauto | rewrite E2; eapply show_change; eauto]]).
  - destruct l as [| [u x] l]; [constructor |]. destruct Hp as [Hx _].
    inversion_clear Ha as [| ? ? Hu _]; simpl in Hu. destruct Hf as [Hfull | Hdead].
    + destruct Hu; apply Hfull; exists x; exact Hx.
    + destruct (Hdead u); exists x; exact Hx.
  - destruct (aside s l t s1 Hr Hp Ha Ht Hstep) as [E | [E [m [Hpm [Hlen Htr]]]]].
    + rewrite E; constructor.
    + rewrite <- Htr. eapply show_same; eauto. apply (IHf Hf m); [lia | | exact Hpm].
      apply reduced_snoc with s t; auto.
Qed.

End Traces.

(** ** An instance: the system of [Ignoring], seen through whether the goal was reached *)

Theorem the_example_shows_its_goal :
  can_show M mended bool snd initial [false; true].
Proof.
  assert (Hi : forall (t : Transition) (s s1 : State), @reachable M s -> t <> reach ->
    @step M t s s1 -> snd s1 = snd s).
  { intros [] [[] []] [[] []] _ Hn Hs; simpl in *; congruence || (now destruct Hn). }
  assert (V : forall (s : State) (t : Transition), @reachable M s -> mended s t -> enabled M t s ->
    t = reach -> forall u, u = reach -> mended s u) by (intros s t _ Ht _ -> u ->; exact Ht).
  assert (Hdec : forall t : Transition, {t = reach} + {t <> reach}) by (intros []; auto; right; discriminate).
  apply (traces_are_kept M R mended (chosen_dec _) (fun (s : State) _ => sets_are_closed _ s)
    (fun (s : State) _ => sets_are_strong _ s) every_outcome_meets bool snd bool_dec
    (fun t : Transition => t = reach) Hdec Hi V initial I (fun (s : State) _ => proviso_holds s)
    [(reach, (false, true))] initial).
  - constructor.
  - split; [reflexivity | exact I].
Qed.
