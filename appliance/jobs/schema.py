"""The tables of the queue, in the global database."""

from typing import Final

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL, started_at REAL, ended_at REAL,
    reason TEXT NOT NULL DEFAULT '',
    not_before REAL NOT NULL DEFAULT 0,
    cancel INTEGER NOT NULL DEFAULT 0,
    moved INTEGER NOT NULL DEFAULT 0, deaths INTEGER NOT NULL DEFAULT 0,
    worker TEXT NOT NULL DEFAULT '', lease TEXT NOT NULL DEFAULT '', lease_until REAL NOT NULL DEFAULT 0,
    phase TEXT, done INTEGER NOT NULL DEFAULT 0, total INTEGER, progress_at REAL
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, kind, key);
CREATE TABLE IF NOT EXISTS job_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    at REAL NOT NULL,
    type TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    phase TEXT NOT NULL DEFAULT '', done INTEGER NOT NULL DEFAULT 0, total INTEGER
);
CREATE INDEX IF NOT EXISTS job_events_by_job ON job_events (job, seq);
CREATE TABLE IF NOT EXISTS workers (name TEXT PRIMARY KEY, seen_at REAL NOT NULL) WITHOUT ROWID;
"""
