//! The wakers of a context, by the condition that they wait for. S is the state lock.
use fencepost_sync::{HoldId, Point, Seq, Slot, Stamp};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;
use std::sync::{Arc, Weak};
use std::task::Waker;

/// A context that stores wakers.
pub(crate) trait WakerOwner: Send + Sync {
    /// Removes `waker` here and in the contexts that it was forwarded to.
    fn forget(&self, waker: &Waker);
}

/// Condition under which a waker is called. The tables rely on the order of the variants: conditions of completion come
/// before conditions of submission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum WakeCondition {
    /// A queue reaches a point.
    Point(Slot, Stamp),
    /// A batch is complete.
    Batch(Seq),
    /// A user event has ended.
    User(HoldId),
    /// A point is submitted.
    Submitted(Slot, Stamp),
}

impl WakeCondition {
    /// The smallest condition.
    const FIRST: WakeCondition = WakeCondition::Point(Slot(0), Stamp(0));
    const FIRST_SUBMITTED: WakeCondition = WakeCondition::Submitted(Slot(0), Stamp(0));

    pub(crate) fn point(point: Point) -> Self {
        WakeCondition::Point(point.slot, point.stamp)
    }

    pub(crate) fn submitted(point: Point) -> Self {
        WakeCondition::Submitted(point.slot, point.stamp)
    }
}

/// Identity of a waker: its data pointer, because its function table may have several addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct WakerName(usize);

impl WakerName {
    const LOWEST: WakerName = WakerName(0);
    const HIGHEST: WakerName = WakerName(usize::MAX);

    /// Returns the name, or `None` for the waker that does nothing.
    fn of(waker: &Waker) -> Option<Self> {
        Some(Self(waker.data() as usize)).filter(|name| *name != Self::LOWEST)
    }
}

/// The wakers of a context. A waker is registered once for each condition, and all its registrations are removed
/// together.
///
/// No method here calls, clones or drops user code: a waker belongs to a [`TaskWaker`](fencepost_sync::TaskWaker), to a
/// relay or to a loop in chunks, and removed wakers are dropped outside S.
#[derive(Default)]
pub(crate) struct Wakers {
    registered: BTreeMap<(WakeCondition, WakerName), Waker>,
    /// Exactly the keys of `registered`, by waker.
    conditions: BTreeSet<(WakerName, WakeCondition)>,
    /// For each waker, the other contexts that it is registered with because this context waits for them.
    forwarded: BTreeMap<WakerName, Vec<Weak<dyn WakerOwner>>>,
}

impl Wakers {
    /// Registers `waker` for `condition`. The waker that does nothing is not stored.
    pub(crate) fn register(&mut self, condition: WakeCondition, waker: &Waker) {
        if let Some(name) = WakerName::of(waker)
            && self.conditions.insert((name, condition))
        {
            self.registered.insert((condition, name), waker.clone());
        }
        debug_assert_eq!(self.registered.len(), self.conditions.len(), "bug: a registration has no waker");
    }

    /// Records that `waker` is also registered with another context.
    pub(crate) fn forward_waker(&mut self, waker: &Waker, to: &Arc<dyn WakerOwner>) {
        let Some(name) = WakerName::of(waker) else { return };
        let known = self.forwarded.entry(name).or_default();
        if !known.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(to))) {
            known.push(Arc::downgrade(to));
        }
    }

    /// Removes all registrations of a waker. Returns the wakers to drop and the other contexts that the waker is
    /// registered with.
    pub(crate) fn remove(&mut self, waker: &Waker) -> (Vec<Waker>, Vec<Weak<dyn WakerOwner>>) {
        let Some(name) = WakerName::of(waker) else { return Default::default() };
        let conditions = self.conditions.range((name, WakeCondition::FIRST)..).take_while(|at| at.0 == name);
        let at: Vec<WakeCondition> = conditions.map(|at| at.1).collect();
        let removed = at.into_iter().filter_map(|condition| self.take_one(condition, name)).collect();
        (removed, self.forwarded.remove(&name).unwrap_or_default())
    }

    /// Removes and returns the wakers of one condition.
    pub(crate) fn take(&mut self, condition: WakeCondition) -> Vec<Waker> {
        self.take_within((condition, WakerName::LOWEST)..=(condition, WakerName::HIGHEST))
    }

    /// Removes and returns the wakers of a queue's points up to `upto`.
    pub(crate) fn take_upto(&mut self, slot: Slot, upto: Stamp) -> Vec<Waker> {
        let last = (WakeCondition::Point(slot, upto), WakerName::HIGHEST);
        self.take_within((WakeCondition::Point(slot, Stamp(0)), WakerName::LOWEST)..=last)
    }

    /// Removes and returns the wakers of the points that their queues have reached.
    pub(crate) fn take_reached(&mut self, completed: impl Fn(Slot) -> Stamp) -> Vec<Waker> {
        let (mut taken, mut from) = (Vec::new(), Slot(0));
        while let Some(slot) = self.first_slot(from) {
            taken.append(&mut self.take_upto(slot, completed(slot)));
            from = Slot(slot.0 + 1);
        }
        taken
    }

    fn first_slot(&self, from: Slot) -> Option<Slot> {
        match self.registered.range((WakeCondition::Point(from, Stamp(0)), WakerName::LOWEST)..).next()?.0.0 {
            WakeCondition::Point(slot, _) => Some(slot),
            _ => None,
        }
    }

    /// Removes and returns the wakers that wait for the submission of a point for which `due` holds.
    pub(crate) fn take_submitted(&mut self, due: impl Fn(Point) -> bool) -> Vec<Waker> {
        let waiting =
            self.registered.range((WakeCondition::FIRST_SUBMITTED, WakerName::LOWEST)..).map(|(&at, _)| at);
        let is_due = |condition| match condition {
            WakeCondition::Submitted(slot, stamp) => due(Point { slot, stamp }),
            _ => false,
        };
        let at: Vec<(WakeCondition, WakerName)> =
            waiting.filter(|&(condition, _)| is_due(condition)).collect();
        at.into_iter().filter_map(|(condition, name)| self.take_one(condition, name)).collect()
    }

    /// Returns `true` if a waker waits for a submission.
    pub(crate) fn has_submission_wakers(&self) -> bool {
        self.registered
            .last_key_value()
            .is_some_and(|((condition, _), _)| *condition >= WakeCondition::FIRST_SUBMITTED)
    }

    /// Returns `true` if a waker waits for a condition other than a submission.
    pub(crate) fn has_completion_wakers(&self) -> bool {
        self.registered
            .first_key_value()
            .is_some_and(|((condition, _), _)| *condition < WakeCondition::FIRST_SUBMITTED)
    }

    /// Removes and returns the wakers that wait for a condition other than a submission.
    pub(crate) fn take_completion_wakers(&mut self) -> Vec<Waker> {
        self.take_within(..(WakeCondition::FIRST_SUBMITTED, WakerName::LOWEST))
    }

    /// Removes and returns all wakers.
    pub(crate) fn take_all(&mut self) -> Vec<Waker> {
        self.take_within(..)
    }

    /// Returns the number of registrations.
    pub(crate) fn len(&self) -> usize {
        self.registered.len()
    }

    fn take_within(&mut self, range: impl RangeBounds<(WakeCondition, WakerName)>) -> Vec<Waker> {
        let at: Vec<(WakeCondition, WakerName)> = self.registered.range(range).map(|(&at, _)| at).collect();
        at.into_iter().filter_map(|(condition, name)| self.take_one(condition, name)).collect()
    }

    fn take_one(&mut self, condition: WakeCondition, name: WakerName) -> Option<Waker> {
        self.conditions.remove(&(name, condition));
        let waker = self.registered.remove(&(condition, name));
        debug_assert_eq!(self.registered.len(), self.conditions.len(), "bug: a registration has no waker");
        waker
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn wakers<const N: usize>() -> [Waker; N] {
        [(); N].map(|()| Waker::from(Arc::<Count>::default()))
    }

    fn same(taken: &[Waker], expected: &[&Waker]) -> bool {
        taken.len() == expected.len()
            && expected.iter().all(|waker| taken.iter().any(|taken| taken.will_wake(waker)))
    }

    const CONDITIONS: [WakeCondition; 4] = [
        WakeCondition::Point(Slot(1), Stamp(5)),
        WakeCondition::Batch(Seq(0)),
        WakeCondition::User(HoldId(0)),
        WakeCondition::Submitted(Slot(1), Stamp(5)),
    ];

    #[test]
    fn a_waker_is_registered_once_for_each_condition() {
        let ([first, second], mut all) = (wakers(), Wakers::default());
        for condition in CONDITIONS {
            [&first, &second, &first, Waker::noop()]
                .into_iter()
                .for_each(|waker| all.register(condition, waker));
        }
        assert_eq!(all.len(), 8);
        for condition in CONDITIONS {
            assert!(same(&all.take(condition), &[&first, &second]), "{condition:?}");
        }
        assert!(all.registered.is_empty() && all.conditions.is_empty());
    }

    #[test]
    fn removing_a_waker_removes_all_its_registrations_and_no_other_waker() {
        let ([first, second], mut all) = (wakers(), Wakers::default());
        for condition in CONDITIONS {
            [&first, &second].into_iter().for_each(|waker| all.register(condition, waker));
        }
        assert!(same(&all.remove(&first).0, &[&first; 4]));
        assert!(all.remove(&first).0.is_empty());
        assert!(same(&all.take_all(), &[&second; 4]) && all.conditions.is_empty());
    }

    #[test]
    fn wakers_of_points_are_taken_per_queue_and_in_order() {
        let ([a, b, c, d], mut all) = (wakers(), Wakers::default());
        for (slot, stamp, waker) in [(1, 3, &a), (1, 4, &b), (2, 3, &c), (4, 9, &d)] {
            all.register(WakeCondition::Point(Slot(slot), Stamp(stamp)), waker);
        }
        assert!(same(&all.take_upto(Slot(1), Stamp(3)), &[&a]));
        let completed = |slot: Slot| Stamp(if slot == Slot(2) { 2 } else { 9 });
        assert!(same(&all.take_reached(completed), &[&b, &d]));
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn wakers_of_completions_are_separate_from_wakers_of_submissions() {
        let ([a, b, c, d], mut all) = (wakers(), Wakers::default());
        all.register(CONDITIONS[3], &d);
        assert!(all.has_submission_wakers() && !all.has_completion_wakers());
        for (condition, waker) in CONDITIONS.into_iter().zip([&a, &b, &c]) {
            all.register(condition, waker);
        }
        assert!(all.has_completion_wakers());
        assert!(same(&all.take_completion_wakers(), &[&a, &b, &c]));
        assert!(all.take_submitted(|_| false).is_empty());
        assert!(same(&all.take_submitted(|point| point.stamp == Stamp(5)), &[&d]));
        assert!(!all.has_submission_wakers() && all.take_all().is_empty());
    }
}
