"""Commands of `netsim`, one file each."""
