//! A record of messages beside the processes: what a property about the order of events needs.

use std::any::Any;

use crate::linearizability::Drawn;
use crate::value::{Boxed, Envelope, Value};

/// Notes one message in a record.
pub(crate) type Note = Box<dyn Fn(&mut Boxed, &Envelope<&Boxed>) + Send + Sync>;

/// Operations in a record.
pub(crate) type Draw = Box<dyn Fn(&dyn Any) -> Vec<Drawn> + Send + Sync>;

/// Which messages change the record, and how.
pub(crate) struct History {
    pub(crate) initial: Boxed,
    /// On sending, for messages of these kinds.
    pub(crate) sends: Vec<(Vec<String>, Note)>,
    /// On delivery, for messages of these kinds.
    pub(crate) deliveries: Vec<(Vec<String>, Note)>,
    /// How it is drawn in charts.
    pub(crate) draw: Option<Draw>,
}

fn noting<M: Value, H: Value>(note: impl Fn(&mut H, &Envelope<M>) + Send + Sync + 'static) -> Note {
    Box::new(move |record, envelope| {
        if let Some(record) = (*record.0).as_any_mut().downcast_mut() {
            note(record, &envelope.typed());
        }
    })
}

impl History {
    pub(crate) fn new<H: Value>(initial: H) -> Self {
        Self {
            initial: Boxed(Box::new(initial)),
            sends: Vec::new(),
            deliveries: Vec::new(),
            draw: None,
        }
    }

    pub(crate) fn on_send<M: Value, H: Value>(
        &mut self,
        kinds: &[&str],
        note: impl Fn(&mut H, &Envelope<M>) + Send + Sync + 'static,
    ) {
        let kinds = kinds.iter().map(|k| (*k).to_owned()).collect();
        self.sends.push((kinds, noting(note)));
    }

    pub(crate) fn on_delivery<M: Value, H: Value>(
        &mut self,
        kinds: &[&str],
        note: impl Fn(&mut H, &Envelope<M>) + Send + Sync + 'static,
    ) {
        let kinds = kinds.iter().map(|k| (*k).to_owned()).collect();
        self.deliveries.push((kinds, noting(note)));
    }

    /// Whether a message of this kind changes the record when it is sent (or delivered).
    pub(crate) fn notes(&self, kind: &str, delivered: bool) -> bool {
        let of = if delivered {
            &self.deliveries
        } else {
            &self.sends
        };
        of.iter().any(|(kinds, _)| kinds.iter().any(|k| k == kind))
    }

    /// The record after a message of this kind was sent (or delivered).
    pub(crate) fn after(
        &self,
        record: &mut Boxed,
        envelope: &Envelope<&Boxed>,
        kind: &str,
        delivered: bool,
    ) {
        let of = if delivered {
            &self.deliveries
        } else {
            &self.sends
        };
        for (kinds, note) in of {
            if kinds.iter().any(|k| k == kind) {
                note(record, envelope);
            }
        }
    }
}
