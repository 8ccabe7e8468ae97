//! What a statement of a dump is about, by its first words: as it is told to people, and by what name others rest on it.

use cairn_parser::token::{PieceKind, TokenKind, fold_identifier, pieces};

/// So many words of a statement are looked at.
const WORDS_MAX: usize = 64;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// "table public.a", "constraint a_pkey of public.a".
    pub what: String,
    /// The name of what it makes, if it makes something that has one.
    pub makes: Option<String>,
    /// The name of what it is on.
    pub on: Option<String>,
}

/// A word of a statement; a name as it is kept, what is no name as it is written.
struct Word {
    text: String,
    /// It cannot be a keyword.
    is_quoted: bool,
}

impl Word {
    fn is(&self, keyword: &str) -> bool {
        !self.is_quoted && self.text.eq_ignore_ascii_case(keyword)
    }
}

fn words(statement: &str) -> Vec<Word> {
    let words = pieces(statement).filter_map(|piece| {
        let written = statement.get(piece.start..piece.end)?;
        let PieceKind::Token(kind) = piece.kind else { return None };
        let is_quoted = written.starts_with('"');
        let text = match is_quoted {
            true => written[1..].strip_suffix('"').unwrap_or(&written[1..]).replace("\"\"", "\""),
            false if kind == TokenKind::Ident => fold_identifier(written).to_string(),
            false => written.to_lowercase(),
        };
        Some(Word { text, is_quoted })
    });
    words.take(WORDS_MAX).collect()
}

/// Words, from one on.
struct Reader<'w> {
    words: &'w [Word],
    at: usize,
}

impl Reader<'_> {
    fn is(&self, keyword: &str) -> bool {
        self.words.get(self.at).is_some_and(|word| word.is(keyword))
    }

    /// Passes the keywords, if they are next.
    fn pass(&mut self, keywords: &str) -> bool {
        let all: Vec<&str> = keywords.split(' ').collect();
        let next = self.words.get(self.at..self.at + all.len());
        let is_next = next.is_some_and(|next| next.iter().zip(&all).all(|(word, keyword)| word.is(keyword)));
        if is_next {
            self.at += all.len();
        }
        is_next
    }

    fn pass_any(&mut self, keywords: &[&str]) {
        while keywords.iter().any(|keyword| self.pass(keyword)) {}
    }

    /// Goes behind the next of this keyword.
    fn find(&mut self, keyword: &str) -> bool {
        let found = self.words.get(self.at..).and_then(|rest| rest.iter().position(|word| word.is(keyword)));
        self.at += found.map_or(0, |place| place + 1);
        found.is_some()
    }

    /// A name with its schema.
    fn name(&mut self) -> Option<String> {
        let mut name = self.words.get(self.at)?.text.clone();
        self.at += 1;
        while self.is(".") {
            name.push('.');
            name.push_str(&self.words.get(self.at + 1)?.text);
            self.at += 2;
        }
        Some(name)
    }
}

/// Kinds of more than one word.
const KINDS: &[&str] = &[
    "access method",
    "default privileges",
    "event trigger",
    "foreign data wrapper",
    "foreign table",
    "large object",
    "materialized view",
    "operator class",
    "operator family",
    "procedural language",
    "text search configuration",
    "text search dictionary",
    "text search parser",
    "text search template",
    "user mapping",
];

/// Words between CREATE and the kind.
const PASSED: &[&str] =
    &["or replace", "unlogged", "temporary", "temp", "unique", "trusted", "constraint", "recursive", "default"];

impl Subject {
    pub fn of(statement: &str) -> Subject {
        let words = words(statement);
        let mut reader = Reader { words: &words, at: 0 };
        let verb = reader.name().unwrap_or_default();
        let found = match verb.as_str() {
            "create" => Subject::made(&mut reader),
            "alter" => Subject::altered(&mut reader),
            "comment" => {
                reader.pass("on");
                let kind = reader.kind();
                let of = Subject::named(&mut reader, kind);
                of.map(|of| Subject { what: format!("comment on {}", of.what), makes: None, on: of.on.or(of.makes) })
            }
            "copy" => Subject::rows(&mut reader),
            "insert" if reader.pass("into") => Subject::rows(&mut reader),
            "select" => Subject::called(&words),
            _ => None,
        };
        found.unwrap_or_else(|| {
            let first: Vec<&str> = words.iter().take(3).map(|word| word.text.as_str()).collect();
            Subject { what: first.join(" "), ..Subject::default() }
        })
    }

    fn made(reader: &mut Reader<'_>) -> Option<Subject> {
        reader.pass_any(PASSED);
        let kind = reader.kind();
        Subject::named(reader, kind)
    }

    fn named(reader: &mut Reader<'_>, kind: String) -> Option<Subject> {
        reader.pass_any(&["if not exists", "if exists", "concurrently"]);
        if kind == "cast" {
            return Some(Subject { what: "cast".to_string(), ..Subject::default() });
        }
        let name = reader.name()?;
        let behind = match kind.as_str() {
            "trigger" | "policy" | "index" | "constraint" => "on",
            "rule" => "to",
            "column" => {
                let on = name.rsplit_once('.').map(|(on, _)| on.to_string());
                return Some(Subject { what: format!("{kind} {name}"), makes: None, on });
            }
            _ => return Some(Subject { what: format!("{kind} {name}"), makes: Some(name), on: None }),
        };
        let on = reader.find(behind).then(|| {
            reader.pass("only");
            reader.name()
        });
        let on = on.flatten();
        let of = on.as_ref().map_or(String::new(), |on| format!(" of {on}"));
        // An index is a relation too.
        let makes = (kind == "index").then(|| name.clone());
        Some(Subject { what: format!("{kind} {name}{of}"), makes, on })
    }

    fn altered(reader: &mut Reader<'_>) -> Option<Subject> {
        let kind = reader.kind();
        reader.pass_any(&["if exists", "only"]);
        let name = reader.name()?;
        let part = match () {
            () if reader.pass("add constraint") => format!("constraint {} of ", reader.name()?),
            () if reader.pass("alter column") || reader.pass("alter") => {
                let column = reader.name()?;
                let part = if reader.pass("set default") { "default" } else { "ALTER" };
                return Some(Subject { what: format!("{part} of {name}.{column}"), makes: None, on: Some(name) });
            }
            () if reader.pass("attach partition") => format!("part {} of ", reader.name()?),
            () if reader.is("enable") && reader.words.iter().any(|word| word.is("security")) => {
                "row security of ".to_string()
            }
            () if reader.pass("owner to") => "owner of ".to_string(),
            () if reader.is("force") => "row security of ".to_string(),
            () => return Some(Subject { what: format!("ALTER of {kind} {name}"), makes: None, on: Some(name) }),
        };
        Some(Subject { what: format!("{part}{name}"), makes: None, on: Some(name) })
    }

    fn rows(reader: &mut Reader<'_>) -> Option<Subject> {
        let name = reader.name()?;
        Some(Subject { what: format!("rows of {name}"), makes: None, on: Some(name) })
    }

    /// SELECT pg_catalog.setval('public.a_id_seq', 5, true).
    fn called(words: &[Word]) -> Option<Subject> {
        let place = words.iter().position(|word| word.is("setval"))?;
        let name = words.get(place + 2)?.text.trim_matches('\'').replace('"', "");
        Some(Subject { what: format!("value of sequence {name}"), makes: None, on: Some(name) })
    }
}

impl Reader<'_> {
    fn kind(&mut self) -> String {
        match KINDS.iter().find(|kind| self.pass(kind)) {
            Some(kind) => (*kind).to_string(),
            None => {
                let word = self.words.get(self.at).map_or(String::new(), |word| word.text.clone());
                self.at += 1;
                word
            }
        }
    }
}

/// What a statement does to the server that a dump came from, as its words say it, or to who its session is: CREATE DATABASE, ALTER ROLE.
/// Whoever loads the dump has said into which database, and there are no roles.
pub fn is_of_server(statement: &str) -> Option<String> {
    // Most statements are not read for this.
    let first = pieces(statement).find_map(|piece| match piece.kind {
        PieceKind::Token(kind) => Some(kind),
        _ => None,
    });
    use TokenKind::{Alter, Comment, Create, Drop, Reset, Set};
    if !matches!(first, Some(Alter | Comment | Create | Drop | Reset | Set)) {
        return None;
    }
    let words = words(statement);
    let mut reader = Reader { words: &words, at: 0 };
    let all = |verb: &str, what: &str| Some(format!("{verb} {what}").to_uppercase());
    if reader.pass("set") || reader.pass("reset") {
        let verb = words.first()?.text.clone();
        reader.pass_any(&["local"]);
        // SET SESSION SESSION AUTHORIZATION is a way to write it.
        return (reader.pass("session session authorization") || reader.pass("session authorization"))
            .then(|| all(&verb, "session authorization"))
            .flatten();
    }
    if reader.pass("comment on") {
        let what = ["role", "tablespace"].into_iter().find(|what| reader.pass(what))?;
        return all("comment on", what);
    }
    let verb = ["create", "alter", "drop"].into_iter().find(|verb| reader.pass(verb))?;
    if reader.pass("user mapping") {
        return None;
    }
    let what = ["database", "role", "user", "group", "tablespace"].into_iter().find(|what| reader.pass(what))?;
    all(verb, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_about_what_its_first_words_say() {
        for (statement, what, makes, on) in [
            ("CREATE TABLE public.a (b int);", "table public.a", "public.a", ""),
            ("-- x\nCREATE UNLOGGED TABLE IF NOT EXISTS \"A b\".\"c\"\"d\" (b int)", "table A b.c\"d", "A b.c\"d", ""),
            ("ALTER TABLE ONLY public.a ADD CONSTRAINT k PRIMARY KEY (b)", "constraint k of public.a", "", "public.a"),
            ("ALTER TABLE ONLY public.a ALTER COLUMN b SET DEFAULT 1", "default of public.a.b", "", "public.a"),
            ("ALTER TABLE public.a ENABLE ROW LEVEL SECURITY", "row security of public.a", "", "public.a"),
            ("ALTER TABLE public.a OWNER TO x", "owner of public.a", "", "public.a"),
            ("ALTER TABLE public.a SET LOGGED", "ALTER of table public.a", "", "public.a"),
            ("CREATE UNIQUE INDEX i ON ONLY public.a USING btree (b)", "index i of public.a", "i", "public.a"),
            ("CREATE TRIGGER t AFTER INSERT ON s.a EXECUTE FUNCTION f()", "trigger t of s.a", "", "s.a"),
            ("CREATE MATERIALIZED VIEW v AS SELECT 1", "materialized view v", "v", ""),
            ("CREATE EXTENSION IF NOT EXISTS hstore WITH SCHEMA public", "extension hstore", "hstore", ""),
            ("CREATE OR REPLACE FUNCTION s.f(a int) RETURNS int", "function s.f", "s.f", ""),
            ("COMMENT ON COLUMN public.a.b IS 'x'", "comment on column public.a.b", "", "public.a"),
            ("COMMENT ON TABLE public.a IS 'x'", "comment on table public.a", "", "public.a"),
            ("COPY public.a (b) FROM stdin;", "rows of public.a", "", "public.a"),
            ("INSERT INTO public.a VALUES (1)", "rows of public.a", "", "public.a"),
            ("SELECT pg_catalog.setval('public.s', 5, true)", "value of sequence public.s", "", "public.s"),
            ("CREATE CAST (a AS b) WITHOUT FUNCTION", "cast", "", ""),
            (
                "CREATE TEXT SEARCH CONFIGURATION public.en (parser = x)",
                "text search configuration public.en",
                "public.en",
                "",
            ),
            ("REFRESH MATERIALIZED VIEW v", "refresh materialized view", "", ""),
            ("", "", "", ""),
            ("CREATE", "create", "", ""),
        ] {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
            let expected = Subject { what: what.to_string(), makes: some(makes), on: some(on) };
            assert_eq!(Subject::of(statement), expected, "{statement}");
        }
    }

    #[test]
    fn what_is_of_the_server_is_told_from_what_is_of_the_database() {
        for (statement, expected) in [
            ("CREATE DATABASE d WITH TEMPLATE = template0", Some("CREATE DATABASE")),
            ("-- x\nALTER ROLE r WITH SUPERUSER", Some("ALTER ROLE")),
            ("drop user if exists r", Some("DROP USER")),
            ("SET SESSION AUTHORIZATION 'r'", Some("SET SESSION AUTHORIZATION")),
            ("RESET SESSION AUTHORIZATION", Some("RESET SESSION AUTHORIZATION")),
            ("COMMENT ON TABLESPACE t IS 'x'", Some("COMMENT ON TABLESPACE")),
            ("SET ROLE r", None),
            ("CREATE USER MAPPING FOR r SERVER s", None),
            ("CREATE TABLE database (a int)", None),
            ("DROP \"role\" x", None),
            ("SELECT 1", None),
            ("é", None),
        ] {
            assert_eq!(is_of_server(statement).as_deref(), expected, "{statement}");
        }
    }
}
