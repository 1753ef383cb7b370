//! Component ids, map/set/delta codecs, registry, dictionary, proposal list to next dictionary (META).
