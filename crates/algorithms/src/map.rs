//! Verbs that compute each element by an expression from user code.

use crate::broadcast::{self, Axis, MOST_AXES, MOST_INPUTS};
use crate::inputs::Inputs;
use crate::map_kernel::{self, ARRAY, AXES, AXIS_COUNT, COUNT, LEN, NAME, Origin, Signature, is_name};
use crate::passes::one_count;
use crate::refusals::{Named, check};
use crate::typed_kernel::value;
use crate::verb_queue::{VerbQueue, subject};
use crate::wgsl_type;
use fencepost_core::{
    BufferArg, DType, DeviceArray, DynArg, Error, ErrorDetail, Grid, IntoArg, NamedArg, Result, words_of,
};
use fencepost_kernels::PART_COUNT;

/// Name of the array that gets the results, unless it is an input.
const OUT: &str = "out";
/// Remedy for an input of another shape.
const REPEATS: &str = "an input has the shape of the results, or repeats to it: each of its axes, counted from the last one, \
                       has the length of that of the results, or length 1";

/// Enqueues the evaluation of an expression for each element of an array, or for its first elements if there is a
/// count.
#[track_caller]
pub(crate) fn map(
    queue: &VerbQueue<'_>,
    inputs: &Inputs<'_>,
    expression: &str,
    out: &dyn BufferArg,
) -> Result<()> {
    let inputs_of_call = inputs_of(queue, inputs)?;
    if inputs_of_call.iter().any(|input| input.name == OUT) {
        let object = format!("{}: the name of an input", subject(queue.verb));
        let needed = "another name than that of the results";
        return Err(ErrorDetail::Value { object, found: format!("`{OUT}`"), needed }.into());
    }
    if let Some(input) = inputs_of_call.iter().find(|input| input.origin() == Origin::Written) {
        let object = format!("{}, argument `{}`: the reference", subject(queue.verb), input.name);
        let needed = "`&`, or a call of `map_in_place`,";
        return Err(ErrorDetail::Value { object, found: "`&mut`".into(), needed }.into());
    }
    let result = Array::new(queue, OUT, out)?;
    Call::new(queue, inputs_of_call, result, inputs)?.enqueue(queue, expression)
}

/// Enqueues the evaluation of an expression for each element of the input that is passed by `&mut`.
#[track_caller]
pub(crate) fn map_in_place(queue: &VerbQueue<'_>, inputs: &Inputs<'_>, expression: &str) -> Result<()> {
    let inputs_of_call = inputs_of(queue, inputs)?;
    let written: Vec<&Array<'_>> = inputs_of_call.iter().filter_map(Input::written).collect();
    let [result] = written[..] else {
        let object = format!("{}: the number of arrays that are passed by `&mut`", subject(queue.verb));
        let found = written.len().to_string();
        let needed = "one, as in `args![x = &mut x, y = &y]`,";
        return Err(ErrorDetail::Value { object, found, needed }.into());
    };
    let result = result.clone();
    Call::new(queue, inputs_of_call, result, inputs)?.enqueue(queue, expression)
}

/// An array of a call.
#[derive(Clone)]
struct Array<'a> {
    /// Name of the argument.
    name: &'a str,
    buffer: &'a dyn BufferArg,
    shape: Vec<usize>,
    /// The same memory as words.
    words: DeviceArray<u32>,
}

impl<'a> Array<'a> {
    /// Returns an array of the call, or an error if an expression cannot use its elements.
    fn new(queue: &VerbQueue<'_>, name: &'a str, buffer: &'a dyn BufferArg) -> Result<Self> {
        let Some(words) = words_of(buffer) else {
            let arg = name.into();
            let object = "a buffer".into();
            return Err(ErrorDetail::ForeignContext { subject: subject(queue.verb), arg, object }.into());
        };
        let dtype = buffer.dtype();
        if !wgsl_type::is_element(dtype) {
            let object = format!("{}, argument `{name}`: the type of the elements", subject(queue.verb));
            return Err(wrong_type(object, dtype, wgsl_type::ELEMENTS));
        }
        let shape = buffer.shape();
        let padded = buffer.padded_shape();
        if shape != padded {
            let object = format!("array `{}`", words.label());
            let needed = "an array without padding";
            return Err(ErrorDetail::Padding { object, shape, padded, needed }.into());
        }
        Ok(Self { name, buffer, shape, words })
    }
}

fn wrong_type(object: String, dtype: DType, needed: &'static str) -> Error {
    ErrorDetail::Value { object, found: format!("`{dtype}`"), needed }.into()
}

/// An input of a call.
struct Input<'a> {
    name: &'a str,
    given: Given<'a>,
}

/// The argument for an input.
enum Given<'a> {
    Read(Array<'a>),
    Written(Array<'a>),
    Value(DType, &'a DynArg<'a>),
}

impl<'a> Input<'a> {
    /// Returns an input of the call, or an error if an expression cannot use it.
    fn new(queue: &VerbQueue<'_>, (name, arg): &'a NamedArg<'a>) -> Result<Self> {
        let Some(name) = name.as_deref() else {
            let object = format!("{}: the name of an input", subject(queue.verb));
            let needed = "a name, as in `args![x = &x]`,";
            return Err(ErrorDetail::Value { object, found: "missing".into(), needed }.into());
        };
        if !is_name(name) {
            let object = format!("{}: the name of an input", subject(queue.verb));
            return Err(ErrorDetail::Value { object, found: format!("`{name}`"), needed: NAME }.into());
        }
        let given = match arg {
            DynArg::Read(buffer) => Given::Read(Array::new(queue, name, *buffer)?),
            DynArg::ReadWrite(buffer) => Given::Written(Array::new(queue, name, *buffer)?),
            DynArg::Value(_) | DynArg::Named(_) => Given::Value(arg.kind().dtype(), arg),
        };
        match given {
            Given::Value(dtype, _) if !wgsl_type::is_parameter(dtype) => {
                let object = format!("{}, argument `{name}`: the type of the value", subject(queue.verb));
                let needed =
                    "f32, i32, u32 or a vector of them, or an array with one element of another type,";
                Err(wrong_type(object, dtype, needed))
            }
            given => Ok(Self { name, given }),
        }
    }

    fn origin(&self) -> Origin {
        match self.given {
            Given::Read(_) => Origin::Read,
            Given::Written(_) => Origin::Written,
            Given::Value(..) => Origin::Parameter,
        }
    }

    fn dtype(&self) -> DType {
        match &self.given {
            Given::Read(array) | Given::Written(array) => array.buffer.dtype(),
            Given::Value(dtype, _) => *dtype,
        }
    }

    fn read(&self) -> Option<&Array<'a>> {
        if let Given::Read(array) = &self.given { Some(array) } else { None }
    }

    fn written(&self) -> Option<&Array<'a>> {
        if let Given::Written(array) = &self.given { Some(array) } else { None }
    }

    /// Returns the argument of the launch.
    fn arg(&self) -> NamedArg<'a> {
        match &self.given {
            Given::Read(array) => (hidden(self.name), DynArg::Read(array.buffer)),
            Given::Written(array) => (hidden(self.name), DynArg::ReadWrite(array.buffer)),
            Given::Value(_, value) => (Some(self.name.into()), (*value).clone()),
        }
    }
}

/// Returns the name of an array in the text of a kernel.
fn hidden<'a>(name: &str) -> Option<std::borrow::Cow<'a, str>> {
    Some(format!("{ARRAY}{name}").into())
}

/// Returns the inputs of a call, or an error if an expression cannot use one of them.
fn inputs_of<'a>(queue: &VerbQueue<'_>, inputs: &'a Inputs<'_>) -> Result<Vec<Input<'a>>> {
    let list = inputs.list.iter().map(|input| Input::new(queue, input)).collect::<Result<Vec<_>>>()?;
    for (at, input) in list.iter().enumerate() {
        if list[..at].iter().any(|earlier| earlier.name == input.name) {
            let object =
                format!("{}: the number of inputs with the name `{}`", subject(queue.verb), input.name);
            let needed = "a different name for each";
            return Err(ErrorDetail::Value { object, found: "2".into(), needed }.into());
        }
    }
    let arrays = list.iter().filter(|input| input.origin() != Origin::Parameter).count();
    if arrays > MOST_INPUTS {
        let object = format!("{}: the number of input arrays", subject(queue.verb));
        let needed = "a number up to 6";
        return Err(ErrorDetail::Value { object, found: arrays.to_string(), needed }.into());
    }
    Ok(list)
}

/// A call whose arguments fit each other.
struct Call<'a> {
    inputs: Vec<Input<'a>>,
    /// Array that gets the results.
    result: Array<'a>,
    /// Number of first elements, if not all results are computed.
    count: Option<DeviceArray<u32>>,
    axes: Vec<Axis>,
}

impl<'a> Call<'a> {
    fn new(
        queue: &VerbQueue<'_>,
        inputs: Vec<Input<'a>>,
        result: Array<'a>,
        given: &Inputs<'_>,
    ) -> Result<Self> {
        let read: Vec<&Array<'a>> = inputs.iter().filter_map(Input::read).collect();
        for array in &read {
            let remedy = match given.repeats {
                true if broadcast::repeats_to(&array.shape, &result.shape) => continue,
                false if array.shape == result.shape => continue,
                true => REPEATS,
                false => "all arrays of the call have one shape",
            };
            let label = array.words.label();
            let found = array.shape.clone();
            return Err(queue.wrong_shape_of(array.name, label, found, &result.shape[..], remedy));
        }
        let count = given.count.map(|count| one_count(queue, count)).transpose()?;
        let axes = if result.buffer.is_empty() {
            Vec::new()
        } else {
            let shapes: Vec<&[usize]> = read.iter().map(|array| &array.shape[..]).collect();
            broadcast::axes(&result.shape, &shapes)
        };
        if axes.len() > MOST_AXES {
            let object = format!(
                "{}: the number of axes of the results, with those that all inputs repeat alike counted as one,",
                subject(queue.verb)
            );
            let needed = "a number up to 6";
            return Err(ErrorDetail::Value { object, found: axes.len().to_string(), needed }.into());
        }
        Ok(Self { inputs, result, count, axes })
    }

    #[track_caller]
    fn enqueue(&self, queue: &VerbQueue<'_>, expression: &str) -> Result<()> {
        let arrays = self.inputs.iter().filter(|input| input.origin() == Origin::Read).count();
        let repeats = !broadcast::is_flat(&self.axes, arrays);
        let inputs = self.inputs.iter().map(|input| map_kernel::Input {
            name: input.name,
            dtype: input.dtype(),
            origin: input.origin(),
        });
        let signature = Signature {
            inputs: inputs.collect(),
            result: self.result.name,
            result_type: self.result.buffer.dtype(),
            repeats,
            has_count: self.count.is_some(),
        };
        let kernel = map_kernel::compiled(queue, &signature, expression)?;
        let len = self.result.buffer.len();
        let mut args: Vec<NamedArg<'_>> = vec![value(LEN, len as u32)];
        if repeats {
            args.push(value(AXIS_COUNT, self.axes.len() as u32));
            args.push(value(AXES, broadcast::vectors(&self.axes)));
        }
        args.extend(self.inputs.iter().map(Input::arg));
        if self.inputs.iter().all(|input| input.origin() != Origin::Written) {
            args.push((hidden(self.result.name), DynArg::ReadWrite(self.result.buffer)));
        }
        args.extend(self.count_arg());
        match queue.launch_dyn(&kernel, Grid::threads([len]), args) {
            Ok(()) => Ok(()),
            Err(error) => self.refused(queue, error),
        }
    }

    fn count_arg(&self) -> Option<NamedArg<'_>> {
        self.count.as_ref().map(|count| (Some(COUNT.into()), count.into_arg()))
    }

    /// Returns the error of a refused launch with the names of the verb's arguments, instead of those in the kernel's
    /// text.
    #[track_caller]
    fn refused(&self, queue: &VerbQueue<'_>, error: Error) -> Result<()> {
        let reads = self.inputs.iter().filter_map(Input::read).map(|array| (array.name, &array.words));
        let reads: Vec<Named<'_>> =
            reads.chain(self.count.as_ref().map(|count| (PART_COUNT, count))).collect();
        check(queue, &reads, &[(self.result.name, &self.result.words)])?;
        Err(error)
    }
}
