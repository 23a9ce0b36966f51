//! Why a transition is in a set, in words; and why two transitions do not accord, in terms of the
//! fields they touch.

use stubborn_system::{FieldId, Reason, SetMember, Structure, System, TransitionId};

/// Why a transition is in the set that [`Reducer::last_set`](stubborn_system::Reducer::last_set)
/// tells.
pub fn reason(system: &dyn System, member: &SetMember) -> String {
    let structure = system.structure();
    let name = |id: TransitionId| &structure.transition(id).name;
    match member.reason {
        Reason::Start => "the computation started here".into(),
        Reason::DoesNotAccord(other) => {
            let quarrel = quarrel(system, other, member.transition);
            format!("does not accord with `{}`: {quarrel}", name(other))
        }
        Reason::MayEnable(other, guard) => {
            let guard = &structure.label(guard).text;
            format!("may change `{guard}`, for which `{}` waits", name(other))
        }
        Reason::NeededByGoal(label) => {
            let label = &structure.label(label).text;
            format!("may make the goal true: {label}")
        }
        Reason::Visibility => "a condition on visible transitions asked for it".into(),
        Reason::NotExcluded => "nothing allowed to leave it out".into(),
    }
}

/// `over x (that writes, this tests)`.
fn quarrel(system: &dyn System, that: TransitionId, this: TransitionId) -> String {
    /// More fields are left out.
    const SHOWN: usize = 4;
    let shared = shared_fields(system.structure(), that, this);
    let fields = shared.iter().take(SHOWN).map(|shared| {
        let field = &system.layout().field(shared.field).name;
        format!("{field} (that {}, this {})", shared.first, shared.second)
    });
    match fields.collect::<Vec<String>>() {
        none if none.is_empty() => "one of them may fail or has low priority".into(),
        fields => format!("over {}", fields.join(", ")),
    }
}

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

/// `tests and writes`.
impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = [
            (self.tests, "tests"),
            (self.reads, "reads"),
            (self.writes, "writes"),
        ];
        let words = words.iter().filter(|(is, _)| *is);
        let words: Vec<&str> = words.map(|(_, word)| *word).collect();
        f.write_str(&words.join(" and "))
    }
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
