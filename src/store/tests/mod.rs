//! Tests of more than one file of this module.

mod examples;
mod rows;
