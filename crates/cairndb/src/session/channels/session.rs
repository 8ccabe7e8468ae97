//! A session's part in the channels: what its open transaction says, and what it hears.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use cairn_storage::{Patience, Stats, TreeId};

use super::hub::{Channels, Telling, Told};
use super::listener::{Hold, Listener};
use super::said::{Note, Said, Wish};
use crate::command::ChannelCommand;
use crate::notice::{Notice, Notices};
use crate::session::advisory::SessionLocks;
use crate::session::shared::Shared;
use crate::state::SaidMark;
use crate::sync::{Mutex, MutexGuard};
use crate::types::{
    Advisory, Builds, Generator, LockScope, ObjectId, Server, SessionServices, SettingChange, ShownSettings, Uses,
};
use crate::{Error, Result, SqlState};

/// See the module. Shared with the functions that the session's statements call.
pub(crate) struct SessionChannels {
    database: Weak<Shared>,
    channels: Arc<Channels>,
    pub(crate) locks: SessionLocks,
    pub(crate) notices: Notices,
    /// What `random()` draws from.
    pub(crate) random: Generator,
    /// When the transaction began that has a number, and its number; 0: none has.
    numbered: [AtomicI64; 2],
    /// Whether the open transaction, or the statement on its own that runs, said anything: what a commit asks.
    has_said: AtomicBool,
    said: Mutex<Said>,
    /// What `set_config()` asked for in the statement that runs.
    settings: Mutex<Vec<SettingChange>>,
    has_settings: AtomicBool,
    /// What the session began with.
    first_settings: Mutex<Option<Arc<dyn ShownSettings>>>,
    /// Once it is known to be of a server.
    server: OnceLock<Arc<dyn Server>>,
    /// Once it listens, or somebody asked for what it hears.
    listener: OnceLock<Arc<Listener>>,
}

impl std::fmt::Debug for SessionChannels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionChannels")
    }
}

/// Of the statement that runs.
impl Patience for SessionChannels {
    fn is_over(&self) -> bool {
        self.locks.check().is_err()
    }
}

impl SessionChannels {
    pub(crate) fn new(database: &Arc<Shared>, locks: SessionLocks) -> Arc<SessionChannels> {
        Arc::new(SessionChannels {
            database: Arc::downgrade(database),
            channels: database.channels.clone(),
            locks,
            notices: Notices::default(),
            random: Generator::default(),
            numbered: [const { AtomicI64::new(0) }; 2],
            has_said: AtomicBool::new(false),
            said: Mutex::default(),
            settings: Mutex::default(),
            has_settings: AtomicBool::new(false),
            first_settings: Mutex::default(),
            server: OnceLock::new(),
            listener: OnceLock::new(),
        })
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock()
    }

    /// The session goes back to these.
    pub(crate) fn begins_with(&self, settings: Arc<dyn ShownSettings>) {
        *self.first_settings.lock() = Some(settings);
    }

    /// It came in over this server. (It has one only.)
    pub(crate) fn serve(&self, server: Arc<dyn Server>) {
        let _ = self.server.set(server);
    }

    /// What is to be done of settings now that the statement has come to its end; nothing, as mostly.
    pub(crate) fn take_settings(&self) -> Vec<SettingChange> {
        if !self.has_settings.load(Ordering::Relaxed) {
            return Vec::new();
        }
        self.has_settings.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.settings.lock())
    }

    /// A transaction, or a statement on its own, is over: what comes next has another number.
    pub(crate) fn forget_number(&self) {
        self.numbered[1].store(0, Ordering::Relaxed);
    }

    /// What it hears from now on.
    pub(super) fn listener(&self) -> &Arc<Listener> {
        self.listener.get_or_init(|| self.channels.new_listener())
    }

    /// Whether the next user of the session would hear what the last one listened to.
    pub(crate) fn is_listening(&self) -> bool {
        self.listener.get().is_some()
    }

    /// For a transaction that begins: what is heard waits for its end.
    pub(crate) fn hold(&self) -> Option<Hold> {
        self.listener.get().map(Hold::of)
    }

    /// Done when the transaction commits.
    pub(crate) fn command(&self, command: &ChannelCommand) -> Result<()> {
        let wish = match command {
            ChannelCommand::Notify { channel, payload } => return self.note(channel, payload),
            ChannelCommand::Listen(channel) => {
                self.listener();
                Wish::Listen(channel.as_str().into())
            }
            ChannelCommand::Unlisten(Some(channel)) => Wish::Unlisten(channel.as_str().into()),
            ChannelCommand::Unlisten(None) => Wish::UnlistenAll,
        };
        self.said().wishes.push(wish);
        self.has_said.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// To how many channels it listens, with what its open transaction has said of that.
    pub(crate) fn count_channels(&self) -> usize {
        let said = if self.has_said.load(Ordering::Relaxed) { self.said().wishes.len() } else { 0 };
        said + self.listening().len()
    }

    fn note(&self, channel: &str, payload: &str) -> Result<()> {
        let note = Note::new(channel, payload)?;
        self.said().note(note)?;
        self.has_said.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Where ROLLBACK TO goes back to.
    pub(crate) fn mark(&self) -> SaidMark {
        let locks = self.locks.mark();
        let said = if self.has_said.load(Ordering::Relaxed) { self.said().mark() } else { SaidMark::default() };
        let settings = if self.has_settings.load(Ordering::Relaxed) { self.settings.lock().len() } else { 0 };
        SaidMark { locks, settings, ..said }
    }

    pub(crate) fn go_back(&self, mark: SaidMark) {
        self.locks.go_back(mark.locks);
        if self.has_settings.load(Ordering::Relaxed) {
            self.settings.lock().truncate(mark.settings);
        }
        if self.has_said.load(Ordering::Relaxed) {
            self.said().go_back(mark);
        }
    }

    /// What was said is not told, and what was locked given back: its transaction was rolled back, or another begins.
    pub(crate) fn forget(&self) {
        self.locks.go_back(0);
        self.take_settings();
        if self.has_said.swap(false, Ordering::Relaxed) {
            *self.said() = Said::default();
        }
    }

    /// What the transaction that commits now tells, once it has; `None`: nothing, as mostly.
    pub(crate) fn telling(&self) -> Option<Telling<'_>> {
        if !self.has_said.swap(false, Ordering::Relaxed) {
            return None;
        }
        let said = std::mem::take(&mut *self.said());
        (!said.is_empty())
            .then(|| self.channels.tell(Told { by: self.listener.get().cloned(), process: self.process(), said }))
    }
}

impl SessionChannels {
    fn shared(&self) -> Result<Arc<Shared>> {
        self.database.upgrade().ok_or_else(|| Error::internal("a session without its database"))
    }
}

impl SessionServices for SessionChannels {
    fn transaction_number(&self, begun: i64, assign: bool) -> Result<Option<i64>> {
        let [of, number] = &self.numbered;
        let known = number.load(Ordering::Relaxed);
        if known != 0 && of.load(Ordering::Relaxed) == begun {
            return Ok(Some(known));
        }
        if !assign {
            return Ok(None);
        }
        let new = self.shared()?.next_transaction_number();
        of.store(begun, Ordering::Relaxed);
        number.store(new, Ordering::Relaxed);
        Ok(Some(new))
    }

    fn notify(&self, channel: &str, payload: &str) -> Result<()> {
        self.note(channel, payload)
    }

    fn listening(&self) -> Vec<Arc<str>> {
        self.listener.get().map_or_else(Vec::new, |listener| listener.channels())
    }

    fn change_setting(&self, change: SettingChange) {
        self.settings.lock().push(change);
        self.has_settings.store(true, Ordering::Relaxed);
    }

    fn changed_setting(&self, name: &str) -> Option<String> {
        let settings = self.has_settings.load(Ordering::Relaxed).then(|| self.settings.lock())?;
        settings.iter().rev().find(|change| change.name == name).map(|change| change.shown.clone())
    }

    fn first_setting(&self, name: &str) -> Option<String> {
        self.first_settings.lock().as_ref()?.shown(name)
    }

    fn lock(&self, number: Advisory, shared: bool, scope: LockScope, waits: bool) -> Result<bool> {
        self.locks.lock(number, shared, scope, waits)
    }

    fn unlock(&self, number: Advisory, shared: bool) -> bool {
        self.locks.unlock(number, shared)
    }

    fn unlock_all(&self) {
        self.locks.unlock_all();
    }

    fn locked(&self) -> Vec<(Advisory, bool, bool)> {
        self.locks.locked()
    }

    fn counted(&self) -> Result<Stats> {
        Ok(self.shared()?.store.stats())
    }

    fn builds(&self) -> Result<Arc<Builds>> {
        Ok(self.shared()?.builds.clone())
    }

    fn uses(&self) -> Result<HashMap<ObjectId, Uses>> {
        Ok(self.shared()?.uses.all())
    }

    fn warn(&self, message: String) {
        self.notices.add(Notice { severity: "WARNING", code: SqlState::WARNING, message, detail: None });
    }

    fn random(&self) -> &Generator {
        &self.random
    }

    fn sleep(&self, time: Duration) -> Result<()> {
        self.locks.sleep(time)
    }

    fn tree_bytes(&self, tree: TreeId) -> Result<u64> {
        Ok(self.shared()?.store.tree_size(tree)?.bytes)
    }

    fn database_bytes(&self) -> Result<u64> {
        let shared = self.shared()?;
        let stats = shared.store.stats();
        Ok(stats.pages_total * shared.store.page_size() as u64 + stats.log_bytes_live)
    }

    fn database_name(&self) -> Result<Arc<str>> {
        Ok(self.shared()?.name().clone())
    }

    fn server(&self) -> Option<&Arc<dyn Server>> {
        self.server.get()
    }

    fn process(&self) -> i32 {
        self.server.get().map_or_else(|| std::process::id().cast_signed(), |server| server.process())
    }

    fn check(&self) -> Result<()> {
        self.locks.check()
    }
}

/// With the session its listening ends.
pub(crate) struct Leaving(pub(crate) Arc<SessionChannels>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(listener) = self.0.listener.get().filter(|listener| listener.is_here()) {
            self.0.channels.leave(listener);
        }
    }
}
