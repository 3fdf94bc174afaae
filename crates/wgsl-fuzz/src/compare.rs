//! Compares the answers of two engines.

use std::fmt;

use crate::data::Word;
use crate::engine::{Answer, Given};
use crate::program::{Buffer, Program};

/// A difference between two engines.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Names of both engines.
    pub engines: [String; 2],
    /// Place where they differ.
    pub place: String,
    /// Both values, or messages.
    pub values: [String; 2],
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        for (engine, value) in self.engines.iter().zip(&self.values) {
            write!(f, "\n  {engine}: {value}")?;
        }
        Ok(())
    }
}

/// Compares all answers with the first one that is not a refusal.
pub(crate) fn compare(program: &Program, answers: &[Given]) -> Option<Difference> {
    let mut given = answers.iter().filter(|given| !matches!(given.answer, Answer::Refused(_)));
    let first = given.next()?;
    given.clone().find_map(|other| differ(program, first, other)).or_else(|| alone(first, given.count()))
}

/// If only one engine answered, its failure is a difference too.
fn alone(given: &Given, others: usize) -> Option<Difference> {
    match &given.answer {
        Answer::Failed(message) if others == 0 => Some(Difference {
            engines: [given.engine.clone(), "every engine".into()],
            place: "the program".into(),
            values: [message.clone(), "must run it".into()],
        }),
        _ => None,
    }
}

fn differ(program: &Program, one: &Given, other: &Given) -> Option<Difference> {
    let engines = [one.engine.clone(), other.engine.clone()];
    let is_exact = one.is_exact && other.is_exact;
    let (Answer::Results(one), Answer::Results(other)) = (&one.answer, &other.answer) else {
        let values = [&one.answer, &other.answer].map(brief);
        return Some(Difference { engines, place: "the program".into(), values });
    };
    let written = program.buffers.iter().filter(|buffer| buffer.is_written);
    for (buffer, (one, other)) in written.zip(one.iter().zip(other)) {
        if let Some((at, values)) = first_difference(buffer, is_exact, one, other) {
            let size = buffer.element.words().len();
            let place = match size {
                1 => format!("{}[{at}]", buffer.name),
                _ => format!("{}[{}], word {}", buffer.name, at / size, at % size),
            };
            return Some(Difference { engines, place, values });
        }
    }
    None
}

fn brief(answer: &Answer) -> String {
    match answer {
        Answer::Results(_) => "it has results".into(),
        Answer::Refused(message) | Answer::Failed(message) => message.clone(),
    }
}

/// Returns the first word that differs. Exact engines must have the same bits, except those of NaNs.
fn first_difference(
    buffer: &Buffer,
    is_exact: bool,
    one: &[u32],
    other: &[u32],
) -> Option<(usize, [String; 2])> {
    let kinds = buffer.element.words().iter().cycle();
    let both_nan = |one: u32, other: u32| f32::from_bits(one).is_nan() && f32::from_bits(other).is_nan();
    let differs = |kind: Word, one: u32, other: u32| match kind {
        Word::F32 if is_exact => one != other && !both_nan(one, other),
        Word::F32 => !buffer.tolerance.allows(f32::from_bits(one), f32::from_bits(other)),
        Word::U32 | Word::I32 => one != other,
    };
    let mut words = one.iter().zip(other).zip(kinds).enumerate();
    let (at, ((one, other), kind)) =
        words.find(|(_, ((one, other), kind))| differs(**kind, **one, **other))?;
    Some((at, [*one, *other].map(|word| text(*kind, word))))
}

fn text(kind: Word, word: u32) -> String {
    match kind {
        Word::F32 => format!("{:?} ({word:#010x})", f32::from_bits(word)),
        Word::I32 => format!("{} ({word:#010x})", word.cast_signed()),
        Word::U32 => format!("{word} ({word:#010x})"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::data::Element;
    use crate::tolerance::Tolerance;

    fn program(element: Element) -> Program {
        let tolerance = Tolerance::default();
        let buffer = Buffer { name: "out", element, is_written: true, words: vec![0; 2], tolerance };
        Program { groups: [1; 3], buffers: vec![buffer], ..Program::default() }
    }

    fn answers(of: [Answer; 3]) -> Vec<Given> {
        let names = ["a", "b", "c"].map(str::to_owned).into_iter();
        names
            .zip(of)
            .map(|(engine, answer)| Given { engine, is_exact: false, answer, took: Duration::ZERO })
            .collect()
    }

    fn results(words: [u32; 2]) -> Answer {
        Answer::Results(vec![words.to_vec()])
    }

    #[test]
    fn a_refusal_is_no_difference_and_a_failure_is_one() {
        let refused = Answer::Refused("f16".into());
        let same = answers([refused.clone(), results([1, 2]), results([1, 2])]);
        assert_eq!(compare(&program(Element::U32), &same), None);
        let failed = answers([refused, results([1, 2]), Answer::Failed("lost".into())]);
        let found = compare(&program(Element::U32), &failed).expect("a failure");
        assert_eq!(found.values[1], "lost");
    }

    #[test]
    fn a_difference_names_the_element_and_both_values() {
        let answers = answers([results([1, 2]), results([1, 2]), results([1, 0xffff_ffff])]);
        let found = compare(&program(Element::I32), &answers).expect("a difference");
        assert_eq!(found.to_string(), "out[1]\n  a: 2 (0x00000002)\n  c: -1 (0xffffffff)");
    }

    #[test]
    fn the_sign_of_zero_is_a_difference_of_exact_engines_only() {
        let mut answers = answers([results([0, 0]), results([0, 0x8000_0000]), results([0, 0])]);
        assert_eq!(compare(&program(Element::F32), &answers), None);
        answers[0].is_exact = true;
        assert_eq!(compare(&program(Element::F32), &answers), None);
        answers[1].is_exact = true;
        let found = compare(&program(Element::F32), &answers).expect("the bits differ");
        assert_eq!(found.place, "out[1]");
    }

    #[test]
    fn exact_engines_may_have_different_values_that_are_no_numbers() {
        let mut answers =
            answers([results([0x7fc0_0000, 0]), results([0xffc0_0001, 0]), results([0x7fc0_0000, 0])]);
        answers.iter_mut().for_each(|given| given.is_exact = true);
        assert_eq!(compare(&program(Element::F32), &answers), None);
        assert!(compare(&program(Element::U32), &answers).is_some(), "integers have no such values");
    }
}
