//! Who may come in with a password.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use cairn_server::{User, Verifier};

use crate::report::{Failure, say};

/// Refuses a file with secrets that others may read.
pub fn check_private(path: &Path) -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = path.metadata().map_err(|error| Failure::file(path, &error))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            let message = "others may read it, or write to it; take that from them (chmod 600)";
            return Err(Failure::Message(format!("{}: {message}", path.display())));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Of lines `NAME:PASSWORD` or `NAME:SCRAM-SHA-256$...`.
pub fn read_users(path: &Path) -> Result<HashMap<String, User>, Failure> {
    check_private(path)?;
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let user = |(at, line): (usize, &str)| {
        let split = line.split_once(':').filter(|(name, secret)| !name.is_empty() && !secret.is_empty());
        // What the line says is not shown: it may be a password.
        let (name, secret) = split
            .ok_or_else(|| Failure::Message(format!("{}, line {}: expected NAME:PASSWORD", path.display(), at + 1)))?;
        let verifier = match Verifier::parse(secret) {
            Ok(verifier) => verifier,
            Err(_) => Verifier::with_new_salt(secret)?,
        };
        Ok((name.to_owned(), verifier.into()))
    };
    lines.map(user).collect()
}

/// Says the verifier of a password, a line of standard input.
pub fn make_verifier() -> Result<(), Failure> {
    let mut line = String::new();
    let unreadable = |error| Failure::Message(format!("cannot read the password from standard input: {error}"));
    std::io::stdin().lock().read_line(&mut line).map_err(unreadable)?;
    let password = line.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(Failure::Message("expected a password, a line of standard input".to_owned()));
    }
    say(Verifier::with_new_salt(password)?)
}
