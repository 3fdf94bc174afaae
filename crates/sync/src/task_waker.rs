//! The single waker that a future registers, even if several tasks poll the future.

use crate::prim::{Mutex, assert_unlocked, lock, thread_local};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// The single waker that a future registers. It wakes the task that polled the future last.
///
/// Each poll may bring another waker. The registered waker stays the same through all polls, so a list that compares
/// wakers with [`Waker::will_wake`] contains it only once, however often the future is polled.
///
/// # Example
/// ```
/// use std::task::Waker;
/// let mut task_waker = fencepost_sync::TaskWaker::default();
/// assert!(task_waker.waker().is_none());
/// let first = task_waker.set(Waker::noop()).clone();
/// assert!(task_waker.set(Waker::noop()).will_wake(&first));
/// ```
#[derive(Default)]
pub struct TaskWaker(Option<(Arc<Task>, Waker)>);

thread_local! {
    /// Number of the program's wakers and destructors that are running on this thread, nested.
    static IN_TASK: Cell<u32> = Cell::default();
    /// Tasks that this thread wakes [later](TasksLater). `None` while this thread wakes tasks at once.
    static LATER: RefCell<Option<Vec<Arc<Task>>>> = RefCell::default();
}

/// Returns `true` while this thread runs the waker of a task, called by a [`TaskWaker`], or [other user code](InTask).
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use std::task::{Wake, Waker};
///
/// struct Task;
/// impl Wake for Task {
///     fn wake(self: Arc<Self>) {
///         assert!(fencepost_sync::in_task());
///     }
/// }
/// let mut task_waker = fencepost_sync::TaskWaker::default();
/// task_waker.set(&Waker::from(Arc::new(Task))).wake_by_ref();
/// assert!(!fencepost_sync::in_task());
/// ```
pub fn in_task() -> bool {
    IN_TASK.with(Cell::get) > 0
}

/// Deferral of wakers: while a value of this type lives, this thread collects the tasks that a [`TaskWaker`] would
/// wake, and [`end`](Self::end) returns them. A waker is user code, and may wait for something that this thread does
/// later, which would be a deadlock.
///
/// # Example
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// use std::sync::Arc;
/// use std::task::{Wake, Waker};
///
/// struct Task(AtomicBool);
/// impl Wake for Task {
///     fn wake(self: Arc<Self>) {
///         self.0.store(true, Relaxed);
///     }
/// }
/// let task = Arc::new(Task(AtomicBool::new(false)));
/// let mut task_waker = fencepost_sync::TaskWaker::default();
/// let later = fencepost_sync::TasksLater::enter();
/// task_waker.set(&Waker::from(task.clone())).wake_by_ref();
/// assert!(!task.0.load(Relaxed));
/// later.end().into_iter().for_each(Waker::wake);
/// assert!(task.0.load(Relaxed));
/// ```
#[derive(Debug)]
pub struct TasksLater {
    outermost: bool,
}

impl TasksLater {
    /// Starts to collect tasks on this thread.
    pub fn enter() -> Self {
        let outermost = LATER.try_with(|later| {
            let mut later = later.borrow_mut();
            let outermost = later.is_none();
            later.get_or_insert_default();
            outermost
        });
        // In a destructor at the end of a thread, the list may be gone already; the thread then wakes tasks at once.
        Self { outermost: outermost.unwrap_or(false) }
    }

    /// Returns wakers for the collected tasks, or none if an outer value of this type still collects them.
    #[must_use = "the tasks are still to be woken"]
    pub fn end(self) -> Vec<Waker> {
        let tasks = if self.outermost { taken() } else { None };
        tasks.into_iter().flatten().map(Waker::from).collect()
    }
}

impl Drop for TasksLater {
    /// Wakes the collected tasks if a panic prevented the call of [`end`](Self::end).
    fn drop(&mut self) {
        if self.outermost {
            let tasks = taken();
            tasks.into_iter().flatten().for_each(Wake::wake);
        }
    }
}

/// Takes the collected tasks of this thread.
fn taken() -> Option<Vec<Arc<Task>>> {
    LATER.try_with(RefCell::take).ok().flatten()
}

/// Collects `task` for later if this thread collects tasks. Otherwise returns `false`.
fn keep(task: &Arc<Task>) -> bool {
    let kept = LATER.try_with(|later| {
        let mut later = later.borrow_mut();
        later.as_mut().map(|later| later.push(task.clone())).is_some()
    });
    kept.unwrap_or(false)
}

/// Mark of a thread that runs user code on behalf of the library: a waker or a destructor, which may block.
///
/// # Example
/// ```
/// let inside = fencepost_sync::InTask::enter();
/// assert!(fencepost_sync::in_task());
/// drop(inside);
/// assert!(!fencepost_sync::in_task());
/// ```
#[derive(Debug)]
pub struct InTask(());

impl InTask {
    /// Marks this thread until the value is dropped.
    #[must_use]
    pub fn enter() -> Self {
        IN_TASK.with(|count| count.set(count.get() + 1));
        Self(())
    }
}

impl Drop for InTask {
    fn drop(&mut self) {
        IN_TASK.with(|count| count.set(count.get() - 1));
    }
}

/// State shared by a [`TaskWaker`] and its registered waker: the task to wake, until it is woken.
struct Task(Mutex<Option<Waker>>);

impl TaskWaker {
    /// Makes the registered waker wake `task`, once, instead of an earlier task. Returns the waker to register.
    pub fn set(&mut self, task: &Waker) -> &Waker {
        let (at, waker) = self.0.get_or_insert_with(|| {
            let at = Arc::new(Task(Mutex::new(None)));
            (at.clone(), Waker::from(at))
        });
        at.set(task);
        waker
    }

    /// Returns the waker to register, or `None` if [`set`](Self::set) was never called.
    pub fn waker(&self) -> Option<&Waker> {
        self.0.as_ref().map(|(_, waker)| waker)
    }
}

impl Task {
    // Wakers are user code, so they are cloned and dropped outside the lock.
    fn set(&self, task: &Waker) {
        if !lock(&self.0).as_ref().is_some_and(|known| known.will_wake(task)) {
            assert_unlocked("the clone of a waker");
            let task = task.clone();
            let before = lock(&self.0).replace(task);
            drop(before);
        }
    }

    fn take(&self) -> Option<Waker> {
        lock(&self.0).take()
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if keep(self) {
            return;
        }
        if let Some(task) = self.take() {
            assert_unlocked("a waker");
            let _in = InTask::enter();
            task.wake();
        }
    }
}

impl Drop for TaskWaker {
    /// Removes the task, so that copies of the waker that are still registered wake nothing.
    fn drop(&mut self) {
        if let Some((at, _)) = &self.0 {
            let task = at.take();
            if task.is_some() {
                assert_unlocked("the drop of a waker");
            }
            drop(task);
        }
    }
}

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn tasks() -> [(Arc<Count>, Waker); 2] {
        [(); 2].map(|()| {
            let count = Arc::<Count>::default();
            (count.clone(), Waker::from(count))
        })
    }

    fn woken(tasks: &[(Arc<Count>, Waker); 2]) -> [u32; 2] {
        tasks.each_ref().map(|(count, _)| count.0.load(Ordering::Relaxed))
    }

    #[test]
    fn the_task_that_polled_last_is_woken_once() {
        let tasks = tasks();
        let mut task_waker = TaskWaker::default();
        let left = task_waker.set(&tasks[0].1).clone();
        assert!(task_waker.set(&tasks[1].1).will_wake(&left));
        left.wake_by_ref();
        left.wake();
        assert_eq!(woken(&tasks), [0, 1]);
    }

    #[test]
    fn a_task_that_polls_again_is_woken_again() {
        let tasks = tasks();
        let mut task_waker = TaskWaker::default();
        for _ in 0..3 {
            task_waker.set(&tasks[0].1).wake_by_ref();
        }
        assert_eq!(woken(&tasks), [3, 0]);
    }

    #[test]
    fn a_dropped_future_leaves_no_task_to_wake() {
        let tasks = tasks();
        let mut task_waker = TaskWaker::default();
        let left = task_waker.set(&tasks[0].1).clone();
        drop(task_waker);
        assert_eq!(Arc::strong_count(&tasks[0].0), 2);
        left.wake();
        assert_eq!(woken(&tasks), [0, 0]);
    }
}
