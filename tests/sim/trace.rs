//! What a run did, for a seed that fails.

use std::cell::RefCell;

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

pub fn start() {
    LINES.with(|lines| lines.borrow_mut().clear());
}

pub fn note(line: String) {
    LINES.with(|lines| lines.borrow_mut().push(line));
}

pub fn text() -> String {
    LINES.with(|lines| lines.borrow().join("\n"))
}
