//! The check of a text that the visitor types: its kernels run on the CPU device, which finds their mistakes.

use std::any::Any;
use std::time::Duration;

use fencepost::error::KernelError;
use fencepost::interface::{Access, Binding, BufferArg, DynArg, NamedArg, ParamField, Value};
use fencepost::kernel_check::{Absent, Finding, Mistake, Step};
use fencepost::prelude::*;
use fencepost::{AnyArray, Scalar};
use wasm_bindgen::prelude::wasm_bindgen;

/// File name of the text in messages.
const LABEL: &str = "kernel.wgsl";
/// Length of an array without a length in the text, and value of a parameter that is an integer.
const ELEMENTS: usize = 256;
/// Maximum size of an array, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// Time limit of a launch, during which the page stands still.
const LIMIT: Duration = Duration::from_secs(1);

/// A text for the editor, with a race.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct Example {
    /// Name for a list.
    pub name: String,
    /// The WGSL.
    pub text: String,
    /// Change that removes the race.
    pub remedy: String,
}

/// Returns the texts from which the visitor chooses.
pub fn examples() -> Vec<Example> {
    let example = |name: &str, text: &str, remedy: &str| Example {
        name: name.into(),
        text: text.into(),
        remedy: remedy.into(),
    };
    vec![
        example(
            "A sum without a barrier",
            include_str!("../kernels/sum.wgsl"),
            "Put workgroupBarrier(); before the loop.",
        ),
        example(
            "A histogram without atomics",
            include_str!("../kernels/histogram.wgsl"),
            "Declare the bins as array<atomic<u32>, 16>, and replace the last two lines by atomicAdd(&bins[bin], 1u);",
        ),
        example(
            "A mean of neighbours in place",
            include_str!("../kernels/smooth.wgsl"),
            "Declare a second array, @group(0) @binding(1) var<storage, read_write> means: array<f32>; and write to it.",
        ),
    ]
}

/// Result of a check.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// A sentence about the whole text.
    pub summary: String,
    /// The mistakes, in the order of the text.
    pub found: Vec<Found>,
}

/// A mistake in the text.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// A sentence, and a line of text for each place.
    pub text: String,
    /// Lines of the places, ascending, counted from 1.
    pub lines: Vec<u32>,
}

/// The context in which texts are checked.
#[wasm_bindgen]
pub struct Checker {
    ctx: Context,
}

impl Checker {
    /// Opens the CPU device with the checks of kernels.
    ///
    /// # Errors
    /// Fails if the CPU device cannot be opened.
    pub async fn on_cpu() -> Result<Self> {
        let check = CheckOptions::default();
        let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check).launch_limit(LIMIT);
        Ok(Self { ctx: Context::with_options(options).await? })
    }

    /// Runs all kernels of a text, and returns their mistakes.
    pub async fn report(&self, text: &str) -> Report {
        let kernels = self.run(text).await;
        Report::new(kernels, &self.ctx.diagnostics().take_findings())
    }

    /// Runs each kernel of a text once, and returns their number.
    async fn run(&self, text: &str) -> Result<usize> {
        let source = ShaderSource::text(LABEL, text.to_owned());
        let entries = source.entries()?;
        let queue = self.ctx.queue("editor");
        let mut each = entries.iter();
        let launched = each.try_for_each(|entry| launch(&queue, &self.ctx.kernel_from(&source, entry)?));
        // Kernels before a refused one run too, and have to end before their findings are taken.
        let ended = queue.finish().await;
        drop(queue.take_error()); // otherwise the context keeps it for its next call of `take_error`
        launched.and(ended).map(|()| entries.len())
    }
}

/// Enqueues a kernel with arrays of zeros, in several workgroups.
fn launch(queue: &CommandQueue, kernel: &DynKernel) -> Result<()> {
    let interface = kernel.interface();
    let bindings = interface.array_bindings().iter();
    let buffers = bindings.map(|binding| Buffer::new(queue, binding)).collect::<Result<Vec<_>>>()?;
    let mut args: Vec<NamedArg<'_>> = Vec::new();
    for buffer in &buffers {
        args.push((Some(buffer.name.as_str().into()), buffer.arg()));
    }
    for field in interface.params.iter().flat_map(|params| &params.fields) {
        args.push((Some(field.name.as_str().into()), DynArg::Value(value(field)?)));
    }
    let width = interface.workgroup[0] as usize;
    queue.launch_dyn(kernel, Grid::groups([ELEMENTS.div_ceil(width)]), args)
}

/// An array of zeros for a binding. The kernel sees it as an array of the binding's elements.
struct Buffer {
    name: String,
    declared: Access,
    dtype: DType,
    len: usize,
    array: AnyArray,
}

impl Buffer {
    fn new(queue: &CommandQueue, binding: &Binding) -> Result<Self> {
        let dtype = element(&binding.element);
        let bytes = |dtype: DType| match binding.runtime_sized {
            true => (ELEMENTS * dtype.size()) as u64,
            false => binding.min_size,
        };
        let fits = dtype.map(|dtype| (dtype, bytes(dtype))).filter(|(_, bytes)| *bytes <= MOST_BYTES);
        let Some((dtype, bytes)) = fits else {
            let object = format!("array `{}`", binding.name);
            let found = format!("`{}`", binding.text);
            let needed = "an array of at most 1 MiB, of numbers, vectors or matrices,";
            return Err(ErrorDetail::Value { object, found, needed }.into());
        };
        let words = bytes.div_ceil(4) as usize;
        let array = queue.zeros::<u32, 1>([words])?.named(binding.name.as_str()).any();
        let len = (bytes / dtype.size() as u64) as usize;
        Ok(Self { name: binding.name.clone(), declared: binding.declared, dtype, len, array })
    }

    fn arg(&self) -> DynArg<'_> {
        match self.declared {
            Access::Read => DynArg::Read(self),
            _ => DynArg::ReadWrite(self),
        }
    }
}

impl BufferArg for Buffer {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn len(&self) -> usize {
        self.len
    }

    fn handle(&self) -> &dyn Any {
        self.array.handle()
    }
}

/// Returns the type of an array's elements, from its name in WGSL; `None` for a struct.
fn element(name: &str) -> Option<DType> {
    let number = name.strip_prefix("atomic<").and_then(|rest| rest.strip_suffix('>'));
    match name.strip_prefix("vec3<") {
        // In an array, a vector of three takes the space of four.
        Some(rest) => DType::from_name(&format!("vec4<{rest}")),
        None => DType::from_name(number.unwrap_or(name)),
    }
}

/// Returns a value of a parameter: each float is 1, each integer [`ELEMENTS`].
fn value(field: &ParamField) -> Result<Value> {
    let made = DType::from_name(&field.text).and_then(|dtype| {
        let number = match dtype.scalar()? {
            Scalar::F32 => 1.0_f32.to_ne_bytes(),
            Scalar::I32 | Scalar::U32 => (ELEMENTS as u32).to_ne_bytes(),
            _ => return None,
        };
        Value::from_bytes(dtype, &number.repeat(dtype.size() / number.len()))
    });
    made.ok_or_else(|| {
        let object = format!("parameter `{}`", field.name);
        let found = format!("`{}`", field.text);
        let needed = "a number, a vector or a matrix of 32 bits each";
        ErrorDetail::Value { object, found, needed }.into()
    })
}

impl Report {
    /// Makes the report of a run of some kernels.
    fn new(kernels: Result<usize>, findings: &[Finding]) -> Self {
        let mut found: Vec<Found> = findings.iter().map(Found::of_finding).collect();
        let mistakes = match found.len() {
            1 => "1 mistake.".into(),
            number => format!("{number} mistakes."),
        };
        let summary = match kernels {
            Ok(0) => "The text has no kernel: write @compute @workgroup_size(64) fn name() {}.".into(),
            Ok(_) if found.is_empty() => {
                "No mistake: no race, no index out of range, no read of memory that nothing wrote.".into()
            }
            Ok(_) => mistakes,
            Err(error) if found.is_empty() => match Found::of_wgsl(&error) {
                Some(mistake) => {
                    found.push(mistake);
                    "The text is not valid WGSL.".into()
                }
                None => format!("The kernel was not checked: {}.", reason(&error)),
            },
            Err(error) => format!("{mistakes} The run ended early: {}.", reason(&error)),
        };
        Self { summary, found }
    }
}

impl Found {
    /// Describes a finding: its message, then each place with its line.
    fn of_finding(finding: &Finding) -> Self {
        let message = finding.mistake.to_string();
        let mut text = sentence(message.lines().next().unwrap_or_default());
        let mut lines = Vec::new();
        for (step, verb) in steps(&finding.mistake) {
            let Some(place) = &step.place else { continue };
            text += &format!("\nLine {}: {} {verb}.", place.line, step.invocation);
            if place.label == LABEL {
                lines.push(place.line as u32);
            }
        }
        lines.sort_unstable();
        lines.dedup();
        Self { text, lines }
    }

    /// Describes an error of the text itself; `None` for another error.
    fn of_wgsl(error: &Error) -> Option<Self> {
        let ErrorDetail::Kernel(KernelError::Wgsl { label, line, column, message, .. }) = error.detail()
        else {
            return None;
        };
        let lines = if label == LABEL { vec![*line as u32] } else { Vec::new() };
        Some(Self { text: format!("{}\nLine {line}, column {column}.", sentence(message)), lines })
    }
}

/// Returns the reason of a run that failed. The line of this program that launched the kernel is left out.
fn reason(error: &Error) -> String {
    match error.detail() {
        ErrorDetail::LaunchTooLong { limit, .. } => {
            format!("it ran longer than {limit:?} and was stopped; give its loops an end")
        }
        ErrorDetail::LaunchFailed { problem, .. } => problem.clone(),
        _ => error.to_string(),
    }
}

/// Returns the steps of a mistake, each with a verb.
fn steps(mistake: &Mistake) -> Vec<(&Step, String)> {
    match mistake {
        Mistake::RaceInWorkgroup(race) | Mistake::RaceBetweenWorkgroups(race) => {
            [&race.one, &race.other].map(|access| (&access.step, access.kind.to_string())).into()
        }
        Mistake::UnwrittenRead { access, .. } => vec![(&access.step, access.kind.to_string())],
        Mistake::BarrierMissed { waits, absent: Absent::Waits(other) } => {
            [waits, other].map(|step| (step, String::from("waits"))).into()
        }
        other => vec![(other.step(), "comes here".into())],
    }
}

/// Returns a message as a sentence.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let end = if message.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use fencepost::kernel_check::{InvocationId, Place};
    use pollster::block_on;

    use super::*;

    fn report(text: &str) -> Report {
        block_on(async { Checker::on_cpu().await.expect("it needs no driver").report(text).await })
    }

    /// Returns the lines of each mistake.
    fn lines(text: &str) -> Vec<Vec<u32>> {
        report(text).found.into_iter().map(|found| found.lines).collect()
    }

    fn example(part: &str) -> Example {
        examples().into_iter().find(|example| example.text.contains(part)).expect("there is one")
    }

    #[test]
    fn the_race_of_each_example_is_found_with_both_lines() {
        assert_eq!(lines(&example("fn sum").text), [[12, 14]]);
        assert!(lines(&example("fn histogram").text).contains(&vec![9, 10]));
        assert!(lines(&example("fn smooth_heights").text).contains(&vec![8, 10]));
    }

    #[test]
    fn each_example_has_no_mistake_after_the_change_that_it_names() {
        let changed = |part: &str, changes: &[(&str, &str)]| {
            let mut text = example(part).text;
            for (old, new) in changes {
                assert!(text.contains(old), "{old}");
                text = text.replace(old, new);
            }
            let found = report(&text);
            assert!(found.summary.starts_with("No mistake") && found.found.is_empty(), "{found:?}");
        };
        changed("fn sum", &[("    for (", "    workgroupBarrier();\n    for (")]);
        changed(
            "fn histogram",
            &[
                ("array<u32, 16>", "array<atomic<u32>, 16>"),
                ("    let before = bins[bin];\n", ""),
                ("bins[bin] = before + 1u;", "atomicAdd(&bins[bin], 1u);"),
            ],
        );
        let second = "@group(0) @binding(1) var<storage, read_write> means: array<f32>;\n\n@compute";
        changed("fn smooth_heights", &[("@compute", second), ("heights[id.x] =", "means[id.x] =")]);
    }

    #[test]
    fn a_race_names_both_invocations_and_what_they_do() {
        let found = &report(&example("fn sum").text).found[0];
        let rows: Vec<&str> = found.text.lines().collect();
        assert!(rows[0].starts_with("Two invocations of a workgroup access `shares["), "{found:?}");
        assert!(rows[1].starts_with("Line 12: invocation [") && rows[1].ends_with(" writes."), "{found:?}");
        assert!(rows[2].starts_with("Line 14: invocation [") && rows[2].ends_with(" reads."), "{found:?}");
    }

    #[test]
    fn a_text_that_is_not_wgsl_has_one_mistake_with_its_line() {
        let report = report("@compute @workgroup_size(1)\nfn k() {\n    missing = 1;\n}");
        assert_eq!(report.summary, "The text is not valid WGSL.");
        assert_eq!(report.found.len(), 1, "{report:?}");
        assert_eq!(report.found[0].lines, [3]);
    }

    #[test]
    fn a_text_without_a_kernel_says_so() {
        assert!(report("fn f() {}").summary.starts_with("The text has no kernel"));
    }

    #[test]
    fn every_kind_of_argument_is_made() {
        let text = "
            struct Params { n: u32, scale: f32, offset: vec2<i32> }
            @group(0) @binding(0) var<uniform> params: Params;
            @group(0) @binding(1) var<storage, read> points: array<vec3<f32>>;
            @group(0) @binding(2) var<storage, read_write> count: atomic<u32>;
            @group(0) @binding(3) var<storage, read_write> fixed: array<vec2<f32>, 300>;
            @compute @workgroup_size(64) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x >= params.n || id.x >= arrayLength(&points) { return; }
                atomicAdd(&count, u32(params.offset.x));
                fixed[id.x] = params.scale * points[id.x].xy;
            }";
        let report = report(text);
        assert!(report.summary.starts_with("No mistake"), "{report:?}");
    }

    #[test]
    fn elements_that_are_structs_are_refused_by_name() {
        let text = "
            struct Body { place: vec2<f32>, mass: f32 }
            @group(0) @binding(0) var<storage, read_write> bodies: array<Body>;
            @compute @workgroup_size(1) fn k() { bodies[0].mass = 1.0; }";
        let report = report(text);
        assert!(report.summary.contains("array `bodies` is `array<Body>`"), "{report:?}");
    }

    #[test]
    fn a_kernel_that_does_not_end_is_stopped() {
        let text = "
            @group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @compute @workgroup_size(1) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
                for (var i = 0u; i < 4294967295u; i++) { x[id.x] = x[id.x] * 3u + i; }
            }";
        let report = report(text);
        assert!(report.summary.contains("ran longer than 1s"), "{report:?}");
    }

    #[test]
    fn the_next_check_does_not_repeat_the_mistakes_of_the_last_one() {
        let checker = block_on(Checker::on_cpu()).expect("it needs no driver");
        let first = block_on(checker.report(&example("fn sum").text));
        let second = block_on(checker.report("@compute @workgroup_size(1) fn k() {}"));
        assert_eq!((first.found.len(), second.found.len()), (1, 0));
    }

    #[test]
    fn a_refused_kernel_leaves_no_mistakes_of_earlier_kernels_for_the_next_check() {
        let checker = block_on(Checker::on_cpu()).expect("it needs no driver");
        let second = "
            struct Body { mass: f32 }
            @group(0) @binding(2) var<storage, read_write> bodies: array<Body>;
            @compute @workgroup_size(1) fn k() { bodies[0].mass = 1.0; }";
        let both = example("fn sum").text + second;
        let first = block_on(checker.report(&both));
        assert!(
            first.found.len() == 1 && first.summary.starts_with("1 mistake. The run ended early"),
            "{first:?}"
        );
        let next = block_on(checker.report("@compute @workgroup_size(1) fn k() {}"));
        assert_eq!(next.found, []);
    }

    #[test]
    fn a_place_in_another_file_has_no_line_to_mark() {
        let step = |label: &str, line| Step {
            invocation: InvocationId { global: [0; 3], workgroup: [0; 3] },
            place: Some(Place { label: label.into(), line, column: 1, text: String::new() }),
        };
        let mistake =
            Mistake::BarrierMissed { waits: step(LABEL, 7), absent: Absent::Waits(step("other", 3)) };
        let finding = Finding { kernel: "k".into(), mistake, count: 1, launch: None };
        let found = Found::of_finding(&finding);
        assert_eq!(found.lines, [7]);
        assert!(found.text.contains("\nLine 3: "), "{found:?}");
    }
}
