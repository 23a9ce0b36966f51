(** Safety provisos: what each of them promises is what [Goals.proviso_keeps_the_goal] asks for.

    `stubborn-search/src/proviso`: closed set, stack, terminal components; and levels (searches in several
    processes and on graphics cards). A search is seen by the times at which it does things. The proofs
    follow *some* kept successor, whatever the outcome of its step; that any outcome will do afterwards is the
    concern of [Goals.meets_law].

    Why it matters: a proviso that promises less ignores steps for ever, see [Ignoring]. *)

From Coq Require Import List Bool Arith Lia Wf_nat.
From Stubborn Require Import Deadlocks Closed Goals Outcomes Ignoring.
Import ListNotations.

(** ** Graphs *)

Section Graph.

(** States that were visited, and the edges that were explored, those of expanded states included. *)
Variable node : Type.
Variable visited : node -> Prop.
Variable edge : node -> node -> Prop.
Hypothesis visited_edge : forall x y, visited x -> edge x y -> visited y.

(** Nothing is left out, or there is nothing to do. *)
Variable settled : node -> Prop.

Inductive reach : node -> node -> Prop :=
| here : forall x, reach x x
| further : forall x y z, edge x y -> reach y z -> reach x z.

Definition leads_to_settled (x : node) : Prop := exists y, reach x y /\ settled y.

Lemma reach_trans : forall x y z, reach x y -> reach y z -> reach x z.
Proof. induction 1; eauto using further. Qed.

Lemma reach_leads : forall x y, reach x y -> leads_to_settled y -> leads_to_settled x.
Proof. intros x y H [z [Hz Hs]]; exists z; eauto using reach_trans. Qed.

(** All proofs follow successors along which a number grows, up to a bound. *)
Lemma climbing : forall (height : node -> nat) bound,
  (forall x, visited x -> height x <= bound) ->
  (forall x, visited x -> leads_to_settled x \/ exists y, edge x y /\ height x < height y) ->
  forall x, visited x -> leads_to_settled x.
Proof.
  intros height bound Hb Hstep.
  assert (H : forall n x, visited x -> bound - height x < n -> leads_to_settled x).
  { induction n as [| n IH]; intros x Hx Hn; [lia |].
    destruct (Hstep x Hx) as [Hs | [y [Hy Hlt]]]; [exact Hs |].
    apply reach_leads with y; [econstructor; [exact Hy | constructor] |].
    assert (Hv := visited_edge x y Hx Hy). apply IH; auto. specialize (Hb y Hv); lia. }
  intros x Hx; apply (H (S (bound - height x))); auto.
Qed.

(** *** Closed set *)

Section ClosedSet.

(** When the expansion of a state began (it is closed from then on), and when the proviso was asked. Finitely
    many states are visited. *)
Variables began asked : node -> nat.
Variable bound : nat.
Hypothesis finitely_many : forall x, visited x -> began x <= bound.
Hypothesis asked_later : forall x, visited x -> began x <= asked x.
(** `ruling`: it stays reduced if not all kept successors are `Known::Closed`. On several threads the
    order of times is that of sequentially consistent marks. *)
Hypothesis ruling : forall x, visited x -> ~ settled x -> exists y, edge x y /\ asked x < began y.
Hypothesis settled_dec : forall x, {settled x} + {~ settled x}.

Theorem closed_set_proviso : forall x, visited x -> leads_to_settled x.
Proof.
  apply climbing with began bound; auto. intros x Hx. destruct (settled_dec x) as [Hs | Hs].
  - left; exists x; split; [constructor | exact Hs].
  - right. destruct (ruling x Hx Hs) as [y [Hy Hlt]]. exists y; split; auto.
    specialize (asked_later x Hx); lia.
Qed.

End ClosedSet.

(** *** Stack *)

Section Stack.

(** When a state entered the depth-first stack, when the proviso was asked, and when it left. *)
Variables entered asked left : node -> nat.
Hypothesis in_order : forall x, visited x -> entered x <= asked x <= left x.
(** Depth-first: what enters while a state is on the stack leaves before it. *)
Hypothesis nested : forall x y, visited x -> visited y -> asked x < entered y -> entered y <= left x ->
  left y < left x.
(** What a kept successor enters, it enters before the state leaves. *)
Hypothesis explored : forall x y, visited x -> edge x y -> entered y <= left x.
(** `ruling`: it stays reduced if not all kept successors are `Known::OnStack`. *)
Hypothesis ruling : forall x, visited x -> ~ settled x ->
  exists y, edge x y /\ ~ (entered y <= asked x <= left y).
Hypothesis settled_dec : forall x, {settled x} + {~ settled x}.

Theorem stack_proviso : forall x, visited x -> leads_to_settled x.
Proof.
  assert (H : forall n x, visited x -> left x < n -> leads_to_settled x).
  { induction n as [| n IH]; intros x Hx Hn; [lia |]. destruct (settled_dec x) as [Hs | Hs].
    - exists x; split; [constructor | exact Hs].
    - destruct (ruling x Hx Hs) as [y [Hy Hno]]. assert (Hv := visited_edge x y Hx Hy).
      apply reach_leads with y; [econstructor; [exact Hy | constructor] |]. apply IH; auto.
      destruct (le_lt_dec (entered y) (asked x)) as [He | He].
      + assert (left y < asked x) by lia. specialize (in_order x Hx); lia.
      + specialize (nested x y Hx Hv He (explored x y Hx Hy)); lia. }
  intros x Hx; apply (H (S (left x))); auto.
Qed.

End Stack.

(** *** Levels *)

Theorem level_proviso : forall (level : node -> nat) bound,
  (forall x, visited x -> level x <= bound) ->
  (forall x, visited x -> {settled x} + {~ settled x}) ->
  (** `put_back`, `LEADS_ON`. *)
  (forall x, visited x -> ~ settled x -> exists y, edge x y /\ level y = S (level x)) ->
  forall x, visited x -> leads_to_settled x.
Proof.
  intros level bound Hb Hdec Hrule. apply climbing with level bound; auto.
  intros x Hx. destruct (Hdec x Hx) as [Hs | Hs].
  - left; exists x; split; [constructor | exact Hs].
  - right. destruct (Hrule x Hx Hs) as [y [Hy E]]. exists y; split; auto; lia.
Qed.

(** *** Terminal components *)

Section Terminal.

Variables began : node -> nat.
Variable bound : nat.
Hypothesis finitely_many : forall x, visited x -> began x <= bound.
(** Those that were put off: all their kept successors were closed. *)
Variable put_off : node -> Prop.
Hypothesis ruling : forall x, visited x ->
  settled x \/ put_off x \/ exists y, edge x y /\ began x < began y.

(** `Settling`: a component is finished after what it leads to; if none of its states leads out, its first
    state is expanded. [finished] is the number of the component of a state, as in `finish`. *)
Variable formed : node -> Prop.
Variable finished : node -> nat.
Hypothesis put_off_are_formed : forall x, visited x -> put_off x -> formed x.
Hypothesis finish : forall x, formed x ->
  (** `leads_out`: to what is expanded or a deadlock, or to a component that was finished before. *)
  (exists y, reach x y /\ settled y) \/
  (exists y, reach x y /\ formed y /\ finished y < finished x).

Theorem formed_leads : forall x, formed x -> leads_to_settled x.
Proof.
  assert (H : forall n x, formed x -> finished x < n -> leads_to_settled x).
  { induction n as [| n IH]; intros x Hx Hn; [lia |].
    destruct (finish x Hx) as [Hs | [y [Hy [Hf Hlt]]]]; [exact Hs |].
    apply reach_leads with y; auto. apply IH; auto; lia. }
  intros x Hx; apply (H (S (finished x))); auto.
Qed.

Theorem terminal_proviso : forall x, visited x -> leads_to_settled x.
Proof.
  apply climbing with began bound; auto. intros x Hx.
  destruct (ruling x Hx) as [Hs | [Hp | Hy]]; auto.
  - left; exists x; split; [constructor | exact Hs].
  - left; apply formed_leads; auto.
Qed.

End Terminal.

End Graph.

(** Expanding more, later, only helps: what leads to a settled state goes on doing so. *)
Lemma more_edges : forall node (edge edge' : node -> node -> Prop) (settled settled' : node -> Prop),
  (forall x y, edge x y -> edge' x y) -> (forall x, settled x -> settled' x) ->
  forall x, leads_to_settled node edge settled x -> leads_to_settled node edge' settled' x.
Proof.
  intros node edge edge' settled settled' He Hs x [y [Hr Hy]]. exists y; split; auto.
  clear Hy; induction Hr; econstructor; eauto.
Qed.

(** ** Systems *)

Section Systems.

Variables (M : system) (chosen : state M -> transition M -> Prop) (initial : state M).

Definition visited (s : state M) : Prop := reduced M chosen initial s.
Definition kept_edge (s s1 : state M) : Prop := exists t, chosen s t /\ step t s s1.
Definition nothing_left_out (s : state M) : Prop := full M chosen s \/ deadlock M s.

Lemma visited_kept : forall s s1, visited s -> kept_edge s s1 -> visited s1.
Proof.
  unfold visited; induction 1 as [s | t s s' s'' Ht Hs Hr IH]; intros [u [Hu Hstep]].
  - econstructor; eauto. constructor.
  - econstructor; eauto. apply IH. exists u; auto.
Qed.

(** What a proviso promises of the graph is what the theorem about goals asks for. *)
Theorem proviso_of_the_graph :
  (forall s, visited s -> leads_to_settled (state M) kept_edge nothing_left_out s) ->
  forall s, reduced M chosen initial s ->
  exists f, reduced M chosen s f /\ (full M chosen f \/ deadlock M f).
Proof.
  intros H s Hs. destruct (H s Hs) as [f [Hr Hf]]. exists f; split; auto. clear Hs Hf H.
  induction Hr as [s | s s1 f [t [Ht Hstep]] _ IH]; [constructor | econstructor; eauto].
Qed.

End Systems.

(** ** An instance: the closed-set proviso on the system of [Ignoring] *)

(** The bit is switched for ever; where it is set, the successor was closed, so that everything is taken. *)
Definition began (s : State) : nat :=
  match s with (false, false) => 0 | (true, false) => 1 | (true, true) => 2 | (false, true) => 3 end.

Theorem closed_set_on_the_example : forall s, visited M mended initial s ->
  leads_to_settled State (kept_edge M mended) (nothing_left_out M mended) s.
Proof.
  assert (Hfull : forall b p, b || p = true -> nothing_left_out M mended (b, p)).
  { intros b p H; left; now apply all_taken. }
  apply closed_set_proviso with began began 3.
  - intros x y Hx Hy. exact (visited_kept M mended initial x y Hx Hy).
  - intros [[] []] _; simpl; lia.
  - auto.
  - intros [[] []] _ Hn; try (destruct Hn; apply Hfull; reflexivity).
    exists (true, false); split; [| simpl; lia]. exists switch; split; [exact I | reflexivity].
  - intros [[] []]; try (left; apply Hfull; reflexivity).
    right. intros [H | H].
    + specialize (H Ignoring.reach). assert (E : chosen (fun b => b) (false, false) Ignoring.reach).
      { apply H. exists (false, true); reflexivity. } simpl in E; discriminate.
    + apply (H switch). exists (true, false); reflexivity.
Qed.
