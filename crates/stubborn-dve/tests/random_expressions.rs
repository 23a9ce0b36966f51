//! Lowered expressions against the plain arithmetic of [`stubborn_dve::evaluate`]: as guards
//! (true, false or failing) and as stored values, on random expressions over variables,
//! arrays and local states with all operators.

use crate::support;

use stubborn_diagnostics::SourceFile;
use stubborn_dve::evaluate::initial_value;
use stubborn_ir::Model;
use stubborn_system::{Random, Successors, System};

fn expression(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(5) == 0 {
        return match random.below(4) {
            0 => random.below(4).to_string(),
            1 => format!(
                "t[{}]",
                random.pick(&["0", "1", "2", "zero", "one", "minus", "two"])
            ),
            2 => random.pick(&["P.a", "P.b", "Q.a", "Q.b"]).to_string(),
            _ => random
                .pick(&["zero", "one", "two", "minus", "big", "k[one]", "t"])
                .to_string(),
        };
    }
    let left = expression(random, depth - 1);
    match random.below(12) {
        0 => format!("not {left}"),
        1 => format!("-{left}"),
        2 => format!("~{left}"),
        3 => format!("({left})"),
        4 => format!("t[{left}]"),
        _ => {
            // Logic is what the lowering rearranges, so there is more of it.
            let operator = random.pick(&[
                "and", "or", "imply", "and", "or", "imply", "and", "or", "+", "-", "*", "/", "%",
                "|", "&", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "==", "!=",
            ]);
            let right = expression(random, depth - 1);
            let (left, right) = if random.below(2) == 0 {
                (format!("({left})"), format!("({right})"))
            } else {
                (left, right)
            };
            format!("{left} {operator} {right}")
        }
    }
}

#[test]
fn guards_and_values_agree_with_plain_evaluation() {
    let mut random = Random::new(7);
    let (mut failing, mut holding, mut stored) = (0, 0, 0);
    for _ in 0..4000 {
        let depth = 1 + random.below(4);
        let text = expression(&mut random, depth);
        let source = SourceFile::new(
            "random.dve",
            format!(
                "byte zero, one = 1, two = 2, t[3] = {{0, 3, 7}}; int minus = -1, big = 30000, r;
                 const int k[2] = {{-5, 1}};
                 process P {{ state a, b; init a; trans a -> b {{ guard {text}; }}; }}
                 process Q {{ state a, b; init b; trans b -> b {{ effect r = {text}; }}; }}
                 system async;"
            ),
        );
        let lowered = support::lowered(&source);
        let guard = lowered.model().processes[0].transitions[0].guard.as_ref();
        let expected = initial_value(lowered.model(), guard.expect("there is a guard"));
        let model = Model::new(lowered.into_program()).expect("the program is well-formed");
        let mut successors = Successors::new(model.layout().words());
        let initial = model.initial_states();
        model.executor().successors(&initial, &mut successors);
        let by_process = |process: usize| {
            let of = |t| model.structure().transition(t).processes[0].index();
            successors.iter().find(|s| of(s.transition) == process)
        };
        let field = |name: &str| {
            let fields = model.layout().fields();
            fields
                .iter()
                .find(|f| f.name == name)
                .expect("the field is there")
        };
        let (guarded, assigned) = (by_process(0), by_process(1).expect("Q can always move"));
        match expected {
            Err(_) => {
                failing += 1;
                assert!(
                    model.is_error(guarded.expect("a failing guard is enabled").state),
                    "{text}"
                );
                assert!(model.is_error(assigned.state), "{text}");
            }
            Ok(value) => {
                assert_eq!(guarded.is_some(), value != 0, "{text} is {value}");
                holding += usize::from(value != 0);
                if let Some(guarded) = guarded {
                    assert_eq!(field("P").get(guarded.state), 1, "{text}");
                }
                if (-32768..=32767).contains(&value) {
                    stored += 1;
                    assert_eq!(field("r").get(assigned.state), i64::from(value), "{text}");
                } else {
                    assert!(model.is_error(assigned.state), "{text} is {value}");
                }
            }
        }
    }
    assert!(
        failing > 200 && holding > 500 && stored > 1500,
        "{failing} {holding} {stored}"
    );
}
