(** Sets made of whole processes: `ample1` and `ample2`.

    `Processes` and `Ample` of `stubborn-reduce/src/ample.rs`. The set is all transitions of the chosen
    processes. Of a process, what is at its present location (or at none) is looked at: an enabled one has
    its do-not-accord row in the set, a disabled one all that may enable any of its guards. Others are
    disabled by where the process is. That it stays there is a matter of whoever moves its program
    counter, or of an enabled transition of that location: that one stays enabled.

    Why it matters: no row is needed for what is at other locations, which is most of a process. Propositions
    1 and 2 of Geldenhuys, Hansen, Valmari (2009) leave out what is asked for here: something enabled, and
    whoever else moves the counter. *)

From Coq Require Import List Bool Arith.
From Stubborn Require Import Deadlocks Closed Tables.
Import ListNotations.

Section Ample.

Context {M : system} {R : relations M} (tb : tables R).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).

Variable s : state M.
Variable now : transition -> bool.
Hypothesis now_tells : forall t, now t = true <-> enabled t s.

(** Processes; a transition without one is a process of its own, a rendez-vous belongs to two. *)
Variable process : Type.
Variable belongs : transition -> process -> Prop.

(** `Process::location`, as labels: being at a location is a guard of what starts there. *)
Variable at_location : process -> nat -> label M.
Variable source : transition -> process -> option nat.
Hypothesis source_is_a_guard : forall t p l, source t p = Some l -> guard t (at_location p l).
Hypothesis one_location : forall p l l', l <> l' -> never_together R (at_location p l) (at_location p l').
Variable here : process -> nat.
Hypothesis is_here : forall p, holds (at_location p (here p)) s = true.

(** The chosen processes: one, or all that can be reached from one in the conflict graph. *)
Variable chosen : process -> Prop.

Definition ample (t : transition) : Prop := exists p, chosen p /\ belongs t p.

(** In the lists that `draw` goes through. *)
Definition is_looked_at (t : transition) (p : process) : Prop :=
  source t p = None \/ source t p = Some (here p).

(** `dependent`. *)
Hypothesis enabled_rows : forall t p u, chosen p -> belongs t p -> is_looked_at t p -> now t = true ->
  In u (accord_row tb t) -> ample u.
(** `preceding`; of low priority: everybody. *)
Hypothesis disabled_rows : forall t p, chosen p -> belongs t p -> is_looked_at t p -> now t = false ->
  (forall u, ample u) \/
  (exists g, In g (guards tb t) /\ holds g s = false) /\
  forall g u, In g (guards tb t) -> In u (enable_row tb g) -> ample u.
(** `remote_writers`, unless an enabled transition starts at the location (`unlocated` is false and
    something is enabled). *)
Hypothesis counters : forall p, chosen p ->
  (forall u, may_disable R (at_location p (here p)) u -> ample u) \/
  exists t, belongs t p /\ now t = true /\ source t p = Some (here p).

Hypothesis reachable_here : reachable s.

Lemma enabled_ones_are_looked_at : forall t p, enabled t s -> is_looked_at t p.
Proof.
  intros t p [y Hy]; unfold is_looked_at. destruct (source t p) as [l |] eqn:E; auto. right.
  destruct (Nat.eq_dec l (here p)) as [-> | Hl]; auto. exfalso.
  assert (Hg := guards_hold M s t _ reachable_here (step_offered M _ _ _ reachable_here Hy)
    (source_is_a_guard t p l E)).
  rewrite (never_together_law M R s _ (at_location p (here p))) in Hg; auto. discriminate.
Qed.

Theorem enabled_ones_are_keys : forall t, ample t -> now t = true -> has_key tb ample s t.
Proof.
  intros t [p [Hp Ht]] N. assert (He : enabled t s) by now apply now_tells.
  split; [now exists p | split; [exact He |]]. intros u Hu.
  apply (enabled_rows t p); auto using enabled_ones_are_looked_at.
Qed.

Theorem ample_is_complete : complete tb ample s /\ complete_strong tb ample s.
Proof.
  split.
  2: { intros t Ht He u Hu. apply (enabled_ones_are_keys t); auto. now apply now_tells. }
  intros t [p [Hp Ht]]. destruct (now t) eqn:N.
  { right; left. destruct (enabled_ones_are_keys t) as [_ H]; auto. now exists p. }
  left. destruct (source t p) as [l |] eqn:E.
  2: { destruct (disabled_rows t p) as [Hall | [[g [Hg Hf]] Hrow]]; auto; [now left | now apply by_everything |].
       apply by_guard with g; auto; [now apply (guards_are_guards R tb) |].
       intros u Hu. apply (Hrow g); auto. now apply (enable_row_is_whole R tb). }
  destruct (Nat.eq_dec l (here p)) as [-> | Hl].
  { destruct (disabled_rows t p) as [Hall | [[g [Hg Hf]] Hrow]]; auto; [now right | now apply by_everything |].
    apply by_guard with g; auto; [now apply (guards_are_guards R tb) |].
    intros u Hu. apply (Hrow g); auto. now apply (enable_row_is_whole R tb). }
  destruct (counters p Hp) as [Hw | [k [Hk [Nk Ek]]]].
  - apply by_excluder with (at_location p l) (at_location p (here p)); auto.
  - apply by_key_guard with k (at_location p l) (at_location p (here p)); auto.
    apply has_key_is_key with tb. apply enabled_ones_are_keys; auto. now exists p.
Qed.

End Ample.
