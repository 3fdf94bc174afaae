//! The control of what kernels print.

use crate::api::context::Context;
use crate::scheduler::print_options::PrintOptions;
use fencepost_sync::prim::lock;

impl Context {
    /// Sets what the context does with the lines that `print` writes in kernels. The capacity applies to later launches
    /// and captures, and the receiver to all lines that are not delivered yet.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Grid, PrintOptions, PrintTo, args};
    /// use std::sync::{Arc, Mutex};
    /// # use fencepost::{AdapterChoice, Context, ContextOptions};
    /// # let ctx = Context::with_options(ContextOptions { adapter: AdapterChoice::Cpu, ..ContextOptions::default() }).wait()?;
    /// # let queue = ctx.queue("main");
    /// let lines = Arc::new(Mutex::new(String::new()));
    /// let copy = lines.clone();
    /// let to = PrintTo::Function(Arc::new(move |printed| *copy.lock().unwrap() += &printed.to_string()));
    /// ctx.set_print(PrintOptions { to, ..PrintOptions::default() });
    /// let text = "@compute @workgroup_size(1) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
    ///     print(\"invocation {} of {}\", id.x, 3);
    /// }";
    /// let kernel = ctx.kernel_from(text, "k")?;
    /// queue.launch_dyn(&kernel, Grid::groups([3]), args![])?;
    /// queue.finish().wait()?;
    /// assert_eq!(*lines.lock().unwrap(), "invocation 0 of 3\ninvocation 1 of 3\ninvocation 2 of 3\n");
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn set_print(&self, options: PrintOptions) {
        if self.owner.engine().is_in_child() {
            return; // no launch prints there
        }
        let old = std::mem::replace(&mut *lock(&self.owner.engine().print_options), options);
        drop(old); // without the lock, because the drop of a function may run user code
    }
}
