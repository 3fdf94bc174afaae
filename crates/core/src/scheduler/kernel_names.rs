//! What messages call kernels.

use crate::error::site::KernelId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// How many names of kernels that are gone are remembered: a hazard may speak of what they did.
const GONE: u32 = 1024;

/// The names of a context's kernels. Kernels of one name have one number.
#[derive(Default)]
pub(crate) struct KernelNames {
    ids: FxHashMap<Arc<str>, KernelId>,
    names: FxHashMap<KernelId, Arc<str>>,
    next: u32,
    /// How many names were left when others were last dropped.
    kept: usize,
}

impl KernelNames {
    /// The number of kernels of this name, and the name itself: as long as that is held, it stays here.
    pub(crate) fn note(&mut self, name: &str) -> (KernelId, Arc<str>) {
        if let Some((name, &id)) = self.ids.get_key_value(name) {
            return (id, name.clone());
        }
        self.tidy();
        let (id, name) = (KernelId(self.next), Arc::<str>::from(name));
        self.next += 1;
        self.ids.insert(name.clone(), id);
        self.names.insert(id, name.clone());
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
        // Both tables have the name; a third holder is a kernel, or a row of a profile.
        self.names.retain(|id, name| id.0 >= oldest || Arc::strong_count(name) > 2);
        self.ids.retain(|_, id| self.names.contains_key(id));
        self.kept = self.names.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_one_name_have_one_number() {
        let mut names = KernelNames::default();
        let [first, other, again] = ["saxpy", "add", "saxpy"].map(|name| names.note(name).0);
        assert!(first == again && first != other);
        assert_eq!((&*names.get(first), &*names.get(other)), ("saxpy", "add"));
    }

    #[test]
    fn names_are_kept_for_kernels_that_live_and_for_the_last_that_are_gone() {
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
