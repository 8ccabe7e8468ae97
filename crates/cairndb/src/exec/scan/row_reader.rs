//! From the bytes of stored rows to vectors: only the columns asked for, without a [`Value`](crate::Value) in between
//! where the type has a representation of its own.

use std::ops::Range;
use std::sync::Arc;

use cairn_storage::LeafEntries;

use super::sieve::{Chunk, Sieve};
use crate::catalog::{ColumnPlace, Table, TableLayout};
use crate::columns::{Data, Decimals, Vector};
use crate::exec::expr::IntegerLimits;
use crate::functions::json::Field;
use crate::plan::{Expr, StoredPart, stored_part};
use crate::types::key::IntegerStart;
use crate::types::row::{ColumnBytes, Nulls, NullsOfRows, RowLayout, decode_raw, interval_from_raw};
use crate::types::{DataType, key};
use crate::{Error, Result, Value};

/// Reads chosen columns of a table's rows.
pub(crate) struct RowReader {
    layout: TableLayout,
    types: Vec<DataType>,
    /// Positions in the key that are wanted, as (output column, by key column); ends at the last wanted one.
    key_columns: Vec<(DataType, Option<usize>)>,
    /// What is read of rows that have the layout of now.
    now: Stored,
    /// What is read of those of each earlier version.
    past: Box<[Stored]>,
    /// Output columns that are the hidden row number.
    row_numbers: Vec<usize>,
    /// Buffer of [`RowReader::read_entries`], kept from one leaf to the next.
    key: Vec<u8>,
}

/// What is read of the bytes of rows of one layout.
#[derive(Default)]
struct Stored {
    /// (output column, row column, where it lies)
    fixed: Vec<(usize, usize, ColumnBytes)>,
    /// By variable column of the row, up to the last wanted one: (output column, row column).
    variable: Vec<(Option<usize>, usize)>,
    /// Output columns that these rows do not have, and what they are there instead.
    missing: Vec<(usize, Value)>,
    /// Parts of documents: (variable column, row column, output column, part).
    fields: Vec<(usize, usize, usize, Arc<Field>)>,
    /// Columns of which it is asked whether they are NULL: (row column, output column).
    nulls: Vec<(usize, usize)>,
    /// What the filter above asks of fixed-width columns.
    sieves: Vec<Sieve>,
    /// By row, then by variable column up to the last wanted one: where its bytes lie in the row.
    values: Vec<Range<usize>>,
}

fn corrupted() -> Error {
    Error::damaged("a stored row is damaged")
}

impl RowReader {
    /// A reader of the given columns of `table`; [`Table::ROW_NUMBER`] is the hidden row number.
    pub(crate) fn new(table: &Table, columns: &[usize]) -> RowReader {
        let layout = TableLayout::new(table);
        let mut reader = RowReader {
            types: columns.iter().map(|&column| column_type(table, column)).collect(),
            key_columns: vec![],
            now: Stored::default(),
            past: layout.past().iter().map(|_| Stored::default()).collect(),
            row_numbers: vec![],
            key: vec![],
            layout,
        };
        for (output, &column) in columns.iter().enumerate() {
            reader.add(output, column);
        }
        reader
    }

    /// As [`RowReader::new`], and behind the columns the parts of documents that `fields` are.
    pub(crate) fn with_fields(table: &Table, columns: &[usize], fields: &[Expr]) -> Result<RowReader> {
        let mut reader = RowReader::new(table, columns);
        for field in fields {
            let (column, part) = stored_part(field).ok_or_else(|| Error::internal("not a part of a value"))?;
            let output = reader.types.len();
            reader.types.push(part.data_type());
            match part {
                StoredPart::IsNull => reader.add_nulls(output, column)?,
                StoredPart::Field(field) => reader.add_field(output, column, Arc::new(field))?,
            }
        }
        Ok(reader)
    }

    /// The column's place in the row.
    fn position(&self, column: usize) -> Result<usize> {
        match self.layout.place(column) {
            ColumnPlace::Row(position) => Ok(position),
            ColumnPlace::Key(_) => Err(Error::internal("a part of a key's column")),
        }
    }

    fn add_nulls(&mut self, output: usize, column: usize) -> Result<()> {
        let position = self.position(column)?;
        self.now.nulls.push((position, output));
        for (stored, past) in self.past.iter_mut().zip(self.layout.past()) {
            match past.places[position] {
                Some(position) => stored.nulls.push((position, output)),
                None => {
                    let is_null = self.layout.missing_value(position).is_null();
                    stored.missing.push((output, Value::Boolean(is_null)));
                }
            }
        }
        Ok(())
    }

    fn add_field(&mut self, output: usize, column: usize, field: Arc<Field>) -> Result<()> {
        let position = self.position(column)?;
        self.now.add_field(self.layout.row(), (output, position), &field);
        for (stored, past) in self.past.iter_mut().zip(self.layout.past()) {
            match past.places[position] {
                Some(position) => stored.add_field(&past.row, (output, position), &field),
                None => stored.missing.push((output, field.of_value(&self.layout.missing_value(position))?)),
            }
        }
        Ok(())
    }

    fn add(&mut self, output: usize, column: usize) {
        if column == Table::ROW_NUMBER {
            return self.row_numbers.push(output);
        }
        match self.layout.place(column) {
            ColumnPlace::Key(position) => {
                let missing = self.key_columns.len()..=position;
                self.key_columns.extend(missing.map(|position| (self.layout.key_types()[position], None)));
                self.key_columns[position].1 = Some(output);
            }
            ColumnPlace::Row(position) => {
                self.now.add(self.layout.row(), output, position);
                for (stored, past) in self.past.iter_mut().zip(self.layout.past()) {
                    match past.places[position] {
                        Some(position) => stored.add(&past.row, output, position),
                        None => stored.missing.push((output, self.layout.missing_value(position))),
                    }
                }
            }
        }
    }

    /// Lets go of its buffers.
    pub(crate) fn let_go(&mut self) {
        let all = std::iter::once(&mut self.now).chain(&mut self.past);
        all.for_each(|stored| stored.values = Vec::new());
    }

    /// Empty vectors for the columns.
    pub(crate) fn vectors(&self, capacity: usize) -> Vec<Vector> {
        self.types.iter().map(|&data_type| Vector::with_capacity(data_type, capacity)).collect()
    }

    /// Appends rows, with their keys, to the vectors.
    pub(crate) fn read(&mut self, keys: &[&[u8]], rows: &[&[u8]], out: &mut [Vector]) -> Result<()> {
        let mut parts = keys.chunks(Vector::FLAGS).zip(rows.chunks(Vector::FLAGS));
        parts.try_for_each(|(keys, rows)| self.read_some(keys, rows, out))
    }

    /// As `read`, of as many as say at once which of their values are NULL.
    fn read_some(&mut self, keys: &[&[u8]], rows: &[&[u8]], out: &mut [Vector]) -> Result<()> {
        if !(self.key_columns.is_empty() && self.row_numbers.is_empty()) {
            for key in keys {
                read_key(&self.key_columns, key, out)?;
                for &output in &self.row_numbers {
                    read_row_number(key, &mut out[output])?;
                }
            }
        }
        match self.layout.row().nulls_of(rows) {
            Some(NullsOfRows::No(none)) => self.now.read(self.layout.row(), rows, none, out),
            Some(NullsOfRows::Some(some)) => self.now.read(self.layout.row(), rows, some, out),
            None => self.read_past(rows, out),
        }
    }

    /// As [`Stored::read`], of rows some of which are of an earlier version.
    #[cold]
    fn read_past(&mut self, rows: &[&[u8]], out: &mut [Vector]) -> Result<()> {
        for rows in rows.chunk_by(|one, next| RowLayout::version_of(one) == RowLayout::version_of(next)) {
            let (stored, layout, nulls) = match self.layout.row().nulls_of(rows) {
                Some(nulls) => (&mut self.now, self.layout.row(), nulls),
                None => {
                    let (stored, layout) = past(&self.layout, &mut self.past, rows)?;
                    (stored, layout, layout.nulls_of(rows).ok_or_else(corrupted)?)
                }
            };
            match nulls {
                NullsOfRows::No(none) => stored.read(layout, rows, none, out)?,
                NullsOfRows::Some(some) => stored.read(layout, rows, some, out)?,
            }
        }
        Ok(())
    }

    /// Rows outside these limits need not be given.
    pub(crate) fn limit(&mut self, limits: &[IntegerLimits]) {
        self.now.limit(limits);
        self.past.iter_mut().for_each(|stored| stored.limit(limits));
    }

    /// Appends the rows of lent entries to the vectors, up to the first one that lies outside its leaf; how many it
    /// went through. Some of those outside the limits are left out.
    pub(crate) fn read_entries(&mut self, entries: &LeafEntries<'_>, out: &mut [Vector]) -> Result<usize> {
        if self.types.is_empty() {
            return Ok(entries.len());
        }
        entries.warm();
        let mut taken = 0;
        let mut chunk = Chunk::new();
        loop {
            let row = |at: usize| if at < entries.len() { entries.value(at) } else { None };
            let added = chunk.fill(taken, row);
            if added == 0 {
                break;
            }
            taken += added;
            match self.layout.row().nulls_of(chunk.rows()) {
                Some(NullsOfRows::No(none)) => self.read_chunk(entries, &mut chunk, none, out)?,
                Some(NullsOfRows::Some(some)) => self.read_chunk(entries, &mut chunk, some, out)?,
                None => {
                    taken -= added;
                    taken += self.read_mixed(entries, (&mut chunk, taken), row, out)?;
                }
            }
        }
        Ok(taken)
    }

    #[inline]
    fn read_chunk(
        &mut self,
        entries: &LeafEntries<'_>,
        chunk: &mut Chunk<'_>,
        nulls: impl Nulls,
        out: &mut [Vector],
    ) -> Result<()> {
        self.now.sieves.iter().for_each(|sieve| sieve.apply(chunk, nulls));
        self.read_keys(entries, chunk.places(), out)?;
        self.now.read(self.layout.row(), chunk.rows(), nulls, out)
    }

    /// Rows from `first` on that were written under the same version of the layout; how many.
    #[cold]
    fn read_mixed<'r>(
        &mut self,
        entries: &LeafEntries<'_>,
        (chunk, first): (&mut Chunk<'r>, usize),
        row: impl Fn(usize) -> Option<&'r [u8]>,
        out: &mut [Vector],
    ) -> Result<usize> {
        let version = row(first).and_then(RowLayout::version_of);
        let taken = chunk.fill(first, |at| row(at).filter(|row| RowLayout::version_of(row) == version));
        match self.layout.row().nulls_of(chunk.rows()) {
            Some(NullsOfRows::No(none)) => self.read_chunk(entries, chunk, none, out)?,
            Some(NullsOfRows::Some(some)) => self.read_chunk(entries, chunk, some, out)?,
            None => {
                let (stored, layout) = past(&self.layout, &mut self.past, chunk.rows())?;
                match layout.nulls_of(chunk.rows()).ok_or_else(corrupted)? {
                    NullsOfRows::No(none) => stored.sieves.iter().for_each(|sieve| sieve.apply(chunk, none)),
                    NullsOfRows::Some(some) => stored.sieves.iter().for_each(|sieve| sieve.apply(chunk, some)),
                }
                self.read_keys(entries, chunk.places(), out)?;
                if !chunk.rows().is_empty() {
                    self.read_past(chunk.rows(), out)?;
                }
            }
        }
        Ok(taken)
    }

    #[inline]
    fn read_keys(&mut self, entries: &LeafEntries<'_>, places: &[usize], out: &mut [Vector]) -> Result<()> {
        if self.key_columns.is_empty() && self.row_numbers.is_empty() {
            return Ok(());
        }
        let prefix = entries.key_prefix();
        if let [(data_type, Some(output))] = *self.key_columns
            && self.row_numbers.is_empty()
            && key::is_integer(data_type)
            && let Some(start) = IntegerStart::of(prefix)
        {
            let number = |place: usize| start.finish(entries.key_rest(place));
            match out[output].data_mut() {
                Data::I32(values) => push_all(places, values, |&place| number(place)?.try_into().ok())?,
                Data::I64(values) => push_all(places, values, |&place| number(place))?,
                Data::I16(values) => push_all(places, values, |&place| number(place)?.try_into().ok())?,
                _ => return Err(corrupted()),
            }
            out[output].push_valid_many(places.len());
            return Ok(());
        }
        let key = &mut self.key;
        key.clear();
        key.extend_from_slice(prefix);
        for &place in places {
            key.truncate(prefix.len());
            key.extend_from_slice(entries.key_rest(place));
            read_key(&self.key_columns, key, out)?;
            for &output in &self.row_numbers {
                read_row_number(key, &mut out[output])?;
            }
        }
        Ok(())
    }
}

/// What is read of these rows, all of the same earlier version, and their layout.
fn past<'l, 's>(
    layout: &'l TableLayout,
    past: &'s mut [Stored],
    rows: &[&[u8]],
) -> Result<(&'s mut Stored, &'l RowLayout)> {
    let version = rows.first().and_then(|row| RowLayout::version_of(row)).ok_or_else(corrupted)?;
    let at = usize::from(version);
    past.get_mut(at).zip(layout.past().get(at)).map(|(stored, past)| (stored, &past.row)).ok_or_else(corrupted)
}

impl Stored {
    fn add(&mut self, layout: &RowLayout, output: usize, position: usize) {
        match layout.bytes_of(position) {
            ColumnBytes::Variable => {
                if let Some(nth) = self.want(layout, position) {
                    self.variable[nth].0 = Some(output);
                }
            }
            place => self.fixed.push((output, position, place)),
        }
    }

    fn add_field(&mut self, layout: &RowLayout, (output, position): (usize, usize), field: &Arc<Field>) {
        if let Some(nth) = self.want(layout, position) {
            self.fields.push((nth, position, output, field.clone()));
        }
    }

    /// Where among the variable columns this one is: its bytes are looked for from now on.
    fn want(&mut self, layout: &RowLayout, position: usize) -> Option<usize> {
        let variable = layout.variable_columns();
        let nth = variable.iter().position(|&column| column == position)?;
        let missing = self.variable.len()..=nth;
        self.variable.extend(missing.map(|nth| (None, variable[nth])));
        Some(nth)
    }

    fn limit(&mut self, limits: &[IntegerLimits]) {
        let sieve = |limits: &IntegerLimits| match self.fixed.iter().find(|(output, ..)| *output == limits.column)? {
            (_, column, ColumnBytes::Integer(place)) => Some(Sieve::new(*limits, *column, *place)),
            _ => None,
        };
        self.sieves = limits.iter().filter_map(sieve).collect();
    }

    /// What the rows' own bytes say, a column at a time.
    #[inline]
    fn read(&mut self, layout: &RowLayout, rows: &[&[u8]], nulls: impl Nulls, out: &mut [Vector]) -> Result<()> {
        for &(output, column, place) in &self.fixed {
            push_fixed_column(layout, rows, (column, place), nulls, &mut out[output])?;
        }
        if !self.variable.is_empty() {
            self.read_variable_columns(layout, rows, nulls, out)?;
        }
        for &(column, output) in &self.nulls {
            let Data::Bool(values) = out[output].data_mut() else { return Err(corrupted()) };
            values.extend(rows.iter().map(|row| nulls.is_null(row, column)));
            out[output].push_valid_many(rows.len());
        }
        for (output, value) in &self.missing {
            rows.iter().try_for_each(|_| out[*output].push(value))?;
        }
        Ok(())
    }

    fn read_variable_columns(
        &mut self,
        layout: &RowLayout,
        rows: &[&[u8]],
        nulls: impl Nulls,
        out: &mut [Vector],
    ) -> Result<()> {
        let width = self.variable.len();
        if let [(Some(output), column)] = *self.variable
            && layout.variable_columns().len() == 1
            && self.fields.is_empty()
        {
            let value = |at: usize| layout.only_variable(rows[at], nulls);
            return push_variable_column(rows, (column, value), nulls, &mut out[output]);
        }
        let values = &mut self.values;
        values.clear();
        for row in rows {
            layout.append_variable_ranges(row, nulls, width, values)?;
        }
        for (nth, &(output, column)) in self.variable.iter().enumerate() {
            let Some(output) = output else { continue };
            let value = |at: usize| rows[at].get(values[at * width + nth].clone());
            push_variable_column(rows, (column, value), nulls, &mut out[output])?;
        }
        for (nth, column, output, field) in &self.fields {
            let value = |at: usize| rows[at].get(values[at * width + nth].clone());
            push_field(rows, (*column, value), nulls, (field, &mut out[*output]))?;
        }
        Ok(())
    }
}

/// The type of a column, the hidden row number and an index's expressions included.
pub(crate) fn column_type(table: &Table, column: usize) -> DataType {
    table.key_type(column).unwrap_or(DataType::BigInt)
}

fn read_key(columns: &[(DataType, Option<usize>)], mut key: &[u8], out: &mut [Vector]) -> Result<()> {
    for &(data_type, output) in columns {
        match output {
            Some(output) => push_key(&mut key, (data_type, false, false), &mut out[output])?,
            None => key::skip_value(&mut key, data_type, false, false)?,
        }
    }
    Ok(())
}

/// Appends a part of a key, of a type, descending or not and NULLs first or not, and moves `key` past it.
#[inline]
pub(super) fn push_key(
    key: &mut &[u8],
    (data_type, descending, nulls_first): (DataType, bool, bool),
    out: &mut Vector,
) -> Result<()> {
    // Integers are what most keys are.
    if !key::is_integer(data_type) || key::is_null(key) {
        return out.push(&key::decode_value(key, data_type, descending, nulls_first)?);
    }
    let value = key::decode_integer(key, descending)?;
    match out.data_mut() {
        Data::I16(values) => values.push(value.try_into().map_err(|_| corrupted())?),
        Data::I32(values) => values.push(value.try_into().map_err(|_| corrupted())?),
        Data::I64(values) => values.push(value),
        _ => return Err(corrupted()),
    }
    out.push_valid();
    Ok(())
}

fn read_row_number(key: &[u8], out: &mut Vector) -> Result<()> {
    let bytes = key.try_into().map_err(|_| corrupted())?;
    out.push(&Value::BigInt(i64::try_from(u64::from_be_bytes(bytes)).map_err(|_| corrupted())?))
}

/// Appends values of a fixed width. A loop for each type, apart from the integers', which are what most columns are.
#[inline(never)]
fn push_fixed(layout: &RowLayout, rows: &[&[u8]], offset: usize, nulls: impl Nulls, out: &mut Data) -> Result<()> {
    // A NULL has its width, zeroed.
    let start = |row: &[u8]| layout.fixed_start(row, nulls) + offset;
    match out {
        Data::Bool(values) => push_all(rows, values, |row| row.get(start(row)..)?.first().map(|&byte| byte != 0)),
        Data::F32(values) => {
            push_all(rows, values, |row| row.get(start(row)..)?.first_chunk().map(|raw| f32::from_le_bytes(*raw)))
        }
        Data::F64(values) => {
            push_all(rows, values, |row| row.get(start(row)..)?.first_chunk().map(|raw| f64::from_le_bytes(*raw)))
        }
        Data::Uuid(values) => push_all(rows, values, |row| row.get(start(row)..)?.first_chunk().copied()),
        Data::Interval(values) => {
            push_all(rows, values, |row| interval_from_raw(row.get(start(row)..)?.get(..16)?).ok())
        }
        _ => Err(corrupted()),
    }
}

/// Appends a column that has a fixed width or is an integer.
#[inline]
fn push_fixed_column(
    layout: &RowLayout,
    rows: &[&[u8]],
    (column, place): (usize, ColumnBytes),
    nulls: impl Nulls,
    out: &mut Vector,
) -> Result<()> {
    match place {
        // An integer is no wider than its type, so that nothing is cut off here.
        ColumnBytes::Integer(place) => {
            let read = |row: &[u8]| if nulls.is_null(row, column) { Some(0) } else { place.read(row, nulls) };
            match out.data_mut() {
                Data::I16(values) => push_all(rows, values, |row| read(row).map(|number| number as i16))?,
                Data::I32(values) => push_all(rows, values, |row| read(row).map(|number| number as i32))?,
                Data::I64(values) => push_all(rows, values, |row| read(row))?,
                _ => return Err(corrupted()),
            }
        }
        ColumnBytes::Fixed(offset) => push_fixed(layout, rows, offset, nulls, out.data_mut())?,
        ColumnBytes::Variable => return Err(corrupted()),
    }
    push_validity(rows, column, nulls, out);
    Ok(())
}

/// After the values themselves.
#[inline]
fn push_validity<N: Nulls>(rows: &[&[u8]], column: usize, nulls: N, out: &mut Vector) {
    match N::NONE {
        true => out.push_valid_many(rows.len()),
        false => out.push_validity(rows.iter().map(|row| !nulls.is_null(row, column))),
    }
}

/// Appends the value of each item; a damaged one (`None`) is an error.
#[inline]
fn push_all<I, T: Default>(items: &[I], values: &mut Vec<T>, value: impl Fn(&I) -> Option<T>) -> Result<()> {
    let mut damaged = false;
    values.extend(items.iter().map(|item| {
        value(item).unwrap_or_else(|| {
            damaged = true;
            T::default()
        })
    }));
    if damaged { Err(corrupted()) } else { Ok(()) }
}

/// Appends decimals; false where one is damaged.
#[inline(never)]
fn push_decimals<'r>(
    rows: &[&'r [u8]],
    (column, raw): (usize, impl Fn(usize) -> Option<&'r [u8]>),
    nulls: impl Nulls,
    out: &mut Decimals,
) -> bool {
    let mut whole = true;
    for (at, row) in rows.iter().enumerate() {
        if nulls.is_null(row, column) {
            out.push_default();
        } else {
            whole &= raw(at).is_some_and(|bytes| out.push_bytes(bytes));
        }
    }
    whole
}

/// Appends a variable column; `raw` gives a row's bytes of it, or `None` where the row is damaged.
#[inline]
fn push_variable_column<'r>(
    rows: &[&'r [u8]],
    (column, raw): (usize, impl Fn(usize) -> Option<&'r [u8]>),
    nulls: impl Nulls,
    out: &mut Vector,
) -> Result<()> {
    let data_type = out.data_type();
    let mut damaged = false;
    match out.data_mut() {
        Data::Bytes(strings) => {
            let room = rows.iter().map(|row| row.len()).sum();
            // That of a NULL is empty.
            let value = |at| {
                raw(at).unwrap_or_else(|| {
                    damaged = true;
                    &[]
                })
            };
            strings.extend((0..rows.len()).map(value), room);
        }
        Data::Decimal(decimals) => damaged = !push_decimals(rows, (column, raw), nulls, decimals),
        Data::Values(values) => {
            for (at, row) in rows.iter().enumerate() {
                values.push(match nulls.is_null(row, column) {
                    true => Value::Null,
                    false => decode_raw(raw(at).ok_or_else(corrupted)?, data_type)?,
                });
            }
        }
        _ => return Err(corrupted()),
    }
    push_validity(rows, column, nulls, out);
    if damaged { Err(corrupted()) } else { Ok(()) }
}

/// Appends a part of each document of a variable column.
fn push_field<'r>(
    rows: &[&'r [u8]],
    (column, raw): (usize, impl Fn(usize) -> Option<&'r [u8]>),
    nulls: impl Nulls,
    (field, out): (&Field, &mut Vector),
) -> Result<()> {
    let mut buffer = String::new();
    for (at, row) in rows.iter().enumerate() {
        let found = match nulls.is_null(row, column) {
            true => None,
            false => field.of_stored(raw(at).ok_or_else(corrupted)?)?,
        };
        match (found, out.data_mut()) {
            (None, _) => out.push_null(),
            (Some(part), Data::Bytes(strings)) => {
                buffer.clear();
                match part.text(&mut buffer)? {
                    Some(text) => {
                        strings.push(text.as_bytes());
                        out.push_valid();
                    }
                    None => out.push_null(),
                }
            }
            (Some(part), _) => out.push(&part.to_value())?,
        }
    }
    Ok(())
}
