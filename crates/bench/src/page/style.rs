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
path { fill: none; stroke-width: 1.75; stroke-linejoin: round; } path.variant { stroke-dasharray: 5 3; }
circle { stroke: var(--surface); stroke-width: 1; }
path.e0 { stroke: var(--e0); stroke-width: 2.5; } path.e1 { stroke: var(--e1); } path.e2 { stroke: var(--e2); }
path.e3 { stroke: var(--e3); } path.e4 { stroke: var(--e4); } path.e5 { stroke: var(--e5); } path.e6 { stroke: var(--e6); }
path.e7 { stroke: var(--e7); } path.floor { stroke: var(--floor); stroke-dasharray: 2 3; }
circle.e0 { fill: var(--e0); } circle.e1 { fill: var(--e1); } circle.e2 { fill: var(--e2); } circle.e3 { fill: var(--e3); }
circle.e4 { fill: var(--e4); } circle.e5 { fill: var(--e5); } circle.e6 { fill: var(--e6); } circle.e7 { fill: var(--e7); }
circle.floor { fill: var(--floor); }
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
.key { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 5px; vertical-align: -1px; }
.key.e0 { background: var(--e0); } .key.e1 { background: var(--e1); } .key.e2 { background: var(--e2); }
.key.e3 { background: var(--e3); } .key.e4 { background: var(--e4); } .key.e5 { background: var(--e5); }
.key.e6 { background: var(--e6); } .key.e7 { background: var(--e7); } .key.floor { background: var(--floor); }
.key.better { background: var(--better); } .key.worse { background: var(--worse); } .key.even { background: var(--even); }
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

/// Of a picture that stands alone.
pub fn of_picture() -> String {
    [COLOURS, CHART].concat()
}

/// The class that colours an engine: the same colour in every chart.
pub fn class_of(engine: &str) -> &'static str {
    const ENGINES: [(&str, &str); 8] = [
        ("cairndb", "e0"),
        ("sqlite", "e1"),
        ("lmdb", "e2"),
        ("redb", "e3"),
        ("fjall", "e4"),
        ("rocksdb", "e5"),
        ("turso", "e6"),
        ("duckdb", "e7"),
    ];
    let known = ENGINES.iter().find(|(name, _)| engine.starts_with(name));
    known.map_or("floor", |(_, class)| class)
}
