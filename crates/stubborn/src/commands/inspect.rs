//! `stubborn inspect`: what a model is made of, as text, JSON or control-flow graphs.

mod dot;
mod explain;
mod json;
mod text;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use stubborn::system::{FieldId, LabelId, Relations, Structure, TransitionId};
use stubborn::{LoadOptions, LoadedModel, SavedRelations};

use super::simulate::read_saved;
use super::{load_with, no_card, write_file};
use crate::exit::{Failure, Status};
use crate::options::{InspectArgs, InspectFormat};
use crate::terminal::{counted, print};

pub(crate) fn run(args: &InspectArgs) -> Result<Status, Failure> {
    no_card(args.model.engine)?;
    let needs = match &args.state {
        Some(file) if file != Path::new("start") => read_saved(file)?.needs(),
        _ => LoadOptions::default(),
    };
    let options = LoadOptions {
        invariants: args.invariant.clone(),
        ignore_temporal: true,
        promela: args.model.promela.options(),
        ..needs
    };
    let (model, _) = load_with(&args.model, options, false)?;
    let view = View::new(args, &model)?;
    if let (Some(file), Some(Known::Measured(saved))) =
        (&args.measuring.write_relations, &view.relations)
    {
        write_file(file, &saved.to_json())?;
        print(&written(file, saved));
        return Ok(Status::Fine);
    }
    if let Some(file) = &args.state {
        print(&explain::show(&view, file)?);
        return Ok(Status::Fine);
    }
    let format = if args.dot {
        InspectFormat::Dot
    } else {
        args.format
    };
    print(&match format {
        InspectFormat::Text => text::show(&view),
        InspectFormat::Json => json::show(&view),
        InspectFormat::Dot => dot::show(&view),
    });
    Ok(Status::Fine)
}

/// A model with what to show of it.
struct View<'m> {
    args: &'m InspectArgs,
    model: &'m LoadedModel,
    structure: &'m Structure,
    /// Those that the filters leave.
    transitions: Vec<TransitionId>,
    relations: Option<Known>,
}

/// Relations by analysis, or from a state space.
enum Known {
    Analysed(Box<Relations>),
    Measured(SavedRelations),
}

impl Known {
    fn new(args: &InspectArgs, model: &LoadedModel) -> Result<Option<Self>, Failure> {
        let choice = args.relations.as_ref();
        if let Some((dependency, precedence)) = args.measuring.sources(choice)? {
            let limit = args.measuring.max_states;
            let saved = SavedRelations::measure(model, dependency, precedence, limit)
                .map_err(Failure::wrong)?;
            return Ok(Some(Self::Measured(saved)));
        }
        let Some(choice) = choice else {
            return Ok(None);
        };
        Ok(Some(match choice.without_exploring()? {
            (_, Some(saved)) => {
                saved.of(model)?;
                Self::Measured(Arc::unwrap_or_clone(saved))
            }
            (level, None) => Self::Analysed(Box::new(model.system().relations(level))),
        }))
    }

    /// The relations; where they depend on the state, those of the initial state.
    fn relations(&self, model: &LoadedModel) -> &Relations {
        match self {
            Self::Analysed(relations) => relations,
            Self::Measured(saved) => {
                let measured = saved.relations();
                let words = model.system().layout().words();
                let initial = model.system().initial_states();
                let of_state = |map: &HashMap<Box<[u32]>, u32>| map.get(&initial[..words]).copied();
                let context = measured.context_of.as_ref().and_then(of_state);
                &measured.contexts[context.unwrap_or(0) as usize].relations
            }
        }
    }
}

/// What was written.
fn written(file: &Path, saved: &SavedRelations) -> String {
    let relations = saved.relations();
    let kinds = match relations.contexts.len() {
        1 => String::new(),
        count => format!(", {count} kinds of states"),
    };
    format!(
        "{}: dependency {}, precedence {}, from {}{kinds}\n",
        file.display(),
        relations.dependency,
        relations.precedence,
        counted(relations.states as u64, "state"),
    )
}

impl<'m> View<'m> {
    fn new(args: &'m InspectArgs, model: &'m LoadedModel) -> Result<Self, Failure> {
        let structure = model.system().structure();
        let is_chosen = |id: &TransitionId| {
            let transition = structure.transition(*id);
            let by_process = |text: &String| {
                let mut processes = transition.processes.iter();
                processes.any(|p| structure.processes[p.index()].name.contains(text))
            };
            args.process.as_ref().is_none_or(by_process)
                && args
                    .transition
                    .as_ref()
                    .is_none_or(|text| transition.name.contains(text))
        };
        let transitions: Vec<TransitionId> = structure.transition_ids().filter(is_chosen).collect();
        let filtered = args.process.is_some() || args.transition.is_some();
        if transitions.is_empty() && filtered {
            return Err(Failure::wrong("no transition passes the filters"));
        }
        Ok(Self {
            args,
            model,
            structure,
            transitions,
            relations: Known::new(args, model)?,
        })
    }

    fn shown_relations(&self) -> Option<&Relations> {
        self.relations.as_ref().map(|r| r.relations(self.model))
    }

    /// Labels that the chosen transitions have as guards; all, if there is no filter.
    fn labels(&self) -> Vec<LabelId> {
        if self.args.process.is_none() && self.args.transition.is_none() {
            return self.structure.label_ids().collect();
        }
        let guards = self
            .transitions
            .iter()
            .flat_map(|t| &self.structure.transition(*t).guards);
        let mut labels: Vec<LabelId> = guards.copied().collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    fn field_name(&self, field: FieldId) -> &str {
        &self.model.system().layout().field(field).name
    }

    fn field_names<'f>(&self, fields: impl IntoIterator<Item = &'f FieldId>) -> Vec<String> {
        fields
            .into_iter()
            .map(|f| self.field_name(*f).to_owned())
            .collect()
    }

    /// Fields that the guards of a transition look at.
    fn tests(&self, transition: TransitionId) -> Vec<FieldId> {
        let guards = &self.structure.transition(transition).guards;
        let tests = guards.iter().flat_map(|g| &self.structure.label(*g).tests);
        let mut fields: Vec<FieldId> = tests.copied().collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    }
}
