//! What is kept of the log: who came and went, and what was done to the server and its databases.
//!
//! - An event is told once ([`Log::line`](crate::Log)); which are kept is one list ([`KEPT`]). Nothing is in them that is not in the log: no secret, and of a statement no
//!   constant.
//! - There is an end to them: of those who came and went the last thousand, and of what was done; so who comes and goes a thousand times takes away no
//!   trace of what was done.
//! - A folder has them in files, which only its owner reads, each of a megabyte with the one before it; a server that starts reads them. What can not be
//!   written there (a full disk) is kept in memory.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// Events of each kind that are kept to be looked at.
const EVENTS: usize = 1_000;
/// What a file has at most.
const FILE_BYTES: u64 = 1 << 20;
/// The longest value that is kept.
const VALUE_CHARACTERS: usize = 500;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// Somebody came, went, or was not let in.
    Coming,
    /// Something was done.
    Doing,
}

/// The events that are kept.
const KEPT: &[(&str, About)] = &[
    ("connected", About::Coming),
    ("disconnected", About::Coming),
    ("refused", About::Coming),
    ("login_failed", About::Coming),
    ("login_refused", About::Coming),
    ("ended", About::Coming),
    ("token_refused", About::Coming),
    ("console_begun", About::Coming),
    ("console_ended", About::Coming),
    ("started", About::Doing),
    ("stopped", About::Doing),
    ("reloaded", About::Doing),
    ("reload_failed", About::Doing),
    ("database", About::Doing),
    ("token_made", About::Doing),
    ("token_revoked", About::Doing),
    ("backup", About::Doing),
    ("verify", About::Doing),
    ("rules", About::Doing),
    ("cancelled", About::Doing),
    ("terminated", About::Doing),
];

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in UTC, as RFC 3339 has it.
    pub time: String,
    /// What, in the log's word.
    pub event: String,
    /// Names and values, in the log's order.
    pub of: Vec<(String, String)>,
}

impl Event {
    fn json(&self) -> String {
        serde_json::json!([self.time, self.event, self.of]).to_string()
    }

    fn of_json(line: &str) -> Option<Event> {
        let [time, event, of]: [Value; 3] = serde_json::from_str(line).ok()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let pair = |pair: &Value| Some((text(&pair[0])?, text(&pair[1])?));
        let of = of.as_array()?.iter().map(pair);
        Some(Event { time: text(&time)?, event: text(&event)?, of: of.collect::<Option<_>>()? })
    }
}

/// See the module.
pub(crate) struct Audit {
    comings: Mutex<Kept>,
    doings: Mutex<Kept>,
}

/// Events of a kind, the last one last.
struct Kept {
    events: VecDeque<Event>,
    file: Option<Kind>,
}

/// The file of a kind.
struct Kind {
    path: PathBuf,
    /// `None`: it could not be opened, or written.
    open: Option<(File, u64)>,
}

impl Audit {
    /// In files of this folder; `None`: in memory only.
    pub(crate) fn new(folder: Option<&Path>) -> Audit {
        let kept = |name: &str| Mutex::new(Kept::new(folder.map(|folder| folder.join(name))));
        Audit { comings: kept("sessions.audit"), doings: kept("server.audit") }
    }

    /// Whether events of this name are kept.
    pub(crate) fn keeps(event: &str) -> bool {
        about(event).is_some()
    }

    /// Keeps one, if it is of those that are.
    pub(crate) fn add(&self, time: &str, event: &str, of: &[(&str, String)]) {
        let kept = match about(event) {
            Some(About::Coming) => &self.comings,
            Some(About::Doing) => &self.doings,
            None => return,
        };
        let part =
            |(name, value): &(&str, String)| ((*name).to_owned(), value.chars().take(VALUE_CHARACTERS).collect());
        let event = Event { time: time.to_owned(), event: event.to_owned(), of: of.iter().map(part).collect() };
        kept.lock().unwrap_or_else(PoisonError::into_inner).add(event);
    }

    /// All that are kept, the last one first.
    pub(crate) fn all(&self) -> Vec<Event> {
        let mut all = Vec::new();
        for kept in [&self.doings, &self.comings] {
            all.extend(kept.lock().unwrap_or_else(PoisonError::into_inner).events.iter().rev().cloned());
        }
        // (What happened in the same millisecond stays as it was.)
        all.sort_by(|one, other| other.time.cmp(&one.time));
        all
    }
}

fn about(event: &str) -> Option<About> {
    KEPT.iter().find(|(name, _)| *name == event).map(|(_, about)| *about)
}

impl Kept {
    fn new(path: Option<PathBuf>) -> Kept {
        let Some(path) = path else { return Kept { events: VecDeque::new(), file: None } };
        let mut events = VecDeque::new();
        for path in [before(&path), path.clone()] {
            // A line that was not written whole is none.
            events.extend(read(&path).unwrap_or_default().lines().filter_map(Event::of_json));
        }
        events.drain(..events.len().saturating_sub(EVENTS));
        let open = append(&path).ok();
        Kept { events, file: Some(Kind { path, open }) }
    }

    fn add(&mut self, event: Event) {
        if let Some(file) = &mut self.file {
            file.write(&event.json());
        }
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

impl Kind {
    fn write(&mut self, line: &str) {
        if self.open.as_ref().is_some_and(|(_, bytes)| *bytes >= FILE_BYTES) {
            self.open = None;
            // Where it can not get another name, it goes on to grow by nothing.
            if std::fs::rename(&self.path, before(&self.path)).is_err() {
                return;
            }
        }
        if self.open.is_none() {
            self.open = append(&self.path).ok().filter(|(_, bytes)| *bytes < FILE_BYTES);
        }
        let Some((file, bytes)) = &mut self.open else { return };
        // (A line behind one that was not written whole begins anew.)
        let line = format!("{line}\n");
        match file.write_all(line.as_bytes()) {
            Ok(()) => *bytes += line.len() as u64,
            Err(_) => self.open = None,
        }
    }
}

/// What a file that is full is called.
fn before(path: &Path) -> PathBuf {
    path.with_extension("audit.1")
}

/// A file of the owner's alone, to be written at its end; how much it has.
fn append(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // (A link would have it written elsewhere, a pipe would be waited for.)
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    let of = file.metadata()?;
    if !of.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((file, of.len()))
}

fn read(path: &Path) -> io::Result<String> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(2 * FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(audit: &Audit, name: &str) -> Vec<String> {
        audit.all().into_iter().filter(|event| event.event == name).map(|event| event.of[0].1.clone()).collect()
    }

    fn add(audit: &Audit, event: &str, value: &str) {
        audit.add("2027-01-01T00:00:00.000Z", event, &[("name", value.to_owned())]);
    }

    #[test]
    fn what_is_kept_has_an_end_and_who_comes_and_goes_takes_nothing_else_away() {
        let audit = Audit::new(None);
        add(&audit, "token_made", "first");
        (0..3 * EVENTS).for_each(|number| add(&audit, "connected", &number.to_string()));
        add(&audit, "listening", "nobody keeps this");
        assert_eq!(told(&audit, "token_made"), ["first"]);
        let comings = told(&audit, "connected");
        assert_eq!((comings.len(), comings[0].as_str()), (EVENTS, "2999"));
        add(&audit, "database", &"x".repeat(5_000));
        assert_eq!(told(&audit, "database")[0].len(), VALUE_CHARACTERS);
        assert!(told(&audit, "listening").is_empty());
    }

    #[test]
    fn a_folder_has_it_in_files_with_an_end_which_the_next_server_reads() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::new(Some(folder.path()));
        let odd = "a \"b\"\n[\u{202e}";
        add(&audit, "token_made", odd);
        (0..30_000).for_each(|number| add(&audit, "connected", &format!("{number} {}", "x".repeat(100))));
        drop(audit);
        let bytes: u64 =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes < 2 * FILE_BYTES + 10_000, "{bytes}");
        // One was not written whole.
        let mut file = OpenOptions::new().append(true).open(folder.path().join("server.audit")).unwrap();
        file.write_all(b"[\"2027-01-01T00:00:00.000Z\", \"token_ma").unwrap();
        let audit = Audit::new(Some(folder.path()));
        assert_eq!(told(&audit, "token_made"), [odd]);
        assert!(told(&audit, "connected")[0].starts_with("29999 "));
        assert_eq!(told(&audit, "connected").len(), EVENTS);
        add(&audit, "token_revoked", odd);
        add(&audit, "token_revoked", "next");
        drop(audit);
        assert!(told(&Audit::new(Some(folder.path())), "token_revoked").contains(&"next".to_owned()));
    }

    #[cfg(unix)]
    #[test]
    fn the_files_are_the_owners_alone_and_no_links() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        symlink(folder.path().join("elsewhere"), folder.path().join("sessions.audit")).unwrap();
        let audit = Audit::new(Some(folder.path()));
        add(&audit, "token_made", "a");
        add(&audit, "connected", "b");
        assert!(!folder.path().join("elsewhere").exists());
        assert_eq!(told(&audit, "connected"), ["b"], "in memory all the same");
        let mode = folder.path().join("server.audit").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
