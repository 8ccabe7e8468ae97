//! A script of psql's as the statements that it sends.

use std::collections::BTreeMap;
use std::path::Path;

use cairn_parser::token::split_statements;

/// A statement of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The line that it ends on, counted from 1.
    pub line: usize,
    /// Its text, with psql's variables put in.
    pub sql: String,
    /// The lines that a COPY .. FROM STDIN reads.
    pub data: Option<String>,
}

/// What scripts are told of where they lie.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// `src/test/regress` of PostgreSQL's source.
    pub folder: &'a Path,
}

/// The statements of a script. Those that use a variable that only an answer sets (`\gset`) are left out, and so is what
/// stands under `\if`.
pub fn read_script(text: &str, place: Place<'_>) -> Vec<Statement> {
    let mut reader = Reader { variables: BTreeMap::new(), pending: String::new(), found: Vec::new(), line: 0 };
    reader.variables.insert("abs_srcdir".into(), place.folder.display().to_string());
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        reader.line = index + 1;
        if !reader.take(line) {
            continue;
        }
        let data: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "\\.").collect();
        if let Some(copy) = reader.found.last_mut() {
            copy.data = Some(data.iter().map(|line| format!("{line}\n")).collect());
        }
    }
    reader.found
}

struct Reader {
    variables: BTreeMap<String, String>,
    pending: String,
    found: Vec<Statement>,
    line: usize,
}

impl Reader {
    /// Takes a line; whether the lines that follow are a COPY's data.
    fn take(&mut self, line: &str) -> bool {
        let starts_in_text = is_open(&self.pending);
        let command = (!starts_in_text).then(|| psql_command(line)).flatten();
        self.pending.push_str(&line[..command.unwrap_or(line.len())]);
        self.pending.push('\n');
        let Some(at) = command else { return self.cut() };
        let words: Vec<&str> = line[at + 1..].split_whitespace().collect();
        match words.first().copied().unwrap_or("") {
            // The statement before it is sent, and its answer used by psql.
            "gset" | "g" | "gx" | "gexec" | "gdesc" | "crosstabview" | ";" => {
                self.pending.push(';');
                return self.cut();
            }
            "set" => self.set(&words[1..]),
            "r" | "reset" => self.pending.clear(),
            _ => {}
        }
        false
    }

    fn set(&mut self, words: &[&str]) {
        let Some((name, parts)) = words.split_first() else { return };
        let part = |word: &&str| match word.strip_prefix(':') {
            Some(name) => self.variables.get(name).cloned().unwrap_or_default(),
            None => word.trim_matches('\'').to_owned(),
        };
        let value = parts.iter().map(part).collect();
        self.variables.insert((*name).to_owned(), value);
    }

    fn cut(&mut self) -> bool {
        let pending = std::mem::take(&mut self.pending);
        let mut rest = 0;
        let mut reads = false;
        for statement in split_statements(&pending).filter(|statement| statement.complete) {
            rest = statement.start + statement.text.len() + 1;
            let Some(sql) = self.put_in(statement.text) else { continue };
            reads = reads_data(&sql);
            self.found.push(Statement { line: self.line, sql, data: None });
        }
        self.pending = pending.get(rest..).unwrap_or("").to_owned();
        if self.pending.trim().is_empty() {
            self.pending.clear();
        }
        reads
    }

    /// The text with psql's variables; `None`: one of them is not known.
    fn put_in(&self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(':') {
            let (before, behind) = (&rest[..at], &rest[at + 1..]);
            out.push_str(before);
            let quote = behind.chars().next().filter(|first| matches!(first, '\'' | '"'));
            let name_at = quote.map_or(0, char::len_utf8);
            let name: String =
                behind[name_at..].chars().take_while(|next| next.is_ascii_alphanumeric() || *next == '_').collect();
            let is_variable = !before.ends_with(':')
                && !behind.starts_with(':')
                && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && !is_open(&out);
            if !is_variable || (quote.is_none() && !self.variables.contains_key(&name)) {
                out.push(':');
                rest = behind;
                continue;
            }
            let value = self.variables.get(&name)?;
            match quote {
                Some('\'') => out.push_str(&format!("'{}'", value.replace('\'', "''"))),
                Some(_) => out.push_str(&format!("\"{value}\"")),
                None => out.push_str(value),
            }
            rest = &behind[name_at + name.len() + name_at..];
        }
        out.push_str(rest);
        Some(out)
    }
}

fn reads_data(sql: &str) -> bool {
    let words: Vec<String> = sql.split_whitespace().map(str::to_ascii_lowercase).collect();
    let from = |pair: &[String]| pair[0] == "from" && matches!(pair[1].trim_end_matches(';'), "stdin" | "stdout");
    words.first().is_some_and(|first| first == "copy") && words.windows(2).any(from)
}

/// Where a command of psql's begins in a line that begins outside strings and comments.
fn psql_command(line: &str) -> Option<usize> {
    line.match_indices('\\').map(|(at, _)| at).find(|at| {
        let before = &line[..*at];
        !is_open(before) && !before.contains("--")
    })
}

/// Whether a text ends within a string, a quoted name or a comment of several lines.
fn is_open(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let skipped = match bytes[at] {
            b'-' if rest.starts_with("--") => Some(rest.find('\n').unwrap_or(rest.len())),
            b'/' if rest.starts_with("/*") => end_of_comment(rest),
            b'\'' => {
                let escapes = at > 0 && matches!(bytes[at - 1], b'e' | b'E');
                end_of_string(rest, escapes)
            }
            b'"' => rest[1..].find('"').map(|end| end + 2),
            b'$' => match dollar_tag(rest) {
                Some(tag) => rest[tag.len()..].find(tag).map(|end| end + 2 * tag.len()),
                None => Some(1),
            },
            _ => Some(rest.chars().next().map_or(1, char::len_utf8)),
        };
        match skipped {
            Some(bytes) => at += bytes,
            None => return true,
        }
    }
    false
}

fn end_of_comment(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = text.as_bytes().get(at..)?;
        match rest {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return Some(at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    None
}

fn end_of_string(text: &str, escapes: bool) -> Option<usize> {
    let mut escaped = false;
    let found = text.bytes().enumerate().skip(1).find(|(_, byte)| {
        let ends = *byte == b'\'' && !escaped;
        escaped = escapes && *byte == b'\\' && !escaped;
        ends
    });
    found.map(|(at, _)| at + 1)
}

fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 1;
    let name = &text[1..end];
    let is_name = name.chars().all(|next| next.is_alphanumeric() || next == '_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    is_name.then(|| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Option<String>)> {
        let place = Place { folder: Path::new("/there") };
        read_script(text, place).into_iter().map(|statement| (statement.sql, statement.data)).collect()
    }

    #[test]
    fn statements_data_and_variables_are_told_apart() {
        let text = "\\set filename :abs_srcdir '/data/a.data'\nCOPY a FROM :'filename';\nCOPY t (a)\n FROM stdin;\n1;\\N\n2\n\\.\n\
                    SELECT a[1:2], x::int FROM t \\gset\n\\d t\nSELECT 'a\\b;\n\\d', $$ ; $$;\nSELECT :unknown, :'nobody';";
        let wanted = [
            ("COPY a FROM '/there/data/a.data'", None),
            ("COPY t (a)\n FROM stdin", Some("1;\\N\n2\n".to_owned())),
            ("SELECT a[1:2], x::int FROM t", None),
            ("SELECT 'a\\b;\n\\d', $$ ; $$", None),
        ];
        let found = read(text);
        assert_eq!(found.len(), wanted.len(), "{found:#?}");
        for ((sql, data), (wanted_sql, wanted_data)) in found.iter().zip(wanted) {
            assert_eq!((sql.trim(), data.clone()), (wanted_sql, wanted_data));
        }
    }
}
