//! Describes errors of naga's validation, with their places, in WGSL's terms.

use naga::common::wgsl::{TryToWgsl, TypeContext};
use naga::front::Typifier;
use naga::proc::{LayoutError, LayoutErrorInner, ResolveContext};
use naga::valid::{
    CallError, ComposeError, ConstantError, EntryPointError, ExpressionError, FunctionError,
    GlobalVariableError, LiteralError, LocalVariableError, MAX_TYPE_SIZE, OverrideError, TypeError,
    ValidationError, WidthError,
};
use naga::{
    AddressSpace, BinaryOperator, Block, Expression, Function, GlobalVariable, Handle, MathFunction, Span,
    Statement, TypeInner,
};

use crate::parser_words::{of_constant, plain, reserved, words};
use crate::type_place;

/// Maximum number of characters of a quoted expression.
const QUOTED: usize = 40;

/// Message for an untyped number that does not convert to the required type.
const NO_TYPE: &str = "this number does not fit the type that is required here: give it a type, as in `2.0f` or `2u`, or \
                       convert the value beside it";

/// Message for an expression, a type or a statement at which the parser stops.
pub(crate) const NESTED: &str =
    "this is nested too deeply, and the limit is 199 levels of brackets, signs and statements";

/// Message for an `enable` or `requires` that follows a declaration; used files follow the main one.
pub(crate) const DIRECTIVE: &str =
    "a directive must come before all declarations, so only the main file can have it";

/// A mistake, and the part of the shader that contains it.
pub(crate) struct Diagnostic {
    pub(crate) message: String,
    pub(crate) span: Span,
}

/// Describes an error of naga's validation of `module`, which was parsed from `text`.
pub(crate) fn finding(
    module: &naga::Module,
    text: &str,
    error: &naga::WithSpan<ValidationError>,
) -> Diagnostic {
    let place = ErrorPlace { module, text, function: function(module, error.as_inner()) };
    // The last span is the innermost: the expression, not the function around it.
    let inner = error.spans().map(|(span, _)| *span).filter(Span::is_defined).last().unwrap_or_default();
    let (message, span) = place.of_module(error.as_inner()).unwrap_or_else(|| (innermost(error), None));
    let span = span.filter(Span::is_defined).unwrap_or(inner);
    Diagnostic { message, span: if span.is_defined() { span } else { place.head(error.as_inner()) } }
}

/// Describes an error of naga's parser.
pub(crate) fn parsing(error: &naga::front::wgsl::ParseError) -> Diagnostic {
    let mut message = error.message().to_string();
    let mut allowed = Vec::new();
    if let Some(rest) = message.strip_prefix("automatic conversions cannot convert ") {
        message = convert(format!("a value does not fit: {}", words(rest)));
    }
    if let Some(wanted) = message.strip_suffix("found \"\"") {
        message = format!("{wanted}found the end of the file");
    }
    if let Some(name) = message.strip_prefix("name `")
        && let Some(name) = name.strip_suffix("` is a reserved keyword")
    {
        message = reserved(name);
    }
    if let Some(word) = message.strip_prefix("expected identifier, found \"")
        && let Some(word) = word.strip_suffix('"')
        && word.starts_with(char::is_alphabetic)
    {
        message = reserved(word);
    }
    if let Some(name) = message.strip_prefix("Identifier starts with a reserved prefix: ") {
        message = format!("{name} begins with `__`, which WGSL reserves: use another name");
    }
    if message.starts_with("Abstract types may only appear in constant expressions") {
        message = NO_TYPE.into();
    }
    if message.contains("found a global directive") {
        message = DIRECTIVE.into();
        return Diagnostic { message, span: error.labels().next().map(|(span, _)| span).unwrap_or_default() };
    }
    for note in error.notes() {
        match note.strip_prefix("allowed type: ") {
            Some(ty) if ty.contains("Abstract") => {}
            Some(ty) => allowed.push(format!("`{ty}`")),
            None => message += &format!("; {}", note.trim_end_matches(':')),
        }
    }
    if let Some((index, _)) = message.split_once(" is out of bounds for expression [")
        && let Some(index) = index.strip_prefix("Index ")
    {
        message = format!("a value has no element {index}");
    }
    if message.contains("recursion limit") {
        message = NESTED.into();
    }
    if let Some(words) = of_constant(&message) {
        message = words;
    }
    if !allowed.is_empty() {
        message += &format!(": {}", allowed.join(", "));
    }
    let message = plain(&message);
    Diagnostic { message, span: error.labels().next().map(|(span, _)| span).unwrap_or_default() }
}

/// A message, and a better place for it than naga's.
type Words = (String, Option<Span>);

/// Returns the innermost cause: the causes around it name only the place.
fn innermost(error: &naga::WithSpan<ValidationError>) -> String {
    let mut cause: &dyn std::error::Error = error.as_inner();
    while let Some(next) = cause.source() {
        cause = next;
    }
    let cause = cause.to_string();
    if cause.starts_with("Abstract types may only appear in constant expressions") {
        return NO_TYPE.into();
    }
    match plain(&cause) {
        words if words != cause => words,
        _ => of_constant(&cause).unwrap_or_else(|| format!("the shader is not valid: {cause}")),
    }
}

fn function<'a>(module: &'a naga::Module, error: &ValidationError) -> Option<&'a Function> {
    match error {
        ValidationError::Function { handle, .. } => Some(&module.functions[*handle]),
        ValidationError::EntryPoint { name, .. } => {
            module.entry_points.iter().find(|entry| entry.name == *name).map(|entry| &entry.function)
        }
        _ => None,
    }
}

/// Module, text and function of an error.
struct ErrorPlace<'a> {
    module: &'a naga::Module,
    text: &'a str,
    /// Function to which the expressions in the error belong.
    function: Option<&'a Function>,
}

impl ErrorPlace<'_> {
    /// Returns the declaration of the function that contains an error without a span.
    fn head(&self, error: &ValidationError) -> Span {
        let (ValidationError::Function { name, .. } | ValidationError::EntryPoint { name, .. }) = error
        else {
            return Span::UNDEFINED;
        };
        let head = format!("fn {name}");
        self.text.find(&head).map_or(Span::UNDEFINED, |at| Span::new(at as u32, (at + head.len()) as u32))
    }

    fn of_module(&self, error: &ValidationError) -> Option<Words> {
        let message = match error {
            ValidationError::EntryPoint { source: EntryPointError::Function(source), .. }
            | ValidationError::Function { source, .. } => return self.of_function(source),
            ValidationError::EntryPoint { name, source, .. } => return self.of_entry(name, source),
            ValidationError::GlobalVariable { name, source, handle } => {
                let span = self.module.global_variables.get_span(*handle);
                return Some((
                    of_variable(name, &self.module.global_variables[*handle], source)?,
                    Some(span),
                ));
            }
            ValidationError::Type { name, source, .. } => of_type(name, source)?,
            ValidationError::Constant { name, source, .. } => match source {
                ConstantError::InitializerExprType => {
                    format!("the value of `const {name}` is not known when the shader is compiled")
                }
                ConstantError::InvalidType => format!("`const {name}` and its value differ in type"),
                ConstantError::NonConstructibleType => {
                    format!("`const {name}` has a type that no constant has")
                }
            },
            ValidationError::Override { name, source, .. } => match source {
                OverrideError::InvalidType => format!("`override {name}` and its default differ in type"),
                OverrideError::TypeNotScalar | OverrideError::NonConstructibleType => {
                    format!("`override {name}` must be a number or a `bool`")
                }
                OverrideError::DuplicateID => format!("`override {name}` has the @id of another override"),
                _ => return None,
            },
            ValidationError::Layouter(LayoutError { ty, inner: LayoutErrorInner::TooLarge }) => {
                let name = self.type_name(*ty);
                let message =
                    format!("{name} has more than {MAX_TYPE_SIZE} bytes, the limit: use fewer elements");
                return Some((message, type_place::first_use(self.module, self.text, *ty)));
            }
            ValidationError::ArraySizeError { .. } => "the length of the array is not above 0".into(),
            _ => return None,
        };
        Some((message, None))
    }

    fn of_entry(&self, name: &str, error: &EntryPointError) -> Option<Words> {
        let message = match error {
            EntryPointError::BindingCollision(variable) => {
                let second = &self.module.global_variables[*variable];
                let binding = second.binding?;
                let same = |other: &naga::GlobalVariable| other.binding == Some(binding);
                let mut others = self.module.global_variables.iter().filter(|(_, other)| same(other));
                let first = others.find(|(handle, _)| handle != variable)?.1;
                let [first, second] = [first, second].map(|v| v.name.clone().unwrap_or_default());
                let at = format!("@group({}) @binding({})", binding.group, binding.binding);
                let message = format!("`{first}` and `{second}` both have {at}: give one another number");
                return Some((message, Some(self.module.global_variables.get_span(*variable))));
            }
            EntryPointError::Conflict => format!("there are two entry points `{name}`"),
            EntryPointError::OutOfRangeWorkgroupSize => {
                format!("`{name}`: the workgroup size has a number that is 0 or too large")
            }
            EntryPointError::InvalidGlobalUsage(variable, _) => {
                let variable = self.module.global_variables[*variable].name.as_deref().unwrap_or_default();
                format!("`{name}` uses `{variable}` in a way that its declaration does not allow")
            }
            EntryPointError::MoreThanOneImmediateUsed => {
                format!("`{name}` uses more than one `var<immediate>`")
            }
            _ => return None,
        };
        Some((message, None))
    }

    fn of_function(&self, error: &FunctionError) -> Option<Words> {
        use FunctionError as E;
        let message = match error {
            E::Expression { handle, source } => return self.of_expression(*handle, source),
            E::LocalVariable { name, source, .. } => match source {
                LocalVariableError::InitializerType => format!("`var {name}` and its initial value differ in type"),
                LocalVariableError::InvalidType(ty) => {
                    let ty = self.type_name(*ty);
                    format!("`var {name}` is a variable of a function, which cannot have the type {ty}")
                }
                LocalVariableError::NonConstOrOverrideInitializer => return None,
            },
            E::InvalidArgumentPointerSpace { name, space, .. } => {
                let space = space_name(*space);
                format!("argument `{name}` is a pointer to {space}: functions take pointers to `function` and `private` only")
            }
            E::InvalidArgumentType { name, .. } => format!("argument `{name}` has a type that functions do not take"),
            E::NonConstructibleReturnType => "functions do not return this type".into(),
            E::BreakOutsideOfLoopOrSwitch => "`break` is outside of a loop or a `switch`".into(),
            E::ContinueOutsideOfLoop => "`continue` is outside of a loop".into(),
            E::InvalidReturnSpot => "`return` is inside a `continuing` block".into(),
            E::InvalidReturnType { expression, expected_ty } => {
                let expected = expected_ty.map_or("nothing".into(), |ty| self.type_name(ty));
                match expression {
                    Some(value) => {
                        format!("the function returns {expected}, and {}", self.with_type(*value))
                    }
                    None => format!("a path through the function returns no value; the function returns {expected}"),
                }
            }
            E::InvalidIfType(condition) => {
                let message = format!("{}; a condition is `bool`", self.with_type(*condition));
                let is_it = |s: &Statement| matches!(s, Statement::If { condition: c, .. } if c == condition);
                return Some((message, self.span(*condition).or_else(|| self.statement(&is_it))));
            }
            E::InvalidSwitchType(value) => {
                format!("{}; `switch` takes `i32` or `u32`", self.with_type(*value))
            }
            E::ConflictingSwitchCase(_) => "two cases of the `switch` have the same value".into(),
            E::ConflictingCaseType => "the cases of the `switch` differ in type".into(),
            E::MissingDefaultCase => "the `switch` has no `default` case".into(),
            E::MultipleDefaultCases => "the `switch` has two `default` cases".into(),
            E::InvalidStorePointer(pointer) => self.not_writable(*pointer),
            E::InvalidStoreTypes { pointer, value } => {
                let message =
                    format!("{} is assigned to {}", self.with_type(*value), self.with_type(*pointer));
                return Some((convert(message), self.span(*value)));
            }
            E::InvalidCall { function, error } => return self.of_call(*function, error),
            E::InvalidAtomic(error) => format!("the atomic operation does not fit: {error}"),
            E::NonUniformControlFlow(..) | E::NonUniformWorkgroupUniformLoad(_) => {
                "not all invocations of a workgroup reach this: a condition before it differs between them, or some have returned".into()
            }
            E::WorkgroupUniformLoadInvalidPointer(pointer) => {
                format!("`workgroupUniformLoad` takes a pointer to `var<workgroup>`, not {}", self.quote(*pointer))
            }
            _ => return None,
        };
        Some((message, None))
    }

    fn of_call(&self, function: Handle<Function>, error: &CallError) -> Option<Words> {
        let called = self.module.functions[function].name.as_deref().unwrap_or_default();
        let message = match error {
            CallError::ArgumentCount { required, seen } => {
                format!("`{called}` takes {required} arguments, and is given {seen}")
            }
            CallError::ArgumentType { index, required, seen_expression } => {
                let given = self.with_type(*seen_expression);
                let required = self.type_name(*required);
                let message = format!("argument {} of `{called}` is {required}, and {given}", index + 1);
                let is_it = |s: &Statement| matches!(s, Statement::Call { function: f, arguments, .. } if *f == function && arguments.contains(seen_expression));
                return Some((message, self.span(*seen_expression).or_else(|| self.statement(&is_it))));
            }
            CallError::Argument { source, .. } => return self.of_expression_without_handle(source),
            _ => return None,
        };
        Some((message, None))
    }

    fn of_expression(&self, at: Handle<Expression>, error: &ExpressionError) -> Option<Words> {
        use ExpressionError as E;
        let message = match error {
            E::InvalidBinaryOperandTypes { op, lhs_expr, rhs_expr, .. } => {
                let [left, right] = [lhs_expr, rhs_expr].map(|side| self.with_type(*side));
                convert(format!("`{}` does not take these two: {left}, {right}", operator(*op)))
            }
            E::InvalidUnaryOperandType(op, operand) => {
                let op = match op {
                    naga::UnaryOperator::Negate => "-",
                    naga::UnaryOperator::LogicalNot => "!",
                    naga::UnaryOperator::BitwiseNot => "~",
                };
                format!("`{op}` does not take this: {}", self.with_type(*operand))
            }
            E::WrongArgumentCount(called) => format!("`{}` takes another number of arguments", math(*called)),
            E::InvalidArgumentType(called, index, argument) => {
                let name = math(*called);
                let argument = self.with_type(*argument);
                convert(format!("argument {} does not fit `{name}`: {argument}", index + 1))
            }
            E::SelectValuesTypeMismatch { accept, reject } => {
                let [accept, reject] = [accept, reject].map(|inner| self.inner_name(inner));
                convert(format!("`select` takes two values of one type, and is given {reject} and {accept}"))
            }
            E::SelectConditionNotABool { actual } => {
                format!("the condition of `select` is {}; a condition is `bool`", self.inner_name(actual))
            }
            E::Compose(ComposeError::ComponentType { index }) => {
                let Some(Expression::Compose { ty, components }) = self.expression(at) else { return None };
                let component = components.get(*index as usize)?;
                let ty = self.type_name(*ty);
                let component = self.with_type(*component);
                convert(format!("value {} does not fit {ty}: {component}", index + 1))
            }
            E::Compose(ComposeError::ComponentCount { given, expected }) => {
                format!("{} takes {expected} values, and is given {given}", self.quote(at))
            }
            E::IndexOutOfBounds(base, index) => {
                format!("{} has no element {index}", self.quote_any(*base))
            }
            E::InvalidBaseType(base) => format!("{} has no elements and no members", self.quote_any(*base)),
            E::InvalidIndexType(index) => format!("{}; an index is `i32` or `u32`", self.with_type(*index)),
            E::InvalidArrayType(array) => {
                format!(
                    "`arrayLength` takes a pointer to an array without a fixed length, not {}",
                    self.quote(*array)
                )
            }
            E::InvalidPointerType(pointer) => format!("{} cannot be read", self.quote_any(*pointer)),
            E::InvalidSplatType(value) | E::InvalidVectorType(value) => {
                format!("{} is not a number or vector that fits here", self.quote_any(*value))
            }
            E::InvalidSwizzleComponent(component, size) => {
                let component = format!("{component:?}").to_lowercase();
                format!("a vector of {} has no component `{component}`", *size as u32)
            }
            E::InvalidCastArgument => match self.expression(at) {
                Some(Expression::As { expr, .. }) => {
                    format!("{}, which cannot be converted to this type", self.with_type(*expr))
                }
                _ => "the value cannot be converted to this type".into(),
            },
            other => return self.of_expression_without_handle(other),
        };
        Some((message, self.span(at)))
    }

    fn of_expression_without_handle(&self, error: &ExpressionError) -> Option<Words> {
        let message = match error {
            ExpressionError::NegativeIndex(_) => "the index is below 0".into(),
            ExpressionError::DivideByZero => "the divisor is 0".into(),
            ExpressionError::ShiftAmountTooLarge { lhs_type, .. } => {
                format!("the shift is as wide as {}, or wider", self.inner_name(lhs_type))
            }
            ExpressionError::NotInScope => "the value is not known here: it belongs to another block".into(),
            ExpressionError::Literal(LiteralError::Width(WidthError::Abstract)) => NO_TYPE.into(),
            ExpressionError::Literal(literal) => literal.to_string(),
            _ => return None,
        };
        Some((message, None))
    }

    fn not_writable(&self, pointer: Handle<Expression>) -> String {
        let Some(variable) = self.variable(pointer) else {
            return format!("{} cannot be written", self.quote(pointer));
        };
        let name = variable.name.as_deref().unwrap_or_default();
        match variable.space {
            AddressSpace::Storage { .. } => {
                format!(
                    "`{name}` is written, but declared `var<storage, read>`: declare it `var<storage, read_write>`"
                )
            }
            space => format!("`{name}` is written, but {} is read-only", space_name(space)),
        }
    }

    /// Returns the module variable into which a pointer points.
    fn variable(&self, mut pointer: Handle<Expression>) -> Option<&naga::GlobalVariable> {
        loop {
            pointer = match self.expression(pointer)? {
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => *base,
                Expression::GlobalVariable(handle) => return Some(&self.module.global_variables[*handle]),
                _ => return None,
            };
        }
    }

    fn expression(&self, handle: Handle<Expression>) -> Option<&Expression> {
        self.function?.expressions.try_get(handle).ok()
    }

    /// Returns the span of an expression; `None` for a named expression, because its span is that of the declaration.
    fn span(&self, handle: Handle<Expression>) -> Option<Span> {
        let function = self.function.filter(|function| !function.named_expressions.contains_key(&handle))?;
        function.expressions.try_get(handle).ok()?;
        Some(function.expressions.get_span(handle))
    }

    /// Returns the span of the first statement for which `is_it` returns `true`.
    fn statement(&self, is_it: &dyn Fn(&Statement) -> bool) -> Option<Span> {
        statement(&self.function?.body, is_it)
    }

    /// Returns the expression as the program wrote it.
    fn quote(&self, handle: Handle<Expression>) -> String {
        if let Some(name) = self.function.and_then(|function| function.named_expressions.get(&handle)) {
            return format!("`{name}`");
        }
        let range = self.span(handle).and_then(|span| span.to_range());
        let text = range.and_then(|range| self.text.get(range)).unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(QUOTED) {
            _ if text.is_empty() => "the value".into(),
            Some((end, _)) => format!("`{}..`", &text[..end]),
            None => format!("`{text}`"),
        }
    }

    /// Quotes an expression as [`quote`](Self::quote) does, with its type if that is known.
    fn quote_any(&self, handle: Handle<Expression>) -> String {
        let name = self.type_of(handle);
        name.map_or_else(|| self.quote(handle), |name| format!("{}, {name},", self.quote(handle)))
    }

    fn with_type(&self, handle: Handle<Expression>) -> String {
        let name = self.type_of(handle).unwrap_or_else(|| "of another type".into());
        format!("{} is {name}", self.quote(handle))
    }

    /// Returns the type of an expression; for a variable, the type of its value.
    fn type_of(&self, handle: Handle<Expression>) -> Option<String> {
        let function = self.function?;
        let context =
            ResolveContext::with_locals(self.module, &function.local_variables, &function.arguments);
        let mut types = Typifier::new();
        types.grow(handle, &function.expressions, &context).ok()?;
        Some(match types.get(handle, &self.module.types) {
            TypeInner::Pointer { base, .. } => self.type_name(*base),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => {
                self.inner_name(&TypeInner::Vector { size: *size, scalar: *scalar })
            }
            TypeInner::ValuePointer { size: None, scalar, .. } => {
                self.inner_name(&TypeInner::Scalar(*scalar))
            }
            inner => self.inner_name(inner),
        })
    }

    fn type_name(&self, ty: Handle<naga::Type>) -> String {
        format!("`{}`", self.module.to_ctx().type_to_string(ty))
    }

    fn inner_name(&self, inner: &TypeInner) -> String {
        let mut name = String::new();
        // Only the arena contains the names of structs.
        let known = self.module.types.iter().find(|(_, ty)| ty.inner == *inner && ty.name.is_some());
        if let Some((handle, _)) = known {
            return self.type_name(handle);
        }
        match self.module.to_ctx().write_type_inner(inner, &mut name) {
            Ok(()) => format!("`{name}`"),
            Err(_) => "another type".into(),
        }
    }
}

/// Returns the place of the first statement of a kind in a block or in its blocks.
pub(crate) fn statement(block: &Block, is_it: &dyn Fn(&Statement) -> bool) -> Option<Span> {
    let inside = |statement: &Statement| match statement {
        Statement::Block(inner) => self::statement(inner, is_it),
        Statement::If { accept, reject, .. } => {
            self::statement(accept, is_it).or_else(|| self::statement(reject, is_it))
        }
        Statement::Loop { body, continuing, .. } => {
            self::statement(body, is_it).or_else(|| self::statement(continuing, is_it))
        }
        Statement::Switch { cases, .. } => cases.iter().find_map(|case| self::statement(&case.body, is_it)),
        _ => None,
    };
    block.span_iter().find_map(|(s, span)| if is_it(s) { Some(*span) } else { inside(s) })
}

/// Appends advice for two different number types, between which WGSL does not convert.
fn convert(message: String) -> String {
    format!("{message}; WGSL converts no value implicitly: write `f32(..)`, `u32(..)` or the like around one")
}

fn of_variable(name: &str, variable: &GlobalVariable, error: &GlobalVariableError) -> Option<String> {
    use GlobalVariableError as E;
    Some(match error {
        E::InvalidUsage(space) => format!("`{name}`: {} does not allow this", space_name(*space)),
        E::InvalidType(space) => {
            format!("`{name}` has a type that is not possible in {}", space_name(*space))
        }
        E::MissingTypeFlags { .. } => {
            format!(
                "`{name}` has a type that the host cannot pass: no `bool`, no pointer, no length known at run time but in `var<storage>`"
            )
        }
        E::InvalidBinding if variable.binding.is_none() => format!(
            "`{name}` has no binding: write `@group(0) @binding(N)` before it, with a number that no other variable has"
        ),
        E::InvalidBinding => {
            let space = space_name(variable.space);
            format!("`{name}` has a binding, which only buffers and textures have; remove it from {space}")
        }
        E::Alignment(space, _, cause) => {
            let immediate = if *space == AddressSpace::Uniform { " or `var<immediate>`" } else { "" };
            let space = space_name(*space);
            format!(
                "the layout of `{name}` does not fit {space}{immediate}: {cause}; use `var<storage, read>`, or elements of 16 bytes such as `vec4<f32>`"
            )
        }
        E::InitializerExprType | E::InitializerType => {
            format!("`{name}` and its initial value differ in type")
        }
        E::InitializerNotAllowed(space) => {
            format!("`{name}`: {} cannot have an initial value", space_name(*space))
        }
        E::StorageAddressSpaceWriteOnlyNotSupported => {
            format!("`{name}`: WGSL has `read` and `read_write` only")
        }
        _ => return None,
    })
}

fn of_type(name: &str, error: &TypeError) -> Option<String> {
    let name = if name.is_empty() { "the type".into() } else { format!("`{name}`") };
    Some(match error {
        TypeError::InvalidDynamicArray(field, _) => {
            format!(
                "{name}: only the last member may be an array without a length, and `{field}` is not, or is in a struct that an array holds"
            )
        }
        TypeError::InvalidArrayBaseType(_) => format!("{name}: an array cannot have elements of this type"),
        TypeError::EmptyStruct => format!("{name} has no members"),
        TypeError::MatrixElementNotFloat => "matrices have `f32` or `f16` only".into(),
        TypeError::InvalidAtomicWidth(..) => "atomics are `i32` or `u32`".into(),
        TypeError::InvalidPointerToUnsized { .. } => {
            "an array without a length is possible in `var<storage>` only".into()
        }
        _ => return None,
    })
}

fn space_name(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::Function => "a variable of a function",
        AddressSpace::Private => "`var<private>`",
        AddressSpace::WorkGroup => "`var<workgroup>`",
        AddressSpace::Uniform => "`var<uniform>`",
        AddressSpace::Storage { .. } => "`var<storage>`",
        AddressSpace::Handle => "a texture or a sampler",
        AddressSpace::Immediate => "`var<immediate>`",
        _ => "this kind of variable",
    }
}

fn operator(op: BinaryOperator) -> &'static str {
    use BinaryOperator as B;
    match op {
        B::Add => "+",
        B::Subtract => "-",
        B::Multiply => "*",
        B::Divide => "/",
        B::Modulo => "%",
        B::Equal => "==",
        B::NotEqual => "!=",
        B::Less => "<",
        B::LessEqual => "<=",
        B::Greater => ">",
        B::GreaterEqual => ">=",
        B::And => "&",
        B::ExclusiveOr => "^",
        B::InclusiveOr => "|",
        B::LogicalAnd => "&&",
        B::LogicalOr => "||",
        B::ShiftLeft => "<<",
        B::ShiftRight => ">>",
    }
}

fn math(function: MathFunction) -> String {
    function.try_to_wgsl().map_or_else(|| format!("{function:?}"), str::to_owned)
}
