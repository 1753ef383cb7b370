//! The async shell: loads, runs the engine, commits, publishes, emits.
