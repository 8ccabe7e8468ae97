//! From what was measured to settings.

use super::method::Method;
use super::probe::Took;

/// Above this, a wait for company can be shorter than what sharing the write saves.
const SLOW_SYNC_US: f64 = 1000.0;
/// A method must be quicker by this share to be worth a setting of its own.
const WORTH: f64 = 0.9;

/// What was measured that matters for the advice: 4 KiB into space written before.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'m> {
    /// One thread, by method; only methods that work here.
    pub methods: &'m [(Method, Took)],
    /// The quickest method's, for one thread and for the most threads, in writes a second.
    pub rates: Option<(f64, usize, f64)>,
    /// The same method's write of 64 KiB, in microseconds.
    pub large_us: Option<f64>,
    pub in_memory: bool,
}

/// Sentences.
pub fn advise(measured: &Measured<'_>) -> Vec<String> {
    if measured.in_memory {
        return vec!["This file system lives in memory: nothing on it is durable, and `Auto` just writes.".to_string()];
    }
    let Some((method, took)) = quickest(measured.methods) else {
        return vec!["No method that CairnDB has works here.".to_string()];
    };
    let mut advice = vec![sync_method(measured.methods, method, took), group(took)];
    advice.extend(measured.rates.map(|rates| sharing(rates, took, measured.large_us)));
    advice
}

/// Of those that CairnDB can use; of two alike, the earlier.
fn quickest(methods: &[(Method, Took)]) -> Option<(Method, Took)> {
    let usable = methods.iter().filter(|(method, _)| method.setting().is_some());
    usable.copied().reduce(|best, next| if next.1.p50_us < WORTH * best.1.p50_us { next } else { best })
}

fn sync_method(methods: &[(Method, Took)], best: Method, took: Took) -> String {
    let setting = best.setting().unwrap_or_default();
    let others = methods.iter().filter(|(method, _)| *method != best && method.setting().is_some());
    let others: Vec<String> =
        others.map(|(method, took)| format!("{} {:.0}", method.setting().unwrap_or_default(), took.p50_us)).collect();
    let beside = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    format!(
        "sync_method = {setting} ({:.0} us for 4 KiB{beside}). `Auto`, the default, probes for itself.",
        took.p50_us
    )
}

fn group(took: Took) -> String {
    if took.p50_us < SLOW_SYNC_US {
        return format!(
            "durability = full. A write takes {:.0} us: a wait for company (`group`) would cost a lone commit more than it \
             saves, and commits that come together share a write anyway.",
            took.p50_us
        );
    }
    let interval_ms = (took.p50_us / 4000.0).clamp(0.5, 5.0);
    format!(
        "durability = group with group_interval = {interval_ms:.1} ms if several threads commit: a write takes {:.1} ms, \
         which more commits can share. A lone writer is better off with full.",
        took.p50_us / 1000.0
    )
}

fn sharing((one, threads, many): (f64, usize, f64), took: Took, large_us: Option<f64>) -> String {
    let large = large_us.map_or_else(String::new, |us| {
        format!(" A write of 64 KiB, some 500 small commits, takes {:.1} x one of 4 KiB.", us / took.p50_us)
    });
    format!(
        "{threads} threads that each sync on their own get {:.1} x the writes of one ({many:.0} a second); commits that share \
         a write are not bound by that.{large}",
        many / one
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(p50_us: f64) -> Took {
        Took { p50_us, p99_us: 2.0 * p50_us, per_second: 1e6 / p50_us }
    }

    fn advice(methods: &[(Method, Took)]) -> String {
        advise(&Measured { methods, rates: None, large_us: None, in_memory: false }).join("\n")
    }

    #[test]
    fn the_quickest_method_that_cairndb_has_is_recommended() {
        let methods = [(Method::DirectDsync, took(90.0)), (Method::Fdatasync, took(50.0)), (Method::OSync, took(1.0))];
        assert!(advice(&methods).starts_with("sync_method = WriteSync (50 us for 4 KiB; DirectDsync 90)"));
    }

    #[test]
    fn a_hair_is_no_reason_to_leave_the_default() {
        let methods = [(Method::DirectDsync, took(50.0)), (Method::Dsync, took(49.0))];
        assert!(advice(&methods).starts_with("sync_method = DirectDsync"));
    }

    #[test]
    fn only_slow_media_gain_by_waiting_for_company() {
        assert!(advice(&[(Method::Fdatasync, took(60.0))]).contains("durability = full"));
        assert!(advice(&[(Method::Fdatasync, took(8000.0))]).contains("group_interval = 2.0 ms"));
        assert!(advice(&[]).contains("No method"));
    }
}
