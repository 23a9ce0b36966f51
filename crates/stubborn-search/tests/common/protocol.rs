//! A system written in Rust without any model language: the seam alone.
//!
//! Clients send requests over a lossy network (a set of messages) to a server that locks
//! for one of them at a time and grants; clients release. Messages stay until received.

use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    Executor, FieldId, FieldKind, Label, LabelId, Layout, Outcome, Process, ProcessId, Structure,
    Successors, System, Transition, TransitionId,
};

const KINDS: usize = 4;

/// What a client can take part in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Request,
    Serve,
    Enter,
    Release,
}

const ACTIONS: [Action; KINDS] = [
    Action::Request,
    Action::Serve,
    Action::Enter,
    Action::Release,
];

/// The lock protocol.
pub struct LockProtocol {
    clients: usize,
    layout: Layout,
    structure: Structure,
    /// For each client: 0 idle, 1 has asked, 2 inside.
    client: Vec<FieldId>,
    /// For each client: 0 nothing, 1 request on the way, 2 grant on the way.
    network: Vec<FieldId>,
    /// 0 free, else the number of the client that has it, plus one.
    lock: FieldId,
}

impl LockProtocol {
    pub fn new(clients: usize) -> Self {
        let mut builder = LayoutBuilder::new();
        let names = ["idle", "asked", "inside"].map(str::to_owned).to_vec();
        let (mut client, mut network) = (Vec::new(), Vec::new());
        for i in 0..clients {
            builder.align_to_word();
            let p = Some(ProcessId::new(i));
            let kind = FieldKind::Named(names.clone());
            client.push(builder.field(format!("client{i}"), (0, 2), kind, p));
            network.push(builder.field(format!("net{i}"), (0, 2), FieldKind::Integer, p));
        }
        builder.align_to_word();
        let lock = builder.field("lock", (0, clients as i64), FieldKind::Integer, None);
        let mut structure = Structure::default();
        for i in 0..clients {
            structure.processes.push(Process {
                name: format!("client {i}"),
                location: None,
                locations: Vec::new(),
            });
            for action in ["request", "serve", "enter", "release"] {
                let guard = LabelId::new(structure.labels.len());
                let touched = vec![client[i], network[i], lock];
                structure.labels.push(Label {
                    text: format!("client {i} can {action}"),
                    tests: touched.clone(),
                });
                structure.transitions.push(Transition {
                    name: format!("client {i}: {action}"),
                    processes: vec![ProcessId::new(i)],
                    sources: vec![None],
                    guards: vec![guard],
                    reads: touched.clone(),
                    writes: touched,
                    ..Transition::default()
                });
            }
        }
        structure.labels.push(Label {
            text: "two clients are inside".into(),
            tests: client.clone(),
        });
        Self {
            clients,
            layout: builder.finish(),
            structure,
            client,
            network,
            lock,
        }
    }

    /// Holds where mutual exclusion is broken.
    pub fn two_inside(&self) -> LabelId {
        LabelId::new(self.clients * KINDS)
    }

    fn get(&self, state: &[u32], field: FieldId) -> i64 {
        self.layout.get(state, field)
    }

    fn can(&self, state: &[u32], client: usize, action: Action) -> bool {
        let here = self.get(state, self.client[client]);
        let message = self.get(state, self.network[client]);
        let lock = self.get(state, self.lock);
        match action {
            Action::Request => here == 0 && message == 0,
            Action::Serve => message == 1 && lock == 0,
            Action::Enter => here == 1 && message == 2,
            Action::Release => here == 2,
        }
    }
}

impl System for LockProtocol {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        vec![0; self.layout.words()]
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Running(self))
    }
}

struct Running<'a>(&'a LockProtocol);

impl Executor for Running<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        for transition in 0..self.0.clients * KINDS {
            self.fire(state, TransitionId::new(transition), out);
        }
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        let system = self.0;
        let (client, action) = (
            transition.index() / KINDS,
            ACTIONS[transition.index() % KINDS],
        );
        if !system.can(state, client, action) {
            return;
        }
        let mut next = state.to_vec();
        let mut set = |field: FieldId, value: i64| {
            system.layout.field(field).set(&mut next, value);
        };
        let (here, message) = (system.client[client], system.network[client]);
        match action {
            Action::Request => {
                set(here, 1);
                set(message, 1);
            }
            Action::Serve => {
                set(message, 2);
                set(system.lock, client as i64 + 1);
            }
            Action::Enter => {
                set(here, 2);
                set(message, 0);
            }
            Action::Release => {
                set(here, 0);
                set(system.lock, 0);
            }
        }
        out.push(transition, state, &next, Outcome::FINE);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        let system = self.0;
        if label == system.two_inside() {
            let inside = |field: &&FieldId| system.get(state, **field) == 2;
            return system.client.iter().filter(inside).count() > 1;
        }
        system.can(state, label.index() / KINDS, ACTIONS[label.index() % KINDS])
    }
}
