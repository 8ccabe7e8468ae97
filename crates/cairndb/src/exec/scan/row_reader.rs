//! From the bytes of stored rows to vectors: only the columns asked for, without a [`Value`](crate::Value) in between
//! where the type has a representation of its own.

use std::ops::Range;

use cairn_storage::LeafEntries;

use super::sieve::{Chunk, Sieve, bytes_at};
use crate::catalog::{ColumnPlace, Table, TableLayout};
use crate::exec::expr::IntegerLimits;
use crate::exec::vector::{Data, Vector};
use crate::types::row::{RowLayout, decode_raw};
use crate::types::{DataType, key};
use crate::{Error, Result, SqlState, Value};

/// Bit of a row's header byte that says that the row has NULLs.
const HAS_NULLS: u8 = 0x80;

/// Reads chosen columns of a table's rows.
pub(crate) struct RowReader {
    layout: TableLayout,
    types: Vec<DataType>,
    /// Positions in the key that are wanted, as (output column, by key column); ends at the last wanted one.
    key_columns: Vec<(DataType, Option<usize>)>,
    /// (output column, row column, offset in rows without NULLs)
    fixed: Vec<(usize, usize, usize)>,
    /// By variable column of the row, up to the last wanted one: (output column, row column).
    variable: Vec<(Option<usize>, usize)>,
    /// Output columns that are the hidden row number.
    row_numbers: Vec<usize>,
    /// The header of a row that was found sound and without NULLs: others like it need no second look.
    plain_header: Option<u8>,
    /// What the filter above asks of fixed-width columns.
    sieves: Vec<Sieve>,
    scratch: Scratch,
}

/// Buffers of [`RowReader::read_entries`], kept from one leaf to the next.
#[derive(Default)]
struct Scratch {
    key: Vec<u8>,
    /// By row, then by variable column up to the last wanted one: where its bytes lie in the row.
    ranges: Vec<Range<usize>>,
}

fn corrupted() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "a stored row is damaged")
}

impl RowReader {
    /// A reader of the given columns of `table`; `usize::MAX` is the hidden row number.
    pub(crate) fn new(table: &Table, columns: &[usize]) -> RowReader {
        let layout = TableLayout::new(table);
        let mut reader = RowReader {
            types: columns.iter().map(|&column| column_type(table, column)).collect(),
            key_columns: vec![],
            fixed: vec![],
            variable: vec![],
            row_numbers: vec![],
            plain_header: None,
            sieves: vec![],
            scratch: Scratch::default(),
            layout,
        };
        for (output, &column) in columns.iter().enumerate() {
            reader.add(output, column);
        }
        reader
    }

    fn add(&mut self, output: usize, column: usize) {
        if column == usize::MAX {
            return self.row_numbers.push(output);
        }
        match self.layout.place(column) {
            ColumnPlace::Key(position) => {
                let missing = self.key_columns.len()..=position;
                self.key_columns.extend(missing.map(|position| (self.layout.key_types()[position], None)));
                self.key_columns[position].1 = Some(output);
            }
            ColumnPlace::Row(position) => match self.layout.row().fixed_offset(position) {
                Some(offset) => self.fixed.push((output, position, offset)),
                None => self.add_variable(output, position),
            },
        }
    }

    fn add_variable(&mut self, output: usize, position: usize) {
        let row = self.layout.row();
        let variable: Vec<usize> =
            (0..row.types().len()).filter(|&column| row.fixed_offset(column).is_none()).collect();
        let Some(nth) = variable.iter().position(|&column| column == position) else { return };
        let missing = self.variable.len()..=nth;
        self.variable.extend(missing.map(|nth| (None, variable[nth])));
        self.variable[nth].0 = Some(output);
    }

    /// Empty vectors for the columns.
    pub(crate) fn vectors(&self, capacity: usize) -> Vec<Vector> {
        self.types.iter().map(|&data_type| Vector::with_capacity(data_type, capacity)).collect()
    }

    /// Appends one row to the vectors.
    #[inline]
    pub(crate) fn read(&mut self, key: &[u8], row: &[u8], out: &mut [Vector]) -> Result<()> {
        if !self.key_columns.is_empty() {
            read_key(&self.key_columns, key, out)?;
        }
        for &output in &self.row_numbers {
            read_row_number(key, &mut out[output])?;
        }
        let header = *row.first().ok_or_else(corrupted)?;
        if self.plain_header == Some(header) {
            for &(output, _, offset) in &self.fixed {
                push_fixed(row.get(offset..).ok_or_else(corrupted)?, &mut out[output])?;
            }
        } else {
            self.read_fixed_slowly(row, out)?;
            self.plain_header = self.plain_header.or((header & HAS_NULLS == 0).then_some(header));
        }
        if self.variable.is_empty() { Ok(()) } else { self.read_variable(row, header, out) }
    }

    /// Rows outside these limits need not be given.
    pub(crate) fn limit(&mut self, limits: &[IntegerLimits]) {
        let sieve = |limits: &IntegerLimits| {
            let &(output, _, offset) = self.fixed.iter().find(|(output, ..)| *output == limits.column)?;
            Some(Sieve::new(*limits, self.types[output], offset))
        };
        self.sieves = limits.iter().filter_map(sieve).collect();
    }

    /// Appends the rows of lent entries to the vectors, up to the first one that lies outside its leaf; how many it
    /// went through. Some of those outside the limits are left out.
    pub(crate) fn read_entries(&mut self, entries: &LeafEntries<'_>, out: &mut [Vector]) -> Result<usize> {
        if self.types.is_empty() {
            return Ok(entries.len());
        }
        entries.warm();
        let mut taken = 0;
        while taken < entries.len() {
            let (mut chunk, before, mut plain) = (Chunk::new(), taken, true);
            while taken < entries.len() && !chunk.is_full() {
                let Some(row) = entries.value(taken) else { break };
                plain &= self.is_plain(row);
                chunk.push(taken, row);
                taken += 1;
            }
            match plain {
                true => self.read_plain(entries, &mut chunk, out)?,
                false => self.read_others(entries, &chunk, out)?,
            }
            if taken == before {
                break;
            }
        }
        Ok(taken)
    }

    /// Whether the row is without NULLs, of a version known to be sound, and not shorter than its fixed part.
    #[inline]
    fn is_plain(&self, row: &[u8]) -> bool {
        row.first().is_some_and(|&header| self.plain_header == Some(header))
            && row.len() >= self.layout.row().plain_min()
    }

    fn read_others(&mut self, entries: &LeafEntries<'_>, chunk: &Chunk<'_>, out: &mut [Vector]) -> Result<()> {
        let mut key = std::mem::take(&mut self.scratch.key);
        for (&place, row) in chunk.places().iter().zip(chunk.rows()) {
            entries.key_into(place, &mut key);
            self.read(&key, row, out)?;
        }
        self.scratch.key = key;
        Ok(())
    }

    /// Rows that all are [`is_plain`](RowReader::is_plain).
    fn read_plain(&mut self, entries: &LeafEntries<'_>, chunk: &mut Chunk<'_>, out: &mut [Vector]) -> Result<()> {
        self.sieves.iter().for_each(|sieve| sieve.apply(chunk));
        if !(self.key_columns.is_empty() && self.row_numbers.is_empty()) {
            self.read_keys(entries, chunk.places(), out)?;
        }
        for &(output, _, offset) in &self.fixed {
            push_fixed_column(chunk.rows(), offset, &mut out[output])?;
        }
        if !self.variable.is_empty() {
            self.read_variable_columns(chunk.rows(), out)?;
        }
        Ok(())
    }

    fn read_keys(&mut self, entries: &LeafEntries<'_>, places: &[usize], out: &mut [Vector]) -> Result<()> {
        let key = &mut self.scratch.key;
        for &place in places {
            entries.key_into(place, key);
            read_key(&self.key_columns, key, out)?;
            for &output in &self.row_numbers {
                read_row_number(key, &mut out[output])?;
            }
        }
        Ok(())
    }

    fn read_variable_columns(&mut self, rows: &[&[u8]], out: &mut [Vector]) -> Result<()> {
        let (layout, width) = (self.layout.row(), self.variable.len());
        let ranges = &mut self.scratch.ranges;
        ranges.clear();
        for row in rows {
            layout.plain_variable_ranges(row, width, ranges)?;
        }
        for (nth, &(output, _)) in self.variable.iter().enumerate() {
            let Some(output) = output else { continue };
            let ranges = ranges.iter().skip(nth).step_by(width);
            let values = rows.iter().zip(ranges).map(|(row, range)| row.get(range.clone()).unwrap_or_default());
            push_variable_column(values, &mut out[output])?;
        }
        Ok(())
    }

    fn read_fixed_slowly(&self, row: &[u8], out: &mut [Vector]) -> Result<()> {
        for &(output, column, _) in &self.fixed {
            match self.layout.row().raw_column(row, column)? {
                Some(raw) => push_fixed(raw, &mut out[output])?,
                None => out[output].push_null(),
            }
        }
        Ok(())
    }

    fn read_variable(&self, row: &[u8], header: u8, out: &mut [Vector]) -> Result<()> {
        let layout: &RowLayout = self.layout.row();
        let mut ranges = layout.variable_ranges(row)?;
        for &(output, column) in &self.variable {
            let range = ranges.next().ok_or_else(corrupted)??;
            let Some(output) = output else { continue };
            if header & HAS_NULLS != 0 && layout.is_null(row, column)? {
                out[output].push_null();
            } else {
                push_variable(row.get(range).ok_or_else(corrupted)?, &mut out[output])?;
            }
        }
        Ok(())
    }
}

/// The type of a column, the hidden row number included.
pub(crate) fn column_type(table: &Table, column: usize) -> DataType {
    table.columns.get(column).map_or(DataType::BigInt, |column| column.data_type)
}

fn read_key(columns: &[(DataType, Option<usize>)], mut key: &[u8], out: &mut [Vector]) -> Result<()> {
    for &(data_type, output) in columns {
        match output {
            Some(output) if data_type == DataType::BigInt => match out[output].data_mut() {
                Data::I64(values) => {
                    values.push(key::decode_integer(&mut key)?);
                    out[output].push_valid();
                }
                _ => return Err(corrupted()),
            },
            Some(output) => out[output].push(&key::decode_value(&mut key, data_type, false, false)?)?,
            None => key::skip_value(&mut key, data_type, false, false)?,
        }
    }
    Ok(())
}

fn read_row_number(key: &[u8], out: &mut Vector) -> Result<()> {
    let bytes = key.try_into().map_err(|_| corrupted())?;
    out.push(&Value::BigInt(i64::try_from(u64::from_be_bytes(bytes)).map_err(|_| corrupted())?))
}

/// Appends the fixed-width value that `raw` begins with.
#[inline]
fn push_fixed(raw: &[u8], out: &mut Vector) -> Result<()> {
    let data_type = out.data_type();
    match out.data_mut() {
        Data::Bool(values) => values.push(raw.first().ok_or_else(corrupted)? != &0),
        Data::I16(values) => values.push(i16::from_le_bytes(*raw.first_chunk().ok_or_else(corrupted)?)),
        Data::I32(values) => values.push(i32::from_le_bytes(*raw.first_chunk().ok_or_else(corrupted)?)),
        Data::I64(values) => values.push(i64::from_le_bytes(*raw.first_chunk().ok_or_else(corrupted)?)),
        Data::F32(values) => values.push(f32::from_le_bytes(*raw.first_chunk().ok_or_else(corrupted)?)),
        Data::F64(values) => values.push(f64::from_le_bytes(*raw.first_chunk().ok_or_else(corrupted)?)),
        Data::Values(values) => {
            let width = data_type.width().ok_or_else(corrupted)?;
            values.push(decode_raw(raw.get(..width).ok_or_else(corrupted)?, data_type)?);
        }
        Data::Bytes(_) => return Err(corrupted()),
    }
    out.push_valid();
    Ok(())
}

/// Appends the fixed-width values that lie at `offset` of plain rows.
fn push_fixed_column(rows: &[&[u8]], offset: usize, out: &mut Vector) -> Result<()> {
    match out.data_mut() {
        Data::Bool(values) => values.extend(rows.iter().map(|row| bytes_at::<1>(row, offset) != [0])),
        Data::I16(values) => values.extend(rows.iter().map(|row| i16::from_le_bytes(bytes_at(row, offset)))),
        Data::I32(values) => values.extend(rows.iter().map(|row| i32::from_le_bytes(bytes_at(row, offset)))),
        Data::I64(values) => values.extend(rows.iter().map(|row| i64::from_le_bytes(bytes_at(row, offset)))),
        Data::F32(values) => values.extend(rows.iter().map(|row| f32::from_le_bytes(bytes_at(row, offset)))),
        Data::F64(values) => values.extend(rows.iter().map(|row| f64::from_le_bytes(bytes_at(row, offset)))),
        Data::Values(_) | Data::Bytes(_) => {
            return rows.iter().try_for_each(|row| push_fixed(row.get(offset..).ok_or_else(corrupted)?, out));
        }
    }
    out.push_valid_many(rows.len());
    Ok(())
}

fn push_variable_column<'r>(raw: impl Iterator<Item = &'r [u8]>, out: &mut Vector) -> Result<()> {
    let (data_type, before) = (out.data_type(), out.len());
    match out.data_mut() {
        Data::Bytes(strings) => raw.for_each(|raw| strings.push(raw)),
        Data::Values(values) => {
            for raw in raw {
                values.push(decode_raw(raw, data_type)?);
            }
        }
        _ => return Err(corrupted()),
    }
    out.push_valid_many(out.len() - before);
    Ok(())
}

fn push_variable(raw: &[u8], out: &mut Vector) -> Result<()> {
    let data_type = out.data_type();
    match out.data_mut() {
        Data::Bytes(strings) => strings.push(raw),
        Data::Values(values) => values.push(decode_raw(raw, data_type)?),
        _ => return Err(corrupted()),
    }
    out.push_valid();
    Ok(())
}
