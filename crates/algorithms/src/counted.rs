//! Kernels whose number of elements is a parameter, or an element on the device.

use crate::launches;
use crate::trusted;
use fencepost_core::{CommandQueue, DeviceArray, Element, Kernel, KernelArgs, Result, ShaderSource};
use fencepost_kernels::{ArgField, ArgKind, Binder};

/// Names the argument of the kernel of a part that has the number of elements.
pub(crate) const COUNT: &str = "part_count";
/// Is the expression by which the kernels read the number of elements.
const ELEMENTS: &str = "params.n";

/// Returns the source of a kernel that reads the smaller one of `params.n` and `part_count[0]` as its number of
/// elements.
pub(crate) fn limited(source: &ShaderSource) -> fencepost_kernels::Result<ShaderSource> {
    let text = source.whole_text()?;
    let binding = text.matches("@binding(").count();
    let mut limited = String::with_capacity(text.len() + 200);
    for (at, part) in text.split(ELEMENTS).enumerate() {
        let is_longer_name = part.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        limited += if at == 0 {
            ""
        } else if is_longer_name {
            ELEMENTS
        } else {
            "part_size()"
        };
        limited += part;
    }
    limited += &format!(
        "\n@group(0) @binding({binding}) var<storage, read> {COUNT}: array<u32>;\n\
         fn part_size() -> u32 {{ return min({ELEMENTS}, {COUNT}[0]); }}\n"
    );
    Ok(ShaderSource::text(source.label(), limited))
}

/// Are the arguments of a kernel and, behind them, the array with the number of elements.
pub struct Counted<'a, A> {
    args: A,
    count: &'a DeviceArray<u32>,
}

impl<A: KernelArgs> KernelArgs for Counted<'_, A> {
    type Family = Counted<'static, A::Family>;

    fn label() -> &'static str {
        A::label()
    }

    fn source() -> fencepost_kernels::Result<ShaderSource> {
        limited(&A::source()?)
    }

    fn entry() -> &'static str {
        A::entry()
    }

    fn fields() -> Vec<ArgField> {
        let count = ArgField { name: COUNT, kind: ArgKind::Read(u32::DTYPE) };
        A::fields().into_iter().chain([count]).collect()
    }

    fn bind<B: Binder + ?Sized>(&self, binder: &mut B) {
        self.args.bind(binder);
        binder.buffer(self.count);
    }
}

/// Is the kernel of whole arrays, or of parts with the array that has their number of elements.
pub enum SizedKernel<F: KernelArgs + 'static> {
    Whole(Kernel<F>),
    Part { kernel: Kernel<Counted<'static, F>>, count: Box<DeviceArray<u32>> },
}

impl<F: KernelArgs<Family = F>> SizedKernel<F> {
    /// Compiles the kernel of parts if there is a count, and else that of whole arrays.
    pub(crate) fn compiled(
        queue: &CommandQueue,
        overrides: &[(&str, f64)],
        count: Option<&DeviceArray<u32>>,
    ) -> Result<Self> {
        let Some(count) = count.map(DeviceArray::handle) else {
            return trusted::kernel_with::<F>(queue, overrides).map(Self::Whole);
        };
        let kernel = trusted::part_kernel_with::<Counted<'_, F>>(queue, overrides)?;
        Ok(Self::Part { kernel, count: Box::new(count) })
    }

    /// Enqueues or checks a launch as [`launches::launch`] does.
    #[track_caller]
    pub(crate) fn launch(
        &self,
        queue: &CommandQueue,
        groups: usize,
        args: impl KernelArgs<Family = F>,
    ) -> Result<()> {
        match self {
            Self::Whole(kernel) => launches::launch(queue, kernel, groups, args),
            Self::Part { kernel, count } => launches::launch(queue, kernel, groups, Counted { args, count }),
        }
    }
}

/// Returns the source of the kernel of parts if there is a count, and else that of whole arrays.
pub(crate) fn sized(source: ShaderSource, count: Option<&DeviceArray<u32>>) -> Result<ShaderSource> {
    match count {
        None => Ok(source),
        Some(_) => Ok(limited(&source)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_of_a_part_reads_the_count_in_place_of_the_parameter_alone() {
        let text = "struct Params { n: u32, next: u32 }\n@group(0) @binding(0) var<uniform> params: Params;\n\
                    @compute @workgroup_size(1) fn k() { _ = params.n + params.next; }";
        let text = limited(&ShaderSource::text("k.wgsl", text)).unwrap().whole_text().unwrap();
        assert!(text.contains("_ = part_size() + params.next;"), "{text}");
        assert!(text.contains("@binding(1) var<storage, read> part_count"), "{text}");
        assert!(text.contains("return min(params.n, part_count[0]);"), "{text}");
    }
}
