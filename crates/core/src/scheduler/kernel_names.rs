//! The names of kernels in messages.

use crate::error::site::KernelId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Number of dropped kernels whose names are kept, since a hazard may name an earlier launch of one.
const GONE: u32 = 1024;

/// Names of the kernels of a context. Kernels with the same name share a number.
#[derive(Default)]
pub(crate) struct KernelNames {
    ids: FxHashMap<Arc<str>, KernelId>,
    /// The same pairs as in `ids`, by number.
    names: FxHashMap<KernelId, Arc<str>>,
    /// Number of the next name. All numbers in the tables are smaller.
    next: u32,
    /// Number of names left by the last [`tidy`](Self::tidy).
    kept: usize,
}

impl KernelNames {
    /// Returns the number of the kernels with this name, and the name itself. The name stays registered while the
    /// returned reference is held.
    pub(crate) fn note(&mut self, name: &str) -> (KernelId, Arc<str>) {
        if let Some((name, &id)) = self.ids.get_key_value(name) {
            return (id, name.clone());
        }
        self.tidy();
        let (id, name) = (KernelId(self.next), Arc::<str>::from(name));
        self.next += 1;
        self.ids.insert(name.clone(), id);
        self.names.insert(id, name.clone());
        debug_assert_eq!(self.ids.len(), self.names.len(), "bug: a name has no number");
        (id, name)
    }

    pub(crate) fn get(&self, id: KernelId) -> Arc<str> {
        self.names.get(&id).cloned().unwrap_or_else(|| "(gone)".into())
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    fn tidy(&mut self) {
        if self.names.len() <= 2 * self.kept + 2 * GONE as usize {
            return;
        }
        let oldest = self.next.saturating_sub(GONE);
        // Both tables hold the name. A third reference belongs to a kernel or to a row of a profile.
        self.names.retain(|id, name| id.0 >= oldest || Arc::strong_count(name) > 2);
        self.ids.retain(|_, id| self.names.contains_key(id));
        self.kept = self.names.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_one_name_share_a_number() {
        let mut names = KernelNames::default();
        let [first, other, again] = ["saxpy", "add", "saxpy"].map(|name| names.note(name).0);
        assert!(first == again && first != other);
        assert_eq!((&*names.get(first), &*names.get(other)), ("saxpy", "add"));
    }

    #[test]
    fn names_are_kept_for_live_kernels_and_for_the_last_dropped_ones() {
        let mut names = KernelNames::default();
        let (id, held) = names.note("held");
        let made: Vec<KernelId> = (0..10 * GONE).map(|at| names.note(&at.to_string()).0).collect();
        assert!(names.len() <= 3 * GONE as usize && names.ids.len() == names.len(), "{}", names.len());
        assert_eq!((names.get(id), &*names.get(made[0])), (held, "(gone)"));
        for (at, &id) in made.iter().enumerate().rev().take(GONE as usize) {
            assert_eq!(*names.get(id), *at.to_string());
        }
    }
}
