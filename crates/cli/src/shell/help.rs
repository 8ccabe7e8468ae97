//! What `\?` and `\h` say.

use cairndb::reference::STATEMENTS;

/// What `help` says.
pub const FIRST: &str = "\
Statements of SQL end with a semicolon: select 1;
  \\?   the shell's commands (most of SQLite's that begin with a dot work, too)
  \\h   syntax of SQL statements
  \\d   tables, views and sequences
  \\q   leave, as do exit, quit and Ctrl-D";

/// The backslash commands. A screen of 80 columns has them whole.
pub const COMMANDS: &str = "\
General
  \\q                     leave the shell (so do exit, quit, Ctrl-D)
  \\?                     this list
  \\h [STATEMENT]         syntax of SQL statements
  \\c FILE                close this database and open another, or :memory: (.open FILE makes one)
  \\conninfo              which database is open
  \\errverbose            all that is known of the last error
  \\timing [on|off]       show how long each statement took
  \\echo TEXT             write a line
  \\! [COMMAND]           run a command of the operating system's shell

The statement that is begun, or the last one again
  \\g [FILE or |COMMAND]  run it; results go there
  \\gx                    run it, one line per column
  \\gdesc                 the columns that it gives, without running it
  \\gset [PREFIX]         its only row becomes variables
  \\watch [SECONDS] [c=N] run it again and again, until Ctrl-C
  \\e [FILE]              edit it (VISUAL, EDITOR), and run it if it ends with ;
  \\p  \\r                 show it; drop it
  \\w FILE or |COMMAND    write it there

Variables
  \\set [NAME [VALUE]]    list them, or set one. In statements :name is its value,
                         :'name' a string, :\"name\" a name
  \\unset NAME
  \\prompt [TEXT] NAME    ask for its value
  \\if VALUE              run what follows if the value is true, up to \\elif VALUE,
                         \\else or \\endif; :{?NAME} is whether NAME is set

Looking around
  \\d [PATTERN]           all relations, or what those of the pattern are made of
  \\dt \\di \\dv \\dm \\ds     tables, indexes, views, materialized views, sequences
  \\df \\dT \\dD \\dn         functions, types, domains, schemas
  \\d+ \\dt+ \\dT+ ...      the same with comments, options, labels of enums
                         Each takes a pattern: * and ? stand for more, s.* for
                         all of a schema, \"Name\" is a name with capital letters.
  \\sf NAME  \\sv NAME     the text of a function, of a view
  \\l                     the database that is open

Files
  \\i FILE                run the statements and commands of a file
  \\o [FILE or |COMMAND]  write results there, or to the terminal again
  \\copy TABLE [(COLUMNS)] FROM FILE|PROGRAM 'COMMAND'|STDIN|PSTDIN [OPTIONS]
                         read into a table, with COPY's options: csv header
                         delimiter ';' encoding 'WIN1252' ... (\\h COPY)
                         Behind STDIN the data follows, \\. ends it.
  \\copy TABLE|(QUERY) TO FILE|PROGRAM 'COMMAND'|STDOUT|PSTDOUT [OPTIONS]

Looks
  \\format [table|unaligned|csv|json|markdown]
  \\a  \\t [on|off]        unaligned and back; rows without names and counts
  \\x [on|off|auto]       one line per column; auto: where the screen is too small
  \\pset null TEXT        what is shown for NULL
  \\pset tuples_only on   rows without names and counts
  \\pset pager off        what the screen is too small for goes through no pager

Statements end with a semicolon. Ctrl-C stops the running statement or drops
the one that is begun, Ctrl-D leaves. Commands of SQLite's shell are understood:
.tables .schema .mode .headers .import .read .output .timer .quit ...";

/// The syntax of the statements whose name begins with `wanted`, or that it begins with; all their names without one.
pub fn statements(wanted: &str) -> String {
    let wanted = wanted.trim_end_matches(';').trim().to_ascii_uppercase();
    if wanted.is_empty() {
        let names: Vec<&str> = STATEMENTS.iter().map(|statement| statement.name).collect();
        return columns(&names);
    }
    let is_it = |name: &str| name.starts_with(&wanted) || wanted.starts_with(name);
    let found = STATEMENTS.iter().filter(|statement| is_it(statement.name)).map(|statement| statement.syntax);
    let found: Vec<&str> = found.collect();
    match found.is_empty() {
        true => format!("No help for \"{wanted}\"; \\h lists what there is."),
        false => found.join("\n\n"),
    }
}

/// Names in as many columns as a screen of 80 has room for.
fn columns(names: &[&str]) -> String {
    let width = names.iter().map(|name| name.len()).max().unwrap_or(1) + 2;
    let lines = names.len().div_ceil((78 / width).max(1)).max(1);
    let line = |at: usize| {
        let cells: String = names.iter().skip(at).step_by(lines).map(|name| format!("{name:<width$}")).collect();
        format!("  {}", cells.trim_end())
    };
    let lines: Vec<String> = (0..lines).map(line).collect();
    format!("\\h NAME says how it is written:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_found_by_the_beginning_of_a_name() {
        assert!(statements("sel").contains("GROUP BY"));
        assert!(statements("create;").contains("VIEW name"));
        let all = statements("");
        assert!(all.contains("UPDATE") && all.lines().all(|line| line.len() <= 80), "{all}");
        assert!(statements("fly").contains("No help"));
    }
}
