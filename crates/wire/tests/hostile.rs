//! Whatever bytes come, a conversation goes on or ends with a word: nothing panics, nothing waits for an answer that was given, and
//! nobody takes more than he may.

use cairn_wire::{Challenge, Conversation, CopyInput, Limits, Request, Started, Status, Verifier};
use cairndb::{CopyShape, DataType, Error, Field, SqlState};

/// Xorshift: the same conversations each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend((body.len() as u32 + 4).to_be_bytes());
    message.extend(body);
    message
}

fn startup(minor: u16, parameters: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    message.extend((parameters.len() as u32 + 9).to_be_bytes());
    message.extend((3u32 << 16 | u32::from(minor)).to_be_bytes());
    message.extend(parameters);
    message.push(0);
    message
}

/// Of a password that nobody knows.
const VERIFIER: &str = "SCRAM-SHA-256$4096:AAAAAAAAAAAAAAAAAAAAAA==\
    $AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

const TEXTS: [&str; 12] = [
    "SELECT 1",
    "SELECT 1; SELECT 2; SELECT 3",
    "BEGIN",
    "BEGIN READ ONLY; SELECT 1",
    "SELECT 1; COMMIT; SELECT 2",
    "SELECT 1; SAVEPOINT a",
    "ROLLBACK",
    "",
    " ; ",
    "COPY t FROM STDIN",
    "SELECT 1; BEGIN; SELECT 2",
    "nonsense; (",
];

/// A message as a client might send it, or nearly so.
fn some_message(random: &mut Random) -> Vec<u8> {
    let name = *random.of(&["", "a", "b"]);
    let text = *random.of(&TEXTS);
    let mut message = match random.below(13) {
        0 => message(b'Q', format!("{text}\0").as_bytes()),
        1 | 2 => message(b'P', format!("{name}\0{text}\0\0\0").as_bytes()),
        3 | 4 => message(b'B', format!("{name}\0{}\0\0\0\0\x01\0\0\0\x011\0\0", random.of(&["", "a"])).as_bytes()),
        5 | 6 => message(b'E', format!("{name}\0\0\0\0{}", char::from(random.below(3) as u8)).as_bytes()),
        7 => message(b'D', format!("{}{name}\0", random.of(&["S", "P", "X"])).as_bytes()),
        8 => message(b'C', format!("{}{name}\0", random.of(&["S", "P", "X"])).as_bytes()),
        9 | 10 => message(b'S', b""),
        11 => message(*random.of(b"dcfHFXp?"), b"1\n"),
        _ => message(random.next() as u8, &random.next().to_be_bytes()),
    };
    if random.below(12) == 0 {
        let at = random.below(message.len());
        message[at] = random.next() as u8;
    }
    if random.below(20) == 0 {
        message.truncate(random.below(message.len()));
    }
    message
}

/// Answers whatever is asked by one of the answers that may be given.
struct Driver {
    conversation: Conversation,
    status: Status,
    requests: usize,
}

impl Driver {
    fn run(&mut self, random: &mut Random) -> bool {
        loop {
            self.requests += 1;
            assert!(self.requests < 10_000, "no end");
            match self.conversation.next_request() {
                Request::Wait => return true,
                Request::End | Request::Cancel { .. } => return false,
                request => self.answer(&request, random),
            }
        }
    }

    fn answer(&mut self, request: &Request, random: &mut Random) {
        let conversation = &mut self.conversation;
        match request {
            Request::Tls => _ = conversation.tls(random.below(4) == 0),
            Request::Login(_) if random.below(4) == 0 => {
                let verifier = Verifier::parse(VERIFIER).ok();
                conversation.challenge(Challenge { verifier, nonce: [2; 18], secret: [3; 32], binding: None });
            }
            Request::Login(_) => conversation.trust(),
            Request::Start(_) => conversation.started(&Started { process: 7, secret: [5; 32] }),
            Request::Begin => self.status = Status::Open,
            Request::Commit | Request::Rollback => self.status = Status::Idle,
            Request::Fail => self.status = Status::Failed,
            Request::Query(_) | Request::Execute(_) => {
                self.status = *random.of(&[self.status, self.status, Status::Open])
            }
            _ => {}
        }
        let conversation = &mut self.conversation;
        conversation.set_status(self.status);
        let fails = random.below(6) == 0;
        match request {
            Request::Ready => conversation.ready(),
            Request::Begin | Request::SetModes(_) | Request::Commit | Request::Rollback | Request::Fail if !fails => {
                conversation.done();
            }
            Request::Rollback | Request::Fail => conversation.done(),
            Request::Prepare(_) if !fails => {
                conversation.prepared(vec![DataType::Integer], Some(vec![field()]), vec![])
            }
            Request::FindStatement(_) if !fails => {
                conversation.found(1, vec![DataType::Integer], Some(vec![field()]), vec![])
            }
            Request::FindPortal(_) if !fails => conversation.found_portal(),
            Request::Bind(_) if !fails => conversation.bound(),
            Request::DescribeCursor(_) if !fails => conversation.described(&[field()]),
            Request::Query(query) if !fails && query.copies.is_some() => copy(conversation),
            Request::Query(_) if !fails => conversation.completed("SELECT 1"),
            Request::Execute(_) if !fails && random.below(3) == 0 => conversation.suspended(),
            Request::Execute(_) if !fails => conversation.completed("SELECT 1"),
            Request::Begin
            | Request::SetModes(_)
            | Request::Commit
            | Request::Prepare(_)
            | Request::FindStatement(_)
            | Request::FindPortal(_)
            | Request::Bind(_)
            | Request::DescribeCursor(_)
            | Request::Query(_)
            | Request::Execute(_) => {
                if self.status == Status::Open {
                    self.status = Status::Failed;
                }
                conversation.set_status(self.status);
                conversation.failed(&Error::new(SqlState::DIVISION_BY_ZERO, "division by zero").at(3));
            }
            _ => {}
        }
    }
}

fn copy(conversation: &mut Conversation) {
    conversation.copy_in(CopyShape { is_in: true, is_binary: false, columns: 1 });
    loop {
        match conversation.copy_input() {
            Ok(CopyInput::Data(_)) => {}
            Ok(CopyInput::End) => return conversation.completed("COPY 1"),
            // No more comes in this test.
            Ok(CopyInput::Wait) => return conversation.failed(&Error::new(SqlState::QUERY_CANCELED, "stopped")),
            Err(error) => return conversation.failed(&error),
        }
    }
}

fn field() -> Field {
    Field { name: "a".to_owned(), data_type: DataType::Integer }
}

/// Cuts the output into messages: that they are whole is what is tested.
fn kinds(mut output: &[u8]) -> String {
    let mut kinds = String::new();
    while let [kind, rest @ ..] = output {
        kinds.push(char::from(*kind));
        // The answers to requests for encryption are one byte.
        if matches!(kind, b'N' | b'S') && rest.first().is_none_or(|next| *next != 0) {
            output = rest;
            continue;
        }
        let length = u32::from_be_bytes(*rest.first_chunk().expect("a length")) as usize;
        output = rest.get(length..).expect("all of a message");
    }
    kinds
}

#[test]
fn generated_conversations_go_on_or_end_with_a_word() {
    let mut ended = 0;
    let mut ready = 0;
    for seed in 1..=20_000u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut driver =
            Driver { conversation: Conversation::new(Limits::default()), status: Status::Idle, requests: 0 };
        let mut output = Vec::new();
        if random.below(8) == 0 {
            driver.conversation.receive(&[0, 0, 0, 8, 4, 210, 22, 47 + random.below(2) as u8]);
        }
        driver.conversation.receive(&startup(random.below(4) as u16, b"user\0me\0options\0-c a=b\0"));
        let mut goes_on = driver.run(&mut random);
        for _ in 0..random.below(12) {
            if !goes_on {
                break;
            }
            let message = some_message(&mut random);
            let cut = random.below(message.len() + 1);
            driver.conversation.receive(&message[..cut]);
            goes_on = driver.run(&mut random);
            if goes_on {
                driver.conversation.receive(&message[cut..]);
                goes_on = driver.run(&mut random);
            }
        }
        output.append(driver.conversation.output());
        let kinds = kinds(&output);
        ready += kinds.matches('Z').count();
        if goes_on {
            driver.conversation.end_of_input();
            assert!(!driver.run(&mut random), "seed {seed}: it does not end");
        } else {
            ended += 1;
        }
    }
    assert!(ended > 1_000 && ready > 20_000, "too few: {ended} {ready}");
}

#[test]
fn nobody_takes_memory_before_he_is_known() {
    let mut conversation = Conversation::new(Limits::default());
    conversation.receive(&0x4000_0000u32.to_be_bytes());
    assert!(matches!(conversation.next_request(), Request::End));
    assert_eq!(kinds(conversation.output()), "E");

    let mut conversation = Conversation::new(Limits::default());
    conversation.receive(&startup(0, b"user\0me\0"));
    assert!(matches!(conversation.next_request(), Request::Login(_)));
    conversation.challenge(Challenge { verifier: None, nonce: [0; 18], secret: [0; 32], binding: None });
    let mut long = vec![b'p'];
    long.extend(0x0100_0000u32.to_be_bytes());
    conversation.receive(&long);
    assert!(matches!(conversation.next_request(), Request::End));
    assert_eq!(kinds(conversation.output()), "RE");
}

#[test]
fn bytes_that_came_before_tls_are_not_taken_for_what_came_under_it() {
    let mut conversation = Conversation::new(Limits::default());
    conversation.receive(&[0, 0, 0, 8, 4, 210, 22, 47]);
    conversation.receive(&startup(0, b"user\0me\0"));
    assert!(matches!(conversation.next_request(), Request::Tls));
    assert!(!conversation.tls(true));
    assert!(matches!(conversation.next_request(), Request::End));
    assert_eq!(kinds(conversation.output()), "E");
}

#[test]
fn statements_and_portals_have_limits() {
    let limits = Limits { statements: 2, statement_bytes: 40, portals: 3, portal_bytes: 60, ..Limits::default() };
    let mut driver = Driver { conversation: Conversation::new(limits), status: Status::Idle, requests: 0 };
    driver.conversation.receive(&startup(0, b"user\0me\0"));
    let mut exchange = |bytes: &[u8]| {
        driver.conversation.receive(bytes);
        loop {
            match driver.conversation.next_request() {
                Request::Wait => break,
                Request::Login(_) => driver.conversation.trust(),
                Request::Start(_) => driver.conversation.started(&Started { process: 7, secret: [5; 32] }),
                Request::Ready => driver.conversation.ready(),
                Request::Prepare(_) => driver.conversation.prepared(Vec::new(), None, Vec::new()),
                Request::Bind(_) => driver.conversation.bound(),
                _ => {}
            }
        }
        let output = std::mem::take(driver.conversation.output());
        kinds(&output)
    };
    assert_eq!(exchange(b""), "RKZ");
    let parse = |name: &str, text: &str| message(b'P', format!("{name}\0{text}\0\0\0").as_bytes());
    let sync = message(b'S', b"");
    assert_eq!(exchange(&[parse("a", "SELECT 1"), parse("b", "SELECT 2"), sync.clone()].concat()), "11Z");
    assert_eq!(exchange(&[parse("c", "SELECT 1"), sync.clone()].concat()), "EZ");
    assert_eq!(exchange(&[message(b'C', b"Sa\0"), parse("c", &"x".repeat(40)), sync.clone()].concat()), "3EZ");
    let bind = |name: &str| message(b'B', format!("{name}\0b\0\0\0\0\0\0\0").as_bytes());
    assert_eq!(exchange(&[bind("p"), bind("q"), bind("r"), bind("s"), sync.clone()].concat()), "222EZ");
    let [long, other] = ["l", "m"].map(|name| bind(&name.repeat(30)));
    assert_eq!(exchange(&[long.clone(), other.clone(), sync.clone()].concat()), "2EZ");
    // What was closed is not counted any more.
    let close = message(b'C', format!("P{}\0", "l".repeat(30)).as_bytes());
    assert_eq!(exchange(&[long, close, other, sync].concat()), "232Z");
}
