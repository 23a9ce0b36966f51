//! Where the variables and channels of a program lie in the words of a state.

use stubborn_system::layout::{ArrayPlace, ChannelLayout, LayoutBuilder, bits_for};
use stubborn_system::{ChannelId, FieldId, FieldKind, Layout, ProcessId};

use crate::{Item, Program, VarId, Variable};

/// Where a variable lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariablePlace {
    /// One field.
    Scalar(FieldId),
    /// One field an element.
    Array(ArrayPlace),
}

/// Where a channel lies.
#[derive(Clone, Debug)]
pub struct ChannelPlace {
    /// The number of messages.
    pub length: FieldId,
    /// For each item of a message, the array of that item over all positions.
    pub items: Vec<ArrayPlace>,
}

/// The places of all variables and channels.
#[derive(Clone, Debug)]
pub struct Encoding {
    /// By variable.
    pub variables: Vec<VariablePlace>,
    /// By channel. Rendez-vous channels (capacity 0) have a length of one value and no items.
    pub channels: Vec<ChannelPlace>,
    /// The field that is 1 in the error state, if steps can fail.
    pub failed: Option<FieldId>,
}

impl Encoding {
    /// Packs a program: globals, channels, then process by process.
    pub fn new(program: &Program, with_error_state: bool) -> (Encoding, Layout) {
        let mut builder = LayoutBuilder::new();
        let failed =
            with_error_state.then(|| builder.field("failed", (0, 1), FieldKind::Failed, None));
        let mut variables = vec![None; program.variables.len()];
        let place = |builder: &mut LayoutBuilder, at: usize| {
            place_variable(builder, program, VarId(at as u32))
        };
        for (at, variable) in program.variables.iter().enumerate() {
            if variable.owner.is_none() {
                variables[at] = Some(place(&mut builder, at));
            }
        }
        let channels = (0..program.channels.len())
            .map(|at| place_channel(&mut builder, program, at))
            .collect();
        for process in 0..program.processes.len() {
            let owned = |v: &Variable| v.owner == Some(ProcessId::new(process));
            let bits: u64 = program
                .variables
                .iter()
                .filter(|v| owned(v))
                .map(size)
                .sum();
            if bits > u64::from(builder.room()) {
                // A process that would be cut in two gets a word of its own.
                builder.align_to_word();
            }
            for (at, variable) in program.variables.iter().enumerate() {
                if owned(variable) {
                    variables[at] = Some(place(&mut builder, at));
                }
            }
        }
        let variables = variables
            .into_iter()
            .enumerate()
            .map(|(at, placed)| placed.unwrap_or_else(|| place(&mut builder, at)))
            .collect();
        (
            Encoding {
                variables,
                channels,
                failed,
            },
            builder.finish(),
        )
    }

    /// The field of a scalar variable, or of an array's first element.
    pub fn first_field(&self, variable: VarId) -> FieldId {
        match self.variables[variable.index()] {
            VariablePlace::Scalar(field) => field,
            VariablePlace::Array(place) => place.first,
        }
    }

    /// All fields of a variable.
    pub fn fields(&self, variable: VarId) -> impl Iterator<Item = FieldId> + use<> {
        let (first, len) = match self.variables[variable.index()] {
            VariablePlace::Scalar(field) => (field, 1),
            VariablePlace::Array(place) => (place.first, place.len as usize),
        };
        (first.index()..first.index() + len).map(FieldId::new)
    }

    /// All fields of a channel: its length and its messages.
    pub fn channel_fields(&self, channel: ChannelId) -> impl Iterator<Item = FieldId> + '_ {
        let place = &self.channels[channel.index()];
        let cells = place.items.iter().flat_map(|item| {
            (item.first.index()..item.first.index() + item.len as usize).map(FieldId::new)
        });
        std::iter::once(place.length).chain(cells)
    }
}

fn range(item: &Item) -> (i64, i64) {
    (i64::from(item.min), i64::from(item.max))
}

fn size(variable: &Variable) -> u64 {
    let (min, max) = range(&variable.item);
    let bits = u64::from(bits_for(min, max));
    variable
        .len
        .map_or(bits, |len| u64::from(len) * bits.next_power_of_two())
}

fn kind_of(program: &Program, id: VarId) -> FieldKind {
    let variable = &program.variables[id.index()];
    if let Some(process) = variable.owner
        && program.processes[process.index()].counter == id
    {
        return FieldKind::Location(process, variable.item.names.clone());
    }
    match variable.item.names.as_slice() {
        [] => FieldKind::Integer,
        names => FieldKind::Named(names.to_vec()),
    }
}

fn place_variable(builder: &mut LayoutBuilder, program: &Program, id: VarId) -> VariablePlace {
    let variable = &program.variables[id.index()];
    let range = range(&variable.item);
    let kind = kind_of(program, id);
    match variable.len {
        None => {
            VariablePlace::Scalar(builder.field(variable.name.clone(), range, kind, variable.owner))
        }
        Some(len) => VariablePlace::Array(builder.array(
            len as usize,
            range,
            variable.owner,
            |_| kind.clone(),
            |i| format!("{}[{i}]", variable.name),
        )),
    }
}

fn place_channel(builder: &mut LayoutBuilder, program: &Program, at: usize) -> ChannelPlace {
    let channel = &program.channels[at];
    let id = ChannelId::new(at);
    let capacity = channel.capacity as usize;
    let name = format!("len({})", channel.name);
    let length = builder.field(
        name,
        (0, i64::from(channel.capacity)),
        FieldKind::ChannelLength(id),
        None,
    );
    let mut items = Vec::new();
    if capacity > 0 {
        for (nr, item) in channel.items.iter().enumerate() {
            // A freed cell is raw zero, so that equal contents are equal vectors.
            items.push(builder.array(
                capacity,
                range(item),
                None,
                |_| FieldKind::ChannelCell(id),
                |i| format!("{}[{i}].{nr}", channel.name),
            ));
        }
    }
    let cells = (0..capacity)
        .map(|i| {
            items
                .iter()
                .map(|item| FieldId::new(item.first.index() + i))
                .collect()
        })
        .collect();
    builder.channel(ChannelLayout {
        name: channel.name.clone(),
        length,
        cells,
    });
    ChannelPlace { length, items }
}
