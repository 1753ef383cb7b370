//! Tests of more than one file of this module.

mod rows;
