//! A model as one JSON object: everything that was asked for, with ids as indices.

use serde_json::{Value, json};
use stubborn::system::{FieldId, FieldKind, Relations};

use super::View;

pub(super) fn show(view: &View<'_>) -> String {
    let mut object = json!({
        "model": view.model.name(),
        "language": view.model.language().name(),
        "words": view.model.system().layout().words(),
        "processes": processes(view),
        "fields": fields(view),
        "labels": labels(view),
        "transitions": transitions(view),
        "properties": properties(view),
    });
    if let Some(relations) = view.shown_relations() {
        object["relations"] = self::relations(relations);
    }
    crate::json::pretty("inspect", crate::json::fields(object))
}

fn indices(fields: &[FieldId]) -> Vec<usize> {
    fields.iter().map(|f| f.index()).collect()
}

fn processes(view: &View<'_>) -> Value {
    let all = view.structure.processes.iter().map(|process| {
        json!({
            "name": process.name,
            "locations": process.locations,
            "location_field": process.location.map(|f| f.index()),
        })
    });
    all.collect()
}

fn fields(view: &View<'_>) -> Value {
    let all = view.model.system().layout().fields().iter().map(|field| {
        let kind = match field.kind {
            FieldKind::Integer => "integer",
            FieldKind::Location(..) => "location",
            FieldKind::Named(_) => "named",
            FieldKind::ChannelLength(_) => "channel length",
            FieldKind::ChannelCell(_) => "channel cell",
            FieldKind::Interned => "interned",
            FieldKind::Failed => "failed",
        };
        json!({
            "name": field.name,
            "kind": kind,
            "min": field.min,
            "max": field.max,
            "process": field.process.map(|p| p.index()),
            "word": field.word,
            "shift": field.shift,
            "bits": field.bits,
        })
    });
    all.collect()
}

fn labels(view: &View<'_>) -> Value {
    let all = view.labels().into_iter().map(|id| {
        let label = view.structure.label(id);
        json!({"id": id.index(), "text": label.text, "tests": indices(&label.tests)})
    });
    all.collect()
}

fn transitions(view: &View<'_>) -> Value {
    let all = view.transitions.iter().map(|id| {
        let transition = view.structure.transition(*id);
        json!({
            "id": id.index(),
            "name": transition.name,
            "location": transition.span.map(|span| view.model.text().place(span)),
            "processes": transition.processes.iter().map(|p| p.index()).collect::<Vec<_>>(),
            "sources": transition.sources,
            "guards": transition.guards.iter().map(|g| g.index()).collect::<Vec<_>>(),
            "tests": indices(&view.tests(*id)),
            "reads": indices(&transition.reads),
            "writes": indices(&transition.writes),
            "may_fail": transition.may_fail,
            "nondeterministic": !transition.deterministic,
            "priority": transition.priority,
        })
    });
    all.collect()
}

fn properties(view: &View<'_>) -> Value {
    let all = view.structure.properties.iter().map(
        |property| json!({"name": property.name, "violated_by": property.violated_by.index()}),
    );
    all.collect()
}

/// Each relation as rows of indices, for all transitions and labels whatever the filters say.
fn relations(relations: &Relations) -> Value {
    use stubborn::system::{LabelId, Matrix, TransitionId};
    fn by_transition(matrix: &Matrix<TransitionId, TransitionId>) -> Value {
        (0..matrix.rows())
            .map(|r| json!(matrix.row_indices(TransitionId::new(r))))
            .collect()
    }
    let by_label = |matrix: &Matrix<LabelId, TransitionId>| -> Value {
        (0..matrix.rows())
            .map(|r| json!(matrix.row_indices(LabelId::new(r))))
            .collect()
    };
    let never = &relations.never_together.0;
    let never: Value = (0..never.rows())
        .map(|r| json!(never.row_indices(LabelId::new(r))))
        .collect();
    json!({
        "do_not_accord": by_transition(&relations.do_not_accord.0),
        "do_not_left_accord": by_transition(&relations.do_not_left_accord.0),
        "must_disable": by_transition(&relations.must_disable.0),
        "may_enable": by_label(&relations.may_enable.0),
        "may_disable": by_label(&relations.may_disable.0),
        "never_together": never,
    })
}
