//! Values that a callback takes along. Everywhere but in a web page, they are `Send` already.

#[cfg(target_arch = "wasm32")]
pub use page::Carried;

/// A value that a callback takes along. In a web page, where results are not `Send`, the value stays in a table of the
/// page's thread.
#[cfg(not(target_arch = "wasm32"))]
pub struct Carried<T>(T);

#[cfg(not(target_arch = "wasm32"))]
impl<T: 'static> Carried<T> {
    pub fn new(value: T) -> Self {
        Self(value)
    }

    pub fn take(self) -> T {
        self.0
    }
}

#[cfg(target_arch = "wasm32")]
mod page {
    use std::any::Any;
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::marker::PhantomData;

    /// The number of the next value, and the values by number.
    #[derive(Default)]
    struct Table {
        next: u64,
        values: HashMap<u64, Box<dyn Any>>,
    }

    thread_local! {
        static TABLE: RefCell<Table> = RefCell::default();
    }

    pub struct Carried<T> {
        number: u64,
        value: PhantomData<fn() -> T>,
    }

    impl<T: 'static> Carried<T> {
        pub fn new(value: T) -> Self {
            let value: Box<dyn Any> = Box::new(value);
            let number = TABLE.with_borrow_mut(|table| {
                table.next += 1;
                table.values.insert(table.next, value);
                table.next
            });
            Self { number, value: PhantomData }
        }

        pub fn take(self) -> T {
            let value = remove(self.number).and_then(|value| value.downcast::<T>().ok());
            *value.expect("a value is taken once")
        }
    }

    impl<T> Drop for Carried<T> {
        fn drop(&mut self) {
            drop(remove(self.number));
        }
    }

    fn remove(number: u64) -> Option<Box<dyn Any>> {
        TABLE.with_borrow_mut(|table| table.values.remove(&number))
    }
}
