//! DM admission, the winner order, the stitched thread (DMS).
