//! A system of one's own, checked with reduction: some lamps, each with a switch of its own. The
//! first two should never be on together, and nothing can happen when all are on.
//!
//! Run it by `cargo run -p stubborn --no-default-features --example own_system`.

use stubborn::system::layout::LayoutBuilder;
use stubborn::system::{
    Executor, FieldId, FieldKind, Label, LabelId, Layout, Outcome, Property, PropertyKind,
    Structure, Successors, System, Transition, TransitionId,
};

const LAMPS: usize = 12;

struct Lamps(Layout, Structure);

impl Lamps {
    fn new() -> Self {
        let (mut layout, mut structure) = (LayoutBuilder::new(), Structure::default());
        for lamp in 0..LAMPS {
            let field = layout.field(format!("lamp{lamp}"), (0, 1), FieldKind::Integer, None);
            // Label `lamp` says that it is off, which is what its switch needs.
            structure.labels.push(Label {
                text: format!("lamp{lamp} is off"),
                tests: vec![field],
            });
            structure.transitions.push(Transition {
                name: format!("switch on lamp{lamp}"),
                guards: vec![LabelId::new(lamp)],
                writes: vec![field],
                deterministic: true,
                ..Transition::default()
            });
        }
        let layout = layout.finish();
        let bad = LabelId::new(structure.labels.len());
        let tests = vec![FieldId::new(0), FieldId::new(1)];
        structure.labels.push(Label {
            text: "the first two lamps are on".into(),
            tests,
        });
        structure.properties.push(Property {
            name: "one of the first two is off".into(),
            kind: PropertyKind::Invariant,
            violated_by: bad,
            span: None,
        });
        Self(layout, structure)
    }
}

impl System for Lamps {
    fn layout(&self) -> &Layout {
        &self.0
    }

    fn structure(&self) -> &Structure {
        &self.1
    }

    fn initial_states(&self) -> Vec<u32> {
        vec![0; self.0.words()]
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Hand(self))
    }
}

struct Hand<'s>(&'s Lamps);

impl Executor for Hand<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        (0..LAMPS).for_each(|lamp| self.fire(state, TransitionId::new(lamp), out));
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        let field = &self.0.0.fields()[transition.index()];
        if field.get(state) == 0 {
            let mut next = state.to_vec();
            field.set(&mut next, 1);
            out.push(transition, state, &next, Outcome::FINE);
        }
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        let mut first = self.0.0.fields()[..2].iter();
        match self.0.0.fields().get(label.index()) {
            Some(lamp) => lamp.get(state) == 0,
            None => first.all(|lamp| lamp.get(state) == 1),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = stubborn::CheckOptions {
        reduction: stubborn::ReductionOptions {
            por: stubborn::Por::Chosen("beam".parse().map(stubborn::reduce::Config::new)?),
            ..Default::default()
        },
        ..Default::default()
    };
    let lamps = Lamps::new();
    let report = stubborn::check_system(&lamps, &options)?;
    let states: u64 = report.runs.iter().map(|run| run.result.states).sum();
    // Without reduction there are 4,096.
    assert!(states < 100, "{states}");
    for answer in &report.answers {
        let mut out = std::io::stdout().lock();
        std::io::Write::write_fmt(
            &mut out,
            format_args!("{}: {}\n", answer.question.name, answer.verdict),
        )?;
        if let Some(trace) = answer.violation.as_ref().and_then(|v| v.trace.as_ref()) {
            std::io::Write::write_all(&mut out, stubborn::story::steps(&lamps, trace).as_bytes())?;
        }
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("it works");
}
