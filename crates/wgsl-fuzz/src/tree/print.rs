//! Writes a tree as WGSL.

use std::fmt::Write as _;

use super::statement::{Loop, LoopForm, Stmt};
use super::types::{F32, Scalar, Struct, Type, U32};
use super::{ANY, Argument, Expr, Function, Node, Place, Space, Step, Tree};

/// Writes the functions of a program.
pub(crate) fn functions(tree: &Tree) -> String {
    let passes = !tree.has_privates;
    let mut printer = Printer { structs: &tree.structs, passes, text: String::new(), depth: 0 };
    for function in &tree.functions {
        printer.function(function);
    }
    printer.main(tree);
    printer.text
}

/// Writes the module's structs and variables that `text` uses.
pub(crate) fn declarations(tree: &Tree, text: &str) -> String {
    let mut variables = String::new();
    for global in tree.globals.iter().filter(|global| mentions(text, &global.name)) {
        let space = match global.space {
            Space::Private => "private",
            Space::Workgroup => "workgroup",
        };
        let _ = writeln!(variables, "var<{space}> {}: {};", global.name, global.text);
    }
    let mut structs = String::new();
    // A struct uses only structs before it.
    for structure in tree.structs.iter().rev() {
        if [text, &variables, &structs].iter().any(|text| mentions(text, &structure.name)) {
            let fields = structure.fields.iter();
            let fields = fields.map(|(name, ty)| format!("    {name}: {},\n", ty.text(&tree.structs)));
            structs = format!("struct {} {{\n{}}}\n{structs}", structure.name, fields.collect::<String>());
        }
    }
    structs + &variables
}

/// Variables with the invocation's number in its workgroup and in the whole grid.
pub(crate) const NUMBERS: [&str; 2] = ["invocation_of_group", "invocation"];

/// Returns `true` if `text` has `name` as a whole word.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(is_word);
        let after = text[at + name.len()..].chars().next().is_some_and(is_word);
        !before && !after
    })
}

/// Writer of the text.
struct Printer<'a> {
    structs: &'a [Struct],
    /// `true` if each function gets the invocation number as an argument.
    passes: bool,
    text: String,
    depth: usize,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", 4 * self.depth);
    }

    fn function(&mut self, function: &Function) {
        let params = function.params.iter().map(|param| {
            let ty = param.ty.text(self.structs);
            let ty = if param.pointer { format!("ptr<function, {ty}>") } else { ty };
            format!("{}: {ty}", param.name)
        });
        let numbers = NUMBERS.iter().filter(|_| self.passes).map(|name| format!("{name}: u32"));
        let params = numbers.chain(params).collect::<Vec<_>>().join(", ");
        let result =
            function.result.as_ref().map_or(String::new(), |ty| format!(" -> {}", ty.text(self.structs)));
        self.line(&format!("fn {}({params}){result} {{", function.name));
        self.body(&function.body);
        self.line("}");
    }

    fn main(&mut self, tree: &Tree) {
        let [x, y, z] = tree.workgroup;
        let size = match (y, z) {
            (1, 1) => format!("{x}"),
            (_, 1) => format!("{x}, {y}"),
            _ => format!("{x}, {y}, {z}"),
        };
        self.line(&format!("@compute @workgroup_size({size})"));
        self.line(
            "fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, \
             @builtin(local_invocation_id) lid: vec3<u32>, @builtin(local_invocation_index) lane: u32, \
             @builtin(global_invocation_id) gid: vec3<u32>,",
        );
        for (name, _) in tree.subgroup_builtins() {
            self.line(&format!("@builtin({name}) {name}: u32,"));
        }
        self.line(") {");
        self.depth += 1;
        let [x, y, z] = tree.workgroup;
        let group = format!("((wid.z * groups.y + wid.y) * groups.x + wid.x) * {}u + lane", x * y * z);
        for (name, value) in NUMBERS.iter().zip(["lane", &group]) {
            self.line(&format!("{}{name} = {value};", if self.passes { "let " } else { "" }));
        }
        self.depth -= 1;
        self.body(&tree.main);
        self.line("}");
    }

    fn body(&mut self, body: &[Stmt]) {
        self.depth += 1;
        for stmt in body {
            self.stmt(stmt);
        }
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(name, value) => self.line(&format!("let {name} = {};", self.expr(value))),
            Stmt::Var(name, ty, value) => {
                let value = value.as_ref().map_or(String::new(), |value| format!(" = {}", self.expr(value)));
                self.line(&format!("var {name}: {}{value};", ty.text(self.structs)));
            }
            Stmt::Assign(place, operator @ ("++" | "--"), _) => {
                self.line(&format!("{}{operator};", self.place(place)));
            }
            Stmt::Assign(place, operator, value) => {
                self.line(&format!("{} {operator} {};", self.place(place), self.expr(value)));
            }
            Stmt::If(condition, yes, no) => {
                self.line(&format!("if {} {{", self.expr(condition)));
                self.body(yes);
                if !no.is_empty() {
                    self.line("} else {");
                    self.body(no);
                }
                self.line("}");
            }
            Stmt::Switch(selector, cases, default) => self.switch(selector, cases, default),
            Stmt::Loop(of) => self.looped(of),
            Stmt::Break => self.line("break;"),
            Stmt::Continue => self.line("continue;"),
            Stmt::Return(None) => self.line("return;"),
            Stmt::Return(Some(value)) => self.line(&format!("return {};", self.expr(value))),
            Stmt::Call(call) => self.line(&format!("{};", self.expr(call))),
            Stmt::Block(body) => {
                self.line("{");
                self.body(body);
                self.line("}");
            }
            Stmt::Pointer(name, place) => self.line(&format!("let {name} = &{};", self.place(place))),
            Stmt::Count(operation, value) => {
                let at = crate::program::shared_slot(operation);
                let atomic = if value.ty == F32 { "shared_f[0]".into() } else { format!("shared_u[{at}]") };
                self.line(&format!("{operation}(&{atomic}, {});", self.expr(value)));
            }
            Stmt::Own(name, operation, value) => {
                let own = if value.ty == F32 { "own_f" } else { "own" };
                let value = self.expr(value);
                self.line(&format!("let {name} = {operation}(&{own}[invocation], {value});"));
            }
            Stmt::OwnOfGroup(name, array, operation, value) => {
                let value = self.expr(value);
                self.line(&format!("let {name} = {operation}(&{array}[invocation_of_group], {value});"));
            }
            Stmt::SwapOfGroup(name, array, compared, value) => {
                let values = format!("{}, {}", self.expr(compared), self.expr(value));
                let atomic = format!("&{array}[invocation_of_group]");
                self.line(&format!("let {name} = atomicCompareExchangeWeak({atomic}, {values}).old_value;"));
            }
            Stmt::Swap(name, compared, value) => {
                let compared = self.expr(compared);
                let value = self.expr(value);
                let number = if self.passes { "invocation, " } else { "" };
                self.line(&format!("let {name} = swap_own({number}{compared}, {value});"));
            }
            Stmt::Exchange(..) | Stmt::Broadcast(_) | Stmt::Tally(_) => self.barriers(stmt),
        }
    }

    fn barriers(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Exchange(array, value, body) => {
                self.line(&format!("{array}[invocation_of_group] = {};", self.expr(value)));
                self.line("workgroupBarrier();");
                self.line("{");
                self.body(body);
                self.line("}");
                self.line("workgroupBarrier();");
            }
            Stmt::Broadcast(of) => {
                let variable = &of.variable;
                let value = self.expr(&of.value);
                self.line(&format!("if invocation_of_group == {}u {{ {variable} = {value}; }}", of.lane));
                self.line(&format!("let {} = workgroupUniformLoad(&{variable});", of.name));
            }
            Stmt::Tally(of) => {
                let at = |index| format!("&{}[{}]", of.array, self.index(index, of.len));
                let index = at(&of.index);
                let value = self.expr(&of.value);
                let change = format!("{}({index}, {value});", of.operation);
                let load = format!("let {} = atomicLoad({});", of.name, at(&of.seen));
                self.line(&format!("if {} {{ {change} }}", self.expr(&of.condition)));
                self.line("workgroupBarrier();");
                self.line(&load);
                self.line("workgroupBarrier();");
            }
            _ => {}
        }
    }

    fn switch(&mut self, selector: &Expr, cases: &[(Vec<i32>, Vec<Stmt>)], default: &[Stmt]) {
        let suffix = if selector.ty == U32 { "u" } else { "i" };
        self.line(&format!("switch {} {{", self.expr(selector)));
        self.depth += 1;
        for (values, body) in cases {
            let values = values.iter().map(|value| format!("{value}{suffix}")).collect::<Vec<_>>();
            self.line(&format!("case {} {{", values.join(", ")));
            self.body(body);
            self.line("}");
        }
        self.line("default {");
        self.body(default);
        self.line("}");
        self.depth -= 1;
        self.line("}");
    }

    fn looped(&mut self, of: &Loop) {
        let counter = &of.counter;
        let bound = self.turns(&of.bound, of.most);
        let until = of.until.as_ref().map(|until| self.expr(until));
        let leave = until.as_ref().map(|until| format!("if {until} {{ break; }}"));
        match of.form {
            LoopForm::For => {
                self.line(&format!("for (var {counter} = 0u; {counter} < {bound}; {counter}++) {{"))
            }
            LoopForm::While => {
                self.line(&format!("var {counter} = 0u;"));
                self.line(&format!("while {counter} < {bound} {{"));
            }
            LoopForm::Continuing | LoopForm::BreakIf => {
                self.line(&format!("var {counter} = 0u;"));
                self.line("loop {");
            }
        }
        self.depth += 1;
        match of.form {
            LoopForm::While => self.line(&format!("{counter} += 1u;")),
            LoopForm::Continuing => self.line(&format!("if {counter} >= {bound} {{ break; }}")),
            LoopForm::For | LoopForm::BreakIf => {}
        }
        if let Some(leave) = leave.filter(|_| of.form != LoopForm::BreakIf) {
            self.line(&leave);
        }
        self.depth -= 1;
        self.body(&of.body);
        self.depth += 1;
        match of.form {
            LoopForm::Continuing => self.line(&format!("continuing {{ {counter} += 1u; }}")),
            LoopForm::BreakIf => {
                let until = until.map_or(String::new(), |until| format!(" || {until}"));
                let condition = format!("{counter} >= {bound}{until}");
                self.line(&format!("continuing {{ {counter} += 1u; break if {condition}; }}"));
            }
            LoopForm::For | LoopForm::While => {}
        }
        self.depth -= 1;
        self.line("}");
    }

    fn place(&self, place: &Place) -> String {
        place.steps.iter().fold(place.root.clone(), |text, step| match step {
            Step::Field(name) => format!("{text}.{name}"),
            Step::Index(index, len) => format!("{text}[{}]", self.index(index, *len)),
            Step::Fixed(step) => text + step,
        })
    }

    /// Writes an index, limited to values below `len` unless `len` is `ANY`.
    fn index(&self, index: &Expr, len: u32) -> String {
        if len == ANY { self.expr(index) } else { self.limited(index, len - 1) }
    }

    /// Writes an iteration count up to `most`, as a remainder, because a minimum would nearly always be `most`.
    fn turns(&self, value: &Expr, most: u32) -> String {
        match value.node {
            Node::Zero | Node::U32(_) => self.limited(value, most),
            _ => format!("({} % {}u)", self.expr(value), most + 1),
        }
    }

    fn limited(&self, value: &Expr, most: u32) -> String {
        match value.node {
            Node::Zero => "0u".into(),
            Node::U32(value) => format!("{}u", value.min(most)),
            _ => format!("min({}, {most}u)", self.expr(value)),
        }
    }

    fn list(&self, of: &[Expr]) -> String {
        of.iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, expr: &Expr) -> String {
        match &expr.node {
            Node::Bool(value) => value.to_string(),
            Node::I32(i32::MIN) => "i32(-2147483648)".into(),
            Node::I32(value) if *value < 0 => format!("({value}i)"),
            Node::I32(value) => format!("{value}i"),
            Node::U32(value) => format!("{value}u"),
            Node::F32(quarters) => quarters_text(*quarters),
            Node::Zero => format!("{}()", expr.ty.text(self.structs)),
            Node::Read(place) => self.place(place),
            Node::Unary(operator, of) => format!("({operator}{})", self.expr(of)),
            Node::Binary(operator, left, right) => {
                format!("({} {operator} {})", self.expr(left), self.expr(right))
            }
            Node::Builtin(name, of) => self.builtin(&expr.ty, name, of),
            Node::Construct(of) => format!("{}({})", expr.ty.text(self.structs), self.list(of)),
            Node::Call(name, arguments) => {
                let numbers = NUMBERS.iter().filter(|_| self.passes).map(|name| (*name).to_owned());
                let arguments = arguments.iter().map(|argument| match argument {
                    Argument::Value(value) => self.expr(value),
                    Argument::Pointer(name) => format!("&{name}"),
                });
                format!("{name}({})", numbers.chain(arguments).collect::<Vec<_>>().join(", "))
            }
            Node::Swizzle(of, letters) => format!("{}.{letters}", self.expr(of)),
            Node::Element(of, index, len) => format!("{}[{}]", self.expr(of), self.index(index, *len)),
        }
    }

    /// Writes a call of a built-in function, or of a named pattern.
    fn builtin(&self, ty: &Type, name: &str, of: &[Expr]) -> String {
        let list = self.list(of);
        match name {
            "through_half" => format!("unpack2x16float(pack2x16float({list}))"),
            "through_snorm" => format!("round(unpack4x8snorm({list}) * 127.0f)"),
            "through_unorm" => format!("round(unpack4x8unorm({list}) * 255.0f)"),
            "through_snorm16" => format!("round(unpack2x16snorm({list}) * 32767.0f)"),
            "through_unorm16" => format!("round(unpack2x16unorm({list}) * 65535.0f)"),
            "modf.fract" | "modf.whole" | "frexp.exp" => {
                let (function, field) = name.split_once('.').unwrap_or((name, ""));
                format!("{function}({list}).{field}")
            }
            "small" => {
                let from = of[0].ty.lanes().map_or(Scalar::U32, |(scalar, _)| scalar);
                let mask = format!("{}(63)", ty.with_scalar(from).text(self.structs));
                format!("{}({list} & {mask})", ty.text(self.structs))
            }
            "divide" => format!("({} / {})", self.expr(&of[0]), self.expr(&of[1])),
            "remainder" => format!("({} % {})", self.expr(&of[0]), self.expr(&of[1])),
            "bitcast" => format!("bitcast<{}>({list})", ty.text(self.structs)),
            "float_bits" => format!("bitcast<{}>(abs({list}) + 1.0f)", ty.text(self.structs)),
            _ => format!("{name}({list})"),
        }
    }
}

fn quarters_text(quarters: i32) -> String {
    let text = format!("{:?}f", f64::from(quarters) / 4.0);
    if quarters < 0 { format!("({text})") } else { text }
}
