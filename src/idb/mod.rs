//! The IndexedDB store: schema, migrations, sealing.
