//! A column's decimals: their mantissas in one array, with one scale for all of them as long as they have one.
//!
//! A column is in the narrowest form that holds all its values: mantissas of 64 bits, of 128, or whole [`Numeric`]s, for
//! NaN, infinities and more digits. It never goes back to a narrower one. The scales are apart from that: 1.0 and 1.00
//! may stand in one column, which then has a scale for each value. A slot that is NULL has no say in either.

use super::compare::float_prefix;
use super::hash::hash_u64;
use crate::types::{Numeric, NumericRef, Residues, SCALE_MAX};
use crate::{Error, Result, SqlState};

/// Decimals in an array.
///
/// ```
/// use cairndb::{Decimals, Numeric, NumericRef};
///
/// let mut prices = Decimals::from_mantissas(vec![999, 1], 2)?;
/// assert_eq!((prices.len(), prices.is_empty(), prices.narrow()), (2, false, Some((&[999, 1][..], 2))));
/// prices.push(NumericRef::from(&Numeric::parse("0.001")?));
/// assert_eq!((prices.get(2).parts(), prices.narrow()), (Some((1, 3)), None));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decimals {
    mantissas: Mantissas,
    scales: Scales,
}

#[derive(Clone, Debug)]
enum Mantissas {
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
    /// With their scales: the column has none.
    Whole(Vec<Numeric>),
}

#[derive(Clone, Debug)]
enum Scales {
    /// There are only NULLs.
    Unset,
    One(u16),
    Each(Vec<u16>),
}

/// Which values are copied.
#[derive(Clone, Copy)]
enum Picked<'a> {
    All,
    Rows(&'a [u32]),
}

impl Picked<'_> {
    fn extend<T: Clone>(self, to: &mut Vec<T>, from: &[T]) {
        match self {
            Picked::All => to.extend_from_slice(from),
            Picked::Rows(rows) => to.extend(rows.iter().map(|&row| from[row as usize].clone())),
        }
    }
}

impl Decimals {
    pub(crate) fn with_capacity(capacity: usize) -> Decimals {
        Decimals { mantissas: Mantissas::Narrow(Vec::with_capacity(capacity)), scales: Scales::Unset }
    }

    /// Mantissas of one scale.
    pub(crate) fn of_scale(mantissas: Vec<i64>, scale: u16) -> Decimals {
        Decimals { mantissas: Mantissas::Narrow(mantissas), scales: Scales::One(scale) }
    }

    /// `mantissa / 10^scale` each.
    ///
    /// # Errors
    ///
    /// 22003 where the scale is more than 16383.
    pub fn from_mantissas(mantissas: Vec<i128>, scale: u16) -> Result<Decimals> {
        if scale > SCALE_MAX {
            let message = format!("a decimal has at most {SCALE_MAX} digits behind the point");
            return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        let narrow: Option<Vec<i64>> = mantissas.iter().map(|&item| i64::try_from(item).ok()).collect();
        let mantissas = narrow.map_or_else(|| Mantissas::Wide(mantissas), Mantissas::Narrow);
        Ok(Decimals { mantissas, scales: Scales::One(scale) })
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.mantissas {
            Mantissas::Narrow(items) => items.len(),
            Mantissas::Wide(items) => items.len(),
            Mantissas::Whole(items) => items.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `row`, which must exist.
    #[inline]
    pub fn get(&self, row: usize) -> NumericRef<'_> {
        match &self.mantissas {
            Mantissas::Narrow(items) => NumericRef::Small { mantissa: items[row], scale: self.scale(row) },
            Mantissas::Wide(items) => NumericRef::Wide { mantissa: &items[row], scale: self.scale(row) },
            Mantissas::Whole(items) => NumericRef::from(&items[row]),
        }
    }

    #[inline]
    fn scale(&self, row: usize) -> u16 {
        match &self.scales {
            Scales::Unset => 0,
            Scales::One(scale) => *scale,
            Scales::Each(scales) => scales[row],
        }
    }

    /// All mantissas and their scale, where they are of 64 bits and have one.
    #[inline]
    pub fn narrow(&self) -> Option<(&[i64], u16)> {
        match (&self.mantissas, &self.scales) {
            (Mantissas::Narrow(items), Scales::One(scale)) => Some((items, *scale)),
            (Mantissas::Narrow(items), Scales::Unset) => Some((items, 0)),
            _ => None,
        }
    }

    /// All mantissas and their scales, where they are of 64 bits and have different ones.
    #[inline]
    pub(crate) fn narrow_mixed(&self) -> Option<(&[i64], &[u16])> {
        match (&self.mantissas, &self.scales) {
            (Mantissas::Narrow(items), Scales::Each(scales)) => Some((items, scales)),
            _ => None,
        }
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: NumericRef<'_>) {
        match value {
            NumericRef::Small { mantissa, scale } => self.push_small(mantissa, scale),
            NumericRef::Wide { mantissa, scale } => self.push_wide(*mantissa, scale),
            NumericRef::Whole(value) => self.push_whole(value),
        }
    }

    /// Appends `mantissa / 10^scale`.
    #[inline]
    pub(crate) fn push_small(&mut self, mantissa: i64, scale: u16) {
        match (&mut self.mantissas, &self.scales) {
            (Mantissas::Narrow(items), Scales::One(all)) if *all == scale => items.push(mantissa),
            _ => self.push_other(mantissa, scale),
        }
    }

    fn push_other(&mut self, mantissa: i64, scale: u16) {
        self.note_scale(scale);
        match &mut self.mantissas {
            Mantissas::Narrow(items) => items.push(mantissa),
            Mantissas::Wide(items) => items.push(mantissa.into()),
            Mantissas::Whole(items) => items.push(Numeric::small(mantissa, scale)),
        }
    }

    /// Appends `mantissa / 10^scale`.
    pub(crate) fn push_wide(&mut self, mantissa: i128, scale: u16) {
        if let Ok(mantissa) = i64::try_from(mantissa) {
            return self.push_small(mantissa, scale);
        }
        self.widen();
        self.note_scale(scale);
        match &mut self.mantissas {
            Mantissas::Wide(items) => items.push(mantissa),
            _ => self.whole().push(Numeric::from_i128(mantissa, scale)),
        }
    }

    /// Appends a value.
    pub(crate) fn push_whole(&mut self, value: &Numeric) {
        match NumericRef::from(value).parts() {
            Some((mantissa, scale)) => self.push_wide(mantissa, scale),
            None => self.whole().push(value.clone()),
        }
    }

    /// Appends something that stands for NULL.
    pub(crate) fn push_default(&mut self) {
        match &mut self.mantissas {
            Mantissas::Narrow(items) => items.push(0),
            Mantissas::Wide(items) => items.push(0),
            Mantissas::Whole(items) => items.push(Numeric::ZERO),
        }
        if let Scales::Each(scales) = &mut self.scales {
            scales.push(0);
        }
    }

    /// Before a mantissa of this scale is appended.
    fn note_scale(&mut self, scale: u16) {
        if matches!(self.mantissas, Mantissas::Whole(_)) {
            return;
        }
        let len = self.len();
        match &mut self.scales {
            Scales::Unset => self.scales = Scales::One(scale),
            Scales::One(all) if *all == scale => {}
            Scales::One(all) => {
                let mut scales = Vec::with_capacity(len + 1);
                scales.resize(len, *all);
                scales.push(scale);
                self.scales = Scales::Each(scales);
            }
            Scales::Each(scales) => scales.push(scale),
        }
    }

    /// No longer of 64 bits.
    #[cold]
    fn widen(&mut self) {
        if let Mantissas::Narrow(items) = &self.mantissas {
            self.mantissas = Mantissas::Wide(items.iter().map(|&item| item.into()).collect());
        }
    }

    /// No longer mantissas.
    #[cold]
    fn whole(&mut self) -> &mut Vec<Numeric> {
        if !matches!(self.mantissas, Mantissas::Whole(_)) {
            self.mantissas = Mantissas::Whole((0..self.len()).map(|row| self.get(row).to_numeric()).collect());
            self.scales = Scales::Unset;
        }
        match &mut self.mantissas {
            Mantissas::Whole(items) => items,
            _ => unreachable!("made whole above"),
        }
    }

    /// Appends what rows keep of a value ([`Numeric::write_bytes`]); false: something else wrote that.
    #[inline]
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> bool {
        match Numeric::small_from_bytes(bytes) {
            Some((mantissa, scale)) => self.push_small(mantissa, scale),
            None => match Numeric::from_bytes(bytes) {
                Some(value) => self.push_whole(&value),
                None => return false,
            },
        }
        true
    }

    /// Appends the values of `from` at the given rows.
    pub(crate) fn append_rows(&mut self, from: &Decimals, rows: &[u32]) {
        self.extend(from, Picked::Rows(rows));
    }

    /// Appends all values of `from`.
    pub(crate) fn append(&mut self, from: &Decimals) {
        self.extend(from, Picked::All);
    }

    fn extend(&mut self, from: &Decimals, picked: Picked<'_>) {
        if self.is_empty() {
            self.become_like(from);
        }
        if let (Scales::Unset, Scales::One(scale)) = (&self.scales, &from.scales) {
            self.scales = Scales::One(*scale);
        }
        let same_scale = match (&self.scales, &from.scales) {
            (Scales::One(a), Scales::One(b)) => a == b,
            (Scales::One(_) | Scales::Unset, Scales::Unset) | (Scales::Each(_), Scales::Each(_)) => true,
            _ => false,
        };
        match (&mut self.mantissas, &from.mantissas) {
            (Mantissas::Narrow(to), Mantissas::Narrow(from)) if same_scale => picked.extend(to, from),
            (Mantissas::Wide(to), Mantissas::Wide(from)) if same_scale => picked.extend(to, from),
            (Mantissas::Whole(to), Mantissas::Whole(from)) => return picked.extend(to, from),
            _ => return self.extend_each(from, picked),
        }
        if let (Scales::Each(to), Scales::Each(from)) = (&mut self.scales, &from.scales) {
            picked.extend(to, from);
        }
    }

    fn extend_each(&mut self, from: &Decimals, picked: Picked<'_>) {
        match picked {
            Picked::All => (0..from.len()).for_each(|row| self.push(from.get(row))),
            Picked::Rows(rows) => rows.iter().for_each(|&row| self.push(from.get(row as usize))),
        }
    }

    fn become_like(&mut self, from: &Decimals) {
        match from.mantissas {
            Mantissas::Narrow(_) => {}
            Mantissas::Wide(_) => self.mantissas = Mantissas::Wide(vec![]),
            Mantissas::Whole(_) => self.mantissas = Mantissas::Whole(vec![]),
        }
        self.scales = match from.scales {
            Scales::Unset => Scales::Unset,
            Scales::One(scale) => Scales::One(scale),
            Scales::Each(_) => Scales::Each(vec![]),
        };
    }

    /// Calls `put` with each row and a hash that all equal values have, whatever their form and scale.
    #[inline]
    pub(crate) fn each_hash(&self, mut put: impl FnMut(usize, u64)) {
        let mut residues = (0, Residues::of_scale(0));
        let mut of_scale = |scale| {
            if residues.0 != scale {
                residues = (scale, Residues::of_scale(scale));
            }
            residues.1
        };
        match (&self.mantissas, self.narrow()) {
            (_, Some((items, scale))) => {
                let residues = of_scale(scale);
                items.iter().enumerate().for_each(|(row, &item)| put(row, hash_u64(residues.of(item))));
            }
            (Mantissas::Narrow(items), _) => {
                let residue = |(row, &item)| put(row, hash_u64(of_scale(self.scale(row)).of(item)));
                items.iter().enumerate().for_each(residue);
            }
            (Mantissas::Wide(items), _) => {
                let residue = |(row, &item)| put(row, hash_u64(of_scale(self.scale(row)).of_wide(item)));
                items.iter().enumerate().for_each(residue);
            }
            (Mantissas::Whole(items), _) => {
                items.iter().enumerate().for_each(|(row, item)| put(row, hash_u64(item.residue())));
            }
        }
    }

    /// The largest scale of a column of mantissas.
    pub(crate) fn scale_max(&self) -> u16 {
        match &self.scales {
            Scales::Unset => 0,
            Scales::One(scale) => *scale,
            Scales::Each(scales) => scales.iter().copied().max().unwrap_or(0),
        }
    }

    /// A number that is less only for values that are. Where all have one scale, `scale_max`, it is equal only for equal
    /// ones of 64 bits.
    #[inline]
    pub(crate) fn order_key(&self, row: usize, scale_max: u16) -> u64 {
        let more = || u32::from(scale_max - self.scale(row));
        match &self.mantissas {
            Mantissas::Narrow(items) => {
                let item = items[row];
                let scaled = match 10_i64.checked_pow(more()) {
                    Some(factor) => item.saturating_mul(factor),
                    None => item.signum().saturating_mul(i64::MAX),
                };
                scaled.cast_unsigned() ^ 1 << 63
            }
            Mantissas::Wide(items) => {
                let item = items[row];
                let scaled = match 10_i128.checked_pow(more()) {
                    Some(factor) => item.saturating_mul(factor),
                    None => item.signum().saturating_mul(i128::MAX),
                };
                float_prefix(scaled as f64)
            }
            Mantissas::Whole(_) => 0,
        }
    }

    /// About how many bytes the values take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let scales = if let Scales::Each(scales) = &self.scales { scales.len() * 2 } else { 0 };
        scales
            + match &self.mantissas {
                Mantissas::Narrow(items) => items.len() * 8,
                Mantissas::Wide(items) => items.len() * 16,
                Mantissas::Whole(items) => items.iter().map(|item| size_of::<Numeric>() + item.heap_bytes()).sum(),
            }
    }
}
