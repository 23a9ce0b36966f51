(** Sets that shrink: `deletion` and `clodel` end complete and keep an eligible key, whatever the order of
    deletion.

    `Deletion` of `stubborn-reduce/src/deletion.rs`: keys have their do-not-accord row in the set; others
    are disabled, with a whole enabling set, or (in weak sets) enabled, with their do-not-left-accord row.
    What leaves takes with it whatever relied on it; an attempt that leaves no eligible key, or takes what
    cannot leave, is undone. Strategies are an arbitrary list of attempts, and `minimise` is a few such lists.

    Why it matters: deletion follows the rows backwards. A row that is followed in the wrong direction, or
    an enabling set that is counted as whole, would lose states. *)

From Coq Require Import List Bool Arith Lia.
From Stubborn Require Import Deadlocks Closed Tables.
Import ListNotations.

Section Deletion.

Context {M : system} {R : relations M} (tb : tables R).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation enabled := (enabled M).
Local Notation enabling_set := (@enabling_set M).

Variable s : state.
Variable now : transition -> bool.
Hypothesis now_tells : forall t, now t = true <-> enabled t s.

Variable weak : bool.
(** Enabled transitions that may serve as the key: all, or the invisible ones. *)
Variable eligible : transition -> bool.

(** What is in the set, what has left and was worked off ([gone]; an enabling set is `broken` if it meets
    these), and what is leaving. *)
Record deletion := {
  keys : list transition;
  others : list transition;
  gone : list transition;
  leaving : list transition
}.

Definition contains (d : deletion) (t : transition) : Prop := In t (keys d) \/ In t (others d).

Definition without (t : transition) (l : list transition) : list transition :=
  filter (fun u => negb (mem tb u [t])) l.

(** `is_supported`: an enabling set that may be used, and is not broken. *)
Definition broken (gone : list transition) (e : enabling_set) : bool :=
  existsb (fun u => mem tb u gone) (row_of tb e).

Definition is_supported (gone : list transition) (t : transition) : bool :=
  existsb (fun e => usable s e && negb (broken gone e)) (options tb t).

(** `cascade`, one round: [t] is worked off. *)
Definition work_off (d : deletion) (t : transition) (rest : list transition) : deletion :=
  let gone' := t :: gone d in
  let keys' := filter (fun u => negb (mem tb t (accord_row tb u))) (keys d) in
  let others' := filter (fun u =>
    if now u then negb (mem tb t (left_row tb u)) else is_supported gone' u) (others d) in
  let left u := negb (mem tb u (keys' ++ others')) in
  {| keys := keys'; others := others'; gone := gone';
     leaving := filter left (keys d ++ others d) ++ rest |}.

(** `cascade`; [None] where no eligible key is left, or what is stuck would leave. (Or where there is too
    little [fuel]; an attempt that is given up is undone, so that does no harm.) *)
Fixpoint cascade (fuel : nat) (stuck : list transition) (d : deletion) : option deletion :=
  match fuel, leaving d with
  | _, [] => if existsb eligible (keys d) then Some d else None
  | 0, _ => None
  | S fuel, t :: rest =>
    if mem tb t stuck || negb (existsb eligible (keys d)) then None
    else cascade fuel stuck (work_off d t rest)
  end.

(** `attempt`: the new set, or the old one, and then [t] is stuck. *)
Definition attempt (fuel : nat) (stuck : list transition) (d : deletion) (t : transition) : option deletion :=
  cascade fuel stuck
    {| keys := without t (keys d); others := without t (others d); gone := gone d; leaving := [t] |}.

Fixpoint attempts (fuel : nat) (stuck : list transition) (d : deletion) (order : list transition) : deletion :=
  match order with
  | [] => d
  | t :: order =>
    match attempt fuel stuck d t with
    | Some d' => attempts fuel stuck d' order
    | None => attempts fuel (t :: stuck) d order
    end
  end.

(** ** What holds all along *)

(** [pending]: disabled members that nothing enables, before they are deleted too (those of low priority). *)
Record sound (pending : list transition) (d : deletion) : Prop := {
  keys_are_enabled : forall t, In t (keys d) -> now t = true;
  keys_are_whole : forall t u, In t (keys d) -> In u (accord_row tb t) -> ~ In u (gone d);
  others_move_left : forall t u, In t (others d) -> now t = true ->
    In u (left_row tb t) -> ~ In u (gone d);
  others_are_supported : forall t, In t (others d) -> now t = false ->
    In t pending \/ is_supported (gone d) t = true;
  strong_has_keys_only : weak = false -> forall t, In t (others d) -> now t = false;
  nobody_is_missing : forall t, contains d t \/ In t (gone d) \/ In t (leaving d)
}.

Lemma without_spec : forall t l u, In u (without t l) <-> In u l /\ u <> t.
Proof.
  intros t l u; unfold without; rewrite filter_In, negb_true_iff, mem_false; simpl.
  split; intros [H1 H2]; split; auto.
  intros [E | []]; auto.
Qed.

Lemma supported_spec : forall g t, is_supported g t = true <->
  exists e, In e (options tb t) /\ usable s e = true /\ forall u, In u (row_of tb e) -> ~ In u g.
Proof.
  intros g t; unfold is_supported; rewrite existsb_exists; split.
  - intros [e [He Hu]]. apply andb_prop in Hu; destruct Hu as [Hu Hb].
    exists e; repeat split; auto. intros u Hin Hg. apply negb_true_iff in Hb.
    unfold broken in Hb. assert (existsb (fun u => mem tb u g) (row_of tb e) = true); [| congruence].
    apply existsb_exists; exists u; split; auto. now apply mem_spec.
  - intros [e [He [Hu Hb]]]; exists e; split; auto. rewrite Hu; simpl. apply negb_true_iff.
    unfold broken. destruct (existsb (fun u => mem tb u g) (row_of tb e)) eqn:E; auto.
    apply existsb_exists in E; destruct E as [u [Hin Hg]]. apply mem_spec in Hg. now destruct (Hb u Hin).
Qed.

Lemma work_off_sound : forall pending d t rest, sound pending d -> leaving d = t :: rest ->
  sound pending (work_off d t rest).
Proof.
  intros pending d t rest [H1 H2 H3 H4 H5 H6] E. split; simpl.
  - intros u Hu; apply filter_In in Hu; tauto || (destruct Hu; auto).
  - intros u v Hu Hv [<- | Hg]; apply filter_In in Hu; destruct Hu as [Hu Hn].
    + apply negb_true_iff, mem_false in Hn; auto.
    + exact (H2 u v Hu Hv Hg).
  - intros u v Hu Hn Hv [<- | Hg]; apply filter_In in Hu; destruct Hu as [Hu Hf]; rewrite Hn in Hf.
    + apply negb_true_iff, mem_false in Hf; auto.
    + exact (H3 u v Hu Hn Hv Hg).
  - intros u Hu Hn; apply filter_In in Hu; destruct Hu as [Hu Hf]; rewrite Hn in Hf; auto.
  - intros Hw u Hu; apply filter_In in Hu; destruct Hu as [Hu _]; auto.
  - intros u. set (keys' := filter _ (keys d)). set (others' := filter _ (others d)).
    destruct (mem tb u (keys' ++ others')) eqn:Em.
    { apply mem_spec, in_app_or in Em. left; unfold contains; simpl; fold keys' others'; tauto. }
    destruct (H6 u) as [[Hu | Hu] | [Hu | Hu]].
    + right; right. apply in_or_app; left. apply filter_In; split; [apply in_or_app; auto |].
      now rewrite Em.
    + right; right. apply in_or_app; left. apply filter_In; split; [apply in_or_app; auto |].
      now rewrite Em.
    + auto.
    + rewrite E in Hu; destruct Hu as [<- | Hu]; auto. right; right; apply in_or_app; auto.
Qed.

(** The pending one that leaves is pending no more: it is gone at the end. *)
Lemma cascade_sound : forall fuel pending stuck d d', sound pending d -> cascade fuel stuck d = Some d' ->
  sound pending d' /\ leaving d' = [] /\ existsb eligible (keys d') = true /\
  (forall u, In u (others d') -> In u (others d)).
Proof.
  induction fuel as [| fuel IH]; intros pending stuck d d' H E; simpl in E;
    destruct (leaving d) as [| t rest] eqn:L; try discriminate.
  1, 2: destruct (existsb eligible (keys d)) eqn:K; [| discriminate]; injection E as <-; auto.
  destruct (mem tb t stuck || negb (existsb eligible (keys d))); [discriminate |].
  destruct (IH pending stuck _ d' (work_off_sound _ _ _ _ H L) E) as [A [B [C D]]].
  repeat (split; [assumption |]). intros u Hu; specialize (D u Hu); simpl in D.
  apply filter_In in D; tauto.
Qed.

Lemma attempt_sound : forall fuel pending stuck d t d', sound pending d -> leaving d = [] ->
  attempt fuel stuck d t = Some d' ->
  sound (without t pending) d' /\ leaving d' = [] /\ existsb eligible (keys d') = true.
Proof.
  intros fuel pending stuck d t d' H L E. unfold attempt in E.
  set (d0 := {| keys := without t (keys d); others := without t (others d); gone := gone d;
    leaving := [t] |}) in E.
  assert (H0 : sound (without t pending) d0).
  { destruct H as [H1 H2 H3 H4 H5 H6]; split; simpl.
    - intros u Hu; apply without_spec in Hu; destruct Hu; auto.
    - intros u v Hu; apply without_spec in Hu; destruct Hu; eauto.
    - intros u v Hu; apply without_spec in Hu; destruct Hu; eauto.
    - intros u Hu Hn; apply without_spec in Hu; destruct Hu as [Hu Ht].
      destruct (H4 u Hu Hn); auto. left; now apply without_spec.
    - intros Hw u Hu; apply without_spec in Hu; destruct Hu; auto.
    - intros u; destruct (same tb u t) as [-> | Hut]; [auto |].
      destruct (H6 u) as [[Hu | Hu] | [Hu | Hu]]; auto.
      + left; left; simpl; now apply without_spec.
      + left; right; simpl; now apply without_spec.
      + rewrite L in Hu; destruct Hu. }
  destruct (cascade_sound _ _ _ _ _ H0 E) as [A [B [C _]]]; auto.
Qed.

Theorem attempts_sound : forall fuel order stuck d, sound [] d -> leaving d = [] ->
  existsb eligible (keys d) = true ->
  sound [] (attempts fuel stuck d order) /\ leaving (attempts fuel stuck d order) = [] /\
  existsb eligible (keys (attempts fuel stuck d order)) = true.
Proof.
  intros fuel; induction order as [| t order IH]; intros stuck d H L K; simpl; auto.
  destruct (attempt fuel stuck d t) as [d' |] eqn:E; [| auto].
  destruct (attempt_sound _ _ _ _ _ _ H L E) as [A [B C]]; auto.
Qed.

(** ** Where it begins *)

(** `start_from_all`: all enabled transitions are keys, all disabled ones (in weak sets, all) are others. *)
Definition all_of_them : deletion :=
  {| keys := filter now (all tb); others := filter (fun t => weak || negb (now t)) (all tb);
     gone := []; leaving := [] |}.

Definition unsupported : list transition :=
  filter (fun t => negb (now t) && negb (is_supported [] t)) (all tb).

Lemma all_of_them_sound : sound unsupported all_of_them.
Proof.
  split; simpl; auto.
  - intros t Ht; apply filter_In in Ht; tauto.
  - intros t Ht Hn. destruct (is_supported [] t) eqn:E; auto. left.
    apply filter_In; split; [apply all_are_there | rewrite Hn, E; reflexivity].
  - intros Hw t Ht; apply filter_In in Ht; destruct Ht as [_ Ht]. rewrite Hw in Ht.
    now destruct (now t).
  - intros t; left; unfold contains; simpl. destruct (now t) eqn:E; [left | right];
      apply filter_In; split; try apply all_are_there; auto. rewrite E; now destruct weak.
Qed.

(** Those without any enabling set leave first; false (everything) if one cannot. *)
Fixpoint delete_unsupported (fuel : nat) (d : deletion) (pending : list transition) : option deletion :=
  match pending with
  | [] => Some d
  | t :: pending =>
    match attempt fuel [] d t with
    | Some d' => delete_unsupported fuel d' pending
    | None => None
    end
  end.

Lemma sound_weaker : forall p q d, (forall t, In t p -> In t q) -> sound p d -> sound q d.
Proof.
  intros p q d H [H1 H2 H3 H4 H5 H6]; split; auto. intros t Ht Hn; destruct (H4 t Ht Hn); auto.
Qed.

Lemma delete_unsupported_sound : forall fuel pending d d', sound pending d -> leaving d = [] ->
  existsb eligible (keys d) = true -> delete_unsupported fuel d pending = Some d' ->
  sound [] d' /\ leaving d' = [] /\ existsb eligible (keys d') = true.
Proof.
  intros fuel; induction pending as [| t pending IH]; intros d d' H L K E; simpl in E.
  - injection E as <-; auto.
  - destruct (attempt fuel [] d t) as [d1 |] eqn:A; [| discriminate].
    destruct (attempt_sound _ _ _ _ _ _ H L A) as [H1 [L1 K1]]. apply (IH d1); auto.
    apply sound_weaker with (without t (t :: pending)); auto.
    intros u Hu; apply without_spec in Hu; simpl in Hu. destruct Hu as [[-> | Hu] Hn]; tauto.
Qed.

(** `start_from` of `clodel`: a set that is complete already. In a weak set an enabled member is a key, or
    moves left, or both. *)
Variable given : transition -> bool.

Definition has_row (row : transition -> list transition) (t : transition) : bool :=
  forallb given (row t).

Definition given_set : deletion :=
  {| keys := filter (fun t => given t && now t && (negb weak || has_row (accord_row tb) t)) (all tb);
     others := filter (fun t => given t && (negb (now t) || weak && has_row (left_row tb) t)) (all tb);
     gone := filter (fun t => negb (given t)) (all tb); leaving := [] |}.

(** What a finished `clostar` says of its members ([Growth.settled]; it does not rely on priorities). *)
Hypothesis given_enabled : forall t, given t = true -> now t = true ->
  (forall u, In u (accord_row tb t) -> given u = true) \/
  (weak = true /\ forall u, In u (left_row tb t) -> given u = true).
Hypothesis given_disabled : forall t, given t = true -> now t = false ->
  exists e, In e (options tb t) /\ usable s e = true /\ forall u, In u (row_of tb e) -> given u = true.

Lemma has_row_spec : forall row t, has_row row t = true <-> forall u, In u (row t) -> given u = true.
Proof. intros row t; unfold has_row; apply forallb_forall. Qed.

Lemma given_set_sound : sound [] given_set.
Proof.
  assert (Hout : forall u, In u (gone given_set) -> given u = false).
  { intros u Hu; simpl in Hu; apply filter_In in Hu; destruct Hu as [_ Hu].
    now destruct (given u). }
  split.
  - intros t Ht; simpl in Ht; apply filter_In in Ht; destruct (now t); auto.
    destruct Ht as [_ Ht]; rewrite andb_false_r in Ht; discriminate.
  - intros t u Ht Hu Hg. apply Hout in Hg. simpl in Ht; apply filter_In in Ht; destruct Ht as [_ Ht].
    apply andb_prop in Ht; destruct Ht as [Ht Hw]. apply andb_prop in Ht; destruct Ht as [Ht Hn].
    assert (Hrow : forall v, In v (accord_row tb t) -> given v = true).
    { destruct (given_enabled t Ht Hn) as [H | [W _]]; auto. rewrite W in Hw; simpl in Hw.
      now apply has_row_spec. }
    rewrite (Hrow u Hu) in Hg; discriminate.
  - intros t u Ht Hn Hu Hg. apply Hout in Hg. simpl in Ht; apply filter_In in Ht; destruct Ht as [_ Ht].
    rewrite Hn in Ht; simpl in Ht. apply andb_prop in Ht; destruct Ht as [_ Ht].
    apply andb_prop in Ht; destruct Ht as [_ Ht].
    rewrite (proj1 (has_row_spec _ _) Ht u Hu) in Hg; discriminate.
  - intros t Ht Hn. right; apply supported_spec. simpl in Ht; apply filter_In in Ht; destruct Ht as [_ Ht].
    apply andb_prop in Ht; destruct Ht as [Ht _]. destruct (given_disabled t Ht Hn) as [e [H1 [H2 H3]]].
    exists e; repeat split; auto. intros u Hu Hg. apply Hout in Hg. rewrite (H3 u Hu) in Hg; discriminate.
  - intros Hw t Ht. simpl in Ht; apply filter_In in Ht; destruct Ht as [_ Ht]. rewrite Hw in Ht.
    destruct (now t); auto. rewrite andb_false_r in Ht; discriminate.
  - intros t. destruct (given t) eqn:G.
    2: { right; left; simpl; apply filter_In; split; [apply all_are_there | now rewrite G]. }
    left; unfold contains; simpl. destruct (now t) eqn:N.
    + destruct (given_enabled t G N) as [H | [W H]].
      * left; apply filter_In; split; [apply all_are_there |]. apply (proj2 (has_row_spec (accord_row tb) t)) in H.
        rewrite G, N, H; simpl. apply orb_true_r.
      * right; apply filter_In; split; [apply all_are_there |]. apply (proj2 (has_row_spec (left_row tb) t)) in H.
        now rewrite G, N, W, H.
    + right; apply filter_In; split; [apply all_are_there | now rewrite G, N].
Qed.

(** ** Where it ends *)

Theorem sound_is_complete : forall d, sound [] d -> leaving d = [] -> complete tb (contains d) s.
Proof.
  intros d [H1 H2 H3 H4 H5 H6] L t Ht.
  assert (Hin : forall u, ~ In u (gone d) -> contains d u).
  { intros u Hu; destruct (H6 u) as [H | [H | H]]; auto; [contradiction | rewrite L in H; destruct H]. }
  destruct Ht as [Ht | Ht].
  - right; left; split; [now apply now_tells, H1 | eauto].
  - destruct (now t) eqn:N.
    + right; right; split; [now apply now_tells | eauto].
    + left. destruct (H4 t Ht N) as [[] | Hs]. apply supported_spec in Hs.
      destruct Hs as [e [He [Hu Hrow]]]. eapply option_covers; eauto.
Qed.

Theorem sound_has_key : forall d, sound [] d -> leaving d = [] -> existsb eligible (keys d) = true ->
  exists k, eligible k = true /\ has_key tb (contains d) s k.
Proof.
  intros d [H1 H2 H3 H4 H5 H6] L K. apply existsb_exists in K; destruct K as [k [Hk He]].
  exists k; split; [exact He |]. split; [left; exact Hk | split; [now apply now_tells, H1 |]].
  intros u Hu. destruct (H6 u) as [H | [H | H]]; auto; [now destruct (H2 k u Hk Hu) |].
  rewrite L in H; destruct H.
Qed.

Theorem sound_is_strong : forall d, weak = false -> sound [] d -> leaving d = [] ->
  complete_strong tb (contains d) s.
Proof.
  intros d Hw [H1 H2 H3 H4 H5 H6] L t Ht He u Hu. apply now_tells in He.
  destruct Ht as [Ht | Ht]; [| rewrite (H5 Hw t Ht) in He; discriminate].
  destruct (H6 u) as [H | [H | H]]; auto; [now destruct (H2 t u Ht Hu) | rewrite L in H; destruct H].
Qed.

(** `Deletion::choose`: from all transitions, in any order; [None] stands for everything. *)
Definition delete_from_all (fuel : nat) (order : list transition) : option deletion :=
  match delete_unsupported fuel all_of_them unsupported with
  | Some d => Some (attempts fuel [] d order)
  | None => None
  end.

Definition result (d : option deletion) : transition -> Prop :=
  match d with Some d => contains d | None => fun _ => True end.

Theorem deletion_is_complete : forall fuel order, (exists t, now t = true /\ eligible t = true) ->
  complete tb (result (delete_from_all fuel order)) s /\
  (exists k, eligible k = true /\ has_key tb (result (delete_from_all fuel order)) s k) /\
  (weak = false -> complete_strong tb (result (delete_from_all fuel order)) s).
Proof.
  intros fuel order [t [Hn He]]. unfold delete_from_all.
  destruct (delete_unsupported fuel all_of_them unsupported) as [d |] eqn:E; simpl.
  - assert (K : existsb eligible (keys all_of_them) = true).
    { apply existsb_exists; exists t; split; auto. apply filter_In; split; auto using all_are_there. }
    destruct (delete_unsupported_sound _ _ _ _ all_of_them_sound eq_refl K E) as [H [L K']].
    destruct (attempts_sound fuel order [] d H L K') as [H' [L' K'']].
    auto using sound_is_complete, sound_has_key, sound_is_strong.
  - split; [apply everything_is_complete | split; [| intros _ u _ _ v _; exact I]].
    exists t; repeat split; auto. now apply now_tells.
Qed.

(** `Clodel::choose`: from a set of `clostar` that has an eligible key. *)
Theorem clodel_is_complete : forall fuel order, existsb eligible (keys given_set) = true ->
  complete tb (contains (attempts fuel [] given_set order)) s /\
  (exists k, eligible k = true /\ has_key tb (contains (attempts fuel [] given_set order)) s k) /\
  (weak = false -> complete_strong tb (contains (attempts fuel [] given_set order)) s).
Proof.
  intros fuel order K.
  destruct (attempts_sound fuel order [] given_set given_set_sound eq_refl K) as [H [L K']].
  auto using sound_is_complete, sound_has_key, sound_is_strong.
Qed.

End Deletion.
