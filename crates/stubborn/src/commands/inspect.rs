//! `stubborn inspect`: what a model is made of, as text, JSON or control-flow graphs.

mod dot;
mod explain;
mod json;
mod text;

use stubborn::LoadedModel;
use stubborn::system::{FieldId, LabelId, Relations, Structure, TransitionId};

use super::load;
use crate::exit::{Failure, Status};
use crate::options::{InspectArgs, InspectFormat};
use crate::terminal::print;

pub(crate) fn run(args: &InspectArgs) -> Result<Status, Failure> {
    let (model, _) = load(&args.model, &[], false)?;
    let view = View::new(args, &model)?;
    if let Some(file) = &args.state {
        print(&explain::show(&view, file)?);
        return Ok(Status::Fine);
    }
    print(&match args.format {
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
    relations: Option<Relations>,
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
            relations: args
                .relations
                .map(|level| model.system().relations(level.into())),
        })
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
