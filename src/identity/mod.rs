//! Inbox ids, identity updates, signatures, association state at a sequence id (IDENT).
