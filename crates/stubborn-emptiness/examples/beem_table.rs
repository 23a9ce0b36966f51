//! What reductions and provisos leave of the products of BEEM properties, as a table.
//!
//! `cargo run -p stubborn-emptiness --example beem_table -- FILE.dve…` checks the property
//! process of each file without reduction, and with each of a few reductions and provisos.
//! `none` as a proviso is unsound; it shows what a proviso costs.

use std::io::Write;

use stubborn_diagnostics::SourceFile;
use stubborn_emptiness::{
    Check, Claim, ClaimEdge, ClaimGuards, CycleProviso, Fitting, Property, ReductionRequest,
    ReductionUse,
};
use stubborn_ir::Model;
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{RelationLevel, System};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let ways = [
        (Algorithm::Beam, "highlink-stab-scan"),
        (Algorithm::Beam, "none"),
        (Algorithm::Deletion, "highlink-stab-scan"),
        (Algorithm::Closure, "highlink-stab-scan"),
    ];
    let names = ways.map(|(algorithm, proviso)| format!("{algorithm} {proviso}"));
    writeln!(out, "file\tverdict\tfull\t{}\tnotes", names.join("\t"))?;
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file)?;
        let (lowered, _) = stubborn_dve::compile(&SourceFile::new(file.clone(), text));
        let mut lowered = lowered.ok_or("a model with errors")?;
        let automaton = lowered.automaton().ok_or("no property process")?.clone();
        let edges = automaton.edges.iter().map(|edge| ClaimEdge {
            source: edge.source,
            target: edge.target,
            guard: edge.guard,
        });
        let claim = Claim {
            initial: automaton.initial,
            accepting: automaton.accepting,
            edges: edges.collect(),
        };
        let guards = ClaimGuards::new(lowered.program_mut(), &claim);
        let property = Property::from_claim(&claim, guards);
        let model = Model::new(lowered.into_program())?;
        let relations = model.relations(RelationLevel::Reach);
        let full = Check::new(&model, &property).run()?;
        let states = full.counts.states;
        write!(out, "{file}\t{:?}\t{states}", full.verdict)?;
        let mut notes = String::new();
        for (algorithm, proviso) in ways {
            let proviso: CycleProviso = proviso.parse()?;
            let check = Check {
                reduction: Some(ReductionRequest {
                    config: Config::new(algorithm),
                    relations: &relations,
                    proviso,
                    fitting: Fitting::default(),
                }),
                ..Check::new(&model, &property)
            };
            let reduced = check.run()?;
            if proviso.is_sound() && reduced.verdict != full.verdict {
                return Err(format!("{file}: {algorithm} {proviso} changes the verdict").into());
            }
            let percent = 100.0 * reduced.counts.states as f64 / states as f64;
            write!(out, "\t{percent:.1}")?;
            notes = match reduced.reduction {
                ReductionUse::On { soundness, .. } => {
                    format!("{soundness:?}, {} walks", reduced.walks)
                }
                ReductionUse::Off(why) => why.to_string(),
            };
        }
        writeln!(out, "\t{notes}")?;
    }
    Ok(())
}
