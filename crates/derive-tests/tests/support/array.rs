// Substitute for device memory: a vector with the traits of real arrays.
#[allow(dead_code, reason = "not every test makes arrays")]
struct DeviceArray<T>(Vec<T>);

impl<T: fencepost_kernels::Element> fencepost_kernels::BufferArg for DeviceArray<T> {
    fn dtype(&self) -> fencepost_kernels::DType {
        T::DTYPE
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn handle(&self) -> &dyn std::any::Any {
        &self.0
    }
}

impl<T: fencepost_kernels::Element> fencepost_kernels::TypedBuffer for DeviceArray<T> {
    type Element = T;
}
