use std::time::Duration;

use anyhow::Result;

use super::{
    case::Case,
    contestant::{Contestant, Prepared},
    values::Values,
};

pub(crate) const NAME: &str = "rust, rayon";

/// Plain Rust: the compiler's vectors and rayon's threads.
pub(crate) struct Plain;

struct PlainRow<'c> {
    case: &'c Case,
    out: Values,
}

impl Contestant for Plain {
    fn name(&self) -> &str {
        NAME
    }

    fn about(&self) -> String {
        format!("{} threads, {}", rayon::current_num_threads(), super::wide::name())
    }

    fn is_device(&self) -> bool {
        false
    }

    fn prepare<'c>(&'c self, case: &'c Case) -> Result<Option<Box<dyn Prepared + 'c>>> {
        Ok(Some(Box::new(PlainRow { case, out: case.start.clone() })))
    }
}

impl Prepared for PlainRow<'_> {
    fn reset(&mut self) -> Result<()> {
        self.out.bits_mut().copy_from_slice(self.case.start.bits());
        Ok(())
    }

    fn sample(&mut self) -> Result<()> {
        for _ in 0..self.case.launches {
            (self.case.plain)(&self.case.inputs, &mut self.out);
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Values> {
        Ok(self.out.clone())
    }

    fn compiled_in(&self) -> Option<Duration> {
        None
    }
}
