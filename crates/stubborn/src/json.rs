//! Results for scripts. Every object has the version of its schema, and is what
//! `schema/stubborn-1.schema.json` says: builds with debug assertions, such as those of the tests,
//! check that of each object before they print it.

use serde_json::{Map, Value, json};
use stubborn::ModelText;
use stubborn::diagnostics::{Diagnostic, Severity};

/// The schema, as `stubborn schema` prints it.
pub(crate) const SCHEMA: &str = include_str!("../schema/stubborn-1.schema.json");
const VERSION: u32 = 1;

/// An object as a line.
pub(crate) fn line(command: &str, object: Map<String, Value>) -> String {
    format!("{}\n", whole(command, object))
}

/// An object on many lines.
pub(crate) fn pretty(command: &str, object: Map<String, Value>) -> String {
    format!("{:#}\n", whole(command, object))
}

fn whole(command: &str, object: Map<String, Value>) -> Value {
    let mut all = Map::new();
    all.insert("schema_version".into(), json!(VERSION));
    all.insert("command".into(), json!(command));
    all.extend(object);
    let object = Value::Object(all);
    #[cfg(debug_assertions)]
    if let Err(problem) = schema::check(&object) {
        panic!("not what the schema says: {problem}\n{object:#}");
    }
    object
}

/// The fields of an object that is written as one.
pub(crate) fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Messages about a model.
pub(crate) fn diagnostics(text: &ModelText, all: &[Diagnostic]) -> Vec<Value> {
    let one = |diagnostic: &Diagnostic| {
        let related = diagnostic
            .related
            .iter()
            .map(|(span, message)| json!({"message": message, "place": text.range(*span)}));
        json!({
            "code": diagnostic.code,
            "severity": match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "message": diagnostic.message,
            "place": text.range(diagnostic.span),
            "help": diagnostic.help,
            "related": related.collect::<Vec<_>>(),
        })
    };
    all.iter().map(one).collect()
}

/// The part of JSON Schema that ours is written in, and one rule more: an object has no fields that
/// the schema does not name. (Others may check against the schema as it is: it allows additions.)
#[cfg(debug_assertions)]
mod schema {
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    use serde_json::{Map, Value};

    static ROOT: LazyLock<Value> =
        LazyLock::new(|| serde_json::from_str(super::SCHEMA).expect("the schema is JSON"));

    /// Why an object is not what the schema says.
    pub(super) fn check(value: &Value) -> Result<(), String> {
        conforms(value, &ROOT, "object")
    }

    fn resolved(schema: &Value) -> Option<&'static Value> {
        let name = schema["$ref"].as_str()?.strip_prefix("#/$defs/")?;
        ROOT["$defs"].get(name)
    }

    fn conforms(value: &Value, schema: &Value, at: &str) -> Result<(), String> {
        if schema.get("$ref").is_some() {
            let target = resolved(schema).ok_or_else(|| format!("{at}: {schema} leads nowhere"))?;
            conforms(value, target, at)?;
        }
        if let Some(all) = schema["anyOf"].as_array() {
            let tried: Vec<_> = all.iter().map(|one| conforms(value, one, at)).collect();
            if tried.iter().all(Result::is_err) {
                let why: Vec<String> = tried.into_iter().filter_map(Result::err).collect();
                return Err(why.join("\n"));
            }
        }
        for one in schema["allOf"].as_array().into_iter().flatten() {
            conforms(value, one, at)?;
        }
        let wrong = |what: &Value| Err(format!("{at}: {value} is not {what}"));
        if schema.get("const").is_some_and(|known| known != value) {
            return wrong(&schema["const"]);
        }
        let known = schema["enum"].as_array();
        if known.is_some_and(|known| !known.contains(value)) {
            return wrong(&schema["enum"]);
        }
        let is = |name: &Value| match name.as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            Some("boolean") => value.is_boolean(),
            Some("null") => value.is_null(),
            _ => false,
        };
        let is_right = match &schema["type"] {
            Value::Null => true,
            Value::Array(names) => names.iter().any(is),
            name => is(name),
        };
        if !is_right {
            return wrong(&schema["type"]);
        }
        let least = schema["minimum"].as_f64();
        if let (Some(least), Some(number)) = (least, value.as_f64())
            && number < least
        {
            return Err(format!("{at}: {value} is below {least}"));
        }
        if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
            for (number, value) in values.iter().enumerate() {
                conforms(value, items, &format!("{at}[{number}]"))?;
            }
        }
        match value.as_object() {
            Some(fields) => has_fields(fields, schema, at),
            None => Ok(()),
        }
    }

    fn has_fields(fields: &Map<String, Value>, schema: &Value, at: &str) -> Result<(), String> {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !name.as_str().is_some_and(|name| fields.contains_key(name)) {
                return Err(format!("{at}: {name} is missing"));
            }
        }
        let own = schema["properties"].as_object();
        for (name, value) in fields {
            let inside = format!("{at}.{name}");
            if let Some(schema) = own.and_then(|own| own.get(name)) {
                conforms(value, schema, &inside)?;
            } else if let Some(others) = schema.get("additionalProperties") {
                conforms(value, others, &inside)?;
            }
        }
        // Whole objects are typed; what they are composed of is not.
        if schema.get("type").is_some() && schema.get("additionalProperties").is_none() {
            let mut known = BTreeSet::new();
            names(schema, &mut known);
            if let Some(name) = fields.keys().find(|name| !known.contains(name.as_str())) {
                return Err(format!("{at}: the schema has no `{name}`"));
            }
        }
        Ok(())
    }

    /// The fields that a schema names, with those of its parts.
    fn names<'s>(schema: &'s Value, out: &mut BTreeSet<&'s str>) {
        let own = schema["properties"].as_object();
        out.extend(
            own.into_iter()
                .flat_map(|own| own.keys())
                .map(String::as_str),
        );
        for part in schema["allOf"].as_array().into_iter().flatten() {
            names(resolved(part).unwrap_or(part), out);
        }
    }

    #[cfg(test)]
    mod tests {
        use serde_json::json;

        use super::*;

        #[test]
        fn what_the_schema_does_not_say_is_refused() {
            let right = json!({
                "schema_version": 1, "command": "check", "exit_status": 2,
                "error": {"kind": "command", "message": "no", "diagnostics": []},
            });
            assert_eq!(check(&right), Ok(()));
            let wrong = [
                ("/schema_version", json!(2)),
                ("/exit_status", json!("2")),
                ("/exit_status", json!(0)),
                ("/error/kind", json!("bad")),
                ("/error/diagnostics", json!([{}])),
                ("/error", json!({"kind": "command", "message": "no"})),
            ];
            for (at, value) in wrong {
                let mut object = right.clone();
                *object.pointer_mut(at).expect("it is there") = value;
                assert!(check(&object).is_err(), "{object}");
            }
            let mut more = right;
            more["error"]["surprise"] = json!(0);
            let problem = check(&more).expect_err("it is not in the schema");
            assert!(
                problem.contains("the schema has no `surprise`"),
                "{problem}"
            );
        }

        #[test]
        fn every_part_of_the_schema_is_found() {
            fn references(value: &Value) {
                match value {
                    Value::Object(fields) => {
                        if fields.contains_key("$ref") {
                            assert!(resolved(value).is_some(), "{value}");
                        }
                        fields.values().for_each(references);
                    }
                    Value::Array(items) => items.iter().for_each(references),
                    _ => {}
                }
            }
            references(&ROOT);
        }
    }
}
