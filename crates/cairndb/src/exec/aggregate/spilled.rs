//! The rows of groups that did not fit into memory, and what became of them.

use std::sync::Arc;

use crate::Result;
use crate::columns::{Batch, Data, Vector};
use crate::exec::context::Cx;
use crate::exec::expr::Evaluator;
use crate::exec::operator::BoxOperator;
use crate::exec::spill::{NumberedOutput, Outputs, RunScan, SetAside, SpilledKeys, add_column};
use crate::types::DataType;

/// See the module. Rows are set aside with their keys, so that no key is evaluated twice, and their numbers.
pub(super) struct SpilledGroups {
    keys: SpilledKeys,
    aside: SetAside,
    /// The aggregate's own input, while a partition takes its place.
    input: Option<BoxOperator>,
    /// In a pass over a partition: the number of each group's first row.
    firsts: Vec<i64>,
    outputs: Option<Outputs>,
    merged: Option<NumberedOutput>,
}

impl SpilledGroups {
    /// For input rows like these, grouped by `keys`.
    pub(super) fn new(like: &Batch, group_by: &[Evaluator]) -> SpilledGroups {
        let keys = SpilledKeys::new(like.columns().len(), group_by);
        let mut types = keys.types(like.columns().iter().map(|column| column.data_type()), group_by);
        types.push(DataType::BigInt);
        let aside = SetAside::new(types.into());
        SpilledGroups { keys, aside, input: None, firsts: vec![], outputs: None, merged: None }
    }

    /// Rows of unknown groups are being set aside.
    pub(super) fn is_filling(&self) -> bool {
        self.aside.is_filling()
    }

    /// Begins to set rows aside; false where splitting them again would not help.
    pub(super) fn begin(&mut self, cx: Cx<'_>) -> Result<bool> {
        self.aside.begin(cx)
    }

    /// Sets rows of a batch aside. Each batch of the input must come by: its rows are numbered here.
    pub(super) fn add(
        &mut self,
        batch: Batch,
        keys: &[Arc<Vector>],
        rows: &[u32],
        hashes: &[u64],
        cx: Cx<'_>,
    ) -> Result<()> {
        let batch = match self.in_partition() {
            true => batch,
            false => Batch::new(self.keys.with_keys(batch.columns(), keys), batch.len()),
        };
        self.aside.add(batch, rows, hashes, cx)
    }

    /// Partitions are being worked off.
    pub(super) fn in_partition(&self) -> bool {
        self.outputs.is_some()
    }

    /// The keys of a partition's rows; `None`: these are the input's, without keys.
    pub(super) fn keys_of(&self, batch: &Batch) -> Option<Vec<Arc<Vector>>> {
        self.in_partition().then(|| self.keys.of(batch))
    }

    /// Notes the first rows of the groups from `known` on.
    pub(super) fn note_firsts(&mut self, batch: &Batch, groups: &[u32], mut known: usize) {
        let Some(Data::I64(numbers)) = batch.columns().last().map(|column| column.data()) else { return };
        if !self.in_partition() {
            return;
        }
        for (&group, &number) in groups.iter().zip(numbers) {
            if group as usize == known {
                known += 1;
                self.firsts.push(number);
            }
        }
    }

    pub(super) fn prepare_output(&mut self, types: impl Iterator<Item = DataType>, cx: Cx<'_>) -> Result<()> {
        let types: Vec<DataType> = types.chain([DataType::BigInt]).collect();
        self.outputs = Some(Outputs::create(types.into(), cx)?);
        Ok(())
    }

    /// The rows of the next pass; `None`: all were worked off.
    pub(super) fn next_pass(&mut self, cx: Cx<'_>) -> Result<Option<BoxOperator>> {
        let Some(run) = self.aside.next_pass(cx)? else { return Ok(None) };
        self.firsts.clear();
        self.outputs.as_mut().into_iter().for_each(Outputs::begin);
        Ok(Some(RunScan::operator(run, cx)))
    }

    /// Keeps the aggregate's own input; later ones are partitions.
    pub(super) fn keep_input(&mut self, input: BoxOperator) {
        self.input.get_or_insert(input);
    }

    pub(super) fn into_input(self) -> Option<BoxOperator> {
        self.input
    }

    /// Takes the answers of a partition's groups from `start` on.
    pub(super) fn put(&mut self, answers: &Batch, start: usize, cx: Cx<'_>) -> Result<()> {
        let firsts = self.firsts[start..start + answers.len()].to_vec();
        let firsts = Arc::new(Vector::from_parts(DataType::BigInt, Data::I64(firsts), None));
        let answers = add_column(answers, firsts);
        self.outputs.as_mut().map_or(Ok(()), |outputs| outputs.push(&answers, cx))
    }

    pub(super) fn finish(&mut self, cx: Cx<'_>) -> Result<()> {
        self.merged = self.outputs.take().map(|outputs| outputs.merge(cx)).transpose()?;
        Ok(())
    }

    pub(super) fn next(&mut self, cx: Cx<'_>) -> Result<Option<Batch>> {
        self.merged.as_mut().map_or(Ok(None), |merged| merged.next(cx))
    }
}
