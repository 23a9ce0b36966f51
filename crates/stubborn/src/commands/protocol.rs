//! `stubborn protocol`: the protocols that come with `stubborn-protocol`, checked with and
//! without reduction, remembering states or not.

use serde_json::json;
use stubborn::Limits;
use stubborn::system::RelationLevel;
use stubborn_protocol::protocols::{
    echo_multicast, paxos, paxos_register, primary_backup, raft, shared_register, storage,
    two_phase_commit,
};
use stubborn_protocol::{Protocol, Reduction, Stateless, Value};

use crate::exit::{Failure, Status};
use crate::interrupt;
use crate::options::protocol::{DynamicPor, ProtocolArgs, ProtocolPor};
use crate::options::{MemoryLimit, OrderName};
use crate::terminal::{counted, print};

/// Visits of a stateless search, unless the user says otherwise.
const MOST_VISITS: u64 = 50_000_000;

/// The protocols: those of table I of the paper, and others.
pub(crate) const NAMES: [&str; 17] = [
    "paxos-6",
    "f-paxos-6",
    "f-paxos2-7",
    "register-5",
    "register-5-wrong",
    "register-6-wrong",
    "multicast-5",
    "multicast-6",
    "multicast-6-wrong",
    "raft-3",
    "raft-3-votes-twice",
    "two-phase-commit-5",
    "two-phase-commit-7",
    "paxos-register-5",
    "shared-register-4",
    "primary-backup-5",
    "primary-backup-5-wrong",
];

pub(crate) fn run(args: &ProtocolArgs) -> Result<Status, Failure> {
    let paxos = paxos::Setting::default();
    let multicast = echo_multicast::Setting::default();
    let six = echo_multicast::Setting {
        honest_initiators: 1,
        ..multicast
    };
    let replication = primary_backup::Setting {
        tries: 1,
        ..primary_backup::Setting::default()
    };
    let one_term = raft::Setting {
        terms: 1,
        ..raft::Setting::default()
    };
    match args.name.as_str() {
        "paxos-6" => check(args, paxos::protocol(paxos)),
        "f-paxos-6" => check(
            args,
            paxos::protocol(paxos::Setting {
                fault: paxos::Fault::CarelessLearner,
                ..paxos
            }),
        ),
        "f-paxos2-7" => check(
            args,
            paxos::protocol(paxos::Setting {
                fault: paxos::Fault::StubbornProposer,
                learners: 2,
                ..paxos
            }),
        ),
        "register-5" => check(
            args,
            storage::protocol(1, 3, storage::Specification::Regular),
        ),
        "register-5-wrong" => check(args, storage::protocol(1, 3, storage::Specification::Wrong)),
        "register-6-wrong" => check(args, storage::protocol(2, 3, storage::Specification::Wrong)),
        "multicast-5" => check(args, echo_multicast::protocol(multicast)),
        "multicast-6" => check(args, echo_multicast::protocol(six)),
        "multicast-6-wrong" => check(
            args,
            echo_multicast::protocol(echo_multicast::Setting {
                specification: echo_multicast::Specification::Wrong,
                ..six
            }),
        ),
        "raft-3" => check(args, raft::protocol(one_term)),
        "raft-3-votes-twice" => check(
            args,
            raft::protocol(raft::Setting {
                votes_twice: true,
                ..one_term
            }),
        ),
        "two-phase-commit-5" => check(args, two_phase_commit::protocol(5).0),
        "two-phase-commit-7" => check(args, two_phase_commit::protocol(7).0),
        "paxos-register-5" => check(args, paxos_register::protocol(3, 2).0),
        "shared-register-4" => check(args, shared_register::protocol(2, 2)),
        "primary-backup-5" => check(args, primary_backup::protocol(replication)),
        "primary-backup-5-wrong" => check(
            args,
            primary_backup::protocol(primary_backup::Setting {
                hasty: true,
                ..replication
            }),
        ),
        name => Err(Failure::wrong(format!("there is no protocol `{name}`"))),
    }
}

/// What a check has shown.
struct Shown {
    states: u64,
    transitions: Option<u64>,
    /// Paths to their ends, of searches that remember no states.
    executions: Option<u64>,
    violated: Vec<String>,
    /// How it comes to that, for people.
    charts: Vec<String>,
    complete: bool,
}

fn check<M: Value>(args: &ProtocolArgs, mut protocol: Protocol<M>) -> Result<Status, Failure> {
    if args.split_quorums {
        protocol.split_quorums();
    }
    let model = protocol.build().map_err(Failure::wrong)?;
    #[cfg(feature = "serve")]
    if args.serve {
        let stop = interrupt::end_soon()?;
        let subject = stubborn_page::Subject::of_protocol(&model);
        stubborn_page::serve(subject, Default::default(), stop)
            .map_err(|error| Failure::wrong(format!("cannot serve: {error}")))?;
        return Ok(Status::Fine);
    }
    let how = match (args.por, args.stateless) {
        (ProtocolPor::Dpor, _) => Some(match args.dpor {
            DynamicPor::Classic => Stateless::Dynamic,
            DynamicPor::Source => Stateless::Source,
            DynamicPor::Optimal => Stateless::Optimal,
        }),
        (ProtocolPor::Lpor | ProtocolPor::LporOnly | ProtocolPor::LporNet, true) => {
            Some(Stateless::Local)
        }
        (ProtocolPor::None, true) => Some(Stateless::All),
        (_, false) => None,
    };
    let shown = match how {
        Some(how) => {
            let most = args.max_states.unwrap_or(MOST_VISITS);
            let mut search = model.stateless(how).most_visits(most);
            if args.in_local_sets {
                search = search.in_local_sets();
            }
            search = match args.por {
                ProtocolPor::LporOnly => search.as_printed(false),
                ProtocolPor::LporNet => search.as_printed(true),
                ProtocolPor::None | ProtocolPor::Lpor | ProtocolPor::Dpor => search,
            };
            let report = search.run().map_err(Failure::wrong)?;
            Shown {
                states: report.visits,
                transitions: None,
                executions: Some(report.executions),
                violated: report.violated,
                charts: Vec::new(),
                complete: report.complete,
            }
        }
        None => {
            let stop = interrupt::listen()?;
            let limits = Limits {
                states: args.max_states,
                memory: match args.memory_limit {
                    Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
                    Some(MemoryLimit::Unlimited) | None => None,
                },
                interrupt: Some(stop),
                ..Limits::default()
            };
            let reduction = match args.por {
                ProtocolPor::None => Reduction::None,
                ProtocolPor::LporOnly => Reduction::Printed { net: false },
                ProtocolPor::LporNet => Reduction::Printed { net: true },
                ProtocolPor::Lpor | ProtocolPor::Dpor => Reduction::lpor(),
            };
            let level = if args.declared {
                RelationLevel::Syntax
            } else {
                RelationLevel::Reach
            };
            let checker = model.check().reduction(reduction).relations(level);
            let checker = match args.order {
                None => checker,
                Some(OrderName::Bfs) => checker.breadth_first(),
                Some(OrderName::Dfs) => checker.depth_first(),
            };
            let report = checker.limits(limits).run().map_err(Failure::wrong)?;
            if let Some(misuse) = report.misuses.first() {
                return Err(Failure::wrong(misuse));
            }
            let searches = report.searches.iter();
            Shown {
                states: report.states(),
                transitions: Some(searches.map(|(_, result)| result.transitions).sum()),
                executions: None,
                violated: report.failures.iter().map(|f| f.property.clone()).collect(),
                charts: report.failures.iter().filter_map(chart).collect(),
                complete: report.complete,
            }
        }
    };
    Ok(tell(args, &shown))
}

/// The way to a violation.
fn chart(failure: &stubborn_protocol::Failure) -> Option<String> {
    let way = match failure.shortest {
        true => "the shortest way there",
        false => "a way there (there may be shorter ones)",
    };
    let chart = failure.chart.as_ref()?;
    Some(format!("{}, {way}:\n\n{chart}", failure.property))
}

fn tell(args: &ProtocolArgs, shown: &Shown) -> Status {
    let (verdict, status) = if !shown.violated.is_empty() {
        ("violated", Status::Violated)
    } else if shown.complete {
        ("holds", Status::Fine)
    } else {
        ("unknown", Status::Unknown)
    };
    if args.json {
        let object = json!({
            "model": args.name,
            "language": "protocol",
            "por": args.por.name(),
            "states": shown.states,
            "transitions": shown.transitions,
            "executions": shown.executions,
            "complete": shown.complete,
            "violated": shown.violated,
            "charts": shown.charts,
            "properties": [{ "name": "invariants", "verdict": verdict }],
        });
        print(&crate::json::line("protocol", crate::json::fields(object)));
        return status;
    }
    let violated = shown.violated.join(", ");
    let what = if violated.is_empty() {
        "all invariants"
    } else {
        &violated
    };
    let states = match shown.executions {
        Some(executions) => format!(
            "{} of a state, {}",
            counted(shown.states, "visit"),
            counted(executions, "execution")
        ),
        None => counted(shown.states, "state"),
    };
    print(&format!("{verdict}: {what}\n{states}\n"));
    for chart in &shown.charts {
        print(&format!("\n{chart}"));
    }
    status
}
