//! The colours, for light and dark, of the page and of pictures of their own.

/// Colours as variables; the dark ones where the reader's system is dark.
const COLOURS: &str = "
:root { --surface: #fff; --ink: #1b1f24; --soft: #59636e; --rule: #dfe3e8; --band: #f6f8fa;
  --better: #0969da; --worse: #bc4c00; --even: #8c959f;
  --e0: #0969da; --e1: #bc4c00; --e2: #8250df; --e3: #1a7f37; --e4: #bf3989; --e5: #7d5a00; --e6: #007a8a; --e7: #57606a;
  --floor: #8c959f; --flame: #b6dcff; --flame2: #e3d3ff; }
@media (prefers-color-scheme: dark) {
:root { --surface: #0d1117; --ink: #e6edf3; --soft: #9198a1; --rule: #30363d; --band: #151b23;
  --better: #58a6ff; --worse: #f0883e; --even: #6e7681;
  --e0: #58a6ff; --e1: #f0883e; --e2: #bc8cff; --e3: #56d364; --e4: #ff7eb6; --e5: #d9b650; --e6: #4fd1e0; --e7: #b1bac4;
  --floor: #6e7681; --flame: #1f4a7a; --flame2: #4b3280; } }
";

/// What charts are drawn with.
const CHART: &str = "
text { font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: var(--ink); }
text.soft { fill: var(--soft); } text.head { font-weight: 600; } text.title { font-size: 16px; font-weight: 600; }
text.better { fill: var(--better); font-weight: 600; } text.worse { fill: var(--worse); font-weight: 600; }
.surface { fill: var(--surface); } .band { fill: var(--band); }
.rule { stroke: var(--rule); } .one { stroke: var(--ink); stroke-width: 1.5; }
.whisker { stroke: var(--ink); stroke-width: 1.5; opacity: .75; }
rect.better { fill: var(--better); } rect.worse { fill: var(--worse); } rect.even { fill: var(--even); }
rect.unsure { fill: var(--even); opacity: .5; }
rect.flame { fill: var(--rule); } rect.ours { fill: var(--flame); } rect.bench { fill: var(--flame2); }
text.flame { font-size: 11px; pointer-events: none; }
path { fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; }
path.variant { stroke-dasharray: 5 3; } path.e0 { stroke-width: 2.5; } path.floor { stroke-dasharray: 2 3; }
circle { fill: currentColor; stroke: var(--surface); stroke-width: 1; }
circle.variant { fill: var(--surface); stroke: currentColor; stroke-width: 2; }
.e0 { color: var(--e0); } .e1 { color: var(--e1); } .e2 { color: var(--e2); } .e3 { color: var(--e3); }
.e4 { color: var(--e4); } .e5 { color: var(--e5); } .e6 { color: var(--e6); } .e7 { color: var(--e7); }
.floor { color: var(--floor); }
";

/// What the page has besides charts.
const PAGE: &str = "
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1160px; background: var(--surface); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif; color-scheme: light dark; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 40px 0 8px; } h3 { font-size: 14px; margin: 20px 0 4px; } figure h3 { margin: 0; }
p { margin: 6px 0; } .soft { color: var(--soft); } .better { color: var(--better); } .worse { color: var(--worse); }
svg { display: block; width: 100%; height: auto; }
.tally { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0; }
.tally div { border: 1px solid var(--rule); border-radius: 8px; padding: 8px 16px; min-width: 130px; }
.tally b { display: block; font-size: 26px; line-height: 1.2; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(460px, 100%), 1fr)); gap: 20px; }
figure { margin: 0; border: 1px solid var(--rule); border-radius: 8px; padding: 12px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 13px; color: var(--soft); }
.key { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 5px; vertical-align: -1px;
  background: currentColor; border: 2px solid currentColor; }
.key.variant { background: none; } .key.even { color: var(--even); }
.scroll { overflow-x: auto; } .wide { min-width: 760px; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; min-width: 100%; }
th, td { padding: 3px 10px; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } th.word, td.word { text-align: left; } tr.ours td { font-weight: 600; }
tr.first td { border-top: 2px solid var(--rule); }
details { margin: 12px 0; } summary { cursor: pointer; font-weight: 600; }
";

/// Of a page.
pub fn of_page() -> String {
    [COLOURS, CHART, PAGE].concat()
}

/// Of a picture that stands alone: with the colours themselves, since many a viewer knows no variables, and shows black
/// for them. One that knows no media queries shows the light ones.
pub fn of_picture() -> String {
    let (light, dark) = COLOURS.split_once("@media").unwrap_or((COLOURS, ""));
    format!("{}@media (prefers-color-scheme: dark) {{{}}}\n", coloured(light), coloured(dark))
}

/// The charts' style with the colours that these definitions give its variables.
fn coloured(definitions: &str) -> String {
    let mut style = CHART.to_string();
    for definition in definitions.split([';', '{', '}']) {
        if let Some((name, colour)) = definition.trim().split_once(": ").filter(|(name, _)| name.starts_with("--")) {
            style = style.replace(&format!("var({name})"), colour);
        }
    }
    style
}

/// The classes of an engine, which give it the same colour in every chart. A second way to use one (`lmdb, one
/// snapshot`) has its colour, with dashes and hollow dots.
pub fn class_of(engine: &str) -> String {
    const ENGINES: [&str; 8] = ["cairndb", "sqlite", "lmdb", "redb", "fjall", "rocksdb", "turso", "duckdb"];
    let (name, variant) = engine.split_once(", ").map_or((engine, ""), |(name, _)| (name, " variant"));
    match ENGINES.iter().position(|known| *known == name) {
        Some(at) => format!("e{at}{variant}"),
        None => "floor".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_its_colours_without_variables() {
        let style = of_picture();
        assert!(!style.contains("var("), "{style}");
        let (light, dark) = style.split_once("@media").unwrap();
        assert!(
            light.contains(".surface { fill: #fff; }") && light.contains("rect.better { fill: #0969da; }"),
            "{light}"
        );
        assert!(
            dark.contains(".surface { fill: #0d1117; }") && dark.contains("rect.better { fill: #58a6ff; }"),
            "{dark}"
        );
        assert_eq!(style.matches('{').count(), style.matches('}').count());
    }

    #[test]
    fn every_engine_has_a_colour_and_no_floor_has_an_engines() {
        let kinds = crate::engine::Kind::ALL.iter().map(|kind| kind.name());
        let kinds = kinds.chain(crate::engine::SqlKind::ALL.iter().map(|kind| kind.name()));
        assert!(kinds.clone().all(|name| class_of(name).starts_with('e')));
        assert_eq!((class_of("lmdb, one snapshot"), class_of("lmdb")), ("e2 variant".to_string(), "e2".to_string()));
        for floor in ["floor", "quiet floor", "floor 100 bytes", "floor beside sqlite"] {
            assert_eq!(class_of(floor), "floor");
        }
    }
}
