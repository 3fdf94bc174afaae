//! The observer that checks a launch.

use super::finding::{Absent, AccessKind, Mistake};
use super::list::{Key, List};
use super::memory::Memories;
use super::names::{Names, Raw};
use super::nan::new_nan;
use super::operands::{Check, integer};
use super::options::CheckOptions;
use super::race;
use super::sets::{Actor, Sets, Word};
use super::shadow;
use super::unread::{self, Unread};
use super::work::Work;
use crate::interpret::{Missing, Observer, Site, Touched};
use naga::{Barrier, Expression, Handle, TypeInner};
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Observer that collects the mistakes of a launch.
pub(super) struct Checker<'k> {
    pub(super) names: Names<'k>,
    options: CheckOptions,
    pub(super) list: List,
    pub(super) memories: Memories,
    /// Accesses of the workgroup to its variables since their last barrier.
    near: Sets,
    /// Accesses of the workgroup to buffers since their last barrier.
    near_storage: Sets,
    /// Accesses of all workgroups to buffers.
    far: Sets,
    /// Reads of unwritten memory since the last barrier of each kind.
    unread: Vec<Unread>,
    unread_storage: Vec<Unread>,
    /// Reads of unwritten buffers since the start of the launch.
    unread_far: Vec<Unread>,
    pub(super) work: Work<'k>,
    /// First invocation of the workgroup.
    first: Actor,
    /// For each invocation, the elements whose last index was out of range, by function and expression.
    moved: FxHashSet<(u32, usize, Handle<Expression>)>,
}

impl<'k> Checker<'k> {
    /// Prepares to observe a launch that ends when `stop` is `true`.
    pub(super) fn new(
        names: Names<'k>,
        memories: Memories,
        options: CheckOptions,
        stop: &'k AtomicBool,
    ) -> Self {
        let size = names.group_size();
        let storage = memories.words(true);
        Self {
            names,
            options,
            list: List::default(),
            near: Sets::new(1, &memories.words(false)),
            near_storage: Sets::new(1, &storage),
            far: Sets::new(size, &storage),
            memories,
            unread: Vec::new(),
            unread_storage: Vec::new(),
            unread_far: Vec::new(),
            work: Work::new(stop),
            first: 0,
            moved: FxHashSet::default(),
        }
    }

    /// Finds mistakes that are known only at the end of the launch.
    ///
    /// After a launch that ended early, reads of unwritten memory are not findings, because invocations that did not
    /// run might have written it. The same holds for an analysis that ended early; then the call returns `false`.
    pub(super) fn finish(&mut self, complete: bool) -> bool {
        if !complete {
            self.unread.clear();
            self.unread_storage.clear();
            self.unread_far.clear();
        }
        self.pass(true);
        self.pass(false);
        race::find(&mut self.list, &self.names, &self.memories, &self.far, true, &mut self.work);
        if self.work.is_stopped() {
            self.unread_far.clear();
        }
        for read in unread::without(&mut self.unread_far, &self.far, &mut self.work) {
            read.add(&mut self.list, &self.names, &self.memories);
        }
        self.far.clear();
        !self.work.is_stopped()
    }

    /// Finds mistakes between two barriers, either for buffers or for workgroup variables.
    fn pass(&mut self, storage: bool) {
        let Self { near, near_storage, far, unread, unread_storage, unread_far, work, .. } = self;
        let (near, unread) = if storage { (near_storage, unread_storage) } else { (near, unread) };
        race::find(&mut self.list, &self.names, &self.memories, near, false, work);
        for read in unread::without(unread, near, work) {
            if storage {
                unread_far.push(read);
            } else {
                read.add(&mut self.list, &self.names, &self.memories);
            }
        }
        if storage {
            for of_word in near.words() {
                if !work.goes_on(u64::from(of_word.sets)) {
                    break;
                }
                for set in near.of(of_word) {
                    let actor = set.actors().next().unwrap_or_default();
                    far.add(of_word.word, (set.site, set.region), (set.mask, set.kind), actor);
                }
            }
        }
        near.clear();
    }

    fn access(&mut self, site: Site, touched: Touched, kind: AccessKind) {
        let Touched::Memory { region, byte, bytes } = touched else { return };
        let Some(area) = self.memories.area(region) else { return };
        let number = self.names.sites.number(&site);
        let actor = self.first + u64::from(site.invocation);
        let moved = !self.moved.is_empty() && self.is_moved(&site);
        let range = byte..byte.saturating_add(bytes).min(area.bytes);
        for at in range.start / 4..range.end.div_ceil(4) {
            let word = Word { memory: area.memory, number: area.base + at };
            let mask = shadow::mask(at, &range);
            let missing = self.memories.access(word, mask, kind);
            if moved {
                continue;
            }
            if missing != 0 && area.tracked {
                let raw = Raw { site: number, kind, actor };
                self.add_unread(Unread { raw, region, word, missing }, area.shared, area.storage);
            }
            if area.shared {
                let near = if area.storage { &mut self.near_storage } else { &mut self.near };
                near.add(word, (number, region), (mask, kind), actor);
            }
        }
        if self.options.whole_vectors && kind == AccessKind::Write && !moved {
            self.access_vector(number, region, range, actor);
        }
    }

    /// Adds a store to a component as a store to the other components of its vector.
    fn access_vector(&mut self, site: u32, region: u16, component: Range<u64>, actor: Actor) {
        let vector = self.names.sites.vector(site);
        let area = self.memories.area(region);
        let (Some(vector), Some(area)) = (vector, area) else { return };
        let start = component.start / vector.alignment * vector.alignment;
        let whole = start..(start + vector.bytes).min(area.bytes);
        let near = if area.storage { &mut self.near_storage } else { &mut self.near };
        for at in whole.start / 4..whole.end.div_ceil(4) {
            let word = Word { memory: area.memory, number: area.base + at };
            let others = [whole.start..component.start, component.end..whole.end];
            for part in others.map(|part| part.start.max(4 * at)..part.end.min(4 * at + 4)) {
                if !part.is_empty() {
                    near.add(word, (site, region), (shadow::mask(at, &part), AccessKind::Write), actor);
                }
            }
        }
    }

    fn add_unread(&mut self, unread: Unread, shared: bool, storage: bool) {
        match (shared, storage) {
            (false, _) => unread.add(&mut self.list, &self.names, &self.memories),
            (true, false) => self.unread.push(unread),
            (true, true) => self.unread_storage.push(unread),
        }
    }

    /// Returns `true` for an access through an index out of range: it reached another element than the one that the
    /// shader names.
    fn is_moved(&self, site: &Site) -> bool {
        let Some(pointer) = site.expression else { return false };
        let mut chain = self.names.chain(site, pointer);
        chain.any(|at| self.moved.contains(&(site.invocation, site.function, at)))
    }

    /// Adds an index that is out of range.
    fn add_index(&mut self, site: Site, bits: u64, len: u64) {
        let Some(expression) = site.expression else { return };
        self.moved.insert((site.invocation, site.function, expression));
        let names = &self.names;
        let module = self.names.program.module();
        let number = names.sites.number(&site);
        let actor = self.first + u64::from(site.invocation);
        self.list.add(Key::Index { site: number }, [actor, 0, 0, 0, 0, 0], || {
            let function = names.function(&site);
            let info = names.info(&site);
            let (base, index) = match function.expressions[expression] {
                Expression::Access { base, index } => {
                    let ty = info[index].ty.inner_with(&module.types);
                    let signed =
                        matches!(ty, TypeInner::Scalar(scalar) if scalar.kind == naga::ScalarKind::Sint);
                    let ty = if signed { naga::Scalar::I32 } else { naga::Scalar::U32 };
                    (base, integer(ty, bits))
                }
                Expression::AccessIndex { base, .. } => (base, bits.into()),
                _ => (expression, bits.into()),
            };
            let array = super::path::describe(module, function, base);
            Mistake::IndexOutOfRange { step: names.step(number, actor), array, index, len }
        });
    }
}

impl Observer for Checker<'_> {
    fn group(&mut self, workgroup: [u32; 3]) {
        self.pass(true);
        self.pass(false);
        self.moved.clear();
        self.first = self.names.first(workgroup);
        if self.options.unwritten_workgroup {
            self.memories.clear_workgroup();
        }
    }

    fn load(&mut self, site: Site, touched: Touched) {
        self.access(site, touched, AccessKind::Read);
    }

    fn store(&mut self, site: Site, touched: Touched) {
        self.access(site, touched, AccessKind::Write);
    }

    fn atomic(&mut self, site: Site, touched: Touched) {
        self.access(site, touched, self.names.atomic_kind(&site));
    }

    fn index(&mut self, site: Site, index: u64, len: u64) {
        if index >= len {
            self.add_index(site, index, len);
        } else if let (false, Some(expression)) = (self.moved.is_empty(), site.expression) {
            self.moved.remove(&(site.invocation, site.function, expression));
        }
    }

    fn compute(&mut self, site: Site, operands: &[u64]) {
        let names = &self.names;
        let site_number = self.names.sites.number(&site);
        let check = *names.sites.check(site_number);
        let actor = self.first + u64::from(site.invocation);
        let order = [actor, 0, 0, 0, 0, 0];
        if check == Check::Float && self.options.nan {
            let function = names.function(&site);
            let info = names.info(&site);
            let Some(expression) = site.expression else { return };
            let module = names.program.module();
            if let Some(operation) = new_nan(module, function, info, expression, operands) {
                let step = || names.step(site_number, actor);
                self.list.add(Key::Nan { site: site_number }, order, || Mistake::NewNan {
                    step: step(),
                    operation,
                });
            }
        } else if let (true, Some(wrong)) = (self.options.operands, check.find(operands)) {
            let key = Key::Operands { site: site_number, kind: wrong.kind };
            self.list.add(key, order, || wrong.mistake(names.step(site_number, actor)));
        }
    }

    fn barrier(&mut self, site: Site) {
        let flags = self.names.sites.barrier(&site);
        if flags.contains(Barrier::STORAGE) {
            self.pass(true);
        }
        if flags.contains(Barrier::WORK_GROUP) {
            self.pass(false);
        }
    }

    fn split(&mut self, waits: Site, missing: Missing) {
        let names = &self.names;
        let first = self.first;
        let step = |site: &Site| names.step(names.sites.number(site), first + u64::from(site.invocation));
        self.list.add(Key::Barrier, [0; 6], || Mistake::BarrierMissed {
            waits: step(&waits),
            absent: match missing {
                Missing::Waits(site) => Absent::Waits(step(&site)),
                Missing::Ended(number) => Absent::Ended(names.invocation(first + u64::from(number))),
            },
        });
    }
}
