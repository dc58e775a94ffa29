"""Comparisons: interleaved runs of two or more arms, and ratios of each arm to the first.

An *arm* is a stored study, a target, a level of a setting, a batching interval, or a clone next to its
original. `arms` makes the runs, `rounds` decides which rounds count, `figures` reads them. A package below
adds what one kind of comparison needs:

- `targets` (kind ``comparison``): stored studies, or targets that are measured now;
- `setting` (kind ``trial``): levels of one setting, the best level, and levels near it;
- `batching` (kind ``batching``): batching intervals by rate, with batch sizes;
- `clone` (kind ``verification``): a clone and its original, with control variates.
"""
