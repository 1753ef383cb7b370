//! The membership component: entries, expected changes, accounting (GMOD-005 to 012).
