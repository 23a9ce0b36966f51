use super::super::refuted::{Author, reachable};
use super::*;
use crate::testing::{random_chains, random_program};
use crate::{Command, Expr, Program, Statement, Variable};
use stubborn_system::FailureKind;

/// Panics unless all states are within what is known of the fields, alone and together.
pub(in super::super) fn cover(model: &Model, domains: &Domains, states: &[Vec<u32>]) {
    let fields = (0..model.layout().fields().len()).map(FieldId::new);
    let fields: Vec<FieldId> = fields.filter(|f| !domains.is_open(*f)).collect();
    let pairs = fields.windows(2).chain(fields.chunks(1));
    for some in pairs.chain([&fields[..]]) {
        for view in domains.views(some).expect("none is open") {
            let known: HashSet<&[u32]> = view.tuples.chunks_exact(view.fields.len()).collect();
            for state in states {
                let raw = |f: &FieldId| model.layout().field(*f).raw(state);
                let tuple: Vec<u32> = view.fields.iter().map(raw).collect();
                let (name, fields) = (&model.program().name, &view.fields);
                assert!(known.contains(&tuple[..]), "{name}: {fields:?} {tuple:?}");
            }
        }
    }
}

#[test]
fn no_run_leaves_the_domains() {
    let small = |seed| Author::program(seed);
    let programs = (0..200).map(small).chain((0..60).map(random_program));
    let (mut open, mut apart) = (0, 0);
    for program in programs.chain((0..40).map(random_chains)) {
        let model = Model::new(program).expect("a sound program");
        let supports = Support::all(&model);
        let states = reachable(&model);
        let limits = [
            (LARGEST_DOMAIN, LARGEST_CLUSTER, 20_000),
            (LARGEST_DOMAIN, 1, 20_000),
            (LARGEST_DOMAIN, 3, 20_000),
            (2, 5, 20_000),
            (1, 8, 20_000),
            (LARGEST_DOMAIN, LARGEST_CLUSTER, 300),
            (2, LARGEST_CLUSTER, 40),
        ];
        for (largest_domain, largest_cluster, budget) in limits {
            let start = Start {
                largest_domain,
                largest_cluster,
                budget,
                ..Start::default()
            };
            let domains = Fixpoint::new(&model, &supports, start).run();
            cover(&model, &domains, &states);
            open += domains
                .clusters
                .iter()
                .filter(|c| c.tuples.is_none())
                .count();
            apart += domains.clusters.len();
        }
    }
    assert!(open > 100 && apart > 1_000, "{open} {apart}");
}

/// A field that is only written is tried with one value, and its others are found all the same.
#[test]
fn what_is_not_looked_at_need_not_be_tried() {
    let mut program = Program::new("written");
    let site = program.site(FailureKind::Other, "out of range", None);
    let names = [("x", 9), ("y", 0), ("z", 0)];
    let of = |(name, value)| Variable::integer(name, 0, 9, value);
    let [x, y, z] = names.map(|named| program.variable(of(named)));
    let below = program.label(Expr::less(Expr::Var(y), Expr::Const(3)));
    let more = Expr::plus(Expr::Var(y), Expr::Const(1));
    let sometimes = Statement::If {
        condition: Expr::less(Expr::Var(y), Expr::Const(2)),
        then: vec![Statement::assign(x, Expr::Var(y), site)],
        otherwise: Vec::new(),
    };
    let steps = [
        (vec![below], Statement::assign(y, more, site)),
        (Vec::new(), sometimes),
        (Vec::new(), Statement::assign(z, Expr::Var(x), site)),
    ];
    for (number, (guards, statement)) in steps.into_iter().enumerate() {
        program.command(Command {
            name: number.to_string(),
            guards,
            body: vec![statement],
            ..Command::default()
        });
    }
    let model = Model::new(program).expect("a sound program");
    let domains = Domains::reachable(&model, &Support::all(&model));
    let values = |variable| {
        let views = domains.views(&[model.encoding().first_field(variable)]);
        let mut values = views.expect("it is closed")[0].tuples.clone();
        values.sort_unstable();
        values
    };
    assert_eq!(values(x), [0, 1, 9]);
    assert_eq!(values(y), [0, 1, 2, 3]);
    assert_eq!(values(z), [0, 1, 9]);
}

#[test]
fn whoever_looks_at_what_became_open_is_run_again() {
    let mut program = Program::new("open");
    let site = program.site(FailureKind::Other, "out of range", None);
    let names = ["x", "z", "y", "v", "w"];
    let wide = |name: &str| Variable::integer(name, 0, 1_000_000, 0);
    let [x, z, y, v, w] = names.map(|name| program.variable(wide(name)));
    let is_two = program.label(Expr::equal(Expr::Var(x), Expr::Const(2)));
    let more = |of, number| Expr::plus(Expr::Var(of), Expr::Const(number));
    // When it is known that x has more than two values, v and y have been looked at with two.
    let steps = [
        (v, Expr::Var(x), None),
        (y, more(z, 3), Some(is_two)),
        (z, Expr::Const(1), None),
        (y, Expr::Const(1), None),
        (x, Expr::Var(w), None),
        (w, more(w, 1), None),
    ];
    for (nr, (target, value, guard)) in steps.into_iter().enumerate() {
        program.command(Command {
            name: nr.to_string(),
            guards: guard.into_iter().collect(),
            body: vec![Statement::assign(target, value, site)],
            ..Command::default()
        });
    }
    let model = Model::new(program).expect("a sound program");
    let supports = Support::all(&model);
    let start = Start {
        largest_domain: 2,
        ..Start::default()
    };
    let domains = Fixpoint::new(&model, &supports, start).run();
    let is_open = |variable| domains.is_open(model.encoding().first_field(variable));
    assert_eq!(
        [x, z, y, v, w].map(is_open),
        [true, false, true, true, true]
    );
}
