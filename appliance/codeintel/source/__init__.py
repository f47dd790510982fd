"""Repositories as snapshots, entries and blobs; nothing is ever checked out."""
