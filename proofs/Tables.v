(** Rows and enabling sets, as set algorithms read them: what `Tables::new` in
    `stubborn-reduce/src/tables.rs` makes of the relations, and what a `View` tells of one state.

    Rows may have more than the relations ask for. Condition V, condition G and whatever else a question
    needs are added to the rows of enabled members in this way, so that algorithms need to know nothing of
    them: [rows_bring].

    Why it matters: [Growth], [Deletion], [Components], [Local] are about these tables, and so about every
    question. *)

From Coq Require Import List Bool Arith.
From Stubborn Require Import Deadlocks Closed.
Import ListNotations.

(** `Tables`: rows are lists, transitions are finitely many. *)
Record tables {M : system} (R : relations M) := {
  all : list (transition M);
  same : forall t u : transition M, {t = u} + {t <> u};
  guards : transition M -> list (label M);
  (** What never holds together with one of the guards. *)
  excluders : transition M -> list (label M);
  enable_row : label M -> list (transition M);
  disable_row : label M -> list (transition M);
  accord_row : transition M -> list (transition M);
  left_row : transition M -> list (transition M);
  (** 0 is the highest. *)
  priority : transition M -> nat;
  all_are_there : forall t, In t all;
  guards_are_guards : forall t g, In g (guards t) -> guard t g;
  excluders_exclude : forall t h, In h (excluders t) ->
    exists g, guard t g /\ never_together R g h;
  enable_row_is_whole : forall g u, may_enable R g u -> In u (enable_row g);
  disable_row_is_whole : forall g u, may_disable R g u -> In u (disable_row g);
  accord_row_is_whole : forall t u, do_not_accord R t u -> In u (accord_row t);
  left_row_is_whole : forall t u, do_not_left_accord R t u -> In u (left_row t);
  priorities_rank : forall k t, priority k < priority t -> outranks k t
}.
Arguments all {M R}. Arguments same {M R}. Arguments guards {M R}. Arguments excluders {M R}.
Arguments enable_row {M R}. Arguments disable_row {M R}. Arguments accord_row {M R}.
Arguments left_row {M R}. Arguments priority {M R}.

Section Tables.

Context {M : system} {R : relations M} (tb : tables R).
Local Notation state := (state M).
Local Notation transition := (transition M).
Local Notation label := (label M).
Local Notation enabled := (enabled M).

(** `EnablingSet`: the row of a label that is false, or of one that holds and excludes a guard. *)
Inductive enabling_set := own (g : label) | excluding (h : label).

Definition row_of (e : enabling_set) : list transition :=
  match e with own g => enable_row tb g | excluding h => disable_row tb h end.

(** `options_of`: own guards first. *)
Definition options (t : transition) : list enabling_set :=
  map own (guards tb t) ++ map excluding (excluders tb t).

(** `View::is_usable`. *)
Definition usable (s : state) (e : enabling_set) : bool :=
  match e with own g => negb (holds g s) | excluding h => holds h s end.

(** The members of a list, as a set. *)
Definition of_list (l : list transition) : transition -> Prop := fun t => In t l.

Definition mem (t : transition) (l : list transition) : bool := if in_dec (same tb) t l then true else false.

Lemma mem_spec : forall t l, mem t l = true <-> In t l.
Proof. intros t l; unfold mem; destruct (in_dec (same tb) t l); split; auto; discriminate. Qed.

Lemma mem_false : forall t l, mem t l = false <-> ~ In t l.
Proof. intros t l; unfold mem; destruct (in_dec (same tb) t l); split; auto; try discriminate; tauto. Qed.

(** A whole enabling set that may be used covers a transition. *)
Lemma option_covers : forall (T : transition -> Prop) s t e, In e (options t) -> usable s e = true ->
  (forall u, In u (row_of e) -> T u) -> covered M R T s t.
Proof.
  intros T s t e Hin Hu Hrow. unfold options in Hin. apply in_app_or in Hin.
  destruct Hin as [Hin | Hin]; apply in_map_iff in Hin; destruct Hin as [g [<- Hg]]; simpl in *.
  - apply by_guard with g; [now apply (guards_are_guards R) with tb | now destruct (holds g s) |].
    intros u Hm; now apply Hrow, (enable_row_is_whole R tb).
  - destruct (excluders_exclude R tb t g Hg) as [g' [Hg' Hn]].
    apply by_excluder with g' g; auto. intros u Hm; now apply Hrow, (disable_row_is_whole R tb).
Qed.

Lemma accord_row_holds : forall (T : transition -> Prop) t, (forall u, In u (accord_row tb t) -> T u) ->
  contains M T (do_not_accord R t).
Proof. intros T t H u Hu; now apply H, (accord_row_is_whole R tb). Qed.

Lemma left_row_holds : forall (T : transition -> Prop) t, (forall u, In u (left_row tb t) -> T u) ->
  contains M T (do_not_left_accord R t).
Proof. intros T t H u Hu; now apply H, (left_row_is_whole R tb). Qed.

(** ** What algorithms end with *)

(** As [closed], but with whole rows: an enabled member has one of its two rows. *)
Definition complete (T : transition -> Prop) (s : state) : Prop :=
  forall t, T t -> covered M R T s t
    \/ (enabled t s /\ forall u, In u (accord_row tb t) -> T u)
    \/ (enabled t s /\ forall u, In u (left_row tb t) -> T u).

(** Strong: it has its do-not-accord row. *)
Definition complete_strong (T : transition -> Prop) (s : state) : Prop :=
  forall t, T t -> enabled t s -> forall u, In u (accord_row tb t) -> T u.

Definition has_key (T : transition -> Prop) (s : state) (k : transition) : Prop :=
  T k /\ enabled k s /\ forall u, In u (accord_row tb k) -> T u.

Lemma has_key_is_key : forall T s k, has_key T s k -> is_key M R T s k.
Proof. intros T s k [H1 [H2 H3]]; repeat split; auto using accord_row_holds. Qed.

Theorem complete_is_closed : forall T s, complete T s -> closed M R T s.
Proof.
  intros T s H t Ht; destruct (H t Ht) as [Hc | [[He Hrow] | [He Hrow]]];
    auto using accord_row_holds, left_row_holds.
Qed.

Theorem complete_strong_is_strong : forall T s, complete_strong T s -> strong M R T s.
Proof. intros T s H t Ht He; repeat split; auto. apply accord_row_holds, H; auto. Qed.

(** What a question adds to rows, sets have: condition V (a visible member brings all visible ones), G1
    and G2. [wanted t u]: [u] was added to the rows of [t]. *)
Theorem rows_bring : forall (wanted : transition -> transition -> Prop) T s,
  (forall t u, wanted t u -> In u (accord_row tb t)) ->
  (forall t u, wanted t u -> In u (left_row tb t)) ->
  complete T s -> forall t, T t -> enabled t s -> reachable s -> contains M T (wanted t).
Proof.
  intros wanted T s Ha Hl H t Ht He Hr u Hu.
  destruct (H t Ht) as [Hc | [[_ Hrow] | [_ Hrow]]]; auto.
  destruct (covered_is_necessary M R T s t [] Hr Hc) as [_ | Hno]; try exact I; try constructor.
  - destruct Hc as [g Hg Hf _ | g h Hg Hn Hh _ | k [_ [[y Hy] _]] Ho | k g h [_ [[y Hy] _]] Hkh Hg Hn | Hall];
      auto; exfalso; destruct He as [x Hx]; assert (Hoff := step_offered M _ _ _ Hr Hx).
    + rewrite (guards_hold M s t g) in Hf; auto; discriminate.
    + assert (Hgs := guards_hold M s t g Hr Hoff Hg).
      rewrite (never_together_law M R s g h) in Hgs; auto; discriminate.
    + exact (outranked M s k t Hr (step_offered M _ _ _ Hr Hy) Ho Hoff).
    + assert (Hgs := guards_hold M s t g Hr Hoff Hg).
      assert (Hhs := guards_hold M s k h Hr (step_offered M _ _ _ Hr Hy) Hkh).
      rewrite (never_together_law M R s g h) in Hgs; auto; discriminate.
  - destruct Hno; destruct He as [x Hx]; simpl; eauto using step_offered.
Qed.

(** Everything is a set. *)
Lemma everything_is_complete : forall s, complete (fun _ => True) s.
Proof. intros s t _; left; now apply by_everything. Qed.

End Tables.
