(** The algorithms at work, on the system of [Ignoring] in its first state: what they find is computed, and is less than
    everything.

    Why it matters: theorems about algorithms that never find anything would be easy. *)

From Coq Require Import List Bool Arith Lia.
From Stubborn Require Import Deadlocks Closed Goals Outcomes Ignoring Tables Growth Deletion Components Local.
Import ListNotations.

Lemma same_transition : forall t u : Transition, {t = u} + {t <> u}.
Proof. decide equality. Defined.

Definition tb : tables R.
Proof.
  refine (Build_tables M R [switch; reach] same_transition
    (fun t : Transition => match t with switch => [] | reach => [waiting] end) (fun _ => [])
    (fun g : Label => match g with Ignoring.reached => [reach] | waiting => [] end)
    (fun g : Label => match g with Ignoring.reached => [] | waiting => [reach] end)
    (fun t : Transition => [t]) (fun _ => [switch; reach]) (fun _ => 0) _ _ _ _ _ _ _ _).
  - intros []; simpl; auto.
  - intros [] g; simpl; [intros [] | intros [<- | []]; reflexivity].
  - intros t h [].
  - intros [] u [E ->]; try discriminate; now left.
  - intros [] u [E ->]; try discriminate; now left.
  - intros t u E; left; exact E.
  - intros t [] _; simpl; auto.
  - intros k t H; simpl in H; lia.
Defined.

Definition s : state M := initial.
Definition now (t : Transition) : bool := true.

Lemma now_tells : forall t, now t = true <-> enabled M t s.
Proof.
  intros []; split; auto; intros _; [exists (true, false) | exists (false, true)]; reflexivity.
Qed.

(** The first enabling set that may be used. *)
Definition plain_policy : policy tb s.
Proof.
  refine {| weak := false; keeps_key := false; prefers_left := fun _ _ => false;
    choice := fun _ (t : transition M) => find (usable s) (options tb t) |}.
  intros g t e H. now apply find_some in H.
Defined.

Definition nothing_noted (g : @growth M) (e : @enabling_set M) : list Transition := [].

(** `closure`, `beam`: from [switch], that is all. *)
Theorem a_grown_set : members (start tb now switch) = [switch] /\
  exists g, beam tb s now plain_policy nothing_noted [go 1; go 0; go 0] [Some (start tb now reach); Some (start tb now switch)] = Some g /\
    members g = [switch] /\ has_key tb (grown g) s switch.
Proof.
  split; [reflexivity |]. eexists; split; [reflexivity | split; [reflexivity |]].
  split; [now left | split; [now apply (now_tells switch) | intros u [<- | []]; now left]].
Qed.

(** `goal`: to reach, [reach] alone. *)
Theorem a_set_for_the_goal : exists g,
  step tb s now plain_policy nothing_noted (add_row tb now (add_row tb now (@empty M) []) (row_of tb (own (M := M) Ignoring.reached))) = more g /\
  step tb s now plain_policy nothing_noted g = done /\ members g = [reach].
Proof. eexists; repeat split; reflexivity. Qed.

(** `deletion`: one of the two goes, the other one must stay. *)
Theorem a_set_by_deletion : exists d, delete_from_all tb s now false (fun _ => true) 5 [reach; switch] = Some d /\
  keys d = [switch] /\ others d = [].
Proof. eexists; repeat split; reflexivity. Qed.

(** `lpor`: [reach] can be fired without [switch], which does not depend on it. *)
Theorem a_local_set :
  compute_reach tb s now [switch] 3 = Some [reach] /\
  is_threat tb (fun t => [t]) (fun t => [t]) false switch [switch] [reach] = false.
Proof. split; reflexivity. Qed.

(** All of these are closed, and keep what they must, by the theorems about them. *)
Theorem they_are_complete :
  (forall schedule, complete tb (Growth.result (beam tb s now plain_policy nothing_noted schedule
    (map (fun k => Some (start tb now k)) [reach; switch]))) s) /\
  (forall fuel order, complete tb (Deletion.result (delete_from_all tb s now false (fun _ => true) fuel order)) s).
Proof.
  split.
  - intros schedule. apply (grown_sets_are_complete tb s now now_tells plain_policy nothing_noted).
    + intros g e t [].
    + apply beam_is_grown_from_a_key. apply contexts_of_starts. repeat constructor.
  - intros fuel order. apply (deletion_is_complete tb s now now_tells false (fun _ => true) fuel order).
    exists switch; auto.
Qed.
