//! Chains, command by command.
//!
//! As one transition, a chain looks at and changes whatever one of its commands does. But where it
//! meets a step of another process, not all of its commands can run: one that waits for a process at
//! some location does not, if that process is elsewhere before the step and after it. And a label
//! that a chain turns, one of its commands turns. The proofs are in `docs/soundness.md`.

use std::collections::BTreeMap;

use stubborn_system::{FieldId, LabelId, System, TransitionId};

use super::support::Support;
use super::syntax::{Summary, Syntax};
use super::values::Values;
use crate::Model;

/// Of longer chains nothing is said: every pair would look at all their commands.
const MOST_COMMANDS: usize = 64;

/// The chains of a model.
pub(super) struct Links {
    /// By transition; `None` of what is no chain, and of long ones.
    chains: Vec<Option<Vec<TransitionId>>>,
    /// What commands of chains do, alone.
    alone: BTreeMap<TransitionId, Alone>,
}

/// A command alone.
struct Alone {
    support: Support,
    summary: Summary,
    /// Of its guards, those on one field.
    gates: Vec<(FieldId, LabelId)>,
}

/// One chain: its first command, then all that may follow.
pub(super) struct Chain<'l> {
    links: &'l Links,
    commands: &'l [TransitionId],
}

impl Links {
    pub(super) fn new(
        model: &Model,
        supports: &[Support],
        satisfying: &[Option<(FieldId, Values)>],
    ) -> Self {
        let mut alone = BTreeMap::new();
        let mut chain = |t: TransitionId| {
            let followers = model.chains().followers(t.index());
            let is_known = supports[t.index()].chain && followers.len() < MOST_COMMANDS;
            let followers = followers.iter().map(|f| TransitionId::new(*f as usize));
            let others = followers.filter(|f| *f != t);
            let commands: Vec<TransitionId> = std::iter::once(t).chain(others).collect();
            is_known.then(|| {
                for command in &commands {
                    alone
                        .entry(*command)
                        .or_insert_with(|| Alone::new(model, *command, satisfying));
                }
                commands
            })
        };
        let chains = model.structure().transition_ids().map(&mut chain).collect();
        Self { chains, alone }
    }

    /// A chain whose commands are known.
    pub(super) fn of(&self, t: TransitionId) -> Option<Chain<'_>> {
        let commands = self.chains[t.index()].as_ref()?;
        Some(Chain {
            links: self,
            commands,
        })
    }
}

impl Alone {
    fn new(model: &Model, t: TransitionId, satisfying: &[Option<(FieldId, Values)>]) -> Self {
        let support = Support::alone(model, t);
        let gate = |g: &LabelId| satisfying[g.index()].as_ref().map(|(f, _)| (*f, *g));
        Self {
            summary: Summary::new(model, &support, t),
            gates: support.guards.iter().filter_map(gate).collect(),
            support,
        }
    }
}

impl<'l> Chain<'l> {
    /// Its commands, with what each writes and does.
    pub(super) fn commands(
        &self,
    ) -> impl Iterator<Item = (TransitionId, &'l [FieldId], &'l Summary)> {
        let links = self.links;
        self.commands.iter().map(move |t| {
            let alone = &links.alone[t];
            (*t, &alone.support.writes[..], &alone.summary)
        })
    }

    /// What the chain looks at and writes where it can be taken beside a step of `u`, right before
    /// or right after it; what its first command waits for not included.
    pub(super) fn beside(
        &self,
        syntax: &Syntax<'_>,
        u: TransitionId,
        us: &Support,
    ) -> (Vec<FieldId>, Vec<FieldId>) {
        let alone = |t: &TransitionId| &self.links.alone[t];
        let around = |field: FieldId| syntax.around(u, field, us);
        let values = |g: LabelId| syntax.satisfying[g.index()].as_ref().map(|(_, v)| v);
        // A gate is shut before and after the step of `u`. A chain that opens it makes a guard of `u`
        // false for a while, or writes what `u` writes.
        let is_shut = |(field, g): &(FieldId, LabelId)| {
            let values = values(*g);
            around(*field).is_some_and(|around| values.is_some_and(|v| around.avoids(v)))
        };
        let first = self.commands[0];
        let runs = |t: &&TransitionId| **t == first || !alone(t).gates.iter().any(is_shut);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for t in self.commands.iter().filter(runs) {
            let Alone {
                support, summary, ..
            } = alone(t);
            reads.extend_from_slice(&summary.plain_reads);
            writes.extend_from_slice(&support.writes);
            if *t == first {
                continue;
            }
            for g in &support.guards {
                let tests = &syntax.model.structure().label(*g).tests;
                // It says the same before and after the step of `u`. Where it fails, it counts as holding,
                // but the chain fails, too.
                let program = syntax.model.program();
                let may_fail = || program.may_fail(&program.labels[g.index()].expr);
                let is_blind = |around: &super::syntax::Around<'_>| {
                    let same = |v| around.avoids(v) || around.keeps_to(v) && !may_fail();
                    values(*g).is_some_and(same)
                };
                let looks = match tests[..] {
                    [field] => !around(field).as_ref().is_some_and(is_blind),
                    _ => true,
                };
                if looks {
                    reads.extend_from_slice(tests);
                }
            }
        }
        for set in [&mut reads, &mut writes] {
            set.sort_unstable();
            set.dedup();
        }
        (reads, writes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stubborn_system::{Executor, FailureKind, ProcessId, RelationLevel, Successors};

    use super::*;
    use crate::analysis::relations;
    use crate::testing::Random;
    use crate::{Command, DivideOp, Expr, Program, Statement, VarId, Variable};

    /// Processes that meet each other in the middle of chains, over two variables.
    fn random_meetings(seed: u64) -> Program {
        let mut rng = Random::new(seed);
        let mut program = Program::new(format!("meetings {seed}"));
        let name = |at| format!("l{at}");
        let processes: Vec<ProcessId> = (0..3)
            .map(|nr| program.process(format!("P{nr}"), (0..4).map(name).collect(), 0))
            .collect();
        let numbers: Vec<VarId> = ["x", "y"]
            .map(|name| program.variable(Variable::integer(name, 0, 2, 0)))
            .into();
        let site = program.site(FailureKind::OutOfRange, "too much", None);
        for at in 0..14 {
            let meet = 1 + rng.below(2);
            let first = rng.below(3);
            let who: Vec<ProcessId> = (0..meet).map(|i| processes[(first + i) % 3]).collect();
            let sources = who.iter().map(|_| Some(rng.below(4) as u32)).collect();
            let mut body: Vec<Statement> = Vec::new();
            for process in &who {
                let counter = program.processes[process.index()].counter;
                let to = Expr::Const(rng.below(4) as i32);
                body.push(Statement::assign(counter, to, site));
            }
            if rng.one_in(2) {
                let value = match rng.below(3) {
                    0 => Expr::Var(*rng.pick(&numbers)),
                    1 => Expr::minus(Expr::Const(2), Expr::Var(*rng.pick(&numbers))),
                    _ => Expr::Const(rng.below(3) as i32),
                };
                body.push(Statement::assign(*rng.pick(&numbers), value, site));
            }
            let guards = match rng.below(4) {
                0 => vec![Expr::equal(
                    Expr::Var(*rng.pick(&numbers)),
                    Expr::Const(rng.below(3) as i32),
                )],
                // Where somebody else is.
                1 => vec![Expr::less(
                    Expr::Var(program.processes[rng.below(3)].counter),
                    Expr::Const(1 + rng.below(3) as i32),
                )],
                _ => Vec::new(),
            };
            let guards = guards.into_iter().map(|g| program.label(g)).collect();
            let continues = match rng.below(3) {
                0 => None,
                _ => Some(*rng.pick(&who)),
            };
            program.command(Command {
                name: format!("c{at}"),
                processes: who,
                sources,
                guards,
                body,
                continues,
                ..Command::default()
            });
        }
        program
    }

    /// All values of all variables.
    fn all_states(model: &Model) -> Vec<Vec<u32>> {
        let mut states = vec![vec![0; model.layout().words()]];
        for variable in 0..model.program().variables.len() {
            let field = model.encoding().first_field(VarId(variable as u32));
            let field = model.layout().field(field);
            let with = |state: &Vec<u32>| {
                let state = state.clone();
                (field.min..=field.max).map(move |value| {
                    let mut state = state.clone();
                    field.set(&mut state, value);
                    state
                })
            };
            states = states.iter().flat_map(with).collect();
        }
        states
    }

    /// Where a transition leads; nothing if one of its ways fails, for that counts as disabled.
    fn ends(executor: &mut dyn Executor, state: &[u32], t: TransitionId) -> BTreeSet<Vec<u32>> {
        let mut out = Successors::new(state.len());
        executor.fire(state, t, &mut out);
        match out.iter().any(|n| n.outcome.failed().is_some()) {
            true => BTreeSet::new(),
            false => out.iter().map(|n| n.state.to_vec()).collect(),
        }
    }

    /// Relations of chains that meet others say nothing that is false in any state, reachable or not;
    /// and they do say something.
    #[test]
    fn chains_that_meet_others_do_not_falsify_relations() {
        let (mut accord_beside_chains, mut tried) = (0, 0);
        for seed in 0..100 {
            let model = Model::new(random_meetings(seed)).expect("a small program");
            let found = relations(&model, RelationLevel::Syntax);
            let structure = model.structure();
            let by_sets = stubborn_system::Relations::from_sets(structure);
            let is_chain = |t: TransitionId| !structure.transition(t).deterministic;
            for t in structure.transition_ids() {
                let rough = by_sets
                    .do_not_accord
                    .0
                    .row(t)
                    .filter(|u| is_chain(t) || is_chain(*u));
                let fine = rough.filter(|u| !found.do_not_accord.0.contains(t, *u));
                accord_beside_chains += fine.count();
            }
            let mut executor = model.executor();
            for state in all_states(&model) {
                let next: Vec<(TransitionId, BTreeSet<Vec<u32>>)> = structure
                    .transition_ids()
                    .map(|t| (t, ends(&mut *executor, &state, t)))
                    .filter(|(_, ends)| !ends.is_empty())
                    .collect();
                for (t, after) in &next {
                    for g in structure.label_ids() {
                        let before = executor.label(&state, g);
                        let row = match before {
                            true => &found.may_disable.0,
                            false => &found.may_enable.0,
                        };
                        let turned = after.iter().any(|s| executor.label(s, g) != before);
                        assert!(
                            !turned || row.contains(g, *t),
                            "seed {seed}: {g:?} by {t:?}"
                        );
                    }
                    for (u, others) in next.iter().filter(|(u, _)| u > t) {
                        if found.do_not_accord.0.contains(*t, *u) {
                            continue;
                        }
                        tried += 1;
                        let mut both = |from: &BTreeSet<Vec<u32>>, then: TransitionId| {
                            let mut all = BTreeSet::new();
                            for state in from {
                                let more = ends(&mut *executor, state, then);
                                assert!(!more.is_empty(), "seed {seed}: {then:?} in {state:?}");
                                all.extend(more);
                            }
                            all
                        };
                        let (one, other) = (both(after, *u), both(others, *t));
                        assert!(one == other, "seed {seed}: {t:?} {u:?} in {state:?}");
                        for (x, y) in after
                            .iter()
                            .flat_map(|x| others.iter().map(move |y| (x, y)))
                        {
                            let across = ends(&mut *executor, x, *u);
                            let meet = !across.is_disjoint(&ends(&mut *executor, y, *t));
                            assert!(meet, "seed {seed}: {t:?} {u:?} in {state:?}");
                        }
                    }
                }
            }
        }
        assert!(
            accord_beside_chains > 500 && tried > 3_000,
            "{accord_beside_chains} {tried}"
        );
    }

    /// What a command of a chain does, the chain does; and if it waits for something that changes while
    /// another one moves, or of which no values are known, it looks at it.
    #[test]
    fn followers_are_looked_at_whatever_they_wait_for() {
        let mut program = Program::new("followers");
        let names = || ["a", "b"].map(String::from).to_vec();
        let [p, r, q, s] = ["P", "R", "Q", "S"].map(|name| program.process(name, names(), 0));
        let variables = ["v", "x", "y", "z"].map(|name| Variable::integer(name, -1_024, 1_024, 0));
        let [v, x, y, z] = variables.map(|variable| program.variable(variable));
        let [w, end] = ["w", "end"].map(|name| program.variable(Variable::integer(name, 0, 2, 0)));
        let site = program.site(FailureKind::OutOfRange, "too much", None);
        let next = |process: ProcessId| (program.processes[process.index()].counter, 1);
        let (p_next, r_next, s_next) = (next(p), next(r), next(s));
        let risky = Expr::Divide(
            DivideOp::Quotient,
            Box::new(Expr::Const(2)),
            Box::new(Expr::Var(w)),
            site,
        );
        let risky = program.label(risky);
        let above = program.label(Expr::less(Expr::Const(0), Expr::Var(w)));
        let unclear = Expr::plus(Expr::Var(y), Expr::Const(1));
        let unclear = program.label(Expr::equal(unclear, Expr::Const(2)));
        let one = program.label(Expr::equal(Expr::Var(y), Expr::Const(1)));
        let small = program.label(Expr::less(Expr::Var(y), Expr::Const(2)));
        let mut command = |process, source, guards, (target, value), continues| {
            program.command(Command {
                name: "step".into(),
                processes: vec![process],
                sources: vec![Some(source)],
                guards,
                body: vec![Statement::assign(target, Expr::Const(value), site)],
                continues,
                ..Command::default()
            });
        };
        command(p, 0, vec![], p_next, Some(p));
        command(p, 1, vec![unclear], (x, 1), None);
        command(r, 0, vec![], r_next, Some(r));
        command(r, 1, vec![one], (v, 1), None);
        // Of these, the first writes what a chain writes, the last two what chains look at.
        command(q, 0, vec![], (x, 2), None);
        command(q, 0, vec![], (z, 2), None);
        command(q, 0, vec![one], (y, 5), None);
        command(q, 0, vec![small], (y, 1), None);
        // After this one, what the last chain waits for fails.
        command(q, 0, vec![above], (w, 0), None);
        command(s, 0, vec![], s_next, Some(s));
        command(s, 1, vec![risky], (end, 1), None);
        let model = Model::new(program).expect("a small program");
        let found = relations(&model, RelationLevel::Syntax).do_not_accord.0;
        assert_eq!(found.row_indices(TransitionId::new(0)), [4, 6, 7]);
        assert_eq!(found.row_indices(TransitionId::new(2)), [6, 7]);
        assert_eq!(found.row_indices(TransitionId::new(9)), [8]);
    }
}
