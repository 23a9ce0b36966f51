use std::net::TcpListener;
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use super::*;

/// So many processes (threads here) that do something.
fn run<T: Send + 'static>(size: usize, work: fn(Cluster) -> T) -> Vec<T> {
    let token = Token::random();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let others: Vec<JoinHandle<T>> = (1..size)
        .map(|_| {
            let (address, token) = (address.clone(), token.clone());
            spawn(move || work(Cluster::join(&address, &token, "test").expect("it is welcome")))
        })
        .collect();
    let meeting = Meeting {
        listener,
        size,
        token,
        purpose: "test",
    };
    let first = work(Cluster::lead(meeting, || Ok(())).expect("all come"));
    let others = others
        .into_iter()
        .map(|other| other.join().expect("it ends"));
    std::iter::once(first).chain(others).collect()
}

const SECOND: Duration = Duration::from_secs(1);

/// Everybody floods everybody: nobody waits for ever, nothing is lost, and the order is kept.
#[test]
fn large_amounts_go_all_ways_at_once() {
    const MESSAGES: u32 = 300;
    let sums = run(4, |mut cluster| {
        let body = vec![7; 64 << 10];
        let mut next = vec![0; cluster.size()];
        let mut ends = 0;
        let mut take = |message: Message, ends: &mut usize| match message.kind {
            1 => {
                let number = u32::from_le_bytes(*message.body.first_chunk().expect("a number"));
                assert_eq!(number, next[message.from], "in order");
                next[message.from] += 1;
            }
            _ => *ends += 1,
        };
        for number in 0..MESSAGES {
            for other in cluster.others() {
                while cluster.is_congested(other) {
                    if let Some(message) = cluster.receive(SECOND).expect("nobody dies") {
                        take(message, &mut ends);
                    }
                }
                let body = [&number.to_le_bytes()[..], &body].concat();
                cluster.send(other, 1, &body).expect("nobody dies");
            }
        }
        for other in cluster.others() {
            cluster.send(other, 2, &[]).expect("nobody dies");
        }
        while ends < cluster.size() - 1 {
            if let Some(message) = cluster.receive(SECOND).expect("nobody dies") {
                take(message, &mut ends);
            }
        }
        // Nobody leaves before all are done.
        cluster
            .agree(1, Vec::new(), |_| Vec::new())
            .expect("nobody dies");
        next.into_iter().sum::<u32>()
    });
    assert_eq!(sums, [3 * MESSAGES; 4]);
}

#[test]
fn agreements_do_not_lose_messages() {
    run(3, |mut cluster| {
        let mut heard = vec![0; cluster.size()];
        for round in 0..100u8 {
            for other in cluster.others() {
                cluster.send(other, 1, &[round]).expect("nobody dies");
            }
            let own = vec![cluster.rank() as u8 + round];
            let sum = cluster.agree(1, own, |all| all.into_iter().max().unwrap_or_default());
            assert_eq!(sum, Ok(vec![2 + round]));
            // Somebody may be a round ahead.
            while cluster.others().any(|other| heard[other] <= round) {
                if let Some(message) = cluster.receive(SECOND).expect("nobody dies") {
                    assert_eq!(message.body, [heard[message.from]]);
                    heard[message.from] += 1;
                }
            }
        }
        cluster
            .agree(1, Vec::new(), |_| Vec::new())
            .expect("nobody dies");
    });
}

#[test]
fn whoever_is_somewhere_else_is_noticed() {
    let results = run(2, |mut cluster| {
        let topic = if cluster.is_leader() { 1 } else { 2 };
        cluster.agree(topic, Vec::new(), |_| Vec::new())
    });
    let lost = results[0]
        .as_ref()
        .expect_err("they talk about different things");
    assert!(lost.to_string().contains("somewhere else"), "{lost}");
    assert!(results[1].is_err());
}

/// The leader names the one that has died, not one of those that left because of that.
#[test]
fn who_dies_is_named() {
    let lost = run(4, |mut cluster| {
        let met = cluster.agree(1, Vec::new(), |_| Vec::new());
        if cluster.rank() == 2 {
            // As if it were killed: nothing is said.
            let (who, why) = (String::new(), String::new());
            cluster.lose(Lost { who, why });
            return String::new();
        }
        let lost = met.and_then(|_| cluster.agree(1, Vec::new(), |_| Vec::new()));
        lost.expect_err("one has died").to_string()
    });
    assert!(lost[0].starts_with("worker 2 (process "), "{}", lost[0]);
    // The others come in any order.
    let others = lost[1..].iter().filter(|text| text.contains("is lost"));
    assert_eq!(others.count(), 2, "{lost:?}");
}

#[test]
fn strangers_are_not_let_in() {
    let token = Token::random();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let (there, right) = (address.clone(), token.clone());
    let others = spawn(move || {
        let stranger = Cluster::join(&there, &Token::random(), "test");
        assert!(stranger.is_err(), "it does not know the token");
        // Somebody who connects and says nonsense.
        use std::io::Write;
        let mut stream = std::net::TcpStream::connect(&there).expect("it listens");
        let _ = stream.write_all(&[255; 100]);
        Cluster::join(&there, &right, "test").map(|cluster| cluster.rank())
    });
    let meeting = Meeting {
        listener,
        size: 2,
        token,
        purpose: "test",
    };
    let cluster = Cluster::lead(meeting, || Ok(())).expect("the right one comes");
    assert_eq!(cluster.size(), 2);
    assert_eq!(others.join().expect("it ends").ok(), Some(1));
}

/// At the leader, and at workers: who says nothing, or a byte now and then, delays nobody.
#[test]
fn silent_connections_keep_nobody_waiting() {
    use std::io::Write;
    use std::net::TcpStream;
    let token = Token::random();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let started = Instant::now();
    let mut silent: Vec<TcpStream> = (0..32)
        .map(|_| TcpStream::connect(&address).expect("it listens"))
        .collect();
    for (number, stream) in silent.iter_mut().enumerate() {
        stream
            .write_all(&[18, 0, 0, 0, b's'][..number % 6])
            .expect("it is open");
    }
    let join = || {
        let (address, token) = (address.clone(), token.clone());
        spawn(move || Cluster::join(&address, &token, "test").map(|cluster| cluster.rank()))
    };
    let others = [join(), join()];
    let meeting = Meeting {
        listener,
        size: 3,
        token: token.clone(),
        purpose: "test",
    };
    let cluster = Cluster::lead(meeting, || Ok(())).expect("the right ones come");
    assert_eq!(cluster.size(), 3);
    let ranks = others.map(|other| other.join().expect("it ends").ok());
    assert_eq!(ranks.into_iter().flatten().sum::<usize>(), 3);
    assert!(started.elapsed() < 5 * SECOND, "{:?}", started.elapsed());
}

#[test]
fn waiting_for_others_can_be_ended() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let _silent = std::net::TcpStream::connect(address).expect("it listens");
    let (started, mut looks) = (Instant::now(), 0);
    let meeting = Meeting {
        listener,
        size: 2,
        token: Token::random(),
        purpose: "test",
    };
    let ended = Cluster::lead(meeting, || {
        looks += 1;
        if looks > 5 {
            Err("enough".into())
        } else {
            Ok(())
        }
    });
    assert_eq!(ended.expect_err("nobody comes").to_string(), "enough");
    assert!(started.elapsed() < SECOND, "{:?}", started.elapsed());
}

#[test]
fn everybody_must_be_there_for_the_same() {
    let token = Token::random();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let right = token.clone();
    let other = spawn(move || Cluster::join(&address, &right, "another model").map(|_| ()));
    let meeting = Meeting {
        listener,
        size: 2,
        token,
        purpose: "a model",
    };
    let error = Cluster::lead(meeting, || Ok(())).expect_err("they differ");
    assert!(error.to_string().contains("another model"), "{error}");
    let error = other.join().expect("it ends").expect_err("it is sent away");
    assert!(error.to_string().contains("another model"), "{error}");
}
