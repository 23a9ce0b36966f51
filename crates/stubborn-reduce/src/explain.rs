//! Why two transitions do not accord, in terms of the fields they touch.
//!
//! Why a transition is in a set is told by [`Reducer::last_set`](stubborn_system::Reducer::last_set).

use stubborn_system::{FieldId, Structure, TransitionId};

/// What a transition does to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// A guard depends on it.
    pub tests: bool,
    /// The effect depends on it.
    pub reads: bool,
    /// It may be changed.
    pub writes: bool,
}

/// A field that two transitions share such that one of them may change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedField {
    /// Which.
    pub field: FieldId,
    /// What the first transition does to it.
    pub first: Access,
    /// What the second transition does to it.
    pub second: Access,
}

/// The fields over which two transitions may fail to accord. Empty if their sets are disjoint,
/// in which case only failure or priority can keep them from according.
pub fn shared_fields(
    structure: &Structure,
    first: TransitionId,
    second: TransitionId,
) -> Vec<SharedField> {
    let access = |transition: TransitionId, field: FieldId| {
        let t = structure.transition(transition);
        let tests = |g: &stubborn_system::LabelId| structure.label(*g).tests.contains(&field);
        Access {
            tests: t.guards.iter().any(tests),
            reads: t.reads.contains(&field),
            writes: t.writes.contains(&field),
        }
    };
    let mut fields: Vec<FieldId> = [first, second]
        .into_iter()
        .flat_map(|t| structure.transition(t).writes.iter().copied())
        .collect();
    fields.sort_unstable();
    fields.dedup();
    let touches = |a: &Access| a.tests || a.reads || a.writes;
    fields
        .into_iter()
        .map(|field| SharedField {
            field,
            first: access(first, field),
            second: access(second, field),
        })
        .filter(|shared| touches(&shared.first) && touches(&shared.second))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stubborn_system::{Label, LabelId, Transition};

    #[test]
    fn names_the_fields_that_one_writes_and_the_other_touches() {
        let field = FieldId::new;
        let structure = Structure {
            labels: vec![Label {
                text: "x = 0".into(),
                tests: vec![field(0)],
            }],
            transitions: vec![
                Transition {
                    guards: vec![LabelId::new(0)],
                    reads: vec![field(1)],
                    writes: vec![field(2)],
                    ..Transition::default()
                },
                Transition {
                    reads: vec![field(1)],
                    writes: vec![field(0), field(3)],
                    ..Transition::default()
                },
            ],
            ..Structure::default()
        };
        let shared = shared_fields(&structure, TransitionId::new(0), TransitionId::new(1));
        assert_eq!(shared.len(), 1);
        assert_eq!(shared[0].field, field(0));
        assert!(shared[0].first.tests && shared[0].second.writes);
    }
}
