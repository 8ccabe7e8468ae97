//! Patterns of names behind `\d` and its kin, with psql's meaning: letters are lower case outside of double quotes, `*` stands for any
//! characters and `?` for one, a dot separates a schema's pattern from the name's; what else means something to regular
//! expressions does. Without a schema the pattern finds what is found without one in statements.

use crate::report::Failure;

/// A pattern. Its parts are regular expressions for the whole name.
#[derive(Debug, PartialEq, Eq)]
pub struct Pattern {
    /// As it was written.
    pub text: String,
    schema: Option<String>,
    name: String,
}

/// What means something to regular expressions.
const SPECIAL: &str = "|*+?()[]{}.^$\\";

impl Pattern {
    /// The first word of `text`; none where there is none.
    pub fn of(text: &str) -> Result<Option<Pattern>, Failure> {
        let text = text.trim().trim_end_matches(';');
        let (mut part, mut parts, mut quoted, mut end) = (String::new(), Vec::new(), false, text.len());
        let mut characters = text.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            match c {
                '"' if quoted && characters.peek().is_some_and(|(_, next)| *next == '"') => {
                    characters.next();
                    part.push('"');
                }
                '"' => quoted = !quoted,
                c if !quoted && c.is_whitespace() => {
                    end = at;
                    break;
                }
                '*' if !quoted => part.push_str(".*"),
                '?' if !quoted => part.push('.'),
                '.' if !quoted => parts.push(std::mem::take(&mut part)),
                '$' if !quoted => part.push_str("\\$"),
                c if quoted && SPECIAL.contains(c) => part.extend(['\\', c]),
                c if quoted => part.push(c),
                c => part.extend(c.to_lowercase()),
            }
        }
        let text = text[..end].to_string();
        if quoted {
            return Err(Failure::Message(format!("a \" is not closed: {text}")));
        }
        match (text.is_empty(), parts.pop(), parts.pop()) {
            (true, ..) => Ok(None),
            (_, schema, None) => Ok(Some(Pattern { text, schema, name: part })),
            _ => Err(Failure::Message(format!("improper qualified name (too many dotted names): {text}"))),
        }
    }

    /// What the schema `n` and the name in `column` must be; `visible`: that it is found without its schema.
    pub fn condition(&self, column: &str, visible: &str) -> String {
        let name = is_like(column, &self.name);
        match &self.schema {
            Some(schema) => format!("{} AND {name}", is_like("n.nspname", schema)),
            None => format!("{name} AND {visible}"),
        }
    }
}

/// `column ~ '^(pattern)$'`
fn is_like(column: &str, pattern: &str) -> String {
    format!("{column}::text OPERATOR(pg_catalog.~) '^({})$'", pattern.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (Option<String>, String) {
        let pattern = Pattern::of(text).unwrap().unwrap();
        (pattern.schema, pattern.name)
    }

    #[test]
    fn patterns_mean_what_they_mean_in_psql() {
        let schema = |schema: &str| Some(schema.to_string());
        assert_eq!(parts("Cars*"), (None, "cars.*".to_string()));
        assert_eq!(parts("s?.\"A*b\"\"$\";"), (schema("s."), "A\\*b\"\\$".to_string()));
        assert_eq!(parts("[ab]c|d$ ignored"), (None, "[ab]c|d\\$".to_string()));
        assert_eq!(parts("*.*"), (schema(".*"), ".*".to_string()));
        assert_eq!(parts("\"a b\".c"), (schema("a b"), "c".to_string()));
        assert!(Pattern::of(" ; ").unwrap().is_none());
        assert!(Pattern::of("a.b.c").is_err() && Pattern::of("\"a").is_err());
    }
}
