//! Which questions are asked: what the model states, and what the flags say.

use stubborn::{
    CheckError, LoadedModel, Obstacle, Origin, Question, QuestionKind, SearchError, Temporal,
};

use super::headline;
use crate::exit::Failure;
use crate::options::PropertyArgs;

/// What to ask, from the model and the flags.
#[derive(Clone, Default)]
pub(in crate::commands) struct Asked<'m> {
    pub(in crate::commands) questions: Vec<Question>,
    pub(in crate::commands) temporal: Vec<&'m Temporal>,
}

impl<'m> Asked<'m> {
    pub(in crate::commands) fn is_empty(&self) -> bool {
        self.questions.is_empty() && self.temporal.is_empty()
    }

    /// The same for a model that may have grown since somebody asked for the first time: what cannot be asked
    /// any more has no answer.
    pub(in crate::commands) fn again(
        args: &PropertyArgs,
        model: &'m LoadedModel,
    ) -> Result<Self, CheckError> {
        let no_answer = |failure: Failure| SearchError::NoAnswer(failure.to_string());
        Ok(Self::new(args, model).map_err(no_answer)?)
    }

    pub(in crate::commands) fn new(
        args: &PropertyArgs,
        model: &'m LoadedModel,
    ) -> Result<Self, Failure> {
        let all = stubborn::questions(model);
        let mut questions: Vec<Question> = Vec::new();
        let mut temporal: Vec<&Temporal> = Vec::new();
        for name in &args.property {
            let (before, before_temporal) = (questions.len(), temporal.len());
            // As JSON names it, or as verdicts do.
            let is_asked = |q: &&Question| q.name == *name || headline(q) == *name;
            questions.extend(all.iter().filter(is_asked).cloned());
            let is_asked = |t: &&Temporal| t.name == *name || t.title == *name;
            temporal.extend(model.temporal().iter().filter(is_asked));
            if (questions.len(), temporal.len()) == (before, before_temporal) {
                let names = all.iter().map(|q| &q.name);
                let names = names.chain(model.temporal().iter().map(|t| &t.name));
                let names: Vec<String> = names.map(|name| format!("  {name}")).collect();
                return Err(Failure::wrong(format!(
                    "there is no property `{name}`; there are\n{}",
                    names.join("\n")
                )));
            }
        }
        if args.property.is_empty() && !args.only {
            questions = all;
            temporal = model.temporal().iter().collect();
        } else {
            // What the flags say; of files with many properties, only those that are named.
            let any = args.property.is_empty();
            questions.extend(all.into_iter().filter(|q| {
                q.kind == QuestionKind::Reach
                    || q.kind == QuestionKind::Invariant
                        && (any || args.invariant.contains(&q.name))
            }));
            let wanted = |t: &&Temporal| match t.origin {
                Origin::Model => false,
                Origin::User => true,
                Origin::File => any,
            };
            temporal.extend(model.temporal().iter().filter(wanted));
        }
        if args.deadlock {
            questions.push(Question::no_deadlock());
        }
        let mut once = Self::default();
        for question in questions {
            if !once.questions.contains(&question) {
                once.questions.push(question);
            }
        }
        for property in temporal {
            if !once
                .temporal
                .iter()
                .any(|known| std::ptr::eq(*known, property))
            {
                once.temporal.push(property);
            }
        }
        for property in &once.temporal {
            if let Err(Obstacle::Wrong(messages)) = &property.property {
                return Err(Failure::shown(messages.clone()));
            }
        }
        if once.is_empty() {
            return Err(Failure::wrong(
                "nothing to check: --only needs --deadlock, --invariant, --reach, --ltl, --ctl, --hoa, \
                 --properties or --property",
            ));
        }
        Ok(once)
    }
}
