"""The tables of missions, in the global database."""

from typing import Final

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS missions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  goal TEXT NOT NULL,
  project TEXT NOT NULL,
  scope TEXT NOT NULL,
  repo_names TEXT NOT NULL,
  limits TEXT NOT NULL,
  asked_by TEXT NOT NULL,
  model TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'paused', 'done', 'failed', 'cancelled')),
  reason TEXT NOT NULL DEFAULT '',
  created_at REAL NOT NULL, started_at REAL, ended_at REAL,
  cancel_by TEXT NOT NULL DEFAULT '',
  usage TEXT NOT NULL DEFAULT '{}',
  entries INTEGER NOT NULL DEFAULT 0,
  head TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS missions_by_state ON missions (state);
CREATE INDEX IF NOT EXISTS missions_by_project ON missions (project);
CREATE TABLE IF NOT EXISTS mission_entries (
  mission TEXT NOT NULL REFERENCES missions (id),
  seq INTEGER NOT NULL,
  at REAL NOT NULL,
  kind TEXT NOT NULL,
  agent TEXT NOT NULL,
  data TEXT NOT NULL,
  prev TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (mission, seq)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS mission_answers ON mission_entries (mission) WHERE kind = 'answer';
"""
"""Text columns that hold JSON hold it in its canonical form: that is what the hashes are made of."""
