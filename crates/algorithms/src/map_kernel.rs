//! Kernels that compute each element of an array by an expression.
//!
//! The text of a kernel depends on the expression, and on the names and types of its inputs. Lengths, shapes and values
//! are parameters, so calls with others use the same kernel.

use crate::broadcast::MOST_AXES;
use crate::expression::{self, HIDDEN, LABEL};
use crate::verb_queue::{VerbQueue, subject};
use crate::{trusted, wgsl_type};
use fencepost_core::{DType, DynKernel, Error, ErrorDetail, Result, ShaderSource, StructType};
use fencepost_kernels::is_reserved_word;

/// Entry point of the kernels.
const ENTRY: &str = "map_elements";
/// The names of the kernel's text that are not hidden. An expression must not use them, because a later version may rename
/// them.
const OWN_NAMES: [&str; 3] = ["WORKGROUP", ENTRY, "linear_id"];
/// Name of the place of an element in expressions.
const PLACE: &str = "i";

/// Parameter with the number of results.
pub(crate) const LEN: &str = "fencepost_len";
/// Parameter with the number of axes.
pub(crate) const AXIS_COUNT: &str = "fencepost_axis_count";
/// Parameter with the lengths of the axes, and with the strides of the inputs.
pub(crate) const AXES: &str = "fencepost_axes";
/// Array with the number of first elements.
pub(crate) const COUNT: &str = "fencepost_count";
/// Prefix of the names of the other arrays.
pub(crate) const ARRAY: &str = "fencepost_array_";
/// Prefix of the variables with the places of elements.
const AT: &str = "fencepost_at_";

/// An input of the expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    pub(crate) name: &'a str,
    pub(crate) dtype: DType,
    pub(crate) origin: Origin,
}

/// Origin of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// An array that the kernel only reads.
    Read,
    /// The array that gets the results.
    Written,
    /// A parameter of the kernel.
    Parameter,
}

/// The parts of a kernel's text, except for the expression.
#[derive(Clone, Debug)]
pub(crate) struct Signature<'a> {
    pub(crate) inputs: Vec<Input<'a>>,
    /// Name of the array that gets the results.
    pub(crate) result: &'a str,
    /// Type of a result.
    pub(crate) result_type: DType,
    /// `true` if the places of elements differ between the arrays.
    pub(crate) repeats: bool,
    /// `true` if only the first results are computed.
    pub(crate) has_count: bool,
}

/// Returns `true` if an expression can use an input, or a struct, of this name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic() || c == '_';
    let is_identifier =
        name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_alphanumeric());
    let is_reserved = name == "_" || name.starts_with("__") || name.contains(HIDDEN);
    is_identifier && !is_reserved && !is_reserved_word(name) && name != PLACE && !OWN_NAMES.contains(&name)
}

/// Compiles the kernel of an expression. The context returns the same kernel for the same text.
pub(crate) fn compiled(
    queue: &VerbQueue<'_>,
    signature: &Signature<'_>,
    expression: &str,
) -> Result<DynKernel> {
    let structs = structs(queue, signature)?;
    let names = signature.inputs.iter().map(|input| input.name);
    let known: Vec<&str> = names.chain(structs.iter().map(|of| of.name)).collect();
    expression::check(expression, &OWN_NAMES, &known, "x * 2.0")?;
    let (before, after) = signature.texts(&structs);
    let first = before.lines().count() + 1;
    let source = ShaderSource::text(LABEL, format!("{before}\n{expression}\n{after}"));
    // The expression may contain any index or loop, so the kernel keeps all runtime checks.
    let compiled = trusted::program_kernel(queue, &source, ENTRY, &[]);
    let result = format!("an element of `{}` is", signature.result);
    compiled.map_err(|error| expression::shown(error, expression, (LABEL, first), &result))
}

/// Returns the structs among the types of the kernel, or an error if one of them or of their fields has a name that the
/// kernel cannot use.
fn structs(queue: &VerbQueue<'_>, signature: &Signature<'_>) -> Result<Vec<&'static StructType>> {
    let verb = subject(queue.verb);
    let types = signature.inputs.iter().map(|input| input.dtype).chain([signature.result_type]);
    let structs = wgsl_type::structs(types).map_err(|name| {
        let object = format!("{verb}: the number of structs with the name `{name}`");
        Error::from(ErrorDetail::Value { object, found: "2".into(), needed: "a different name for each" })
    })?;
    for of in &structs {
        if !is_name(of.name) {
            let object = format!("{verb}: the name of a struct");
            return Err(ErrorDetail::Value { object, found: format!("`{}`", of.name), needed: NAME }.into());
        }
        if let Some(field) = of.fields.iter().find(|field| is_reserved_word(field.name)) {
            let object = format!("{verb}: the name of a field of struct `{}`", of.name);
            let found = format!("`{}`", field.name);
            return Err(ErrorDetail::Value { object, found, needed: FIELD }.into());
        }
    }
    Ok(structs)
}

/// Allowed names, for messages.
pub(crate) const NAME: &str = "a name that WGSL does not reserve, and that the kernel does not use itself,";
/// Allowed names of fields, for messages.
const FIELD: &str = "a name that WGSL does not reserve";

impl Signature<'_> {
    /// Returns the kernel's text before and after the expression.
    fn texts(&self, structs: &[&'static StructType]) -> (String, String) {
        let structs: String = structs.iter().map(|of| wgsl_type::declarations(of)).collect();
        let parameters = self.parameters();
        let arrays = self.arrays();
        let inputs: String =
            self.inputs.iter().map(|input| format!("{}: {}, ", input.name, input.dtype)).collect();
        let before = format!(
            "//#use linear
override WORKGROUP: u32 = 256;
{structs}struct {HIDDEN}Params {{ {parameters} }}
@group(0) @binding(0) var<uniform> {HIDDEN}params: {HIDDEN}Params;
{arrays}fn {HIDDEN}element({inputs}{PLACE}: u32) -> {} {{ return (",
            self.result_type
        );
        let places = self.places();
        let elements: String = self.inputs.iter().map(|input| format!("{}, ", self.value(input))).collect();
        let result = format!("{ARRAY}{}[{PLACE}]", self.result);
        let store = wgsl_type::store(self.result_type, &result, &format!("{HIDDEN}value"));
        let len = format!("{HIDDEN}params.{LEN}");
        let len = if self.has_count { format!("min({len}, {COUNT}[0])") } else { len };
        let after = format!(
            "); }}
@compute @workgroup_size(WORKGROUP)
fn {ENTRY}(
    @builtin(global_invocation_id) {HIDDEN}id: vec3<u32>,
    @builtin(num_workgroups) {HIDDEN}groups: vec3<u32>,
) {{
    let {PLACE} = linear_id({HIDDEN}id, {HIDDEN}groups, WORKGROUP);
    if {PLACE} >= {len} {{ return; }}
{places}    let {HIDDEN}value = {HIDDEN}element({elements}{PLACE});
    {store}
}}
"
        );
        (before, after)
    }

    /// Returns the members of the uniform block.
    fn parameters(&self) -> String {
        let mut members = vec![format!("{LEN}: u32")];
        if self.repeats {
            members.push(format!("{AXIS_COUNT}: u32"));
            members.push(format!("{AXES}: array<vec4<u32>, {}>", 2 * MOST_AXES));
        }
        let parameters = self.inputs.iter().filter(|input| input.origin == Origin::Parameter);
        members.extend(parameters.map(|input| format!("{}: {}", input.name, input.dtype)));
        members.join(", ")
    }

    /// Returns the declarations of the arrays.
    fn arrays(&self) -> String {
        let variable = |access: &str, name: &str, dtype| {
            format!("var<storage, {access}> {ARRAY}{name}: array<{}>", wgsl_type::of_array(dtype))
        };
        let of_inputs = self.inputs.iter().filter_map(|input| match input.origin {
            Origin::Read => Some(variable("read", input.name, input.dtype)),
            Origin::Written => Some(variable("read_write", input.name, input.dtype)),
            Origin::Parameter => None,
        });
        let in_place = self.inputs.iter().any(|input| input.origin == Origin::Written);
        let own = (!in_place).then(|| variable("read_write", self.result, self.result_type));
        let count = self.has_count.then(|| format!("var<storage, read> {COUNT}: array<u32>"));
        let bound = (1..).zip(of_inputs.chain(own).chain(count));
        bound.map(|(binding, variable)| format!("@group(0) @binding({binding}) {variable};\n")).collect()
    }

    /// Returns the expression for the value of an input.
    fn value(&self, input: &Input<'_>) -> String {
        let name = input.name;
        let at = match input.origin {
            Origin::Parameter => return format!("{HIDDEN}params.{name}"),
            Origin::Read if self.repeats => format!("{AT}{name}"),
            Origin::Read | Origin::Written => PLACE.into(),
        };
        wgsl_type::load(input.dtype, &format!("{ARRAY}{name}[{at}]"))
    }

    /// Returns the statements that compute the places of elements, if they differ between the arrays.
    fn places(&self) -> String {
        if !self.repeats {
            return String::new();
        }
        let read = self.inputs.iter().filter(|input| input.origin == Origin::Read);
        let names: Vec<&str> = read.map(|input| input.name).collect();
        // Two vectors have the length of an axis, and then its stride in each array.
        let numbers: Vec<(usize, char)> =
            (0..2).flat_map(|at| "xyzw".chars().map(move |c| (at, c))).collect();
        let declared: String = names.iter().map(|name| format!("    var {AT}{name} = 0u;\n")).collect();
        let inner = names.iter().zip(&numbers[1..]).map(|(name, (at, number))| {
            format!("        {AT}{name} += {HIDDEN}index * {HIDDEN}axis_{at}.{number};\n")
        });
        let outer = names.iter().zip(&numbers[1..]).map(|(name, (at, number))| {
            format!("    {AT}{name} += {HIDDEN}rest * {HIDDEN}params.{AXES}[{at}].{number};\n")
        });
        let inner: String = inner.collect();
        let outer: String = outer.collect();
        format!(
            "{declared}    var {HIDDEN}rest = {PLACE};
    for (var {HIDDEN}axis = {HIDDEN}params.{AXIS_COUNT} - 1u; {HIDDEN}axis > 0u; {HIDDEN}axis -= 1u) {{
        let {HIDDEN}axis_0 = {HIDDEN}params.{AXES}[2u * {HIDDEN}axis];
        let {HIDDEN}axis_1 = {HIDDEN}params.{AXES}[2u * {HIDDEN}axis + 1u];
        let {HIDDEN}index = {HIDDEN}rest % {HIDDEN}axis_0.x;
        {HIDDEN}rest /= {HIDDEN}axis_0.x;
{inner}    }}
{outer}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::tests::declared;
    use fencepost_core::Element;

    fn signature() -> Signature<'static> {
        let input = |name, dtype, origin| Input { name, dtype, origin };
        Signature {
            inputs: vec![
                input("x", f32::DTYPE, Origin::Read),
                input("y", <[f32; 3]>::DTYPE, Origin::Read),
                input("by", <[f32; 2]>::DTYPE, Origin::Parameter),
            ],
            result: "out",
            result_type: f32::DTYPE,
            repeats: true,
            has_count: true,
        }
    }

    fn text(signature: &Signature<'_>, expression: &str) -> String {
        let (before, after) = signature.texts(&[]);
        ShaderSource::text(LABEL, format!("{before}\n{expression}\n{after}")).whole_text().unwrap()
    }

    #[test]
    fn an_expression_sees_no_name_of_the_kernel() {
        let text = text(&signature(), "x");
        let found = declared(&text);
        assert!(OWN_NAMES.iter().all(|name| found.contains(name)), "{found:?}\n{text}");
        for name in found.into_iter().chain([LEN, AXES, AXIS_COUNT, "fencepost_value"]) {
            let refused = expression::check(&format!("x + {name}"), &OWN_NAMES, &["x"], "x");
            let said = refused.expect_err(name).to_string();
            assert!(said.starts_with("expression:1:5: "), "{said}");
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn each_kind_of_kernel_is_valid_and_has_its_parameters() {
        for (repeats, has_count, in_place) in
            [(false, false, false), (true, false, false), (false, true, true), (true, true, true)]
        {
            let mut signature = Signature { repeats, has_count, ..signature() };
            if in_place {
                signature.inputs[0].origin = Origin::Written;
                signature.result = "x";
            }
            let text = text(&signature, "x + dot(y.xy, by) + f32(i)");
            let module = fencepost_kernels::Module::parse(&ShaderSource::text(LABEL, text.clone()));
            let interface = module.and_then(|module| module.interface(ENTRY, &[]));
            let interface = interface.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(interface.folds, "a large grid is folded: {text}");
            let parameters = interface.params.as_ref().expect("a uniform block");
            let names: Vec<&str> = parameters.fields.iter().map(|field| &*field.name).collect();
            assert_eq!(names.contains(&AXES), repeats, "{names:?}");
            assert!(names.contains(&LEN) && names.contains(&"by"), "{names:?}");
            let arrays: Vec<&str> = interface.bindings.iter().map(|binding| &*binding.name).collect();
            let result = if in_place { None } else { Some("fencepost_array_out") };
            let count = has_count.then_some(COUNT);
            let expected = ["fencepost_array_x", "fencepost_array_y"].into_iter().chain(result).chain(count);
            assert_eq!(arrays, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn names_of_inputs_are_names_of_wgsl_that_no_part_of_the_kernel_has() {
        for name in ["x", "dt", "ä2", "_x", "quadratic", "params", "out2", "n"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "i",
            "2x",
            "x y",
            "x;",
            "r#type",
            "_",
            "__x",
            "WORKGROUP",
            "linear_id",
            "fencepost_x",
            "from",
            "target",
            "if",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
