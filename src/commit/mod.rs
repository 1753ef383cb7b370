//! Commit judgement: kinds, ordered checks, floor, selection, cleanup, transcript (GMOD).
