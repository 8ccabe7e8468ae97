//! Things that a client knows by names, and who drives the conversation by numbers.

use std::collections::HashMap;

/// By name and by number. The name of what has none is empty.
pub(crate) struct Slots<T> {
    names: HashMap<String, usize>,
    /// What has no name: it comes and goes with every statement, and is found without a look at the names.
    unnamed: Option<usize>,
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { names: HashMap::new(), unnamed: None, slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub(crate) fn len(&self) -> usize {
        self.names.len() + usize::from(self.unnamed.is_some())
    }

    fn number(&self, name: &str) -> Option<usize> {
        if name.is_empty() { self.unnamed } else { self.names.get(name).copied() }
    }

    pub(crate) fn find(&self, name: &str) -> Option<(usize, &T)> {
        let number = self.number(name)?;
        Some((number, self.slots.get(number)?.as_ref()?))
    }

    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        self.slots.get(number)?.as_ref()
    }

    pub(crate) fn each(&mut self, change: impl FnMut(&mut T)) {
        self.slots.iter_mut().flatten().for_each(change);
    }

    /// The number that the next one gets.
    pub(crate) fn next_number(&self) -> usize {
        self.free.last().copied().unwrap_or(self.slots.len())
    }

    pub(crate) fn insert(&mut self, name: String, of: T) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[number] = Some(of);
        match name.is_empty() {
            true => self.unnamed = Some(number),
            false => _ = self.names.insert(name, number),
        }
        number
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<(usize, T)> {
        let number = if name.is_empty() { self.unnamed.take() } else { self.names.remove(name) }?;
        self.free.push(number);
        Some((number, self.slots.get_mut(number)?.take()?))
    }

    /// Whether there is one that has a name.
    pub(crate) fn has_named(&self) -> bool {
        !self.names.is_empty()
    }

    /// Takes those out that have such names and numbers.
    pub(crate) fn remove_named(&mut self, is_one: impl Fn(&str, usize, &T) -> bool) -> Vec<(usize, T)> {
        let slot = |number: usize| self.slots.get(number).and_then(Option::as_ref);
        let named =
            self.names.iter().filter(|(name, number)| slot(**number).is_some_and(|of| is_one(name, **number, of)));
        let names: Vec<String> = named.map(|(name, _)| name.clone()).collect();
        names.iter().filter_map(|name| self.remove(name)).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.unnamed = None;
        self.slots.clear();
        self.free.clear();
    }
}
