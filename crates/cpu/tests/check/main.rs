//! The mistakes that a checked launch finds, and the launches in which it finds none.
#![allow(missing_docs, reason = "the names of the tests say what they test")]

mod changed;
mod correct;
mod harness;
mod message;
mod order;
mod pairs;
mod planted;
mod shadow;
mod silence;
mod stopped;
