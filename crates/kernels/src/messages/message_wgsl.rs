//! The WGSL that writes messages into the message buffer.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::messages::Messages;
use crate::messages::records::{FAILURE_RECORDS, RECORD_HEAD};
use crate::messages::value_type::ValueType;

/// Names of the declarations that are added to a shader. No other name in the shader begins with the prefix.
pub(crate) struct MessageNames {
    pub(crate) prefix: String,
}

impl MessageNames {
    /// Returns names that do not occur in a shader.
    pub(crate) fn for_text(text: &str) -> Self {
        let prefixes = (0..).map(|number| format!("fp{number}_"));
        let mut free = prefixes.filter(|prefix| !text.contains(prefix.as_str()));
        Self { prefix: free.next().expect("a text has a finite number of names") }
    }

    /// Returns the name of a value of a statement.
    pub(crate) fn value(&self, site: usize, value: usize) -> String {
        format!("{}value_{site}_{value}", self.prefix)
    }

    /// Returns the name of the condition of a statement.
    pub(crate) fn condition(&self, site: usize) -> String {
        format!("{}condition_{site}", self.prefix)
    }

    /// Returns the name of the message buffer.
    pub(crate) fn buffer(&self) -> String {
        format!("{}messages", self.prefix)
    }

    /// Returns the name of the variable that every message statement of the first form writes.
    pub(crate) fn mark(&self) -> String {
        format!("{}mark", self.prefix)
    }

    /// Returns the statements that write a record of `words` words. They are inside a block.
    pub(crate) fn record(&self, site: usize, words: u32, types: &[ValueType], is_assert: bool) -> String {
        let p = &self.prefix;
        let call = if is_assert { format!("fail({site}u)") } else { format!("print({site}u, {words}u)") };
        let mut text = format!("let {p}at = {p}{call}; if {p}at != 0u {{");
        let mut at = 0;
        for (value, of) in types.iter().enumerate() {
            let mut words = self.value(site, value);
            // Writing to a `String` does not fail.
            if let Some((function, _)) = of.conversion(p) {
                let converted = format!("{p}words_{value}");
                let _ = write!(text, " let {converted} = {function}({words});");
                words = converted;
            }
            for component in 0..of.len {
                let word = of.word(&words, component);
                let _ = write!(text, " {p}messages.words[{p}at + {at}u] = {word};");
                at += 1;
            }
        }
        text + " }"
    }

    /// Returns the declarations of the second form. `binding` is the index of the message buffer.
    pub(crate) fn declarations(&self, binding: u32, messages: &Messages) -> String {
        let mut text = format!("\n{BUFFER}\n");
        let types = messages.sites.iter().flat_map(|site| &site.types);
        let conversions: BTreeMap<_, _> = types.filter_map(|of| of.conversion("fp_")).collect();
        text.extend(conversions.into_values().map(|function| function + "\n"));
        if messages.prints {
            text += PRINT;
        }
        if messages.asserts() {
            text += FAIL;
        }
        let numbers = [
            ("BINDING", binding),
            ("HEAD", RECORD_HEAD),
            ("ASSERTS", messages.failure_words()),
            ("FAILURES", FAILURE_RECORDS),
            ("LONGEST", messages.assert_words),
        ];
        let filled =
            numbers.iter().fold(text, |text, (name, number)| text.replace(name, &number.to_string()));
        filled.replace("fp_", &self.prefix)
    }

    /// Returns the function that an entry point calls first. `size` contains the expressions of its workgroup size
    /// along x and y, if the kernel has assertions.
    pub(crate) fn enter(&self, entry: usize, size: Option<[&str; 2]>) -> String {
        let p = &self.prefix;
        let place = size.map_or(String::new(), |[x, y]| {
            // The parameters have the prefix, so they hide no constant that the size names.
            format!(
                " {p}place = {p}at.x + {p}grid.x * u32({x}) * ({p}at.y + {p}grid.y * u32({y}) * {p}at.z);"
            )
        });
        let grid = if size.is_some() { format!(", {p}grid: vec3<u32>") } else { String::new() };
        format!("\nfn {p}enter_{entry}({p}at: vec3<u32>{grid}) {{ {p}id = {p}at;{place} }}")
    }
}

/// WGSL names that the declarations use. A shader must not hide them with its own declarations.
pub(crate) const USED_NAMES: &[&str] = &[
    "array",
    "arrayLength",
    "atomic",
    "atomicAdd",
    "atomicLoad",
    "atomicMax",
    "bitcast",
    "bool",
    "f16",
    "f32",
    "i32",
    "u32",
    "vec2",
    "vec3",
    "vec4",
];

/// Declaration of the message buffer. `used` counts the words of all printed records, even of those that did not fit;
/// `stored` counts the records that fit.
const BUFFER: &str = "struct fp_Messages {
    used: atomic<u32>, stored: atomic<u32>, left_out: atomic<u32>,
    failed: atomic<u32>, first: atomic<u32>, failures: atomic<u32>,
    words: array<u32>,
}
@group(0) @binding(BINDING) var<storage, read_write> fp_messages: fp_Messages;
var<private> fp_id: vec3<u32>;
var<private> fp_place: u32;
fn fp_head(at: u32, site: u32) -> u32 {
    fp_messages.words[at] = site + 1u;
    fp_messages.words[at + 1u] = fp_id.x;
    fp_messages.words[at + 2u] = fp_id.y;
    fp_messages.words[at + 3u] = fp_id.z;
    return at + HEADu;
}";

/// Function that begins a printed record, and returns the place of its values, or 0 if the record does not fit. After
/// the first record that does not fit, no later one fits either, so there are no gaps between records. The counter
/// is compared before it is increased, so that it cannot overflow.
const PRINT: &str = "
fn fp_print(site: u32, size: u32) -> u32 {
    let space = arrayLength(&fp_messages.words) - ASSERTSu;
    if atomicLoad(&fp_messages.used) < space {
        let at = atomicAdd(&fp_messages.used, size);
        if at + size <= space {
            atomicAdd(&fp_messages.stored, 1u);
            return fp_head(at + ASSERTSu, site);
        }
    }
    atomicAdd(&fp_messages.left_out, 1u);
    return 0u;
}";

/// Function that begins the record of a failed assertion.
///
/// - `first` is the complement of the number of the first failed invocation, because the header starts as zeros.
/// - Only an invocation before all that have failed so far writes a record, so the last record belongs to the first one.
/// - Records use the slots in turn. The second check keeps an outdated record from overwriting a later one. A record is
///   lost only if the previous writer of its slot pauses after this check, while as many others begin as there are slots.
/// - A slot without a record is 0.
const FAIL: &str = "
fn fp_fail(site: u32) -> u32 {
    atomicAdd(&fp_messages.failed, 1u);
    if atomicMax(&fp_messages.first, ~fp_place) >= ~fp_place { return 0u; }
    let turn = atomicAdd(&fp_messages.failures, 1u) % FAILURESu;
    if atomicLoad(&fp_messages.first) != ~fp_place { return 0u; }
    return fp_head(turn * LONGESTu, site);
}";
