//! The page that the console is: files as they are served, in the binary. They are written by hand, for browsers as they are today; nothing is built.

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// What it is called, within the page's folder.
    pub name: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// What is in it.
    pub text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! file {
    ($name:literal, $kind:expr) => {
        File { name: $name, kind: $kind, text: include_str!(concat!("../page/", $name)) }
    };
}

/// What is answered to who asks for the page itself.
///
/// ```
/// assert!(cairn_console::INDEX.text.starts_with("<!doctype html>"));
/// ```
pub const INDEX: File = file!("index.html", "text/html; charset=utf-8");

/// What the page loads.
///
/// ```
/// assert!(cairn_console::FILES.iter().any(|file| file.name == "app.js"));
/// ```
pub const FILES: &[File] = &[
    file!("activity.js", SCRIPT),
    file!("app.js", SCRIPT),
    file!("ask.js", SCRIPT),
    file!("audit.js", SCRIPT),
    file!("chart.js", SCRIPT),
    file!("data.js", SCRIPT),
    file!("databases.js", SCRIPT),
    file!("diagram.js", SCRIPT),
    file!("document.js", SCRIPT),
    file!("documents.js", SCRIPT),
    file!("dom.js", SCRIPT),
    file!("editor.js", SCRIPT),
    file!("events.js", SCRIPT),
    file!("form.js", SCRIPT),
    file!("grid.js", SCRIPT),
    file!("json.js", SCRIPT),
    file!("layout.js", SCRIPT),
    file!("live.js", SCRIPT),
    file!("metrics.js", SCRIPT),
    file!("plan.js", SCRIPT),
    file!("query.js", SCRIPT),
    file!("result.js", SCRIPT),
    file!("schema.js", SCRIPT),
    file!("table.js", SCRIPT),
    file!("tokens.js", SCRIPT),
    file!("style.css", STYLE),
    file!("icon.svg", "image/svg+xml"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What names something of elsewhere in a file.
    const ELSEWHERE: [&str; 4] = ["http://", "https://", "innerHTML", "eval("];

    #[test]
    fn all_of_the_page_is_here_and_nothing_of_elsewhere() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/page");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| *name != INDEX.name)
            .collect();
        there.sort();
        let mut known: Vec<&str> = FILES.iter().map(|file| file.name).collect();
        known.sort_unstable();
        assert_eq!(there, known);
        for file in FILES.iter().chain([&INDEX]) {
            // (The name of SVG's elements is no address.)
            let text = file.text.replace("http://www.w3.org/2000/svg", "");
            for elsewhere in ELSEWHERE {
                assert!(!text.contains(elsewhere), "{}: {elsewhere}", file.name);
            }
        }
        let bytes: usize = FILES.iter().chain([&INDEX]).map(|file| file.text.len()).sum();
        assert!(bytes < 400_000, "even without compression: {bytes}");
    }
}
