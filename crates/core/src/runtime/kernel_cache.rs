//! Kernels that a context has compiled, so that it compiles none twice.

use crate::error::Result;
use crate::work::compiled_kernel::KernelInner;
use fencepost_kernels::ShaderSource;
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
use std::sync::{Arc, PoisonError};

/// Kernels that are kept although the program may have no handle of them; of more, those that it has none of go, the one that
/// was asked for least lately first.
const MOST: usize = 256;

/// What makes two kernels one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    source: ShaderSource,
    entry: String,
    /// By name, with the bits of each.
    overrides: Vec<(String, u64)>,
}

impl KernelKey {
    pub(crate) fn new(source: &ShaderSource, entry: &str, overrides: &[(&str, f64)]) -> Self {
        let mut overrides: Vec<_> =
            overrides.iter().map(|(name, value)| ((*name).to_owned(), value.to_bits())).collect();
        overrides.sort_unstable();
        Self { source: source.clone(), entry: entry.to_owned(), overrides }
    }
}

/// A kernel, as soon as the first call for it has compiled it: other calls wait.
type CachedKernel<K> = Arc<Mutex<Option<Arc<K>>>>;

/// The kernels of a context.
pub(crate) struct KernelCache<K = KernelInner> {
    table: Mutex<KernelTable<K>>,
}

struct KernelTable<K> {
    places: FxHashMap<KernelKey, (CachedKernel<K>, u64)>,
    /// Counts calls.
    now: u64,
}

impl<K> Default for KernelCache<K> {
    fn default() -> Self {
        Self { table: Mutex::new(KernelTable { places: FxHashMap::default(), now: 0 }) }
    }
}

impl<K> KernelCache<K> {
    /// The kernel of `key`, which is compiled if it is not there. A failure is not kept: what was missing may be there later.
    pub(crate) fn get(&self, key: KernelKey, compile: impl FnOnce() -> Result<Arc<K>>) -> Result<Arc<K>> {
        let (place, gone) = lock(&self.table).place(key);
        drop(gone); // a kernel that goes calls the driver: not while the table is locked
        // A compiler that panicked has left nothing here.
        let mut kernel = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = &*kernel {
            return Ok(kernel.clone());
        }
        let made = match compile() {
            Ok(made) => made,
            Err(error) => {
                drop(kernel);
                lock(&self.table).forget(&place);
                return Err(error);
            }
        };
        *kernel = Some(made.clone());
        Ok(made)
    }

    /// Whether the kernel of `key` is there.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn has(&self, key: &KernelKey) -> bool {
        let place = lock(&self.table).places.get(key).map(|(place, _)| place.clone());
        place.is_some_and(|place| place.try_lock().is_ok_and(|kernel| kernel.is_some()))
    }

    /// Forgets all: what they were compiled with has changed, or the context ends.
    pub(crate) fn clear(&self) {
        let places = std::mem::take(&mut lock(&self.table).places);
        drop(places); // as in `get`
    }
}

impl<K> KernelTable<K> {
    /// Gives back a place in which nothing was compiled.
    fn forget(&mut self, place: &CachedKernel<K>) {
        self.places.retain(|_, (known, _)| !Arc::ptr_eq(known, place));
    }

    /// The place of a kernel, and what had to go for it.
    fn place(&mut self, key: KernelKey) -> (CachedKernel<K>, Vec<CachedKernel<K>>) {
        self.now += 1;
        let gone = if self.places.contains_key(&key) { Vec::new() } else { self.make_room() };
        let (place, asked) = self.places.entry(key).or_default();
        *asked = self.now;
        (place.clone(), gone)
    }

    /// Takes out what there is too much of for one more.
    fn make_room(&mut self) -> Vec<CachedKernel<K>> {
        let surplus = (self.places.len() + 1).saturating_sub(MOST);
        if surplus == 0 {
            return Vec::new();
        }
        let idle = self.places.iter().filter(|(_, (place, _))| is_idle(place));
        let mut idle: Vec<(u64, KernelKey)> = idle.map(|(key, (_, asked))| (*asked, key.clone())).collect();
        idle.sort_unstable_by_key(|(asked, _)| *asked);
        idle.truncate(surplus);
        idle.iter().filter_map(|(_, key)| self.places.remove(key)).map(|(place, _)| place).collect()
    }
}

/// Whether its kernel is compiled and nothing else has a handle of it.
fn is_idle<K>(place: &CachedKernel<K>) -> bool {
    place.try_lock().is_ok_and(|kernel| kernel.as_ref().is_some_and(|kernel| Arc::strong_count(kernel) == 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn key(text: &'static str, entry: &str, overrides: &[(&str, f64)]) -> KernelKey {
        KernelKey::new(&ShaderSource::text("a.wgsl", text), entry, overrides)
    }

    fn compiled(kernels: &KernelCache<u32>, key: KernelKey, number: u32) -> u32 {
        *kernels.get(key, || Ok(Arc::new(number))).expect("it compiles")
    }

    #[test]
    fn a_kernel_is_compiled_once_for_its_text_entry_and_overrides() {
        let kernels = KernelCache::default();
        let keys = || {
            [
                key("x", "a", &[]),
                key("y", "a", &[]),
                key("x", "b", &[]),
                key("x", "a", &[("W", 1.0), ("V", 2.0)]),
                key("x", "a", &[("W", 2.0), ("V", 1.0)]),
            ]
        };
        for (number, key) in (0..).zip(keys()) {
            assert_eq!(compiled(&kernels, key, number), number, "it is another kernel");
        }
        for (number, key) in (0..).zip(keys()) {
            assert!(kernels.has(&key));
            assert_eq!(compiled(&kernels, key, 100), number, "it is there");
        }
        assert_eq!(compiled(&kernels, key("x", "a", &[("V", 2.0), ("W", 1.0)]), 100), 3, "in another order");
        kernels.clear();
        assert!(!kernels.has(&key("x", "a", &[])));
        assert_eq!(compiled(&kernels, key("x", "a", &[]), 100), 100);
    }

    #[test]
    fn a_failure_is_not_kept() {
        let kernels = KernelCache::default();
        let failed = kernels.get(key("x", "a", &[]), || Err(Kind::Busy { array: "x".into() }.into()));
        assert!(failed.is_err() && lock(&kernels.table).places.is_empty());
        assert_eq!(compiled(&kernels, key("x", "a", &[]), 7), 7);
    }

    #[test]
    fn of_many_kernels_those_that_were_asked_for_lately_are_kept() {
        let kernels = KernelCache::default();
        let entry = |number: u32| key("x", &number.to_string(), &[]);
        for number in 0..MOST as u32 {
            compiled(&kernels, entry(number), number);
        }
        assert_eq!(compiled(&kernels, entry(0), 1000), 0, "it is there");
        compiled(&kernels, entry(MOST as u32), 1000);
        assert_eq!(compiled(&kernels, entry(0), 1001), 0, "it was asked for lately");
        assert_eq!(compiled(&kernels, entry(1), 1001), 1001, "it had to go");
        assert!(lock(&kernels.table).places.len() <= MOST);
    }

    #[test]
    fn a_kernel_that_the_program_holds_stays_however_many_come_after_it() {
        let kernels = KernelCache::default();
        let entry = |number: u32| key("x", &number.to_string(), &[]);
        let many = 2 * MOST as u32;
        let get = |number, made| kernels.get(entry(number), || Ok(Arc::new(made))).expect("it compiles");
        let held: Vec<_> = (0..many).map(|number| get(number, number)).collect();
        for number in 0..many {
            assert_eq!(*get(number, 10_000), number, "it is held");
        }
        drop(held);
        compiled(&kernels, entry(many), 0);
        assert_eq!(lock(&kernels.table).places.len(), MOST, "those that are held no more go");
    }

    #[test]
    fn threads_that_want_one_kernel_at_once_compile_it_once() {
        let (kernels, compiles) = (KernelCache::default(), std::sync::atomic::AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let compile = || {
                        compiles.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        std::thread::yield_now();
                        Ok(Arc::new(5))
                    };
                    assert_eq!(*kernels.get(key("x", "a", &[]), compile).expect("it compiles"), 5);
                });
            }
        });
        assert_eq!(compiles.into_inner(), 1);
    }
}
