//! The planner's switches, which are settings by PostgreSQL's names where it has them.

use super::OptimizerOptions;
use crate::settings::listed;

impl OptimizerOptions {
    /// The switch of a name.
    pub(crate) fn switch(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "enable_rewrites" => &mut self.rewrites,
            "enable_decorrelation" => &mut self.decorrelate,
            "enable_join_reorder" => &mut self.reorder_joins,
            "enable_indexscan" => &mut self.indexes,
            "enable_hashjoin" => &mut self.hash_joins,
            "enable_mergejoin" => &mut self.merge_joins,
            "enable_indexjoin" => &mut self.index_joins,
            "enable_ordering" => &mut self.ordering,
            "enable_point_statements" => &mut self.point_statements,
            "enable_live_changes" => &mut self.live_changes,
            "enable_live_runs" => &mut self.live_runs,
            _ => return None,
        })
    }

    /// Those that are not as they are by default, with what they are.
    pub(crate) fn changed_switches(&self) -> Vec<(&'static str, &'static str)> {
        let is = |options: &OptimizerOptions, name| options.clone().switch(name).map(|on| *on);
        let defaults = OptimizerOptions::default();
        let changed = listed().iter().map(|of| of.name).filter(|name| is(self, name) != is(&defaults, name));
        changed.map(|name| (name, if is(self, name) == Some(true) { "on" } else { "off" })).collect()
    }
}
