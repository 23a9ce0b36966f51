//! Unfolding of coloured nets: one place per colour that can occur, one transition per
//! binding that can ever be enabled.
//!
//! Colours are discovered, not enumerated. A work list starts with the colours of the initial
//! marking; each new colour of a place is matched with the input tuples of its transitions, the
//! match is extended to whole bindings with the help of the guard, and the outputs of each
//! binding are new colours. That is the evaluation of a Datalog program by its newest facts: every
//! binding is found exactly once, at the newest of its input colours. It makes both the
//! binding by input arcs and the "colour fixed point" of Bilgram, Jensen, Pedersen, Srba and
//! Taankvist, "Methods for Efficient Unfolding of Colored Petri Nets" (2023), fall out of one loop.
//! Inputs that are no plain tuples (`all`, subtractions) do not restrict the search; a final pass
//! over the unfolded net removes what they let through, see [`stubborn_net::Relaxed`].
//!
//! The result is a net whose places and transitions are ordered by their coloured origin, with
//! names such as `Idle(3,red)` and `start(x=3,c=red)`. Removed places are empty in every
//! reachable marking and removed transitions never fire, so counts and answers do not change.

mod plan;

use rapidhash::RapidHashMap;
use stubborn_diagnostics::Diagnostic;
use stubborn_system::{Budget, Patience};

use crate::coloured::terms::{Atom, Base, Component, Summand};
use crate::coloured::{ColouredArc, ColouredNet};
use crate::model::{Model, SourceNodes};
use crate::report::{Report, gave_up, shown};
use crate::unfold::plan::{Plan, bit, equality};
use crate::xml::{Fatal, Step};
use stubborn_net::Names;
use stubborn_net::Relaxed;
use stubborn_net::{Net, NetBuilder};
use stubborn_net::{PlaceId, TransitionId};

/// Steps between two looks at the budget.
const LOOK_EVERY: u32 = 256;

/// How far an unfolding may go before it is given up. All limits count work, never time, so
/// that the same file gives the same result on every machine.
#[derive(Clone, Debug)]
pub struct UnfoldLimits {
    /// Places of the unfolded net.
    pub places: usize,
    /// Transitions of the unfolded net.
    pub transitions: usize,
    /// Arcs of the unfolded net.
    pub arcs: usize,
    /// Steps of the search for bindings.
    pub steps: u64,
}

impl Default for UnfoldLimits {
    fn default() -> Self {
        Self {
            places: 4_000_000,
            transitions: 4_000_000,
            arcs: 40_000_000,
            steps: 1 << 31,
        }
    }
}

/// Unfolds a coloured net; none if it is wrong or too large, which was reported then.
pub(crate) fn unfold(
    net: &ColouredNet<'_>,
    limits: &UnfoldLimits,
    budget: &Budget,
    report: &mut Report,
) -> Step<Option<Model>> {
    budget.begin("unfolding the coloured net");
    let plans: Vec<Plan> = net.transitions.iter().map(Plan::new).collect();
    let mut engine = Engine::new(net, &plans, limits, budget);
    if let Err(problem) = engine.run() {
        report.add(*problem)?;
        return Ok(None);
    }
    match engine.finish() {
        Ok(model) => Ok(Some(model)),
        Err(problem) => {
            report.add(*problem)?;
            Ok(None)
        }
    }
}

/// A colour of a place that has been given a number.
#[derive(Clone, Copy)]
struct ColouredNode {
    place: u32,
    colour: u64,
    initial: u64,
}

/// A binding that was found.
struct Instance {
    transition: u32,
    /// Where its values start in [`Engine::values`].
    values: usize,
}

struct Engine<'n, 'a> {
    net: &'n ColouredNet<'a>,
    plans: &'n [Plan],
    limits: &'n UnfoldLimits,
    patience: Patience<'n>,
    /// Transitions and pattern numbers that a place's colours are matched with.
    triggers: Vec<Vec<(u32, u32)>>,
    numbers: RapidHashMap<(u32, u64), u32>,
    nodes: Vec<ColouredNode>,
    /// When each node was taken from the work list; `u32::MAX` before that.
    stamps: Vec<u32>,
    queued: Vec<bool>,
    queue: Vec<u32>,
    /// The colours of each place that were taken from the work list.
    processed: Vec<Vec<u64>>,
    instances: Vec<Instance>,
    values: Vec<u32>,
    inputs: Vec<(u32, u32, u32)>,
    outputs: Vec<(u32, u32, u32)>,
    steps: u64,
}

/// The match that started a search: the pattern's number and the stamp of its colour.
#[derive(Clone, Copy)]
struct Trigger {
    pattern: usize,
    stamp: u32,
}

impl<'n, 'a> Engine<'n, 'a> {
    fn new(
        net: &'n ColouredNet<'a>,
        plans: &'n [Plan],
        limits: &'n UnfoldLimits,
        budget: &'n Budget,
    ) -> Self {
        let mut triggers = vec![Vec::new(); net.places.len()];
        for (transition, plan) in plans.iter().enumerate() {
            for (number, pattern) in plan.patterns.iter().enumerate() {
                if plan.possible {
                    triggers[pattern.place].push((transition as u32, number as u32));
                }
            }
        }
        Self {
            net,
            plans,
            limits,
            patience: Patience::new(budget, LOOK_EVERY),
            triggers,
            numbers: RapidHashMap::default(),
            nodes: Vec::new(),
            stamps: Vec::new(),
            queued: Vec::new(),
            queue: Vec::new(),
            processed: vec![Vec::new(); net.places.len()],
            instances: Vec::new(),
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            steps: 0,
        }
    }

    fn run(&mut self) -> Step<()> {
        for place in 0..self.net.places.len() {
            let summands = &self.net.places[place].initial;
            let tokens = self.evaluate(place, summands, &[]).map_err(|problem| {
                Box::new(Diagnostic::error(
                    problem.code(),
                    format!("the initial marking {}", problem.what()),
                    self.net.places[place].span,
                ))
            })?;
            for (colour, count) in tokens {
                let node = self.node(place, colour)?;
                self.nodes[node as usize].initial = count;
                self.enqueue(node);
            }
        }
        // Transitions without patterns are not started by any colour.
        for (transition, plan) in self.plans.iter().enumerate() {
            if plan.possible && plan.patterns.is_empty() {
                let mut values = vec![0; self.net.transitions[transition].slots.len()];
                self.extend(transition, 0, None, &mut values, None)?;
            }
        }
        let mut next = 0;
        while next < self.queue.len() {
            let node = self.queue[next];
            let ColouredNode { place, colour, .. } = self.nodes[node as usize];
            self.stamps[node as usize] = next as u32;
            self.processed[place as usize].push(colour);
            for at in 0..self.triggers[place as usize].len() {
                let (transition, number) = self.triggers[place as usize][at];
                let trigger = Trigger {
                    pattern: number as usize,
                    stamp: next as u32,
                };
                let mut values = vec![0; self.net.transitions[transition as usize].slots.len()];
                let bound =
                    self.unify(transition as usize, number as usize, colour, 0, &mut values);
                if let Some(bound) = bound {
                    let transition = transition as usize;
                    self.extend(transition, bound, None, &mut values, Some(trigger))?;
                }
            }
            next += 1;
        }
        Ok(())
    }

    /// Makes a pattern match a colour; the new mask of bound variables, or none if it cannot.
    fn unify(
        &self,
        transition: usize,
        number: usize,
        colour: u64,
        mut bound: u64,
        values: &mut [u32],
    ) -> Option<u64> {
        let pattern = &self.plans[transition].patterns[number];
        let sizes = &self.net.places[pattern.place].sizes;
        let mut rest = colour;
        for (atom, size) in pattern.atoms.iter().zip(sizes).rev() {
            let component = (rest % u64::from(*size)) as u32;
            rest /= u64::from(*size);
            match atom.base {
                Base::Variable(v) if bound & (1 << v) == 0 => {
                    values[v as usize] = atom.solve(component);
                    bound |= 1 << v;
                }
                _ => {
                    if atom.value(|v| values[v as usize]) != component {
                        return None;
                    }
                }
            }
        }
        Some(bound)
    }

    /// Extends a partial binding in all ways and records the complete ones. `checked` is the
    /// mask for which conjuncts and patterns were tested before.
    fn extend(
        &mut self,
        transition: usize,
        mut bound: u64,
        mut checked: Option<u64>,
        values: &mut [u32],
        trigger: Option<Trigger>,
    ) -> Step<()> {
        let plan = &self.plans[transition];
        loop {
            self.count_steps(transition, 1)?;
            let due = |mask: u64| {
                mask & !bound == 0 && checked.is_none_or(|checked| mask & !checked != 0)
            };
            for conjunct in plan.conjuncts.iter().filter(|conjunct| due(conjunct.mask)) {
                if !conjunct.guard.holds(&|v| values[v as usize]) {
                    return Ok(());
                }
            }
            for (number, pattern) in plan.patterns.iter().enumerate() {
                if due(pattern.mask) && !self.can_match(transition, number, values, trigger) {
                    return Ok(());
                }
            }
            checked = Some(bound);
            let Some(variable) = self.forced(plan, bound, values) else {
                break;
            };
            bound |= 1 << variable;
        }
        if bound == plan.all {
            return self.record(transition, values);
        }
        match self.cheapest(transition, bound) {
            Choice::Variable(v) => {
                for &colour in &plan.allowed[v] {
                    values[v] = colour;
                    self.extend(transition, bound | 1 << v, checked, values, trigger)?;
                }
            }
            Choice::Pattern(number) => {
                let place = plan.patterns[number].place;
                for at in 0..self.processed[place].len() {
                    let colour = self.processed[place][at];
                    self.count_steps(transition, 1)?;
                    if let Some(more) = self.unify(transition, number, colour, bound, values) {
                        self.extend(transition, more, checked, values, trigger)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A variable that an equality gives a value to; the value is stored.
    fn forced(&self, plan: &Plan, bound: u64, values: &mut [u32]) -> Option<u32> {
        for conjunct in &plan.conjuncts {
            let Some((left, right)) = equality(&conjunct.guard) else {
                continue;
            };
            if (conjunct.mask & !bound).count_ones() != 1 {
                continue;
            }
            let (open, known) = if bit(left) & !bound != 0 {
                (left, right)
            } else {
                (right, left)
            };
            // `x = x + 1` has its only variable on both sides; it is tested, not solved.
            if bit(known) & !bound != 0 {
                continue;
            }
            if let Base::Variable(v) = open.base {
                let wanted = known.value(|v| values[v as usize]);
                values[v as usize] = open.solve(wanted);
                return Some(v);
            }
        }
        None
    }

    /// What to branch on: the variable or the pattern with the fewest candidates.
    fn cheapest(&self, transition: usize, bound: u64) -> Choice {
        let plan = &self.plans[transition];
        let mut best = (u64::MAX, Choice::Variable(0));
        for (v, allowed) in plan.allowed.iter().enumerate() {
            if bound & (1 << v) == 0 && (allowed.len() as u64) < best.0 {
                best = (allowed.len() as u64, Choice::Variable(v));
            }
        }
        for (number, pattern) in plan.patterns.iter().enumerate() {
            let open = pattern.mask & !bound;
            // A pattern with one open variable costs no less than that variable.
            if open.count_ones() < 2 {
                continue;
            }
            let domain = plan
                .allowed
                .iter()
                .enumerate()
                .fold(1u64, |n, (v, allowed)| {
                    if open & (1 << v) == 0 {
                        n
                    } else {
                        n.saturating_mul(allowed.len() as u64)
                    }
                });
            let colours = self.processed[pattern.place].len() as u64;
            // Per candidate it binds several variables, so compare it with their product.
            if colours < domain && colours / u64::from(open.count_ones()) < best.0 {
                best = (colours, Choice::Pattern(number));
            }
        }
        best.1
    }

    /// True if a pattern whose variables have values matches a colour that can occur. Colours
    /// as new as the trigger's count only from its pattern on: so each binding is found once.
    fn can_match(
        &self,
        transition: usize,
        number: usize,
        values: &[u32],
        trigger: Option<Trigger>,
    ) -> bool {
        let pattern = &self.plans[transition].patterns[number];
        let colour = colour_of(
            &self.net.places[pattern.place].sizes,
            &pattern.atoms,
            values,
        );
        let Some(node) = self.numbers.get(&(pattern.place as u32, colour)) else {
            return false;
        };
        let stamp = self.stamps[*node as usize];
        trigger.is_some_and(|trigger| {
            stamp < trigger.stamp || (stamp == trigger.stamp && number >= trigger.pattern)
        })
    }

    /// Records a complete binding with its arcs; its outputs are colours that can occur.
    fn record(&mut self, transition: usize, values: &[u32]) -> Step<()> {
        let coloured = &self.net.transitions[transition];
        let instance = self.instances.len() as u32;
        if self.instances.len() >= self.limits.transitions {
            return Err(self.too_large(transition, "transitions", self.limits.transitions));
        }
        let arcs = |list: &'n [ColouredArc]| list.iter();
        for arc in arcs(&coloured.inputs) {
            for (colour, weight) in self.tokens(transition, arc, values)? {
                let node = self.node(arc.place, colour)?;
                self.inputs.push((instance, node, weight));
            }
        }
        for arc in arcs(&coloured.outputs) {
            for (colour, weight) in self.tokens(transition, arc, values)? {
                let node = self.node(arc.place, colour)?;
                self.outputs.push((instance, node, weight));
                self.enqueue(node);
            }
        }
        if self.inputs.len() + self.outputs.len() > self.limits.arcs {
            return Err(self.too_large(transition, "arcs", self.limits.arcs));
        }
        self.instances.push(Instance {
            transition: transition as u32,
            values: self.values.len(),
        });
        self.values.extend_from_slice(values);
        Ok(())
    }

    fn tokens(
        &mut self,
        transition: usize,
        arc: &ColouredArc,
        values: &[u32],
    ) -> Step<Vec<(u64, u32)>> {
        let tokens = self.evaluate(arc.place, &arc.summands, values);
        let tokens = tokens.and_then(|tokens| {
            let fits = |(colour, count): (u64, u64)| Some((colour, u32::try_from(count).ok()?));
            tokens
                .into_iter()
                .map(fits)
                .collect::<Option<Vec<_>>>()
                .ok_or(Problem::TooLarge)
        });
        let tokens = tokens.map_err(|problem| {
            let coloured = &self.net.transitions[transition];
            let binding = self.binding_text(transition, values);
            let place = shown(&self.net.places[arc.place].name);
            Box::new(Diagnostic::error(
                problem.code(),
                format!("the arc to or from `{place}` {}{binding}", problem.what()),
                coloured.span,
            ))
        })?;
        self.count_steps(transition, tokens.len() as u64)?;
        Ok(tokens)
    }

    /// The multiset that a sum stands for, as colours with their counts, ordered by colour.
    fn evaluate(
        &self,
        place: usize,
        summands: &[Summand],
        values: &[u32],
    ) -> Result<Vec<(u64, u64)>, Problem> {
        let sizes = &self.net.places[place].sizes;
        let mut tokens: Vec<(u64, i64)> = Vec::with_capacity(summands.len());
        let mut partial: Vec<u64> = Vec::new();
        for summand in summands {
            partial.clear();
            partial.push(0);
            for (component, size) in summand.components.iter().zip(sizes) {
                let size = u64::from(*size);
                match component {
                    Component::One(atom) => {
                        let colour = u64::from(atom.value(|v| values[v as usize]));
                        partial.iter_mut().for_each(|c| *c = *c * size + colour);
                    }
                    Component::All(_) => {
                        if (partial.len() as u64).saturating_mul(size) > self.limits.places as u64 {
                            return Err(Problem::TooLarge);
                        }
                        let prefixes = std::mem::take(&mut partial);
                        partial.extend(
                            prefixes
                                .iter()
                                .flat_map(|c| (0..size).map(move |s| c * size + s)),
                        );
                    }
                }
            }
            tokens.extend(partial.iter().map(|colour| (*colour, summand.coefficient)));
            if tokens.len() > self.limits.arcs {
                return Err(Problem::TooLarge);
            }
        }
        tokens.sort_unstable_by_key(|(colour, _)| *colour);
        let mut merged: Vec<(u64, i64)> = Vec::with_capacity(tokens.len());
        for (colour, count) in tokens {
            match merged.last_mut() {
                Some((last, total)) if *last == colour => {
                    *total = total.checked_add(count).ok_or(Problem::TooLarge)?;
                }
                _ => merged.push((colour, count)),
            }
        }
        merged.retain(|(_, count)| *count != 0);
        merged
            .into_iter()
            .map(|(colour, count)| match u64::try_from(count) {
                Ok(count) => Ok((colour, count)),
                Err(_) => Err(Problem::Negative),
            })
            .collect()
    }

    fn node(&mut self, place: usize, colour: u64) -> Step<u32> {
        let next = self.nodes.len() as u32;
        let number = *self.numbers.entry((place as u32, colour)).or_insert(next);
        if number == next {
            if self.nodes.len() >= self.limits.places {
                let place = &self.net.places[place];
                return Err(too_large(
                    &place.name,
                    "places",
                    self.limits.places,
                    place.span,
                ));
            }
            self.nodes.push(ColouredNode {
                place: place as u32,
                colour,
                initial: 0,
            });
            self.stamps.push(u32::MAX);
            self.queued.push(false);
        }
        Ok(number)
    }

    fn enqueue(&mut self, node: u32) {
        if !std::mem::replace(&mut self.queued[node as usize], true) {
            self.queue.push(node);
        }
    }

    fn count_steps(&mut self, transition: usize, steps: u64) -> Step<()> {
        self.steps += steps;
        self.look_around()?;
        if self.steps <= self.limits.steps {
            return Ok(());
        }
        Err(self.too_large(transition, "search steps", self.limits.steps as usize))
    }

    /// Ends the unfolding when the budget is spent.
    fn look_around(&mut self) -> Step<()> {
        match self.patience.spent() {
            None => Ok(()),
            Some(spent) => Err(gave_up(spent)),
        }
    }

    fn too_large(&self, transition: usize, what: &str, limit: usize) -> Fatal {
        let transition = &self.net.transitions[transition];
        too_large(&transition.name, what, limit, transition.span)
    }

    fn binding_text(&self, transition: usize, values: &[u32]) -> String {
        let mut text = String::new();
        for (slot, value) in self.net.transitions[transition].slots.iter().zip(values) {
            text.push_str(if text.is_empty() { " with " } else { ", " });
            text.push_str(&slot.name);
            text.push('=');
            self.net.sorts.write_colour(slot.sort, *value, &mut text);
        }
        text
    }

    /// Builds the net: first as discovered, then without what can never be marked or fire, in
    /// the order of the coloured net.
    fn finish(mut self) -> Result<Model, Fatal> {
        let draft = self.draft()?;
        let relaxed = Relaxed::new(&draft);
        self.look_around()?;
        let mut places: Vec<u32> = (0..self.nodes.len() as u32)
            .filter(|node| relaxed.can_be_marked(PlaceId(*node)))
            .collect();
        places.sort_unstable_by_key(|node| {
            let node = &self.nodes[*node as usize];
            (node.place, node.colour)
        });
        let mut transitions: Vec<u32> = (0..self.instances.len() as u32)
            .filter(|instance| relaxed.can_fire(TransitionId(*instance)))
            .collect();
        transitions.sort_unstable_by(|a, b| self.instance_key(*a).cmp(&self.instance_key(*b)));

        let mut builder = NetBuilder::new(self.net.name.as_str());
        let mut new_place = vec![None; self.nodes.len()];
        let mut name = String::new();
        let mut place_starts = vec![0u32; self.net.places.len() + 1];
        for node in places {
            self.look_around()?;
            let ColouredNode {
                place,
                colour,
                initial,
            } = self.nodes[node as usize];
            self.place_name(place as usize, colour, &mut name);
            new_place[node as usize] = Some(builder.place(&name, initial));
            place_starts[place as usize + 1] += 1;
        }
        let mut transition_starts = vec![0u32; self.net.transitions.len() + 1];
        for instance in transitions {
            self.look_around()?;
            let (transition, values) = self.instance_key(instance);
            self.transition_name(transition as usize, values, &mut name);
            let new = builder.transition(&name);
            // Every input of a transition that can fire can be marked, and a place that cannot inhibits
            // nothing.
            let place = |old: PlaceId| new_place[old.index()];
            builder.arcs_of(&draft, TransitionId(instance), new, place);
            transition_starts[transition as usize + 1] += 1;
        }
        accumulate(&mut place_starts);
        accumulate(&mut transition_starts);
        let mut place_names = Names::new();
        self.net.places.iter().for_each(|place| {
            place_names.push(&place.name);
        });
        let mut transition_names = Names::new();
        self.net.transitions.iter().for_each(|transition| {
            transition_names.push(&transition.name);
        });
        let net = builder.build().map_err(|error| self.build_error(error))?;
        Ok(Model {
            net,
            coloured: true,
            places: SourceNodes::new(place_names, place_starts, self.net.place_labels.clone()),
            transitions: SourceNodes::new(
                transition_names,
                transition_starts,
                self.net.transition_labels.clone(),
            ),
        })
    }

    fn draft(&mut self) -> Result<Net, Fatal> {
        let mut builder = NetBuilder::new("");
        for node in &self.nodes {
            builder.place("", node.initial);
        }
        for instance in &self.instances {
            let t = builder.transition("");
            // A place of black tokens has one colour; one that was not met is empty.
            for (place, weight) in &self.net.transitions[instance.transition as usize].inhibitors {
                if let Some(node) = self.numbers.get(&(*place as u32, 0)) {
                    builder.inhibitor(PlaceId(*node), t, *weight);
                }
            }
        }
        for &(instance, node, weight) in &self.inputs {
            builder.input(PlaceId(node), TransitionId(instance), weight);
        }
        for &(instance, node, weight) in &self.outputs {
            builder.output(TransitionId(instance), PlaceId(node), weight);
        }
        builder.build().map_err(|error| self.build_error(error))
    }

    fn build_error(&self, error: stubborn_net::BuildError) -> Fatal {
        let span = self
            .net
            .transitions
            .first()
            .map(|t| t.span)
            .unwrap_or_default();
        Box::new(Diagnostic::error("PNM013", error.to_string(), span))
    }

    fn instance_key(&self, instance: u32) -> (u32, &[u32]) {
        let Instance { transition, values } = self.instances[instance as usize];
        let count = self.net.transitions[transition as usize].slots.len();
        (transition, &self.values[values..values + count])
    }

    fn place_name(&self, place: usize, colour: u64, out: &mut String) {
        let coloured = &self.net.places[place];
        out.clear();
        out.push_str(&coloured.name);
        if coloured
            .sorts
            .iter()
            .all(|sort| self.net.sorts.is_dot(*sort))
        {
            return;
        }
        let mut components = Vec::with_capacity(coloured.sizes.len());
        let mut rest = colour;
        for size in coloured.sizes.iter().rev() {
            components.push((rest % u64::from(*size)) as u32);
            rest /= u64::from(*size);
        }
        for (position, sort) in coloured.sorts.iter().enumerate() {
            out.push(if position == 0 { '(' } else { ',' });
            let component = components[components.len() - 1 - position];
            self.net.sorts.write_colour(*sort, component, out);
        }
        out.push(')');
    }

    fn transition_name(&self, transition: usize, values: &[u32], out: &mut String) {
        let coloured = &self.net.transitions[transition];
        out.clear();
        out.push_str(&coloured.name);
        for (position, (slot, value)) in coloured.slots.iter().zip(values).enumerate() {
            out.push(if position == 0 { '(' } else { ',' });
            out.push_str(&slot.name);
            out.push('=');
            self.net.sorts.write_colour(slot.sort, *value, out);
        }
        if !coloured.slots.is_empty() {
            out.push(')');
        }
    }
}

enum Choice {
    Variable(usize),
    Pattern(usize),
}

/// Why a multiset has no value.
#[derive(Clone, Copy)]
enum Problem {
    Negative,
    TooLarge,
}

impl Problem {
    fn code(self) -> &'static str {
        match self {
            Self::Negative => "PNM046",
            Self::TooLarge => "PNM050",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Negative => "subtracts more tokens than there are",
            Self::TooLarge => "has too many tokens",
        }
    }
}

fn too_large(name: &str, what: &str, limit: usize, span: stubborn_diagnostics::Span) -> Fatal {
    Box::new(
        Diagnostic::error(
            "PNM050",
            format!(
                "the unfolding is too large: more than {limit} {what}, at `{}`",
                shown(name)
            ),
            span,
        )
        .help("use a smaller instance, or the P/T version of the model"),
    )
}

fn colour_of(sizes: &[u32], atoms: &[Atom], values: &[u32]) -> u64 {
    atoms.iter().zip(sizes).fold(0, |colour, (atom, size)| {
        colour * u64::from(*size) + u64::from(atom.value(|v| values[v as usize]))
    })
}

fn accumulate(counts: &mut [u32]) {
    for i in 1..counts.len() {
        counts[i] += counts[i - 1];
    }
}
