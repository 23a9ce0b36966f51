(** Temporal properties: sets with V and I and a cycle proviso lose no accepted run, in a product with an
    automaton in stutter normal form, whatever number of outcomes steps have.

    "Products: classic nodes", case 1, in `docs/soundness.md`, with relaxed visibility; `Aim::Traces {
    infinite: true }` in `stubborn-reduce/src/aim.rs`, `product.rs` and `prepare.rs` of `stubborn-emptiness`. Sets may be weak.
    Of accordance no more is asked than [Closed.accord_law]: a cycle proviso follows the step that keeps
    the run, so *some* outcome is enough, for infinite runs too ([a_key_keeps_a_live_node]; on finite
    graphs the outcomes of the key along a cycle must lead back into each other).

    Accepted runs are seen by the nodes on them: a set of nodes is *accepting* if from each of them each mark
    can be reached inside of it ([accepting]; the nodes that an accepted run goes through again and again
    are such a set, [accepted_runs_are_live], and an emptiness check finds one if there is one). What is proved is that
    no `holds` is wrong: if the reduced product has no accepting set, the full one has none.

    Why it matters: this is how formulas of LTL are checked by default. *)

From Coq Require Import List Bool Arith Lia Wf_nat.
From Stubborn Require Import Deadlocks Closed.
Import ListNotations.

(** ** Cycles in finite sets *)

Section Finite.

Variable A : Type.
Variable items : list A.
Variable same : forall a b : A, {a = b} + {a <> b}.
Variable r : A -> A -> Prop.
Variable inside : A -> Prop.
Hypothesis all_items : forall a, inside a -> In a items.
Hypothesis total : forall a, inside a -> exists b, inside b /\ r a b.

Inductive chain : A -> list A -> Prop :=
| chain_nil : forall a, chain a []
| chain_cons : forall a b l, r a b -> chain b l -> chain a (b :: l).

Inductive steps : A -> A -> Prop :=
| one_step : forall a b, r a b -> steps a b
| more_steps : forall a b c, r a b -> steps b c -> steps a c.

Lemma long_chains : forall n a, inside a -> exists l, length l = n /\ chain a l /\ Forall inside l.
Proof.
  induction n as [| n IH]; intros a Ha; [exists []; repeat split; constructor |].
  destruct (total a Ha) as [b [Hb Hr]]. destruct (IH b Hb) as [l [Hl [Hc Hi]]].
  exists (b :: l); simpl; repeat split; [lia | now constructor | now constructor].
Qed.

Lemma repeated : forall l, length l > length items -> Forall inside l ->
  exists a l1 l2 l3, l = l1 ++ a :: l2 ++ a :: l3.
Proof.
  intros l Hlen Hi.
  assert (Hno : ~ NoDup l).
  { intros Hd. assert (Hle := NoDup_incl_length Hd (l' := items)). apply Nat.lt_nge in Hlen; apply Hlen, Hle.
    intros x Hx. apply all_items. rewrite Forall_forall in Hi; auto. }
  clear Hlen Hi all_items total. induction l as [| x l IH]; [destruct Hno; constructor |].
  destruct (in_dec same x l) as [Hx | Hx].
  - apply in_split in Hx; destruct Hx as [l2 [l3 ->]]. exists x, [], l2, l3; reflexivity.
  - destruct IH as [a [l1 [l2 [l3 ->]]]].
    + intros Hd; apply Hno; now constructor.
    + exists a, (x :: l1), l2, l3; reflexivity.
Qed.

Lemma chain_app : forall l1 a b l2, chain a (l1 ++ b :: l2) -> steps a b /\ chain b l2.
Proof.
  induction l1 as [| x l1 IH]; intros a b l2 H; simpl in H; inversion H; subst.
  - split; [now constructor | assumption].
  - destruct (IH _ _ _ H4) as [H1 H2]; split; [eapply more_steps; eauto | exact H2].
Qed.

Lemma cycle_somewhere : forall a, inside a -> exists c, inside c /\ steps a c /\ steps c c.
Proof.
  intros a Ha. destruct (long_chains (S (length items)) a Ha) as [l [Hl [Hc Hi]]].
  destruct (repeated l) as [c [l1 [l2 [l3 ->]]]]; [lia | exact Hi |].
  apply chain_app in Hc; destruct Hc as [H1 Hc]. apply chain_app in Hc; destruct Hc as [H2 _].
  exists c; repeat split; auto. rewrite Forall_app in Hi. destruct Hi as [_ Hi]. now inversion Hi.
Qed.

(** Without a cycle, going on ends. *)
Lemma acyclic_is_well_founded : (forall a, inside a) -> (forall c, ~ steps c c) ->
  well_founded (fun b a => r a b).
Proof.
  intros Hin Hno.
  assert (Hshort : forall a l, chain a l -> length l <= length items).
  { intros a l Hc. destruct (le_lt_dec (length l) (length items)) as [H | H]; auto. exfalso.
    destruct (repeated l) as [c [l1 [l2 [l3 ->]]]]; [exact H | now apply Forall_forall |].
    apply chain_app in Hc; destruct Hc as [_ Hc]. apply chain_app in Hc; destruct Hc as [Hc _].
    exact (Hno c Hc). }
  assert (H : forall n a, (forall l, chain a l -> length l <= n) -> Acc (fun b a => r a b) a).
  { induction n as [| n IH]; intros a Ha; constructor; intros b Hb.
    - specialize (Ha [b] (chain_cons a b [] Hb (chain_nil b))). simpl in Ha; lia.
    - apply IH. intros l Hl. specialize (Ha (b :: l) (chain_cons a b l Hb Hl)). simpl in Ha; lia. }
  intros a; apply (H (length items)); intros l Hl; exact (Hshort a l Hl).
Qed.

(** A decision may be taken for all members of a list at once. *)
Lemma for_all_in_list : forall (P : A -> Prop) l, (forall a, In a l -> ~ ~ P a) ->
  ~ ~ forall a, In a l -> P a.
Proof.
  intros P; induction l as [| x l IH]; intros H Hno; [apply Hno; intros a [] |].
  apply (H x); [now left |]. intros Hx. apply IH; [intros a Ha; apply H; now right |].
  intros Hall; apply Hno; intros a [<- | Ha]; auto.
Qed.

End Finite.

Section Temporal.

Variables (M : system) (R : relations M).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).
Local Notation deadlock := (deadlock M).
Local Notation path := (path M).
Local Notation end_of := (end_of M).
Local Notation avoids := (avoids M).

(** ** The automaton *)

Variables (letter astate mark : Type).
Variable shown : state -> letter.
Definition marks : Type := mark -> bool.

(** An edge reads the letter of the state that a step leaves. *)
Variable moves : astate -> letter -> marks -> astate -> Prop.

(** One mark more is on every edge, so that automata without marks need nothing of their own. *)
Definition has (F : marks) (i : option mark) : Prop :=
  match i with None => True | Some i => F i = true end.

(** N1 and N2. *)
Hypothesis N1 : forall q v F r, moves q v F r ->
  (exists G, moves q v G q) \/ (exists G, moves r v G r).
Hypothesis N2 : forall q v F r G p, moves q v F r -> moves r v G p ->
  exists H, moves q v H p /\ forall i, has F i \/ has G i -> has H i.

(** Letters that differ in nothing that the automaton can look at from a state on (`propositions_ahead`). *)
Variable alike : astate -> letter -> letter -> Prop.
Hypothesis alike_refl : forall q v, alike q v v.
Hypothesis alike_sym : forall q v w, alike q v w -> alike q w v.
Hypothesis alike_trans : forall q u v w, alike q u v -> alike q v w -> alike q u w.
Hypothesis alike_moves : forall q v w F r, alike q v w -> moves q v F r -> moves q w F r.
Hypothesis alike_ahead : forall q u F r v w, moves q u F r -> alike q v w -> alike r v w.

Definition node : Type := (state * astate)%type.
Variable node_list : list node.
Hypothesis finitely_many_nodes : forall n, In n node_list.
Variable mark_list : list mark.
Hypothesis finitely_many_marks : forall i, In i mark_list.
Hypothesis same_state : forall a b : state, {a = b} + {a <> b}.
Hypothesis same_node : forall a b : node, {a = b} + {a <> b}.

(** A step, or the repetition of the last state ([None]). *)
Definition does (a : option transition) (s s1 : state) : Prop :=
  match a with Some t => step t s s1 | None => deadlock s /\ s1 = s end.

Definition pstep (n : node) (a : option transition) (F : marks) (n1 : node) : Prop :=
  does a (fst n) (fst n1) /\ moves (snd n) (shown (fst n)) F (snd n1).

(** ** Accepted runs *)

Section Accepting.

(** Which steps there are: all, or the kept ones. *)
Variable allowed : node -> option transition -> Prop.

Inductive finds (X : node -> Prop) (i : option mark) : node -> nat -> Prop :=
| at_once : forall n a F n1, allowed n a -> pstep n a F n1 -> X n1 -> has F i -> finds X i n 1
| later : forall n a F n1 d, allowed n a -> pstep n a F n1 -> X n1 -> finds X i n1 d -> finds X i n (S d).

Definition accepting (X : node -> Prop) : Prop := forall n, X n -> forall i, exists d, finds X i n d.

Definition live (n : node) : Prop := exists X, accepting X /\ X n.

Lemma finds_more : forall (X Y : node -> Prop) i n d, (forall m, X m -> Y m) -> finds X i n d -> finds Y i n d.
Proof. intros X Y i n d H; induction 1; [eapply at_once | eapply later]; eauto. Qed.

Lemma live_is_accepting : accepting live.
Proof.
  intros n [X [HX Hn]] i. destruct (HX n Hn i) as [d Hd]. exists d.
  apply finds_more with X; auto. intros m Hm; exists X; auto.
Qed.

Lemma live_back : forall n a F n1, allowed n a -> pstep n a F n1 -> live n1 -> live n.
Proof.
  intros n a F n1 Ha Hs Hl. exists (fun m => live m \/ m = n); split; [| now right].
  assert (H : forall m, live m -> forall i, exists d, finds (fun m => live m \/ m = n) i m d).
  { intros m Hm i. destruct (live_is_accepting m Hm i) as [d Hd]. exists d.
    apply finds_more with live; auto. }
  intros m [Hm | ->] i; [auto |]. destruct (H n1 Hl i) as [d Hd]. exists (S d). eapply later; eauto.
Qed.

(** A run that has every mark again and again goes through live nodes only. *)
Theorem accepted_runs_are_live : forall (at_ : nat -> node) (by_ : nat -> option transition) (F : nat -> marks),
  (forall n, allowed (at_ n) (by_ n) /\ pstep (at_ n) (by_ n) (F n) (at_ (S n))) ->
  (forall i n, exists m, n <= m /\ has (F m) i) ->
  live (at_ 0).
Proof.
  intros at_ by_ F Hrun Hmarks. exists (fun m => exists n, m = at_ n); split; [| now exists 0].
  intros m [n ->] i. destruct (Hmarks i n) as [j [Hle Hj]].
  remember (j - n) as k eqn:Hk. revert n Hle Hk. induction k as [| k IH]; intros n Hle Hk.
  - assert (n = j) by lia; subst n. exists 1. destruct (Hrun j) as [H1 H2]. eapply at_once; eauto.
  - destruct (IH (S n)) as [d Hd]; [lia | lia |]. exists (S d). destruct (Hrun n) as [H1 H2].
    eapply later; eauto.
Qed.

End Accepting.

Definition any (n : node) (a : option transition) : Prop := True.
Local Notation alive := (live any).
Local Notation dist := (finds any alive).

Lemma alive_back : forall n a F n1, pstep n a F n1 -> alive n1 -> alive n.
Proof. intros n a F n1; apply live_back; exact I. Qed.

Lemma alive_step : forall n, alive n -> exists a F n1, pstep n a F n1 /\ alive n1.
Proof.
  intros n H. destruct (live_is_accepting any n H None) as [d Hd]. inversion Hd; subst; eauto.
Qed.

(** ** Runs of the automaton along paths of the system *)

Inductive reads : astate -> state -> list (transition * state) -> list marks -> astate -> Prop :=
| reads_nil : forall q s, reads q s [] [] q
| reads_cons : forall q s t s1 l F r fs p, moves q (shown s) F r -> reads r s1 l fs p ->
    reads q s ((t, s1) :: l) (F :: fs) p.

Lemma reads_app : forall l1 q s fs1 r l2 fs2 p, reads q s l1 fs1 r -> reads r (end_of s l1) l2 fs2 p ->
  reads q s (l1 ++ l2) (fs1 ++ fs2) p.
Proof.
  induction l1 as [| [t s1] l1 IH]; intros q s fs1 r l2 fs2 p H1 H2; inversion H1; subst; simpl; auto.
  econstructor; eauto.
Qed.

Lemma path_app : forall l r s, path s (l ++ r) <-> path s l /\ path (end_of s l) r.
Proof. induction l as [| [u s1] l IH]; intros r s; simpl; [tauto |]. rewrite IH; tauto. Qed.

Lemma end_app : forall l r s, end_of s (l ++ r) = end_of (end_of s l) r.
Proof. induction l as [| [u s1] l IH]; intros r s; simpl; auto. Qed.

Lemma alive_along : forall l q s fs p, path s l -> reads q s l fs p -> alive (end_of s l, p) -> alive (s, q).
Proof.
  induction l as [| [t s1] l IH]; intros q s fs p Hp Hr Ha; inversion Hr; subst; auto.
  destruct Hp as [Hs Hp]. apply alive_back with (Some t) F (s1, r); [split; auto | eauto].
Qed.

Lemma dist_along : forall i l q s fs p d, path s l -> reads q s l fs p -> alive (end_of s l, p) ->
  dist i (end_of s l, p) d -> dist i (s, q) (length l + d).
Proof.
  induction l as [| [t s1] l IH]; intros q s fs p d Hp Hr Ha Hd; inversion Hr; subst; simpl; auto.
  destruct Hp as [Hs Hp]. apply later with (Some t) F (s1, r); [exact I | split; auto | | eauto].
  eapply alive_along; eauto.
Qed.

Lemma dist_at : forall i l q s fs p j F, path s l -> reads q s l fs p -> alive (end_of s l, p) ->
  nth_error fs j = Some F -> has F i -> dist i (s, q) (S j).
Proof.
  induction l as [| [t s1] l IH]; intros q s fs p j F Hp Hr Ha Hj Hi; inversion Hr; subst.
  - destruct j; discriminate.
  - destruct Hp as [Hs Hp]. assert (Hl : alive (s1, r)) by eauto using alive_along.
    destruct j as [| j]; simpl in Hj.
    + injection Hj as ->. apply at_once with (Some t) F (s1, r); auto; [exact I | split; auto].
    + apply later with (Some t) F0 (s1, r); auto; [exact I | split; auto | eauto].
Qed.

Lemma reads_length : forall l q s fs p, reads q s l fs p -> length fs = length l.
Proof. induction l as [| [t s1] l IH]; intros q s fs p H; inversion H; subst; simpl; eauto. Qed.

(** A cycle with all marks is live. *)
Lemma cycle_is_live : forall z p m fs, path z m -> reads p z m fs p -> end_of z m = z -> m <> [] ->
  (forall i, exists j F, nth_error fs j = Some F /\ has F i) -> alive (z, p).
Proof.
  intros z p m fs Hp Hr He Hne Hall.
  set (X := fun n : node => exists l gs, path (fst n) l /\ reads (snd n) (fst n) l gs p /\
    end_of (fst n) l = z).
  assert (Hz : X (z, p)) by (exists []; exists []; simpl; repeat split; constructor).
  exists X; split; [| exact Hz].
  (* To the end of the way, and around. *)
  assert (Haround : forall i l q s gs j F, path s l -> reads q s l gs p -> end_of s l = z ->
    nth_error gs j = Some F -> has F i -> exists d, finds any X i (s, q) d).
  { intros i; induction l as [| [t s1] l IH]; intros q s gs j F Hp' Hr' He' Hj Hi; inversion Hr'; subst.
    - destruct j; discriminate.
    - destruct Hp' as [Hs Hp'].
      assert (HX : X (s1, r)) by (exists l, fs0; simpl; auto).
      destruct j as [| j]; simpl in Hj.
      + injection Hj as ->. exists 1. apply at_once with (Some t) F (s1, r); auto; [exact I | split; auto].
      + destruct (IH r s1 fs0 j F) as [d Hd]; auto. exists (S d).
        apply later with (Some t) F0 (s1, r); auto; [exact I | split; auto]. }
  intros [s q] [l [gs [Hp' [Hr' He']]]] i; simpl in *. destruct (Hall i) as [j [F [Hj Hi]]].
  apply (Haround i (l ++ m) q s (gs ++ fs) (length gs + j) F); auto.
  - apply path_app; split; auto. now rewrite He'.
  - eapply reads_app; eauto. now rewrite He'.
  - now rewrite end_app, He'.
  - rewrite nth_error_app2; [| lia]. now replace (length gs + j - length gs) with j by lia.
Qed.

(** ** Visibility *)

(** May change what can be looked at from a state of the automaton on. *)
Variable visible : astate -> transition -> Prop.
Hypothesis visible_dec : forall q t, {visible q t} + {~ visible q t}.
Hypothesis invisible_law : forall q t s s1, reachable s -> ~ visible q t -> step t s s1 ->
  alike q (shown s) (shown s1).
Hypothesis visible_ahead : forall q v F r t, moves q v F r -> visible r t -> visible q t.

(** Along a ladder of an invisible transition the automaton reads the same. *)
Lemma ladder_reads : forall t l q s fs p x m, reachable s -> path s l -> ~ visible q t -> step t s x ->
  ladder M t x l m -> reads q s l fs p ->
  reads q x m fs p /\ alike p (shown (end_of s l)) (shown (end_of x m)) /\ ~ visible p t.
Proof.
  induction l as [| [u s1] l IH]; intros q s fs p x [| [v x1] m] Hr Hp Hv Hx Hl Hrd; simpl in Hl; try tauto;
    inversion Hrd; subst.
  - repeat split; [constructor | now apply (invisible_law p t) | exact Hv].
  - destruct Hp as [Hs Hp]. destruct Hl as [-> [Hux [Hx1 Hl]]].
    destruct (IH r s1 fs0 p x1 m) as [H1 [H2 H3]]; eauto using reachable_step.
    repeat split; auto. econstructor; [| exact H1].
    apply alike_moves with (shown s); auto. now apply (invisible_law q t).
Qed.

(** Invisible steps show the same all along. *)
Lemma invisible_steps : forall l q s, reachable s -> path s l -> Forall (fun e => ~ visible q (fst e)) l ->
  alike q (shown s) (shown (end_of s l)).
Proof.
  induction l as [| [u s1] l IH]; intros q s Hr Hp Hi; simpl; auto.
  destruct Hp as [Hs Hp]. inversion_clear Hi as [| ? ? Hu Hi']; simpl in Hu.
  apply alike_trans with (shown s1); [now apply (invisible_law q u) | eauto using reachable_step].
Qed.

Lemma invisible_ahead : forall q v F r (l : list (transition * state)), moves q v F r ->
  Forall (fun e => ~ visible q (fst e)) l -> Forall (fun e => ~ visible r (fst e)) l.
Proof.
  intros q v F r l Hm; apply Forall_impl. intros e He Hv; apply He; eauto using visible_ahead.
Qed.

(** Edges on letters that are alike become one (N2). *)
Lemma compress : forall l q s fs p F r, reachable s -> path s l -> reads q s l fs p ->
  Forall (fun e => ~ visible q (fst e)) l -> moves p (shown (end_of s l)) F r ->
  exists G, moves q (shown s) G r /\ (forall i, has F i -> has G i) /\
    forall i j H, nth_error fs j = Some H -> has H i -> has G i.
Proof.
  induction l as [| [t s1] l IH]; intros q s fs p F r Hr Hp Hrd Hi Hm; inversion Hrd; subst.
  - exists F; repeat split; auto. intros i j H Hj; destruct j; discriminate.
  - destruct Hp as [Hs Hp]. inversion_clear Hi as [| ? ? Ht Hi']; simpl in *.
    destruct (IH r0 s1 fs0 p F r) as [G [HG [H1 H2]]]; eauto using reachable_step, invisible_ahead.
    destruct (N2 q (shown s) F0 r0 G r) as [G' [HG' H3]]; auto.
    + apply alike_moves with (shown s1); auto. apply alike_ahead with q (shown s) F0; auto.
      apply alike_sym. now apply (invisible_law q t).
    + exists G'; repeat split; auto. intros i [| j] H Hj Hh; simpl in Hj.
      * injection Hj as ->. apply H3; auto.
      * apply H3; right; eauto.
Qed.

(** A state that waits on a letter goes on doing so along invisible steps. *)
Lemma wait_along : forall l q s G v, reachable s -> path s l -> Forall (fun e => ~ visible q (fst e)) l ->
  alike q v (shown s) -> moves q v G q -> exists fs, reads q s l fs q.
Proof.
  induction l as [| [t s1] l IH]; intros q s G v Hr Hp Hi Ha Hm; [exists []; constructor |].
  destruct Hp as [Hs Hp]. inversion_clear Hi as [| ? ? Ht Hi']; simpl in Ht.
  assert (Ha1 : alike q v (shown s1)).
  { apply alike_trans with (shown s); auto. now apply (invisible_law q t). }
  destruct (IH q s1 G v) as [fs Hfs]; eauto using reachable_step.
  exists (G :: fs). econstructor; [| exact Hfs]. now apply alike_moves with v.
Qed.

(** ** The sets *)

Variable chosen : node -> transition -> Prop.
Hypothesis chosen_dec : forall n t, {chosen n t} + {~ chosen n t}.

(** Nodes that are reduced in the classic way. Others have sets for the automaton's state ([Steering]). *)
Variable plain : node -> Prop.
Hypothesis plain_dec : forall n, {plain n} + {~ plain n}.
Hypothesis chosen_closed : forall s q, plain (s, q) -> reachable s -> closed M R (chosen (s, q)) s.

(** V: an enabled visible member brings all visible ones. *)
Hypothesis V : forall s q t, plain (s, q) -> reachable s -> chosen (s, q) t -> enabled t s -> visible q t ->
  forall u, visible q u -> chosen (s, q) u.
(** D2 with I: there is a key, an invisible one if something invisible is enabled. *)
Hypothesis I_ : forall s q, plain (s, q) -> reachable s -> ~ deadlock s ->
  exists k, is_key M R (chosen (s, q)) s k /\ ((exists u, enabled u s /\ ~ visible q u) -> ~ visible q k).

(** Kept steps; a deadlock goes on being read. *)
Definition kept (n : node) (a : option transition) : Prop :=
  match a with Some t => chosen n t | None => True end.

Definition expanded (n : node) : Prop := forall t, enabled t (fst n) -> chosen n t.

(** The strong cycle proviso (`opt-scp`): no cycle of the reduced product ignores a transition, that is,
    consists of nodes where it is possible and left out. (In nodes that are not visited let everything be chosen.) A
    cycle proviso asks for more, [cycle_provisos_ignore_nothing]. *)
Definition ignores (t : transition) (n1 n : node) : Prop :=
  plain n /\ enabled t (fst n) /\ ~ chosen n t /\ exists a F, kept n a /\ pstep n a F n1.

(** A live path from a node comes to a member of a set. *)
Definition hitting (T : transition -> Prop) (n : node) : Prop :=
  exists l fs p t F n1, path (fst n) l /\ reads (snd n) (fst n) l fs p /\ avoids T l /\ T t /\
    step t (end_of (fst n) l) (fst n1) /\ moves p (shown (end_of (fst n) l)) F (snd n1) /\ alive n1.

(** *** Where no member comes, an outcome of the key leads to a live node *)

Section Key.

Variables (T : transition -> Prop) (k : transition).
Hypothesis T_dec : forall t, {T t} + {~ T t}.
Hypothesis key_row : forall u, do_not_accord R k u -> T u.

(** Nodes where the key changes nothing for the automaton, as far as a live path goes. *)
Variable spared : node -> Prop.
Hypothesis spared_on : forall n a F n1, spared n -> pstep n a F n1 -> alive n1 ->
  (forall t, a = Some t -> ~ T t) -> spared n1.
Hypothesis spared_reads : forall s q t F n1 y, reachable s -> spared (s, q) -> pstep (s, q) (Some t) F n1 ->
  alive n1 -> step k s y -> exists G, moves q (shown y) G (snd n1) /\ forall i, has F i -> has G i.

Lemma avoids_key_row : forall l, avoids T l -> avoids (do_not_accord R k) l.
Proof. intros l; apply Forall_impl; intros e He Hd; exact (He (key_row _ Hd)). Qed.

(** Nodes from which no member comes. *)
Definition quiet (n : node) : Prop :=
  reachable (fst n) /\ enabled k (fst n) /\ spared n /\ alive n /\ ~ hitting T n.

(** Going round: a path with all marks of a list. *)
Definition goes (is : list mark) (n n1 : node) : Prop :=
  exists l fs, path (fst n) l /\ reads (snd n) (fst n) l fs (snd n1) /\ end_of (fst n) l = fst n1 /\
    avoids T l /\ l <> [] /\ forall i, In i is -> exists j F, nth_error fs j = Some F /\ has F (Some i).

Lemma quiet_step : forall n a F n1, quiet n -> pstep n a F n1 -> alive n1 ->
  exists t, a = Some t /\ ~ T t /\ quiet n1.
Proof.
  intros [s q] a F [s1 r] [Hr [He [Hv [Hal Hno]]]] [Hd Hm] Ha1; simpl in *.
  destruct a as [t |]; simpl in Hd.
  2: { destruct Hd as [Hd _]. destruct (Hd k He). }
  assert (Ht : ~ T t).
  { intros Ht. apply Hno. exists [], [], q, t, F, (s1, r); simpl. repeat split; auto; constructor. }
  exists t; repeat split; auto; simpl.
  - eauto using reachable_step.
  - assert (Hacc : ~ do_not_accord R k t) by (intros Hd'; exact (Ht (key_row t Hd'))).
    assert (Het : enabled t s) by (exists s1; exact Hd).
    destruct (accord_law M R s k t Hr Hacc He Het) as [Hk _]. now apply Hk.
  - apply spared_on with (s, q) (Some t) F; auto; [split; auto |]. intros u E; injection E as <-; exact Ht.
  - intros [l [fs [p [u [G [n2 [H1 [H2 [H3 [H4 [H5 [H6 H7]]]]]]]]]]]]. simpl in *.
    apply Hno. exists ((t, s1) :: l), (F :: fs), p, u, G, n2; simpl; repeat split; auto.
    + econstructor; eauto.
    + constructor; auto.
Qed.

Lemma quiet_goes_to_mark : forall i n d, dist (Some i) n d -> quiet n ->
  exists n1, goes [i] n n1 /\ quiet n1.
Proof.
  intros i n d H; induction H as [n a F n1 _ Hs Hl Hi | n a F n1 d _ Hs Hl _ IH]; intros Hq;
    destruct (quiet_step n a F n1 Hq Hs Hl) as [t [-> [Ht Hq1]]]; destruct n as [s q], n1 as [s1 r],
      Hs as [Hd Hm]; simpl in *.
  - exists (s1, r); split; auto. exists [(t, s1)], [F]; simpl; repeat split; auto; try discriminate.
    + repeat econstructor; eauto.
    + constructor; auto; constructor.
    + intros j [<- | []]. exists 0, F; auto.
  - destruct (IH Hq1) as [n2 [[l [fs [H1 [H2 [H3 [H4 [H5 H6]]]]]]] Hq2]]. exists n2; split; auto.
    exists ((t, s1) :: l), (F :: fs); simpl in *; repeat split; auto; try discriminate.
    + econstructor; eauto.
    + constructor; auto.
    + intros j Hj. destruct (H6 j Hj) as [x [G [Hx Hg]]]. exists (S x), G; auto.
Qed.

Lemma goes_trans : forall is1 is2 n1 n2 n3, goes is1 n1 n2 -> goes is2 n2 n3 -> goes (is1 ++ is2) n1 n3.
Proof.
  intros is1 is2 [s1 q1] [s2 q2] [s3 q3] [l1 [fs1 [A1 [A2 [A3 [A4 [A5 A6]]]]]]]
    [l2 [fs2 [B1 [B2 [B3 [B4 [B5 B6]]]]]]]; simpl in *.
  exists (l1 ++ l2), (fs1 ++ fs2); simpl; repeat split.
  - apply path_app; rewrite A3; auto.
  - eapply reads_app; eauto. now rewrite A3.
  - now rewrite end_app, A3.
  - apply Forall_app; auto.
  - destruct l1; [now destruct A5 | discriminate].
  - intros i Hi; apply in_app_or in Hi; destruct Hi as [Hi | Hi].
    + destruct (A6 i Hi) as [j [F [Hj HF]]]. exists j, F; split; auto.
      rewrite nth_error_app1; auto. apply nth_error_Some; congruence.
    + destruct (B6 i Hi) as [j [F [Hj HF]]]. exists (length fs1 + j), F; split; auto.
      rewrite nth_error_app2; [| lia]. now replace (length fs1 + j - length fs1) with j by lia.
Qed.

(** From a quiet node to another one, with all marks. *)
Lemma quiet_goes_round : forall n, quiet n -> exists n1, quiet n1 /\ goes mark_list n n1.
Proof.
  assert (H : forall is n, quiet n -> exists n1, quiet n1 /\ goes is n n1).
  { induction is as [| i is IH]; intros n Hq.
    - destruct Hq as [H1 [H2 [H3 [H4 H5]]]].
      destruct (alive_step n H4) as [a [F [n1 [Hs Hl]]]].
      assert (Hq : quiet n) by (repeat split; auto).
      destruct (quiet_step n a F n1 Hq Hs Hl) as [t [-> [Ht Hq1]]]. exists n1; split; auto.
      destruct n as [s q], n1 as [s1 r], Hs as [Hd Hm]; simpl in *.
      exists [(t, s1)], [F]; simpl; repeat split; auto; try discriminate.
      + repeat econstructor; eauto.
      + constructor; auto; constructor.
      + intros j [].
    - destruct (live_is_accepting any n (proj1 (proj2 (proj2 (proj2 Hq)))) (Some i)) as [d Hd].
      destruct (quiet_goes_to_mark i n d Hd Hq) as [n1 [H1 Hq1]].
      destruct (IH n1 Hq1) as [n2 [Hq2 H2]]. exists n2; split; auto.
      exact (goes_trans [i] is n n1 n2 H1 H2). }
  intros n; apply H.
Qed.

Lemma goes_weaker : forall is js n n1, (forall i, In i js -> In i is) -> goes is n n1 -> goes js n n1.
Proof.
  intros is js n n1 H [l [fs [H1 [H2 [H3 [H4 [H5 H6]]]]]]]. exists l, fs; repeat split; auto.
Qed.

Lemma steps_go : forall n n1, steps node (goes mark_list) n n1 -> goes mark_list n n1.
Proof.
  induction 1 as [n n1 H | n n1 n2 H _ IH]; auto.
  apply goes_weaker with (mark_list ++ mark_list); [intros i Hi; apply in_or_app; auto |].
  eapply goes_trans; eauto.
Qed.

Lemma spared_along : forall l q s fs p x m, reachable s -> path s l -> avoids T l -> spared (s, q) ->
  alive (end_of s l, p) -> step k s x -> ladder M k x l m -> reads q s l fs p ->
  exists gs, reads q x m gs p /\ forall i j F, nth_error fs j = Some F -> has F i ->
    exists G, nth_error gs j = Some G /\ has G i.
Proof.
  induction l as [| [t s1] l IH]; intros q s fs p x [| [v x1] m] Hr Hp Ha Hsp Hal Hx Hl Hrd;
    simpl in Hl; try tauto; inversion Hrd; subst.
  { exists []; split; [constructor | intros i [| j] F Hj; discriminate]. }
  destruct Hp as [Hs Hp]. destruct Hl as [-> [Hux [Hx1 Hl]]]. inversion_clear Ha as [| ? ? Ht Ha'].
  assert (Hal1 : alive (s1, r)) by eauto using alive_along.
  assert (Hstep : pstep (s, q) (Some v) F (s1, r)) by (split; auto).
  assert (Hsp1 : spared (s1, r)).
  { apply spared_on with (s, q) (Some v) F; auto. intros u E; injection E as <-; exact Ht. }
  destruct (IH r s1 fs0 p x1 m) as [gs [Hg Hgs]]; eauto using reachable_step.
  destruct (spared_reads s q v F (s1, r) x Hr Hsp Hstep Hal1 Hx) as [G [HG HFG]].
  exists (G :: gs). split; [econstructor; eauto |]. intros i [| j] H Hj Hi; simpl in *.
  - injection Hj as <-. exists G; auto.
  - eauto.
Qed.

(** Back along a path, from an outcome of the key at its end to one at its beginning. *)
Lemma key_back : forall n n1 is y, quiet n -> goes is n n1 -> alive n1 -> step k (fst n1) y ->
  exists x, step k (fst n) x /\ goes is (x, snd n) (y, snd n1).
Proof.
  intros [s q] [s1 r] is y [Hr [He [Hv _]]] [l [fs [H1 [H2 [H3 [H4 [H5 H6]]]]]]] Hal Hy; simpl in *.
  rewrite <- H3 in Hy.
  destruct (accords_to_front M R k l s y Hr H1 He (avoids_key_row l H4) Hy) as [x [m [Hx [Hl E]]]].
  exists x; split; auto. destruct (ladder_path M _ _ _ _ Hl) as [Hpm Em].
  destruct (spared_along l q s fs r x m) as [gs [Hrd Hgs]]; auto; [now rewrite H3 |].
  exists m, gs; simpl; repeat split; auto.
  - apply avoids_outside. rewrite Em. now apply avoids_outside.
  - intros ->. destruct l; [now destruct H5 | discriminate].
  - intros i Hi. destruct (H6 i Hi) as [j [F [Hj HF]]]. destruct (Hgs (Some i) j F Hj HF) as [G [HG1 HG2]]. eauto.
Qed.

Theorem a_key_keeps_a_live_node : forall s q, quiet (s, q) -> exists y, step k s y /\ alive (y, q).
Proof.
  intros s q Hq.
  (* A cycle with all marks, after some way. *)
  destruct (cycle_somewhere node node_list same_node (goes mark_list) quiet
    (fun n _ => finitely_many_nodes n) quiet_goes_round (s, q) Hq) as [[c p] [Hc [H1 H2]]].
  apply steps_go in H1, H2.
  (* Each outcome of the key there is reached from an outcome there, once around. *)
  set (back := fun y x : state => goes mark_list (x, p) (y, p)).
  destruct (proj1 (proj2 Hc)) as [y0 Hy0]; simpl in Hy0.
  assert (Htotal : forall y, step k c y -> exists x, step k c x /\ back y x).
  { intros y Hy. destruct (key_back (c, p) (c, p) mark_list y Hc H2 (proj1 (proj2 (proj2 (proj2 Hc)))) Hy) as [x Hx]. exists x; exact Hx. }
  destruct (cycle_somewhere state (map fst node_list) same_state back (step k c)
    (fun y _ => in_map fst node_list (y, p) (finitely_many_nodes (y, p))) Htotal y0 Hy0)
    as [y [Hy [_ Hcyc]]].
  assert (Hgoes : goes mark_list (y, p) (y, p)).
  { assert (Hs : forall a b, steps state back a b -> goes mark_list (b, p) (a, p)).
    { induction 1 as [a b H | a b d H _ IH]; auto.
      apply goes_weaker with (mark_list ++ mark_list); [intros i Hi; apply in_or_app; auto |].
      eapply goes_trans; eauto. }
    apply Hs; auto. }
  assert (Hal : alive (y, p)).
  { destruct Hgoes as [l [fs [A1 [A2 [A3 [A4 [A5 A6]]]]]]]; simpl in *.
    apply cycle_is_live with l fs; auto. intros [i |].
    - apply A6, finitely_many_marks.
    - destruct l as [| e l]; [now destruct A5 |]. inversion A2; subst.
      exists 0, F; split; [reflexivity | exact I]. }
  destruct (key_back (s, q) (c, p) mark_list y Hq H1 (proj1 (proj2 (proj2 (proj2 Hc)))) Hy) as [x [Hx [l [fs [A1 [A2 [A3 _]]]]]]].
  exists x; split; [exact Hx |]. simpl in *. apply alive_along with l fs p; auto. now rewrite A3.
Qed.

End Key.

(** *** One kept step *)

(** The way to a mark that begins with an action. *)
Definition dist_by (i : option mark) (a : option transition) (n : node) (d : nat) : Prop :=
  exists F n1, pstep n a F n1 /\ alive n1 /\ (d = 1 /\ has F i \/ exists e, d = S e /\ dist i n1 e).

Lemma dist_begins : forall i n d, dist i n d -> exists a, dist_by i a n d.
Proof.
  intros i n d H. inversion H as [? a F n1 _ Hs Hl Hi | ? a F n1 e _ Hs Hl He]; subst;
    exists a, F, n1; repeat (split; [assumption |]); [now left | right; now exists e].
Qed.

(** It keeps a live node, and the way to a mark is shorter than before; or as long, and begins with the same
    transition, which is left out here. *)
Definition goes_on (i : option mark) (n : node) (d : nat) (t1 : transition) : Prop :=
  exists a F n1, kept n a /\ pstep n a F n1 /\ alive n1 /\
    (has F i \/ (exists d1, d1 < d /\ dist i n1 d1) \/
     (plain n /\ enabled t1 (fst n) /\ ~ chosen n t1 /\ dist_by i (Some t1) n1 d)).

(** Two edges on the letter of a state become one. *)
Lemma merge : forall s p F r, moves p (shown s) F r -> alive (s, r) ->
  alive (s, p) /\ (forall i, has F i -> dist i (s, p) 1) /\
  (forall i d, dist i (s, r) d -> dist i (s, p) d).
Proof.
  intros s p F r Hm Hal. destruct (alive_step _ Hal) as [a [G [[s1 r1] [[Hd Hm1] Hal1]]]]; simpl in *.
  destruct (N2 p (shown s) F r G r1 Hm Hm1) as [H [HH Hin]].
  assert (Hs : pstep (s, p) a H (s1, r1)) by (split; auto). repeat split.
  - eapply alive_back; eauto.
  - intros i Hi. apply at_once with a H (s1, r1); auto. exact I.
  - clear a G s1 r1 Hd Hm1 Hal1 H HH Hin Hs. intros i d Hdist.
    inversion Hdist as [? a G [s1 r1] _ [Hd Hm1] Hal1 Hi | ? a G [s1 r1] e _ [Hd Hm1] Hal1 He]; subst;
      simpl in *; destruct (N2 p (shown s) F r G r1 Hm Hm1) as [H [HH Hin]].
    + apply at_once with a H (s1, r1); auto; [exact I | split; auto].
    + apply later with a H (s1, r1); auto; [exact I | split; auto].
Qed.

(** An invisible kept step [t] to [x] beside the way [l], which goes on from [x] along [m]: the first letter
    is read twice. *)
Lemma read_twice : forall i s q t x t1 s1 l m fs p d, plain (s, q) -> reachable s ->
  path s ((t1, s1) :: l) -> reads q s ((t1, s1) :: l) fs p -> ~ visible q t -> step t s x ->
  ladder M t x ((t1, s1) :: l) m -> chosen (s, q) t -> ~ chosen (s, q) t1 ->
  alive (end_of x m, p) ->
  (exists j F, nth_error fs j = Some F /\ has F i /\ S j <= d) \/
  (exists e, dist i (end_of x m, p) e /\ S (length l) + e <= d) ->
  goes_on i (s, q) d t1.
Proof.
  intros i s q t x t1 s1 l m fs p d Hplain Hr [Hs Hp] Hrd Hv Hx Hl Ht Ht1 Hal Hmark.
  inversion Hrd as [| ? ? ? ? ? F0 r0 fs0 ? Hm0 Hrd0]; subst.
  destruct m as [| [v x1] m]; [destruct Hl |]. destruct Hl as [<- [Htx [Hx1 Hl]]].
  assert (Hpath := ladder_path M _ _ _ _ Hl). destruct Hpath as [Hpm Em].
  assert (Hlen : length m = length l) by now rewrite <- (map_length fst m), Em, map_length.
  simpl in Hal. assert (Hrm : reads r0 x1 m fs0 p).
  { assert (Hv1 : ~ visible r0 t) by (intros Hv'; apply Hv; eauto using visible_ahead).
    apply (ladder_reads t l r0 s1 fs0 p x1 m); eauto using reachable_step. }
  assert (Hal1 : alive (x1, r0)) by eauto using alive_along.
  assert (Hax : alike q (shown s) (shown x)) by now apply (invisible_law q t).
  (* The rest of the way, after [t1]. *)
  assert (Hrest : has F0 i \/ exists e, S e <= d /\ dist i (x1, r0) e).
  { destruct Hmark as [[[| j] [F [Hj [HF Hle]]]] | [e [He Hle]]]; simpl in *.
    - injection Hj as <-. now left.
    - right; exists (S j); split; auto. eapply dist_at; eauto.
    - right; exists (length m + e); split; [lia |]. eapply dist_along; eauto. }
  assert (Hd : 1 <= d) by (destruct Hmark as [[j [F [_ [_ H]]]] | [e [_ H]]]; lia).
  assert (Het : enabled t1 s) by now exists s1.
  destruct (N1 q (shown s) F0 r0 Hm0) as [[G HG] | [G HG]].
  - assert (Hstep : pstep (x, q) (Some t1) F0 (x1, r0)) by (split; [exact Htx | now apply alike_moves with (shown s)]).
    exists (Some t), G, (x, q). split; [exact Ht | split; [split; auto | split]].
    + eapply alive_back; eauto.
    + right. destruct Hrest as [Hi | [e [Hle He]]].
      * destruct (Nat.eq_dec d 1) as [-> | Hne].
        -- right. split; [exact Hplain | split; [exact Het | split; [exact Ht1 |]]].
           exists F0, (x1, r0). split; [exact Hstep | split; [exact Hal1 | now left]].
        -- left. exists 1; split; [lia |]. apply at_once with (Some t1) F0 (x1, r0); auto. exact I.
      * destruct (Nat.eq_dec d (S e)) as [-> | Hne].
        -- right. split; [exact Hplain | split; [exact Het | split; [exact Ht1 |]]]. exists F0, (x1, r0). split; [exact Hstep | split; [exact Hal1 |]].
           right; exists e; auto.
        -- left. exists (S e); split; [lia |]. apply later with (Some t1) F0 (x1, r0); auto. exact I.
  - assert (Hloop : pstep (x, r0) (Some t1) G (x1, r0)).
    { split; [exact Htx |]. apply alike_moves with (shown s); auto.
      apply alike_ahead with q (shown s) F0; auto. }
    exists (Some t), F0, (x, r0). split; [exact Ht | split; [split; auto | split]].
    + eapply alive_back; eauto.
    + destruct Hrest as [Hi | [e [Hle He]]]; [now left | right].
      destruct (Nat.eq_dec d (S e)) as [-> | Hne].
      * right. split; [exact Hplain | split; [exact Het | split; [exact Ht1 |]]]. exists G, (x1, r0). split; [exact Hloop | split; [exact Hal1 |]].
        right; exists e; auto.
      * left. exists (S e); split; [lia |]. apply later with (Some t1) G (x1, r0); auto. exact I.
Qed.

(** The first member comes on the way. *)
Lemma member_goes_first : forall i s q l fs p t F s' r d, plain (s, q) -> reachable s ->
  path s l -> reads q s l fs p -> avoids (chosen (s, q)) l -> chosen (s, q) t ->
  step t (end_of s l) s' -> moves p (shown (end_of s l)) F r -> alive (s', r) ->
  (exists j G, nth_error (fs ++ [F]) j = Some G /\ has G i /\ S j <= d) \/
  (exists e, dist i (s', r) e /\ S (length l) + e <= d) ->
  forall t1, (match l with [] => t | (u, _) :: _ => u end) = t1 -> goes_on i (s, q) d t1.
Proof.
  intros i s q l fs p t F s' r d Hplain Hr Hp Hrd Ha Ht Hs Hm Hal Hmark t0 E0.
  assert (Hlenfs := reads_length _ _ _ _ _ Hrd).
  destruct l as [| [t1 s1] l].
  - (* At once. *)
    inversion Hrd; subst; simpl in *. exists (Some t0), F, (s', r).
    split; [exact Ht | split; [split; auto | split; [exact Hal |]]].
    destruct Hmark as [[[| j] [G [Hj [HG Hle]]]] | [e [He Hle]]]; simpl in *.
    + injection Hj as <-. left; exact HG.
    + destruct j; discriminate.
    + right; left; exists e; split; [lia | exact He].
  - subst t0. destruct (lemma_A M R (chosen (s, q)) s t _ s' Hr (chosen_closed s q Hplain Hr) Ht Hp Ha Hs)
      as [x [m [Hx [Hl E]]]].
    assert (Ht1 : ~ chosen (s, q) t1) by (inversion Ha; auto).
    destruct (visible_dec q t) as [Hv | Hv].
    + (* All visible ones are members, so that nothing is seen before. *)
      destruct (ladder_path M _ _ _ _ Hl) as [Hpm Em].
      assert (Hlen : length m = S (length l)).
      { rewrite <- (map_length fst m), Em; simpl. now rewrite map_length. }
      assert (Hi : Forall (fun e => ~ visible q (fst e)) ((t1, s1) :: l)).
      { eapply Forall_impl; [| exact Ha]. intros [u z] Hu Hvis; simpl in *.
        apply Hu, (V s q t); auto. exists x; exact Hx. }
      assert (Him : Forall (fun e => ~ visible q (fst e)) m).
      { assert (Hf : Forall (fun u => ~ visible q u) (map fst m)).
        { rewrite Em. apply Forall_map. exact Hi. }
        rewrite Forall_map in Hf; exact Hf. }
      destruct (compress _ q s fs p F r Hr Hp Hrd Hi Hm) as [G [HG [HF Hfs]]].
      assert (Hrx : reachable x) by eauto using reachable_step.
      assert (Himr : Forall (fun e => ~ visible r (fst e)) m) by eauto using invisible_ahead.
      assert (Hax : alike r (shown x) (shown s')).
      { rewrite <- E. now apply invisible_steps. }
      assert (Hgoal : alive (x, r) /\ forall e, dist i (s', r) e ->
        exists d1, dist i (x, r) d1 /\ d1 <= length m + e).
      { split.
        - destruct (alive_step _ Hal) as [a [H [[s2 r2] [[Hd Hm2] Hal2]]]]; simpl in *.
          destruct (N1 r (shown s') H r2 Hm2) as [[L HL] | [L HL]].
          + destruct (wait_along m r x L (shown s') Hrx Hpm Himr) as [gs Hgs]; auto.
            apply alive_along with m gs r; auto. now rewrite E.
          + destruct m as [| [v x1] m]; [discriminate |]. destruct Hpm as [Hvx Hpm].
            inversion_clear Himr as [| ? ? Hvi Him']; simpl in Hvi.
            assert (Him2 : Forall (fun e => ~ visible r2 (fst e)) m) by eauto using invisible_ahead.
            assert (Hrx1 : reachable x1) by eauto using reachable_step.
            simpl in E. assert (Hax1 : alike r2 (shown s') (shown x1)).
            { apply alike_sym. rewrite <- E. now apply invisible_steps. }
            destruct (wait_along m r2 x1 L (shown s') Hrx1 Hpm Him2 Hax1 HL) as [gs Hgs].
            apply alive_back with (Some v) H (x1, r2).
            { split; [exact Hvx |]. now apply alike_moves with (shown s'); auto. }
            apply alive_along with m gs r2; auto. rewrite E.
            apply alive_back with a L (s2, r2); auto. split; auto.
        - intros e He.
          inversion He as [? a H [s2 r2] _ [Hd Hm2] Hal2 Hh | ? a H [s2 r2] e' _ [Hd Hm2] Hal2 He']; subst;
            simpl in *; (destruct (N1 r _ H r2 Hm2) as [[L HL] | [L HL]];
            [ destruct (wait_along m r x L (shown (end_of x m)) Hrx Hpm Himr) as [gs Hgs]; auto;
              eexists; split; [eapply dist_along; eauto | lia]
            | destruct m as [| [v x1] m]; [discriminate |]; destruct Hpm as [Hvx Hpm];
              inversion_clear Himr as [| ? ? Hvi Him']; simpl in Hvi;
              assert (Him2 : Forall (fun e => ~ visible r2 (fst e)) m) by eauto using invisible_ahead;
              assert (Hrx1 : reachable x1) by eauto using reachable_step;
              simpl in *;
              assert (Hax1 : alike r2 (shown (end_of x1 m)) (shown x1))
                by (apply alike_sym; now apply invisible_steps);
              destruct (wait_along m r2 x1 L (shown (end_of x1 m)) Hrx1 Hpm Him2 Hax1 HL) as [gs Hgs];
              assert (Hend : alive (end_of x1 m, r2))
                by (apply alive_back with a L (s2, r2); auto; split; auto);
              assert (Hx1l : alive (x1, r2)) by eauto using alive_along;
              assert (Hfirst : pstep (x, r) (Some v) H (x1, r2))
                by (split; [exact Hvx | now apply alike_moves with (shown (end_of x1 m)); auto]) ]).
          + exists 1; split; [| lia]. apply at_once with (Some v) H (x1, r2); auto. exact I.
          + exists (S (length m + S e')); split; [| lia].
            apply later with (Some v) H (x1, r2); auto; [exact I |].
            eapply dist_along; eauto. apply later with a L (s2, r2); auto; [exact I | split; auto]. }
      destruct Hgoal as [Hgl Hgd].
      exists (Some t), G, (x, r). split; [exact Ht | split; [split; auto | split; [exact Hgl |]]].
      destruct Hmark as [[j [H [Hj [HH Hle]]]] | [e [He Hle]]].
      * left. destruct (le_lt_dec (length fs) j) as [Hge | Hlt].
        -- rewrite nth_error_app2 in Hj by exact Hge.
           destruct (j - length fs) as [| z]; [| destruct z; discriminate].
           simpl in Hj; injection Hj as <-. auto.
        -- rewrite nth_error_app1 in Hj by exact Hlt; eauto.
      * right; left. destruct (Hgd e He) as [d1 [Hd1 Hle1]]. exists d1; split; auto. simpl in *; lia.
    + (* What the automaton reads at the end becomes one edge. *)
      destruct (ladder_reads t _ q s fs p x m Hr Hp Hv Hx Hl Hrd) as [Hrm [Hae _]].
      assert (Hm' : moves p (shown s') F r).
      { rewrite <- E. apply alike_moves with (shown (end_of s ((t1, s1) :: l))); auto. }
      destruct (merge s' p F r Hm' Hal) as [Hal' [HF' Hd']].
      eapply read_twice; eauto.
      * now rewrite E.
      * rewrite E. destruct Hmark as [[j [H [Hj [HH Hle]]]] | [e [He Hle]]].
        -- destruct (le_lt_dec (length fs) j) as [Hge | Hlt].
           ++ rewrite nth_error_app2 in Hj by exact Hge. destruct (j - length fs) as [| z] eqn:Z;
                [| destruct z; discriminate].
              simpl in Hj; injection Hj as <-. right; exists 1; split; auto. simpl in *; lia.
           ++ rewrite nth_error_app1 in Hj by exact Hlt. left; exists j, H; auto.
        -- right; exists e; split; auto. simpl in *; lia.
Qed.

(** On the way to a mark a member comes, or none does, or the run ends. *)
Lemma ways_to_a_mark : forall (T : transition -> Prop), (forall t, {T t} + {~ T t}) ->
  forall i n d, dist i n d ->
  (exists l fs p t F s' r, path (fst n) l /\ reads (snd n) (fst n) l fs p /\ avoids T l /\ T t /\
    step t (end_of (fst n) l) s' /\ moves p (shown (end_of (fst n) l)) F r /\ alive (s', r) /\
    ((exists j G, nth_error (fs ++ [F]) j = Some G /\ has G i /\ S j <= d) \/
     (exists e, dist i (s', r) e /\ S (length l) + e <= d))) \/
  (exists l fs p, path (fst n) l /\ reads (snd n) (fst n) l fs p /\ avoids T l /\ l <> [] /\
    alive (end_of (fst n) l, p) /\ exists j G, nth_error fs j = Some G /\ has G i /\ S j <= d) \/
  (exists l, path (fst n) l /\ avoids T l /\ deadlock (end_of (fst n) l)).
Proof.
  intros T dec i n d H;
    induction H as [[s q] a F [s1 r] _ [Hd Hm] Hal Hi | [s q] a F [s1 r] d _ [Hd Hm] Hal Hdist IH];
    simpl in *; (destruct a as [t |]; [destruct (dec t) as [Ht | Ht] |]).
  - left. exists [], [], q, t, F, s1, r; simpl.
    split; [exact I | split; [constructor | split; [constructor | repeat (split; [assumption |])]]].
    left; exists 0, F; auto.
  - right; left. exists [(t, s1)], [F], r; simpl. repeat split; auto; try discriminate.
    + repeat econstructor; eauto.
    + repeat constructor; auto.
    + exists 0, F; auto.
  - right; right. exists []; simpl. repeat split; [constructor | exact (proj1 Hd)].
  - left. exists [], [], q, t, F, s1, r; simpl.
    split; [exact I | split; [constructor | split; [constructor | repeat (split; [assumption |])]]].
    right; exists d; split; auto.
  - destruct IH as [[l [fs [p [u [G [s' [r' [H1 [H2 [H3 [H4 [H5 [H6 [H7 H8]]]]]]]]]]]]]] |
      [[l [fs [p [H1 [H2 [H3 [H4 [H5 [j [G [H6 [H7 H8]]]]]]]]]]]] | [l [H1 [H2 H3]]]]].
    + left. exists ((t, s1) :: l), (F :: fs), p, u, G, s', r'; simpl. repeat split; auto.
      * econstructor; eauto.
      * constructor; auto.
      * destruct H8 as [[j [G' [Hj [Hg Hle]]]] | [e [He Hle]]].
        -- left; exists (S j), G'; repeat split; auto; lia.
        -- right; exists e; split; auto; lia.
    + right; left. exists ((t, s1) :: l), (F :: fs), p; simpl. repeat split; auto; try discriminate.
      * econstructor; eauto.
      * constructor; auto.
      * exists (S j), G; repeat split; auto; lia.
    + right; right. exists ((t, s1) :: l); simpl. repeat split; auto. constructor; auto.
  - right; right. exists []; simpl. repeat split; [constructor | exact (proj1 Hd)].
Qed.

Lemma visible_along : forall l q s fs p t, reads q s l fs p -> visible p t -> visible q t.
Proof.
  induction l as [| [u s1] l IH]; intros q s fs p t Hrd Hv; inversion Hrd; subst; auto.
  eapply visible_ahead; eauto.
Qed.

(** Lemma D's premise, of every node: decisions about what can be reached are not taken here, so [~ ~]. *)
Theorem some_kept_step_goes_on : forall i s q d t1, plain (s, q) -> reachable s -> alive (s, q) ->
  dist_by i (Some t1) (s, q) d -> ~ ~ goes_on i (s, q) d t1.
Proof.
  intros i s q d t1 Hplain Hr Hal [F1 [[s1 r1] [[Hs1 Hm1] [Hal1 Hd]]]] Hno; simpl in *.
  assert (Het1 : enabled t1 s) by now exists s1.
  assert (Hlive : ~ deadlock s) by (intros Hdead; exact (Hdead t1 Het1)).
  destruct (chosen_dec (s, q) t1) as [Ht1 | Ht1].
  { apply Hno. exists (Some t1), F1, (s1, r1). split; [exact Ht1 | split; [split; auto | split; [exact Hal1 |]]].
    destruct Hd as [[-> Hi] | [e [-> He]]]; [now left | right; left; exists e; auto]. }
  destruct (I_ s q Hplain Hr Hlive) as [k [Hkey Hinv]].
  (* The first step is beside the set; what comes then? *)
  assert (Hways :
    (exists l fs p t F s' r, path s ((t1, s1) :: l) /\ reads q s ((t1, s1) :: l) fs p /\
      avoids (chosen (s, q)) ((t1, s1) :: l) /\ chosen (s, q) t /\ step t (end_of s1 l) s' /\
      moves p (shown (end_of s1 l)) F r /\ alive (s', r) /\
      ((exists j G, nth_error (fs ++ [F]) j = Some G /\ has G i /\ S j <= d) \/
       (exists e, dist i (s', r) e /\ S (length ((t1, s1) :: l)) + e <= d))) \/
    (exists l fs p, path s ((t1, s1) :: l) /\ reads q s ((t1, s1) :: l) fs p /\
      avoids (chosen (s, q)) ((t1, s1) :: l) /\ alive (end_of s1 l, p) /\
      exists j G, nth_error fs j = Some G /\ has G i /\ S j <= d) \/
    (exists l, path s ((t1, s1) :: l) /\ avoids (chosen (s, q)) ((t1, s1) :: l) /\ deadlock (end_of s1 l))).
  { destruct Hd as [[-> Hi] | [e [-> He]]].
    - right; left. exists [], [F1], r1; simpl. repeat split; auto.
      + repeat econstructor; eauto.
      + repeat constructor; auto.
      + exists 0, F1; auto.
    - destruct (ways_to_a_mark (chosen (s, q)) (chosen_dec (s, q)) i (s1, r1) e He)
        as [[l [fs [p [t [F [s' [r [H1 [H2 [H3 [H4 [H5 [H6 [H7 H8]]]]]]]]]]]]]] |
          [[l [fs [p [H1 [H2 [H3 [H4 [H5 [j [G [H6 [H7 H8]]]]]]]]]]]] | [l [H1 [H2 H3]]]]]; simpl in *.
      + left. exists l, (F1 :: fs), p, t, F, s', r; simpl. repeat split; auto.
        * econstructor; eauto.
        * constructor; auto.
        * destruct H8 as [[j [G' [Hj [Hg Hle]]]] | [e' [He' Hle]]].
          -- left; exists (S j), G'; repeat split; auto; lia.
          -- right; exists e'; split; auto; lia.
      + right; left. exists l, (F1 :: fs), p; simpl. repeat split; auto.
        * econstructor; eauto.
        * constructor; auto.
        * exists (S j), G; repeat split; auto; lia.
      + right; right. exists l; simpl. repeat split; auto. constructor; auto. }
  destruct Hways as [[l [fs [p [t [F [s' [r [H1 [H2 [H3 [H4 [H5 [H6 [H7 H8]]]]]]]]]]]]]] |
      [[l [fs [p [H1 [H2 [H3 [H5 [j [G [H6 [H7 H8]]]]]]]]]]] | [l [H1 [H2 H3]]]]].
  - apply Hno; eapply member_goes_first with (l := (t1, s1) :: l); eauto.
  - assert (Hcase : ~ (hitting (chosen (s, q)) (end_of s1 l, p) \/ ~ hitting (chosen (s, q)) (end_of s1 l, p)));
      [| now apply Hcase; right; intros Hh; apply Hcase; left].
    intros [Hh | Hh].
    + destruct Hh as [l2 [fs2 [p2 [t [F [[s' r] [A1 [A2 [A3 [A4 [A5 [A6 A7]]]]]]]]]]]]; simpl in *.
      apply Hno. apply member_goes_first with ((t1, s1) :: l ++ l2) (fs ++ fs2) p2 t F s' r; auto.
      * apply (path_app ((t1, s1) :: l)); auto.
      * apply (reads_app ((t1, s1) :: l)) with p; auto.
      * apply (Forall_app _ ((t1, s1) :: l)); auto.
      * simpl. now rewrite end_app.
      * simpl. now rewrite end_app.
      * left; exists j, G; repeat split; auto. rewrite nth_error_app1.
        -- rewrite nth_error_app1; auto. apply nth_error_Some; congruence.
        -- rewrite app_length. assert (j < length fs) by (apply nth_error_Some; congruence). lia.
    + destruct Hkey as [Hk [Hke Hrow]].
      assert (Hkv : ~ visible q k).
      { destruct (visible_dec q t1) as [Hv1 | Hv1]; [| apply Hinv; now exists t1].
        intros Hv. exact (Ht1 (V s q k Hplain Hr Hk Hke Hv t1 Hv1)). }
      set (spared := fun n : node => ~ visible (snd n) k).
      assert (Hon : forall n a F n1, spared n -> pstep n a F n1 -> alive n1 ->
        (forall t, a = Some t -> ~ chosen (s, q) t) -> spared n1).
      { intros n a F n1 Hn [_ Hm] _ _ Hv. apply Hn; eauto using visible_ahead. }
      assert (Hreads : forall x p t F n1 y, reachable x -> spared (x, p) -> pstep (x, p) (Some t) F n1 ->
        alive n1 -> step k x y -> exists G, moves p (shown y) G (snd n1) /\ forall i, has F i -> has G i).
      { intros x p0 t F n1 y Hrx Hn [_ Hm] _ Hy. exists F; split; auto. apply alike_moves with (shown x); auto.
        now apply (invisible_law p0 k). }
      assert (Hq : quiet (chosen (s, q)) k spared (end_of s ((t1, s1) :: l), p)).
      { repeat split; simpl fst; simpl snd.
        - apply (reachable_path M ((t1, s1) :: l) s Hr H1).
        - apply (stays_enabled M R k ((t1, s1) :: l) s Hr H1 Hke).
          now apply (avoids_key_row (chosen (s, q)) k Hrow).
        - intros Hv; apply Hkv; eapply visible_along; eauto.
        - exact H5.
        - exact Hh. }
      destruct (a_key_keeps_a_live_node (chosen (s, q)) k Hrow spared Hon Hreads _ _ Hq) as [y [Hy Hyal]].
      destruct (accords_to_front M R k ((t1, s1) :: l) s y Hr H1 Hke
        (avoids_key_row (chosen (s, q)) k Hrow _ H3) Hy) as [x [m [Hx [Hl E]]]].
      apply Hno. eapply read_twice; eauto.
      * now rewrite E.
      * left; exists j, G; auto.
  - destruct (lemma_B M R (chosen (s, q)) s k _ Hr Hkey H1 H2) as [y [_ [_ [Hy _]]]].
    apply (H3 k); now exists y.
Qed.

(** ** No accepted run is lost *)

Section LemmaD.

(** Lemma D: from each node some kept step goes on. *)
Hypothesis progress : forall i s q d t1, reachable s -> alive (s, q) -> dist_by i (Some t1) (s, q) d ->
  ~ ~ goes_on i (s, q) d t1.
Hypothesis no_cycle_ignores : forall t, well_founded (ignores t).

Definition met (n : node) : Prop := reachable (fst n) /\ alive n.

Lemma kept_finds : forall i d n, reachable (fst n) -> alive n -> dist i n d ->
  ~ ~ exists e, finds kept met i n e.
Proof.
  intros i d; induction d as [d IH] using lt_wf_ind. intros n Hr Hal Hdist.
  destruct (dist_begins i n d Hdist) as [[t |] Hby]; clear Hdist.
  - (* [t] stays the first step of what is left, as long as no step is gained. *)
    revert n Hr Hal Hby.
    refine (well_founded_ind (no_cycle_ignores t) (fun n => reachable (fst n) -> alive n ->
      dist_by i (Some t) n d -> ~ ~ exists e, finds kept met i n e) _).
    intros [s q] IHn. intros Hr Hal Hby Hno; simpl in Hr.
    apply (progress i s q d t Hr Hal Hby).
    intros [a [F [[s1 r] [Hk [Hs [Hal1 Hmark]]]]]].
    assert (Hr1 : reachable s1).
    { destruct Hs as [Hd _]; simpl in Hd. destruct a as [u |]; [eauto using reachable_step |].
      destruct Hd as [_ ->]; exact Hr. }
    assert (Hmet : met (s1, r)) by (split; auto).
    destruct Hmark as [Hi | [[d1 [Hlt Hd1]] | [Hplain [Het [Hout Hd1]]]]].
    + apply Hno. exists 1. eapply at_once; eauto.
    + apply (IH d1 Hlt (s1, r)); auto. intros [e He]. apply Hno. exists (S e). eapply later; eauto.
    + apply (IHn (s1, r)); auto.
      * repeat split; auto. exists a, F; auto.
      * intros [e He]. apply Hno. exists (S e). eapply later; eauto.
  - (* A deadlock is repeated. *)
    destruct Hby as [F [[s1 r] [Hs [Hal1 Hd]]]]. intros Hno.
    assert (Hr1 : reachable s1) by (destruct Hs as [[_ E] _]; simpl in E; now rewrite E).
    assert (Hmet : met (s1, r)) by (split; auto).
    destruct Hd as [[-> Hi] | [e [-> He]]].
    + apply Hno. exists 1. apply at_once with None F (s1, r); auto. exact I.
    + apply (IH e ltac:(lia) (s1, r)); auto. intros [e' He'].
      apply Hno. exists (S e'). apply later with None F (s1, r); auto. exact I.
Qed.

Theorem lemma_D : forall n, reachable (fst n) -> live any n -> ~ ~ live kept n.
Proof.
  intros n Hr Hal Hno.
  assert (Hall : ~ ~ forall m, In m node_list -> met m ->
    forall i, In i (None :: map Some mark_list) -> exists d, finds kept met i m d).
  { apply for_all_in_list. intros m _ Hm.
    assert (Hone : ~ ~ (met m -> forall i, In i (None :: map Some mark_list) ->
      exists d, finds kept met i m d)); [| exact (Hone Hm)].
    intros Hn. assert (Hmet : ~ ~ met m) by (intros H; apply Hn; intros H'; destruct (H H')).
    apply Hmet; intros [H1 H2].
    assert (Hmarks : ~ ~ forall i, In i (None :: map Some mark_list) -> exists d, finds kept met i m d).
    { apply for_all_in_list. intros i _ Hi.
      destruct (live_is_accepting any m H2 i) as [d Hd]. exact (kept_finds i d m H1 H2 Hd Hi). }
    apply Hmarks; intros H; apply Hn; auto. }
  apply Hall; intros H. apply Hno. exists met. split; [| split; auto].
  intros m Hm i. apply H; auto.
  destruct i as [i |]; [right; now apply in_map | now left].
Qed.

End LemmaD.

(** Classic nodes, and others from which the way becomes shorter. *)
Section Mixed.

Hypothesis others_go_on : forall i s q d, ~ plain (s, q) -> reachable s -> alive (s, q) -> dist i (s, q) d ->
  ~ ~ exists a F n1, kept (s, q) a /\ pstep (s, q) a F n1 /\ alive n1 /\
    (has F i \/ exists d1, d1 < d /\ dist i n1 d1).
Hypothesis no_cycle_ignores : forall t, well_founded (ignores t).

Theorem accepted_runs_are_kept : forall n, reachable (fst n) -> live any n -> ~ ~ live kept n.
Proof.
  apply lemma_D; [| exact no_cycle_ignores]. intros i s q d t1 Hr Hal Hby Hno.
  destruct (plain_dec (s, q)) as [Hp | Hp].
  - exact (some_kept_step_goes_on i s q d t1 Hp Hr Hal Hby Hno).
  - assert (Hd : dist i (s, q) d).
    { destruct Hby as [F [n1 [Hs [Hal1 [[-> Hi] | [e [-> He]]]]]]].
      - eapply at_once; eauto. exact I.
      - eapply later; eauto. exact I. }
    apply (others_go_on i s q d Hp Hr Hal Hd). intros [a [F [n1 [Hk [Hs [Hal1 Hm]]]]]].
    apply Hno. exists a, F, n1. repeat (split; [assumption |]). destruct Hm as [Hi | [d1 [Hlt Hd1]]]; [now left |].
    right; left; exists d1; auto.
Qed.

(** What a `holds` says: no accepted run in the reduced product, so none at all. *)
Corollary holds_is_right : forall n, reachable (fst n) -> ~ live kept n -> ~ live any n.
Proof. intros n Hr Hno Hal. exact (accepted_runs_are_kept n Hr Hal Hno). Qed.

End Mixed.

End Temporal.

(** Where every cycle has an expanded node, nothing is ignored on any cycle. *)
Theorem cycle_provisos_ignore_nothing : forall (M : system) letter astate mark shown moves chosen plain,
  well_founded (fun n1 n => plain n /\ ~ expanded M astate chosen n /\
    exists a F, kept M astate chosen n a /\ pstep M letter astate mark shown moves n a F n1) ->
  forall t, well_founded (ignores M letter astate mark shown moves chosen plain t).
Proof.
  intros M letter astate mark shown moves chosen plain Hwf t n. induction n as [n IH] using (well_founded_ind Hwf).
  constructor. intros n1 [Hp [He [Hno Hstep]]]. apply IH. repeat split; auto.
Qed.
