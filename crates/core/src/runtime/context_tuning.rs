//! The tuning of a context: the source of its verbs' choices among variants of their kernels, and the choices in use.

use crate::device::adapter::AdapterInfo;
use crate::device::kernel_folder::{KernelFile, KernelFolder};
use crate::runtime::tuning_table::{Ceilings, TunedCase, TunedChoice, TuningTable};
use fencepost_kernels::report;
use fencepost_sync::PerProcess;
use fencepost_sync::prim::{Mutex, lock};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Source of the choices among the variants of the verbs' kernels (rule A26).
///
/// Each variant computes the same, but the order of the operations differs. So sums and products of `f32` may have
/// other bits, within the same error bounds. All other results have the same bits.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TuningChoice {
    /// Defaults that depend only on the kind, the limits and the features of the adapter, so they are the same on each
    /// run.
    #[default]
    Defaults,
    /// Measurements. The first call of a verb on a size of arrays measures the variants of its kernels for up to 2
    /// seconds. Until then, and while another thread measures, the verb takes the default. Later contexts with the same
    /// [`kernel_folder`](crate::ContextOptions::kernel_folder) load the choices, and measure only those that are
    /// missing.
    ///
    /// A call in a capture, in a host callback or in a host kernel measures nothing, and neither does a context without
    /// threads or a page in a browser, where a call cannot wait. Call `ctx.tune` before.
    OnFirstUse,
    /// A table that was measured before. Verbs without a choice in the table take the defaults.
    Table(TuningTable),
}

/// The choices of a context's verbs.
pub(crate) struct ContextTuning {
    /// `false` as long as all verbs take the defaults.
    is_on: AtomicBool,
    state: Mutex<TuningState>,
}

struct TuningState {
    table: TuningTable,
    /// Choices and rates that this context has measured. The table also has those that were set or loaded.
    measured: TuningTable,
    /// `true` if the first use of a variant measures it.
    measures: bool,
    /// For each case that a verb has asked for: the number of the variant, which is 0 for the default.
    in_use: FxHashMap<TunedCase, usize>,
    /// Number of times that the source was set. Measurements that began before the last time change nothing.
    generation: u64,
    /// File that stores the measured choices for the next run.
    file: Option<KernelFile>,
}

impl ContextTuning {
    /// Returns the tuning of a context that takes the defaults.
    pub(crate) fn new(info: &AdapterInfo) -> Self {
        let table = TuningTable::of(info);
        let state = TuningState {
            measured: table.clone(),
            table,
            measures: false,
            in_use: FxHashMap::default(),
            generation: 0,
            file: None,
        };
        Self { is_on: AtomicBool::new(false), state: Mutex::new(state) }
    }

    /// Sets the source of the choices, and the folder that stores measured choices for the next run.
    pub(crate) fn open(&self, choice: TuningChoice, folder: Option<PathBuf>, info: &AdapterInfo) {
        lock(&self.state).file = folder.and_then(|folder| tuning_file(folder, info));
        self.set(choice);
    }

    /// Sets the source of the choices.
    pub(crate) fn set(&self, choice: TuningChoice) {
        let state = lock(&self.state);
        let own = state.table.without_choices();
        let file = state.file.clone();
        drop(state); // reading a file takes time
        let (table, measures, is_on) = match choice {
            TuningChoice::Defaults => (own, false, false),
            TuningChoice::OnFirstUse => {
                (file.and_then(|file| stored(&file, &own)).unwrap_or(own), true, true)
            }
            TuningChoice::Table(table) => match table.reason_against(&own) {
                None => (table, false, true),
                Some(reason) => {
                    report!(
                        Warn,
                        "a tuning table is ignored: {reason}; `fencepost tune` measures another one"
                    );
                    (own, false, false)
                }
            },
        };
        let mut state = lock(&self.state);
        state.table = table;
        state.measures = measures;
        state.in_use.clear();
        state.generation += 1;
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// Returns the table with all measured choices.
    pub(crate) fn table(&self) -> TuningTable {
        lock(&self.state).table.clone()
    }

    /// Returns `false` as long as all verbs take the defaults.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Returns the number of times that the source was set. A measurement passes the number at its start to
    /// [`keep`](Self::keep).
    pub(crate) fn generation(&self) -> u64 {
        lock(&self.state).generation
    }

    /// Returns the number of the variant for a case, or `None` for the default.
    ///
    /// `accept` returns the number of a choice of the table, or `None` if the choice does not fit the kernels or the
    /// adapter. If the choice is missing and the context measures, `measure` is called with the
    /// [`generation`](Self::generation), without a lock.
    pub(crate) fn number(
        &self,
        case: TunedCase,
        may_measure: bool,
        accept: impl Fn(&TunedChoice) -> Option<usize>,
        measure: impl FnOnce(u64) -> Option<TunedChoice>,
    ) -> Option<usize> {
        let state = lock(&self.state);
        if let Some(&number) = state.in_use.get(&case) {
            return Some(number);
        }
        let found = state.table.find(case).cloned();
        let measures = state.measures;
        let generation = state.generation;
        drop(state);
        let accepted = found.as_ref().and_then(&accept);
        if accepted.is_none() && measures && !may_measure {
            return None; // a later call measures
        }
        let mut state = lock(&self.state);
        if state.generation != generation {
            return None; // a later call takes the new choices
        }
        match state.in_use.entry(case) {
            Entry::Occupied(of_other_thread) => return Some(*of_other_thread.get()),
            // Other calls, and those that measure, take the default meanwhile.
            Entry::Vacant(free) => free.insert(accepted.unwrap_or(0)),
        };
        drop(state);
        if accepted.is_some() {
            return accepted;
        }
        if found.is_some() {
            let (kernels, size) = case;
            report!(
                Warn,
                "the choice of the kernels `{kernels}` for {size} elements in the tuning table is ignored: they have changed \
                 since, or the variant does not fit the adapter; tune again"
            );
        }
        if !measures {
            return None;
        }
        let choice = measure(generation)?;
        let number = accept(&choice)?;
        self.keep(generation, case, number, choice).then_some(number)
    }

    /// Adds a measured choice, which the verbs take from now on, and stores it for the next run. Returns `false`, and does
    /// neither, if the source was set after the generation.
    pub(crate) fn keep(&self, generation: u64, case: TunedCase, number: usize, choice: TunedChoice) -> bool {
        let mut state = lock(&self.state);
        if state.generation != generation {
            return false;
        }
        state.table.insert(choice.clone());
        state.measured.insert(choice);
        state.in_use.insert(case, number);
        let measured = state.measured.clone();
        let file = state.file.clone();
        self.is_on.store(true, Ordering::Relaxed);
        drop(state);
        if let Some(file) = file {
            store(&file, &measured);
        }
        true
    }

    /// Returns the highest rates of the adapter, if the table has them or this context has measured them for another
    /// source. Then they are added to the table, unless the source was set after the generation.
    pub(crate) fn known_ceilings(&self, generation: u64) -> Option<Ceilings> {
        let mut state = lock(&self.state);
        let known = state.table.ceilings().or(state.measured.ceilings())?;
        if state.generation == generation {
            state.table.set_ceilings(known);
        }
        Some(known)
    }

    /// Sets the highest rates of the adapter, unless the source was set after the generation. They are stored with the
    /// next choice.
    pub(crate) fn keep_ceilings(&self, generation: u64, ceilings: Ceilings) {
        let mut state = lock(&self.state);
        if state.generation == generation {
            state.table.set_ceilings(ceilings);
            state.measured.set_ceilings(ceilings);
        }
    }
}

/// Adds measured choices to those in a file, which other contexts and processes have measured. If another process writes
/// at the same time, the choices of one of the two may be missing.
fn store(file: &KernelFile, measured: &TuningTable) {
    // A lock of `std` even in loom models, because a static needs a constant initializer.
    static WRITING: PerProcess<std::sync::Mutex<()>> =
        PerProcess::new(std::sync::Mutex::new(()), std::sync::Mutex::default);
    let _writing = WRITING.get().lock().unwrap_or_else(PoisonError::into_inner);
    let own = measured.without_choices();
    let mut all = stored(file, &own).unwrap_or(own);
    all.add(measured);
    file.keep(all.to_string().as_bytes());
}

/// Returns the file of an adapter's table in a folder. A page in a browser has no files.
fn tuning_file(folder: PathBuf, info: &AdapterInfo) -> Option<KernelFile> {
    let AdapterInfo { name, backend, driver, vendor_id, device_id, .. } = info;
    let version = env!("CARGO_PKG_VERSION");
    let device = format!("{name}|{backend}|{driver}|{vendor_id:x}|{device_id:x}|{version}");
    let file = KernelFolder::new(folder, device).tuning_file();
    cfg!(not(target_arch = "wasm32")).then_some(file)
}

/// Returns the table in a file, or `None`, with a message, if it is damaged or of another adapter.
fn stored(file: &KernelFile, own: &TuningTable) -> Option<TuningTable> {
    let bytes = file.load()?;
    let table = match String::from_utf8_lossy(&bytes).parse::<TuningTable>() {
        Ok(table) => table,
        Err(error) => {
            file.report_unread(&error.to_string());
            return None;
        }
    };
    match table.reason_against(own) {
        None => Some(table),
        Some(reason) => {
            file.report_unread(&reason);
            None
        }
    }
}

#[cfg(all(test, cpu))]
mod tests {
    use super::*;
    use crate::runtime::tuning_table::ArraySize;
    use std::cell::Cell;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    const CASE: TunedCase = ("sort", ArraySize::Many);

    fn choice(number: u32) -> TunedChoice {
        TunedChoice::new(CASE, 5, &[("PER", number)], 1.0, 2.0)
    }

    /// Returns the number that the choice has as its parameter, unless it is for other kernels.
    fn accept(choice: &TunedChoice) -> Option<usize> {
        (choice.hash == 5).then(|| choice.values[0].1 as usize)
    }

    fn table(number: u32) -> TuningTable {
        let mut table = TuningTable::of(&AdapterInfo::cpu_recorder());
        table.insert(choice(number));
        table
    }

    fn tuning() -> ContextTuning {
        ContextTuning::new(&AdapterInfo::cpu_recorder())
    }

    /// Returns the number in use, where nothing may be measured.
    fn of_table(tuning: &ContextTuning) -> Option<usize> {
        let number = || tuning.number(CASE, true, accept, |_| panic!("the context does not measure"));
        tuning.is_on().then(number).flatten()
    }

    #[test]
    fn a_table_decides_until_another_one_is_set() {
        let tuning = tuning();
        assert_eq!(of_table(&tuning), None);
        for number in [3, 4] {
            tuning.set(TuningChoice::Table(table(number)));
            assert_eq!([of_table(&tuning), of_table(&tuning)], [Some(number as usize); 2]);
        }
        tuning.set(TuningChoice::Defaults);
        assert_eq!(of_table(&tuning), None);
        assert!(tuning.table().choices().is_empty());
    }

    #[test]
    fn a_foreign_table_and_a_choice_for_other_kernels_are_ignored() {
        let tuning = tuning();
        let mut foreign = TuningTable::of(&AdapterInfo::cpu());
        foreign.insert(choice(3));
        tuning.set(TuningChoice::Table(foreign));
        assert_eq!(of_table(&tuning), None);
        let mut changed = table(3);
        changed.insert(TunedChoice { hash: 6, ..choice(3) });
        tuning.set(TuningChoice::Table(changed));
        assert_eq!([of_table(&tuning), of_table(&tuning)], [None, Some(0)]);
    }

    #[test]
    fn the_first_use_measures_once_where_it_may() {
        let tuning = tuning();
        tuning.set(TuningChoice::OnFirstUse);
        let measured = Cell::new(0);
        let number = |may_measure| {
            tuning.number(CASE, may_measure, accept, |_| {
                measured.set(measured.get() + 1);
                // A measurement asks again, and gets the default.
                assert_eq!(tuning.number(CASE, true, accept, |_| panic!("it measures already")), Some(0));
                Some(choice(3))
            })
        };
        assert_eq!((number(false), measured.get()), (None, 0));
        assert_eq!((number(true), measured.get()), (Some(3), 1));
        assert_eq!((number(true), number(false), measured.get()), (Some(3), Some(3), 1));
        assert_eq!(tuning.table(), table(3));
    }

    #[test]
    fn one_of_two_threads_measures() {
        let tuning = tuning();
        tuning.set(TuningChoice::OnFirstUse);
        let changed = TunedChoice { hash: 6, ..choice(3) };
        lock(&tuning.state).table.insert(changed);
        let both_have_looked = Barrier::new(2);
        let measured = AtomicUsize::new(0);
        let number = || {
            let accept = |choice: &TunedChoice| {
                if choice.hash == 6 {
                    both_have_looked.wait();
                }
                accept(choice)
            };
            tuning.number(CASE, true, accept, |_| {
                measured.fetch_add(1, Ordering::Relaxed);
                Some(choice(3))
            })
        };
        std::thread::scope(|scope| {
            scope.spawn(number);
            scope.spawn(number);
        });
        assert_eq!(measured.load(Ordering::Relaxed), 1);
        assert_eq!(number(), Some(3));
    }

    #[test]
    fn a_measurement_that_ends_after_another_source_is_set_changes_nothing() {
        let during = |set: TuningChoice| {
            let tuning = tuning();
            tuning.set(TuningChoice::OnFirstUse);
            let number = tuning.number(CASE, true, accept, |generation| {
                tuning.set(set.clone());
                tuning.keep_ceilings(generation, Ceilings::new(1.0, 2.0));
                Some(choice(3))
            });
            assert_eq!(number, None);
            tuning
        };
        let tuning = during(TuningChoice::Defaults);
        assert_eq!(
            (of_table(&tuning), tuning.table()),
            (None, TuningTable::of(&AdapterInfo::cpu_recorder()))
        );
        let tuning = during(TuningChoice::Table(table(4)));
        assert_eq!((of_table(&tuning), tuning.table()), (Some(4), table(4)));
        // A source that is set before a choice is measured stays.
        let generation = tuning.generation();
        tuning.keep_ceilings(generation, Ceilings::new(1.0, 2.0));
        assert!(tuning.keep(generation, CASE, 5, choice(5)));
        assert_eq!((of_table(&tuning), tuning.table().ceilings().is_some()), (Some(5), true));
    }

    #[test]
    fn the_highest_rates_of_an_adapter_stay_when_the_source_changes() {
        let tuning = tuning();
        assert_eq!(tuning.known_ceilings(tuning.generation()), None);
        let rates = Ceilings::new(1.0, 2.0);
        tuning.keep_ceilings(tuning.generation(), rates);
        let before = tuning.generation();
        tuning.set(TuningChoice::OnFirstUse);
        assert_eq!(tuning.table().ceilings(), None);
        assert_eq!(tuning.known_ceilings(before), Some(rates));
        assert_eq!(tuning.table().ceilings(), None, "an earlier measurement changes nothing");
        assert_eq!(tuning.known_ceilings(tuning.generation()), Some(rates));
        assert_eq!(tuning.table().ceilings(), Some(rates));
        // The rates of a table that was set come first.
        let mut other = table(3);
        other.set_ceilings(Ceilings::new(3.0, 4.0));
        tuning.set(TuningChoice::Table(other));
        assert_eq!(tuning.known_ceilings(tuning.generation()), Some(Ceilings::new(3.0, 4.0)));
    }

    #[test]
    fn a_measurement_without_a_result_is_not_repeated() {
        let tuning = tuning();
        tuning.set(TuningChoice::OnFirstUse);
        assert_eq!(tuning.number(CASE, true, accept, |_| None), None);
        assert_eq!(of_table(&tuning), Some(0));
        assert!(tuning.table().choices().is_empty());
    }

    #[test]
    fn contexts_with_one_file_add_their_measured_choices_to_it() {
        let folder = std::env::temp_dir().join(format!("fencepost-tuned-by-two-{}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok(); // a killed run may have left the folder
        let info = AdapterInfo::cpu_recorder();
        let opened = |choice| {
            let tuning = ContextTuning::new(&info);
            tuning.open(choice, Some(folder.clone()), &info);
            tuning
        };
        let of = |kernels: &'static str, number: u32| {
            TunedChoice::new((kernels, ArraySize::Few), 5, &[("PER", number)], 1.0, 2.0)
        };
        let keep = |tuning: &ContextTuning, kernels: &'static str, number: u32| {
            let case = (kernels, ArraySize::Few);
            assert!(tuning.keep(tuning.generation(), case, number as usize, of(kernels, number)));
        };
        let mut imported = table(4);
        imported.insert(of("histogram", 9));
        let contexts =
            [TuningChoice::OnFirstUse, TuningChoice::Table(imported), TuningChoice::Defaults].map(opened);
        keep(&contexts[0], "reduce", 1);
        contexts[1].keep_ceilings(contexts[1].generation(), Ceilings::new(1.0, 2.0));
        keep(&contexts[1], "scan", 2);
        keep(&contexts[2], "reduce", 3);
        let stored = opened(TuningChoice::OnFirstUse).table();
        assert_eq!(stored.choices(), [of("reduce", 3), of("scan", 2)], "an imported choice is not stored");
        assert_eq!(stored.ceilings(), Some(Ceilings::new(1.0, 2.0)));
        std::fs::remove_dir_all(&folder).expect("the folder is there");
    }

    #[test]
    fn a_file_stores_the_choices_for_the_next_context_that_measures() {
        let folder = std::env::temp_dir().join(format!("fencepost-tuned-{}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok(); // a killed run may have left the folder
        let info = AdapterInfo::cpu_recorder();
        let opened = |choice, info: &AdapterInfo| {
            let tuning = ContextTuning::new(info);
            tuning.open(choice, Some(folder.clone()), info);
            tuning
        };
        opened(TuningChoice::OnFirstUse, &info).number(CASE, true, accept, |_| Some(choice(3)));
        assert_eq!(of_table(&opened(TuningChoice::OnFirstUse, &info)), Some(3));
        assert_eq!(of_table(&opened(TuningChoice::Defaults, &info)), None, "the defaults read no file");
        let other = AdapterInfo { driver: "another".into(), ..AdapterInfo::cpu_recorder() };
        assert!(opened(TuningChoice::OnFirstUse, &other).table().choices().is_empty(), "another driver");
        let files: Vec<_> = std::fs::read_dir(&folder).expect("a folder").collect();
        let [Ok(file)] = &files[..] else { panic!("there is one file: {files:?}") };
        let mut bytes = std::fs::read(file.path()).expect("a file");
        *bytes.last_mut().expect("it has bytes") ^= 1;
        std::fs::write(file.path(), bytes).expect("the folder can be written");
        assert!(opened(TuningChoice::OnFirstUse, &info).table().choices().is_empty(), "a damaged file");
        std::fs::remove_dir_all(&folder).expect("the folder is there");
    }
}
