//! Our own description of the grammar, to make statements from.

use crate::grammar_file::GrammarFile;

/// The rule that is any statement.
pub const STATEMENT: &str = "stmt";

/// Queries and changes of rows from `rows.grammar`, utility commands from the parser's own, keywords from its table.
pub fn grammar(commands: &str, keywords: impl Iterator<Item = (&'static str, &'static str)>) -> GrammarFile {
    let mut text = [include_str!("rows.grammar"), commands].join("\n");
    let mut classes = std::collections::BTreeMap::<&str, Vec<String>>::new();
    for (class, keyword) in keywords {
        classes.entry(class).or_default().push(keyword.to_ascii_uppercase());
    }
    for (class, words) in classes {
        text.push_str(&format!("\n{class}: {} ;", words.join(" | ")));
    }
    GrammarFile::parse(&text)
}
