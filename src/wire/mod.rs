//! Prost messages and the typed records made of them (envelopes, content, records).
