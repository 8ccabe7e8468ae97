//! From what was asked for to a table.

use std::process::ExitCode;

use super::counted::Counted;
use super::operations::names;
use crate::Result;
use crate::args::CountArgs;
use crate::setup::Medium;
use crate::table::align;
use crate::terminal::say;

/// Counts, and compares with another build if there is one; fails where an operation takes more than the limit allows.
pub fn run(args: &CountArgs) -> Result<ExitCode> {
    if args.plain {
        return names(&args.operations)
            .try_for_each(|one| one.perform(&args.dir, args.times))
            .map(|()| ExitCode::SUCCESS);
    }
    let medium = Medium::new("count", &args.dir)?;
    let program = std::env::current_exe()?;
    let here = Counted { program: &program, medium: &medium };
    let there = args.against.as_deref().map(|program| Counted { program, medium: &medium });
    let mut lines = vec![HEAD[..if there.is_some() { 5 } else { 2 }].iter().map(ToString::to_string).collect()];
    let mut worse = false;
    for operation in names(&args.operations) {
        say(operation.name);
        let here = here.instructions(operation)?;
        let there = there.as_ref().map(|there| there.instructions(operation)).transpose()?;
        let more = there.map(|there| (here / there - 1.0) * 100.0);
        worse |= more.is_some_and(|more| more > args.limit);
        lines.push(line(operation.name, here, there.zip(more), args.limit));
    }
    print!("\n{}", align(&lines, &[0, 4]));
    Ok(if worse { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn line(name: &str, here: f64, there: Option<(f64, f64)>, limit: f64) -> Vec<String> {
    let mut line = vec![name.to_string(), format!("{here:.0}")];
    if let Some((there, more)) = there {
        let word = if more > limit { "MORE" } else { "" };
        line.extend([format!("{there:.0}"), format!("{more:+.1} %"), word.to_string()]);
    }
    line
}

const HEAD: [&str; 5] = ["operation", "instructions", "against", "more", ""];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_limit_is_said() {
        let words = |here, there: f64| line("o", here, Some((there, (here / there - 1.0) * 100.0)), 3.0).join(" ");
        assert_eq!(words(1040.0, 1000.0), "o 1040 1000 +4.0 % MORE");
        assert_eq!(words(1020.0, 1000.0), "o 1020 1000 +2.0 % ");
    }
}
