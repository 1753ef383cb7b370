//! The wasm-bindgen surface: values in, frozen plain objects out, errors mapped.
