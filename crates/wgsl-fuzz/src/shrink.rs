//! Reduces a program as long as it keeps a property, such as a difference between two engines.

use crate::case::Case;
use crate::tree::statement::Stmt;
use crate::tree::types::{BOOL, Scalar, Type};
use crate::tree::{Expr, Node, Tree, visit};

/// Returns a smaller program with the same property. Tries at most `most` programs, all of them valid.
pub fn shrink(case: &Case, most: usize, holds: &mut dyn FnMut(&Case) -> bool) -> Case {
    let has_zeros = visit::has_known_zeros(&mut case.tree.clone());
    let mut shrinker = Shrinker { best: case.clone(), left: most, has_zeros, holds };
    loop {
        let before = shrinker.left;
        let mut smaller = shrinker.sizes();
        smaller |= shrinker.statements();
        smaller |= shrinker.hoisted();
        smaller |= shrinker.functions();
        smaller |= shrinker.expressions();
        if !smaller || shrinker.left == 0 || shrinker.left == before {
            return shrinker.best;
        }
    }
}

/// The smallest program so far, and the search for a smaller one.
struct Shrinker<'a> {
    best: Case,
    /// Number of programs that may still be tried.
    left: usize,
    /// `true` if the program has zeros that a compiler can evaluate. If not, smaller programs must not have any either,
    /// because SwiftShader's defects with them would hide the difference.
    has_zeros: bool,
    holds: &'a mut dyn FnMut(&Case) -> bool,
}

impl Shrinker<'_> {
    /// Keeps a tree if it still has the property.
    fn accepts(&mut self, tree: Tree) -> bool {
        if self.left == 0 {
            return false;
        }
        let mut case = self.best.with_tree(tree);
        if !self.has_zeros && visit::has_known_zeros(&mut case.tree) {
            return false;
        }
        if case.fault().is_some() {
            return false;
        }
        self.left -= 1;
        let holds = (self.holds)(&case);
        if holds {
            self.best = case;
        }
        holds
    }

    /// Tries one workgroup, and one invocation.
    fn sizes(&mut self) -> bool {
        let mut smaller = false;
        let sizes: [fn(&mut Tree) -> &mut [u32; 3]; 2] =
            [|tree| &mut tree.groups, |tree| &mut tree.workgroup];
        for size in sizes {
            let mut tree = self.best.tree.clone();
            let old = std::mem::replace(size(&mut tree), [1; 3]);
            smaller |= old != [1; 3] && self.accepts(tree);
        }
        smaller
    }

    /// Removes statements: halves of lists first, then quarters, down to single ones.
    fn statements(&mut self) -> bool {
        let mut smaller = false;
        let mut list = 0;
        while let Some(len) = self.len_of_list(list) {
            let mut size = len.max(1);
            while size > 0 {
                let mut end = self.len_of_list(list).unwrap_or(0);
                while end > 0 {
                    let start = end.saturating_sub(size);
                    let tree = with_list(&self.best.tree, list, |body| {
                        let mut at = 0;
                        body.retain(|_| {
                            at += 1;
                            !(start..end).contains(&(at - 1))
                        });
                    });
                    smaller |= self.accepts(tree);
                    end = start;
                }
                size /= 2;
            }
            list += 1;
        }
        smaller
    }

    /// Replaces a statement by its inner statements.
    fn hoisted(&mut self) -> bool {
        let mut smaller = false;
        let mut list = 0;
        while let Some(len) = self.len_of_list(list) {
            for at in (0..len).rev() {
                for part in 0..4 {
                    let mut changed = false;
                    let tree = with_list(&self.best.tree, list, |body| {
                        // The body of an exchange must keep its barriers.
                        if at >= body.len() || matches!(body[at], Stmt::Exchange(..)) {
                            return;
                        }
                        let inner = visit::parts(&mut body[at]).1.into_iter().nth(part).map(std::mem::take);
                        if let Some(inner) = inner {
                            body.splice(at..=at, inner);
                            changed = true;
                        }
                    });
                    smaller |= changed && self.accepts(tree);
                }
            }
            list += 1;
        }
        smaller
    }

    /// Removes functions that no statement calls, with their parameters.
    fn functions(&mut self) -> bool {
        let mut smaller = false;
        for at in (0..self.best.tree.functions.len()).rev() {
            let mut tree = self.best.tree.clone();
            tree.functions.remove(at);
            smaller |= self.accepts(tree);
        }
        smaller
    }

    /// Replaces expressions by constants or by their operands.
    fn expressions(&mut self) -> bool {
        let mut smaller = false;
        let mut at = 0;
        while let Some(expr) = expression(&self.best.tree, at) {
            let mut replaced = false;
            for with in replacements(&expr) {
                let mut tree = self.best.tree.clone();
                edit(&mut tree, at, &mut |expr| expr.clone_from(&with));
                if self.accepts(tree) {
                    replaced = true;
                    break;
                }
            }
            smaller |= replaced;
            // Tries again with the operands of the replacement.
            at += usize::from(!replaced);
        }
        smaller
    }

    fn len_of_list(&mut self, list: usize) -> Option<usize> {
        let mut len = None;
        on_list(&mut self.best.tree, list, |body| len = Some(body.len()));
        len
    }
}

/// Returns a copy of a tree with another list of statements.
fn with_list(tree: &Tree, list: usize, edit: impl FnMut(&mut Vec<Stmt>)) -> Tree {
    let mut tree = tree.clone();
    on_list(&mut tree, list, edit);
    tree
}

/// Calls `edit` with a list of statements, if there is one at this place.
fn on_list(tree: &mut Tree, list: usize, mut edit: impl FnMut(&mut Vec<Stmt>)) {
    let mut at = 0;
    visit::lists(tree, &mut |body| {
        if at == list {
            edit(body);
        }
        at += 1;
    });
}

/// Returns simpler expressions of the same type, the simplest first.
fn replacements(expr: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    if expr.is_const()
        || matches!(expr.node, Node::Zero | Node::Bool(_) | Node::U32(_) | Node::I32(_) | Node::F32(_))
    {
        return found;
    }
    found.push(Expr::new(expr.ty.clone(), Node::Zero));
    if let Type::Vector(scalar, _) = expr.ty {
        let word = match scalar.word() {
            Scalar::Bool => Node::Bool(false),
            Scalar::I32 => Node::I32(1),
            Scalar::U32 => Node::U32(1),
            _ => Node::F32(4),
        };
        let one = Expr::new(Type::Scalar(scalar.word()), word);
        found.push(one.splat(&Type::Scalar(scalar)).splat(&expr.ty));
    }
    if expr.ty == BOOL {
        found.push(Expr::new(BOOL, Node::Bool(true)));
    }
    let mut copy = expr.clone();
    let operands = visit::children(&mut copy);
    found.extend(operands.into_iter().filter(|operand| operand.ty == expr.ty).map(|operand| operand.clone()));
    found
}

/// Returns the `at`-th expression, in the order of the text.
fn expression(tree: &Tree, at: usize) -> Option<Expr> {
    let mut found = None;
    edit(&mut tree.clone(), at, &mut |expr| found = Some(expr.clone()));
    found
}

/// Calls `change` with the `at`-th expression.
fn edit(tree: &mut Tree, at: usize, change: &mut dyn FnMut(&mut Expr)) {
    let mut left = at;
    visit::lists(tree, &mut |body| {
        for stmt in body {
            for expr in visit::parts(stmt).0 {
                edit_in(expr, &mut left, change);
            }
        }
    });
}

fn edit_in(expr: &mut Expr, left: &mut usize, change: &mut dyn FnMut(&mut Expr)) {
    if *left == 0 {
        change(expr);
        *left = usize::MAX;
        return;
    }
    *left -= 1;
    for child in visit::children(expr) {
        edit_in(child, left, change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Options;

    #[test]
    fn a_small_program_keeps_its_property_and_is_valid() {
        let has = |case: &Case| case.program().text.contains("countOneBits");
        let case = (0..100).map(|seed| Case::new(seed, Options::default())).find(|case| has(case));
        let case = case.expect("one of the programs counts bits");
        let small = shrink(&case, 400, &mut |case| has(case));
        let text = small.program().text;
        assert!(has(&small) && small.fault().is_none(), "{text}");
        assert!(text.len() < case.program().text.len() / 2, "{text}");
    }

    #[test]
    fn a_program_without_the_property_stays_as_it_is() {
        let case = Case::new(3, Options::default());
        let same = shrink(&case, 50, &mut |_| false);
        assert_eq!(same.program().text, case.program().text);
    }
}
