//! CREATE, DROP and ALTER DATABASE, which only a server of a folder has: they are its, not a database's.

use cairn_parser::TokenKind as T;
use cairn_parser::token::{Lexer, Placeholders, Token};
use cairndb::{Error, SqlState};

/// A statement about databases as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseStatement {
    Create {
        name: String,
    },
    Drop {
        name: String,
        if_exists: bool,
        force: bool,
    },
    Rename {
        name: String,
        to: String,
    },
    /// Sessions begin with this setting, which has the value that SET would give it by these words.
    Set {
        name: String,
        setting: String,
        words: String,
    },
    /// With what it is now in the session that says it.
    SetFromCurrent {
        name: String,
        setting: String,
    },
    /// Without; `None`: without any.
    Reset {
        name: String,
        setting: Option<String>,
    },
}

/// Words and names of a statement, one after the other.
struct Words<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    next: Token,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Words<'a> {
        let mut lexer = Lexer::new(text, 0, Placeholders::default());
        let next = lexer.next_token();
        Words { text, lexer, next }
    }

    fn advance(&mut self) {
        self.next = self.lexer.next_token();
    }

    /// The next word as it stands.
    fn word(&self) -> &'a str {
        self.text.get(self.next.start as usize..self.next.end as usize).unwrap_or("")
    }

    /// Whether the next word is this one, which is passed then.
    fn takes(&mut self, word: &str) -> bool {
        let takes = self.word().eq_ignore_ascii_case(word);
        if takes {
            self.advance();
        }
        takes
    }

    fn expect(&mut self, word: &str) -> Result<(), Error> {
        if self.takes(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> Error {
        let message = match self.next.kind {
            T::Eof => "syntax error at end of input".to_owned(),
            _ => format!("syntax error at or near \"{}\"", self.word()),
        };
        let before = self.text.get(..self.next.start as usize).unwrap_or("");
        Error::new(SqlState::SYNTAX_ERROR, message).at(before.chars().count() + 1)
    }

    /// A name, folded unless it is quoted.
    fn name(&mut self) -> Result<String, Error> {
        let word = self.word();
        let quoted = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
        let name = match quoted {
            Some(inner) => inner.replace("\"\"", "\""),
            None if word.starts_with(|ch: char| ch.is_alphabetic() || ch == '_') => word.to_lowercase(),
            None => return Err(self.unexpected()),
        };
        self.advance();
        Ok(name)
    }

    fn end(&mut self) -> Result<(), Error> {
        while self.next.kind == T::Semicolon {
            self.advance();
        }
        if self.next.kind == T::Eof { Ok(()) } else { Err(self.unexpected()) }
    }
}

impl DatabaseStatement {
    /// `None`: it is another statement. SQLSTATE 42601, and 0A000 for options that would mean something.
    pub(crate) fn of(text: &str) -> Result<Option<DatabaseStatement>, Error> {
        let mut words = Words::of(text);
        let verb = words.next.kind;
        if !matches!(verb, T::Create | T::Drop | T::Alter) {
            return Ok(None);
        }
        words.advance();
        if !words.takes("DATABASE") {
            return Ok(None);
        }
        match verb {
            T::Create => create(&mut words).map(Some),
            T::Drop => drop_of(&mut words).map(Some),
            _ => alter(&mut words),
        }
    }

    /// What PostgreSQL calls it when it is done.
    /// Of which database it is, and what becomes of that: the names of both, as the log has them.
    pub(crate) fn told(&self) -> [(&'static str, &str); 2] {
        match self {
            DatabaseStatement::Create { name } | DatabaseStatement::Drop { name, .. } => [("name", name), ("what", "")],
            DatabaseStatement::Rename { name, to } => [("name", name), ("to", to)],
            DatabaseStatement::Set { name, setting, .. } | DatabaseStatement::SetFromCurrent { name, setting } => {
                [("name", name), ("set", setting)]
            }
            DatabaseStatement::Reset { name, setting } => {
                [("name", name), ("reset", setting.as_deref().unwrap_or("all"))]
            }
        }
    }

    pub(crate) fn tag(&self) -> &'static str {
        match self {
            DatabaseStatement::Create { .. } => "CREATE DATABASE",
            DatabaseStatement::Drop { .. } => "DROP DATABASE",
            _ => "ALTER DATABASE",
        }
    }
}

fn create(words: &mut Words<'_>) -> Result<DatabaseStatement, Error> {
    let name = words.name()?;
    words.takes("WITH");
    while !matches!(words.next.kind, T::Eof | T::Semicolon) {
        let option = words.word().to_ascii_uppercase();
        words.advance();
        words.takes("=");
        let value = words.word().trim_matches(['\'', '"']).to_ascii_lowercase();
        let is_kept = match option.as_str() {
            "ENCODING" => ["utf8", "utf-8", "unicode", "default"].contains(&value.as_str()),
            "TEMPLATE" => ["template0", "template1", "default"].contains(&value.as_str()),
            "OWNER" => value == "default",
            _ => false,
        };
        if !is_kept {
            let error =
                Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{option} {value} of a database is not supported"));
            return Err(error.with_hint("A database is of UTF-8, and begins empty."));
        }
        words.advance();
    }
    words.end()?;
    Ok(DatabaseStatement::Create { name })
}

fn drop_of(words: &mut Words<'_>) -> Result<DatabaseStatement, Error> {
    let if_exists = words.takes("IF");
    if if_exists {
        words.expect("EXISTS")?;
    }
    let name = words.name()?;
    let with = words.takes("WITH");
    let force = (with || words.next.kind == T::LeftParen) && {
        ["(", "FORCE", ")"].into_iter().try_for_each(|word| words.expect(word))?;
        true
    };
    words.end()?;
    Ok(DatabaseStatement::Drop { name, if_exists, force })
}

/// The other things that ALTER DATABASE does are the database's to refuse.
fn alter(words: &mut Words<'_>) -> Result<Option<DatabaseStatement>, Error> {
    let name = words.name()?;
    let statement = if words.takes("RENAME") {
        words.expect("TO")?;
        DatabaseStatement::Rename { name, to: words.name()? }
    } else if words.takes("SET") {
        match words.word().to_ascii_uppercase().as_str() {
            // (Of the database, not of its sessions.)
            "TABLESPACE" => return Ok(None),
            _ => set(words, name)?,
        }
    } else if words.takes("RESET") {
        let setting = if words.takes("ALL") { None } else { Some(setting(words)?) };
        DatabaseStatement::Reset { name, setting }
    } else {
        return Ok(None);
    };
    words.end()?;
    Ok(Some(statement))
}

/// `search_path`, `my.setting`, `TIME ZONE`.
fn setting(words: &mut Words<'_>) -> Result<String, Error> {
    let mut setting = words.name()?;
    if setting == "time" && words.takes("ZONE") {
        return Ok("timezone".to_owned());
    }
    while words.next.kind == T::Dot {
        words.advance();
        setting = format!("{setting}.{}", words.name()?);
    }
    Ok(setting.to_lowercase())
}

/// What stands behind SET, whose value is SET's own to read.
fn set(words: &mut Words<'_>, name: String) -> Result<DatabaseStatement, Error> {
    let begins = words.next.start as usize;
    let is_zone = words.word().eq_ignore_ascii_case("TIME");
    let setting = setting(words)?;
    if words.takes("FROM") {
        words.expect("CURRENT")?;
        return Ok(DatabaseStatement::SetFromCurrent { name, setting });
    }
    if !is_zone && !words.takes("=") {
        words.expect("TO")?;
    }
    if words.takes("DEFAULT") {
        return Ok(DatabaseStatement::Reset { name, setting: Some(setting) });
    }
    let mut ends = begins;
    while !matches!(words.next.kind, T::Eof | T::Semicolon | T::Bad) {
        ends = words.next.end as usize;
        words.advance();
    }
    let words = words.text.get(begins..ends).unwrap_or("").to_owned();
    Ok(DatabaseStatement::Set { name, setting, words })
}

/// SQLSTATE 0A000: what is said for all databases stands in the configuration.
pub(crate) fn refuse_system(text: &str) -> Result<(), Error> {
    let mut words = Words::of(text);
    if words.next.kind != T::Alter {
        return Ok(());
    }
    words.advance();
    if !words.takes("SYSTEM") {
        return Ok(());
    }
    let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, "ALTER SYSTEM is not supported");
    Err(error.with_hint(
        "Change the server's configuration and send it SIGHUP, or use ALTER DATABASE .. SET for the sessions of a database.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_about_databases_are_told_from_others() {
        use DatabaseStatement as D;
        let of = |text: &str| DatabaseStatement::of(text).unwrap();
        let name = || "shop".to_owned();
        assert_eq!(of("create database Shop;"), Some(D::Create { name: name() }));
        assert_eq!(
            of("/* x */ CREATE DATABASE \"shop\" WITH ENCODING = 'UTF8' TEMPLATE template0"),
            Some(D::Create { name: name() })
        );
        assert_eq!(
            of("DROP DATABASE IF EXISTS shop (FORCE)"),
            Some(D::Drop { name: name(), if_exists: true, force: true })
        );
        assert_eq!(of("DROP DATABASE shop"), Some(D::Drop { name: name(), if_exists: false, force: false }));
        assert_eq!(
            of("ALTER DATABASE shop RENAME TO \"a\"\"B\""),
            Some(D::Rename { name: name(), to: "a\"B".to_owned() })
        );
        let set = |setting: &str, words: &str| {
            Some(D::Set { name: name(), setting: setting.to_owned(), words: words.to_owned() })
        };
        assert_eq!(of("ALTER DATABASE shop SET Work_mem = '1MB';"), set("work_mem", "Work_mem = '1MB'"));
        assert_eq!(of("ALTER DATABASE shop SET my.a TO 'x', \"y\""), set("my.a", "my.a TO 'x', \"y\""));
        assert_eq!(of("ALTER DATABASE shop SET TIME ZONE 'Europe/Rome'"), set("timezone", "TIME ZONE 'Europe/Rome'"));
        let reset = |setting: Option<&str>| Some(D::Reset { name: name(), setting: setting.map(str::to_owned) });
        assert_eq!(of("ALTER DATABASE shop RESET ALL"), reset(None));
        assert_eq!(of("ALTER DATABASE shop RESET work_mem"), reset(Some("work_mem")));
        assert_eq!(of("ALTER DATABASE shop SET work_mem TO DEFAULT"), reset(Some("work_mem")));
        let current = D::SetFromCurrent { name: name(), setting: "search_path".to_owned() };
        assert_eq!(of("ALTER DATABASE shop SET search_path FROM CURRENT"), Some(current));
        for other in [
            "SELECT 1",
            "CREATE TABLE database (a int)",
            "ALTER DATABASE shop SET TABLESPACE x",
            "ALTER DATABASE shop OWNER TO me",
            "",
            "DROP TABLE database",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_not_right_is_refused() {
        for (text, code) in [
            ("CREATE DATABASE", "42601"),
            ("CREATE DATABASE 1", "42601"),
            ("CREATE DATABASE a ENCODING 'latin1'", "0A000"),
            ("CREATE DATABASE a OWNER me", "0A000"),
            ("CREATE DATABASE a; SELECT 1", "42601"),
            ("DROP DATABASE a, b", "42601"),
            ("DROP DATABASE a WITH", "42601"),
            ("ALTER DATABASE a RENAME b", "42601"),
            ("ALTER DATABASE a SET b", "42601"),
            ("ALTER DATABASE a SET b = 1; SELECT 1", "42601"),
            ("ALTER DATABASE a RESET", "42601"),
            ("ALTER DATABASE a RESET b c", "42601"),
        ] {
            assert_eq!(DatabaseStatement::of(text).expect_err(text).sqlstate().as_str(), code, "{text}");
        }
    }
}
