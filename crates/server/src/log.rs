//! What a server tells of itself while it runs: one line for each thing that happened, of `name=value` pairs.
//!
//! - Nothing secret is in them: no passwords, and of statements no constants ([`Log::statement`]).
//! - What clients say is quoted where it could be taken for something else: a line is one line, whatever a user calls himself.

use std::fmt::{self, Display, Write as _};
use std::io::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use crate::audit::Audit;
use cairn_parser::TokenKind;
use cairn_parser::token::{Lexer, Placeholders};

/// The most of a statement that a line has.
const STATEMENT_CHARACTERS_MAX: usize = 1_000;

/// What takes the lines.
type Take = Arc<dyn Fn(&str) + Send + Sync>;

/// Where the lines go; by default nowhere.
#[derive(Clone, Default)]
pub struct Log {
    take: Option<Take>,
    /// What of them is kept.
    audit: Option<Arc<Audit>>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

/// How much a line matters.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    /// What happens.
    Info,
    /// What somebody may want to look at.
    Warning,
    /// What went wrong with the server itself.
    Error,
}

impl Log {
    /// To what takes them, without their ends.
    ///
    /// ```
    /// let log = cairn_server::Log::to(|line| eprintln!("cairn: {line}"));
    /// let options = cairn_server::Options { log, ..Default::default() };
    /// ```
    pub fn to(take: impl Fn(&str) + Send + Sync + 'static) -> Log {
        Log { take: Some(Arc::new(take)), audit: None }
    }

    /// The same, of which some is kept here.
    pub(crate) fn kept_in(self, audit: &Arc<Audit>) -> Log {
        Log { audit: Some(audit.clone()), ..self }
    }

    /// To standard error. Where nobody reads it, there is nobody to tell.
    pub fn stderr() -> Log {
        Log::to(|line| drop(writeln!(std::io::stderr().lock(), "{line}")))
    }

    /// Tells that something happened.
    pub(crate) fn line(&self, level: Level, event: &str, of: &[(&str, &dyn Display)]) {
        let audit = self.audit.as_ref().filter(|_| Audit::keeps(event));
        if audit.is_none() && self.take.is_none() {
            return;
        }
        let (time, of): (_, Vec<_>) = (now(), of.iter().map(|(name, value)| (*name, value.to_string())).collect());
        audit.iter().for_each(|audit| audit.add(&time, event, &of));
        let Some(take) = &self.take else { return };
        let level = match level {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        let mut line = format!("time={time} level={level} event={event}");
        for (name, value) in of {
            let is_plain = |ch: char| ch.is_ascii_alphanumeric() || "-_.:/[]%".contains(ch);
            // A String takes all that is written to it.
            let _ = match !value.is_empty() && value.chars().all(is_plain) {
                true => write!(line, " {name}={value}"),
                false => write!(line, " {name}={value:?}"),
            };
        }
        take(&line);
    }

    /// A statement as a line may have it: `?` in place of each constant, and no comments, which may be anything.
    pub(crate) fn statement(text: &str) -> String {
        let mut lexer = Lexer::new(text, 0, Placeholders::default());
        let mut shown = String::new();
        while shown.len() < STATEMENT_CHARACTERS_MAX {
            use TokenKind as T;
            let token = lexer.next_token();
            let word = match token.kind {
                T::Eof => return shown,
                T::Bad => break,
                T::StringConst | T::BitConst | T::HexConst | T::IntegerConst | T::NumberConst => "?",
                _ => text.get(token.start as usize..token.end as usize).unwrap_or("?"),
            };
            let joins =
                matches!(token.kind, T::Dot | T::Comma | T::RightParen | T::Semicolon) || shown.ends_with(['.', '(']);
            if !joins && !shown.is_empty() {
                shown.push(' ');
            }
            shown.extend(word.chars().take(STATEMENT_CHARACTERS_MAX));
        }
        shown + " ..."
    }
}

/// The time in UTC, as RFC 3339 has it, to the millisecond.
fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// The date so many days after 1970-01-01: years begin with March here, so that the day that some have more is their last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let known = [(0, (1970, 1, 1)), (11_016, (2000, 2, 29)), (11_017, (2000, 3, 1)), (20_785, (2026, 11, 28))];
        known.iter().for_each(|(days, expected)| assert_eq!(date(*days), *expected));
    }

    #[test]
    fn statements_are_told_without_what_may_be_secret() {
        let text =
            "UPDATE \"User\" SET pass='it''s' || $$secret$$, pin = 1234 /* hunter2 */ WHERE a.id IN (-1.5, $1) -- x";
        let shown = "UPDATE \"User\" SET pass = ? || ?, pin = ? WHERE a.id IN (- ?, $1)";
        assert_eq!(Log::statement(text), shown);
        assert_eq!(Log::statement("SELECT 'never ended"), "SELECT ...");
        assert!(Log::statement(&"a+".repeat(10_000)).len() < 1_100);
    }

    #[test]
    fn a_line_is_one_line_whatever_is_said_in_it() {
        static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let log = Log::to(|line| LINES.lock().unwrap().push(line.to_owned()));
        log.line(
            Level::Warning,
            "login_failed",
            &[("user", &"x\" level=info\nevent=y"), ("from", &"127.0.0.1:80"), ("none", &"")],
        );
        let line = LINES.lock().unwrap().concat();
        let (_, rest) = line.split_once(' ').unwrap();
        assert_eq!(
            rest,
            r#"level=warning event=login_failed user="x\" level=info\nevent=y" from=127.0.0.1:80 none="""#
        );
    }
}
