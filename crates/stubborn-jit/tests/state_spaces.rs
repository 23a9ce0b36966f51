//! Whole state spaces by code and interpreter; large models; switching over while running.

use crate::support;

use std::sync::Arc;

use stubborn_ir::testing::{Random, dining_philosophers, peterson, random_program, ring_election};
use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
use stubborn_jit::{CompiledModel, Status};
use stubborn_system::{LabelId, Successors, System};
use support::{Both, compile, explore};

fn model(program: Program) -> Model {
    Model::new(program).expect("a well-formed program")
}

#[test]
fn peterson_has_the_same_states() {
    let (states, ..) = explore(&compile(model(peterson(3))), 1_000_000, 7);
    assert_eq!(states, 288);
}

#[test]
fn philosophers_have_the_same_states() {
    let (states, ..) = explore(&compile(model(dining_philosophers(6))), 1_000_000, 7);
    // The 6th Pell-Lucas number: an eater needs a thinking neighbour.
    assert_eq!(states, 198);
}

#[test]
fn ring_election_has_the_same_states() {
    let (states, _, failures) = explore(&compile(model(ring_election(4, 3))), 1_000_000, 7);
    assert_eq!((states, failures), (263, 0));
    explore(&compile(model(ring_election(3, 40))), 1_000_000, 7);
}

/// Many processes of one command each, and one process with many locations.
fn large(commands: usize) -> Program {
    let mut program = Program::new("large");
    let x = program.variable(Variable::integer("x", 0, 9, 0));
    let site = program.out_of_range_site("x", None);
    let locations: Vec<String> = (0..commands / 2).map(|l| format!("l{l}")).collect();
    let last = locations.len() as i32 - 1;
    let process = program.process("P", locations, 0);
    let counter = program.processes[process.index()].counter;
    let below = program.label(Expr::less(Expr::Var(x), Expr::Const(9)));
    for at in 0..=last {
        program.command(Command {
            name: format!("walk {at}"),
            processes: vec![process],
            sources: vec![Some(at as u32)],
            body: vec![Statement::assign(
                counter,
                Expr::Const((at * 7 + 1) % (last + 1)),
                site,
            )],
            ..Command::default()
        });
        let here = program.label(Expr::equal(Expr::Var(counter), Expr::Const(at)));
        program.command(Command {
            name: format!("count {at}"),
            guards: vec![here, below],
            body: vec![Statement::assign(
                x,
                Expr::plus(Expr::Var(x), Expr::Const(1)),
                site,
            )],
            ..Command::default()
        });
    }
    program
}

#[test]
fn large_models_are_cut_into_functions() {
    let compiled = compile(model(large(3000)));
    let (states, ..) = explore(&compiled, 300, 100);
    assert_eq!(states, 300);
}

#[test]
#[ignore = "long: compiles 19,000 commands"]
fn very_large_models_are_cut_into_functions() {
    let compiled = compile(model(large(19_000)));
    explore(&compiled, 300, 100);
}

#[test]
fn too_large_models_are_interpreted() {
    let compiled = CompiledModel::ready(Arc::new(model(large(20_010))));
    assert!(matches!(compiled.status(), Status::Interpreted(_)));
    let mut executor = compiled.executor();
    let mut successors = Successors::new(compiled.layout().words());
    executor.successors(&compiled.initial_states(), &mut successors);
    assert_eq!(successors.len(), 2);
}

#[test]
fn executors_work_at_once_and_switch_by_themselves() {
    let compiled = CompiledModel::new(Arc::new(model(peterson(4))));
    let mut both = Both::new(&compiled);
    let mut state = compiled.initial_states();
    let mut rng = Random::new(1);
    let mut switched = false;
    // Some steps by the interpreter, some by code: nobody notices when it changes.
    for _ in 0..200_000 {
        let successors = both.successors(&state);
        state = successors.state(rng.below(successors.len())).to_vec();
        both.parts(&state);
        if compiled.status() == Status::Compiled {
            if switched {
                break;
            }
            switched = true;
        }
    }
    compiled.wait();
    assert_eq!(compiled.status(), Status::Compiled);
}

#[test]
fn nothing_is_compiled_for_a_handful_of_states() {
    let compiled = CompiledModel::new(Arc::new(model(peterson(3))));
    let mut executor = compiled.executor();
    let mut successors = Successors::new(compiled.layout().words());
    for _ in 0..500 {
        executor.successors(&compiled.initial_states(), &mut successors);
        executor.label(&compiled.initial_states(), LabelId::new(0));
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(compiled.status(), Status::Compiling);
    compiled.wait();
    assert_eq!(compiled.status(), Status::Compiled);
}

#[test]
fn compilation_is_stopped_for_whom_it_would_not_serve() {
    let compiled = CompiledModel::new(Arc::new(model(large(500))));
    (compiled.stopper())();
    compiled.wait();
    assert!(matches!(compiled.status(), Status::Interpreted(_)));
}

#[test]
fn dropping_a_model_stops_its_compilation() {
    for _ in 0..20 {
        let compiled = CompiledModel::new(Arc::new(model(large(500))));
        let initial = compiled.initial_states();
        let mut executor = compiled.executor();
        let mut successors = Successors::new(compiled.layout().words());
        // As many as it takes before code is made.
        for _ in 0..2_000 {
            successors.clear();
            executor.successors(&initial, &mut successors);
        }
        drop(executor);
        drop(compiled);
    }
}

/// States that no run reaches, with every bit set at random: the code may say anything about
/// them, but stays inside its buffers. (Wrong addresses show as crashes or in canaries.)
#[test]
fn impossible_states_do_no_harm() {
    for seed in 0..200 {
        let mut program = random_program(seed);
        // Without chains a transition has at most one successor.
        program.commands.iter_mut().for_each(|c| c.continues = None);
        let compiled = compile(model(program));
        let words = compiled.layout().words();
        let mut rng = Random::new(seed);
        let mut executor = compiled.executor();
        let mut labels = stubborn_system::BitSet::new(compiled.structure().labels.len());
        let mut buffer = Successors::new(words);
        for _ in 0..20 {
            let state: Vec<u32> = (0..words).map(|_| rng.bits() as u32).collect();
            let before = vec![0xABCD_EF01_u32; words];
            buffer.clear();
            buffer.push_copy(stubborn_system::TransitionId::new(0), &before);
            executor.successors(&state, &mut buffer);
            executor.labels(&state, &mut labels);
            assert_eq!(buffer.state(0), before);
            // A chain can end in several ways, any other transition in one.
            let structure = compiled.structure();
            if structure.transitions.iter().all(|t| t.deterministic) {
                assert!(buffer.len() <= 1 + structure.transitions.len());
            }
        }
    }
}
