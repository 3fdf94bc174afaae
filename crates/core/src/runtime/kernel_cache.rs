//! The cache of a context's compiled kernels, so that no kernel is compiled twice.

use crate::error::Result;
use crate::work::kernel_launch::KernelInner;
use fencepost_kernels::{ShaderSource, Trust, calling_thread};
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep, try_lock};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

/// Maximum number of cached kernels. Above it, the cache drops kernels that the program has no handle of, the least
/// recently requested first.
const MOST_KEPT_KERNELS: usize = 256;

/// Identity of a kernel. Calls with equal keys get the same kernel.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    source: ShaderSource,
    entry: String,
    /// Overrides sorted by name, with the bits of each value.
    overrides: Vec<(String, u64)>,
    /// Runtime checks that the kernel omits.
    trust: Option<Trust>,
    /// Verb that launches the kernel; `None` for a kernel of the program.
    verb: Option<&'static str>,
}

impl KernelKey {
    pub(crate) fn new(
        source: &ShaderSource,
        entry: &str,
        overrides: &[(&str, f64)],
        trust: Option<Trust>,
    ) -> Self {
        let mut overrides: Vec<_> =
            overrides.iter().map(|(name, value)| ((*name).to_owned(), value.to_bits())).collect();
        overrides.sort_unstable();
        Self { source: source.clone(), entry: entry.to_owned(), overrides, trust, verb: None }
    }

    /// Returns the key of the same kernel, launched by a verb.
    pub(crate) fn of_verb(self, verb: &'static str) -> Self {
        Self { verb: Some(verb), ..self }
    }
}

/// The place of one kernel in the cache. The first call for the kernel compiles it outside any lock, because drivers
/// and wgpu call the program's logger. Meanwhile other calls for it wait.
struct CompilePlace<K> {
    state: Mutex<CompileState<K>>,
    /// Notified when the compilation has ended.
    ended: Condvar,
}

enum CompileState<K> {
    Empty,
    CompiledBy(ThreadId),
    Compiled(Arc<K>),
}

type CachedKernel<K> = Arc<CompilePlace<K>>;

impl<K> Default for CompilePlace<K> {
    fn default() -> Self {
        Self { state: Mutex::new(CompileState::Empty), ended: Condvar::new() }
    }
}

impl<K> CompilePlace<K> {
    /// Returns the kernel if it has been compiled.
    fn compiled(&self) -> Option<Arc<K>> {
        match &*lock(&self.state) {
            CompileState::Compiled(kernel) => Some(kernel.clone()),
            _ => None,
        }
    }
}

/// A compilation that this thread has begun. Its drop marks it as ended, even after a panic.
struct Compilation<'a, K> {
    place: &'a CompilePlace<K>,
    made: Option<Arc<K>>,
}

impl<K> Drop for Compilation<'_, K> {
    fn drop(&mut self) {
        *lock(&self.place.state) = self.made.take().map_or(CompileState::Empty, CompileState::Compiled);
        self.place.ended.notify_all();
    }
}

/// A context's compiled kernels, by their keys.
pub(crate) struct KernelCache<K = KernelInner> {
    table: Mutex<KernelTable<K>>,
    /// `true` if warnings about a text are errors.
    refuses_warnings: AtomicBool,
}

struct KernelTable<K> {
    /// For each key, the place of its kernel and the time of the last request.
    places: FxHashMap<KernelKey, (CachedKernel<K>, u64)>,
    /// Number of requests so far, which serves as the time of a request.
    now: u64,
}

impl<K> Default for KernelCache<K> {
    fn default() -> Self {
        let table = Mutex::new(KernelTable { places: FxHashMap::default(), now: 0 });
        Self { table, refuses_warnings: AtomicBool::new(false) }
    }
}

impl<K> KernelCache<K> {
    /// Makes warnings about a text errors from now on, if `refuses` is `true`.
    pub(crate) fn set_refuses_warnings(&self, refuses: bool) {
        self.refuses_warnings.store(refuses, Ordering::Relaxed);
    }

    /// Returns `true` if warnings about a text are errors.
    pub(crate) fn refuses_warnings(&self) -> bool {
        self.refuses_warnings.load(Ordering::Relaxed)
    }

    /// Returns the kernel of `key`. Compiles it if it is not in the cache. Failures are not cached, because a later
    /// call may succeed.
    pub(crate) fn get_or_compile(
        &self,
        key: KernelKey,
        compile: impl FnOnce() -> Result<Arc<K>>,
    ) -> Result<Arc<K>> {
        let (place, gone) = lock(&self.table).place(key);
        drop(gone); // without the lock of the table, because dropping a kernel calls the driver
        // A compiler thread works on behalf of the thread that requested the kernel.
        let here = calling_thread();
        let mut state = lock(&place.state);
        loop {
            match &*state {
                CompileState::Compiled(kernel) => return Ok(kernel.clone()),
                CompileState::Empty => break,
                // A logger requests the kernel whose compilation has called it.
                CompileState::CompiledBy(thread) if *thread == here => {
                    drop(state);
                    return compile();
                }
                CompileState::CompiledBy(_) => state = sleep(&place.ended, state),
            }
        }
        *state = CompileState::CompiledBy(here);
        drop(state);
        let mut compilation = Compilation { place: &place, made: None };
        let made = compile();
        compilation.made = made.as_ref().ok().cloned();
        drop(compilation);
        if made.is_err() {
            lock(&self.table).forget(&place);
        }
        made
    }

    /// Returns the kernel of `key` if it is in the cache.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn find(&self, key: &KernelKey) -> Option<Arc<K>> {
        let place = lock(&self.table).places.get(key).map(|(place, _)| place.clone())?;
        place.compiled()
    }

    /// Removes the kernels that `is_gone` accepts, so that later calls compile them anew.
    pub(crate) fn forget_if(&self, is_gone: impl Fn(&K) -> bool) {
        let mut gone = Vec::new();
        let hit = |place: &CachedKernel<K>| place.compiled().is_some_and(|kernel| is_gone(&kernel));
        lock(&self.table).places.retain(|_, (place, _)| {
            let kept = !hit(place);
            gone.extend((!kept).then(|| place.clone()));
            kept
        });
        drop(gone); // without the lock, as in `get`
    }

    /// Removes all kernels. A context does this when its kernels are no longer valid, and when it ends.
    pub(crate) fn clear(&self) {
        let places = std::mem::take(&mut lock(&self.table).places);
        drop(places); // without the lock, as in `get`
    }
}

impl<K> KernelTable<K> {
    /// Removes the place of a kernel whose compilation has failed.
    fn forget(&mut self, place: &CachedKernel<K>) {
        self.places.retain(|_, (known, _)| !Arc::ptr_eq(known, place));
    }

    /// Returns the place of a kernel, and the places that were removed for it, which the caller must drop after
    /// releasing the table.
    fn place(&mut self, key: KernelKey) -> (CachedKernel<K>, Vec<CachedKernel<K>>) {
        self.now += 1;
        let gone = if self.places.contains_key(&key) { Vec::new() } else { self.make_room() };
        let (place, asked) = self.places.entry(key).or_default();
        *asked = self.now;
        (place.clone(), gone)
    }

    /// Removes and returns idle places, the least recently requested first, until there is room for one more.
    fn make_room(&mut self) -> Vec<CachedKernel<K>> {
        let surplus = (self.places.len() + 1).saturating_sub(MOST_KEPT_KERNELS);
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

/// Returns `true` if the kernel is compiled and only the cache refers to it.
fn is_idle<K>(place: &CachedKernel<K>) -> bool {
    let state = try_lock(&place.state);
    state.is_some_and(
        |state| matches!(&*state, CompileState::Compiled(kernel) if Arc::strong_count(kernel) == 1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorDetail;

    fn key(text: &'static str, entry: &str, overrides: &[(&str, f64)]) -> KernelKey {
        KernelKey::new(&ShaderSource::text("a.wgsl", text), entry, overrides, None)
    }

    fn compiled(kernels: &KernelCache<u32>, key: KernelKey, number: u32) -> u32 {
        *kernels.get_or_compile(key, || Ok(Arc::new(number))).expect("it compiles")
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
            assert_eq!(compiled(&kernels, key, number), number, "the key is of another kernel");
        }
        for (number, key) in (0..).zip(keys()) {
            assert!(kernels.find(&key).is_some());
            assert_eq!(compiled(&kernels, key, 100), number, "the kernel is cached");
        }
        assert_eq!(compiled(&kernels, key("x", "a", &[("V", 2.0), ("W", 1.0)]), 100), 3, "in another order");
        kernels.clear();
        assert!(kernels.find(&key("x", "a", &[])).is_none());
        assert_eq!(compiled(&kernels, key("x", "a", &[]), 100), 100);
    }

    #[test]
    fn a_trusted_kernel_is_another_one_than_the_checked_kernel() {
        let kernels = KernelCache::default();
        let trusts = [None, Some(Trust::Indices), Some(Trust::IndicesAndMemory)];
        let key = |trust| KernelKey::new(&ShaderSource::text("a.wgsl", "x"), "a", &[], trust);
        for (number, trust) in (0..).zip(trusts) {
            assert_eq!(compiled(&kernels, key(trust), number), number, "{trust:?}");
        }
        for (number, trust) in (0..).zip(trusts) {
            assert_eq!(compiled(&kernels, key(trust), 100), number, "{trust:?}");
        }
    }

    #[test]
    fn a_failure_is_not_kept() {
        let kernels = KernelCache::default();
        let failed = kernels
            .get_or_compile(key("x", "a", &[]), || Err(ErrorDetail::Busy { array: "x".into() }.into()));
        assert!(failed.is_err() && lock(&kernels.table).places.is_empty());
        assert_eq!(compiled(&kernels, key("x", "a", &[]), 7), 7);
    }

    #[test]
    fn the_most_recently_requested_kernels_are_kept() {
        let kernels = KernelCache::default();
        let entry = |number: u32| key("x", &number.to_string(), &[]);
        for number in 0..MOST_KEPT_KERNELS as u32 {
            compiled(&kernels, entry(number), number);
        }
        assert_eq!(compiled(&kernels, entry(0), 1000), 0, "the kernel is cached");
        compiled(&kernels, entry(MOST_KEPT_KERNELS as u32), 1000);
        assert_eq!(compiled(&kernels, entry(0), 1001), 0, "the kernel was requested recently");
        assert_eq!(compiled(&kernels, entry(1), 1001), 1001, "the kernel was removed");
        assert!(lock(&kernels.table).places.len() <= MOST_KEPT_KERNELS);
    }

    #[test]
    fn a_kernel_that_the_program_holds_is_never_removed() {
        let kernels = KernelCache::default();
        let entry = |number: u32| key("x", &number.to_string(), &[]);
        let many = 2 * MOST_KEPT_KERNELS as u32;
        let get =
            |number, made| kernels.get_or_compile(entry(number), || Ok(Arc::new(made))).expect("it compiles");
        let held: Vec<_> = (0..many).map(|number| get(number, number)).collect();
        for number in 0..many {
            assert_eq!(*get(number, 10_000), number, "the program holds the kernel");
        }
        drop(held);
        compiled(&kernels, entry(many), 0);
        assert_eq!(
            lock(&kernels.table).places.len(),
            MOST_KEPT_KERNELS,
            "kernels without a handle are removed"
        );
    }

    #[test]
    fn a_logger_that_asks_for_the_kernel_whose_compilation_calls_it_gets_one() {
        let kernels = KernelCache::default();
        let again = || kernels.get_or_compile(key("x", "a", &[]), || Ok(Arc::new(7)));
        let compile = || fencepost_kernels::on_compiler_stack(again).expect("a thread");
        assert_eq!(*kernels.get_or_compile(key("x", "a", &[]), compile).expect("it compiles"), 7);
    }

    #[test]
    fn threads_that_request_one_kernel_at_once_compile_it_once() {
        let kernels = KernelCache::default();
        let compiles = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let compile = || {
                        compiles.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        std::thread::yield_now();
                        Ok(Arc::new(5))
                    };
                    assert_eq!(*kernels.get_or_compile(key("x", "a", &[]), compile).expect("it compiles"), 5);
                });
            }
        });
        assert_eq!(compiles.into_inner(), 1);
    }
}
