//! Declarations of a coloured net: sorts, constants, variables, partitions.
//!
//! Every sort is flattened to the list of its basic sorts (dot, enumeration, integer range); a
//! product of products is the longer product. Colours of a basic sort are positions from 0, so
//! that successor, predecessor and order are arithmetic. Two integer ranges with the same bounds
//! are the same sort, two enumerations never are. Declarations may come in any order.

use std::borrow::Cow;

use rapidhash::RapidHashMap;
use stubborn_diagnostics::{Diagnostic, Span};

use crate::report::{Report, shown};
use crate::tree::{Element, Forest};
use crate::xml::Step;

/// The largest basic sort. The contest's largest has some ten thousand colours.
const MAX_CARDINALITY: u64 = 1 << 24;

/// The largest number of basic sorts in a product.
pub(crate) const MAX_COMPONENTS: usize = 64;

/// Named sorts may refer to one another this deep.
const MAX_NAMED_DEPTH: usize = 100;

/// A basic sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BasicId(u32);

/// What the colours of a basic sort are called.
enum Basic<'a> {
    Dot,
    Enumeration(Vec<Cow<'a, str>>),
    Range { start: i64, size: u32 },
}

/// A variable: its name and the basic sorts of its components.
pub(crate) struct Variable<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) sorts: Vec<BasicId>,
    /// Number of its first component among the components of all variables.
    pub(crate) first: u32,
}

enum Named {
    Unresolved(Element),
    InProgress,
    Resolved(Vec<BasicId>),
    /// What is wrong was reported; uses of it are not reported again.
    Wrong,
}

/// All declarations of a net.
pub(crate) struct Sorts<'a> {
    basic: Vec<Basic<'a>>,
    ranges: RapidHashMap<(i64, i64), BasicId>,
    named: RapidHashMap<Cow<'a, str>, Named>,
    constants: RapidHashMap<Cow<'a, str>, (BasicId, u32)>,
    parts: RapidHashMap<Cow<'a, str>, (BasicId, Vec<u32>)>,
    variables: RapidHashMap<Cow<'a, str>, Variable<'a>>,
    variable_components: u32,
    /// How many named sorts are being resolved, one inside the other.
    depth: usize,
}

impl<'a> Sorts<'a> {
    /// The sort of black tokens.
    pub(crate) const DOT: BasicId = BasicId(0);

    /// Reads all declarations.
    pub(crate) fn read(
        forest: &Forest<'a>,
        declarations: &[Element],
        report: &mut Report,
    ) -> Step<Self> {
        let mut sorts = Self {
            basic: vec![Basic::Dot],
            ranges: RapidHashMap::default(),
            named: RapidHashMap::default(),
            constants: RapidHashMap::default(),
            parts: RapidHashMap::default(),
            variables: RapidHashMap::default(),
            variable_components: 0,
            depth: 0,
        };
        for list in declarations {
            if forest.name(*list) != "declarations" {
                let tag = forest.tag(*list);
                let what = format!("`{}` is no list of declarations", shown(tag.name));
                report.error("PNM031", what, tag.span)?;
            }
        }
        let items = || declarations.iter().flat_map(|list| forest.children(*list));
        // Names first, because sorts may be used before they are declared.
        for item in items().filter(|item| forest.name(*item) == "namedsort") {
            let tag = forest.tag(item);
            let id = forest.required(item, "id")?;
            let Some(definition) = forest.first_child(item) else {
                report.error(
                    "PNM030",
                    format!("the sort `{}` is empty", shown(&id)),
                    tag.span,
                )?;
                sorts.named.insert(id, Named::Wrong);
                continue;
            };
            if sorts
                .named
                .insert(id.clone(), Named::Unresolved(definition))
                .is_some()
            {
                let what = format!("the sort `{}` is declared twice", shown(&id));
                report.error("PNM008", what, tag.span)?;
            }
        }
        for item in items().filter(|item| forest.name(*item) == "namedsort") {
            let id = forest.required(item, "id")?;
            sorts.named_sort(forest, &id, forest.tag(item).span, report)?;
        }
        for item in items() {
            match forest.name(item) {
                "namedsort" => {}
                "variabledecl" => sorts.variable_declaration(forest, item, report)?,
                "partition" => sorts.partition(forest, item, report)?,
                other => {
                    let what = format!("the declaration `{}` is not supported", shown(other));
                    report.error("PNM031", what, forest.tag(item).span)?;
                }
            }
        }
        Ok(sorts)
    }

    /// How many colours a basic sort has.
    pub(crate) fn cardinality(&self, sort: BasicId) -> u32 {
        match &self.basic[sort.0 as usize] {
            Basic::Dot => 1,
            Basic::Enumeration(names) => names.len() as u32,
            Basic::Range { size, .. } => *size,
        }
    }

    /// True for the sort of black tokens.
    pub(crate) fn is_dot(&self, sort: BasicId) -> bool {
        sort == Self::DOT
    }

    /// Writes the name of a colour.
    pub(crate) fn write_colour(&self, sort: BasicId, colour: u32, out: &mut String) {
        use std::fmt::Write;
        match &self.basic[sort.0 as usize] {
            Basic::Dot => out.push_str("dot"),
            Basic::Enumeration(names) => out.push_str(&names[colour as usize]),
            Basic::Range { start, .. } => {
                let _ = write!(out, "{}", start + i64::from(colour));
            }
        }
    }

    /// The constant of an enumeration that an id names.
    pub(crate) fn constant(&self, id: &str) -> Option<(BasicId, u32)> {
        self.constants.get(id).copied()
    }

    /// The part of a partition that an id names.
    pub(crate) fn part(&self, id: &str) -> Option<&(BasicId, Vec<u32>)> {
        self.parts.get(id)
    }

    /// The variable that an id names.
    pub(crate) fn variable(&self, id: &str) -> Option<&Variable<'a>> {
        self.variables.get(id)
    }

    /// The basic sorts of a sort expression (`usersort`, `dot`, a range, a product …).
    pub(crate) fn resolve(
        &mut self,
        forest: &Forest<'a>,
        element: Element,
        report: &mut Report,
    ) -> Step<Option<Vec<BasicId>>> {
        let tag = forest.tag(element);
        match tag.name {
            "usersort" => {
                let id = forest.required(element, "declaration")?;
                self.named_sort(forest, &id, tag.span, report)
            }
            "dot" => Ok(Some(vec![Self::DOT])),
            "finiteintrange" => Ok(self.range(forest, element, report)?.map(|sort| vec![sort])),
            "cyclicenumeration" | "finiteenumeration" => Ok(self
                .enumeration(forest, element, report)?
                .map(|sort| vec![sort])),
            "productsort" => {
                let mut components = Vec::new();
                for child in forest.children(element) {
                    match self.resolve(forest, child, report)? {
                        Some(sorts) => components.extend(sorts),
                        None => return Ok(None),
                    }
                    if components.len() > MAX_COMPONENTS {
                        let what = format!("a product has more than {MAX_COMPONENTS} components");
                        report.error("PNM032", what, tag.span)?;
                        return Ok(None);
                    }
                }
                if components.is_empty() {
                    report.error("PNM030", "this product has no components", tag.span)?;
                    return Ok(None);
                }
                Ok(Some(components))
            }
            other => {
                report.add(
                    Diagnostic::error(
                        "PNM031",
                        format!("the sort `{}` is not supported", shown(other)),
                        tag.span,
                    )
                    .help("dots, enumerations, integer ranges and products are"),
                )?;
                Ok(None)
            }
        }
    }

    fn add(&mut self, basic: Basic<'a>) -> BasicId {
        self.basic.push(basic);
        BasicId((self.basic.len() - 1) as u32)
    }

    fn named_sort(
        &mut self,
        forest: &Forest<'a>,
        id: &str,
        span: Span,
        report: &mut Report,
    ) -> Step<Option<Vec<BasicId>>> {
        let Some(named) = self.named.get_mut(id) else {
            // GreatSPN writes `usersort declaration="dot"` without declaring it.
            if id.eq_ignore_ascii_case("dot") {
                return Ok(Some(vec![Self::DOT]));
            }
            let what = format!("the sort `{}` is not declared", shown(id));
            report.error("PNM033", what, span)?;
            return Ok(None);
        };
        match std::mem::replace(named, Named::InProgress) {
            Named::Resolved(sorts) => {
                *named = Named::Resolved(sorts.clone());
                Ok(Some(sorts))
            }
            Named::Wrong => {
                *named = Named::Wrong;
                Ok(None)
            }
            Named::InProgress => {
                let what = format!("the sort `{}` contains itself", shown(id));
                report.error("PNM034", what, span)?;
                Ok(None)
            }
            Named::Unresolved(element) => {
                let mut resolved = None;
                if self.depth < MAX_NAMED_DEPTH {
                    self.depth += 1;
                    resolved = self.resolve(forest, element, report)?;
                    self.depth -= 1;
                } else {
                    report.error("PNM034", "sorts are defined by sorts too deeply", span)?;
                }
                if let Some(named) = self.named.get_mut(id) {
                    *named = resolved.clone().map_or(Named::Wrong, Named::Resolved);
                }
                Ok(resolved)
            }
        }
    }

    fn range(
        &mut self,
        forest: &Forest<'a>,
        element: Element,
        report: &mut Report,
    ) -> Step<Option<BasicId>> {
        let tag = forest.tag(element);
        let (start, end) = (
            forest.required(element, "start")?,
            forest.required(element, "end")?,
        );
        let (Ok(start), Ok(end)) = (start.trim().parse::<i64>(), end.trim().parse::<i64>()) else {
            report.error("PNM035", "the bounds of a range are integers", tag.span)?;
            return Ok(None);
        };
        if end < start {
            report.error(
                "PNM035",
                format!("the range {start}..{end} is empty"),
                tag.span,
            )?;
            return Ok(None);
        }
        let size = end.abs_diff(start);
        if size >= MAX_CARDINALITY {
            self.too_large(report, tag.span)?;
            return Ok(None);
        }
        if let Some(known) = self.ranges.get(&(start, end)) {
            return Ok(Some(*known));
        }
        let sort = self.add(Basic::Range {
            start,
            size: size as u32 + 1,
        });
        self.ranges.insert((start, end), sort);
        Ok(Some(sort))
    }

    /// The position of a number in a range sort.
    pub(crate) fn position_in_range(&self, sort: BasicId, value: i64) -> Option<u32> {
        let Basic::Range { start, size } = self.basic[sort.0 as usize] else {
            return None;
        };
        let position = u32::try_from(value.checked_sub(start)?).ok()?;
        (position < size).then_some(position)
    }

    fn enumeration(
        &mut self,
        forest: &Forest<'a>,
        element: Element,
        report: &mut Report,
    ) -> Step<Option<BasicId>> {
        let sort = BasicId(self.basic.len() as u32);
        let mut names: Vec<Cow<'a, str>> = Vec::new();
        let mut ids: Vec<Cow<'a, str>> = Vec::new();
        for child in forest.children(element) {
            let tag = forest.tag(child);
            if tag.name != "feconstant" {
                let what = format!("`{}` is no constant", shown(tag.name));
                report.error("PNM031", what, tag.span)?;
                continue;
            }
            let id = forest.required(child, "id")?;
            let name = forest.attribute(child, "name")?;
            names.push(name.unwrap_or_else(|| id.clone()));
            ids.push(id);
        }
        let span = forest.tag(element).span;
        if names.is_empty() {
            report.error("PNM030", "this enumeration has no constants", span)?;
            return Ok(None);
        }
        if names.len() as u64 > MAX_CARDINALITY {
            self.too_large(report, span)?;
            return Ok(None);
        }
        // Names are for people; where two constants share one, ids keep them apart.
        let mut sorted: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        sorted.sort_unstable();
        let ambiguous = sorted.windows(2).any(|pair| pair[0] == pair[1]);
        for (position, id) in ids.iter().enumerate() {
            let constant = (sort, position as u32);
            if self.constants.insert(id.clone(), constant).is_some() {
                let what = format!("the constant `{}` is declared twice", shown(id));
                report.error("PNM008", what, span)?;
            }
        }
        Ok(Some(self.add(Basic::Enumeration(if ambiguous {
            ids
        } else {
            names
        }))))
    }

    fn too_large(&self, report: &mut Report, span: Span) -> Step<()> {
        let what = format!("a sort has more than {MAX_CARDINALITY} colours");
        report.error("PNM032", what, span)
    }

    fn variable_declaration(
        &mut self,
        forest: &Forest<'a>,
        item: Element,
        report: &mut Report,
    ) -> Step<()> {
        let tag = forest.tag(item);
        let id = forest.required(item, "id")?;
        let name = forest.attribute(item, "name")?;
        let name = name.unwrap_or_else(|| id.clone());
        let Some(element) = forest.first_child(item) else {
            let what = format!("the variable `{}` has no sort", shown(&id));
            return report.error("PNM030", what, tag.span);
        };
        if let Some(sorts) = self.resolve(forest, element, report)? {
            let first = self.variable_components;
            self.variable_components += sorts.len() as u32;
            if self
                .variables
                .insert(id.clone(), Variable { name, sorts, first })
                .is_some()
            {
                let what = format!("the variable `{}` is declared twice", shown(&id));
                report.error("PNM008", what, tag.span)?;
            }
        }
        Ok(())
    }

    fn partition(&mut self, forest: &Forest<'a>, item: Element, report: &mut Report) -> Step<()> {
        let mut whole = None;
        for child in forest.children(item) {
            let tag = forest.tag(child);
            if tag.name != "partitionelement" {
                let sorts = self.resolve(forest, child, report)?;
                whole = match sorts.as_deref() {
                    Some(&[sort]) => Some(sort),
                    _ => None,
                };
                continue;
            }
            let id = forest.required(child, "id")?;
            let mut members: Vec<u32> = Vec::new();
            let mut sort = whole;
            for member in forest.operands(child) {
                let Some((of, colour)) = self.part_member(forest, member)? else {
                    let what = "a part lists constants of one enumeration or range";
                    return report.error("PNM036", what, forest.tag(member).span);
                };
                if *sort.get_or_insert(of) != of {
                    let what = "the constants of a part are of different sorts";
                    return report.error("PNM036", what, tag.span);
                }
                members.push(colour);
            }
            if let Some(sort) = sort
                && self.parts.insert(id.clone(), (sort, members)).is_some()
            {
                let what = format!("the part `{}` is declared twice", shown(&id));
                report.error("PNM008", what, tag.span)?;
            }
        }
        Ok(())
    }

    fn part_member(&self, forest: &Forest<'a>, member: Element) -> Step<Option<(BasicId, u32)>> {
        let tag = forest.tag(member);
        match tag.name {
            "useroperator" => Ok(self.constant(&forest.required(member, "declaration")?)),
            _ => Ok(None),
        }
    }
}
