//! EXPLAIN's formats: lines, and JSON and YAML with PostgreSQL's names of properties.

use std::fmt::Write;

use super::shown::{Detail, DetailKind, ShownNode};

/// A property of a node.
enum Property {
    Text(String),
    /// As it is written.
    Number(String),
    Texts(Vec<String>),
    Node(Properties),
    Nodes(Vec<Properties>),
}

type Properties = Vec<(&'static str, Property)>;

/// As lines.
pub(super) fn lines(node: &ShownNode) -> Vec<String> {
    let mut lines = vec![];
    add_lines(node, 0, "", &mut lines);
    lines
}

fn add_lines(node: &ShownNode, indent: usize, arrow: &str, lines: &mut Vec<String>) {
    let mut title = format!("{}{arrow}{}", " ".repeat(indent), node.title);
    if let Some(cost) = node.estimate {
        let _ = write!(
            title,
            "  (cost={:.2}..{:.2} rows={:.0} width={:.0})",
            cost.startup, cost.total, cost.rows, cost.width
        );
    }
    if let Some(actual) = &node.actual {
        if actual.loops == 0 && actual.batches == 0 {
            title.push_str(" (never executed)");
        } else {
            let loops = actual.loops.max(1) as f64;
            title.push_str(" (actual ");
            if node.timing {
                let millis = |nanos: u64| nanos as f64 / loops / 1e6;
                let (first, all) = (millis(actual.first_nanos), millis(actual.nanos));
                let _ = write!(title, "time={first:.3}..{all:.3} ");
            }
            let rows = actual.rows as f64 / loops;
            let _ = write!(title, "rows={rows:.0} loops={loops:.0})");
        }
    }
    lines.push(title);
    let inner = indent + if arrow.is_empty() { 2 } else { 6 };
    let pad = " ".repeat(inner);
    let detail = |detail: &Detail| format!("{pad}{}: {}", detail.label, detail.parts.join(", "));
    lines.extend(node.details.iter().map(detail));
    lines.extend(node.memory.iter().map(|(line, _)| format!("{pad}{line}")));
    lines.extend(node.pages.and_then(buffers).map(|line| format!("{pad}{line}")));
    for child in &node.children {
        let deeper = match &child.heading {
            Some(heading) => {
                lines.push(format!("{pad}{heading}"));
                inner + 2
            }
            None => inner,
        };
        add_lines(child, deeper, "->  ", lines);
    }
}

/// Pages found in memory and waited for, where there were any.
fn buffers((hit, read): (u64, u64)) -> Option<String> {
    let told = [("hit", hit), ("read", read)].into_iter().filter(|(_, pages)| *pages > 0);
    let told: Vec<String> = told.map(|(name, pages)| format!(" {name}={pages}")).collect();
    (!told.is_empty()).then(|| format!("Buffers: shared{}", told.concat()))
}

/// What is told of the whole, besides the plan.
#[derive(Default)]
pub struct Whole {
    /// Settings that are not the default.
    pub settings: Option<Vec<(&'static str, &'static str)>>,
    /// Pages that planning found in memory, and waited for.
    pub planning_pages: Option<(u64, u64)>,
    /// A name and milliseconds.
    pub times: Vec<(&'static str, String)>,
}

impl Whole {
    /// As lines, behind the plan's.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![];
        if let Some(settings) = self.settings.as_ref().filter(|settings| !settings.is_empty()) {
            let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name} = '{value}'")).collect();
            lines.push(format!("Settings: {}", settings.join(", ")));
        }
        if let Some(pages) = self.planning_pages.and_then(buffers) {
            lines.extend(["Planning:".to_owned(), format!("  {pages}")]);
        }
        lines.extend(self.times.iter().map(|(name, millis)| format!("{name}: {millis} ms")));
        lines
    }

    fn properties(&self, plan: &ShownNode) -> Properties {
        let mut all: Properties = vec![("Plan", Property::Node(properties(plan)))];
        if let Some(settings) = &self.settings {
            let settings = settings.iter().map(|(name, value)| (*name, Property::Text((*value).to_owned())));
            all.push(("Settings", Property::Node(settings.collect())));
        }
        all.extend(self.planning_pages.map(|pages| ("Planning", Property::Node(page_properties(pages).into()))));
        all.extend(self.times.iter().map(|(name, millis)| (*name, Property::Number(millis.clone()))));
        all
    }
}

fn page_properties((hit, read): (u64, u64)) -> [(&'static str, Property); 2] {
    let number = |pages: u64| Property::Number(pages.to_string());
    [("Shared Hit Blocks", number(hit)), ("Shared Read Blocks", number(read))]
}

/// As a JSON document.
pub fn json(node: &ShownNode, whole: &Whole) -> String {
    let mut out = String::from("[\n  ");
    json_object(&whole.properties(node), 2, &mut out);
    out.push_str("\n]");
    out
}

fn json_object(of: &Properties, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent + 2);
    out.push('{');
    for (at, (name, property)) in of.iter().enumerate() {
        let _ = write!(out, "{}\n{pad}{}: ", if at == 0 { "" } else { "," }, quoted(name));
        match property {
            Property::Text(text) => out.push_str(&quoted(text)),
            Property::Number(number) => out.push_str(number),
            Property::Node(node) => json_object(node, indent + 2, out),
            Property::Texts(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
                let _ = write!(out, "[{}]", texts.join(", "));
            }
            Property::Nodes(nodes) => {
                out.push('[');
                for (at, node) in nodes.iter().enumerate() {
                    let _ = write!(out, "{}\n{pad}  ", if at == 0 { "" } else { "," });
                    json_object(node, indent + 4, out);
                }
                let _ = write!(out, "\n{pad}]");
            }
        }
    }
    let _ = write!(out, "\n{}}}", " ".repeat(indent));
}

/// A JSON string, which is a YAML one too.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    crate::types::write_quoted(text, &mut out);
    out
}

/// As a YAML document.
pub fn yaml(node: &ShownNode, whole: &Whole) -> String {
    let mut out = String::from("- ");
    yaml_object(&whole.properties(node), 2, false, &mut out);
    out
}

/// `breaks`: its first property stands on a line of its own.
fn yaml_object(of: &Properties, indent: usize, breaks: bool, out: &mut String) {
    let pad = " ".repeat(indent);
    for (at, (name, property)) in of.iter().enumerate() {
        if at > 0 || breaks {
            let _ = write!(out, "\n{pad}");
        }
        let _ = write!(out, "{name}: ");
        match property {
            Property::Text(text) => out.push_str(&quoted(text)),
            Property::Number(number) => out.push_str(number),
            Property::Node(node) => yaml_object(node, indent + 2, true, out),
            Property::Texts(texts) => texts.iter().for_each(|text| {
                let _ = write!(out, "\n{pad}  - {}", quoted(text));
            }),
            Property::Nodes(nodes) => nodes.iter().for_each(|node| {
                let _ = write!(out, "\n{pad}  - ");
                yaml_object(node, indent + 4, false, out);
            }),
        }
    }
}

fn properties(node: &ShownNode) -> Properties {
    let number = |number: f64, digits: usize| Property::Number(format!("{number:.digits$}"));
    let mut all: Properties = vec![];
    let text = |name: &'static str, text: &str| (name, Property::Text(text.to_owned()));
    for (at, (name, value)) in node.kind.iter().enumerate() {
        all.push(text(name, value));
        // Behind the node's type, as PostgreSQL has it.
        if at == 0 {
            all.extend((!node.relationship.is_empty()).then(|| text("Parent Relationship", node.relationship)));
            all.extend(node.heading.iter().map(|heading| text("Subplan Name", heading)));
            all.push(("Parallel Aware", Property::Number("false".to_owned())));
            all.push(("Async Capable", Property::Number("false".to_owned())));
        }
    }
    if let Some(cost) = node.estimate {
        all.push(("Startup Cost", number(cost.startup, 2)));
        all.push(("Total Cost", number(cost.total, 2)));
        all.push(("Plan Rows", number(cost.rows, 0)));
        all.push(("Plan Width", number(cost.width, 0)));
    }
    if let Some(actual) = &node.actual {
        let loops = actual.loops.max(u64::from(actual.batches > 0));
        let each = |sum: f64| if loops == 0 { 0.0 } else { sum / loops as f64 };
        if node.timing {
            all.push(("Actual Startup Time", number(each(actual.first_nanos as f64 / 1e6), 3)));
            all.push(("Actual Total Time", number(each(actual.nanos as f64 / 1e6), 3)));
        }
        all.push(("Actual Rows", number(each(actual.rows as f64), 0)));
        all.push(("Actual Loops", number(loops as f64, 0)));
    }
    for detail in &node.details {
        let property = match detail.kind {
            DetailKind::List => Property::Texts(detail.parts.clone()),
            DetailKind::Text => Property::Text(detail.parts.concat()),
            DetailKind::Number => Property::Number(detail.parts.concat()),
        };
        all.push((detail.label, property));
    }
    if let Some((_, numbers)) = &node.memory {
        all.extend(numbers.iter().map(|(name, number)| (*name, Property::Number(number.to_string()))));
    }
    node.pages.into_iter().for_each(|pages| all.extend(page_properties(pages)));
    if !node.children.is_empty() {
        all.push(("Plans", Property::Nodes(node.children.iter().map(properties).collect())));
    }
    all
}
