//! What of a server's options can change while it runs.

use crate::options::Options;

/// The names of options, as the configuration has them.
type Names = Vec<&'static str>;

/// The new options, but for what can not change; what has changed, and what would after a restart.
pub(crate) fn reloaded(old: &Options, new: Options) -> (Options, Names, Names) {
    let changed = named(&[
        ("users", old.users != new.users),
        ("access", old.access != new.access),
        ("trust", old.trusts_all != new.trusts_all),
        ("tls", old.tls.is_some() != new.tls.is_some()),
        ("insecure", old.is_insecure != new.is_insecure),
        ("max_connections", old.connections_max != new.connections_max),
        ("max_connections_by_user", old.connections_max_by_user != new.connections_max_by_user),
        ("max_connections_by_database", old.connections_max_by_database != new.connections_max_by_database),
        ("limits", (old.limits, &old.ceilings) != (new.limits, &new.ceilings)),
        ("limits.login_timeout", old.login_timeout != new.login_timeout),
        ("limits.output_timeout", old.output_timeout != new.output_timeout),
        ("log.slow_statement", old.slow_statement != new.slow_statement),
        ("idle_close", old.idle_close != new.idle_close),
    ]);
    let needs_restart = named(&[
        ("listen", old.addresses != new.addresses),
        ("socket", old.socket != new.socket),
        ("statements.max", old.statements_max != new.statements_max),
    ]);
    let options = Options {
        addresses: old.addresses.clone(),
        socket: old.socket.clone(),
        owner: old.owner,
        statements_max: old.statements_max,
        ..new
    };
    (options, changed, needs_restart)
}

fn named(all: &[(&'static str, bool)]) -> Names {
    all.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_change_stays_and_is_told() {
        let old = Options { addresses: vec!["127.0.0.1:1".parse().unwrap()], ..Options::default() };
        let (options, changed, needs_restart) = reloaded(&old, old.clone());
        assert_eq!((changed.len(), needs_restart.len()), (0, 0));
        let new = Options { addresses: Vec::new(), connections_max: 7, trusts_all: true, ..options };
        let (options, changed, needs_restart) = reloaded(&old, new);
        assert_eq!((changed, needs_restart), (vec!["trust", "max_connections"], vec!["listen"]));
        assert_eq!((options.connections_max, options.addresses.len()), (7, 1));
    }
}
