//! A configuration's text as names and values, each with its line.
//!
//! What YAML has beyond that is refused by name: anchors and aliases (a short text of them can be endless), tags, several documents. All values
//! are texts here; what they mean is their key's business. What is not said (`key:`) is an empty text.

use saphyr_parser::{Event, Parser, Span};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Text(String),
    List(Vec<At<Node>>),
    Map(Vec<(At<String>, At<Node>)>),
}

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    pub line: usize,
    pub of: T,
}

/// How deep names may stand in each other.
const DEPTH_MAX: usize = 8;

/// What was said up to here of a list or map.
enum Open {
    List(Vec<At<Node>>),
    Map(Vec<(At<String>, At<Node>)>, Option<At<String>>),
}

/// The text's one value; an empty text is an empty map.
pub fn read(text: &str) -> Result<At<Node>, At<String>> {
    let mut open: Vec<(usize, Open)> = Vec::new();
    let mut whole = None;
    for event in Parser::new_from_str(text) {
        let (event, span): (Event<'_>, Span) =
            event.map_err(|error| At { line: error.marker().line(), of: error.info().to_owned() })?;
        let line = span.start.line();
        let bad = |of: &str| Err(At { line, of: of.to_owned() });
        let done = match event {
            Event::Alias(_) => return bad("aliases are not for configurations"),
            Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _)
                if anchor > 0 =>
            {
                return bad("anchors are not for configurations");
            }
            Event::Scalar(.., Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                return bad("tags are not for configurations");
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= DEPTH_MAX => {
                return bad("this is too deep");
            }
            Event::SequenceStart(..) => {
                open.push((line, Open::List(Vec::new())));
                continue;
            }
            Event::MappingStart(..) => {
                open.push((line, Open::Map(Vec::new(), None)));
                continue;
            }
            Event::Scalar(value, style, ..) => {
                let is_none = style == saphyr_parser::ScalarStyle::Plain && matches!(&*value, "~" | "null");
                At { line, of: Node::Text(if is_none { String::new() } else { value.into_owned() }) }
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some((line, Open::List(list))) => At { line, of: Node::List(list) },
                Some((line, Open::Map(map, _))) => At { line, of: Node::Map(map) },
                None => continue,
            },
            Event::DocumentStart(_) if whole.is_some() => return bad("there is more than one document"),
            _ => continue,
        };
        match open.last_mut() {
            None => whole = Some(done),
            Some((_, Open::List(list))) => list.push(done),
            Some((_, Open::Map(map, name))) => match name.take() {
                Some(name) => map.push((name, done)),
                None => *name = Some(name_of(map, done)?),
            },
        }
    }
    Ok(whole.filter(|whole| whole.of != Node::Text(String::new())).unwrap_or(At { line: 1, of: Node::Map(Vec::new()) }))
}

/// A name, which is said once.
fn name_of(map: &[(At<String>, At<Node>)], done: At<Node>) -> Result<At<String>, At<String>> {
    let line = done.line;
    match done.of {
        Node::Text(name) if map.iter().any(|(known, _)| known.of == name) => {
            Err(At { line, of: format!("\"{name}\" is said twice") })
        }
        Node::Text(of) => Ok(At { line, of }),
        _ => Err(At { line, of: "a name is a text".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_have_their_lines() {
        let text = "a: 1\nb:\n  - x # why\n  - 'y: z'\nc:\n  d: ~\n";
        let Node::Map(map) = read(text).unwrap().of else { panic!("a map") };
        let names: Vec<(&str, usize)> = map.iter().map(|(name, _)| (name.of.as_str(), name.line)).collect();
        assert_eq!(names, [("a", 1), ("b", 2), ("c", 5)]);
        let list = [("x", 3), ("y: z", 4)].map(|(text, line)| At { line, of: Node::Text(text.to_owned()) });
        assert_eq!(map[1].1.of, Node::List(list.to_vec()));
        let Node::Map(inner) = &map[2].1.of else { panic!("a map") };
        assert_eq!(inner[0].1, At { line: 6, of: Node::Text(String::new()) });
        assert_eq!(read("").unwrap().of, Node::Map(Vec::new()));
    }

    #[test]
    fn what_is_no_configuration_is_refused_with_its_line() {
        for (text, line) in [
            ("a: 1\na: 2", 2),
            ("a: &x 1\nb: *x", 1),
            ("a: !!int 1", 1),
            ("a: 1\n---\nb: 1", 2),
            ("a: [1, 2", 1),
            ("a: 1\n b: 2", 2),
            ("[1]: 2", 1),
            (&"[".repeat(100), 1),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.line >= line, "{text}: {refused:?}");
        }
    }
}
