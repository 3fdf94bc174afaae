//! Runs a call on the CPU device and on an adapter.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fencepost::{AdapterChoice, Context, ContextOptions, Grid, args};

use crate::calls::{ATOMICS, CALLS, Call, Range};

/// Samples per call.
const SAMPLES: usize = 48;
/// Maximum number of arguments per call.
const ARGUMENTS: usize = 4;
/// Components of each vector.
const COMPONENTS: usize = 3;

/// Number of samples of a call whose arguments are in the shader's text.
const CONSTANT_SAMPLES: usize = 24;

/// Calls of floats that are compared with the smallest tolerance, besides the conversions.
const EXACT: [&str; 13] =
    ["+", "-", "negation", "select", "abs", "min", "max", "clamp", "sign", "ceil", "floor", "round", "trunc"];

/// Where the arguments of a call come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    /// The kernel reads them, so the device computes the call.
    Read,
    /// Variables with values given in the shader. A driver's compiler may evaluate the call.
    Variables,
    /// Constants for some or all arguments. naga may evaluate the call.
    Constants,
}

/// A call with a type.
pub(crate) struct Form {
    pub(crate) call: &'static Call,
    pub(crate) ty: &'static str,
    is_vector: bool,
    arguments: Arguments,
}

/// Returns the calls whose names contain a text, with each type.
pub(crate) fn forms(filter: &str) -> Vec<Form> {
    let mut forms = Vec::new();
    for call in CALLS.iter().filter(|call| call.name.contains(filter)) {
        for ty in call.types {
            for arguments in [Arguments::Read, Arguments::Variables, Arguments::Constants] {
                forms.push(Form { call, ty, is_vector: false, arguments });
                if call.has_vectors {
                    forms.push(Form { call, ty, is_vector: true, arguments });
                }
            }
        }
    }
    forms
}

/// Outcome of a call.
#[derive(Clone)]
pub(crate) enum Outcome {
    Right,
    /// The adapter lacks a type that the call needs.
    Lacking,
    Refused(String),
    Wrong(String),
    Crash(String),
}

impl Outcome {
    pub(crate) fn is_fault(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Crash(_))
    }

    /// Writes the outcome as one line.
    pub(crate) fn line(&self) -> String {
        let one = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        match self {
            Self::Right => "right".into(),
            Self::Lacking => "lacking".into(),
            Self::Refused(why) => format!("refused: {}", one(why)),
            Self::Wrong(why) => format!("wrong: {}", one(why)),
            Self::Crash(why) => format!("crash: {}", one(why)),
        }
    }

    /// Parses a line that [`line`](Self::line) wrote.
    pub(crate) fn read(line: &str) -> Self {
        let why = |words: &str| line.strip_prefix(words).unwrap_or_default().to_owned();
        match line {
            "right" => Self::Right,
            "lacking" => Self::Lacking,
            line if line.starts_with("refused") => Self::Refused(why("refused: ")),
            line if line.starts_with("wrong") => Self::Wrong(why("wrong: ")),
            _ => Self::Crash(why("crash: ")),
        }
    }
}

impl Form {
    /// Substitutes `T` in a type, or makes a vector of it.
    pub(crate) fn argument_type(&self) -> String {
        self.of(self.ty)
    }

    /// Describes the origin of the arguments, after the types.
    pub(crate) fn origin(&self) -> &'static str {
        match self.arguments {
            Arguments::Read => "",
            Arguments::Variables => " in variables with known values",
            Arguments::Constants => " as constants",
        }
    }

    fn of(&self, ty: &str) -> String {
        if self.is_vector { format!("vec{COMPONENTS}<{ty}>") } else { ty.into() }
    }

    fn result(&self) -> &'static str {
        if self.call.result == "T" { self.ty } else { self.call.result }
    }

    /// Writes the kernel of some samples, which reads and writes only words.
    fn text(&self, words: &[u32], samples: &[usize]) -> String {
        let body = match self.arguments {
            Arguments::Read => self.loop_over_samples(),
            _ => samples.iter().map(|&sample| self.sample(words, sample)).collect(),
        };
        format!("{}@compute @workgroup_size(1) fn k() {{\n{body}}}\n", self.head())
    }

    /// Writes the declarations, and the functions that read and write numbers.
    fn head(&self) -> String {
        let mut text = String::new();
        let uses =
            |ty: &str| self.ty == ty || self.result() == ty || self.call.text.contains(&format!("{ty}("));
        if uses("f16") {
            text += "enable f16;\n";
        }
        text += "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
fn load_u32(at: u32) -> u32 { return x[at]; }
fn load_i32(at: u32) -> i32 { return bitcast<i32>(x[at]); }
fn load_f32(at: u32) -> f32 { return bitcast<f32>(x[at]); }
fn store_u32(at: u32, v: u32) { y[at] = v; }
fn store_i32(at: u32, v: i32) { y[at] = bitcast<u32>(v); }
fn store_f32(at: u32, v: f32) { y[at] = bitcast<u32>(v); }
";
        if uses("f16") {
            text += "fn load_f16(at: u32) -> f16 { return f16(bitcast<f32>(x[at])); }
fn store_f16(at: u32, v: f16) { y[at] = bitcast<u32>(f32(v)); }
";
        }
        if uses("f64") {
            text += "fn load_f64(at: u32) -> f64 { return f64(bitcast<f32>(x[at])) + f64(bitcast<f32>(x[at + 1u])); }
fn store_f64(at: u32, v: f64) {
    let high = f32(v);
    y[at] = bitcast<u32>(high);
    y[at + 1u] = bitcast<u32>(f32(v - f64(high)));
}
";
        }
        if uses("i64") || uses("u64") {
            text += "fn load_u64(at: u32) -> u64 { return u64(x[at]) | (u64(x[at + 1u]) << 32u); }
fn load_i64(at: u32) -> i64 { return i64(load_u64(at)); }
fn store_u64(at: u32, v: u64) { y[at] = u32(v); y[at + 1u] = u32(v >> 32u); }
fn store_i64(at: u32, v: i64) { store_u64(at, u64(v)); }
";
        }
        if self.call.text.starts_with("atomic_") {
            text += &ATOMICS.replace('T', self.ty);
        }
        text
    }

    /// Writes the call with arguments that the kernel reads.
    fn loop_over_samples(&self) -> String {
        let mut text = format!("    for (var i = 0u; i < {SAMPLES}u; i++) {{\n");
        for (at, (name, &(ty, _))) in ["a", "b", "c", "d"].iter().zip(self.call.arguments).enumerate() {
            let value = self.argument(ty, |part, ty| {
                format!("load_{ty}(((i + {part}u) % {SAMPLES}u * {ARGUMENTS}u + {at}u) * 2u)")
            });
            text += &format!("        let {name} = {value};\n");
        }
        text + &self.store("i") + "    }\n"
    }

    /// Writes the call with the arguments of a sample in the text.
    fn sample(&self, words: &[u32], sample: usize) -> String {
        let mut text = String::from("    {\n");
        for (at, (name, &(ty, _))) in ["a", "b", "c", "d"].iter().zip(self.call.arguments).enumerate() {
            let value = self.argument(ty, |part, ty| {
                let place = ((sample + part) % SAMPLES * ARGUMENTS + at) * 2;
                literal(ty, [words[place], words[place + 1]])
            });
            // One call with only constants, and one with an argument unknown to the compiler.
            let is_even = sample.is_multiple_of(2);
            let keyword = match self.arguments {
                Arguments::Constants if is_even || at % 2 == sample / 2 % 2 => "const",
                _ if is_even => "var",
                _ => "let",
            };
            text += &format!("        {keyword} {name} = {value};\n");
        }
        text + &self.store(&format!("{sample}u")) + "    }\n"
    }

    /// Writes an argument of a type, from the numbers that are its components.
    fn argument(&self, ty: &str, number: impl Fn(usize, &str) -> String) -> String {
        match ty {
            "T" if self.is_vector => {
                let parts = (0..COMPONENTS).map(|part| number(part, self.ty));
                format!("{}({})", self.of(self.ty), parts.collect::<Vec<_>>().join(", "))
            }
            "T" => number(0, self.ty),
            other => number(0, other),
        }
    }

    /// Writes the call, and the statements that store its result as the result of a sample.
    fn store(&self, sample: &str) -> String {
        let call = self.call.text.replace("T()", &format!("{}()", self.of(self.ty)));
        let mut text = format!("        let r: {} = {call};\n", self.of(self.result()));
        for part in 0..self.components() {
            let component = if self.is_vector { format!("r[{part}]") } else { "r".into() };
            text += &format!(
                "        store_{}(({sample} * {COMPONENTS}u + {part}u) * 2u, {component});\n",
                self.result()
            );
        }
        text
    }

    fn components(&self) -> usize {
        if self.is_vector { COMPONENTS } else { 1 }
    }

    /// Returns the words of the arguments.
    fn words(&self) -> Vec<u32> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut words = vec![0; SAMPLES * ARGUMENTS * 2];
        for sample in 0..SAMPLES {
            for (at, &(ty, range)) in self.call.arguments.iter().enumerate() {
                let ty = if ty == "T" { self.ty } else { ty };
                let [low, high] = value(ty, range, (sample * (2 * at + 1)) % SAMPLES, &mut rng);
                words[(sample * ARGUMENTS + at) * 2] = low;
                words[(sample * ARGUMENTS + at) * 2 + 1] = high;
            }
        }
        words
    }

    /// Returns the first difference between two results among some samples.
    fn difference(&self, expected: &[u32], found: &[u32], samples: &[usize]) -> Option<String> {
        for &sample in samples {
            for part in 0..self.components() {
                let at = (sample * COMPONENTS + part) * 2;
                let pair = |words: &[u32]| [words[at], words[at + 1]];
                if !self.fits(pair(expected), pair(found)) {
                    let shown = |words: [u32; 2]| show(self.result(), words);
                    let found = shown(pair(found));
                    let expected = shown(pair(expected));
                    return Some(format!("sample {sample}.{part} is {found}, and the CPU has {expected}"));
                }
            }
        }
        None
    }

    fn fits(&self, expected: [u32; 2], found: [u32; 2]) -> bool {
        if !self.result().starts_with('f') {
            return expected == found;
        }
        let of = |words: [u32; 2]| f64::from(f32::from_bits(words[0])) + f64::from(f32::from_bits(words[1]));
        let expected = of(expected);
        let found = of(found);
        // WGSL does not define non-finite results, and drivers flush values near zero.
        if !expected.is_finite() {
            return true;
        }
        let is_exact = EXACT.contains(&self.call.name) || self.call.name.starts_with("to ");
        let (relative, absolute) = match (self.ty, self.result(), is_exact) {
            ("f64", "f64", true) => (1e-13, 1e-30),
            ("f64", "f64", false) => (1e-11, 1e-12),
            ("f16", _, true) => (1e-3, 1e-4),
            ("f16", _, false) => (0.03, 0.03),
            (_, _, true) => (1e-6, 1e-30),
            (_, _, false) => (1e-3, 1e-3),
        };
        (found - expected).abs() <= relative * expected.abs() + absolute
    }
}

/// Writes a number of a type.
fn literal(ty: &str, [low, high]: [u32; 2]) -> String {
    let wide = u64::from(low) | u64::from(high) << 32;
    let float = f32::from_bits(low);
    match ty {
        "u32" => format!("{low}u"),
        "i32" if low.cast_signed() == i32::MIN => format!("({}i - 1i)", i32::MIN + 1),
        "i32" => format!("{}i", low.cast_signed()),
        "u64" => format!("{wide}lu"),
        "i64" if wide.cast_signed() == i64::MIN => format!("({}li - 1li)", i64::MIN + 1),
        "i64" => format!("{}li", wide.cast_signed()),
        "f16" => format!("f16({float:?}f)"),
        "f64" => format!("{:?}lf", f64::from(float) + f64::from(f32::from_bits(high))),
        _ => format!("{float:?}f"),
    }
}

fn show(ty: &str, [low, high]: [u32; 2]) -> String {
    let wide = u64::from(low) | u64::from(high) << 32;
    match ty {
        "u32" => low.to_string(),
        "i32" => low.cast_signed().to_string(),
        "u64" => wide.to_string(),
        "i64" => wide.cast_signed().to_string(),
        _ => (f64::from(f32::from_bits(low)) + f64::from(f32::from_bits(high))).to_string(),
    }
}

/// Returns the words of a number of a type.
fn value(ty: &str, range: Range, at: usize, rng: &mut fastrand::Rng) -> [u32; 2] {
    const EDGES: [u64; 16] = [
        0,
        1,
        2,
        7,
        8,
        255,
        0x8000,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        1 << 32,
        5 << 40,
        1 << 62,
        u64::MAX >> 1,
        1 << 63,
        u64::MAX,
    ];
    if !ty.starts_with('f') {
        let number = match range {
            Range::Bits => [0, 1, 5, 8, 17, 31, 32, 33, 63, 64, 70, u64::from(u32::MAX)][at % 12],
            Range::Small => u64::from(rng.u32(0..20)).wrapping_sub(if ty.starts_with('i') { 10 } else { 0 }),
            _ if at < EDGES.len() => EDGES[at],
            _ if at < 2 * EDGES.len() => {
                EDGES[at - EDGES.len()] << 31 >> 31 ^ (EDGES[at - EDGES.len()] >> 32)
            }
            _ => rng.u64(..),
        };
        return [number as u32, (number >> 32) as u32];
    }
    const SMALL: [f64; 14] =
        [0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.25, 1.5, 9.75, -9.5, 0.125, -0.0625, 4.0, 3.0];
    let any = [3e9, -3e9, 1e5, -70000.0, 1e10, -5e18, 1e19, 2e20, 65536.0, 16_777_217.0];
    let random = rng.f64();
    let number = match range {
        Range::Any if ty == "f16" && at >= 14 => (random - 0.5) * 60000.0,
        Range::Any if (14..24).contains(&at) => any[at - 14],
        Range::Any | Range::Small if at < 14 => SMALL[at],
        Range::Any | Range::Small => (random - 0.5) * 20.0,
        Range::NotZero if at < 14 && SMALL[at] != 0.0 => SMALL[at],
        Range::NotZero => 0.75 + random,
        Range::Unit => [0.0, 1.0, -1.0, 0.5, -0.25].get(at).copied().unwrap_or(2.0 * random - 1.0),
        Range::Positive => [1.0, 2.0, 0.25, 4.0, 9.0].get(at).copied().unwrap_or(0.05 + 10.0 * random),
        Range::FromOne => [1.0, 2.0, 9.0].get(at).copied().unwrap_or(1.0 + 10.0 * random),
        Range::Bits => 0.0,
    };
    let high = number as f32;
    [high.to_bits(), ((number - f64::from(high)) as f32).to_bits()]
}

/// The CPU device and the adapter that run the calls.
pub(crate) struct Runner {
    cpu: Context,
    adapter: Context,
}

impl Runner {
    pub(crate) fn new(adapter: usize) -> Result<Self> {
        let open = |adapter| Context::with_options(ContextOptions::default().adapter(adapter)).wait();
        Ok(Self {
            cpu: open(AdapterChoice::Cpu).context("the CPU device does not open")?,
            adapter: open(AdapterChoice::Index(adapter)).context("the adapter does not open")?,
        })
    }

    pub(crate) fn outcome(&self, form: &Form) -> Outcome {
        let read = Form { arguments: Arguments::Read, ..*form };
        let words = form.words();
        let all: Vec<usize> = (0..SAMPLES).collect();
        let expected = match launch(&self.cpu, &read.text(&words, &all), &words) {
            Ok(Some(expected)) => expected,
            Ok(None) => return Outcome::Crash("the CPU device does not end".into()),
            Err(error) => return Outcome::Refused(format!("also on the CPU device: {error}")),
        };
        let samples = if form.arguments == Arguments::Read { all } else { self.valid_samples(form, &words) };
        let text = form.text(&words, &samples);
        if form.arguments != Arguments::Read {
            match launch(&self.cpu, &text, &words) {
                Ok(Some(found)) => {
                    if let Some(difference) = form.difference(&expected, &found, &samples) {
                        return Outcome::Wrong(format!("on the CPU device, {}: {difference}", form.name()));
                    }
                }
                Ok(None) => return Outcome::Crash("the CPU device does not end".into()),
                Err(error) => return Outcome::Crash(format!("on the CPU device: {error}")),
            }
        }
        match launch(&self.adapter, &text, &words) {
            Ok(Some(found)) => match form.difference(&expected, &found, &samples) {
                None => Outcome::Right,
                Some(difference) => Outcome::Wrong(difference),
            },
            Ok(None) => Outcome::Crash("it does not end".into()),
            Err(error) if matches!(error.detail(), fencepost::ErrorDetail::Unsupported { .. }) => {
                Outcome::Lacking
            }
            // If a driver does not compile a valid shader, it has failed.
            Err(error) if matches!(error.detail(), fencepost::ErrorDetail::Compile { .. }) => {
                Outcome::Crash(error.to_string())
            }
            Err(error) => Outcome::Refused(error.to_string()),
        }
    }

    /// Returns the samples whose arguments may be constants: WGSL refuses a constant expression that overflows.
    fn valid_samples(&self, form: &Form, words: &[u32]) -> Vec<usize> {
        let is_valid = |sample: &usize| self.cpu.kernel_from(form.text(words, &[*sample]), "k").is_ok();
        let some: Vec<usize> = (0..SAMPLES).step_by(SAMPLES / CONSTANT_SAMPLES).collect();
        match self.cpu.kernel_from(form.text(words, &some), "k") {
            Ok(_) => some,
            Err(_) => some.into_iter().filter(is_valid).collect(),
        }
    }
}

/// Runs a shader on a context; returns `None` if it does not finish in time.
fn launch(ctx: &Context, text: &str, words: &[u32]) -> fencepost::Result<Option<Vec<u32>>> {
    let kernel = ctx.kernel_from(text, "k")?;
    let queue = ctx.queue("functions");
    let mut x = queue.array(words)?;
    let mut y = ctx.zeros::<u32, 1>([SAMPLES * COMPONENTS * 2])?;
    queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x, y = &mut y])?;
    queue.read(&y).wait_timeout(Duration::from_secs(60))
}
